//! What a machine or two devices lack.

use shortflow_deploy::InlineRouter;

use crate::watched::Change;

/// Why packets cannot be routed inline.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Both devices are the same.
    #[error("both devices are `{0}`\nname two, as in --between eth1,eth2")]
    SameDevice(String),
    /// A device has an address, which it would lose in a bridge.
    #[error(
        "{device} has the address {address}, which does not work while the device is a port of a bridge\n\
         use devices without addresses, or first put both into a bridge that has the address"
    )]
    HasAddress {
        /// The device.
        device: String,
        /// Its address.
        address: String,
    },
    /// A device is a port of another bridge.
    #[error(
        "{device} belongs to {master}, and the other device does not\n\
         take it out (`ip link set {device} nomaster`), or put the other device there too"
    )]
    InAnother {
        /// The device.
        device: String,
        /// The bridge or bond that it belongs to.
        master: String,
    },
    /// A device is a bridge, which cannot be a port of one.
    #[error("{device} is a bridge, and no device between two networks\n{}", ports_text(.ports))]
    IsBridge {
        /// The device.
        device: String,
        /// Its ports.
        ports: Vec<String>,
    },
    /// Both devices are the two ends of one cable.
    #[error(
        "{first} and {second} are the two ends of one veth cable, so packets would run in a circle\n         name the devices at whose other ends the two networks are"
    )]
    Peers {
        /// A device.
        first: String,
        /// The other one.
        second: String,
    },
    /// The bridge or a port is switched off.
    #[error(
        "{device} is down, so no packet would pass without the router\nswitch it on: ip link set dev {device} up"
    )]
    Down {
        /// The bridge or the port.
        device: String,
    },
    /// The bridge does more than to forward between the two devices.
    #[error(
        "the bridge {bridge} {what}, which routing inline would bypass\n\
         use a bridge of its own with the two devices as its only ports; without one, `inline` makes it"
    )]
    Bridge {
        /// The bridge.
        bridge: String,
        /// What it does.
        what: String,
        /// How to undo that.
        undo: String,
    },
    /// The bridge is no longer what it was when the router started.
    #[error("the bridge {bridge} or its ports changed, so the router ended\n{change}")]
    Changed {
        /// The bridge.
        bridge: String,
        /// What changed.
        change: Change,
    },
    /// A policy is deployed at a device.
    #[error(
        "policy {policy:?} is deployed on {device}, and routing inline would bypass it\nremove it: {undeploy}"
    )]
    Deployed {
        /// The device; `eth1 (received)` for what it receives.
        device: String,
        /// The policy.
        policy: String,
        /// The command that removes it.
        undeploy: String,
    },
    /// Another router has a device.
    #[error("{router} has {device} already\nend that router first (Ctrl-C), or use other devices")]
    Routed {
        /// The device.
        device: String,
        /// The router.
        router: InlineRouter,
    },
    /// Another XDP program is at a device.
    #[error(
        "another XDP program is attached to {device}\nend the process that holds it, or detach it: ip link set dev {device} \
         {mode} off"
    )]
    OtherProgram {
        /// The device.
        device: String,
        /// How `ip` calls the way it is attached: `xdp` or `xdpgeneric`.
        mode: &'static str,
    },
    /// A device is not an Ethernet device.
    #[error(
        "{device} is no Ethernet device, so it cannot be a port of a bridge\nuse an Ethernet device"
    )]
    NoEthernet {
        /// The device.
        device: String,
    },
    /// The device has more receive queues than the program knows.
    #[error(
        "{device} has {found} receive queues; the limit is {max}\nreduce them: ethtool -L {device} combined {max}"
    )]
    ManyQueues {
        /// The device.
        device: String,
        /// The number of its queues.
        found: u32,
        /// The limit.
        max: u32,
    },
    /// The rate of a line is not known.
    #[error(
        "the speed of {device} is unknown\ngive the rate at which packets leave it: --rate '95 Mbit/s'"
    )]
    NoRate {
        /// The device.
        device: String,
    },
    /// A command failed.
    #[error("`{command}` failed: {why}\n{remedy}")]
    Command {
        /// The command.
        command: String,
        /// What it printed.
        why: String,
        /// What to do.
        remedy: &'static str,
    },
    /// A device or its name.
    #[error(transparent)]
    Device(#[from] shortflow_deploy::Error),
    /// The program.
    #[error(transparent)]
    Program(#[from] shortflow_ebpf::Error),
    /// A socket cannot be made.
    #[error(
        "cannot open an AF_XDP socket at queue {queue} of {device}: {why}\n\
         it requires CAP_NET_RAW, CAP_IPC_LOCK and a kernel with CONFIG_XDP_SOCKETS; another program may use the queue"
    )]
    Socket {
        /// The device.
        device: String,
        /// The queue.
        queue: u32,
        /// Why not.
        why: String,
    },
    /// The kernel refuses something else.
    #[error("{what}: {source}")]
    Kernel {
        /// What failed.
        what: &'static str,
        /// Why.
        source: std::io::Error,
    },
}

impl Error {
    /// Whether the input is to blame, not the machine.
    pub fn is_of_input(&self) -> bool {
        match self {
            Error::SameDevice(_)
            | Error::NoEthernet { .. }
            | Error::NoRate { .. }
            | Error::HasAddress { .. }
            | Error::InAnother { .. }
            | Error::IsBridge { .. }
            | Error::Peers { .. }
            | Error::Down { .. }
            | Error::Routed { .. }
            | Error::Bridge { .. }
            | Error::Deployed { .. } => true,
            Error::Device(error) => error.is_of_input(),
            _ => false,
        }
    }

    pub(crate) fn kernel(what: &'static str) -> impl FnOnce(nix::errno::Errno) -> Error {
        move |errno| Error::Kernel { what, source: errno.into() }
    }
}

fn ports_text(ports: &[String]) -> String {
    match ports {
        [first, second] => format!("name its two ports: --between {first},{second}"),
        _ => "name the two devices that it is to join: --between eth1,eth2".to_owned(),
    }
}
