//! Errors of operations on a device.

use shortflow_files::{Kind, reason};

use crate::converge::Obstacle;
use crate::deployed::quoted;
use crate::inline_router::InlineRouter;
use crate::start_remedy::start_remedy;

/// Why something cannot be done at a device.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no program to talk to the kernel with.
    #[error(
        "cannot run `{program}`: {}\n{}", reason(.source), start_remedy(.source)
    )]
    NoProgram {
        /// Which one.
        program: &'static str,
        /// Why not.
        source: std::io::Error,
    },
    /// The process may not change devices.
    #[error(
        "no permission to change devices\nrun it as root (sudo); it requires the capability \
            CAP_NET_ADMIN"
    )]
    NotAllowed,
    /// The device is not there.
    #[error("unknown device `{device}`\n{}", known(.there))]
    NoDevice {
        /// Its name.
        device: String,
        /// Those that are there.
        there: Vec<String>,
    },
    /// The device has no name.
    #[error("the device's name is empty\ngive one, such as eth0; `ip link` lists them")]
    NoName,
    /// No device can have the name.
    #[error(
        "invalid device name {device:?}: longer than 15 characters, the maximum on Linux\n`ip link` lists the devices"
    )]
    LongName {
        /// The name.
        device: String,
    },
    /// The name of the device is not a single plain word.
    #[error(
        "invalid device name {device:?}: it has characters with a meaning in tc or a shell\nuse letters, digits and the characters . _ - @ : + (`ip link set NAME name OTHER` renames a device)"
    )]
    OddName {
        /// Its name.
        device: String,
    },
    /// The device went away meanwhile.
    #[error(
        "the device `{device}` was removed, with everything deployed on it\nadd it again, and deploy again"
    )]
    Vanished {
        /// Its name.
        device: String,
    },
    /// Something is deployed there already.
    #[error(
        "policy {policy:?} is deployed on {device} already\nreplace it with `{reload}`, or remove it with \
            `{undeploy}`"
    )]
    Deployed {
        /// The command that replaces it.
        reload: String,
        /// The command that removes it.
        undeploy: String,
        /// The device.
        device: String,
        /// The policy that is there.
        policy: String,
    },
    /// Plans are deployed there already.
    #[error(
        "plans {plans:?} are deployed on {device} already\nchange them with `shortflow reload PLANS.toml`, or remove them with \
            `shortflow undeploy --dev {device}`"
    )]
    PlansDeployed {
        /// The device.
        device: String,
        /// The name of the plans.
        plans: String,
    },
    /// Plans are for a device with a policy.
    #[error(
        "policy {policy:?} is deployed on {device}\nremove it first: `shortflow undeploy --dev {device}`"
    )]
    PolicyInTheWay {
        /// The device.
        device: String,
        /// The policy that is there.
        policy: String,
    },
    /// A router takes the packets of the device before its queues.
    #[error(
        "{router} has {device}, and its packets bypass what is deployed there\nend that router first (Ctrl-C), or deploy on \
            another device"
    )]
    Routed {
        /// The device.
        device: String,
        /// The router.
        router: InlineRouter,
    },
    /// The device is one of ours, for what another one receives.
    #[error(
        "{device} holds the packets that {of} receives\nname that device: `--dev {of} --ingress`"
    )]
    OfIngress {
        /// The device.
        device: String,
        /// The device that receives them.
        of: String,
    },
    /// A marker asks for what packets that arrive do not have.
    #[error(
        "cannot deploy this on received packets: {what}\ndeploy it without --ingress, --up and --down"
    )]
    NotReceived {
        /// What.
        what: &'static str,
    },
    /// Nothing is deployed there.
    #[error("nothing is deployed on {device}\n`shortflow status` lists all deployments")]
    NotDeployed {
        /// The device.
        device: String,
    },
    /// A policy is in TCP already.
    #[error(
        "policy {policy:?} is deployed in TCP already\nchange it with `shortflow reload POLICY --tcp`, or remove it with \
            `shortflow undeploy --tcp`"
    )]
    TcpDeployed {
        /// The policy that is there.
        policy: String,
    },
    /// No policy is in TCP.
    #[error("no policy is deployed in TCP\n`shortflow status` lists all deployments")]
    TcpNotDeployed,
    /// No other network namespace has a profile with this congestion control.
    #[error(
        "no profile of another network namespace has the congestion control {control:?}\n`shortflow status --tcp` lists those whose namespace is gone; where one still exists, run `shortflow undeploy --tcp` in it"
    )]
    TcpNoSuchControl {
        /// The name.
        control: String,
    },
    /// The network namespace of a profile is in use.
    #[error(
        "the network namespace of {control:?} (net:[{namespace}]) still exists\nrun `shortflow undeploy --tcp` in it, with `ip netns exec` or `nsenter --net`"
    )]
    TcpInUse {
        /// The name of the congestion control.
        control: String,
        /// The inode of the namespace.
        namespace: u64,
    },
    /// The group of processes does not exist, or is of version 1.
    #[error("{path} is not a cgroup of version 2: {}\ngive the folder of one, such as /sys/fs/cgroup/system.slice", reason(.source))]
    TcpGroup {
        /// The folder.
        path: String,
        /// Why not.
        source: std::io::Error,
    },
    /// No cgroup2 file system is mounted.
    #[error(
        "`thresholds = \"application\"` requires cgroups of version 2, and no cgroup2 file system is mounted\nmount it: \
         mount -t cgroup2 none /sys/fs/cgroup"
    )]
    NoCgroups,
    /// A cgroup is given that nothing uses.
    #[error(
        "--cgroup applies where a role has `thresholds = \"application\"`, but no named role has it\nomit --cgroup, or add \
         that key to the role that marks"
    )]
    UnusedCgroup,
    /// The memo of the program has no room for the path.
    #[error(
        "the path of the cgroup and the names of the policy take {found} bytes; a device can store {max}"
    )]
    LongCgroup {
        /// How long they are, in bytes.
        found: usize,
        /// How long they may be.
        max: usize,
    },
    /// Another owner's discipline is there, or the policy is too large.
    #[error("cannot deploy on {device}: {obstacle}\n{}", remedy(.device, .obstacle))]
    Obstacle {
        /// The device.
        device: String,
        /// What is in the way.
        obstacle: Obstacle,
    },
    /// The policy has no queues for this device, where queues of ours stand.
    #[error(
        "{device} has queues of a policy, but none of the given roles has a queue\nadd the role \
            with the queue, or remove the queues first: shortflow undeploy --dev {device}"
    )]
    QueuesLeft {
        /// The device.
        device: String,
    },
    /// Another owner's filter uses the position of the program or its memo.
    #[error(
        "a filter of another program on {device} uses pref {place}, which {what} needs\nShortflow \
            does not change it: give it another pref (`tc filter show dev {device} {point}` lists it)"
    )]
    PlaceTaken {
        /// The device.
        device: String,
        /// What needs the place.
        what: &'static str,
        /// The way of the packets: `egress` or `ingress`.
        point: &'static str,
        /// The place.
        place: u64,
    },
    /// Another owner's `ingress` qdisc has the place of clsact.
    #[error(
        "{device} has an ingress qdisc of another program where this needs a clsact qdisc\nShortflow does \
            not change it; its owner removes it with `tc qdisc del dev {device} ingress`"
    )]
    IngressTaken {
        /// The device.
        device: String,
    },
    /// The options are longer than what a device keeps.
    #[error(
        "the options take {found} bytes; a device can store {max} for the next `reload`\nwrite \
            the values of --set into the policy"
    )]
    LongOptions {
        /// How long they are, in bytes.
        found: usize,
        /// How long they may be.
        max: usize,
    },
    /// Another command works on the device.
    #[error("{device} is locked by another shortflow process\nwait until it is done")]
    Claimed {
        /// The device.
        device: String,
    },
    /// A lock there would not be safe.
    #[error(
        "cannot lock devices: {folder} cannot be created or written, belongs to another user, or \
            is writable by others\ncreate it as root: install -d -m 755 -o root {}", quoted(.folder)
    )]
    NoLocks {
        /// The folder.
        folder: String,
    },
    /// Something else stands in the place of the folder for locks.
    #[error(
        "cannot lock devices: {folder} is {kind} instead of a folder\nreplace it by a folder, as \
            root: rm {0} && install -d -m 755 -o root {0}", quoted(.folder)
    )]
    NoLockFolder {
        /// The path of the folder.
        folder: String,
        /// What stands there.
        kind: Kind,
    },
    /// The classes of an earlier policy still hold packets.
    #[error(
        "{packets} packets of the previous policy still wait on {device}; `reload` discards none \
            of them\ntry again later, or use `shortflow undeploy --dev {device}`, which drops them"
    )]
    Busy {
        /// The device.
        device: String,
        /// How many.
        packets: u64,
    },
    /// The kernel refused a step.
    #[error("the kernel refused a step: {message}\nthe step was: {command}")]
    Refused {
        /// The step, with the program that does it.
        command: String,
        /// What was said.
        message: String,
    },
    /// What `tc` or `ip` says cannot be read.
    #[error(
        "cannot parse the output of `{command}`: {message}\nsupported are iproute2 6.1 and \
        newer"
    )]
    Unreadable {
        /// What was run.
        command: String,
        /// What is wrong.
        message: String,
    },
    /// The program that conditions packets cannot be had.
    #[error(transparent)]
    Program(#[from] shortflow_ebpf::Error),
    /// The machine failed otherwise.
    #[error("{what}: {}", reason(.source))]
    Machine {
        /// What was tried.
        what: &'static str,
        /// Why not.
        source: std::io::Error,
    },
}

