//! Counts the packets of a capture that belong to flows, and those that were skipped, with the reasons.

use std::collections::BTreeMap;
use std::fmt;

/// Why a packet belongs to no flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Why {
    /// The capture is of a kind of link that is not read, by its number.
    Link(i32),
    /// The frame carries something else than IP, by its EtherType.
    Type(u16),
    /// PPP's own messages.
    Ppp,
    /// The capture holds too little of it.
    Cut,
    /// Its headers contradict themselves.
    Malformed,
    /// It is in more tunnels, tags and labels than are followed.
    TooDeep,
    /// A fragment without the header of its transport protocol.
    LaterFragment,
    /// A protocol over IP that is no TCP, UDP or tunnel, by its number.
    Protocol(u8),
    /// UDP, but neither QUIC nor WireGuard.
    OtherUdp,
    /// Of a TCP connection whose beginning is not in the capture.
    Begun,
    /// Of a TCP connection, but further from what came before than any window reaches.
    OutOfWindow,
    /// The capture does not say when it passed.
    NoTime,
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Why::Link(number) => write!(f, "unsupported link type {number}"),
            Why::Type(0x0806) => f.write_str("ARP"),
            Why::Type(length @ ..0x0600) => write!(f, "802.3 of {length} bytes (not IP)"),
            Why::Type(kind) => write!(f, "EtherType 0x{kind:04x} (not IP)"),
            Why::Ppp => f.write_str("PPP control"),
            Why::Cut => f.write_str("headers cut off"),
            Why::Malformed => f.write_str("malformed headers"),
            Why::TooDeep => f.write_str("too many encapsulations"),
            Why::LaterFragment => f.write_str("later fragment"),
            Why::Protocol(1 | 58) => f.write_str("ICMP"),
            Why::Protocol(50) => f.write_str("ESP (encrypted)"),
            Why::Protocol(number) => write!(f, "IP protocol {number}"),
            Why::OtherUdp => f.write_str("UDP (not QUIC or WireGuard)"),
            Why::Begun => f.write_str("TCP (started before the capture)"),
            Why::OutOfWindow => f.write_str("TCP (outside any receive window)"),
            Why::NoTime => f.write_str("no time stamp"),
        }
    }
}

/// In what a packet was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Inside {
    /// A tag of a virtual LAN.
    Vlan,
    /// A session of PPP over Ethernet.
    Pppoe,
    /// MPLS labels.
    Mpls,
    /// GRE.
    Gre,
    /// IP in IP, of either version.
    IpInIp,
    /// VXLAN.
    Vxlan,
    /// Geneve.
    Geneve,
}

impl Inside {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Inside::Vlan => "VLAN",
            Inside::Pppoe => "PPPoE",
            Inside::Mpls => "MPLS",
            Inside::Gre => "GRE",
            Inside::IpInIp => "IP in IP",
            Inside::Vxlan => "VXLAN",
            Inside::Geneve => "Geneve",
        }
    }
}

/// What became of the packets of a capture.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reading {
    /// All packets.
    pub packets: u64,
    /// Those that belong to no flow, by cause.
    pub skipped: BTreeMap<Why, u64>,
    /// Packets that were taken out of an encapsulation, by its kind.
    pub inside: BTreeMap<Inside, u64>,
    /// Flows of TCP that had not ended when the capture did: they count with the bytes that were seen.
    pub open: u64,
    /// Bytes of flows that count by their sequence numbers, but are in no packet of the capture.
    pub missing_bytes: u64,
    /// Whether the file ends within a packet.
    pub is_cut: bool,
}

impl Reading {
    /// In words: how many packets, out of what, and which were skipped.
    pub fn describe(&self) -> String {
        let skipped: u64 = self.skipped.values().sum();
        let mut text =
            format!("{} packets, {} belong to flows", self.packets, self.packets - skipped);
        let list = |each: Vec<String>| each.join(", ");
        let inside = self.inside.iter().map(|(what, count)| format!("{count} in {}", what.name()));
        if !self.inside.is_empty() {
            text += &format!(" ({})", list(inside.collect()));
        }
        let causes = self.skipped.iter().map(|(why, count)| format!("{count} {why}"));
        if skipped > 0 {
            text += &format!("; skipped: {}", list(causes.collect()));
        }
        match self.open {
            0 => {}
            1 => text += "; 1 flow had not ended and counts with the bytes seen",
            open => text += &format!("; {open} flows had not ended and count with the bytes seen"),
        }
        if self.missing_bytes > 0 {
            text += &format!(
                "; {} bytes are not in the capture and count by their sequence numbers",
                self.missing_bytes
            );
        }
        if self.is_cut {
            text += "; the file ends in the middle of a packet";
        }
        text
    }
}
