//! Flows without an end: which line holds each back, and what they make of its queue.

use std::collections::BTreeMap;

use shortflow_models::pftk::Path;
use shortflow_models::red::{Gate, Group, Spacing};
use shortflow_run::Refusal;
use shortflow_scenario::{Scenario, WorkloadKind};
use shortflow_tcp::{Config, RtoFloor};

use crate::forms::none;
use crate::lines::{Line, Way};
use crate::settle::{Met, Network, acknowledged, growing, refusal};

/// All flows without an end.
#[derive(Debug, Default)]
pub(crate) struct LongFlows {
    pub(crate) bundles: Vec<Bundle>,
}

/// Flows of one workload between one pair.
#[derive(Debug, Clone)]
pub(crate) struct Bundle {
    pub(crate) workload: usize,
    pub(crate) connections: f64,
    pub(crate) way: Way,
    /// The line that holds them back.
    pub(crate) bottleneck: usize,
    /// Bytes of a full packet, and of its payload.
    pub(crate) packet: f64,
    pub(crate) payload: f64,
    header: f64,
    segments_per_ack: f64,
    answered: f64,
    max_window: f64,
    rto_min: f64,
    floor: RtoFloor,
    /// Packets per second that come through of all together.
    pub(crate) rate: f64,
}

impl LongFlows {
    pub(crate) fn of(
        scenario: &Scenario,
        lines: &[Line],
        ways: &[Vec<Way>],
    ) -> Result<LongFlows, Refusal> {
        let mut bundles = Vec::new();
        for (index, workload) in scenario.workloads.iter().enumerate() {
            let WorkloadKind::Bulk(bulk) = &workload.kind else { continue };
            let pairs = ways[index].len().min(bulk.flows as usize);
            for (pair, way) in ways[index].iter().take(pairs).enumerate() {
                // Flow i runs between the i-th pair, round and round.
                let connections = (bulk.flows as usize - pair).div_ceil(ways[index].len());
                bundles.push(Bundle::new(index, connections as f64, way.clone(), &workload.tcp));
            }
        }
        let mut found = LongFlows { bundles };
        found.find_bottlenecks(scenario, lines)?;
        Ok(found)
    }

    /// A flow is held back by the line on its way that has least for each.
    fn find_bottlenecks(&mut self, scenario: &Scenario, lines: &[Line]) -> Result<(), Refusal> {
        let mut crowds: BTreeMap<usize, f64> = BTreeMap::new();
        for bundle in &self.bundles {
            for &at in &bundle.way.there {
                *crowds.entry(at).or_default() += bundle.connections;
            }
        }
        let left = |at: usize| lines[at].rate * (1.0 - lines[at].load()) / crowds[&at];
        for bundle in &mut self.bundles {
            let least =
                bundle.way.there.iter().copied().min_by(|a, b| left(*a).total_cmp(&left(*b)));
            bundle.bottleneck = least.expect("a flow passes a line");
        }
        let held: Vec<usize> = self.bundles.iter().map(|bundle| bundle.bottleneck).collect();
        for bundle in &self.bundles {
            let other =
                bundle.way.there.iter().find(|at| held.contains(at) && **at != bundle.bottleneck);
            if let Some(at) = other {
                return Err(none(&format!(
                    "long flows of `{}` that pass {}, where others are held back, and are held back at {} themselves",
                    scenario.workloads[bundle.workload].name,
                    lines[*at].name,
                    lines[bundle.bottleneck].name,
                )));
            }
        }
        Ok(())
    }

    /// What flows that are held back elsewhere send over a line, and what answers flows: packets per second
    /// with their bytes.
    pub(crate) fn passing(&self, line: usize) -> impl Iterator<Item = (f64, f64)> + '_ {
        self.bundles.iter().flat_map(move |bundle| {
            let data = bundle.way.there.contains(&line) && bundle.bottleneck != line;
            let answers = bundle.way.back.contains(&line);
            [
                (if data { bundle.rate } else { 0.0 }, bundle.packet),
                (if answers { bundle.rate / bundle.answered } else { 0.0 }, bundle.header),
            ]
        })
    }
}

impl Bundle {
    fn new(workload: usize, connections: f64, way: Way, tcp: &Config) -> Bundle {
        let (payload, header) = (f64::from(tcp.mss), f64::from(tcp.header));
        Bundle {
            workload,
            connections,
            way,
            bottleneck: 0,
            packet: payload + header,
            payload,
            header,
            segments_per_ack: growing(tcp),
            answered: acknowledged(tcp),
            max_window: (tcp.receive_window.0 as f64 / payload).max(1.0),
            rto_min: tcp.rto_min.as_secs_f64(),
            floor: tcp.rto_floor,
            rate: 0.0,
        }
    }

