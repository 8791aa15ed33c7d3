//! What a machine may lack.

/// Why a program cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It was left out when this was built.
    #[error(
        "this build leaves out the eBPF program that reads the state of a kernel's TCP\n\
         build it with clang, libelf and zlib at hand: `make setup` and `make build`, or `cargo build --release \
         --features ebpf`"
    )]
    LeftOut,
    /// The kernel does not describe its own types.
    #[error(
        "this kernel does not describe its types (/sys/kernel/btf/vmlinux is not there), which the eBPF program that \
         reads the state of its TCP needs\n\
         use a kernel that was built with CONFIG_DEBUG_INFO_BTF, as those of distributions are"
    )]
    NoTypes,
    /// The process may not load programs.
    #[error(
        "this process may not load the eBPF program that reads the state of the kernel's TCP\n\
         run it as root, or give it the capabilities CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN"
    )]
    NotAllowed,
    /// The kernel has no eBPF.
    #[error(
        "this kernel has no eBPF, or none at devices, so the state of its TCP cannot be read\n\
         use a kernel that was built with CONFIG_BPF_SYSCALL, CONFIG_NET_CLS_BPF and CONFIG_NET_SCH_INGRESS"
    )]
    NoEbpf,
    /// The kernel does not take the program.
    #[error(
        "the kernel does not take the eBPF program that reads the state of its TCP ({what}): {why}\n\
         use Linux 5.9 or a later one"
    )]
    Refused {
        /// At which step.
        what: &'static str,
        /// What the kernel says.
        why: String,
    },
}

#[cfg(feature = "ebpf")]
impl Error {
    /// What the kernel says at a step.
    pub(crate) fn at(what: &'static str, kind: std::io::ErrorKind, why: String) -> Error {
        use std::io::ErrorKind;
        match kind {
            ErrorKind::PermissionDenied => Error::NotAllowed,
            ErrorKind::Unsupported | ErrorKind::NotFound => Error::NoEbpf,
            _ => Error::Refused { what, why },
        }
    }
}
