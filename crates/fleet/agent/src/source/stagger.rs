//! Spreads the polls of all machines over time, so that they do not load a server at once.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use sha2::{Digest, Sha256};

/// How long a server has for each machine: a thousand machines read within two seconds.
const TIME_PER_MACHINE: Duration = Duration::from_millis(2);
/// The longest that a machine waits for its turn.
const MAX_DELAY: Duration = Duration::from_secs(10);

/// The turns of a machine among others.
#[derive(Debug)]
pub(crate) struct Stagger {
    machine: String,
    machines: AtomicU64,
}

impl Stagger {
    /// Those of a machine that knows of no others yet.
    pub(crate) fn new(machine: &str) -> Stagger {
        Stagger { machine: machine.to_owned(), machines: AtomicU64::new(1) }
    }

    /// The number of machines.
    pub(crate) fn among(&self, machines: usize) {
        self.machines.store(machines as u64, Ordering::Relaxed);
    }

    /// How long it waits before it reads the change of this number. The order of machines is another one each time.
    pub(super) fn wait(&self, change: u64) -> Duration {
        let machines = self.machines.load(Ordering::Relaxed).min(u64::from(u32::MAX)) as u32;
        let all = TIME_PER_MACHINE.saturating_mul(machines.saturating_sub(1)).min(MAX_DELAY);
        let mut hash = Sha256::new();
        hash.update(change.to_le_bytes());
        hash.update(&self.machine);
        let bytes = hash.finalize();
        let share = u16::from_le_bytes([bytes[0], bytes[1]]);
        all.mul_f64(f64::from(share) / f64::from(u16::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thousand_machines_read_evenly_within_two_seconds_and_one_alone_at_once() {
        for change in 0..3 {
            let mut tenths = [0; 10];
            for number in 0..1000 {
                let stagger = Stagger::new(&format!("gw{number}"));
                stagger.among(1000);
                let wait = stagger.wait(change);
                assert!(wait < Duration::from_secs(2), "{wait:?}");
                tenths[(wait.as_millis() / 200) as usize] += 1;
            }
            // 100 are expected in each, with a standard deviation of 9.5 (binomial).
            assert!(tenths.iter().all(|count| (60..140).contains(count)), "{tenths:?}");
        }
        let stagger = Stagger::new("gw1");
        stagger.among(1);
        assert_eq!(stagger.wait(0), Duration::ZERO);
        stagger.among(1_000_000);
        assert!((0..100).all(|change| stagger.wait(change) <= MAX_DELAY));
        assert_ne!(stagger.wait(1), stagger.wait(2), "nobody is always last");
    }
}
