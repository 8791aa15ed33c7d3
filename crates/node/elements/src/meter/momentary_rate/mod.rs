//! The momentary bit rate (MBR) of SIMA: an exponentially weighted moving average that gives the true rate of
//! a periodic stream at every packet.
//!
//! Laatu, Harju & Loula 2003, §2, say that the MBR follows "the principle of exponentially weighted moving
//! average" with separate weights for real-time and non-real-time traffic, and refer to other papers for the
//! formula. The formula here is modelled on Kilkki's SIMA (draft-kalevi-simple-media-access-01, 1997). It was
//! not checked against that text, so it is an interpretation. For cells in the time slots of an access link
//! of rate C, with N slots from one cell to the next,
//!
//! ρ ← (1 − α)^N · ρ + α,    MBR = C · ln(1 − α) / ln(1 − α/ρ).
//!
//! Packets differ in length, cells do not. Here a slot is the transmission time of a packet of a given length
//! on the link, N is a time and need not be whole, and a packet of k slots adds 1 − (1 − α)^k instead of α,
//! and counts as k/N of C. For k = 1 this is the same. It keeps the purpose of the formula for cells: for
//! packets of one length at one distance the MBR settles at their exact rate, whatever the weight, and the
//! first packet of a stream has MBR zero.
//!
//! # In integers
//!
//! Only the comparison of the MBR with a rate R is needed. Let ρ₀ = (1 − α)^N · ρ be the decayed load, and d
//! = (1 − α)^(k·C/R) the decay during the packet's transmission time at R. Then
//!
//! MBR ≤ R  ⟺  k·C/R · −ln(1 − α) ≤ ln(ρ/ρ₀)  ⟺  d · ρ ≥ ρ₀:
//!
//! At the rate R the load would have decayed to its former value, or not yet, when the next such packet
//! arrives. This requires only powers of 1 − α, which [`load`] computes without floating point, so eBPF
//! programs compute the same result to the last bit. The decision is that of the formula for an MBR exact to
//! one part in 2²⁰, for packets of at least 40 bytes; a test compares it with the formula in floating point.

mod load;

use shortflow_units::{Bytes, Duration, Instant, Rate};

use self::load::Load;
use crate::ParamsError;
use crate::params::above_zero;

pub use self::load::{Decay, POWERS};

/// Parameters of a [`MomentaryRate`].
#[derive(Debug, Clone)]
pub struct MomentaryRateParams {
    link: Rate,
    slot: Bytes,
    weight: f64,
    /// ln(1 − α).
    log_keep: f64,
    silence: Decay,
    sending: Decay,
}

/// The limits of the halvings of a load per byte time. Within them packets of 40 bytes are exact to one part
/// in 2²¹, and packets of 65,535 bytes do not exceed the range.
const MIN_PER_BYTE: f64 = 1.0 / (1 << 27) as f64;
const MAX_PER_BYTE: f64 = 0.5;

impl MomentaryRateParams {
    /// C, the rate of the access link; the packet whose transmission time is a slot; and α, the weight of a
    /// slot, above 0 and below 1. Laatu et al. 2003, §3.4, have 0.01 for real-time and 0.001 for
    /// non-real-time traffic, but these may also be the weights of the core nodes' buffers. The time constant
    /// is about a slot divided by α. Rates include headers.
    ///
    /// Refuses a weight for which the change of a load per byte time is outside the range.
    pub fn new(link: Rate, slot: Bytes, weight: f64) -> Result<Self, ParamsError> {
        let link = above_zero("link", link)?;
        let slot = above_zero("slot", slot)?;
        if !(weight > 0.0 && weight < 1.0) {
            let message = format!("weight must be above 0 and below 1; found {weight}");
            return Err(ParamsError::new("weight", message));
        }
        let log_keep = libm::log1p(-weight);
        let per_byte = per_byte(log_keep, slot);
        let per_nano = per_byte * link.bits_per_sec() as f64 / 8e9;
        if !(MIN_PER_BYTE..=MAX_PER_BYTE).contains(&per_byte) || per_nano > 1.0 {
            let message = format!(
                "weight {weight} with a slot of {slot} at {link} halves a load {per_byte:.1e} times per byte and \
                 {per_nano:.1e} times per nanosecond; allowed are {MIN_PER_BYTE:.1e} to {MAX_PER_BYTE} times per byte, and \
                 at most once per nanosecond"
            );
            return Err(ParamsError::new("weight", message));
        }
        let [silence, sending] = [per_nano, per_byte].map(Decay::from_halvings);
        Ok(MomentaryRateParams { link, slot, weight, log_keep, silence, sending })
    }

