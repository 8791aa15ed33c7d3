//! CUBIC's window growth in Linux: by whole segments, each after a number of acknowledged segments (its
//! price).
//!
//! RFC 9438 follows its curve in fractions of a segment. With whole segments the curve is rounded towards its
//! plateau, so a window is up to one segment ahead of it. For example, a window of 4 with a plateau of 6
//! grows after 4 acknowledged segments, where the RFC's α asks for 7.6. For windows of tens of segments this
//! does not matter. Many flows on a slow link, with a few segments each, lose a tenth more packets.

use shortflow_units::{Duration, Instant};

/// C of RFC 9438 §5 as Linux has it, in segments per second cubed.
const SCALE: f64 = 410.0 / 1024.0;

/// 1/α of RFC 9438 §4.3 in eighths: a Reno window of two segments grows after three acknowledged segments,
/// where 1/α would ask for 3.8.
const RENO_EIGHTHS: u32 = 15;

/// For how long a price is valid while the window is the same.
const PRICED_FOR: Duration = Duration::from_millis(31);

/// The lowest price.
const MIN_PRICE: u32 = 2;

/// The highest price before the first loss, so that the window grows by at least 1/20 per round trip.
const SEARCH_PRICE: u32 = 20;

/// The price where the curve is flat, in windows.
const FLAT: u32 = 100;

/// A stage of congestion avoidance. Windows are in whole segments.
#[derive(Debug, Clone, Copy)]
pub(super) struct Steps {
    /// Its start, delayed by the time in which the window did not limit the sender.
    began: Instant,
    /// The last acknowledgement that counted.
    counted: Instant,
    /// W_max, or the window at the start of the stage if that is larger.
    plateau: u32,
    /// K: seconds from the start to the plateau.
    until_plateau: f64,
    /// No loss since the connection began, or since a timeout, has shown the plateau.
    is_search: bool,
    /// W_est: the window of Reno, and the segments acknowledged since it grew.
    reno: u32,
    for_reno: u32,
    /// The price of a further segment, its time and its window.
    price: u32,
    priced: Option<(Instant, u32)>,
    /// Acknowledged segments that are not yet spent.
    credit: u32,
}

impl Steps {
    /// A stage that starts at `window`, below or above `plateau`. A plateau of 0 is unknown.
    pub(super) fn begin(now: Instant, window: u32, plateau: u32) -> Self {
        let is_search = plateau == 0;
        let plateau = plateau.max(window);
        Steps {
            began: now,
            counted: now,
            plateau,
            until_plateau: libm::cbrt(f64::from(plateau - window) / SCALE),
            is_search,
            reno: window,
            for_reno: 0,
            price: MIN_PRICE,
            priced: None,
            credit: 0,
        }
    }

    /// The new window after `window`, when this many segments are acknowledged. `rtt` is smoothed, `min` is
    /// the smallest.
    pub(super) fn grow(
        &mut self,
        now: Instant,
        window: u32,
        acknowledged: u32,
        rtt: Duration,
        min: Duration,
    ) -> u32 {
        self.began += now.since(self.counted).saturating_sub(rtt);
        self.counted = now;
        self.for_reno = self.for_reno.saturating_add(acknowledged);
        let is_priced =
            (self.priced).is_some_and(|(since, at)| at == window && now.since(since) <= PRICED_FOR);
        if !is_priced {
            self.price = self.price_at(now.since(self.began) + min, window);
            self.priced = Some((now, window));
        }
        self.buy(window, acknowledged)
    }

    /// Its duration, without the time in which the window did not limit the sender.
    pub(super) fn age(&self, now: Instant) -> Duration {
        now.since(self.began)
    }

