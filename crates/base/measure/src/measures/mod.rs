//! All measures: one vocabulary for claims, tables, rankings and JSON.
//!
//! Each measure is defined once, in [`vocabulary`]: its name in `claims.toml` and in JSON, its column head, its unit,
//! which way is better, its meaning, and how it is computed from a replica and from the summary over replicas.

mod replica;
mod scope;
mod summary;
mod vocabulary;

use serde::{Deserialize, Serialize};

use crate::estimate::Estimate;
use crate::reading::Reading;
use crate::replica::Replica;
use crate::summary::Summary;
use crate::tables::Cell;

pub use scope::Scope;
pub use vocabulary::Measure;

/// Which way a measure is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    /// Less is better.
    Lower,
    /// More is better.
    Higher,
    /// Neither in itself.
    Neither,
}

/// The unit of a measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// It is a plain number.
    None,
    /// A share of something, from 0 to 1; tables show percent.
    Share,
    /// Seconds.
    Seconds,
    /// Times per second.
    PerSecond,
    /// 10⁶ bits per second.
    MegabitsPerSecond,
    /// Packets.
    Packets,
}

impl Unit {
    /// Its name in JSON; empty if it has none.
    pub const fn symbol(self) -> &'static str {
        match self {
            Unit::None | Unit::Share => "",
            Unit::Seconds => "s",
            Unit::PerSecond => "1/s",
            Unit::MegabitsPerSecond => "Mbit/s",
            Unit::Packets => "packets",
        }
    }
}

/// What is said of a measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct About {
    /// Its name in `claims.toml` and in JSON.
    pub name: &'static str,
    /// The head of its column in tables.
    pub column: &'static str,
    /// Its unit.
    pub unit: Unit,
    /// Which way is better.
    pub better: Better,
    /// What it is, in a sentence.
    pub meaning: &'static str,
}

/// All that is known of a measure.
struct Definition {
    about: About,
    /// What one replica says of it.
    one: fn(&Replica, &Subject<'_>) -> Option<Reading>,
    /// What the summary over replicas says of it; nothing where it does not keep it.
    all: fn(&Summary, &Subject<'_>) -> Option<Cell>,
}

/// Of what a measure is taken.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Subject<'a> {
    /// The workload.
    pub workload: &'a str,
    /// The size class; all of them together when absent.
    pub class: Option<&'a str>,
    /// The stream of datagrams; all of the workload when absent.
    pub stream: Option<&'a str>,
    /// The port, or the counter.
    pub at: Option<&'a str>,
    /// The code point at the port; all when absent.
    pub code_point: Option<&'a str>,
    /// The limit in seconds, for the share over it.
    pub limit: Option<f64>,
    /// The size class above which bytes count.
    pub above: Option<&'a str>,
}

/// The measure of those that name none.
impl Default for Measure {
    fn default() -> Self {
        Measure::Completion
    }
}

impl Measure {
    /// What is to be said of it.
    pub const fn about(self) -> About {
        vocabulary::DEFINITIONS[self as usize].about
    }

    /// What one replica says of it, or nothing when it has nothing of this kind.
    pub fn read(self, replica: &Replica, what: &Subject<'_>) -> Option<Reading> {
        (vocabulary::DEFINITIONS[self as usize].one)(replica, what)
    }

    /// What all replicas together say of it: a figure with its interval, a number of things, or
    /// nothing.
    pub fn cell(self, summary: &Summary, what: &Subject<'_>) -> Cell {
        let all = vocabulary::DEFINITIONS[self as usize].all;
        all(summary, what).unwrap_or(Cell::Nothing)
    }

