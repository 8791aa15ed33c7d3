//! A histogram of durations.

use serde_json::{Value, json};

/// The upper bounds of the buckets, in seconds: from a nearly empty queue to delays longer than any user waits.
pub(super) const BOUNDS: [f64; 13] =
    [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0];

/// How often something was how long, since the agent has started.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Histogram {
    /// How often it was at most as long as each bound, and longer than the one before; the last part has no bound.
    parts: [u64; BOUNDS.len() + 1],
    /// The sum of all, in seconds.
    sum: f64,
}

impl Histogram {
    /// It was so long, in seconds.
    pub(crate) fn add(&mut self, seconds: f64) {
        self.parts[BOUNDS.iter().position(|bound| seconds <= *bound).unwrap_or(BOUNDS.len())] += 1;
        self.sum += seconds;
    }

    /// As a program reads it: how often it was at most as long as each bound, how often at all, and the sum.
    pub(crate) fn json(&self) -> Value {
        let mut count = 0;
        let up_to = self.parts.map(|part| {
            count += part;
            count
        });
        json!({ "bounds": BOUNDS, "up_to": up_to[..BOUNDS.len()], "count": count, "sum": self.sum })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_counted_up_to_its_bound_and_all_above() {
        let mut histogram = Histogram::default();
        for seconds in [0.0, 0.0005, 0.0006, 0.3, 60.0] {
            histogram.add(seconds);
        }
        let json = histogram.json();
        assert_eq!(json["up_to"], json!([2, 3, 3, 3, 3, 3, 3, 3, 3, 4, 4, 4, 4]));
        assert_eq!(json["count"], 5);
        assert!((json["sum"].as_f64().unwrap() - 60.3011).abs() < 1e-12);
    }
}
