//! Queues as the program reads them: the structures of programs/early.bpf.c and programs/red.h in bytes.

use shortflow_elements::queue::{
    AboveMax, Averages, DropCurve, EcnMode, PrecedenceMap, RedParams, SimaQueueParams, Spacing,
};
use shortflow_units::Length;

use super::{MAX_AVERAGES, MAX_LEVELS, QueuePlace, amount};
use crate::packed::Packed;

/// Bytes of `struct queue`.
#[cfg(feature = "ebpf")]
pub(super) const QUEUE: usize = 4200;
/// Bytes of `struct curve`.
const CURVE: usize = 64;
/// A probability of 1.
const ONE: f64 = (1u64 << 48) as f64;
/// Parts of a halving.
const FRACTION: i32 = 44;
/// Averages stay below this.
const MAX_BITS: u32 = 62;

/// A queue as the program has it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Queue {
    /// `struct queue`; empty for a queue about which the program does nothing.
    pub(super) bytes: Vec<u8>,
    /// Whether the levels of its packets are noted.
    pub(super) counts_levels: bool,
}

impl Packed {
    fn signed(self, value: i32) -> Packed {
        self.bytes(&value.to_ne_bytes())
    }

    /// `struct slope`: a number of 64 bits and a power of 2.
    fn slope(self, slope: f64) -> Packed {
        let (mantissa, power) = libm::frexp(slope);
        // So small that nothing is left of it.
        let is_small = slope == 0.0 || power < -63;
        let parts = if is_small { 0 } else { libm::ldexp(mantissa, 64) as u64 };
        self.long(parts).signed(if is_small { 0 } else { -power }).four(0)
    }

    /// `struct decay`: halvings in a nanosecond, of which 2⁻⁶⁰ is the least that counts.
    fn halvings(self, halvings: f64) -> Packed {
        let (mantissa, power) = libm::frexp(halvings.clamp(libm::ldexp(1.0, -60), 1.0));
        self.long(libm::ldexp(mantissa, 32) as u64).signed(32 - FRACTION - power).four(0)
    }
}

/// The fields of `struct red` but its curves.
struct Red {
    weight: f64,
    /// Nanoseconds that a mean packet takes.
    packet_time: u64,
    shift: u32,
    mean_packet: u32,
    levels: u32,
    spare_below: u32,
    in_bytes: bool,
    by_size: bool,
    averages: u8,
    spacing: u8,
    ecn: u8,
}

impl Red {
    fn packed(&self, packed: Packed) -> Packed {
        let halvings = -libm::log1p(-self.weight) / std::f64::consts::LN_2;
        packed
            .long(libm::ldexp(self.weight, 32) as u64)
            .halvings(halvings / self.packet_time.max(1) as f64)
            .long(self.packet_time)
            .four(self.shift)
            .four(self.mean_packet)
            .four(self.levels)
            .four(self.spare_below)
            .bytes(&[
                self.in_bytes.into(),
                self.by_size.into(),
                self.averages,
                self.spacing,
                self.ecn,
            ])
            .bytes(&[0; 3])
    }
}

/// The first fields of `struct queue`, up to RED.
fn head(place: QueuePlace, kind: u32, limit: u64, pair: [u32; 2], map: u32) -> Packed {
    let QueuePlace { handle, rate, header, overhead } = place;
    Packed::default()
        .four(handle)
        .four(kind)
        .long(limit)
        .long(rate.bits_per_sec().max(1))
        .signed(header)
        .signed(overhead)
        .four(pair[0])
        .four(pair[1])
        .four(map)
        .four(0)
}

/// With curves, up to the size of all.
fn whole(packed: Packed, curves: &[Packed]) -> Vec<u8> {
    let mut bytes = packed.0;
    curves.iter().for_each(|curve| bytes.extend(&curve.0));
    bytes.resize(bytes.len() + CURVE * (MAX_LEVELS - curves.len()), 0);
    bytes
}

/// By how many bits lengths up to this are shifted.
fn shift_for(longest: u64) -> u32 {
    MAX_BITS - (u64::BITS - longest.leading_zeros())
}

pub(super) fn red(params: &RedParams, place: QueuePlace) -> Queue {
    let params = params.at_rate(place.rate).expect("a line has a rate above zero");
    let settings = params.settings();
    let highest = params.curves().iter().map(|curve| 2 * amount(curve.max_threshold())).max();
    // More may wait than the limit says, where the program has just come.
    let shift = shift_for(highest.unwrap_or(0).max(4 * amount(settings.limit)));
    let counts_levels = params.averages() != Averages::Shared;
    let red = Red {
        weight: settings.weight,
        packet_time: settings.rate.time_for(settings.idle_packet).nanos(),
        shift,
        mean_packet: settings.mean_packet.map_or(1, |mean| mean.0 as u32),
        levels: params.curves().len() as u32,
        spare_below: u32::try_from(settings.spare_below).unwrap_or(u32::MAX),
        in_bytes: matches!(settings.limit, Length::Bytes(_)),
        by_size: settings.mean_packet.is_some(),
        averages: match params.averages() {
            Averages::Shared => 0,
            Averages::PerLevel => 1,
            Averages::Coupled => 2,
        },
        spacing: match settings.spacing {
            Spacing::Uniform => 0,
            Spacing::Wait => 1,
            Spacing::Unclamped => 2,
            Spacing::Geometric => 3,
        },
        ecn: match settings.ecn {
            EcnMode::Drop => 0,
            EcnMode::Mark => 1,
            EcnMode::MarkAboveMax => 2,
        },
    };
    debug_assert!(!counts_levels || params.curves().len() <= MAX_AVERAGES, "it was refused");
    let curves: Vec<_> = params.curves().iter().map(|one| curve(one, shift)).collect();
    let head = head(place, 1, amount(settings.limit), [0; 2], 0);
    Queue { bytes: whole(red.packed(head), &curves), counts_levels }
}

/// `struct curve`.
fn curve(curve: &DropCurve, shift: u32) -> Packed {
    let [min, max] = [curve.min_threshold(), curve.max_threshold()].map(|it| amount(it) << shift);
    let (highest, is_gentle) = (curve.max_probability(), curve.above_max() == AboveMax::Gentle);
    Packed::default()
        .long(min)
        .long(max)
        .long(if is_gentle { 2 * max } else { max })
        .slope(highest * ONE / (max - min) as f64)
        .slope((1.0 - highest) * ONE / max as f64)
        .long((highest * ONE) as u64)
}

/// The buffers of SIMA, the first of which has this number.
pub(super) fn sima(params: &SimaQueueParams, places: [QueuePlace; 2], first: u32) -> [Queue; 2] {
    let map = match params.map() {
        PrecedenceMap::CeilingOfGreater => 0,
        PrecedenceMap::FloorOfGreater => 1,
        PrecedenceMap::CeilingOfMean => 2,
        PrecedenceMap::FloorOfMean => 3,
    };
    let buffers = [params.real_time(), params.non_real_time()];
    [0, 1].map(|at| {
        let (buffer, limit) = (buffers[at], buffers[at].limit().0);
        let red = Red {
            weight: buffer.weight(),
            packet_time: 1,
            shift: shift_for(4 * limit),
            mean_packet: 1,
            levels: 8,
            spare_below: 0,
            in_bytes: true,
            by_size: false,
            averages: 0,
            spacing: 0,
            ecn: 0,
        };
        let head = head(places[at], 2, limit, [first, first + 1], map);
        Queue { bytes: whole(red.packed(head), &[]), counts_levels: false }
    })
}
