//! What sessions need of the engine that runs them.

use shortflow_measure::Transfer;
use shortflow_units::Instant;

use crate::dialogue::{Account, Dialogue, Outgoing};

/// The host's name for a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(pub u32);

/// An engine with connections.
pub trait Host {
    /// The time.
    fn now(&self) -> Instant;

    /// Opens a connection over pair `pair` of the workload, with what its client writes first. The
    /// dialogue is to be fed with what its two ends receive.
    fn open(&mut self, pair: usize, dialogue: Dialogue, first: Outgoing) -> ConnectionId;

    /// Writes at the client's end of an open connection.
    fn write(&mut self, connection: ConnectionId, outgoing: Outgoing);

    /// The dialogue over an open connection.
    fn dialogue(&mut self, connection: ConnectionId) -> &mut Dialogue;

    /// How far an open connection has come.
    fn account(&mut self, connection: ConnectionId) -> Account;

    /// A transfer is complete.
    fn record_complete(&mut self, transfer: &Transfer);

    /// A transfer will never be complete.
    fn record_failure(&mut self, failed: &Transfer);

    /// A client of `workload` asks for a page, which `line` says under these columns.
    fn log_access(&mut self, workload: u16, columns: &str, line: String);
}
