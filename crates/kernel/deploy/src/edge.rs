//! The program at a device's egress: its state, and how it is attached and removed.
//!
//! It is among the filters of a `clsact`, as is a memo with the names of its classes. If acknowledgements echo code
//! points, a part of it observes the packets that the device receives. All of them can be listed and removed by tc;
//! attaching the program requires libbpf.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::Value;
use shortflow_ebpf::TcxProgram;
use shortflow_ebpf::edge::Direction;

use crate::bytecode::Program;
use crate::compile::{Edge, Past};
use crate::converge::Step;
use crate::deployed::{AT_CLSACT, Deployed, quoted, remove_record};
use crate::device::link;
use crate::earlier::{EarlierFilters, may_take};
use crate::error::Error;
use crate::levels::{self, LEVELS};
use crate::memo::short;
use crate::owner::{Labelled, OwnedBy};
use crate::socket_option::ROOT_CGROUP;
use crate::tree::fnv;

/// The place of the program among the filters, as `shortflow-ebpf` has it, at egress and at ingress, and its name there.
const PROGRAM: u64 = 0x5346;
const NAME: &str = "shortflow_edge";
const ECHO: &str = "shortflow_echo";
/// Its handle there, as tc writes it.
const HANDLE: &str = "0x5346";
/// The place of the memo, behind it.
const MEMO: u64 = 0x5347;
/// The places at the egress.
const PLACES: [u64; 3] = [PROGRAM, MEMO, AT_CLSACT];
/// The place of what sends received packets to another device, among the filters at the ingress: behind the program.
const REDIRECT: u64 = 0x5349;
/// The places of ours at either point.
const OURS: [u64; 5] = [PROGRAM, MEMO, AT_CLSACT, REDIRECT, LEVELS];
/// How a memo begins, of whichever version.
const MEMO_BEGINS: &str = "shortflow edge ";

/// What is known of the program at a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EdgeMemo {
    /// The name of the policy.
    pub policy: String,
    /// The role of it.
    pub role: String,
    /// The classes, in their order.
    pub classes: Vec<String>,
    /// Who owns the connections that have labels.
    pub labels: Vec<Labelled>,
    /// Whose packets the first class leaves as they are, for as long as `verify` takes.
    pub past: Option<Past>,
    /// Whether acknowledgements echo the code points of what they acknowledge.
    pub echoes: bool,
    /// The cgroup whose sockets have the option by which applications set thresholds, where they may.
    pub option_at: Option<String>,
    /// How many packets the queues behind it had sent when it came, where it takes every packet and they stood there.
    pub(crate) sent: Option<u64>,
    /// What else the program does, in a number: its rules and the settings of its classes.
    plan: u64,
    /// Whether the place for filters was there before.
    has_found_place: bool,
}

/// The state before the queues of a device.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EdgeObserved {
    /// The state of our program; `None` if it is missing or incomplete.
    pub memo: Option<EdgeMemo>,
    /// Whether our program is there.
    pub has_program: bool,
    /// Whether the part of it is there that sees what the device receives.
    has_echo: bool,
    /// Whether a memo of ours is there, whether this version reads it or not.
    has_memo: bool,
    /// The deployment, from the record here; `None` without a record.
    pub(crate) record: Option<Deployed>,
    /// Whether a record is there, whether this version reads it or not.
    pub(crate) has_record: bool,
    /// What sends received packets to another device of ours; `None` without it.
    pub(crate) redirect: Option<Redirect>,
    /// The number of the filter that gives packets their levels; `None` without it.
    pub(crate) levels: Option<u64>,
    /// Whether there is a place for filters.
    pub(crate) has_place: bool,
    /// Whether another program's `ingress` qdisc is where the place would be.
    has_ingress: bool,
    /// Whether the place was there before us, where the queues' memo says so or not.
    pub(crate) has_found_place: Option<bool>,
    /// How many packets that a policy speaks of have left our queues, where these are there.
    pub(crate) sent: Option<u64>,
    /// The positions of other owners' filters, at egress and at ingress.
    others: [Vec<u64>; 2],
    /// The positions of those of them that may keep packets from filters behind, each once.
    taking: [Vec<u64>; 2],
}

/// A filter of ours that sends received packets to another device.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Redirect {
    /// The other device; `None` if it is gone, so that all packets are dropped, or the action is another one.
    pub(crate) to: Option<String>,
    /// What is deployed there; `None` if it is of another version.
    pub(crate) record: Option<Deployed>,
}

