//! Warns of settings that have no effect in the scenario at hand.

use shortflow_text::Document;

use crate::model::Scenario;

/// Warns of time series that have no ports, or end after their first sample.
pub(super) fn series(document: &mut Document, scenario: &Scenario) {
    let Some(interval) = scenario.measure.series_interval else { return };
    let (message, help) = if scenario.measure.ports.is_empty() {
        let help = "name ports with `measure.ports`, such as [\"r1->r2\"], or bind a queue";
        ("series_interval has no effect: no port is measured".to_owned(), help)
    } else if interval > scenario.duration {
        let message = format!(
            "series_interval {interval} is longer than the run, {}: series have no sample but that at its start",
            scenario.duration
        );
        (message, "shorten it")
    } else {
        return;
    };
    document.warning("measure.series_interval", message, help);
}

/// Warns of samples of flows where no flow is endless.
pub(super) fn flow_samples(document: &mut Document, scenario: &Scenario) {
    let mut flows = scenario.workloads.iter().map(|one| one.kind.traffic().endless_flows());
    if scenario.measure.flow_samples.is_some() && flows.all(|count| count == 0) {
        let message = "flow_samples has no effect: no workload has endless flows";
        let help = "only `bulk` without `size` has them; remove `flow_samples`";
        document.warning("measure.flow_samples", message, help);
    }
}
