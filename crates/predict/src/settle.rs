//! What is offered to the lines, and the fixed point of waits, losses and rates.

use shortflow_models::queueing::{CustomerClass, fcfs_wait};
use shortflow_models::{ModelError, Range};
use shortflow_run::Refusal;
use shortflow_scenario::{Scenario, WorkloadKind};

use crate::forms::none;
use crate::lines::{Line, Stream, Way, lines, ways};
use crate::long_flows::{self, LongFlows};
use crate::sizes::{listed, moments};

/// Bytes of a packet that opens, acknowledges or closes: its headers.
pub(crate) const BARE_PACKETS: f64 = 5.0;

/// Load up to which transfers lose so little by their own bursts that it can be left out: at 0.6 their
/// times are some 15 % too short, at 0.7 some 20 %.
const MOST_LOAD: f64 = 0.6;

/// How often the waits are gone over, and what may be left: a billionth of a second or a part in a
/// million.
const STEPS: u32 = 200;

/// A network at rest.
#[derive(Debug)]
pub(crate) struct Network {
    pub(crate) lines: Vec<Line>,
    /// What packets meet at each line.
    pub(crate) met: Vec<Met>,
    /// The ways of each workload's pairs.
    pub(crate) ways: Vec<Vec<Way>>,
    pub(crate) long_flows: LongFlows,
}

/// What packets meet at a line.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Met {
    /// Mean wait in seconds.
    pub(crate) wait: f64,
    /// The probability of being dropped or lost.
    pub(crate) loss: f64,
    /// The share of time in which it sends.
    pub(crate) utilisation: f64,
    /// Whether long flows fill it.
    pub(crate) is_filled: bool,
}

impl Network {
    /// Seconds from one end to the other for a packet of so many bytes.
    pub(crate) fn delay(&self, way: &[usize], bytes: f64) -> f64 {
        way.iter()
            .map(|&at| self.lines[at].time(bytes) + self.lines[at].delay + self.met[at].wait)
            .sum()
    }

    /// Whether packets wait at a line for the windows of transfers, which M/G/1 takes one by one.
    pub(crate) fn waits_for_bursts(&self, at: usize) -> bool {
        !self.met[at].is_filled && self.lines[at].streams.iter().any(|stream| stream.is_tcp)
    }

    /// The probability of being lost on the way.
    pub(crate) fn loss(&self, way: &[usize]) -> f64 {
        1.0 - way.iter().map(|&at| 1.0 - self.met[at].loss).product::<f64>()
    }
}

/// Finds the waits, losses and rates that go together.
pub(crate) fn settle(scenario: &Scenario) -> Result<Network, Refusal> {
    let ways: Vec<Vec<Way>> = scenario
        .workloads
        .iter()
        .map(|workload| self::ways(scenario, workload.kind.pairs()))
        .collect();
    let mut lines = lines(scenario);
    for (workload, ways) in scenario.workloads.iter().zip(&ways) {
        offer(&mut lines, &workload.kind, &workload.tcp, ways);
    }
    let long_flows = LongFlows::of(scenario, &lines, &ways)?;
    let met = vec![Met::default(); lines.len()];
    let mut network = Network { lines, met, ways, long_flows };
    let mut residual = f64::INFINITY;
    for _ in 0..STEPS {
        residual = step(&mut network)?;
        if residual <= 1e-9 {
            check_bursts(&network)?;
            return Ok(network);
        }
    }
    let quantity = "the waits of the lines in seconds";
    Err(refusal("the network", ModelError::NotSettled { quantity, residual, steps: STEPS }))
}

/// Refuses what bursts of windows do beyond the range in which they can be left out.
fn check_bursts(network: &Network) -> Result<(), Refusal> {
    for (line, met) in network.lines.iter().zip(&network.met) {
        if !line.streams.iter().any(|stream| stream.is_tcp) {
            continue;
        }
        if met.is_filled && line.red.is_none() {
            let what = format!("transfers beside long flows at the plain buffer of {}", line.name);
            return Err(none(&what));
        }
        if !met.is_filled {
            Range::from_to(0.0, MOST_LOAD)
                .check("the load with transfers", met.utilisation)
                .map_err(|error| refusal(&line.name, error))?;
        }
    }
    Ok(())
}

