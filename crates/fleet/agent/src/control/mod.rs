//! The control socket: requests and answers as lines of JSON over a Unix socket.
//!
//! ```text
//! {"version":1,"do":"status"}           {"version":1,"answer":{…}}
//! {"version":1,"do":"reload"}           {"version":1,"error":"…"}
//! {"version":1,"do":"rollback","to":3}
//! {"version":1,"do":"resume"}
//! {"version":1,"do":"versions"}
//! {"version":1,"do":"preview","to":3}
//! {"version":1,"do":"watch"}            {"version":1,"event":{…}} … until one of the two hangs up
//! ```
//!
//! An error of the machine, such as a full disk, has `"of":"machine"`; an error of the request does not.
//!
//! Any user who can connect may send any request. The permissions of the socket file decide who can, by default only
//! its owner. The kernel identifies the user, and the log records it.

mod client;
mod command;
mod request;
mod server;

pub use client::{AskError, ask, watch};
pub use command::{DEFAULT_SOCKET, command};
pub use request::{Ask, RequestError};
pub use server::Control;

pub(crate) use server::{Asked, Refusal, serve};

/// The version of the protocol.
const VERSION: u64 = 1;
/// The most bytes of a request.
const MAX_REQUEST: usize = 4096;