impl Error {
    /// Whether what was asked for is wrong, and not the machine.
    pub fn is_of_input(&self) -> bool {
        match self {
            Error::NoName
            | Error::LongName { .. }
            | Error::OddName { .. }
            | Error::NoDevice { .. }
            | Error::Deployed { .. }
            | Error::PlansDeployed { .. }
            | Error::PolicyInTheWay { .. }
            | Error::LongOptions { .. }
            | Error::NotDeployed { .. }
            | Error::Routed { .. }
            | Error::OfIngress { .. }
            | Error::NotReceived { .. }
            | Error::TcpDeployed { .. }
            | Error::TcpNotDeployed
            | Error::TcpNoSuchControl { .. }
            | Error::TcpInUse { .. }
            | Error::TcpGroup { .. }
            | Error::UnusedCgroup
            | Error::LongCgroup { .. }
            | Error::QueuesLeft { .. } => true,
            Error::Obstacle { obstacle, .. } => !matches!(obstacle, Obstacle::Other { .. }),
            _ => false,
        }
    }
}

fn known(there: &[String]) -> String {
    match there {
        [] => "this machine has no devices".to_owned(),
        names => format!("the devices are {}", names.join(", ")),
    }
}

fn remedy(device: &str, obstacle: &Obstacle) -> String {
    match obstacle {
        Obstacle::Other { .. } => {
            format!(
                "Shortflow does not change it; its owner removes it with `tc qdisc del dev \
                    {device} root`"
            )
        }
        Obstacle::TooMany(_) | Obstacle::TooLong(_) | Obstacle::ManyLevels(_) => {
            "use fewer classes or rules".to_owned()
        }
    }
}
