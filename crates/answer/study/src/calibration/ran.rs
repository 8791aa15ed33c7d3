//! The digest of what a calibration ran.

use crate::error::Error;
use crate::runs::Maker;
use crate::spec::{CalibrationSpec, Variant};

/// A digest of the scenarios and policies of what the targets measure, under the reading that fits best: the
/// same whatever engine runs them.
pub(super) fn ran(
    spec: &CalibrationSpec,
    maker: &Maker<'_>,
    best: &Variant,
) -> Result<String, Error> {
    let duration = spec.duration.as_ref().unwrap_or(&maker.study.full.duration);
    let maker = Maker { duration, engine: String::new(), ..maker.clone() };
    let mut each = Vec::new();
    for target in &spec.targets {
        let Some(run) = maker.study.run(&target.ours.run) else { continue };
        let Some(x) = target.ours.x.or_else(|| run.values.first().copied()) else { continue };
        each.push(shortflow_run::fingerprint(&maker.point(run, x, best)?.scenario, ""));
    }
    Ok(shortflow_run::digest(each.iter().map(String::as_str)))
}
