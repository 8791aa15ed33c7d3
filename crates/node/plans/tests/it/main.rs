//! Tests of the public interface.

mod importing;
mod loading;
mod sharing;
mod support;
