//! The user's terminal: its keys one by one; and the size of the terminal of a shell.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::io::OwnedFd;

use nix::libc;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::pty::Winsize;
use nix::sys::termios::{LocalFlags, SetArg, Termios, cfmakeraw, tcgetattr, tcsetattr};

/// A terminal that gives keys one by one for as long as this lives.
#[derive(Debug)]
pub(crate) struct Keys {
    terminal: OwnedFd,
    before: Termios,
}

/// The meaning of keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Taken {
    /// Single keys; Ctrl-C interrupts as ever.
    Singly,
    /// All bytes as they arrive, for a shell.
    Raw,
}

impl Keys {
    /// Takes the keys of a terminal.
    pub(crate) fn take(terminal: impl AsFd, taken: Taken) -> io::Result<Keys> {
        let terminal = terminal.as_fd().try_clone_to_owned()?;
        let before = tcgetattr(&terminal)?;
        let mut changed = before.clone();
        match taken {
            Taken::Singly => changed.local_flags.remove(LocalFlags::ICANON | LocalFlags::ECHO),
            Taken::Raw => cfmakeraw(&mut changed),
        }
        tcsetattr(&terminal, SetArg::TCSADRAIN, &changed)?;
        Ok(Keys { terminal, before })
    }
}

impl AsFd for Keys {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.terminal.as_fd()
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        // A terminal that is gone needs no setting.
        let _ = tcsetattr(&self.terminal, SetArg::TCSADRAIN, &self.before);
    }
}

/// Waits for at most `millis` until something can be read, and says of which that is so.
pub(crate) fn readable<const N: usize>(fds: [BorrowedFd<'_>; N], millis: u8) -> [bool; N] {
    let mut polled = fds.map(|fd| PollFd::new(fd, PollFlags::POLLIN));
    // An interruption is as good as nothing to read.
    let _ = poll(&mut polled, PollTimeout::from(millis));
    polled.map(|fd| fd.any().unwrap_or(false))
}

/// Tells a terminal how large it is.
#[allow(unsafe_code)]
pub(crate) fn set_size(terminal: impl AsFd, size: Winsize) {
    // SAFETY: the kernel reads one `winsize`, which lives until it returns.
    unsafe { libc::ioctl(terminal.as_fd().as_raw_fd(), libc::TIOCSWINSZ, &raw const size) };
}
