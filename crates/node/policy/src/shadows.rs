//! Warns of classes that no packet can reach.

use shortflow_elements::classifier::{AnyOf, MultiField, PortRange};
use shortflow_packet::Prefix;

use crate::model::TrafficClass;
use shortflow_text::Document;

/// Warns of each class of the role at `path` whose packets all match an earlier, wider class: the first class
/// that fits takes a packet. [`Checker::reachable`](crate::check::Checker::reachable) warns of classes after
/// one that takes all packets.
pub(crate) fn warn(document: &mut Document, path: &str, classes: &[TrafficClass]) {
    for (index, class) in classes.iter().enumerate() {
        let Some(before) = classes[..index].iter().find(|other| covers(&other.rule, &class.rule))
        else {
            continue;
        };
        let message = format!(
            "the class `{}` can never match: the class `{}` before it takes all its packets",
            class.name, before.name
        );
        let help = "classes are tried in order: move the class with more conditions to the front";
        document.warning(&format!("{path}.{index}.name"), message, help);
    }
}

/// Warns of each entry of the list at `path` whose packets all match an earlier, wider entry. `rules` are the
/// conditions of the entries, in order.
pub(crate) fn warn_entries(document: &mut Document, path: &str, rules: &[(MultiField, usize)]) {
    if !document.is_sound() {
        return;
    }
    for (index, (rule, _)) in rules.iter().enumerate() {
        let Some(before) = rules[..index].iter().position(|(other, _)| covers(other, rule)) else {
            continue;
        };
        let message =
            format!("no packet reaches this entry: entry {} takes all its packets", before + 1);
        let help = "entries are tried in order: move the entry with more conditions to the front";
        document.warning(&format!("{path}.{index}"), message, help);
    }
}

/// Whether every packet that fits `narrow` also fits `wide`. `wide` has conditions.
fn covers(wide: &MultiField, narrow: &MultiField) -> bool {
    let MultiField { src, dst, src_ports, dst_ports, ports, protocol, dscps, sender } = wide;
    *wide != MultiField::default()
        && lists_cover(src, &narrow.src, holds_prefix)
        && lists_cover(dst, &narrow.dst, holds_prefix)
        && lists_cover(src_ports, &narrow.src_ports, holds_range)
        && lists_cover(dst_ports, &narrow.dst_ports, holds_range)
        && [&narrow.ports, &narrow.src_ports, &narrow.dst_ports]
            .iter()
            .any(|narrow| lists_cover(ports, narrow, holds_range))
        && lists_cover(protocol, &narrow.protocol, |wide, narrow| wide == narrow)
        && dscps.is_none_or(|wide| {
            narrow.dscps.is_some_and(|narrow| narrow.iter().all(|dscp| wide.contains(dscp)))
        })
        && (sender.is_none() || *sender == narrow.sender)
}

/// Whether each value of the narrow list lies within a value of the wide one.
fn lists_cover<T>(
    wide: &Option<AnyOf<T>>,
    narrow: &Option<AnyOf<T>>,
    holds: impl Fn(&T, &T) -> bool,
) -> bool {
    let Some(wide) = wide else { return true };
    let holds = |narrow: &T| wide.any(|wide| holds(wide, narrow));
    narrow.as_ref().is_some_and(|narrow| narrow.iter().all(holds))
}

fn holds_prefix(wide: &Prefix, narrow: &Prefix) -> bool {
    wide.is_v4() == narrow.is_v4()
        && wide.length() <= narrow.length()
        && wide.contains(narrow.network())
}

fn holds_range(wide: &PortRange, narrow: &PortRange) -> bool {
    narrow.ends().iter().all(|end| wide.contains(*end))
}
