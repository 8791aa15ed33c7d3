//! A connection of a workload: the messages of its two ends.

use shortflow_measure::{Ends, Transfer};
use shortflow_packet::{Address, FlowKey, Protocol};
use shortflow_sessions::{Account, Costs, Dialogue, Outgoing};
use shortflow_units::Instant;

use super::end::{ENDLESS, End};
use super::tcp_info::TcpInfo;
use crate::applications::HandedIn;

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
    /// The 5-tuple of what the client sends.
    key: FlowKey,
    pub(crate) talk: Talk,
    /// The client, and the server once it has accepted.
    pub(crate) sides: [Option<End>; 2],
    /// What the application at each side has handed in.
    pub(crate) handed_in: [HandedIn; 2],
    /// When the client began to open it.
    pub(crate) start: Instant,
    connected_at: Instant,
}

/// What runs over a connection.
#[derive(Debug)]
pub(crate) enum Talk {
    /// The client sends a request, the server a reply, then both close.
    Exchange(Exchange),
    /// The client sends, endlessly or a given number of bytes.
    Bulk {
        /// Bytes to send; none is endless.
        size: Option<u64>,
        /// What the server had when the warm-up ended.
        received_before: u64,
        /// The kernel's report on its sender at that time.
        told_before: TcpInfo,
    },
    /// What a session says over it.
    Dialogue(Box<Dialogue>),
}

/// A request and its reply.
#[derive(Debug)]
pub(crate) struct Exchange {
    pub(crate) id: u64,
    pub(crate) request: u64,
    pub(crate) reply: u64,
    /// When the server had the request; never until then.
    pub(crate) requested_at: Instant,
    pub(crate) is_done: bool,
}

/// What follows from something that an end has read.
#[derive(Debug, PartialEq)]
pub(crate) enum Progress {
    Nothing,
    /// A transfer is complete.
    Complete(Box<Transfer>),
    /// A session has something to hear.
    Heard,
}

impl Connection {
    /// A connection that is to be opened at `start`.
    pub(crate) fn new(
        workload: u16,
        ends: Ends,
        [src, dst]: [Address; 2],
        talk: Talk,
        start: Instant,
    ) -> Self {
        let (src_port, dst_port) = (ends.client_port, ends.server_port);
        let key = FlowKey { src, dst, src_port, dst_port, protocol: Protocol::TCP };
        let (sides, handed_in, connected_at) = ([None, None], Default::default(), Instant::NEVER);
        Connection { workload, ends, key, talk, sides, handed_in, start, connected_at }
    }

    /// The client begins to open it from this port, with what it sends first.
    pub(crate) fn begin(&mut self, mut client: End, port: u16) {
        self.ends.client_port = port;
        self.key.src_port = port;
        match &self.talk {
            Talk::Exchange(exchange) => client.write(exchange.request),
            Talk::Bulk { size: None, .. } => client.write(ENDLESS),
            Talk::Bulk { size: Some(size), .. } => {
                client.write(*size);
                client.close();
            }
            Talk::Dialogue(_) => {}
        }
        self.sides[Side::Client as usize] = Some(client);
    }

    /// Whether its server replies to a byte-range request.
    pub(crate) fn carries_range(&self) -> bool {
        matches!(&self.talk, Talk::Dialogue(dialogue) if dialogue.is_range())
    }

    /// The 5-tuple of what a side sends.
    pub(crate) fn key(&self, side: Side) -> FlowKey {
        match side {
            Side::Client => self.key,
            Side::Server => self.key.reversed(),
        }
    }

    /// Bytes that the server has got of a transfer without end: in all, and before the warm-up ended.
    pub(crate) fn endless(&self) -> Option<(u64, u64)> {
        match self.talk {
            Talk::Bulk { size: None, received_before, .. } => {
                Some((self.received(Side::Server), received_before))
            }
            _ => None,
        }
    }

