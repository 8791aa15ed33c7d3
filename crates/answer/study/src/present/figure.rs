//! The figures of a study as data, complete for drawing.

use shortflow_measure::{Estimate, Reading, Sample, Survival, WorkloadResult};

use crate::runs::Data;
use crate::spec::{Curve, FigureKind, FigureSpec, Measure, Quantity};

/// A figure: curves over one axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// The file's name without its ending.
    pub name: String,
    /// What it shows.
    pub title: String,
    /// What runs along the x axis.
    pub kind: FigureKind,
    /// The x axis.
    pub x: String,
    /// The y axis.
    pub y: String,
    /// Whether the x axis is logarithmic.
    pub log_x: bool,
    /// Whether the y axis is logarithmic.
    pub log: bool,
    /// Where a dotted line separates two regions.
    pub boundary: Option<f64>,
    /// The curves.
    pub curves: Vec<FigureCurve>,
}

/// One curve.
#[derive(Debug, Clone, PartialEq)]
pub struct FigureCurve {
    /// Its name in the legend.
    pub label: String,
    /// Whether it is dashed.
    pub dashed: bool,
    /// Points by rising x, or in the order of the sweep.
    pub points: Vec<(f64, Estimate)>,
}

/// The figure that `spec` describes; points that were not run are omitted.
pub fn figure(spec: &FigureSpec, data: &Data) -> Figure {
    let curve = |curve: &Curve| FigureCurve {
        label: curve.label.clone(),
        dashed: curve.dashed,
        points: match spec.kind {
            FigureKind::Sweep => over_sweep(&curve.of, data),
            FigureKind::Classes => over_parts(&curve.of, data, class_bounds),
            FigureKind::Streams => over_parts(&curve.of, data, stream_rates),
            FigureKind::Distribution => distribution(&curve.of, data),
            FigureKind::Series => series(&curve.of, data),
        },
    };
    Figure {
        name: spec.name.clone(),
        title: spec.title.clone(),
        kind: spec.kind,
        x: spec.x.clone(),
        y: spec.y.clone(),
        log_x: spec.log_x.unwrap_or(spec.kind == FigureKind::Classes),
        log: spec.log,
        boundary: spec.boundary,
        curves: spec.curves.iter().map(curve).collect(),
    }
}

fn over_sweep(of: &Quantity, data: &Data) -> Vec<(f64, Estimate)> {
    let at = |x: f64| Some((x, data.estimate(of, x, None).ok()?));
    data.points(&of.run).into_iter().filter_map(at).collect()
}

/// The quantity of each part of its workload, by rising place of the part on the axis.
fn over_parts(
    of: &Quantity,
    data: &Data,
    parts: fn(&WorkloadResult, &Quantity) -> Vec<(f64, Quantity)>,
) -> Vec<(f64, Estimate)> {
    let Some((x, replicas)) = data.point(&of.run, of.x) else { return Vec::new() };
    let Some(workload) = replicas.first().and_then(|replica| replica.workload(of.workload_name()))
    else {
        return Vec::new();
    };
    let estimate =
        |(place, part): (f64, Quantity)| Some((place, data.estimate(&part, x, None).ok()?));
    let mut points: Vec<_> = parts(workload, of).into_iter().filter_map(estimate).collect();
    points.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    points
}

/// The size classes, each at its bound in bytes; one without a bound has no place.
fn class_bounds(workload: &WorkloadResult, of: &Quantity) -> Vec<(f64, Quantity)> {
    let part = |label: &String| Quantity { class: Some(label.clone()), ..of.clone() };
    let classes = workload.classes.iter();
    classes.filter_map(|class| Some((class.up_to? as f64, part(&class.label)))).collect()
}

/// The streams, each at its rate in kbit/s.
fn stream_rates(workload: &WorkloadResult, of: &Quantity) -> Vec<(f64, Quantity)> {
    let part = |name: &String| Quantity { stream: Some(name.clone()), ..of.clone() };
    let streams = workload.streams.iter();
    streams.map(|stream| (stream.rate as f64 / 1e3, part(&stream.name))).collect()
}

/// For each completion time the share of transfers that took longer, all replicas together.
fn distribution(of: &Quantity, data: &Data) -> Vec<(f64, Estimate)> {
    let Some((_, replicas)) = data.point(&of.run, of.x) else { return Vec::new() };
    let mut pooled = Survival::default();
    let classes =
        replicas.iter().filter_map(|r| r.workload(of.workload_name())?.class(of.class_name()));
    classes.for_each(|class| pooled.merge(&class.times));
    let share = |share| Estimate::pooled(Reading::Exact(share), replicas.len() as u32);
    pooled.ccdf().into_iter().map(|(seconds, longer)| (seconds, share(longer))).collect()
}

/// What a port did over time in the first replica.
fn series(of: &Quantity, data: &Data) -> Vec<(f64, Estimate)> {
    let first = data.point(&of.run, of.x).and_then(|(_, replicas)| replicas.first());
    let Some(replica) = first else { return Vec::new() };
    let value = |sample: &Sample| match of.measure {
        Measure::Utilisation => Some(f64::from(sample.utilisation)),
        Measure::MeanQueue => Some(f64::from(sample.queue_packets)),
        _ => None,
    };
    // Nothing has happened yet at the start.
    let is_here = |sample: &&Sample| {
        let name = replica.ports[usize::from(sample.port)].name.as_str();
        sample.at.as_secs_f64() > 0.0 && of.at.as_deref() == Some(name)
    };
    let unit = of.unit.unwrap_or(1.0);
    let point = |sample: &Sample| {
        let reading = Reading::Exact(value(sample)? / unit);
        Some((sample.at.as_secs_f64(), Estimate::pooled(reading, 1)))
    };
    replica.series.iter().filter(is_here).filter_map(point).collect()
}

