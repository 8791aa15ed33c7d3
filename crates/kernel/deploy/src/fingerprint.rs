//! The listing of a complete deployment's queues by tc, to detect manual changes.
//!
//! Later listings are compared with this listing instead of the commands: the kernel rounds values, and has defaults.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::Value;

use crate::bytecode::Program;
use crate::commands::{Generation, LINE, NEIGHBOURS, NEIGHBOURS_FILTER, OTHER, ROOT};
use crate::converge::Step;
use crate::early::is_program;
use crate::tree::fnv;

/// The place of the seal among the filters of the root, behind memo and record.
pub(crate) const FINGERPRINT: u16 = 102;
/// How a seal begins.
const MAGIC: &str = "shortflow seal 1";
/// What changes by itself, or tells nothing of what happens to packets.
const VOLATILE_KEYS: [&str; 5] =
    ["direct_packets_stat", "ver", "in_hw", "not_in_hw", "in_hw_count"];
/// Of a level of gred, the keys that are settings. Its counters are among them in the listing.
const LEVEL_KEYS: [&str; 10] =
    ["vq", "prio", "limit", "min", "max", "ecn", "harddrop", "ewma", "probability", "Scell_log"];
/// The kinds whose classes are settings. Those of other kinds are flows that come and go.
const CLASSFUL: [&str; 4] = ["htb", "prio", "drr", "ets"];

/// A part of what is deployed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Part {
    /// A queueing discipline, by the major number of its handle.
    Queue(u16),
    /// A class, by its two numbers.
    Class(u16, u16),
    /// The filters of one place: the discipline at which they stand, and their pref.
    Filter(u16, u16),
}

/// How parts look, as tc lists their settings.
pub(crate) type PartSettings = BTreeMap<Part, String>;

impl Part {
    /// Whether it belongs to what carries packets when `live` does.
    fn is_live(self, live: Generation) -> bool {
        let of = |number: u16| Generation::from_number(number) == Some(live);
        match self {
            Part::Queue(ROOT) => true,
            Part::Queue(handle) => {
                let number = handle.wrapping_sub(ROOT);
                [NEIGHBOURS, OTHER].contains(&number) || of(number)
            }
            Part::Class(ROOT, minor) => [LINE, NEIGHBOURS, OTHER].contains(&minor) || of(minor),
            Part::Filter(ROOT, place) => [NEIGHBOURS_FILTER, live.place()].contains(&place),
            Part::Class(major, _) | Part::Filter(major, _) => of(major.wrapping_sub(ROOT)),
        }
    }
}

impl Part {
    /// Whether it is the line, or serves packets outside the policy: a new policy does not rebuild these.
    pub(crate) fn is_common(self) -> bool {
        match self {
            Part::Class(ROOT, minor) => [LINE, NEIGHBOURS, OTHER].contains(&minor),
            Part::Queue(handle) => [ROOT, ROOT + NEIGHBOURS, ROOT + OTHER].contains(&handle),
            Part::Filter(ROOT, place) => place == NEIGHBOURS_FILTER,
            Part::Class(..) | Part::Filter(..) => false,
        }
    }
}

impl std::fmt::Display for Part {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Part::Queue(handle) => write!(f, "queue {handle:x}"),
            Part::Class(major, minor) => write!(f, "class {major:x} {minor:x}"),
            Part::Filter(major, place) => write!(f, "filter {major:x} {place:x}"),
        }
    }
}

/// How the parts look of which tc lists these disciplines, classes, and filters at disciplines.
pub(crate) fn part_settings(
    qdiscs: &[Value],
    classes: &str,
    filters: &[(u16, Vec<Value>)],
) -> PartSettings {
    let queues = qdiscs.iter().filter_map(queue);
    let classes = classes.lines().filter_map(class);
    let mut part_settings: PartSettings = queues.chain(classes).collect();
    for (parent, filters) in filters {
        // The program for early drops is known by its name: each reload brings another.
        let is_setting = |filter: &&Value| filter["options"].is_object() && !is_program(filter);
        for filter in filters.iter().filter(is_setting) {
            let Some(place) = filter["pref"].as_u64() else { continue };
            let settings: &mut String =
                part_settings.entry(Part::Filter(*parent, place as u16)).or_default();
            *settings += &format!("{} {};", filter["kind"], steady(&filter["options"]));
        }
    }
    part_settings
}

fn queue(qdisc: &Value) -> Option<(Part, String)> {
    let handle = qdisc["handle"].as_str()?.strip_suffix(':')?;
    let handle = u16::from_str_radix(handle, 16).ok()?;
    let kind = qdisc["kind"].as_str()?;
    let size_table = match &qdisc["stab"] {
        Value::Null => String::new(),
        table => format!(" stab {}", steady(table)),
    };
    Some((Part::Queue(handle), format!("{kind} {}{size_table}", steady(&qdisc["options"]))))
}

