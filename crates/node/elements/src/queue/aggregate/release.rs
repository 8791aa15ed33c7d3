//! When waiting packets go: the timer, the triggers, and whose turn it is.

use shortflow_packet::{Packet, SenderEvent};
use shortflow_units::Instant;

use super::line::Asked;
use super::{AggregateShaper, FreshPackets, ServiceOrder};
use crate::Queued;
use crate::sharing::Sharing;

/// A release of packets that conform. It stops at each connection whose TCP must send itself.
#[derive(Debug, Clone, Copy)]
pub(super) struct Release {
    /// The only connection that it lets send; `None` for all in their order.
    pub(super) only: Option<u32>,
    /// When the last packet of this release could have left.
    pub(super) before: Option<Instant>,
}

/// What a release has come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    /// Nothing more conforms.
    Done,
    /// This connection's TCP may send.
    Asker(u32),
    /// A TCP may send when the last packet has passed at the peak rate.
    Peak,
}

impl AggregateShaper {
    /// Processes all expiries of the timer by `now`.
    pub(super) fn advance(&mut self, now: Instant) {
        while self.timer.useful_at <= now {
            let at = self.timer.useful_at;
            self.stats.timer_expired(self.timer.at, at, self.params.timer);
            self.timer.at = at + self.params.timer;
            self.begin_release(at, None);
        }
        // Expiries before the next useful one release nothing.
        if self.timer.at <= now {
            let missed = now.since(self.timer.at).nanos() / self.params.timer.nanos();
            let last = self.timer.at + self.params.timer * missed;
            self.stats.timer_expired(self.timer.at, last, self.params.timer);
            self.timer.at = last + self.params.timer;
        }
    }

    /// Releases the packets that conform at `now`, if the event is a trigger.
    pub(super) fn trigger(&mut self, now: Instant, event: SenderEvent) {
        if self.params.triggers.has(event) && !self.waiting.is_empty() {
            self.stats.triggered[event as usize] += 1;
            self.begin_release(now, None);
        }
    }

    /// The same, if an event releases only packets of its own connection.
    pub(super) fn trigger_own(&mut self, now: Instant, event: SenderEvent, number: u32) {
        if !self.params.triggers.has(event) {
            return;
        }
        self.stats.triggered[event as usize] += u64::from(self.place_of(number).is_some());
        self.begin_release(now, Some(number));
    }

    /// Releases conforming packets at `now`: those of one connection, or of all in the service order.
    pub(super) fn begin_release(&mut self, now: Instant, only: Option<u32>) {
        let only = only.filter(|_| self.release.is_none_or(|release| release.only.is_some()));
        let before = self.release.and_then(|release| release.before);
        self.release = Some(Release { only, before });
        self.connections.shared.earn(now);
        // Computed anew at the end of the release.
        self.timer.useful_at = Instant::NEVER;
        self.go_on(now);
    }

    /// Continues a release until its end, or until a TCP must send itself.
    pub(super) fn go_on(&mut self, now: Instant) {
        self.stop = Stop::Done;
        while let Some(place) = self.next_place() {
            let number = self.waiting[place];
            if self.lines[number as usize].packets.is_empty() {
                self.stop = if self.is_spaced(now) { Stop::Asker(number) } else { Stop::Peak };
                return;
            }
            let queued = self.send_head(now, place);
            self.connections.passed(number, &queued.packet);
            self.released.push(&mut self.store, queued);
            self.take_turn(number);
        }
        self.release = None;
        self.look_ahead();
    }

    /// The index of the waiting connection that leaves next in this release, if one conforms.
    pub(super) fn next_place(&self) -> Option<usize> {
        if let Some(only) = self.release?.only {
            return self.place_of(only).filter(|&place| self.conforms(place));
        }
        let turn = |&place: &usize| self.lines[self.waiting[place] as usize].turn;
        let places = 0..self.waiting.len();
        if self.is_common() {
            return places.min_by_key(turn).filter(|&place| self.conforms(place));
        }
        places.filter(|&place| self.conforms(place)).min_by_key(turn)
    }

    /// The index of the connection among those that wait.
    pub(super) fn place_of(&self, number: u32) -> Option<usize> {
        self.waiting.iter().position(|&waiting| waiting == number)
    }

    pub(super) fn conforms(&self, place: usize) -> bool {
        let number = self.waiting[place];
        self.connections.shared.conforms(number, &self.head(number).packet)
    }

    pub(super) fn head(&self, number: u32) -> &Queued {
        let head = self.lines[number as usize].head(&self.store);
        head.expect("a connection that waits has a head")
    }

    /// When the head of the connection could have left. With a common bucket, an earlier packet of the same
    /// release could have left before; then the time when this packet's tokens had arrived after that.
    fn due_at(&self, number: u32) -> Instant {
        match self.release.and_then(|release| release.before) {
            Some(before) if self.is_common() => {
                before + self.params.profile.rate().time_for(self.head(number).packet.bytes())
            }
            _ => self.lines[number as usize].due_at,
        }
    }

