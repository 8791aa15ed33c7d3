//! PIE: an AQM that controls the queueing delay with a proportional-integral controller (RFC 8033).
//!
//! Every `update` the probability changes by α·(delay − target) + β·(delay − previous delay), scaled down for
//! small probabilities (§4.2). An arriving packet is dropped with this probability, or marked (§5.1), except
//! in the first burst after an idle time (§4.4), or while the queue is short (§4.1).
//!
//! The delay is the waiting time of the head packet: timestamps, as in §4.3, instead of an estimate of the
//! departure rate (§5.2). Updates that were due since the last packet are made at the next packet. The queue
//! does not change between packets, so the result is the same as with timely updates.

use shortflow_packet::{Ecn, Packet};
use shortflow_units::{Bytes, Duration, Instant, Length, Rng};

use super::EcnMode;
use super::ring::{Ring, checked_limit};
use crate::params::above_zero;
use crate::{Backlog, DropReason, Drops, ParamsError, QueueDiscipline, Queued};

/// The settings of a [`Pie`] queue.
#[derive(Debug, Clone, Copy)]
pub struct PieSettings {
    /// The limit; packets that do not fit are dropped.
    pub limit: Length,
    /// QDELAY_REF: the target queueing delay.
    pub target: Duration,
    /// T_UPDATE: the time between updates of the probability.
    pub update: Duration,
    /// MAX_BURST: how long a burst after an idle time is exempt.
    pub max_burst: Duration,
    /// α: the change of the probability per update, per second of delay above the target.
    pub alpha: f64,
    /// β: the change of the probability per update, per second of increase of the delay since the last
    /// update.
    pub beta: f64,
    /// Whether ECN-capable packets are marked while the probability is below 10 % (§5.1).
    pub ecn: EcnMode,
}

/// Parameters of [`Pie`].
#[derive(Debug, Clone)]
pub struct PieParams {
    settings: PieSettings,
}

impl PieParams {
    /// PIE with these settings. RFC 8033 has a target and an update of 15 ms, a burst of 150 ms,
    /// α = 0.125 and β = 1.25.
    pub fn new(settings: PieSettings) -> Result<Self, ParamsError> {
        checked_limit(settings.limit)?;
        above_zero("target", settings.target)?;
        if settings.update < MIN_UPDATE {
            let message =
                format!("update must be at least {MIN_UPDATE}; found {}", settings.update);
            return Err(ParamsError::new("update", message));
        }
        for (name, gain) in [("alpha", settings.alpha), ("beta", settings.beta)] {
            if !(gain > 0.0 && gain <= 100.0) {
                let message = format!("{name} must be above 0 and at most 100; found {gain}");
                return Err(ParamsError::new(name, message));
            }
        }
        Ok(PieParams { settings })
    }

    /// The checked settings.
    pub fn settings(&self) -> &PieSettings {
        &self.settings
    }
}

/// A PIE queue (RFC 8033). Its drops are [`DropReason::Early`]; packets above the limit are
/// [`DropReason::Overlimit`]. A packet takes one step per update since the previous one. An empty queue stops
/// changing after at most a few thousand updates.
#[derive(Debug)]
pub struct Pie {
    settings: PieSettings,
    ring: Ring,
    control: Control,
    /// When the probability is updated next.
    next_update: Instant,
    ecn_marks: u64,
    rng: Rng,
}

/// The state of the controller (RFC 8033, Appendix A).
#[derive(Debug, Clone, Copy, PartialEq)]
struct Control {
    probability: f64,
    /// The delay at the last update, in seconds.
    delay_before: f64,
    burst_allowance: Duration,
}

enum Verdict {
    Pass,
    Mark,
    Drop,
}

impl Pie {
    /// An empty queue that draws from `rng`.
    pub fn new(params: PieParams, rng: Rng) -> Self {
        let settings = params.settings;
        let control =
            Control { probability: 0.0, delay_before: 0.0, burst_allowance: settings.max_burst };
        Pie {
            next_update: Instant::START + settings.update,
            ring: Ring::new(settings.limit),
            settings,
            control,
            ecn_marks: 0,
            rng,
        }
    }

    /// The drop probability after the updates up to the last packet.
    pub fn probability(&self) -> f64 {
        self.control.probability
    }

    /// Makes all updates until `now`.
    fn catch_up(&mut self, now: Instant) {
        let head = self.ring.ready_at();
        while self.next_update <= now {
            let delay = head.map_or(0.0, |since| self.next_update.since(since).as_secs_f64());
            let next = self.control.updated(&self.settings, delay);
            let rests = next == self.control && head.is_none();
            self.control = next;
            if rests {
                // Nothing changes any more: the remaining updates only advance the time.
                let step = self.settings.update.nanos();
                let steps = now.since(self.next_update).nanos() / step + 1;
                self.next_update += Duration::from_nanos(steps * step);
                return;
            }
            self.next_update += self.settings.update;
        }
    }

    fn judge(&mut self, packet: &Packet) -> Verdict {
        let Control { probability, delay_before, burst_allowance } = self.control;
        // §4.4: a burst is exempt. §4.1: so is a packet that meets a short queue, by time or by bytes.
        let is_burst = burst_allowance > Duration::ZERO;
        let is_fast = delay_before < self.half_target() && probability < SPARED_BELOW;
        let is_short = self.ring.backlog().bytes <= Bytes(2 * MEAN_PACKET);
        if is_burst || is_fast || is_short || !self.rng.bernoulli(probability) {
            return Verdict::Pass;
        }
        let marks = self.settings.ecn == EcnMode::Mark && packet.ecn.is_capable();
        if marks && probability < MARKED_BELOW { Verdict::Mark } else { Verdict::Drop }
    }

