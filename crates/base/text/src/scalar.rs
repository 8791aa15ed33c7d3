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
