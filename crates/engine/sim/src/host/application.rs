//! Applications: a request and its reply, or a bulk transfer.

use shortflow_measure::{Ends, Transfer};
use shortflow_sessions::Dialogue;
use shortflow_tcp::{ENDLESS, State};
use shortflow_units::Instant;

use crate::host::flow::{BySide, Flow, Side};

/// The application of a connection.
#[derive(Debug)]
pub(crate) enum Application {
    /// The client sends a request, the server a reply, then both close.
    Exchange(Exchange),
    /// The client sends an endless stream, or a number of bytes.
    Bulk {
        /// Index of the workload.
        workload: u16,
        /// Bytes to send; `None` is endless.
        size: Option<u64>,
    },
    /// The dialogue of a session.
    Dialogue(Box<Dialogue>),
}

/// A request and its reply, with the times of completion.
#[derive(Debug)]
pub(crate) struct Exchange {
    /// Index of the workload, and of the transfer within it.
    pub(crate) workload: u16,
    pub(crate) id: u64,
    /// Bytes.
    pub(crate) request: u64,
    pub(crate) reply: u64,
    /// The client's first SYN.
    pub(crate) start: Instant,
    /// When the client's handshake is complete. This and the next two are `NEVER` until they happen.
    pub(crate) connected_at: Instant,
    /// When the server has the whole request.
    pub(crate) requested_at: Instant,
    /// When the client has the whole reply.
    pub(crate) replied_at: Instant,
}

impl Exchange {
    /// An exchange that starts now.
    pub(crate) fn new(workload: u16, id: u64, request: u64, reply: u64, start: Instant) -> Self {
        Exchange {
            workload,
            id,
            request,
            reply,
            start,
            connected_at: Instant::NEVER,
            requested_at: Instant::NEVER,
            replied_at: Instant::NEVER,
        }
    }

    fn is_done(&self) -> bool {
        self.replied_at != Instant::NEVER
    }
}

/// What the engine must do after a change.
#[derive(Debug, PartialEq)]
pub(crate) enum Progress {
    /// Nothing.
    Nothing,
    /// Record the completed transfer.
    Complete(Box<Transfer>),
    /// Notify the session.
    Heard,
}

impl Application {
    /// The index of the workload.
    #[inline]
    pub(crate) fn workload(&self) -> u16 {
        match self {
            Application::Exchange(exchange) => exchange.workload,
            Application::Bulk { workload, .. } => *workload,
            Application::Dialogue(dialogue) => dialogue.workload(),
        }
    }

    /// Whether its server replies to a byte-range request.
    #[inline]
    pub(crate) fn carries_range(&self) -> bool {
        matches!(self, Application::Dialogue(dialogue) if dialogue.is_range())
    }
}

impl Flow {
    /// Whether this is an endless bulk transfer.
    pub(crate) fn is_endless(&self) -> bool {
        matches!(self.application, Application::Bulk { size: None, .. })
    }

    /// Whether it carries one request and its reply.
    pub(crate) fn is_exchange(&self) -> bool {
        matches!(self.application, Application::Exchange(_))
    }

    /// Opens the connection, with the client's first data.
    pub(crate) fn open(&mut self, now: Instant) {
        let BySide([client, server]) = &mut self.ends;
        server.tcp.open(now);
        let client = &mut client.tcp;
        client.open(now);
        match self.application {
            Application::Exchange(Exchange { request, .. }) => client.write(now, request),
            Application::Bulk { size: None, .. } => client.write(now, ENDLESS),
            Application::Bulk { size: Some(size), .. } => {
                client.write(now, size);
                client.close(now);
            }
            Application::Dialogue(_) => {}
        }
    }

    /// Notifies the application that `side` has received a segment. It may write and close.
    #[inline]
    pub(crate) fn on_progress(&mut self, now: Instant, side: Side) -> Progress {
        match self.application {
            Application::Bulk { .. } => {
                let tcp = &mut self.ends[side].tcp;
                if tcp.peer_closed() {
                    tcp.close(now);
                }
                Progress::Nothing
            }
            Application::Exchange(_) => self.on_exchange_progress(now, side),
            Application::Dialogue(_) => self.on_dialogue_progress(now, side),
        }
    }

