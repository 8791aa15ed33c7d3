//! HTTP/1.1 (RFC 9112) as a program needs it that shows figures of its own: a request of a few bytes, an answer, and the
//! connection ends with it.
//!
//! ```text
//! TcpStream → Request::parse (the head; refused where it is none, or is meant for another name) → handler → Answer
//! ```
//!
//! [`Bounded`] reads from any socket with limits of bytes and of time; [`Connections`] are so many at most, and who is
//! idle makes room for who comes.
//!
//! Whoever connects has 2 s and 8192 bytes for a head, 4096 for a body, and holds up nobody else. A [`Listener`] says by which
//! names it may be asked for: a browser's page whose own name leads to this machine (DNS rebinding) comes with that name,
//! and is refused.
//!
//! # What this crate does not know
//!
//! What is asked for, and who may: its users route, and check tokens and origins.

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
