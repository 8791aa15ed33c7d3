//! Early drops: which queues of a tree the program handles, and where it stands.
//!
//! The program is a filter at the root, with the filter of neighbour discovery (`pref 1`) and before it. It reads a packet's
//! queue and level from `tc_index`, where [the levels' filter](crate::levels) leaves them.

use serde_json::Value;
use shortflow_ebpf::early::{EarlyPlan, QueuePlace};
use shortflow_elements::queue::{RedParams, SimaQueueParams};
use shortflow_units::{Framing, Rate};

use crate::commands::{Generation, NEIGHBOURS_FILTER, ROOT};
use crate::converge::Step;
use crate::tree::{Leaf, Tree};

/// Its name and handle, as tc writes them.
const NAME: &str = "shortflow_early";
const HANDLE: &str = "0x5347";

/// What the program does before a queue.
#[derive(Debug, Clone)]
pub enum Early {
    /// RED with one or several levels.
    Red(RedParams),
    /// SIMA, whose buffers are two queues, that of real-time traffic first.
    Sima {
        /// Both buffers.
        params: Box<SimaQueueParams>,
        /// Whether it is the first of them.
        is_first: bool,
    },
}

/// What the program is to do for the queues of a tree, where they have the numbers of this generation; `None` if it handles
/// none of them.
pub(crate) fn plan(tree: &Tree, generation: Generation) -> Option<EarlyPlan> {
    let mut plan = EarlyPlan::new(tree.link_header > 0);
    let (mut number, mut is_needed, mut first) = (0, false, None);
    for leaf in &tree.leaves {
        for queue in leaf.queue.all() {
            let place = place(tree, leaf, ROOT + generation.number(number));
            number += 1;
            match &queue.early {
                Some(Early::Red(params)) => plan.add_red(params, place),
                Some(Early::Sima { is_first: true, .. }) => first = Some(place),
                Some(Early::Sima { params, .. }) => {
                    let first = first.take().expect("the first buffer stands before the other");
                    plan.add_sima(params, [first, place]);
                }
                None if queue.levels.is_some() => plan.skip(),
                None => {}
            }
            is_needed |= queue.early.is_some();
        }
    }
    is_needed.then_some(plan)
}

/// How many queues of a tree have levels.
pub(crate) fn queues(tree: &Tree) -> usize {
    tree.disciplines().iter().filter(|queue| queue.levels.is_some()).count()
}

fn place(tree: &Tree, leaf: &Leaf, handle: u16) -> QueuePlace {
    let rate = leaf.ceiling.unwrap_or(tree.rate).min(tree.rate);
    let bits = u128::from(rate.bits_per_sec());
    let (bits, more) = match tree.link_layer.framing() {
        Framing::Plain => (bits, 0),
        Framing::Ptm => (bits * 64 / 65, 1),
        // Of a cell of 53 bytes 48 are left; the last one of a packet may be short.
        Framing::Atm => (bits * 48 / 53, 0),
    };
    let clamped = |bytes: i64| i32::try_from(bytes).unwrap_or(i32::MAX);
    QueuePlace {
        handle: u32::from(handle) << 16,
        rate: Rate::from_bits_per_sec(bits as u64),
        header: clamped(tree.link_header as i64 + tree.stab()),
        overhead: clamped(tree.extra().max(0) + more),
    }
}

/// Whether a filter of the root is the program.
pub(crate) fn is_program(filter: &Value) -> bool {
    let options = &filter["options"];
    let name = options["bpf_name"].as_str().unwrap_or_default();
    filter["pref"] == NEIGHBOURS_FILTER && options["handle"] == HANDLE && name.contains(NAME)
}

/// Removes the program.
pub(crate) fn remove(device: &str) -> Step {
    Step::Tc(format!(
        "filter del dev {device} parent {ROOT:x}: protocol all pref {NEIGHBOURS_FILTER} handle {HANDLE} bpf"
    ))
}
