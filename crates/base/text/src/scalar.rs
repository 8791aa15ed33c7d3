//! Scalar values: the value of a parameter, or of a point of a sweep.

use std::fmt;

use schemars::JsonSchema;
use serde::Deserialize;

/// A number, a string, or a boolean.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected a number, a string, or `true` or `false`")]
pub enum Scalar {
    /// A boolean.
    Bool(bool),
    /// A whole number.
    Integer(i64),
    /// A number.
    Number(f64),
    /// A string.
    Text(String),
}

/// The value of a parameter of a policy: a scalar, or a list of scalars, which replaces a whole list.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected a number, a string, `true` or `false`, or a list of these")]
pub enum ScalarOrList {
    /// A scalar.
    One(Scalar),
    /// A list.
    List(Vec<Scalar>),
}

impl Scalar {
    /// The value of an option or a cell: a number or a boolean if it looks like one, else a string.
    pub fn parse(text: &str) -> Scalar {
        if let Ok(value) = text.parse() {
            return Scalar::Bool(value);
        }
        if let Ok(number) = text.parse() {
            return Scalar::Integer(number);
        }
        let number = text.parse().ok().filter(|number: &f64| number.is_finite());
        number.map_or_else(|| Scalar::Text(text.to_owned()), Scalar::Number)
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scalar::Bool(value) => value.fmt(f),
            Scalar::Integer(number) => number.fmt(f),
            Scalar::Number(number) => number.fmt(f),
            Scalar::Text(text) => text.fmt(f),
        }
    }
}
