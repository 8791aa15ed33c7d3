//! Quantities with units, and named random streams.
//!
//! Every quantity has its own type: an [`Instant`] and a [`Duration`] in whole nanoseconds, [`Bytes`], a
//! [`Rate`] in bits per second, a [`Probability`], and the bytes that a packet takes over a [`LinkLayer`]. A
//! quantity is written with its unit (`"10 Mbit/s"`, `"20 ms"`, `"64 KB"`). Its `FromStr` reads it, and
//! errors list what is allowed. Data are integers; floats are estimates only.
//!
//! ```
//! use shortflow_units::{Bytes, Duration, Rate, Rng};
//!
//! let rate: Rate = "10 Mbit/s".parse()?;
//! assert_eq!(rate.time_for(Bytes(1_500)), "1.2 ms".parse::<Duration>()?);
//!
//! // Each random stream has a name. Numbers drawn from one stream do not change any other.
//! let draw = |name| Rng::stream(1, name).below(1_000_000);
//! assert_eq!(draw("workload/web"), draw("workload/web"));
//! assert_ne!(draw("workload/web"), draw("workload/call"));
//! # Ok::<(), shortflow_units::ParseQuantityError>(())
//! ```
//!
//! # What this crate does not know
//!
//! Packets, networks and files. It reads neither a clock nor a seed: time and seeds are arguments.

mod access_lines;
mod bytes;
mod length;
mod link_layer;
mod probability;
mod quantity;
mod rate;
mod rate_schedule;
mod rng;
mod time;

pub use bytes::Bytes;
pub use length::{Length, Size};
pub use link_layer::{Framing, LinkLayer, ParseLinkLayerError, Preset, SignedBytes};
pub use probability::Probability;
pub use quantity::ParseQuantityError;
pub use rate::{Rate, Remainder, Transmission};
pub use rate_schedule::{RateSchedule, RateScheduleError};
pub use rng::Rng;
pub use time::{Duration, Instant};
