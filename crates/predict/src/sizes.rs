//! Sizes of messages as a list of sizes with their shares.

use shortflow_units::Bytes;
use shortflow_workloads::Sizes;

/// Into how many equally likely parts a distribution of many sizes is cut.
const PARTS: u32 = 2000;

/// Sizes in bytes and their shares: all of them, or the medians of equally likely parts.
pub(crate) fn listed(sizes: &Sizes) -> Vec<(f64, f64)> {
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
            sizes.iter().map(size).zip(shares).collect()
        }
        Sizes::Exponential { mean } => parts(&|u| -size(mean) * libm::log1p(-u)),
        Sizes::Pareto { scale, shape, max } => parts(&|u| {
            let uncut = scale * libm::pow(1.0 - u, -1.0 / shape);
            max.as_ref().map_or(uncut, |max| uncut.min(size(max)))
        }),
        Sizes::Uniform { min, max } => parts(&|u| size(min) + u * (size(max) - size(min))),
    }
}

/// The mean and the mean square of what `of` makes of a size.
pub(crate) fn moments(sizes: &[(f64, f64)], of: impl Fn(f64) -> f64) -> (f64, f64) {
    sizes.iter().fold((0.0, 0.0), |(mean, square), (size, share)| {
        let value = of(*size);
        (mean + share * value, square + share * value * value)
    })
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
            Sizes::pareto(Bytes(20_000), 1.8, Some(Bytes(1_000_000))),
            Sizes::Uniform { min: Bytes(10), max: Bytes(5000) },
        ] {
            let (mean, _) = moments(&listed(&sizes), |size| size);
            assert!((mean / sizes.mean() - 1.0).abs() < 0.01, "{sizes:?}: {mean}");
        }
    }
}
