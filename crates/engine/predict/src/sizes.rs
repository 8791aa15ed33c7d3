//! Message sizes as a list with shares.

use shortflow_units::Bytes;
use shortflow_workloads::Sizes;

/// Into how many equally likely parts a distribution without a long tail is cut.
const PARTS: u32 = 200;

/// How much larger the upper end of a part of a long tail is than its lower end.
const GROWTH: f64 = 1.1;

/// Sizes of the longest tail that is followed without an end, as so many times the smallest.
const FARTHEST: f64 = 1e9;

/// A size in bytes, and its share.
pub(crate) type Listed = Vec<(f64, f64)>;

/// Sizes in bytes and their shares: all of them, or the means of parts.
pub(crate) fn listed(sizes: &Sizes) -> Listed {
    let parts = |quantile: &dyn Fn(f64) -> f64| {
        let share = 1.0 / f64::from(PARTS);
        let at = |n: u32| quantile((f64::from(n) + 0.5) * share).max(1.0).round();
        (0..PARTS).map(|n| (at(n), share)).collect()
    };
    let size = |bytes: &Bytes| bytes.0 as f64;
    match sizes {
        Sizes::Constant(bytes) => vec![(size(bytes), 1.0)],
        Sizes::Choice { sizes, cumulative } => {
            let sum = cumulative.last().copied().unwrap_or(1.0);
            let before = std::iter::once(&0.0).chain(cumulative);
            let shares =
                cumulative.iter().zip(before).map(|(up_to, before)| (up_to - before) / sum);
            let mut each: Listed = sizes.iter().map(size).zip(shares).collect();
            // What is named twice is one size.
            each.sort_by(|a, b| a.0.total_cmp(&b.0));
            each.dedup_by(|next, kept| {
                let same = next.0 == kept.0;
                if same {
                    kept.1 += next.1;
                }
                same
            });
            each
        }
        Sizes::Exponential { mean } => parts(&|u| -size(mean) * libm::log1p(-u)),
        Sizes::Pareto { scale, shape, max } => {
            pareto(*scale, *shape, max.as_ref().map_or(scale * FARTHEST, size))
        }
        Sizes::Uniform { min, max } => parts(&|u| size(min) + u * (size(max) - size(min))),
    }
}

/// Parts whose ends grow, each at its own mean; the rest of the tail at `max`.
fn pareto(scale: f64, shape: f64, max: f64) -> Listed {
    let beyond = |size: f64| libm::pow(scale / size, shape);
    let mut found = Vec::new();
    let mut low = scale;
    while low < max {
        let high = (low * GROWTH).min(max);
        let share = beyond(low) - beyond(high);
        // ∫ x·dF between the ends.
        let sum = shape / (shape - 1.0) * (low * beyond(low) - high * beyond(high));
        found.push((sum / share, share));
        low = high;
    }
    found.push((max, beyond(max.max(scale))));
    found
}

/// The mean of what `of` makes of a size.
pub(crate) fn mean(sizes: &[(f64, f64)], of: impl Fn(f64) -> f64) -> f64 {
    sizes.iter().map(|(size, share)| share * of(*size)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_have_the_mean_of_the_distribution() {
        let weights = [3.0, 1.0];
        for sizes in [
            Sizes::Constant(Bytes(700)),
            Sizes::choice(vec![Bytes(100), Bytes(900)], &weights),
            Sizes::Exponential { mean: Bytes(10_000) },
            Sizes::pareto(Bytes(20_000), 1.2, Some(Bytes(1_000_000))),
            Sizes::pareto(Bytes(20_000), 1.8, None),
            Sizes::Uniform { min: Bytes(10), max: Bytes(5000) },
        ] {
            let found = mean(&listed(&sizes), |size| size);
            assert!((found / sizes.mean() - 1.0).abs() < 0.01, "{sizes:?}: {found}");
        }
    }

    #[test]
    fn a_size_that_is_named_twice_is_one() {
        let sizes = Sizes::choice(vec![Bytes(9), Bytes(5), Bytes(9)], &[1.0, 2.0, 1.0]);
        assert_eq!(listed(&sizes), [(5.0, 0.5), (9.0, 0.5)]);
    }
}
