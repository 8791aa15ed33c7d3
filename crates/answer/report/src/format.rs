//! Formats numbers for people.

use shortflow_measure::Estimate;

/// What stands for a number that there is not.
pub(crate) const NOTHING: &str = "–";

/// `mean ± half` in another unit, both with as many decimals as the mean deserves and the interval
/// leaves certain.
pub(crate) fn estimate(estimate: &Option<Estimate>, factor: f64) -> String {
    let Some(estimate) = estimate else { return NOTHING.into() };
    let mean = estimate.mean * factor;
    if estimate.at_least {
        return format!("≥ {}", rounded_down(mean));
    }
    if estimate.at_most {
        return format!("≤ {}", rounded_up(mean));
    }
    match estimate.half_width().map(|half| half * factor.abs()) {
        Some(half) => {
            let decimals = decimals_within(mean, half);
            format!("{} ± {half:.decimals$}", fixed(mean, decimals))
        }
        None => significant(mean),
    }
}

/// A share from 0 to 1 as a percentage with its interval.
pub(crate) fn share(share: &Option<Estimate>) -> String {
    match share {
        Some(share) if share.at_least && share.mean < MIN_SHARE => "≥ 0 %".into(),
        Some(share) if share.is_bound() => format!("{} %", estimate(&Some(*share), 100.0)),
        Some(share) if share.mean.abs() < MIN_SHARE => "0 %".into(),
        Some(share) => match share.half_width() {
            Some(half) => {
                let decimals = decimals_within(share.mean * 100.0, half * 100.0).min(3);
                let mean = fixed(share.mean * 100.0, decimals);
                format!("{mean} ± {:.decimals$} %", half * 100.0)
            }
            None => format!("{} %", significant(share.mean * 100.0)),
        },
        None => NOTHING.into(),
    }
}

/// A share that is as good as none: one packet in a million.
const MIN_SHARE: f64 = 1e-6;

/// A relative gain in percent, or how many times slower, with the ends of its interval.
pub(crate) fn gain(gain: &Option<Estimate>) -> String {
    let Some(gain) = gain else { return NOTHING.into() };
    match (gain.low, gain.high) {
        (Some(low), Some(high)) if gain.mean <= MUCH_SLOWER => {
            let (min, max) = (slowdown(high), slowdown(low));
            format!("{} ({min:.1} to {max:.1})", change(gain.mean))
        }
        (Some(low), Some(high)) => {
            format!("{} ({} to {})", change(gain.mean), signed(low), signed(high))
        }
        _ => change(gain.mean),
    }
}

/// A relative gain in percent with half its interval, short enough for a column.
pub(crate) fn gain_cell(gain: &Option<Estimate>) -> String {
    let Some(gain) = gain else { return NOTHING.into() };
    match gain.half_width() {
        Some(half) if gain.mean <= MUCH_SLOWER => {
            format!("{:.1} ± {:.1} × slower", slowdown(gain.mean), half / 100.0)
        }
        Some(half) => {
            let decimals = usize::from(gain.mean.abs() < 9.95);
            format!("{} ± {half:.decimals$} %", signed(gain.mean))
        }
        None => change(gain.mean).trim_start_matches("gain ").to_owned(),
    }
}

/// A relative gain in words: `gain +12 %`, `gain −3.0 %`, or `3.2 × slower` where a negative
/// percentage would be hard to read.
pub(crate) fn change(gain: f64) -> String {
    match gain {
        gain if gain <= MUCH_SLOWER => format!("{:.1} × slower", slowdown(gain)),
        gain => format!("gain {} %", signed(gain)),
    }
}

/// The relative gain in percent from which on a loss is written as a factor.
const MUCH_SLOWER: f64 = -50.0;

/// How many times as long ours takes as the reference.
fn slowdown(gain: f64) -> f64 {
    1.0 - gain / 100.0
}

/// With its sign, a true minus; without decimals from 10 up.
pub(crate) fn signed(value: f64) -> String {
    let decimals = usize::from(value.abs() < 9.95);
    let text = format!("{:.decimals$}", value.abs());
    let sign = match value {
        _ if text.chars().all(|c| c == '0' || c == '.') => "",
        v if v > 0.0 => "+",
        _ => "−",
    };
    format!("{sign}{text}")
}

/// A time in seconds with the unit that suits it.
pub(crate) fn seconds(value: f64) -> String {
    seconds_in(value, significant)
}

/// A lower bound of a time, likewise; what is written is a lower bound too.
pub(crate) fn min_seconds(value: f64) -> String {
    seconds_in(value, rounded_down)
}

fn seconds_in(value: f64, digits: fn(f64) -> String) -> String {
    match value {
        v if v >= 1.0 => format!("{} s", digits(v)),
        v if v >= 1e-3 => format!("{} ms", digits(v * 1e3)),
        v => format!("{} µs", digits(v * 1e6)),
    }
}

