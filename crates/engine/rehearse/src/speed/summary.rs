//! The summary of all rounds.

use super::{Speed, Way};

/// The middle one of several figures, the least and the most.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// The median.
    pub median: f64,
    /// The least.
    pub min: f64,
    /// The most.
    pub max: f64,
}

impl Spread {
    /// None of no figures.
    fn from_values(mut figures: Vec<f64>) -> Option<Spread> {
        figures.sort_by(f64::total_cmp);
        let (&min, &max) = (figures.first()?, figures.last()?);
        let (low, high) = (figures[(figures.len() - 1) / 2], figures[figures.len() / 2]);
        Some(Spread { median: (low + high) / 2.0, min, max })
    }
}

/// What was measured of a way, with datagrams of one size.
#[derive(Debug, Clone, Copy)]
pub struct SpeedSummary {
    /// The way on which packets were forwarded.
    pub way: Way,
    /// Bytes of the datagrams, with their headers.
    pub size: u32,
    /// Datagrams that reached the receiver, per second.
    pub per_second: Spread,
    /// Nanoseconds of the router's thread for each; `None` if the kernel forwards.
    pub cpu_nanos: Option<Spread>,
    /// Packets per second, as a part of those of the reference just before and after. Where the sender is slower
    /// than the router, both are the sender's.
    pub of_reference: Option<Spread>,
    /// Packets per second of CPU time of the router's thread, as a part of those of the reference.
    pub of_reference_by_cpu: Option<Spread>,
    /// The 99th percentile of how late packets were sent, in nanoseconds.
    pub late_nanos: Option<Spread>,
    /// The 99th percentile of the delay at half of the rate, in nanoseconds.
    pub delay_nanos: Option<Spread>,
    /// The 99th percentile of how late the sender itself sent then, in nanoseconds: `delay_nanos` includes it.
    pub sender_late_nanos: Option<Spread>,
}

impl SpeedSummary {
    /// Whether a part of the delay, a tenth or more, is the sender's own: the machine had other work.
    pub fn is_delay_of_sender(&self) -> bool {
        match (self.delay_nanos, self.sender_late_nanos) {
            (Some(delay), Some(late)) => late.median > delay.median / 10.0,
            _ => false,
        }
    }
}

/// The rounds together: one summary for each size and way, in the order in which they were measured.
pub fn summary(found: &[Speed]) -> Vec<SpeedSummary> {
    let mut kinds: Vec<(u32, Way)> = Vec::new();
    for speed in found {
        if !kinds.contains(&(speed.size, speed.way)) {
            kinds.push((speed.size, speed.way));
        }
    }
    let of_kind = |(size, way)| {
        let is_own = |at: &usize| (found[*at].size, found[*at].way) == (size, way);
        let own: Vec<usize> = (0..found.len()).filter(is_own).collect();
        let of = |figure: fn(&Speed) -> Option<f64>| {
            Spread::from_values(own.iter().filter_map(|&at| figure(&found[at])).collect())
        };
        let beside = |at: &usize| {
            let reference = reference_beside(found, *at, |speed| Some(speed.per_second))?;
            Some(found[*at].per_second / reference)
        };
        let beside_by_cpu = |at: &usize| {
            Some(reference_beside(found, *at, |speed| speed.cpu_nanos)? / found[*at].cpu_nanos?)
        };
        Some(SpeedSummary {
            way,
            size,
            per_second: of(|speed| Some(speed.per_second))?,
            cpu_nanos: of(|speed| speed.cpu_nanos),
            of_reference: Spread::from_values(own.iter().filter_map(beside).collect()),
            of_reference_by_cpu: Spread::from_values(
                own.iter().filter_map(beside_by_cpu).collect(),
            ),
            late_nanos: of(|speed| speed.late_nanos.map(|nanos| nanos as f64)),
            delay_nanos: of(|speed| speed.delay_nanos),
            sender_late_nanos: of(|speed| speed.sender_late_nanos),
        })
    };
    kinds.into_iter().filter_map(of_kind).collect()
}

/// The mean of a figure of the reference in the measurements just before and after one, as far as they are of the same
/// round and size; its own where it is the reference.
fn reference_beside(found: &[Speed], at: usize, figure: fn(&Speed) -> Option<f64>) -> Option<f64> {
    let it = &found[at];
    let is_reference = |way: Way| way == way.reference();
    if is_reference(it.way) {
        return figure(it);
    }
    let neighbours = [at.checked_sub(1), Some(at + 1)].into_iter().flatten();
    let is_beside = |speed: &&Speed| {
        (speed.round, speed.size) == (it.round, it.size) && is_reference(speed.way)
    };
    let references = neighbours.filter_map(|at| found.get(at)).filter(is_beside);
    let figures: Vec<f64> = references.filter_map(figure).collect();
    (!figures.is_empty()).then(|| figures.iter().sum::<f64>() / figures.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_is_to_the_fifos_before_and_after_and_its_median_is_told() {
        let speed = |way, round, per_second| Speed {
            way,
            size: 64,
            round,
            per_second,
            cpu_nanos: Some(1e9 / per_second),
            late_nanos: None,
            delay_nanos: Some(1e9 / per_second),
            sender_late_nanos: None,
        };
        // The machine becomes slower in the second round, and is half as fast in the third.
        let rounds = [(100.0, 90.0, 100.0), (110.0, 90.0, 90.0), (50.0, 55.0, 50.0)];
        let found: Vec<Speed> = (0..)
            .zip(rounds)
            .flat_map(|(round, (before, fq, after))| {
                let fifo = |per_second| speed(Way::Fifo, round, per_second);
                [fifo(before), speed(Way::FqCodel, round, fq), fifo(after)]
            })
            .collect();
        let measured = summary(&found);
        let spread = |median, min, max| Spread { median, min, max };
        assert_eq!(measured[0].per_second, spread(95.0, 50.0, 110.0));
        assert_eq!(measured[0].of_reference, Some(spread(1.0, 1.0, 1.0)));
        assert_eq!(
            (measured[1].way, measured[1].of_reference),
            (Way::FqCodel, Some(spread(0.9, 0.9, 1.1)))
        );
        let by_cpu = measured[1].of_reference_by_cpu.map(|ratio| (ratio.median * 1000.0).round());
        assert_eq!(by_cpu, Some(909.0));
        assert_eq!(measured[1].late_nanos, None);
        assert_eq!(measured[0].delay_nanos.map(|delay| delay.max), Some(1e9 / 50.0));
    }
}
