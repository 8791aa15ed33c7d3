//! Conditioning at one port: classify, mark, police (RFC 2475 §2.3).

use shortflow_packet::{Packet, SenderView};
use shortflow_units::Instant;

use crate::classifier::Classifier;
use crate::dropper::PolicerAction;
use crate::{Color, DropReason, Marker};

/// Conditions the packets of one port for a role, with its own state.
pub struct Conditioner {
    classifier: Classifier,
    classes: Vec<ClassAtWork>,
    acks: Acknowledgements,
    thresholds: ThresholdSource,
    /// Whether the connection of the last dropped packet is to be ended.
    has_ended: bool,
}

struct ClassAtWork {
    name: String,
    marker: Option<Box<dyn Marker>>,
    police: Option<[PolicerAction; 3]>,
    packets: [u64; 3],
    bytes: [u64; 3],
}

/// The counters of a class since the start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClassCounters {
    /// The class.
    pub class: String,
    /// Packets marked green, yellow and red. Without a marker all packets count as green.
    pub packets: [u64; 3],
    /// Bytes marked green, yellow and red.
    pub bytes: [u64; 3],
    /// The counters of the marker, by name.
    pub marker: Vec<(&'static str, u64)>,
}

impl Conditioner {
    /// `classes` are the classes of `classifier`, in its order.
    pub fn new(
        classifier: Classifier,
        classes: impl IntoIterator<Item = NewClass>,
        acks: Acknowledgements,
    ) -> Conditioner {
        let classes = classes.into_iter().map(|NewClass { name, marker, police }| ClassAtWork {
            name,
            marker,
            police,
            packets: [0; 3],
            bytes: [0; 3],
        });
        let thresholds = ThresholdSource::Policy;
        Conditioner { classifier, classes: classes.collect(), acks, thresholds, has_ended: false }
    }

    /// The same, where these set the thresholds of bytes sent.
    #[must_use]
    pub fn with_thresholds(self, thresholds: ThresholdSource) -> Conditioner {
        Conditioner { thresholds, ..self }
    }

    /// Classifies and marks `packet` at `now`. Returns the reason if a policer drops it. `sender` is the
    /// state of the sending TCP, known only at a source host.
    #[inline]
    pub fn condition(
        &mut self,
        now: Instant,
        packet: &mut Packet,
        sender: Option<&SenderView>,
    ) -> Option<DropReason> {
        if self.acks == Acknowledgements::Echoed
            && let Some(sender) = sender
            && let Some(received) = sender.received_dscp
            && packet.is_bare_acknowledgement()
        {
            packet.dscp = received;
            return None;
        }
        let class = &mut self.classes[self.classifier.classify_at(packet, sender)?];
        let color = match &mut class.marker {
            Some(marker) => marker.mark(now, packet, sender),
            None => Color::Green,
        };
        class.packets[color as usize] += 1;
        class.bytes[color as usize] += u64::from(packet.size);
        let action = class.police?[color as usize];
        let dropped = action.apply(packet);
        self.has_ended |= action == PolicerAction::End && dropped.is_some();
        dropped
    }

    /// Whether a policer has ended the connection of the packet that was dropped last; false from then on.
    #[inline]
    pub fn take_ended(&mut self) -> bool {
        std::mem::take(&mut self.has_ended)
    }

    /// How a host treats its acknowledgements without data.
    #[inline]
    pub fn acknowledgements(&self) -> Acknowledgements {
        self.acks
    }

    /// Who sets the thresholds of bytes sent. A host reports objects ([`SenderView::object`]) only if applications do.
    #[inline]
    pub fn thresholds(&self) -> ThresholdSource {
        self.thresholds
    }

    /// Reserves memory for `flows` in each class: see [`Marker::reserve`].
    pub fn reserve(&mut self, flows: usize) {
        let markers = self.classes.iter_mut().filter_map(|class| class.marker.as_mut());
        markers.for_each(|marker| marker.reserve(flows));
    }

