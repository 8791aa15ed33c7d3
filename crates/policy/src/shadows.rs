//! Classes of a role that no packet can reach.

use shortflow_elements::classifier::MultiField;

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

/// Whether every packet that fits `narrow` fits `wide`, which asks for something, as far as equal
/// conditions tell.
fn covers(wide: &MultiField, narrow: &MultiField) -> bool {
    fn asks_no_more<T: PartialEq>(wide: &Option<T>, narrow: &Option<T>) -> bool {
        wide.is_none() || wide == narrow
    }
    *wide != MultiField::default()
        && asks_no_more(&wide.src, &narrow.src)
        && asks_no_more(&wide.dst, &narrow.dst)
        && asks_no_more(&wide.src_ports, &narrow.src_ports)
        && asks_no_more(&wide.dst_ports, &narrow.dst_ports)
        && asks_no_more(&wide.protocol, &narrow.protocol)
        && asks_no_more(&wide.dscps, &narrow.dscps)
        && asks_no_more(&wide.sender, &narrow.sender)
}
