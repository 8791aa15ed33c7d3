//! The equilibrium of a queue with RED of one or several levels and long TCP connections: Firoiu & Borden, "A study
//! of active queue management for congestion control", INFOCOM 2000, §III, with the TCP of Padhye et al. 2000 and the
//! levels of Casetti & Mellia 2005, §2.2.
//!
//! The mean queue is the point at which the loss of its curve makes the connections send exactly the rate of the
//! line. If the curve jumps, and connections send too much below the jump and too little above, the queue moves
//! around the jump: the model gives the share of packets that find it above. Holds for many connections and a queue
//! that follows its average; oscillation is not modelled.

use crate::pftk::{self, Path};
use crate::solve::falling_root;
use crate::{ModelError, Range};

/// What happens at an average above the maximum threshold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AboveMax {
    /// Everything is dropped (Floyd & Jacobson 1993).
    Forced,
    /// The probability rises to 1 at twice the maximum threshold (Floyd 2000).
    Gentle,
}

/// How drops are spread over packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spacing {
    /// Each packet by itself, with the probability p_b of the curve.
    Independent,
    /// So that the packets between two drops are uniform up to 1/p_b: one in (1/p_b + 1)/2 is
    /// dropped (Floyd & Jacobson 1993, §7).
    Uniform,
    /// So that the packets between two drops are uniform from 1/p_b to 2/p_b − 1: one in (3/p_b − 1)/2 is dropped (ns-2's
    /// `wait_`).
    Wait,
}

/// The drop curve of one level. Lengths are in packets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Level {
    /// min_th.
    pub min_threshold: f64,
    /// max_th, above min_th.
    pub max_threshold: f64,
    /// max_p, above 0 and at most 1.
    pub max_probability: f64,
    /// What happens beyond.
    pub above_max: AboveMax,
}

impl Level {
    fn check(&self) -> Result<(), ModelError> {
        Range::at_least(0.0).check("min_threshold in packets", self.min_threshold)?;
        Range::above(self.min_threshold).check("max_threshold in packets", self.max_threshold)?;
        Range::above_up_to(0.0, 1.0).check("max_probability", self.max_probability)?;
        Ok(())
    }

    /// p_b at this average.
    fn curve(&self, average: f64) -> f64 {
        let Level { min_threshold: min, max_threshold: max, max_probability, .. } = *self;
        if average < min {
            return 0.0;
        }
        if average < max {
            return max_probability * (average - min) / (max - min);
        }
        match self.above_max {
            AboveMax::Forced => 1.0,
            AboveMax::Gentle => {
                (max_probability + (1.0 - max_probability) * (average - max) / max).min(1.0)
            }
        }
    }
}

/// Connections alike.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Group<'a> {
    /// How many there are, from 0.
    pub connections: f64,
    /// Their path; its round trip is that without the queue.
    pub path: Path,
    /// The share of their packets in each level of the gate, 1 in all.
    pub shares: &'a [f64],
    /// The probability that a packet which has come through is lost on the rest of its way, below 1.
    pub lost_elsewhere: f64,
}

/// A queue with RED before a line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gate<'a> {
    /// The levels, all by one average; none in a plain buffer, which loses at its limit alone.
    pub levels: &'a [Level],
    /// How drops are spread.
    pub spacing: Spacing,
    /// The room in packets; what finds it full is lost.
    pub limit: f64,
    /// What the line carries, in packets per second.
    pub capacity: f64,
    /// The unresponsive packets per second, below the capacity, which pass whatever the queue is.
    pub others: f64,
}

/// Where the queue settles.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Steady {
    /// The mean queue in packets: 0 when the connections do not fill the line.
    pub queue: f64,
    /// The share of packets that find the average above a jump of the curves at `queue`; without
    /// meaning where the curves do not jump.
    pub above: f64,
}

