//! An overloaded run that ends at once: every figure of a completion time that somebody is shown is
//! right, a bound that says so, or left out.

use serde_json::Value;
use shortflow_measure::tables::Cell;
use shortflow_measure::{
    Manifest, Measure, Plan, Point, Recorder, Replica, Run, SizeClass, Subject, Transfer, View,
    WorkloadPlan,
};
use shortflow_report::{Table, brief, figures, key_result, ranking_table, tables, text};

use crate::page;
use shortflow_units::{Duration, Instant, Rng};

const END: f64 = 60.0;
const LIMITS: [u64; 3] = [1, 40, 100];
const WORKLOADS: [&str; 3] = ["web", "few", "stuck"];

fn plan() -> Plan {
    let class = |label: &str, max_bytes| SizeClass { label: label.into(), max_bytes };
    let workload = |name: &&str| WorkloadPlan {
        name: (*name).into(),
        size_classes: vec![class("small", 1000), class("large", 100_000)],
        ..Default::default()
    };
    Plan {
        workloads: WORKLOADS.iter().map(workload).collect(),
        streams: vec![],
        limits: LIMITS.map(Duration::from_secs).into(),
        ports: vec![],
        code_points: vec![],
        drop_reasons: vec![],
        warm_up: Instant::START,
        end: Instant::START + Duration::from_secs_f64(END),
        drain: Duration::ZERO,
        series_interval: None,
        idle_delays: vec![],
    }
}

/// What was asked for: `web` has many of both sizes, of which the large ones take as long as the run;
/// of `few` there are six; all of `stuck` outlast the run. Slower by `slowness`.
fn asked_for(seed: u64, slowness: f64) -> Vec<(f64, Transfer)> {
    let mut rng = Rng::stream(seed, "asked for");
    let mut all = Vec::new();
    for n in 0..4000 {
        let workload = if n < 6 { 1 } else { u16::from(n < 40) * 2 };
        let is_small = n % 2 == 0;
        let start = END * rng.uniform();
        let took = rng.exponential(if is_small { 0.2 } else { 60.0 }) * slowness;
        let took = if workload == 2 { 1000.0 } else { took };
        let transfer = Transfer {
            start: Instant::START + Duration::from_secs_f64(start),
            workload,
            reply: Duration::from_secs_f64(took),
            reply_bytes: if is_small { 1000 } else { 100_000 },
            ..Transfer::default()
        };
        all.push((start + took, transfer));
    }
    all
}

/// What is recorded of it: all of it, or what is complete when the run ends.
fn replica(seed: u64, slowness: f64, waits: bool) -> Replica {
    let mut recorder = Recorder::new(&plan(), None);
    for (ends, transfer) in asked_for(seed, slowness) {
        if waits || ends <= END {
            recorder.transfer(&transfer);
        } else {
            recorder.open_transfer(&transfer);
        }
    }
    recorder.finish().unwrap()
}

fn run(label: &str, slowness: f64) -> Run {
    let manifest = Manifest {
        label: label.into(),
        engine: "simulate".into(),
        policy: None,
        version: "0.1.0".into(),
        command: String::new(),
        seed: 1,
        replicas: 2,
        duration: END,
        warm_up: 0.0,
        tcp: String::new(),
        timing: None,
        sweep: None,
        bind: Vec::new(),
        tables: None,
        design: None,
        tcp_info: None,
        settings: vec![],
        warnings: vec![],
        inputs: vec![],
    };
    let replicas = [1, 2].map(|seed| replica(seed, slowness, false));
    Run::new(manifest, vec![Point::new(vec![], replicas.into())])
}

/// Every subject of a completion time, with the number of the transfers that it has in each replica.
fn subjects() -> Vec<Subject<'static>> {
    let classes = [None, Some("small"), Some("large")];
    let of = |workload| {
        classes.map(|class| Subject { workload, class, limit: None, ..Subject::default() })
    };
    WORKLOADS.into_iter().flat_map(of).collect()
}

/// All that is told of how long transfers take.
fn reported() -> Vec<(Measure, Option<f64>)> {
    let times = [
        Measure::Completion,
        Measure::CompletionMedian,
        Measure::CompletionP95,
        Measure::CompletionP99,
        Measure::CompletionMax,
        Measure::CompletionDeviation,
    ];
    let shares = LIMITS.map(|limit| (Measure::ShareOver, Some(limit as f64)));
    times.map(|measure| (measure, None)).into_iter().chain(shares).collect()
}

