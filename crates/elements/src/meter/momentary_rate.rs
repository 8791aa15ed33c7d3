//! The momentary bit rate (MBR) of SIMA: an exponentially weighted moving average that reads the true
//! rate of a periodic stream off every packet.
//!
//! Laatu, Harju & Loula 2003, §2, say that the MBR follows "the principle of exponentially weighted
//! moving average" with a weight each for real-time and non-real-time traffic, and leave its form to
//! their references. The form here is modelled on Kilkki's SIMA (draft-kalevi-simple-media-access-01,
//! 1997) and not checked against that text; it is an interpretation. For cells in the time slots of an
//! access link of rate C, with N slots from one cell to the next,
//!
//! ρ ← (1 − α)^N · ρ + α,    MBR = C · ln(1 − α) / ln(1 − α/ρ).
//!
//! Packets differ in length, cells do not. So a slot is the time that a packet of a given length takes
//! on the link, N is a time and need not be whole, and a packet of k slots adds 1 − (1 − α)^k in place
//! of α, and stands for k/N of C: the same for k = 1. This is the choice made here. What is kept of
//! the form for cells is what it is for: of packets of one length at one distance the MBR settles at their
//! exact rate, whatever the weight, and the first packet of a stream has the MBR zero.

use shortflow_units::{Bytes, Duration, Instant, Rate};

use crate::ParamsError;
use crate::params::above_zero;

/// Parameters of a [`MomentaryRate`].
#[derive(Debug, Clone)]
pub struct MomentaryRateParams {
    link: Rate,
    slot: Bytes,
    weight: f64,
    /// ln(1 − α).
    log_keep: f64,
    slots_per_nano: f64,
}

impl MomentaryRateParams {
    /// C, the rate of the access link; the packet whose time on it is a slot; and α, the weight of a
    /// slot, above 0 and below 1: 0.01 for real-time and 0.001 for non-real-time traffic in Laatu et
    /// al. 2003, §3.4, where they may also be those of the core nodes' buffers. The time constant is
    /// about a slot over α. Rates count headers.
    pub fn new(link: Rate, slot: Bytes, weight: f64) -> Result<Self, ParamsError> {
        let link = above_zero("link", link)?;
        let slot = above_zero("slot", slot)?;
        if !(weight > 0.0 && weight < 1.0) {
            let message = format!("weight must be above 0 and below 1; found {weight}");
            return Err(ParamsError::new("weight", message));
        }
        let slot_nanos = slot.0 as f64 * 8e9 / link.bits_per_sec() as f64;
        Ok(MomentaryRateParams {
            link,
            slot,
            weight,
            log_keep: libm::log1p(-weight),
            slots_per_nano: 1.0 / slot_nanos,
        })
    }

    /// C.
    pub fn link(&self) -> Rate {
        self.link
    }

    /// The packet whose time on the link is a slot.
    pub fn slot(&self) -> Bytes {
        self.slot
    }

    /// α.
    pub fn weight(&self) -> f64 {
        self.weight
    }

    /// How long a silence makes the rate of any packet after it at most `rate`, above zero, as that
    /// of a first packet is, if the stream was no faster than the link.
    ///
    /// MBR ≤ R when ln(1 + a/(ρ·(1 − α)^N)) ≥ b, where a packet of k slots adds a and b = −k·C/R ·
    /// ln(1 − α); with ρ ≤ 1, when −N·ln(1 − α) ≥ ln((e^b − 1)/a), which grows with k.
    pub fn settled_after(&self, rate: Rate) -> Duration {
        let slots = f64::from(LARGEST_PACKET) / self.slot.0 as f64;
        let share = self.link.bits_per_sec() as f64 / rate.bits_per_sec() as f64;
        let b = -slots * share * self.log_keep;
        let log_excess = b + libm::log1p(-libm::exp(-b));
        let silent_slots = (log_excess - libm::log(self.added(LARGEST_PACKET))) / -self.log_keep;
        // A negative or an endless number is cut by the conversion.
        Duration::from_nanos(libm::ceil(silent_slots / self.slots_per_nano) as u64)
    }

    /// 1 − (1 − α)^k for a packet of k slots.
    #[inline]
    fn added(&self, size: u32) -> f64 {
        -libm::expm1(self.slots(size) * self.log_keep)
    }

    #[inline]
    fn slots(&self, size: u32) -> f64 {
        f64::from(size) / self.slot.0 as f64
    }
}

/// An IP packet is no longer (RFC 791 §3.1).
const LARGEST_PACKET: u32 = 65_535;

/// The momentary bit rate of one stream. What it costs does not hang on the time that has passed.
#[derive(Debug, Clone, Copy, Default)]
pub struct MomentaryRate {
    /// ρ, after the last packet.
    load: f64,
    last: Instant,
}

