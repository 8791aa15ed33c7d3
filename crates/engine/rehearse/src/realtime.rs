//! Thread priorities: real time, and idle.

use nix::errno::Errno;
use nix::libc;
use shortflow_inline::schedule;

/// Which of the threads that want to run goes first.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Priority {
    /// What carries packets: nothing may keep it waiting.
    Router = 50,
    /// What opens connections and sends datagrams: only the router goes before it.
    Load = 40,
}

/// The thread is preferred as long as this lives.
#[derive(Debug)]
pub(crate) struct Preferred;

/// Lets the thread run before all others that are not real-time (sched(7): SCHED_FIFO).
///
/// # Errors
/// `EPERM` when the process may not (CAP_SYS_NICE, or RLIMIT_RTPRIO).
pub(crate) fn prefer_this_thread(priority: Priority) -> Result<Preferred, Errno> {
    schedule(libc::SCHED_FIFO, priority as libc::c_int).map(|()| Preferred)
}

impl Drop for Preferred {
    fn drop(&mut self) {
        // Whoever may go first may go back.
        let _ = schedule(libc::SCHED_OTHER, 0);
    }
}

/// Lets all other threads run before this one (sched(7): SCHED_IDLE).
///
/// # Errors
/// Where the kernel forbids it.
pub(crate) fn yield_to_all() -> Result<(), Errno> {
    schedule(libc::SCHED_IDLE, 0)
}