#[test]
fn every_figure_is_near_the_truth_or_a_bound_below_it_or_left_out() {
    let run = run("overloaded", 1.0);
    let truth = Point::new(vec![], [1, 2].map(|seed| replica(seed, 1.0, true)).into());
    let (mut near, mut bounds, mut nothing) = (0, 0, 0);
    for subject in subjects() {
        for (measure, limit) in reported() {
            let what = Subject { limit, ..subject };
            let of = |point: &Point| measure.estimate(&point.summary, &what);
            let name = format!("{} of {what:?}", measure.about().name);
            match (of(&run.points[0]), of(&truth)) {
                (Some(found), Some(truth)) if found.at_least => {
                    assert!(found.mean <= truth.mean * 1.02, "{name}: {found:?} for {truth:?}");
                    assert!(found.low.is_none() && found.high.is_none(), "{name}: {found:?}");
                    bounds += 1;
                }
                (Some(found), Some(truth)) => {
                    // Six transfers tell little, whatever is done with them.
                    let allowed = if what.workload == "few" { 60.0 } else { 0.15 * truth.mean };
                    let distance = (found.mean - truth.mean).abs();
                    assert!(distance <= allowed + 0.02, "{name}: {found:?} for {truth:?}");
                    near += 1;
                }
                (None, _) => nothing += 1,
                (Some(found), None) => panic!("{name}: {found:?} for nothing"),
            }
        }
    }
    assert!(near >= 20 && bounds >= 10 && nothing >= 10, "{near} {bounds} {nothing}");
}

#[test]
fn the_share_over_a_limit_counts_what_is_open_as_under_way_up_to_its_age() {
    let run = run("overloaded", 1.0);
    let share = |limit| {
        let what = Subject {
            workload: "web",
            class: Some("large"),
            limit: Some(limit),
            ..Subject::default()
        };
        Measure::ShareOver.estimate(&run.points[0].summary, &what).map(|share| share.mean)
    };
    // Times are exponential with a mean of 60 s; nothing is known beyond the 60 s of the run.
    for limit in [1.0, 40.0] {
        let expected = (-limit / 60.0_f64).exp();
        assert!((share(limit).unwrap() - expected).abs() < 0.05, "{:?}: {expected}", share(limit));
    }
    assert_eq!(share(100.0), None);
}

/// Goes through all objects of a JSON value that have a mean.
fn for_each_estimate(value: &Value, path: &str, visit: &mut impl FnMut(&str, &Value)) {
    match value {
        Value::Object(fields) => {
            if fields.contains_key("mean") && fields.contains_key("low") {
                visit(path, value);
            }
            for (name, field) in fields {
                for_each_estimate(field, &format!("{path}/{name}"), visit);
            }
        }
        Value::Array(items) => {
            items.iter().for_each(|item| for_each_estimate(item, path, visit));
        }
        _ => {}
    }
}

#[test]
fn in_json_a_bound_says_so_has_no_interval_and_enters_no_gain() {
    let runs = [run("overloaded", 1.0), run("slower", 2.0)];
    let mut bounds = Vec::new();
    let summary = serde_json::to_value(&runs[0].points[0].summary).unwrap();
    for_each_estimate(&summary, "", &mut |path, estimate| {
        if estimate["at_least"] == true {
            assert!(estimate["low"].is_null() && estimate["high"].is_null(), "{path}");
            bounds.push(path.to_owned());
        }
    });
    for figure in ["all/mean", "all/deviation", "classes/p95", "classes/p99", "classes/median"] {
        assert!(bounds.iter().any(|path| path.ends_with(figure)), "{figure}: {bounds:?}");
    }
    let view = View::new(&runs);
    let gains = &view.set.gains()[0].gains;
    let bounded = gains.iter().filter(|gain| {
        [gain.reference, gain.ours].iter().flatten().any(|estimate| estimate.at_least)
    });
    let mut count = 0;
    for gain in bounded {
        let unknown_points = [gain.difference, gain.ratio, gain.gain_percent];
        assert_eq!(unknown_points, [None; 3], "{} {:?}", gain.workload, gain.measure);
        count += 1;
    }
    assert!(count >= 4, "{count} gains with a bound");
}

