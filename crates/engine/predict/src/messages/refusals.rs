//! Messages without a closed form, because of what their windows do to queues.

use shortflow_models::Range;

use super::Sending;
use super::stretch::piece_at;
use crate::band::Order;
use crate::range::Lack;
use crate::saturation::MAX_TRIP;
use crate::slow_start::windows;

impl Sending<'_> {
    /// Refuses messages that are sent side by side and do not fit into a queue with their first windows: what is lost then has
    /// no closed form.
    pub(super) fn fits(&self, start: f64, window: f64, siblings: f64) -> Result<(), Lack> {
        let packet = f64::from(self.tcp.mss) + f64::from(self.tcp.header);
        let end = start + window * packet;
        let mut before = f64::INFINITY;
        for hop in self.data {
            let line = &self.network.lines[hop.line];
            let comes_faster = before > line.rate;
            before = before.min(line.rate);
            for (at, piece) in hop.pieces.iter().enumerate() {
                let next = hop.pieces.get(at + 1).map_or(f64::INFINITY, |next| next.from);
                let packets = siblings * (next.min(end) - piece.from.max(start)).max(0.0) / packet;
                let room = self
                    .network
                    .over(piece, &|place| line.bands()[place.band].room_for(place.level, packet));
                if comes_faster && packets > room {
                    let who = match siblings > 1.0 {
                        true => format!(
                            "{siblings:.0} simultaneous messages send {packets:.0} packets in \
                                their first windows"
                        ),
                        false => {
                            format!("a message sends {packets:.0} packets in its first window")
                        }
                    };
                    let name = &line.name;
                    return Err(Lack::new(format!(
                        "{who} to {name}, whose queue holds at most {room:.0}"
                    )));
                }
            }
        }
        Ok(())
    }

    /// Refuses a window that waits in its own queue until CoDel drops, where the round trip is so long that it drops again before
    /// the window has answered.
    pub(super) fn answers_in_time(&self, segments: f64) -> Result<(), Lack> {
        let packet = f64::from(self.tcp.mss) + f64::from(self.tcp.header);
        let window = segments.min(self.initial_window());
        for hop in self.data {
            let line = &self.network.lines[hop.line];
            let Some(turns) = line.bands()[hop.pieces[0].places[0].band].turns else { continue };
            let trip =
                self.bare(self.data, packet) + self.bare(self.answers, f64::from(self.tcp.header));
            let waits = window * line.time(packet) > turns.target + turns.interval;
            if waits {
                let what =
                    "the round trip of windows that wait for CoDel to drop, in its intervals,";
                Range::from_to(0.0, MAX_TRIP)
                    .check(what, trip / turns.interval)
                    .map_err(|error| Lack::new(format!("at {} {error}", line.name)))?;
            }
        }
        Ok(())
    }

    /// Refuses messages whose acknowledgements pass a plain buffer that long flows fill, where they are lost at times, and those of
    /// several windows whose acknowledgements wait for the turns of long flows.
    pub(super) fn answers_pass(&self, segments: f64, window: f64) -> Result<(), Lack> {
        let trip = self.stretches[0].rtt;
        for hop in self.answers {
            let line = &self.network.lines[hop.line];
            let band = hop.pieces[0].places[0].band;
            let (queue, met) = (&line.bands()[band], &self.network.met[hop.line][band]);
            if met.is_filled && queue.order == Order::Fifo && queue.curves.is_empty() {
                let what = "acknowledgements in the plain buffer of";
                return Err(Lack::new(format!("{what} {}, which long flows fill", line.name)));
            }
            if segments > window {
                self.network.check_round(hop, trip)?;
            }
        }
        Ok(())
    }

    /// Refuses messages whose windows fill a queue whose RED follows it to the end of its curve: in slow start half of a
    /// window waits, as acknowledgements let two packets go for each.
    pub(super) fn stays_below_drops(&self, start: f64, segments: f64) -> Result<(), Lack> {
        if !self.network.is_at_rest {
            return Ok(());
        }
        let packet = f64::from(self.tcp.mss) + f64::from(self.tcp.header);
        let trip =
            self.bare(self.data, packet) + self.bare(self.answers, f64::from(self.tcp.header));
        let times = self.data.iter().map(|hop| self.network.lines[hop.line].time(packet));
        let slowest = times.fold(0.0, f64::max);
        let largest = windows(segments, self.tcp, trip, slowest)
            .iter()
            .map(|(_, count)| *count)
            .fold(0.0, f64::max);
        for hop in self.data {
            let line = &self.network.lines[hop.line];
            let piece = piece_at(hop, start);
            let band = &line.bands()[piece.places[0].band];
            let curves = band.curves_in(packet);
            let Some(level) = curves.get(piece.places[0].level).filter(|_| band.follows) else {
                continue;
            };

            Range::from_to(0.0, level.max_threshold)
                .check("the packets of a window that queue behind one another", largest / 2.0)
                .map_err(|error| Lack::new(format!("at {} {error}", line.name)))?;
        }
        Ok(())
    }

    /// Whether it passes buffers that drop by how full they are.
    pub(super) fn meets_precedences(&self) -> bool {
        let mut lines = self.data.iter().map(|hop| &self.network.lines[hop.line]);
        lines.any(|line| line.bands().iter().any(|band| band.precedences.is_some()))
    }
}
