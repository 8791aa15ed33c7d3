//! Throughput of a long TCP Reno connection under random loss: Padhye, Firoiu, Towsley & Kurose,
//! "Modeling TCP Reno performance: a simple model and its empirical validation", IEEE/ACM
//! Transactions on Networking 8(2), 2000.

/// The path and the endpoints of one long connection.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Path {
    /// RTT: mean round-trip time in seconds.
    pub rtt: f64,
    /// T₀: the first retransmission timeout of a series, in seconds.
    pub timeout: f64,
    /// b: segments that one acknowledgement covers (1, or 2 with delayed acknowledgements).
    pub segments_per_ack: f64,
    /// W_m: the receive window in segments.
    pub max_window: f64,
}

/// B(p): the send rate in segments per second, retransmissions included, at loss probability
/// `loss` (0 < `loss` < 1), by the full model (their eq. 32).
///
/// `loss` is the share of segments that are the first to be lost in their round; the model takes
/// all later segments of such a round as lost too.
pub fn send_rate(path: &Path, loss: f64) -> f64 {
    let window = mean_window(path.segments_per_ack, loss).min(path.max_window);
    let q = timeout_probability(loss, window);
    ((1.0 - loss) / loss + window + q / (1.0 - loss)) / cycle(path, loss)
}

/// T(p): the rate in segments per second at which the receiver gets them (their eq. 37). It
/// counts the rest of a round in which a segment is lost as lost: half a window on average.
pub fn throughput(path: &Path, loss: f64) -> f64 {
    let window = mean_window(path.segments_per_ack, loss).min(path.max_window);
    let q = timeout_probability(loss, window);
    ((1.0 - loss) / loss + window / 2.0 + q) / cycle(path, loss)
}

/// The time in seconds from one sign of loss to the next, with the timeouts that follow a share of
/// them (the denominator of their eqs. 32 and 37).
fn cycle(path: &Path, loss: f64) -> f64 {
    let Path { rtt, timeout, segments_per_ack: b, max_window } = *path;
    let p = loss;
    let window = mean_window(b, p);
    let rounds = if window < max_window {
        b / 2.0 * window + 1.0
    } else {
        b / 8.0 * max_window + (1.0 - p) / (p * max_window) + 2.0
    };
    let q = timeout_probability(p, window.min(max_window));
    rtt * rounds + q * backoff(p) * timeout / (1.0 - p)
}

/// Send rate in segments per second by the approximation that is usually quoted (their eq. 33).
pub fn approximate_send_rate(path: &Path, loss: f64) -> f64 {
    let Path { rtt, timeout, segments_per_ack: b, max_window } = *path;
    let p = loss;
    let triple = (2.0 * b * p / 3.0).sqrt();
    let timeouts = (3.0 * (3.0 * b * p / 8.0).sqrt()).min(1.0);
    let rate = 1.0 / (rtt * triple + timeout * timeouts * p * (1.0 + 32.0 * p * p));
    rate.min(max_window / rtt)
}

/// E\[W\]: the mean window at which a loss is found, in segments (their eq. 13).
pub fn mean_window(segments_per_ack: f64, loss: f64) -> f64 {
    let b = segments_per_ack;
    let offset = (2.0 + b) / (3.0 * b);
    offset + (8.0 * (1.0 - loss) / (3.0 * b * loss) + offset * offset).sqrt()
}

/// Q̂(w): the probability that a loss in a window of `w` segments ends in a timeout (eq. 24).
pub fn timeout_probability(loss: f64, window: f64) -> f64 {
    let kept = 1.0 - loss;
    let cubed = 1.0 - kept.powi(3);
    let rest = 1.0 + kept.powi(3) * (1.0 - libm::pow(kept, window - 3.0));
    (cubed * rest / (1.0 - libm::pow(kept, window))).min(1.0)
}

/// G(p): a series of timeouts lasts T₀·G(p)/(1 − p) on average (their eq. 29).
fn backoff(p: f64) -> f64 {
    1.0 + p
        + 2.0 * p.powi(2)
        + 4.0 * p.powi(3)
        + 8.0 * p.powi(4)
        + 16.0 * p.powi(5)
        + 32.0 * p.powi(6)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATH: Path =
        Path { rtt: 0.1, timeout: 1.0, segments_per_ack: 1.0, max_window: f64::INFINITY };

    #[test]
    fn light_loss_approaches_the_square_root_law() {
        // Mathis et al. 1997: (1/RTT)·√(3/2bp) as p → 0.
        let loss = 1e-6;
        let law = (1.5f64 / loss).sqrt() / PATH.rtt;
        assert!((send_rate(&PATH, loss) / law - 1.0).abs() < 0.01);
        assert!((approximate_send_rate(&PATH, loss) / law - 1.0).abs() < 0.01);
    }

    #[test]
    fn a_small_receive_window_bounds_the_rate() {
        let path = Path { max_window: 8.0, ..PATH };
        assert!(send_rate(&path, 1e-5) < 8.0 / path.rtt);
        assert!(send_rate(&path, 1e-5) > 0.95 * 8.0 / path.rtt);
    }

    /// Worked out by hand: W = 1 + √(8·0.99/0.03 + 1) = 17.279; 0.99³ = 0.970299,
    /// 0.99^14.279 = 0.866334, 0.99^17.279 = 0.840603, so Q = 0.029701·1.129694/0.159397 = 0.210500;
    /// G = 1.010204; the cycle 0.1·(8.639 + 1) + 0.2105·1.010204·1/0.99 = 1.178744 s;
    /// B = (99 + 17.279 + 0.2126)/1.178744, T = (99 + 8.639 + 0.2105)/1.178744.
    #[test]
    fn one_percent_of_loss_gives_98_8_segments_per_second_sent_and_91_5_received() {
        assert!((mean_window(1.0, 0.01) - 17.279).abs() < 1e-3);
        assert!((timeout_probability(0.01, 17.279) - 0.2105).abs() < 1e-4);
        assert!((send_rate(&PATH, 0.01) - 98.83).abs() < 0.01, "{}", send_rate(&PATH, 0.01));
        assert!((throughput(&PATH, 0.01) - 91.50).abs() < 0.01, "{}", throughput(&PATH, 0.01));
    }

    #[test]
    fn timeouts_make_heavy_loss_much_worse_than_the_square_root_law() {
        let law = (1.5f64 / 0.1).sqrt() / PATH.rtt;
        assert!(send_rate(&PATH, 0.1) < 0.4 * law);
    }
}
