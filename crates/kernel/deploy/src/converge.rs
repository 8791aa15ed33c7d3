//! Computes the steps from the observed state of a device to the wanted state.
//!
//! Packets flow between any two steps, and from each intermediate state the same result is reached.

use shortflow_ebpf::early::{EarlyPlan, MAX_QUEUES};

use crate::bytecode::TooLong;
use crate::commands::{
    Generation, LINE, MAX_QDISCS, MEMO, NEIGHBOURS, NEIGHBOURS_FILTER, OTHER, ROOT, Verb, Writer,
};
use crate::early;
use crate::edge::place;
use crate::fingerprint::Part;
use crate::levels::{self, indexes};
use crate::memo::Memo;
use crate::observe::{Observed, Root};
use crate::queueing::{Queueing, QueueingWay};
use crate::socket_option::named;
use crate::tree::Tree;

/// Something that is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// A command of tc, without its name.
    Tc(String),
    /// A command of ip, without its name.
    Ip(String),
    /// Waiting until no packet is left in the classes of a generation.
    Drain(Generation),
    /// Attach the conditioning program to the device's egress, and replace an attached one.
    Condition {
        /// Whether a part of it is attached to the ingress, for acknowledgements that echo code points.
        echoes: bool,
        /// The cgroup whose sockets get the option by which applications set thresholds, where they may.
        option_at: Option<String>,
    },
    /// Remove the socket option from this cgroup, unless a program of another device reads it.
    RemoveOption(String),
    /// Attach the program for early drops to the root, in the place of an attached one.
    Early(EarlyPlan),
    /// Give the queues to a program, or the program at the root another plan.
    Queue(Box<Queueing>),
    /// Noting how the queues look to tc.
    Fingerprint,
}

impl std::fmt::Display for Step {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Step::Tc(command) => write!(f, "tc {command}"),
            Step::Ip(command) => write!(f, "ip {command}"),
            Step::Drain(_) => {
                write!(f, "# wait until the classes that are removed next are empty")
            }
            Step::Condition { echoes, option_at } => {
                if let Some(cgroup) = option_at {
                    writeln!(
                        f,
                        "# then attach the socket option for thresholds to {}",
                        named(cgroup)
                    )?;
                }
                write!(f, "# then attach the marking eBPF program at the egress with pref 21318")?;
                if *echoes {
                    write!(
                        f,
                        ", and the program that observes incoming code points at the ingress"
                    )?;
                }
                Ok(())
            }
            Step::RemoveOption(cgroup) => write!(
                f,
                "# then remove the socket option for thresholds from {}, unless another device uses it",
                named(cgroup)
            ),
            Step::Early(_) => write!(
                f,
                "# then attach the eBPF program for early drops at the queues with pref 1"
            ),
            Step::Queue(queueing) => match queueing.way {
                QueueingWay::Follow => {
                    write!(f, "# then the queueing eBPF program at the root follows another plan")
                }
                QueueingWay::Add | QueueingWay::Replace => {
                    write!(f, "# then put the queueing eBPF program at the root, as {ROOT:x}:")
                }
            },
            Step::Fingerprint => write!(
                f,
                "# then record tc's listing there, so that `status` detects later changes"
            ),
        }
    }
}

/// Why nothing can be done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Obstacle {
    /// The device has another owner's discipline.
    #[error("the device has another queueing discipline, {kind} {handle}")]
    Other {
        /// Its kind.
        kind: String,
        /// Its handle.
        handle: String,
    },
    /// The tree has more disciplines than there are numbers.
    #[error("the policy needs {0} queues; the maximum is {MAX_QDISCS}")]
    TooMany(usize),
    /// The tree has more queues with levels than the program for early drops takes.
    #[error("the policy has {0} queues with levels; the maximum is {MAX_QUEUES}")]
    ManyLevels(usize),
    /// The rules come to more instructions than a kernel takes.
    #[error("the rules compile to {} instructions; the kernel's maximum is 4096", .0.instructions)]
    TooLong(TooLong),
}

impl From<TooLong> for Obstacle {
    fn from(error: TooLong) -> Self {
        Obstacle::TooLong(error)
    }
}

