//! A scripted network: it writes down what sessions do, and brings bytes when a test says so.

use shortflow_measure::Transfer;
use shortflow_scenario::{Overrides, from_texts};
use shortflow_sessions::{Account, ConnectionId, Dialogue, Host, Outgoing, Sessions, build};
use shortflow_units::{Duration, Instant};

/// The sessions of a scenario's one workload, between two hosts.
pub(crate) struct Bench {
    sessions: Sessions,
    network: Network,
}

struct Network {
    now: Instant,
    connections: Vec<(Dialogue, Account)>,
    said: Vec<String>,
}

pub(crate) fn ms(millis: u64) -> Instant {
    Instant::START + Duration::from_millis(millis)
}

impl Bench {
    /// Sessions of one workload between `user` and `server`.
    pub(crate) fn new(workload: &str) -> Self {
        let hosts = r#"
            duration = "60 s"
            hosts = { user = {}, server = {} }
            links.line = { between = ["user", "server"], rate = "1 Mbit/s", delay = "1 ms" }
        "#;
        let text = format!("{hosts}\n{workload}");
        let loaded = from_texts(&[("s.toml", &text)], &Overrides::default()).unwrap();
        let sessions = build(&loaded.points()[0].scenario, 0, 1, 0, 0).unwrap();
        let network = Network { now: Instant::START, connections: vec![], said: vec![] };
        Bench { sessions, network }
    }

    /// When a session acts next, in milliseconds; none while all wait for the network.
    pub(crate) fn next_at(&self) -> Option<u64> {
        let at = self.sessions.next_at();
        (at != Instant::NEVER).then(|| at.since(Instant::START).nanos() / 1_000_000)
    }

    /// At this millisecond sessions act that are due: what they do.
    pub(crate) fn wake(&mut self, at: u64) -> Vec<String> {
        self.network.now = ms(at);
        self.sessions.wake(&mut self.network);
        std::mem::take(&mut self.network.said)
    }

    /// The client knows that a connection stands, and the server has these bytes in all.
    pub(crate) fn request(&mut self, at: u64, id: usize, bytes: u64) -> Vec<String> {
        self.network.now = ms(at);
        let (dialogue, account) = &mut self.network.connections[id];
        dialogue.on_established(ms(at));
        account.at_server = bytes;
        let outgoing = dialogue.answer(ms(at), bytes);
        if outgoing.bytes > 0 || outgoing.is_last {
            self.network.said.push(format!("{id} replies {}", reported(outgoing)));
        }
        self.hear(id)
    }

    /// The client has these bytes in all.
    pub(crate) fn reply(&mut self, at: u64, id: usize, bytes: u64) -> Vec<String> {
        self.network.now = ms(at);
        self.network.connections[id].1.at_client = bytes;
        self.hear(id)
    }

    /// A connection breaks.
    pub(crate) fn lose(&mut self, at: u64, id: usize) -> Vec<String> {
        self.network.now = ms(at);
        let session = self.network.connections[id].0.link().session;
        self.sessions.lost(&mut self.network, session, ConnectionId(id as u32));
        std::mem::take(&mut self.network.said)
    }

    fn hear(&mut self, id: usize) -> Vec<String> {
        let (dialogue, account) = &self.network.connections[id];
        if dialogue.has_news(account.at_client) {
            let session = dialogue.link().session;
            self.sessions.heard(&mut self.network, session, ConnectionId(id as u32));
        }
        std::mem::take(&mut self.network.said)
    }
}

impl Host for Network {
    fn now(&self) -> Instant {
        self.now
    }

    fn open(&mut self, _pair: usize, dialogue: Dialogue, first: Outgoing) -> ConnectionId {
        let id = self.connections.len();
        self.connections.push((dialogue, Account::default()));
        self.said.push(format!("{id} opens {}", reported(first)));
        ConnectionId(id as u32)
    }

    fn write(&mut self, connection: ConnectionId, outgoing: Outgoing) {
        self.said.push(format!("{} writes {}", connection.0, reported(outgoing)));
    }

    fn dialogue(&mut self, connection: ConnectionId) -> &mut Dialogue {
        &mut self.connections[connection.0 as usize].0
    }

    fn account(&mut self, connection: ConnectionId) -> Account {
        self.connections[connection.0 as usize].1
    }

    fn record_complete(&mut self, transfer: &Transfer) {
        self.said.push(format!("row {} complete: {}", transfer.workload, transfer.reply_bytes));
    }

    fn record_failure(&mut self, failed: &Transfer) {
        self.said.push(format!("row {} failed: {}", failed.workload, failed.reply_bytes));
    }

    fn log_access(&mut self, _workload: u16, _columns: &str, line: String) {
        self.said.push(line);
    }
}

fn reported(outgoing: Outgoing) -> String {
    format!("{}{}", outgoing.bytes, if outgoing.is_last { ", closes" } else { "" })
}
