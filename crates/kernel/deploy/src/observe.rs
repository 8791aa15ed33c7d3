//! The state of a device, as listed by tc.

use std::collections::BTreeSet;

use serde_json::Value;
use shortflow_ebpf::qdisc::QdiscProgram;

use crate::bytecode::Program;
use crate::commands::{
    Generation, LINE, MEMO, NEIGHBOURS, NEIGHBOURS_FILTER, OTHER, ROOT, SIGNATURE,
};
use crate::converge::Step;
use crate::deployed::{AT_ROOT, Deployed, Options};
use crate::early::is_program as is_early;
use crate::edge::EdgeObserved;
use crate::fingerprint::{FINGERPRINT, Fingerprint, Part, PartSettings, part_settings};
use crate::levels::LEVELS;
use crate::memo::Memo;
use crate::queue::Queue;
use crate::queueing::{QueueingSeen, QueueingWay};
use crate::repair::lost;
use crate::status::BESIDE;

/// What sends the packets of a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Root {
    /// What the kernel has put there itself.
    Default,
    /// What Shortflow has put there, whole or not.
    Ours,
    /// Another owner's.
    Other {
        /// Its kind.
        kind: String,
        /// Its handle.
        handle: String,
    },
}

/// What stands at a device.
#[derive(Debug, Clone)]
pub struct Observed {
    /// What sends its packets.
    pub root: Root,
    /// The deployment; `None` without one, or if it is incomplete.
    pub memo: Option<Memo>,
    /// The disciplines, with what they have done.
    pub queues: Vec<Queue>,
    /// The state before the queues.
    pub edge: EdgeObserved,
    /// The deployment, from the record at our root; `None` without a record.
    pub(crate) record: Option<Deployed>,
    /// What was deployed, as the file says, where nothing of ours is left at the device.
    pub(crate) lost: Option<Deployed>,
    /// What is deployed, as the file says, where a record at our root is missing.
    pub(crate) in_file: Option<Deployed>,
    /// Whether it is the way of what another device receives, some of which is there.
    pub(crate) is_way: bool,
    /// Faults of that way, each as a sentence.
    pub(crate) faults: Vec<String>,
    /// Packets that wait in whatever sends the packets of the device.
    pub(crate) backlog: u64,
    /// Minor numbers of our root's classes, with how many packets wait in each.
    pub(crate) classes: Vec<(u16, u64)>,
    /// Whether the program for early drops is at our root.
    pub(crate) has_early: bool,
    /// Places of filters at our root.
    pub(crate) filters: Vec<u16>,
    /// Positions and protocols of other owners' filters there.
    pub(crate) foreign: Vec<(u16, String)>,
    /// The program that has the queues, where one stands at the root.
    pub(crate) queueing: Option<QueueingSeen>,
    /// How the parts of it look.
    part_settings: PartSettings,
    /// How they looked when all was whole.
    fingerprint: Option<Fingerprint>,
    /// The manually changed parts, with their current listing; empty if they are missing.
    pub(crate) changed: Vec<(Part, String)>,
}

/// The places of our filters at our root.
const PLACES: [u16; 6] = [NEIGHBOURS_FILTER, 2, 3, MEMO, AT_ROOT, FINGERPRINT];

/// What tc says of a device.
#[derive(Debug, Clone, Copy, Default)]
pub struct Listings<'t> {
    /// `tc -s -d -j qdisc show`.
    pub qdiscs: &'t str,
    /// `tc -s -d class show`.
    pub classes: &'t str,
    /// `tc -j filter show parent 5f00:`.
    pub filters: &'t str,
    /// `tc -j filter show parent N:` of disciplines inside, by the major numbers of their handles.
    pub inner: &'t [(u16, String)],
    /// `tc -j filter show egress`.
    pub egress: &'t str,
    /// `tc -j filter show ingress`.
    pub ingress: &'t str,
}

