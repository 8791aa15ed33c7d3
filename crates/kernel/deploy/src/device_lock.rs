//! A lock on a device, which one process at a time can hold.
//!
//! The lock is on a file that only its owner can write, in a folder that only its owner can write. A user who cannot
//! write there cannot take the lock, and a user who cannot read the file cannot lock it either. The file is named for
//! the network namespace and the device, and is removed with the lock. Processes with different `/run` folders, such
//! as containers with their own mounts, do not see each other's locks.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Read};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, Instant};

use nix::fcntl::OFlag;
use shortflow_files::Dir;

use crate::error::Error;
use crate::run_folder::{file_name, folders, own_folder};

/// The right to change a device, which ends with the process.
#[derive(Debug)]
pub struct DeviceLock {
    folder: Dir,
    name: String,
    lock: File,
}

/// How the name of a lock's file ends.
const LOCK: &str = "lock";
/// All locks on files.
const LOCKS: &str = "/proc/locks";
/// The most bytes read of [`LOCKS`].
const MAX_LOCKS: usize = 1 << 20;
/// How often one looks whether another process is done.
const POLL_INTERVAL: Duration = Duration::from_millis(10);
/// How long a lock is retried at least: `status` holds it for a moment to see whether it is free.
const MIN_PATIENCE: Duration = Duration::from_millis(30);

impl DeviceLock {
    /// Takes the right, if need be when another process is done that has `patience` to be so.
    ///
    /// # Errors
    /// When another process has it, or this one may not have it.
    pub fn take(device: &str, patience: Duration) -> Result<DeviceLock, Error> {
        let failed = |source| Error::Machine { what: "cannot lock the device", source };
        let folder = own_folder(&folders())?;
        let name = file_name(device, LOCK).map_err(failed)?;
        let until = Instant::now() + patience.max(MIN_PATIENCE);
        loop {
            let lock = folder.lock_file(&name).map_err(failed)?;
            match lock.try_lock() {
                Ok(()) if is_named(&folder, &name, &lock) => {
                    return Ok(DeviceLock { folder, name, lock });
                }
                // It went with the lock of another process.
                Ok(()) => {}
                Err(TryLockError::Error(error)) => return Err(failed(error)),
                Err(TryLockError::WouldBlock) if Instant::now() > until => {
                    return Err(Error::Claimed { device: device.to_owned() });
                }
                Err(TryLockError::WouldBlock) => std::thread::sleep(POLL_INTERVAL),
            }
        }
    }

    /// Whether some process has the right to change a device, as far as this one sees.
    pub(crate) fn is_taken(device: &str) -> bool {
        let Ok(name) = file_name(device, LOCK) else { return false };
        folders().into_iter().any(|folder| is_locked(&folder.join(&name)))
    }

    /// The right for another process, too: it lasts until both are done.
    pub(crate) fn shared(&self) -> io::Result<OwnedFd> {
        self.lock.try_clone().map(OwnedFd::from)
    }
}

impl Drop for DeviceLock {
    fn drop(&mut self) {
        // One that stays is locked anew by the next.
        let _ = self.folder.remove_file(&self.name);
    }
}

/// Whether a file that is open has this name, still.
fn is_named(folder: &Dir, name: &str, file: &File) -> bool {
    let of = |found: io::Result<std::fs::Metadata>| found.ok().map(|found| found.ino());
    of(folder.metadata(name)).is_some_and(|number| of(file.metadata()) == Some(number))
}

/// Whether a process has locked a file: tested by taking the lock, where permitted.
///
/// `/proc/locks` knows less: its numbers are those of the lower file system in some containers, and a lock that goes
/// during the reading hides another.
fn is_locked(path: &Path) -> bool {
    let flags = (OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK).bits();
    match OpenOptions::new().read(true).custom_flags(flags).open(path) {
        Ok(file) => matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)),
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            std::fs::symlink_metadata(path)
                .is_ok_and(|found| has_lock(&read_locks().unwrap_or_default(), found.ino()))
        }
        Err(_) => false,
    }
}

/// The kernel's list of locks, in reads as large as possible.
fn read_locks() -> io::Result<String> {
    let mut locks = vec![0; MAX_LOCKS];
    let mut file = File::open(LOCKS)?;
    let mut length = 0;
    while length < locks.len() {
        match file.read(&mut locks[length..])? {
            0 => break,
            more => length += more,
        }
    }
    Ok(String::from_utf8_lossy(&locks[..length]).into_owned())
}

