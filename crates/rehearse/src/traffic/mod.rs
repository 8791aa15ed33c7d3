//! The workloads of a scenario over the sockets of its hosts, all in one thread: the same arrivals as in the
//! simulation, and times as a program sees them.

mod connection;
mod end;
mod socket;
mod sources;

use std::collections::BTreeMap;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicU32, Ordering};

use nix::errno::Errno;
use nix::sys::epoll::EpollFlags;
use rustc_hash::FxHashMap;
use shortflow_measure::{Ends, Recorder, ThroughputSamples, Transfer};
use shortflow_scenario::{NodeId, Scenario, WorkloadKind};
use shortflow_testbed::{Home, Host};
use shortflow_units::{Duration, Instant};
use socket2::Socket;

use crate::clock::Clock;
use crate::kernel::SocketSpec;
use crate::router::Times;
use crate::wait::{Ready, Wait};
use connection::{Connection, Side, Talk};
use end::{End, scratch};
use socket::TcpInfo;
use sources::{Due, Sources};

pub(crate) use sources::StreamSpec;

/// Bytes of the UDP and IPv4 headers.
const UDP_HEADERS: u32 = 28;

/// Bytes that a datagram carries of ours: when it was sent.
const STAMP: usize = 8;

/// Bytes of the smallest datagram that can carry that.
pub(crate) const LEAST_DATAGRAM: u32 = UDP_HEADERS + STAMP as u32;

/// The hosts, and how to come to them.
#[derive(Clone, Copy)]
pub(crate) struct Place<'h> {
    pub(crate) home: &'h Home,
    pub(crate) hosts: &'h [Option<Host>],
}

impl Place<'_> {
    /// Makes a socket of a host.
    fn socket<T>(self, node: NodeId, make: impl FnOnce() -> io::Result<T>) -> Result<T, LoadError> {
        let host = self.hosts[node.index()].as_ref().expect("a workload runs between hosts");
        host.within(self.home, make)?.map_err(LoadError::Socket)
    }
}

/// Why the load could not be made.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LoadError {
    #[error(transparent)]
    Testbed(#[from] shortflow_testbed::Error),
    #[error("a socket could not be made: {0}")]
    Socket(io::Error),
    #[error("waiting for sockets: {0}")]
    Wait(#[from] Errno),
}

/// What the load found, but for what goes to the recorder at once.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// Transfers that are complete, and the ends of those that are not.
    pub(crate) complete: Vec<Transfer>,
    pub(crate) open: Vec<Transfer>,
    /// Transfers that were given up, and when.
    pub(crate) failed: Vec<(Instant, Transfer)>,
    /// The endless flows of each workload: their ends, what they got through while it was measured, and samples.
    pub(crate) long: Vec<LongFlow>,
}

/// What an endless flow got through while it was measured.
#[derive(Debug)]
pub(crate) struct LongFlow {
    pub(crate) workload: u16,
    pub(crate) ends: Ends,
    pub(crate) bytes: u64,
    pub(crate) samples: Option<ThroughputSamples>,
    pub(crate) info: TcpInfo,
}

/// What a number of the event queue stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Name {
    Connection { slot: u32, side: Side },
    Listener(u32),
    Receiver(u32),
}

impl Name {
    const KIND: u64 = 1 << 62;

    fn number(self) -> u64 {
        match self {
            Name::Connection { slot, side } => u64::from(slot) << 1 | side as u64,
            Name::Listener(index) => Self::KIND | u64::from(index),
            Name::Receiver(index) => Self::KIND << 1 | u64::from(index),
        }
    }

    fn of(number: u64) -> Name {
        let index = number as u32;
        if number & Self::KIND << 1 != 0 {
            return Name::Receiver(index);
        }
        if number & Self::KIND != 0 {
            return Name::Listener(index);
        }
        let side = if number & 1 == 0 { Side::Client } else { Side::Server };
        Name::Connection { slot: (number >> 1) as u32, side }
    }
}

