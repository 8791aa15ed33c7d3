//! The time sliding window in integers, as eBPF programs compute it, because the kernel has no floating
//! point.
//!
//! Bytes are counted in units of 2⁻¹⁶. Let `all` be the bytes in the window, and `span` the window plus the
//! time since the last packet. The rate is `all`/`span` (RFC 2859 Figure 2). The excess above a rate is the
//! share of `all` above what that rate carries in `span`. Each step states its rounding. The rate is exact to
//! one part in 2²⁰ for packets of at least 40 bytes; a test compares it with [`Tsw2Cm`](super::Tsw2Cm).

use shortflow_packet::Packet;
use shortflow_units::{Duration, Instant, Rate};

use super::tsw::InitialRate;
use super::{Tsw3CmParams, TswParams};
use crate::{Color, Meter, ParamsError};

/// The unit of bytes, as a power of 2.
const PARTS: u32 = 16;

/// The longest window, and the longest time between two packets that is not truncated: 73 minutes.
const MAX_WINDOW: u64 = 1 << 42;

/// The limit on bytes that a rate carries in a window.
const MAX_BYTES: u128 = 1 << 40;

/// A rate in units per nanosecond: `parts`·2^−`shift`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// A number of 32 bits with the highest bit set.
    pub parts: u64,
    /// A power of 2.
    pub shift: u32,
}

impl Pace {
    /// The pace of `rate`, rounded down to one part in 2³¹.
    fn from_rate(rate: Rate) -> Option<Pace> {
        // A bit per second is 2¹⁶/(8·10⁹) parts in a nanosecond.
        let nanos =
            |shift: u32| (u128::from(rate.bits_per_sec()) << (PARTS - 3 + shift)) / 1_000_000_000;
        let shift = (0..=48).rev().find(|shift| nanos(*shift) < 1 << 32)?;
        Some(Pace { parts: nanos(shift) as u64, shift })
    }

    /// The units that it carries in `span`, rounded down to one part in 2³⁰.
    #[inline]
    pub(super) fn carried(self, span: u64) -> u64 {
        let shift = beyond(bits(span), 32);
        let parts = (span >> shift) * self.parts;
        if shift > self.shift {
            parts << (shift - self.shift)
        } else {
            parts >> (self.shift - shift)
        }
    }
}

#[inline]
fn bits(value: u64) -> u32 {
    u64::BITS - value.leading_zeros()
}

#[inline]
fn beyond(bits: u32, max: u32) -> u32 {
    bits.saturating_sub(max)
}

/// a·b/c, rounded down, for `b` at most `c`: exact if a·b has 64 bits, else to one part in 2³⁰.
#[inline]
fn part(a: u64, b: u64, c: u64) -> u64 {
    let shift = beyond(bits(b), 32);
    let (b, c) = (b >> shift, c >> shift);
    let shift = beyond(bits(a) + bits(b), 64);
    ((a >> shift) * b / c) << shift
}

/// a·b/c, rounded down to one part in 2²⁰, for any `b` and `c` whose result has 64 bits.
#[inline]
fn scaled(a: u64, b: u64, c: u64) -> u64 {
    if a == 0 {
        return 0;
    }
    let left = a.leading_zeros();
    let share = (a << left) / c;
    let shift = beyond(bits(share) + bits(b), 64);
    let share = (share >> shift) * b;
    if shift > left { share << (shift - left) } else { share >> (left - shift) }
}

/// The share of `all` above `allowance`, in units of 2⁻³²; rounded to one part in 2³¹.
#[inline]
pub(super) fn excess(all: u64, allowance: u64) -> u64 {
    let shift = beyond(bits(all), 32);
    match all.checked_sub(allowance) {
        None | Some(0) => 0,
        Some(above) => ((above >> shift) << 32) / (all >> shift),
    }
}

/// The rates and the window of a meter in integers, for other implementations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IntegerTswParams {
    /// The window in nanoseconds.
    pub window: u64,
    /// CIR.
    pub committed: Pace,
    /// PIR, for a meter with three colours.
    pub peak: Option<Pace>,
    /// The initial content of the window, in units.
    pub held: u64,
}

impl IntegerTswParams {
    /// For a meter with two colours.
    ///
    /// # Errors
    /// If the window is longer than 73 minutes, or the committed rate carries more than 2⁴⁰ bytes in it.
    pub fn two_colors(params: &TswParams) -> Result<IntegerTswParams, ParamsError> {
        let committed = pace("committed_rate", params.committed_rate, params.window)?;
        let held = match params.initial {
            InitialRate::Zero => 0,
            InitialRate::Committed => committed.carried(params.window.nanos()),
        };
        Ok(IntegerTswParams { window: params.window.nanos(), committed, peak: None, held })
    }

