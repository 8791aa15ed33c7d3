//! Waits for file descriptors or a deadline, whichever comes first.

use std::os::fd::AsFd;

use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use shortflow_run::{Stalls, TimingError};
use shortflow_units::{Duration, Instant};

use crate::clock::Clock;

/// What has become ready: the number under which it was added, and for what.
pub(crate) type Ready = (u64, EpollFlags);

/// The number of the timer.
const TIMER: u64 = u64::MAX;

/// The maximum sleep in milliseconds, so that waiting code regularly checks for a stop.
const MAX_SLEEP_MS: u8 = 50;

/// The maximum number of descriptors per call.
const AT_ONCE: usize = 64;

/// What is waited for.
pub(crate) struct Wait {
    epoll: Epoll,
    timer: TimerFd,
    /// The time for which the timer is set.
    set_for: Instant,
    clock: Clock,
    events: [EpollEvent; AT_ONCE],
    /// When it was waited for the last time, if it was.
    looked_at: Option<Instant>,
    stalled: Duration,
    longest: Duration,
}

impl Wait {
    /// Waits for nothing yet.
    pub(crate) fn new(clock: Clock) -> Result<Wait, Errno> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        let flags = TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC;
        let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, flags)?;
        epoll.add(timer.as_fd(), EpollEvent::new(EpollFlags::EPOLLIN, TIMER))?;
        let events = [EpollEvent::empty(); AT_ONCE];
        let (stalled, longest) = (Duration::ZERO, Duration::ZERO);
        Ok(Wait {
            epoll,
            timer,
            set_for: Instant::NEVER,
            clock,
            events,
            looked_at: None,
            stalled,
            longest,
        })
    }

    /// From now on waits for a descriptor too.
    pub(crate) fn add(&self, fd: impl AsFd, of: EpollFlags, number: u64) -> Result<(), Errno> {
        self.epoll.add(fd, EpollEvent::new(of, number))
    }

    /// Waits for something else of a descriptor.
    pub(crate) fn change(&self, fd: impl AsFd, of: EpollFlags, number: u64) -> Result<(), Errno> {
        self.epoll.modify(fd, &mut EpollEvent::new(of, number))
    }

    /// Waits for a descriptor no more.
    pub(crate) fn remove(&self, fd: impl AsFd) {
        // One that is removed already is not waited for either.
        let _ = self.epoll.delete(fd);
    }

    /// Waits until something is ready, or until `at`, or for a short while; and puts what is ready into `ready`.
    pub(crate) fn until(&mut self, at: Instant, ready: &mut Vec<Ready>) -> Result<(), Errno> {
        ready.clear();
        if at != self.set_for && at != Instant::NEVER {
            // A time that has come already fires at once.
            let on_machine = Expiration::OneShot(self.clock.on_machine(at));
            self.timer.set(on_machine, TimerSetTimeFlags::TFD_TIMER_ABSTIME)?;
            self.set_for = at;
        }
        let asked_at = self.clock.now();
        let count = match self.epoll.wait(&mut self.events, EpollTimeout::from(MAX_SLEEP_MS)) {
            Err(Errno::EINTR) => 0,
            waited => waited?,
        };
        self.look(asked_at, at);
        for event in &self.events[..count] {
            if event.data() == TIMER {
                // There is something to read, and then it is quiet until it is set anew.
                let _ = self.timer.wait();
                self.set_for = Instant::NEVER;
            } else {
                ready.push((event.data(), event.events()));
            }
        }
        Ok(())
    }

    /// For how long was no descriptor checked? The poll began at `asked_at` with the deadline `at`, and returned now.
    fn look(&mut self, asked_at: Instant, at: Instant) {
        let now = self.clock.now();
        let awake_at = at.max(asked_at).min(asked_at + Duration::from_millis(MAX_SLEEP_MS.into()));
        let since = self.looked_at.replace(now).unwrap_or(asked_at);
        let stall = asked_at.since(since) + now.since(awake_at.min(now));
        if stall > TimingError::LIMIT {
            self.stalled += stall;
            self.longest = self.longest.max(stall);
        }
    }

    /// The times for which ready descriptors may have waited.
    pub(crate) fn stalls(&self) -> Stalls {
        let all = self.clock.now().as_secs_f64();
        let share = if all > 0.0 { self.stalled.as_secs_f64() / all } else { 0.0 };
        Stalls { share, longest: self.longest }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Works for so long between two looks, each of which waits for 2 ms.
    fn stalls_of(work: std::time::Duration) -> Stalls {
        let clock = Clock::beginning_in(Duration::ZERO).unwrap();
        let (mut wait, mut ready) = (Wait::new(clock).unwrap(), Vec::new());
        for _ in 0..5 {
            wait.until(clock.now() + Duration::from_millis(2), &mut ready).unwrap();
            std::thread::sleep(work);
        }
        wait.until(clock.now(), &mut ready).unwrap();
        wait.stalls()
    }

    #[test]
    fn who_works_for_long_stands_still_and_who_waits_does_not() {
        let idle = stalls_of(std::time::Duration::ZERO);
        let still = stalls_of(std::time::Duration::from_millis(20));
        // Five times 20 ms of 110, and however slow the machine is, no more than all of the time.
        assert!(still.share > 0.5 && still.share <= 1.0, "{still:?}");
        assert!(still.longest >= Duration::from_millis(20), "{still:?}");
        assert!(idle.share < still.share, "{idle:?}");
    }
}
