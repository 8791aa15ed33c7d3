//! Voice quality of a stream of datagrams by the E-model (ITU-T G.107), for G.711 with packet loss concealment.
//!
//! All parameters have the defaults of G.107, table 3, but delay and loss. The receiver plays each datagram at a fixed delay
//! after it was sent: whichever of the 95th and 99th percentile and the maximum of the network's delay gives the best rating.
//! What comes later than that is lost.

use crate::replica::DelayPercentiles;

/// What a voice packet holds, in milliseconds: the codec's own delay.
const PACKET_MS: f64 = 20.0;

/// The rating without delay and loss (G.107, clause 7.7): Ro − Is.
const R_MAX: f64 = 93.2;

/// The basic signal-to-noise ratio Ro with default values.
const RO: f64 = 94.77;

/// Robustness of G.711 with concealment against random loss, in percent (G.113, table I.4).
const BPL: f64 = 25.1;

/// Talker echo loudness rating, in dB, and weighted echo path loss, in dB (G.107, table 3).
const TELR: f64 = 65.0;
const WEPL: f64 = 110.0;

/// The rating R of a stream, 0 to 93.2, from the delays of its datagrams in seconds and the share of them that is lost.
/// A stream of which nothing arrives has 0; `None` where nothing is known.
pub(crate) fn rating(
    percentiles: &DelayPercentiles,
    max: Option<f64>,
    loss: Option<f64>,
) -> Option<f64> {
    let DelayPercentiles { delay_p95, delay_p99, .. } = *percentiles;
    let loss = loss.unwrap_or(0.0);
    [(delay_p95, 0.05), (delay_p99, 0.01), (max, 0.0)]
        .into_iter()
        .filter_map(|(delay, late)| {
            let lost = 1.0 - (1.0 - loss) * (1.0 - late);
            Some(r_factor(1e3 * delay? + PACKET_MS, 100.0 * lost))
        })
        .max_by(f64::total_cmp)
        .or((loss >= 1.0).then_some(0.0))
}

/// The mean opinion score of a rating, 1 to 4.5 (G.107, Annex B).
pub(crate) fn opinion(rating: f64) -> f64 {
    let r = rating.clamp(0.0, 100.0);
    (1.0 + 0.035 * r + 7e-6 * r * (r - 60.0) * (100.0 - r)).max(1.0)
}

/// R from the one-way delay from mouth to ear in milliseconds, and the loss in percent (G.107, equation 7-1).
fn r_factor(delay: f64, loss: f64) -> f64 {
    (R_MAX - delay_impairment(delay) - 95.0 * loss / (loss + BPL)).max(0.0)
}

/// Id (G.107, clause 7.4): what talkers and listeners hear of echoes, and the delay itself.
fn delay_impairment(delay: f64) -> f64 {
    let ratio = (1.0 + delay / 10.0) / (1.0 + delay / 150.0);
    let terv = TELR - 40.0 * ratio.log10() + 6.0 * (-0.3 * delay * delay).exp();
    let half = (RO - (80.0 + 2.5 * (terv - 14.0))) / 2.0;
    let of_talker = (half + (half * half + 100.0).sqrt() - 1.0) * (1.0 - (-delay).exp());

    // Tr, the round trip, is twice the way.
    let rle = 10.5 * (WEPL + 7.0) * (2.0 * delay + 1.0).powf(-0.25);
    let quarter = (RO - rle) / 4.0;
    let of_listener = quarter + (quarter * quarter + 169.0).sqrt();

    let x = (delay / 100.0).log2();
    let sixth = |x: f64| (1.0 + x.powi(6)).powf(1.0 / 6.0);
    let of_delay =
        if delay <= 100.0 { 0.0 } else { 25.0 * (sixth(x) - 3.0 * sixth(x / 3.0) + 2.0) };
    of_talker.max(0.0) + of_listener + of_delay
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(delay_ms: f64, loss: f64) -> f64 {
        let seconds = Some((delay_ms - PACKET_MS) / 1e3);
        let percentiles =
            DelayPercentiles { delay_median: seconds, delay_p95: seconds, delay_p99: seconds };
        rating(&percentiles, seconds, Some(loss)).unwrap()
    }

    /// Cole & Rosenbluth 2001, "Voice over IP performance monitoring", equation 4: a fit of the same curve, within 3 points.
    fn fitted(delay: f64, loss: f64) -> f64 {
        let beyond = (delay - 177.3).max(0.0);
        94.2 - 0.024 * delay - 0.11 * beyond - 95.0 * loss / (loss + 25.1)
    }

    #[test]
    fn ratings_follow_the_fit_that_was_published_of_them() {
        for delay in [25.0, 50.0, 100.0, 150.0, 200.0, 300.0, 400.0] {
            for loss in [0.0, 0.5, 2.0, 10.0] {
                let (found, wanted) = (of(delay, loss / 100.0), fitted(delay, loss));
                assert!((found - wanted).abs() < 3.5, "{delay} ms, {loss} %: {found}, {wanted}");
            }
        }
    }

    #[test]
    fn opinions_are_those_of_g107_table_b1() {
        for (rating, wanted) in
            [(90.0, 4.34), (80.0, 4.03), (70.0, 3.60), (60.0, 3.10), (50.0, 2.58)]
        {
            let found = opinion(rating);
            // The table rounds 4.024 to 4.03.
            assert!((found - wanted).abs() < 0.01, "R {rating}: {found}, and not {wanted}");
        }
        assert_eq!((opinion(-5.0), opinion(0.0)), (1.0, 1.0));
    }

    #[test]
    fn a_call_of_which_nothing_arrives_has_the_lowest_score() {
        let nothing = DelayPercentiles::default();
        assert_eq!(rating(&nothing, None, Some(1.0)).map(opinion), Some(1.0));
        assert_eq!(rating(&nothing, None, None), None);
    }

    #[test]
    fn more_delay_or_loss_is_never_better() {
        let delays: Vec<f64> = (1..60).map(|step| 20.0 + f64::from(step * step)).collect();
        for pair in delays.windows(2) {
            assert!(of(pair[1], 0.01) <= of(pair[0], 0.01), "{pair:?}");
        }
        assert!(of(60.0, 0.02) < of(60.0, 0.01));
    }

    #[test]
    fn what_comes_seldom_and_late_is_rather_lost_than_waited_for() {
        let percentiles = |p99| DelayPercentiles {
            delay_median: Some(0.02),
            delay_p95: Some(0.03),
            delay_p99: p99,
        };
        let waited = rating(&percentiles(Some(0.04)), Some(2.0), None).unwrap();
        assert!((waited - r_factor(60.0, 1.0)).abs() < 1e-9);
        // Where the percentile is not known, the next that is known decides.
        assert!(rating(&percentiles(None), Some(0.2), None).unwrap() < waited);
        let none = DelayPercentiles::default();
        assert_eq!(rating(&none, None, Some(0.1)), None);
    }
}
