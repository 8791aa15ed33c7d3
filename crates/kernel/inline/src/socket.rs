//! AF_XDP sockets: one for each receive queue of a device.

use std::os::fd::{AsRawFd, BorrowedFd};

use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, send};
use xdp::slab::{HeapSlab, Slab};
use xdp::socket::{XdpSocket, XdpSocketBuilder};
use xdp::umem::{FrameSize, UmemCfgBuilder};
use xdp::{RingConfigBuilder, Rings, Umem};

use crate::Error;

/// Frames that are received, and as many that are sent, per queue. A power of two.
const RING: u32 = 2048;

/// Frames in the hands of the device at once. More would wait there, and not in the policy's queue.
const MAX_SENDING: usize = 256;

/// The number of frames that are received at once.
pub(crate) const BATCH: usize = 64;

/// Bytes that the kernel keeps free before a frame (`XDP_PACKET_HEADROOM`), and a place of 4 KiB.
const HEADROOM: u32 = 256;
const PLACE: u32 = 4096;

/// The longest frame that a socket can take.
pub(crate) const MAX_FRAME: u32 = PLACE - HEADROOM;

/// A socket that receives the frames of one queue of a device, and sends frames to the device.
pub(crate) struct Socket {
    // The rings are closed before the memory that their entries point to.
    rings: Rings,
    socket: XdpSocket,
    umem: Umem,
    received: HeapSlab,
    to_send: HeapSlab,
    /// Frames in the hands of the device.
    sending: usize,
}

impl Socket {
    /// Opens a socket at a queue of a device with this number.
    pub(crate) fn open(device: &str, index: u32, queue: u32) -> Result<Socket, Error> {
        let failed = |why: String| Error::Socket { device: device.to_owned(), queue, why };
        let config = UmemCfgBuilder {
            frame_size: FrameSize::FourK,
            frame_count: 2 * RING,
            ..Default::default()
        };
        let config = config.build().map_err(|error| failed(error.to_string()))?;
        let mut umem = Umem::map(config).map_err(|error| failed(error.to_string()))?;
        let rings = RingConfigBuilder {
            rx_count: RING,
            tx_count: RING,
            fill_count: RING,
            completion_count: RING,
        };
        let rings = rings.build().map_err(|error| failed(error.to_string()))?;
        let socket_error = |error: xdp::socket::SocketError| failed(reason(&error));
        let mut builder = XdpSocketBuilder::new().map_err(socket_error)?;
        let (mut rings, flags) = builder.build_rings(&umem, rings).map_err(socket_error)?;
        let socket = builder.bind(xdp::nic::NicIndex(index), queue, flags);
        let socket = socket.map_err(socket_error)?;
        fill(&mut rings, &mut umem, RING as usize);
        let slab = || HeapSlab::with_capacity(BATCH);
        Ok(Socket { rings, socket, umem, received: slab(), to_send: slab(), sending: 0 })
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        borrowed(&self.socket)
    }

    /// Calls `take` for each received frame, up to a batch, and returns their number.
    #[allow(unsafe_code)]
    pub(crate) fn receive(&mut self, mut take: impl FnMut(&[u8])) -> usize {
        let Some(ring) = &mut self.rings.rx_ring else { return 0 };
        // SAFETY: the packets go back to the memory below, before it is dropped.
        let count = unsafe { ring.recv(&self.umem, &mut self.received) };
        while let Some(packet) = self.received.pop_back() {
            take(&packet);
            self.umem.free_packet(packet);
        }
        if count > 0 {
            fill(&mut self.rings, &mut self.umem, count);
        }
        count
    }

    /// Whether another frame can be sent now.
    pub(crate) fn has_room(&mut self) -> bool {
        if self.sending + self.to_send.len() >= MAX_SENDING {
            self.collect();
        }
        self.sending + self.to_send.len() < MAX_SENDING && self.to_send.available() > 0
    }

    /// Puts a frame into the next batch. There [is room](Self::has_room).
    #[allow(unsafe_code)]
    pub(crate) fn push(&mut self, frame: &[u8]) {
        // SAFETY: the packet goes to the ring, or back to the memory, before this is dropped.
        let packet = unsafe { self.umem.alloc() };
        let mut packet = packet.expect("half of the places are for frames that are sent");
        packet.append(frame).expect("a frame that was received fits");
        self.to_send.push_front(packet);
    }

    /// Sends the batch.
    #[allow(unsafe_code)]
    pub(crate) fn flush(&mut self) {
        if let Some(ring) = &mut self.rings.tx_ring
            && !self.to_send.is_empty()
        {
            // SAFETY: the memory lives as long as the ring.
            self.sending += unsafe { ring.send(&mut self.to_send) };
        }
        self.collect();
        // In copy mode, a call sends a number of frames only.
        for _ in 0..=self.sending / KERNEL_BATCH {
            let kicked = send(self.socket.as_raw_fd(), &[], MsgFlags::MSG_DONTWAIT);
            if !matches!(kicked, Ok(_) | Err(Errno::EAGAIN | Errno::EBUSY | Errno::ENOBUFS)) {
                break;
            }
            self.collect();
            if self.sending == 0 {
                break;
            }
        }
    }

    /// Takes back the places of frames that were sent.
    fn collect(&mut self) {
        let completed = &mut self.rings.completion_ring;
        self.sending -= completed.dequeue(&mut self.umem, RING as usize);
    }

    /// Frames that came faster than they were taken.
    pub(crate) fn lost(&self) -> u64 {
        self.socket.statistics().map_or(0, |found| {
            found.rx_dropped + found.rx_ring_full + found.rx_fill_ring_empty_descs
        })
    }
}

/// Frames that the kernel sends in one call in copy mode (`TX_BATCH_SIZE`).
const KERNEL_BATCH: usize = 32;

#[allow(unsafe_code)]
fn fill(rings: &mut Rings, umem: &mut Umem, count: usize) {
    // SAFETY: the memory lives as long as the ring.
    unsafe { rings.fill_ring.enqueue(umem, count) };
}

#[allow(unsafe_code)]
fn borrowed(socket: &XdpSocket) -> BorrowedFd<'_> {
    // SAFETY: the descriptor is open as long as the socket, which is borrowed.
    unsafe { BorrowedFd::borrow_raw(socket.raw_fd()) }
}

/// The kernel's reason, without the name of the step.
fn reason(error: &xdp::socket::SocketError) -> String {
    let source = std::error::Error::source(error);
    source.map_or_else(|| error.to_string(), ToString::to_string)
}

impl AsRawFd for Socket {
    fn as_raw_fd(&self) -> std::os::fd::RawFd {
        self.socket.raw_fd()
    }
}