impl Observed {
    /// From what tc says.
    pub(crate) fn parse(listings: &Listings<'_>) -> Result<Observed, String> {
        let list = |text: &str| -> Result<Vec<Value>, String> {
            match text.trim() {
                "" => Ok(Vec::new()),
                text => serde_json::from_str(text).map_err(|error| error.to_string()),
            }
        };
        let (qdiscs, filters) = (list(listings.qdiscs)?, list(listings.filters)?);
        let (egress, ingress) = (list(listings.egress)?, list(listings.ingress)?);
        let root = qdiscs.iter().find(|it| it["root"] == true);
        let backlog = root.and_then(|root| root["qlen"].as_u64()).unwrap_or(0);
        let root = root.map_or(Root::Default, root_of);
        let memo: Option<Memo> = filters.iter().find_map(memo_of);
        let has_found_place = memo.as_ref().map(|memo| memo.has_found_place);
        let mut edge = EdgeObserved::parse(&qdiscs, &egress, &ingress);
        edge.has_found_place = has_found_place;
        let places = filters.iter().filter(|it| it["options"].is_object() && !is_early(it));
        let queues: Vec<Queue> = qdiscs.iter().filter_map(Queue::parse).collect();
        edge.sent = (root == Root::Ours).then(|| sent_by(&queues));
        // A filter of several entries, such as a `u32` table, is listed once for each of them.
        let foreign: BTreeSet<(u16, String)> = filters.iter().filter_map(foreign).collect();
        let foreign = foreign.into_iter().collect();
        let mut with_filters = vec![(ROOT, filters.clone())];
        for (handle, filters) in listings.inner {
            with_filters.push((*handle, list(filters)?));
        }
        let observed = Observed {
            root,
            memo,
            queues,
            edge,
            record: filters.iter().find_map(|it| Deployed::held(it, AT_ROOT.into())),
            lost: None,
            in_file: None,
            is_way: false,
            faults: Vec::new(),
            backlog,
            classes: classes_of(listings.classes),
            has_early: filters.iter().any(is_early),
            filters: places.filter_map(|it| it["pref"].as_u64()).map(|pref| pref as u16).collect(),
            foreign,
            queueing: None,
            part_settings: part_settings(&qdiscs, listings.classes, &with_filters),
            fingerprint: filters.iter().find_map(Fingerprint::held),
            changed: Vec::new(),
        };
        let fingerprint_now =
            observed.memo.as_ref().and(observed.fingerprint.as_ref()).zip(observed.live());
        let changed = fingerprint_now
            .map(|(fingerprint, live)| fingerprint.changes(&observed.part_settings, live));
        Ok(Observed { changed: changed.unwrap_or_default(), ..observed })
    }

    /// The kind of the program that is at the root, in what tc lists; `None` for another discipline.
    pub(crate) fn program_kind(qdiscs: &str) -> Option<String> {
        let listed: Vec<Value> = serde_json::from_str(qdiscs).ok()?;
        let root = listed.iter().find(|it| it["root"] == true)?;
        let kind = root["kind"].as_str().filter(|_| is_program(root))?;
        Some(kind.to_owned())
    }

    /// The same, with what the program at the root says of itself.
    pub(crate) fn with_queueing(mut self, seen: QueueingSeen) -> Observed {
        let [memo, record] = seen.texts();
        self.memo = Memo::parse(&memo);
        self.record = Deployed::parse(&record);
        if let Some(memo) = &self.memo {
            self.edge.has_found_place = Some(memo.has_found_place);
            self.queues.extend(seen.queues(memo));
        }
        self.edge.sent = Some(sent_by(&self.queues));
        self.queueing = Some(seen);
        self
    }

    /// The same, as if no queues of ours stood there.
    pub(crate) fn without_queues(&self) -> Observed {
        Observed {
            root: Root::Default,
            memo: None,
            queues: Vec::new(),
            classes: Vec::new(),
            filters: Vec::new(),
            foreign: Vec::new(),
            has_early: false,
            queueing: None,
            changed: Vec::new(),
            ..self.clone()
        }
    }

    /// The seal of the current state; `None` if no filter sends packets into classes.
    pub(crate) fn fingerprint_now(&self, version: &str) -> Option<Fingerprint> {
        Some(Fingerprint::new(version, &self.part_settings, self.live()?))
    }

    /// Takes nothing for changed that another version of tc listed, which may have other words for the same.
    pub(crate) fn compared_by(&mut self, version: &str) {
        if self.fingerprint.as_ref().is_some_and(|fingerprint| fingerprint.version != version) {
            self.changed.clear();
        }
    }

    /// Whether all that was begun is finished.
    pub fn is_whole(&self) -> bool {
        (self.root != Root::Ours || self.memo.is_some())
            && self.edge.is_whole()
            && !self.is_for_verify()
            && self.damage().is_empty()
    }

