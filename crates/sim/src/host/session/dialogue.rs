//! Requests and replies over one connection of a session, one after another or pipelined.

use std::collections::VecDeque;

use shortflow_measure::Transfer;
use shortflow_tcp::Connection;
use shortflow_units::Instant;

use crate::host::application::{Application, Progress};
use crate::host::flow::{BySide, Flow, Side};

/// The session that a connection belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Link {
    /// The index of the source that its workload is.
    pub(crate) source: u32,
    /// Its number in there.
    pub(crate) session: u32,
}

/// Something to ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ask {
    /// What it is to the session.
    pub(crate) tag: Tag,
    /// Bytes that the client sends.
    pub(crate) request: u64,
    /// Bytes that the server sends back; with none, the request is the transfer.
    pub(crate) reply: u64,
}

/// What something is to its session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Tag {
    /// The number of the page, counted over the session.
    pub(crate) page: u32,
    /// 0 for its index, then its objects.
    pub(crate) object: u32,
}

/// Who closes the connection, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Closing {
    /// The client, when it has sent what it was opened with.
    ClientAfterRequest,
    /// The server, when it has sent the replies to that.
    ServerAfterReply,
    /// The client, when the session says so.
    Later,
}

/// What a connection of a session carries.
#[derive(Debug)]
pub(crate) struct Dialogue {
    pub(crate) link: Link,
    /// The indices of what its bytes and what its transfers count for.
    pub(crate) workload: u16,
    pub(crate) row: u16,
    closing: Closing,
    connected_at: Instant,
    /// The session knows that the connection stands.
    knows_connected: bool,
    /// What is not complete, first come first; the first `answered` have their reply under way.
    asked: VecDeque<Asked>,
    answered: usize,
    /// Bytes that the client and the server have written so far.
    written: BySide<u64>,
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
    /// Bytes of what is transferred.
    fn size(&self) -> u64 {
        if self.is_one_way() { self.ask.request } else { self.ask.reply }
    }

    /// Whether the request is the transfer.
    fn is_one_way(&self) -> bool {
        self.ask.reply == 0
    }

    /// How much of it has come, when the client and the server have `received` so many bytes over
    /// the connection.
    fn carried(&self, received: BySide<u64>) -> u64 {
        let (side, end) = match self.is_one_way() {
            true => (Side::Server, self.request_end),
            false => (Side::Client, self.reply_end),
        };
        let missing = end.saturating_sub(received[side]);
        self.size().saturating_sub(missing)
    }
}

/// What packets a connection has cost, both ways.
#[derive(Debug, Clone, Copy, Default)]
struct Costs {
    retransmissions: u32,
    timeouts: u32,
    syn_retransmissions: u32,
    sent: u32,
    dropped: u32,
    colors: [u32; 4],
}

impl Dialogue {
    /// A dialogue in which nothing was asked for yet.
    pub(crate) fn new(link: Link, workload: u16, row: u16, closing: Closing) -> Self {
        Dialogue {
            link,
            workload,
            row,
            closing,
            connected_at: Instant::NEVER,
            knows_connected: false,
            asked: VecDeque::new(),
            answered: 0,
            written: BySide::default(),
            before: Costs::default(),
        }
    }

    /// The server has these bytes: it replies to each request that is whole.
    fn answer(&mut self, now: Instant, received: u64, server: &mut Connection) {
        while let Some(asked) = self.asked.get_mut(self.answered)
            && received >= asked.request_end
        {
            asked.requested_at = now;
            self.answered += 1;
            self.written[Side::Server] += asked.ask.reply;
            asked.reply_end = self.written[Side::Server];
            server.write(now, asked.ask.reply);
            if self.closing == Closing::ServerAfterReply && self.answered == self.asked.len() {
                server.close(now);
            }
        }
    }

    /// Whether the session has something to hear, when the client has these bytes.
    fn has_news(&self, received: u64) -> bool {
        let is_connected = !self.knows_connected && self.connected_at != Instant::NEVER;
        is_connected || self.answered > 0 && received >= self.asked[0].reply_end
    }
}

impl Flow {
    /// The session that the connection belongs to.
    pub(crate) fn dialogue(&self) -> Option<&Dialogue> {
        match &self.application {
            Application::Dialogue(dialogue) => Some(dialogue),
            _ => None,
        }
    }

    fn dialogue_mut(&mut self) -> &mut Dialogue {
        match &mut self.application {
            Application::Dialogue(dialogue) => dialogue,
            _ => unreachable!("a session has dialogues only"),
        }
    }

    /// The client asks for something; the request is its number `id`.
    pub(crate) fn ask(&mut self, now: Instant, ask: Ask, id: u64) {
        let dialogue = self.dialogue_mut();
        dialogue.written[Side::Client] += ask.request;
        dialogue.asked.push_back(Asked {
            ask,
            id,
            at: now,
            requested_at: Instant::NEVER,
            request_end: dialogue.written[Side::Client],
            reply_end: u64::MAX,
        });
        let closes = dialogue.closing == Closing::ClientAfterRequest;
        let client = &mut self.ends[Side::Client].tcp;
        client.write(now, ask.request);
        if closes {
            client.close(now);
        }
    }

