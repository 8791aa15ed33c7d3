//! The traffic profile of an aggregate.

use shortflow_packet::Packet;
use shortflow_units::{Bytes, Rate};

use crate::ParamsError;
use crate::params::above_zero;

/// The profile ⟨B, r_m, r_p, L_m⟩ of an aggregate (Mehra, Tewari & Kandlur 1999, §4).
#[derive(Debug, Clone)]
pub struct AggregateProfile {
    rate: Rate,
    depth: Bytes,
    peak: Option<Rate>,
    max_packet: Bytes,
}

impl AggregateProfile {
    /// Tokens arrive at `rate` (r_m), up to `depth` (B). Packets of up to `max_packet` (L_m) bytes can
    /// conform, larger ones never.
    pub fn new(rate: Rate, depth: Bytes, max_packet: Bytes) -> Result<Self, ParamsError> {
        let rate = above_zero("rate", rate)?;
        let depth = above_zero("depth", depth)?;
        let max_packet = above_zero("max_packet", max_packet)?;
        if depth > MAX_DEPTH {
            let message = format!("depth must be at most {MAX_DEPTH}; found {depth}");
            return Err(ParamsError::new("depth", message));
        }
        if max_packet > depth {
            let message = format!(
                "depth {depth} must be at least max_packet {max_packet}; otherwise such packets never find \
                 enough tokens"
            );
            return Err(ParamsError::new("depth", message));
        }
        Ok(AggregateProfile { rate, depth, peak: None, max_packet })
    }

    /// Sets a peak rate: a packet of s bytes is followed by the next no sooner than s/`peak` (r_p), as on a
    /// line of that rate.
    pub fn with_peak(self, peak: Rate) -> Result<Self, ParamsError> {
        if peak < self.rate {
            let message = format!("peak {peak} must be at least rate {}", self.rate);
            return Err(ParamsError::new("peak", message));
        }
        Ok(AggregateProfile { peak: Some(peak), ..self })
    }

    /// Removes the peak rate, if packets are spaced elsewhere.
    pub(crate) fn without_peak(self) -> Self {
        AggregateProfile { peak: None, ..self }
    }

    /// r_m: the rate at which tokens arrive.
    pub fn rate(&self) -> Rate {
        self.rate
    }

    /// B: the largest burst.
    pub fn depth(&self) -> Bytes {
        self.depth
    }

    /// r_p: the peak rate; `None` for no limit.
    pub fn peak(&self) -> Option<Rate> {
        self.peak
    }

    /// L_m: the largest packet that can conform.
    pub fn max_packet(&self) -> Bytes {
        self.max_packet
    }

    /// Whether `packet` is small enough.
    #[inline]
    pub(crate) fn fits(&self, packet: &Packet) -> bool {
        packet.bytes() <= self.max_packet
    }
}

/// 1 TB: the shares of a bucket are computed in integers.
const MAX_DEPTH: Bytes = Bytes(1_000_000_000_000);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_that_cannot_be_kept_is_refused_by_name() {
        let mbit = |rate: u64| Rate::from_bits_per_sec(1_000_000 * rate);
        let refused = |rate, depth, max_packet| {
            let error = AggregateProfile::new(mbit(rate), Bytes(depth), Bytes(max_packet));
            let error = error.unwrap_err();
            (error.parameter(), error.to_string())
        };
        assert_eq!(refused(0, 9, 9).0, "rate");
        assert_eq!(refused(1, 0, 9).0, "depth");
        assert_eq!(refused(1, 9, 0).0, "max_packet");
        assert_eq!(
            refused(1, 1_000, 1_500),
            (
                "depth",
                "depth 1 KB must be at least max_packet 1.5 KB; otherwise such packets never find enough \
                 tokens"
                    .to_owned()
            )
        );
        assert_eq!(refused(1, u64::MAX, 1_500).0, "depth");
        let profile = AggregateProfile::new(mbit(2), Bytes(3_000), Bytes(1_500)).unwrap();
        let error = profile.with_peak(mbit(1)).unwrap_err();
        assert_eq!(error.to_string(), "peak 1 Mbit/s must be at least rate 2 Mbit/s");
    }
}
