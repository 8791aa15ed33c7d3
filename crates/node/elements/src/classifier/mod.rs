//! Classifiers: the class of a packet (RFC 2475 §2.3.1).

mod any_of;
mod dscp;
mod multi_field;
mod sima;

pub use any_of::AnyOf;
pub use dscp::{DscpSet, DscpTable};
pub use multi_field::{MultiField, PortRange, SenderMatch};
pub use sima::SimaClass;

use std::collections::BTreeSet;
use std::sync::Arc;

use shortflow_packet::{ObjectView, Packet, SenderView};
use shortflow_units::Bytes;

/// An ordered list of matches, each with a class. The first match decides. One step per rule. Clones share
/// the rules, so that those of many ports stay in the cache.
#[derive(Debug, Clone, Default)]
pub struct Classifier {
    rules: Arc<[(MultiField, usize)]>,
    /// The bounds of bytes sent for which rules ask, rising.
    bounds: Arc<[Bytes]>,
}

impl Classifier {
    /// A classifier with `rules`, in this order.
    pub fn new(rules: Vec<(MultiField, usize)>) -> Self {
        let asked = rules.iter().filter_map(|(rule, _)| rule.sender?.sent_up_to);
        let bounds: BTreeSet<Bytes> = asked.collect();
        Classifier { rules: rules.into(), bounds: bounds.into_iter().collect() }
    }

    /// The class of the first match, or `None` if nothing matches.
    #[inline]
    pub fn classify(&self, packet: &Packet) -> Option<usize> {
        self.rules.iter().find(|(rule, _)| rule.matches(packet)).map(|&(_, class)| class)
    }

    /// As [`classify`](Self::classify), at a source host, which knows the `sender`.
    #[inline]
    pub fn classify_at(&self, packet: &Packet, sender: Option<&SenderView>) -> Option<usize> {
        if let Some(sender) = sender
            && let Some(object) = sender.object
        {
            let sent = self.sent_of(object);
            return self.first_match(packet, Some(&SenderView { sent, ..*sender }));
        }
        self.first_match(packet, sender)
    }

    #[inline]
    fn first_match(&self, packet: &Packet, sender: Option<&SenderView>) -> Option<usize> {
        let found = self.rules.iter().find(|(rule, _)| rule.matches_at(packet, sender));
        found.map(|&(_, class)| class)
    }

    /// The bytes sent that rules see of an object. The application's thresholds replace the bounds in their order.
    fn sent_of(&self, object: ObjectView) -> Bytes {
        let Some(level) = object.level else { return object.sent };
        self.bounds.get(usize::from(level)).copied().unwrap_or(Bytes(u64::MAX))
    }

    /// The largest class of a rule.
    pub fn greatest_class(&self) -> Option<usize> {
        self.rules.iter().map(|&(_, class)| class).max()
    }

    /// The matches in order, each with its class.
    pub fn rules(&self) -> &[(MultiField, usize)] {
        &self.rules
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shortflow_packet::{Dscp, Protocol};

    #[test]
    fn the_first_match_decides_and_what_matches_nothing_has_no_class() {
        let voice =
            MultiField { dscps: Some(DscpSet::EMPTY.with(Dscp::EF)), ..MultiField::default() };
        let udp = MultiField { protocol: Some(Protocol::UDP.into()), ..MultiField::default() };
        let classifier = Classifier::new(vec![(voice, 0), (udp, 1)]);
        let class = |dscp, protocol| {
            let mut packet = crate::test_packet();
            packet.dscp = dscp;
            packet.key.protocol = protocol;
            classifier.classify(&packet)
        };
        assert_eq!(class(Dscp::EF, Protocol::UDP), Some(0));
        assert_eq!(class(Dscp::BEST_EFFORT, Protocol::UDP), Some(1));
        assert_eq!(class(Dscp::BEST_EFFORT, Protocol::TCP), None);
    }
}
