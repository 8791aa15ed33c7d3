//! What a scenario offers to each link, as `check` shows it.

use serde_json::{Value, json};
use shortflow_scenario::{LineLoad, Loaded, OfferedLoad, Scenario, SweepPoint};

/// The links that have most to carry, at the point of the sweep that loads them most; nothing where
/// no workload has a load of its own.
pub(crate) fn text(loaded: &Loaded) -> String {
    let each = loaded.points().iter().map(|point| (point, point.scenario.offered_load()));
    let heaviest = each.max_by(|(_, one), (_, other)| greatest(one).total_cmp(&greatest(other)));
    let Some((point, load)) = heaviest else { return String::new() };
    let mut lines: Vec<&LineLoad> = load.lines.iter().filter(|line| line.total() > 0.0).collect();
    lines.sort_by(|one, other| other.share().total_cmp(&one.share()));
    let mut text = String::new();
    if !lines.is_empty() {
        text += &format!("  load offered{}, without acknowledgements:\n", at(point));
        for line in lines.iter().take(MOST_LINES) {
            text += &row(&point.scenario, line);
        }
        if let [next, ..] = lines[lines.len().min(MOST_LINES)..] {
            let more = lines.len() - MOST_LINES;
            let links = if more == 1 { "direction" } else { "directions" };
            text += &format!(
                "    and {more} more {links} of links with at most {}\n",
                percent(next.share())
            );
        }
    }
    let names: Vec<&str> =
        load.elastic.iter().map(|index| point.scenario.workloads[*index].name.as_str()).collect();
    if !names.is_empty() {
        text += &format!(
            "  workloads whose load depends on what the network carries: {}\n",
            names.join(", ")
        );
    }
    text
}

/// The load of every direction of every link at each point of the sweep.
pub(crate) fn as_json(loaded: &Loaded) -> Value {
    let point = |point: &SweepPoint| {
        let (scenario, load) = (&point.scenario, point.scenario.offered_load());
        let line = |line: &LineLoad| {
            let workloads: serde_json::Map<String, Value> = line
                .workloads
                .iter()
                .map(|(index, bits)| (scenario.workloads[*index].name.clone(), json!(bits)))
                .collect();
            json!({
                "from": name(scenario, line.from),
                "to": name(scenario, line.to),
                "rate_bit_per_s": line.rate,
                "offered_bit_per_s": line.total(),
                "share": line.share(),
                "workloads_bit_per_s": workloads,
            })
        };
        let elastic: Vec<&str> =
            load.elastic.iter().map(|index| scenario.workloads[*index].name.as_str()).collect();
        json!({
            "point": point.label,
            "links": load.lines.iter().map(line).collect::<Vec<_>>(),
            "elastic": elastic,
        })
    };
    loaded.points().iter().map(point).collect()
}

fn greatest(load: &OfferedLoad) -> f64 {
    load.lines.iter().map(LineLoad::share).fold(0.0, f64::max)
}

fn at(point: &SweepPoint) -> String {
    if point.label.is_empty() { String::new() } else { format!(" at {}", point.label) }
}

fn row(scenario: &Scenario, line: &LineLoad) -> String {
    let mark = if line.share() > 1.0 { "  more than the link carries" } else { "" };
    let mut parts: Vec<(&str, f64)> = line
        .workloads
        .iter()
        .map(|(index, bits)| (scenario.workloads[*index].name.as_str(), bits / line.rate))
        .collect();
    parts.sort_by(|one, other| other.1.total_cmp(&one.1));
    let parts: Vec<String> =
        parts.iter().map(|(name, share)| format!("{name} {}", percent(*share))).collect();
    let place = format!("{}->{}", name(scenario, line.from), name(scenario, line.to));
    format!(
        "    {place:<24} {:>12} of {:<12} {:>7}: {}{mark}\n",
        rate(line.total()),
        rate(line.rate),
        percent(line.share()),
        parts.join(", "),
    )
}

fn name(scenario: &Scenario, node: shortflow_scenario::NodeId) -> &str {
    &scenario.nodes[node.index()].name
}

fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent < 9.95 { format!("{percent:.1} %") } else { format!("{percent:.0} %") }
}

/// A rate with three digits.
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

/// So many directions of links are shown.
const MOST_LINES: usize = 8;

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