    /// C.
    pub fn link(&self) -> Rate {
        self.link
    }

    /// The packet whose transmission time on the link is a slot.
    pub fn slot(&self) -> Bytes {
        self.slot
    }

    /// α.
    pub fn weight(&self) -> f64 {
        self.weight
    }

    /// The decay of a load per nanosecond.
    pub fn silence(&self) -> Decay {
        self.silence
    }

    /// The decay of a load per byte time on the link.
    pub fn sending(&self) -> Decay {
        self.sending
    }

    /// The decay of a load per byte time at this rate in bit/s; `None` if the rate is out of range.
    pub(crate) fn at_rate(&self, bits_per_sec: f64) -> Option<Decay> {
        let [min, max] = self.rates();
        let per_byte = MIN_PER_BYTE * max / bits_per_sec;
        (min..=max).contains(&bits_per_sec).then(|| Decay::from_halvings(per_byte))
    }

    /// The smallest and the largest rate in range, in bit/s.
    pub(crate) fn rates(&self) -> [f64; 2] {
        let per_byte = per_byte(self.log_keep, self.slot) * self.link.bits_per_sec() as f64;
        [MAX_PER_BYTE, MIN_PER_BYTE].map(|limit| per_byte / limit)
    }

    /// The idle time after which any packet has a rate of at most `rate`, above zero, as a first packet has,
    /// if the stream was not faster than the link.
    ///
    /// MBR ≤ R when ln(1 + a/(ρ·(1 − α)^N)) ≥ b, where a packet of k slots adds a and b = −k·C/R ·
    /// ln(1 − α); with ρ ≤ 1, when −N·ln(1 − α) ≥ ln((e^b − 1)/a), which grows with k.
    pub fn settled_after(&self, rate: Rate) -> Duration {
        let slots = f64::from(LARGEST_PACKET) / self.slot.0 as f64;
        let share = self.link.bits_per_sec() as f64 / rate.bits_per_sec() as f64;
        let b = -slots * share * self.log_keep;
        let log_excess = b + libm::log1p(-libm::exp(-b));
        let added = -libm::expm1(slots * self.log_keep);
        let silent_slots = (log_excess - libm::log(added)) / -self.log_keep;
        let slot_nanos = self.slot.0 as f64 * 8e9 / self.link.bits_per_sec() as f64;
        // The conversion limits negative and infinite numbers. The error of the integers is smaller than what
        // is added.
        Duration::from_nanos(libm::ceil(silent_slots * slot_nanos * (1.0 + 1e-8)) as u64)
    }
}

/// Halvings of a load per byte time on the link.
fn per_byte(log_keep: f64, slot: Bytes) -> f64 {
    -log_keep / std::f64::consts::LN_2 / slot.0 as f64
}

/// The largest IP packet (RFC 791 §3.1).
const LARGEST_PACKET: u32 = 65_535;

/// The momentary bit rate of one stream. Its cost does not depend on the time that has passed.
#[derive(Debug, Clone, Copy)]
pub struct MomentaryRate {
    /// ρ, after the last packet.
    load: Load,
    last: Instant,
}

impl Default for MomentaryRate {
    /// For a stream without packets so far.
    fn default() -> Self {
        MomentaryRate { load: Load::NONE, last: Instant::START }
    }
}

/// The momentary bit rate at a packet.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reading {
    kept: Load,
    load: Load,
    bytes: u64,
}

impl MomentaryRate {
    /// The load of a stream without packets so far, for other implementations: a number and a power of 2.
    pub const FRESH: [u64; 2] = Load::NONE.numbers();

    /// Adds a packet of `size` bytes. If the clock is set back, time stands still until it reaches its former
    /// value.
    #[inline]
    pub(crate) fn update(
        &mut self,
        params: &MomentaryRateParams,
        now: Instant,
        size: u32,
    ) -> Reading {
        let silence = params.silence.within(now.since(self.last).nanos());
        self.last = self.last.max(now);
        let bytes = u64::from(size.max(1));
        let kept = self.load.after(silence);
        self.load = kept.plus(Load::lost_after(params.sending.within(bytes)));
        Reading { kept, load: self.load, bytes }
    }
}

impl Reading {
    /// Whether the rate is at most 2^−`halved` times the rate whose byte time has this decay.
    #[inline]
    pub(crate) fn is_at_most(&self, rate: Decay, halved: u32) -> bool {
        self.load.after(rate.doubled(halved).within(self.bytes)).is_at_least(self.kept)
    }
}

#[cfg(test)]
mod tests {
    use shortflow_units::Rng;