impl Redirect {
    fn held(filter: &Value) -> Option<Redirect> {
        let text = Program::held(filter).filter(|_| filter["pref"] == REDIRECT)?;
        let is_ours = Deployed::is_text(&text);
        let action = &filter["options"]["actions"][0];
        let is_sent = action["kind"] == "mirred"
            && action["mirred_action"] == "redirect"
            && action["direction"] == "egress";
        // tc has a star for a device that is gone.
        let to = action["to_dev"].as_str().filter(|to| is_sent && *to != "*");
        let record = Deployed::parse(&text);
        is_ours.then(|| Redirect { to: to.map(str::to_owned), record })
    }
}

/// Sends what `device` receives to another device, by a program that takes all packets.
pub(crate) fn redirect(device: &str, to: &str, program: &Program) -> String {
    format!(
        "filter replace dev {device} ingress protocol all pref {REDIRECT} handle 1 bpf bytecode \
         '{program}' action mirred egress redirect dev {to}"
    )
}

/// Lets what `device` receives pass again.
pub(crate) fn remove_redirect(device: &str) -> Step {
    Step::Tc(format!("filter del dev {device} ingress protocol all pref {REDIRECT} handle 1 bpf"))
}

/// Removes the place for filters, with all that is in it.
pub(crate) fn remove_place(device: &str) -> Step {
    Step::Tc(format!("qdisc del dev {device} clsact"))
}

impl EdgeObserved {
    /// From the disciplines and filters that tc lists.
    pub(crate) fn parse(qdiscs: &[Value], egress: &[Value], ingress: &[Value]) -> EdgeObserved {
        let others = [
            others(egress, |it| {
                let is_program = is_program(it, NAME) || levels::held(it).is_some();
                is_program || is_memo(it) || Deployed::is_record(it)
            }),
            others(ingress, |it| is_program(it, ECHO) || Redirect::held(it).is_some()),
        ];
        EdgeObserved {
            memo: egress.iter().find_map(memo_of),
            has_program: egress.iter().any(|it| is_program(it, NAME)),
            has_echo: ingress.iter().any(|it| is_program(it, ECHO)),
            has_memo: egress.iter().any(is_memo),
            record: egress.iter().find_map(|it| Deployed::held(it, AT_CLSACT)),
            has_record: egress.iter().any(Deployed::is_record),
            redirect: ingress.iter().find_map(Redirect::held),
            levels: egress.iter().find_map(levels::held),
            has_place: qdiscs.iter().any(|it| it["kind"] == "clsact"),
            has_ingress: qdiscs.iter().any(|it| it["kind"] == "ingress"),
            has_found_place: None,
            sent: None,
            taking: others.each_ref().map(|filters| {
                let taking = filters.iter().copied().filter(|filter| may_take(filter));
                taking.map(place_of).collect::<BTreeSet<u64>>().into_iter().collect()
            }),
            others: others.map(|filters| filters.into_iter().map(place_of).collect()),
        }
    }

    /// The steps at a device, where none of them needs a place for filters that another program's qdisc has.
    ///
    /// # Errors
    /// When one does: nothing is done then.
    pub(crate) fn with_place(&self, device: &str, steps: Vec<Step>) -> Result<Vec<Step>, Error> {
        match self.has_ingress && steps.contains(&place(device)) {
            true => Err(Error::IngressTaken { device: device.to_owned() }),
            false => Ok(steps),
        }
    }

    /// Whether anything is there of a program that marks.
    pub fn is_ours(&self) -> bool {
        self.has_memo || self.has_program || self.has_echo
    }

    /// A position that `edge` needs, which another owner's filter uses.
    pub(crate) fn taken(&self, edge: &Edge) -> Option<u64> {
        let [egress, ingress] = &self.others;
        let at_ingress = ingress.iter().filter(|place| edge.plan.echoes() && **place == PROGRAM);
        let at_egress = egress.iter().filter(|place| PLACES.contains(place));
        at_egress.chain(at_ingress).next().copied()
    }

    /// The position that the filter of levels needs, if another owner's filter uses it.
    pub(crate) fn taken_by_others_for_levels(&self) -> Option<u64> {
        self.others[0].contains(&LEVELS).then_some(LEVELS)
    }

    /// The position that a redirect of received packets needs, where another owner's filter uses it.
    pub(crate) fn taken_by_others_for_redirect(&self) -> Option<u64> {
        self.others[1].contains(&REDIRECT).then_some(REDIRECT)
    }

