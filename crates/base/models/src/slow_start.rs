//! The duration of a short transfer without loss: Guo, Zhu, Zhang & Zhang 2005, eq. 5.
//!
//! The text prints W_q for the response time, and square brackets around the logarithm: only rounding up makes both
//! branches agree where they meet. The first window is two segments, and one round trip precedes the data.

use crate::{ModelError, Range};

/// Round trips from the request to the last byte (eq. 5): with windows of 2, 4, 8 … segments up to
/// `receive_window` (RWIN), then one window for each round trip, and one round trip before.
///
/// `segments` (FS/MSS, rounded up) from 1; `receive_window` from 2, the first window. Holds
/// without loss, where sending a window takes no longer than a round trip. Constant time.
pub fn response_rounds(segments: u64, receive_window: u64) -> Result<u64, ModelError> {
    Range::at_least(1.0).check("the length in segments", segments as f64)?;
    Range::at_least(2.0).check("the receive window in segments", receive_window as f64)?;
    // R_e: doublings until the receive window; what all windows up to it hold.
    let doublings = u64::from(receive_window.ilog2());
    let doubling = (1u64 << doublings).saturating_mul(2) - 2;
    if segments <= doubling {
        // ⌈log₂(n + 2)⌉.
        return Ok(u64::from(u64::BITS - (segments + 1).leading_zeros()));
    }
    Ok((segments - doubling).div_ceil(receive_window) + doublings + 1)
}

/// The response time in seconds (eq. 5): [`response_rounds`] times `rtt` in seconds, above 0.
pub fn response_time(rtt: f64, segments: u64, receive_window: u64) -> Result<f64, ModelError> {
    Range::above(0.0).check("the round-trip time in seconds", rtt)?;
    Ok(rtt * response_rounds(segments, receive_window)? as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Plays the rounds: a set-up, then 2, 4, 8 … as long as that is within the receive window.
    fn played(segments: u64, receive_window: u64) -> u64 {
        let (mut rounds, mut sent, mut window) = (1, 0, 2);
        while sent < segments {
            sent += window;
            rounds += 1;
            window = if 2 * window <= receive_window { 2 * window } else { receive_window };
        }
        rounds
    }

    #[test]
    fn two_segments_take_two_round_trips_and_three_take_three() {
        assert_eq!(response_rounds(2, 32).unwrap(), 2);
        assert_eq!(response_rounds(3, 32).unwrap(), 3);
        assert!((response_time(0.1, 6, 32).unwrap() - 0.3).abs() < 1e-15);
    }

    #[test]
    fn rounds_played_one_by_one_come_to_the_formula() {
        for receive_window in [2, 3, 4, 7, 8, 20, 64] {
            for segments in 1..500 {
                assert_eq!(
                    response_rounds(segments, receive_window).unwrap(),
                    played(segments, receive_window),
                    "{segments} segments, window {receive_window}"
                );
            }
        }
    }

    #[test]
    fn a_transfer_of_nothing_and_a_window_below_the_first_are_refused() {
        assert!(response_rounds(0, 8).is_err());
        assert!(response_rounds(5, 1).is_err());
        assert!(response_time(-0.1, 5, 8).is_err());
    }

    #[test]
    fn the_longest_transfer_there_is_has_an_answer() {
        assert!(response_rounds(u64::MAX, 2).is_ok());
        assert_eq!(response_rounds(u64::MAX - 2, u64::MAX).unwrap(), 64);
    }
}
