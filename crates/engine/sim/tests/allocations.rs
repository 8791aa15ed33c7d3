//! What lies between hosts allocates nothing once it has seen its traffic for a while, whatever the policy:
//! every request for memory is counted. A test of its own, since the count is that of the whole process.

use std::alloc::{GlobalAlloc, Layout, System};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use shortflow_packet::{Dscp, FlowKey, FrameId, Packet, Protocol, TcpFlags};
use shortflow_policy::Role;
use shortflow_scenario::{IpVersion, NodeId, Overrides, Scenario, from_texts};
use shortflow_sim::{Hosts, LiveNetwork};
use shortflow_units::{Duration, Instant};

/// The system's allocator, and how often it was asked for memory.
struct Counting;

static ASKED: AtomicU64 = AtomicU64::new(0);

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[allow(unsafe_code)]
// SAFETY: every call is handed on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ASKED.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller keeps the promises of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: the place came from the system's allocator, with this layout.
        unsafe { System.dealloc(place, layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ASKED.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the place came from the system's allocator, with this layout.
        unsafe { System.realloc(place, layout, size) }
    }
}

/// Packets before it is counted, and while it is.
const WARM_UP: u32 = 600_000;
const COUNTED: u32 = 200_000;

/// Connections at a time; each has so many packets and is followed by one from the next port.
const CONNECTIONS: u32 = 64;
const PACKETS: u32 = 12;

const CLIENT: &str = "client";
const SERVER: &str = "server";

/// A server behind a router whose line is too slow for it, under a policy, with the roles that do not ask for
/// what only the server knows.
fn scenario(policy: &str) -> Scenario {
    let bound = |roles: &[&str]| {
        let bind: String =
            PLACES.iter().filter(|(role, _)| roles.contains(role)).map(|(_, bind)| *bind).collect();
        let texts = [("s.toml", text(&bind)), ("p.toml", policy.to_owned())];
        let texts = texts.each_ref().map(|(name, text)| (*name, text.as_str()));
        let loaded = from_texts(&texts, &Overrides::default());
        let loaded =
            loaded.unwrap_or_else(|mistakes| panic!("the scenario has mistakes:\n{mistakes}"));
        loaded.into_points().swap_remove(0).scenario
    };
    let all = PLACES.map(|(role, _)| role);
    let known = bound(&all).policy.expect("it is bound");
    let can_stand = |name: &&str| known.role(name).is_some_and(|role: &Role| !role.reads_sender());
    bound(&all.into_iter().filter(can_stand).collect::<Vec<_>>())
}

/// Where the roles of all policies to start from stand.
const PLACES: [(&str, &str); 3] = [
    ("source", "[[bind]]\nrole = \"source\"\nat = \"server\"\nto = \"r\"\n"),
    ("edge", "[[bind]]\nrole = \"edge\"\nat = \"r\"\nfrom = \"server\"\n"),
    ("core", "[[bind]]\nrole = \"core\"\nat = \"r\"\nto = \"client\"\n"),
];

fn text(bind: &str) -> String {
    format!(
        r#"
        duration = "3600 s"
        policy = "p.toml"
        [hosts.{CLIENT}]
        [hosts.{SERVER}]
        [routers.r]
        {bind}
        [links]
        near = {{ between = ["{CLIENT}", "r"], rate = "10 Mbit/s", delay = "10 ms" }}
        far = {{ between = ["{SERVER}", "r"], rate = "100 Mbit/s", delay = "1 ms" }}
        [workloads.web.transfers]
        client = "{CLIENT}"
        server = "{SERVER}"
        rate = "1 /s"
        request.constant = "300 B"
        reply.constant = "10 KB"
        "#
    )
}

/// Names for packets, each given again once its packet has come back.
struct Names(Vec<u32>);

impl Hosts for Names {
    fn deliver(&mut self, _: Instant, _: NodeId, packet: Packet) {
        self.0.push(packet.bytes.unwrap().number());
    }

    fn dropped(&mut self, _: Instant, packet: Packet) {
        self.0.push(packet.bytes.unwrap().number());
    }
}

/// Packet number `number` of the server's: bursts of many connections, each with a SYN first.
fn packet(number: u32, [client, server]: [NodeId; 2], name: u32) -> Packet {
    let (connection, turn) = (number % CONNECTIONS, number / CONNECTIONS);
    let (generation, place) = (turn / PACKETS, turn % PACKETS);
    let port = 1024 + (generation * CONNECTIONS + connection) % 64_000;
    let (flags, payload) = match place {
        0 => (TcpFlags::SYN, 0),
        1 => (TcpFlags::ACK, 0),
        _ => (TcpFlags::ACK, 1000),
    };
    let dscp = if connection % 16 == 0 { Dscp::EF } else { Dscp::default() };
    Packet {
        size: 40 + u32::from(payload),
        payload,
        dscp,
        bytes: FrameId::new(name),
        flags,
        key: FlowKey {
            src: server.automatic(IpVersion::V4),
            dst: client.automatic(IpVersion::V4),
            src_port: port as u16,
            dst_port: 80,
            protocol: Protocol::TCP,
        },
        ..Packet::default()
    }
}

/// How often memory was asked for while it was counted.
fn asked_under(policy: &str) -> u64 {
    let scenario = scenario(policy);
    let node = |name| {
        let at = scenario.nodes.iter().position(|node| node.name == name);
        NodeId(at.unwrap() as u32)
    };
    let ends = [node(CLIENT), node(SERVER)];
    let mut network = LiveNetwork::new(&scenario, 0);
    let mut names = Names((0..1 << 16).collect());
    let mut now = Instant::START;
    let mut before = 0;
    for number in 0..WARM_UP + COUNTED {
        if number == WARM_UP {
            before = ASKED.load(Ordering::Relaxed);
        }
        // Bursts at five times the rate of the line, and as much silence as lets half of it through.
        now += Duration::from_micros(if number % 512 == 0 { 250_000 } else { 160 });
        let name = names.0.pop().expect("fewer packets are under way than there are names");
        let packet = packet(number, ends, name);
        network.send(now, ends[1], packet, None, &mut names).expect("there is a way");
    }
    let asked = ASKED.load(Ordering::Relaxed) - before;
    assert!(network.totals().dropped > 0, "queues were full at times");
    network.check_conservation();
    asked
}

fn policies() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../policies");
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let mut files: Vec<_> =
        files.filter(|file| file.extension().is_some_and(|it| it == "toml")).collect();
    files.sort();
    files
}

#[test]
fn nothing_is_allocated_under_any_policy_once_its_traffic_is_known() {
    let policies = policies();
    assert!(policies.len() > 15, "all policies to start from are there");
    let mut asked = Vec::new();
    for file in policies {
        let text = std::fs::read_to_string(&file).unwrap();
        let count = asked_under(&text);
        if count > 0 {
            asked.push(format!("{}: {count}", file.file_name().unwrap().display()));
        }
    }
    assert!(asked.is_empty(), "memory was asked for in {COUNTED} packets: {asked:#?}");
}
