//! The workloads of a scenario over the sockets of its hosts, all in one thread: with the same arrivals as in the
//! simulation, and times as a program sees them.
//!
//! ```text
//! Sources ── what is due ──▶ Load { Floor { connections }, Streams } ── sockets ── hosts
//! Sessions ◀────────────── events ┘
//! ```

mod connection;
mod connections;
mod end;
mod long;
mod name;
mod senders;
mod socket;
mod sources;
mod streams;
mod tcp_info;

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU32, Ordering};

use nix::errno::Errno;
use shortflow_measure::Recorder;
use shortflow_packet::Address;
use shortflow_run::{Stalls, TcpInfoLog, workload_counter};
use shortflow_scenario::{Addresses, IpVersion, NodeId, Scenario, Workload};
use shortflow_sessions::{self as sessions, Sessions};
use shortflow_sim::Tallies;
use shortflow_testbed::{Home, Host};
use shortflow_units::{Duration, Instant};

use crate::applications::Applications;
use crate::clock::Clock;
use crate::ip::spoken;
use crate::record::key_of_stream;
use crate::router::Times;
use connection::{Exchange, Talk};
use connections::{Connections, News};
use long::LongFlows;
use name::Name;
use senders::Senders;
use sources::{Due, Sources};
use streams::Streams;
use tcp_info::TcpInfo;

pub(crate) use long::LongFlow;
pub(crate) use sources::StreamSpec;
pub(crate) use streams::{LARGEST_DATAGRAM, min_datagram};

/// How long hosts are given to settle before the first arrival.
pub(crate) const SETTLE_TIME: Duration = Duration::from_millis(50);

/// How long datagrams may still come after the last was sent.
const ON_THEIR_WAY: Duration = Duration::from_secs(2);

/// How long it takes until it is looked again whether something is open.
const RECHECK_INTERVAL: Duration = Duration::from_millis(20);

/// The hosts, and how to come to them.
#[derive(Clone, Copy)]
pub(crate) struct Place<'h> {
    pub(crate) home: &'h Home,
    pub(crate) hosts: &'h [Option<Host>],
    pub(crate) addresses: &'h Addresses,
    /// What all workloads are asked to speak: IPv6, or what the scenario says.
    pub(crate) asked: IpVersion,
    /// Where applications report, if a queue needs it.
    pub(crate) applications: Option<&'h Applications>,
}

impl Place<'_> {
    /// The version of IP that a workload speaks.
    fn spoken(self, workload: &Workload) -> IpVersion {
        spoken(self.asked, workload)
    }

    /// A port of a host.
    fn port(self, node: NodeId, ip: IpVersion, port: u16) -> SocketAddr {
        SocketAddr::new(address_of(self.addresses, node, ip).into(), port)
    }

    /// Makes a socket of a host.
    fn socket<T>(self, node: NodeId, make: impl FnOnce() -> io::Result<T>) -> Result<T, LoadError> {
        let host = self.hosts[node.index()].as_ref().expect("a workload runs between hosts");
        host.within(self.home, make)?.map_err(LoadError::Socket)
    }
}

/// The address of a host in a version that its workloads speak, of which each has one.
pub(crate) fn address_of(addresses: &Addresses, node: NodeId, ip: IpVersion) -> Address {
    addresses.get(node, ip).expect("hosts speak a version that they have")
}

/// Why the load could not be made.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LoadError {
    #[error(transparent)]
    Testbed(#[from] shortflow_testbed::Error),
    #[error("cannot create a socket: {0}{hint}", hint = remedy(.0))]
    Socket(io::Error),
    #[error("waiting for sockets: {0}")]
    Wait(#[from] Errno),
}

/// What to do about it, where that is known.
fn remedy(error: &io::Error) -> &'static str {
    match error.raw_os_error().map(Errno::from_raw) {
        Some(Errno::EMFILE | Errno::ENFILE) => {
            "\nraise the limit of open files with `ulimit -n 65536`, or lower the load"
        }
        Some(Errno::EADDRNOTAVAIL) => {
            "\na host has no free port for another connection; lower the load, or spread it over \
                more hosts"
        }
        _ => "",
    }
}

/// The load at work.
pub(crate) struct Load<'l> {
    scenario: &'l Scenario,
    times: Times,
    sources: Sources,
    sessions: Vec<Sessions>,
    connections: Connections<'l>,
    streams: Streams,
    long: LongFlows,
}

/// Which replica is the load of.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReplicaSeed {
    pub(crate) replica: u32,
    pub(crate) seed: u64,
}

impl<'l> Load<'l> {
    /// Makes the sockets that are there from the beginning.
    ///
    /// # Errors
    /// When a kernel does not make one.
    pub(crate) fn new(
        place: Place<'l>,
        scenario: &'l Scenario,
        ReplicaSeed { replica, seed }: ReplicaSeed,
        clock: Clock,
        times: Times,
        tallies: Tallies,
        recorder: &'l mut Recorder,
        tcp_info: Option<&'l mut TcpInfoLog>,
    ) -> Result<Self, LoadError> {
        let (sources, specs) = Sources::new(scenario, place.asked, seed);
        if let Some(applications) = place.applications {
            let mut opening = applications.open();
            for spec in &specs {
                opening.add(key_of_stream(spec, place.addresses), spec.workload, None);
            }
        }
        let mut all = Vec::new();
        for index in 0..scenario.workloads.len() {
            let source = all.len() as u32;
            all.extend(sessions::build(scenario, index, seed, replica, source));
        }
        let connections =
            Connections::new(place, scenario, clock, tallies, recorder, Senders::new(tcp_info))?;
        let streams = Streams::new(specs, place, &connections.wait)?;
        let long = LongFlows::new(scenario.measure.flow_samples, times);
        Ok(Load { scenario, times, sources, sessions: all, connections, streams, long })
    }

