//! The program at a device's egress: what is known of it, and how it comes and goes.
//!
//! It stands among the filters of a `clsact`, and so does a memo of it, which holds the names of its classes. Both are
//! seen and taken away by tc; to be brought there the program needs libbpf.

use serde_json::Value;

use crate::bytecode::Program;
use crate::compile::Edge;
use crate::converge::Step;
use crate::memo::short;
use crate::tree::fnv;

/// The place of the program among the filters, as `shortflow-ebpf` has it.
const PROGRAM: u64 = 0x5346;
/// The place of the memo, behind it.
const MEMO: u64 = 0x5347;

/// What is known of the program at a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EdgeMemo {
    /// The name of the policy.
    pub policy: String,
    /// The role of it.
    pub role: String,
    /// The classes, in their order.
    pub classes: Vec<String>,
    /// What else the program does, in a number: its rules and the settings of its classes.
    plan: u64,
    /// Whether the place for filters was there before.
    has_found_place: bool,
}

/// What stands before the queues of a device.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EdgeObserved {
    /// What is known of our program; none where it is not there, or was begun and not finished.
    pub memo: Option<EdgeMemo>,
    /// Whether our program is there.
    pub has_program: bool,
    /// Whether there is a place for filters.
    has_place: bool,
    /// Whether somebody else's filter is there, at ingress or egress.
    has_others: bool,
}

impl EdgeObserved {
    /// From the disciplines and filters that tc lists.
    pub(crate) fn of(qdiscs: &[Value], egress: &[Value], ingress: &[Value]) -> EdgeObserved {
        let is_ours =
            |filter: &&Value| [PROGRAM, MEMO].iter().any(|place| filter["pref"] == *place);
        EdgeObserved {
            memo: egress.iter().find_map(memo_of),
            has_program: egress.iter().any(|it| it["pref"] == PROGRAM && it["options"].is_object()),
            has_place: qdiscs.iter().any(|it| it["kind"] == "clsact"),
            has_others: egress.iter().any(|it| !is_ours(&it)) || !ingress.is_empty(),
        }
    }

    /// Whether anything of ours is there.
    pub fn is_ours(&self) -> bool {
        self.memo.is_some() || self.has_program
    }

    /// Whether the place was there before us: with filters of others in it, or as far as a memo says.
    fn found_place(&self) -> bool {
        let known = self.memo.as_ref().map(|memo| memo.has_found_place);
        known.unwrap_or(self.has_place && self.has_others)
    }
}

/// What is to be done for `edge` to stand before the queues of a device, or nothing where it is none.
pub fn converge_edge(
    device: &str,
    observed: &EdgeObserved,
    policy: &str,
    edge: Option<&Edge>,
) -> Vec<Step> {
    let Some(edge) = edge else { return removal(device, observed) };
    let memo = EdgeMemo::of(policy, edge, observed.found_place());
    let mut steps = Vec::new();
    if !observed.has_place {
        steps.push(Step::Tc(format!("qdisc add dev {device} clsact")));
    }
    if observed.memo.is_some() {
        steps.push(remove(device, MEMO));
    }
    steps.push(Step::Condition);
    let program = Program::passing_by(&memo.text());
    steps.push(Step::Tc(format!(
        "filter add dev {device} egress protocol all pref {MEMO} handle 1 bpf bytecode '{program}'"
    )));
    steps
}

/// Whether `edge` stands before the queues of a device, by what is known of it there.
pub(crate) fn is_edge(observed: &EdgeObserved, policy: &str, edge: Option<&Edge>) -> bool {
    let Some(edge) = edge else { return !observed.is_ours() };
    observed.has_program && observed.memo.as_ref().is_some_and(|memo| memo.is_of(policy, edge))
}

fn removal(device: &str, observed: &EdgeObserved) -> Vec<Step> {
    let mut steps = Vec::new();
    if observed.has_program {
        steps.push(remove(device, PROGRAM));
    }
    if observed.memo.is_some() {
        steps.push(remove(device, MEMO));
    }
    // A place in which nobody has anything does nothing, so that nobody misses it.
    if observed.has_place && !observed.has_others && !observed.found_place() {
        steps.push(Step::Tc(format!("qdisc del dev {device} clsact")));
    }
    steps
}