/// The mean of an estimated time in seconds with the unit that suits it; `at min` before a bound.
pub(crate) fn mean_time(estimate: &Estimate) -> String {
    match estimate.at_least {
        true => format!("at least {}", min_seconds(estimate.mean)),
        false => seconds(estimate.mean),
    }
}

/// An estimate of a time with the unit that suits it, and its interval.
pub(crate) fn time(estimate: &Estimate) -> String {
    let (unit, factor) = match estimate.mean {
        mean if mean >= 1.0 => ("s", 1.0),
        mean if mean >= 1e-3 => ("ms", 1e3),
        _ => ("µs", 1e6),
    };
    format!("{} {unit}", self::estimate(&Some(*estimate), factor))
}

/// A rate in bits per second with the unit that suits it.
pub(crate) fn rate(bits: f64) -> String {
    let (unit, factor) = rate_unit(bits);
    format!("{} {unit}", significant(bits * factor))
}

/// The unit that suits a rate in bits per second, and the factor to it.
pub(crate) fn rate_unit(bits: f64) -> (&'static str, f64) {
    match bits {
        b if b >= 1e9 => ("Gbit/s", 1e-9),
        b if b >= 1e6 => ("Mbit/s", 1e-6),
        _ => ("kbit/s", 1e-3),
    }
}

/// An integer with thousands separators.
pub(crate) fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Three significant digits, but all digits before the point.
pub fn significant(value: f64) -> String {
    fixed(value, decimals(value))
}

/// A number with this many decimals. A zero has no sign, also one that results from rounding.
fn fixed(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    match text.strip_prefix('-') {
        Some(rest) if rest.bytes().all(|byte| b"0.".contains(&byte)) => rest.to_owned(),
        _ => text,
    }
}

/// The same of a lower bound, which no rounding may raise.
fn rounded_down(value: f64) -> String {
    let decimals = decimals(value);
    let unit = 10_f64.powi(decimals as i32);
    fixed((value * unit).floor() / unit, decimals)
}

/// The same of an upper bound, which no rounding may lower.
fn rounded_up(value: f64) -> String {
    let decimals = decimals(value);
    let unit = 10_f64.powi(decimals as i32);
    fixed((value * unit).ceil() / unit, decimals)
}

/// An upper bound of a rate in bits per second with the unit that suits it; what is written is an upper bound too.
pub(crate) fn max_rate(bits: f64) -> String {
    let (unit, factor) = rate_unit(bits);
    format!("{} {unit}", rounded_up(bits * factor))
}

/// The sign before a figure that is a bound.
pub(crate) const fn bound(estimate: &Estimate) -> &'static str {
    match (estimate.at_least, estimate.at_most) {
        (true, _) => "≥ ",
        (_, true) => "≤ ",
        _ => "",
    }
}

/// How many decimals leave three significant digits.
fn decimals(value: f64) -> usize {
    if value == 0.0 || !value.is_finite() {
        return 0;
    }
    // Rounded first, so that 9.999 counts as the 10.0 that it is written as.
    let rounded: f64 = format!("{value:.2e}").parse().unwrap_or(value);
    let before = rounded.abs().log10().floor() as i32;
    (2 - before).clamp(0, 6) as usize
}

/// How many decimals leave three significant digits of the mean, and two at most of its interval.
fn decimals_within(mean: f64, half: f64) -> usize {
    match half > 0.0 && half.is_finite() {
        true => decimals(mean).min(decimals(half).saturating_sub(1)),
        false => decimals(mean),
    }
}

/// A number without needless zeros.
pub(crate) fn plain(value: f64) -> String {
    let text = format!("{value:.6}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".into() } else { text.replace('-', "−") }
}

/// A time at a tick of an axis.
pub(crate) fn tick_seconds(value: f64) -> String {
    match value.abs() {
        0.0 => "0".into(),
        v if v >= 0.9995 => format!("{} s", plain(round(value))),
        v if v >= 0.9995e-3 => format!("{} ms", plain(round(value * 1e3))),
        _ => format!("{} µs", plain(round(value * 1e6))),
    }
}

/// A share at a tick of an axis.
pub(crate) fn tick_share(value: f64) -> String {
    format!("{} %", plain(round(value * 100.0)))
}

/// A size at a tick of an axis.
pub(crate) fn tick_bytes(value: f64) -> String {
    match value.abs() {
        v if v >= 0.9995e9 => format!("{} GB", plain(round(value / 1e9))),
        v if v >= 0.9995e6 => format!("{} MB", plain(round(value / 1e6))),
        v if v >= 0.9995e3 => format!("{} KB", plain(round(value / 1e3))),
        _ => format!("{} B", plain(round(value))),
    }
}

