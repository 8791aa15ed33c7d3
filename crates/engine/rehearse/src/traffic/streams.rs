//! Streams of datagrams over the sockets of hosts; each datagram carries its send time.

use std::net::{SocketAddr, UdpSocket};

use nix::sys::epoll::EpollFlags;
use rustc_hash::FxHashMap;
use shortflow_ebpf::Record;
use shortflow_measure::Recorder;
use shortflow_scenario::{IpVersion, NodeId};
use shortflow_units::Instant;
use socket2::Socket;

use super::name::Name;
use super::sources::StreamSpec;
use super::{LoadError, Place, socket};
use crate::clock::Clock;
use crate::wait::Wait;

/// Bytes of the UDP header.
const UDP_HEADER: u32 = 8;

/// Bytes that a datagram carries of ours: when it was sent.
const STAMP: usize = 8;

/// Bytes of the smallest datagram that can carry that, headers included.
pub(crate) const fn min_datagram(ip: IpVersion) -> u32 {
    ip.header() + UDP_HEADER + STAMP as u32
}

/// Bytes of the largest datagram, headers included: what a device takes in one piece, with what a program at it may
/// write before. A scenario's largest, 65,535 bytes, is cut to this.
pub(crate) const LARGEST_DATAGRAM: u32 = u16::MAX as u32 - Record::LENGTH as u32;

/// All streams, and their sockets.
pub(crate) struct Streams {
    specs: Vec<StreamSpec>,
    senders: Vec<Socket>,
    receivers: Vec<(NodeId, SocketAddr, UdpSocket)>,
    /// The stream of each receiver and source port.
    stream_of: FxHashMap<(NodeId, u16), u32>,
    payload: Vec<u8>,
}

impl Streams {
    /// Makes the sockets of these streams.
    ///
    /// # Errors
    /// When a kernel does not make one.
    pub(crate) fn new(
        specs: Vec<StreamSpec>,
        place: Place<'_>,
        wait: &Wait,
    ) -> Result<Streams, LoadError> {
        let mut streams = Streams {
            specs,
            senders: Vec::new(),
            receivers: Vec::new(),
            stream_of: FxHashMap::default(),
            payload: vec![0; LARGEST_DATAGRAM as usize],
        };
        for (number, spec) in (0..).zip(&streams.specs) {
            let StreamSpec { from, to, ip, source_port, port, dscp, .. } = *spec;
            let ends = [(from, source_port), (to, port)];
            let [near, far] = ends.map(|(node, port)| place.port(node, ip, port));
            streams.senders.push(place.socket(from, || socket::sender(near, far, dscp))?);
            streams.stream_of.insert((to, source_port), number);
            if !streams.receivers.iter().any(|(node, at, _)| (*node, *at) == (to, far)) {
                let socket = place.socket(to, || socket::receiver(far))?;
                let name = Name::Receiver(streams.receivers.len() as u32);
                wait.add(&socket, EpollFlags::EPOLLIN, name.number())?;
                streams.receivers.push((to, far, socket));
            }
        }
        Ok(streams)
    }

    /// The streams in the order of their numbers.
    pub(crate) fn specs(&self) -> &[StreamSpec] {
        &self.specs
    }

    /// Sends a datagram of `size` bytes, headers included.
    pub(crate) fn send(&mut self, stream: u32, size: u32, clock: Clock, recorder: &mut Recorder) {
        let size = size.min(LARGEST_DATAGRAM);
        let StreamSpec { workload, ip, .. } = self.specs[stream as usize];
        let headers = ip.header() + UDP_HEADER;
        let length = (size.saturating_sub(headers) as usize).max(STAMP);
        let now = clock.now();
        self.payload[..STAMP].copy_from_slice(&now.nanos().to_be_bytes());
        recorder.datagram_sent(now, workload, stream);
        // What the kernel does not take is lost at its host.
        if self.senders[stream as usize].send(&self.payload[..length]).is_err() {
            recorder.datagram_dropped(now, workload, stream);
        }
    }

    /// Takes what has come to a receiver.
    pub(crate) fn receive(&mut self, receiver: u32, clock: Clock, recorder: &mut Recorder) {
        let (node, _, socket) = &self.receivers[receiver as usize];
        let mut stamp = [0; STAMP];
        // The rest of a datagram is not wanted.
        while let Ok((length, from)) = socket.recv_from(&mut stamp) {
            let now = clock.now();
            let Some(&stream) = self.stream_of.get(&(*node, from.port())) else { continue };
            if length == STAMP {
                let sent_at = Instant::from_nanos(u64::from_be_bytes(stamp));
                let workload = self.specs[stream as usize].workload;
                recorder.datagram(now, workload, stream, now.since(sent_at.min(now)));
            }
        }
    }
}
