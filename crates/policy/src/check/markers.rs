//! Checks markers.

use shortflow_elements::classifier::DscpTable;
use shortflow_elements::marker::{Crossing, RecoverySegments, TcpStateParams};
use shortflow_elements::meter::{
    ColorMode, FairMarkerParams, FlowTableSize, InitialRate, SrTcm, SrTcmParams, TokenBucket,
    TokenBucketParams, TrTcm, TrTcmParams, Tsw3CmParams, TswParams, TwoBuckets, TwoBucketsParams,
};
use shortflow_elements::{Color, ParamsError, Settling};
use shortflow_units::{Duration, Rate};

use super::Checker;
use crate::file::{
    BucketFile, FairMarkerFile, FastRecoveryFile, InitialRateFile, MarkerFile, PerFile,
    TableSizeFile, TcpStateFile, TokenBucketFile, TwoBucketsFile,
};
use crate::model::{MarkerPlan, Metered};

impl Checker<'_> {
    pub(super) fn marker(&mut self, path: &str, file: &MarkerFile) -> Option<MarkerPlan> {
        match file {
            MarkerFile::Fixed(fixed) => {
                let path = format!("{path}.fixed");
                let dscp = self.dscp(&format!("{path}.dscp"), &fixed.dscp);
                let bucket = match &fixed.bucket {
                    Some(file) => Some(self.token_bucket(&format!("{path}.bucket"), file)?),
                    None => None,
                };
                Some(MarkerPlan::Fixed(dscp, bucket))
            }
            MarkerFile::TokenBucket(file) => {
                let bucket = self.token_bucket(&format!("{path}.token-bucket"), file);
                bucket.map(MarkerPlan::TokenBucket)
            }
            MarkerFile::Srtcm(srtcm) => {
                let mode = self.color_mode(srtcm.color_aware);
                let params = SrTcmParams::new(srtcm.cir, srtcm.cbs, srtcm.ebs, mode);
                let path = format!("{path}.srtcm");
                self.metered(&path, params, SrTcm::new, srtcm.per.as_ref()).map(MarkerPlan::SrTcm)
            }
            MarkerFile::Trtcm(trtcm) => {
                let mode = self.color_mode(trtcm.color_aware);
                let params = TrTcmParams::new(trtcm.cir, trtcm.cbs, trtcm.pir, trtcm.pbs, mode);
                let path = format!("{path}.trtcm");
                self.metered(&path, params, TrTcm::new, trtcm.per.as_ref()).map(MarkerPlan::TrTcm)
            }
            MarkerFile::TwoBuckets(file) => {
                self.two_buckets(&format!("{path}.two-buckets"), file).map(MarkerPlan::TwoBuckets)
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
            MarkerFile::Dstf(file) => self.dstf(&format!("{path}.dstf"), file),
            MarkerFile::Srpt(file) => self.srpt(&format!("{path}.srpt"), file),
            MarkerFile::TcpState(file) => self.tcp_state(&format!("{path}.tcp-state"), file),
            MarkerFile::Admission(file) => self.admission(&format!("{path}.admission"), file),
        }
    }

    /// A meter's parameters with whose packets they hold for.
    fn metered<P: Clone, M: Settling>(
        &mut self,
        path: &str,
        params: Result<P, ParamsError>,
        new: impl Fn(P) -> M,
        per: Option<&PerFile>,
    ) -> Option<Metered<P>> {
        let params = self.accept(path, params);
        let settled =
            params.as_ref().map_or(Duration::ZERO, |params| new(params.clone()).settled_after());
        let per = self.per(path, per, settled);
        Some(Metered { params: params?, per: per? })
    }

    fn token_bucket(
        &mut self,
        path: &str,
        file: &TokenBucketFile,
    ) -> Option<Metered<TokenBucketParams>> {
        let params = TokenBucketParams::new(file.rate, file.depth);
        self.metered(path, params, TokenBucket::new, file.per.as_ref())
    }

    fn two_buckets(
        &mut self,
        path: &str,
        file: &TwoBucketsFile,
    ) -> Option<Metered<TwoBucketsParams>> {
        let mut bucket = |key: &str, bucket: &BucketFile| {
            let params = TokenBucketParams::new(bucket.rate, bucket.depth);
            self.accept(&format!("{path}.{key}"), params)
        };
        let (green, yellow) = (bucket("green", &file.green), bucket("yellow", &file.yellow));
        let mode = self.color_mode(file.color_aware);
        let params = TwoBucketsParams { green: green?, yellow: yellow?, mode };
        self.metered(path, Ok(params), TwoBuckets::new, file.per.as_ref())
    }

    fn tcp_state(&mut self, path: &str, file: &TcpStateFile) -> Option<MarkerPlan> {
        let high = file.high.unwrap_or(DEFAULT_HIGH);
        let medium = file.medium.unwrap_or(high.saturating_mul(2));
        let crossing = if file.randomized { Crossing::Randomized } else { Crossing::Sharp };
        let recovery = match file.fast_recovery {
            FastRecoveryFile::All => RecoverySegments::All,
            FastRecoveryFile::Retransmissions => RecoverySegments::Retransmissions,
        };
        let params = TcpStateParams::new(high, medium, crossing, recovery);
        self.accept(path, params).map(MarkerPlan::TcpState)
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

/// nt02 §6.3: HIGH_thresh is 4 segments, MED_thresh twice as much.
const DEFAULT_HIGH: u32 = 4;
/// cm05 §4: the flow table holds 30 flows.
const DEFAULT_TABLE_SIZE: usize = 30;
/// cm05 §4: t_ft = 7.
const DEFAULT_THRESHOLD: u64 = 7;
/// cm05 §2: the rate estimators' window is 1 s.
const DEFAULT_WINDOW: Duration = Duration::from_secs(1);
