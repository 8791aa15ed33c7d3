//! The crate's public face.

mod classifying;
mod compiling;
mod kernel;
mod steps;
mod support;