    /// Changes of the complete deployment by others, each as a sentence.
    pub fn damage(&self) -> Vec<String> {
        let mut damage: Vec<String> = self.faults.iter().cloned().chain(self.removed()).collect();
        if let Some(seen) = &self.queueing {
            damage.extend(seen.program.is_none().then(|| {
                "the program that queues packets cannot be read (without permission, or of another \
                    version)"
                    .to_owned()
            }));
            return damage;
        }
        let Some(memo) = &self.memo else { return damage };
        let live = self.live();
        let is_live = |handle: u16| Generation::from_number(handle.wrapping_sub(ROOT)) == live;
        if live.is_none() || !memo.queues.iter().all(|(handle, _)| is_live(*handle)) {
            damage.push("the classifying filter is missing".to_owned());
        }
        if !self.filters.contains(&NEIGHBOURS_FILTER) {
            damage.push("the filter for ARP and neighbour discovery is missing".to_owned());
        }
        if memo.levels.is_some() && memo.levels != self.edge.levels {
            damage.push(
                "the filter that gives packets their level is missing or was changed: no packet has \
                    one"
                    .to_owned(),
            );
        }
        if memo.has_early && !self.has_early {
            damage.push(
                "the program for early drops is missing: packets are dropped only where a queue is full"
                    .to_owned(),
            );
        }
        damage.extend(self.missing_records());
        let queues = memo.queues.iter().map(|(handle, name)| (*handle, name.as_str()));
        let beside = [ROOT + NEIGHBOURS, ROOT + OTHER].into_iter().zip(BESIDE);
        damage.extend(self.changed.iter().map(|(part, settings)| self.change(*part, settings)));
        damage.extend(self.foreign.iter().map(|(place, _)| {
            format!(
                "a filter of another program at the queues (parent {ROOT:x}:, pref {place}) may \
                    redirect packets"
            )
        }));
        damage.extend(
            queues
                .chain(beside)
                .filter(|(handle, _)| self.queue(*handle).is_none())
                .map(|(_, name)| format!("the queue of class {name:?} is missing or was replaced")),
        );
        damage
    }

    /// Whether our root lacks a record beside its memo.
    pub(crate) fn lacks_records(&self) -> bool {
        let is_missing = self.record.is_none() || self.fingerprint.is_none();
        self.queueing.is_none() && self.memo.is_some() && is_missing
    }

    /// The records that are missing beside the memo, each as a sentence.
    fn missing_records(&self) -> impl Iterator<Item = String> {
        // Who applies steps without a file of the deployment has no record either.
        let is_ours = self.in_file.is_some();
        let record = (is_ours && self.record.is_none()).then(|| {
            format!("the record of the deployment's options (parent {ROOT:x}:, pref {AT_ROOT}) is missing")
        });
        let fingerprint = (is_ours && self.fingerprint.is_none()).then(|| {
            format!(
                "the record of the queues' settings (parent {ROOT:x}:, pref {FINGERPRINT}) is missing: \
                    manual changes are not detected"
            )
        });
        record.into_iter().chain(fingerprint)
    }

    /// The change of a part, as a sentence.
    fn change(&self, part: Part, settings: &str) -> String {
        let class = |handle: u16| {
            let names = self.memo.iter().flat_map(|memo| &memo.queues);
            let mut names = names.map(|(handle, name)| (*handle, name.as_str()));
            let beside = [ROOT + NEIGHBOURS, ROOT + OTHER].into_iter().zip(BESIDE);
            let named = names.find(|(of, _)| *of == handle);
            let named = named.or_else(|| beside.into_iter().find(|(of, _)| *of == handle));
            named.map_or(format!("{handle:x}:"), |(_, name)| format!("{name:?}"))
        };
        match part {
            Part::Queue(handle) => {
                let class = class(handle);
                format!(
                    "the settings of the queue of class {class} were changed by hand: {settings}"
                )
            }
            Part::Class(ROOT, LINE) => {
                format!("the rate of the line was changed by hand: {settings}")
            }
            Part::Class(ROOT, minor) => {
                let class = class(ROOT.wrapping_add(minor));
                format!("the share of class {class} was changed by hand: {settings}")
            }
            Part::Class(major, minor) => {
                format!("the share of class {major:x}:{minor:x} was changed by hand: {settings}")
            }
            Part::Filter(ROOT, NEIGHBOURS_FILTER) => {
                "the filter for ARP and neighbour discovery was changed by hand".to_owned()
            }
            Part::Filter(ROOT, _) => "the classifying filter was changed by hand".to_owned(),
            Part::Filter(major, _) if settings.is_empty() => {
                format!("the filter inside the queue {major:x}: is missing")
            }
            Part::Filter(major, place) => format!(
                "the filter inside the queue {major:x}: (pref {place}) was changed, or belongs to \
                    another program"
            ),
        }
    }

