//! Typing sessions: a character, its echo, a pause, over one connection.

use shortflow_measure::Transfer;
use shortflow_units::Instant;
use shortflow_workloads::Typist;

use crate::ask::{Ask, Closing, Tag};
use crate::context::SessionContext;
use crate::host::ConnectionId;
use crate::session::Session;

/// A user who types.
pub struct TelnetSession {
    typist: Typist,
    character: u64,
    stop: Instant,
    next_at: Instant,
    connection: Option<Login>,
}

struct Login {
    id: ConnectionId,
    opened: Instant,
    is_connected: bool,
}

impl TelnetSession {
    /// A session that logs in at `start` and types `character` bytes at a time until `stop`.
    pub fn new(typist: Typist, character: u32, start: Instant, stop: Instant) -> Self {
        let character = u64::from(character);
        TelnetSession { typist, character, stop, next_at: start, connection: None }
    }

    /// The next character comes after a pause; at the stop the session ends.
    fn pause(&mut self, now: Instant) {
        self.next_at = self.typist.next(now).min(self.stop);
    }
}

impl Session for TelnetSession {
    fn next_at(&self) -> Instant {
        self.next_at
    }

    fn wake(&mut self, context: &mut SessionContext<'_>) {
        self.next_at = Instant::NEVER;
        let is_over = context.now() >= self.stop;
        match &self.connection {
            None if is_over => {}
            None => {
                let id = context.open(&[], Closing::Later);
                let opened = context.now();
                self.connection = Some(Login { id, opened, is_connected: false });
            }
            Some(login) if is_over => {
                context.close(login.id);
                self.connection = None;
            }
            Some(login) => {
                let (request, reply) = (self.character, self.character);
                context
                    .ask(login.id, &[Ask { tag: Tag::default(), request, reply, is_range: false }]);
            }
        }
    }

    fn on_connected(&mut self, context: &mut SessionContext<'_>, _connection: ConnectionId) {
        if let Some(login) = &mut self.connection {
            login.is_connected = true;
        }
        self.pause(context.now());
    }

    fn on_reply(&mut self, context: &mut SessionContext<'_>, _ask: &Ask, _echo: &Transfer) {
        self.pause(context.now());
    }

    /// The user logs in again.
    fn on_lost(&mut self, context: &mut SessionContext<'_>, id: ConnectionId, _lost: &[Ask]) {
        if self.connection.as_ref().is_none_or(|login| login.id != id) {
            return; // closed before it broke
        }
        let login = self.connection.take();
        if let Some(login) = login.filter(|login| !login.is_connected) {
            context.record_failure(login.record());
        }
        self.pause(context.now());
    }

    fn unfinished(&self) -> Vec<Transfer> {
        let waiting = self.connection.iter().filter(|login| !login.is_connected);
        waiting.map(Login::record).collect()
    }
}

impl Login {
    /// The record of a login that has no connection yet.
    fn record(&self) -> Transfer {
        Transfer { start: self.opened, ..Transfer::default() }
    }
}
