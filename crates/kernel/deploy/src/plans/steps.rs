//! Commands of tc for classes of plans.

use std::collections::{BTreeMap, BTreeSet};

use shortflow_plans::{CustomerQueue, Plans, Prefix};
use shortflow_units::Rate;

use super::classes::{Class, Kind, ROOT, UNKNOWN};
use crate::converge::Step;

/// What tells our HTB from another with the same handle; it has no effect, since every class has a quantum.
pub(crate) const SIGNATURE: u64 = 0x5e50;

/// The longest frame without segmentation, in bytes.
const FRAME: u64 = Plans::FRAME;
/// The least burst, in bytes: two frames.
const MIN_BURST: u64 = 2 * FRAME;
const FLOWS: u32 = Plans::FLOW_QUEUES;
const LIMIT: u32 = Plans::QUEUE_PACKETS;
/// The most memory of packets that wait for a customer.
const MEMORY: &str = "4Mb";

/// All steps to classes on a device without.
pub(crate) fn install(device: &str, classes: &[Class], of: CustomerQueue) -> Vec<Step> {
    // What no class takes goes past them: so packets flow without the program, too.
    let root =
        format!("qdisc add dev {device} root handle {ROOT:x}: htb default 0 r2q {SIGNATURE}");
    let each = classes.iter().flat_map(|class| added("add", device, class, of));
    std::iter::once(root).chain(each).map(Step::Tc).collect()
}

/// The step that removes all of them.
pub(crate) fn removal(device: &str) -> Step {
    Step::Tc(format!("qdisc del dev {device} root"))
}

fn added(verb: &str, device: &str, class: &Class, of: CustomerQueue) -> Vec<String> {
    let queue = class.is_leaf().then(|| queue(verb, device, class, of));
    std::iter::once(command(verb, device, class)).chain(queue).collect()
}

fn command(verb: &str, device: &str, class: &Class) -> String {
    let Class { minor, parent, kind, floor, ceiling, .. } = class;
    let parent = match parent {
        0 => format!("{ROOT:x}:"),
        minor => format!("{ROOT:x}:{minor:x}"),
    };
    let per_ms = |rate: &Rate| rate.bits_per_sec() / 8 / 1000;
    let [burst, ceiling_burst] = [floor, ceiling].map(|rate| per_ms(rate).max(MIN_BURST));
    // So customers borrow in proportion to their plans.
    let quantum = Plans::quantum(*ceiling);
    // Unknown addresses borrow what customers leave.
    let priority = u8::from(*kind == Kind::Unknown);
    format!(
        "class {verb} dev {device} parent {parent} classid {ROOT:x}:{minor:x} htb rate {}bit ceil {}bit burst {burst} \
         cburst {ceiling_burst} prio {priority} quantum {quantum}",
        floor.bits_per_sec(),
        ceiling.bits_per_sec()
    )
}

fn queue(verb: &str, device: &str, class: &Class, of: CustomerQueue) -> String {
    let minor = class.minor;
    format!(
        "qdisc {verb} dev {device} parent {ROOT:x}:{minor:x} handle {minor:x}: {}",
        settings(class.ceiling, of)
    )
}

/// A queue for a rate. FQ-CoDel's target is no less than the time of one and a half frames (RFC 8290 §5.2.1).
fn settings(rate: Rate, of: CustomerQueue) -> String {
    match of {
        CustomerQueue::FqCodel => {
            let frame_us = FRAME * 8 * 1_000_000 / rate.bits_per_sec();
            let target = (frame_us * 3 / 2).max(5_000);
            let interval = 95_000 + target;
            format!(
                "fq_codel limit {LIMIT} flows {FLOWS} quantum {FRAME} target {target}us interval {interval}us memory_limit {MEMORY} \
                 ecn"
            )
        }
        CustomerQueue::Fifo => {
            format!("bfifo limit {}", Plans::fifo_bytes(rate))
        }
    }
}

/// What leads from classes to others.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Change {
    /// Classes that are new or have other rates.
    pub(crate) before: Vec<Step>,
    /// Prefixes that get a class.
    pub(crate) inserted: Vec<(Prefix, u16)>,
    /// Prefixes that belong to nobody from now on.
    pub(crate) removed: Vec<Prefix>,
    /// Classes that go.
    pub(crate) after: Vec<Step>,
}

