//! The receiving half: received data, and when they are acknowledged.

use shortflow_units::Instant;

use crate::ack_delay::AckDelay;
use crate::header::{SackBlocks, Stamps, TcpHeader};
use crate::reassembly::Reassembly;
use crate::right_sizing::RightSizing;
use crate::sender::Sender;
use crate::timer_wheel::TimerWheel;
use crate::timestamps::TsRecent;
use crate::{Config, DelayedAck};

/// No FIN has arrived.
const NO_FIN: u64 = u64::MAX;

/// The receiving half of a connection, in stream offsets of the peer.
#[derive(Debug)]
pub(crate) struct Receiver {
    /// The peer's initial sequence number.
    pub(crate) initial: u32,
    /// RCV.NXT.
    pub(crate) next: u64,
    /// The offset of the FIN, once it has arrived.
    fin: u64,
    pub(crate) reassembly: Option<Box<Reassembly>>,
    pub(crate) due: AckDue,
    /// Bytes that arrived in order and are not acknowledged yet.
    unacknowledged: u32,
    /// The timestamp bits of the next acknowledgement, and of data that carry it.
    pub(crate) stamps: Stamps,
    /// TS.Recent.
    pub(crate) recent: TsRecent,
    /// The number of further segments that are acknowledged at once.
    quick: u16,
    /// The growth of the window, if it grows.
    pub(crate) sizing: Option<Box<RightSizing>>,
    /// The adaptive delay of acknowledgements, if it is used.
    delay: AckDelay,
    /// The delayed-acknowledgement timer.
    pub(crate) timer: Instant,
}

/// How urgently an acknowledgement is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum AckDue {
    /// Nothing to acknowledge.
    No,
    /// With the next data, or when the timer expires.
    Delayed,
    /// Now, with data if some can be sent now.
    Now,
    /// As `Now`, but before the application is notified of the data.
    First,
    /// Now, on a separate segment: with data it would not count as a duplicate.
    Bare,
}

impl Receiver {
    pub(crate) fn new(config: &Config) -> Self {
        let window = window(config);
        Receiver {
            initial: 0,
            next: 0,
            fin: NO_FIN,
            reassembly: None,
            due: AckDue::No,
            unacknowledged: 0,
            stamps: Stamps::default().with(Stamps::RECEIVER, config.right_sizing),
            recent: TsRecent::default(),
            quick: quick_at_first(config, window),
            sizing: config.right_sizing.then(|| Box::new(RightSizing::new(config.mss, window))),
            delay: AckDelay::default(),
            timer: Instant::NEVER,
        }
    }

    /// The peer's SYN arrived.
    pub(crate) fn on_syn(&mut self, sent_at: Instant, header: &TcpHeader, config: &Config) {
        if config.has_timestamps() {
            self.recent = TsRecent::new(sent_at);
        }
        self.initial = header.seq;
        self.next = 1;
        self.stamps = self.stamps.with(Stamps::ANSWERS_AGAIN, header.stamps.has(Stamps::AGAIN));
    }

    /// Whether the FIN and everything before it have arrived.
    pub(crate) fn is_finished(&self) -> bool {
        self.next > self.fin
    }

    /// Bytes delivered to the application, in order.
    pub(crate) fn delivered(&self) -> u64 {
        self.next.saturating_sub(1 + u64::from(self.is_finished()))
    }

    /// Makes an acknowledgement due, at least as urgently as `due`.
    #[inline]
    pub(crate) fn demand_ack(&mut self, due: AckDue) {
        self.due = self.due.max(due);
    }

    /// An echo of the receiver's timestamps can end a round trip, after which further segments are
    /// acknowledged at once.
    #[inline]
    pub(crate) fn on_carried_back(&mut self, peer: Stamps, mss: u16) {
        if let Some(sizing) = &mut self.sizing
            && self.stamps.is_carried_by(peer)
        {
            self.stamps = self.stamps.with(Stamps::RECEIVER, !self.stamps.has(Stamps::RECEIVER));
            self.quick = self.quick.saturating_add(sizing.on_round_trip(self.next, mss));
        }
    }

    /// A segment with the acknowledgement is sent.
    #[inline]
    pub(crate) fn on_ack_sent(&mut self) {
        if self.due > AckDue::No && self.delay.has_begun() {
            self.quick = self.quick.saturating_sub(1);
        }
        self.due = AckDue::No;
        self.unacknowledged = 0;
        self.timer = Instant::NEVER;
    }