    /// Other owners' filters at the ingress of `device` that run before a redirect, and may keep packets from it.
    pub(crate) fn before_redirect(&self, device: &str) -> Option<EarlierFilters> {
        let places = self.taking[1].iter().copied().filter(|place| *place < REDIRECT);
        EarlierFilters::at_ingress(places.collect(), device)
    }

    /// Other owners' filters at the egress that run before a program that marks, if there is one, and before the filter that
    /// gives packets their levels, if there is one.
    pub(crate) fn before(&self, marks: bool, has_levels: bool) -> Option<EarlierFilters> {
        let places = self.taking[0].iter().copied();
        let places = places.filter(|place| has_levels || *place < PROGRAM);
        EarlierFilters::at_egress(places.collect(), marks, has_levels)
    }

    /// What is there that a program at tcx may keep packets from.
    fn behind_tcx(&self) -> Vec<Behind> {
        let egress = match (self.has_program, self.levels) {
            (true, _) => Some(Behind::Marking),
            (false, Some(_)) => Some(Behind::Levels),
            (false, None) => None,
        };
        egress.into_iter().chain(self.has_echo.then_some(Behind::Echo)).collect()
    }

    /// Whether another owner's filter uses the position of the record.
    pub(crate) fn record_is_taken(&self) -> bool {
        self.others[0].contains(&AT_CLSACT)
    }

    /// Whether a filter of another owner is there.
    pub(crate) fn has_others(&self) -> bool {
        self.others.iter().any(|places| !places.is_empty())
    }

    /// Whether all that was begun is finished.
    pub(crate) fn is_whole(&self) -> bool {
        let echoes = self.memo.as_ref().is_some_and(|memo| memo.echoes);
        self.memo.is_some() == self.has_program && echoes == self.has_echo
    }

    /// Whether the place was there before us: with filters of others in it, or as far as a memo says.
    pub(crate) fn found_place(&self) -> bool {
        let of_record = self.record.as_ref().map(|record| record.has_found_place);
        let of_memo = self.memo.as_ref().map(|memo| memo.has_found_place);
        let of_redirect = self.redirect.as_ref().and_then(|redirect| redirect.record.as_ref());
        let of_redirect = of_redirect.map(|record| record.has_found_place);
        let known = [self.has_found_place, of_memo, of_record, of_redirect];
        let known = known.into_iter().flatten().max();
        known.unwrap_or(self.has_place && self.has_others())
    }
}

/// What a program of another owner at tcx may keep packets from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Behind {
    Marking,
    Levels,
    Echo,
    Redirect,
}

/// A program of another owner that sees packets of a device before what is deployed there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TcxBefore {
    program: TcxProgram,
    behind: Behind,
}

impl TcxBefore {
    /// Those before `behind` at the device with this number.
    pub(crate) fn at(device: u32, behind: Behind) -> Vec<TcxBefore> {
        let direction = match behind {
            Behind::Marking | Behind::Levels => Direction::Egress,
            Behind::Echo | Behind::Redirect => Direction::Ingress,
        };
        let programs = TcxProgram::at(device, direction).into_iter();
        programs.map(|program| TcxBefore { program, behind }).collect()
    }

    /// Those before what was observed at a device.
    pub(crate) fn observe(device: &str, observed: &EdgeObserved) -> Vec<TcxBefore> {
        let behind = observed.behind_tcx();
        let Some(link) = (!behind.is_empty()).then(|| link(device).ok()).flatten() else {
            return Vec::new();
        };
        behind.into_iter().flat_map(|behind| TcxBefore::at(link.index, behind)).collect()
    }

    /// What it may do, as a sentence.
    pub(crate) fn text(&self) -> String {
        let TcxBefore { program: TcxProgram { id, name, link, direction }, behind } = self;
        let link = link.map_or(String::new(), |link| format!(", link {link}"));
        let at = match direction {
            Direction::Egress => "egress",
            Direction::Ingress => "ingress",
        };
        let what = match behind {
            Behind::Marking => "packets are not marked",
            Behind::Levels => "packets have no level and are dropped only where a queue is full",
            Behind::Echo => "acknowledgements echo no code points",
            Behind::Redirect => "received packets are not shaped",
        };
        format!(
            "another owner's program `{name}` (id {id}{link}) runs before Shortflow's at the {at} \
                (tcx): {what} unless it returns TCX_NEXT (-1)"
        )
    }