    /// Takes the tokens of the head of the connection at `place`, which conforms at `now`, and removes it.
    pub(super) fn send_head(&mut self, now: Instant, place: usize) -> Queued {
        let number = self.waiting[place];
        let due_at = self.due_at(number).max(self.head(number).since);
        self.stats.shaped(now.since(due_at));
        let line = &mut self.lines[number as usize];
        let queued = line.packets.pop(&mut self.store);
        let queued = queued.or_else(|| line.asked.take().map(|asked| asked.head));
        let queued = queued.expect("the head is there");
        line.due_at = due_at + self.params.profile.rate().time_for(queued.packet.bytes());
        self.connections.shared.admit(number, &queued.packet);
        if !line.waits() {
            self.stop_waiting(place);
        }
        if let Some(release) = &mut self.release {
            release.before = Some(due_at);
        }
        queued
    }

    /// The connection was assigned tokens. Depending on the order, its next turn is after all others, or when
    /// it no longer conforms, or unchanged.
    pub(super) fn take_turn(&mut self, number: u32) {
        let is_last = match self.params.order {
            ServiceOrder::Sequential => false,
            ServiceOrder::LeastRecentlyServed => true,
            ServiceOrder::FirstCome => {
                self.place_of(number).is_some_and(|place| !self.conforms(place))
            }
        };
        if is_last {
            self.lines[number as usize].turn = self.turn();
        }
    }

    /// The number of the next step in the service order.
    pub(super) fn turn(&mut self) -> u64 {
        self.next_turn += 1;
        self.next_turn
    }

    /// Computes when waiting packets conform, and the first expiry of the timer that releases one.
    pub(super) fn look_ahead(&mut self) {
        if self.release.is_some() {
            return; // it does so at its end
        }
        let mut earliest = Instant::NEVER;
        let shared = &self.connections.shared;
        if !self.waiting.is_empty() {
            shared.look(&mut self.rooms);
        }
        let first = self.waiting.iter().map(|&number| self.lines[number as usize].turn).min();
        for &number in &self.waiting {
            let line = &mut self.lines[number as usize];
            // With a common bucket only the first may leave.
            if self.params.sharing == Sharing::Common && Some(line.turn) != first {
                line.due_at = Instant::NEVER;
                continue;
            }
            let head = line.packet(&self.store).expect("a waiting connection has a head");
            let conforms_at = shared.conforms_at(&self.rooms, number, head);
            earliest = earliest.min(conforms_at);
            // A packet that already conforms is due since then.
            let is_due = conforms_at == shared.earned_at();
            line.due_at = if is_due { line.due_at.min(conforms_at) } else { conforms_at };
        }
        self.timer.useful_at = match earliest {
            Instant::NEVER => Instant::NEVER,
            _ if earliest <= self.timer.at => self.timer.at,
            _ => {
                let period = self.params.timer.nanos();
                let periods = earliest.since(self.timer.at).nanos().div_ceil(period);
                self.timer.at + self.params.timer * periods
            }
        };
        if self.waiting.is_empty() && self.timer.at != Instant::NEVER {
            self.timer.at = Instant::NEVER;
            self.stats.timers_cancelled += 1;
        }
    }

    /// A packet waits from now on, as the last of its connection.
    pub(super) fn hold(&mut self, now: Instant, number: u32, packet: Packet) {
        let is_first = !self.lines[number as usize].waits();
        let line = &mut self.lines[number as usize];
        line.packets.push(&mut self.store, Queued { packet, since: now });
        if is_first {
            self.begin_waiting(now, number);
        }
    }

    /// A segment waits in its TCP from now on.
    pub(super) fn withhold(&mut self, now: Instant, number: u32, packet: Packet, asker: u32) {
        let line = &mut self.lines[number as usize];
        let since = line.asked.as_ref().map_or(now, |asked| asked.head.since);
        let is_first = !line.waits();
        line.asked = Some(Asked { head: Queued { packet, since }, asker });
        if is_first {
            self.begin_waiting(now, number);
        }
    }

    fn begin_waiting(&mut self, now: Instant, number: u32) {
        self.lines[number as usize].due_at = Instant::NEVER;
        if self.params.order == ServiceOrder::FirstCome {
            self.lines[number as usize].turn = self.turn();
        }
        self.join_waiting(number);
        if self.timer.at == Instant::NEVER {
            self.timer.at = now + self.params.timer;
            self.stats.timers_set += 1;
        }
    }

    pub(super) fn join_waiting(&mut self, number: u32) {
        self.waiting.push(number);
        self.connections.set_waiting(number, true);
    }

    pub(super) fn stop_waiting(&mut self, place: usize) {
        let number = self.waiting.swap_remove(place);
        // While a TCP may send, its connection keeps its share, even if it has closed.
        if self.granted.is_none_or(|granted| granted.number != number) {
            self.connections.set_waiting(number, false);
        }
    }

    /// Whether a packet of the connection may pass waiting ones.
    pub(super) fn may_pass(&self, number: u32) -> bool {
        !self.lines[number as usize].waits()
            && (self.waiting.is_empty()
                || !self.is_common()
                || self.params.fresh == FreshPackets::Overtake)
    }
}