    /// Its path, without the wait at its bottleneck.
    fn path(&self, network: &Network, wait: f64) -> Path {
        let rtt = network.delay(&self.way.there, self.packet)
            + network.delay(&self.way.back, self.header)
            - network.met[self.bottleneck].wait;
        let seen = rtt + wait;
        let timeout = match self.floor {
            RtoFloor::Timeout => self.rto_min.max(seen),
            RtoFloor::Variation => self.rto_min + seen,
        };
        Path { rtt, timeout, segments_per_ack: self.segments_per_ack, max_window: self.max_window }
    }

    /// What is lost of its packets apart from its bottleneck's queue.
    fn lost_elsewhere(&self, network: &Network) -> f64 {
        let elsewhere = self.way.there.iter().filter(|at| **at != self.bottleneck);
        let kept: f64 = elsewhere.map(|&at| 1.0 - network.met[at].loss).product();
        1.0 - kept * (1.0 - network.lines[self.bottleneck].link_loss)
    }
}

/// What packets meet at the lines that hold long flows back; their rates are brought up to date.
pub(crate) fn meet(network: &mut Network) -> Result<Vec<Option<Met>>, Refusal> {
    let mut found = vec![None; network.lines.len()];
    let mut by_line: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (index, bundle) in network.long_flows.bundles.iter().enumerate() {
        by_line.entry(bundle.bottleneck).or_default().push(index);
    }
    for (at, bundles) in by_line {
        let (met, rates) = fill(network, at, &bundles)?;
        found[at] = Some(met);
        for (index, rate) in bundles.into_iter().zip(rates) {
            network.long_flows.bundles[index].rate = rate;
        }
    }
    Ok(found)
}

/// Where the queue of the line at `at` settles among these bundles, and what each gets through.
fn fill(network: &Network, at: usize, bundles: &[usize]) -> Result<(Met, Vec<f64>), Refusal> {
    let line = &network.lines[at];
    let bundles: Vec<&Bundle> =
        bundles.iter().map(|&index| &network.long_flows.bundles[index]).collect();
    let all: f64 = bundles.iter().map(|bundle| bundle.connections).sum();
    let mean = |of: &dyn Fn(&Bundle) -> f64| {
        bundles.iter().map(|bundle| bundle.connections * of(bundle)).sum::<f64>() / all
    };
    let packet = mean(&|bundle| bundle.packet + line.overhead);
    let capacity = line.rate / packet;
    let others = line.load() * capacity;
    let waited = network.met[at].wait;
    let groups: Vec<Group<'_>> = bundles
        .iter()
        .map(|bundle| Group {
            connections: bundle.connections,
            path: bundle.path(network, waited),
            shares: if line.red.is_some() { &[1.0] } else { &[] },
            lost_elsewhere: bundle.lost_elsewhere(network),
        })
        .collect();
    let levels: Vec<_> = line.red.iter().map(|(curve, _)| curve.level(packet)).collect();
    let spacing = line.red.map_or(Spacing::Independent, |(_, spacing)| spacing);
    let rtt = mean(&|bundle| bundle.path(network, waited).rtt);
    let limit = match line.red {
        Some(_) => line.room(packet),
        None => saw_tooth(line.room(packet), rtt * (capacity - others)),
    };
    let gate = Gate { levels: &levels, spacing, limit, capacity, others };
    let steady = gate.settle(&groups).map_err(|error| refusal(&line.name, error))?;
    let shares = groups.first().map_or(&[][..], |group| group.shares);
    let dropped = gate.loss(steady, shares);
    let rates: Vec<f64> = groups.iter().map(|group| gate.carried(steady, group)).collect();
    let utilisation = (rates.iter().sum::<f64>() + others) / capacity;
    let met = Met {
        wait: steady.queue / capacity,
        loss: 1.0 - (1.0 - dropped) * (1.0 - line.link_loss),
        utilisation,
        is_filled: steady.queue > 0.0,
    };
    Ok((met, rates))
}

/// The mean queue of a DropTail buffer of `room` packets, when its flows halve their windows together at a
/// full buffer: three quarters of what fills the buffer and the way, which holds `on_the_way`, less that.
fn saw_tooth(room: f64, on_the_way: f64) -> f64 {
    (0.75 * (room + on_the_way) - on_the_way).max(room.min(1.0))
}
