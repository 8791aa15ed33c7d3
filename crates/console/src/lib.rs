//! The live console: one page over a stream of snapshots, whatever they come from.
//!
//! ```text
//! a simulated run, anew ── Looker ─┐
//! a rehearsal as it runs ─ Looker ─┼─▶ Hub ── server-sent events ──▶ the page
//! agents of machines ──── status ──┘    ▲                               │
//!                                       └── Controls ◀── preview, switch, pace
//! ```
//!
//! A [`Snapshot`] says how places (ports, devices) stood over one interval; [`About`] what is looked at, and which policies
//! or versions can be switched to. A [`PortTap`] makes snapshots of packets as they pass; a [`Replay`] simulates a run of a
//! results' folder again and lets its time pass. Who may read and who may change anything is [`Guard`]'s.
//!
//! # What this crate does not know
//!
//! Where a snapshot comes from, beyond packets that are shown to it: agents and rehearsals bring their own [`Controls`]. It
//! prints nothing and reads no clock but for the pace of a replay.

mod assets;
mod behaviour;
mod controls;
mod diff;
mod guard;
mod hub;
mod model;
mod port;
mod port_tap;
mod replay;
mod server;
mod unique_keys;

pub use controls::{Change, Controls, Preview};
pub use diff::{DiffLine, diff};
pub use guard::{Guard, Token, TokenError};
pub use hub::Hub;
pub use model::{About, Choice, Flow, Kind, Pace, Place, Role, Snapshot, Stream};
pub use port_tap::{DELAY, PortTap, Watched};
pub use replay::{Replay, ReplayError};
pub use server::serve;
pub use unique_keys::object;
