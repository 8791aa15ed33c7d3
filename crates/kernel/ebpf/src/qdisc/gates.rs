//! Queues of a class as the program has them: structures of programs/qdisc/plan.h in bytes.

use shortflow_elements::queue::{
    AboveMax, Averages, DropCurve, Fairness, FlowQueueSettings, PrecedenceMap, RedParams,
    RedSettings, SimaBuffer, SimaQueueParams, Spacing,
};
use shortflow_packet::Dscp;
use shortflow_units::Length;

use crate::packed::Packed;

/// Bytes of `struct red_plan`.
pub(super) const RED_PLAN: usize = 648;

/// A probability of one.
const ONE: f64 = (1_u64 << 56) as f64;

/// What the quanta of flows in turn are in: parts of a byte.
const SHARE_OF_BYTE: u64 = 1 << 16;
/// Which hosts, and the length of the prefix that identifies an IPv6 host.
pub(super) type Hosts = (Fairness, u8);

impl Packed {
    /// `struct factor` for a number from zero on.
    fn factor(self, value: f64) -> Packed {
        let (mantissa, power) = libm::frexp(value);
        let parts = libm::round(libm::ldexp(mantissa, 32)) as u64;
        self.long(parts).four((32 - power).unsigned_abs()).four(0)
    }

    /// `struct real` for a number above zero.
    fn real(self, value: f64) -> Packed {
        let (mantissa, power) = libm::frexp(value);
        let parts = libm::ldexp(mantissa, f64::MANTISSA_DIGITS as i32) as u64;
        let power = power - f64::MANTISSA_DIGITS as i32;
        self.long(parts).bytes(&power.to_ne_bytes()).four(0)
    }

    /// `struct wide`.
    pub(super) fn wide(self, value: u128) -> Packed {
        self.long((value >> 64) as u64).long(value as u64)
    }

    pub(super) fn padded(mut self, length: usize) -> Packed {
        debug_assert!(self.0.len() <= length, "it has room");
        self.0.resize(length, 0);
        self
    }
}

/// The buffers of SIMA, in the order in which they are served.
pub(super) fn buffers(params: &SimaQueueParams) -> [&SimaBuffer; 2] {
    [params.real_time(), params.non_real_time()]
}

/// A length, and whether it is in bytes.
pub(super) fn numbers(length: Length) -> (u64, u32) {
    match length {
        Length::Packets(packets) => (packets, 0),
        Length::Bytes(bytes) => (bytes.0, 1),
    }
}

/// `struct red_plan`.
pub(super) fn red_plan(params: &RedParams) -> Vec<u8> {
    let RedSettings { weight, idle_packet, rate, mean_packet, spacing, spare_below, .. } =
        params.settings();
    let packet_time = rate.time_for(*idle_packet).nanos().max(1);
    let averages = match params.averages() {
        Averages::Shared => 0,
        Averages::PerLevel => 1,
        Averages::Coupled => 2,
    };
    let spacing = match spacing {
        Spacing::Uniform => 0,
        Spacing::Wait => 1,
        Spacing::Unclamped => 2,
        Spacing::Geometric => 3,
    };
    let (decay_parts, decay_shift) = decay(*weight, packet_time);
    let levels: Vec<u8> =
        (0..64).filter_map(Dscp::new).map(|dscp| params.level_of(dscp) as u8).collect();
    let mut packed = Packed::default()
        .factor(*weight)
        .long(decay_parts)
        .bytes(&decay_shift.to_ne_bytes())
        .four(params.curves().len() as u32)
        .long(packet_time)
        .long(*spare_below)
        .long(mean_packet.map_or(0, |mean| mean.0))
        .four(numbers(params.curves()[0].max_threshold()).1)
        .four(averages)
        .four(spacing)
        .four(0)
        .bytes(&levels);
    for each in params.curves() {
        packed = curve(packed, each);
    }
    packed.padded(RED_PLAN).0
}

/// `struct sima_plan`.
pub(super) fn sima_plan(packed: Packed, params: &SimaQueueParams) -> Packed {
    let map = match params.map() {
        PrecedenceMap::CeilingOfGreater => 0,
        PrecedenceMap::FloorOfGreater => 1,
        PrecedenceMap::CeilingOfMean => 2,
        PrecedenceMap::FloorOfMean => 3,
    };
    let buffers = buffers(params);
    // Other code points are non-real-time traffic of precedence 0.
    let mut place_of = [8; 64];
    for (at, buffer) in (0..).zip(buffers) {
        for (precedence, dscp) in (0..).zip(buffer.code_points()) {
            place_of[usize::from(dscp.value())] = 8 * at + precedence;
        }
    }
    let packed = buffers.iter().fold(packed, |packed, buffer| packed.real(buffer.weight()));
    let packed = buffers.iter().fold(packed, |packed, buffer| packed.long(buffer.limit().0));
    packed.four(map).four(0).bytes(&place_of)
}

/// `struct fq_plan`.
pub(super) fn fq_plan(
    packed: Packed,
    settings: &FlowQueueSettings,
    hosts: Option<Hosts>,
    first: usize,
) -> Packed {
    // Limits are those of all queues of the plan, and ECN is refused.
    let FlowQueueSettings { limit: _, queues, quantum, codel, ecn: _ } = settings;
    let (fairness, prefix) = match hosts {
        None => (0, 0),
        Some((Fairness::Source, prefix)) => (1, prefix),
        Some((Fairness::Destination, prefix)) => (2, prefix),
        Some((Fairness::Both, prefix)) => (3, prefix),
    };
    let mask = u128::MAX.checked_shl(128 - u32::from(prefix)).unwrap_or(0);
    packed
        .long(codel.target().nanos())
        .long(codel.interval().nanos())
        .long(codel.mtu().0)
        .long(quantum.0 * SHARE_OF_BYTE)
        .wide(mask)
        .four(first as u32)
        .four(*queues as u32)
        .four(fairness)
        .four(0)
}

/// `struct curve`, whose slopes lead from parts of 2⁻³² to parts of 2⁻⁵⁶.
fn curve(packed: Packed, curve: &DropCurve) -> Packed {
    let [min, max] = [curve.min_threshold(), curve.max_threshold()].map(|length| numbers(length).0);
    let probability = curve.max_probability();
    let forced_from = match curve.above_max() {
        AboveMax::Forced => max,
        AboveMax::Gentle => 2 * max,
    };
    packed
        .long(min << 32)
        .long(max << 32)
        .long(forced_from << 32)
        .long((probability * ONE) as u64)
        .factor(probability / (max - min) as f64 * f64::from(1 << 24))
        .factor((1.0 - probability) / max as f64 * f64::from(1 << 24))
}

/// How an average falls in idle time: halvings of a nanosecond, as `parts`·2^−`shift` parts of 2⁻⁴⁴.
fn decay(weight: f64, packet_time: u64) -> (u64, i32) {
    let halvings = -libm::log1p(-weight) / core::f64::consts::LN_2 / packet_time as f64;
    if !halvings.is_finite() {
        // With the weight 1 nothing is left: all that a halving can count, each nanosecond.
        return (u32::MAX.into(), -31);
    }
    let (mantissa, power) = libm::frexp(halvings);
    (libm::round(libm::ldexp(mantissa, 32)) as u64, 32 - 44 - power)
}