    /// The roles that were deployed and of which nothing is left, each as a sentence.
    fn removed(&self) -> impl Iterator<Item = String> {
        let record = self.recorded();
        let queues = record.and_then(|record| record.queues.as_ref());
        let queues = queues.filter(|_| self.root != Root::Ours).map(|role| match &self.root {
            Root::Other { kind, handle } => format!(
                "the queues of role `{role}` are missing on the device; {kind} {handle} of another \
                    program is there instead"
            ),
            _ => format!("the queues of role `{role}` are missing on the device"),
        });
        let marks = record.and_then(|record| record.marks.as_ref());
        let marks = marks.filter(|_| !self.edge.is_ours()).map(|role| {
            let place = if self.edge.has_place { "" } else { ", as is `clsact`" };
            format!(
                "the marking program of role `{role}` is missing on the device{place}: no \
                packet is marked"
            )
        });
        queues.into_iter().chain(marks)
    }

    /// What was deployed, as one of the two records says, or the file where both are gone.
    fn recorded(&self) -> Option<&Deployed> {
        let at_device = self.record.as_ref().or(self.edge.record.as_ref());
        at_device.or(self.in_file.as_ref()).or(self.lost.as_ref())
    }

    /// The deployment with its options; for a deployment by a version without records, from the memos. `None` without
    /// a deployment.
    pub fn deployed(&self) -> Option<Deployed> {
        let of_memos = || {
            let (queues, marks) = (self.memo.as_ref(), self.edge.memo.as_ref());
            let labels = marks.iter().flat_map(|memo| &memo.labels);
            let labels = labels.map(|label| (label.name.clone(), label.owned_by.to_string()));
            Some(Deployed {
                policy: self.policy()?.to_owned(),
                marks: marks.map(|memo| memo.role.clone()),
                queues: queues.map(|memo| memo.role.clone()),
                options: Options {
                    rate: queues.map(|memo| memo.rate),
                    labels: labels.collect(),
                    ..Options::default()
                },
                from_shaper: Options::default(),
                has_found_place: self.place_was_found(),
            })
        };
        self.recorded().cloned().or_else(of_memos)
    }

    /// Whether something was deployed of which nothing is left at the device.
    pub fn is_lost(&self) -> bool {
        self.lost.is_some()
    }

    /// Whether anything of ours is there.
    pub fn is_ours(&self) -> bool {
        self.has_parts() || self.is_way
    }

    /// Whether queues, a program or a record of ours are there.
    pub(crate) fn has_parts(&self) -> bool {
        self.root == Root::Ours || self.edge.is_ours() || self.edge.has_record
    }

    /// Whether the place for filters is there for a deployment of which nothing else is left, and for nobody else.
    pub(crate) fn has_place_of_lost(&self) -> bool {
        let is_needed = self.edge.has_others() || self.edge.redirect.is_some();
        let was_found = self.lost.as_ref().is_none_or(|lost| lost.has_found_place);
        self.edge.has_place && !is_needed && !was_found
    }

    /// Whether the place for filters was there before anything of ours.
    pub(crate) fn place_was_found(&self) -> bool {
        let is_free = !self.is_ours() && self.edge.redirect.is_none() && !self.has_place_of_lost();
        (is_free && self.edge.has_place) || self.edge.found_place()
    }

    /// Whether it stands so for as long as `verify` takes, which puts the policy back.
    pub fn is_for_verify(&self) -> bool {
        self.memo.as_ref().is_some_and(|memo| memo.instead.is_some())
            || self.edge.memo.as_ref().is_some_and(|memo| memo.past.is_some())
    }

    /// The name of the deployed policy, also while `verify` replaces it by one queue.
    pub fn policy(&self) -> Option<&str> {
        let queues = self.memo.as_ref().map(|memo| match &memo.instead {
            Some(instead) => instead.policy.as_str(),
            None => memo.policy.as_str(),
        });
        let marks = self.edge.memo.as_ref().map(|memo| memo.policy.as_str());
        queues.or(marks).or(self.recorded().map(|record| record.policy.as_str()))
    }

    /// The labels that no connection has any more, since their groups of processes are others, each as a sentence.
    pub fn lost_labels(&self) -> Vec<String> {
        let labels = self.edge.memo.iter().flat_map(|memo| &memo.labels);
        labels.filter_map(|label| lost(label, label.owned_by.group())).collect()
    }

