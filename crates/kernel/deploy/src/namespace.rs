//! The network namespace of the thread.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use nix::sys::socket::{AddressFamily, SockFlag, SockType, getsockopt, socket};
use nix::{getsockopt_impl, libc, sockopt_impl};

/// The network namespace of the thread.
const NAMESPACE: &str = "/proc/thread-self/ns/net";

sockopt_impl!(
    /// The number that the kernel gives one network namespace and never again until it restarts (Linux 5.14).
    NamespaceCookie,
    GetOnly,
    libc::SOL_SOCKET,
    libc::SO_NETNS_COOKIE,
    u64
);

/// The identity of the thread's network namespace, in letters that a file name may have.
///
/// The inode of a namespace is no such identity, since the next namespace gets that of one that is gone. It serves only
/// with kernels that know nothing better.
///
/// # Errors
/// When there is no `/proc` and the kernel is older than 5.14.
pub fn namespace_id() -> io::Result<String> {
    let flags = SockFlag::SOCK_CLOEXEC;
    let cookie = socket(AddressFamily::Unix, SockType::Datagram, flags, None)
        .and_then(|socket| getsockopt(&socket, NamespaceCookie));
    if let Ok(cookie) = cookie {
        return Ok(format!("netns{cookie:x}"));
    }
    let inode = std::fs::metadata(NAMESPACE)?;
    Ok(format!("{:x}-{}", inode.dev(), inode.ino()))
}

/// The inode of the thread's network namespace.
pub(crate) fn namespace_inode() -> io::Result<u64> {
    Ok(std::fs::metadata(NAMESPACE)?.ino())
}

/// Whether a process has the network namespace with this inode, or it is mounted, as `ip netns` does.
pub(crate) fn is_in_use(inode: u64) -> bool {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    if mounts.contains(&format!(" net:[{inode}] ")) {
        return true;
    }
    let numbered = |path: &Path| {
        let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).filter(|path| {
            let name = path.file_name().unwrap_or_default();
            name.as_encoded_bytes().iter().all(u8::is_ascii_digit)
        })
    };
    let threads = |process: PathBuf| numbered(&process.join("task"));
    numbered(Path::new("/proc")).flat_map(threads).any(|thread| {
        std::fs::metadata(thread.join("ns/net")).is_ok_and(|found| found.ino() == inode)
    })
}

#[cfg(test)]
mod tests {
    use nix::sched::{CloneFlags, unshare};

    use super::namespace_id;

    #[test]
    fn a_namespace_has_not_the_identity_of_one_that_is_gone() {
        let own = namespace_id().unwrap();
        assert_eq!(namespace_id().unwrap(), own, "it stays the same");
        let new_namespace = || {
            let thread = std::thread::spawn(|| {
                unshare(CloneFlags::CLONE_NEWNET).map(|()| namespace_id().unwrap())
            });
            thread.join().unwrap()
        };
        let ids: Result<Vec<String>, _> = (0..8).map(|_| new_namespace()).collect();
        match ids {
            Ok(mut ids) => {
                ids.push(own);
                ids.sort();
                ids.dedup();
                assert_eq!(ids.len(), 9, "{ids:?}");
            }
            Err(errno) => eprintln!("skipped: needs the right to make network namespaces: {errno}"),
        }
    }
}
