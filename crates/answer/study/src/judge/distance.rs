//! The distance between two distributions of completion times.

use shortflow_measure::Survival;

/// The greatest distance between the shares that take longer, over all times (Kolmogorov and
/// Smirnov); `None` where one of them is of nothing.
pub(crate) fn greatest_distance(a: &Survival, b: &Survival) -> Option<f64> {
    let (a, b) = (a.ccdf(), b.ccdf());
    if a.is_empty() || b.is_empty() {
        return None;
    }
    let (mut at_a, mut at_b) = (0, 0);
    let (mut longer_a, mut longer_b) = (1.0, 1.0);
    let mut greatest = 0.0_f64;
    while let Some(time) = earliest(a.get(at_a), b.get(at_b)) {
        while let Some((_, longer)) = a.get(at_a).filter(|step| step.0 <= time) {
            (longer_a, at_a) = (*longer, at_a + 1);
        }
        while let Some((_, longer)) = b.get(at_b).filter(|step| step.0 <= time) {
            (longer_b, at_b) = (*longer, at_b + 1);
        }
        greatest = greatest.max((longer_a - longer_b).abs());
    }
    Some(greatest)
}

/// The earlier of two steps in time.
fn earliest(a: Option<&(f64, f64)>, b: Option<&(f64, f64)>) -> Option<f64> {
    [a, b].into_iter().flatten().map(|step| step.0).reduce(f64::min)
}

#[cfg(test)]
mod tests {
    use shortflow_units::Duration;

    use super::*;

    fn from_millis(millis: &[u64]) -> Survival {
        let mut survival = Survival::default();
        millis.iter().for_each(|time| survival.complete(Duration::from_millis(*time)));
        survival
    }

    #[test]
    fn the_distance_is_the_greatest_over_all_times() {
        let distance =
            |a: &[u64], b: &[u64]| greatest_distance(&from_millis(a), &from_millis(b)).unwrap();
        assert_eq!(distance(&[10, 20, 30, 40], &[10, 20, 30, 40]), 0.0);
        assert_eq!(distance(&[10, 20, 30, 40], &[110, 120, 130, 140]), 1.0);
        assert_eq!(distance(&[10, 20, 30, 40], &[10, 20, 330, 340]), 0.5);
        assert_eq!(distance(&[10, 20, 330, 340], &[10, 20, 30, 40]), 0.5, "either way");
        assert_eq!(greatest_distance(&from_millis(&[]), &from_millis(&[10])), None);
    }
}
