//! Traffic generators, each with its own random stream.
//!
//! What a generator draws depends only on the seed and its settings, never on the network. Transfers, bulk
//! flows and datagrams start at times drawn in advance (open loop), so every policy gets the same arrivals.
//! Sessions wait for the network before they continue (closed loop): every policy gets the same requests, but
//! at different times. The replay of a log is an open loop.
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
//! The network: no addresses, queues or connections; the caller chooses the type of nodes. How scenarios
//! describe a workload, and which results are measured.

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
pub use datagrams::{Cbr, CbrStream, Departure, LARGEST_PACKET, Poisson, PoissonStream};
pub use ftp::{Files, Ftp};
pub use pages::{Page, PageModel, Pages};
pub use sessions::Sessions;
pub use sizes::Sizes;
pub use telnet::{Telnet, Typist};
pub use times::Times;
pub use transfers::{Arrival, TransferArrivals, Transfers};
pub use web::{Busy, Http, Visit, Visitor, Visits, Web};