/// Whether a workload's line of this class has such cells, by the heads of their columns.
fn cells<'t>(table: &'t Table, starts: &[&str]) -> Vec<(&'t str, &'t str)> {
    let row = table
        .rows
        .iter()
        .find(|row| starts.iter().enumerate().all(|(at, name)| row.cells[at] == *name));
    let row = row.unwrap_or_else(|| panic!("no row {starts:?} in {}", table.title));
    table.head.iter().map(String::as_str).zip(row.cells.iter().map(String::as_str)).collect()
}

#[test]
fn every_table_marks_bounds_and_leaves_out_what_too_few_tell() {
    let runs = [run("overloaded", 1.0)];
    let all = tables(&View::new(&runs));
    let web = all.iter().find(|table| table.title.starts_with("web: completion")).unwrap();
    for (head, cell) in cells(web, &["large"]).into_iter().skip(1).take(4) {
        // Of the large ones, more than half were open at the end.
        assert!(cell.starts_with("≥ "), "{head}: {cell}");
    }
    let small = cells(web, &["small"]);
    assert!(small.iter().all(|(_, cell)| !cell.contains('≥') && *cell != "–"), "{small:?}");
    let few = all.iter().find(|table| table.title.starts_with("few: completion")).unwrap();
    let few = cells(few, &["all"]);
    assert!(few.contains(&("p99", "–")), "{few:?}");
    // What is set anywhere is what the data say, on the screen and on the page.
    let (screen, html) = (text(&View::new(&runs), false, usize::MAX), page(&View::new(&runs)));
    let mut bounds = 0;
    let view = View::new(&runs);
    for table in view.tables.times.iter().filter(|table| table.title.starts_with("web:")) {
        let set = Table::set(table);
        for (row, shown) in table.rows.iter().zip(&set.rows) {
            for (cell, shown) in row.cells.iter().zip(&shown.cells[table.labels.len()..]) {
                let Cell::Figure(found) = cell else { continue };
                assert_eq!(shown.starts_with("≥ "), found.at_least, "{shown} for {found:?}");
                if found.at_least {
                    assert!(screen.contains(shown) && html.contains(&format!("<td>{shown}</td>")));
                    bounds += 1;
                }
            }
        }
    }
    assert!(bounds >= 4, "{bounds} bounds");
    let of_web =
        view.tables.parts.iter().find(|table| table.title.starts_with("web: where")).unwrap();
    assert!(of_web.note.as_ref().unwrap().contains("completed ones"), "{of_web:?}");
}

#[test]
fn sentences_rankings_and_figures_mark_bounds_too() {
    let one = [run("overloaded", 1.0)];
    let said = key_result(&View::new(&one));
    let of_web = said.lines().find(|line| line.contains("of web")).unwrap();
    assert!(of_web.contains("took ≥ "), "{of_web}");
    let runs = [run("overloaded", 1.0), run("slower", 2.0)];
    let said = format!(
        "{}\n{}",
        key_result(&View::new(&runs)),
        brief(&View::new(&runs), false, usize::MAX)
    );
    assert!(!said.contains("gain +") && !said.contains("gain −"), "{said}");
    assert!(
        !said.contains("no other policy serves any workload better"),
        "nobody can know that: {said}"
    );
    assert!(
        said.contains("cannot be ranked: too many transfers were incomplete at the end"),
        "{said}"
    );
    let ranking = ranking_table(&View::new(&runs));
    assert!(ranking.is_none_or(|table| table.note.unwrap().contains("not settled")), "{said}");
    let by_size =
        figures(&View::new(&one)).into_iter().find(|figure| figure.name == "size-0").unwrap();
    assert!(by_size.caption.contains("lower bound"), "{}", by_size.caption);
    // The curve of what took longer ends where the data end: no share below that of the open ones.
    let all = &one[0].points[0].summary.workload("web").unwrap().all;
    let left = all.unfinished as f64 / (all.n + all.unfinished) as f64;
    let min = all.times.ccdf().last().unwrap().1;
    assert!(min > 0.25 * left, "{min} of {left}");
}
