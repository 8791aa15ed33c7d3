//! The shaper inside TCP's output routine (Mehra, Tewari & Kandlur 1999, §4.1 and §6): connections ask before
//! they send, and wait unsent.

use shortflow_packet::{FlowKey, Packet};
use shortflow_units::{Bytes, Instant};

use super::line::Asked;
use super::release::Stop;
use super::{AggregateShaper, ServiceOrder};
use crate::{OutputGate, Queued};

/// A connection whose TCP may send now, in its turn.
#[derive(Debug, Clone, Copy)]
pub(super) struct Granted {
    pub(super) number: u32,
    /// Since when it waits.
    since: Instant,
}

impl AggregateShaper {
    /// Whether `packet` of a connection with a share may go.
    fn may_go(&mut self, now: Instant, number: u32, packet: Packet, asker: u32) -> bool {
        if let Some(granted) = self.granted.filter(|granted| granted.number == number) {
            return self.go_in_turn(now, granted, packet, asker);
        }
        let conforms = self.may_pass(number) && self.connections.shared.conforms(number, &packet);
        if conforms && self.is_spaced(now) {
            self.connections.shared.admit(number, &packet);
            self.stats.passed += 1;
            self.note_sent(now, number, packet.bytes());
            return true;
        }
        self.withhold(now, number, packet, asker);
        if conforms {
            self.begin_release(now, None); // it goes on when the last packet has passed at the peak rate
        }
        false
    }

    /// The connection was released: it is served as far as its turn goes.
    fn go_in_turn(&mut self, now: Instant, granted: Granted, packet: Packet, asker: u32) -> bool {
        let (number, bytes) = (granted.number, packet.bytes());
        let head = Queued { packet, since: granted.since };
        self.lines[number as usize].asked = Some(Asked { head, asker });
        let place = self.place_of(number).unwrap_or_else(|| {
            self.join_waiting(number);
            self.waiting.len() - 1
        });
        if self.next_place() == Some(place) && self.is_spaced(now) {
            let _ = self.send_head(now, place); // TCP makes the packet
            self.note_sent(now, number, bytes);
            return true;
        }
        false
    }

    /// The TCP of the connection that was released has sent what it may.
    fn end_turn(&mut self) {
        let Some(Granted { number, .. }) = self.granted.take() else { return };
        let Some(place) = self.place_of(number) else {
            return self.connections.set_waiting(number, false);
        };
        if self.params.order == ServiceOrder::FirstCome && !self.conforms(place) {
            self.lines[number as usize].turn = self.turn();
        }
    }

    fn note_sent(&mut self, now: Instant, number: u32, bytes: Bytes) {
        self.take_turn(number);
        if let Some(peak) = self.params.profile.peak() {
            self.peak_free_at = now + peak.time_for(bytes);
        }
    }

    /// Whether the last packet has passed at the peak rate.
    pub(super) fn is_spaced(&self, now: Instant) -> bool {
        self.params.profile.peak().is_none() || now >= self.peak_free_at
    }
}

impl OutputGate for AggregateShaper {
    fn ask(&mut self, now: Instant, packet: Packet, asker: u32) -> bool {
        self.advance(now);
        if packet.bytes() > self.params.profile.max_packet() {
            return true; // the queue drops it, as any that can never conform
        }
        let Some(seen) = self.connections.see(now, &packet) else { return true };
        self.line(now, seen).asks = true;
        let may_go = self.may_go(now, seen.number, packet, asker);
        self.look_ahead();
        may_go
    }

    fn next(&mut self, now: Instant) -> Option<u32> {
        self.end_turn();
        if self.release.is_some() {
            self.go_on(now);
        }
        let Stop::Asker(number) = self.stop else { return None };
        let place = self.place_of(number).expect("a release stops at a connection that waits");
        let asked = self.lines[number as usize].asked.take().expect("and whose TCP has asked");
        self.granted = Some(Granted { number, since: asked.head.since });
        self.stop_waiting(place);
        Some(asked.asker)
    }

    fn has_next(&self) -> bool {
        matches!(self.stop, Stop::Asker(_))
    }

    fn wakes_at(&self) -> Instant {
        match self.stop {
            Stop::Peak => self.peak_free_at.min(self.timer.useful_at),
            _ if self.waiting.is_empty() => Instant::NEVER,
            _ => self.timer.useful_at,
        }
    }

    fn wake(&mut self, now: Instant) {
        self.advance(now);
        if self.stop == Stop::Peak && self.is_spaced(now) {
            self.go_on(now);
        }
    }

    fn forget(&mut self, now: Instant, key: &FlowKey) {
        let Some(number) = self.connections.find(key) else { return };
        let line = &mut self.lines[number as usize];
        if line.asked.take().is_none() || line.waits() {
            return;
        }
        let place = self.place_of(number).expect("a connection that has asked waits");
        self.stop_waiting(place);
        match self.release {
            Some(_) => self.go_on(now),
            None => self.look_ahead(),
        }
    }
}
