//! The readings of a study at which its claims are judged.

use super::outcome::{Calibration, Fit};
use super::ran::ran;
use super::replica_selection::SelectedReplicas;
use crate::digest::digest;
use crate::error::Error;
use crate::runs::Maker;
use crate::spec::names::{CALIBRATED, CALIBRATION};
use crate::spec::{CalibrationSpec, Variant, mistakes};

/// The readings under which claims are judged.
#[derive(Debug, Clone, Default)]
pub(crate) struct Readings {
    /// The one that fits best.
    pub(crate) best: Variant,
    /// Whether that one misses a figure, too.
    pub(crate) best_misses: bool,
    /// The others that pass.
    pub(crate) others: Vec<Variant>,
    /// The replicas that are kept; all when absent.
    pub(crate) kept: Option<SelectedReplicas>,
    /// Whether the scenarios or policies of the grid have changed since it was run.
    pub(crate) is_stale: bool,
}

impl Readings {
    /// Those that the study's calibration gave; one, without any change, where nothing is calibrated.
    ///
    /// # Errors
    /// When the calibration was not run, or is of another `calibration.toml`.
    pub(crate) fn load(maker: &Maker<'_>) -> Result<Readings, Error> {
        let files = maker.files;
        let Some(text) = files.text(CALIBRATION) else { return Ok(Readings::default()) };
        let spec: CalibrationSpec = mistakes::read(files, CALIBRATION)?;
        let is_missing = |message: &str| Error::Study {
            file: files.place(CALIBRATED),
            message: format!(
                "{message}; run `shortflow reproduce {} --calibrate`",
                files.argument()
            ),
        };
        let outcome =
            files.text(CALIBRATED).ok_or_else(|| is_missing("the study is not calibrated"))?;
        let outcome: Calibration =
            serde_json::from_str(outcome).map_err(|error| is_missing(&error.to_string()))?;
        if outcome.of != digest(text) {
            return Err(is_missing("calibration.toml has changed since the grid was run"));
        }
        let variant = |fit: &Fit| spec.variant(&fit.reading);
        let best = outcome.grid.first().and_then(variant);
        let best = best.ok_or_else(|| is_missing("it names no reading of calibration.toml"))?;
        let best_misses = outcome.grid.first().is_some_and(|fit| !fit.passes);
        let others = outcome.grid.iter().skip(1).filter(|fit| fit.passes).filter_map(variant);
        let others = others.collect();
        let is_stale = !outcome.ran.is_empty() && outcome.ran != ran(&spec, maker, &best)?;
        Ok(Readings { best, best_misses, others, kept: outcome.kept, is_stale })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::StudyFiles;

    #[test]
    fn no_committed_calibration_is_older_than_its_scenarios_under_any_engine() {
        for name in StudyFiles::names() {
            let files = StudyFiles::find(name).unwrap();
            let study = mistakes::read_study(files).unwrap();
            for engine in ["1", "2"] {
                let maker = Maker::new(files, &study, &study.full.duration, engine);
                let readings = Readings::load(&maker).unwrap();
                assert!(!readings.is_stale, "{name}: calibrate it anew");
            }
        }
    }
}
