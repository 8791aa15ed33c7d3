//! The two-rate three-colour marker's meter (RFC 2698).

use shortflow_packet::Packet;
use shortflow_units::{Bytes, Duration, Instant, Rate};

use super::ColorMode;
use super::bucket::{Bucket, Earned, Tokens};
use crate::params::above_zero;
use crate::{Color, Meter, ParamsError, Settling};

/// Parameters of a [`TrTcm`].
#[derive(Debug, Clone)]
pub struct TrTcmParams {
    committed_rate: Rate,
    committed_burst: Bytes,
    peak_rate: Rate,
    peak_burst: Bytes,
    mode: ColorMode,
}

/// The settings of a [`TrTcmParams`], as [`TrTcmParams::settings`] gives them.
#[derive(Debug, Clone, Copy)]
pub struct TrTcmSettings<'p> {
    /// CIR.
    pub committed_rate: Rate,
    /// CBS.
    pub committed_burst: Bytes,
    /// PIR.
    pub peak_rate: Rate,
    /// PBS.
    pub peak_burst: Bytes,
    /// Whether the meter respects the colour of arriving packets.
    pub mode: &'p ColorMode,
}

impl TrTcmParams {
    /// CIR and CBS, PIR and PBS; all above zero, and the PIR at least the CIR (RFC 2698 §2). Sizes and rates
    /// include headers.
    pub fn new(
        committed_rate: Rate,
        committed_burst: Bytes,
        peak_rate: Rate,
        peak_burst: Bytes,
        mode: ColorMode,
    ) -> Result<Self, ParamsError> {
        above_zero("committed_rate", committed_rate)?;
        above_zero("committed_burst", committed_burst)?;
        above_zero("peak_burst", peak_burst)?;
        check_peak(committed_rate, peak_rate)?;
        Ok(TrTcmParams { committed_rate, committed_burst, peak_rate, peak_burst, mode })
    }

    /// Every setting, to take apart without `..`: a new one does not compile until each engine has decided what it means.
    pub fn settings(&self) -> TrTcmSettings<'_> {
        let TrTcmParams { committed_rate, committed_burst, peak_rate, peak_burst, mode } = self;
        TrTcmSettings {
            committed_rate: *committed_rate,
            committed_burst: *committed_burst,
            peak_rate: *peak_rate,
            peak_burst: *peak_burst,
            mode,
        }
    }

    /// CIR.
    pub fn committed_rate(&self) -> Rate {
        self.committed_rate
    }

    /// CBS.
    pub fn committed_burst(&self) -> Bytes {
        self.committed_burst
    }

    /// PIR.
    pub fn peak_rate(&self) -> Rate {
        self.peak_rate
    }

    /// PBS.
    pub fn peak_burst(&self) -> Bytes {
        self.peak_burst
    }

    /// Whether the meter respects the colour of arriving packets.
    pub fn mode(&self) -> &ColorMode {
        &self.mode
    }
}

/// Refuses a peak rate below the committed one.
pub(super) fn check_peak(committed_rate: Rate, peak_rate: Rate) -> Result<(), ParamsError> {
    if peak_rate < committed_rate {
        return Err(ParamsError::new(
            "peak_rate",
            format!("peak_rate {peak_rate} must not be below committed_rate {committed_rate}"),
        ));
    }
    Ok(())
}

/// The two-rate three-colour meter: red above the peak profile, yellow above the committed one,
/// else green.
#[derive(Debug, Clone)]
pub struct TrTcm {
    params: TrTcmParams,
    committed: Bucket,
    peak: Bucket,
    earned: Earned,
}

impl TrTcm {
    /// Both buckets full (RFC 2698 §3).
    pub fn new(params: TrTcmParams) -> Self {
        TrTcm {
            committed: Bucket::full(params.committed_burst),
            peak: Bucket::full(params.peak_burst),
            params,
            earned: Earned::default(),
        }
    }
}

impl Meter for TrTcm {
    #[inline]
    fn meter(&mut self, now: Instant, packet: &Packet) -> Color {
        let elapsed = self.earned.until(now);
        self.committed.fill(Tokens::earned(self.params.committed_rate, elapsed));
        self.peak.fill(Tokens::earned(self.params.peak_rate, elapsed));

        // RFC 2698 §3; colour-blind is colour-aware with every packet green.
        let tokens = Tokens::from_bytes(packet.bytes());
        let incoming = self.params.mode.incoming(packet);
        if incoming == Color::Red || !self.peak.try_take(tokens) {
            Color::Red
        } else if incoming == Color::Yellow || !self.committed.try_take(tokens) {
            Color::Yellow
        } else {
            Color::Green
        }
    }
}

impl Settling for TrTcm {
    fn settled_after(&self) -> Duration {
        let committed = self.committed.time_to_fill(self.params.committed_rate);
        committed.max(self.peak.time_to_fill(self.params.peak_rate))
    }
}
