//! Where a session acts.

use shortflow_measure::Transfer;
use shortflow_units::Instant;

use crate::ask::{Ask, Closing};
use crate::dialogue::{Dialogue, Link, Outgoing};
use crate::host::{ConnectionId, Host};
use crate::sessions::Places;

/// Where a session acts: its host, and what numbers and names its workload gives.
pub struct SessionContext<'a> {
    pub(crate) host: &'a mut dyn Host,
    pub(crate) places: &'a Places,
    pub(crate) link: Link,
    pub(crate) numbers: &'a mut Numbers,
}

/// How many transfers and pages were begun.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Numbers {
    asks: u64,
    pages: u64,
}

impl SessionContext<'_> {
    /// The time.
    pub fn now(&self) -> Instant {
        self.host.now()
    }

    /// The number of the session.
    pub fn session(&self) -> u32 {
        self.link.session
    }

    /// Opens a connection, to ask for these things over it.
    pub fn open(&mut self, asks: &[Ask], closing: Closing) -> ConnectionId {
        let Places { workload, row, .. } = *self.places;
        let mut dialogue = Dialogue::new(self.link, workload, row, closing);
        let first = self.numbers.ask(self.host.now(), &mut dialogue, asks);
        self.host.open(self.places.pair_of(self.link.session), dialogue, first)
    }

    /// Asks for these things over a connection that was opened before.
    pub fn ask(&mut self, connection: ConnectionId, asks: &[Ask]) {
        let now = self.host.now();
        let outgoing = self.numbers.ask(now, self.host.dialogue(connection), asks);
        self.host.write(connection, outgoing);
    }

    /// The client closes a connection.
    pub fn close(&mut self, connection: ConnectionId) {
        self.host.write(connection, Outgoing { bytes: 0, is_last: true });
    }

    /// The number of a page that begins.
    pub fn begin_page(&mut self) -> u64 {
        self.numbers.pages += 1;
        self.numbers.pages - 1
    }

    /// A page is complete.
    pub fn record_page(&mut self, page: Transfer) {
        let page = self.places.of_session(self.link.session, page);
        self.host.record_complete(&page);
    }

    /// Something of the workload will never be complete.
    pub fn record_failure(&mut self, failed: Transfer) {
        let failed = self.places.of_session(self.link.session, failed);
        self.host.record_failure(&failed);
    }

    /// Logs that a page is asked for, where that is wanted.
    pub fn log_access(&mut self, columns: &str, line: impl FnOnce() -> String) {
        if self.places.logs_accesses {
            self.host.log_access(self.places.workload, columns, line());
        }
    }
}

impl Numbers {
    /// Numbers these things, and gives what the client writes to ask for them.
    fn ask(&mut self, now: Instant, dialogue: &mut Dialogue, asks: &[Ask]) -> Outgoing {
        let first = self.asks;
        self.asks += asks.len() as u64;
        dialogue.ask(now, asks, first)
    }
}
