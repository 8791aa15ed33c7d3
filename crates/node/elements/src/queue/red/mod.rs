//! Random Early Detection with one or several levels of drop precedence.
//!
//! One physical FIFO. Each packet has a level, by its DSCP. Each level has its own thresholds and maximum
//! probability. A setting chooses which packets a level's average counts: all packets (WRED, and the
//! multi-level RED of Casetti & Mellia 2005), packets of the level (RIO-D), or packets of the level and of
//! better protected levels (RIO-C). Plain RED has one level.
//!
//! An arriving packet takes a sample of the averages that count packets of its level, as in RIO (Clark & Fang
//! 1998). Each level counts its own packets since its last drop.

mod average;
mod drop_curve;
mod levels;
mod params;
mod spacing;

use std::sync::Arc;

use shortflow_units::{Bytes, Instant, Length, Rate, Rng};

use self::average::{Average, Pace, Weight};
pub use self::drop_curve::{AboveMax, DropCurve};
use self::drop_curve::{Region, Unit};
use self::levels::Levels;
use self::params::Rules;
pub use self::params::{Averages, EcnMode, RedParams, RedSettings};
use self::spacing::Gap;
pub use self::spacing::Spacing;
use super::gated::Gated;
use super::ring::fits_sized;
use crate::{Arrival, Backlog, DropReason, Gate, Verdict};

/// A RED queue (Floyd & Jacobson 1993) with one or several levels.
///
/// If the average is between the thresholds, a packet is dropped with a probability that rises with the
/// average ([`DropReason::Early`]). Above them it is always dropped ([`DropReason::Forced`]), and so is a
/// packet above the limit ([`DropReason::Overlimit`]). In the gentle region packets are still dropped at
/// random, so the reason is `Early`. O(1) per packet, with one step per level for [`Averages::Coupled`].
pub type Red = Gated<RedGate>;

impl Red {
    /// An empty queue that draws from `rng`.
    pub fn new(params: RedParams, rng: Rng) -> Self {
        Gated::behind(RedGate::new(params, rng))
    }

    /// The average for packets of `level`, in packets or bytes.
    pub fn average_of(&self, level: usize) -> f64 {
        self.gate.average_of(level)
    }
}

/// The gate of a [`Red`] queue. Fields used for each packet come first, so that they share few cache lines: a
/// network has many of these.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct RedGate {
    rules: Arc<Rules>,
    pace: Pace,
    backlog: Backlog,
    levels: Levels,
    ecn_marks: u64,
    idle_packet: Bytes,
    rng: Rng,
}

#[derive(Debug, Clone, Default)]
struct Level {
    /// The average with this number. If one average counts all packets, it is that of the first level.
    average: Average,
    gap: Gap,
}

impl RedGate {
    /// A gate before an empty queue, which draws from `rng`.
    pub fn new(params: RedParams, rng: Rng) -> Self {
        let RedParams { settings, rules } = params;
        RedGate {
            levels: Levels::new(rules.levels()),
            rules,
            pace: Pace::from_packet_time(settings.rate.time_for(settings.idle_packet)),
            backlog: Backlog::default(),
            ecn_marks: 0,
            idle_packet: settings.idle_packet,
            rng,
        }
    }

    /// How many random numbers it has drawn.
    pub fn draws(&self) -> u64 {
        self.rng.position()
    }

    /// The average for packets of `level`, in packets or bytes.
    fn average_of(&self, level: usize) -> f64 {
        let first = if self.rules.averages == Averages::Shared { 0 } else { level };
        self.levels[first].average.value(&self.pace, &self.rules.weight)
    }

