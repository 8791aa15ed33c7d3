//! Builds without eBPF.

use shortflow_ebpf as ebpf;
use shortflow_ebpf::edge::{EdgePlan, EdgeProgram};

use crate::compile::Edge;
use crate::device::Link;
use crate::edge::EdgeMemo;
use crate::status::ClassSeen;

/// Loads the program for a device; not available in this build.
pub(crate) fn prepare(_: u64, edge: &Edge) -> Result<EdgeProgram, ebpf::Error> {
    EdgeProgram::load(&edge.plan, ebpf::Link::Ethernet)
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
pub(crate) fn seen(_: &Link, _: usize) -> Option<Vec<ClassSeen>> {
    None
}

/// The colours alone: this build cannot look.
pub(crate) fn colors(_: &Link, _: usize) -> Option<Vec<ClassSeen>> {
    None
}

/// Whether the kernel accepts the program; not available in this build.
pub(crate) fn try_out() -> Result<(), ebpf::Error> {
    let nothing = EdgePlan::new(&[], &[]).expect("no space left");
    EdgeProgram::load(&nothing, ebpf::Link::Ethernet).map(|_| ())
}
