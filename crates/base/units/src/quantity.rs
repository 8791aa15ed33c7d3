//! The common grammar of quantities: a number, then a unit.

use std::fmt;

/// An error in the text of a quantity, with help.
///
/// The default form is `message; help`. The alternate form (`{:#}`) puts the help on its own line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseQuantityError {
    /// The text does not start with a number.
    NotANumber {
        /// The kind of quantity that was expected.
        expected: &'static str,
        /// An example of a valid text.
        example: &'static str,
        /// The text that was found.
        found: String,
    },
    /// The number has no unit.
    NoUnit {
        /// The kind of quantity that was expected.
        expected: &'static str,
        /// An example of a valid text.
        example: &'static str,
        /// The units of this kind.
        units: String,
        /// The text that was found.
        found: String,
    },
    /// The unit is not one of this kind of quantity.
    UnknownUnit {
        /// The kind of quantity that was expected.
        expected: &'static str,
        /// The units of this kind.
        units: String,
        /// The unit that was found.
        unit: String,
        /// The text that was found.
        found: String,
        /// The correction that was probably meant.
        meant: Option<String>,
    },
    /// The number is outside the range of this kind of quantity.
    OutOfRange {
        /// The kind of quantity that was expected.
        expected: &'static str,
        /// The allowed range.
        allowed: &'static str,
        /// The text that was found.
        found: String,
    },
}

impl ParseQuantityError {
    /// The error.
    pub fn message(&self) -> String {
        match self {
            ParseQuantityError::NotANumber { expected, example, found } => {
                format!("expected {expected}, such as \"{example}\"; found \"{found}\"")
            }
            ParseQuantityError::NoUnit { found, .. } => format!("\"{found}\" has no unit"),
            ParseQuantityError::UnknownUnit { unit, .. } => format!("unknown unit \"{unit}\""),
            ParseQuantityError::OutOfRange { found, .. } => format!("\"{found}\" is out of range"),
        }
    }

    /// What to write instead, if the message does not say it.
    pub fn help(&self) -> Option<String> {
        match self {
            ParseQuantityError::NotANumber { .. } => None,
            ParseQuantityError::UnknownUnit { meant: Some(meant), expected, units, .. } => {
                Some(format!("write \"{meant}\"; units of {expected}: {units}"))
            }
            ParseQuantityError::NoUnit { expected, example, units, .. } => {
                Some(format!("add one, as in \"{example}\"; units of {expected}: {units}"))
            }
            ParseQuantityError::UnknownUnit { expected, units, .. } => {
                Some(format!("units of {expected}: {units}"))
            }
            ParseQuantityError::OutOfRange { expected, allowed, .. } => {
                Some(format!("{expected} must be {allowed}"))
            }
        }
    }
}

impl fmt::Display for ParseQuantityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let joint = if f.alternate() { "\n" } else { "; " };
        f.write_str(&self.message())?;
        self.help().map_or(Ok(()), |help| write!(f, "{joint}{help}"))
    }
}

/// A kind of quantity: its name, its units with their factors, an example.
pub(crate) struct QuantityKind {
    pub(crate) name: &'static str,
    pub(crate) example: &'static str,
    pub(crate) allowed: &'static str,
    pub(crate) units: &'static [(&'static str, f64)],
    /// Common other spellings, with the unit that they mean. If capitals do not matter, in lower case.
    pub(crate) slips: &'static [(&'static str, &'static str)],
}

impl QuantityKind {
    /// Parses `text` as a number of base units.
    pub(crate) fn parse(&self, text: &str) -> Result<f64, ParseQuantityError> {
        let (digits, unit) = split(text);
        let Ok(number) = digits.replace('_', "").parse::<f64>() else {
            return Err(ParseQuantityError::NotANumber {
                expected: self.name,
                example: self.example,
                found: text.to_owned(),
            });
        };
        if unit.is_empty() && number != 0.0 {
            return Err(ParseQuantityError::NoUnit {
                expected: self.name,
                example: self.example,
                units: self.unit_names(),
                found: text.to_owned(),
            });
        }
        let factor = match self.units.iter().find(|(name, _)| *name == unit) {
            Some((_, factor)) => *factor,
            None if unit.is_empty() => 1.0,
            None => {
                return Err(ParseQuantityError::UnknownUnit {
                    expected: self.name,
                    units: self.unit_names(),
                    meant: self.meant(unit).map(|unit| format!("{digits} {unit}")),
                    unit: unit.to_owned(),
                    found: text.to_owned(),
                });
            }
        };
        let value = number * factor;
        if !(0.0..=MAX_EXACT).contains(&value) {
            return Err(self.out_of_range(text));
        }
        Ok(value)
    }

