//! The kernel's report on a connection (tcp(7): TCP_INFO).

use std::os::fd::AsRawFd;

use nix::libc;
use shortflow_measure::{Phase, TcpState};
use shortflow_units::Duration;
use socket2::Socket;

/// The used part of the kernel's report on a connection. An older kernel reports less.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct TcpInfo {
    /// Segments sent again, SYNs included.
    pub(crate) retransmissions: u32,
    /// Retransmission timeouts, those of SYNs included; from Linux 6.7 on.
    pub(crate) timeouts: Option<u32>,
    /// Bytes that the kernel has taken and has not sent.
    pub(crate) unsent: u32,
    /// Whether the handshake is done and neither end has closed.
    pub(crate) is_established: bool,
    /// How its sender stands.
    pub(crate) state: TcpState,
}

/// Bytes of the kernel's `struct tcp_info` (linux/tcp.h) up to and with `tcpi_total_rto`.
const LENGTH: usize = 242;

/// What `tcpi_snd_ssthresh` is before the first loss.
const NO_THRESHOLD: u32 = 0x7fff_ffff;

/// `TCP_ESTABLISHED` of include/net/tcp_states.h.
const ESTABLISHED: u8 = 1;

impl TcpInfo {
    /// What the kernel tells now; nothing of a socket that it no longer knows.
    pub(crate) fn query(socket: &Socket) -> TcpInfo {
        let mut bytes = [0; LENGTH];
        let mut length = LENGTH as libc::socklen_t;
        #[allow(unsafe_code)]
        // SAFETY: the descriptor is open, and the kernel writes at most `length` bytes, which there are.
        let done = unsafe {
            libc::getsockopt(
                socket.as_raw_fd(),
                libc::IPPROTO_TCP,
                libc::TCP_INFO,
                bytes.as_mut_ptr().cast(),
                &raw mut length,
            )
        };
        let field = if done == 0 { length as usize } else { 0 };
        TcpInfo::read(bytes.get(..field).unwrap_or(&bytes))
    }

    /// Reads a `struct tcp_info`, of which older kernels give only a first part.
    fn read(bytes: &[u8]) -> TcpInfo {
        let field =
            |at: usize| bytes.get(at..at + 4)?.first_chunk().copied().map(u32::from_ne_bytes);
        let four = |at: usize| field(at).unwrap_or_default();
        let micros = |at: usize| Duration::from_micros(u64::from(four(at)));
        let two = |at: usize| bytes.get(at..at + 2)?.first_chunk().copied().map(u16::from_ne_bytes);
        TcpInfo {
            retransmissions: four(100),
            timeouts: two(240).map(u32::from),
            unsent: four(144),
            is_established: bytes.first() == Some(&ESTABLISHED),
            state: TcpState {
                phase: phase(bytes.get(1).copied().unwrap_or_default()),
                window: four(80),
                threshold: field(76).filter(|threshold| *threshold < NO_THRESHOLD),
                round_trip: micros(68),
                variation: micros(72),
                timeout: micros(8),
                segment: four(16),
                outstanding: four(24),
                lost: four(32),
                retransmissions: four(100),
                delivered: field(192),
                marked: field(196),
                timeouts: two(240).map(u32::from),
            },
        }
    }
}

/// `enum tcp_ca_state` of linux/tcp.h.
fn phase(number: u8) -> Phase {
    match number {
        1 => Phase::Disorder,
        2 => Phase::Reduced,
        3 => Phase::Recovery,
        4 => Phase::Loss,
        _ => Phase::Open,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a kernel might tell: each field of four bytes is its own place, in recovery.
    fn sample_bytes() -> Vec<u8> {
        let places = (0..LENGTH as u32 / 4).flat_map(|word| (word * 4).to_ne_bytes());
        let mut bytes: Vec<u8> = places.collect();
        bytes[1] = 3;
        bytes.extend_from_slice(&7u16.to_ne_bytes());
        bytes
    }

    #[test]
    fn fields_are_read_from_where_the_kernel_has_them() {
        let info = TcpInfo::read(&sample_bytes());
        let state = info.state;
        assert_eq!((info.retransmissions, info.timeouts), (100, Some(7)));
        assert_eq!((state.phase, state.window, state.threshold), (Phase::Recovery, 80, Some(76)));
        let times = [state.timeout, state.round_trip, state.variation];
        assert_eq!(times, [8, 68, 72].map(Duration::from_micros));
        assert_eq!((state.segment, state.outstanding, state.lost), (16, 24, 32));
        assert_eq!((info.unsent, info.is_established), (144, false));
        assert_eq!((state.delivered, state.marked), (Some(192), Some(196)));
    }

    #[test]
    fn what_an_older_kernel_does_not_tell_is_not_made_up() {
        // Linux 4.17 had 192 bytes, Linux 2.6 104.
        for (length, delivered) in [(240, Some(192)), (196, Some(192)), (192, None), (104, None)] {
            let info = TcpInfo::read(&sample_bytes()[..length]);
            assert_eq!((info.timeouts, info.state.delivered), (None, delivered), "{length}");
            assert_eq!((info.retransmissions, info.state.window), (100, 80));
        }
        for length in 0..=LENGTH {
            TcpInfo::read(&sample_bytes()[..length]);
        }
        assert_eq!(TcpInfo::read(&[]), TcpInfo::default());
    }

    #[test]
    fn a_threshold_that_no_loss_has_set_is_none() {
        let mut bytes = sample_bytes();
        bytes[76..80].copy_from_slice(&NO_THRESHOLD.to_ne_bytes());
        assert_eq!(TcpInfo::read(&bytes).state.threshold, None);
    }
}