    /// For a meter with three colours.
    ///
    /// # Errors
    /// If the window is longer than 73 minutes, or the peak rate carries more than 2⁴⁰ bytes in it.
    pub fn three_colors(params: &Tsw3CmParams) -> Result<IntegerTswParams, ParamsError> {
        let peak = Some(pace("peak_rate", params.peak_rate(), params.tsw().window)?);
        Ok(IntegerTswParams { peak, ..Self::two_colors(params.tsw())? })
    }
}

fn pace(key: &'static str, rate: Rate, window: Duration) -> Result<Pace, ParamsError> {
    if window.nanos() > MAX_WINDOW {
        let max = Duration::from_nanos(MAX_WINDOW);
        return Err(ParamsError::new("window", format!("window {window} must be at most {max}")));
    }
    let bytes = u128::from(rate.bits_per_sec()) * u128::from(window.nanos()) / 8_000_000_000;
    let pace = Pace::from_rate(rate).filter(|_| bytes <= MAX_BYTES);
    pace.ok_or_else(|| {
        ParamsError::new(
            key,
            format!("{key} {rate} must carry at most 2^40 bytes in the window of {window}"),
        )
    })
}

/// The sliding window.
#[derive(Debug, Clone)]
pub(super) struct Window {
    length: u64,
    /// In units.
    held: u64,
    front: Instant,
}

/// The content of a window after a packet.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reading {
    /// In units.
    pub(super) all: u64,
    /// The window and the time since the last packet.
    pub(super) span: u64,
}

impl Window {
    pub(super) fn new(length: u64, held: u64) -> Window {
        Window { length, held, front: Instant::START }
    }

    /// Adds a packet.
    #[inline]
    pub(super) fn update(&mut self, now: Instant, size: u32) -> Reading {
        let span = self.stretched(now);
        self.front = self.front.max(now);
        let all = self.held + (u64::from(size) << PARTS);
        self.held = all - part(all, span - self.length, span);
        Reading { all, span }
    }

    /// What `pace` carries in `span` beyond the content of the window at `now`, if nothing arrived since.
    #[inline]
    pub(super) fn left(&self, pace: Pace, now: Instant, span: u64) -> u64 {
        let own = self.stretched(now);
        pace.carried(own).checked_sub(self.held).map_or(0, |left| scaled(left, span, own))
    }

    #[inline]
    fn stretched(&self, now: Instant) -> u64 {
        self.length + now.since(self.front).nanos().min(MAX_WINDOW)
    }
}

/// [`Tsw2Cm`](super::Tsw2Cm) and [`Tsw3Cm`](super::Tsw3Cm) in integers. A draw is 32 random bits, one per
/// packet.
#[derive(Debug, Clone)]
pub struct IntegerTsw<D> {
    committed: Pace,
    peak: Option<Pace>,
    window: Window,
    draws: D,
}

impl<D: FnMut() -> u32> IntegerTsw<D> {
    /// A meter without traffic so far.
    pub fn new(params: IntegerTswParams, draws: D) -> Self {
        let IntegerTswParams { window, committed, peak, held } = params;
        IntegerTsw { committed, peak, window: Window::new(window, held), draws }
    }
}

impl<D: FnMut() -> u32 + Send> Meter for IntegerTsw<D> {
    #[inline]
    fn meter(&mut self, now: Instant, packet: &Packet) -> Color {
        let Reading { all, span } = self.window.update(now, packet.size);
        let draw = u64::from((self.draws)());
        let is_above = |pace: Pace| draw < excess(all, pace.carried(span));
        match self.peak {
            Some(peak) if is_above(peak) => Color::Red,
            _ if is_above(self.committed) => Color::Yellow,
            _ => Color::Green,
        }
    }
}

#[cfg(test)]
mod tests {
    use shortflow_units::Rng;

    use super::super::tsw;
    use super::*;

    fn params(rate: u64, window: Duration) -> TswParams {
        TswParams::new(Rate::from_bits_per_sec(rate), window, InitialRate::Zero).unwrap()
    }