    fn half_target(&self) -> f64 {
        self.settings.target.as_secs_f64() / 2.0
    }
}

impl Control {
    /// The state after an update with this `delay` in seconds (RFC 8033, §4.2, §4.4, §5.5).
    fn updated(self, settings: &PieSettings, delay: f64) -> Control {
        let target = settings.target.as_secs_f64();
        let mut change =
            settings.alpha * (delay - target) + settings.beta * (delay - self.delay_before);
        // §4.2: smaller probabilities change in smaller steps.
        let scale = SCALES.iter().find(|(below, _)| self.probability < *below);
        change /= scale.map_or(1.0, |(_, divisor)| *divisor);
        // §5.5: high probabilities rise slowly.
        if self.probability >= 0.1 {
            change = change.min(0.02);
        }
        let mut probability = self.probability + change;
        if delay == 0.0 && self.delay_before == 0.0 {
            // §4.2: congestion has ended.
            probability *= 0.98;
        }
        let probability = probability.clamp(0.0, 1.0);
        let is_quiet = probability == 0.0 && delay.max(self.delay_before) < target / 2.0;
        let left = self.burst_allowance.nanos().saturating_sub(settings.update.nanos());
        let burst_allowance =
            if is_quiet { settings.max_burst } else { Duration::from_nanos(left) };
        Control { probability, delay_before: delay, burst_allowance }
    }
}

impl QueueDiscipline for Pie {
    fn reserve(&mut self, packets: usize, _flows: usize) {
        self.ring.reserve(packets);
    }

    #[inline]
    fn enqueue(&mut self, now: Instant, mut packet: Packet, drops: &mut Drops) {
        self.catch_up(now);
        if !self.ring.has_room_for(&packet) {
            return drops.push(packet, DropReason::Overlimit);
        }
        match self.judge(&packet) {
            Verdict::Pass => {}
            Verdict::Drop => return drops.push(packet, DropReason::Early),
            Verdict::Mark => {
                packet.ecn = Ecn::Ce;
                self.ecn_marks += 1;
            }
        }
        self.ring.push(now, packet);
    }

    #[inline]
    fn dequeue(&mut self, now: Instant, _drops: &mut Drops) -> Option<Queued> {
        self.catch_up(now);
        self.ring.pop()
    }

    #[inline]
    fn ready_at(&self) -> Option<Instant> {
        self.ring.ready_at()
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.ring.backlog()
    }

    fn ecn_marks(&self) -> u64 {
        self.ecn_marks
    }
}

/// §4.2: the divisor of a change, below each probability.
const SCALES: [(f64, f64); 6] = [
    (0.000_001, 2048.0),
    (0.000_01, 512.0),
    (0.000_1, 128.0),
    (0.001, 32.0),
    (0.01, 8.0),
    (0.1, 2.0),
];
/// §4.1: MEAN_PKTSIZE, in bytes.
const MEAN_PACKET: u64 = 1024;
/// An element steps through all updates since the last packet, so their number must be limited.
const MIN_UPDATE: Duration = Duration::from_micros(100);
/// §4.1: below this probability, a queue of less than half the target drops nothing.
const SPARED_BELOW: f64 = 0.2;
/// §5.1: mark_ecnth.
const MARKED_BELOW: f64 = 0.1;

#[cfg(test)]
mod tests {
    use super::*;

    fn pie() -> Pie {
        let settings = PieSettings {
            limit: Length::Packets(1000),
            target: Duration::from_millis(15),
            update: Duration::from_millis(15),
            max_burst: Duration::from_millis(150),
            alpha: 0.125,
            beta: 1.25,
            ecn: EcnMode::Mark,
        };
        Pie::new(PieParams::new(settings).unwrap(), Rng::stream(1, "pie"))
    }

    fn at(micros: u64) -> Instant {
        Instant::START + Duration::from_micros(micros)
    }

    #[test]
    fn updates_made_up_for_are_as_updates_in_their_time() {
        let (mut lazy, mut eager) = (pie(), pie());
        let (mut drops, mut rng) = (Drops::default(), Rng::stream(7, "traffic"));
        let mut now = 0;
        for round in 0..10_000 {
            // Busy for ten seconds, then silent for three, again and again.
            let step = if round % 5_000 == 4_999 { 3_000_000 } else { rng.below(4_000) };
            for tick in now..now + step {
                if tick % 1_000 == 0 {
                    eager.catch_up(at(tick));
                }
            }
            now += step;
            let arrives = rng.below(100) < 52;
            for queue in [&mut lazy, &mut eager] {
                if arrives {
                    queue.enqueue(at(now), crate::test_packet(), &mut drops);
                } else {
                    let _ = queue.dequeue(at(now), &mut drops);
                }
            }
            assert_eq!(lazy.control, eager.control, "round {round}");
            assert_eq!(lazy.backlog(), eager.backlog(), "round {round}");
        }
        assert!(drops.drain().count() > 100, "the controller was at work");
    }

    #[test]
    fn an_empty_queue_comes_to_rest_and_an_hour_of_silence_costs_nothing() {
        let mut queue = pie();
        queue.control =
            Control { probability: 1.0, delay_before: 0.2, burst_allowance: Duration::ZERO };
        queue.catch_up(at(3_600_000_000));
        let rest = Control {
            probability: 0.0,
            delay_before: 0.0,
            burst_allowance: Duration::from_millis(150),
        };
        assert_eq!(queue.control, rest);
        assert_eq!(queue.next_update, at(3_600_000_000) + Duration::from_millis(15));
    }
}
