//! Builds without eBPF.

use shortflow_ebpf as ebpf;
use shortflow_ebpf::early::{EarlyCounter, EarlyPlan, EarlyProgram};
use shortflow_ebpf::edge::EdgeProgram;

use crate::compile::Edge;
use crate::device::Link;
use crate::edge::{EdgeMemo, option_at};
use crate::error::Error;
use crate::socket_option;
use crate::status::ClassSeen;

/// Loads the program for a device; not available in this build.
pub(crate) fn prepare(_: u64, edge: &Edge) -> Result<EdgeProgram, Error> {
    let layer = ebpf::Link::Ethernet;
    match option_at(edge) {
        None => Ok(EdgeProgram::load(&edge.plan, layer)?),
        Some(cgroup) => socket_option::bring(&cgroup, |option| {
            EdgeProgram::load_with_option(&edge.plan, layer, option)
        }),
    }
}

/// Attaches the program to the device's egress; not available in this build.
pub(crate) fn bring(
    program: &EdgeProgram,
    _: &Link,
    _: &Edge,
    _: Option<&EdgeMemo>,
) -> Result<(), ebpf::Error> {
    match *program {}
}

/// What the classes of the program at a device have seen: this build cannot look.
pub(crate) fn seen(_: &Link, _: usize) -> Result<Option<Vec<ClassSeen>>, ebpf::Error> {
    Ok(None)
}

/// The colours alone: this build cannot look.
pub(crate) fn colors(_: &Link, _: usize) -> Result<Option<Vec<ClassSeen>>, ebpf::Error> {
    Ok(None)
}

/// Loads the program for early drops; not available in this build.
pub(crate) fn prepare_early(plan: &EarlyPlan) -> Result<EarlyProgram, ebpf::Error> {
    EarlyProgram::load(plan)
}

/// Attaches it to the root of the device's queues; not available in this build.
pub(crate) fn bring_early(program: &EarlyProgram, _: &Link) -> Result<(), ebpf::Error> {
    match *program {}
}

/// What it has done at a device: this build cannot look.
pub(crate) fn early_levels(_: &Link) -> Option<Vec<(u16, Vec<EarlyCounter>)>> {
    None
}

/// Whether the kernel takes it; not available in this build.
pub(crate) fn try_early() -> Result<(), ebpf::Error> {
    prepare_early(&EarlyPlan::new(true)).map(|_| ())
}

/// Whether the kernel accepts the program; not available in this build.
pub(crate) fn try_out() -> Result<(), ebpf::Error> {
    EdgeProgram::probe()
}