/// `class htb 5f00:1 parent 5f00:fff0 leaf 5f01: prio 0 quantum 1514 rate … level 0`
fn class(line: &str) -> Option<(Part, String)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let ["class", kind, id, rest @ ..] = &words[..] else { return None };
    let (major, minor) = id.split_once(':').filter(|_| CLASSFUL.contains(kind))?;
    let number = |text: &str| u16::from_str_radix(text, 16).ok();
    let part = Part::Class(number(major)?, number(minor)?);
    // How far a class of HTB is from its leaves follows from the classes in it.
    let end = rest.iter().position(|word| *word == "level").unwrap_or(rest.len());
    let mut words = rest[..end].to_vec();
    // Its queue is looked at by itself.
    if let Some(leaf) = words.iter().position(|word| *word == "leaf") {
        words.drain(leaf..words.len().min(leaf + 2));
    }
    Some((part, words.join(" ")))
}

/// Settings without what changes by itself, as words.
fn steady(options: &Value) -> String {
    let Some(options) = options.as_object() else { return String::new() };
    let steady = options.iter().filter(|(key, _)| !VOLATILE_KEYS.contains(&key.as_str()));
    let words = steady.map(|(key, value)| match value {
        Value::String(text) => format!("{key} {text}"),
        Value::Bool(true) => key.clone(),
        Value::Array(levels) if key == "vqs" => {
            let level = |level: &Value| {
                let words = LEVEL_KEYS.iter().map(|key| format!("{key} {}", level[key]));
                words.collect::<Vec<_>>().join(" ")
            };
            levels.iter().map(level).collect::<Vec<_>>().join(", ")
        }
        other => format!("{key} {other}"),
    });
    words.collect::<Vec<_>>().join(" ")
}

/// What was noted of parts, in a number each.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Fingerprint {
    /// The version of tc that listed them.
    pub(crate) version: String,
    parts: BTreeMap<String, u64>,
}

impl Fingerprint {
    /// The seal of what looks so, where `live` carries the packets.
    pub(crate) fn new(
        version: &str,
        part_settings: &PartSettings,
        live: Generation,
    ) -> Fingerprint {
        let parts = part_settings.iter().filter(|(part, _)| part.is_live(live));
        let parts = parts.map(|(part, settings)| (part.to_string(), fnv(settings)));
        Fingerprint { version: version.to_owned(), parts: parts.collect() }
    }

    /// The live parts that look otherwise, with how they look now, or are new or gone, with nothing.
    pub(crate) fn changes(
        &self,
        part_settings: &PartSettings,
        live: Generation,
    ) -> Vec<(Part, String)> {
        let parts = part_settings.iter().filter(|(part, _)| part.is_live(live));
        let changed = parts.filter(|(part, settings)| {
            self.parts.get(&part.to_string()).is_none_or(|number| *number != fnv(settings))
        });
        let mut changes: Vec<_> =
            changed.map(|(part, settings)| (*part, settings.clone())).collect();
        changes.extend(self.gone(part_settings).map(|part| (part, String::new())));
        changes
    }

    /// The filters inside queues that are gone. Of other parts it is seen without a seal.
    fn gone(&self, part_settings: &PartSettings) -> impl Iterator<Item = Part> {
        let filters = self.parts.keys().filter_map(|name| {
            let (major, place) = name.strip_prefix("filter ")?.split_once(' ')?;
            let number = |text: &str| u16::from_str_radix(text, 16).ok();
            Some(Part::Filter(number(major)?, number(place)?))
        });
        filters.filter(|part| {
            !matches!(part, Part::Filter(ROOT, _)) && !part_settings.contains_key(part)
        })
    }

    fn text(&self) -> String {
        let mut text = format!("{MAGIC}\n{}\n", self.version);
        for (part, number) in &self.parts {
            writeln!(text, "{number:x} {part}").expect("a string takes all");
        }
        text
    }

    fn parse(text: &str) -> Option<Fingerprint> {
        let mut lines = text.lines();
        if lines.next()? != MAGIC {
            return None;
        }
        let version = lines.next()?.to_owned();
        let part = |line: &str| {
            let (number, part) = line.split_once(' ')?;
            Some((part.to_owned(), u64::from_str_radix(number, 16).ok()?))
        };
        Some(Fingerprint { version, parts: lines.map(part).collect::<Option<_>>()? })
    }

    /// The seal in a filter of the root, if there is one.
    pub(crate) fn held(filter: &Value) -> Option<Fingerprint> {
        if filter["pref"] != FINGERPRINT {
            return None;
        }
        Fingerprint::parse(&Program::held(filter)?)
    }

