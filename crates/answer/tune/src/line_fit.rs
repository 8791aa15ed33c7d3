//! Settings of a policy that follow the line: CoDel's interval and target, and the size of buffers.
//!
//! CoDel's interval must be at least the round trip of the flows that it controls, and its target 5 to 10 % of that
//! (RFC 8289 §4.3 and §4.4). A target below the time of one and a half full packets would drop packets although the
//! line has nothing else to send (RFC 8289 §4.4). A buffer smaller than the bandwidth-delay product leaves the line
//! idle after each loss.

use std::collections::{BTreeMap, VecDeque};

use shortflow_scenario::{Binding, Direction, Line, NodeId, NodeKind, Scenario};
use shortflow_units::{Duration, Length, Rate};
use toml_edit::DocumentMut;

/// The least interval (RFC 8289 §4.3), and the least target (RFC 8289 §4.4).
const MIN_INTERVAL: Duration = Duration::from_millis(100);
const MIN_TARGET: Duration = Duration::from_millis(5);

/// The target as a part of the interval.
const TARGET: u64 = 20;

/// A full packet, in bytes.
const PACKET: u64 = 1500;

/// What settings follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineFit {
    /// The longest round trip of a TCP connection where nothing waits.
    pub round_trip: Duration,
    /// Full packets in the largest bandwidth-delay product of a connection: its round trip at the slowest link of its path.
    pub packets: u64,
    /// The rate of the slowest port at which the policy queues.
    pub slowest: Rate,
}

impl LineFit {
    /// The parameters for a scenario; `None` without TCP, or if its policy has no queue.
    pub fn from_scenario(scenario: &Scenario) -> Option<LineFit> {
        let slowest = slowest_queue(scenario)?;
        let paths = paths(scenario);
        let round_trip = paths.iter().map(|path| path.round_trip).max()?;
        let packets = paths.iter().map(|path| path.packets()).max()?;
        Some(LineFit { round_trip, packets, slowest })
    }

    /// CoDel's interval and target.
    pub fn codel(&self) -> (Duration, Duration) {
        let packet_and_half = whole_ms(transmission(PACKET * 3 / 2, self.slowest));
        let interval = whole_ms(self.round_trip).max(MIN_INTERVAL);
        let target = (interval / TARGET).max(MIN_TARGET).max(packet_and_half);
        // Where full packets ask for a longer target, it stays a tenth of the interval at the most.
        (interval.max(target * 10), target)
    }

    /// The parameters of a policy that are to follow the line, as keys and values: `interval` and `target` where it has both,
    /// and a `limit` in packets that holds too little. Those that fit already are not among them.
    pub fn settings(&self, policy: &str) -> Vec<(String, String)> {
        let Ok(document) = policy.parse::<DocumentMut>() else { return Vec::new() };
        let given = |name: &str| parameter_of(&document, name);
        let mut settings = Vec::new();
        let mut set = |name: &str, value: String| {
            settings.push((format!("policy.parameters.{name}"), value));
        };
        let time = |name: &str| given(name)?.parse::<Duration>().ok();
        if let (Some(interval), Some(target)) = (time("interval"), time("target")) {
            let (wanted_interval, wanted_target) = self.codel();
            if interval != wanted_interval {
                set("interval", wanted_interval.to_string());
            }
            if target != wanted_target {
                set("target", wanted_target.to_string());
            }
        }
        let limit = given("limit").and_then(|text| text.parse().ok());
        if let Some(Length::Packets(limit)) = limit
            && limit < self.packets
        {
            set("limit", Length::Packets(self.packets).to_string());
        }
        settings
    }
}

/// A parameter of a policy's text, if it is a string.
pub fn parameter(policy: &str, name: &str) -> Option<String> {
    parameter_of(&policy.parse().ok()?, name).map(str::to_owned)
}

fn parameter_of<'d>(policy: &'d DocumentMut, name: &str) -> Option<&'d str> {
    policy.get("parameters")?.get(name)?.as_str()
}

/// The rate of the slowest port to which a role with a queue is bound.
fn slowest_queue(scenario: &Scenario) -> Option<Rate> {
    let policy = scenario.policy.as_ref()?;
    let queues =
        |role: &str| policy.roles.iter().any(|known| known.name == role && known.queue.is_some());
    let of_binding = |binding: &Binding| {
        let Direction::To(to) = binding.direction else { return None };
        let ends = [(binding.at, to), (to, binding.at)];
        let link = scenario.links.iter().find(|link| ends.contains(&(link.a, link.b)))?;
        let line = if link.a == binding.at { &link.forward } else { &link.back };
        queues(&binding.role).then_some(line.rate)
    };
    scenario.bindings.iter().filter_map(of_binding).min()
}

/// Between the ends of a connection and back, over the fewest hops.
struct Path {
    round_trip: Duration,
    /// The slowest link in the direction in which that is faster.
    rate: Rate,
}

impl Path {
    /// Full packets in its bandwidth-delay product.
    fn packets(&self) -> u64 {
        let bits = u128::from(self.rate.bits_per_sec()) * u128::from(self.round_trip.nanos());
        let packet = u128::from(8 * PACKET) * 1_000_000_000;
        u64::try_from(bits.div_ceil(packet)).unwrap_or(u64::MAX)
    }
}

/// One way of a path: its propagation, and its slowest link.
#[derive(Debug, Clone, Copy)]
struct Way {
    delay: Duration,
    rate: Rate,
}

