//! How the kernel schedules the calling thread.

use nix::errno::Errno;
use nix::libc;

/// Sets the policy and the priority of the calling thread (sched(7)): `libc::SCHED_FIFO` with 1 to 99, or another one with 0.
///
/// # Errors
/// `EPERM` when the process may not (CAP_SYS_NICE, or RLIMIT_RTPRIO).
#[allow(unsafe_code)]
pub fn schedule(policy: libc::c_int, priority: libc::c_int) -> Result<(), Errno> {
    // musl's `sched_setscheduler` only fails. SAFETY: the kernel's `sched_param` is one number, which lives until it returns; 0
    // is the calling thread.
    let done =
        unsafe { libc::syscall(libc::SYS_sched_setscheduler, 0, policy, &raw const priority) };
    Errno::result(done).map(|_| ())
}