    /// The decision on a packet. Each average that counts it takes a sample and adds it by `join`. If it does
    /// not join the queue, `refuse` removes it again.
    #[inline(always)]
    fn decide(
        &mut self,
        packet: Arrival,
        join: impl Fn(&mut Average, &Pace, &Weight, u32),
        refuse: impl Fn(&mut Average, u32),
    ) -> Verdict {
        let RedGate { rules, pace, levels, backlog, .. } = self;
        let (rules, levels) = (&**rules, &mut **levels);
        let place = rules.place_of.at(packet.class.dscp());
        let amount = rules.amount(packet);
        let counting = &mut levels[place.counting()];
        counting.iter_mut().for_each(|level| join(&mut level.average, pace, &rules.weight, amount));
        let average = &mut counting[0].average;
        let is_spared = place.slopes.is_below(average.at_most()) || {
            average.fall(pace, &rules.weight);
            place.slopes.is_below(average.at_most()) || backlog.packets < rules.spare_below
        };
        let average = average.at_most();
        let gap = &mut levels[place.level].gap;
        let mut verdict = if is_spared {
            gap.reset();
            Verdict::Pass
        } else {
            rules.judge(place.slopes.at(average), packet, gap, &mut self.rng)
        };
        if !matches!(verdict, Verdict::Drop(_))
            && !fits_sized(rules.limit, *backlog, packet.bytes())
        {
            verdict = Verdict::Drop(DropReason::Overlimit);
        }
        match verdict {
            Verdict::Pass => {}
            // A packet that already has a mark keeps it; this queue's mark counts too.
            Verdict::Mark => self.ecn_marks += 1,
            Verdict::Drop(_) => {
                let counting = &mut levels[place.counting()];
                counting.iter_mut().for_each(|level| refuse(&mut level.average, amount));
            }
        }
        verdict
    }
}

impl Rules {
    /// The amount of `packet` in the averages.
    #[inline]
    fn amount(&self, packet: Arrival) -> u32 {
        match self.unit {
            Unit::Packets => 1,
            Unit::Bytes => packet.size,
        }
    }

    /// The decision on a packet with its average in this `region`, if there is room for it.
    fn judge(&self, region: Region, packet: Arrival, gap: &mut Gap, rng: &mut Rng) -> Verdict {
        let may_mark = self.ecn.marks() && packet.class.ecn().is_capable();
        let may_mark_above = may_mark && self.ecn == EcnMode::MarkAboveMax;
        let (probability, chosen_verdict) = match region {
            Region::Pass => {
                gap.reset();
                return Verdict::Pass;
            }
            Region::Forced => {
                gap.reset();
                let forced = Verdict::Drop(DropReason::Forced);
                return if may_mark_above { Verdict::Mark } else { forced };
            }
            Region::Early(p) if may_mark => (p, Verdict::Mark),
            Region::Gentle(p) if may_mark_above => (p, Verdict::Mark),
            Region::Early(p) | Region::Gentle(p) => (p, Verdict::Drop(DropReason::Early)),
        };
        let share = match self.per_mean_packet {
            0.0 => 1.0,
            per_mean_packet => f64::from(packet.size) * per_mean_packet,
        };
        if gap.chooses(rng, self.spacing, probability, share) {
            chosen_verdict
        } else {
            Verdict::Pass
        }
    }
}

impl Gate for RedGate {
    #[inline(always)]
    fn admit(&mut self, now: Instant, packet: Arrival) -> Verdict {
        let join = |average: &mut Average, pace: &Pace, weight: &Weight, amount| {
            average.sample(now, pace, weight);
            average.add(amount);
        };
        let verdict = self.decide(packet, join, Average::take_back);
        if !matches!(verdict, Verdict::Drop(_)) {
            self.backlog.add_sized(packet.bytes());
        }
        verdict
    }

    #[inline(always)]
    fn begin(&mut self, _now: Instant, left_at: Instant, packet: Arrival) {
        let place = self.rules.place_of.at(packet.class.dscp());
        let amount = self.rules.amount(packet);
        let counting = &mut self.levels[place.counting()];
        counting.iter_mut().for_each(|level| level.average.remove(amount, left_at));
        self.backlog.remove_sized(packet.bytes());
    }

    #[inline(always)]
    fn pass(&mut self, now: Instant, left_at: Instant, packet: Arrival) -> Verdict {
        let join = |average: &mut Average, _: &Pace, _: &Weight, _| {
            average.sample_idle(now);
            average.pass(left_at);
        };
        // The queue has been idle since the sample.
        self.decide(packet, join, |average, _| average.pass(now))
    }

    #[inline]
    fn departed(&mut self, now: Instant) {
        self.levels.iter_mut().for_each(|level| level.average.departed(now));
    }

    fn limit(&self) -> Length {
        self.rules.limit
    }

    fn set_rate(&mut self, now: Instant, rate: Rate) {
        let packet_time = rate.time_for(self.idle_packet);
        let RedGate { levels, pace, rules, .. } = self;
        levels.iter_mut().for_each(|level| level.average.settle(now, pace, &rules.weight));
        self.pace = Pace::from_packet_time(packet_time);
    }

    /// The average of the last level. Unless averages are per level, it counts all packets.
    fn average(&self) -> Option<f64> {
        Some(self.average_of(self.rules.levels() - 1))
    }

    fn ecn_marks(&self) -> u64 {
        self.ecn_marks
    }
}