    use super::*;

    const LINK: Rate = Rate::from_bits_per_sec(10_000_000);

    fn params(weight: f64) -> MomentaryRateParams {
        MomentaryRateParams::new(LINK, Bytes(1250), weight).unwrap()
    }

    /// A slot is 1 ms.
    fn ms(millis: u64) -> Instant {
        Instant::START + Duration::from_millis(millis)
    }

    impl Reading {
        /// The least rate that it is at most, in bit/s; zero if it is below all measurable rates.
        fn bits_per_sec(&self, params: &MomentaryRateParams) -> f64 {
            let is_at_most = |bits| self.is_at_most(params.at_rate(bits).unwrap(), 0);
            let [mut min, mut max] = params.rates();
            if is_at_most(min * 1.000_001) {
                return 0.0;
            }
            (min, max) = (min * 1.000_001, max / 1.000_001);
            while max / min > 1.0 + 1e-9 {
                let between = libm::sqrt(min * max);
                if is_at_most(between) { max = between } else { min = between }
            }
            max
        }
    }

    /// The formula as it is printed, in floating point.
    #[derive(Default)]
    struct Printed {
        load: f64,
        last: Instant,
    }

    impl Printed {
        fn update(&mut self, params: &MomentaryRateParams, now: Instant, size: u32) -> f64 {
            let slot_nanos = params.slot.0 as f64 * 8e9 / params.link.bits_per_sec() as f64;
            let silent_slots = now.since(self.last).nanos() as f64 / slot_nanos;
            self.last = now;
            let slots = f64::from(size) / params.slot.0 as f64;
            let added = -libm::expm1(slots * params.log_keep);
            let kept = self.load * libm::exp(silent_slots * params.log_keep);
            self.load = kept + added;
            let distance = -libm::log1p(added / kept) / params.log_keep;
            params.link.bits_per_sec() as f64 * slots / distance
        }
    }

    #[test]
    fn the_rate_is_that_of_the_formula_to_one_part_in_2_to_the_20() {
        let off = 1.0 + 1.0 / f64::from(1 << 20);
        let streams =
            [(0.001, 10_000_000), (0.01, 10_000_000), (0.5, 1_000_000), (0.01, 10_000_000_000)];
        for (weight, link) in streams {
            let link = Rate::from_bits_per_sec(link);
            let params = MomentaryRateParams::new(link, Bytes(1448), weight).unwrap();
            let [min, max] = params.rates();
            let (mut whole, mut printed) = (MomentaryRate::default(), Printed::default());
            let mut rng = Rng::stream((weight * 1e3) as u64, "packets");
            let (mut now, mut apart, mut reported) = (Instant::START, 1e6, 0);
            for number in 0..200_000 {
                if number % 1000 == 0 {
                    // From 2^-7 of the link's rate to 2^7 of it, and now and then a long silence.
                    let full = 1.2e13 / link.bits_per_sec() as f64;
                    apart = full * libm::exp2(14.0 * rng.uniform() - 7.0);
                }
                let gap = if rng.below(100) == 0 { 30.0 } else { 2.0 } * apart * rng.uniform();
                now += Duration::from_nanos(gap as u64);
                let size = 40 + rng.below(1461) as u32;
                let (rate, expected) =
                    (whole.update(&params, now, size), printed.update(&params, now, size));
                let is_at_most = |bits: f64| {
                    let bits = bits.clamp(min, max);
                    rate.is_at_most(params.at_rate(bits).unwrap(), 0)
                };
                if (min * off..=max / off).contains(&expected) {
                    reported += 1;
                    assert!(
                        is_at_most(expected * off),
                        "{weight} {link} {number}: above {expected}"
                    );
                    assert!(
                        !is_at_most(expected / off),
                        "{weight} {link} {number}: below {expected}"
                    );
                }
            }
            assert!(reported > 150_000, "{weight} {link}: {reported}");
        }
    }

    #[test]
    fn the_first_packet_has_the_rate_zero_and_a_periodic_stream_settles_at_its_own() {
        // One packet each 10 ms: 1250 bytes are 1 Mbit/s, 125 bytes 100 kbit/s, 2500 bytes 2 Mbit/s.
        for (weight, size, settled) in [(0.01, 1250, 1e6), (0.001, 125, 1e5), (0.3, 2500, 2e6)] {
            let params = params(weight);
            let mut rate = MomentaryRate::default();
            let mut rate =
                |n: u64| rate.update(&params, ms(7 + 10 * n), size).bits_per_sec(&params);
            assert_eq!(rate(0), 0.0);
            let rates: Vec<f64> = (1..5_000).map(rate).collect();
            assert!(rates.is_sorted_by(|a, b| *a <= b * (1.0 + 1e-8)), "it rises to it");
            let last = *rates.last().unwrap();
            // Of the smallest weight a five-hundredth is still missing.
            let missing = 1e-6 + libm::exp(5_000.0 * 10.0 * libm::log1p(-weight));
            assert!((last / settled - 1.0).abs() < missing, "{last} for {settled}");
        }
    }

