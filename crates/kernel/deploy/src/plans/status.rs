//! What plans on a device have done: sites, and their customers.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Value, json};
use shortflow_ebpf::plans::PlansCounts;
use shortflow_plans::Direction;
use shortflow_units::{Bytes, Rate};

use super::classes::{Class, Kind, LINE};
use super::record::Record;
use super::standing::Amiss;
use super::{listed, of_kind};
use crate::error::Error;
use crate::tc::Tc;

/// How many of the busiest customers are shown.
const BUSIEST: usize = 10;

/// What a queue has done, or all queues behind a site.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Sent {
    bytes: u64,
    packets: u64,
    drops: u64,
    marks: u64,
    waiting: u64,
}

impl Sent {
    fn add(&mut self, other: Sent) {
        self.bytes += other.bytes;
        self.packets += other.packets;
        self.drops += other.drops;
        self.marks += other.marks;
        self.waiting += other.waiting;
    }

    fn from_qdisc(qdisc: &Value) -> Sent {
        let number = |key: &str| qdisc[key].as_u64().unwrap_or_default();
        Sent {
            bytes: number("bytes"),
            packets: number("packets"),
            drops: number("drops"),
            marks: number("ecn_mark"),
            waiting: number("qlen"),
        }
    }

    fn json(self) -> Value {
        let Sent { bytes, packets, drops, marks, waiting } = self;
        json!({ "bytes": bytes, "packets": packets, "drops": drops, "ecn_marks": marks, "waiting": waiting })
    }
}

/// A site, a customer or unknown addresses.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PlansClassStatus {
    /// Its name.
    pub name: String,
    /// The site in front of it; `None` for the line.
    pub site: Option<String>,
    /// What it gets at least.
    pub at_least: Rate,
    /// The most that it gets.
    pub at_most: Rate,
    /// Its prefixes.
    pub prefixes: Vec<String>,
    sent: Sent,
}

impl PlansClassStatus {
    /// Bytes that were sent.
    pub fn bytes(&self) -> u64 {
        self.sent.bytes
    }

    /// Packets that were sent.
    pub fn packets(&self) -> u64 {
        self.sent.packets
    }

    /// Packets that were dropped.
    pub fn drops(&self) -> u64 {
        self.sent.drops
    }

    fn json(&self) -> Value {
        let mut value = json!({
            "name": self.name, "site": self.site, "prefixes": self.prefixes,
            "at_least_bit_per_s": self.at_least.bits_per_sec(), "at_most_bit_per_s": self.at_most.bits_per_sec(),
        });
        if let (Value::Object(all), Value::Object(sent)) = (&mut value, self.sent.json()) {
            all.extend(sent);
        }
        value
    }
}

/// How plans on a device stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlansStatus {
    /// The device.
    pub device: String,
    /// The name of the plans.
    pub name: String,
    /// To customers or from them.
    pub direction: Direction,
    /// The rate of the line.
    pub line: Rate,
    /// The sites.
    pub sites: Vec<PlansClassStatus>,
    /// The customers.
    pub customers: Vec<PlansClassStatus>,
    /// Addresses of nobody.
    pub unknown: PlansClassStatus,
    /// What the program has seen; `None` where it is gone.
    pub counts: Option<PlansCounts>,
    /// What is wrong, each with what to do.
    wrongs: Vec<String>,
}

