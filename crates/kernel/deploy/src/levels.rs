//! The filter that gives each packet its level, for queues that drop by level.
//!
//! The kernel's `gred` reads a packet's level from its `tc_index`. A classic filter of `clsact` that takes a packet
//! leaves the minor number of the class it names there. So this filter needs no eBPF, and sees the code points that
//! the marking program writes. It takes every packet, which ends the walk through the filters: it stands last.

use serde_json::Value;

use crate::bytecode::{Choice, Program, RETURN, TooLong, classifier};
use crate::commands::ROOT;
use crate::converge::Step;
use crate::tree::{Discipline, Tree, fnv};

/// Its place at the egress, behind every other filter.
pub(crate) const LEVELS: u64 = 0xffff;
/// Bits for the level; the number of the queue stands above them.
const BITS: u32 = 7;

/// What a packet of this level of this queue has in its `tc_index`, both counted from 0. No packet of a queue with levels
/// has 0 there, so that one without a level is not taken for one of the best.
fn index(queue: usize, level: usize) -> u32 {
    (queue as u32 + 1) << BITS | (level as u32 + 1)
}

/// What the filter writes for each packet; `None` if no queue has levels.
pub(crate) fn indexes(tree: &Tree) -> Option<Choice<u32>> {
    let mut queues = 0;
    let leaves: Vec<_> = tree.leaves.iter().map(|leaf| within(&leaf.queue, &mut queues)).collect();
    (queues > 0).then(|| tree.choice.join(&|leaf| leaves[*leaf].clone()))
}

/// The same for the packets of a discipline, where `queues` counts those with levels.
fn within(queue: &Discipline, queues: &mut usize) -> Choice<u32> {
    if let Some(levels) = &queue.levels {
        let own = *queues;
        *queues += 1;
        return levels.map(&|level| index(own, *level));
    }
    let inner: Vec<_> = queue.inner.iter().map(|inner| within(&inner.queue, queues)).collect();
    match &queue.choice {
        Some(choice) => choice.join(&|inside| inner[*inside].clone()),
        None => Choice::Class(0),
    }
}

/// The filter of a tree; `None` if no queue of it has levels.
pub(crate) fn program(tree: &Tree) -> Result<Option<Program>, TooLong> {
    let class = |index: &u32| u32::from(ROOT) << 16 | index;
    indexes(tree).map(|indexes| classifier(&indexes.map(&class))).transpose()
}

/// The filter's number, by which it is recognised.
pub(crate) fn number(program: &Program) -> u64 {
    fnv(&program.to_string())
}

/// Attaches the filter, in the place of an earlier one.
pub(crate) fn attach(device: &str, program: &Program) -> Step {
    Step::Tc(format!(
        "filter replace dev {device} egress protocol all pref {LEVELS} handle 1 bpf bytecode '{program}'"
    ))
}

/// Removes the filter.
pub(crate) fn remove(device: &str) -> Step {
    Step::Tc(format!("filter del dev {device} egress protocol all pref {LEVELS} handle 1 bpf"))
}

/// The number of the filter, as tc lists it; `None` for another owner's filter.
pub(crate) fn held(filter: &Value) -> Option<u64> {
    let program = Program::listed(filter).filter(|_| filter["pref"] == LEVELS)?;
    let mut ends = program.instructions().iter().filter(|it| it.code == RETURN);
    let is_ours = |operand: u32| operand == 0 || operand >> 16 == u32::from(ROOT);
    ends.all(|end| is_ours(end.operand)).then(|| number(&program))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_filter_is_known_from_tcs_listing_and_no_other_is_taken_for_it() {
        let choice = Choice::Class(u32::from(ROOT) << 16 | index(0, 2));
        let program = classifier(&choice).unwrap();
        let filter = |pref: u64, program: &Program| {
            let instructions = program.instructions().iter();
            let listed = instructions.map(
                |it| json!({ "code": it.code, "jt": it.jump_true, "jf": it.jump_false, "k": it.operand }),
            );
            let listed: Vec<_> = listed.collect();
            json!({ "pref": pref, "options": { "bytecode": { "length": listed.len(), "insns": listed } } })
        };
        assert_eq!(held(&filter(LEVELS, &program)), Some(number(&program)));
        assert_eq!(held(&filter(1, &program)), None);
        let other = classifier(&Choice::Class(0x1_0001)).unwrap();
        assert_eq!(held(&filter(LEVELS, &other)), None);
        assert_eq!(held(&json!({ "pref": LEVELS, "options": { "bpf_name": "theirs" } })), None);
    }

    #[test]
    fn levels_of_several_queues_differ_and_are_never_zero() {
        let all: Vec<u32> =
            [0, 1].iter().flat_map(|queue| [0, 63].map(|level| index(*queue, level))).collect();
        assert_eq!(all, [0x81, 0xc0, 0x101, 0x140]);
    }
}
