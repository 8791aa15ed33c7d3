//! Matches on several header fields (RFC 2475 §2.3.1: MF classifier).

use std::ops::RangeInclusive;

use shortflow_packet::{Label, Packet, Prefix, Protocol, SenderView};
use shortflow_units::Bytes;

use super::{AnyOf, DscpSet};
use crate::ParamsError;

/// A range of ports, both ends included. A packet without ports has port 0, so a range from 1 on excludes it.
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

    /// The first and the last port.
    pub fn ends(&self) -> [u16; 2] {
        [*self.0.start(), *self.0.end()]
    }

    /// Whether the range contains `port`.
    #[inline]
    pub fn contains(&self, port: u16) -> bool {
        self.0.contains(&port)
    }
}

/// A match on what a source host knows about a packet's connection. Unknown values do not match.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SenderMatch {
    /// The connection's label.
    pub label: Option<Label>,
    /// The connection has sent at most this much before the packet.
    pub sent_up_to: Option<Bytes>,
    /// At most this much of its messages remains before the packet.
    pub remaining_up_to: Option<Bytes>,
    /// The connection carries the reply to a byte-range request.
    pub byte_range: bool,
}

impl SenderMatch {
    /// Whether it matches any packet, whatever the sender.
    pub fn is_empty(&self) -> bool {
        *self == SenderMatch::default()
    }

    #[inline]
    fn matches(&self, sender: &SenderView) -> bool {
        let within = |known: Option<Bytes>, max| known.is_some_and(|known| known <= max);
        self.label.is_none_or(|label| label == sender.label)
            && (!self.byte_range || sender.is_range)
            && self.sent_up_to.is_none_or(|max| sender.sent <= max)
            && self.remaining_up_to.is_none_or(|max| within(sender.remaining, max))
    }
}

/// A match on header fields, and at a source host on the state of the sender. A packet must match every
/// field, and one value of a field. A field that is `None` matches every packet. One step per value.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MultiField {
    /// Source address.
    pub src: Option<AnyOf<Prefix>>,
    /// Destination address.
    pub dst: Option<AnyOf<Prefix>>,
    /// Source port.
    pub src_ports: Option<AnyOf<PortRange>>,
    /// Destination port.
    pub dst_ports: Option<AnyOf<PortRange>>,
    /// Source port or destination port: packets of a service in both directions.
    pub ports: Option<AnyOf<PortRange>>,
    /// Transport protocol.
    pub protocol: Option<AnyOf<Protocol>>,
    /// Code points.
    pub dscps: Option<DscpSet>,
    /// The state that a source host knows.
    pub sender: Option<SenderMatch>,
}

impl MultiField {
    /// Whether all fields match, without a sender's state.
    #[inline]
    pub fn matches(&self, packet: &Packet) -> bool {
        self.sender.is_none() && self.matches_header(packet)
    }

    /// Whether all fields match. `sender` is the state at a source host.
    #[inline]
    pub fn matches_at(&self, packet: &Packet, sender: Option<&SenderView>) -> bool {
        let asked = self.sender.as_ref();
        asked.is_none_or(|asked| sender.is_some_and(|sender| asked.matches(sender)))
            && self.matches_header(packet)
    }

