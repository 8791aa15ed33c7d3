//! Values without parts: what a parameter or a point of a sweep is.

use std::fmt;

use schemars::JsonSchema;
use serde::Deserialize;

/// A number, a text, or a truth value.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected a number, a text, or a truth value")]
pub enum Scalar {
    /// A truth value.
    Bool(bool),
    /// A whole number.
    Integer(i64),
    /// A number.
    Number(f64),
    /// A text.
    Text(String),
}

/// What a parameter of a policy is: a value without parts, or a list of such values, which then stands for a whole list.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected a number, a text, a truth value, or a list of these")]
pub enum ScalarOrList {
    /// A value without parts.
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
