//! The first process of a PID namespace.

use std::fs::File;
use std::io::Read;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::libc;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::waitpid;
use nix::unistd::{ForkResult, Pid, fork, pipe2};

use crate::Error;

/// The first process of a PID namespace, with which all others end.
#[derive(Debug)]
pub(super) struct Init {
    pub(super) pid: Pid,
    /// When this is closed, it ends.
    _life: OwnedFd,
}

impl Init {
    /// Starts it as the first process of the PID namespace of this thread's children.
    #[allow(unsafe_code)]
    pub(super) fn start() -> Result<Init, Error> {
        let failed = Error::kernel("cannot start the first process of a host");
        let made = || -> Result<(Init, File), Errno> {
            let (listens, life) = pipe2(OFlag::O_CLOEXEC)?;
            let (status, tells) = pipe2(OFlag::O_CLOEXEC)?;
            // SAFETY: the child makes nothing but system calls until it ends.
            match unsafe { fork() }? {
                ForkResult::Child => be_init(listens.as_raw_fd(), tells.as_raw_fd()),
                ForkResult::Parent { child } => {
                    Ok((Init { pid: child, _life: life }, File::from(status)))
                }
            }
        };
        let (init, mut status) = made().map_err(failed)?;
        let mut errno = [0; 4];
        let errno = status.read_exact(&mut errno).map(|()| i32::from_ne_bytes(errno));
        match errno {
            Ok(0) => Ok(init),
            Ok(errno) => {
                let what = "cannot mount /proc for programs";
                Err(Error::kernel(what)(Errno::from_raw(errno)))
            }
            Err(source) => Err(Error::Kernel { what: "the first process of a host ended", source }),
        }
    }
}

impl Drop for Init {
    /// Ends it, and with it all other processes of the namespace, and waits until they are gone.
    fn drop(&mut self) {
        let _ = kill(self.pid, Signal::SIGKILL);
        while waitpid(self.pid, None) == Err(Errno::EINTR) {}
    }
}

/// The child's code: it reports whether it could mount /proc for its namespace, and waits until the pipe `listens`
/// closes. It has no other file open, and reaps its orphans automatically.
#[allow(unsafe_code)]
fn be_init(listens: RawFd, tells: RawFd) -> ! {
    // SAFETY: all arguments are numbers, or texts and places that live until the calls return.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        libc::setsid();
        libc::signal(libc::SIGCHLD, libc::SIG_IGN);
        libc::dup2(listens, 0);
        libc::dup2(tells, 1);
        libc::syscall(libc::SYS_close_range, 2, libc::c_uint::MAX, 0);
        let name = c"proc".as_ptr();
        let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
        let mounted = libc::mount(name, c"/proc".as_ptr(), name, flags, std::ptr::null());
        let errno = if mounted == 0 { 0 } else { *libc::__errno_location() };
        libc::write(1, (&raw const errno).cast(), size_of::<libc::c_int>());
        libc::close(1);
        let mut byte = 0u8;
        while libc::read(0, (&raw mut byte).cast(), 1) < 0
            && *libc::__errno_location() == libc::EINTR
        {}
        libc::_exit(0)
    }
}
