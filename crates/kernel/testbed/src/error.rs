//! Missing features of the machine, and failed operations.

use std::path::PathBuf;

use nix::errno::Errno;

/// Why a host could not be made, or entered.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The process may not make network namespaces.
    #[error(
        "no permission to create network namespaces: run it as root (sudo), or with the \
            capabilities CAP_SYS_ADMIN and CAP_NET_ADMIN"
    )]
    NotAllowed,
    /// The network namespace of the process is that of another user namespace.
    #[error(
        "the network namespace of this process belongs to another user namespace, so its threads \
            could not return to it: create it together with the user namespace, such as with \
            `unshare -Urn`, or run as root outside"
    )]
    NoWayBack,
    /// The kernel has no network namespaces.
    #[error("this kernel does not support network namespaces (CONFIG_NET_NS)")]
    NoNamespaces,
    /// The file where TUN devices are made cannot be opened.
    #[error("cannot create TUN devices: /dev/net/tun: {errno}; {}", remedy_of_tun(*.errno))]
    NoTunFile {
        /// Why not.
        errno: Errno,
    },
    /// There is no TUN.
    #[error("cannot create TUN devices: {errno}{}", remedy_of_device(*.errno))]
    NoTun {
        /// Why not.
        errno: Errno,
    },
    /// There are no packet sockets.
    #[error(
        "cannot open packet sockets (AF_PACKET): {0}; they require the capability CAP_NET_RAW and \
            a kernel with CONFIG_PACKET; TUN devices, `--ports tun`, do not"
    )]
    NoPacketSockets(Errno),
    /// There is no AF_XDP.
    #[error(
        "cannot use AF_XDP: {0}; it requires the capabilities CAP_BPF and CAP_NET_RAW, and Linux \
            5.9 or newer with CONFIG_XDP_SOCKETS; TUN devices, `--ports tun`, do not"
    )]
    NoXdp(Errno),
    /// Packets are larger than the frames of AF_XDP.
    #[error(
        "packets of {mtu} bytes are too large for AF_XDP (maximum 3826); use smaller segments, or \
            `--ports tun`"
    )]
    TooLargeForXdp {
        /// Bytes of the largest IP packet.
        mtu: u32,
    },
    /// A setting of the kernel could not be written.
    #[error(
        "the kernel rejects {value:?} for {path}: {source}{}", remedy(source), path = path.display()
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
            "its mode does not permit this user: run as root, or permit others with `chmod 0666 \
                /dev/net/tun`, as distributions do"
        }
        Errno::EPERM => {
            "the container does not permit it: pass the device with `--device /dev/net/tun`"
        }
        _ => {
            "load the module with `modprobe tun`; in a container, pass the device with `--device \
                /dev/net/tun`"
        }
    }
}

/// What to do where the file makes no device.
fn remedy_of_device(errno: Errno) -> &'static str {
    match errno {
        Errno::EPERM => "; this requires the capability CAP_NET_ADMIN",
        Errno::ENOTTY | Errno::EINVAL => {
            "; /dev/net/tun is not the TUN device: remove it, and create the device with `mknod \
                /dev/net/tun c 10 200`"
        }
        _ => "",
    }
}

/// What to do where a setting cannot be written.
fn remedy(source: &std::io::Error) -> &'static str {
    match source.kind() {
        std::io::ErrorKind::ReadOnlyFilesystem => {
            "; containers mount /proc/sys read-only unless they run with `--privileged`"
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
        assert!(
            message.contains("Permission denied; its mode does not permit this user"),
            "{message}"
        );
        assert!(!message.contains("CAP_"), "{message}");
        let message = Error::NoTunFile { errno: Errno::ENOENT }.to_string();
        assert!(message.contains("`modprobe tun`") && !message.contains("CAP_"), "{message}");
        let message = Error::NoTun { errno: Errno::EPERM }.to_string();
        assert!(message.ends_with("this requires the capability CAP_NET_ADMIN"), "{message}");
    }

    #[test]
    fn of_settings_that_a_container_protects_it_is_told_what_to_do() {
        let of = |errno: Errno| {
            let (path, value) = (PathBuf::from("/proc/sys/net/ipv4/tcp_sack"), "1".to_owned());
            Error::Setting { path, value, source: errno.into() }.to_string()
        };
        assert_eq!(
            of(Errno::EROFS),
            "the kernel rejects \"1\" for /proc/sys/net/ipv4/tcp_sack: Read-only file system (os \
                error 30); containers mount /proc/sys read-only unless they run with `--privileged`"
        );
        assert!(of(Errno::EINVAL).ends_with("Invalid argument (os error 22)"));
    }
}
