//! Users that go on when the network has done what they asked for: web, telnet, FTP.
//!
//! ```text
//! engine ── wake, heard, lost ──▶ Sessions ──▶ Session ── open, ask, close, record ──▶ SessionContext
//!    ▲                                                                                     │
//!    └──────────────────────────── Host: open, write, record ◀─────────────────────────────┘
//! ```
//!
//! All sessions of a workload are one [`Sessions`], with timers of their own. An engine, whatever its
//! connections are, is a [`Host`]: it opens connections, writes, and says how far each has come. Each
//! connection has a [`Dialogue`], which knows from bytes received what an end writes next, and what is
//! complete.
//!
//! # What this crate does not know
//!
//! Any network: neither TCP nor sockets, addresses or ports. Which of its workloads a scenario lets
//! begin, and what becomes of records.

mod ask;
mod build;
mod context;
mod dialogue;
mod ftp;
mod host;
mod session;
mod sessions;
mod telnet;
mod web;

pub use ask::{Ask, Closing, Tag};
pub use build::build;
pub use context::SessionContext;
pub use dialogue::{Account, Costs, Dialogue, Link, Outgoing};
pub use ftp::FtpSession;
pub use host::{ConnectionId, Host};
pub use session::Session;
pub use sessions::{Places, Sessions};
pub use telnet::TelnetSession;
pub use web::WebSession;
