//! Runs all measurements in sequence.

use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use shortflow_deploy::{Endpoints, Tree};
use shortflow_packet::Dscp;
use shortflow_units::{Bytes, Rate};

use crate::class::{Class, Way};
use crate::class_separation::class_delays;
use crate::code_points::code_points;
use crate::error::Error;
use crate::findings::Findings;
use crate::gain::{FILL_TIME, Gain, Period, period};
use crate::load::Load;
use crate::marking_bypass::MarkingBypass;
use crate::probes::{probe, sleep_until};
use crate::switch::Switch;

/// What to measure.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The address of the peer.
    pub peer: SocketAddr,
    /// The device through which packets go to it, if what it sends is to be measured.
    pub device: Option<String>,
    /// The code points to send.
    pub code_points: Vec<Dscp>,
    /// The classes to probe.
    pub classes: Vec<Class>,
    /// The class of the long flows; `None` if unknown.
    pub load: Option<usize>,
    /// The classes that no probe reaches.
    pub unreached: Vec<String>,
    /// The duration of each measurement.
    pub length: Duration,
    /// The number of long flows.
    pub flows: usize,
    /// The rate of the line, if known.
    pub rate: Option<Rate>,
    /// The most that the class of the long flows may send, if known.
    pub ceiling: Option<Rate>,
    /// The size of a short transfer.
    pub size: Bytes,
    /// The number of comparisons with one queue in place of the policy.
    pub pairs: usize,
}

/// Receives the name of each measurement as it begins, and the share of all work that is done.
pub type ProgressFn<'t> = &'t mut dyn FnMut(&str, f64);

impl Plan {
    /// Measures short transfers to this peer, and whether packets reach it.
    pub fn to(peer: SocketAddr) -> Plan {
        Plan {
            peer,
            device: None,
            code_points: vec![Dscp::BEST_EFFORT],
            classes: Vec::new(),
            load: None,
            unreached: Vec::new(),
            length: Duration::from_secs(10),
            flows: 4,
            rate: None,
            ceiling: None,
            size: Bytes(20_000),
            pairs: 0,
        }
    }

    /// Adds the code points that a marker writes.
    pub fn look_at_written(&mut self, code_points: &[Dscp]) {
        for code_point in code_points {
            if !self.code_points.contains(code_point) {
                self.code_points.push(*code_point);
            }
        }
    }

    /// Adds the code points and classes of these queues.
    pub fn look_at(&mut self, tree: &Tree, endpoints: Endpoints) {
        self.rate = Some(tree.rate);
        self.code_points = tree.code_points();
        let load = tree.class_of_flow(endpoints);
        for (at, (leaf, probe)) in tree.leaves.iter().zip(tree.class_probes(endpoints)).enumerate()
        {
            let Some(probe) = probe else {
                self.unreached.push(leaf.name.clone());
                continue;
            };
            if at == load {
                self.load = Some(self.classes.len());
                self.ceiling = Some(leaf.ceiling.map_or(tree.rate, |own| own.min(tree.rate)));
            }
            self.classes.push(Class {
                name: leaf.name.clone(),
                code_point: probe.code_point,
                way: probe.tcp_port.map_or(Way::Datagram, Way::Connection),
            });
        }
    }

    /// The approximate duration of all measurements.
    pub fn takes(&self) -> Duration {
        let periods = if self.pairs == 0 { 1 } else { 2 * self.pairs };
        let classes =
            if self.has_classes() { IDLE + self.length + FILL_TIME + TAIL } else { Duration::ZERO };
        CODE_POINTS + classes + (self.length + FILL_TIME) * periods as u32
    }

    fn has_classes(&self) -> bool {
        self.load.is_some()
    }

    /// Runs all measurements. With `passing`, the policy's marker is bypassed while code points and classes are
    /// measured. With a `switch`, periods with the policy alternate with periods with one queue.
    ///
    /// # Errors
    /// If the peer does not answer, the kernel refuses a change, or `stop` becomes true.
    pub fn conduct(
        &self,
        mut passing: Option<&mut MarkingBypass>,
        switch: Option<&mut Switch>,
        progress: ProgressFn<'_>,
        stop: &AtomicBool,
    ) -> Result<Findings, Error> {
        let begin = Instant::now();
        let mut tell = |what: &str| {
            let done = begin.elapsed().as_secs_f64() / self.takes().as_secs_f64();
            progress(what, done.min(1.0));
        };
        tell("code points");
        passing.as_mut().map_or(Ok(()), |passing| passing.begin())?;
        let mut findings = Findings {
            code_points: code_points(self.peer, &self.code_points, stop)?,
            classes: Vec::new(),
            load: self.load,
            unreached: self.unreached.clone(),
            transfers: None,
            gain: None,
            rate: self.rate,
            ceiling: self.ceiling,
            size: self.size,
            flows: self.flows,
        };
        if let Some(load) = self.load.filter(|_| self.has_classes()) {
            tell("classes without load");
            let before = probe(self.peer, &self.classes, IDLE, stop)?;
            tell("classes");
            let flows = Load::begin(self.peer, self.flows)?;
            if !sleep_until(Instant::now() + FILL_TIME, stop) {
                return Err(Error::Interrupted);
            }
            let seen = probe(self.peer, &self.classes, self.length, stop)?;
            drop(flows);
            let delays = class_delays(&before, &seen, load);
            findings.classes = self.classes.iter().cloned().zip(delays).collect();
        }
        passing.as_mut().map_or(Ok(()), |passing| passing.end())?;
        let measure = || period(self, stop);
        match switch {
            None => {
                tell("short transfers");
                findings.transfers = Some(measure()?);
            }
            Some(switch) => {
                let mut pairs: Vec<[Period; 2]> = Vec::new();
                for _ in 0..self.pairs {
                    tell("short transfers with the policy");
                    let with = measure()?;
                    tell("short transfers with one queue");
                    switch.off()?;
                    let without = measure()?;
                    switch.on()?;
                    pairs.push([with, without]);
                }
                findings.gain = Some(Gain::from_pairs(&pairs));
            }
        }
        Ok(findings)
    }
}

/// How long classes are probed before long flows begin.
const IDLE: Duration = Duration::from_secs(2);
/// How long code points take, and the last probes.
const CODE_POINTS: Duration = Duration::from_secs(1);
const TAIL: Duration = Duration::from_millis(500);
