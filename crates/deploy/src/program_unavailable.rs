//! Builds without eBPF.

use shortflow_ebpf as ebpf;
use shortflow_ebpf::edge::{EdgePlan, EdgeProgram};

use crate::compile::Edge;
use crate::device::Link;
use crate::edge::EdgeMemo;
use crate::status::ClassSeen;

/// Gives the kernel the program for a device: this build has none.
pub(crate) fn prepare(_: &Link, edge: &Edge) -> Result<EdgeProgram, ebpf::Error> {
    EdgeProgram::load(&edge.plan, ebpf::Link::Ethernet)
}

/// Brings the program to the device's egress: there is none.
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

/// Whether the kernel takes the program, of which this build has none.
pub(crate) fn try_out() -> Result<(), ebpf::Error> {
    let nothing = EdgePlan::new(&[], &[]).expect("there is room for nothing");
    EdgeProgram::load(&nothing, ebpf::Link::Ethernet).map(|_| ())
}
