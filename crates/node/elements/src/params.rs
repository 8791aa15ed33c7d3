//! Errors in the parameters of elements.

use std::fmt;

/// Why parameters are invalid: the parameter, and a message with the values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParamsError {
    parameter: &'static str,
    item: Option<usize>,
    message: String,
}

impl ParamsError {
    pub(crate) fn new(parameter: &'static str, message: impl Into<String>) -> Self {
        ParamsError { parameter, item: None, message: message.into() }
    }

    /// An error in one item of a list, counted from zero.
    pub(crate) fn of_item(
        parameter: &'static str,
        item: usize,
        message: impl Into<String>,
    ) -> Self {
        ParamsError { item: Some(item), ..ParamsError::new(parameter, message) }
    }

    /// The name of the parameter, for example `max_threshold`.
    pub fn parameter(&self) -> &'static str {
        self.parameter
    }

    /// The item of the parameter, counted from zero, where it is a list and one item is wrong.
    pub fn item(&self) -> Option<usize> {
        self.item
    }
}

impl fmt::Display for ParamsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ParamsError {}

/// Refuses zero.
pub(crate) fn above_zero<Q: Default + PartialEq + fmt::Display>(
    parameter: &'static str,
    value: Q,
) -> Result<Q, ParamsError> {
    if value == Q::default() {
        return Err(ParamsError::new(
            parameter,
            format!("{parameter} must be above zero; found {value}"),
        ));
    }
    Ok(value)
}
