//! How long transfers take: slow start over lines that flows share, and what losses add.

use std::collections::BTreeMap;

use shortflow_models::ModelError;
use shortflow_models::latency;
use shortflow_models::pftk::Path;
use shortflow_models::processor_sharing::SharedLine;
use shortflow_models::short_flow::ShortFlow;
use shortflow_tcp::{Config, RtoFloor};

use crate::lines::Way;
use crate::settle::{Network, acknowledged, growing};

/// Segments up to which losses are followed one by one.
const MOST_FOLLOWED: u32 = 24;

/// The transfers of one workload between one pair.
pub(crate) struct Transfer<'n> {
    network: &'n Network,
    tcp: &'n Config,
    /// From client to server.
    way: &'n Way,
    /// What losses add to a message of so many segments, by its direction.
    added: [BTreeMap<u32, f64>; 2],
}

/// A message's direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Message {
    /// From client to server.
    Request,
    /// From server to client.
    Reply,
}

impl<'n> Transfer<'n> {
    pub(crate) fn new(network: &'n Network, tcp: &'n Config, way: &'n Way) -> Self {
        Transfer { network, tcp, way, added: Default::default() }
    }

    /// The mean time of the handshake, until the client has the answer.
    pub(crate) fn handshake(&self) -> Result<f64, ModelError> {
        let header = f64::from(self.tcp.header);
        let Way { there, back } = self.way;
        let rtt = self.network.delay(there, header) + self.network.delay(back, header);
        let timeout = self.tcp.rto_initial.as_secs_f64();
        latency::setup_time(rtt, timeout, self.network.loss(there), self.network.loss(back))
    }

    /// The mean time from the first segment of a message of so many bytes leaving until the last has come.
    pub(crate) fn time(&mut self, message: Message, bytes: f64) -> Result<f64, ModelError> {
        let (mss, header) = (f64::from(self.tcp.mss), f64::from(self.tcp.header));
        let segments = (bytes / mss).ceil().max(1.0);
        let Way { there, back } = self.way;
        let (data, answers) = match message {
            Message::Request => (there, back),
            Message::Reply => (back, there),
        };
        let packet = bytes.min(mss) + header;
        let one_way = self.network.delay(data, packet);
        let rtt = one_way + self.network.delay(answers, header);
        // The line that takes longest for a segment, with what others take of it.
        let mut slowest = 0.0f64;
        for &at in data {
            let line = &self.network.lines[at];
            let share = if self.network.met[at].is_filled { 0.0 } else { line.load() };
            let shared = SharedLine::new(share, 1.0, 1.0, 0.0)?;
            slowest = slowest.max(shared.response_time(line.time(packet))?);
        }
        let stalls = self.stalls(segments, rtt, slowest);
        let behind_the_first = (bytes / mss - bytes.min(mss) / mss) * slowest;
        let losses = self.losses(message, segments, rtt, self.network.loss(data))?;
        Ok(one_way + stalls + behind_the_first + losses)
    }

    /// How long the sender waits for acknowledgements between its windows, all together, where a segment takes
    /// `slowest` on the slowest line: what a round trip takes longer than sending the window.
    fn stalls(&self, segments: f64, rtt: f64, slowest: f64) -> f64 {
        let most = (self.tcp.receive_window.0 as f64 / f64::from(self.tcp.mss)).max(1.0);
        let growth = if self.tcp.quick_acks > 0 { 2.0 } else { 1.0 + 1.0 / acknowledged(self.tcp) };
        let mut window = f64::from(self.tcp.initial_window).min(most);
        let (mut left, mut stalls) = (segments - window, 0.0);
        while left > 0.0 {
            let stall = rtt - window * slowest;
            if stall <= 0.0 {
                break;
            }
            stalls += stall;
            if window >= most {
                // As many more windows as are left, each with the same wait.
                stalls += stall * ((left / window).ceil() - 1.0);
                break;
            }
            window = (window * growth).min(most);
            left -= window;
        }
        stalls
    }

    /// What losses add to a message: followed one by one while it is short, by Cardwell et al. beyond.
    fn losses(
        &mut self,
        message: Message,
        segments: f64,
        rtt: f64,
        loss: f64,
    ) -> Result<f64, ModelError> {
        if loss == 0.0 {
            return Ok(0.0);
        }
        let place = segments.min(1e9) as u32;
        if let Some(added) = self.added[message as usize].get(&place) {
            return Ok(*added);
        }
        let timeout = self.timeout(rtt);
        let added = if place <= MOST_FOLLOWED {
            let with = |loss: f64| {
                let flow = ShortFlow {
                    rtt,
                    timeout,
                    setup_timeout: timeout,
                    green_loss: loss,
                    yellow_loss: loss,
                    credits: 0,
                    initial_window: self.tcp.initial_window,
                };
                Ok::<f64, ModelError>(flow.by_recursion(place)? - flow.setup_time()?)
            };
            with(loss)? - with(0.0)?
        } else {
            let path = Path {
                rtt,
                timeout,
                segments_per_ack: growing(self.tcp),
                max_window: (self.tcp.receive_window.0 as f64 / f64::from(self.tcp.mss)).max(1.0),
            };
            let window = f64::from(self.tcp.initial_window);
            let with = |loss: f64| latency::transfer(&path, window, segments, loss);
            with(loss)?.total() - with(0.0)?.total()
        };
        self.added[message as usize].insert(place, added);
        Ok(added)
    }

    /// T after one sample of the round trip (RFC 6298 §2.2).
    fn timeout(&self, rtt: f64) -> f64 {
        let floor = self.tcp.rto_min.as_secs_f64();
        match self.tcp.rto_floor {
            RtoFloor::Timeout => floor.max(3.0 * rtt),
            RtoFloor::Variation => rtt + floor.max(2.0 * rtt),
        }
    }
}
