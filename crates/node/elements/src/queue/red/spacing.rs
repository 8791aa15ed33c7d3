//! How drops are spread over the packets.

use shortflow_units::Rng;

/// The number of packets between drops (or marks) at a steady probability p_b.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spacing {
    /// Uniform from 1 to 1/p_b packets (Floyd & Jacobson 1993, §7, method 2).
    Uniform,
    /// Uniform from 1/p_b to 2/p_b − 1 packets: never close together. This is ns-2's option `wait_`.
    Wait,
    /// As `Uniform`. But if p_b rises until a drop is overdue, no packet is dropped before the average leaves
    /// the thresholds. This is ns-2's dsRED, whose p_b/(1 − count·p_b) is then negative.
    Unclamped,
    /// Each packet with probability p_b, whatever happened to those before it: distances are geometric (Floyd &
    /// Jacobson 1993, §7, method 1). So does ns-2's dsRED if each accepted packet resets its count.
    Geometric,
}

/// Counts packets since the last drop, and chooses the next one.
#[derive(Debug, Clone, Default)]
pub(super) struct Gap {
    /// Packets since the last drop, each with its share of a mean packet.
    passed: f64,
}

impl Gap {
    /// Restarts counting.
    #[inline]
    pub(super) fn reset(&mut self) {
        self.passed = 0.0;
    }

    /// Whether this packet is chosen at probability p_b = `probability`. `share` is its size divided by a
    /// mean packet's, or 1 if sizes do not matter.
    ///
    /// `count` in Floyd & Jacobson's §7 is the number of packets that passed since the last drop. With p_a =
    /// p_b/(1 − count·p_b), the n-th packet is the next drop with probability p_b, for n from 1 to 1/p_b.
    /// (Their Figure 2 increments the count before using it, which omits the last of these values.) With
    /// shares, the packet is chosen with probability p_b·share, whatever the sizes before it.
    #[inline]
    pub(super) fn chooses(
        &mut self,
        rng: &mut Rng,
        spacing: Spacing,
        probability: f64,
        share: f64,
    ) -> bool {
        let remaining = match spacing {
            Spacing::Uniform | Spacing::Unclamped => 1.0 - self.passed * probability,
            Spacing::Geometric => 1.0,
            Spacing::Wait => match (self.passed + share) * probability {
                reached if reached < 1.0 - ROUNDING => f64::INFINITY,
                reached => 2.0 - reached,
            },
        };
        let wanted = probability * share;
        // After the end of the range, as after a rise of p_b, the packet is always chosen.
        let is_last = wanted > 0.0 && remaining <= wanted * (1.0 + ROUNDING);
        let is_missed = spacing == Spacing::Unclamped && remaining < -ROUNDING;
        let chosen = !is_missed && (is_last || rng.bernoulli(wanted / remaining));
        if chosen {
            self.reset();
        } else {
            self.passed += share;
        }
        chosen
    }
}

/// Keeps the ends of the ranges in place if 1/p_b is whole but p_b is not exact.
const ROUNDING: f64 = 1e-9;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unclamped_spacing_drops_nothing_more_once_the_end_of_its_range_is_passed() {
        let chosen_of_thousand = |spacing| {
            // Fifty packets have passed at a small probability, then it rises to 1/10.
            let mut gap = Gap { passed: 50.0 };
            let mut rng = Rng::stream(1, "spacing");
            (0..1000).filter(|_| gap.chooses(&mut rng, spacing, 0.1, 1.0)).count()
        };
        assert_eq!(chosen_of_thousand(Spacing::Unclamped), 0);
        assert!(chosen_of_thousand(Spacing::Uniform) >= 100);
    }

    #[test]
    fn distances_between_drops_vary_as_their_spacing_says() {
        // At p = 1/20: mean and squared coefficient of variation of the distances.
        let distances = |spacing| {
            let (mut gap, mut rng) = (Gap::default(), Rng::stream(2, "spacing"));
            let chosen: Vec<usize> =
                (0..400_000).filter(|_| gap.chooses(&mut rng, spacing, 0.05, 1.0)).collect();
            let each: Vec<f64> = chosen.windows(2).map(|two| (two[1] - two[0]) as f64).collect();
            let mean = each.iter().sum::<f64>() / each.len() as f64;
            let square = each.iter().map(|one| (one - mean).powi(2)).sum::<f64>();
            (mean, square / each.len() as f64 / (mean * mean))
        };
        // Uniform from 1 to 20, uniform from 20 to 39, geometric.
        for (spacing, mean, variation) in [
            (Spacing::Uniform, 10.5, (20.0 * 20.0 - 1.0) / 12.0 / (10.5 * 10.5)),
            (Spacing::Wait, 29.5, (20.0 * 20.0 - 1.0) / 12.0 / (29.5 * 29.5)),
            (Spacing::Geometric, 20.0, 0.95),
        ] {
            let found = distances(spacing);
            let is_near = |found: f64, wanted: f64| (found / wanted - 1.0).abs() < 0.05;
            assert!(
                is_near(found.0, mean) && is_near(found.1, variation),
                "{spacing:?}: {found:?}"
            );
        }
    }

    #[test]
    fn geometric_distances_hold_by_bytes_and_a_certain_drop_is_one() {
        let (mut gap, mut rng) = (Gap::default(), Rng::stream(3, "spacing"));
        let mut chosen = |probability: f64, share: f64| {
            (0..100_000)
                .filter(|_| gap.chooses(&mut rng, Spacing::Geometric, probability, share))
                .count()
        };
        // A packet of twice the mean size has twice the probability.
        assert!((chosen(0.05, 2.0) as f64 / 10_000.0 - 1.0).abs() < 0.05);
        assert_eq!((chosen(0.5, 2.0), chosen(0.0, 1.0)), (100_000, 0));
    }
}