    /// The roles that the device plays: the one that marks, and the one that queues.
    pub fn roles(&self) -> Vec<String> {
        self.deployed().map_or_else(Vec::new, |deployed| deployed.roles())
    }

    /// The generation that receives packets; `None` without a filter.
    pub(crate) fn live(&self) -> Option<Generation> {
        let both = [Generation::First, Generation::Second];
        both.into_iter().find(|generation| self.filters.contains(&generation.place()))
    }

    /// The classes of a generation, with how many packets wait in each.
    pub(crate) fn classes_of(&self, generation: Generation) -> impl Iterator<Item = (u16, u64)> {
        let of =
            move |(minor, _): &&(u16, u64)| Generation::from_number(*minor) == Some(generation);
        self.classes.iter().filter(of).copied()
    }

    /// The waiting packets that these steps discard, except those in a kernel's default queue that ours replaces: the
    /// kernel empties the queues of a device when clsact is added or removed.
    pub fn lost_by(&self, steps: &[Step]) -> u64 {
        let words = steps.iter().filter_map(|step| match step {
            Step::Tc(command) => Some(command.split(' ').collect::<Vec<_>>()),
            _ => None,
        });
        let of_device: Vec<Vec<&str>> = words
            .filter(|words| words[0] == "qdisc" && words[1] != "change")
            .filter(|words| ["root", "clsact"].contains(&words[4]))
            .collect();
        let replaces = steps.iter().any(|step| match step {
            Step::Queue(queueing) => queueing.way == QueueingWay::Replace,
            _ => false,
        });
        let adds = steps.iter().any(|step| match step {
            Step::Queue(queueing) => queueing.way == QueueingWay::Add,
            _ => false,
        });
        let is_root =
            |verb: &str| of_device.iter().any(|words| words[1] == verb && words[4] == "root");
        let gives_way = (adds || is_root("add")) && !is_root("del");
        let is_emptied = replaces || !of_device.is_empty();
        if is_emptied && !gives_way { self.backlog } else { 0 }
    }

    /// What there is to say of others, before these steps bring something there, a program that marks among it or not.
    pub fn notes_on(&self, marks: bool, steps: &[Step]) -> Vec<String> {
        let lost = match self.lost_by(steps) {
            0 => None,
            lost => Some(format!(
                "about {lost} waiting packets are lost: the kernel empties the queues of a device \
                    when clsact is added or the root is replaced"
            )),
        };
        let before = self.edge.before(marks, has_levels(steps)).map(|before| before.text);
        lost.into_iter().chain(before).collect()
    }

    /// The same, as if nothing led received packets elsewhere.
    #[must_use]
    pub fn without_redirect(mut self) -> Observed {
        self.edge.redirect = None;
        self
    }

    /// Packets that wait in any queue of ours.
    pub fn waiting(&self) -> u64 {
        self.queues.iter().find(|queue| queue.handle == ROOT).map_or(0, |root| root.waiting)
    }

    /// The queue with this handle.
    pub fn queue(&self, handle: u16) -> Option<&Queue> {
        self.queues.iter().find(|queue| queue.handle == handle)
    }

    /// The queue of what finds neighbours.
    pub fn neighbours(&self) -> Option<&Queue> {
        self.queue(ROOT + NEIGHBOURS)
    }

    /// The queue of unclassified packets.
    pub fn other(&self) -> Option<&Queue> {
        self.queue(ROOT + OTHER)
    }
}

/// Whether these steps give packets levels.
pub(crate) fn has_levels(steps: &[Step]) -> bool {
    let place = format!("pref {LEVELS} ");
    steps.iter().any(|step| matches!(step, Step::Tc(command) if command.contains("replace") && command.contains(&place)))
}

/// The packets that have left the root, except those outside the policy. It continues across reloads.
fn sent_by(queues: &[Queue]) -> u64 {
    let of = |handle| queues.iter().find(|it| it.handle == handle).map_or(0, |it| it.packets);
    of(ROOT).saturating_sub(of(ROOT + NEIGHBOURS)).saturating_sub(of(ROOT + OTHER))
}

fn root_of(root: &Value) -> Root {
    let text = |key: &str| root[key].as_str().unwrap_or_default().to_owned();
    let (kind, handle) = (text("kind"), text("handle"));
    let options = &root["options"];
    let is_signed = options["r2q"] == SIGNATURE && options["default"] == format!("0x{OTHER:x}");
    match handle.as_str() {
        "0:" | "" => Root::Default,
        _ if is_program(root) => Root::Ours,
        _ if kind == "htb" && handle == format!("{ROOT:x}:") && is_signed => Root::Ours,
        _ => Root::Other { kind, handle },
    }
}