/// Without the dust of binary fractions.
fn round(value: f64) -> f64 {
    format!("{value:.6e}").parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lower_bound_is_rounded_down() {
        assert_eq!([4.736_066, 27.8528, 9.999].map(min_seconds), ["4.73 s", "27.8 s", "9.9 s"]);
        assert_eq!(seconds(4.736_066), "4.74 s");
        let bound =
            Estimate { mean: 1.8049, low: None, high: None, n: 3, at_least: true, at_most: false };
        assert_eq!(mean_time(&bound), "at least 1.80 s");
        assert_eq!(estimate(&Some(bound), 1e3), "≥ 1804");
        let above = Estimate { at_least: false, at_most: true, ..bound };
        assert_eq!(estimate(&Some(above), 1e3), "≤ 1805");
    }

    #[test]
    fn three_digits_are_kept_and_none_before_the_point_is_lost() {
        let texts = [0.0123456, 0.5, 1.0, 9.999, 45.25, 452.4, 12345.6].map(significant);
        assert_eq!(texts, ["0.0123", "0.500", "1.00", "10.0", "45.2", "452", "12346"]);
    }

    #[test]
    fn an_interval_has_the_decimals_of_its_mean() {
        let estimate = Estimate {
            mean: 0.2031,
            low: Some(0.1908),
            high: Some(0.2154),
            n: 8,
            at_least: false,
            at_most: false,
        };
        assert_eq!(super::estimate(&Some(estimate), 1e3), "203 ± 12");
        assert_eq!(super::estimate(&Some(estimate), 1.0), "0.203 ± 0.012");
        let vague = Estimate {
            mean: 0.000999,
            low: Some(-0.0002),
            high: Some(0.002202),
            n: 8,
            at_least: false,
            at_most: false,
        };
        assert_eq!(super::estimate(&Some(vague), 1.0), "0.0010 ± 0.0012");
        let alone = Estimate { low: None, high: None, n: 1, ..estimate };
        assert_eq!(super::estimate(&Some(alone), 1e3), "203");
        assert_eq!(super::estimate(&None, 1e3), "–");
    }

    #[test]
    fn a_gain_shows_its_sign_and_zero_has_none() {
        assert_eq!([12.3, 1.26, -3.0, 0.04].map(signed), ["+12", "+1.3", "−3.0", "0.0"]);
    }

    #[test]
    fn a_zero_has_no_sign_also_one_that_results_from_rounding() {
        let with_half = |mean: f64, half: f64| {
            let (low, high) = (Some(mean - half), Some(mean + half));
            Some(Estimate { mean, low, high, n: 8, at_least: false, at_most: false })
        };
        let bound = |at_least: bool| {
            let (mean, low, high) = (-1e-9, None, None);
            Some(Estimate { mean, low, high, n: 8, at_least, at_most: !at_least })
        };
        let estimates = [with_half(-0.0, 0.0), with_half(-0.2, 31.0), bound(true), bound(false)];
        assert_eq!(
            estimates.map(|one| super::estimate(&one, 1.0)),
            ["0 ± 0", "0 ± 31", "≥ -0.000001", "≤ 0.000000"]
        );
        assert_eq!([-0.0, -1e-9, -0.5].map(significant), ["0", "0.000000", "-0.500"]);
        let shares = [with_half(-0.0, 0.1), with_half(-0.0002, 0.5)].map(|one| share(&one));
        assert_eq!(shares, ["0 %", "0 ± 50 %"]);
        assert_eq!([-0.0, -0.04].map(signed), ["0.0", "0.0"]);
    }

    #[test]
    fn a_gain_in_a_column_is_short() {
        let gain = |mean: f64| {
            Some(Estimate {
                mean,
                low: Some(mean - 3.55),
                high: Some(mean + 3.55),
                n: 8,
                at_least: false,
                at_most: false,
            })
        };
        assert_eq!(gain_cell(&gain(2.26)), "+2.3 ± 3.5 %");
        assert_eq!(gain_cell(&gain(-47.4)), "−47 ± 4 %");
    }

    #[test]
    fn a_large_loss_is_told_as_a_factor() {
        let loss = Some(Estimate {
            mean: -218.0,
            low: Some(-230.0),
            high: Some(-206.0),
            n: 8,
            at_least: false,
            at_most: false,
        });
        assert_eq!(gain_cell(&loss), "3.2 ± 0.1 × slower");
        assert_eq!(gain(&loss), "3.2 × slower (3.1 to 3.3)");
        assert_eq!([change(-4.7), change(73.0)], ["gain −4.7 %", "gain +73 %"]);
    }

    #[test]
    fn ticks_have_units_and_no_dust() {
        assert_eq!([0.1 + 0.2, 2.0, 0.00025].map(tick_seconds), ["300 ms", "2 s", "250 µs"]);
        assert_eq!([0.001, 1.0].map(tick_share), ["0.1 %", "100 %"]);
    }

    #[test]
    fn thousands_are_set_apart() {
        assert_eq!([7, 1234, 1234567].map(count), ["7", "1,234", "1,234,567"]);
    }
}
