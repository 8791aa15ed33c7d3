//! An AF_XDP socket at the other end of a host's cable (linux/Documentation/networking/af_xdp.rst), in copy mode,
//! which every device supports.
//!
//! ```text
//!  from the host ── program ──▶ received ──▶ read ── frame ──▶ to_fill
//!  to the host   ◀──────────── to_send ◀── write ◀── frame ── sent
//! ```

mod memory;
mod program;
mod ring;

use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use nix::errno::Errno;
use nix::libc;

use super::cable::{ADDRESS, ETHERNET, End};
use crate::Error;
use memory::Memory;
use program::Redirection;
use ring::Ring;

/// An AF_XDP socket with its memory.
#[derive(Debug)]
pub struct Xdp {
    /// What comes from the host, and frames for more of it.
    received: Ring<libc::xdp_desc>,
    to_fill: Ring<u64>,
    /// What goes to the host, and frames that have gone.
    to_send: Ring<libc::xdp_desc>,
    sent: Ring<u64>,
    /// Frames in which nothing is, and frames that are to be filled as soon as there is room in the ring.
    free: Vec<u64>,
    spare: Vec<u64>,
    /// Bytes of a frame: a power of two.
    frame: u32,
    memory: Memory,
    _redirection: Redirection,
    socket: OwnedFd,
}

/// Packets that wait to be read or to be sent at most. Rings into which frames are put for the kernel have twice
/// the room: it tells late what it has taken out.
const TO_READ: u32 = 1024;
const TO_SEND: u32 = 512;

/// Bytes that the kernel keeps free before a packet (XDP_PACKET_HEADROOM).
const HEADROOM: u32 = 256;

impl Xdp {
    /// Opens a socket at an end in the namespace of the thread.
    pub(super) fn bind(end: &End) -> Result<Xdp, Error> {
        let needed = end.mtu + HEADROOM + ETHERNET as u32;
        let Some(frame) = [2048, 4096].into_iter().find(|&frame| needed <= frame) else {
            return Err(Error::TooLargeForXdp { mtu: end.mtu });
        };
        let socket = open().map_err(Error::NoXdp)?;
        let failed = Error::NoXdp;
        let memory = Memory::new(TO_READ + TO_SEND, frame).map_err(failed)?;
        let (addr, len) = memory.place();
        let (headroom, flags, tx_metadata_len) = (0, 0, 0);
        let region =
            libc::xdp_umem_reg { addr, len, chunk_size: frame, headroom, flags, tx_metadata_len };
        set(&socket, libc::XDP_UMEM_REG, &region).map_err(failed)?;
        let rings = [
            (libc::XDP_UMEM_FILL_RING, 2 * TO_READ),
            (libc::XDP_RX_RING, TO_READ),
            (libc::XDP_UMEM_COMPLETION_RING, TO_SEND),
            (libc::XDP_TX_RING, 2 * TO_SEND),
        ];
        rings.iter().try_for_each(|(ring, size)| set(&socket, *ring, size)).map_err(failed)?;
        let offsets = offsets(&socket).map_err(failed)?;
        let (fill, sent) = (libc::XDP_UMEM_PGOFF_FILL_RING, libc::XDP_UMEM_PGOFF_COMPLETION_RING);
        let map = |at, size, of| Ring::map(&socket, at, size, of);
        let mut to_fill: Ring<u64> =
            Ring::map(&socket, fill as libc::off_t, 2 * TO_READ, &offsets.fr).map_err(failed)?;
        let received = map(libc::XDP_PGOFF_RX_RING, TO_READ, &offsets.rx).map_err(failed)?;
        let to_send = map(libc::XDP_PGOFF_TX_RING, 2 * TO_SEND, &offsets.tx).map_err(failed)?;
        let sent = Ring::map(&socket, sent as libc::off_t, TO_SEND, &offsets.cr).map_err(failed)?;
        let mut frames = (0..u64::from(TO_READ + TO_SEND)).map(|number| number * u64::from(frame));
        assert!(frames.by_ref().take(TO_READ as usize).all(|at| to_fill.push(at)));
        bind(&socket, end.index).map_err(failed)?;
        let redirection = Redirection::new(end.index, socket.as_raw_fd()).map_err(failed)?;
        let free = frames.collect();
        let _redirection = redirection;
        let spare = Vec::with_capacity(TO_READ as usize);
        Ok(Xdp {
            received,
            to_fill,
            to_send,
            sent,
            free,
            spare,
            frame,
            memory,
            _redirection,
            socket,
        })
    }

    pub(super) fn read(&mut self, packet: &mut [u8]) -> io::Result<usize> {
        let Some(found) = self.received.pop() else { return Err(ErrorKind::WouldBlock.into()) };
        let bytes = self.memory.bytes(found.addr, found.len as usize);
        let bytes = bytes.get(ETHERNET..).unwrap_or_default();
        // What does not fit is cut off, as by other sockets.
        let length = bytes.len().min(packet.len());
        packet[..length].copy_from_slice(&bytes[..length]);
        self.spare.push(found.addr & !u64::from(self.frame - 1));
        while let Some(&at) = self.spare.last()
            && self.to_fill.push(at)
        {
            self.spare.pop();
        }
        Ok(length)
    }

