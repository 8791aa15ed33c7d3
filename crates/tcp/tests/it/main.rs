//! The endpoint seen from outside: packet timelines, and pairs of endpoints in virtual time.

mod laws;
mod pair;
mod round_trips;