    fn on_exchange_progress(&mut self, now: Instant, side: Side) -> Progress {
        let received = self.ends[side].tcp.received();
        let peer_closed = self.ends[side].tcp.peer_closed();
        let mut complete = false;
        if let Application::Exchange(exchange) = &mut self.application {
            match side {
                Side::Server => {
                    if exchange.requested_at == Instant::NEVER && received >= exchange.request {
                        exchange.requested_at = now;
                        let server = &mut self.ends[Side::Server].tcp;
                        server.write(now, exchange.reply);
                        server.close(now);
                    }
                }
                Side::Client => {
                    let client = &self.ends[Side::Client].tcp;
                    if exchange.connected_at == Instant::NEVER && client.is_established() {
                        exchange.connected_at = now;
                    }
                    if !exchange.is_done()
                        && exchange.requested_at != Instant::NEVER
                        && received >= exchange.reply
                    {
                        exchange.replied_at = now;
                        complete = true;
                    }
                }
            }
        }
        if peer_closed {
            self.ends[side].tcp.close(now);
        }
        if complete { Progress::Complete(Box::new(self.transfer())) } else { Progress::Nothing }
    }

    /// The record of an exchange so far.
    fn transfer(&self) -> Transfer {
        let Application::Exchange(exchange) = &self.application else {
            unreachable!("only exchanges complete")
        };
        let connected_at = happened(exchange.connected_at).unwrap_or(exchange.start);
        let requested_at = happened(exchange.requested_at).unwrap_or(connected_at);
        let replied_at = happened(exchange.replied_at).unwrap_or(requested_at);
        let [client, server] = self.ends.0.each_ref().map(|end| end.tcp.stats());
        Transfer {
            workload: exchange.workload,
            id: exchange.id,
            start: exchange.start,
            handshake: connected_at.since(exchange.start),
            request: requested_at.since(connected_at),
            reply: replied_at.since(requested_at.max(connected_at)),
            request_bytes: exchange.request,
            reply_bytes: exchange.reply,
            carried_bytes: exchange.reply,
            ends: self.between(),
            retransmissions: client.retransmitted_segments + server.retransmitted_segments,
            timeouts: client.timeouts + server.timeouts,
            syn_retransmissions: client.syn_retransmissions + server.syn_retransmissions,
            sent: self.tally.sent,
            dropped: self.tally.dropped,
            colors: self.tally.marked,
        }
    }

    /// Whether the connection has ended: both ends are closed, or the client gave up before the server
    /// received anything.
    #[inline]
    pub(crate) fn is_over(&self) -> bool {
        let BySide([client, server]) = &self.ends;
        client.tcp.is_closed() && (server.tcp.is_closed() || server.tcp.state() == State::Listen)
    }

    /// Whether the engine must handle the connection: it has ended, or it broke.
    #[inline]
    pub(crate) fn needs_care(&self) -> bool {
        self.is_over() || self.is_broken_unknown()
    }

    /// Whether an end gave up or was reset, and this is not handled yet.
    #[inline]
    pub(crate) fn is_broken_unknown(&self) -> bool {
        self.failed_at == Instant::NEVER && self.has_failed()
    }

    /// Whether an end gave up, or was reset.
    pub(crate) fn has_failed(&self) -> bool {
        self.ends.0.iter().any(|end| end.tcp.failure().is_some())
    }

    /// The record of an incomplete exchange.
    pub(crate) fn unfinished(&self) -> Option<Transfer> {
        match &self.application {
            Application::Exchange(exchange) if !exchange.is_done() => {
                let carried_bytes = self.ends[Side::Client].delivered;
                Some(Transfer { carried_bytes, ..self.transfer() })
            }
            _ => None,
        }
    }

    /// The hosts of the connection.
    pub(crate) fn between(&self) -> Ends {
        Ends {
            client: self.key().src.0,
            server: self.key().dst.0,
            client_port: self.key().src_port,
            server_port: self.key().dst_port,
        }
    }
}

/// The instant, if it has happened.
fn happened(at: Instant) -> Option<Instant> {
    (at != Instant::NEVER).then_some(at)
}
