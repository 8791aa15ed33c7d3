//! Attaches and reads the program at a device.

use std::time::Duration;

use shortflow_ebpf as ebpf;
use shortflow_ebpf::early::{EarlyCounter, EarlyPlan, EarlyProgram, early_counters};
use shortflow_ebpf::edge::{Direction, EdgeAtDevice, EdgePlan, EdgeProgram, EdgeTable};

use crate::commands::ROOT;
use crate::compile::Edge;
use crate::device::Link;
use crate::edge::{EdgeMemo, option_at};
use crate::error::Error;
use crate::socket_option;
use crate::status::ClassSeen;

/// How often a program is offered to a kernel that is too busy to look at it (EAGAIN), and how long it is left in peace
/// between.
const OFFERS: u32 = 10;
const PEACE: Duration = Duration::from_millis(30);

fn load(plan: &EdgePlan, link: ebpf::Link) -> Result<EdgeProgram, ebpf::Error> {
    offered(|| EdgeProgram::load(plan, link))
}

/// A program that the kernel has taken, or why it does not.
fn offered<P>(load: impl Fn() -> Result<P, ebpf::Error>) -> Result<P, ebpf::Error> {
    let mut offers = 1;
    loop {
        match load() {
            Err(ebpf::Error::Refused { why, .. }) if offers < OFFERS && why.contains(BUSY) => {
                offers += 1;
                std::thread::sleep(PEACE);
            }
            other => return other,
        }
    }
}

/// The maximum number of listed flows per class.
const MAX_FLOWS: usize = 10;

/// How EAGAIN reads.
const BUSY: &str = "os error 11";

/// Gives the kernel the program for a device whose packets have so many bytes before them, where it is not yet.
pub(crate) fn prepare(header: u64, edge: &Edge) -> Result<EdgeProgram, Error> {
    let layer = if header == 0 { ebpf::Link::None } else { ebpf::Link::Ethernet };
    let Some(cgroup) = option_at(edge) else { return Ok(load(&edge.plan, layer)?) };
    socket_option::bring(&cgroup, |option| {
        offered(|| EdgeProgram::load_with_option(&edge.plan, layer, option))
    })
}

/// Attaches the program to the device's egress. Classes with the same name and behaviour as before keep their tokens
/// and tables.
pub(crate) fn bring(
    program: &EdgeProgram,
    link: &Link,
    edge: &Edge,
    before: Option<&EdgeMemo>,
) -> Result<(), ebpf::Error> {
    if let Some(there) = EdgeAtDevice::find(link.index, Direction::Egress)? {
        let known = before.map_or(&[][..], |memo| &memo.classes);
        let pairs =
            edge.classes.iter().enumerate().filter_map(|(to, class)| {
                Some((known.iter().position(|known| known == class)?, to))
            });
        program.adopt(&there, &pairs.collect::<Vec<_>>())?;
    }
    // Acknowledgements find what they are to echo as long as they echo.
    if edge.plan.echoes() {
        program.attach_echo(link.index)?;
    }
    program.attach(link.index, Direction::Egress)?;
    if edge.plan.echoes() { Ok(()) } else { program.attach_echo(link.index) }
}

/// The counters of the program's classes at a device; `None` if it has none.
pub(crate) fn seen(link: &Link, classes: usize) -> Result<Option<Vec<ClassSeen>>, ebpf::Error> {
    let Some(there) = EdgeAtDevice::find(link.index, Direction::Egress)? else { return Ok(None) };
    let (counters, tables) = (there.counters(classes)?, there.tables(classes)?);
    let (flows, buckets) = (there.flows(classes, MAX_FLOWS)?, there.buckets(classes)?);
    let each = counters.into_iter().zip(tables).zip(flows).zip(buckets).zip(there.times(classes)?);
    let seen = each.map(|((((colors, table), flows), buckets), times)| ClassSeen {
        colors,
        table,
        flows,
        times,
        buckets,
    });
    Ok(Some(seen.collect()))
}

/// The colours alone of what they have seen.
pub(crate) fn colors(link: &Link, classes: usize) -> Result<Option<Vec<ClassSeen>>, ebpf::Error> {
    let Some(there) = EdgeAtDevice::find(link.index, Direction::Egress)? else { return Ok(None) };
    let of = |colors| ClassSeen {
        colors,
        table: EdgeTable::default(),
        flows: Vec::new(),
        times: None,
        buckets: Vec::new(),
    };
    Ok(Some(there.counters(classes)?.into_iter().map(of).collect()))
}

/// Gives the kernel the program for early drops.
pub(crate) fn prepare_early(plan: &EarlyPlan) -> Result<EarlyProgram, ebpf::Error> {
    offered(|| EarlyProgram::load(plan))
}

/// Attaches it to the root of the device's queues.
pub(crate) fn bring_early(program: &EarlyProgram, link: &Link) -> Result<(), ebpf::Error> {
    program.attach(link.index, ROOT)
}

/// Its counters at a device: the handle of each queue, and its levels; `None` if this process may not read them.
pub(crate) fn early_levels(link: &Link) -> Option<Vec<(u16, Vec<EarlyCounter>)>> {
    // Without privileges the kernel lists no programs.
    let found = early_counters(link.index, ROOT).ok().filter(|found| !found.is_empty())?;
    Some(found.into_iter().map(|(handle, levels)| ((handle >> 16) as u16, levels)).collect())
}

/// Whether the kernel takes the program for early drops.
pub(crate) fn try_early() -> Result<(), ebpf::Error> {
    prepare_early(&EarlyPlan::new(true)).map(|_| ())
}

/// Whether the kernel takes the program.
pub(crate) fn try_out() -> Result<(), ebpf::Error> {
    offered(EdgeProgram::probe)
}