    #[inline]
    fn matches_header(&self, packet: &Packet) -> bool {
        let key = &packet.key;
        let within = |ports: &Option<AnyOf<PortRange>>, port| {
            ports.as_ref().is_none_or(|ports| ports.any(|range| range.contains(port)))
        };
        let beneath = |prefixes: &Option<AnyOf<Prefix>>, address| {
            prefixes.as_ref().is_none_or(|prefixes| prefixes.any(|prefix| prefix.contains(address)))
        };
        self.dscps.is_none_or(|set| set.contains(packet.dscp))
            && self.protocol.as_ref().is_none_or(|list| list.any(|one| *one == key.protocol))
            && beneath(&self.src, key.src)
            && beneath(&self.dst, key.dst)
            && within(&self.src_ports, key.src_port)
            && within(&self.dst_ports, key.dst_port)
            && (within(&self.ports, key.src_port) || within(&self.ports, key.dst_port))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shortflow_packet::{Address, Dscp, FlowKey};

    fn address(text: &str) -> Address {
        text.parse().unwrap()
    }

    #[test]
    fn every_given_field_must_match_and_no_other_matters() {
        let web_from_site = MultiField {
            src: Some(Prefix::new(address("10.1.0.0"), 16).unwrap().into()),
            dst_ports: Some(PortRange::new(80, 443).unwrap().into()),
            ..MultiField::default()
        };
        let matches = |src, dst_port| {
            let mut packet = crate::test_packet();
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
    fn a_match_on_the_sender_is_empty_where_it_asks_for_nothing() {
        let nothing = SenderMatch::default();
        assert!(nothing.is_empty());
        assert!(!SenderMatch { label: Some(Label(0)), ..nothing }.is_empty());
        assert!(!SenderMatch { sent_up_to: Some(Bytes(0)), ..nothing }.is_empty());
        assert!(!SenderMatch { remaining_up_to: Some(Bytes(0)), ..nothing }.is_empty());
        assert!(!SenderMatch { byte_range: true, ..nothing }.is_empty());
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
        let packet = crate::test_packet();
        let matches = |asked: SenderMatch| rule(asked).matches_at(&packet, Some(&sender));
        let none = SenderMatch::default();
        let label = |label| SenderMatch { label: Some(Label(label)), ..none };
        assert_eq!([label(3), label(4)].map(matches), [true, false]);
        let sent = |max| SenderMatch { sent_up_to: Some(Bytes(max)), ..none };
        assert_eq!([sent(5_000), sent(4_999)].map(matches), [true, false]);
        let remaining = |max| SenderMatch { remaining_up_to: Some(Bytes(max)), ..none };
        assert_eq!([remaining(700), remaining(699)].map(matches), [true, false]);

        let ranges = rule(SenderMatch { byte_range: true, ..none });
        let of_range = SenderView { is_range: true, ..sender };
        assert!(ranges.matches_at(&packet, Some(&of_range)));
        assert!(!ranges.matches_at(&packet, Some(&sender)));

        assert!(!rule(label(3)).matches(&packet), "in a queue");
        assert!(!rule(label(3)).matches_at(&packet, None), "at a router");
        let endless = SenderView { remaining: None, ..sender };
        assert!(!rule(remaining(700)).matches_at(&packet, Some(&endless)));
        assert!(MultiField::default().matches_at(&packet, None), "nothing is asked for");
    }

    #[test]
    fn a_packet_without_ports_matches_a_range_that_begins_at_1_by_no_means() {
        let [src, dst] = ["10.0.0.1", "10.0.0.2"].map(address);
        let rule = |first| MultiField {
            src_ports: Some(PortRange::new(first, 65_535).unwrap().into()),
            ..MultiField::default()
        };
        let key = FlowKey::without_ports(src, dst, Protocol::UDP);
        let fragment = Packet { key, ..crate::test_packet() };
        assert_eq!([rule(0), rule(1)].map(|rule| rule.matches(&fragment)), [true, false]);
    }

    #[test]
    fn one_value_of_each_list_must_match() {
        let range = |first, last| PortRange::new(first, last).unwrap();
        let prefix = |text: &str, length| Prefix::new(address(text), length).unwrap();
        let rule = MultiField {
            src: AnyOf::from_list([prefix("10.1.0.0", 16), prefix("2001:db8::", 32)]),
            protocol: AnyOf::from_list([Protocol::TCP, Protocol::UDP]),
            ports: AnyOf::from_list([range(443, 443), range(3478, 3481)]),
            ..MultiField::default()
        };
        let matches = |src, protocol, [src_port, dst_port]: [u16; 2]| {
            let mut packet = crate::test_packet();
            packet.key = FlowKey { src: address(src), protocol, src_port, dst_port, ..packet.key };
            rule.matches(&packet)
        };
        assert!(matches("10.1.0.9", Protocol::TCP, [50_000, 443]));
        assert!(matches("10.1.0.9", Protocol::UDP, [443, 50_000]), "the other direction");
        assert!(matches("2001:db8::1", Protocol::UDP, [50_000, 3480]));
        assert!(!matches("10.2.0.9", Protocol::UDP, [50_000, 443]));
        assert!(!matches("10.1.0.9", Protocol::SCTP, [50_000, 443]));
        assert!(!matches("10.1.0.9", Protocol::TCP, [3477, 3482]));
    }

    #[test]
    fn a_rule_asks_for_any_protocol_and_either_family() {
        let site = Prefix::new(address("2001:db8::"), 32).unwrap();
        let esp = MultiField {
            src: Some(site.into()),
            protocol: Some(Protocol::ESP.into()),
            ..MultiField::default()
        };
        let matches = |src, protocol| {
            let key = FlowKey::without_ports(address(src), address("2001:db8::2"), protocol);
            esp.matches(&Packet { key, ..crate::test_packet() })
        };
        assert!(matches("2001:db8:7::1", Protocol::ESP));
        assert!(!matches("2001:db8:7::1", Protocol::UDP));
        assert!(!matches("2001:db9::1", Protocol::ESP));
    }
}
