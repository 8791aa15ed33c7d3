//! Checks markers.

use shortflow_elements::Color;
use shortflow_elements::classifier::DscpTable;
use shortflow_elements::meter::{
    ColorMode, FairMarkerParams, FlowTableSize, InitialRate, SrTcmParams, TokenBucketParams,
    TrTcmParams, Tsw3CmParams, TswParams,
};
use shortflow_units::{Duration, Rate};

use super::Checker;
use crate::file::{FairMarkerFile, InitialRateFile, MarkerFile, TableSizeFile};
use crate::model::MarkerPlan;

impl Checker<'_> {
    pub(super) fn marker(&mut self, path: &str, file: &MarkerFile) -> Option<MarkerPlan> {
        match file {
            MarkerFile::Fixed(fixed) => {
                Some(MarkerPlan::Fixed(self.dscp(&format!("{path}.fixed.dscp"), &fixed.dscp)))
            }
            MarkerFile::TokenBucket(bucket) => {
                let params = TokenBucketParams::new(bucket.rate, bucket.depth);
                self.accept(&format!("{path}.token-bucket"), params).map(MarkerPlan::TokenBucket)
            }
            MarkerFile::Srtcm(srtcm) => {
                let mode = self.color_mode(srtcm.color_aware);
                let params = SrTcmParams::new(srtcm.cir, srtcm.cbs, srtcm.ebs, mode);
                self.accept(&format!("{path}.srtcm"), params).map(MarkerPlan::SrTcm)
            }
            MarkerFile::Trtcm(trtcm) => {
                let mode = self.color_mode(trtcm.color_aware);
                let params = TrTcmParams::new(trtcm.cir, trtcm.cbs, trtcm.pir, trtcm.pbs, mode);
                self.accept(&format!("{path}.trtcm"), params).map(MarkerPlan::TrTcm)
            }
            MarkerFile::Tsw2cm(tsw) => {
                let path = format!("{path}.tsw2cm");
                let params = self.tsw(&path, tsw.cir, tsw.window, tsw.initial_rate);
                params.map(MarkerPlan::Tsw2Cm)
            }
            MarkerFile::Tsw3cm(tsw) => {
                let path = format!("{path}.tsw3cm");
                let params = self.tsw(&path, tsw.cir, tsw.window, tsw.initial_rate)?;
                self.accept(&path, Tsw3CmParams::new(params, tsw.pir)).map(MarkerPlan::Tsw3Cm)
            }
            MarkerFile::FairMarker(fair) => self.fair_marker(&format!("{path}.fair-marker"), fair),
        }
    }

    fn fair_marker(&mut self, path: &str, file: &FairMarkerFile) -> Option<MarkerPlan> {
        let tsw = self.tsw(path, file.cir, file.window, file.initial_rate);
        let table = match (file.table_size, file.idle_timeout) {
            (Some(TableSizeFile::Unlimited), Some(idle_timeout)) => {
                FlowTableSize::Unlimited { idle_timeout }
            }
            (Some(TableSizeFile::Unlimited), None) => {
                let message = "an unlimited table needs an idle_timeout";
                let help =
                    "add `idle_timeout = \"…\"`: after which silence a flow leaves the table";
                self.document.mistake(&format!("{path}.table_size"), message, help);
                return None;
            }
            (_, Some(_)) => {
                let message = "only an unlimited table has an idle_timeout";
                let help = "write `table_size = \"unlimited\"`, or leave `idle_timeout` out";
                self.document.mistake_in_key(&format!("{path}.idle_timeout"), message, help);
                return None;
            }
            (Some(TableSizeFile::AtMost(size)), None) => FlowTableSize::AtMost(size),
            (None, None) => FlowTableSize::AtMost(DEFAULT_TABLE_SIZE),
        };
        let threshold = file.threshold.unwrap_or(DEFAULT_THRESHOLD);
        self.accept(path, FairMarkerParams::new(tsw?, threshold, table)).map(MarkerPlan::FairMarker)
    }

    fn tsw(
        &mut self,
        path: &str,
        cir: Rate,
        window: Option<Duration>,
        initial: Option<InitialRateFile>,
    ) -> Option<TswParams> {
        let initial = match initial.unwrap_or_default() {
            InitialRateFile::Committed => InitialRate::Committed,
            InitialRateFile::Zero => InitialRate::Zero,
        };
        self.accept(path, TswParams::new(cir, window.unwrap_or(DEFAULT_WINDOW), initial))
    }

    fn color_mode(&self, color_aware: bool) -> ColorMode {
        if !color_aware {
            return ColorMode::Blind;
        }
        // A code point of no colour has no claim to protection.
        let unknown = DscpTable::filled(Color::Red);
        let colors = Color::ALL.into_iter().zip(self.code_points);
        ColorMode::Aware(colors.fold(unknown, |table, (color, dscp)| table.with(dscp, color)))
    }
}

/// cm05 §4: the flow table holds 30 flows.
const DEFAULT_TABLE_SIZE: usize = 30;
/// cm05 §4: t_ft = 7.
const DEFAULT_THRESHOLD: u64 = 7;
/// cm05 §2: the rate estimators' window is 1 s.
const DEFAULT_WINDOW: Duration = Duration::from_secs(1);
