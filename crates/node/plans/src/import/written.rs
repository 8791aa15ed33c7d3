//! The texts of plans.

use std::fmt::Write as _;
use std::sync::Arc;

use shortflow_text::Source;
use shortflow_units::Rate;

use super::CUSTOMERS;
use super::circuits::Circuit;
use super::sites::Tree;
use crate::csv::quoted;
use crate::customers::COLUMNS;
use crate::findings::{Findings, spot};
use crate::model::{Direction, Plans, Rates};

/// The rates of the line: as given, or what the sites behind it can carry together.
pub(super) fn line(
    given: Option<Rates>,
    tree: &Tree,
    devices: &Arc<Source>,
    findings: &mut Findings,
) -> Rates {
    if let Some(given) = given {
        return given;
    }
    let first = tree.nodes.iter().filter(|node| node.parent.is_none());
    let sum = |direction| first.clone().map(|node| node.rates.of(direction).bits_per_sec()).sum();
    let [down, up] = Direction::ALL.map(|direction| Rate::from_bits_per_sec(sum(direction)));
    let place = spot(devices, 0..devices.text.len().min(1));
    if down.is_zero() || up.is_zero() {
        let help = "add --line-down RATE and --line-up RATE";
        findings.mistake(&place, "the rates of the line are not known: there is no site", help);
    } else {
        let what = format!("the line gets the sum of its sites: {down} down, {up} up");
        findings.warning(&place, what, "give its rates with --line-down and --line-up");
    }
    Rates { down, up }
}

/// The same customers, without guaranteed rates where a site cannot carry their sum.
pub(super) fn without_impossible_guarantees(
    mut circuits: Vec<Circuit>,
    tree: &Tree,
    line: Rates,
    findings: &mut Findings,
) -> Vec<Circuit> {
    let floor = |circuit: &Circuit, direction| {
        let least = circuit.at_least.map_or(Rate::ZERO, |least| least.of(direction));
        least.max(Plans::MIN_SHARE).bits_per_sec()
    };
    // The last places are of the line.
    let mut sums = vec![[0; 2]; tree.nodes.len() + 1];
    for circuit in &circuits {
        let path = tree.path(circuit.site).chain([tree.nodes.len()]);
        for site in path {
            for (place, direction) in Direction::ALL.into_iter().enumerate() {
                sums[site][place] += floor(circuit, direction);
            }
        }
    }
    let exceeds = |site: usize| {
        let rates = tree.nodes.get(site).map_or(line, |node| node.rates);
        let [down, up] = sums[site];
        down > rates.down.bits_per_sec() || up > rates.up.bits_per_sec()
    };
    for site in (0..sums.len()).filter(|site| exceeds(*site)) {
        let title = tree.nodes.get(site).map_or("the line", |node| &node.title);
        let behind = |circuit: &Circuit| {
            site == tree.nodes.len() || tree.path(circuit.site).any(|one| one == site)
        };
        let guaranteed: Vec<&mut Circuit> =
            circuits.iter_mut().filter(|one| behind(one) && one.at_least.is_some()).collect();
        let Some(first) = guaranteed.first() else { continue };
        let what = format!(
            "the guaranteed rates of {} customers of `{title}` are above its rate together",
            guaranteed.len()
        );
        findings.warning(&first.spot, what, "they are not taken over");
        guaranteed.into_iter().for_each(|circuit| circuit.at_least = None);
    }
    circuits
}

fn rates(text: &mut String, rates: Rates) {
    for direction in Direction::ALL {
        writeln!(text, "{} = \"{}\"", direction.name(), rates.of(direction)).expect("it fits");
    }
}

/// `plans.toml`.
pub(super) fn plans(tree: &Tree, line: Rates) -> String {
    let mut text = format!("customers = \"{CUSTOMERS}\"\n\n[line]\n");
    rates(&mut text, line);
    for node in &tree.nodes {
        text += &format!("\n[sites.{}]", node.key);
        if node.title != node.key {
            text += &format!(" # {}", node.title.replace(char::is_control, " "));
        }
        text.push('\n');
        if let Some(parent) = node.parent {
            text += &format!("parent = \"{}\"\n", tree.nodes[parent].key);
        }
        rates(&mut text, node.rates);
    }
    text
}

/// `customers.csv`.
pub(super) fn customers(circuits: &[Circuit], tree: &Tree) -> String {
    let mut text = COLUMNS.join(",") + "\n";
    for Circuit { name, addresses, plan, at_least, site, .. } in circuits {
        let addresses: Vec<String> = addresses.iter().map(ToString::to_string).collect();
        let least = |direction| match at_least.map(|least| least.of(direction)) {
            Some(rate) if !rate.is_zero() => rate.to_string(),
            _ => String::new(),
        };
        let fields = [
            quoted(&name.replace(char::is_control, " ")),
            addresses.join(" "),
            plan.down.to_string(),
            plan.up.to_string(),
            least(Direction::Down),
            least(Direction::Up),
            site.map_or(String::new(), |site| tree.nodes[site].key.clone()),
        ];
        text += &(fields.join(",") + "\n");
    }
    text
}