    pub(crate) fn on_timer(&mut self, config: &Config, sender: &Sender) {
        self.timer = Instant::NEVER;
        if let Some(delayed) = config.delayed_ack {
            self.delay.on_expiry(delayed.timeout, sender.rtt.rto());
        }
        self.demand_ack(AckDue::Now);
    }

    /// A segment with data is sent.
    #[inline]
    pub(crate) fn on_data_sent(&mut self, now: Instant) {
        if self.delay.has_begun() {
            self.delay.on_data_sent(now);
        }
    }

    /// Whether a segment of `length` sequence numbers from `start` touches the window, or lies completely
    /// before it (RFC 9293 §3.10.7.4; the latter still acknowledges).
    #[inline]
    pub(crate) fn accepts(&self, start: u64, length: u64, config: &Config) -> Acceptance {
        let end = start.wrapping_add(length);
        if start >= self.next + u64::from(window(config)) {
            Acceptance::Outside
        } else if end <= self.next {
            Acceptance::Old
        } else {
            Acceptance::Inside
        }
    }

    /// Data from `start` on arrived, as a retransmission if `again`. Records it for the acknowledgement,
    /// which answers the first segment since the last one that leaves no gap (RFC 7323 §4.3).
    #[inline]
    pub(crate) fn note_transmission(&mut self, start: u64, again: bool) {
        if start <= self.next && self.unacknowledged == 0 {
            self.stamps = self.stamps.with(Stamps::ANSWERS_AGAIN, again);
        }
    }

    /// An acceptable segment of `length` sequence numbers arrived. Its TSval becomes TS.Recent if it covers
    /// Last.ACK.sent (RFC 7323 §4.3). As in Linux, a duplicate that ends before that does not count.
    #[inline]
    pub(crate) fn note_timestamp(
        &mut self,
        now: Instant,
        sent_at: Instant,
        start: u64,
        length: u64,
    ) {
        if !self.recent.is_enabled() {
            return;
        }
        let acknowledged = self.next - u64::from(self.unacknowledged);
        let is_answered = start <= acknowledged && acknowledged <= start.saturating_add(length);
        if is_answered && !self.recent.rejects(now, sent_at) {
            self.recent = TsRecent::new(sent_at);
        }
    }

    /// The data from `start` to `end` are a duplicate: records them for the next acknowledgement (RFC 2883
    /// §4). As in Linux, the sender then gets as many immediate acknowledgements as at the start, because it
    /// seems to have missed some.
    #[cold]
    pub(crate) fn note_duplicate(&mut self, start: u64, end: u64, config: &Config) {
        self.reassembly.get_or_insert_default().note_duplicate(start, end);
        self.quick = self.quick.max(quick_acks(config));
        if let Some(delayed) = config.delayed_ack
            && config.adaptive_ack
        {
            self.delay.reset(delayed.timeout);
        }
    }

    /// The SACK blocks of an acknowledgement that is sent now.
    #[inline]
    pub(crate) fn take_sack_blocks(&mut self) -> SackBlocks {
        let Some(held) = &mut self.reassembly else { return SackBlocks::default() };
        let blocks = held.take_sack_blocks(self.initial);
        if held.is_empty() {
            self.reassembly = None;
        }
        blocks
    }

    /// Accepts data that touch the window, and a FIN after them.
    #[inline]
    pub(crate) fn on_data(
        &mut self,
        now: Instant,
        start: u64,
        payload: u16,
        fin: bool,
        (config, sender): (&Config, &Sender),
    ) {
        let end = start + u64::from(payload);
        if start == self.next && self.reassembly.is_none() && !fin && self.fin == NO_FIN {
            self.next = end;
            self.on_in_order(now, payload, config, sender);
        } else {
            if let Some(delayed) = config.delayed_ack
                && config.adaptive_ack
                && start <= self.next
                && end > self.next
            {
                self.adapt(now, delayed, config, sender);
            }
            self.on_unusual_data(start, end, fin, config);
        }
    }

