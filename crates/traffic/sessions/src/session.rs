//! What a user is.

use shortflow_measure::Transfer;
use shortflow_units::Instant;

use crate::ask::Ask;
use crate::context::SessionContext;
use crate::host::ConnectionId;

/// A user.
pub trait Session {
    /// When it acts next, if nothing comes before.
    fn next_at(&self) -> Instant;

    /// That time has come.
    fn wake(&mut self, context: &mut SessionContext<'_>);

    /// A connection that it opened stands.
    fn on_connected(&mut self, _context: &mut SessionContext<'_>, _connection: ConnectionId) {}

    /// What it asked for is complete.
    fn on_reply(&mut self, context: &mut SessionContext<'_>, ask: &Ask, transfer: &Transfer);

    /// A connection broke, and what was asked for over it will never come.
    fn on_lost(&mut self, context: &mut SessionContext<'_>, connection: ConnectionId, lost: &[Ask]);

    /// The records of what is not complete beyond what was asked for.
    fn unfinished(&self) -> Vec<Transfer> {
        Vec::new()
    }

    /// How much that was due by `now` was not begun.
    fn held_back(&self, _now: Instant) -> u64 {
        0
    }
}
