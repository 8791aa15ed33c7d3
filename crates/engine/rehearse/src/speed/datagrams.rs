//! A sender that sends as many datagrams as it can, or a given number each second; a receiver that counts them and
//! measures their delay.

use std::io::{IoSlice, IoSliceMut};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration as Wall;

use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, MultiHeaders, SockaddrIn, recvmmsg, sendmmsg};
use shortflow_measure::Histogram;
use shortflow_units::Duration;

use crate::realtime::{Priority, prefer_this_thread};

/// Datagrams that are sent or received at a time.
const BATCH: usize = 32;

/// How many flows there are, each from a port of its own.
pub(super) const FLOWS: usize = 16;

/// How long the receiver waits before it looks whether it is to stop.
const POLL_INTERVAL: Wall = Wall::from_millis(20);

/// Bytes of the headers of IPv4 and UDP.
const HEADERS: u32 = 28;

/// Sends datagrams of `size` bytes, headers included, one flow after the other, until stopped. After each batch it
/// yields to other real-time threads, in case there are fewer processors than threads.
pub(super) fn send(sockets: &[UdpSocket], size: u32, stop: &AtomicBool) -> Result<(), Errno> {
    let _preferred = prefer_this_thread(Priority::Load);
    let payload = vec![0; size.saturating_sub(HEADERS) as usize];
    let slices: Vec<[IoSlice<'_>; 1]> = (0..BATCH).map(|_| [IoSlice::new(&payload)]).collect();
    let nowhere_else = [None::<SockaddrIn>; BATCH];
    let mut headers = MultiHeaders::preallocate(BATCH, None);
    for socket in sockets.iter().cycle() {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let flags = MsgFlags::empty();
        match sendmmsg(socket.as_raw_fd(), &mut headers, &slices, nowhere_else, [], flags) {
            // The queue of the device is full, or the way to the receiver is not known yet.
            Ok(_) | Err(Errno::ENOBUFS | Errno::EAGAIN | Errno::EINTR | Errno::ECONNREFUSED) => {}
            Err(errno) => return Err(errno),
        }
        std::thread::yield_now();
    }
    Ok(())
}

/// Sends `per_second` datagrams of `size` bytes at equal intervals, each with the time at which it was due, until stopped.
/// Returns how late they were sent, in nanoseconds: on a busy machine the sender itself waits.
pub(super) fn send_paced(
    sockets: &[UdpSocket],
    size: u32,
    per_second: f64,
    stop: &AtomicBool,
) -> Result<Histogram, Errno> {
    let _preferred = prefer_this_thread(Priority::Load);
    let mut lateness = Histogram::default();
    let mut payload = vec![0; size.saturating_sub(HEADERS) as usize];
    let begun = now()?;
    for (number, socket) in sockets.iter().cycle().enumerate() {
        let due = begun + (number as f64 / per_second * 1e9) as u64;
        let mut at = now()?;
        while at < due {
            std::thread::yield_now();
            at = now()?;
        }
        if stop.load(Ordering::Relaxed) {
            break;
        }
        lateness.record(Duration::from_nanos(at - due));
        payload[..STAMP].copy_from_slice(&due.to_le_bytes());
        match nix::sys::socket::send(socket.as_raw_fd(), &payload, MsgFlags::empty()) {
            Ok(_) | Err(Errno::ENOBUFS | Errno::EAGAIN | Errno::EINTR | Errno::ECONNREFUSED) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(lateness)
}

/// Bytes of a time in a datagram. It is 0 if the delay is not measured.
const STAMP: usize = 8;

/// Nanoseconds of the monotonic clock.
fn now() -> Result<u64, Errno> {
    let time = nix::time::clock_gettime(nix::time::ClockId::CLOCK_MONOTONIC)?;
    Ok(time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64)
}

/// Counts received datagrams until stopped. Returns the delays, in nanoseconds, of those that carry a time.
pub(super) fn receive(
    socket: &UdpSocket,
    came: &AtomicU64,
    stop: &AtomicBool,
) -> Result<Histogram, Errno> {
    let _preferred = prefer_this_thread(Priority::Load);
    let mut delays = Histogram::default();
    let mut places = vec![[0; 2048]; BATCH];
    let mut headers: MultiHeaders<SockaddrIn> = MultiHeaders::preallocate(BATCH, None);
    while !stop.load(Ordering::Relaxed) {
        let mut slices: Vec<[IoSliceMut<'_>; 1]> =
            places.iter_mut().map(|place| [IoSliceMut::new(place)]).collect();
        let flags = MsgFlags::MSG_WAITFORONE;
        match recvmmsg(socket.as_raw_fd(), &mut headers, &mut slices, flags, None) {
            Ok(received) => {
                let (count, now) = (received.count(), now()?);
                came.fetch_add(count as u64, Ordering::Relaxed);
                for place in places.iter().take(count) {
                    let stamp = u64::from_le_bytes(std::array::from_fn(|at| place[at]));
                    if stamp > 0 {
                        delays.record(Duration::from_nanos(now.saturating_sub(stamp)));
                    }
                }
            }
            Err(Errno::EAGAIN | Errno::EINTR) => {}
            Err(errno) => return Err(errno),
        };
    }
    Ok(delays)
}

/// The sockets of the sender.
pub(super) fn senders(to: SocketAddr) -> std::io::Result<Vec<UdpSocket>> {
    let one = |_| {
        let socket = UdpSocket::bind("0.0.0.0:0")?;
        socket.connect(to)?;
        Ok(socket)
    };
    (0..FLOWS).map(one).collect()
}

/// The socket of the receiver, which holds some milliseconds of what comes.
pub(super) fn receiver(at: SocketAddr) -> std::io::Result<UdpSocket> {
    let socket = UdpSocket::bind(at)?;
    socket.set_read_timeout(Some(POLL_INTERVAL))?;
    // The kernel gives what it may: whoever is not root gets less.
    let _ = socket2::SockRef::from(&socket).set_recv_buffer_size(ROOM);
    Ok(socket)
}

/// Bytes of the receiver's buffer.
const ROOM: usize = 8 << 20;
