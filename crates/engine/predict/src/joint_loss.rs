//! Losses at one of several places, exact where a loss is zero or tiny: 1 − (1 − a)(1 − b) would leave an error of rounding.

/// The probability that at least one of two independent losses happens.
pub(crate) fn either(one: f64, other: f64) -> f64 {
    one + (1.0 - one) * other
}

/// The probability that at least one of these independent losses happens.
pub(crate) fn any(losses: impl Iterator<Item = f64>) -> f64 {
    losses.fold(0.0, either)
}

/// The loss that together with an independent one, `other`, makes `both`: the inverse of [`either`].
pub(crate) fn without(both: f64, other: f64) -> f64 {
    (both - other) / (1.0 - other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_nothing_is_lost_the_sum_is_zero_and_not_an_error_of_rounding() {
        for link in [0.0, 0.01, 0.05, 0.1, 0.3, 1.0 / 3.0, 0.7] {
            assert_eq!(any([0.0, 0.0, 0.0].into_iter()), 0.0);
            assert_eq!(either(0.0, link), link);
            assert_eq!(either(link, 0.0), link);
            assert_eq!(without(either(0.0, link), link), 0.0);
        }
        // 1 − (1 − 1e-20) is zero.
        assert_eq!(any([0.0, 1e-20].into_iter()), 1e-20);
        assert!((any([0.5, 0.5, 0.5].into_iter()) - 0.875).abs() < 1e-15);
        assert!((without(0.75, 0.5) - 0.5).abs() < 1e-15);
    }
}
