//! The load that a scenario offers to each link: as data, and as text.

use serde::Serialize;
use std::collections::BTreeMap;

use crate::load::{Loaded, SweepPoint};
use crate::model::{NodeId, Scenario};
use crate::offered::LineLoad;

/// The offered load at one point of a sweep.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PointLoads {
    /// The label of the point; empty without a sweep.
    pub point: String,
    /// Every direction of every link.
    pub links: Vec<LinkLoad>,
    /// Workloads whose load depends on the throughput that they get.
    pub elastic: Vec<String>,
}

/// The load offered to one direction of a link, without acknowledgements.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LinkLoad {
    /// The node that sends.
    pub from: String,
    /// The node at the other end.
    pub to: String,
    /// The rate of the link.
    pub rate_bit_per_s: f64,
    /// The offered load.
    pub offered_bit_per_s: f64,
    /// The offered load divided by the rate. Above 1 the link is overloaded.
    pub share: f64,
    /// The offered load of each workload.
    pub workloads_bit_per_s: BTreeMap<String, f64>,
}

impl Loaded {
    /// The offered load at each point of the sweep.
    pub fn loads(&self) -> Vec<PointLoads> {
        self.points().iter().map(PointLoads::new).collect()
    }

    /// The links with the highest load, at the point of the sweep with the highest load, as text. Empty if no
    /// workload has a fixed load.
    pub fn describe_loads(&self) -> String {
        let heaviest = self
            .loads()
            .into_iter()
            .max_by(|one, other| one.greatest().total_cmp(&other.greatest()));
        heaviest.map_or(String::new(), |point| point.describe())
    }
}

impl PointLoads {
    fn new(point: &SweepPoint) -> Self {
        let (scenario, load) = (&point.scenario, point.scenario.offered_load());
        PointLoads {
            point: point.label.clone(),
            links: load.lines.iter().map(|line| LinkLoad::new(scenario, line)).collect(),
            elastic: load.elastic.iter().map(|&at| scenario.workloads[at].name.clone()).collect(),
        }
    }

    fn greatest(&self) -> f64 {
        self.links.iter().map(|link| link.share).fold(0.0, f64::max)
    }

    fn describe(&self) -> String {
        let mut links: Vec<&LinkLoad> =
            self.links.iter().filter(|link| link.offered_bit_per_s > 0.0).collect();
        links.sort_by(|one, other| other.share.total_cmp(&one.share));
        let mut text = String::new();
        if !links.is_empty() {
            let at =
                if self.point.is_empty() { String::new() } else { format!(" at {}", self.point) };
            text += &format!("  offered load{at}, without acknowledgements:\n");
            text.extend(links.iter().take(MAX_LINES).map(|link| link.describe()));
            if let [next, ..] = links[links.len().min(MAX_LINES)..] {
                let more = links.len() - MAX_LINES;
                let directions = if more == 1 { "direction" } else { "directions" };
                let max = percent(next.share);
                text += &format!("    and {more} more {directions} of links with at most {max}\n");
            }
        }
        if !self.elastic.is_empty() {
            let names = self.elastic.join(", ");
            text += &format!("  workloads whose load depends on their throughput: {names}\n");
        }
        text
    }
}

impl LinkLoad {
    fn new(scenario: &Scenario, line: &LineLoad) -> Self {
        let node = |node: NodeId| scenario.nodes[node.index()].name.clone();
        let workload = |(&at, &bits): (&usize, &f64)| (scenario.workloads[at].name.clone(), bits);
        LinkLoad {
            from: node(line.from),
            to: node(line.to),
            rate_bit_per_s: line.rate,
            offered_bit_per_s: line.total(),
            share: line.share(),
            workloads_bit_per_s: line.workloads.iter().map(workload).collect(),
        }
    }

    fn describe(&self) -> String {
        let mark = if self.share > 1.0 { "  above the link's rate" } else { "" };
        let mut parts: Vec<_> = self.workloads_bit_per_s.iter().collect();
        parts.sort_by(|one, other| other.1.total_cmp(one.1));
        let part = |(name, bits): &(&String, &f64)| {
            format!("{name} {}", percent(*bits / self.rate_bit_per_s))
        };
        format!(
            "    {:<24} {:>12} of {:<12} {:>7}: {}{mark}\n",
            format!("{}->{}", self.from, self.to),
            rate(self.offered_bit_per_s),
            rate(self.rate_bit_per_s),
            percent(self.share),
            parts.iter().map(part).collect::<Vec<_>>().join(", "),
        )
    }
}

fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent < 9.95 { format!("{percent:.1} %") } else { format!("{percent:.0} %") }
}

/// A rate with three significant digits.
fn rate(bits: f64) -> String {
    let (value, unit) = match bits {
        1e9.. => (bits / 1e9, "Gbit/s"),
        1e6.. => (bits / 1e6, "Mbit/s"),
        1e3.. => (bits / 1e3, "kbit/s"),
        _ => (bits, "bit/s"),
    };
    let digits = match value {
        100.0.. => 0,
        10.0.. => 1,
        _ => 2,
    };
    let text = format!("{value:.digits$}");
    let text = if digits > 0 { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text} {unit}")
}

/// The limit on directions of links in the list.
const MAX_LINES: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_and_shares_have_three_digits_at_most() {
        let rates = [9.5e6, 1e9, 123_456.0, 80_000.0, 12.0].map(rate);
        assert_eq!(rates, ["9.5 Mbit/s", "1 Gbit/s", "123 kbit/s", "80 kbit/s", "12 bit/s"]);
        let shares = [0.95, 0.0123, 12.0].map(percent);
        assert_eq!(shares, ["95 %", "1.2 %", "1200 %"]);
    }
}