    /// The command that takes it away, where `queued_at` is the device whose queues these are.
    pub(crate) fn removal(&self, device: &str, queued_at: &str) -> String {
        let (at, device) = match self.program.direction {
            Direction::Egress => ("tcx_egress", queued_at),
            Direction::Ingress => ("tcx_ingress", device),
        };
        match self.program.link {
            Some(link) => format!("bpftool link detach id {link}"),
            None => format!("bpftool net detach {at} dev {}", quoted(device)),
        }
    }
}

/// Whether a filter is the part of our program that has this name.
fn is_program(filter: &Value, name: &str) -> bool {
    let options = &filter["options"];
    let its_name = options["bpf_name"].as_str().unwrap_or_default();
    filter["pref"] == PROGRAM && options["handle"] == HANDLE && its_name.starts_with(name)
}

fn is_memo(filter: &Value) -> bool {
    filter["pref"] == MEMO
        && Program::held(filter).is_some_and(|text| text.starts_with(MEMO_BEGINS))
}

/// The filters that are not ours. Each place is listed once more as a heading, without a filter.
fn others(filters: &[Value], is_ours: impl Fn(&Value) -> bool) -> Vec<&Value> {
    let is_other = |filter: &&Value| match filter["options"].is_object() {
        true => !is_ours(filter),
        false => !OURS.contains(&place_of(filter)),
    };
    filters.iter().filter(is_other).collect()
}

fn place_of(filter: &Value) -> u64 {
    filter["pref"].as_u64().unwrap_or_default()
}

/// Makes the place for filters. The kernel empties the device's queues when it does.
pub(crate) fn place(device: &str) -> Step {
    Step::Tc(format!("qdisc add dev {device} clsact"))
}

/// The steps to attach `edge` before the queues of a device; none if there is no edge.
pub fn converge_edge(
    device: &str,
    observed: &EdgeObserved,
    policy: &str,
    edge: Option<&Edge>,
) -> Vec<Step> {
    let Some(edge) = edge else { return without_edge(device, observed) };
    let sent = edge.takes_all.then_some(observed.sent.unwrap_or(0));
    let memo = EdgeMemo { sent, ..EdgeMemo::new(policy, edge, observed.found_place()) };
    let mut steps = Vec::new();
    if !observed.has_place {
        steps.push(place(device));
    }
    if observed.has_memo {
        steps.push(remove_memo(device));
    }
    let (echoes, option_at) = (edge.plan.echoes(), option_at(edge));
    steps.push(Step::Condition { echoes, option_at: option_at.clone() });
    let program = Program::passing_by(&memo.text());
    steps.push(Step::Tc(format!(
        "filter add dev {device} egress protocol all pref {MEMO} handle 1 bpf bytecode '{program}'"
    )));
    let before = observed.memo.as_ref().and_then(|memo| memo.option_at.clone());
    steps
        .extend(before.filter(|before| option_at.as_ref() != Some(before)).map(Step::RemoveOption));
    steps
}

/// Whether `edge` is attached before the queues of a device, by its state there.
pub(crate) fn is_edge(observed: &EdgeObserved, policy: &str, edge: Option<&Edge>) -> bool {
    let Some(edge) = edge else { return !observed.is_ours() };
    observed.has_program && observed.memo.as_ref().is_some_and(|memo| memo.is_of(policy, edge))
}

/// The steps to remove everything of ours, including clsact.
pub(crate) fn clear_edge(device: &str, observed: &EdgeObserved) -> Vec<Step> {
    let mut steps = without_edge(device, observed);
    // A place in which nobody has anything does nothing, so that nobody misses it.
    let is_needed = observed.has_others() || observed.redirect.is_some();
    if observed.has_place && !is_needed && !observed.found_place() {
        steps.push(remove_place(device));
        return steps;
    }
    if observed.levels.is_some() {
        steps.push(levels::remove(device));
    }
    if observed.has_record {
        steps.push(remove_record(device));
    }
    steps
}

/// The same, where the place is left: the kernel empties the device's queues when it goes.
fn without_edge(device: &str, observed: &EdgeObserved) -> Vec<Step> {
    let remove = |point: &str| {
        let place = format!("{point} protocol all pref {PROGRAM} handle {HANDLE} bpf");
        Step::Tc(format!("filter del dev {device} {place}"))
    };
    let mut steps = Vec::new();
    if observed.has_program {
        steps.push(remove("egress"));
    }
    if observed.has_echo {
        steps.push(remove("ingress"));
    }
    if observed.has_memo {
        steps.push(remove_memo(device));
    }
    let option_at = observed.memo.as_ref().and_then(|memo| memo.option_at.clone());
    steps.extend(option_at.map(Step::RemoveOption));
    steps
}

