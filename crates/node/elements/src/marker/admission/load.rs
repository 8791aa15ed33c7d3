//! The time-window estimate of a load (Jamin, Danzig, Shenker & Zhang 1997, §III).

use shortflow_units::{Duration, Instant};

use super::LoadWindow;
use crate::meter::bucket::Tokens;

/// The measured load, in tokens per sample. Exact: whole bit-nanoseconds per second.
///
/// The load is averaged over each sample S. At the end of a window T the estimate becomes the highest average
/// in it. A higher average raises the estimate at once, and so does the declared rate of an admitted stream.
/// A new window then starts, so that the stream's own traffic is measured before its declaration no longer
/// counts.
#[derive(Debug)]
pub(super) struct MeasuredLoad {
    window: LoadWindow,
    estimate: Tokens,
    /// The highest average in this window.
    highest: Tokens,
    /// The traffic in this sample.
    current: Tokens,
    sample_ends: Instant,
    /// Remaining samples in the window.
    left: u32,
}

impl MeasuredLoad {
    pub(super) fn new(window: LoadWindow) -> Self {
        MeasuredLoad {
            estimate: Tokens::default(),
            highest: Tokens::default(),
            current: Tokens::default(),
            sample_ends: Instant::START + window.sample,
            left: window.samples,
            window,
        }
    }

    pub(super) fn estimate(&self) -> Tokens {
        self.estimate
    }

    /// Ends the samples that are over at `now`. After a long idle time only two windows count, after which
    /// the load is zero. The number of steps is therefore limited, and O(1) on average.
    #[inline]
    pub(super) fn advance(&mut self, now: Instant) {
        if now >= self.sample_ends {
            self.end_samples(now);
        }
    }

    #[cold]
    fn end_samples(&mut self, now: Instant) {
        let sample = self.window.sample;
        let over = 1 + now.since(self.sample_ends).nanos() / sample.nanos();
        let steps = over.min(2 * u64::from(self.window.samples) + 1);
        (0..steps).for_each(|_| self.end_sample());
        self.sample_ends += Duration::from_nanos(over * sample.nanos());
    }

    fn end_sample(&mut self) {
        let average = std::mem::take(&mut self.current);
        self.highest = self.highest.max(average);
        self.estimate = self.estimate.max(average);
        self.left -= 1;
        if self.left == 0 {
            self.estimate = self.highest;
            self.begin_window();
        }
    }

    fn begin_window(&mut self) {
        self.highest = Tokens::default();
        self.left = self.window.samples;
    }

    /// A stream with the declared `peak` per sample is admitted.
    pub(super) fn admit(&mut self, peak: Tokens) {
        self.estimate = self.estimate.plus(peak);
        self.begin_window();
    }

    /// `bytes` of admitted streams have arrived.
    #[inline]
    pub(super) fn count(&mut self, bytes: Tokens) {
        self.current = self.current.plus(bytes);
    }
}

#[cfg(test)]
mod tests {
    use shortflow_units::Bytes;

    use super::*;

    fn kilobytes(count: u64) -> Tokens {
        Tokens::from_bytes(Bytes(1000 * count))
    }

    fn at(millis: u64) -> Instant {
        Instant::START + Duration::from_millis(millis)
    }

    #[test]
    fn the_estimate_rises_at_once_and_falls_at_the_end_of_a_window() {
        // Samples of 100 ms, three to a window.
        let mut load = MeasuredLoad::new(LoadWindow::new(Duration::from_millis(100), 3).unwrap());
        load.count(kilobytes(5));
        load.advance(at(99));
        assert_eq!(load.estimate(), kilobytes(0), "the sample is not over");
        load.advance(at(100));
        assert_eq!(load.estimate(), kilobytes(5));
        load.count(kilobytes(2));
        load.advance(at(250));
        assert_eq!(load.estimate(), kilobytes(5), "the highest of this window");
        load.count(kilobytes(1));
        load.advance(at(300));
        assert_eq!(load.estimate(), kilobytes(5), "the window's end: highest of 5, 2 and 1");
        load.count(kilobytes(3));
        load.advance(at(600));
        assert_eq!(load.estimate(), kilobytes(3));
    }

    #[test]
    fn an_admitted_stream_counts_as_declared_until_a_whole_window_has_measured_it() {
        let mut load = MeasuredLoad::new(LoadWindow::new(Duration::from_millis(100), 3).unwrap());
        load.advance(at(250));
        load.admit(kilobytes(10));
        load.count(kilobytes(4));
        load.advance(at(300));
        assert_eq!(load.estimate(), kilobytes(10), "the window has begun anew at 250 ms");
        load.advance(at(499));
        assert_eq!(load.estimate(), kilobytes(10));
        load.advance(at(500));
        assert_eq!(load.estimate(), kilobytes(4), "the samples from 200 to 500 ms");
    }

    #[test]
    fn after_a_silence_of_hours_nothing_is_left_and_the_samples_keep_their_times() {
        let mut load = MeasuredLoad::new(LoadWindow::new(Duration::from_millis(100), 3).unwrap());
        load.count(kilobytes(9));
        load.advance(at(36_000_050));
        assert_eq!(load.estimate(), kilobytes(0));
        load.count(kilobytes(1));
        load.advance(at(36_000_099));
        assert_eq!(load.estimate(), kilobytes(0));
        load.advance(at(36_000_100));
        assert_eq!(load.estimate(), kilobytes(1));
    }
}