/// Whether it is a program of ours.
fn is_program(root: &Value) -> bool {
    let kind = root["kind"].as_str().unwrap_or_default();
    kind.starts_with(QdiscProgram::PREFIX) && root["handle"] == format!("{ROOT:x}:")
}

/// The place and protocol of a filter at our root that is not ours.
fn foreign(filter: &Value) -> Option<(u16, String)> {
    let place = filter["pref"].as_u64()? as u16;
    let is_one = filter["options"].is_object() && !PLACES.contains(&place);
    is_one.then(|| (place, filter["protocol"].as_str().unwrap_or("all").to_owned()))
}

fn memo_of(filter: &Value) -> Option<Memo> {
    if filter["pref"] != MEMO {
        return None;
    }
    Memo::parse(&Program::held(filter)?)
}

/// The classes of our root in `tc -s class show`, which has no JSON in versions that are in use:
/// ```text
/// class htb 5f00:1 parent 5f00:fff0 leaf 5f01: prio 0 rate …
///  …
///  backlog 1514b 1p requeues 0
/// ```
fn classes_of(text: &str) -> Vec<(u16, u64)> {
    let mut classes: Vec<(u16, u64)> = Vec::new();
    let mut is_ours = false;
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match &words[..] {
            ["class", kind, id, ..] => {
                let minor = id.strip_prefix(&format!("{ROOT:x}:")).filter(|_| *kind == "htb");
                let minor = minor.and_then(|minor| u16::from_str_radix(minor, 16).ok());
                is_ours = minor.is_some();
                classes.extend(minor.map(|minor| (minor, 0)));
            }
            ["backlog", _, packets, ..] if is_ours => {
                let packets = packets.strip_suffix('p').and_then(|packets| packets.parse().ok());
                if let (Some(class), Some(packets)) = (classes.last_mut(), packets) {
                    class.1 = packets;
                }
            }
            _ => {}
        }
    }
    classes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn observed(qdiscs: &str, classes: &str, filters: &str) -> Result<Observed, String> {
        Observed::parse(&Listings { qdiscs, classes, filters, ..Listings::default() })
    }

    const CLASSES: &str = "\
class htb 5f00:1 parent 5f00:fff0 leaf 5f01: prio 0 rate 1Kbit ceil 10Mbit burst 1600b cburst 1600b
 Sent 3028 bytes 2 pkt (dropped 0, overlimits 2 requeues 0)
 backlog 1514b 3p requeues 0
class drr 5f01:1 parent 5f01: leaf 5f02: quantum 1500b
 backlog 0b 9p requeues 0
class htb 5f00:fff0 root rate 10Mbit ceil 10Mbit burst 1600b cburst 1600b
 backlog 0b 0p requeues 0
";

    #[test]
    fn classes_are_those_of_our_root_alone() {
        assert_eq!(classes_of(CLASSES), [(1, 3), (0xfff0, 0)]);
    }

    #[test]
    fn whose_root_it_is_is_told_by_more_than_its_handle() {
        let root = |text: &str| observed(text, "", "").unwrap().root;
        assert_eq!(root("[]"), Root::Default);
        assert_eq!(root(r#"[{"kind":"mq","handle":"0:","root":true}]"#), Root::Default);
        let ours = r#"[{"kind":"htb","handle":"5f00:","root":true,"options":{"r2q":24320,"default":"0x5f"}}]"#;
        assert_eq!(root(ours), Root::Ours);
        for others in [
            r#"[{"kind":"htb","handle":"5f00:","root":true,"options":{"r2q":10,"default":"0x5f"}}]"#,
            r#"[{"kind":"htb","handle":"1:","root":true,"options":{"r2q":24320,"default":"0x5f"}}]"#,
            r#"[{"kind":"cake","handle":"8001:","root":true,"options":{}}]"#,
        ] {
            assert!(matches!(root(others), Root::Other { .. }), "{others}");
        }
    }

    #[test]
    fn what_tc_says_in_another_way_is_a_mistake_and_no_panic() {
        assert!(observed("nonsense", "", "").is_err());
        assert!(observed("{}", "", "").is_err());
        let odd = observed(r#"[{"root":true},{"handle":7}]"#, "class\nclass htb\n", "[{}]");
        assert_eq!(odd.unwrap().classes, []);
    }
}
