//! All connections, and the interface of sessions to them.

use std::io;
use std::net::SocketAddr;

use nix::sys::epoll::EpollFlags;
use rustc_hash::FxHashMap;
use shortflow_measure::{self as measure, Ends, Occasion, Recorder, Transfer};
use shortflow_packet::{FlowKey, Protocol};
use shortflow_scenario::{NodeId, Scenario, WorkloadKind};
use shortflow_sessions::{
    self as sessions, Account, ConnectionId, Costs, Dialogue, Link, Outgoing,
};
use shortflow_sim::Tallies;
use shortflow_units::Instant;
use socket2::Socket;

use super::connection::{Connection, Progress, Side, Talk};
use super::end::{End, scratch};
use super::name::Name;
use super::senders::Senders;
use super::socket;
use super::tcp_info::TcpInfo;
use super::{LoadError, Place, address_of};
use crate::applications::Applications;
use crate::clock::Clock;
use crate::kernel::SocketSpec;
use crate::wait::Wait;

/// An event for a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct News {
    pub(crate) link: Link,
    pub(crate) connection: ConnectionId,
    /// Whether the connection broke, or has brought something.
    pub(crate) is_lost: bool,
}

/// The connections of all workloads.
pub(crate) struct Connections<'l> {
    place: Place<'l>,
    scenario: &'l Scenario,
    pub(crate) clock: Clock,
    pub(crate) recorder: &'l mut Recorder,
    pub(crate) wait: Wait,
    pub(crate) senders: Senders<'l>,
    tallies: Tallies,
    specs: Vec<SocketSpec>,
    connections: Vec<Option<Connection>>,
    free: Vec<u32>,
    /// Connections that were let go while events of the same round may still name them.
    gone: Vec<u32>,
    /// Which connection a server accepts, by what its client sends.
    expected: FxHashMap<FlowKey, u32>,
    listeners: Vec<(NodeId, SocketAddr, Socket)>,
    scratch: Vec<u8>,
    /// Events for sessions.
    pub(crate) news: Vec<News>,
    /// Why a connection could not be opened, or waited for.
    pub(crate) error: Option<LoadError>,
}

impl<'l> Connections<'l> {
    /// Makes the sockets of the servers.
    ///
    /// # Errors
    /// When a kernel does not make one.
    pub(crate) fn new(
        place: Place<'l>,
        scenario: &'l Scenario,
        clock: Clock,
        tallies: Tallies,
        recorder: &'l mut Recorder,
        senders: Senders<'l>,
    ) -> Result<Self, LoadError> {
        let mut connections = Connections {
            place,
            scenario,
            clock,
            recorder,
            wait: Wait::new(clock)?,
            senders,
            tallies,
            specs: scenario
                .workloads
                .iter()
                .map(|w| SocketSpec::for_workload(w, place.asked))
                .collect(),
            connections: Vec::new(),
            free: Vec::new(),
            gone: Vec::new(),
            expected: FxHashMap::default(),
            listeners: Vec::new(),
            scratch: scratch(),
            news: Vec::new(),
            error: None,
        };
        for (workload, spec) in scenario.workloads.iter().zip(&connections.specs) {
            let Some(port) = port_of(&workload.kind) else { continue };
            for &(_, server) in workload.kind.pairs() {
                let at = place.port(server, place.spoken(workload), port);
                if connections
                    .listeners
                    .iter()
                    .any(|(node, other, _)| (*node, *other) == (server, at))
                {
                    continue;
                }
                let socket = place.socket(server, || socket::listen(at, spec))?;
                let name = Name::Listener(connections.listeners.len() as u32);
                connections.wait.add(&socket, EpollFlags::EPOLLIN, name.number())?;
                connections.listeners.push((server, at, socket));
            }
        }
        Ok(connections)
    }

    /// What went wrong since this was asked last.
    pub(crate) fn check(&mut self) -> Result<(), LoadError> {
        self.error.take().map_or(Ok(()), Err)
    }

    /// How many connections there are.
    pub(crate) fn open_connections(&self) -> u32 {
        (self.connections.len() - self.free.len() - self.gone.len()) as u32
    }

    /// Whether something that is recorded when it completes is not complete.
    pub(crate) fn has_unfinished(&mut self, now: Instant) -> bool {
        self.connections().any(|(_, connection)| !connection.unfinished(now).is_empty())
    }

    /// All connections with their numbers.
    pub(crate) fn connections(&mut self) -> impl Iterator<Item = (u32, &mut Connection)> {
        let all = (0..).zip(&mut self.connections);
        all.filter_map(|(slot, connection)| Some((slot, connection.as_mut()?)))
    }

