//! What markers with a time sliding window have in common.

use shortflow_elements::meter::{InitialRate, TswParams};
use shortflow_units::{Duration, Rate};

use super::{OneOf, choices};
use crate::check::Checker;

choices!(InitialRate as "InitialRate" {
    /// At the committed rate (RFC 2859, Figure 2).
    "committed" => InitialRate::Committed,
    /// At zero.
    "zero" => InitialRate::Zero,
});

/// The window of the rate estimators; Casetti & Mellia 2005, §2: 1 s.
pub(crate) const WINDOW: Duration = Duration::from_secs(1);

/// The estimator's parameters; none when there is a mistake.
pub(crate) fn tsw(
    checker: &mut Checker<'_>,
    path: &str,
    cir: Rate,
    window: Duration,
    initial: OneOf<InitialRate>,
) -> Option<TswParams> {
    checker.accept(path, TswParams::new(cir, window, initial.0))
}
