//! Matches on several header fields (RFC 2475 §2.3.1: MF classifier).

use std::ops::RangeInclusive;

use shortflow_units::Bytes;

use super::DscpSet;
use crate::{Address, Label, Packet, ParamsError, Protocol, SenderView};

/// Addresses that share their first bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AddressPrefix {
    address: Address,
    mask: u32,
}

impl AddressPrefix {
    /// The addresses that agree with `address` in the first `length` bits; its other bits must be
    /// zero.
    pub fn new(address: Address, length: u8) -> Result<Self, ParamsError> {
        if length > 32 {
            return Err(ParamsError::new(
                "prefix",
                format!("prefix length {length} of {address} must be from 0 to 32"),
            ));
        }
        let mask = u32::MAX.checked_shl(32 - u32::from(length)).unwrap_or(0);
        let network = Address(address.0 & mask);
        if network != address {
            return Err(ParamsError::new(
                "prefix",
                format!("{address}/{length} has bits beyond its prefix; write {network}/{length}"),
            ));
        }
        Ok(AddressPrefix { address, mask })
    }

    #[inline]
    fn contains(self, address: Address) -> bool {
        address.0 & self.mask == self.address.0
    }
}

/// Ports from a first to a last one, both included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortRange(RangeInclusive<u16>);

impl PortRange {
    /// The ports from `first` to `last`.
    pub fn new(first: u16, last: u16) -> Result<Self, ParamsError> {
        if first > last {
            return Err(ParamsError::new(
                "ports",
                format!("first port {first} must not be above last port {last}"),
            ));
        }
        Ok(PortRange(first..=last))
    }
}

/// A match on what a source host knows of a packet's connection. Where nobody tells, what is asked
/// for does not match.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SenderMatch {
    /// The connection's label.
    pub label: Option<Label>,
    /// The connection has sent at most so much before this packet.
    pub sent_up_to: Option<Bytes>,
    /// At most so much remains of its messages before this packet.
    pub remaining_up_to: Option<Bytes>,
}

impl SenderMatch {
    /// Whether any packet matches, whatever its sender knows.
    pub fn is_empty(&self) -> bool {
        *self == SenderMatch::default()
    }

    #[inline]
    fn matches(&self, sender: &SenderView) -> bool {
        let within = |known: Option<Bytes>, most| known.is_some_and(|known| known <= most);
        self.label.is_none_or(|label| label == sender.label)
            && self.sent_up_to.is_none_or(|most| sender.sent <= most)
            && self.remaining_up_to.is_none_or(|most| within(sender.remaining, most))
    }
}

/// A match on header fields, and at a source host on what it knows besides; a field that is `None` matches every packet.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MultiField {
    /// Source address.
    pub src: Option<AddressPrefix>,
    /// Destination address.
    pub dst: Option<AddressPrefix>,
    /// Source port.
    pub src_ports: Option<PortRange>,
    /// Destination port.
    pub dst_ports: Option<PortRange>,
    /// Transport protocol.
    pub protocol: Option<Protocol>,
    /// Code points.
    pub dscps: Option<DscpSet>,
    /// What the source host knows.
    pub sender: Option<SenderMatch>,
}

impl MultiField {
    /// Whether every given field matches, where nobody tells of the sender.
    #[inline]
    pub fn matches(&self, packet: &Packet) -> bool {
        self.sender.is_none() && self.matches_header(packet)
    }

    /// Whether every given field matches; `sender` is what a source host tells.
    #[inline]
    pub fn matches_at(&self, packet: &Packet, sender: Option<&SenderView>) -> bool {
        let asked = self.sender.as_ref();
        asked.is_none_or(|asked| sender.is_some_and(|sender| asked.matches(sender)))
            && self.matches_header(packet)
    }

    #[inline]
    fn matches_header(&self, packet: &Packet) -> bool {
        let key = &packet.key;
        self.dscps.is_none_or(|set| set.contains(packet.dscp))
            && self.protocol.is_none_or(|protocol| protocol == key.protocol)
            && self.src.is_none_or(|prefix| prefix.contains(key.src))
            && self.dst.is_none_or(|prefix| prefix.contains(key.dst))
            && self.src_ports.as_ref().is_none_or(|ports| ports.0.contains(&key.src_port))
            && self.dst_ports.as_ref().is_none_or(|ports| ports.0.contains(&key.dst_port))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Dscp;

    fn address(text: &str) -> Address {
        Address(text.parse::<std::net::Ipv4Addr>().unwrap().to_bits())
    }

    #[test]
    fn every_given_field_must_match_and_no_other_matters() {
        let web_from_site = MultiField {
            src: Some(AddressPrefix::new(address("10.1.0.0"), 16).unwrap()),
            dst_ports: Some(PortRange::new(80, 443).unwrap()),
            ..MultiField::default()
        };
        let matches = |src, dst_port| {
            let mut packet = crate::packet::test_packet();
            packet.key.src = address(src);
            packet.key.dst_port = dst_port;
            packet.dscp = Dscp::AF13;
            web_from_site.matches(&packet)
        };
        assert!(matches("10.1.255.255", 80));
        assert!(matches("10.1.0.0", 443));
        assert!(!matches("10.2.0.0", 80));
        assert!(!matches("10.1.0.0", 444));
    }

    #[test]
    fn what_a_source_host_knows_matches_there_and_nowhere_else() {
        let rule = |sender| MultiField { sender: Some(sender), ..MultiField::default() };
        let sender = SenderView {
            label: Label(3),
            sent: Bytes(5_000),
            remaining: Some(Bytes(700)),
            ..SenderView::default()
        };
        let packet = crate::packet::test_packet();
        let matches = |asked: SenderMatch| rule(asked).matches_at(&packet, Some(&sender));
        let none = SenderMatch::default();
        let label = |label| SenderMatch { label: Some(Label(label)), ..none };
        assert_eq!([label(3), label(4)].map(matches), [true, false]);
        let sent = |most| SenderMatch { sent_up_to: Some(Bytes(most)), ..none };
        assert_eq!([sent(5_000), sent(4_999)].map(matches), [true, false]);
        let remaining = |most| SenderMatch { remaining_up_to: Some(Bytes(most)), ..none };
        assert_eq!([remaining(700), remaining(699)].map(matches), [true, false]);

        assert!(!rule(label(3)).matches(&packet), "in a queue");
        assert!(!rule(label(3)).matches_at(&packet, None), "at a router");
        let endless = SenderView { remaining: None, ..sender };
        assert!(!rule(remaining(700)).matches_at(&packet, Some(&endless)));
        assert!(MultiField::default().matches_at(&packet, None), "nothing is asked for");
    }

    #[test]
    fn a_prefix_of_no_bits_matches_every_address_and_one_of_32_a_single_one() {
        let all = AddressPrefix::new(Address(0), 0).unwrap();
        assert!(all.contains(address("255.255.255.255")));
        let one = AddressPrefix::new(address("10.0.0.1"), 32).unwrap();
        assert!(one.contains(address("10.0.0.1")) && !one.contains(address("10.0.0.0")));
    }

    #[test]
    fn a_prefix_with_stray_bits_is_refused_with_the_one_that_was_meant() {
        let refused = |text, length| AddressPrefix::new(address(text), length).unwrap_err();
        assert_eq!(
            refused("10.1.2.3", 16).to_string(),
            "10.1.2.3/16 has bits beyond its prefix; write 10.1.0.0/16"
        );
        assert_eq!(
            refused("10.1.2.3", 33).to_string(),
            "prefix length 33 of 10.1.2.3 must be from 0 to 32"
        );
    }
}
