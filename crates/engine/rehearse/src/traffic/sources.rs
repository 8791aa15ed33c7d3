//! The times at which connections open and datagrams are sent: the arrivals of the simulation with the same seeds.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::iter::Peekable;

use shortflow_packet::Dscp;
use shortflow_scenario::{IpVersion, MAX_STREAMS, NodeId, Scenario, WorkloadKind};
use shortflow_units::Instant;
use shortflow_workloads::{CbrStream, FlowStart, PoissonStream, TransferArrivals};

use crate::ip::spoken;

/// What is to be done.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Due {
    /// A request for a reply, at this time.
    Exchange { at: Instant, workload: u16, pair: usize, id: u64, request: u64, reply: u64 },
    /// Bytes one way; endless when there is no size.
    Bulk { at: Instant, workload: u16, pair: usize, size: Option<u64> },
    /// A datagram of `size` bytes, headers included.
    Datagram { stream: u32, size: u32 },
}

/// A stream of datagrams.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StreamSpec {
    pub(crate) workload: u16,
    pub(crate) from: NodeId,
    pub(crate) to: NodeId,
    pub(crate) ip: IpVersion,
    /// Its own source port, by which its receiver knows it.
    pub(crate) source_port: u16,
    pub(crate) port: u16,
    pub(crate) dscp: Dscp,
}

enum Source {
    Transfers { workload: u16, arrivals: Peekable<TransferArrivals>, opened: u64 },
    Bulk { workload: u16, starts: VecDeque<FlowStart>, size: Option<u64> },
    Cbr { stream: u32, departures: Peekable<CbrStream> },
    Poisson { stream: u32, departures: Peekable<PoissonStream> },
}

/// All arrivals of a replica, in the order of time.
pub(crate) struct Sources {
    sources: Vec<Source>,
    /// When each acts next, the earliest first.
    next: BinaryHeap<Reverse<(Instant, usize)>>,
}

impl Sources {
    /// The arrivals of a replica with this seed, and its streams of datagrams.
    pub(crate) fn new(
        scenario: &Scenario,
        asked: IpVersion,
        seed: u64,
    ) -> (Sources, Vec<StreamSpec>) {
        let (mut sources, mut streams) = (Vec::new(), Vec::new());
        for (index, workload) in (0..).zip(&scenario.workloads) {
            let (name, ip) = (&workload.name, spoken(asked, workload));
            let mut add = |(from, to): (NodeId, NodeId), port, dscp| {
                let stream = streams.len() as u32;
                let source_port = (FIRST_STREAM_PORT + stream) as u16;
                let workload = index;
                streams.push(StreamSpec { workload, from, to, ip, source_port, port, dscp });
                stream
            };
            match &workload.kind {
                WorkloadKind::Transfers(transfers) => sources.push(Source::Transfers {
                    workload: index,
                    arrivals: transfers.arrivals(seed, name).peekable(),
                    opened: 0,
                }),
                WorkloadKind::Bulk(bulk) => {
                    let mut starts = bulk.starts(seed, name);
                    starts.sort_by_key(|start| start.at);
                    let size = bulk.size.map(|size| size.0);
                    sources.push(Source::Bulk { workload: index, starts: starts.into(), size });
                }
                WorkloadKind::Cbr(cbr) => {
                    for number in 0..cbr.streams() {
                        let stream = add(*cbr.stream(number).0, cbr.port, cbr.dscp);
                        let departures = cbr.departures(seed, name, number).peekable();
                        sources.push(Source::Cbr { stream, departures });
                    }
                }
                WorkloadKind::Poisson(poisson) => {
                    for (pair, ends) in poisson.pairs.iter().enumerate() {
                        let stream = add(*ends, poisson.port, poisson.dscp);
                        let departures = poisson.departures(seed, name, pair).peekable();
                        sources.push(Source::Poisson { stream, departures });
                    }
                }
                // Sessions see to themselves.
                WorkloadKind::Web(_) | WorkloadKind::Telnet(_) | WorkloadKind::Ftp(_) => {}
            }
        }
        let mut all = Sources { sources, next: BinaryHeap::new() };
        (0..all.sources.len()).for_each(|source| all.arm(source));
        (all, streams)
    }

    /// When something is due next.
    pub(crate) fn next_at(&self) -> Instant {
        self.next.peek().map_or(Instant::NEVER, |Reverse((at, _))| *at)
    }

    /// Takes what was due first, if anything is by `now`.
    pub(crate) fn pop(&mut self, now: Instant) -> Option<Due> {
        if self.next_at() > now {
            return None;
        }
        let Reverse((_, source)) = self.next.pop()?;
        let due = self.sources[source].take();
        self.arm(source);
        due
    }

    fn arm(&mut self, source: usize) {
        if let Some(at) = self.sources[source].next_at() {
            self.next.push(Reverse((at, source)));
        }
    }
}

impl Source {
    fn next_at(&mut self) -> Option<Instant> {
        match self {
            Source::Transfers { arrivals, .. } => arrivals.peek().map(|arrival| arrival.at),
            Source::Bulk { starts, .. } => starts.front().map(|start| start.at),
            Source::Cbr { departures, .. } => departures.peek().map(|departure| departure.at),
            Source::Poisson { departures, .. } => departures.peek().map(|departure| departure.at),
        }
    }

    fn take(&mut self) -> Option<Due> {
        Some(match self {
            Source::Transfers { workload, arrivals, opened } => {
                let arrival = arrivals.next()?;
                let id = *opened;
                *opened += 1;
                Due::Exchange {
                    at: arrival.at,
                    workload: *workload,
                    pair: arrival.pair,
                    id,
                    request: arrival.request.0,
                    reply: arrival.reply.0,
                }
            }
            Source::Bulk { workload, starts, size } => {
                let start = starts.pop_front()?;
                Due::Bulk { at: start.at, workload: *workload, pair: start.pair, size: *size }
            }
            Source::Cbr { stream, departures } => {
                Due::Datagram { stream: *stream, size: departures.next()?.size }
            }
            Source::Poisson { stream, departures } => {
                Due::Datagram { stream: *stream, size: departures.next()?.size }
            }
        })
    }
}

/// From here there are as many ports as a scenario may have streams.
const FIRST_STREAM_PORT: u32 = (1 << 16) - MAX_STREAMS;
