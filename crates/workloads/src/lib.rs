//! Traffic generators, each with its own random stream.