    /// The same where it is a figure.
    pub fn estimate(self, summary: &Summary, what: &Subject<'_>) -> Option<Estimate> {
        match self.cell(summary, what) {
            Cell::Figure(estimate) => Some(estimate),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use shortflow_units::{Duration, Instant};

    use super::*;
    use crate::plan::{End, Plan, SizeClass, WorkloadPlan};
    use crate::port::{CodePointCounts, Count, PortCounts};
    use crate::recorder::Recorder;
    use crate::throughput::ThroughputSamples;
    use crate::transfer::Transfer;

    #[test]
    fn a_measure_is_called_in_files_what_its_table_says() {
        for measure in Measure::ALL {
            let name = serde_json::to_value(measure).unwrap();
            assert_eq!(name, measure.about().name);
        }
        let names: std::collections::BTreeSet<_> =
            Measure::ALL.iter().map(|measure| measure.about().name).collect();
        assert_eq!(names.len(), Measure::ALL.len());
    }

    #[test]
    fn the_page_about_results_has_a_line_for_each_measure() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/reading-results.md");
        let page = std::fs::read_to_string(page).unwrap();
        for About { name, unit, meaning, .. } in Measure::ALL.map(Measure::about) {
            let unit = if unit.symbol().is_empty() { "–" } else { unit.symbol() };
            let line = format!("| `{name}` | {unit} | {meaning} |");
            assert!(page.contains(&line), "docs/reading-results.md lacks the line\n{line}");
        }
    }

    /// A replica that has something of every kind.
    fn replica() -> Replica {
        let secs = Duration::from_secs;
        let plan = Plan {
            workloads: vec![WorkloadPlan {
                name: "all".into(),
                size_classes: vec![SizeClass { label: "small".into(), max_bytes: 1000 }],
                offered: Some(2e6),
                ..Default::default()
            }],
            streams: vec![],
            idle_delays: vec![1e-4],
            limits: vec![secs(2)],
            ports: vec!["r1->r2".into()],
            code_points: vec!["BE".into()],
            drop_reasons: vec!["full".into()],
            warm_up: Instant::START,
            end: Instant::START + secs(10),
            drain: Duration::ZERO,
            series_interval: None,
        };
        let mut recorder = Recorder::new(&plan, None);
        for n in 1..=3000 {
            let part = Duration::from_micros(n * 100);
            recorder.transfer(&Transfer {
                reply: part * 10,
                request: part,
                handshake: part,
                reply_bytes: n,
                retransmissions: (n % 3) as u32,
                timeouts: (n % 2) as u32,
                sent: 10,
                dropped: 1,
                ..Default::default()
            });
            let now = Instant::START + secs(1) + part;
            recorder.datagram_sent(Instant::START, 0, 0);
            recorder.datagram(now, 0, 0, Duration::from_micros(n * n % 1700));
        }
        recorder.datagram_dropped(Instant::START, 0, 0);
        recorder.open_transfer(&Transfer { start: Instant::START + secs(9), ..Default::default() });
        recorder.goodput(Instant::START, 0, End::Client, 1_234_567);
        recorder.goodput(Instant::START, 0, End::Server, 234_567);
        let mut samples = ThroughputSamples::default();
        [0, 3, 8].into_iter().for_each(|bytes| samples.add(bytes, 1.0));
        recorder.long_flow(0, 7_000_000, Some(samples));
        recorder.long_flow(0, 3_000_000, None);
        let count = |packets| Count { packets, bytes: packets * 1000 };
        let counts = CodePointCounts {
            arrived: count(200),
            forwarded: count(150),
            dropped: vec![count(50)],
        };
        recorder.port(
            0,
            PortCounts {
                code_points: vec![counts],
                ecn_marks: 9,
                busy: secs(7),
                mean_queue_packets: 3.5,
                mean_queue_bytes: 3500.0,
                mean_wait: Duration::from_millis(12),
                max_wait: Duration::from_millis(40),
            },
        );
        recorder.counter("r1->r2", 5e6);
        recorder.finish().unwrap()
    }

    #[test]
    fn a_measure_needs_the_parts_of_a_subject_that_its_scope_names_and_no_others() {
        let replica = replica();
        let (all, at) = (Subject { workload: "all", ..Subject::default() }, Some("r1->r2"));
        let port = Subject { at, ..Subject::default() };
        for measure in Measure::ALL {
            let subject = match measure.scope() {
                Scope::Class | Scope::Workload | Scope::Stream => all,
                Scope::Limit => Subject { limit: Some(2.0), ..all },
                Scope::Above => Subject { above: Some("small"), ..all },
                Scope::CodePoint | Scope::Port | Scope::Counter => port,
            };
            let read = |what: &Subject<'_>| measure.read(&replica, what);
            let name = measure.about().name;
            assert!(read(&subject).is_some(), "{name} of {subject:?}");
            assert!(read(&Subject::default()).is_none(), "{name} of nothing");
            // What a class, a stream or a code point of another name changes depends on it.
            let depends = [
                (Scope::Class, Subject { class: Some("no"), ..subject }),
                (Scope::Limit, Subject { class: Some("no"), ..subject }),
                (Scope::Stream, Subject { stream: Some("no"), ..subject }),
                (Scope::CodePoint, Subject { code_point: Some("no"), ..subject }),
            ];
            for (scope, other) in depends {
                let is_of_classes = matches!(measure.scope(), Scope::Class | Scope::Limit);
                let expected = measure.scope() == scope || other.class.is_some() && is_of_classes;
                assert_eq!(read(&other).is_none(), expected, "{name} of {other:?}");
            }
        }
    }

    #[test]
    fn of_one_replica_the_summary_says_what_the_replica_says() {
        let replica = replica();
        let summary = Summary::from_replicas(std::slice::from_ref(&replica));
        let all = Subject {
            workload: "all",
            at: Some("r1->r2"),
            code_point: Some("BE"),
            limit: Some(2.0),
            above: Some("small"),
            ..Subject::default()
        };
        let mut reported = 0;
        for class in [None, Some("all"), Some("small")] {
            let what = Subject { class, ..all };
            for measure in Measure::ALL {
                let name = measure.about().name;
                let Some(one) = measure.read(&replica, &what) else {
                    panic!("the replica says nothing of {name} of {class:?}")
                };
                let (value, is_bound) = match measure.cell(&summary, &what) {
                    Cell::Figure(found) => (found.mean, found.at_least),
                    Cell::Count(count) => (count as f64, false),
                    _ => continue,
                };
                let near = (value - one.value()).abs() <= 1e-9 * value.abs();
                assert!(near, "{name} of {class:?}: {value} for {one:?}");
                assert_eq!(is_bound, one.is_bound(), "{name} of {class:?}");
                reported += 1;
            }
        }
        // Six are kept by replicas alone, and the longest delay only for streams.
        assert_eq!(reported, 3 * (Measure::ALL.len() - 7));
    }
}
