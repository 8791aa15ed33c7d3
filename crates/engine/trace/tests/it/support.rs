//! Runs with a trace, and what stands in its file.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use pcap_parser::pcapng::{Block, PcapNGOption};
use pcap_parser::{OptionCode, PcapBlockOwned as Any, PcapNGSlice};
use shortflow_measure::results::Error;
use shortflow_run::{Event, Sight, Tap};
use shortflow_scenario::{NodeId, Overrides, Scenario, from_texts};
use shortflow_sim::{Simulated, run_replica_before};
use shortflow_trace::{CapturePoint, Trace, places};
use tempfile::TempDir;

/// ```text
///   client ── r1 ═══ 10 Mbit/s, loses packets both ways ═══ r2 ── server
///                              ◀── RED with ECN ──
/// ```
pub(crate) const LOSSY: &str = r#"
    policy = "red.toml"
    seed = 7
    replicas = 1
    duration = "10 s"
    drain = "60 s"
    tcp = { era = "linux-today", ecn = true }
    hosts = { client = {}, server = {} }
    routers = { r1 = {}, r2 = {} }
    links.client = { between = ["client", "r1"], rate = "100 Mbit/s", delay = "1 ms" }
    links.server = { between = ["server", "r2"], rate = "100 Mbit/s", delay = "1 ms" }
    links.middle = { between = ["r1", "r2"], rate = "10 Mbit/s", delay = "10 ms", loss = { forward = 0.01, back = 0.02 } }
    bind = [{ role = "core", at = "r2", to = "r1" }]
    measure.ports = ["r2->r1"]

    [workloads.pages.transfers]
    client = "client"
    server = "server"
    load = "3 Mbit/s"
    request.constant = "400 B"
    reply.choice = { sizes = ["2 KB", "20 KB", "200 KB"] }

    [workloads.file.bulk]
    from = "server"
    to = "client"
    size = "2 MB"

    [workloads.voice.cbr]
    from = "server"
    to = "client"
    rate = "80 kbit/s"
    packet = "200 B"
    dscp = "EF"
"#;

const RED: &str = r#"
    [roles.core.queue.red]
    limit = "60 pkt"
    min_threshold = "5 pkt"
    max_threshold = "20 pkt"
    max_probability = 0.1
    weight = 0.02
    ecn = true
"#;

/// The scenario of a text, which may name the policy `red.toml`.
pub(crate) fn scenario(text: &str) -> Scenario {
    scenario_with(text, RED)
}

/// The same with another policy under that name.
pub(crate) fn scenario_with(text: &str, policy: &str) -> Scenario {
    let files = [("scenario.toml", text), ("red.toml", policy)];
    let loaded = from_texts(&files, &Overrides::default());
    let loaded = loaded.unwrap_or_else(|mistakes| panic!("the scenario has mistakes:\n{mistakes}"));
    loaded.into_points().swap_remove(0).scenario
}

/// A run of which a trace was kept.
pub(crate) struct Traced {
    pub(crate) outcome: Simulated,
    pub(crate) file: PathBuf,
    /// Segments with selective acknowledgements that the places, if they are hosts, have sent.
    pub(crate) sack_segments: u64,
    _home: TempDir,
}

/// Replica 0, traced at the places of these names.
pub(crate) fn traced(scenario: &Scenario, names: &[&str]) -> Traced {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("trace.pcapng");
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let places = places(scenario, &names).unwrap();
    let trace = Box::new(Trace::create(&file, scenario, &places).unwrap());
    let sack_segments = Arc::new(AtomicU64::new(0));
    let hosts = places.iter().filter_map(|place| match place {
        CapturePoint::Host(node) => Some(*node),
        CapturePoint::Port { .. } => None,
    });
    let counting =
        Counting { trace, hosts: hosts.collect(), sack_segments: Arc::clone(&sack_segments) };
    let tap = Some(Box::new(counting) as Box<dyn Tap>);
    let outcome = run_replica_before(tap, scenario, 0, None, |_| true).unwrap();
    let sack_segments = sack_segments.load(Ordering::Relaxed);
    Traced { outcome, file, sack_segments, _home: home }
}

/// Counts beside a trace what no result tells.
struct Counting {
    trace: Box<Trace>,
    hosts: Vec<NodeId>,
    sack_segments: Arc<AtomicU64>,
}

impl Tap for Counting {
    fn watches(&self, from: NodeId, to: NodeId) -> bool {
        self.trace.watches(from, to)
    }

    fn see(&mut self, sight: &Sight<'_>) {
        let is_sent = sight.event == Event::Sent && self.hosts.contains(&sight.from);
        if is_sent && !sight.header.sack.is_empty() {
            self.sack_segments.fetch_add(1, Ordering::Relaxed);
        }
        self.trace.see(sight);
    }

    fn finish(self: Box<Self>) -> Result<(), Error> {
        self.trace.finish()
    }
}

/// A packet as a file has it.
#[derive(Debug)]
pub(crate) struct Captured {
    /// The number of its interface.
    pub(crate) interface: u32,
    /// In nanoseconds.
    pub(crate) at: u64,
    /// The bytes that were captured.
    pub(crate) bytes: Vec<u8>,
    /// How long it was.
    pub(crate) length: usize,
    pub(crate) is_inbound: bool,
    pub(crate) comment: Option<String>,
}

impl Captured {
    /// The whole frame: what was not captured is zero.
    pub(crate) fn frame(&self) -> Vec<u8> {
        let mut frame = self.bytes.clone();
        frame.resize(self.length, 0);
        frame
    }

    /// The TCP header; the IP header has no options.
    pub(crate) fn tcp(&self) -> Option<&[u8]> {
        (self.bytes[23] == 6).then(|| &self.bytes[34..])
    }
}

/// The names of the interfaces in a file, and its packets.
pub(crate) fn read(file: &Path) -> (Vec<String>, Vec<Captured>) {
    let bytes = fs::read(file).unwrap();
    let mut interfaces = Vec::new();
    let mut packets = Vec::new();
    for block in PcapNGSlice::from_slice(&bytes).unwrap() {
        match block.unwrap() {
            Any::NG(Block::InterfaceDescription(it)) => {
                assert_eq!(it.ts_resolution(), Some(1_000_000_000));
                interfaces.push(it.if_name().unwrap().unwrap().to_owned());
            }
            Any::NG(Block::EnhancedPacket(it)) => packets.push(Captured {
                interface: it.if_id,
                at: u64::from(it.ts_high) << 32 | u64::from(it.ts_low),
                bytes: it.data[..it.caplen as usize].to_vec(),
                length: it.origlen as usize,
                is_inbound: option(&it.options, 2).unwrap() == [1, 0, 0, 0],
                comment: option(&it.options, 1).map(|text| String::from_utf8(text).unwrap()),
            }),
            _ => {}
        }
    }
    (interfaces, packets)
}

fn option(options: &[PcapNGOption<'_>], code: u16) -> Option<Vec<u8>> {
    let found = options.iter().find(|option| option.code == OptionCode(code))?;
    Some(found.value()[..usize::from(found.len)].to_vec())
}

/// What a program prints; none where it is not installed.
pub(crate) fn tool(program: &str, arguments: &[&str]) -> Option<String> {
    match Command::new(program).args(arguments).output() {
        Ok(output) => {
            let complaints = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{program} {arguments:?}: {complaints}");
            Some(String::from_utf8(output.stdout).unwrap())
        }
        Err(_) => {
            eprintln!("skipped: needs {program}");
            None
        }
    }
}