    pub(crate) fn out_of_range(&self, found: &str) -> ParseQuantityError {
        ParseQuantityError::OutOfRange {
            expected: self.name,
            allowed: self.allowed,
            found: found.to_owned(),
        }
    }

    /// The unit that `unit` was probably meant to be.
    fn meant(&self, unit: &str) -> Option<&'static str> {
        let small = unit.to_lowercase();
        let slip = |text: &str| self.slips.iter().find(|(slip, _)| *slip == text);
        let slip = slip(unit).or_else(|| slip(&small)).map(|(_, meant)| *meant);
        slip.or_else(|| {
            let spelled = self.units.iter().find(|(name, _)| name.to_lowercase() == small);
            spelled.map(|(name, _)| *name)
        })
    }

    fn unit_names(&self) -> String {
        let names: Vec<_> = self.units.iter().map(|(name, _)| *name).collect();
        names.join(", ")
    }
}

/// Larger integers have no exact `f64`.
const MAX_EXACT: f64 = 9_007_199_254_740_992.0;

fn split(text: &str) -> (&str, &str) {
    let text = text.trim();
    let end = text
        .char_indices()
        .find(|&(at, c)| !(c.is_ascii_digit() || c == '.' || c == '_' || (c == '-' && at == 0)))
        .map_or(text.len(), |(at, _)| at);
    let end = end + exponent(&text[end..]);
    (text[..end].trim(), text[end..].trim())
}

/// The number of bytes of an exponent such as `e30` at the start of `text`, which follows the digits of a
/// number.
fn exponent(text: &str) -> usize {
    let Some(rest) = text.strip_prefix(['e', 'E']) else { return 0 };
    let digits = rest.strip_prefix(['+', '-']).unwrap_or(rest);
    let left = digits.trim_start_matches(|c: char| c.is_ascii_digit());
    if left.len() == digits.len() { 0 } else { text.len() - left.len() }
}

/// Writes `value` in the largest unit in which it is at least 1.
pub(crate) fn write_in_units(
    f: &mut fmt::Formatter<'_>,
    value: u64,
    units: &[(&str, u64)],
) -> fmt::Result {
    let (name, factor) =
        units.iter().find(|(_, factor)| value >= *factor).unwrap_or(&units[units.len() - 1]);
    let number = value as f64 / *factor as f64;
    write!(f, "{number} {name}")
}

/// Implements serde and JSON Schema for a quantity: a string with one of `$units`, which are joined as in a
/// regular expression.
macro_rules! text_quantity {
    ($type:ty, $title:literal, $description:literal, $example:literal, $units:literal) => {
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Visitor;
                impl serde::de::Visitor<'_> for Visitor {
                    type Value = $type;
                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        write!(f, "{}, such as \"{}\"", $description, $example)
                    }
                    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<$type, E> {
                        text.parse().map_err(|error| E::custom(format_args!("{error:#}")))
                    }
                }
                deserializer.deserialize_str(Visitor)
            }
        }

        impl schemars::JsonSchema for $type {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                $title.into()
            }
            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({
                    "type": "string",
                    "description": $description,
                    "examples": [$example],
                    // Zero needs no unit.
                    "pattern":
                        concat!(r"^\s*(?:[0._]*0[0._]*|[0-9._]+(?:[eE][+-]?[0-9]+)?\s*(?:", $units, r"))\s*$"),
                })
            }
        }
    };
}
pub(crate) use text_quantity;
