//! Requests and replies over one connection of a session, one after another or pipelined: from bytes
//! received to what an end writes, and what is complete.

use std::collections::VecDeque;

use shortflow_measure::{Ends, Transfer};
use shortflow_units::Instant;

use crate::ask::{Ask, Closing};

/// The session that a connection belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link {
    /// The index of the source that its workload is.
    pub source: u32,
    /// Its number in there.
    pub session: u32,
}

/// How far a connection has come, and what that took.
#[derive(Debug, Clone, Copy, Default)]
pub struct Account {
    /// Between whom it runs.
    pub ends: Ends,
    /// Bytes of the application that the server has received.
    pub at_server: u64,
    /// Bytes of the application that the client has received.
    pub at_client: u64,
    /// What it has cost.
    pub costs: Costs,
}

/// What packets a connection has cost, both ways.
#[derive(Debug, Clone, Copy, Default)]
pub struct Costs {
    /// Segments sent again.
    pub retransmissions: u32,
    /// Retransmission timeouts with data outstanding.
    pub timeouts: u32,
    /// SYNs and SYN-ACKs sent again.
    pub syn_retransmissions: u32,
    /// Packets sent.
    pub sent: u32,
    /// Packets dropped.
    pub dropped: u32,
    /// Packets marked green, yellow, red, otherwise.
    pub colors: [u32; 4],
}

/// What an end of a connection writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub struct Outgoing {
    /// How many bytes.
    pub bytes: u64,
    /// Whether the end closes after them.
    pub is_last: bool,
}

/// What a connection of a session carries.
#[derive(Debug)]
pub struct Dialogue {
    link: Link,
    /// The indices of what its bytes and what its transfers count for.
    workload: u16,
    row: u16,
    closing: Closing,
    connected_at: Instant,
    /// The session knows that the connection stands.
    knows_connected: bool,
    /// What is not complete, first come first; the first `answered` have their reply under way.
    asked: VecDeque<Asked>,
    answered: usize,
    /// Bytes that the client and the server have written so far.
    written_by_client: u64,
    written_by_server: u64,
    /// Where the newest request and the newest reply begin that are complete, in what the two ends have written.
    complete_from: [u64; 2],
    /// Whether a byte-range request was sent.
    is_range: bool,
    /// What the connection had cost when the last transfer was complete.
    before: Costs,
}

/// Something that was asked for.
#[derive(Debug, Clone, Copy)]
struct Asked {
    ask: Ask,
    id: u64,
    at: Instant,
    requested_at: Instant,
    /// Where its request and its reply end in what the two ends write.
    request_end: u64,
    reply_end: u64,
}

impl Asked {
    /// How much of it has come.
    fn carried(&self, account: &Account) -> u64 {
        let (end, received) = match self.ask.is_one_way() {
            true => (self.request_end, account.at_server),
            false => (self.reply_end, account.at_client),
        };
        self.ask.size().saturating_sub(end.saturating_sub(received))
    }

    /// Its record while it is not complete.
    fn unfinished(&self, row: u16, account: &Account) -> Transfer {
        Transfer {
            ends: account.ends,
            workload: row,
            id: self.id,
            start: self.at,
            request_bytes: if self.ask.is_one_way() { 0 } else { self.ask.request },
            reply_bytes: self.ask.size(),
            carried_bytes: self.carried(account),
            ..Transfer::default()
        }
    }
}

impl Dialogue {
    /// A dialogue in which nothing was asked for yet.
    pub fn new(link: Link, workload: u16, row: u16, closing: Closing) -> Self {
        Dialogue {
            link,
            workload,
            row,
            closing,
            connected_at: Instant::NEVER,
            knows_connected: false,
            asked: VecDeque::new(),
            answered: 0,
            written_by_client: 0,
            written_by_server: 0,
            complete_from: [0; 2],
            is_range: false,
            before: Costs::default(),
        }
    }

    /// The session that it belongs to.
    pub fn link(&self) -> Link {
        self.link
    }

    /// Whether it carries the reply to a byte-range request.
    pub fn is_range(&self) -> bool {
        self.is_range
    }

    /// The index of the workload that its bytes count for.
    pub fn workload(&self) -> u16 {
        self.workload
    }

    /// The client asks for these things, which are numbered from `first` on: what it writes.
    pub fn ask(&mut self, now: Instant, asks: &[Ask], first: u64) -> Outgoing {
        let before = self.written_by_client;
        for (id, &ask) in (first..).zip(asks) {
            self.written_by_client += ask.request;
            self.is_range |= ask.is_range;
            self.asked.push_back(Asked {
                ask,
                id,
                at: now,
                requested_at: Instant::NEVER,
                request_end: self.written_by_client,
                reply_end: u64::MAX,
            });
        }
        let is_last = self.closing == Closing::ClientAfterRequest && !asks.is_empty();
        Outgoing { bytes: self.written_by_client - before, is_last }
    }

