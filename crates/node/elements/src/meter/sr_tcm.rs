//! The single-rate three-colour marker's meter (RFC 2697).

use shortflow_packet::Packet;
use shortflow_units::{Bytes, Duration, Instant, Rate};

use super::ColorMode;
use super::bucket::{Bucket, Earned, Tokens};
use crate::params::above_zero;
use crate::{Color, Meter, ParamsError, Settling};

/// Parameters of a [`SrTcm`].
#[derive(Debug, Clone)]
pub struct SrTcmParams {
    committed_rate: Rate,
    committed_burst: Bytes,
    excess_burst: Bytes,
    mode: ColorMode,
}

/// The settings of a [`SrTcmParams`], as [`SrTcmParams::settings`] gives them.
#[derive(Debug, Clone, Copy)]
pub struct SrTcmSettings<'p> {
    /// CIR.
    pub committed_rate: Rate,
    /// CBS.
    pub committed_burst: Bytes,
    /// EBS.
    pub excess_burst: Bytes,
    /// Whether the meter respects the colour of arriving packets.
    pub mode: &'p ColorMode,
}

impl SrTcmParams {
    /// CIR, CBS and EBS; at least one of the bursts must be above zero (RFC 2697 §2). Sizes and rates include
    /// headers.
    pub fn new(
        committed_rate: Rate,
        committed_burst: Bytes,
        excess_burst: Bytes,
        mode: ColorMode,
    ) -> Result<Self, ParamsError> {
        above_zero("committed_rate", committed_rate)?;
        if committed_burst == Bytes::ZERO && excess_burst == Bytes::ZERO {
            return Err(ParamsError::new(
                "committed_burst",
                format!(
                    "committed_burst {committed_burst} or excess_burst {excess_burst} must be \
                     above zero"
                ),
            ));
        }
        Ok(SrTcmParams { committed_rate, committed_burst, excess_burst, mode })
    }

    /// Every setting, to take apart without `..`: a new one does not compile until each engine has decided what it means.
    pub fn settings(&self) -> SrTcmSettings<'_> {
        let SrTcmParams { committed_rate, committed_burst, excess_burst, mode } = self;
        SrTcmSettings {
            committed_rate: *committed_rate,
            committed_burst: *committed_burst,
            excess_burst: *excess_burst,
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

    /// EBS.
    pub fn excess_burst(&self) -> Bytes {
        self.excess_burst
    }

    /// Whether the meter respects the colour of arriving packets.
    pub fn mode(&self) -> &ColorMode {
        &self.mode
    }
}

/// The single-rate three-colour meter: green within the committed burst, yellow within the excess burst, else
/// red. Both buckets fill at the committed rate; the excess bucket gets what the committed one cannot hold.
#[derive(Debug, Clone)]
pub struct SrTcm {
    params: SrTcmParams,
    committed: Bucket,
    excess: Bucket,
    earned: Earned,
}

impl SrTcm {
    /// Both buckets full (RFC 2697 §3).
    pub fn new(params: SrTcmParams) -> Self {
        SrTcm {
            committed: Bucket::full(params.committed_burst),
            excess: Bucket::full(params.excess_burst),
            params,
            earned: Earned::default(),
        }
    }
}

impl Meter for SrTcm {
    #[inline]
    fn meter(&mut self, now: Instant, packet: &Packet) -> Color {
        let earned = Tokens::earned(self.params.committed_rate, self.earned.until(now));
        let overflow = self.committed.fill(earned);
        self.excess.fill(overflow);

        // RFC 2697 §3; colour-blind is colour-aware with every packet green.
        let tokens = Tokens::from_bytes(packet.bytes());
        let incoming = self.params.mode.incoming(packet);
        if incoming == Color::Green && self.committed.try_take(tokens) {
            Color::Green
        } else if incoming != Color::Red && self.excess.try_take(tokens) {
            Color::Yellow
        } else {
            Color::Red
        }
    }
}

impl Settling for SrTcm {
    /// The second bucket fills once the first is full.
    fn settled_after(&self) -> Duration {
        let rate = self.params.committed_rate;
        self.committed.time_to_fill(rate) + self.excess.time_to_fill(rate)
    }
}
