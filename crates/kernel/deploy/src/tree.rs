//! The wanted tree of a device, before it has handles.

use std::collections::BTreeSet;

use shortflow_ebpf::qdisc::QdiscPlan;
use shortflow_units::{Bytes, LinkLayer, Rate};

use crate::bytecode::Choice;
use crate::early::Early;
use crate::kernel::Kind;
use crate::levels::indexes;
use crate::memo::Instead;

/// A line of some rate, the classes that share it, and which packets belong to which.
#[derive(Debug, Clone)]
pub struct Tree {
    /// The name of the policy.
    pub policy: String,
    /// The role of it.
    pub role: String,
    /// In whose place it stands, for as long as `verify` takes.
    pub instead: Option<Instead>,
    /// The rate at which packets leave the device.
    pub rate: Rate,
    /// What may leave after a pause as fast as the device takes it.
    pub burst: Bytes,
    /// What a packet takes on the link of the bottleneck. With none, it counts for the bytes that the kernel counts.
    pub link_layer: LinkLayer,
    /// Bytes that the device puts before each packet, which the kernel counts.
    pub link_header: u64,
    /// The classes.
    pub leaves: Vec<Leaf>,
    /// Which packets belong to which of them.
    pub choice: Choice<usize>,
    /// Whether the device gets a place for filters together with it, which a program that marks may come to later.
    pub has_place: bool,
    /// Where the kernel does a little else than the policy says.
    pub notes: Vec<String>,
    /// The plan of the program that has all of its queues; `None` for queues of the kernel.
    pub program: Option<QdiscPlan>,
}

/// A class that shares the line: of HTB, the hierarchical token bucket.
#[derive(Debug, Clone)]
pub struct Leaf {
    /// Which packets it is for.
    pub name: String,
    /// Those with a smaller number are served first.
    pub priority: usize,
    /// The rate that it gets whatever others of any priority send; none for next to nothing.
    pub floor: Option<Rate>,
    /// The most that it may send; none for as much as the line.
    pub ceiling: Option<Rate>,
    /// Bytes in its turn, among those of the same priority.
    pub quantum: Bytes,
    /// Where its packets wait.
    pub queue: Discipline,
}

/// A queueing discipline of the kernel.
#[derive(Debug, Clone)]
pub struct Discipline {
    /// Which one.
    pub kind: Kind,
    /// What is set for good when it is made.
    pub fixed: String,
    /// What can be changed while packets are in it.
    pub settings: String,
    /// What is set by changes of its own, each after the one before.
    pub parts: Vec<String>,
    /// The level of each packet, where it drops by level.
    pub levels: Option<Choice<usize>>,
    /// What the program does before it that drops packets early.
    pub early: Option<Early>,
    /// Its classes.
    pub inner: Vec<Inner>,
    /// Which packets belong to which of them, where it has any.
    pub choice: Option<Choice<usize>>,
}

/// A class inside a queueing discipline.
#[derive(Debug, Clone)]
pub struct Inner {
    /// Which packets it is for.
    pub name: String,
    /// Its share, where it is a thing of its own.
    pub settings: Option<String>,
    /// Where its packets wait.
    pub queue: Discipline,
}

impl Discipline {
    /// One without classes.
    pub(crate) fn plain(kind: Kind, settings: String) -> Discipline {
        let (parts, inner) = (Vec::new(), Vec::new());
        Discipline {
            kind,
            fixed: String::new(),
            settings,
            parts,
            levels: None,
            early: None,
            inner,
            choice: None,
        }
    }

    /// It, and those inside it, outer ones first.
    pub(crate) fn all(&self) -> Vec<&Discipline> {
        let inner = self.inner.iter().flat_map(|inner| inner.queue.all());
        std::iter::once(self).chain(inner).collect()
    }

    /// CAKE looks up by connection tracking which host a packet was of.
    pub(crate) fn see_behind_nat(&mut self) {
        if [Kind::Cake, Kind::CakeMq].contains(&self.kind) {
            self.settings += " nat";
        }
        self.inner.iter_mut().for_each(|inner| inner.queue.see_behind_nat());
    }

    fn all_settings(&self) -> String {
        let inner = |Inner { settings, queue, .. }: &Inner| {
            format!("{settings:?} {}", queue.all_settings())
        };
        let inner: Vec<String> = self.inner.iter().map(inner).collect();
        let parts: String = self.parts.iter().map(|part| format!("; {part}")).collect();
        let early =
            self.early.iter().map(|early| format!(" early {:x}", fnv(&format!("{early:?}"))));
        let early: String = early.collect();
        format!("{}{parts}{early} [{}]", self.settings, inner.join(" "))
    }