    /// The server has `received` bytes in all: it replies to each request that is whole.
    pub fn answer(&mut self, now: Instant, received: u64) -> Outgoing {
        let before = (self.written_by_server, self.answered);
        while let Some(asked) = self.asked.get_mut(self.answered)
            && received >= asked.request_end
        {
            asked.requested_at = now;
            self.answered += 1;
            self.written_by_server += asked.ask.reply;
            asked.reply_end = self.written_by_server;
        }
        let has_answered_all = self.answered > before.1 && self.answered == self.asked.len();
        let is_last = self.closing == Closing::ServerAfterReply && has_answered_all;
        Outgoing { bytes: self.written_by_server - before.0, is_last }
    }

    /// Where the request or the reply begins to which byte `at` of what the client, or the server, writes belongs. Those that
    /// were complete before the newest one count as that.
    pub fn message_from(&self, is_server: bool, at: u64) -> u64 {
        let begin = |asked: &Asked| match is_server {
            true => asked.reply_end.saturating_sub(asked.ask.reply),
            false => asked.request_end - asked.ask.request,
        };
        let known = if is_server { self.answered } else { self.asked.len() };
        let later = self.asked.partition_point(|asked| begin(asked) <= at).min(known);
        let newest = later.checked_sub(1).and_then(|place| self.asked.get(place));
        newest.map_or(self.complete_from[usize::from(is_server)], begin)
    }

    /// The client knows that the connection stands.
    pub fn on_established(&mut self, now: Instant) {
        self.connected_at = self.connected_at.min(now);
    }

    /// Whether the session has something to hear, when the client has `received` bytes in all.
    pub fn has_news(&self, received: u64) -> bool {
        let is_connected = !self.knows_connected && self.connected_at != Instant::NEVER;
        is_connected || self.has_reply(received)
    }

    fn has_reply(&self, received: u64) -> bool {
        self.answered > 0 && received >= self.asked[0].reply_end
    }

    /// Whether the connection stands since the session was last asked to look.
    pub(crate) fn take_connected(&mut self) -> bool {
        let is_new = self.connected_at != Instant::NEVER && !self.knows_connected;
        self.knows_connected |= is_new;
        is_new
    }

    /// What is complete next, and its record.
    pub(crate) fn take_reply(
        &mut self,
        now: Instant,
        account: &Account,
    ) -> Option<(Ask, Transfer)> {
        if !self.has_reply(account.at_client) {
            return None;
        }
        let asked = self.asked.pop_front()?;
        self.answered -= 1;
        let Asked { ask, request_end, reply_end, .. } = asked;
        self.complete_from = [request_end - ask.request, reply_end - ask.reply];
        let costs = account.costs;
        let before = std::mem::replace(&mut self.before, costs);
        let is_known = self.connected_at != Instant::NEVER;
        let connected = if is_known { self.connected_at.max(asked.at) } else { asked.at };
        let requested = asked.requested_at.max(connected);
        // A one-way message is all transfer: its time is reported as that of a reply.
        let reply_from = if asked.ask.is_one_way() { connected } else { requested };
        let transfer = Transfer {
            handshake: connected.since(asked.at),
            request: reply_from.since(connected),
            reply: now.since(reply_from),
            carried_bytes: asked.ask.size(),
            retransmissions: costs.retransmissions - before.retransmissions,
            timeouts: costs.timeouts - before.timeouts,
            syn_retransmissions: costs.syn_retransmissions - before.syn_retransmissions,
            sent: costs.sent - before.sent,
            dropped: costs.dropped - before.dropped,
            colors: std::array::from_fn(|i| costs.colors[i] - before.colors[i]),
            ..asked.unfinished(self.row, account)
        };
        Some((asked.ask, transfer))
    }

    /// The connection broke: what will never be complete, and its records. Once only.
    pub(crate) fn break_off(&mut self, account: &Account) -> Vec<(Ask, Transfer)> {
        self.answered = 0;
        let record = |asked: Asked| (asked.ask, asked.unfinished(self.row, account));
        self.asked.drain(..).map(record).collect()
    }

    /// The records of what was asked for and is not complete.
    pub fn unfinished(&self, account: Account) -> impl Iterator<Item = Transfer> {
        self.asked.iter().map(move |asked| asked.unfinished(self.row, &account))
    }
}
