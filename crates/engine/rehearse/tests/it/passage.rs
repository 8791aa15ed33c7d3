//! What holds for any bytes that a host hands to the router: from its frames through the network and back. Shared with the
//! fuzz target `route`.

use shortflow_packet::Packet;
use shortflow_scenario::{IpVersion, NodeId, Overrides, Scenario, from_texts};
use shortflow_sim::{Hosts, LiveNetwork};
use shortflow_units::{Duration, Instant};
use shortflow_wire::{Ip, Layers};

use crate::frames::Frames;

/// Two hosts behind a router that marks one way, and a line with RED, ECN and loss.
const TEXT: &str = r#"
    policy = "p.toml"
    duration = "10 s"
    hosts = { a = {}, b = {} }
    routers = { r = {} }
    bind = [{ role = "edge", at = "r", to = "b" }]
    links.near = { between = ["a", "r"], rate = "100 Mbit/s", delay = "1 ms" }
    links.far = { between = ["r", "b"], rate = "1 Mbit/s", delay = "1 ms", loss = 0.05 }
    workloads.file.bulk = { from = "a", to = "b" }
"#;

const POLICY: &str = r#"
    [[roles.edge.classes]]
    name = "all"
    marker.token-bucket = { rate = "100 kbit/s", depth = "3 KB" }
    [roles.edge.queue.red]
    limit = "20 pkt"
    min_threshold = "1 pkt"
    max_threshold = "10 pkt"
    max_probability = 0.5
    weight = 0.5
    ecn = true
"#;

/// The scenario, which is checked once for many inputs.
pub(crate) fn scenario() -> Scenario {
    let texts = [("s.toml", TEXT), ("p.toml", POLICY)];
    let loaded = from_texts(&texts, &Overrides::default()).expect("the scenario has no mistakes");
    loaded.into_points().swap_remove(0).scenario
}

/// The largest packet of these hosts.
const LARGEST: usize = 1500;

/// What has become of packets.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Fate {
    /// They came out at the node that they are for. What is for a router ends there, since it has no programs.
    pub(crate) delivered: u64,
    /// They were dropped on the way.
    pub(crate) dropped: u64,
    /// They are for nobody, or no IP packets.
    pub(crate) refused: u64,
}

/// Hosts that look at what comes out.
struct Looking<'s> {
    frames: Frames,
    fate: Fate,
    /// Every packet as it was handed in.
    sent: Vec<&'s [u8]>,
}

impl Hosts for Looking<'_> {
    fn deliver(&mut self, _: Instant, node: NodeId, packet: Packet) {
        self.fate.delivered += 1;
        let bytes = self.frames.give_back(&packet);
        assert_eq!(bytes.len(), packet.size as usize);
        let ip = Layers::of_ip(bytes).ip.expect("what came in as a packet goes out as one");
        let addresses =
            [node.automatic(IpVersion::V4).into(), node.automatic(IpVersion::V6).into()];
        assert!(addresses.contains(&ip.destination()), "{ip:?} at {node:?}");
        let is_known = |sent: &&&[u8]| is_same(&ip, bytes, sent);
        assert!(self.sent.iter().any(|sent| is_known(&sent)), "nobody has sent {bytes:02x?}");
    }

    fn dropped(&mut self, _: Instant, packet: Packet) {
        self.fate.dropped += 1;
        self.frames.release(&packet);
    }
}

/// Whether a packet is one that was sent, but for its DS field and the checksum over it; and what stood behind.
fn is_same(ip: &Ip, bytes: &[u8], sent: &[u8]) -> bool {
    let Some(sent) = sent.get(..bytes.len()) else { return false };
    let differs = |at: usize| match ip {
        Ip::V4(_) => [1, 10, 11].contains(&at),
        Ip::V6(_) => at < 2,
    };
    (0..bytes.len()).all(|at| differs(at) || bytes[at] == sent[at])
}

/// Sends these packets from both hosts, and lets all of them come to their end.
///
/// # Panics
/// When one does something that must never be.
pub(crate) fn hold(scenario: &Scenario, packets: &[&[u8]]) -> Fate {
    let mut network = LiveNetwork::new(scenario, 0);
    let mut hosts =
        Looking { frames: Frames::new(1, LARGEST), fate: Fate::default(), sent: packets.to_vec() };
    let mut now = Instant::START;
    for (packet, from) in packets.iter().flat_map(|packet| [(packet, 0), (packet, 1)]) {
        now += Duration::from_micros(200);
        let read = |place: &mut [u8]| -> Result<usize, ()> {
            let length = packet.len().min(place.len());
            place[..length].copy_from_slice(&packet[..length]);
            Ok(length)
        };
        let Some(packet) = hosts.frames.take_in(read).expect("it is read") else {
            hosts.fate.refused += 1;
            continue;
        };
        if let Err((packet, _)) = network.send(now, NodeId(from), packet, None, &mut hosts) {
            hosts.frames.release(&packet);
            hosts.fate.refused += 1;
        }
    }
    network.check_conservation();
    while let Some(next) = network.next_at() {
        network.advance(next, &mut hosts);
    }
    network.check_conservation();
    let Fate { delivered, dropped, refused } = hosts.fate;
    assert_eq!(delivered + dropped + refused, 2 * packets.len() as u64, "every packet ends once");
    hosts.fate
}