impl MomentaryRate {
    /// Counts a packet of `size` bytes in, and gives the rate with it, rounded up to a whole bit per
    /// second. A clock that is set back stands still until it is where it was.
    #[inline]
    pub fn update(&mut self, params: &MomentaryRateParams, now: Instant, size: u32) -> Rate {
        let silent_slots = now.since(self.last).nanos() as f64 * params.slots_per_nano;
        self.last = self.last.max(now);
        let size = size.max(1);
        let added = params.added(size);
        let kept = self.load * libm::exp(silent_slots * params.log_keep);
        self.load = kept + added;
        // −ln(1 − added/load), exact also where little is kept, and endless where nothing is.
        let distance = -libm::log1p(added / kept) / params.log_keep;
        let rate = params.link.bits_per_sec() as f64 * params.slots(size) / distance;
        Rate::from_bits_per_sec(libm::ceil(rate) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINK: Rate = Rate::from_bits_per_sec(10_000_000);

    fn params(weight: f64) -> MomentaryRateParams {
        MomentaryRateParams::new(LINK, Bytes(1250), weight).unwrap()
    }

    /// A slot is 1 ms.
    fn ms(millis: u64) -> Instant {
        Instant::START + Duration::from_millis(millis)
    }

    #[test]
    fn the_first_packet_has_the_rate_zero_and_a_periodic_stream_settles_at_its_own() {
        // One packet each 10 ms: 1250 bytes are 1 Mbit/s, 125 bytes 100 kbit/s, 2500 bytes 2 Mbit/s.
        for (weight, size, settled) in
            [(0.01, 1250, 1_000_000), (0.001, 125, 100_000), (0.3, 2500, 2_000_000)]
        {
            let params = params(weight);
            let mut rate = MomentaryRate::default();
            assert_eq!(rate.update(&params, ms(7), size), Rate::ZERO);
            let rates = (1..5_000).map(|n| rate.update(&params, ms(7 + 10 * n), size));
            let rates: Vec<u64> = rates.map(Rate::bits_per_sec).collect();
            assert!(rates.is_sorted(), "it rises to it");
            // One more where the float is just above.
            let last = *rates.last().unwrap();
            assert!((settled..=settled + 1).contains(&last), "{last} for {settled}");
        }
    }

    #[test]
    fn with_packets_of_a_slot_it_is_the_formula_for_cells() {
        // Three packets at distances of 10 and 4 slots: ρ = q^14·α + q^4·α + α, by hand for α = 0.1:
        // 0.9^4 = 0.6561, 0.9^14 = 0.228768, ρ = 0.1884868; ln 0.9 = −0.1053605,
        // ln(1 − 0.1/ρ) = ln 0.4694589 = −0.7561746; 10 Mbit/s · 0.1393336.
        let params = params(0.1);
        let mut rate = MomentaryRate::default();
        let rates = [0, 10, 14].map(|at| rate.update(&params, ms(at), 1250).bits_per_sec());
        assert!(rates[2].abs_diff(1_393_336) <= 20, "{rates:?}");
        // After two: ln(1 − 1/(1 + 0.9^10)) = ln(0.3486784/1.3486784) = −1.3527296.
        assert!(rates[1].abs_diff(778_873) <= 20, "{rates:?}");
    }

    #[test]
    fn a_small_weight_forgives_a_burst_that_a_great_one_does_not() {
        let after_burst = |weight| {
            let mut rate = MomentaryRate::default();
            (0..10).map(|n| rate.update(&params(weight), ms(n), 1250)).last().unwrap()
        };
        // Ten packets at the rate of the link.
        let (real_time, other) = (after_burst(0.01), after_burst(0.001));
        assert!(real_time > other, "{real_time} {other}");
        assert!(real_time < LINK);
    }

    #[test]
    fn a_clock_that_is_set_back_stands_still() {
        let params = params(0.01);
        let mut rate = MomentaryRate::default();
        let mut still = MomentaryRate::default();
        for (at, told) in [(100, 100), (100, 40), (100, 90), (110, 110)] {
            let expected = still.update(&params, ms(at), 500);
            assert_eq!(rate.update(&params, ms(told), 500), expected);
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
                let mut rate = MomentaryRate { load: 1.0, last: ms(0) };
                rate.update(&params, ms(0) + silence, size)
            };
            for size in [40, 1500, LARGEST_PACKET] {
                assert!(after(settled, size) <= limit, "{weight} {size} after {settled}");
            }
            if weight == 0.5 {
                // What is left of the load is too small for a float long before: the rate is zero.
                continue;
            }
            let sooner = Duration::from_nanos(settled.nanos() / 100 * 99);
            assert!(after(sooner, LARGEST_PACKET) > limit, "{weight} after {sooner}");
        }
    }

    #[test]
    fn a_weight_of_nothing_or_of_all_is_refused_and_so_is_a_link_without_a_rate() {
        let refused = |link, slot, weight| {
            MomentaryRateParams::new(link, slot, weight).unwrap_err().to_string()
        };
        for weight in [0.0, 1.0, f64::NAN] {
            assert_eq!(
                refused(LINK, Bytes(1), weight),
                format!("weight must be above 0 and below 1; found {weight}")
            );
        }
        assert_eq!(refused(Rate::ZERO, Bytes(1), 0.1), "link must be above zero; found 0 bit/s");
        assert_eq!(refused(LINK, Bytes(0), 0.1), "slot must be above zero; found 0 B");
    }
}