fn remove(device: &str, place: u64) -> Step {
    Step::Tc(format!("filter del dev {device} egress protocol all pref {place}"))
}

fn memo_of(filter: &Value) -> Option<EdgeMemo> {
    if filter["pref"] != MEMO {
        return None;
    }
    EdgeMemo::parse(&Program::held(filter)?)
}

impl EdgeMemo {
    fn of(policy: &str, edge: &Edge, has_found_place: bool) -> EdgeMemo {
        EdgeMemo {
            policy: short(policy),
            role: short(&edge.role),
            classes: edge.classes.iter().map(|class| short(class)).collect(),
            plan: fnv(edge.plan.shape()),
            has_found_place,
        }
    }

    /// Whether the program came of this role of a policy, and does the same.
    pub fn is_of(&self, policy: &str, edge: &Edge) -> bool {
        *self == EdgeMemo::of(policy, edge, self.has_found_place)
    }

    fn text(&self) -> String {
        let EdgeMemo { policy, role, classes, plan, has_found_place } = self;
        let place = if *has_found_place { "found" } else { "made" };
        let classes: String = classes.iter().map(|class| format!("class {class}\n")).collect();
        format!(
            "shortflow edge 1\npolicy {policy}\nrole {role}\nplace {place}\nplan {plan:x}\n{classes}"
        )
    }

    fn parse(text: &str) -> Option<EdgeMemo> {
        let mut lines = text.lines();
        if lines.next()? != "shortflow edge 1" {
            return None;
        }
        let mut field = |name: &str| lines.next()?.strip_prefix(name)?.strip_prefix(' ');
        let (policy, role) = (field("policy")?.to_owned(), field("role")?.to_owned());
        let has_found_place = field("place")? == "found";
        let plan = u64::from_str_radix(field("plan")?, 16).ok()?;
        let class = |line: &str| line.strip_prefix("class ").map(str::to_owned);
        Some(EdgeMemo {
            policy,
            role,
            classes: lines.map(class).collect::<Option<_>>()?,
            plan,
            has_found_place,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_memo_is_read_as_it_was_written_and_nothing_else_is_taken_for_one() {
        let memo = EdgeMemo {
            policy: "Short First".to_owned(),
            role: "edge".to_owned(),
            classes: vec!["all".to_owned(), "the others".to_owned()],
            plan: u64::MAX,
            has_found_place: true,
        };
        assert_eq!(EdgeMemo::parse(&memo.text()), Some(memo.clone()));
        for wrong in ["", "shortflow 1\npolicy x", &memo.text()[..40], "shortflow edge 2\n"] {
            assert_eq!(EdgeMemo::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_place_for_filters_goes_with_the_last_of_ours_unless_it_was_there_or_others_use_it() {
        let qdiscs = |text: &str| -> Vec<Value> { serde_json::from_str(text).unwrap() };
        let place = qdiscs(r#"[{"kind":"clsact"}]"#);
        let program = r#"{"pref":21318,"options":{"bpf_name":"shortflow_edge"}}"#;
        let steps = |egress: &str, ingress: &str| {
            let observed = EdgeObserved::of(&place, &qdiscs(egress), &qdiscs(ingress));
            converge_edge("eth0", &observed, "", None)
                .iter()
                .map(Step::to_string)
                .collect::<Vec<_>>()
        };
        let ours = format!("[{program}]");
        assert_eq!(
            steps(&ours, "[]"),
            [
                "tc filter del dev eth0 egress protocol all pref 21318",
                "tc qdisc del dev eth0 clsact"
            ]
        );
        assert_eq!(steps(&ours, r#"[{"pref":1}]"#).len(), 1, "somebody uses it at ingress");
        assert_eq!(steps(&format!(r#"[{program},{{"pref":7}}]"#), "[]").len(), 1, "or at egress");
    }
}
