//! Drops the privileges that the agent needs only at startup.

use std::io;

use caps::{CapSet, Capability, CapsHashSet};

/// What its work asks for: devices of its network namespace, loading programs, what they read of the kernel, and, which the
/// kernel asks `CAP_SYS_ADMIN` for, finding programs by their numbers and trying the kernel out in a namespace of its own.
const AGENT: [Capability; 4] = [
    Capability::CAP_NET_ADMIN,
    Capability::CAP_BPF,
    Capability::CAP_PERFMON,
    Capability::CAP_SYS_ADMIN,
];

/// What routers between two devices ask for besides: their sockets, the memory of these, and their priority.
const ROUTERS: [Capability; 3] =
    [Capability::CAP_NET_RAW, Capability::CAP_IPC_LOCK, Capability::CAP_SYS_NICE];

/// Gives up all capabilities of this thread but those that an agent needs, for it and whatever it starts from now on. It keeps
/// those of routers where it may route.
///
/// Threads that are there already keep theirs, so this comes before them.
///
/// # Errors
/// When the kernel does not let it.
pub fn give_up_privileges(may_route: bool) -> io::Result<()> {
    let routers = if may_route { &ROUTERS[..] } else { &[] };
    keep(&[&AGENT[..], routers].concat())
}

/// Gives up all capabilities.
pub(crate) fn give_up_all_privileges() -> io::Result<()> {
    keep(&[])
}

fn keep(wanted: &[Capability]) -> io::Result<()> {
    let failed = |error: caps::errors::CapsError| io::Error::other(error.to_string());
    let wanted: CapsHashSet = wanted.iter().copied().collect();
    let is_let = caps::has_cap(None, CapSet::Effective, Capability::CAP_SETPCAP).map_err(failed)?;
    let bounding = caps::read(None, CapSet::Bounding).map_err(failed)?;
    // A program that root starts has all that the bounding set has. Who may not change that has little to give up.
    for one in bounding.difference(&wanted).filter(|_| is_let) {
        caps::drop(None, CapSet::Bounding, *one).map_err(failed)?;
    }
    caps::clear(None, CapSet::Ambient).map_err(failed)?;
    for set in [CapSet::Effective, CapSet::Inheritable, CapSet::Permitted] {
        let has = caps::read(None, set).map_err(failed)?;
        caps::set(None, set, &has.intersection(&wanted).copied().collect()).map_err(failed)?;
    }
    // No program with another owner or capabilities of its own gives any back.
    Ok(nix::sys::prctl::set_no_new_privs()?)
}
