//! The formulas by name, with their inputs and the measured values that they are compared with.

use serde::Deserialize;
use shortflow_measure::{PortSummary, Summary};
use shortflow_models::long_flow::{Denominator, LongFlow};
use shortflow_models::pftk::{self, Path};
use shortflow_models::queueing::{CustomerClass, fcfs_wait, priority_waits};
use shortflow_models::short_flow::{MAX_SEGMENTS, ShortFlow, composed_loss};
use shortflow_models::{ModelError, flow_table};
use shortflow_scenario::Scenario;

/// What was simulated.
pub(super) struct Inputs<'a> {
    pub(super) scenario: &'a Scenario,
    pub(super) summary: &'a Summary,
}

/// A formula.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Form {
    /// The mean wait of a class under non-preemptive priorities, or of all first come, first served.
    PriorityWait(PriorityWait),
    /// The loss at which connections share a line.
    SharedLoss(SharedLoss),
    /// The completion time of a transfer.
    ShortFlow(Short),
    /// The rate of a long flow some of whose packets are protected, in Mbit/s.
    LongFlow(Long),
    /// The completion time of a transfer by what is measured of its path.
    Measured(MeasuredPath),
    /// How many flows are active, by what is measured of their path.
    Active(Active),
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct PriorityWait {
    loads: Vec<f64>,
    /// From 1; absent first come, first served.
    class: Option<usize>,
    /// Seconds that a packet takes; absent where λE[X²]/2 is 1.
    service: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct SharedLoss {
    connections: f64,
    /// Bit/s.
    capacity: f64,
    rtt: f64,
    timeout: f64,
    segments_per_ack: f64,
    /// Bytes.
    segment: f64,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Short {
    segments: u32,
    rtt: f64,
    timeout: f64,
    setup_timeout: f64,
    green: f64,
    yellow: f64,
    credits: u32,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Long {
    rtt: f64,
    timeout: f64,
    yellow: f64,
    credits: u32,
    /// Bytes.
    segment: f64,
    /// Whether T is added as printed.
    #[serde(default)]
    as_printed: bool,
}

/// A path of which round trip and losses are measured.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct MeasuredPath {
    segments: u32,
    credits: u32,
    /// The ports of the data and of what acknowledges them.
    port: String,
    back: String,
    workload: String,
    /// The code point of protected packets.
    green: String,
    /// Seconds of a round trip without waits.
    propagation: f64,
    /// Where packets beyond the credits are counted, protected and not, and those within them.
    marked: String,
    /// Whether T is added as printed in eq. 4.
    #[serde(default)]
    as_printed: bool,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Active {
    /// Lengths in segments, each as often as it comes.
    lengths: Vec<u32>,
    #[serde(flatten)]
    path: MeasuredPath,
}

impl Form {
    /// The number that the formula gives; in words why it gives none.
    pub(super) fn value(&self, inputs: Option<&Inputs<'_>>) -> Result<f64, String> {
        let measured = || inputs.ok_or_else(|| "it needs something simulated".to_owned());
        let message = |error: ModelError| error.to_string();
        match self {
            Form::PriorityWait(form) => form.value(),
            Form::SharedLoss(form) => form.value().map_err(message),
            Form::ShortFlow(form) => form.value().map_err(message),
            Form::LongFlow(form) => form.value().map_err(message),
            Form::Measured(form) => form.value(form.segments, measured()?),
            Form::Active(form) => form.value(measured()?),
        }
    }
}

impl PriorityWait {
    fn value(&self) -> Result<f64, String> {
        let all: f64 = self.loads.iter().sum();
        // λE[X²]/2 of constant services s is Σρ·s/2.
        let service = self.service.unwrap_or(2.0 / all);
        let classes: Vec<CustomerClass> = self
            .loads
            .iter()
            .map(|load| CustomerClass::constant(load / service, service))
            .collect();
        let Some(class) = self.class else {
            return fcfs_wait(&classes).map_err(|error| error.to_string());
        };
        let waits = priority_waits(&classes).map_err(|error| error.to_string())?;
        let wait = class.checked_sub(1).and_then(|at| waits.get(at).copied());
        wait.flatten().ok_or_else(|| format!("class {class} has no mean wait"))
    }
}

impl SharedLoss {
    fn value(&self) -> Result<f64, ModelError> {
        let path = Path {
            rtt: self.rtt,
            timeout: self.timeout,
            segments_per_ack: self.segments_per_ack,
            max_window: f64::INFINITY,
        };
        let capacity = self.capacity / 8.0 / self.segment;
        pftk::loss_for_connections(&path, capacity, self.connections)
    }
}

impl Short {
    fn value(&self) -> Result<f64, ModelError> {
        let flow = ShortFlow {
            rtt: self.rtt,
            timeout: self.timeout,
            setup_timeout: self.setup_timeout,
            green_loss: self.green,
            yellow_loss: self.yellow,
            credits: self.credits,
            initial_window: 1,
        };
        flow.completion_time(self.segments)
    }
}

impl Long {
    fn value(&self) -> Result<f64, ModelError> {
        let flow = LongFlow {
            rtt: self.rtt,
            timeout: self.timeout,
            yellow_loss: self.yellow,
            credits: self.credits,
            max_window: f64::INFINITY,
        };
        Ok(flow.throughput(denominator(self.as_printed))? * self.segment * 8.0 / 1e6)
    }
}

fn denominator(as_printed: bool) -> Denominator {
    if as_printed { Denominator::AsPrinted } else { Denominator::TimeoutsOnly }
}

impl MeasuredPath {
    fn value(&self, segments: u32, inputs: &Inputs<'_>) -> Result<f64, String> {
        let port = |name: &str| {
            inputs.summary.port(name).ok_or_else(|| format!("there is no port {name}"))
        };
        let (port, back) = (port(&self.port)?, port(&self.back)?);
        let wait = |port: &PortSummary| port.mean_wait.map_or(0.0, |wait| wait.mean);
        let rtt = self.propagation + wait(port) + wait(back);
        let workload = inputs.scenario.workloads.iter().find(|w| w.name == self.workload);
        let tcp = &workload.ok_or_else(|| format!("there is no workload {}", self.workload))?.tcp;
        let timeout = tcp.rto_min.as_secs_f64().max(3.0 * rtt);
        let (green, yellow) = self.losses(port);
        let composed =
            composed_loss(green, yellow, self.promoted(inputs)).map_err(|e| e.to_string())?;
        let flow = ShortFlow {
            rtt,
            timeout,
            setup_timeout: tcp.rto_initial.as_secs_f64(),
            green_loss: green,
            yellow_loss: composed,
            credits: self.credits,
            initial_window: tcp.initial_window,
        };
        if segments <= MAX_SEGMENTS {
            return flow.by_recursion(segments).map_err(|e| e.to_string());
        }
        let long = LongFlow {
            rtt,
            timeout,
            yellow_loss: composed,
            credits: self.credits,
            max_window: f64::INFINITY,
        };
        let setup = flow.setup_time().map_err(|e| e.to_string())?;
        let data = long.completion_time(f64::from(segments), denominator(self.as_printed));
        Ok(setup + data.map_err(|e| e.to_string())?)
    }

    /// p and q: the loss of protected packets, and of all others.
    fn losses(&self, port: &PortSummary) -> (f64, f64) {
        let mut lost = [(0.0, 0.0); 2];
        for point in &port.code_points {
            let at = usize::from(point.name != self.green);
            let arrived = point.arrived.packets as f64;
            let loss = point.loss.map_or(0.0, |loss| loss.mean);
            lost[at].0 += arrived * loss;
            lost[at].1 += arrived;
        }
        let share = |(lost, of): (f64, f64)| if of > 0.0 { lost / of } else { 0.0 };
        (share(lost[0]), share(lost[1]))
    }

    /// p_tr: the share of packets beyond the credits that are made green all the same.
    fn promoted(&self, inputs: &Inputs<'_>) -> f64 {
        let counter = |what: &str| {
            let name = format!("{}/{what}", self.marked);
            inputs.summary.counters.get(&name).map_or(0.0, |count| count.mean)
        };
        let first = counter("pre-marked bytes");
        let (green, yellow) = (counter("marked green bytes"), counter("marked yellow bytes"));
        let rest = green + yellow - first;
        if rest > 0.0 { ((green - first) / rest).clamp(0.0, 1.0) } else { 0.0 }
    }
}

impl Active {
    fn value(&self, inputs: &Inputs<'_>) -> Result<f64, String> {
        let share = 1.0 / self.lengths.len() as f64;
        let mut times = Vec::new();
        for length in &self.lengths {
            times.push((share, self.path.value(*length, inputs)?));
        }
        let workload = inputs.summary.workload(&self.path.workload);
        let completed = workload.map_or(0.0, |workload| workload.completed as f64);
        let seconds = inputs.summary.measured * f64::from(inputs.summary.replicas);
        let mean = flow_table::mean_completion(times).map_err(|e| e.to_string())?;
        flow_table::active_flows(completed / seconds, mean).map_err(|e| e.to_string())
    }
}
