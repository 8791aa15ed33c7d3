//! `telnet`: typing, one character after the other.

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

/// Typing over TCP: a character, its echo, a pause, the next character. Each session has one connection, with
/// Nagle's algorithm unless `tcp.nagle` is false.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "TelnetFile")]
pub(crate) struct Keys {
    /// Clients: a node, a group, a slice such as "user[2::5]", or a list of these.
    client: OneOrList<String>,
    /// Servers, in the same form.
    server: OneOrList<String>,
    /// Number of sessions. Default: one for each pair of nodes.
    sessions: Option<u32>,
    /// Size on the wire of a packet with a character or its echo, with headers.
    packet: Bytes,
    /// Pause from an echo to the next character.
    pause: TimesFile,
    /// Port of the server. Default: 23.
    port: Option<u16>,
    /// Earliest start. Default: 0 s.
    #[serde(default)]
    start: Duration,
    /// Sessions start uniformly within this time after `start`. Default: 0 s.
    #[serde(default)]
    start_window: Duration,
    /// Nothing is typed after this. Default: the end of the run.
    stop: Option<Duration>,
    /// Differences from the scenario's TCP.
    #[serde(default)]
    tcp: TcpFile,
    /// Label of its packets in policies at hosts. Default: the workload's name.
    label: Option<String>,
}

/// The checked workload; each pair is (client, server).
pub(super) type Plan = Telnet<NodeId>;

impl WorkloadKeys for Keys {
    type Plan = Plan;

    fn label(&self) -> Option<&String> {
        self.label.as_ref()
    }

    fn check(&self, checker: &mut Checker<'_>, path: &str) -> Option<(Plan, Config)> {
        let base = Config { nagle: true, ..checker.base.clone() };
        let mut config = tcp::check(checker.document, &format!("{path}.tcp"), &self.tcp, &base);
        // An era in it replaces the scenario's TCP.
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
            let message = format!("a packet of {} is too small for a character", self.packet);
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
