//! Features that a machine may lack.

use std::fmt;

/// A program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Program {
    /// [`SenderProgram`](crate::SenderProgram).
    Sender,
    /// [`EdgeProgram`](crate::edge::EdgeProgram).
    Edge,
    /// [`EarlyProgram`](crate::early::EarlyProgram).
    Early,
    /// [`PlansProgram`](crate::plans::PlansProgram).
    Plans,
    /// [`AggregateFair`](crate::AggregateFair).
    Growth,
    /// [`InlineProgram`](crate::InlineProgram).
    Inline,
    /// [`QdiscProgram`](crate::qdisc::QdiscProgram).
    Qdisc,
    /// [`TcpProfile`](crate::profile::TcpProfile).
    Profile,
    /// [`SocketOption`](crate::option::SocketOption).
    Option,
}

impl Program {
    /// The first Linux that has all that it needs.
    fn since(self) -> &'static str {
        match self {
            Program::Sender => "5.9",
            Program::Edge | Program::Early | Program::Plans => "5.17",
            Program::Growth => "6.4",
            Program::Inline => "5.15",
            Program::Qdisc => "6.16",
            Program::Profile => "6.1",
            Program::Option => "5.18",
        }
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Program::Sender => "the eBPF program that reads the kernel's TCP state",
            Program::Edge => "the eBPF program that classifies, marks and polices packets",
            Program::Early => "the eBPF program that drops packets before they wait",
            Program::Plans => "the eBPF program that finds the customer of a packet",
            Program::Growth => "the eBPF program for aggregate-fair congestion control",
            Program::Inline => "the XDP program that hands packets to the inline router",
            Program::Qdisc => "the eBPF program that queues packets (BPF qdisc)",
            Program::Profile => "the eBPF program that keeps TCP connections within a profile",
            Program::Option => "the eBPF program of the socket option for thresholds",
        })
    }
}

/// Why a program cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// This build does not include it.
    #[error(
        "this build does not include {0}\nbuild with clang, libelf and zlib installed: `make \
            setup` and `make build`, or `cargo build --release --features ebpf`"
    )]
    LeftOut(Program),
    /// The kernel does not describe its own types.
    #[error(
        "{0} needs /sys/kernel/btf/vmlinux, which this kernel does not provide\nuse a kernel built \
            with CONFIG_DEBUG_INFO_BTF, as most distributions do"
    )]
    NoTypes(Program),
    /// The process may not load programs.
    #[error(
        "no permission to load {0}\nrun it as root, or give it the capabilities CAP_BPF, \
            CAP_PERFMON and CAP_NET_ADMIN"
    )]
    NotAllowed(Program),
    /// The kernel has no eBPF.
    #[error(
        "{0} needs eBPF at network devices, which this kernel does not support\nuse a kernel built \
            with CONFIG_BPF_SYSCALL, CONFIG_NET_CLS_BPF and CONFIG_NET_SCH_INGRESS"
    )]
    NoEbpf(Program),
    /// Another XDP program is at the device.
    #[error("another XDP program is attached to the device\n`ip -d link` shows it")]
    XdpInUse,
    /// Another owner's program uses our position.
    #[error(
        "another owner's program uses priority {priority} at the device\nremove it, or move it to \
            another priority"
    )]
    Occupied {
        /// The place.
        priority: u32,
    },
    /// The process has too many files open.
    #[error(
        "too many open files for {0}\n\
         raise the limit: ulimit -n 4096, or LimitNOFILE=4096 for a service"
    )]
    TooManyFiles(Program),
    /// The kernel does not take the program.
    #[error(
        "the kernel rejects {program} ({what}): {why}\nuse Linux {since} or newer",
        since = program.since()
    )]
    Refused {
        /// Which.
        program: Program,
        /// At which step.
        what: &'static str,
        /// What the kernel says.
        why: String,
    },
}

#[cfg(feature = "ebpf")]
impl Program {
    /// What the kernel says at a step, in words.
    pub(crate) fn at(self, what: &'static str) -> impl Fn(libbpf_rs::Error) -> Error {
        use libbpf_rs::ErrorKind;
        move |error| match error.kind() {
            _ if is_out_of_files(&format!("{error:#}")) => Error::TooManyFiles(self),
            ErrorKind::PermissionDenied => Error::NotAllowed(self),
            ErrorKind::Unsupported | ErrorKind::NotFound => Error::NoEbpf(self),
            _ => Error::Refused { program: self, what, why: format!("{error:#}") },
        }
    }
}

/// Whether no descriptor is left for the process or for the machine (EMFILE, ENFILE), by what libbpf says.
#[cfg(feature = "ebpf")]
pub(crate) fn is_out_of_files(said: &str) -> bool {
    ["(os error 23)", "(os error 24)"].iter().any(|number| said.contains(number))
}

#[cfg(all(test, feature = "ebpf"))]
mod tests {
    use super::*;

    #[test]
    fn too_many_open_files_are_not_the_kernels_version() {
        let error = std::io::Error::from_raw_os_error(24);
        let message = Program::Edge.at("load")(libbpf_rs::Error::from(error)).to_string();
        assert!(message.contains("ulimit -n") && !message.contains("use Linux"), "{message}");
    }
}
