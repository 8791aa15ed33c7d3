//! Checks markers by a number of bytes.

use shortflow_elements::marker::{Counted, DstfParams, SizeLevels, SrptParams};
use shortflow_units::{Duration, Rate};

use super::Checker;
use crate::file::{CountedFile, DstfFile, SrptFile, ThresholdsFile};
use crate::model::MarkerPlan;

impl Checker<'_> {
    pub(super) fn dstf(&mut self, path: &str, file: &DstfFile) -> Option<MarkerPlan> {
        let levels = self.levels(path, file.thresholds.as_ref(), file.code_points.as_ref());
        let decay = file.decay.unwrap_or(Rate::ZERO);
        let settled = levels
            .as_ref()
            .map_or(Duration::ZERO, |levels| DstfParams::settled_after(levels, decay));
        let per = self.per_flow(path, file.per.as_ref(), settled);
        let counted = match file.count {
            CountedFile::Packet => Counted::Packet,
            CountedFile::Payload => Counted::Payload,
        };
        let params = DstfParams::new(levels?, per?, counted, decay);
        self.accept(path, params).map(MarkerPlan::Dstf)
    }

    pub(super) fn srpt(&mut self, path: &str, file: &SrptFile) -> Option<MarkerPlan> {
        let levels = self.levels(path, file.thresholds.as_ref(), file.code_points.as_ref())?;
        self.accept(path, SrptParams::new(levels, file.unknown)).map(MarkerPlan::Srpt)
    }

    fn levels(
        &mut self,
        path: &str,
        thresholds: Option<&ThresholdsFile>,
        code_points: Option<&Vec<String>>,
    ) -> Option<SizeLevels> {
        let thresholds = match thresholds {
            None => SizeLevels::HARP.to_vec(),
            Some(ThresholdsFile::Each(sizes)) => sizes.clone(),
            Some(ThresholdsFile::Geometric(file)) => {
                let sizes = SizeLevels::geometric(file.first, file.last, file.count);
                self.accept(&format!("{path}.thresholds"), sizes)?
            }
        };
        let code_points = match code_points {
            None => SizeLevels::default_code_points(thresholds.len() + 1),
            Some(names) => {
                let at = |index| format!("{path}.code_points.{index}");
                names.iter().enumerate().map(|(i, name)| self.dscp(&at(i), name)).collect()
            }
        };
        self.accept(path, SizeLevels::new(&thresholds, code_points))
    }
}
