//! What losses add to a message.

use shortflow_models::pftk::Path;
use shortflow_models::short_flow::{MAX_CREDITS, ShortFlow};
use shortflow_models::{Range, latency};
use shortflow_tcp::{Algorithm, Recovery, RtoFloor};

use super::Sending;
use crate::range::{Lack, MAX_LOSSES, MAX_LOSSES_CUBIC, MAX_LOST_OF_LONG, MAX_LOST_OF_LONG_CUBIC};
use crate::slow_start::growing;

/// Segments up to which losses are followed one by one.
const MAX_FOLLOWED: u32 = 16;

impl Sending<'_> {
    /// What losses add to a message: followed one by one while it is short, by Cardwell et al. beyond.
    pub(super) fn losses(&self, segments: f64, start: f64, window: f64) -> Result<f64, Lack> {
        let packet = f64::from(self.tcp.mss) + f64::from(self.tcp.header);
        let first = &self.stretches[self.at(start)];
        let last = &self.stretches[self.at(start + (segments - 1.0) * packet)];
        let (green, yellow) = (first.loss(), last.loss());
        if green == 0.0 && yellow == 0.0 {
            return Ok(0.0);
        }
        let place = segments.min(1e9) as u32;
        if let Some(added) = self.added.borrow().get(&place) {
            return Ok(*added);
        }
        let rtt = first.rtt;
        let timeout = match self.closes || (segments > 1.0 && window > 1.0) {
            true => self.patience(rtt),
            false => self.timeout(rtt),
        };
        let added = if place <= MAX_FOLLOWED {
            let credits = match last.from > first.from {
                false => 0.0,
                true => (last.from / packet + 2.0).min(f64::from(MAX_CREDITS)),
            };
            let with = |green_loss: f64, yellow_loss: f64| {
                let flow = ShortFlow {
                    rtt,
                    timeout,
                    setup_timeout: timeout,
                    green_loss,
                    yellow_loss,
                    credits: credits as u32,
                    initial_window: window.max(1.0) as u32,
                };
                Ok::<f64, Lack>(flow.by_recursion(place)? - flow.setup_time()?)
            };
            with(green, yellow)? - with(0.0, 0.0)?
        } else {
            let path = Path {
                rtt,
                timeout,
                segments_per_ack: growing(self.tcp),
                max_window: self.max_window(),
            };
            // A loss that stands for all of its round (Padhye et al. 2000, §II): half a window with it.
            let rounds = (segments / 2.0).min(self.max_window());
            let loss = self.mean_loss(segments * packet, (rounds / 2.0).max(1.0));
            let (max, losses) = match self.tcp.congestion {
                Algorithm::Cubic => (MAX_LOST_OF_LONG_CUBIC, MAX_LOSSES_CUBIC),
                _ => (MAX_LOST_OF_LONG, MAX_LOSSES),
            };
            Range::from_to(0.0, losses)
                .check("the packets that a message loses on average", segments * loss)?;
            Range::from_to(0.0, max)
                .check("the share of packets that a long message loses", loss)?;
            let with = |loss: f64| latency::transfer(&path, window.max(1.0), segments, loss);
            with(loss)?.total() - with(0.0)?.total()
        };
        self.added.borrow_mut().insert(place, added);
        Ok(added)
    }

    /// What a message waits longer for its first segment, where that is lost and so was its handshake: the timeout is that of
    /// a sender which has measured nothing (RFC 6298 §5.7), and its window is that one segment (RFC 5681 §3.1).
    pub(super) fn distrust(&self) -> f64 {
        let first = &self.stretches[0];
        let timeout = self.timeout(first.rtt);
        let longer = (self.tcp.rto_after_lost_syn().as_secs_f64() - timeout).max(0.0);
        let loss = first.loss();
        // Each further loss of it doubles the timeout; half of all and more never come (latency::setup_time).
        self.blind * longer * loss / (1.0 - 2.0 * loss.min(0.49))
    }

    /// The share of so many bytes from the beginning of a flow that are the first to be lost of their round, of which
    /// so many are lost `together`.
    fn mean_loss(&self, wire: f64, together: f64) -> f64 {
        let each = self.stretches.iter().enumerate().map(|(number, stretch)| {
            let end = self.stretches.get(number + 1).map_or(f64::INFINITY, |next| next.from);
            let loss = 1.0 - (1.0 - stretch.alone) * (1.0 - stretch.bunched / together);
            (end.min(wire) - stretch.from).max(0.0) * loss
        });
        each.sum::<f64>() / wire
    }

    /// T after one sample of the round trip (RFC 6298 §2.2).
    fn timeout(&self, rtt: f64) -> f64 {
        let floor = self.tcp.rto_min.as_secs_f64();
        match self.tcp.rto_floor {
            RtoFloor::Timeout => floor.max(3.0 * rtt),
            RtoFloor::Variation => rtt + floor.max(2.0 * rtt),
        }
    }

    /// How long a sender waits for what acknowledges one of several segments: until it probes, where it does (RFC 8985 §7.2),
    /// else T.
    fn patience(&self, rtt: f64) -> f64 {
        let timeout = self.timeout(rtt);
        match self.tcp.tail_loss_probe && self.tcp.recovery == Recovery::Rack {
            true => timeout.min(2.0 * rtt),
            false => timeout,
        }
    }
}