    /// Opens a connection that was to be opened at `start`, over pair `pair` of a workload, with what a session writes
    /// first. One that cannot be opened has no ends, and [`Connections::error`] says why.
    pub(crate) fn open(
        &mut self,
        start: Instant,
        workload: u16,
        pair: usize,
        talk: Talk,
        first: Option<Outgoing>,
    ) -> u32 {
        let (client, server) = self.kind(workload).pairs()[pair];
        let server_port = port_of(self.kind(workload)).expect("only TCP has connections");
        let ends = Ends { client: client.0, server: server.0, client_port: 0, server_port };
        let slot = self.free.pop().unwrap_or_else(|| {
            self.connections.push(None);
            self.connections.len() as u32 - 1
        });
        let ip = self.place.spoken(&self.scenario.workloads[usize::from(workload)]);
        let addresses = [client, server].map(|node| address_of(self.place.addresses, node, ip));
        let connection = Connection::new(workload, ends, addresses, talk, start);
        let connection = self.connections[slot as usize].insert(connection);
        let to = self.place.port(server, ip, server_port);
        let spec = &self.specs[usize::from(workload)];
        // Its SYN is not looked at before its workload and its purpose are known.
        let mut opening = self.place.applications.map(Applications::open);
        let begun = self.place.socket(client, || socket::connect(to, spec)).and_then(
            |(socket, has_left)| {
                let port = socket::port(&socket.local_addr().map_err(LoadError::Socket)?);
                let waits_for = EpollFlags::EPOLLIN | EpollFlags::EPOLLOUT;
                let end = End::new(socket, waits_for, connection.handed_in[0].clone());
                let end = end.stuck_unless(has_left);
                let name = Name::Connection { slot, side: Side::Client };
                if has_left {
                    self.wait.add(&end.socket, end.waits_for, name.number())?;
                }
                connection.begin(end, port);
                if let Some(first) = first {
                    connection.put(Side::Client, first);
                }
                for side in [Side::Client, Side::Server] {
                    let (key, handed_in) =
                        (connection.key(side), &connection.handed_in[side as usize]);
                    if let Some(opening) = &mut opening {
                        opening.add(key, workload, Some(handed_in.clone()));
                        if side == Side::Server && connection.carries_range() {
                            opening.is_range(&key);
                        }
                    }
                }
                Ok(port)
            },
        );
        match begun {
            Ok(port) => {
                let [src, dst] = addresses;
                let (src_port, dst_port, protocol) = (port, server_port, Protocol::TCP);
                let key = FlowKey { src, dst, src_port, dst_port, protocol };
                self.expected.insert(key, slot);
            }
            Err(error) => self.error = Some(error),
        }
        slot
    }

