//! The ways in which packets are forwarded.

use shortflow_run::Error;
use shortflow_scenario::{Overrides, Scenario, from_texts};
use shortflow_testbed::PortKind;

/// A way on which packets are forwarded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// The kernel, between two veth pairs, with `ip_forward`.
    Kernel,
    /// The router's loop with a plain FIFO, over TUN as all below but two.
    Fifo,
    /// The same over packet sockets.
    FifoOverPacket,
    /// The same over AF_XDP.
    FifoOverXdp,
    /// The same with marking by the state of TCP at the sender, whose kernel writes a record before each packet.
    TcpState,
    /// The router's loop with FQ-CoDel, `policies/fq-codel.toml`.
    FqCodel,
    /// The router's loop with a Fair Marker and the queue behind it, `policies/fair-marker.toml`.
    FairMarker,
    /// The router's loop with three bands of strict priority, `policies/strict-priority.toml`.
    StrictPriority,
    /// Frames between two AF_XDP sockets, without any element.
    InlineBare,
    /// The inline router with a FIFO.
    InlineFifo,
    /// The inline router with FQ-CoDel, `policies/fq-codel.toml`.
    InlineFqCodel,
    /// The inline router with a Fair Marker and the queue behind it, `policies/fair-marker.toml`.
    InlineFairMarker,
}

/// Marking by the state of TCP, and nothing else.
const TCP_STATE: &str = "[[roles.source.classes]]\nname = \"all\"\nmarker.tcp-state = {}\n";

impl Way {
    /// The inline router, and what it is compared with.
    pub const INLINE: &[Way] =
        &[Way::InlineBare, Way::InlineFifo, Way::InlineFqCodel, Way::InlineFairMarker, Way::Kernel];

    /// The router of rehearsals, and what it is compared with.
    pub const ROUTER: &[Way] = &[
        Way::Fifo,
        #[cfg(feature = "ebpf")]
        Way::TcpState,
        Way::FqCodel,
        Way::FairMarker,
        Way::StrictPriority,
        Way::FifoOverPacket,
        Way::FifoOverXdp,
        Way::Kernel,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Way::Kernel => "kernel",
            Way::Fifo => "fifo",
            Way::FifoOverPacket => "fifo, packet",
            Way::FifoOverXdp => "fifo, xdp",
            Way::TcpState => "tcp-state",
            Way::FqCodel => "fq-codel",
            Way::FairMarker => "fair-marker",
            Way::StrictPriority => "strict-priority",
            Way::InlineBare => "bare",
            Way::InlineFifo => "fifo",
            Way::InlineFqCodel => "fq-codel",
            Way::InlineFairMarker => "fair-marker",
        }
    }

    /// The way that it is compared with.
    pub fn reference(self) -> Way {
        match self {
            Way::InlineBare | Way::InlineFifo | Way::InlineFqCodel | Way::InlineFairMarker => {
                Way::InlineBare
            }
            _ => Way::Fifo,
        }
    }

    /// The policy of the inline router; `None` if another one forwards. The bare one has none in effect.
    pub(super) fn inline(self) -> Option<&'static str> {
        match self {
            Way::InlineBare | Way::InlineFifo => {
                Some("[roles.core]\nqueue.fifo = { limit = \"1000 pkt\" }\n")
            }
            Way::InlineFqCodel => Some(include_str!("../../../../../policies/fq-codel.toml")),
            Way::InlineFairMarker => Some(include_str!("../../../../../policies/fair-marker.toml")),
            _ => None,
        }
    }

    /// The ports of the router; `None` if the kernel or the inline router forwards.
    pub(super) fn ports(self) -> Option<PortKind> {
        match self {
            Way::Kernel => None,
            Way::FifoOverPacket => Some(PortKind::Packet),
            Way::FifoOverXdp => Some(PortKind::Xdp),
            Way::Fifo | Way::TcpState => Some(PortKind::Tun),
            Way::FqCodel | Way::FairMarker | Way::StrictPriority => Some(PortKind::Tun),
            Way::InlineBare | Way::InlineFifo | Way::InlineFqCodel | Way::InlineFairMarker => None,
        }
    }

    /// The policy of the router, and which of its roles stands where.
    fn policy(self) -> Option<(&'static str, &'static str)> {
        const QUEUE: &str = r#"bind = [{ role = "core", at = "r", to = "receiver" }]"#;
        const BOTH: &str = r#"bind = [{ role = "edge", at = "r", from = "sender" }, { role = "core", at = "r", to = "receiver" }]"#;
        const SOURCE: &str = r#"bind = [{ role = "source", at = "sender", to = "r" }]"#;
        match self {
            Way::Kernel | Way::Fifo | Way::FifoOverPacket | Way::FifoOverXdp => None,
            Way::InlineBare | Way::InlineFifo | Way::InlineFqCodel | Way::InlineFairMarker => None,
            Way::TcpState => Some((TCP_STATE, SOURCE)),
            Way::FqCodel => Some((include_str!("../../../../../policies/fq-codel.toml"), QUEUE)),
            Way::FairMarker => {
                Some((include_str!("../../../../../policies/fair-marker.toml"), BOTH))
            }
            Way::StrictPriority => {
                Some((include_str!("../../../../../policies/strict-priority.toml"), QUEUE))
            }
        }
    }

    /// A sender, a router that does this, and a receiver.
    pub(super) fn scenario(self) -> Result<Scenario, Error> {
        let links = include_str!("scenario.toml");
        let (policy, bind) = self.policy().unzip();
        let bound =
            bind.map_or(String::new(), |bind| format!("policy = \"policy.toml\"\n{bind}\n"));
        let text = bound + links;
        let mut texts = vec![("router.toml", text.as_str())];
        texts.extend(policy.map(|policy| ("policy.toml", policy)));
        let loaded = from_texts(&texts, &Overrides::default());
        let loaded = loaded.map_err(|mistakes| Error::Machine(mistakes.to_string()))?;
        Ok(loaded.into_points().swap_remove(0).scenario)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_has_a_scenario_without_mistakes_and_policies_are_bound() {
        for &way in Way::ROUTER {
            let scenario = way.scenario().unwrap();
            assert_eq!(scenario.bindings.is_empty(), way.policy().is_none(), "{}", way.name());
        }
    }
}
