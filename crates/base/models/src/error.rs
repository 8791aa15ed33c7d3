//! Errors of models: an input outside the valid range, or a fixed point that was not found.

use std::fmt;
use std::ops::Bound;

/// Why a model gives no number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ModelError {
    /// An input lies where the formula does not hold.
    OutOfRange {
        /// What it is of, with its unit, as a message begins.
        quantity: &'static str,
        /// What was given.
        found: f64,
        /// What the model takes.
        allowed: Range,
    },
    /// An iteration reached its last step without converging.
    NotSettled {
        /// What was looked for, with its unit.
        quantity: &'static str,
        /// What was left of the equation at the last step, in the unit of the quantity.
        residual: f64,
        /// How many steps were taken.
        steps: u32,
    },
}

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ModelError::OutOfRange { quantity, found, allowed } => {
                write!(f, "{quantity} must be {allowed}; found {}", rounded(*found, *allowed))
            }
            ModelError::NotSettled { quantity, residual, steps } => {
                write!(
                    f,
                    "{quantity} did not settle in {steps} steps; the last residual is {}",
                    format!("{residual:.2e}").parse().unwrap_or(*residual)
                )
            }
        }
    }
}

impl std::error::Error for ModelError {}

/// A number in four digits; in all of them where four would have it lie within the range that it misses.
fn rounded(found: f64, allowed: Range) -> f64 {
    let short = format!("{found:.3e}").parse().unwrap_or(found);
    if allowed.holds(short) { found } else { short }
}

/// The values that a model takes of one input.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Range {
    /// The lower end.
    pub from: Bound<f64>,
    /// The upper end. Infinity counts as a value only where this is unbounded.
    pub to: Bound<f64>,
}

impl Range {
    /// Above `low`, and finite.
    pub const fn above(low: f64) -> Range {
        Range { from: Bound::Excluded(low), to: Bound::Excluded(f64::INFINITY) }
    }

    /// `low` or more, and finite.
    pub const fn at_least(low: f64) -> Range {
        Range { from: Bound::Included(low), to: Bound::Excluded(f64::INFINITY) }
    }

    /// `low` or more; infinity means that there is no limit.
    pub const fn at_least_or_unlimited(low: f64) -> Range {
        Range { from: Bound::Included(low), to: Bound::Unbounded }
    }

    /// Between two values, neither of them included.
    pub const fn between(low: f64, high: f64) -> Range {
        Range { from: Bound::Excluded(low), to: Bound::Excluded(high) }
    }

    /// From `low`, included, to below `high`.
    pub const fn from_to_below(low: f64, high: f64) -> Range {
        Range { from: Bound::Included(low), to: Bound::Excluded(high) }
    }

    /// From one value to another, both included.
    pub const fn from_to(low: f64, high: f64) -> Range {
        Range { from: Bound::Included(low), to: Bound::Included(high) }
    }

    /// Whether `value` is one of them; what is no number is not.
    pub fn holds(&self, value: f64) -> bool {
        let above = match self.from {
            Bound::Included(low) => value >= low,
            Bound::Excluded(low) => value > low,
            Bound::Unbounded => !value.is_nan(),
        };
        let below = match self.to {
            Bound::Included(high) => value <= high,
            Bound::Excluded(high) => value < high,
            Bound::Unbounded => !value.is_nan(),
        };
        above && below
    }

    /// `value`, or why not.
    pub fn check(self, quantity: &'static str, value: f64) -> Result<f64, ModelError> {
        if self.holds(value) {
            Ok(value)
        } else {
            Err(ModelError::OutOfRange { quantity, found: value, allowed: self })
        }
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.from {
            Bound::Included(low) => write!(f, "at least {low}")?,
            Bound::Excluded(low) => write!(f, "above {low}")?,
            Bound::Unbounded => write!(f, "any number")?,
        }
        match self.to {
            Bound::Included(high) => write!(f, " and at most {high}"),
            Bound::Excluded(f64::INFINITY) => write!(f, " and finite"),
            Bound::Excluded(high) => write!(f, " and below {high}"),
            Bound::Unbounded => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_has_four_digits_but_where_they_would_deny_the_mistake() {
        let found =
            |value| Range::from_to(0.0, 0.6).check("the load", value).unwrap_err().to_string();
        assert_eq!(
            found(0.689_754_719_028),
            "the load must be at least 0 and at most 0.6; found 0.6898"
        );
        assert_eq!(
            found(0.600_000_01),
            "the load must be at least 0 and at most 0.6; found 0.60000001"
        );
    }

    #[test]
    fn a_message_says_what_is_allowed_and_what_was_found() {
        let loss = Range::from_to_below(0.0, 0.5).check("the loss probability", 0.7).unwrap_err();
        assert_eq!(
            loss.to_string(),
            "the loss probability must be at least 0 and below 0.5; found 0.7"
        );
        let rtt = Range::above(0.0).check("the round-trip time in seconds", 0.0).unwrap_err();
        assert_eq!(
            rtt.to_string(),
            "the round-trip time in seconds must be above 0 and finite; found 0"
        );
        let queue =
            ModelError::NotSettled { quantity: "the queue", residual: 0.251_049_873, steps: 7 };
        assert_eq!(
            queue.to_string(),
            "the queue did not settle in 7 steps; the last residual is 0.251"
        );
    }

    #[test]
    fn what_is_no_number_lies_in_no_range() {
        for range in
            [Range::above(0.0), Range::at_least_or_unlimited(1.0), Range::from_to(0.0, 1.0)]
        {
            assert!(!range.holds(f64::NAN));
        }
        assert!(!Range::above(0.0).holds(f64::INFINITY));
        assert!(Range::at_least_or_unlimited(1.0).holds(f64::INFINITY));
    }
}