/// The load at work.
pub(crate) struct Load<'l> {
    place: Place<'l>,
    scenario: &'l Scenario,
    clock: Clock,
    times: Times,
    sources: Sources,
    specs: Vec<SocketSpec>,
    wait: Wait,
    connections: Vec<Option<Connection>>,
    free: Vec<u32>,
    /// Connections that were closed while events of the same round may still name them.
    closed: Vec<u32>,
    /// Which connection a server accepts, by its ends.
    expected: FxHashMap<(u32, u16, u32, u16), u32>,
    listeners: Vec<(NodeId, u16, Socket)>,
    streams: Vec<StreamSpec>,
    senders: Vec<Socket>,
    receivers: Vec<(NodeId, u16, UdpSocket)>,
    /// The stream of each receiver and source port.
    stream_of: FxHashMap<(u32, u16), u32>,
    scratch: Vec<u8>,
    found: Found,
    sampled: BTreeMap<u32, (u64, ThroughputSamples)>,
    next_sample: Instant,
}

impl<'l> Load<'l> {
    /// Makes the sockets that are there from the beginning.
    ///
    /// # Errors
    /// When the kernel does not make them.
    pub(crate) fn new(
        place: Place<'l>,
        scenario: &'l Scenario,
        seed: u64,
        clock: Clock,
        times: Times,
    ) -> Result<Self, LoadError> {
        let (sources, streams) = Sources::new(scenario, seed);
        let wait = Wait::new(clock)?;
        let specs = scenario.workloads.iter().map(|workload| SocketSpec::of(&workload.tcp));
        let samples = scenario.measure.flow_samples;
        let mut load = Load {
            place,
            scenario,
            clock,
            times,
            sources,
            specs: specs.collect(),
            wait,
            connections: Vec::new(),
            free: Vec::new(),
            closed: Vec::new(),
            expected: FxHashMap::default(),
            listeners: Vec::new(),
            streams,
            senders: Vec::new(),
            receivers: Vec::new(),
            stream_of: FxHashMap::default(),
            scratch: scratch(),
            found: Found::default(),
            sampled: BTreeMap::new(),
            next_sample: samples.map_or(Instant::NEVER, |_| times.warm_up),
        };
        load.listen()?;
        load.make_streams()?;
        Ok(load)
    }

    /// The streams of datagrams.
    pub(crate) fn streams(&self) -> &[StreamSpec] {
        &self.streams
    }

    fn listen(&mut self) -> Result<(), LoadError> {
        for (workload, spec) in self.scenario.workloads.iter().zip(&self.specs) {
            let Some(port) = port_of(&workload.kind) else { continue };
            for &(_, server) in workload.kind.pairs() {
                if self.listeners.iter().any(|(node, at, _)| (*node, *at) == (server, port)) {
                    continue;
                }
                let at = SocketAddr::new(server.address().into(), port);
                let socket = self.place.socket(server, || socket::listen(at, spec))?;
                let name = Name::Listener(self.listeners.len() as u32);
                self.wait.add(&socket, EpollFlags::EPOLLIN, name.number())?;
                self.listeners.push((server, port, socket));
            }
        }
        Ok(())
    }

    fn make_streams(&mut self) -> Result<(), LoadError> {
        for (number, stream) in (0..).zip(&self.streams) {
            let StreamSpec { from, to, source_port, port, dscp, .. } = *stream;
            let ends = [(from, source_port), (to, port)];
            let [near, far] = ends.map(|(node, port)| SocketAddr::new(node.address().into(), port));
            self.senders.push(self.place.socket(from, || socket::sender(near, far, dscp))?);
            self.stream_of.insert((to.0, source_port), number);
            if !self.receivers.iter().any(|(node, at, _)| (*node, *at) == (to, port)) {
                let socket = self.place.socket(to, || socket::receiver(far))?;
                let name = Name::Receiver(self.receivers.len() as u32);
                self.wait.add(&socket, EpollFlags::EPOLLIN, name.number())?;
                self.receivers.push((to, port, socket));
            }
        }
        Ok(())
    }

