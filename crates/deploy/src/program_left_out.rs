//! Builds without eBPF.

use shortflow_ebpf as ebpf;
use shortflow_ebpf::edge::{EdgePlan, EdgeProgram};

use crate::compile::Edge;
use crate::device::Link;
use crate::edge::EdgeMemo;
use crate::status::ClassSeen;

/// Brings the program to the device's egress: this build has none.
pub(crate) fn bring(_: &Link, edge: &Edge, _: Option<&EdgeMemo>) -> Result<(), ebpf::Error> {
    EdgeProgram::load(&edge.plan, ebpf::Link::Ethernet).map(|_| ())
}

/// What the classes of the program at a device have seen: this build cannot look.
pub(crate) fn seen(_: &Link, _: usize) -> Option<Vec<ClassSeen>> {
    None
}

/// Whether the kernel takes the program, of which this build has none.
pub(crate) fn try_out() -> Result<(), ebpf::Error> {
    let nothing = EdgePlan::new(&[], &[]).expect("there is room for nothing");
    EdgeProgram::load(&nothing, ebpf::Link::Ethernet).map(|_| ())
}