impl PlansStatus {
    pub(super) fn from(
        tc: &Tc,
        record: &Record,
        has_classes: bool,
        counts: Option<PlansCounts>,
    ) -> Result<PlansStatus, Error> {
        let device = tc.device();
        let qdiscs = match has_classes {
            true => listed(tc, &["-s", "qdisc", "show", "dev", device])?,
            false => Vec::new(),
        };
        let handle = |qdisc: &Value| {
            u16::from_str_radix(qdisc["handle"].as_str()?.strip_suffix(':')?, 16).ok()
        };
        let queues: BTreeMap<u16, Sent> =
            qdiscs.iter().filter_map(|one| Some((handle(one)?, Sent::from_qdisc(one)))).collect();
        let classes = &record.classes;
        let by_minor: BTreeMap<u16, &Class> = classes.iter().map(|one| (one.minor, one)).collect();
        let mut sent: BTreeMap<u16, Sent> = BTreeMap::new();
        for class in classes.iter().filter(|class| class.is_leaf()) {
            let own = queues.get(&class.minor).copied().unwrap_or_default();
            let mut at = Some(class);
            while let Some(class) = at {
                sent.entry(class.minor).or_default().add(own);
                at = by_minor.get(&class.parent).copied();
            }
        }
        let status = |class: &Class| {
            let site = Some(class.parent).filter(|parent| ![0, LINE].contains(parent));
            PlansClassStatus {
                name: class.name.clone(),
                site: site.and_then(|site| by_minor.get(&site)).map(|site| site.name.clone()),
                at_least: class.floor,
                at_most: class.ceiling,
                prefixes: class.prefixes.iter().map(ToString::to_string).collect(),
                sent: sent.get(&class.minor).copied().unwrap_or_default(),
            }
        };
        let unknown = of_kind(classes, Kind::Unknown).map(status).next();
        let line = of_kind(classes, Kind::Line).map(|class| class.ceiling).next();
        let missing = classes
            .iter()
            .filter(|class| class.is_leaf() && !queues.contains_key(&class.minor))
            .count();
        let amiss = if has_classes { Amiss::find(tc, classes)? } else { Amiss::default() };
        let missing = missing.max(amiss.missing);
        let wrongs = wrongs(record, has_classes, counts.is_some(), missing, amiss.changed);
        Ok(PlansStatus {
            device: device.to_owned(),
            name: record.name.clone(),
            direction: record.direction,
            line: line.unwrap_or_default(),
            sites: of_kind(classes, Kind::Site).map(status).collect(),
            customers: of_kind(classes, Kind::Customer).map(status).collect(),
            unknown: unknown.unwrap_or_default(),
            counts,
            wrongs,
        })
    }

    /// What is wrong; empty where all is well.
    pub fn wrongs(&self) -> &[String] {
        &self.wrongs
    }

    /// For a terminal: the sites, and the customers that have sent most.
    pub fn text(&self) -> String {
        let PlansStatus { device, name, direction, line, sites, customers, unknown, .. } = self;
        let way = direction.name();
        let mut text = format!(
            "{device}: plans {name:?} {way}, {} customers behind {} sites, line {line}\n",
            customers.len(),
            sites.len()
        );
        for wrong in &self.wrongs {
            writeln!(text, "  problem: {wrong}").expect("a string takes all");
        }
        let mut row = |what: &str, name: &str, class: &PlansClassStatus| {
            let Sent { bytes, packets, drops, waiting, .. } = class.sent;
            let sent = Bytes(bytes);
            writeln!(
                text,
                "  {what} {name}  at most {}  sent {sent} in {packets} packets  dropped {drops}  waiting {waiting}",
                class.at_most
            )
            .expect("a string takes all");
        };
        sites.iter().for_each(|site| row("site", &site.name, site));
        let mut busiest: Vec<&PlansClassStatus> =
            customers.iter().filter(|customer| customer.sent.bytes > 0).collect();
        busiest.sort_by_key(|customer| std::cmp::Reverse(customer.sent.bytes));
        busiest.iter().take(BUSIEST).for_each(|one| row("customer", &one.name, one));
        row("unknown", "addresses", unknown);
        if let Some(counts) = &self.counts {
            writeln!(
                text,
                "  packets of customers {}, of unknown addresses {}, not shaped (no IP, neighbour discovery) {}",
                counts.customers.packets, counts.unknown.packets, counts.past_classes.packets
            )
            .expect("a string takes all");
        }
        text
    }

    /// For programs: all customers.
    pub fn json(&self) -> Value {
        let all = |classes: &[PlansClassStatus]| {
            classes.iter().map(PlansClassStatus::json).collect::<Vec<_>>()
        };
        let counts = self.counts.map(|counts| {
            json!({
                "customers": counts.customers.packets, "unknown": counts.unknown.packets,
                "not_shaped": counts.past_classes.packets,
            })
        });
        json!({
            "device": self.device, "plans": self.name, "direction": self.direction.name(),
            "line_bit_per_s": self.line.bits_per_sec(), "sites": all(&self.sites),
            "customers": all(&self.customers), "unknown": self.unknown.json(), "packets": counts,
            "problems": self.wrongs,
        })
    }
}

fn wrongs(
    record: &Record,
    has_classes: bool,
    has_program: bool,
    missing: usize,
    changed: usize,
) -> Vec<String> {
    let again = "run `shortflow reload` with the plans to build them again";
    let mut wrongs = Vec::new();
    if !record.is_complete {
        wrongs.push(format!("a command was interrupted; {again}"));
    }
    if !has_classes {
        wrongs.push(format!("the classes are gone, so nothing is shaped; {again}"));
    } else if missing > 0 {
        wrongs.push(format!("{missing} classes or their queues are gone; {again}"));
    }
    if changed > 0 {
        wrongs.push(format!("{changed} classes have other rates than were deployed; {again}"));
    }
    if !has_program {
        wrongs.push(format!("the program is gone, so nothing is shaped; {again}"));
    }
    wrongs
}
