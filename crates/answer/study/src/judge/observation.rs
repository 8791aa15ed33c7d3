//! Numbers beside a claim, without a vote.

use super::case::{Case, cases};
use super::evidence::{Evidence, Shown};
use crate::runs::{Data, Wanted};
use crate::spec::{ObservationSpec, Study};

/// The points and classes of an observation.
pub(crate) fn cases_of_observation(
    spec: &ObservationSpec,
    study: &Study,
    quick: bool,
) -> Vec<Case> {
    cases(&spec.ours, spec.x.as_deref(), spec.class.as_deref(), study, quick)
}

/// Wants what an observation is made of.
pub(crate) fn want_observation(
    wanted: &mut Wanted,
    spec: &ObservationSpec,
    case: &Case,
    replicas: u32,
) {
    for quantity in std::iter::once(&spec.ours).chain(&spec.than) {
        wanted.add_quantity(quantity, case.x, replicas);
    }
}

/// What the replicas say of an observation, shown with probability `error` on each side.
pub(crate) fn observe(
    spec: &ObservationSpec,
    case: &Case,
    data: &Data,
    error: f64,
) -> Result<Shown, String> {
    let readings = |quantity| {
        let readings = data.readings(quantity, case.x, case.class.as_deref());
        readings.map_err(|missing| missing.to_string())
    };
    let ours = readings(&spec.ours)?;
    let evidence = match &spec.than {
        None => Evidence::of_values(&ours),
        Some(than) => {
            let than = readings(than)?;
            let pairs = ours.len().min(than.len());
            Evidence::of_ratios(&ours[..pairs], &than[..pairs])
        }
    };
    evidence.shown(error).ok_or_else(|| evidence.without_number())
}
