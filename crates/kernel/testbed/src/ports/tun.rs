//! A TUN device: reads receive the host's packets, and writes send packets to the host.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;

use nix::errno::Errno;
use nix::libc;

use crate::Error;

/// Where TUN devices are made.
const DEVICE: &str = "/dev/net/tun";

/// The descriptor of a TUN device: one IP packet for each read and write, without any header before it.
#[derive(Debug)]
pub struct Tun(File);

impl Tun {
    /// Makes a device of this name in the network namespace of the thread. It is gone when this is dropped.
    pub(super) fn create(name: &str) -> Result<Tun, Error> {
        let flags = libc::O_NONBLOCK | libc::O_CLOEXEC;
        let opened = OpenOptions::new().read(true).write(true).custom_flags(flags).open(DEVICE);
        let file =
            opened.map_err(|error| match Errno::from_raw(error.raw_os_error().unwrap_or(0)) {
                errno @ (Errno::EMFILE | Errno::ENFILE) => Error::kernel("TUN")(errno),
                errno => Error::NoTunFile { errno },
            })?;
        set_interface(&file, name).map_err(|errno| Error::NoTun { errno })?;
        Ok(Tun(file))
    }

    /// Reads the next packet that the host sends; an error of kind `WouldBlock` if there is no packet.
    ///
    /// # Errors
    /// Whatever the kernel says.
    pub(super) fn read(&self, packet: &mut [u8]) -> io::Result<usize> {
        (&self.0).read(packet)
    }

    /// Gives the host a packet.
    ///
    /// # Errors
    /// Whatever the kernel says, such as `InvalidInput` of a packet that is none.
    pub(super) fn write(&self, packet: &[u8]) -> io::Result<()> {
        (&self.0).write(packet).map(|_| ())
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Packets that the device of the thread's network namespace could not queue; `None` if the kernel does not report
/// it.
pub(super) fn lost() -> u64 {
    let counters = std::fs::read_to_string("/proc/thread-self/net/dev").unwrap_or_default();
    let of_device = counters
        .lines()
        .find_map(|line| line.trim_start().strip_prefix(crate::host::DEVICE)?.strip_prefix(':'));
    // Eight numbers of what was received; then bytes, packets, errors, and what was dropped of what was sent.
    let dropped = of_device.and_then(|numbers| numbers.split_whitespace().nth(11));
    dropped.and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// `TUNSETIFF` of linux/if_tun.h: `_IOW('T', 202, int)`, whose argument is an `ifreq` all the same.
const TUNSETIFF: libc::c_ulong = 0x4004_54ca;

#[allow(unsafe_code)]
fn set_interface(file: &File, name: &str) -> Result<(), Errno> {
    mod ioctl {
        nix::ioctl_write_ptr_bad!(tunsetiff, super::TUNSETIFF, nix::libc::ifreq);
    }
    // SAFETY: all zeros are an `ifreq`: an empty name, and a union of plain numbers.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    assert!(name.len() < request.ifr_name.len(), "a device's name has 15 bytes at most");
    for (place, byte) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *place = byte as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as libc::c_short;
    // SAFETY: the descriptor is open, and the kernel reads one `ifreq`, which lives until it returns.
    unsafe { ioctl::tunsetiff(file.as_raw_fd(), &request) }.map(|_| ())
}
