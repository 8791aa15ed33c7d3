//! The load of a thread: a thread that is always busy limits the throughput itself.

use std::time::Instant;

use nix::errno::Errno;
use nix::sys::time::TimeValLike;
use nix::time::{ClockId, clock_gettime};

use crate::realtime::{Priority, prefer_this_thread};

/// The share of the time from which on a thread counts as always busy. The kernel gives others 5 % of the time of
/// a thread that runs in real time, and more is lost where processors are shared.
const BUSY_SHARE: f64 = 0.85;

/// What the thread that began this has worked since.
pub(crate) struct ThreadLoad {
    begun: Instant,
    before: f64,
}

impl ThreadLoad {
    pub(crate) fn begin() -> Result<ThreadLoad, Errno> {
        Ok(ThreadLoad { begun: Instant::now(), before: worked()? })
    }

    /// The share of the time in which the thread has worked. It is asked by the same thread.
    pub(crate) fn share(&self) -> Result<f64, Errno> {
        Ok((worked()? - self.before) / self.begun.elapsed().as_secs_f64())
    }
}

/// Does something on this thread with this priority, and tells the share of the time in which it has worked.
pub(crate) fn measure<T>(priority: Priority, act: impl FnOnce() -> T) -> (T, Result<f64, Errno>) {
    let _preferred = prefer_this_thread(priority);
    let thread_load = ThreadLoad::begin();
    let done = act();
    (done, thread_load.and_then(|thread_load| thread_load.share()))
}

/// A warning if the network's or the load's thread was busy for such a share of the time.
pub(crate) fn busy_note(network: f64, load: f64) -> Option<String> {
    let (who, share) =
        if network >= load { ("forwards packets", network) } else { ("generates the load", load) };
    let message = format!(
        "The thread that {who} was busy for {:.0} % of the time: the throughput may be limited by \
            this machine instead of the links. Use slower links, or less traffic.",
        100.0 * share
    );
    (share >= BUSY_SHARE).then_some(message)
}

/// Seconds of a processor that the thread has used, the kernel's work for it included.
fn worked() -> Result<f64, Errno> {
    Ok(clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID)?.num_nanoseconds() as f64 / 1e9)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_thread_that_waits_works_little_and_one_that_does_not_works_much() {
        let thread_load = ThreadLoad::begin().unwrap();
        std::thread::sleep(Duration::from_millis(50));
        let waited = thread_load.share().unwrap();
        assert!(waited < 0.2, "{waited}");
        let (thread_load, begun) = (ThreadLoad::begin().unwrap(), Instant::now());
        while begun.elapsed() < Duration::from_millis(50) {}
        // However busy the machine is, it has got further than by waiting.
        let worked = thread_load.share().unwrap();
        assert!(worked > waited && worked < 1.1, "{worked}");
    }

    #[test]
    fn the_busier_thread_is_told_of_if_it_is_always_busy() {
        assert_eq!(busy_note(0.5, 0.84), None);
        let message = busy_note(0.97, 0.9).unwrap();
        assert!(
            message.starts_with("The thread that forwards packets was busy for 97 %"),
            "{message}"
        );
        let message = busy_note(0.2, 0.9).unwrap();
        assert!(
            message.starts_with("The thread that generates the load was busy for 90 %"),
            "{message}"
        );
    }
}