    fn kind(&self, workload: u16) -> &'l WorkloadKind {
        &self.scenario.workloads[usize::from(workload)].kind
    }

    /// Accepts the connections that wait at a listener.
    ///
    /// # Errors
    /// When they cannot be waited for, or there are too many.
    pub(crate) fn accept(&mut self, listener: u32) -> Result<(), LoadError> {
        loop {
            let (_, at, socket) = &self.listeners[listener as usize];
            let (socket, from) = match socket.accept() {
                Ok(accepted) => accepted,
                Err(error) if socket::is_lasting(&error) => return Err(LoadError::Socket(error)),
                // Nobody waits for now, or somebody who is gone already.
                Err(_) => return Ok(()),
            };
            socket.set_nonblocking(true).map_err(LoadError::Socket)?;
            let key = from.as_socket().map(|from| FlowKey {
                src: from.ip().into(),
                dst: at.ip().into(),
                src_port: from.port(),
                dst_port: at.port(),
                protocol: Protocol::TCP,
            });
            let slot = key.and_then(|key| self.expected.remove(&key));
            // A connection of somebody else's, such as a program that a user runs, is closed.
            let Some(slot) = slot else { continue };
            let Some(connection) = &mut self.connections[slot as usize] else { continue };
            let end = End::accepted(socket, connection.handed_in[1].clone());
            let name = Name::Connection { slot, side: Side::Server };
            self.wait.add(&end.socket, end.waits_for, name.number())?;
            connection.sides[Side::Server as usize] = Some(end);
        }
    }

    /// Something has happened at an end of a connection.
    ///
    /// # Errors
    /// When it can no longer be waited for.
    pub(crate) fn serve(
        &mut self,
        slot: u32,
        side: Side,
        flags: EpollFlags,
    ) -> Result<(), LoadError> {
        let now = self.clock.now();
        let Some(connection) = &mut self.connections[slot as usize] else { return Ok(()) };
        let Some(end) = connection.end(side) else { return Ok(()) };
        let is_broken = flags.contains(EpollFlags::EPOLLERR);
        let came = if is_broken { Err(broken(&end.socket)) } else { end.drain(&mut self.scratch) };
        let Ok(came) = came else {
            self.give_up(slot);
            return Ok(());
        };
        let to = match side {
            Side::Client => measure::End::Client,
            Side::Server => measure::End::Server,
        };
        self.recorder.goodput(now, connection.workload, to, came);
        if side == Side::Client && flags.intersects(EpollFlags::EPOLLOUT | EpollFlags::EPOLLIN) {
            connection.on_connected(now);
        }
        match connection.on_read(now, side) {
            Progress::Nothing => {}
            Progress::Complete(transfer) => {
                let transfer = with_costs(*transfer, costs(connection, &self.tallies));
                self.recorder.transfer(&transfer);
                self.senders.ended(now, Occasion::Completed, connection);
            }
            Progress::Heard => self.tell(slot, false),
        }
        self.flush(slot)
    }

    /// Gives both kernels what they take of what is to be written, and lets go of what is over.
    ///
    /// # Errors
    /// When an end can no longer be waited for.
    pub(crate) fn flush(&mut self, slot: u32) -> Result<(), LoadError> {
        let Some(connection) = &mut self.connections[slot as usize] else { return Ok(()) };
        for side in [Side::Client, Side::Server] {
            let key = connection.key(side);
            let Some(end) = connection.end(side).filter(|end| !end.is_stuck) else { continue };
            let listens = self.place.applications.filter(|to| to.listens());
            let flushed = match listens {
                Some(_) => end.flush_and_look(),
                None => end.flush().map(|()| false),
            };
            let Ok(is_held_back) = flushed else {
                self.give_up(slot);
                return Ok(());
            };
            if let Some(applications) = listens.filter(|_| is_held_back) {
                applications.held_back(key);
            }
            let wanted = end.wants();
            if end.is_over() {
                // epoll would report for ever that both directions are closed.
                self.wait.remove(&end.socket);
            } else if wanted != end.waits_for {
                end.waits_for = wanted;
                let name = Name::Connection { slot, side };
                self.wait.change(&end.socket, wanted, name.number())?;
            }
        }
        // A session that has still to hear of it needs it.
        let is_awaited = self.news.iter().any(|news| news.connection.0 == slot);
        if connection.is_over() && !is_awaited {
            if matches!(connection.talk, Talk::Bulk { .. }) {
                self.senders.ended(self.clock.now(), Occasion::Completed, connection);
            }
            self.forget(slot);
        }
        Ok(())
    }

    /// A connection is broken.
    fn give_up(&mut self, slot: u32) {
        let now = self.clock.now();
        let Some(connection) = &self.connections[slot as usize] else { return };
        if matches!(connection.talk, Talk::Dialogue(_)) {
            return self.tell(slot, true);
        }
        self.senders.ended(now, Occasion::Failed, connection);
        for transfer in connection.unfinished(now) {
            let transfer = with_costs(transfer, costs(connection, &self.tallies));
            self.recorder.failed_transfer(now, &transfer);
        }
        self.forget(slot);
    }

    /// Queues an event of a connection for its session.
    fn tell(&mut self, slot: u32, is_lost: bool) {
        let Some(Connection { talk: Talk::Dialogue(dialogue), .. }) =
            &self.connections[slot as usize]
        else {
            return;
        };
        let news = News { link: dialogue.link(), connection: ConnectionId(slot), is_lost };
        if !self.news.contains(&news) {
            self.news.push(news);
        }
    }

    /// Lets go of a connection; its sockets close.
    pub(crate) fn forget(&mut self, slot: u32) {
        if let Some(connection) = self.connections[slot as usize].take() {
            let key = connection.key(Side::Client);
            self.expected.remove(&key);
            self.tallies.forget(key);
            if let Some(applications) = self.place.applications {
                [key, key.reversed()].into_iter().for_each(|key| applications.close(key));
            }
            self.gone.push(slot);
        }
    }

    /// No event of this round is left: the places of connections that are gone can be given again.
    pub(crate) fn end_round(&mut self) {
        self.free.append(&mut self.gone);
    }

    /// Looks how senders stand, if it is time to.
    pub(crate) fn look_at_senders(&mut self, now: Instant) {
        self.senders.look(now, self.connections.iter().flatten());
    }

    /// Records what is not complete at the end.
    pub(crate) fn record_open(&mut self, end: Instant) {
        for connection in self.connections.iter().flatten() {
            self.senders.ended(end, Occasion::Open, connection);
            for transfer in connection.unfinished(end) {
                self.recorder.open_transfer(&transfer);
            }
        }
    }

    fn connection(&mut self, id: ConnectionId) -> &mut Connection {
        let connection = self.connections[id.0 as usize].as_mut();
        connection.expect("a session knows which of its connections are open")
    }
}

