//! Samples the state of connections' senders, periodically and at the end of each transfer.

use shortflow_measure::{Ends, Occasion, TcpSample, Transfer};
use shortflow_run::TcpInfoLog;
use shortflow_units::Instant;

use super::connection::{Connection, Side, Talk};
use super::tcp_info::TcpInfo;

/// Writes down how senders stand, if that is asked for.
pub(crate) struct Senders<'l> {
    log: Option<&'l mut TcpInfoLog>,
    next_at: Instant,
}

impl<'l> Senders<'l> {
    /// Writes into `log`, if there is one.
    pub(crate) fn new(log: Option<&'l mut TcpInfoLog>) -> Self {
        let is_regular = log.as_ref().is_some_and(|log| log.every.is_some());
        Senders { log, next_at: if is_regular { Instant::START } else { Instant::NEVER } }
    }

    /// When one looks next.
    pub(crate) fn next_at(&self) -> Instant {
        self.next_at
    }

    /// Samples all connections if it is time. Missed samples are omitted.
    pub(crate) fn look<'c>(
        &mut self,
        now: Instant,
        connections: impl Iterator<Item = &'c Connection>,
    ) {
        let every = self.log.as_ref().and_then(|log| log.every);
        let Some(every) = every.filter(|_| now >= self.next_at) else { return };
        for connection in connections.filter(|connection| !connection.is_done()) {
            self.write(now, Occasion::Interval, connection, connection.id());
        }
        let past = now.since(self.next_at).nanos() / every.nanos();
        self.next_at += every * (past + 1);
    }

    /// Something has come to an end over a connection: the transfer of its own, if it has one.
    pub(crate) fn ended(&mut self, now: Instant, occasion: Occasion, connection: &Connection) {
        self.write(now, occasion, connection, connection.id());
    }

    /// One of several transfers is complete, or has failed, over one of these connections.
    pub(crate) fn one_of_several<'c>(
        &mut self,
        now: Instant,
        occasion: Occasion,
        transfer: &Transfer,
        mut connections: impl Iterator<Item = &'c Connection>,
    ) {
        // Of what came over several connections none is named.
        let Ends { client_port, .. } = transfer.ends;
        if self.log.is_none() || client_port == 0 {
            return;
        }
        if let Some(connection) = connections.find(|it| it.ends == transfer.ends) {
            self.write_row(now, occasion, connection, Some(transfer.id), transfer.workload);
        }
    }

    fn write(&mut self, at: Instant, occasion: Occasion, of: &Connection, id: Option<u64>) {
        self.write_row(at, occasion, of, id, of.workload);
    }

    fn write_row(
        &mut self,
        at: Instant,
        occasion: Occasion,
        of: &Connection,
        id: Option<u64>,
        workload: u16,
    ) {
        let Some(log) = &mut self.log else { return };
        let side = of.sender();
        let Some(end) = &of.sides[side as usize] else { return };
        let TcpInfo { state, .. } = TcpInfo::query(&end.socket);
        let (ends, is_server) = (of.ends, side == Side::Server);
        log.sink.put(TcpSample { at, occasion, workload, id, ends, is_server, state });
    }
}

impl Connection {
    /// The end that has sent more: the server of a request and its reply, once it has accepted.
    fn sender(&self) -> Side {
        let is_server = match &self.talk {
            Talk::Exchange(_) => self.sides[Side::Server as usize].is_some(),
            Talk::Bulk { .. } => false,
            Talk::Dialogue(_) => self.received(Side::Client) > self.received(Side::Server),
        };
        if is_server { Side::Server } else { Side::Client }
    }

    /// The number of its transfer, where it carries one alone.
    fn id(&self) -> Option<u64> {
        match &self.talk {
            Talk::Exchange(exchange) => Some(exchange.id),
            _ => None,
        }
    }

    /// Whether what it was opened for is complete.
    fn is_done(&self) -> bool {
        matches!(&self.talk, Talk::Exchange(exchange) if exchange.is_done)
    }
}
