//! Engines of every sort fit the trait, and what they give is put together alike.

mod engines;
mod interruption;