    /// Runs all arrivals until the end. `look` is called now and then with the time, and ends the run when it
    /// returns false; then there is nothing to tell.
    ///
    /// # Errors
    /// When the kernel does not do what it did before.
    pub(crate) fn run(
        mut self,
        recorder: &mut Recorder,
        open: &AtomicU32,
        look: &mut dyn FnMut(Instant) -> bool,
    ) -> Result<Option<Found>, LoadError> {
        let (mut ready, mut is_warm, mut is_measured) = (Vec::<Ready>::new(), false, false);
        loop {
            let now = self.clock.now();
            if !is_warm && now >= self.times.warm_up {
                is_warm = true;
                self.end_warm_up();
            }
            if !is_measured && now >= self.times.measured_until {
                is_measured = true;
                self.record_long_flows();
            }
            if now >= self.times.end {
                break;
            }
            if !look(now) {
                return Ok(None);
            }
            while let Some(due) = self.sources.pop(now) {
                self.begin(due, recorder)?;
            }
            self.sample(now);
            open.store((self.connections.len() - self.free.len()) as u32, Ordering::Relaxed);
            let next = self.sources.next_at().min(self.next_sample).min(self.times.end);
            let next = if is_measured { next } else { next.min(self.times.measured_until) };
            self.wait.until(next, &mut ready)?;
            for &(number, flags) in &ready {
                match Name::of(number) {
                    Name::Connection { slot, side } => self.serve(slot, side, flags, recorder)?,
                    Name::Listener(index) => self.accept(index as usize)?,
                    Name::Receiver(index) => self.receive(index as usize, recorder),
                }
            }
            self.free.append(&mut self.closed);
        }
        let end = self.times.end;
        let left = self.connections.iter().flatten().filter_map(|c| c.unfinished(end));
        self.found.open.extend(left);
        Ok(Some(self.found))
    }

    fn begin(&mut self, due: Due, recorder: &mut Recorder) -> Result<(), LoadError> {
        match due {
            Due::Exchange { workload, pair, id, request, reply } => {
                let requested_at = Instant::NEVER;
                let talk = Talk::Exchange { id, request, reply, requested_at, is_done: false };
                self.open(workload, pair, talk, None)
            }
            Due::Bulk { workload, pair, size } => {
                let talk = Talk::Bulk { is_endless: size.is_none(), received_before: 0 };
                self.open(workload, pair, talk, size)
            }
            Due::Datagram { stream, size } => {
                self.send_datagram(stream, size, recorder);
                Ok(())
            }
        }
    }

    fn open(
        &mut self,
        workload: u16,
        pair: usize,
        talk: Talk,
        size: Option<u64>,
    ) -> Result<(), LoadError> {
        let kind = &self.scenario.workloads[usize::from(workload)].kind;
        let (client, server) = kind.pairs()[pair];
        let port = port_of(kind).expect("connections are those of workloads over TCP");
        let to = SocketAddr::new(server.address().into(), port);
        let spec = &self.specs[usize::from(workload)];
        let start = self.clock.now();
        let socket = self.place.socket(client, || socket::connect(to, spec))?;
        let near = socket.local_addr().map_err(LoadError::Socket)?;
        let ends = Ends {
            client: client.0,
            server: server.0,
            client_port: socket::port(&near),
            server_port: port,
        };
        let waits_for = EpollFlags::EPOLLIN | EpollFlags::EPOLLOUT;
        let end = End::new(socket, waits_for);
        let slot = self.free.pop().unwrap_or_else(|| {
            self.connections.push(None);
            self.connections.len() as u32 - 1
        });
        let name = Name::Connection { slot, side: Side::Client };
        self.wait.add(&end.socket, waits_for, name.number())?;
        self.expected.insert((ends.client, ends.client_port, ends.server, port), slot);
        let connection = Connection::open(workload, ends, talk, end, size, start);
        self.connections[slot as usize] = Some(connection);
        Ok(())
    }

