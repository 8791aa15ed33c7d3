//! Classifies flows as interactive or not, by the amount that they send.

use shortflow_units::{Duration, Instant};

use crate::model::Role;

/// How a flow behaves: a leaky bucket of what it has sent. It is interactive while it keeps to 128 kbit/s with bursts of
/// 100 KB, as calls, pages of a few objects and the first packets of every transfer do, and bulk while it has sent more
/// than that. So one sees the same under every policy, whether or not it marks packets.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Behaviour {
    /// Bytes in the bucket.
    level: f64,
    at: Instant,
}

/// Bytes by which the bucket becomes emptier in a second: 128 kbit/s.
const LEAK: f64 = 16_000.0;
/// What is above it is bulk, in bytes.
const BURST: f64 = 100_000.0;
/// The bucket holds no more, so that a flow that has become calm is interactive again after some seconds.
const MAX_TOKENS: f64 = 2.0 * BURST;

impl Behaviour {
    /// A flow that has sent nothing yet.
    pub(crate) fn new(now: Instant) -> Behaviour {
        Behaviour { level: 0.0, at: now }
    }

    /// What it is after this packet, of which the size is in bytes.
    pub(crate) fn sent(&mut self, now: Instant, size: u32) -> Role {
        let leaked = LEAK * self.silent(now).as_secs_f64();
        self.level = ((self.level - leaked).max(0.0) + f64::from(size)).min(MAX_TOKENS);
        self.at = self.at.max(now);
        self.role()
    }

    /// What it is.
    pub(crate) fn role(&self) -> Role {
        if self.level > BURST { Role::Bulk } else { Role::Interactive }
    }

    /// For how long it has sent nothing.
    pub(crate) fn silent(&self, now: Instant) -> Duration {
        now.since(self.at.min(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_stays_interactive_and_a_download_becomes_bulk_and_calm_again() {
        let mut call = Behaviour::new(Instant::START);
        let mut file = Behaviour::new(Instant::START);
        for packet in 0..500 {
            let now = Instant::START + Duration::from_millis(20 * packet);
            // 200 bytes each 20 ms are 80 kbit/s, 10 kB are 4 Mbit/s.
            assert_eq!(call.sent(now, 200), Role::Interactive);
            let wanted = if packet < 10 { Role::Interactive } else { Role::Bulk };
            assert_eq!(file.sent(now, 10_000), wanted, "{packet}");
        }
        let now = Instant::START + Duration::from_secs(10);
        assert_eq!(file.sent(now + Duration::from_secs(6), 1500), Role::Bulk);
        assert_eq!(file.sent(now + Duration::from_secs(7), 1500), Role::Interactive);
    }
}
