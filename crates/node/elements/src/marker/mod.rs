//! Markers, which write the DS field (RFC 2475 §2.3.3.2).

mod adaptation;
mod admission;
mod aggregate;
mod dstf;
mod sima;
mod size_levels;
mod srpt;
mod tcp_state;

use shortflow_packet::{Dscp, Packet, SenderView};
use shortflow_units::Instant;

pub use adaptation::{Adaptation, AdaptationSettings};
pub use admission::{AdmissionControl, AdmissionParams, AdmissionStats, LoadWindow};
pub use aggregate::{AggregateMarker, AggregateMarkerParams};
pub use dstf::{Counted, DstfMarker, DstfParams, DstfSettings};
pub use sima::{SimaMarker, SimaParams, SimaSettings};
pub use size_levels::SizeLevels;
pub use srpt::{SrptMarker, SrptParams};
pub use tcp_state::{Crossing, RecoverySegments, TcpStateMarker, TcpStateParams, TcpStateSettings};

use crate::{Color, Marker, Meter};

/// Marks each packet with the code point of the colour from its meter.
pub struct ColorMarker {
    meter: Box<dyn Meter>,
    code_points: [Dscp; 3],
}

impl ColorMarker {
    /// `meter` decides the colour; `code_points` are those of green, yellow and red.
    pub fn new(meter: Box<dyn Meter>, code_points: [Dscp; 3]) -> Self {
        ColorMarker { meter, code_points }
    }
}

impl Marker for ColorMarker {
    fn reserve(&mut self, flows: usize) {
        self.meter.reserve(flows);
    }

    #[inline]
    fn mark(&mut self, now: Instant, packet: &mut Packet, _sender: Option<&SenderView>) -> Color {
        let color = self.meter.meter(now, packet);
        packet.dscp = self.code_points[color as usize];
        color
    }

    fn counters(&self, visit: &mut dyn FnMut(&'static str, u64)) {
        self.meter.counters(visit);
    }
}

/// Marks every packet with the same code point.
#[derive(Debug, Clone)]
pub struct FixedMarker {
    code_point: Dscp,
    color: Color,
}

impl FixedMarker {
    /// Writes `code_point`, and returns `color`.
    pub fn new(code_point: Dscp, color: Color) -> Self {
        FixedMarker { code_point, color }
    }
}

impl Marker for FixedMarker {
    #[inline]
    fn mark(&mut self, _now: Instant, packet: &mut Packet, _sender: Option<&SenderView>) -> Color {
        packet.dscp = self.code_point;
        self.color
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Finds a fixed colour.
    struct FixedColor(Color);

    impl Meter for FixedColor {
        fn meter(&mut self, _now: Instant, _packet: &Packet) -> Color {
            self.0
        }
    }

    #[test]
    fn each_colour_gets_its_code_point() {
        let marked = Color::ALL.map(|color| {
            let meter = Box::new(FixedColor(color));
            let mut marker = ColorMarker::new(meter, [Dscp::AF11, Dscp::AF12, Dscp::AF13]);
            let mut packet = crate::test_packet();
            assert_eq!(marker.mark(Instant::START, &mut packet, None), color);
            packet.dscp
        });
        assert_eq!(marked, [Dscp::AF11, Dscp::AF12, Dscp::AF13]);
    }

    #[test]
    fn a_fixed_marker_overwrites_whatever_came() {
        let mut packet = crate::test_packet();
        packet.dscp = Dscp::EF;
        let mut marker = FixedMarker::new(Dscp::BEST_EFFORT, Color::Yellow);
        assert_eq!(marker.mark(Instant::START, &mut packet, None), Color::Yellow);
        assert_eq!(packet.dscp, Dscp::BEST_EFFORT);
    }
}