#[cfg(test)]
mod tests {
    use shortflow_measure::{ClassResult, PortResult, Replica, StreamResult, Transfer};
    use shortflow_units::{Duration, Instant};

    use super::*;
    use crate::runs::data::tests::replica;

    /// The points of a figure's only curve, in whole thousandths.
    fn points(kind: &str, of: &str, data: &Data) -> Vec<(i64, i64)> {
        let spec = format!(
            "name = \"f\"\ntitle = \"\"\nkind = \"{kind}\"\nx = \"\"\ny = \"\"\n\
             curves = [{{ label = \"\", of = {{ workload = \"web\", {of} }} }}]"
        );
        let figure = figure(&toml::from_str(&spec).unwrap(), data);
        let thousandths = |value: f64| (value * 1000.0).round() as i64;
        let of_curve = figure.curves[0].points.iter();
        of_curve.map(|(x, y)| (thousandths(*x), thousandths(y.mean))).collect()
    }

    /// Transfers of three classes, the last without a bound, that took so long.
    fn with_classes(millis: [u64; 3]) -> Replica {
        let mut replica = replica(&millis);
        let bounds = [Some(1000), Some(10_000), None];
        replica.workloads[0].classes = std::iter::zip(millis, bounds)
            .map(|(millis, up_to)| {
                let mut class =
                    ClassResult { label: format!("{up_to:?}"), up_to, ..ClassResult::default() };
                class.record(&Transfer {
                    reply: Duration::from_millis(millis),
                    ..Transfer::default()
                });
                class
            })
            .collect();
        replica
    }

    #[test]
    fn each_size_class_stands_at_its_bound() {
        let mut data = Data::default();
        data.extend("run", 0.6, vec![with_classes([1, 4, 9]), with_classes([3, 8, 9])]);
        let bounds = [(1_000_000, 2), (10_000_000, 6)];
        assert_eq!(points("classes", "run = \"run\"", &data), bounds);
        data.extend("run", 0.8, vec![with_classes([5, 6, 7])]);
        assert_eq!(points("classes", "run = \"run\", x = 0.6", &data), bounds);
        assert_eq!(points("classes", "run = \"run\"", &data), [], "no point is named");
        assert_eq!(points("classes", "run = \"run\", x = 0.7", &data), [], "not run");
    }

    #[test]
    fn each_stream_stands_at_its_rate_from_slow_to_fast() {
        let mut replica = replica(&[]);
        let stream = |name: &str, rate, delay| StreamResult {
            name: name.to_owned(),
            rate,
            delay: Some(delay),
            ..StreamResult::default()
        };
        replica.workloads[0].streams =
            vec![stream("#1", 64_000, 0.020), stream("#2", 8_000, 0.010)];
        let mut data = Data::default();
        data.extend("run", 0.6, vec![replica]);
        assert_eq!(
            points("streams", "run = \"run\", measure = \"delay\"", &data),
            [(8_000, 10), (64_000, 20)]
        );
    }

    #[test]
    fn a_distribution_is_of_all_replicas_together() {
        let mut data = Data::default();
        data.extend("run", 0.6, vec![replica(&[10, 20]), replica(&[20, 40])]);
        assert_eq!(points("distribution", "run = \"run\"", &data), [(10, 750), (20, 250), (40, 0)]);
    }

    #[test]
    fn a_series_is_what_one_port_did_over_time_in_the_first_replica() {
        let sample = |port, seconds, utilisation, queue_packets| Sample {
            port,
            at: Instant::START + Duration::from_secs(seconds),
            queue_packets,
            queue_bytes: 0,
            average: None,
            utilisation,
            open_transfers: 0,
        };
        let with = |series| {
            let ports = ["there", "back"].map(|name| PortResult {
                name: name.to_owned(),
                code_points: Vec::new(),
                ecn_marks: 0,
                utilisation: 0.5,
                mean_queue_packets: 0.0,
                mean_queue_bytes: 0.0,
                mean_wait: 0.0,
                max_wait: 0.0,
            });
            Replica { ports: ports.into(), series, ..replica(&[]) }
        };
        let mut data = Data::default();
        let first = vec![
            sample(0, 0, 0.0, 0),
            sample(0, 5, 0.25, 3),
            sample(1, 5, 0.125, 0),
            sample(0, 10, 1.0, 7),
            sample(1, 10, 0.5, 0),
        ];
        data.extend("run", 0.6, vec![with(first), with(vec![sample(0, 5, 0.75, 9)])]);
        let there = "run = \"run\", at = \"there\", measure =";
        assert_eq!(
            points("series", &format!("{there} \"utilisation\", unit = 0.1"), &data),
            [(5_000, 2_500), (10_000, 10_000)]
        );
        assert_eq!(
            points("series", &format!("{there} \"mean-queue\""), &data),
            [(5_000, 3_000), (10_000, 7_000)]
        );
        assert_eq!(points("series", &format!("{there} \"loss\""), &data), []);
        assert_eq!(points("series", "run = \"run\", measure = \"utilisation\"", &data), []);
    }

    #[test]
    fn the_axis_of_size_classes_is_logarithmic_unless_it_is_said_otherwise() {
        let log_x = |more: &str| {
            let spec =
                format!("name = \"f\"\ntitle = \"\"\nx = \"\"\ny = \"\"\ncurves = []\n{more}");
            figure(&toml::from_str(&spec).unwrap(), &Data::default()).log_x
        };
        assert!(!log_x("") && !log_x("kind = \"distribution\"") && log_x("kind = \"classes\""));
        assert!(log_x("kind = \"distribution\"\nlog_x = true"));
        assert!(!log_x("kind = \"classes\"\nlog_x = false"));
    }
}
