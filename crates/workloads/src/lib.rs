//! Traffic generators, each with its own random stream.
//!
//! A generator depends on the seed and on its own settings only, never on what the network does
//! with its traffic (open loop): so the same arrivals meet every policy.

mod bulk;
mod datagrams;
mod sizes;
mod transfers;

pub use bulk::{Bulk, FlowStart};
pub use datagrams::{Cbr, CbrStream, Departure, Poisson, PoissonStream};
pub use sizes::Sizes;
pub use transfers::{Arrival, SizeClass, TransferArrivals, Transfers, size_class};
