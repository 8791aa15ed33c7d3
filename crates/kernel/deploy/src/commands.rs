//! A tree as commands of tc, with its handles.
//!
//! ```text
//! 5f00:        htb
//! └ 5f00:fff0  the line
//!   ├ 5f00:5e  what finds neighbours, without which nothing else arrives (5f5e:)
//!   ├ 5f00:5f  packets that no filter has classified (5f5f:)
//!   ├ 5f00:1   a class (5f01:), which may have classes of its own (5f01:1 …)
//!   └ …
//! ```
//!
//! Classes and disciplines are numbered together: the class 5f00:3 holds the discipline 5f03:. There are two
//! generations of numbers, so that a new tree is built while the old one carries the packets.

use shortflow_units::{Bytes, Framing, Rate};

use crate::bytecode::{Choice, Program, TooLong, classifier, neighbours};
use crate::tree::{Discipline, Leaf, Tree};

/// The major number of the root.
pub(crate) const ROOT: u16 = 0x5f00;
/// The line, as a minor number of the root.
pub(crate) const LINE: u16 = 0xfff0;
/// The class of what finds neighbours.
pub(crate) const NEIGHBOURS: u16 = 0x5e;
/// The place of its filter.
pub(crate) const NEIGHBOURS_FILTER: u16 = 1;
/// The class of packets that no filter has classified.
pub(crate) const OTHER: u16 = 0x5f;
/// What tells our root from another with the same handle; it has no effect, since every class has a quantum.
pub(crate) const SIGNATURE: u64 = 0x5f00;
/// The place of the memo among the filters, behind those that take all packets.
pub(crate) const MEMO: u16 = 100;
/// The most disciplines of a generation.
pub(crate) const MAX_QDISCS: usize = 63;

/// What HTB guarantees to every class, since it does not know a class without: so little that priorities alone count.
const MIN_RATE: Rate = Rate::from_bits_per_sec(1000);

/// One of two sets of numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Generation {
    /// 1 to 3f.
    First,
    /// 81 to bf.
    Second,
}

impl Generation {
    /// The generation of a number; none of those that belong to neither.
    pub(crate) fn from_number(number: u16) -> Option<Generation> {
        match number {
            0x01..=0x3f => Some(Generation::First),
            0x81..=0xbf => Some(Generation::Second),
            _ => None,
        }
    }

    pub(crate) fn other(self) -> Generation {
        match self {
            Generation::First => Generation::Second,
            Generation::Second => Generation::First,
        }
    }

    /// The place of its filter at the root; of two, the smaller is asked first.
    pub(crate) fn place(self) -> u16 {
        match self {
            Generation::First => 2,
            Generation::Second => 3,
        }
    }

    pub(crate) fn number(self, index: usize) -> u16 {
        let base = match self {
            Generation::First => 0x01,
            Generation::Second => 0x81,
        };
        base + index as u16
    }
}

/// Whether something is made, or is there and gets other settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verb {
    Add,
    Change,
}

impl Verb {
    fn word(self) -> &'static str {
        match self {
            Verb::Add => "add",
            Verb::Change => "change",
        }
    }
}

/// Writes the commands for a device.
pub(crate) struct Writer<'t> {
    device: &'t str,
    tree: &'t Tree,
    generation: Generation,
}

/// The handle of a discipline, and how its queue is called in the memo.
pub(crate) type Named = (u16, String);

