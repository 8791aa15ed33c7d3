//! The program at a device, brought there and looked at.

use std::time::Duration;

use shortflow_ebpf as ebpf;
use shortflow_ebpf::edge::{Direction, EdgePlan, EdgeProgram};

use crate::compile::Edge;
use crate::device::Link;
use crate::edge::EdgeMemo;
use crate::status::ClassSeen;

/// How often a program is offered to a kernel that is too busy to look at it (EAGAIN), and how long it is left in peace
/// between.
const OFFERS: u32 = 10;
const PEACE: Duration = Duration::from_millis(30);

fn load(plan: &EdgePlan, link: ebpf::Link) -> Result<EdgeProgram, ebpf::Error> {
    let mut offers = 1;
    loop {
        match EdgeProgram::load(plan, link) {
            Err(ebpf::Error::Refused { why, .. }) if offers < OFFERS && why.contains(BUSY) => {
                offers += 1;
                std::thread::sleep(PEACE);
            }
            other => return other,
        }
    }
}

/// How many flows are told of each class.
const MOST_FLOWS: usize = 10;

/// How EAGAIN reads.
const BUSY: &str = "os error 11";

/// Brings the program to the device's egress. It goes on with the tokens and tables of classes of the same name as
/// before, if they do the same.
pub(crate) fn bring(
    link: &Link,
    edge: &Edge,
    before: Option<&EdgeMemo>,
) -> Result<(), ebpf::Error> {
    let layer = if link.header == 0 { ebpf::Link::None } else { ebpf::Link::Ethernet };
    let program = load(&edge.plan, layer)?;
    if let Some(there) = program.at_device(link.index, Direction::Egress)? {
        let known = before.map_or(&[][..], |memo| &memo.classes);
        let pairs =
            edge.classes.iter().enumerate().filter_map(|(to, class)| {
                Some((known.iter().position(|known| known == class)?, to))
            });
        program.adopt(&there, &pairs.collect::<Vec<_>>())?;
    }
    program.attach(link.index, Direction::Egress)
}

/// What the classes of the program at a device have seen; none where this process may not look.
pub(crate) fn seen(link: &Link, classes: usize) -> Option<Vec<ClassSeen>> {
    // A program without rules, by which the one at the device is found.
    let finder = load(&nothing(), ebpf::Link::None).ok()?;
    let there = finder.at_device(link.index, Direction::Egress).ok()??;
    let (counters, tables) = (there.counters(classes).ok()?, there.tables(classes).ok()?);
    let (flows, buckets) = (there.flows(classes, MOST_FLOWS).ok()?, there.buckets(classes).ok()?);
    let each = counters.into_iter().zip(tables).zip(flows).zip(buckets);
    let seen =
        each.map(|(((colors, table), flows), buckets)| ClassSeen { colors, table, flows, buckets });
    Some(seen.collect())
}

/// Whether the kernel takes the program.
pub(crate) fn try_out() -> Result<(), ebpf::Error> {
    load(&nothing(), ebpf::Link::Ethernet).map(|_| ())
}

fn nothing() -> EdgePlan {
    EdgePlan::new(&[], &[]).expect("there is room for nothing")
}
