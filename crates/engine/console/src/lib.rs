//! The live console: one page that shows a stream of snapshots from any source.
//!
//! ```text
//! a simulated run, anew ── Looker ─┐
//! a rehearsal as it runs ─ Looker ─┼─▶ Hub ── server-sent events ──▶ the page
//! agents of machines ──── status ──┘    ▲                               │
//!                                       └── Controls ◀── preview, switch, pace
//! ```
//!
//! A [`Snapshot`] holds the state of places (ports, devices) over one interval. [`About`] describes the source, and
//! the policies or versions to which the page can switch. A [`PortTap`] makes snapshots from passing packets. A
//! [`Replay`] simulates a run of a results folder again at a chosen pace. [`Guard`] controls access.
//!
//! # What this crate does not know
//!
//! It does not know the source of a snapshot, except for packets that it is shown: agents and rehearsals implement
//! [`Controls`]. It prints nothing, and reads the clock only for the pace of a replay.

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

pub use controls::{Change, ControlError, Controls, Preview};
pub use diff::{DiffLine, diff};
pub use guard::{Guard, Token, TokenError};
pub use hub::Hub;
pub use model::{About, Choice, Flow, Kind, Pace, Place, Role, Snapshot, Stream};
pub use port_tap::{DELAY, PortTap, Watched};
pub use replay::{Replay, ReplayError};
pub use server::serve;
pub use unique_keys::object;