    #[test]
    fn with_packets_of_a_slot_it_is_the_formula_for_cells() {
        // Three packets at distances of 10 and 4 slots: ρ = q^14·α + q^4·α + α, by hand for α = 0.1:
        // 0.9^4 = 0.6561, 0.9^14 = 0.228768, ρ = 0.1884868; ln 0.9 = −0.1053605,
        // ln(1 − 0.1/ρ) = ln 0.4694589 = −0.7561746; 10 Mbit/s · 0.1393336.
        let params = params(0.1);
        let mut rate = MomentaryRate::default();
        let rates = [0, 10, 14].map(|at| rate.update(&params, ms(at), 1250).bits_per_sec(&params));
        assert!((rates[2] - 1_393_336.0).abs() <= 20.0, "{rates:?}");
        // After two: ln(1 − 1/(1 + 0.9^10)) = ln(0.3486784/1.3486784) = −1.3527296.
        assert!((rates[1] - 778_873.0).abs() <= 20.0, "{rates:?}");
    }

    #[test]
    fn a_small_weight_forgives_a_burst_that_a_great_one_does_not() {
        let after_burst = |weight| {
            let (mut rate, params) = (MomentaryRate::default(), params(weight));
            let rates = (0..10).map(|n| rate.update(&params, ms(n), 1250).bits_per_sec(&params));
            rates.last().unwrap()
        };
        // Ten packets at the rate of the link.
        let (real_time, other) = (after_burst(0.01), after_burst(0.001));
        assert!(real_time > other, "{real_time} {other}");
        assert!(real_time < LINK.bits_per_sec() as f64);
    }

    #[test]
    fn a_clock_that_is_set_back_stands_still() {
        let params = params(0.01);
        let mut rate = MomentaryRate::default();
        let mut still = MomentaryRate::default();
        for (at, reported) in [(100, 100), (100, 40), (100, 90), (110, 110)] {
            still.update(&params, ms(at), 500);
            rate.update(&params, ms(reported), 500);
            assert_eq!((rate.load, rate.last), (still.load, still.last));
        }
    }

    #[test]
    fn after_the_time_in_which_it_settles_no_packet_has_a_greater_rate() {
        let limit = Rate::from_bits_per_sec(106_066);
        for weight in [0.001, 0.01, 0.5] {
            let params = params(weight);
            let settled = params.settled_after(limit);
            let after = |silence: Duration, size| {
                // As much as the link can bring: ρ is one.
                let mut rate = MomentaryRate { load: Load::ONE, last: ms(0) };
                let rate = rate.update(&params, ms(0) + silence, size);
                rate.is_at_most(params.at_rate(limit.bits_per_sec() as f64).unwrap(), 0)
            };
            for size in [40, 1500, LARGEST_PACKET] {
                assert!(after(settled, size), "{weight} {size} after {settled}");
            }
            let sooner = Duration::from_nanos(settled.nanos() / 100 * 99);
            assert!(!after(sooner, LARGEST_PACKET), "{weight} after {sooner}");
        }
    }

    #[test]
    fn a_weight_of_nothing_or_of_all_is_refused_and_so_is_a_link_without_a_rate() {
        let refused = |link, slot, weight| {
            MomentaryRateParams::new(link, slot, weight).unwrap_err().to_string()
        };
        for weight in [0.0, 1.0, f64::NAN] {
            assert_eq!(
                refused(LINK, Bytes(1500), weight),
                format!("weight must be above 0 and below 1; found {weight}")
            );
        }
        assert_eq!(refused(Rate::ZERO, Bytes(1), 0.1), "link must be above zero; found 0 bit/s");
        assert_eq!(refused(LINK, Bytes(0), 0.1), "slot must be above zero; found 0 B");
        assert_eq!(
            refused(LINK, Bytes(1500), 1e-6),
            "weight 0.000001 with a slot of 1.5 KB at 10 Mbit/s halves a load 9.6e-10 times per byte and \
             1.2e-12 times per nanosecond; allowed are 7.5e-9 to 0.5 times per byte, and at most once per nanosecond"
        );
    }
}