    fn accept(&mut self, index: usize) -> Result<(), LoadError> {
        loop {
            let (node, port, listener) = &self.listeners[index];
            // Nobody else to accept for now, or one that is gone already.
            let Ok((socket, from)) = listener.accept() else { return Ok(()) };
            socket.set_nonblocking(true).map_err(LoadError::Socket)?;
            let client = from.as_socket().map(|address| NodeId::of_address(address.ip().into()));
            let key = client.map(|client| (client.0, socket::port(&from), node.0, *port));
            let slot = key.and_then(|key| self.expected.remove(&key));
            // A connection of somebody else's, such as a program that a user runs, is closed.
            let Some(slot) = slot else { continue };
            let end = End::new(socket, EpollFlags::EPOLLIN);
            let name = Name::Connection { slot, side: Side::Server };
            self.wait.add(&end.socket, end.waits_for, name.number())?;
            if let Some(connection) = &mut self.connections[slot as usize] {
                connection.sides[Side::Server as usize] = Some(end);
            }
        }
    }

    /// Something has happened at an end of a connection.
    fn serve(
        &mut self,
        slot: u32,
        side: Side,
        flags: EpollFlags,
        recorder: &mut Recorder,
    ) -> Result<(), LoadError> {
        let now = self.clock.now();
        let Some(connection) = &mut self.connections[slot as usize] else { return Ok(()) };
        let Some(end) = &mut connection.sides[side as usize] else { return Ok(()) };
        let is_broken = flags.contains(EpollFlags::EPOLLERR);
        let came = if is_broken { Err(broken(&end.socket)) } else { end.drain(&mut self.scratch) };
        let came = match came {
            Ok(came) => came,
            Err(_) => return self.give_up(slot, now),
        };
        recorder.goodput(now, connection.workload, came);
        if side == Side::Client && flags.intersects(EpollFlags::EPOLLOUT | EpollFlags::EPOLLIN) {
            connection.on_connected(now);
        }
        if let Some(transfer) = connection.on_read(now, side) {
            self.found.complete.push(with_costs(transfer, connection));
        }
        for (number, side) in [Side::Client, Side::Server].into_iter().enumerate() {
            let Some(end) = &mut connection.sides[number] else { continue };
            if end.flush().is_err() {
                return self.give_up(slot, now);
            }
            let wanted = end.wants();
            if end.is_over() {
                // It would be told for ever that both ways are closed.
                self.wait.remove(&end.socket);
            } else if wanted != end.waits_for {
                end.waits_for = wanted;
                let name = Name::Connection { slot, side };
                self.wait.change(&end.socket, wanted, name.number())?;
            }
        }
        if connection.is_over() {
            self.forget(slot);
        }
        Ok(())
    }

    /// A connection is broken.
    fn give_up(&mut self, slot: u32, now: Instant) -> Result<(), LoadError> {
        if let Some(connection) = &self.connections[slot as usize]
            && let Some(transfer) = connection.unfinished(now)
        {
            self.found.failed.push((now, with_costs(transfer, connection)));
        }
        self.forget(slot);
        Ok(())
    }

    /// Lets go of a connection; its sockets close.
    fn forget(&mut self, slot: u32) {
        if let Some(Connection { ends, .. }) = self.connections[slot as usize].take() {
            let Ends { client, server, client_port, server_port } = ends;
            self.expected.remove(&(client, client_port, server, server_port));
            self.closed.push(slot);
        }
    }

    fn send_datagram(&mut self, stream: u32, size: u32, recorder: &mut Recorder) {
        let spec = self.streams[stream as usize];
        let length = (size.saturating_sub(UDP_HEADERS) as usize).clamp(STAMP, self.scratch.len());
        let now = self.clock.now();
        self.scratch[..STAMP].copy_from_slice(&now.nanos().to_be_bytes());
        recorder.datagram_sent(now, spec.workload, stream);
        // What the kernel does not take is lost at its host.
        if self.senders[stream as usize].send(&self.scratch[..length]).is_err() {
            recorder.datagram_dropped(now, spec.workload, stream);
        }
    }

