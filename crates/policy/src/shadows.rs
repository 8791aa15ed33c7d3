//! Classes of a role that no packet can reach.

use shortflow_elements::Prefix;
use shortflow_elements::classifier::{AnyOf, MultiField, PortRange};

use crate::model::TrafficClass;
use shortflow_text::Document;

/// Warns of each class of the role at `path` whose packets all go to one before it that asks for less:
/// the first class that fits takes a packet. Of what stands behind a class that takes all packets, the
/// check of all lists of classes warns.
pub(crate) fn warn(document: &mut Document, path: &str, classes: &[TrafficClass]) {
    for (index, class) in classes.iter().enumerate() {
        let Some(before) = classes[..index].iter().find(|other| covers(&other.rule, &class.rule))
        else {
            continue;
        };
        let message = format!(
            "the class `{}` can never match: `{}` before it takes all of its packets",
            class.name, before.name
        );
        let help = "classes are tried in order: put the one that asks for more first";
        document.warning(&format!("{path}.{index}.name"), message, help);
    }
}

/// Warns of each entry of the list at `path` whose packets all go to one before it that asks for less. `rules` are those of
/// the entries in order.
pub(crate) fn warn_entries(document: &mut Document, path: &str, rules: &[(MultiField, usize)]) {
    if !document.is_sound() {
        return;
    }
    for (index, (rule, _)) in rules.iter().enumerate() {
        let Some(before) = rules[..index].iter().position(|(other, _)| covers(other, rule)) else {
            continue;
        };
        let message =
            format!("no packet comes here: entry {} takes all of its packets", before + 1);
        let help = "entries are tried in order: put the one that asks for more first";
        document.warning(&format!("{path}.{index}"), message, help);
    }
}

/// Whether every packet that fits `narrow` fits `wide`, which asks for something.
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

/// Whether each value of the one list lies within a value of the other.
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