/// The steps at `device` from `observed` to `tree`, and then `others`. The record that it is complete comes last.
///
/// # Errors
/// When somebody else's discipline is there, or the tree is larger than what a device holds.
pub fn converge(
    device: &str,
    observed: &Observed,
    tree: &Tree,
    others: Vec<Step>,
) -> Result<Vec<Step>, Obstacle> {
    if let Root::Other { kind, handle } = &observed.root {
        return Err(Obstacle::Other { kind: kind.clone(), handle: handle.clone() });
    }
    let is_ours = observed.root == Root::Ours;
    let has_found_place = observed.place_was_found();
    let seen = observed.queueing.as_ref();
    if let Some(queueing) = Queueing::from_tree(tree, is_ours, seen, has_found_place) {
        return Ok(program_steps(device, observed, tree, queueing, others));
    }
    if seen.is_some() {
        // Queues of the kernel take the place of the program.
        let removed = clear(device, observed);
        let cleared = observed.without_queues();
        let steps = converge(device, &cleared, tree, others)?;
        return Ok(removed.into_iter().chain(steps).collect());
    }
    match early::queues(tree) {
        many if many > MAX_QUEUES => return Err(Obstacle::ManyLevels(many)),
        _ => {}
    }
    match tree.disciplines().len() {
        many if many > MAX_QDISCS => Err(Obstacle::TooMany(many)),
        _ => Ok(Way { device, observed, tree }.steps(others)?),
    }
}

/// The steps to a program at the root, which has all queues.
fn program_steps(
    device: &str,
    observed: &Observed,
    tree: &Tree,
    queueing: Queueing,
    mut others: Vec<Step>,
) -> Vec<Step> {
    // The kernel empties the queues when the place for filters comes, so that it comes before anything waits.
    let place = gets_place(observed, tree).then(|| place(device));
    let mut steps: Vec<Step> = place.into_iter().collect();
    others.retain(|step| !steps.contains(step));
    steps.push(Step::Queue(Box::new(queueing)));
    // It tells queues of the kernel something that the program finds itself.
    steps.extend(observed.edge.levels.map(|_| levels::remove(device)));
    steps.extend(others);
    steps
}

/// The commands that remove everything; none if nothing of ours is there.
pub(crate) fn clear(device: &str, observed: &Observed) -> Option<Step> {
    let command = format!("qdisc del dev {device} root");
    (observed.root == Root::Ours).then_some(Step::Tc(command))
}

/// Whether the device gets a place for filters when the tree comes there.
pub(crate) fn gets_place(observed: &Observed, tree: &Tree) -> bool {
    let is_first = observed.live().is_none() && observed.queueing.is_none();
    tree.has_place && !observed.edge.has_place && (is_first || indexes(tree).is_some())
}

struct Way<'w> {
    device: &'w str,
    observed: &'w Observed,
    tree: &'w Tree,
}

