//! `telnet`: typing, character after character.

use schemars::JsonSchema;
use serde::Deserialize;
use shortflow_measure::Item;
use shortflow_tcp::Config;
use shortflow_units::{Bytes, Duration};
use shortflow_workloads::Telnet;

use super::sessions::SessionKeys;
use super::{PairEnd, Traffic, WorkloadKeys};
use crate::check::{Checker, tcp, times};
use crate::file::{OneOrList, TcpFile, TimesFile};
use crate::model::{NodeId, Part};

/// Typing over TCP: a character, its echo, a pause, the next character; one connection for each
/// session, with Nagle's algorithm unless `tcp.nagle` is false.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "TelnetFile")]
pub(crate) struct Keys {
    /// The clients: a node, a group, a slice of one such as "user[2::5]", or a list of these.
    client: OneOrList<String>,
    /// The servers, likewise.
    server: OneOrList<String>,
    /// How many sessions; by default one for each pair.
    sessions: Option<u32>,
    /// The size of a packet with a character or its echo on the wire, headers included.
    packet: Bytes,
    /// From an echo to the next character.
    pause: TimesFile,
    /// The server's port; 23 by default.
    port: Option<u16>,
    /// The earliest start; 0 s by default.
    #[serde(default)]
    start: Duration,
    /// Sessions start uniformly within this time after `start`; 0 s by default.
    #[serde(default)]
    start_window: Duration,
    /// Nothing is typed from here on; by default with the run.
    stop: Option<Duration>,
    /// What differs from the scenario's TCP.
    #[serde(default)]
    tcp: TcpFile,
    /// The label by which a policy at a host knows its packets; by default the workload's name.
    label: Option<String>,
}

/// What an engine runs; each pair is (client, server).
pub(super) type Plan = Telnet<NodeId>;

impl WorkloadKeys for Keys {
    type Plan = Plan;

    fn label(&self) -> Option<&String> {
        self.label.as_ref()
    }

    fn check(&self, checker: &mut Checker<'_>, path: &str) -> Option<(Plan, Config)> {
        let base = Config { nagle: true, ..checker.base.clone() };
        let mut config = tcp::check(checker.document, &format!("{path}.tcp"), &self.tcp, &base);
        // An era in it starts afresh.
        config.nagle = self.tcp.nagle.unwrap_or(true);
        let keys = SessionKeys {
            pair: [("client", &self.client), ("server", &self.server)],
            sessions: self.sessions,
            port: self.port.unwrap_or(23),
            start: self.start,
            start_window: self.start_window,
            stop: self.stop,
        };
        let sessions = checker.sessions(path, &keys);
        let pause = times::check(checker.document, &format!("{path}.pause"), &self.pause);
        let header = u64::from(config.header);
        let character = self.packet.0.saturating_sub(header);
        if !(1..=u64::from(config.mss)).contains(&character) {
            let message = format!("a packet of {} is too small to hold a character", self.packet);
            let max = Bytes(header + u64::from(config.mss));
            let help = format!(
                "the headers take {}, so packet must be {} to {max}",
                Bytes(header),
                Bytes(header + 1)
            );
            checker.document.mistake(&format!("{path}.packet"), message, help);
            return None;
        }
        let character = character as u32;
        Some((Telnet { sessions: sessions?, character, pause: pause? }, config))
    }
}

impl Traffic for Plan {
    fn pairs(&self) -> &[(NodeId, NodeId)] {
        &self.sessions.pairs
    }

    fn item(&self, _: Part) -> Item {
        Item::Echo
    }

    fn sender(&self) -> PairEnd {
        PairEnd::Second
    }

    fn open(&self, _: f64) -> f64 {
        f64::from(self.sessions.count)
    }
}