    /// The counters of each class since the start.
    pub fn counters(&self) -> Vec<ClassCounters> {
        let of = |class: &ClassAtWork| {
            let mut counted = Vec::new();
            if let Some(marker) = &class.marker {
                marker.counters(&mut |name, count| counted.push((name, count)));
            }
            ClassCounters {
                class: class.name.clone(),
                packets: class.packets,
                bytes: class.bytes,
                marker: counted,
            }
        };
        self.classes.iter().map(of).collect()
    }
}

/// A class for [`Conditioner::new`].
pub struct NewClass {
    /// Its name in counters.
    pub name: String,
    /// The marker, which writes the DS field. Without it packets keep their field and count as green.
    pub marker: Option<Box<dyn Marker>>,
    /// The action for green, yellow and red packets. Without it all pass.
    pub police: Option<[PolicerAction; 3]>,
}

/// How a host treats its acknowledgements without data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Acknowledgements {
    /// As any other packet.
    Marked,
    /// They get the code point of the data that they acknowledge.
    Echoed,
}

/// Who sets the thresholds of bytes sent, and says from where on a connection's bytes count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ThresholdSource {
    /// The policy, from the beginning of the connection.
    #[default]
    Policy,
    /// The application at the sending host, if it does; else the policy.
    Application,
}

impl std::fmt::Debug for NewClass {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NewClass").field("name", &self.name).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Conditioner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Conditioner").field("counters", &self.counters()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classifier::MultiField;
    use crate::test_packet;
    use shortflow_packet::{Dscp, TcpFlags};

    /// One class for all, without a marker.
    fn counting(acks: Acknowledgements) -> Conditioner {
        let all = Classifier::new(vec![(MultiField::default(), 0)]);
        Conditioner::new(
            all,
            [NewClass { name: "all".to_owned(), marker: None, police: None }],
            acks,
        )
    }

    fn acknowledgement() -> Packet {
        Packet { payload: 0, size: 40, flags: TcpFlags::ACK, ..test_packet() }
    }

    #[test]
    fn an_acknowledgement_echoes_what_came_where_its_host_tells_it() {
        let mut conditioner = counting(Acknowledgements::Echoed);
        let after_green = SenderView { received_dscp: Some(Dscp::AF11), ..SenderView::default() };
        let mut echoed = acknowledgement();
        conditioner.condition(Instant::START, &mut echoed, Some(&after_green));
        assert_eq!(echoed.dscp, Dscp::AF11);
        assert_eq!(conditioner.counters()[0].packets, [0, 0, 0], "it belongs to no class");

        // Data go their way through the classes, and so does what nobody tells of.
        let mut data = test_packet();
        conditioner.condition(Instant::START, &mut data, Some(&after_green));
        let nothing_came = SenderView::default();
        let mut first = acknowledgement();
        conditioner.condition(Instant::START, &mut first, Some(&nothing_came));
        let mut at_router = acknowledgement();
        conditioner.condition(Instant::START, &mut at_router, None);
        assert_eq!([data.dscp, first.dscp, at_router.dscp], [Dscp::BEST_EFFORT; 3]);
        assert_eq!(conditioner.counters()[0].packets, [3, 0, 0]);
        assert_eq!(conditioner.counters()[0].bytes, [1080, 0, 0]);
    }

    #[test]
    fn an_acknowledgement_that_is_marked_as_any_other_packet_keeps_its_code_point() {
        let mut conditioner = counting(Acknowledgements::Marked);
        let after_green = SenderView { received_dscp: Some(Dscp::AF11), ..SenderView::default() };
        let mut packet = acknowledgement();
        conditioner.condition(Instant::START, &mut packet, Some(&after_green));
        assert_eq!(packet.dscp, Dscp::BEST_EFFORT);
        assert_eq!(conditioner.counters()[0].packets, [1, 0, 0]);
    }
}
