//! Thresholds that follow measured performance. Noureddine & Tobagi 2002, §6, name it as an alternative to settings by
//! applications: "monitor the connections' performance and update the settings accordingly".
//!
//! The paper states no controller. This one has a step up and a step down, at the end of each interval:
//!
//! - **Down.** If more green bytes than the budget allows were marked, the thresholds are halved, down to one segment.
//! - **Up.** Otherwise, if more than one of twenty transfers was slow, HIGH_thresh grows by one segment, up to a limit.
//!
//! MED_thresh keeps its ratio to HIGH_thresh. A transfer is what a flow sends without a pause. It is slow while it still sends
//! its first bytes after a time. A pause that a retransmission ends is a timeout, and belongs to the transfer.

use shortflow_packet::{FlowKey, Packet, SenderView};
use shortflow_units::{Bytes, Duration, Instant, Rate, Rng};

use crate::ParamsError;
use crate::flow_hash::FlowHash;
use crate::params::above_zero;
use crate::table::{LruTable, TableBounds};

/// How thresholds follow measured performance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Adaptation {
    budget: Rate,
    slow: Duration,
    size: Bytes,
    every: Duration,
    highest: u32,
}

/// The settings of an [`Adaptation`], as [`Adaptation::settings`] gives them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AdaptationSettings {
    /// The rate of green packets above which thresholds fall.
    pub budget: Rate,
    /// A transfer is slow that sends its first bytes for longer.
    pub slow: Duration,
    /// How many bytes of a transfer, with headers, are its first.
    pub size: Bytes,
    /// The interval between two steps.
    pub every: Duration,
    /// The largest HIGH_thresh, in segments.
    pub highest: u32,
}

impl Adaptation {
    /// Checks settings.
    pub fn new(settings: AdaptationSettings) -> Result<Self, ParamsError> {
        let AdaptationSettings { budget, slow, size, every, highest } = settings;
        if !(1..=MAX_HIGHEST).contains(&highest) {
            let message = format!("highest must be 1 to {MAX_HIGHEST}; found {highest}");
            return Err(ParamsError::new("highest", message));
        }
        Ok(Adaptation {
            budget: above_zero("budget", budget)?,
            slow: above_zero("slow", slow)?,
            size: above_zero("size", size)?,
            every: above_zero("every", every)?,
            highest,
        })
    }

    /// Every setting, to take apart without `..`: a new one does not compile until each engine has decided what it means.
    pub fn settings(&self) -> AdaptationSettings {
        let Adaptation { budget, slow, size, every, highest } = *self;
        AdaptationSettings { budget, slow, size, every, highest }
    }
}

/// The largest `highest`: the largest window that TCP can announce, in segments of 536 bytes (RFC 7323, RFC 9293).
const MAX_HIGHEST: u32 = 1 << 21;

/// A flow that pauses for longer begins another transfer.
const PAUSE: Duration = Duration::from_millis(500);

/// Transfers that are watched at the same time, and how long one is remembered.
const WATCHED: TableBounds = TableBounds { entries: 65_536, idle_timeout: Duration::from_secs(60) };

/// One of so many transfers may be slow.
const TOLERATED: u64 = 20;

/// What a flow sends without a pause.
#[derive(Debug, Clone, Copy)]
struct Transfer {
    began: Instant,
    sent: Bytes,
    /// The intervals in which it was counted last: as one that sends, and as a slow one.
    counted: u64,
    slow_counted: u64,
}

/// The thresholds of now.
#[derive(Debug)]
pub(super) struct Controller {
    adaptation: Adaptation,
    /// HIGH_thresh and MED_thresh of the policy.
    base: [u32; 2],
    high: u32,
    transfers: LruTable<FlowKey, Transfer>,
    /// The number of the interval, from one on, and when it began.
    interval: u64,
    began: Option<Instant>,
    /// What was counted in it.
    green: Bytes,
    sending: u64,
    slow: u64,
    raised: u64,
    lowered: u64,
    /// HIGH_thresh of each interval, summed.
    total: u64,
}

impl Controller {
    /// Begins with the thresholds of the policy. The hash of its table has a seed from `rng`.
    pub(super) fn new(adaptation: Adaptation, base: [u32; 2], rng: &mut Rng) -> Self {
        Controller {
            adaptation,
            base,
            high: base[0].min(adaptation.highest),
            transfers: LruTable::new(WATCHED, FlowHash::seeded(rng)),
            interval: 1,
            began: None,
            green: Bytes::ZERO,
            sending: 0,
            slow: 0,
            raised: 0,
            lowered: 0,
            total: 0,
        }
    }

    /// HIGH_thresh and MED_thresh, in segments.
    pub(super) fn thresholds(&self) -> [u32; 2] {
        let [high, medium] = self.base.map(u64::from);
        let scaled = u64::from(self.high) * medium / high.max(1);
        [self.high, u32::try_from(scaled).unwrap_or(u32::MAX).max(self.high)]
    }

    /// A packet is about to be marked. Ends the interval when it is over.
    pub(super) fn watch(&mut self, now: Instant, packet: &Packet, sender: &SenderView) {
        let began = *self.began.get_or_insert(now);
        if now.since(began) >= self.adaptation.every {
            self.step(now.since(began));
            self.began = Some(now);
        }
        let fresh = Transfer { began: now, sent: Bytes::ZERO, counted: 0, slow_counted: 0 };
        let seen = self.transfers.see(now, packet.key, |_| fresh);
        let is_repair = sender.is_retransmission == Some(true);
        if now.since(seen.before) > PAUSE && !is_repair {
            let counted = [seen.value.counted, seen.value.slow_counted];
            *seen.value = Transfer { counted: counted[0], slow_counted: counted[1], ..fresh };
        }
        let transfer = seen.value;
        if std::mem::replace(&mut transfer.counted, self.interval) < self.interval {
            self.sending += 1;
        }
        let is_slow = transfer.sent < self.adaptation.size
            && now.since(transfer.began) > self.adaptation.slow;
        if is_slow && std::mem::replace(&mut transfer.slow_counted, self.interval) < self.interval {
            self.slow += 1;
        }
        transfer.sent += packet.bytes();
    }

    /// A packet was marked green.
    pub(super) fn count_green(&mut self, packet: &Packet) {
        self.green += packet.bytes();
    }

    fn step(&mut self, elapsed: Duration) {
        self.total += u64::from(self.high);
        if self.green > self.adaptation.budget.volume(elapsed) {
            self.lowered += u64::from(self.high > 1);
            self.high = (self.high / 2).max(1);
        } else if self.slow * TOLERATED > self.sending && self.high < self.adaptation.highest {
            self.raised += 1;
            self.high += 1;
        }
        self.interval += 1;
        (self.green, self.sending, self.slow) = (Bytes::ZERO, 0, 0);
    }

    pub(super) fn counters(&self, visit: &mut dyn FnMut(&'static str, u64)) {
        visit("intervals", self.interval - 1);
        visit("HIGH thresholds, summed over intervals", self.total);
        visit("thresholds raised", self.raised);
        visit("thresholds lowered", self.lowered);
    }
}
