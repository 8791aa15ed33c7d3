//! What the machine lacks, or would not do.

use std::path::PathBuf;

use nix::errno::Errno;

/// Why a host could not be made, or entered.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The process may not make network namespaces.
    #[error(
        "network namespaces need the right to make them: run it as root (sudo), or with the capabilities \
         CAP_SYS_ADMIN and CAP_NET_ADMIN"
    )]
    NotAllowed,
    /// The network namespace of the process is that of another user namespace.
    #[error(
        "the network of this process belongs to another user namespace, to which no thread could come back: make a \
         network namespace with the user namespace, as by `unshare -Urn`, or run it as root outside"
    )]
    NoWayBack,
    /// The kernel has no network namespaces.
    #[error("this kernel has no network namespaces (CONFIG_NET_NS)")]
    NoNamespaces,
    /// The file where TUN devices are made cannot be opened.
    #[error("TUN devices cannot be made: /dev/net/tun: {errno}; {}", remedy_of_tun(*.errno))]
    NoTunFile {
        /// Why not.
        errno: Errno,
    },
    /// There is no TUN.
    #[error("TUN devices cannot be made: {errno}{}", remedy_of_device(*.errno))]
    NoTun {
        /// Why not.
        errno: Errno,
    },
    /// There are no packet sockets.
    #[error(
        "packet sockets cannot be opened: {0} (AF_PACKET); they need the capability CAP_NET_RAW and a kernel with \
         CONFIG_PACKET; TUN devices, `--ports tun`, do without"
    )]
    NoPacketSockets(Errno),
    /// There is no AF_XDP.
    #[error(
        "AF_XDP cannot be used: {0}; it needs the capabilities CAP_BPF and CAP_NET_RAW, and a kernel from 5.9 on with \
         CONFIG_XDP_SOCKETS; TUN devices, `--ports tun`, do without"
    )]
    NoXdp(Errno),
    /// Packets are larger than the frames of AF_XDP.
    #[error(
        "packets of {mtu} bytes are too large for AF_XDP, which takes up to 3826; use smaller segments, or \
         `--ports tun`"
    )]
    TooLargeForXdp {
        /// Bytes of the largest IP packet.
        mtu: u32,
    },
    /// A setting of the kernel could not be written.
    #[error(
        "the kernel does not take {value:?} for {path}: {source}{}", remedy(source), path = path.display()
    )]
    Setting {
        /// Its file.
        path: PathBuf,
        /// What was to be written.
        value: String,
        /// Why not.
        source: std::io::Error,
    },
    /// The process has as many files open as it may.
    #[error(
        "too many open files for the hosts of this scenario: raise the limit with `ulimit -n {needed}`, or use fewer \
         hosts"
    )]
    TooManyFiles {
        /// How many would do.
        needed: u64,
    },
    /// The kernel refused something else.
    #[error("{what}: {source}")]
    Kernel {
        /// What was asked of it.
        what: &'static str,
        /// Why not.
        source: std::io::Error,
    },
}

/// What to do where the file of TUN cannot be opened.
fn remedy_of_tun(errno: Errno) -> &'static str {
    match errno {
        Errno::EACCES => {
            "its mode keeps this user out: run it as root, or let others in with `chmod 0666 /dev/net/tun`, as \
             distributions have it"
        }
        Errno::EPERM => {
            "the container keeps it out: pass the device in with `--device /dev/net/tun`"
        }
        _ => {
            "load the module with `modprobe tun`, and in a container pass the device in with `--device /dev/net/tun`"
        }
    }
}

/// What to do where the file makes no device.
fn remedy_of_device(errno: Errno) -> &'static str {
    match errno {
        Errno::EPERM => "; they need the capability CAP_NET_ADMIN",
        Errno::ENOTTY | Errno::EINVAL => {
            "; what stands at /dev/net/tun is something else: remove it, and make the right one with `mknod \
             /dev/net/tun c 10 200`"
        }
        _ => "",
    }
}

/// What to do where a setting cannot be written.
fn remedy(source: &std::io::Error) -> &'static str {
    match source.kind() {
        std::io::ErrorKind::ReadOnlyFilesystem => {
            "; a container mounts /proc/sys so unless it is run with `--privileged`"
        }
        _ => "",
    }
}

impl Error {
    /// A refusal of the kernel, when it was asked for `what`.
    pub(crate) fn kernel(what: &'static str) -> impl FnOnce(Errno) -> Error {
        move |errno| match errno {
            Errno::EMFILE | Errno::ENFILE => Error::TooManyFiles { needed: 65_536 },
            _ => Error::Kernel { what, source: errno.into() },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_keeps_a_user_out_is_not_taken_for_a_lack_of_capabilities() {
        let message = Error::NoTunFile { errno: Errno::EACCES }.to_string();
        assert!(message.contains("Permission denied; its mode keeps this user out"), "{message}");
        assert!(!message.contains("CAP_"), "{message}");
        let message = Error::NoTunFile { errno: Errno::ENOENT }.to_string();
        assert!(message.contains("`modprobe tun`") && !message.contains("CAP_"), "{message}");
        let message = Error::NoTun { errno: Errno::EPERM }.to_string();
        assert!(message.ends_with("they need the capability CAP_NET_ADMIN"), "{message}");
    }

    #[test]
    fn of_settings_that_a_container_protects_it_is_told_what_to_do() {
        let of = |errno: Errno| {
            let (path, value) = (PathBuf::from("/proc/sys/net/ipv4/tcp_sack"), "1".to_owned());
            Error::Setting { path, value, source: errno.into() }.to_string()
        };
        assert_eq!(
            of(Errno::EROFS),
            "the kernel does not take \"1\" for /proc/sys/net/ipv4/tcp_sack: Read-only file system (os error 30); \
             a container mounts /proc/sys so unless it is run with `--privileged`"
        );
        assert!(of(Errno::EINVAL).ends_with("Invalid argument (os error 22)"));
    }
}
