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
                let missed = allowed.missed_by(*found);
                let found = rounded(*found, *allowed);
                write!(f, "{quantity} must be {missed} for the model to hold; found {found}")
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

/// The end of a range in at most four digits, rounded up (1) or down (-1), so that the range holds it.
fn four_digits(end: f64, direction: f64) -> f64 {
    let text = format!("{end:.3e}");
    let short: f64 = text.parse().unwrap_or(end);
    let Some((mantissa, exponent)) = text.split_once('e') else { return end };
    if (short - end) * direction >= 0.0 {
        return short;
    }
    let next = mantissa.parse::<f64>().map(|mantissa| mantissa + 0.001 * direction);
    next.ok().and_then(|next| format!("{next:.3}e{exponent}").parse().ok()).unwrap_or(end)
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

    /// Above `low`, up to `high`, which is included.
    pub const fn above_up_to(low: f64, high: f64) -> Range {
        Range { from: Bound::Excluded(low), to: Bound::Included(high) }
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

    /// The end that a value misses; all of the range if it misses none or both.
    fn missed_by(&self, found: f64) -> Range {
        let any = Bound::Unbounded;
        let (from, to) = (Range { to: any, ..*self }, Range { from: any, ..*self });
        match (from.holds(found), to.holds(found)) {
            (false, true) => from,
            (true, false) => to,
            _ => *self,
        }
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
        let from = match self.from {
            Bound::Included(low) => Some(format!("at least {}", four_digits(low, 1.0))),
            Bound::Excluded(low) => Some(format!("above {}", four_digits(low, 1.0))),
            Bound::Unbounded => None,
        };
        let to = match self.to {
            Bound::Included(high) => Some(format!("at most {}", four_digits(high, -1.0))),
            Bound::Excluded(f64::INFINITY) => Some("finite".to_owned()),
            Bound::Excluded(high) => Some(format!("below {}", four_digits(high, -1.0))),
            Bound::Unbounded => None,
        };
        let ends: Vec<String> = from.into_iter().chain(to).collect();
        f.write_str(if ends.is_empty() { "any number" } else { "" })?;
        f.write_str(&ends.join(" and "))
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
            "the load must be at most 0.6 for the model to hold; found 0.6898"
        );
        assert_eq!(
            found(0.600_000_01),
            "the load must be at most 0.6 for the model to hold; found 0.60000001"
        );
    }

    #[test]
    fn the_end_of_a_range_has_four_digits_and_lies_within_it() {
        let sixth = 1.0 / 6.0;
        let found = Range::from_to(0.0, sixth).check("the share", 0.2285).unwrap_err();
        let expected = "the share must be at most 0.1666 for the model to hold; found 0.2285";
        assert_eq!(found.to_string(), expected);
        assert_eq!(Range::at_least(sixth).to_string(), "at least 0.1667 and finite");
        assert_eq!(Range::above_up_to(-sixth, 0.98).to_string(), "above -0.1666 and at most 0.98");
    }

    #[test]
    fn a_message_says_what_is_allowed_and_what_was_found() {
        let loss = Range::from_to_below(0.0, 0.5).check("the loss probability", 0.7).unwrap_err();
        assert_eq!(
            loss.to_string(),
            "the loss probability must be below 0.5 for the model to hold; found 0.7"
        );
        let rtt = Range::above(0.0).check("the round-trip time in seconds", 0.0).unwrap_err();
        assert_eq!(
            rtt.to_string(),
            "the round-trip time in seconds must be above 0 for the model to hold; found 0"
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
