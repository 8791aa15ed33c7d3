//! Sources: running workloads, which start connections and send datagrams.

use std::collections::VecDeque;
use std::iter::Peekable;
use std::sync::Arc;

use shortflow_packet::Dscp;
use shortflow_scenario::NodeId;
use shortflow_sessions::Sessions;
use shortflow_tcp::Config;
use shortflow_units::Instant;
use shortflow_workloads::{CbrStream, FlowStart, PoissonStream, TransferArrivals};

use crate::host::application::{Application, Exchange};
use crate::host::flow::{FlowId, Flows};
use crate::host::ports::EphemeralPorts;
use crate::network::key::{NodeKey, Transport};

/// A connection to be opened.
pub(crate) struct NewFlow {
    pub(crate) key: NodeKey,
    pub(crate) config: Arc<Config>,
    pub(crate) application: Application,
}

/// The action of a source.
pub(crate) enum Emission {
    /// Opens a connection.
    Open(NewFlow),
    /// Wakes sessions.
    Wake,
    /// Sends a datagram of `size` bytes, headers included.
    Datagram { stream: StreamId, size: u32 },
}

/// A UDP stream: an index into the list of all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StreamId(pub(crate) u32);

impl StreamId {
    /// A flow's name with this bit names a stream.
    const MARK: u32 = 1 << 31;

    /// The stream with this flow index; `None` if it is a connection.
    #[inline]
    pub(crate) fn from_flow(flow: FlowId) -> Option<StreamId> {
        (flow.0 & StreamId::MARK != 0).then_some(StreamId(flow.0 & !StreamId::MARK))
    }

    /// Its flow index.
    pub(crate) fn flow(self) -> FlowId {
        FlowId(self.0 | StreamId::MARK)
    }

    /// The number as an index.
    #[inline]
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// A UDP stream: its departures and its packets.
#[derive(Debug)]
pub(crate) struct Stream {
    pub(crate) workload: u16,
    pub(crate) node: NodeId,
    pub(crate) key: NodeKey,
    pub(crate) dscp: Dscp,
    /// Bytes of the headers of each.
    pub(crate) headers: u32,
}

/// The connections of a workload: their nodes and their settings.
#[derive(Debug)]
pub(crate) struct Connections {
    pub(crate) workload: u16,
    pub(crate) pairs: Vec<(NodeId, NodeId)>,
    pub(crate) port: u16,
    pub(crate) transport: Transport,
    pub(crate) config: Arc<Config>,
}

/// A running workload, or one stream of it.
pub(crate) enum Source {
    /// Request/reply transfers.
    Transfers { connections: Connections, arrivals: Peekable<TransferArrivals>, opened: u64 },
    /// Bulk transfers, in the order of their starts.
    Bulk { connections: Connections, starts: VecDeque<FlowStart>, size: Option<u64> },
    /// Sessions.
    Sessions { connections: Connections, sessions: Sessions },
    /// A stream at a constant bit rate.
    Cbr { stream: StreamId, departures: Peekable<CbrStream> },
    /// A Poisson stream.
    Poisson { stream: StreamId, departures: Peekable<PoissonStream> },
}

impl Source {
    /// The time of the source's next action; `NEVER` after its end.
    pub(crate) fn next_at(&mut self) -> Instant {
        let next = match self {
            Source::Transfers { arrivals, .. } => arrivals.peek().map(|arrival| arrival.at),
            Source::Bulk { starts, .. } => starts.front().map(|start| start.at),
            Source::Sessions { sessions, .. } => Some(sessions.next_at()),
            Source::Cbr { departures, .. } => departures.peek().map(|departure| departure.at),
            Source::Poisson { departures, .. } => departures.peek().map(|departure| departure.at),
        };
        next.unwrap_or(Instant::NEVER)
    }

    /// Executes the action that is due; `None` after the source's end.
    pub(crate) fn emit(
        &mut self,
        now: Instant,
        ports: &mut EphemeralPorts,
        flows: &Flows,
    ) -> Option<Emission> {
        Some(match self {
            Source::Transfers { connections, arrivals, opened } => {
                let arrival = arrivals.next()?;
                let id = *opened;
                *opened += 1;
                let (request, reply) = (arrival.request.0, arrival.reply.0);
                let exchange = Exchange::new(connections.workload, id, request, reply, now);
                let application = Application::Exchange(exchange);
                Emission::Open(connections.open(arrival.pair, application, ports, flows))
            }
            Source::Bulk { connections, starts, size } => {
                let start = starts.pop_front()?;
                let workload = connections.workload;
                let application = Application::Bulk { workload, size: *size };
                Emission::Open(connections.open(start.pair, application, ports, flows))
            }
            Source::Sessions { .. } => Emission::Wake,
            Source::Cbr { stream, departures } => {
                Emission::Datagram { stream: *stream, size: departures.next()?.size }
            }
            Source::Poisson { stream, departures } => {
                Emission::Datagram { stream: *stream, size: departures.next()?.size }
            }
        })
    }
}

impl Connections {
    /// A new connection over pair `pair`.
    pub(crate) fn open(
        &self,
        pair: usize,
        application: Application,
        ports: &mut EphemeralPorts,
        flows: &Flows,
    ) -> NewFlow {
        let (client, server) = self.pairs[pair];
        let key = NodeKey {
            src: client,
            dst: server,
            src_port: 0,
            dst_port: self.port,
            transport: self.transport,
        };
        let key = ports.assign(client, key, flows);
        NewFlow { key, config: Arc::clone(&self.config), application }
    }
}
