//! Roots and fixed points; a fixed point that is not found is an error with its residual.

use crate::{ModelError, Range};

/// Halvings after which a bracket of doubles cannot shrink any more.
const HALVINGS: u32 = 200;

/// Steps of a fixed point: enough for a mapping with a slope of 0.97 to come to a millionth.
const STEPS: u32 = 1000;

/// Where `excess`, which falls, crosses zero between `low` and `high`, to the last bits of a double.
///
/// `excess` must not be negative at `low` nor positive at `high`: else, or where it jumps over zero
/// by more than `tolerance`, there is no root, and the residual is told. At most 200 evaluations.
pub(crate) fn falling_root(
    quantity: &'static str,
    (mut low, mut high): (f64, f64),
    tolerance: f64,
    mut excess: impl FnMut(f64) -> Result<f64, ModelError>,
) -> Result<f64, ModelError> {
    for (at, sign) in [(low, 1.0), (high, -1.0)] {
        let residual = excess(at)?;
        if residual.is_nan() || sign * residual < -tolerance {
            return Err(ModelError::NotSettled { quantity, residual, steps: 0 });
        }
    }
    for _ in 0..HALVINGS {
        let middle = low + (high - low) / 2.0;
        if middle <= low || middle >= high {
            break;
        }
        if excess(middle)? > 0.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    let (before, after) = (excess(low)?, excess(high)?);
    let (at, residual) = if before.abs() <= after.abs() { (low, before) } else { (high, after) };
    if residual.abs() <= tolerance {
        Ok(at)
    } else {
        Err(ModelError::NotSettled { quantity, residual, steps: HALVINGS })
    }
}

/// The x with x = `next`(x), from `start`: each step goes half of the way to `next`(x), until what
/// is left is within `tolerance` of x.
///
/// Settles where the slope of `next` lies between −3 and 1 about the fixed point; at most 1000
/// evaluations.
pub fn fixed_point(
    quantity: &'static str,
    start: f64,
    tolerance: f64,
    mut next: impl FnMut(f64) -> Result<f64, ModelError>,
) -> Result<f64, ModelError> {
    Range::between(0.0, 1.0).check("the tolerance of a fixed point", tolerance)?;
    let mut at = start;
    let mut residual = f64::NAN;
    for _ in 0..STEPS {
        residual = next(at)? - at;
        if residual.abs() <= tolerance * at.abs() {
            return Ok(at);
        }
        at += residual / 2.0;
        if !at.is_finite() {
            break;
        }
    }
    Err(ModelError::NotSettled { quantity, residual, steps: STEPS })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_of_two_less_the_square_is_the_square_root_of_two() {
        let root = falling_root("x", (0.0, 2.0), 1e-12, |x| Ok(2.0 - x * x)).unwrap();
        assert!((root - std::f64::consts::SQRT_2).abs() < 1e-15);
    }

    #[test]
    fn a_jump_over_zero_is_no_root() {
        let step = |x: f64| Ok(if x < 1.0 { 0.5 } else { -0.5 });
        let found = falling_root("x", (0.0, 2.0), 1e-9, step);
        assert!(
            matches!(found, Err(ModelError::NotSettled { residual, .. }) if residual.abs() == 0.5)
        );
    }

    #[test]
    fn the_cosine_has_its_fixed_point_where_textbooks_say() {
        // The Dottie number.
        let found = fixed_point("x", 1.0, 1e-14, |x| Ok(libm::cos(x))).unwrap();
        assert!((found - 0.739_085_133_215_160_6).abs() < 1e-12);
    }

    #[test]
    fn what_has_no_fixed_point_ends_with_its_residual() {
        let found = fixed_point("x", 1.0, 1e-9, |x| Ok(x + 3.0));
        assert_eq!(
            found,
            Err(ModelError::NotSettled { quantity: "x", residual: 3.0, steps: 1000 })
        );
    }
}
