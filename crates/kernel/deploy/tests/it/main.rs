//! The crate's public face.

mod classifying;
mod compiling;
mod early;
mod kernel;
mod levels;
mod steps;
mod support;
