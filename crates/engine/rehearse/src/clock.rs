//! The time of a rehearsal: the monotonic clock of the machine, from the beginning of the run on.

use nix::errno::Errno;
use nix::sys::time::{TimeSpec, TimeValLike};
use nix::time::{ClockId, clock_gettime};
use shortflow_units::{Duration, Instant};

/// A clock that shows the start of a run as its beginning.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    /// What the machine's clock shows then, in nanoseconds.
    zero: u64,
}

impl Clock {
    /// A clock that begins `ahead` from now.
    pub(crate) fn beginning_in(ahead: Duration) -> Result<Clock, Errno> {
        Ok(Clock { zero: machine()? + ahead.nanos() })
    }

    /// The time; the start until then.
    #[inline]
    pub(crate) fn now(self) -> Instant {
        // The clock was there when this one was made.
        Instant::from_nanos(machine().unwrap_or(0).saturating_sub(self.zero))
    }

    /// Waits until it begins.
    pub(crate) fn wait_for_start(self) {
        let left = self.zero.saturating_sub(machine().unwrap_or(0));
        std::thread::sleep(std::time::Duration::from_nanos(left));
    }

    /// What the machine's clock shows at an instant of the run.
    pub(crate) fn on_machine(self, at: Instant) -> TimeSpec {
        let nanos = at.nanos().saturating_add(self.zero);
        TimeSpec::nanoseconds(i64::try_from(nanos).unwrap_or(i64::MAX))
    }
}

fn machine() -> Result<u64, Errno> {
    clock_gettime(ClockId::CLOCK_MONOTONIC).map(|time| time.num_nanoseconds().unsigned_abs())
}