impl Change {
    /// From classes to others of the same device; what is equal is not touched.
    pub(crate) fn between(device: &str, old: &[Class], new: &[Class], of: CustomerQueue) -> Change {
        let there: BTreeMap<u16, &Class> = old.iter().map(|class| (class.minor, class)).collect();
        let mut change = Change::default();
        for class in new {
            let commands = match there.get(&class.minor) {
                None => added("add", device, class, of),
                Some(found) => changed(device, found, class, of),
            };
            change.before.extend(commands.into_iter().map(Step::Tc));
        }
        let kept: BTreeSet<u16> = new.iter().map(|class| class.minor).collect();
        // Those inside come first.
        let gone = old.iter().rev().filter(|class| !kept.contains(&class.minor));
        let delete =
            |class: &Class| format!("class del dev {device} classid {ROOT:x}:{:x}", class.minor);
        change.after = gone.map(delete).map(Step::Tc).collect();
        let (owners, wanted) = (owners(old), owners(new));
        change.inserted = wanted
            .iter()
            .filter(|(prefix, minor)| owners.get(prefix) != Some(minor))
            .map(|(prefix, minor)| (*prefix, *minor))
            .collect();
        change.removed = owners.into_keys().filter(|prefix| !wanted.contains_key(prefix)).collect();
        change
    }

    /// Whether nothing is to be done.
    pub(crate) fn is_empty(&self) -> bool {
        *self == Change::default()
    }
}

fn changed(device: &str, old: &Class, new: &Class, of: CustomerQueue) -> Vec<String> {
    let has_other_rates = (old.floor, old.ceiling) != (new.floor, new.ceiling);
    let has_other_queue = new.is_leaf() && settings(old.ceiling, of) != settings(new.ceiling, of);
    let class = has_other_rates.then(|| command("change", device, new));
    class.into_iter().chain(has_other_queue.then(|| queue("change", device, new, of))).collect()
}

/// The class of each prefix. The table has addresses of IPv4 as some of IPv6, so where a customer's prefix of IPv6 would have
/// them, those of no customer belong to unknown addresses.
pub(crate) fn owners(classes: &[Class]) -> BTreeMap<Prefix, u16> {
    let of = |class: &Class| {
        class.prefixes.iter().map(move |prefix| (*prefix, class.minor)).collect::<Vec<_>>()
    };
    let mut all: BTreeMap<Prefix, u16> = classes.iter().flat_map(of).collect();
    let is_around = |prefix: &Prefix| prefix.has(Prefix::ALL_IPV4);
    if all.keys().any(is_around) {
        all.entry(Prefix::ALL_IPV4).or_insert(UNKNOWN);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plans::classes::LINE;

    fn class(minor: u16, parent: u16, kind: Kind, mbit: u64, prefixes: &[&str]) -> Class {
        Class {
            minor,
            parent,
            kind,
            name: minor.to_string(),
            floor: Rate::from_bits_per_sec(8_000),
            ceiling: Rate::from_bits_per_sec(mbit * 1_000_000),
            prefixes: prefixes.iter().map(|prefix| prefix.parse().unwrap()).collect(),
        }
    }

    fn texts(steps: &[Step]) -> Vec<String> {
        steps.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_change_touches_only_what_differs() {
        let site = class(3, LINE, Kind::Site, 100, &[]);
        let [a, b, c] = [4, 5, 6].map(|minor| class(minor, 3, Kind::Customer, 20, &[]));
        let b = Class { prefixes: vec!["192.0.2.1".parse().unwrap()], ..b };
        let faster = Class { ceiling: Rate::from_bits_per_sec(50_000_000), ..b.clone() };
        let between = |old: &[Class], new: &[Class]| {
            Change::between("eth0", old, new, CustomerQueue::FqCodel)
        };
        let all = [site.clone(), a.clone(), b.clone(), c.clone()];
        assert!(between(&all, &all).is_empty());
        let change = between(&all, &[site.clone(), a.clone(), faster, c.clone()]);
        let command = "tc class change dev eth0 parent 5e00:3 classid 5e00:5 htb rate 8000bit ceil 50000000bit burst 3028 cburst \
                       6250 prio 0 quantum 6250";
        assert_eq!(texts(&change.before), [command]);
        assert!(change.inserted.is_empty() && change.removed.is_empty() && change.after.is_empty());
        // The site goes behind the customers that are in it.
        let change = between(&all, &[class(7, LINE, Kind::Customer, 20, &["192.0.2.1"])]);
        let gone: Vec<String> = texts(&change.after);
        let classes =
            ["6", "5", "4", "3"].map(|minor| format!("tc class del dev eth0 classid 5e00:{minor}"));
        assert_eq!(gone, classes);
        assert_eq!(change.inserted, [("192.0.2.1".parse().unwrap(), 7)]);
        assert!(change.removed.is_empty(), "an address that moves is nobody's at no time");
    }

    #[test]
    fn slow_plans_have_a_target_of_more_than_a_frame() {
        let target = |rate: u64| settings(Rate::from_bits_per_sec(rate), CustomerQueue::FqCodel);
        assert!(target(25_000_000).contains("target 5000us interval 100000us"));
        // A frame takes 12.112 ms at 1 Mbit/s.
        assert!(target(1_000_000).contains("target 18168us"), "{}", target(1_000_000));
    }
}