    fn shape(&self) -> String {
        let inner: Vec<String> = self.inner.iter().map(|inner| inner.queue.shape()).collect();
        format!("{} {} [{}]", self.kind.name(), self.fixed, inner.join(" "))
    }
}

impl Tree {
    /// The same, for the place of another one, where it stands for a while.
    #[must_use]
    pub fn instead_of(self, other: &Tree) -> Tree {
        Tree { role: other.role.clone(), instead: Some(Instead::from_tree(other)), ..self }
    }

    /// All queueing disciplines below the line, in the order of their numbers.
    pub(crate) fn disciplines(&self) -> Vec<&Discipline> {
        self.leaves.iter().flat_map(|leaf| leaf.queue.all()).collect()
    }

    /// The queueing disciplines that the kernel must have.
    pub fn needs(&self) -> BTreeSet<Kind> {
        if self.program.is_some() {
            return BTreeSet::from([Kind::BpfQdisc]);
        }
        let own = [Kind::Htb, Kind::Bpf, Kind::Pfifo];
        let of_levels = indexes(self).map(|_| Kind::Clsact);
        let queues = self.disciplines().into_iter().map(|queue| queue.kind);
        let early = self.disciplines().into_iter().any(|queue| queue.early.is_some());
        queues.chain(of_levels).chain(early.then_some(Kind::Early)).chain(own).collect()
    }

    /// The bytes by which the kernel's count of a packet is below the size on the link; negative if the device's
    /// header is longer. `None` without a link layer.
    pub(crate) fn extra(&self) -> i64 {
        match self.link_layer {
            LinkLayer::RAW => 0,
            layer => i64::from(layer.overhead()) - self.link_header as i64,
        }
    }

    /// What the size table of the root adds to the kernel's count of a packet: HTB's own overhead is never below zero.
    pub(crate) fn stab(&self) -> i64 {
        self.extra().min(0)
    }

    /// What must be alike in two trees for one to become the other by changing settings alone.
    pub(crate) fn shape(&self) -> u64 {
        let leaves = self.leaves.iter();
        let each = leaves.map(|leaf| format!("{} {}", leaf.priority, leaf.queue.shape()));
        let program = self.program.as_ref().map(|plan| format!("\n{}", plan.shape()));
        fnv(&(each.collect::<Vec<_>>().join("\n") + &program.unwrap_or_default()))
    }

    /// The settings that can change without another shape, except the rate of the line.
    pub(crate) fn settings(&self) -> u64 {
        let leaf = |Leaf { floor, ceiling, quantum, queue, .. }: &Leaf| {
            let ceiling = ceiling.map(Rate::bits_per_sec);
            let floor = floor.map(|floor| format!("from {} ", floor.bits_per_sec()));
            let floor = floor.unwrap_or_default();
            format!("{floor}{ceiling:?} {} {}", quantum.0, queue.all_settings())
        };
        let leaves: Vec<String> = self.leaves.iter().map(leaf).collect();
        // As versions that knew nothing else of the link wrote it.
        let link = match self.link_layer {
            LinkLayer::RAW => "0".to_owned(),
            layer => format!("{layer} {}", self.link_header),
        };
        let program = self.program.as_ref().map(|plan| format!("\n{}", plan.number()));
        let program = program.unwrap_or_default();
        fnv(&format!("{} {link}\n{}{program}", self.burst.0, leaves.join("\n")))
    }

    /// The classification of packets.
    pub(crate) fn filters(&self) -> u64 {
        let choices = self.disciplines().into_iter().filter_map(|queue| queue.choice.as_ref());
        let mut text = format!("{:?} {:?}", self.choice, choices.collect::<Vec<_>>());
        // As versions without levels wrote it.
        if let Some(indexes) = indexes(self) {
            text += &format!(" {indexes:?}");
        }
        fnv(&text)
    }

    /// Whether packets are classified in more than one place.
    pub(crate) fn has_inner_filters(&self) -> bool {
        self.disciplines().into_iter().any(|queue| queue.choice.is_some())
    }
}

/// Fowler, Noll and Vo's hash (FNV-1a), which is the same in every build.
pub(crate) fn fnv(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_the_published_one() {
        // The test vectors of the Internet-Draft on FNV, for "" and "foobar".
        assert_eq!([fnv(""), fnv("foobar")], [0xcbf2_9ce4_8422_2325, 0x8594_4171_f739_67e8]);
    }
}
