//! The endpoint seen from outside: packet timelines, and pairs of endpoints in virtual time.

mod close;
mod ecn;
mod flow;
mod handshake;
mod laws;
mod pair;
mod recovery;
mod round_trips;
mod sack;
mod script;
