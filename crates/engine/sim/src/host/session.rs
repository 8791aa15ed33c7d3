//! Sessions over simulated connections: the engine as their host, and their dialogues.

use shortflow_measure::{Recorder, Transfer};
use shortflow_sessions::{Account, ConnectionId, Costs, Dialogue, Host, Outgoing};
use shortflow_units::Instant;

use crate::host::application::{Application, Progress};
use crate::host::flow::{BySide, Flow, FlowId, Flows, Side};
use crate::host::ports::EphemeralPorts;
use crate::host::source::Connections;

/// The parts of the engine that sessions use.
pub(crate) struct World<'e> {
    pub(crate) now: Instant,
    pub(crate) connections: &'e Connections,
    pub(crate) flows: &'e mut Flows,
    pub(crate) recorder: &'e mut Recorder,
    pub(crate) ports: &'e mut EphemeralPorts,
    /// Connections that may have something to send.
    pub(crate) pending_sends: &'e mut Vec<PendingSend>,
}

/// A connection on which a session has written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PendingSend {
    pub(crate) id: FlowId,
    /// It was just opened.
    pub(crate) is_new: bool,
}

impl World<'_> {
    fn flow(&mut self, id: ConnectionId) -> &mut Flow {
        let flow = self.flows.get_mut(FlowId(id.0));
        flow.expect("a session knows which of its connections are open")
    }
}

impl Host for World<'_> {
    fn now(&self) -> Instant {
        self.now
    }

    fn open(&mut self, pair: usize, dialogue: Dialogue, first: Outgoing) -> ConnectionId {
        let application = Application::Dialogue(Box::new(dialogue));
        let new = self.connections.open(pair, application, self.ports, self.flows);
        let flow = Flow::new(new.key, &new.config, new.application);
        let (id, flow) = self.flows.insert(flow);
        flow.open(self.now);
        flow.put(self.now, Side::Client, first);
        self.pending_sends.push(PendingSend { id, is_new: true });
        ConnectionId(id.0)
    }

    fn write(&mut self, connection: ConnectionId, outgoing: Outgoing) {
        let now = self.now;
        self.flow(connection).put(now, Side::Client, outgoing);
        self.pending_sends.push(PendingSend { id: FlowId(connection.0), is_new: false });
    }

    fn dialogue(&mut self, connection: ConnectionId) -> &mut Dialogue {
        match &mut self.flow(connection).application {
            Application::Dialogue(dialogue) => dialogue,
            _ => unreachable!("a session has dialogues only"),
        }
    }

    fn account(&mut self, connection: ConnectionId) -> Account {
        self.flow(connection).account()
    }

    fn record_complete(&mut self, transfer: &Transfer) {
        self.recorder.transfer(transfer);
    }

    fn record_failure(&mut self, failed: &Transfer) {
        self.recorder.failed_transfer(self.now, failed);
    }

    fn log_access(&mut self, workload: u16, columns: &str, line: String) {
        self.recorder.access(workload, columns, line);
    }
}

impl Flow {
    /// The dialogue of a session on the connection.
    pub(crate) fn dialogue(&self) -> Option<&Dialogue> {
        match &self.application {
            Application::Dialogue(dialogue) => Some(dialogue),
            _ => None,
        }
    }

    /// The application writes the output of `side`.
    fn put(&mut self, now: Instant, side: Side, outgoing: Outgoing) {
        let tcp = &mut self.ends[side].tcp;
        tcp.write(now, outgoing.bytes);
        if outgoing.is_last {
            tcp.close(now);
        }
    }

    /// Notifies the dialogue that `side` has received a segment.
    #[inline(never)]
    pub(crate) fn on_dialogue_progress(&mut self, now: Instant, side: Side) -> Progress {
        let BySide([client, server]) = &self.ends;
        let Application::Dialogue(dialogue) = &mut self.application else {
            unreachable!("only dialogues come here")
        };
        let outgoing = match side {
            Side::Server => Some(dialogue.answer(now, server.tcp.received())),
            Side::Client => {
                if client.tcp.is_established() {
                    dialogue.on_established(now);
                }
                None
            }
        };
        let has_news = dialogue.has_news(client.tcp.received());
        if let Some(outgoing) = outgoing {
            self.put(now, side, outgoing);
        }
        let tcp = &mut self.ends[side].tcp;
        if tcp.peer_closed() {
            tcp.close(now);
        }
        if has_news { Progress::Heard } else { Progress::Nothing }
    }

    /// The records of incomplete requests of a session.
    pub(crate) fn asked_for(&self) -> impl Iterator<Item = Transfer> {
        self.dialogue().into_iter().flat_map(|dialogue| dialogue.unfinished(self.account()))
    }

    /// The progress of the connection, and its cost.
    fn account(&self) -> Account {
        let [client, server] = self.ends.0.each_ref().map(|end| end.tcp.stats());
        Account {
            ends: self.between(),
            at_server: self.ends[Side::Server].delivered,
            at_client: self.ends[Side::Client].delivered,
            costs: Costs {
                retransmissions: client.retransmitted_segments + server.retransmitted_segments,
                timeouts: client.timeouts + server.timeouts,
                syn_retransmissions: client.syn_retransmissions + server.syn_retransmissions,
                sent: self.tally.sent,
                dropped: self.tally.dropped,
                colors: self.tally.marked,
            },
        }
    }
}