/// The paths of all connections.
fn paths(scenario: &Scenario) -> Vec<Path> {
    let mut neighbours: Vec<Vec<(NodeId, &Line)>> = vec![Vec::new(); scenario.nodes.len()];
    for link in &scenario.links {
        neighbours[link.a.index()].push((link.b, &link.forward));
        neighbours[link.b.index()].push((link.a, &link.back));
    }
    let over_tcp = scenario.workloads.iter().filter(|workload| workload.kind.uses_tcp());
    let pairs = over_tcp.flat_map(|workload| workload.kind.pairs().iter().copied());
    let mut known: BTreeMap<NodeId, Vec<Option<Way>>> = BTreeMap::new();
    let mut way = |from: NodeId, to: NodeId| {
        let found = known.entry(from).or_insert_with(|| ways(scenario, &neighbours, from));
        found[to.index()]
    };
    let path = |(from, to)| {
        let (there, back) = (way(from, to)?, way(to, from)?);
        Some(Path { round_trip: there.delay + back.delay, rate: there.rate.max(back.rate) })
    };
    pairs.filter_map(path).collect()
}

/// The path from a node to each other one with the fewest hops; `None` without a path.
fn ways(
    scenario: &Scenario,
    neighbours: &[Vec<(NodeId, &Line)>],
    from: NodeId,
) -> Vec<Option<Way>> {
    let mut found = vec![None; scenario.nodes.len()];
    let start = Way { delay: Duration::ZERO, rate: Rate::from_bits_per_sec(u64::MAX) };
    found[from.index()] = Some(start);
    let mut waiting = VecDeque::from([(from, start)]);
    while let Some((node, way)) = waiting.pop_front() {
        // Hosts pass nothing on for others.
        if node != from && scenario.nodes[node.index()].kind == NodeKind::Host {
            continue;
        }
        for (next, line) in &neighbours[node.index()] {
            if found[next.index()].is_none() {
                let way = Way { delay: way.delay + line.delay, rate: way.rate.min(line.rate) };
                found[next.index()] = Some(way);
                waiting.push_back((*next, way));
            }
        }
    }
    found
}

/// The time to send these bytes at a rate.
fn transmission(bytes: u64, rate: Rate) -> Duration {
    let nanos = u128::from(8 * bytes) * 1_000_000_000 / u128::from(rate.bits_per_sec().max(1));
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

/// Rounded up to whole milliseconds.
fn whole_ms(time: Duration) -> Duration {
    Duration::from_millis(time.nanos().div_ceil(1_000_000))
}

#[cfg(test)]
mod tests {
    use shortflow_scenario::{Overrides, from_texts};

    use super::*;

    fn fit(delay: &str, rate: &str) -> LineFit {
        let policy = "[roles.core]\nqueue.fifo = { limit = \"9 pkt\" }\n";
        let text = format!(
            "duration = \"10 s\"\npolicy = \"p.toml\"\nhosts = {{ a = {{}}, b = {{}} }}\nrouters.r = {{}}\n\
             links.near = {{ between = [\"a\", \"r\"], rate = \"1 Gbit/s\", delay = \"1 ms\" }}\n\
             links.far = {{ between = [\"r\", \"b\"], rate = {{ forward = \"{rate}\", back = \"{rate}\" }}, delay = \"{delay}\" }}\n\
             bind = [{{ role = \"core\", at = \"r\", to = \"b\" }}]\n\
             workloads.up.bulk = {{ from = \"a\", to = \"b\" }}\n"
        );
        let texts = [("s.toml", text.as_str()), ("p.toml", policy)];
        let loaded = from_texts(&texts, &Overrides::default()).unwrap_or_else(|e| panic!("{e}"));
        LineFit::from_scenario(&loaded.points()[0].scenario).unwrap()
    }

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn codel_follows_a_long_round_trip_and_a_slow_line() {
        assert_eq!(fit("10 ms", "50 Mbit/s").codel(), (ms(100), ms(5)));
        assert_eq!(fit("299 ms", "20 Mbit/s").codel(), (ms(600), ms(30)));
        // 18 kbit at 1 Mbit/s, and at 256 kbit/s 71 ms: the interval is ten times that.
        assert_eq!(fit("10 ms", "1 Mbit/s").codel(), (ms(180), ms(18)));
        assert_eq!(fit("10 ms", "256 kbit/s").codel(), (ms(710), ms(71)));
    }

    #[test]
    fn parameters_that_hold_too_little_or_wait_too_briefly_are_set_and_no_others() {
        let policy =
            "[parameters]\nlimit = \"200 pkt\"\ntarget = \"5 ms\"\ninterval = \"100 ms\"\n";
        assert_eq!(fit("10 ms", "50 Mbit/s").settings(policy), []);
        let set = |name: &str, value: &str| (format!("policy.parameters.{name}"), value.to_owned());
        // 600 ms at 20 Mbit/s: 12 Mbit.
        let expected =
            [set("interval", "600 ms"), set("target", "30 ms"), set("limit", "1000 pkt")];
        assert_eq!(fit("299 ms", "20 Mbit/s").settings(policy), expected);
        assert_eq!(fit("299 ms", "20 Mbit/s").settings("[roles.core]\n"), []);
        let large =
            "[parameters]\nlimit = \"1001 pkt\"\ntarget = \"no time\"\ninterval = \"1 s\"\n";
        assert_eq!(fit("299 ms", "20 Mbit/s").settings(large), []);
    }
}
