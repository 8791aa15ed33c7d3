//! Random Early Detection with one or several levels of drop precedence.
//!
//! One physical FIFO. Each packet has a level, which its DSCP names; each level has its own
//! thresholds and maximum probability. What a level's average counts is a setting: all packets
//! (WRED, and the multi-level RED of Casetti & Mellia 2005), packets of the level (RIO-D), or
//! packets of the level and of those that are better protected (RIO-C). Plain RED is one level.
//!
//! An arriving packet takes a sample of those averages that count packets of its level, so that an
//! average is paced by the packets it counts, as in RIO (Clark & Fang 1998). Each level counts its own
//! packets since its last drop.

mod average;
mod drop_curve;
mod params;
mod spacing;

use std::ops::Range;

use shortflow_units::{Bytes, Instant, Rate, Rng};

use self::average::Average;
pub use self::drop_curve::{AboveMax, DropCurve};
use self::drop_curve::{Region, Slopes, Unit};
pub use self::params::{Averages, EcnMode, RedParams, RedSettings};
use self::spacing::Gap;
pub use self::spacing::Spacing;
use super::ring::Ring;
use crate::classifier::DscpTable;
use crate::{Backlog, DropReason, Drops, Ecn, Packet, QueueDiscipline, Queued};

/// A RED queue (Floyd & Jacobson 1993) with one or several levels.
///
/// A packet that finds the average between the thresholds is dropped with a probability that rises
/// with the average ([`DropReason::Early`]); one that finds it above is dropped for certain
/// ([`DropReason::Forced`]); one that does not fit under the limit is dropped
/// ([`DropReason::Overlimit`]). In the gentle region packets are still chosen by chance, so their
/// reason is `Early`. O(1) per packet, with one step per level for [`Averages::Coupled`].
#[derive(Debug)]
pub struct Red {
    ring: Ring,
    levels: Vec<Level>,
    level_of: DscpTable<u8>,
    averages: Vec<Average>,
    coupling: Averages,
    unit: Unit,
    /// 1 over the size of a mean packet; zero when sizes do not matter.
    per_mean_packet: f64,
    spacing: Spacing,
    ecn: EcnMode,
    spare_below: u64,
    idle_packet: Bytes,
    ecn_marks: u64,
    rng: Rng,
}

#[derive(Debug)]
struct Level {
    curve: Slopes,
    gap: Gap,
}

enum Verdict {
    Pass,
    Mark,
    Drop(DropReason),
}

impl Red {
    /// An empty queue that draws from `rng`.
    pub fn new(params: RedParams, rng: Rng) -> Self {
        let RedParams { settings, unit, curves, level_of, averages: coupling } = params;
        let average = Average::new(settings.weight, settings.rate.time_for(settings.idle_packet));
        let average_count = if coupling == Averages::Shared { 1 } else { curves.len() };
        Red {
            ring: Ring::new(settings.limit),
            levels: curves
                .iter()
                .map(|curve| Level { curve: curve.slopes(), gap: Gap::default() })
                .collect(),
            level_of,
            averages: vec![average; average_count],
            coupling,
            unit,
            per_mean_packet: settings.mean_packet.map_or(0.0, |mean| 1.0 / mean.0 as f64),
            spacing: settings.spacing,
            ecn: settings.ecn,
            spare_below: settings.spare_below,
            idle_packet: settings.idle_packet,
            ecn_marks: 0,
            rng,
        }
    }

    /// The average that packets of `level` are judged by, in packets or bytes.
    pub fn average_of(&self, level: usize) -> f64 {
        self.averages[self.counting(level).start].value()
    }

    #[inline]
    fn level(&self, packet: &Packet) -> usize {
        usize::from(self.level_of.get(packet.dscp))
    }

    /// The averages that count packets of `level`; the first is the one that judges them.
    #[inline]
    fn counting(&self, level: usize) -> Range<usize> {
        match self.coupling {
            Averages::Shared => 0..1,
            Averages::PerLevel => level..level + 1,
            Averages::Coupled => level..self.averages.len(),
        }
    }

    /// What `packet` counts for in the averages.
    #[inline]
    fn amount(&self, packet: &Packet) -> u64 {
        match self.unit {
            Unit::Packets => 1,
            Unit::Bytes => u64::from(packet.size),
        }
    }

    #[inline]
    fn judge(&mut self, level: usize, packet: &Packet) -> Verdict {
        let average = self.average_of(level);
        let Level { curve, gap } = &mut self.levels[level];
        let is_spared = self.ring.backlog().packets < self.spare_below;
        let region = if is_spared { Region::Pass } else { curve.at(average) };
        let may_mark = self.ecn.marks() && packet.ecn.is_capable();
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
        if gap.chooses(&mut self.rng, self.spacing, probability, share) {
            chosen_verdict
        } else {
            Verdict::Pass
        }
    }
}

impl QueueDiscipline for Red {
    fn reserve(&mut self, packets: usize, _flows: usize) {
        self.ring.reserve(packets);
    }

    #[inline]
    fn enqueue(&mut self, now: Instant, mut packet: Packet, drops: &mut Drops) {
        let level = self.level(&packet);
        let counting = self.counting(level);
        for average in &mut self.averages[counting.clone()] {
            average.sample(now);
        }
        let verdict = self.judge(level, &packet);
        if let Verdict::Drop(reason) = verdict {
            return drops.push(packet, reason);
        }
        if !self.ring.has_room_for(&packet) {
            return drops.push(packet, DropReason::Overlimit);
        }
        if let Verdict::Mark = verdict {
            // A packet that carries a mark already keeps it; the mark was this queue's too.
            packet.ecn = Ecn::Ce;
            self.ecn_marks += 1;
        }
        let amount = self.amount(&packet);
        for average in &mut self.averages[counting] {
            average.add(amount);
        }
        self.ring.push(now, packet);
    }

    #[inline]
    fn dequeue(&mut self, now: Instant, _drops: &mut Drops) -> Option<Queued> {
        let queued = self.ring.pop()?;
        let counting = self.counting(self.level(&queued.packet));
        let amount = self.amount(&queued.packet);
        for average in &mut self.averages[counting] {
            average.remove(now, amount);
        }
        Some(queued)
    }

    #[inline]
    fn ready_at(&self) -> Option<Instant> {
        self.ring.ready_at()
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.ring.backlog()
    }

    /// The average of the last level; unless averages are per level, it counts all packets.
    fn average(&self) -> Option<f64> {
        Some(self.average_of(self.levels.len() - 1))
    }

    fn ecn_marks(&self) -> u64 {
        self.ecn_marks
    }

    #[inline]
    fn departed(&mut self, now: Instant) {
        self.averages.iter_mut().for_each(|average| average.departed(now));
    }

    fn set_rate(&mut self, now: Instant, rate: Rate) {
        let packet_time = rate.time_for(self.idle_packet);
        self.averages.iter_mut().for_each(|average| average.set_idle_packet_time(now, packet_time));
    }
}