    pub(crate) fn end(&mut self, side: Side) -> Option<&mut End> {
        self.sides[side as usize].as_mut()
    }

    pub(crate) fn received(&self, side: Side) -> u64 {
        self.sides[side as usize].as_ref().map_or(0, |end| end.received)
    }

    /// The application at `side` hands in what it writes.
    pub(crate) fn put(&mut self, side: Side, outgoing: Outgoing) {
        if let Some(end) = self.end(side) {
            end.write(outgoing.bytes);
            if outgoing.is_last {
                end.close();
            }
        }
    }

    /// The client can write or read: so the connection stands.
    pub(crate) fn on_connected(&mut self, now: Instant) {
        self.connected_at = self.connected_at.min(now);
        if let Talk::Dialogue(dialogue) = &mut self.talk {
            dialogue.on_established(now);
        }
    }

    /// An end has read something, or learned that the other has closed.
    pub(crate) fn on_read(&mut self, now: Instant, side: Side) -> Progress {
        let received = self.received(side);
        let at_client = self.received(Side::Client);
        let (mut outgoing, mut is_complete, mut is_heard) = (None, false, false);
        match &mut self.talk {
            Talk::Bulk { .. } => {}
            Talk::Exchange(exchange) => {
                let is_new = exchange.requested_at == Instant::NEVER;
                if side == Side::Server && is_new && received >= exchange.request {
                    exchange.requested_at = now;
                    outgoing = Some(Outgoing { bytes: exchange.reply, is_last: true });
                } else if side == Side::Client
                    && !is_new
                    && !exchange.is_done
                    && received >= exchange.reply
                {
                    exchange.is_done = true;
                    is_complete = true;
                }
            }
            Talk::Dialogue(dialogue) => {
                if side == Side::Server {
                    outgoing = Some(dialogue.answer(now, received));
                }
                is_heard = dialogue.has_news(at_client);
            }
        }
        if let Some(outgoing) = outgoing {
            self.put(side, outgoing);
        }
        if let Some(end) = self.end(side)
            && end.peer_closed
        {
            end.close();
        }
        if is_complete {
            Progress::Complete(Box::new(self.transfer(now)))
        } else if is_heard {
            Progress::Heard
        } else {
            Progress::Nothing
        }
    }

    /// The records of what is not complete.
    pub(crate) fn unfinished(&self, now: Instant) -> Vec<Transfer> {
        match &self.talk {
            Talk::Exchange(exchange) if !exchange.is_done => {
                let carried_bytes = self.received(Side::Client);
                vec![Transfer { carried_bytes, ..self.transfer(now) }]
            }
            Talk::Dialogue(dialogue) => {
                dialogue.unfinished(self.account(Costs::default())).collect()
            }
            _ => Vec::new(),
        }
    }

    /// How far it has come, where it has cost that.
    pub(crate) fn account(&self, costs: Costs) -> Account {
        Account {
            ends: self.ends,
            at_server: self.received(Side::Server),
            at_client: self.received(Side::Client),
            costs,
        }
    }

    /// The record of an exchange, as far as it has come by `now`.
    fn transfer(&self, now: Instant) -> Transfer {
        let Talk::Exchange(exchange) = &self.talk else { unreachable!("only exchanges complete") };
        let connected_at = happened(self.connected_at).unwrap_or(self.start);
        // The server may have the request before the client learns that it may write.
        let requested_at =
            happened(exchange.requested_at).unwrap_or(connected_at).max(connected_at);
        let replied_at = if exchange.is_done { now.max(requested_at) } else { requested_at };
        Transfer {
            workload: self.workload,
            id: exchange.id,
            start: self.start,
            handshake: connected_at.since(self.start),
            request: requested_at.since(connected_at),
            reply: replied_at.since(requested_at),
            request_bytes: exchange.request,
            reply_bytes: exchange.reply,
            carried_bytes: exchange.reply,
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