    /// RFC 5681 §4.2: an acknowledgement for at least every second full segment, and within the delay.
    #[inline]
    fn on_in_order(&mut self, now: Instant, payload: u16, config: &Config, sender: &Sender) {
        let Some(delayed) = config.delayed_ack else {
            self.demand_ack(AckDue::Now);
            return;
        };
        if config.adaptive_ack {
            self.on_in_order_adaptive(now, payload, delayed, (config, sender));
            return;
        }
        if self.quick > 0 {
            self.quick -= 1;
            self.demand_ack(AckDue::Now);
            return;
        }
        self.unacknowledged += u32::from(payload);
        if self.unacknowledged >= delayed.segments * u32::from(config.mss) {
            self.demand_ack(AckDue::Now);
        } else {
            self.delay_ack(TimerWheel::new(config).expiry(now, delayed.timeout));
        }
    }

    /// As in Linux: more than one full segment is acknowledged at once. So are the first segments, and the
    /// last segment of the peer's write, unless an answer is expected to carry the acknowledgement.
    #[inline]
    fn on_in_order_adaptive(
        &mut self,
        now: Instant,
        payload: u16,
        delayed: DelayedAck,
        (config, sender): (&Config, &Sender),
    ) {
        self.adapt(now, delayed, config, sender);
        self.unacknowledged += u32::from(payload);
        let is_end = payload < config.mss;
        if !self.delay.answers && (self.quick > 0 || is_end) {
            self.demand_ack(AckDue::First);
        } else if self.unacknowledged > (delayed.segments - 1) * u32::from(config.mss) {
            self.demand_ack(AckDue::Now);
        } else {
            let wait = self.delay.timeout(delayed.timeout, sender.rtt.smoothed());
            self.delay_ack(TimerWheel::new(config).expiry(now, wait));
        }
    }

    /// An acknowledgement is due by `latest`, which the first unacknowledged segment determines.
    #[inline]
    fn delay_ack(&mut self, latest: Instant) {
        self.demand_ack(AckDue::Delayed);
        if self.timer == Instant::NEVER {
            self.timer = latest;
        }
    }

    /// In-order data show how soon further data may follow.
    fn adapt(&mut self, now: Instant, delayed: DelayedAck, config: &Config, sender: &Sender) {
        if self.delay.on_data(now, delayed.timeout, sender.rtt.rto()) {
            self.quick = self.quick.max(quick_acks(config));
        }
    }

    /// Data out of order, partly old, filling a gap, or with a FIN: acknowledged at once (RFC 5681 §4.2).
    #[cold]
    fn on_unusual_data(&mut self, start: u64, end: u64, fin: bool, config: &Config) {
        let with_sack = config.recovery.has_sack();
        if config.reports_duplicates() {
            let held = self.reassembly.as_ref().and_then(|held| held.block_with(start));
            let until = if start < self.next { self.next } else { held.map_or(0, |held| held.1) };
            if start < end.min(until) {
                self.note_duplicate(start, end.min(until), config);
            }
        }
        if fin && self.fin == NO_FIN {
            self.fin = end;
        }
        if start > self.next {
            // A FIN has a sequence number, and is reported like a byte.
            let end = end + u64::from(fin);
            if end > start {
                self.reassembly.get_or_insert_default().insert(start, end, with_sack);
            }
            self.demand_ack(AckDue::Bare);
            return;
        }
        self.next = self.next.max(end);
        if let Some(held) = &mut self.reassembly {
            self.next = held.advance(self.next);
            if held.is_empty() {
                self.reassembly = None;
            }
        }
        if self.next == self.fin {
            self.next += 1;
        }
        self.demand_ack(AckDue::Now);
    }
}

/// RCV.WND: constant, because the application reads at once.
#[inline]
pub(crate) fn window(config: &Config) -> u32 {
    u32::try_from(config.receive_window.0).unwrap_or(u32::MAX)
}

/// How many segments are acknowledged at once at the start: the setting, or those that let the window grow.
fn quick_at_first(config: &Config, window: u32) -> u16 {
    let growing = if config.right_sizing { RightSizing::at_first(config.mss, window) } else { 0 };
    quick_acks(config).saturating_add(growing)
}

fn quick_acks(config: &Config) -> u16 {
    u16::try_from(config.quick_acks).unwrap_or(u16::MAX)
}

/// The position of a segment relative to the receive window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Acceptance {
    Inside,
    /// It contains only old data.
    Old,
    Outside,
}