/// Whether a file of this number has a lock, by what the kernel tells: `1: FLOCK ADVISORY WRITE 4711 00:1a:123 0 EOF`.
fn has_lock(locks: &str, number: u64) -> bool {
    let is_it = |line: &str| {
        let mut words = line.split_whitespace().skip(1).filter(|word| *word != "->");
        words.next() == Some("FLOCK")
            && words.nth(3).and_then(|file| file.rsplit(':').next()?.parse().ok()) == Some(number)
    };
    locks.lines().any(is_it)
}

#[cfg(test)]
mod tests {
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::os::unix::net::{SocketAddr, UnixListener};

    use super::*;
    use crate::run_folder::{open_own, refusal};

    #[test]
    fn a_lock_is_found_in_what_the_kernel_tells() {
        let locks = "1: FLOCK  ADVISORY  WRITE 4711 00:1a:123 0 EOF\n2: POSIX  ADVISORY  WRITE 4712 00:1a:124 0 EOF\n";
        assert!(has_lock(locks, 123) && !has_lock(locks, 124) && !has_lock(locks, 12));
    }

    #[test]
    fn a_folder_that_others_may_write_or_a_link_to_one_is_not_taken() {
        let home = tempfile::tempdir().unwrap();
        let place = |name: &str| home.path().join(name);
        std::fs::create_dir(place("open")).unwrap();
        let mode = std::fs::Permissions::from_mode(0o777);
        std::fs::set_permissions(place("open"), mode).unwrap();
        symlink(place("own"), place("link")).unwrap();
        assert!(open_own(&place("open")).is_err() && open_own(&place("link")).is_err());
        let own = own_folder(&[place("open"), place("link"), place("own")]).unwrap();
        let lock = own.lock_file("lo.lock").unwrap();
        lock.try_lock().unwrap();
        assert!(own.lock_file("lo.lock").unwrap().try_lock().is_err());
        assert_eq!(lock.metadata().unwrap().mode() & 0o777, 0o600, "nobody else may lock it");
        let file = place("own").join("lo.lock");
        assert!(is_locked(&file), "a lock is seen by who may try it");
        drop(lock);
        assert!(!is_locked(&file) && !is_locked(&place("own").join("none.lock")));
    }

    #[test]
    fn whatever_stands_in_the_place_of_the_folder_is_named_with_the_command_that_replaces_it() {
        let home = tempfile::tempdir().unwrap();
        let place = |name: &str| home.path().join(name);
        symlink(place("elsewhere"), place("a link")).unwrap();
        std::fs::write(place("file"), "").unwrap();
        std::fs::create_dir(place("open")).unwrap();
        let mode = std::fs::Permissions::from_mode(0o777);
        std::fs::set_permissions(place("open"), mode).unwrap();
        for (name, found) in [
            ("a link", "is a symbolic link instead of a folder"),
            ("file", "is a file instead of a folder"),
            ("open", "is writable by others"),
        ] {
            let path = place(name);
            let message = refusal(vec![(&path, open_own(&path).unwrap_err())]).to_string();
            assert!(message.contains(found), "{message}");
            let (_, command) = message.split_once("as root: ").expect("a command to type");
            // `-o root` is for root alone, and a test may be run by any user.
            let command = command.replace(" -o root", "");
            let ended = std::process::Command::new("sh").args(["-ec", &command]).status();
            assert!(ended.unwrap().success(), "{command}");
            open_own(&path).unwrap();
            assert!(!place("elsewhere").exists(), "nothing is made behind the link");
        }
    }

    #[test]
    fn who_binds_a_name_keeps_nobody_from_a_device() {
        // Until then the lock was a name that any user may bind.
        let name = SocketAddr::from_abstract_name("shortflow/deploy/lo").unwrap();
        let _squatted = UnixListener::bind_addr(&name);
        match DeviceLock::take("lo", Duration::ZERO) {
            Ok(claim) => {
                assert!(DeviceLock::is_taken("lo"));
                assert!(matches!(
                    DeviceLock::take("lo", Duration::ZERO),
                    Err(Error::Claimed { .. })
                ));
                drop(claim);
                assert!(!DeviceLock::is_taken("lo"));
            }
            Err(Error::NotAllowed) => eprintln!("skipped: needs root or XDG_RUNTIME_DIR"),
            Err(error) => panic!("{error}"),
        }
    }
}
