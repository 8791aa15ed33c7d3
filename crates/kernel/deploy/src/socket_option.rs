//! The socket option by which applications set the thresholds of their connections, at a cgroup.
//!
//! It is in the kernel alone. All devices of the machine whose policies read what applications say share it, in whichever network
//! namespace: the last one takes it away.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use shortflow_ebpf as ebpf;
use shortflow_ebpf::edge::EdgeProgram;
use shortflow_ebpf::option::SocketOption;

use crate::cgroup;
use crate::device_lock::DeviceLock;
use crate::error::Error;

/// The root of all cgroups, wherever it is mounted.
pub(crate) const ROOT_CGROUP: &str = "/";
/// A file that only cgroups of version 2 have.
const CONTROLLERS: &str = "cgroup.controllers";
/// What is locked: no device has this name, which has a space.
const LOCKED: &str = "socket option";
/// How long one waits for another command.
const LOCK_TIMEOUT: Duration = Duration::from_secs(2);
/// How often, and how long after another, one looks whether a program that was removed is gone.
const LOOKS: u32 = 10;
const BETWEEN_LOOKS: Duration = Duration::from_millis(30);

/// How texts call a cgroup.
pub(crate) fn named(cgroup: &str) -> String {
    match cgroup {
        ROOT_CGROUP => "the root cgroup".to_owned(),
        path => format!("the cgroup {path}"),
    }
}

/// A cgroup of version 2 by its folder, as it is kept.
///
/// # Errors
/// When the folder is not one.
pub fn chosen_cgroup(path: &Path) -> Result<PathBuf, Error> {
    let failed = |source| Error::TcpGroup { path: path.display().to_string(), source };
    let path = path.canonicalize().map_err(failed)?;
    let text = path.display().to_string();
    if text.chars().any(char::is_control) {
        return Err(failed(io::Error::other("its name has control characters")));
    }
    match path.join(CONTROLLERS).exists() {
        true => Ok(path),
        false => Err(failed(io::Error::other(format!("it has no file `{CONTROLLERS}`")))),
    }
}

/// The folder of a cgroup; `None` if it is gone.
fn open(cgroup: &str) -> Result<Option<File>, Error> {
    let failed = |source| Error::Machine { what: "the cgroup cannot be opened", source };
    let path = match cgroup {
        ROOT_CGROUP => cgroup::root().map_err(failed)?,
        path => Some(PathBuf::from(path)),
    };
    let Some(path) = path else { return Ok(None) };
    match File::open(&path) {
        Ok(folder) => Ok(Some(folder)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(failed(source)),
    }
}

/// The option at a cgroup, for which `load` makes the program that reads it. The option is there alone if that fails, unless
/// another device uses it.
///
/// # Errors
/// When the cgroup is gone, or the machine lacks something.
pub(crate) fn bring(
    cgroup: &str,
    load: impl FnOnce(&SocketOption) -> Result<EdgeProgram, ebpf::Error>,
) -> Result<EdgeProgram, Error> {
    let _lock = DeviceLock::take(LOCKED, LOCK_TIMEOUT)?;
    let folder = open(cgroup)?.ok_or_else(|| missing(cgroup))?;
    let option = match SocketOption::find(folder.as_fd())? {
        Some(option) => option,
        None => SocketOption::attach(folder.as_fd())?,
    };
    match load(&option) {
        Ok(program) => Ok(program),
        Err(error) => {
            if !option.is_used() {
                option.detach(folder.as_fd())?;
            }
            Err(error.into())
        }
    }
}

/// Removes the option from a cgroup, unless a program at a device reads it.
///
/// # Errors
/// When the kernel does not let it go.
pub(crate) fn remove(cgroup: &str) -> Result<(), Error> {
    let _lock = DeviceLock::take(LOCKED, LOCK_TIMEOUT)?;
    // The programs of a cgroup go with it.
    let Some(folder) = open(cgroup)? else { return Ok(()) };
    for _ in 0..LOOKS {
        match SocketOption::find(folder.as_fd())? {
            Some(option) if !option.is_used() => return Ok(option.detach(folder.as_fd())?),
            Some(_) => std::thread::sleep(BETWEEN_LOOKS),
            None => return Ok(()),
        }
    }
    Ok(())
}

/// Whether the option is at a cgroup; `None` if this process cannot look.
pub(crate) fn is_there(cgroup: &str) -> Option<bool> {
    match open(cgroup) {
        Ok(Some(folder)) => SocketOption::find(folder.as_fd()).ok().map(|found| found.is_some()),
        Ok(None) => Some(false),
        Err(_) => None,
    }
}

fn missing(cgroup: &str) -> Error {
    match cgroup {
        ROOT_CGROUP => Error::NoCgroups,
        path => Error::TcpGroup {
            path: path.to_owned(),
            source: io::Error::from(io::ErrorKind::NotFound),
        },
    }
}
