//! Shortest Remaining Processing Time first, in levels (SRPT-FP of Guo, Zhu, Zhang & Zhang 2005, §3.1): the
//! less remains of a message, the better its priority. Only for source hosts, where the application gives the
//! length of a message. With 63 thresholds in geometric progression and a strict-priority queue, it
//! approximates continuous SRPT.

use shortflow_packet::{Packet, SenderView};
use shortflow_units::Instant;

use super::size_levels::{LevelCounts, SizeLevels};
use crate::meter::bucket::Tokens;
use crate::{Color, Marker, ParamsError};

/// Parameters of an [`SrptMarker`].
#[derive(Debug, Clone)]
pub struct SrptParams {
    levels: SizeLevels,
    unknown: usize,
}

impl SrptParams {
    /// Thresholds of remaining bytes, and the priority, counted from 1, of packets whose remaining bytes are
    /// unknown. Default: the last.
    pub fn new(levels: SizeLevels, unknown: Option<usize>) -> Result<Self, ParamsError> {
        let priorities = levels.last() + 1;
        let unknown = unknown.unwrap_or(priorities);
        if !(1..=priorities).contains(&unknown) {
            let message =
                format!("unknown must be a priority from 1 to {priorities}; found {unknown}");
            return Err(ParamsError::new("unknown", message));
        }
        Ok(SrptParams { levels, unknown: unknown - 1 })
    }

    /// The levels.
    pub fn levels(&self) -> &SizeLevels {
        &self.levels
    }

    /// The priority, from 0, of packets whose remaining bytes are unknown.
    pub fn unknown(&self) -> usize {
        self.unknown
    }
}

/// Marks a packet by the data that the application has written and TCP has not sent before it: priority i up
/// to thresh_{i+1}. Retransmitted data do not count as remaining, so a retransmission has the priority of the
/// next new data. A packet without data, such as an acknowledgement, has the priority of its own end's data.
/// At most six comparisons per packet.
#[derive(Debug)]
pub struct SrptMarker {
    params: SrptParams,
    unknown: u64,
    counts: LevelCounts,
}

impl SrptMarker {
    /// A marker with these parameters.
    pub fn new(params: SrptParams) -> Self {
        SrptMarker { params, unknown: 0, counts: LevelCounts::default() }
    }
}

impl Marker for SrptMarker {
    #[inline]
    fn mark(&mut self, _now: Instant, packet: &mut Packet, sender: Option<&SenderView>) -> Color {
        let levels = &self.params.levels;
        let level = match sender.and_then(|sender| sender.remaining) {
            Some(remaining) => levels.level(Tokens::from_bytes(remaining)),
            None => {
                self.unknown += 1;
                self.params.unknown
            }
        };
        self.counts.count(level, packet);
        levels.mark(level, packet)
    }

    fn counters(&self, visit: &mut dyn FnMut(&'static str, u64)) {
        self.counts.show(self.params.levels.last() + 1, visit);
        visit("packets of unknown remainder", self.unknown);
    }
}

#[cfg(test)]
mod tests {
    use shortflow_units::Bytes;

    use super::*;
    use crate::test_packet;
    use shortflow_packet::Dscp;

    fn marked(marker: &mut SrptMarker, remaining: Option<u64>) -> (Color, String) {
        let sender = SenderView { remaining: remaining.map(Bytes), ..SenderView::default() };
        let mut packet = test_packet();
        let color = marker.mark(Instant::START, &mut packet, Some(&sender));
        (color, packet.dscp.to_string())
    }

    fn marker(unknown: Option<usize>) -> SrptMarker {
        let code_points = SizeLevels::default_code_points(8);
        let levels = SizeLevels::new(&SizeLevels::HARP, code_points).unwrap();
        SrptMarker::new(SrptParams::new(levels, unknown).unwrap())
    }

    #[test]
    fn a_message_climbs_as_less_of_it_remains() {
        let mut marker = marker(None);
        let climb = [2_000_000, 1_200_000, 40_001, 40_000, 5_001, 5_000, 0];
        let code_points = climb.map(|remaining| marked(&mut marker, Some(remaining)).1);
        assert_eq!(code_points, ["BE", "CS1", "CS3", "CS4", "CS6", "CS7", "CS7"]);
        assert_eq!(marked(&mut marker, Some(5_000)).0, Color::Green);
        assert_eq!(marked(&mut marker, Some(5_001)).0, Color::Yellow);
        assert_eq!(marked(&mut marker, Some(1_200_001)).0, Color::Red);
    }

    #[test]
    fn a_packet_of_unknown_remainder_has_the_priority_that_is_stated() {
        assert_eq!(marked(&mut marker(None), None).1, "BE");
        let mut marker = marker(Some(3));
        assert_eq!(marked(&mut marker, None).1, "CS5");
        let mut packet = test_packet();
        assert_eq!(marker.mark(Instant::START, &mut packet, None), Color::Yellow);
        assert_eq!(packet.dscp, Dscp::new(40).unwrap(), "at a router nobody says");
        let mut shown = Vec::new();
        marker.counters(&mut |name, count| shown.push((name, count)));
        assert!(shown.contains(&("packets of unknown remainder", 2)));
        assert!(shown.contains(&("priority 3 packets", 2)));
        assert!(shown.contains(&("priority 3 bytes", 2000)));
    }

    #[test]
    fn a_priority_that_is_none_is_refused() {
        let levels = SizeLevels::new(&[Bytes(9)], SizeLevels::default_code_points(2)).unwrap();
        let refused = SrptParams::new(levels, Some(3)).unwrap_err().to_string();
        assert_eq!(refused, "unknown must be a priority from 1 to 2; found 3");
    }
}