    /// The streams of datagrams.
    pub(crate) fn streams(&self) -> &[StreamSpec] {
        self.streams.specs()
    }

    /// Runs all arrivals until the end, and gives what endless flows have got through, and for how long it stood
    /// still; everything else is recorded. `look` is called now and then with the time, and ends the run when it returns false; then
    /// there is nothing to tell.
    ///
    /// # Errors
    /// When a kernel no longer does what it did before.
    pub(crate) fn run(
        mut self,
        open: &AtomicU32,
        look: &mut dyn FnMut(Instant) -> bool,
    ) -> Result<Option<(Vec<LongFlow>, Stalls)>, LoadError> {
        let (mut ready, mut is_warm, mut found) = (Vec::new(), false, None);
        let mut ends_at = self.times.end;
        loop {
            let now = self.connections.clock.now();
            if !is_warm && now >= self.times.warm_up {
                is_warm = true;
                long::end_warm_up(&mut self.connections);
            }
            if found.is_none() && now >= self.times.measured_until {
                found = Some(self.long.found(&mut self.connections));
                ends_at = self.earliest_end();
            }
            // What is open may go on until the end of the run; a run that waits for nothing ends before.
            if now >= ends_at {
                if now >= self.times.end || !self.is_awaited(now) {
                    break;
                }
                ends_at = (now + RECHECK_INTERVAL).min(self.times.end);
            }
            if !look(now) {
                return Ok(None);
            }
            self.act(now)?;
            self.long.sample(now, &mut self.connections);
            self.connections.look_at_senders(now);
            open.store(self.connections.open_connections(), Ordering::Relaxed);
            let next = self.next_at(found.is_some()).min(ends_at);
            self.connections.wait.until(next, &mut ready)?;
            for &(number, flags) in &ready {
                match Name::from_number(number) {
                    Name::Connection { slot, side } => self.connections.serve(slot, side, flags)?,
                    Name::Listener(listener) => self.connections.accept(listener)?,
                    Name::Receiver(receiver) => {
                        let Connections { clock, recorder, .. } = &mut self.connections;
                        self.streams.receive(receiver, *clock, recorder);
                    }
                }
                self.tell_sessions()?;
            }
            self.connections.end_round();
        }
        self.record_open();
        Ok(Some((found.unwrap_or_default(), self.connections.wait.stalls())))
    }

    /// When the run may end if nothing is open.
    fn earliest_end(&self) -> Instant {
        let arrive = if self.streams.specs().is_empty() { Duration::ZERO } else { ON_THEIR_WAY };
        (self.times.measured_until + arrive).min(self.times.end)
    }

    /// Whether something is open whose completion would still be recorded.
    fn is_awaited(&mut self, now: Instant) -> bool {
        let is_open = |sessions: &Sessions| sessions.unfinished().next().is_some();
        self.sessions.iter().any(is_open) || self.connections.has_unfinished(now)
    }

    fn next_at(&self, is_measured: bool) -> Instant {
        let sessions = self.sessions.iter().map(Sessions::next_at).min();
        let due = self.sources.next_at().min(sessions.unwrap_or(Instant::NEVER));
        let measures = if is_measured { self.times.end } else { self.times.measured_until };
        due.min(self.long.next_at()).min(self.connections.senders.next_at()).min(measures)
    }

    /// Does what is due by `now`.
    fn act(&mut self, now: Instant) -> Result<(), LoadError> {
        while let Some(due) = self.sources.pop(now) {
            match due {
                Due::Exchange { at, workload, pair, id, request, reply } => {
                    let requested_at = Instant::NEVER;
                    let exchange = Exchange { id, request, reply, requested_at, is_done: false };
                    self.connections.open(at, workload, pair, Talk::Exchange(exchange), None);
                }
                Due::Bulk { at, workload, pair, size } => {
                    let told_before = TcpInfo::default();
                    let talk = Talk::Bulk { size, received_before: 0, told_before };
                    self.connections.open(at, workload, pair, talk, None);
                }
                Due::Datagram { stream, size } => {
                    let Connections { clock, recorder, .. } = &mut self.connections;
                    self.streams.send(stream, size, *clock, recorder);
                }
            }
            self.connections.check()?;
        }
        for sessions in self.sessions.iter_mut().filter(|sessions| sessions.next_at() <= now) {
            sessions.wake(&mut self.connections);
            self.connections.check()?;
        }
        self.tell_sessions()
    }

    /// Tells sessions what they are to hear of; they may say something that others are to hear of.
    fn tell_sessions(&mut self) -> Result<(), LoadError> {
        while let Some(News { link, connection, is_lost }) = self.connections.news.pop() {
            let sessions = &mut self.sessions[link.source as usize];
            if is_lost {
                sessions.lost(&mut self.connections, link.session, connection);
                self.connections.forget(connection.0);
            } else {
                sessions.heard(&mut self.connections, link.session, connection);
            }
            self.connections.check()?;
            self.connections.flush(connection.0)?;
        }
        Ok(())
    }

    /// At the end: what is not complete, and what was never begun.
    fn record_open(&mut self) {
        self.connections.record_open(self.times.end);
        for sessions in &self.sessions {
            let recorder = &mut self.connections.recorder;
            sessions.unfinished().for_each(|transfer| recorder.open_transfer(&transfer));
            let held_back = sessions.held_back(self.times.end);
            if held_back > 0 {
                let workload = &self.scenario.workloads[usize::from(sessions.workload())].name;
                let name = workload_counter(workload, "pages that never began");
                recorder.counter(&name, held_back as f64);
            }
        }
    }
}
