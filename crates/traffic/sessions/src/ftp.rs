//! Sessions that send files: each over a connection of its own, with a pause in between.

use shortflow_measure::Transfer;
use shortflow_units::Instant;
use shortflow_workloads::Files;

use crate::ask::{Ask, Closing, Tag};
use crate::context::SessionContext;
use crate::host::ConnectionId;
use crate::session::Session;

/// A user who sends files.
pub struct FtpSession {
    files: Files,
    stop: Instant,
    next_at: Instant,
}

impl FtpSession {
    /// A session that sends its first file at `start`, and none from `stop` on.
    pub fn new(files: Files, start: Instant, stop: Instant) -> Self {
        FtpSession { files, stop, next_at: start }
    }
}

impl Session for FtpSession {
    fn next_at(&self) -> Instant {
        if self.next_at < self.stop { self.next_at } else { Instant::NEVER }
    }

    fn wake(&mut self, context: &mut SessionContext<'_>) {
        self.next_at = Instant::NEVER;
        let file =
            Ask { tag: Tag::default(), request: self.files.size().0, reply: 0, is_range: false };
        context.open(&[file], Closing::ClientAfterRequest);
    }

    fn on_reply(&mut self, context: &mut SessionContext<'_>, _ask: &Ask, _file: &Transfer) {
        self.next_at = self.files.next(context.now());
    }

    fn on_lost(
        &mut self,
        context: &mut SessionContext<'_>,
        _connection: ConnectionId,
        lost: &[Ask],
    ) {
        // One that broke after its file was complete changes nothing.
        if !lost.is_empty() {
            self.next_at = self.files.next(context.now());
        }
    }
}
