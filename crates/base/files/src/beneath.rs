//! Opening a path beneath an open folder, without leaving the folder and without following a link.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Component, Path};

use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, openat};
use nix::sys::stat::{Mode, SFlag, fstatat};

/// Opens `inner` beneath `folder`: by openat2(2) where the kernel has it (5.6), else component by component.
///
/// # Errors
/// When a component is a link or `..`, or the path is absolute; and for the usual reasons.
pub(crate) fn open(
    folder: BorrowedFd<'_>,
    inner: &Path,
    flags: OFlag,
    mode: Mode,
) -> io::Result<OwnedFd> {
    let names = names(inner)?;
    let inner = if names.is_empty() { Path::new(".") } else { inner };
    let flags = flags | OFlag::O_CLOEXEC | OFlag::O_NOFOLLOW;
    // The kernel says of a link in the place of a folder only that it is no folder.
    let is_link = || {
        fstatat(folder, inner, AtFlags::AT_SYMLINK_NOFOLLOW)
            .is_ok_and(|found| found.st_mode & SFlag::S_IFMT.bits() == SFlag::S_IFLNK.bits())
    };
    let to_io_error = |error| match error {
        Errno::ENOTDIR if is_link() => to_io_error(Errno::ELOOP),
        other => to_io_error(other),
    };
    #[cfg(target_os = "linux")]
    match by_openat2(folder, inner, flags, mode) {
        // Some sandboxes refuse calls that they do not know with EPERM.
        Err(Errno::ENOSYS | Errno::EPERM) => {}
        done => return done.map_err(to_io_error),
    }
    by_component(folder, &names, flags, mode).map_err(to_io_error)
}

#[cfg(target_os = "linux")]
fn by_openat2(
    folder: BorrowedFd<'_>,
    inner: &Path,
    flags: OFlag,
    mode: Mode,
) -> nix::Result<OwnedFd> {
    use nix::fcntl::{OpenHow, ResolveFlag, openat2};
    let resolve = ResolveFlag::RESOLVE_BENEATH
        | ResolveFlag::RESOLVE_NO_SYMLINKS
        | ResolveFlag::RESOLVE_NO_MAGICLINKS;
    // The kernel refuses a mode where nothing is created.
    let mode = if flags.contains(OFlag::O_CREAT) { mode } else { Mode::empty() };
    openat2(folder, inner, OpenHow::new().flags(flags).mode(mode).resolve(resolve))
}

/// The same on kernels before 5.6: each folder on the way is opened without following a link.
fn by_component(
    folder: BorrowedFd<'_>,
    names: &[&OsStr],
    flags: OFlag,
    mode: Mode,
) -> nix::Result<OwnedFd> {
    let Some((last, way)) = names.split_last() else {
        return openat(folder, ".", flags, mode);
    };
    let through = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    let mut at: Option<OwnedFd> = None;
    for name in way {
        let next =
            openat(at.as_ref().map_or(folder, |at| at.as_fd()), *name, through, Mode::empty());
        // Linux says that a link is no folder, others that it is a link.
        at =
            Some(next.map_err(|error| if error == Errno::ENOTDIR { Errno::ELOOP } else { error })?);
    }
    openat(at.as_ref().map_or(folder, |at| at.as_fd()), *last, flags, mode)
}

/// The components of a path that stays inside the folder to which it is relative.
fn names(inner: &Path) -> io::Result<Vec<&OsStr>> {
    let name = |part| match part {
        Component::Normal(name) => Some(name),
        _ => None,
    };
    let parts = inner.components().filter(|part| *part != Component::CurDir);
    parts.map(name).collect::<Option<_>>().ok_or_else(|| to_io_error(Errno::EXDEV))
}

/// Errors that mean an attack more often than a mistake, in words that say so.
pub(crate) fn to_io_error(error: Errno) -> io::Error {
    let what = match error {
        Errno::ELOOP => "a symbolic link is in the way, and none is followed here",
        Errno::EXDEV => "the path leads out of its folder",
        other => return other.into(),
    };
    io::Error::new(io::ErrorKind::NotADirectory, what)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn old_kernels_follow_no_link_either() {
        let home = tempfile::tempdir().unwrap();
        let place = |name: &str| home.path().join(name);
        fs::create_dir_all(place("in/deep")).unwrap();
        fs::write(place("in/deep/file"), "yes").unwrap();
        fs::write(place("secret"), "no").unwrap();
        symlink(place("secret"), place("in/link")).unwrap();
        symlink(home.path(), place("in/away")).unwrap();
        let folder = File::open(place("in")).unwrap();
        for path in ["deep/file", "./deep/file", "link", "away/secret", "deep/../../secret"] {
            let flags = OFlag::O_RDONLY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
            let old = names(Path::new(path)).and_then(|names| {
                by_component(folder.as_fd(), &names, flags, Mode::empty()).map_err(to_io_error)
            });
            let new = open(folder.as_fd(), Path::new(path), OFlag::O_RDONLY, Mode::empty());
            assert_eq!(old.is_ok(), path.ends_with("deep/file"), "{path}: {old:?}");
            let reported =
                |done: io::Result<OwnedFd>| done.map(drop).map_err(|error| error.to_string());
            assert_eq!(reported(old), reported(new), "{path}");
        }
        let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY;
        let why = open(folder.as_fd(), Path::new("away"), flags, Mode::empty()).unwrap_err();
        assert_eq!(why.to_string(), "a symbolic link is in the way, and none is followed here");
    }
}
