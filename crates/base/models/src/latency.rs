//! The duration of a transfer of any length: Cardwell, Savage & Anderson, "Modeling TCP latency", INFOCOM 2000, §II.
//! It lies between the model of short flows, which covers each segment, and that of long flows, which covers none.
//!
//! Assumes one loss event at a time, loss independent of the window, and windows that are sent in less than a round
//! trip. Times are in seconds, lengths in segments, loss is a probability; constant time. The caller adds the wait
//! for a delayed acknowledgement of a single first segment (their §II-E).

use crate::pftk::{self, Path};
use crate::{ModelError, Range};

/// Where the time of a transfer goes: their E\[T\] of §II-E by its parts, in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Transfer {
    /// E\[d_ss\]: segments sent in the first slow start, the first loss included.
    pub slow_start_segments: f64,
    /// E\[T_ss\]: the first slow start.
    pub slow_start: f64,
    /// E\[T_loss\]: the first loss and its recovery.
    pub recovery: f64,
    /// E\[T_ca\]: what is left, at the rate of a long connection.
    pub rest: f64,
}

impl Transfer {
    /// The whole time, without the handshake.
    pub fn total(&self) -> f64 {
        self.slow_start + self.recovery + self.rest
    }
}

/// E\[L_h\]: the mean time of a handshake, with losses both ways below ½ and a first `timeout` (their
/// eq. 4).
pub fn setup_time(
    rtt: f64,
    timeout: f64,
    forward_loss: f64,
    reverse_loss: f64,
) -> Result<f64, ModelError> {
    Range::above(0.0).check("the round-trip time in seconds", rtt)?;
    Range::above(0.0).check("the timeout of the handshake in seconds", timeout)?;
    let loss = Range::from_to_below(0.0, 0.5);
    loss.check("the forward loss probability", forward_loss)?;
    loss.check("the reverse loss probability", reverse_loss)?;
    let tries = |loss: f64| (1.0 - loss) / (1.0 - 2.0 * loss);
    Ok(rtt + timeout * (tries(forward_loss) + tries(reverse_loss) - 2.0))
}

/// The mean time of a transfer of `segments`, from 1, after the handshake, from a first window of
/// `initial_window` segments, from 1; `loss` from 0 to below 1 (their eqs. 5 to 25).
///
/// Their eq. 5 counts the lost segment also where none is lost; here E\[d_ss\] is never above the
/// length, so that no loss is the limit of little.
pub fn transfer(
    path: &Path,
    initial_window: f64,
    segments: f64,
    loss: f64,
) -> Result<Transfer, ModelError> {
    path.check()?;
    Range::at_least(1.0).check("the first window in segments", initial_window)?;
    Range::at_least(1.0).check("the length in segments", segments)?;
    Range::from_to_below(0.0, 1.0).check("the loss probability", loss)?;
    let whole = if loss > 0.0 { libm::exp(segments * libm::log1p(-loss)) } else { 1.0 };
    let slow_start_segments = if loss > 0.0 {
        ((1.0 - whole) * (1.0 - loss) / loss + 1.0).min(segments)
    } else {
        segments
    };
    let (slow_start, window) = slow_start(path, initial_window, slow_start_segments);
    if loss == 0.0 {
        return Ok(Transfer { slow_start_segments, slow_start, recovery: 0.0, rest: 0.0 });
    }
    let timeouts = pftk::timeout_probability(loss, window);
    let recovery =
        (1.0 - whole) * (timeouts * pftk::mean_timeouts(path, loss) + (1.0 - timeouts) * path.rtt);
    let rest = (segments - slow_start_segments) / pftk::throughput(path, loss)?;
    Ok(Transfer { slow_start_segments, slow_start, recovery, rest })
}