fn remove_memo(device: &str) -> Step {
    Step::Tc(format!("filter del dev {device} egress protocol all pref {MEMO} handle 1 bpf"))
}

/// Where the sockets are whose applications may set thresholds.
pub(crate) fn option_at(edge: &Edge) -> Option<String> {
    let cgroup = edge.cgroup.as_ref().map(|path| path.display().to_string());
    edge.plan.has_objects().then(|| cgroup.unwrap_or_else(|| ROOT_CGROUP.to_owned()))
}

fn memo_of(filter: &Value) -> Option<EdgeMemo> {
    if filter["pref"] != MEMO {
        return None;
    }
    EdgeMemo::parse(&Program::held(filter)?)
}

impl EdgeMemo {
    fn new(policy: &str, edge: &Edge, has_found_place: bool) -> EdgeMemo {
        let named = |Labelled { name, owned_by }| Labelled { name: short(&name), owned_by };
        EdgeMemo {
            policy: short(policy),
            role: short(&edge.role),
            classes: edge.classes.iter().map(|class| short(class)).collect(),
            labels: edge.labels.iter().cloned().map(named).collect(),
            past: edge.past,
            echoes: edge.plan.echoes(),
            option_at: option_at(edge),
            sent: None,
            plan: fnv(edge.plan.shape()),
            has_found_place,
        }
    }

    /// How long the memo of this is and may be, in bytes, where that is too long.
    pub(crate) fn excess(policy: &str, edge: &Edge) -> Option<[usize; 2]> {
        // What `verify` adds for a while, an address, twice, and a number; and how many packets were sent.
        const OF_VERIFY: usize = 128 + 32;
        let (found, max) = (EdgeMemo::new(policy, edge, true).text().len(), Program::MAX_TEXT);
        (found + OF_VERIFY > max).then_some([found, max - OF_VERIFY])
    }

    /// Whether the program came of this role of a policy, and does the same.
    pub fn is_of(&self, policy: &str, edge: &Edge) -> bool {
        *self == EdgeMemo { sent: self.sent, ..EdgeMemo::new(policy, edge, self.has_found_place) }
    }

    /// Whether it does so but for the packets to one host, which it leaves as they are.
    pub fn is_past(&self, policy: &str, edge: &Edge) -> bool {
        let Some(Past { plan, .. }) = self.past else { return false };
        let classes = self.classes.get(1..).unwrap_or_default().to_vec();
        EdgeMemo { plan, classes, past: None, ..self.clone() }.is_of(policy, edge)
    }

    fn text(&self) -> String {
        let EdgeMemo { policy, role, classes, labels, past, echoes, option_at, plan, .. } = self;
        let place = if self.has_found_place { "found" } else { "made" };
        let mut text = format!(
            "shortflow edge 1\npolicy {policy}\nrole {role}\nplace {place}\nplan {plan:x}\n"
        );
        if let Some(Past { host, plan }) = past {
            writeln!(text, "past {plan:x} {host}").expect("a string takes all");
        }
        if *echoes {
            text += "acks echo\n";
        }
        if let Some(cgroup) = option_at {
            writeln!(text, "option {cgroup}").expect("a string takes all");
        }
        if let Some(sent) = self.sent {
            writeln!(text, "sent {sent}").expect("a string takes all");
        }
        for label in labels {
            writeln!(text, "label {}", label_text(label)).expect("a string takes all");
        }
        for class in classes {
            writeln!(text, "class {class}").expect("a string takes all");
        }
        text
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
        let (classes, labels) = (Vec::new(), Vec::new());
        let (past, echoes, option_at, sent) = (None, false, None, None);
        let mut memo = EdgeMemo {
            policy,
            role,
            classes,
            labels,
            past,
            echoes,
            option_at,
            sent,
            plan,
            has_found_place,
        };
        for line in lines {
            match line.split_once(' ')? {
                ("class", class) => memo.classes.push(class.to_owned()),
                ("acks", "echo") => memo.echoes = true,
                ("option", cgroup) => memo.option_at = Some(cgroup.to_owned()),
                ("sent", sent) => memo.sent = Some(sent.parse().ok()?),
                // An earlier version kept here which queues were behind it.
                ("behind", _) => {}
                ("label", label) => memo.labels.push(label_of(label)?),
                ("past", past) => {
                    let (plan, host) = past.split_once(' ')?;
                    let plan = u64::from_str_radix(plan, 16).ok()?;
                    memo.past = Some(Past { host: host.parse().ok()?, plan });
                }
                _ => return None,
            }
        }
        Some(memo)
    }
}

