//! Waiting for descriptors and for a time, whichever comes first.

use std::os::fd::AsFd;

use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use shortflow_units::Instant;

use crate::clock::Clock;

/// What has become ready: the number under which it was added, and for what.
pub(crate) type Ready = (u64, EpollFlags);

/// The number of the timer.
const TIMER: u64 = u64::MAX;

/// Milliseconds that are slept at most, so that whoever waits looks now and then whether it is to stop.
const LONGEST: u8 = 50;

/// How many descriptors are told of at a time.
const AT_ONCE: usize = 64;

/// What is waited for.
pub(crate) struct Wait {
    epoll: Epoll,
    timer: TimerFd,
    /// The time for which the timer is set.
    set_for: Instant,
    clock: Clock,
    events: [EpollEvent; AT_ONCE],
}

impl Wait {
    /// Waits for nothing yet.
    pub(crate) fn new(clock: Clock) -> Result<Wait, Errno> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        let flags = TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC;
        let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, flags)?;
        epoll.add(timer.as_fd(), EpollEvent::new(EpollFlags::EPOLLIN, TIMER))?;
        let events = [EpollEvent::empty(); AT_ONCE];
        Ok(Wait { epoll, timer, set_for: Instant::NEVER, clock, events })
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
        let count = match self.epoll.wait(&mut self.events, EpollTimeout::from(LONGEST)) {
            Err(Errno::EINTR) => 0,
            waited => waited?,
        };
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
}
