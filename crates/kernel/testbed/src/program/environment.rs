//! The environment of a program in a host: the files of the machine, but the host's own names and devices.

use std::fmt::Write;
use std::fs::{File, write};
use std::os::fd::AsFd;
use std::path::Path;

use nix::errno::Errno;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, setns, unshare};
use nix::unistd::sethostname;

use super::ProgramSpec;
use crate::Error;

/// Where programs look up names.
const NAMES: &str = "/etc/hosts";

/// Where the kernel shows devices, those of the network among them.
const DEVICES: &str = "/sys";

/// Bytes of the longest name that a kernel has (`HOST_NAME_MAX`).
const MAX_NAME: usize = 64;

/// Takes the thread into the network of a host, and into mounts, a name and a PID namespace of its own. It does not
/// come back.
pub(super) fn enter(network: &File, spec: &ProgramSpec) -> Result<(), Error> {
    let failed = Error::kernel("cannot enter a network namespace");
    setns(network.as_fd(), CloneFlags::CLONE_NEWNET).map_err(failed)?;
    let own = CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWUTS | CloneFlags::CLONE_NEWPID;
    unshare(own).map_err(|errno| match errno {
        Errno::EPERM => Error::NotAllowed,
        errno => Error::kernel("cannot create namespaces for a program")(errno),
    })?;
    // A kernel's names end where a scenario's need not; for all but this one name they are whole.
    let name = &spec.host[..spec.host.floor_char_boundary(MAX_NAME)];
    sethostname(name).map_err(Error::kernel("cannot set the name of a host"))?;
    // What is mounted on the machine later comes here too; what is mounted here stays here.
    let flags = MsFlags::MS_SLAVE | MsFlags::MS_REC;
    let nothing = None::<&str>;
    mount(nothing, "/", nothing, flags, nothing)
        .map_err(Error::kernel("cannot separate the mounts of a program from the machine's"))?;
    name_hosts(&names_file(spec))
        .map_err(|source| Error::Kernel { what: "cannot mount /etc/hosts for programs", source })?;
    match mount(Some("sysfs"), DEVICES, Some("sysfs"), MsFlags::empty(), nothing) {
        // A container may keep the kernel's own view; few programs look at it.
        Ok(()) | Err(Errno::EPERM) => Ok(()),
        Err(errno) => Err(Error::kernel("cannot mount /sys for programs")(errno)),
    }
}

/// Mounts a file of names over the machine's. It has no name: its folder is deleted at once.
fn name_hosts(text: &str) -> std::io::Result<()> {
    let nothing = None::<&str>;
    mount(Some("tmpfs"), DEVICES, Some("tmpfs"), MsFlags::empty(), nothing)?;
    let file = Path::new(DEVICES).join("hosts");
    write(&file, text)?;
    mount(Some(&file), NAMES, nothing, MsFlags::MS_BIND, nothing)?;
    umount2(DEVICES, MntFlags::MNT_DETACH)?;
    Ok(())
}

/// Names as hosts(5) has them.
fn names_file(spec: &ProgramSpec) -> String {
    let mut text = "127.0.0.1 localhost\n::1 localhost\n".to_owned();
    for (address, name) in spec.names.iter() {
        writeln!(text, "{address} {name}").expect("a text takes what is written");
    }
    text
}