impl Way<'_> {
    fn steps(&self, mut others: Vec<Step>) -> Result<Vec<Step>, TooLong> {
        let mut steps = self.base();
        others.retain(|step| !steps.contains(step));
        let next = match self.live_and_alike() {
            Some(live) => {
                steps.extend(self.in_place(live)?);
                live
            }
            None => {
                let next = self.observed.live().map_or(Generation::First, Generation::other);
                steps.extend(self.beside(next)?);
                next
            }
        };
        steps.extend(self.early(next));
        steps.extend(self.class_of(OTHER));
        steps.extend(others);
        steps.push(Step::Fingerprint);
        steps.push(self.noted(next));
        steps.extend(self.removal(next.other()));
        Ok(steps)
    }

    /// The root, the line, and the class of neighbour discovery. Unclassified packets have no class yet, so that HTB
    /// passes packets that arrive before the filters; in a class they would wait behind all later packets.
    fn base(&self) -> Vec<Step> {
        let writer = self.writer(Generation::First);
        let mut steps = Vec::new();
        if self.observed.root == Root::Default {
            steps.push(Step::Tc(writer.root()));
        }
        // The kernel empties all queues of a device when its place for filters comes or goes. So it comes before anything
        // waits, whether anything is to stand there or not, and goes with the queues.
        if gets_place(self.observed, self.tree) {
            steps.push(place(self.device));
        }
        if self.observed.filters.contains(&MEMO) {
            steps.push(Step::Tc(writer.remove_filter(MEMO)));
        }
        let memo = self.observed.memo.as_ref();
        let has_stab = memo.is_some_and(|memo| memo.stab == self.tree.stab());
        if self.observed.root == Root::Ours && !has_stab {
            steps.push(Step::Tc(writer.change_stab()));
        }
        steps.push(Step::Tc(writer.line(self.verb(LINE))));
        steps.extend(self.class_of(NEIGHBOURS));
        let has_filter = self.observed.filters.contains(&NEIGHBOURS_FILTER);
        let is_changed = self.is_changed(Part::Filter(ROOT, NEIGHBOURS_FILTER));
        if has_filter && is_changed {
            steps.push(Step::Tc(writer.remove_filter(NEIGHBOURS_FILTER)));
        }
        if !has_filter || is_changed {
            steps.push(Step::Tc(writer.neighbours_filter()));
        }
        let foreign = self.observed.foreign.iter();
        steps.extend(
            foreign.map(|(place, protocol)| Step::Tc(writer.remove_foreign(*place, protocol))),
        );
        steps
    }

    /// One of the classes that no policy speaks of, with its queue.
    fn class_of(&self, minor: u16) -> Vec<Step> {
        let writer = self.writer(Generation::First);
        let class = match minor {
            OTHER => writer.other(self.verb(minor)),
            _ => writer.neighbours(self.verb(minor)),
        };
        let handle = ROOT + minor;
        let is_there = self.observed.queue(handle).is_some();
        let has_queue = is_there && !self.is_changed(Part::Queue(handle));
        let queue = (!has_queue).then(|| writer.plain_queue(minor, self.verb(minor)));
        std::iter::once(class).chain(queue).map(Step::Tc).collect()
    }

    fn is_changed(&self, part: Part) -> bool {
        self.observed.changed.iter().any(|(changed, _)| *changed == part)
    }

    fn verb(&self, minor: u16) -> Verb {
        match self.observed.classes.iter().any(|(class, _)| *class == minor) {
            true => Verb::Change,
            false => Verb::Add,
        }
    }

    /// The generation that is there, where settings alone are to be changed.
    fn live_and_alike(&self) -> Option<Generation> {
        let (live, memo) = (self.observed.live()?, self.observed.memo.as_ref()?);
        let same_filters = memo.filters == self.tree.filters();
        // Several filters are not replaced in one step.
        let is_one_step = same_filters || !self.tree.has_inner_filters();
        // Who knows what else was changed: what is built anew is as it should be.
        let is_as_made = self.observed.changed.iter().all(|(part, _)| part.is_common());
        let is_alike =
            memo.shape == self.tree.shape() && is_one_step && is_as_made && self.has_queues(live);
        is_alike.then_some(live)
    }

    /// Whether all queues are those that were created, without a missing or replaced one.
    fn has_queues(&self, live: Generation) -> bool {
        self.tree.disciplines().into_iter().enumerate().all(|(index, queue)| {
            let found = self.observed.queue(ROOT + live.number(index));
            found.is_some_and(|found| found.kind == queue.kind.name())
        })
    }

    /// Other settings for what is there: packets, flows and tokens stay where they are.
    fn in_place(&self, live: Generation) -> Result<Vec<Step>, TooLong> {
        let writer = self.writer(live);
        let mut steps: Vec<Step> =
            writer.classes(Verb::Change)?.into_iter().map(Step::Tc).collect();
        steps.extend(self.levels()?);
        steps.push(Step::Tc(writer.filter(Verb::Change)?));
        Ok(steps)
    }

    /// Other classes, beside those that are there and carry the packets until the others are ready.
    fn beside(&self, next: Generation) -> Result<Vec<Step>, TooLong> {
        let live = self.observed.live();
        let writer = self.writer(next);
        let mut steps = Vec::new();
        // What was left of an earlier one that was interrupted.
        if self.observed.filters.contains(&next.place()) {
            steps.push(Step::Tc(writer.remove_filter(next.place())));
        }
        steps.extend(self.removal(next));
        steps.extend(writer.classes(Verb::Add)?.into_iter().map(Step::Tc));
        steps.extend(self.levels()?);
        steps.push(Step::Tc(writer.filter(Verb::Add)?));
        steps.extend(live.map(|live| Step::Tc(writer.remove_filter(live.place()))));
        Ok(steps)
    }

    /// Attaches the program for early drops, or removes what an earlier policy left.
    fn early(&self, generation: Generation) -> Option<Step> {
        let remove = || self.observed.has_early.then(|| early::remove(self.device));
        early::plan(self.tree, generation).map(Step::Early).or_else(remove)
    }

    /// Attaches the filter that gives packets their levels, or removes what an earlier policy left.
    fn levels(&self) -> Result<Option<Step>, TooLong> {
        let remove = || self.observed.edge.levels.map(|_| levels::remove(self.device));
        let program = levels::program(self.tree)?;
        Ok(program.map(|program| levels::attach(self.device, &program)).or_else(remove))
    }

    /// Lets what is left in the classes of a generation leave, waits for it, and takes them away.
    fn removal(&self, generation: Generation) -> Vec<Step> {
        let writer = self.writer(generation);
        let classes: Vec<u16> =
            self.observed.classes_of(generation).map(|(minor, _)| minor).collect();
        if classes.is_empty() {
            return Vec::new();
        }
        let hurried = classes.iter().map(|minor| Step::Tc(writer.hurry(*minor, classes.len())));
        let removed = classes.iter().map(|minor| Step::Tc(writer.remove_class(*minor)));
        hurried.chain([Step::Drain(generation)]).chain(removed).collect()
    }

    fn noted(&self, generation: Generation) -> Step {
        let has_found_place = self.observed.place_was_found();
        let memo = Memo { has_found_place, ..Memo::from_tree(self.tree, generation) };
        Step::Tc(self.writer(generation).memo(&memo.text()))
    }

    fn writer(&self, generation: Generation) -> Writer<'_> {
        Writer::new(self.device, self.tree, generation)
    }
}