/// E\[T_ss\] and E\[W_ss\]: the time that slow start takes for this number of segments, and the window at its end
/// (their eqs. 11 to 15).
fn slow_start(path: &Path, first: f64, segments: f64) -> (f64, f64) {
    let growth = 1.0 + 1.0 / path.segments_per_ack;
    let first = first.min(path.max_window);
    let last = segments * (growth - 1.0) / growth + first / growth;
    let log = |ratio: f64| libm::log(ratio) / libm::log(growth);
    if last <= path.max_window {
        return (path.rtt * log(segments * (growth - 1.0) / first + 1.0), last);
    }
    let until_full = (growth * path.max_window - first) / (growth - 1.0);
    let rounds = log(path.max_window / first) + 1.0 + (segments - until_full) / path.max_window;
    (path.rtt * rounds, path.max_window)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATH: Path =
        Path { rtt: 0.1, timeout: 1.0, segments_per_ack: 1.0, max_window: f64::INFINITY };

    #[test]
    fn without_loss_the_windows_double_until_all_is_sent() {
        for (segments, rounds) in [(1.0, 1.0), (3.0, 2.0), (7.0, 3.0), (1023.0, 10.0)] {
            let transfer = transfer(&PATH, 1.0, segments, 0.0).unwrap();
            assert!((transfer.total() - 0.1 * rounds).abs() < 1e-12, "{segments}: {transfer:?}");
        }
    }

    /// 1 + 2 + 4 + 8 in four round trips, then eight in each.
    #[test]
    fn a_receive_window_of_8_makes_the_rest_eight_segments_a_round_trip() {
        let path = Path { max_window: 8.0, ..PATH };
        let transfer = transfer(&path, 1.0, 15.0 + 80.0, 0.0).unwrap();
        assert!((transfer.total() - 1.4).abs() < 1e-12, "{transfer:?}");
    }

    #[test]
    fn little_loss_is_close_to_none() {
        let none = transfer(&PATH, 2.0, 50.0, 0.0).unwrap().total();
        let little = transfer(&PATH, 2.0, 50.0, 1e-9).unwrap().total();
        assert!((little - none).abs() < 1e-6, "{little} against {none}");
    }

    /// d = 10, p = 0.1: (1 − 0.9¹⁰)·0.9/0.1 + 1 = 6.861894; w₁ = 1, so W = (6.861894 + 1)/2 =
    /// 3.930947 and T_ss = 0.1·log₂ 7.861894 = 0.297488; Q = 1 as (1 + 0.729·(1 − 0.9^0.930947)) ·
    /// 0.271/(1 − 0.9^3.930947) = 0.271·1.068104/0.339109 = 0.853575; a series of timeouts
    /// G(0.1)/0.9 = 1.124990/0.9 s; T_loss = 0.651322·(0.853575·1.249989 + 0.146425·0.1).
    #[test]
    fn ten_segments_at_a_tenth_of_loss_are_worked_out_by_hand() {
        let found = transfer(&PATH, 1.0, 10.0, 0.1).unwrap();
        assert!((found.slow_start_segments - 6.861_894).abs() < 1e-6, "{found:?}");
        assert!((found.slow_start - 0.297_488).abs() < 1e-5, "{found:?}");
        assert!((found.recovery - 0.704_5).abs() < 1e-3, "{found:?}");
        let rest = (10.0 - 6.861_894) / pftk::throughput(&PATH, 0.1).unwrap();
        assert!((found.rest - rest).abs() < 1e-6, "{found:?}");
    }

    /// The segments of the first slow start, counted by hand: k before the loss and the loss.
    #[test]
    fn the_segments_of_slow_start_are_those_until_the_first_loss() {
        let (segments, loss) = (20u32, 0.05f64);
        let kept = 1.0 - loss;
        let mut mean = 0.0;
        for before in 0..segments {
            mean += kept.powi(before as i32) * loss * f64::from(before + 1);
        }
        mean += kept.powi(segments as i32) * f64::from(segments + 1);
        let found = transfer(&PATH, 1.0, 20.0, 0.05).unwrap();
        assert!((found.slow_start_segments - mean).abs() < 1e-9);
    }

    #[test]
    fn a_long_transfer_goes_at_the_rate_of_a_long_connection() {
        let rate = 1e6 / transfer(&PATH, 1.0, 1e6, 0.01).unwrap().total();
        assert!((rate / pftk::throughput(&PATH, 0.01).unwrap() - 1.0).abs() < 0.01);
    }

    #[test]
    fn the_handshake_waits_for_either_way() {
        assert!((setup_time(0.1, 3.0, 0.0, 0.0).unwrap() - 0.1).abs() < 1e-15);
        // One in ten lost one way: 3·(0.9/0.8 − 1).
        assert!((setup_time(0.1, 3.0, 0.1, 0.0).unwrap() - 0.475).abs() < 1e-12);
        assert!(setup_time(0.1, 3.0, 0.5, 0.0).is_err());
    }

    #[test]
    fn half_a_segment_and_total_loss_are_refused() {
        assert!(transfer(&PATH, 1.0, 0.5, 0.01).is_err());
        assert!(transfer(&PATH, 1.0, 5.0, 1.0).is_err());
    }
}
