//! CUBIC's response function: RFC 9438, §5 and §4.3.
//!
//! Loss is one segment in every 1/p, evenly spaced; there are no timeouts, no slow start and no limit except
//! `max_window`. So it holds for light loss: above a few percent, timeouts dominate, which RFC 9438 does not cover.

use crate::{ModelError, Range};

/// C of RFC 9438 §5, in segments per second cubed.
const SCALE: f64 = 0.4;
/// β of RFC 9438 §4.6: what is left of the window after a loss.
const DECREASE: f64 = 0.7;

/// The mean window in segments in the regions in which the cubic function rules: (C(3 + β)/(4(1 −
/// β)))^¼·(RTT/p)^¾ (RFC 9438 §5). `rtt` in seconds, above 0; `loss` above 0 and below 1.
pub fn cubic_window(rtt: f64, loss: f64) -> Result<f64, ModelError> {
    Range::above(0.0).check("the round-trip time in seconds", rtt)?;
    Range::between(0.0, 1.0).check("the loss probability", loss)?;
    let constant = SCALE * (3.0 + DECREASE) / (4.0 * (1.0 - DECREASE));
    Ok(libm::pow(constant, 0.25) * libm::pow(rtt / loss, 0.75))
}

/// The mean window in segments of additive increase by α a round trip and multiplicative decrease to
/// β: √(α(1 + β)/(2(1 − β)p)) (RFC 9438 §4.3; Floyd, Handley & Padhye 2000). Reno is α = 1, β = ½.
/// `increase` above 0, `decrease` and `loss` above 0 and below 1.
pub fn aimd_window(increase: f64, decrease: f64, loss: f64) -> Result<f64, ModelError> {
    Range::above(0.0).check("the increase in segments per round trip", increase)?;
    Range::between(0.0, 1.0).check("what is left of the window after a loss", decrease)?;
    Range::between(0.0, 1.0).check("the loss probability", loss)?;
    Ok((increase * (1.0 + decrease) / (2.0 * (1.0 - decrease) * loss)).sqrt())
}

/// The mean window in segments: the cubic one, or Reno's where that is larger, as CUBIC follows
/// Reno there (RFC 9438 §4.3, §5.1); at most `max_window`, from 1, infinite for none.
pub fn mean_window(rtt: f64, max_window: f64, loss: f64) -> Result<f64, ModelError> {
    Range::at_least_or_unlimited(1.0).check("the receive window in segments", max_window)?;
    Ok(cubic_window(rtt, loss)?.max(aimd_window(1.0, 0.5, loss)?).min(max_window))
}

/// The rate in segments per second: the mean window in each round trip.
pub fn send_rate(rtt: f64, max_window: f64, loss: f64) -> Result<f64, ModelError> {
    Ok(mean_window(rtt, max_window, loss)? / rtt)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 9438 §5.1, Table 1: a round trip of 100 ms, C = 0.4. It takes 1.2 for √1.5, which is 2 % less.
    #[test]
    fn table_1_of_rfc_9438_is_reproduced() {
        for (loss, window) in [
            (1e-2, 12.0),
            (1e-3, 38.0),
            (1e-4, 187.0),
            (1e-5, 1054.0),
            (1e-6, 5926.0),
            (1e-7, 33325.0),
            (1e-8, 187_400.0),
        ] {
            let ours = mean_window(0.1, f64::INFINITY, loss).unwrap();
            assert!((ours / window - 1.0).abs() < 0.025, "{loss}: {ours} against {window}");
        }
        let ours = mean_window(0.1, f64::INFINITY, 1e-8).unwrap();
        assert!((ours / 187_400.0 - 1.0).abs() < 5e-4, "{ours}");
    }

    /// The window of one period played in small steps: from βW to W along the cubic function.
    #[test]
    fn a_period_played_in_small_steps_has_the_mean_window() {
        let (rtt, top) = (0.05, 2000.0);
        let length = libm::cbrt(top * (1.0 - DECREASE) / SCALE);
        let steps = 100_000;
        let step = length / f64::from(steps);
        let mut sent = 0.0;
        for n in 0..steps {
            let before_top = (f64::from(n) + 0.5) * step - length;
            sent += (SCALE * before_top.powi(3) + top) * step / rtt;
        }
        let window = sent * rtt / length;
        let model = cubic_window(rtt, 1.0 / sent).unwrap();
        assert!((model / window - 1.0).abs() < 1e-6, "{model} against {window}");
    }

    #[test]
    fn short_paths_are_renos_and_long_ones_the_cubes() {
        let loss = 1e-4;
        let reno = (1.5f64 / loss).sqrt();
        assert!((mean_window(0.001, f64::INFINITY, loss).unwrap() - reno).abs() < 1e-9);
        assert!(mean_window(0.2, f64::INFINITY, loss).unwrap() > 2.0 * reno);
        assert_eq!(mean_window(0.2, 10.0, loss).unwrap(), 10.0);
    }

    #[test]
    fn no_loss_at_all_is_refused() {
        assert!(mean_window(0.1, f64::INFINITY, 0.0).is_err());
        assert!(send_rate(0.1, 0.5, 0.1).is_err());
    }
}
