//! A connection of a workload: what its two ends say to each other.

use shortflow_measure::{Ends, Transfer};
use shortflow_units::Instant;

use super::end::{ENDLESS, End};

/// Which end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// The end that opened it.
    Client = 0,
    /// The end that was opened to.
    Server = 1,
}

/// A connection, and what runs over it.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) workload: u16,
    pub(crate) ends: Ends,
    pub(crate) talk: Talk,
    /// The client, and the server once it has accepted.
    pub(crate) sides: [Option<End>; 2],
    /// When the client began to open it.
    pub(crate) start: Instant,
    connected_at: Instant,
}

/// What runs over a connection.
#[derive(Debug)]
pub(crate) enum Talk {
    /// The client sends a request, the server a reply, then both close.
    Exchange { id: u64, request: u64, reply: u64, requested_at: Instant, is_done: bool },
    /// The client sends, endlessly or a given number of bytes.
    Bulk {
        is_endless: bool,
        /// What the server had when the warm-up ended.
        received_before: u64,
    },
}

impl Connection {
    /// A connection that the client begins to open at `start`, with what it sends first.
    pub(crate) fn open(
        workload: u16,
        ends: Ends,
        talk: Talk,
        mut client: End,
        size: Option<u64>,
        start: Instant,
    ) -> Self {
        match &talk {
            Talk::Exchange { request, .. } => client.write(*request),
            Talk::Bulk { .. } => {
                client.write(size.unwrap_or(ENDLESS));
                if size.is_some() {
                    client.close();
                }
            }
        }
        let sides = [Some(client), None];
        Connection { workload, ends, talk, sides, start, connected_at: Instant::NEVER }
    }

    /// Bytes that the server has got, of a transfer without end.
    pub(crate) fn endless(&self) -> Option<u64> {
        let is_endless = matches!(self.talk, Talk::Bulk { is_endless: true, .. });
        is_endless.then(|| self.received(Side::Server))
    }

    pub(crate) fn received(&self, side: Side) -> u64 {
        self.sides[side as usize].as_ref().map_or(0, |end| end.received)
    }

    /// The client can write: so the connection stands.
    pub(crate) fn on_connected(&mut self, now: Instant) {
        if self.connected_at == Instant::NEVER {
            self.connected_at = now;
        }
    }

    /// An end has read something, or learned that the other has closed. The record of what is complete now.
    pub(crate) fn on_read(&mut self, now: Instant, side: Side) -> Option<Transfer> {
        let received = self.received(side);
        let mut complete = false;
        if let Talk::Exchange { request, reply, requested_at, is_done, .. } = &mut self.talk {
            let (request, reply) = (*request, *reply);
            match side {
                Side::Server if *requested_at == Instant::NEVER && received >= request => {
                    *requested_at = now;
                    if let Some(server) = &mut self.sides[Side::Server as usize] {
                        server.write(reply);
                        server.close();
                    }
                }
                Side::Client if !*is_done && received >= reply && *requested_at <= now => {
                    *is_done = true;
                    complete = true;
                }
                _ => {}
            }
        }
        if let Some(end) = &mut self.sides[side as usize]
            && end.peer_closed
        {
            end.close();
        }
        complete.then(|| self.transfer(now))
    }

    /// The record of an exchange that is not complete.
    pub(crate) fn unfinished(&self, now: Instant) -> Option<Transfer> {
        let is_open = matches!(self.talk, Talk::Exchange { is_done: false, .. });
        let carried_bytes = self.received(Side::Client);
        is_open.then(|| Transfer { carried_bytes, ..self.transfer(now) })
    }

    /// The record of an exchange, as far as it has come by `now`.
    fn transfer(&self, now: Instant) -> Transfer {
        let Talk::Exchange { id, request, reply, requested_at, is_done } = self.talk else {
            return Transfer::default();
        };
        let connected_at = happened(self.connected_at).unwrap_or(self.start);
        // The server may have the request before the client is told that it may write.
        let requested_at = happened(requested_at).unwrap_or(connected_at).max(connected_at);
        let replied_at = if is_done { now.max(requested_at) } else { requested_at };
        Transfer {
            workload: self.workload,
            id,
            start: self.start,
            handshake: connected_at.since(self.start),
            request: requested_at.since(connected_at),
            reply: replied_at.since(requested_at),
            request_bytes: request,
            reply_bytes: reply,
            carried_bytes: reply,
            ends: self.ends,
            ..Transfer::default()
        }
    }

    /// Whether nothing more can come of it.
    pub(crate) fn is_over(&self) -> bool {
        self.sides.iter().all(|end| end.as_ref().is_some_and(End::is_over))
    }
}

/// An instant that has come.
fn happened(at: Instant) -> Option<Instant> {
    (at != Instant::NEVER).then_some(at)
}
