//! The endpoint seen from outside: packet timelines, and pairs of endpoints in virtual time.

mod blocks;
mod close;
mod dctcp;
mod delayed_ack;
mod ecn;
mod figures;
mod flow;
mod gate;
mod handshake;
mod laws;
mod map;

mod pair;
mod peers;
mod rates;
mod recovery;
mod round_trips;
mod script;
mod timer;
mod timestamps;
mod today;
mod window;
