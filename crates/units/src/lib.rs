//! Quantities with units, and named random streams.
//!
//! Everything that Shortflow counts has a type of its own: an [`Instant`] and a [`Duration`] in
//! whole nanoseconds, [`Bytes`], a [`Rate`] in bits per second, a [`Probability`]. A quantity is
//! written with its unit (`"10 Mbit/s"`, `"20 ms"`, `"64 KB"`) and read by its `FromStr`, whose
//! errors name what is allowed. Data are integers; floats estimate only.

mod bytes;
mod length;
mod probability;
mod quantity;
mod rate;
mod rng;
mod time;

pub use bytes::Bytes;
pub use length::{Length, Size};
pub use probability::Probability;
pub use quantity::ParseQuantityError;
pub use rate::{Rate, Transmission};
pub use rng::Rng;
pub use time::{Duration, Instant};