/// Goes over all lines once; by how many seconds a wait changed at most.
fn step(network: &mut Network) -> Result<f64, Refusal> {
    let mut changed = 0.0f64;
    let found = long_flows::meet(network)?;
    for (at, filled) in found.into_iter().enumerate() {
        let line = &network.lines[at];
        let met = match filled {
            Some(met) => met,
            None => {
                let passing = network.long_flows.passing(at);
                open(line, passing).map_err(|error| refusal(&line.name, error))?
            }
        };
        changed = changed.max((met.wait - network.met[at].wait).abs());
        network.met[at] = met;
    }
    Ok(changed)
}

/// What packets meet where no long flow fills the line: M/G/1, as if packets came one by one.
fn open(line: &Line, passing: impl Iterator<Item = (f64, f64)>) -> Result<Met, ModelError> {
    let mut classes: Vec<CustomerClass> = line
        .streams
        .iter()
        .map(|stream| CustomerClass {
            arrival_rate: stream.rate,
            mean_service: stream.service,
            second_moment: stream.square,
        })
        .collect();
    classes.extend(passing.map(|(rate, bytes)| CustomerClass::constant(rate, line.time(bytes))));
    let utilisation = classes.iter().map(CustomerClass::load).sum();
    Range::from_to_below(0.0, 1.0).check("the load", utilisation)?;
    Ok(Met { wait: fcfs_wait(&classes)?, loss: line.link_loss, utilisation, is_filled: false })
}

/// What a model says of a place, as a refusal.
pub(crate) fn refusal(place: &str, error: ModelError) -> Refusal {
    Refusal(format!("no closed form for this scenario: at {place} {error}\nsimulate it"))
}

/// Puts what comes whatever the network does on the lines.
fn offer(lines: &mut [Line], kind: &WorkloadKind, tcp: &shortflow_tcp::Config, ways: &[Way]) {
    match kind {
        WorkloadKind::Poisson(poisson) => {
            let sizes = listed(&poisson.size);
            for way in ways {
                put(lines, &way.there, poisson.rate, &sizes, false);
            }
        }
        WorkloadKind::Cbr(cbr) => {
            let packet = f64::from(cbr.packet);
            for stream in 0..cbr.streams() {
                let (_, rate) = cbr.stream(stream);
                let way = &ways[stream % ways.len()];
                put(lines, &way.there, rate.bytes_per_sec() / packet, &[(packet, 1.0)], false);
            }
        }
        WorkloadKind::Transfers(transfers) => {
            let rate = transfers.rate / ways.len() as f64;
            let (mss, header) = (f64::from(tcp.mss), f64::from(tcp.header));
            for (sizes, is_request) in [(&transfers.request, true), (&transfers.reply, false)] {
                let sizes = listed(sizes);
                let (segments, _) = moments(&sizes, |size| (size / mss).ceil());
                let (bytes, _) = moments(&sizes, |size| size);
                let packet = [(bytes / segments + header, 1.0)];
                for way in ways {
                    let (data, answers) =
                        if is_request { (&way.there, &way.back) } else { (&way.back, &way.there) };
                    put(lines, data, rate * segments, &packet, true);
                    let bare = [(header, 1.0)];
                    put(
                        lines,
                        answers,
                        rate * (segments / acknowledged(tcp) + BARE_PACKETS / 2.0),
                        &bare,
                        true,
                    );
                }
            }
        }
        _ => {}
    }
}

/// How many segments an acknowledgement covers, as far as the window grows by it in congestion
/// avoidance: not where bytes are counted (RFC 3465).
pub(crate) fn growing(tcp: &shortflow_tcp::Config) -> f64 {
    if tcp.byte_counting { 1.0 } else { acknowledged(tcp) }
}

/// How many segments an acknowledgement covers.
pub(crate) fn acknowledged(tcp: &shortflow_tcp::Config) -> f64 {
    tcp.delayed_ack.as_ref().map_or(1.0, |delayed| f64::from(delayed.segments))
}

fn put(lines: &mut [Line], way: &[usize], rate: f64, sizes: &[(f64, f64)], is_tcp: bool) {
    for &at in way {
        let line = &mut lines[at];
        let (service, square) = moments(sizes, |size| line.time(size));
        line.streams.push(Stream { rate, service, square, is_tcp });
    }
}