    fn receive(&mut self, index: usize, recorder: &mut Recorder) {
        let (node, _, socket) = &self.receivers[index];
        let mut stamp = [0; STAMP];
        // The rest of a datagram is not wanted.
        while let Ok((length, from)) = socket.recv_from(&mut stamp) {
            let now = self.clock.now();
            let Some(&stream) = self.stream_of.get(&(node.0, from.port())) else { continue };
            if length < STAMP {
                continue;
            }
            let sent_at = Instant::from_nanos(u64::from_be_bytes(stamp));
            let delay = now.since(sent_at.min(now));
            recorder.datagram(now, self.streams[stream as usize].workload, stream, delay);
        }
    }

    fn end_warm_up(&mut self) {
        for connection in self.connections.iter_mut().flatten() {
            let received = connection.received(Side::Server);
            if let Talk::Bulk { received_before, .. } = &mut connection.talk {
                *received_before = received;
            }
        }
    }

    /// Looks at what endless flows get through, at regular intervals while it is measured.
    fn sample(&mut self, now: Instant) {
        let Some(interval) = self.scenario.measure.flow_samples else { return };
        if now < self.next_sample {
            return;
        }
        for (slot, connection) in (0..).zip(&self.connections) {
            let Some(received) = connection.as_ref().and_then(Connection::endless) else {
                continue;
            };
            match self.sampled.entry(slot) {
                std::collections::btree_map::Entry::Vacant(first) => {
                    first.insert((received, ThroughputSamples::default()));
                }
                std::collections::btree_map::Entry::Occupied(mut seen) => {
                    let (before, samples) = seen.get_mut();
                    samples.add(received - *before, interval.as_secs_f64());
                    *before = received;
                }
            }
        }
        self.next_sample += interval;
        if self.next_sample > self.times.measured_until {
            self.next_sample = Instant::NEVER;
        }
    }

    fn record_long_flows(&mut self) {
        for (slot, connection) in (0..).zip(&self.connections) {
            let Some(connection) = connection else { continue };
            let Some(received) = connection.endless() else { continue };
            let Talk::Bulk { received_before, .. } = connection.talk else { continue };
            let client = connection.sides[Side::Client as usize].as_ref();
            self.found.long.push(LongFlow {
                workload: connection.workload,
                ends: connection.ends,
                bytes: received - received_before,
                samples: self.sampled.get(&slot).map(|(_, samples)| *samples),
                info: client.map_or_else(TcpInfo::default, |end| TcpInfo::of(&end.socket)),
            });
        }
    }
}

/// The port of the servers of a workload over TCP.
fn port_of(kind: &WorkloadKind) -> Option<u16> {
    match kind {
        WorkloadKind::Transfers(transfers) => Some(transfers.port),
        WorkloadKind::Bulk(bulk) => Some(bulk.port),
        _ => None,
    }
}

/// What broke a connection.
fn broken(socket: &Socket) -> io::Error {
    let told = socket.take_error().ok().flatten();
    told.unwrap_or_else(|| io::ErrorKind::ConnectionReset.into())
}

/// The record with what both kernels tell of the connection.
fn with_costs(transfer: Transfer, connection: &Connection) -> Transfer {
    let infos = connection.sides.iter().flatten().map(|end| TcpInfo::of(&end.socket));
    let (retransmissions, timeouts) = infos.fold((0, 0), |(segments, timeouts), info| {
        (segments + info.retransmissions, timeouts + info.timeouts)
    });
    Transfer { retransmissions, timeouts, ..transfer }
}

/// How long hosts are given to settle before the first arrival.
pub(crate) const SETTLE: Duration = Duration::from_millis(50);