    /// Tells the dialogue that `side` has got a segment.
    #[inline(never)]
    pub(crate) fn on_dialogue_progress(&mut self, now: Instant, side: Side) -> Progress {
        let BySide([client, server]) = &mut self.ends;
        let Application::Dialogue(dialogue) = &mut self.application else {
            unreachable!("only dialogues come here")
        };
        let end = match side {
            Side::Server => {
                dialogue.answer(now, server.tcp.received(), &mut server.tcp);
                &mut server.tcp
            }
            Side::Client => {
                if dialogue.connected_at == Instant::NEVER && client.tcp.is_established() {
                    dialogue.connected_at = now;
                }
                &mut client.tcp
            }
        };
        if end.peer_closed() {
            end.close(now);
        }
        if dialogue.has_news(client.tcp.received()) { Progress::Heard } else { Progress::Nothing }
    }

    /// Whether the connection stands since the session was last asked to look.
    pub(crate) fn take_connected(&mut self) -> bool {
        let dialogue = self.dialogue_mut();
        let is_new = dialogue.connected_at != Instant::NEVER && !dialogue.knows_connected;
        dialogue.knows_connected |= is_new;
        is_new
    }

    /// What is complete next, and its record.
    pub(crate) fn take_reply(&mut self, now: Instant) -> Option<(Ask, Transfer)> {
        let received = self.ends[Side::Client].tcp.received();
        let (costs, ends) = (self.costs(), self.between());
        let dialogue = self.dialogue_mut();
        let is_complete = dialogue.answered > 0 && received >= dialogue.asked[0].reply_end;
        if !is_complete {
            return None;
        }
        let asked = dialogue.asked.pop_front()?;
        dialogue.answered -= 1;
        let before = std::mem::replace(&mut dialogue.before, costs);
        let is_known = dialogue.connected_at != Instant::NEVER;
        let connected = if is_known { dialogue.connected_at.max(asked.at) } else { asked.at };
        let requested = asked.requested_at.max(connected);
        let is_one_way = asked.is_one_way();
        // What has no reply is all transfer: its time is told as that of the reply.
        let reply_from = if is_one_way { connected } else { requested };
        let transfer = Transfer {
            ends,
            workload: dialogue.row,
            id: asked.id,
            start: asked.at,
            handshake: connected.since(asked.at),
            request: reply_from.since(connected),
            reply: now.since(reply_from),
            request_bytes: if is_one_way { 0 } else { asked.ask.request },
            reply_bytes: asked.size(),
            carried_bytes: asked.size(),
            retransmissions: costs.retransmissions - before.retransmissions,
            timeouts: costs.timeouts - before.timeouts,
            syn_retransmissions: costs.syn_retransmissions - before.syn_retransmissions,
            sent: costs.sent - before.sent,
            dropped: costs.dropped - before.dropped,
            colors: std::array::from_fn(|i| costs.colors[i] - before.colors[i]),
        };
        Some((asked.ask, transfer))
    }

    /// The connection broke: what will never be complete, and its records. Once only.
    pub(crate) fn break_off(&mut self) -> Vec<(Ask, Transfer)> {
        let records: Vec<Transfer> = self.asked_for().collect();
        let dialogue = self.dialogue_mut();
        dialogue.answered = 0;
        dialogue.asked.drain(..).map(|asked| asked.ask).zip(records).collect()
    }

    /// The records of what a session has asked for and not got whole.
    pub(crate) fn asked_for(&self) -> impl Iterator<Item = Transfer> {
        let received = BySide(self.ends.0.each_ref().map(|end| end.delivered));
        let ends = self.between();
        let row = self.dialogue().map_or(0, |dialogue| dialogue.row);
        let asked = self.dialogue().into_iter().flat_map(|dialogue| &dialogue.asked);
        asked.map(move |asked| Transfer {
            ends,
            workload: row,
            id: asked.id,
            start: asked.at,
            request_bytes: if asked.is_one_way() { 0 } else { asked.ask.request },
            reply_bytes: asked.size(),
            carried_bytes: asked.carried(received),
            ..Transfer::default()
        })
    }

    fn costs(&self) -> Costs {
        let [client, server] = self.ends.0.each_ref().map(|end| end.tcp.stats());
        Costs {
            retransmissions: client.retransmitted_segments + server.retransmitted_segments,
            timeouts: client.timeouts + server.timeouts,
            syn_retransmissions: client.syn_retransmissions + server.syn_retransmissions,
            sent: self.tally.sent,
            dropped: self.tally.dropped,
            colors: self.tally.marked,
        }
    }
}