impl Gate<'_> {
    /// Where the queue settles among `groups`. Some 200 evaluations of each group at each level.
    pub fn settle(&self, groups: &[Group]) -> Result<Steady, ModelError> {
        self.check(groups)?;
        let excess = |steady: Steady| {
            let carried: f64 = groups.iter().map(|group| self.carried(steady, group)).sum();
            carried + self.others - self.capacity
        };
        let empty = Steady { queue: 0.0, above: 0.0 };
        if excess(empty) <= 0.0 {
            return Ok(empty);
        }
        // At the limit all is lost. No double lies between the ends when the halving stops, so that
        // a jump between them is one at the upper end.
        let (mut low, mut high) = (0.0, self.limit);
        loop {
            let middle = low + (high - low) / 2.0;
            if middle <= low || middle >= high {
                break;
            }
            if excess(Steady { queue: middle, above: 1.0 }) > 0.0 {
                low = middle;
            } else {
                high = middle;
            }
        }
        let tolerance = 1e-6 * self.capacity;
        let above = falling_root("the mean queue in packets", (0.0, 1.0), tolerance, |above| {
            Ok(excess(Steady { queue: high, above }))
        })?;
        Ok(Steady { queue: high, above })
    }

    /// The loss of connections with these shares of packets in the levels.
    pub fn loss(&self, steady: Steady, shares: &[f64]) -> f64 {
        let below = f64::from_bits(steady.queue.to_bits().saturating_sub(1));
        let at = |queue: f64| -> f64 {
            if queue >= self.limit {
                return 1.0;
            }
            self.levels
                .iter()
                .zip(shares)
                .map(|(level, share)| share * self.dropped(level, queue))
                .fold(0.0, |all, one| all + one)
        };
        (1.0 - steady.above) * at(below) + steady.above * at(steady.queue)
    }

    /// The mean loss of a level whose average is the queue itself, where that is longer than x with probability
    /// ρ·exp(−ρ·x/q): as waits of M/G/1 are, about (Kleinrock 1976, §2.4), with the load ρ and the mean q in packets. The
    /// chance of a drop is the curve's mean over it, its jump and all.
    pub fn loss_of_queue(&self, level: usize, load: f64, mean_queue: f64) -> f64 {
        let level = &self.levels[level];
        if mean_queue <= 0.0 || load <= 0.0 {
            return 0.0;
        }
        let beyond = |x: f64| load * libm::exp(-load * x / mean_queue);
        // ∫ P(Q > x) dx between two lengths.
        let between = |from: f64, to: f64| mean_queue / load * (beyond(from) - beyond(to));
        let Level { min_threshold: min, max_threshold: max, max_probability, above_max } = *level;
        let rising = max_probability / (max - min) * between(min, max);
        let all = match above_max {
            AboveMax::Forced => return self.spaced(rising) + (1.0 - max_probability) * beyond(max),
            AboveMax::Gentle => rising + (1.0 - max_probability) / max * between(max, 2.0 * max),
        };
        self.spaced(all)
    }

    /// What all connections of a group get through, in packets per second.
    pub fn carried(&self, steady: Steady, group: &Group) -> f64 {
        let loss = self.loss(steady, group.shares);
        let rtt = group.path.rtt + steady.queue / self.capacity;
        let path = Path { rtt, ..group.path };
        let seen = 1.0 - (1.0 - loss) * (1.0 - group.lost_elsewhere);
        let rate = (1.0 / pftk::seconds_per_segment(&path, seen)).min(path.max_window / rtt);
        if group.connections == 0.0 || loss >= 1.0 {
            return 0.0;
        }
        group.connections * rate * (1.0 - loss)
    }

    fn dropped(&self, level: &Level, average: f64) -> f64 {
        self.spaced(level.curve(average))
    }

    /// The share of packets that is dropped where each would be with this probability.
    fn spaced(&self, curve: f64) -> f64 {
        match self.spacing {
            Spacing::Independent => curve,
            Spacing::Uniform => 2.0 * curve / (1.0 + curve),
            Spacing::Wait => 2.0 * curve / (3.0 - curve),
        }
    }

    fn check(&self, groups: &[Group]) -> Result<(), ModelError> {
        Range::above(0.0).check("the capacity in packets per second", self.capacity)?;
        Range::above(0.0).check("the limit of the queue in packets", self.limit)?;
        Range::from_to_below(0.0, self.capacity)
            .check("the packets per second of unresponsive traffic", self.others)?;
        for level in self.levels {
            level.check()?;
        }
        for group in groups {
            Range::at_least(0.0).check("the number of connections", group.connections)?;
            group.path.check()?;
            Range::from_to_below(0.0, 1.0)
                .check("the loss on the rest of the way", group.lost_elsewhere)?;
            let levels = self.levels.len() as f64;
            Range::from_to(levels, levels)
                .check("the number of shares of a group", group.shares.len() as f64)?;
            for share in group.shares {
                Range::from_to(0.0, 1.0).check("the share of packets in a level", *share)?;
            }
            // Without levels there is nothing to share: a plain buffer.
            if !group.shares.is_empty() {
                Range::from_to(1.0 - 1e-9, 1.0 + 1e-9)
                    .check("the sum of the shares of a group", group.shares.iter().sum())?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATH: Path =
        Path { rtt: 0.1, timeout: 0.5, segments_per_ack: 1.0, max_window: f64::INFINITY };
    const GREEN: Level = Level {
        min_threshold: 60.0,
        max_threshold: 140.0,
        max_probability: 0.1,
        above_max: AboveMax::Forced,
    };
    const YELLOW: Level = Level {
        min_threshold: 5.0,
        max_threshold: 60.0,
        max_probability: 0.2,
        above_max: AboveMax::Forced,
    };

    /// A mean queue of 10 at a load of 0.5: P(Q > x) = 0.5·exp(−x/20). Between 5 and 60 the curve rises by 0.2/55 for each
    /// packet: 0.2/55 · 10 · (e^−0.25 − e^−3) = 0.02651; the jump from 0.2 to 1 at 60 adds 0.8 · 0.5 · e^−3 = 0.01991.
    #[test]
    fn a_level_that_follows_its_queue_drops_the_mean_of_its_curve() {
        let levels = [YELLOW];
        let loss = gate(&levels).loss_of_queue(0, 0.5, 10.0);
        assert!((loss - 0.04643).abs() < 1e-5, "{loss}");
        // Gentle: from 60 to 120 it rises by 0.8/60 for each packet: 0.8/60 · 10 · (e^−3 − e^−6) = 0.00631.
        let levels = [Level { above_max: AboveMax::Gentle, ..YELLOW }];
        let loss = gate(&levels).loss_of_queue(0, 0.5, 10.0);
        assert!((loss - 0.03282).abs() < 1e-5, "{loss}");
        assert_eq!(gate(&levels).loss_of_queue(0, 0.5, 0.0), 0.0);
    }

    fn gate(levels: &[Level]) -> Gate<'_> {
        Gate { levels, spacing: Spacing::Independent, limit: 200.0, capacity: 1250.0, others: 0.0 }
    }

    fn group(connections: f64, shares: &[f64]) -> Group<'_> {
        Group { connections, path: PATH, shares, lost_elsewhere: 0.0 }
    }

    /// At an average of 32.5 the curve is at half of 0.2: loss 0.1, a round trip of 0.126 s. So many
    /// connections as then fill the line settle there.
    #[test]
    fn a_queue_settles_where_its_loss_makes_the_connections_send_what_the_line_carries() {
        let path = Path { rtt: 0.126, ..PATH };
        let rate = pftk::approximate_send_rate(&path, 0.1).unwrap() * 0.9;
        let levels = [YELLOW];
        let steady = gate(&levels).settle(&[group(1250.0 / rate, &[1.0])]).unwrap();
        assert!((steady.queue - 32.5).abs() < 1e-6, "{steady:?}");
        assert!((gate(&levels).loss(steady, &[1.0]) - 0.1).abs() < 1e-8);
    }

    #[test]
    fn more_connections_make_a_longer_queue_and_more_loss() {
        let levels = [YELLOW];
        let gate = gate(&levels);
        let (mut queue, mut loss) = (0.0, 0.0);
        for connections in [10.0, 20.0, 40.0, 80.0, 160.0, 320.0, 640.0] {
            let steady = gate.settle(&[group(connections, &[1.0])]).unwrap();
            assert!(steady.queue >= queue, "{connections}: {steady:?}");
            assert!(gate.loss(steady, &[1.0]) > loss, "{connections}: {steady:?}");
            (queue, loss) = (steady.queue, gate.loss(steady, &[1.0]));
        }
        // The curve ends at 0.2; what is needed beyond is lost above it.
        assert!(queue == 60.0 && loss > 0.2, "{queue} {loss}");
    }

    #[test]
    fn staggered_levels_drop_all_of_yellow_before_any_of_green() {
        let levels = [GREEN, YELLOW];
        let gate = gate(&levels);
        // Half green and half yellow: the mix of both is 1/2 where all of yellow goes.
        let few = gate.settle(&[group(20.0, &[0.5, 0.5])]).unwrap();
        assert!(few.queue < 60.0 && gate.loss(few, &[1.0, 0.0]) == 0.0, "{few:?}");
        // Green connections alone need the green curve, and squeeze yellow ones out.
        let both = [group(60.0, &[1.0, 0.0]), group(20.0, &[0.0, 1.0])];
        let many = gate.settle(&both).unwrap();
        assert!(many.queue > 60.0 && many.queue < 140.0, "{many:?}");
        assert_eq!(gate.carried(many, &both[1]), 0.0);
        assert!((gate.carried(many, &both[0]) - 1250.0).abs() < 0.01);
    }

    #[test]
    fn what_the_connections_send_is_what_the_line_carries() {
        for spacing in [Spacing::Independent, Spacing::Uniform, Spacing::Wait] {
            for above_max in [AboveMax::Forced, AboveMax::Gentle] {
                let levels = [Level { above_max, ..GREEN }, Level { above_max, ..YELLOW }];
                let gate = Gate { spacing, ..gate(&levels) };
                for connections in [15.0, 70.0, 400.0] {
                    let groups =
                        [group(connections, &[0.3, 0.7]), group(connections / 3.0, &[0.0, 1.0])];
                    let steady = gate.settle(&groups).unwrap();
                    let carried: f64 = groups.iter().map(|group| gate.carried(steady, group)).sum();
                    assert!((carried - 1250.0).abs() < 0.01, "{steady:?}: {carried}");
                }
            }
        }
    }

    #[test]
    fn spread_drops_come_almost_twice_as_often_so_the_queue_is_shorter() {
        let levels = [YELLOW];
        let at_half = Steady { queue: 32.5, above: 0.0 };
        let spread = Gate { spacing: Spacing::Uniform, ..gate(&levels) };
        // One in (1/0.1 + 1)/2 = 5.5.
        assert!((spread.loss(at_half, &[1.0]) - 1.0 / 5.5).abs() < 1e-9);
        let groups = [group(30.0, &[1.0])];
        let (spread, plain) =
            (spread.settle(&groups).unwrap(), gate(&levels).settle(&groups).unwrap());
        assert!(spread.queue < plain.queue);
    }

    #[test]
    fn a_plain_buffer_loses_at_its_limit_what_its_connections_must_lose() {
        // A round trip of 0.1 s and 200 packets at 1250 a second.
        let path = Path { rtt: 0.26, ..PATH };
        let rate = pftk::approximate_send_rate(&path, 0.02).unwrap() * 0.98;
        let gate = gate(&[]);
        let steady = gate.settle(&[group(1250.0 / rate, &[])]).unwrap();
        assert!((steady.queue - 200.0).abs() < 1e-9, "{steady:?}");
        assert!((gate.loss(steady, &[]) - 0.02).abs() < 1e-6);
    }

    #[test]
    fn traffic_that_does_not_give_way_and_loss_elsewhere_leave_less_to_the_queue() {
        let levels = [YELLOW];
        let plain = gate(&levels).settle(&[group(30.0, &[1.0])]).unwrap();
        // A fifth of the line for others: as 30 on four fifths of it.
        let shared = Gate { others: 250.0, ..gate(&levels) };
        let squeezed = shared.settle(&[group(30.0, &[1.0])]).unwrap();
        assert!(squeezed.queue > plain.queue);
        let carried = shared.carried(squeezed, &group(30.0, &[1.0]));
        assert!((carried - 1000.0).abs() < 0.01, "{carried}");
        // Lost elsewhere: what the queue need not lose.
        let groups = [Group { lost_elsewhere: 0.01, ..group(30.0, &[1.0]) }];
        let spared = gate(&levels).settle(&groups).unwrap();
        assert!(spared.queue < plain.queue);
        assert!(Gate { others: 1250.0, ..shared }.settle(&groups).is_err());
    }

    #[test]
    fn connections_that_their_windows_hold_back_leave_the_queue_empty() {
        let levels = [YELLOW];
        let path = Path { max_window: 10.0, ..PATH };
        // Ten connections of 100 segments per second on a line of 1250.
        let steady = gate(&levels).settle(&[Group { path, ..group(10.0, &[1.0]) }]).unwrap();
        assert_eq!(steady, Steady { queue: 0.0, above: 0.0 });
    }

    #[test]
    fn thresholds_the_wrong_way_round_and_shares_that_do_not_add_up_are_refused() {
        let levels = [Level { max_threshold: 5.0, ..YELLOW }];
        assert!(gate(&levels).settle(&[group(10.0, &[1.0])]).is_err());
        let levels = [GREEN, YELLOW];
        assert!(gate(&levels).settle(&[group(10.0, &[0.5, 0.4])]).is_err());
        assert!(gate(&levels).settle(&[group(10.0, &[1.0])]).is_err());
    }
}
