//! A minimal HTTP/1.1 server (RFC 9112) for a program that shows its own figures: a small request, a response, and
//! the connection closes.
//!
//! ```text
//! TcpStream → Request::parse (the head; refused where it is none, or is meant for another name) → handler → Answer
//! ```
//!
//! [`Bounded`] reads from any socket with limits on bytes and time. [`Connections`] limits the number of connections:
//! the longest idle one is closed for a new one.
//!
//! A client has 2 s and 8192 bytes for a head, and 4096 bytes for a body; it does not delay others. A [`Listener`] has
//! the host names under which it may be addressed. A browser page whose host name resolves to this machine (DNS
//! rebinding) sends its own name, and is refused.
//!
//! # What this crate does not know
//!
//! It does not know the paths, nor who may use them: its callers route requests, and check tokens and origins.

mod answer;
mod bounded;
mod connections;
#[cfg(test)]
mod laws;
mod listener;
mod request;
mod socket;

pub use answer::{Answer, Line};
pub use bounded::{Bounded, LineTime};
pub use connections::{Activity, Connections, Place};
pub use listener::{Handle, Listener, serve};
pub use request::{MAX_BODY, MAX_HEAD, Names, Refusal, Request, has_end};
pub use socket::Socket;
