//! Waits for sockets or a time, whichever comes first.

use std::os::fd::{AsFd, BorrowedFd};

use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::time::{TimeSpec, TimeValLike};
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use shortflow_units::Instant;

/// The maximum sleep in milliseconds: the programs at the devices must hear of the router.
const MAX_SLEEP_MS: u8 = 2;

/// The monotonic clock of the machine, from its first reading on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    zero: u64,
}

impl Clock {
    pub(crate) fn new() -> Result<Clock, Errno> {
        Ok(Clock { zero: nanos()? })
    }

    /// The machine's clock at this time, in nanoseconds.
    pub(crate) fn on_machine(self, at: Instant) -> u64 {
        at.nanos().saturating_add(self.zero)
    }

    #[inline]
    pub(crate) fn now(self) -> Instant {
        // The clock could be read when this was made.
        Instant::from_nanos(nanos().unwrap_or(self.zero) - self.zero)
    }
}

fn nanos() -> Result<u64, Errno> {
    let time = nix::time::clock_gettime(nix::time::ClockId::CLOCK_MONOTONIC)?;
    Ok(time.num_nanoseconds().unsigned_abs())
}

/// Sockets and a timer.
pub(crate) struct Waiter {
    epoll: Epoll,
    timer: TimerFd,
    clock: Clock,
    set_for: Instant,
}

impl Waiter {
    pub(crate) fn new(clock: Clock) -> Result<Waiter, Errno> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        let flags = TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC;
        let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, flags)?;
        epoll.add(timer.as_fd(), EpollEvent::new(EpollFlags::EPOLLIN, 0))?;
        Ok(Waiter { epoll, timer, clock, set_for: Instant::NEVER })
    }

    /// From now on also waits for this socket.
    pub(crate) fn add(&self, socket: BorrowedFd<'_>) -> Result<(), Errno> {
        self.epoll.add(socket, EpollEvent::new(EpollFlags::EPOLLIN, 1))
    }

    /// Waits until a socket has something, or until `at`, or for a short while.
    pub(crate) fn until(&mut self, at: Option<Instant>) -> Result<(), Errno> {
        if let Some(at) = at
            && at != self.set_for
        {
            let nanos = self.clock.on_machine(at);
            let nanos = TimeSpec::nanoseconds(i64::try_from(nanos).unwrap_or(i64::MAX));
            // A time that has passed expires at once.
            self.timer.set(Expiration::OneShot(nanos), TimerSetTimeFlags::TFD_TIMER_ABSTIME)?;
            self.set_for = at;
        }
        let mut events = [EpollEvent::empty(); 16];
        let count = match self.epoll.wait(&mut events, EpollTimeout::from(MAX_SLEEP_MS)) {
            Err(Errno::EINTR) => 0,
            waited => waited?,
        };
        if events[..count].iter().any(|event| event.data() == 0) {
            // It is quiet until it is set again.
            let _ = self.timer.wait();
            self.set_for = Instant::NEVER;
        }
        Ok(())
    }
}
