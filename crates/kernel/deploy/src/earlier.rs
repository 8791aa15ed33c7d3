//! Filters of other programs that run before what is deployed, and may keep packets from it.

use serde_json::Value;

use crate::bytecode::Program;
use crate::deployed::quoted;

/// Such filters at one point of a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EarlierFilters {
    /// Their positions (`pref`), in order.
    pub places: Vec<u64>,
    /// What they may do, as a sentence.
    pub text: String,
    /// `egress` or `ingress`.
    point: &'static str,
}

impl EarlierFilters {
    /// At the egress, before what marks or gives packets their levels; `None` without places.
    pub(crate) fn at_egress(
        places: Vec<u64>,
        marks: bool,
        has_levels: bool,
    ) -> Option<EarlierFilters> {
        let written = (!places.is_empty()).then(|| written(&places))?;
        let text = match (marks, has_levels) {
            (true, true) => format!(
                "filters of other programs at the egress (pref {written}) may keep packets from \
                    being marked, and from early drops: a packet that such a filter accepts has no \
                    level, so only a full queue drops it"
            ),
            (false, true) => format!(
                "filters of other programs at the egress (pref {written}) may keep packets from \
                    early drops: a packet that such a filter accepts has no level, so only a full \
                    queue drops it"
            ),
            (true, false) => format!(
                "filters of other programs run before the marking program at the egress (pref {written}) \
                    and may keep packets from being marked"
            ),
            (false, false) => return None,
        };
        Some(EarlierFilters { places, text, point: "egress" })
    }

    /// At the ingress of `device`, before what redirects received packets; `None` without places.
    pub(crate) fn at_ingress(places: Vec<u64>, device: &str) -> Option<EarlierFilters> {
        let written = (!places.is_empty()).then(|| written(&places))?;
        let text = format!(
            "filters of other programs run before the redirect at the ingress of {device} (pref \
                {written}) and may keep packets from being shaped"
        );
        Some(EarlierFilters { places, text, point: "ingress" })
    }

    /// Whether they see what the device sends.
    pub(crate) fn is_at_egress(&self) -> bool {
        self.point == "egress"
    }

    /// The command that removes them, where `queued_at` is the device whose queues these are.
    pub(crate) fn removal(&self, device: &str, queued_at: &str) -> String {
        let device = quoted(if self.is_at_egress() { queued_at } else { device });
        let one = |place: &u64| format!("tc filter del dev {device} {} pref {place}", self.point);
        self.places.iter().map(one).collect::<Vec<_>>().join(" && ")
    }
}

fn written(places: &[u64]) -> String {
    places.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")
}

/// Whether a filter, as tc lists it, may keep IP packets from the filters behind it. One that answers `TC_ACT_UNSPEC`
/// (`continue`) to every packet does not.
pub(crate) fn may_take(filter: &Value) -> bool {
    let options = &filter["options"];
    // The head of a list of filters, and that of a hash table of `u32`, take nothing.
    let is_head = !options.is_object() || options["ht_divisor"].is_u64();
    if is_head || filter["protocol"] == "arp" {
        return false;
    }
    let is_direct = options["direct-action"] == true;
    let passed = if is_direct { u32::MAX } else { 0 };
    if Program::listed(filter).is_some_and(|program| program.always_returns(passed)) {
        return false;
    }
    match options["actions"].as_array().map(Vec::as_slice) {
        Some([before @ .., last]) => {
            !before.iter().all(|it| does(it, "pipe") || does(it, "continue"))
                || !does(last, "continue")
        }
        _ => true,
    }
}

/// Whether an action always ends with this verdict.
fn does(action: &Value, verdict: &str) -> bool {
    let chance = action["prob"]["random_type"].as_str().unwrap_or("none");
    action["control_action"]["type"] == verdict && chance == "none"
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn bytecode(is_direct: bool, returned: &[u64]) -> Value {
        let insns = returned.iter().map(|k| json!({ "code": 6, "jt": 0, "jf": 0, "k": k }));
        let insns: Vec<Value> = insns.collect();
        let options = match is_direct {
            true => json!({ "direct-action": true, "bytecode": { "insns": insns } }),
            false => json!({ "bytecode": { "insns": insns } }),
        };
        json!({ "protocol": "all", "pref": 1, "kind": "bpf", "options": options })
    }

    fn actions(verdicts: &[&str]) -> Value {
        let one = |verdict: &&str| json!({ "kind": "gact", "control_action": { "type": verdict } });
        let actions: Vec<Value> = verdicts.iter().map(one).collect();
        json!({ "protocol": "ip", "pref": 1, "kind": "flower", "options": { "actions": actions } })
    }

    #[test]
    fn filters_that_answer_unspec_to_every_packet_take_none() {
        let head = json!({ "protocol": "all", "pref": 1, "kind": "bpf", "chain": 0 });
        let table =
            json!({ "pref": 1, "kind": "u32", "options": { "fh": "800:", "ht_divisor": 1 } });
        let unspec = u64::from(u32::MAX);
        for harmless in [
            head,
            table,
            bytecode(true, &[unspec, unspec]),
            bytecode(false, &[0]),
            actions(&["continue"]),
            actions(&["pipe", "continue"]),
        ] {
            assert!(!may_take(&harmless), "{harmless}");
        }
    }

    #[test]
    fn filters_that_may_end_the_chain_of_filters_take_packets() {
        let program = json!({ "direct-action": true, "bpf_name": "theirs" });
        let program = json!({ "protocol": "all", "pref": 1, "kind": "bpf", "options": program });
        let mut by_chance = actions(&["continue"]);
        by_chance["options"]["actions"][0]["prob"] = json!({ "random_type": "netrand" });
        let unspec = u64::from(u32::MAX);
        for taking in [
            program,
            by_chance,
            bytecode(true, &[0]),
            bytecode(true, &[unspec, 2]),
            bytecode(false, &[unspec]),
            actions(&["pass"]),
            actions(&["drop"]),
            actions(&["stolen", "continue"]),
            actions(&["pipe"]),
            actions(&[]),
        ] {
            assert!(may_take(&taking), "{taking}");
        }
    }

    #[test]
    fn the_remedy_names_the_point_and_the_device() {
        let sent = EarlierFilters::at_egress(vec![1, 7], true, false).unwrap();
        let both = "tc filter del dev ifb0 egress pref 1 && tc filter del dev ifb0 egress pref 7";
        assert_eq!(sent.removal("eth0", "ifb0"), both);
        let received = EarlierFilters::at_ingress(vec![3], "eth0").unwrap();
        assert_eq!(received.removal("eth0", "ifb0"), "tc filter del dev eth0 ingress pref 3");
        assert_eq!(EarlierFilters::at_egress(vec![], true, true), None);
        assert_eq!(EarlierFilters::at_egress(vec![1], false, false), None);
    }
}