    /// Packets of 40 to 1500 bytes, at some rate or other for some time or other.
    fn stream(rng: &mut Rng, packets: usize) -> Vec<(Instant, u32)> {
        let (mut now, mut apart) = (Instant::START, 1e6);
        let mut each = |at: usize| {
            if at.is_multiple_of(1000) {
                // From 10 ns to 100 ms.
                apart = 10f64.powf(1.0 + 7.0 * rng.uniform());
            }
            now += Duration::from_nanos((2.0 * apart * rng.uniform()) as u64);
            (now, 40 + (1461.0 * rng.uniform()) as u32)
        };
        (0..packets).map(&mut each).collect()
    }

    #[test]
    fn the_rate_is_that_of_the_formula_to_one_part_in_2_to_the_20() {
        for (seed, window) in [(1, 1_000_000), (2, 1_000_000_000), (3, 60_000_000_000)] {
            let params = params(1_000_000, Duration::from_nanos(window));
            let whole = IntegerTswParams::two_colors(&params).unwrap();
            let (mut whole, mut float) =
                (Window::new(whole.window, whole.held), params.estimator());
            let mut worst: f64 = 0.0;
            for (now, size) in stream(&mut Rng::stream(seed, "packets"), 100_000) {
                let Reading { all, span } = whole.update(now, size);
                let rate = all as f64 / f64::from(1 << PARTS) / (span as f64 * 1e-9);
                let expected = float.update(now, size);
                worst = worst.max((rate / expected - 1.0).abs());
            }
            assert!(worst < 1.0 / f64::from(1 << 20), "{window}: {worst}");
        }
    }

    #[test]
    fn the_share_above_a_rate_is_that_of_the_formula() {
        for rate in [1_000, 560_000, 8_000_000, 100_000_000_000] {
            let pace = Pace::from_rate(Rate::from_bits_per_sec(rate)).unwrap();
            let mut rng = Rng::stream(rate, "spans");
            for _ in 0..100_000 {
                let span = 10f64.powf(3.0 + 9.0 * rng.uniform()) as u64;
                let carried = rate as f64 / 8e9 * span as f64;
                let bytes = (carried * 4.0 * rng.uniform()).min(1e12);
                let all = (bytes * f64::from(1 << PARTS)) as u64;
                if all == 0 {
                    continue;
                }
                let share = excess(all, pace.carried(span)) as f64 / 2f64.powi(32);
                let expected = tsw::excess(all as f64 / f64::from(1 << PARTS), carried);
                // What is carried is whole parts, of which there may be few.
                let min = 2.0 / (all as f64) + 2f64.powi(-29);
                assert!((share - expected).abs() < min, "{rate} {span} {all}: {share} {expected}");
            }
        }
    }

    #[test]
    fn a_product_over_a_number_is_right_to_one_part_in_2_to_the_20_wherever_it_fits() {
        let mut rng = Rng::stream(5, "products");
        let mut number = |max: f64| 2f64.powf(max * rng.uniform()) as u64;
        for _ in 0..100_000 {
            let (a, b, c) = (number(56.0), number(43.0), number(43.0));
            let exact = u128::from(a) * u128::from(b) / u128::from(c);
            if exact >> 63 == 0 {
                let off = exact as f64 - scaled(a, b, c) as f64;
                assert!(
                    (0.0..=1.0 + exact as f64 / f64::from(1 << 20)).contains(&off),
                    "{a} {b} {c}"
                );
            }
        }
    }

    #[test]
    fn a_long_pause_leaves_next_to_nothing_in_the_window() {
        let whole = IntegerTswParams::two_colors(&params(1_000, Duration::from_secs(1))).unwrap();
        let mut meter = Window::new(whole.window, whole.held);
        meter.update(Instant::START, 1_000_000);
        let week = Instant::START + Duration::from_secs(7 * 24 * 3600);
        let Reading { all, span } = meter.update(week, 100);
        assert_eq!(span, 1_000_000_000 + MAX_WINDOW);
        assert_eq!((all >> PARTS, meter.update(week, 0).all >> PARTS), (1_000_100, 227));
    }

    #[test]
    fn a_window_that_numbers_of_64_bits_cannot_hold_is_refused() {
        let of =
            |rate, window| IntegerTswParams::two_colors(&params(rate, Duration::from_secs(window)));
        assert!(of(100_000_000_000, 60).is_ok());
        let message = |found: Result<_, ParamsError>| found.unwrap_err().to_string();
        assert!(message(of(1_000, 5_000)).contains("at most"), "{}", message(of(1_000, 5_000)));
        assert!(message(of(100_000_000_000, 600)).contains("2^40 bytes"));
    }
}
