//! The measures of each workload, so that an unknown measure is refused before anything is run.

use shortflow_measure::{
    Measure::{self, *},
    Unit,
};
use shortflow_scenario::{Scenario, WorkloadKind};

/// A workload, and what of it is measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offered {
    /// Its name.
    pub workload: String,
    /// What goals and limits may be of.
    pub measures: Vec<Measure>,
}

/// The measures of items that end.
const ENDING: [Measure; 6] =
    [Completion, CompletionMedian, CompletionP95, CompletionP99, DataGoodput, PacketLoss];

/// What is measured of flows without end.
const ENDLESS: [Measure; 2] = [DataGoodput, Fairness];

/// The measures of datagrams. Their throughput is measured as loss, since the network does not decide what is sent.
const DATAGRAMS: [Measure; 12] = [
    Delay,
    DelayMedian,
    DelayP95,
    DelayP99,
    Jitter,
    JitterMedian,
    JitterP95,
    JitterP99,
    DelayAdded,
    DatagramLoss,
    RFactor,
    OpinionScore,
];

/// The name of a measure in goals and limits. Their `goodput` is that of replies and of long flows: it never exceeds the rate of a
/// line, as the sum of both directions may.
pub(crate) fn name(measure: Measure) -> &'static str {
    match measure {
        DataGoodput => "goodput",
        _ => measure.about().name,
    }
}

impl Offered {
    /// Of each workload of a scenario.
    pub fn by(scenario: &Scenario) -> Vec<Offered> {
        let one = |workload: &shortflow_scenario::Workload| {
            let traffic = workload.kind.traffic();
            let measures = match (&workload.kind, traffic.endless_flows()) {
                _ if traffic.datagrams().is_some() => DATAGRAMS.to_vec(),
                // Of bulk that comes to an end nobody takes the time.
                (WorkloadKind::Bulk(_), 0) => vec![DataGoodput],
                (_, 0) => ENDING.to_vec(),
                _ => ENDLESS.to_vec(),
            };
            Offered { workload: workload.name.clone(), measures }
        };
        scenario.workloads.iter().map(one).collect()
    }

    /// Whether one of these is measured.
    pub(crate) fn has_one_of(&self, measures: &[Measure]) -> bool {
        measures.iter().any(|measure| self.measures.contains(measure))
    }

    /// These measures as limits name them, each once: distributions with what may be said of them.
    pub(crate) fn as_limits(&self) -> String {
        let listed = |measure: &Measure| match measure.about() {
            about if about.unit == Unit::Seconds && *measure != DelayAdded => {
                let of = about.name.split('-').next().unwrap_or(about.name);
                format!("`{of}` (`.mean`, `.median`, `.p95`, `.p99`)")
            }
            _ => format!("`{}`", name(*measure)),
        };
        let mut names: Vec<String> = self.measures.iter().map(listed).collect();
        names.dedup();
        names.join(", ")
    }
}

#[cfg(test)]
impl Offered {
    /// Transfers called `web`, datagrams called `voice`, and flows without end called `backup`.
    pub(crate) fn for_tests() -> Vec<Offered> {
        let of = [("web", &ENDING[..]), ("voice", &DATAGRAMS), ("backup", &ENDLESS)];
        let one = |(workload, measures): (&str, &[Measure])| Offered {
            workload: workload.to_owned(),
            measures: measures.to_vec(),
        };
        of.map(one).to_vec()
    }
}