/// A label and who owns it, between tabs, which neither has.
fn label_text(Labelled { name, owned_by }: &Labelled) -> String {
    match owned_by {
        OwnedBy::Mark(mark) => format!("{name}\tmark\t{mark}"),
        OwnedBy::Priority(priority) => format!("{name}\tpriority\t{priority}"),
        OwnedBy::Group { path, id } => format!("{name}\tcgroup\t{id}\t{path}"),
    }
}

fn label_of(text: &str) -> Option<Labelled> {
    let parts: Vec<&str> = text.split('\t').collect();
    let (name, owned_by) = match parts[..] {
        [name, "mark", mark] => (name, OwnedBy::Mark(mark.parse().ok()?)),
        [name, "priority", priority] => (name, OwnedBy::Priority(priority.parse().ok()?)),
        [name, "cgroup", id, path] => {
            (name, OwnedBy::Group { path: path.to_owned(), id: id.parse().ok()? })
        }
        _ => return None,
    };
    Some(Labelled { name: name.to_owned(), owned_by })
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
            labels: Vec::new(),
            past: None,
            echoes: true,
            option_at: Some("/sys/fs/cgroup/a b".to_owned()),
            sent: Some(7),
            plan: u64::MAX,
            has_found_place: true,
        };
        let group = OwnedBy::Group { path: "a b/c.service".to_owned(), id: u64::MAX };
        let labels = [("two words", group), ("a=b", OwnedBy::Mark(7)), ("c", OwnedBy::Priority(5))];
        let labels =
            labels.map(|(name, owned_by)| Labelled { name: name.to_owned(), owned_by }).to_vec();
        let host = "2001:db8::7".parse().unwrap();
        let past = EdgeMemo { labels, past: Some(Past { host, plan: 7 }), ..memo.clone() };
        for memo in [&memo, &past] {
            assert_eq!(EdgeMemo::parse(&memo.text()), Some(memo.clone()));
        }
        for wrong in ["", "shortflow 1\npolicy x", &memo.text()[..40], "shortflow edge 2\n"] {
            assert_eq!(EdgeMemo::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_place_for_filters_goes_with_the_last_of_ours_unless_it_was_there_or_others_use_it() {
        let qdiscs = |text: &str| -> Vec<Value> { serde_json::from_str(text).unwrap() };
        let place = qdiscs(r#"[{"kind":"clsact"}]"#);
        let program =
            r#"{"pref":21318,"options":{"handle":"0x5346","bpf_name":"shortflow_edge:[6]"}}"#;
        let steps = |egress: &str, ingress: &str| {
            let observed = EdgeObserved::parse(&place, &qdiscs(egress), &qdiscs(ingress));
            clear_edge("eth0", &observed).iter().map(Step::to_string).collect::<Vec<_>>()
        };
        let ours = format!("[{program}]");
        assert_eq!(
            steps(&ours, "[]"),
            [
                "tc filter del dev eth0 egress protocol all pref 21318 handle 0x5346 bpf",
                "tc qdisc del dev eth0 clsact"
            ]
        );
        assert_eq!(steps(&ours, r#"[{"pref":1}]"#).len(), 1, "somebody uses it at ingress");
        assert_eq!(steps(&format!(r#"[{program},{{"pref":7}}]"#), "[]").len(), 1, "or at egress");
        // What echoes is ours at ingress, and of the same number somebody else's is not.
        let echo = r#"[{"pref":21318},
            {"pref":21318,"options":{"handle":"0x5346","bpf_name":"shortflow_echo:[7]"}}]"#;
        assert_eq!(
            steps(&ours, echo)[1..],
            [
                "tc filter del dev eth0 ingress protocol all pref 21318 handle 0x5346 bpf",
                "tc qdisc del dev eth0 clsact"
            ]
        );
        assert_eq!(steps(&ours, &echo.replace("echo", "count")).len(), 1);
        // At our place with a handle of its own, or of another kind, it is somebody else's, and so is the place for filters.
        for other in [
            r#"{"pref":21318,"options":{"handle":"0x7","bpf_name":"theirs"}}"#,
            r#"{"pref":21319,"options":{"fh":"800:"}}"#,
        ] {
            assert_eq!(steps(&format!("[{program},{other}]"), "[]").len(), 1, "{other}");
        }
    }
}
