//! Traffic generators, each with its own random stream.
//!
//! What a generator draws depends on the seed and on its own settings only, never on what the
//! network does with its traffic. Transfers, bulk flows and datagrams come when they are drawn to
//! come (open loop), so the same arrivals meet every policy. Sessions wait for the network before
//! they go on (closed loop): what they ask for is the same under every policy, when they do is not.
//! A log of a session's accesses, replayed, is an open loop again.

mod accesses;
mod bulk;
mod counts;
mod datagrams;
mod ftp;
mod pages;
mod sessions;
mod sizes;
mod telnet;
mod times;
mod transfers;
mod web;

pub use accesses::{ACCESS_COLUMNS, Access, AccessError, parse_accesses};
pub use bulk::{Bulk, FlowStart};
pub use counts::Counts;
pub use datagrams::{Cbr, CbrStream, Departure, Poisson, PoissonStream};
pub use ftp::{Files, Ftp};
pub use pages::{Page, PageModel, Pages};
pub use sessions::Sessions;
pub use sizes::Sizes;
pub use telnet::{Telnet, Typist};
pub use times::Times;
pub use transfers::{Arrival, TransferArrivals, Transfers};
pub use web::{Busy, Http, Visit, Visitor, Visits, Web};