impl<'t> Writer<'t> {
    pub(crate) fn new(device: &'t str, tree: &'t Tree, generation: Generation) -> Writer<'t> {
        Writer { device, tree, generation }
    }

    /// The root itself.
    pub(crate) fn root(&self) -> String {
        let (device, other) = (self.device, format_args!("{OTHER:x}"));
        format!(
            "qdisc add dev {device} root handle {ROOT:x}:{} htb default {other} r2q {SIGNATURE}",
            self.stab()
        )
    }

    /// Other bytes that the root takes off the kernel's count of a packet, or none.
    pub(crate) fn change_stab(&self) -> String {
        format!("qdisc change dev {} root handle {ROOT:x}:{}", self.device, self.stab())
    }

    fn stab(&self) -> String {
        match self.tree.stab() {
            0 => String::new(),
            bytes => format!(" stab overhead {bytes}"),
        }
    }

    /// The line.
    pub(crate) fn line(&self, verb: Verb) -> String {
        let Tree { rate, burst, .. } = self.tree;
        let (rate, burst) = (self.framed(*rate), burst.0);
        format!(
            "class {} dev {} parent {ROOT:x}: classid {ROOT:x}:{LINE:x} htb rate {rate}bit ceil {rate}bit burst {burst} \
             cburst {burst} quantum 1514{}",
            verb.word(),
            self.device,
            self.link_layer()
        )
    }

    /// The class of what finds neighbours. It is served first, and has a tenth of the line at most.
    pub(crate) fn neighbours(&self, verb: Verb) -> String {
        let rate = self.part(10).max(Rate::from_bits_per_sec(8000));
        self.class(verb, NEIGHBOURS, [rate; 2], 0, Bytes(1514))
    }

    /// The filter of what finds neighbours.
    pub(crate) fn neighbours_filter(&self) -> String {
        self.program("add", ROOT, NEIGHBOURS_FILTER, &neighbours(class(ROOT, NEIGHBOURS)))
    }

    /// The class of packets that no filter has classified. It is served last, with at least 1 % of the line, so that
    /// such packets do not wait for minutes.
    pub(crate) fn other(&self, verb: Verb) -> String {
        let rates = [self.part(100).max(MIN_RATE), self.tree.rate];
        self.class(verb, OTHER, rates, 7, Bytes(1514))
    }

    /// One of `count` classes into which nothing is sent any more, for what is left in them: a tenth of the line at least for
    /// all of them together, whatever their priority was.
    pub(crate) fn hurry(&self, minor: u16, count: usize) -> String {
        let rates = [self.part(10 * count as u64).max(MIN_RATE), self.tree.rate];
        self.class(Verb::Change, minor, rates, 0, Bytes(1514))
    }

    /// The queue of one of these two classes; it replaces another one if its class exists already.
    pub(crate) fn plain_queue(&self, minor: u16, class: Verb) -> String {
        let (device, handle) = (self.device, ROOT + minor);
        let word = if class == Verb::Add { "add" } else { "replace" };
        format!(
            "qdisc {word} dev {device} parent {ROOT:x}:{minor:x} handle {handle:x}: pfifo limit 1000"
        )
    }

    /// The classes, with all that is inside them.
    pub(crate) fn classes(&self, verb: Verb) -> Result<Vec<String>, TooLong> {
        let mut commands = Vec::new();
        let mut number = 0;
        for leaf in &self.tree.leaves {
            let Leaf { priority, floor, ceiling, quantum, .. } = leaf;
            let ceiling = ceiling.unwrap_or(self.tree.rate).min(self.tree.rate);
            let floor = floor.unwrap_or(MIN_RATE).min(ceiling);
            let minor = self.generation.number(number);
            commands.push(self.class(verb, minor, [floor, ceiling], *priority, *quantum));
            let parent = format!("{ROOT:x}:{minor:x}");
            self.discipline(verb, &leaf.queue, &parent, &mut number, &mut commands)?;
        }
        Ok(commands)
    }

    /// The filter that sends packets into the classes.
    pub(crate) fn filter(&self, verb: Verb) -> Result<String, TooLong> {
        let starts = self.leaf_numbers();
        let choice =
            self.tree.choice.map(&|leaf| class(ROOT, self.generation.number(starts[*leaf])));
        self.filter_at(verb, ROOT, self.generation.place(), &choice)
    }

    /// Takes a filter of the root away.
    pub(crate) fn remove_filter(&self, place: u16) -> String {
        format!("filter del dev {} parent {ROOT:x}: protocol all pref {place}", self.device)
    }

    /// Removes another owner's filter of the root.
    pub(crate) fn remove_foreign(&self, place: u16, protocol: &str) -> String {
        format!("filter del dev {} parent {ROOT:x}: protocol {protocol} pref {place}", self.device)
    }

    /// Takes a class away, with all that is inside it.
    pub(crate) fn remove_class(&self, minor: u16) -> String {
        format!("class del dev {} classid {ROOT:x}:{minor:x}", self.device)
    }

    /// Notes what is deployed.
    pub(crate) fn memo(&self, text: &str) -> String {
        self.program("add", ROOT, MEMO, &Program::passing_by(text))
    }

    /// The queues in which packets wait, by what they are called.
    pub(crate) fn queues(&self) -> Vec<Named> {
        let mut named = Vec::new();
        let mut number = 0;
        for leaf in &self.tree.leaves {
            self.name(&leaf.name, &leaf.queue, &mut number, &mut named);
        }
        named
    }

    fn name(&self, name: &str, queue: &Discipline, number: &mut usize, named: &mut Vec<Named>) {
        let own = ROOT + self.generation.number(*number);
        *number += 1;
        if queue.inner.is_empty() {
            named.push((own, name.to_owned()));
        }
        for inner in &queue.inner {
            let within =
                if name == "all" { inner.name.clone() } else { format!("{name} / {}", inner.name) };
            self.name(&within, &inner.queue, number, named);
        }
    }

    /// The number of the discipline of each class of the line.
    fn leaf_numbers(&self) -> Vec<usize> {
        let sizes = self.tree.leaves.iter().map(|leaf| leaf.queue.all().len());
        sizes
            .scan(0, |next, size| {
                let own = *next;
                *next += size;
                Some(own)
            })
            .collect()
    }

    /// So small a part of the line.
    fn part(&self, divisor: u64) -> Rate {
        Rate::from_bits_per_sec(self.tree.rate.bits_per_sec() / divisor)
    }

    fn class(
        &self,
        verb: Verb,
        minor: u16,
        [rate, ceiling]: [Rate; 2],
        priority: usize,
        quantum: Bytes,
    ) -> String {
        // What is earned while the kernel's timer is late by a millisecond.
        let late = |rate: Rate| (rate.bits_per_sec() / 8000).max(1600);
        let [burst, ceiling_burst] = [rate, ceiling].map(|rate| self.tree.burst.0.min(late(rate)));
        format!(
            "class {} dev {} parent {ROOT:x}:{LINE:x} classid {ROOT:x}:{minor:x} htb rate {}bit ceil {}bit burst {burst} \
             cburst {ceiling_burst} prio {priority} quantum {}{}",
            verb.word(),
            self.device,
            self.framed(rate),
            self.framed(ceiling),
            quantum.0,
            self.link_layer()
        )
    }

    /// Bits per second that are left for frames.
    fn framed(&self, rate: Rate) -> u64 {
        let rate = rate.bits_per_sec();
        match self.tree.link_layer.framing() {
            Framing::Ptm => (u128::from(rate) * 64 / 65) as u64,
            Framing::Plain | Framing::Atm => rate,
        }
    }

    /// What HTB adds to its count of a packet (tc-htb(8), tc-stab(8)).
    fn link_layer(&self) -> String {
        let layer = self.tree.link_layer;
        // A frame's last piece of 64 bytes may be short, and takes a byte nevertheless.
        let more = if layer.framing() == Framing::Ptm { 1 } else { 0 };
        let mut words = match self.tree.extra().max(0) + more {
            0 => String::new(),
            bytes => format!(" overhead {bytes}"),
        };
        if layer.mpu() > Bytes::ZERO {
            words += &format!(" mpu {}", layer.mpu().0);
        }
        if layer.framing() == Framing::Atm {
            words += " linklayer atm";
        }
        words
    }

    fn discipline(
        &self,
        verb: Verb,
        queue: &Discipline,
        parent: &str,
        number: &mut usize,
        commands: &mut Vec<String>,
    ) -> Result<(), TooLong> {
        let major = ROOT + self.generation.number(*number);
        *number += 1;
        let Discipline { kind, fixed, settings, .. } = queue;
        let what = match verb {
            Verb::Add => [fixed, settings].map(String::as_str),
            Verb::Change => ["", settings],
        };
        let what: String = what
            .into_iter()
            .filter(|part| !part.is_empty())
            .map(|part| format!(" {part}"))
            .collect();
        // Of what has no settings nothing can be changed.
        if verb == Verb::Add || !what.is_empty() {
            commands.push(format!(
                "qdisc {} dev {} parent {parent} handle {major:x}: {}{what}",
                verb.word(),
                self.device,
                kind.name()
            ));
        }
        commands.extend(queue.parts.iter().map(|part| {
            let (device, kind) = (self.device, kind.name());
            format!("qdisc change dev {device} parent {parent} handle {major:x}: {kind} {part}")
        }));
        for (index, inner) in queue.inner.iter().enumerate() {
            let place = format!("{major:x}:{:x}", index + 1);
            if let Some(settings) = &inner.settings {
                commands.push(format!(
                    "class {} dev {} parent {major:x}: classid {place} {} {settings}",
                    verb.word(),
                    self.device,
                    kind.name()
                ));
            }
            self.discipline(verb, &inner.queue, &place, number, commands)?;
        }
        if let Some(choice) = &queue.choice {
            let choice = choice.map(&|inner| class(major, *inner as u16 + 1));
            commands.push(self.filter_at(verb, major, 1, &choice)?);
        }
        Ok(())
    }

    fn filter_at(
        &self,
        verb: Verb,
        parent: u16,
        place: u16,
        choice: &Choice<u32>,
    ) -> Result<String, TooLong> {
        let word = if verb == Verb::Add { "add" } else { "replace" };
        classifier(choice).map(|program| self.program(word, parent, place, &program))
    }

    fn program(&self, word: &str, parent: u16, place: u16, program: &Program) -> String {
        format!(
            "filter {word} dev {} parent {parent:x}: protocol all pref {place} handle 1 bpf bytecode '{program}'",
            self.device
        )
    }
}

/// The 32 bits of a class.
fn class(major: u16, minor: u16) -> u32 {
    u32::from(major) << 16 | u32::from(minor)
}