    pub(super) fn write(&mut self, packet: &[u8]) -> io::Result<()> {
        while let Some(at) = self.sent.pop() {
            self.free.push(at);
        }
        let length = ETHERNET + packet.len();
        if length > self.frame as usize {
            return Err(ErrorKind::InvalidInput.into());
        }
        // The host does not take what it was sent.
        let Some(at) = self.free.pop() else { return Err(ErrorKind::WouldBlock.into()) };
        let frame = self.memory.bytes(at, length);
        frame[..ETHERNET].copy_from_slice(&header(packet));
        frame[ETHERNET..].copy_from_slice(packet);
        let descriptor = libc::xdp_desc { addr: at, len: length as u32, options: 0 };
        if !self.to_send.push(descriptor) {
            self.free.push(at);
            return Err(ErrorKind::WouldBlock.into());
        }
        match kick(&self.socket) {
            // The packet is in the ring, and goes with the next.
            Err(Errno::EAGAIN | Errno::EBUSY | Errno::ENOBUFS) => Ok(()),
            done => Ok(done?),
        }
    }
}

impl Xdp {
    /// Packets of the host that came faster than they were read.
    #[allow(unsafe_code)]
    pub(super) fn lost(&self) -> u64 {
        // SAFETY: all zeros are statistics: plain numbers.
        let mut found: libc::xdp_statistics = unsafe { std::mem::zeroed() };
        let mut length = size_of_val(&found) as libc::socklen_t;
        let (place, option) = ((&raw mut found).cast(), libc::XDP_STATISTICS);
        // SAFETY: the kernel writes as many bytes at most as the statistics have.
        let _ = unsafe {
            libc::getsockopt(self.socket.as_raw_fd(), libc::SOL_XDP, option, place, &raw mut length)
        };
        found.rx_dropped + found.rx_ring_full
    }
}

impl AsFd for Xdp {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// The header of Ethernet before a packet for a host.
fn header(packet: &[u8]) -> [u8; ETHERNET] {
    let is_v6 = packet.first().is_some_and(|first| first >> 4 == 6);
    let mut header = [0; ETHERNET];
    header[..6].copy_from_slice(&ADDRESS);
    header[6..12].copy_from_slice(&ADDRESS);
    let protocol = if is_v6 { libc::ETH_P_IPV6 } else { libc::ETH_P_IP } as u16;
    header[12..].copy_from_slice(&protocol.to_be_bytes());
    header
}

#[allow(unsafe_code)]
fn open() -> Result<OwnedFd, Errno> {
    let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
    // SAFETY: the call has no pointers.
    let socket = Errno::result(unsafe { libc::socket(libc::AF_XDP, kind, 0) })?;
    // SAFETY: the descriptor was just opened, and nobody else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(socket) })
}

/// Sets an option of AF_XDP.
#[allow(unsafe_code)]
fn set<T>(socket: &OwnedFd, option: libc::c_int, to: &T) -> Result<(), Errno> {
    let (value, length) = ((&raw const *to).cast(), size_of::<T>() as libc::socklen_t);
    // SAFETY: the kernel reads as many bytes as the value has, which lives until it returns.
    let done =
        unsafe { libc::setsockopt(socket.as_raw_fd(), libc::SOL_XDP, option, value, length) };
    Errno::result(done).map(|_| ())
}

/// Where in the mappings of rings their parts are.
#[allow(unsafe_code)]
fn offsets(socket: &OwnedFd) -> Result<libc::xdp_mmap_offsets, Errno> {
    // SAFETY: all zeros are offsets: plain numbers.
    let mut offsets: libc::xdp_mmap_offsets = unsafe { std::mem::zeroed() };
    let mut length = size_of_val(&offsets) as libc::socklen_t;
    let (place, option) = ((&raw mut offsets).cast(), libc::XDP_MMAP_OFFSETS);
    // SAFETY: the kernel writes as many bytes at most as the offsets have.
    let done = unsafe {
        libc::getsockopt(socket.as_raw_fd(), libc::SOL_XDP, option, place, &raw mut length)
    };
    Errno::result(done)?;
    // Kernels before 5.4 have shorter ones.
    if length as usize == size_of_val(&offsets) { Ok(offsets) } else { Err(Errno::EOPNOTSUPP) }
}

/// Binds a socket to the first queue of a device.
#[allow(unsafe_code)]
fn bind(socket: &OwnedFd, device: u32) -> Result<(), Errno> {
    let address = libc::sockaddr_xdp {
        sxdp_family: libc::AF_XDP as u16,
        sxdp_flags: libc::XDP_COPY,
        sxdp_ifindex: device,
        sxdp_queue_id: 0,
        sxdp_shared_umem_fd: 0,
    };
    let (place, length) = ((&raw const address).cast(), size_of_val(&address) as libc::socklen_t);
    // SAFETY: the kernel reads one address, which lives until it returns.
    Errno::result(unsafe { libc::bind(socket.as_raw_fd(), place, length) }).map(|_| ())
}

/// Lets the kernel send what is in the ring.
#[allow(unsafe_code)]
fn kick(socket: &OwnedFd) -> Result<(), Errno> {
    let (socket, nothing) = (socket.as_raw_fd(), std::ptr::null());
    // SAFETY: nothing is read: the kernel takes what is in the ring.
    let done = unsafe { libc::sendto(socket, nothing, 0, libc::MSG_DONTWAIT, std::ptr::null(), 0) };
    Errno::result(done).map(|_| ())
}