    /// The command that keeps it.
    pub(crate) fn at_root(&self, device: &str) -> Step {
        let program = Program::passing_by(&self.text());
        Step::Tc(format!(
            "filter replace dev {device} parent {ROOT:x}: protocol all pref {FINGERPRINT} handle 1 bpf bytecode '{program}'"
        ))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const CLASSES: &str = "\
class htb 5f00:1 parent 5f00:fff0 leaf 5f01: prio 0 quantum 1514 rate 1Kbit ceil 10Mbit burst 1600b/1 level 0
 Sent 3028 bytes 2 pkt (dropped 0, overlimits 2 requeues 0)
class drr 5f01:1 parent 5f01: leaf 5f02: quantum 1500b
class fq_codel 5f02:2a parent 5f02:
class htb 5f00:81 parent 5f00:fff0 leaf 5f81: prio 0 quantum 1514 rate 1Kbit ceil 10Mbit burst 1600b/1 level 0
";

    fn listed(limit: u64, sent: u64, classes: &str, inner: &[u64]) -> PartSettings {
        let queue = |handle: &str, kind: &str, options: Value| json!({ "kind": kind, "handle": handle, "options": options, "packets": sent });
        let qdiscs = [
            queue("5f00:", "htb", json!({ "r2q": 24320, "direct_packets_stat": sent })),
            queue("5f01:", "drr", json!({})),
            queue("5f02:", "pfifo", json!({ "limit": limit })),
            queue("5f81:", "pfifo", json!({ "limit": sent })),
        ];
        let filter =
            |place: &u64| json!({ "pref": place, "kind": "bpf", "options": { "handle": "0x1" } });
        let inner: Vec<Value> = inner.iter().map(filter).collect();
        part_settings(&qdiscs, classes, &[(0x5f01, inner)])
    }

    #[test]
    fn settings_are_compared_and_not_counters_flows_or_what_is_left_of_an_earlier_policy() {
        let fingerprint = Fingerprint::new("6.1", &listed(50, 1, CLASSES, &[1]), Generation::First);
        assert_eq!(Fingerprint::parse(&fingerprint.text()), Some(fingerprint.clone()));
        let changes =
            |part_settings: PartSettings| fingerprint.changes(&part_settings, Generation::First);
        let flows = CLASSES.replace("5f02:2a", "5f02:7");
        assert_eq!(changes(listed(50, 900, &flows, &[1])), []);
        assert_eq!(
            changes(listed(7, 1, CLASSES, &[1])),
            [(Part::Queue(0x5f02), "pfifo limit 7".to_owned())]
        );
        let share = CLASSES.replace("quantum 1500b", "quantum 9000b");
        assert_eq!(
            changes(listed(50, 1, &share, &[1])),
            [(Part::Class(0x5f01, 1), "parent 5f01: quantum 9000b".to_owned())]
        );
        let ceiling = CLASSES.replacen("ceil 10Mbit", "ceil 1Mbit", 1);
        assert!(matches!(&changes(listed(50, 1, &ceiling, &[1]))[..], [(Part::Class(ROOT, 1), _)]));
        let left = CLASSES.replace("class htb 5f00:81", "class htb 5f00:82");
        assert_eq!(changes(listed(50, 1, &left, &[1])), []);
    }

    #[test]
    fn of_the_levels_of_gred_settings_are_compared_and_not_counters() {
        let listed = |max: u64, packets: u64| {
            let level = json!({ "vq": 1, "prio": 1, "limit": 9, "max": max, "qave": packets, "packets": packets });
            let qdisc = json!({ "kind": "gred", "handle": "5f01:", "options": { "dp_cnt": 2, "vqs": [level] } });
            part_settings(&[qdisc], "", &[])
        };
        let fingerprint = Fingerprint::new("6.1", &listed(7, 1), Generation::First);
        assert_eq!(fingerprint.changes(&listed(7, 900), Generation::First), []);
        assert_eq!(fingerprint.changes(&listed(8, 1), Generation::First).len(), 1);
    }

    #[test]
    fn filters_inside_queues_are_missed_and_those_of_others_are_seen() {
        let fingerprint = Fingerprint::new("6.1", &listed(50, 1, CLASSES, &[1]), Generation::First);
        let changes = |inner: &[u64]| {
            let changes = fingerprint.changes(&listed(50, 1, CLASSES, inner), Generation::First);
            changes
                .into_iter()
                .map(|(part, settings)| (part, settings.is_empty()))
                .collect::<Vec<_>>()
        };
        assert_eq!(changes(&[1]), []);
        assert_eq!(changes(&[]), [(Part::Filter(0x5f01, 1), true)]);
        assert_eq!(changes(&[1, 2]), [(Part::Filter(0x5f01, 2), false)]);
        assert_eq!(changes(&[1, 1]), [(Part::Filter(0x5f01, 1), false)]);
    }
}