impl sessions::Host for Connections<'_> {
    fn now(&self) -> Instant {
        self.clock.now()
    }

    fn open(&mut self, pair: usize, dialogue: Dialogue, first: Outgoing) -> ConnectionId {
        let workload = dialogue.workload();
        let talk = Talk::Dialogue(Box::new(dialogue));
        let now = self.clock.now();
        ConnectionId(Connections::open(self, now, workload, pair, talk, Some(first)))
    }

    fn write(&mut self, connection: ConnectionId, outgoing: Outgoing) {
        self.connection(connection).put(Side::Client, outgoing);
        if let Err(error) = self.flush(connection.0) {
            self.error = Some(error);
        }
    }

    fn dialogue(&mut self, connection: ConnectionId) -> &mut Dialogue {
        match &mut self.connection(connection).talk {
            Talk::Dialogue(dialogue) => dialogue,
            _ => unreachable!("a session has dialogues only"),
        }
    }

    fn account(&mut self, connection: ConnectionId) -> Account {
        let costs = {
            let tallies = self.tallies.clone();
            costs(self.connection(connection), &tallies)
        };
        self.connection(connection).account(costs)
    }

    fn record_complete(&mut self, transfer: &Transfer) {
        let (now, connections) = (self.clock.now(), self.connections.iter().flatten());
        self.senders.one_of_several(now, Occasion::Completed, transfer, connections);
        self.recorder.transfer(transfer);
    }

    fn record_failure(&mut self, failed: &Transfer) {
        let (now, connections) = (self.clock.now(), self.connections.iter().flatten());
        self.senders.one_of_several(now, Occasion::Failed, failed, connections);
        self.recorder.failed_transfer(now, failed);
    }

    fn log_access(&mut self, workload: u16, columns: &str, line: String) {
        self.recorder.access(workload, columns, line);
    }
}

/// The port of the servers of a workload over TCP.
fn port_of(kind: &WorkloadKind) -> Option<u16> {
    match kind {
        WorkloadKind::Transfers(transfers) => Some(transfers.port),
        WorkloadKind::Bulk(bulk) => Some(bulk.port),
        WorkloadKind::Web(web) => Some(web.sessions.port),
        WorkloadKind::Telnet(telnet) => Some(telnet.sessions.port),
        WorkloadKind::Ftp(ftp) => Some(ftp.sessions.port),
        WorkloadKind::Cbr(_) | WorkloadKind::Poisson(_) => None,
    }
}

/// What broke a connection.
fn broken(socket: &Socket) -> io::Error {
    let info = socket.take_error().ok().flatten();
    info.unwrap_or_else(|| io::ErrorKind::ConnectionReset.into())
}

/// What a connection has cost, as both kernels and the network tell.
fn costs(connection: &Connection, tallies: &Tallies) -> Costs {
    let (mut retransmissions, mut timeouts) = (0, 0);
    for end in connection.sides.iter().flatten() {
        // A server's kernel counts the SYN-ACKs that it has sent again.
        let (info, before) = (TcpInfo::query(&end.socket), end.first_info);
        retransmissions += info.retransmissions.saturating_sub(before.retransmissions);
        timeouts += info.timeouts.unwrap_or(0).saturating_sub(before.timeouts.unwrap_or(0));
    }
    let tally = tallies.get(connection.key(Side::Client)).unwrap_or_default();
    // The client's kernel counts the SYNs that it sends again among its retransmissions and timeouts.
    let again = tally.syns[0].saturating_sub(1);
    Costs {
        retransmissions: retransmissions.saturating_sub(again),
        timeouts: timeouts.saturating_sub(again),
        syn_retransmissions: tally.syn_retransmissions(),
        sent: tally.sent,
        dropped: tally.dropped,
        colors: tally.marked,
    }
}

fn with_costs(transfer: Transfer, costs: Costs) -> Transfer {
    let Costs { retransmissions, timeouts, syn_retransmissions, sent, dropped, colors } = costs;
    Transfer { retransmissions, timeouts, syn_retransmissions, sent, dropped, colors, ..transfer }
}
