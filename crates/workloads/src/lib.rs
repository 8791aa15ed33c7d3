//! Traffic generators, each with its own random stream.
//!
//! What a generator draws depends on the seed and on its own settings only, never on what the
//! network does with its traffic. Transfers, bulk flows and datagrams come when they are drawn to
//! come (open loop), so the same arrivals meet every policy. Sessions wait for the network before
//! they go on (closed loop): what they ask for is the same under every policy, when they do is not.
//! A log of a session's accesses, replayed, is an open loop again.
//!
//! ```
//! use shortflow_units::{Bytes, Duration, Instant};
//! use shortflow_workloads::{Sizes, Transfers};
//!
//! let web = Transfers {
//!     pairs: vec![("client", "server")],
//!     rate: 50.0,
//!     request: Sizes::Constant(Bytes(300)),
//!     reply: Sizes::Exponential { mean: Bytes(10_000) },
//!     port: 80,
//!     start: Instant::START,
//!     stop: Instant::START + Duration::from_secs(100),
//! };
//! let first: Vec<_> = web.arrivals(1, "web").take(3).collect();
//! assert!(first[0].at < first[1].at && first[1].at < first[2].at);
//! // The same seed and name give the same arrivals.
//! assert_eq!(first, web.arrivals(1, "web").take(3).collect::<Vec<_>>());
//! ```
//!
//! # What this crate does not know
//!
//! The network: no addresses, queues or connections, and nodes are of whatever type the caller has. How a
//! workload is written in a scenario, and what is measured of it.

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
