//! A number with its interval, as ledgers show it.

use shortflow_report::significant;

/// `0.71 (0.53 to 0.90)`.
pub(crate) fn number(ours: Option<f64>, low: Option<f64>, high: Option<f64>) -> String {
    let Some(ours) = ours else { return "no number".to_owned() };
    let interval = match (low, high) {
        (None, None) => String::new(),
        (Some(low), Some(high)) => format!(" ({} to {})", significant(low), significant(high)),
        (Some(low), None) => format!(" (at least {})", significant(low)),
        (None, Some(high)) => format!(" (at most {})", significant(high)),
    };
    format!("{}{interval}", significant(ours))
}
