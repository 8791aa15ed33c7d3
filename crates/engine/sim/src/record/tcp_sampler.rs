//! Samples the state of connections' senders, at regular intervals and at the end of each transfer.

use shortflow_measure::{Occasion, Phase, TcpSample, TcpState, results};
use shortflow_run::TcpInfoLog;
use shortflow_tcp::{LossPhase, SenderSnapshot, State, Stats};
use shortflow_units::{Bytes, Instant};

use crate::host::application::Application;
use crate::host::flow::{Flow, Flows, Side};

/// Where samples are written, and the time of the next ones. Each is written at once, so memory does not grow.
#[derive(Debug)]
pub(crate) struct TcpSampler {
    log: Option<TcpInfoLog>,
    next_at: Instant,
    end: Instant,
}

impl TcpSampler {
    /// Samples until `end` into `log`, if there is one.
    pub(crate) fn new(log: Option<TcpInfoLog>, end: Instant) -> Self {
        let every = log.as_ref().and_then(|log| log.every);
        let next_at = every.map_or(Instant::NEVER, |every| Instant::START + every);
        TcpSampler { log, next_at, end }
    }

    pub(crate) fn next_at(&self) -> Instant {
        self.next_at
    }

    /// Takes one sample of each connection whose sender is not done.
    pub(crate) fn sample(&mut self, now: Instant, flows: &Flows) {
        let busy = flows.iter().filter(|flow| !flow.is_sent());
        busy.for_each(|flow| self.write(now, Occasion::Interval, flow));
        let every = self.log.as_ref().and_then(|log| log.every);
        let next = every.map_or(Instant::NEVER, |every| now + every);
        self.next_at = if next > self.end { Instant::NEVER } else { next };
    }

    /// Takes a sample of a connection whose transfer, or which itself, has come to an end.
    #[inline]
    pub(crate) fn ended(&mut self, now: Instant, occasion: Occasion, flow: &Flow) {
        if self.log.is_some() {
            self.write(now, occasion, flow);
        }
    }

    #[cold]
    fn write(&mut self, at: Instant, occasion: Occasion, flow: &Flow) {
        let Some(log) = &mut self.log else { return };
        let side = flow.sender();
        let tcp = &flow.ends[side].tcp;
        log.sink.put(TcpSample {
            at,
            occasion,
            workload: flow.application.workload(),
            id: match &flow.application {
                Application::Exchange(exchange) => Some(exchange.id),
                Application::Bulk { .. } | Application::Dialogue(_) => None,
            },
            ends: flow.between(),
            is_server: side == Side::Server,
            state: state(&tcp.snapshot(), tcp.stats()),
        });
    }

    /// Ends the file.
    pub(crate) fn finish(self) -> Result<(), results::Error> {
        self.log.map_or(Ok(()), |log| log.sink.finish())
    }
}

impl Flow {
    /// The end that sends more: the client of a bulk transfer, else the server, once it has accepted.
    fn sender(&self) -> Side {
        let is_bulk = matches!(self.application, Application::Bulk { .. });
        let server = self.ends[Side::Server].tcp.state();
        let has_accepted = !matches!(server, State::Listen | State::SynReceived);
        if is_bulk || !has_accepted { Side::Client } else { Side::Server }
    }

    /// Whether all that the sender had to send, up to its FIN, is acknowledged.
    fn is_sent(&self) -> bool {
        let sender = self.ends[self.sender()].tcp.state();
        matches!(sender, State::FinWait2 | State::TimeWait | State::Closed)
    }
}

/// The state in the units of a kernel: windows in segments.
fn state(sender: &SenderSnapshot, stats: &Stats) -> TcpState {
    let segment = sender.segment.0.max(1);
    let segments = |bytes: Bytes| u32::try_from(bytes.0.div_ceil(segment)).unwrap_or(u32::MAX);
    let whole = |bytes: Bytes| u32::try_from(bytes.0 / segment).unwrap_or(u32::MAX);
    TcpState {
        phase: match sender.phase {
            LossPhase::Open => Phase::Open,
            LossPhase::Fast => Phase::Recovery,
            LossPhase::Loss => Phase::Loss,
        },
        window: whole(sender.window),
        threshold: sender.threshold.map(whole),
        round_trip: sender.smoothed_rtt,
        variation: sender.rtt_variation,
        timeout: sender.rto,
        segment: segment as u32,
        outstanding: segments(sender.outstanding),
        lost: segments(sender.lost),
        retransmissions: stats.retransmitted_segments + stats.syn_retransmissions,
        delivered: None,
        marked: None,
        timeouts: Some(stats.timeouts + stats.syn_retransmissions),
    }
}
