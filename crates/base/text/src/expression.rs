//! Numeric expressions over parameters: `= 1 - alpha`, `= 8 * alpha Mbit/s`.

/// The value of an expression: a number and an optional unit.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Outcome {
    /// The number.
    pub(super) number: f64,
    /// The unit, or an empty text.
    pub(super) unit: String,
}

/// Evaluates `text`: numbers and parameters, joined by `+ - * /` and parentheses, then an optional unit.
/// `parameter` returns the value of a name, or an error.
pub(super) fn evaluate(
    text: &str,
    parameter: &mut dyn FnMut(&str) -> Result<f64, String>,
) -> Result<Outcome, String> {
    // Parentheses nest by recursion, so the limit on the length also limits the stack.
    if text.len() > MAX_LENGTH {
        return Err(format!("the expression is longer than {MAX_LENGTH} characters"));
    }
    let mut parser = Parser { whole: text.trim(), rest: text.trim_start(), parameter };
    let number = parser.sum()?;
    let unit = parser.rest.trim().to_owned();
    if !number.is_finite() {
        return Err(format!("the value of `{}` is too large for a number", text.trim()));
    }
    if unit.starts_with(|c: char| !c.is_alphabetic() && c != '/' && c != '%') {
        return Err(format!("cannot read `{unit}` in the expression"));
    }
    Ok(Outcome { number, unit })
}

struct Parser<'a, 'p> {
    whole: &'a str,
    rest: &'a str,
    parameter: &'p mut dyn FnMut(&str) -> Result<f64, String>,
}

impl Parser<'_, '_> {
    fn sum(&mut self) -> Result<f64, String> {
        let mut total = self.product()?;
        loop {
            if self.take("+") {
                total += self.product()?;
            } else if self.take("-") {
                total -= self.product()?;
            } else {
                return Ok(total);
            }
        }
    }

    fn product(&mut self) -> Result<f64, String> {
        let mut total = self.factor()?;
        loop {
            // A final `/s` is the unit of a frequency, not a division.
            if self.take("*") {
                total *= self.factor()?;
            } else if self.rest.trim_end() != "/s" && self.take("/") {
                let divisor = self.factor()?;
                if divisor == 0.0 {
                    return Err(format!("`{}` divides by zero", self.whole));
                }
                total /= divisor;
            } else {
                return Ok(total);
            }
        }
    }

    fn factor(&mut self) -> Result<f64, String> {
        if self.take("-") {
            return Ok(-self.factor()?);
        }
        if self.take("(") {
            let value = self.sum()?;
            return if self.take(")") {
                Ok(value)
            } else {
                Err("the expression is missing a closing `)`".to_owned())
            };
        }
        let is_number = self.rest.starts_with(|c: char| c.is_ascii_digit() || c == '.');
        let belongs = |c: char| {
            if is_number {
                c.is_ascii_digit() || c == '.' || c == '_'
            } else {
                c.is_alphanumeric() || c == '_'
            }
        };
        let end = self.rest.find(|c| !belongs(c)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest.trim_start();
        match word {
            "" => Err("the expression is incomplete: expected a number or a parameter".to_owned()),
            _ if is_number => {
                word.replace('_', "").parse().map_err(|_| format!("`{word}` is not a number"))
            }
            _ => match (self.parameter)(word)? {
                value if value.is_finite() => Ok(value),
                value => {
                    Err(format!("the parameter `{word}` is {value}, which is not a finite number"))
                }
            },
        }
    }

    fn take(&mut self, sign: &str) -> bool {
        let Some(rest) = self.rest.strip_prefix(sign) else { return false };
        self.rest = rest.trim_start();
        true
    }
}

const MAX_LENGTH: usize = 500;

#[cfg(test)]
mod tests {
    use super::*;

    fn with_alpha(text: &str) -> Result<(f64, String), String> {
        let mut alpha = |name: &str| match name {
            "alpha" => Ok(0.75),
            "endless" => Ok(f64::INFINITY),
            "huge" => Ok(1e300),
            _ => Err(format!("no {name}")),
        };
        evaluate(text, &mut alpha).map(|outcome| (outcome.number, outcome.unit))
    }

    #[test]
    fn products_bind_closer_than_sums() {
        assert_eq!(with_alpha("1 - alpha"), Ok((0.25, String::new())));
        assert_eq!(with_alpha("2 + 3 * 4 / (1 + 1)"), Ok((8.0, String::new())));
        assert_eq!(with_alpha("-alpha - -1"), Ok((0.25, String::new())));
    }

    #[test]
    fn what_follows_the_number_is_its_unit() {
        assert_eq!(with_alpha("8 * alpha Mbit/s"), Ok((6.0, "Mbit/s".to_owned())));
        assert_eq!(with_alpha("100 * alpha /s"), Ok((75.0, "/s".to_owned())));
        assert_eq!(with_alpha("20 * alpha %"), Ok((15.0, "%".to_owned())));
    }

    #[test]
    fn a_bad_expression_says_what_is_wrong() {
        assert_eq!(with_alpha("1 - beta"), Err("no beta".to_owned()));
        assert_eq!(
            with_alpha("(1 - alpha"),
            Err("the expression is missing a closing `)`".to_owned())
        );
        assert!(with_alpha("1 -").unwrap_err().contains("is incomplete"));
        assert!(with_alpha("1 / 0").unwrap_err().contains("divides by zero"));
        assert!(with_alpha("1 / (alpha - 0.75)").unwrap_err().contains("divides by zero"));
        assert_eq!(
            with_alpha("1 / endless"),
            Err("the parameter `endless` is inf, which is not a finite number".to_owned())
        );
        assert!(with_alpha("huge * huge").unwrap_err().contains("too large"));
        assert!(with_alpha("1 ^ 2").unwrap_err().contains("cannot read `^ 2`"));
    }
}
