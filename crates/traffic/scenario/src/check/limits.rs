//! Refuses scenarios that are too large for any machine.

use shortflow_text::Document;
use shortflow_units::{Duration, Instant};

use super::topology::Topology;
use crate::file::ScenarioFile;
use crate::model::{MAX_STREAMS, MeasurePlan, Workload};
use crate::workloads::Arrivals;

/// Checks the numbers of arrivals, streams, samples and routes.
pub(super) fn check(
    document: &mut Document,
    file: &ScenarioFile,
    topology: &Topology,
    workloads: &[Workload],
    measure: &MeasurePlan,
) {
    for workload in workloads {
        arrivals(document, file, workload);
    }
    streams(document, workloads);
    samples(document, file, workloads, measure);
    routes(document, topology);
}

fn arrivals(document: &mut Document, file: &ScenarioFile, workload: &Workload) {
    let Some(found) = workload.kind.traffic().arrivals() else { return };
    let Arrivals { what, per_second: rate, start, stop } = found;
    let arrivals = rate * seconds(start, stop);
    if arrivals > MAX_ARRIVALS {
        let written = file.workloads.iter().find(|(name, _)| *name == workload.name);
        let key = written.map_or("load", |(_, keys)| keys.load_key());
        let path = format!("workloads.{}.{}.{key}", workload.name, workload.kind.name());
        let message = format!(
            "this makes about {} {what}, {} per second for {}; the maximum is {}",
            number(arrivals),
            number(rate),
            Duration::from_secs_f64(seconds(start, stop)),
            number(MAX_ARRIVALS),
        );
        document.mistake(&path, message, "lower the load, or shorten `duration`");
    }
}

/// Each stream of all workloads together has its own source port.
fn streams(document: &mut Document, workloads: &[Workload]) {
    let mut streams = 0;
    for workload in workloads {
        let Some(datagrams) = workload.kind.traffic().datagrams() else { continue };
        streams += datagrams.streams as u64;
        if streams > u64::from(MAX_STREAMS) {
            let message = format!(
                "with this workload there are {} streams of datagrams; the maximum is {}, \
                 because each needs a source port",
                number(streams as f64),
                number(f64::from(MAX_STREAMS)),
            );
            let help = "use fewer senders, each with a higher rate";
            document.mistake_in_key(&format!("workloads.{}", workload.name), message, help);
            return;
        }
    }
}

fn samples(
    document: &mut Document,
    file: &ScenarioFile,
    workloads: &[Workload],
    measure: &MeasurePlan,
) {
    let flows: u32 = workloads
        .iter()
        .map(|workload| workload.kind.traffic().endless_flows())
        .fold(0, u32::saturating_add);
    let asked = [
        ("series_interval", measure.series_interval, measure.ports.len() as f64, "port"),
        ("flow_samples", measure.flow_samples, f64::from(flows), "flow"),
    ];
    for (key, interval, many, what) in asked {
        let Some(interval) = interval.filter(|interval| !interval.is_zero()) else { continue };
        let samples = file.duration.as_secs_f64() / interval.as_secs_f64() * many;
        if samples > MAX_SAMPLES {
            let plural = if many == 1.0 { "" } else { "s" };
            let message = format!(
                "this makes about {} samples, of {} {what}{plural} every {interval} for {}; the \
                 maximum is {}",
                number(samples),
                number(many),
                file.duration,
                number(MAX_SAMPLES),
            );
            let help =
                format!("lengthen the interval, shorten `duration`, or measure fewer {what}s");
            document.mistake(&format!("measure.{key}"), message, help);
        }
    }
}

/// Checks the number of nodes with several links, which have a route to each other.
fn routes(document: &mut Document, topology: &Topology) {
    let nodes = topology.with_several_links();
    if nodes > MAX_ROUTED {
        let message = format!(
            "{} hosts and routers have several links, which makes {} routes; the maximum is {} nodes \
             with several links",
            number(nodes as f64),
            number((nodes as f64).powi(2)),
            number(MAX_ROUTED as f64),
        );
        let help = "use fewer routers; hosts with one link need no routes";
        document.mistake_in_key("routers", message, help);
    }
}

fn seconds(start: Instant, stop: Instant) -> f64 {
    stop.as_secs_f64() - start.as_secs_f64()
}

/// A number with grouped thousands, or as a power of ten if it is large.
pub(super) fn number(value: f64) -> String {
    if value >= 1e7 {
        return format!("{value:.1e}");
    }
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// More arrivals take hours.
const MAX_ARRIVALS: f64 = 1e10;
/// More rows of a time series take more than 6 GB.
const MAX_SAMPLES: f64 = 1e8;
/// The routes of more nodes take more than 3.6 GB.
const MAX_ROUTED: usize = 30_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_at_a_glance() {
        let texts = [7.0, 1234.0, 40_000.0, 3e11].map(number);
        assert_eq!(texts, ["7", "1,234", "40,000", "3.0e11"]);
    }
}