    /// The price of a segment above `window`, `after` the start: by the curve, or less if Reno's window grows
    /// faster.
    fn price_at(&mut self, after: Duration, window: u32) -> u32 {
        let from_plateau = after.as_secs_f64() - self.until_plateau;
        let beside = (SCALE * from_plateau.abs() * from_plateau * from_plateau) as u32;
        let target = if from_plateau < 0.0 {
            self.plateau.saturating_sub(beside)
        } else {
            self.plateau.saturating_add(beside)
        };
        let by_curve = match target.checked_sub(window) {
            Some(ahead @ 1..) => window / ahead,
            _ => window.saturating_mul(FLAT),
        };
        let by_curve = if self.is_search { by_curve.min(SEARCH_PRICE) } else { by_curve };

        let for_another = (u64::from(window) * u64::from(RENO_EIGHTHS) / 8) as u32;
        while self.for_reno > for_another {
            self.for_reno -= for_another;
            self.reno += 1;
        }
        let by_reno = match self.reno.checked_sub(window) {
            Some(ahead @ 1..) => window / ahead,
            _ => u32::MAX,
        };
        by_curve.min(by_reno).max(MIN_PRICE)
    }

    /// The new window after spending these segments and saved ones.
    fn buy(&mut self, window: u32, acknowledged: u32) -> u32 {
        let mut window = window;
        if self.credit >= self.price {
            // Segments saved at a higher price buy at most one.
            self.credit = 0;
            window = window.saturating_add(1);
        }
        self.credit += acknowledged;
        let more = self.credit / self.price;
        self.credit %= self.price;
        window.saturating_add(more)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(100);

    /// The windows after each of so many acknowledgements of one segment, `apart` from each other.
    fn windows(window: u32, plateau: u32, acknowledgements: usize, apart: Duration) -> Vec<u32> {
        let mut steps = Steps::begin(Instant::START, window, plateau);
        let (mut now, mut window) = (Instant::START, window);
        let mut next = || {
            now += apart;
            window = steps.grow(now, window, 1, RTT, RTT);
            window
        };
        (0..acknowledgements).map(|_| next()).collect()
    }

    /// Two segments below the plateau the curve is rounded up to one above the window, which costs a window: four. The
    /// second comes where less than one is missing, cbrt(1 / 0.4) = 1.36 s before the plateau, and the plateau is
    /// 1.71 s away.
    #[test]
    fn a_small_window_is_up_to_a_segment_ahead_of_the_curve() {
        let grown = windows(4, 6, 9, Duration::from_millis(50));
        assert_eq!(grown, [4, 4, 4, 5, 5, 5, 5, 5, 6]);
    }

    /// 15/8 of the window, rounded down, and one more that tells: at a plateau of two the third comes with four
    /// acknowledged ones, and from then on with five, seven and so on. RFC 9438 §4.3 has 3.8, 5.7 and 7.6.
    #[test]
    fn at_its_plateau_it_grows_as_reno_s_in_whole_segments() {
        let grown = windows(2, 2, 16, Duration::from_millis(40));
        assert_eq!(grown, [2, 2, 2, 3, 3, 3, 3, 3, 4, 4, 4, 4, 4, 4, 4, 5]);
    }

    /// Within 31 ms at the same window nothing is reckoned anew: here it stays dear, until the time is over and what
    /// was saved up is spent. Reno's window has come far by then.
    #[test]
    fn a_price_stays_for_a_while() {
        let grown = windows(2, 2, 34, Duration::from_millis(1));
        assert_eq!(grown[..32], [2; 32]);
        assert_eq!(grown[32..], [3, 4]);
    }

    /// While no loss has shown the plateau a segment costs twenty at most, and else a hundred windows where the curve
    /// is flat, or what Reno's costs.
    #[test]
    fn while_no_loss_has_shown_how_far_it_may_go_a_segment_costs_twenty() {
        let apart = Duration::from_millis(1);
        assert_eq!(windows(60, 0, 60, apart).last(), Some(&63));
        assert_eq!(windows(60, 60, 60, apart).last(), Some(&60));
    }

    /// The product of a price and a window does not overflow, nor a plateau of any size.
    #[test]
    fn windows_of_any_size_are_priced() {
        let max = u32::MAX;
        for (window, plateau) in [(1, max), (max, max), (max, 0), (max / 2, max), (1, 1)] {
            let grown = windows(window, plateau, 40, Duration::from_secs(50));
            assert!(grown.is_sorted(), "{window} below {plateau}");
        }
    }
}
