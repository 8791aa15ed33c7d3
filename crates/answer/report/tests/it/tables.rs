//! The tables of a terminal, and the result in a sentence.

use shortflow_measure::results::Setting;
use shortflow_measure::{
    Estimate, Item, OverSummary, Run, StreamSummary, Summary, View, Warning, WarningKind,
};
use shortflow_report::{figures, key_result, tables, text};

use crate::page;
use crate::synthetic::{BEST_EFFORT, FAIR_MARKER, single, sweep};

fn estimate(mean: f64, half: f64) -> Option<Estimate> {
    Some(Estimate {
        mean,
        low: Some(mean - half),
        high: Some(mean + half),
        n: 8,
        at_least: false,
        at_most: false,
    })
}

/// A run with known numbers for its one-packet transfers.
fn known(label: &str) -> Run {
    let mut run = single(&FAIR_MARKER, 2);
    run.label = label.into();
    let Summary { workloads, .. } = &mut run.points[0].summary;
    let web = &mut workloads[0];
    web.classes.truncate(1);
    for class in web.classes.iter_mut().chain([&mut web.all]) {
        class.n = 12_345;
        class.mean = estimate(0.2031, 0.0121);
        class.median = estimate(0.120, 0.002);
        class.p95 = estimate(0.487, 0.02);
        class.p99 = estimate(1.155, 0.011);
    }
    run
}

#[test]
fn the_last_line_says_which_tcp_ran() {
    let mut runs = [known("fair marker"), known("best effort")];
    for run in &mut runs {
        run.manifest.tcp = "Linux today (CUBIC, RACK)".into();
    }
    assert!(
        text(&View::new(&runs), false, usize::MAX).ends_with("\nTCP: Linux today (CUBIC, RACK).\n")
    );
    runs[1].manifest.tcp = "ns-2 of 2002 (Reno, NewReno)".into();
    let both = "TCP: Linux today (CUBIC, RACK) | ns-2 of 2002 (Reno, NewReno).";
    assert!(text(&View::new(&runs), false, usize::MAX).ends_with(&format!("\n{both}\n")));
    assert!(page(&View::new(&runs)).contains(both));
}

#[test]
fn a_run_reads_at_a_glance() {
    let text = text(&View::new(&[known("fair marker")]), false, usize::MAX);
    let expected = "\
A transfer of web took 203 ± 12 ms on average; half of them took at most 120 ms, one in a hundred more than 1.16 s.
Datagrams of voice took 28.0 ± 2.5 ms on average, one in a hundred more than 55.6 ms; 1.08 ± 0.73 % of them were lost.
backup got 1.61 Mbit/s on average.

web: completion time by reply size, in ms
size       mean   median       p95        p99  transfers
1 pkt  203 ± 12  120 ± 2  487 ± 20  1155 ± 11     12,345
all    203 ± 12  120 ± 2  487 ± 20  1155 ± 11     12,345
Over 2 replicas; ± is half the 95 % Student interval.
";
    assert!(text.starts_with(expected), "{text}");
}

#[test]
fn a_percentile_that_is_a_lower_bound_is_at_least_that() {
    let mut run = known("fair marker");
    for workload in &mut run.points[0].summary.workloads {
        let p99 = workload.all.p99.as_mut();
        p99.into_iter().for_each(|p99| p99.at_least = true);
    }
    let text = text(&View::new(&[run]), false, usize::MAX);
    let expected = "half of them took at most 120 ms, one in a hundred at least 1.15 s.";
    assert!(text.lines().next().unwrap().ends_with(expected), "{text}");
}

#[test]
fn a_comparison_names_the_gain_over_the_first_run() {
    let runs = [single(&BEST_EFFORT, 4), single(&FAIR_MARKER, 4)];
    let mean = |run: &Run, replica: usize| {
        run.points[0].replicas[replica].workloads[0].all.mean().unwrap().value()
    };
    let gains = (0..4).map(|r| 100.0 * (1.0 - mean(&runs[1], r) / mean(&runs[0], r)));
    let gain = gains.sum::<f64>() / 4.0;
    let expected = format!("with best effort: gain +{gain:.0} % (+");
    assert!(
        key_result(&View::new(&runs)).contains(&expected),
        "{} lacks {expected}",
        key_result(&View::new(&runs))
    );
    let table = &tables(&View::new(&runs))[0];
    assert_eq!(table.rows[0].cells[3], "reference");
    assert!(table.rows[1].cells[3].starts_with('+'));
}

#[test]
fn a_difference_is_called_clear_only_when_its_interval_leaves_out_zero() {
    let said = |ours: Run, reference: Run| key_result(&View::new(&[reference, ours]));
    assert!(said(single(&FAIR_MARKER, 4), single(&BEST_EFFORT, 4)).contains(": gain +"));
    // The same run twice differs by nothing at all.
    let same = said(single(&FAIR_MARKER, 4), single(&FAIR_MARKER, 4));
    assert!(same.ends_with(": no clear difference, gain 0.0 % (0.0 to 0.0)."), "{same}");
    // One replica has no interval, so nothing is said about clearness.
    assert!(said(single(&FAIR_MARKER, 1), single(&BEST_EFFORT, 1)).contains(": gain +"));
}

#[test]
fn runs_that_had_other_arrivals_are_not_paired() {
    let mut runs = [single(&BEST_EFFORT, 2), single(&FAIR_MARKER, 2)];
    runs[1].manifest.seed += 1;
    assert_eq!(tables(&View::new(&runs))[0].rows[1].cells[3], "–");
    assert!(
        key_result(&View::new(&runs)).ends_with("Therefore they have no ranking and no gains.")
    );
}

#[test]
fn a_sweep_has_a_row_for_each_value_and_run() {
    let runs = [sweep(&BEST_EFFORT), sweep(&FAIR_MARKER)];
    let table = &tables(&View::new(&runs))[0];
    assert_eq!(table.head[..2], ["alpha", "run"]);
    assert_eq!(table.rows.len(), 2 * 5);
    assert_eq!(table.rows[2].cells[..2], ["0.70", "best effort"]);
    assert!(
        key_result(&View::new(&runs))
            .contains("\nfair marker against best effort, mean transfer of web: between gain +")
    );
}

#[test]
fn a_sweep_over_names_tells_the_least_and_the_most_and_what_long_flows_got() {
    let mut run = sweep(&FAIR_MARKER);
    for (at, name) in ["reno", "newreno", "sack", "cubic", "none"].into_iter().enumerate() {
        let settings = &mut run.points[at].settings;
        settings[0].value = name.into();
        settings.push(Setting { key: "loss".into(), value: "0.01".into() });
    }
    let text = text(&View::new(&[run]), false, usize::MAX);
    // The made-up network grows slower with the load, so from the first point to the last.
    let sentence = text.lines().next().unwrap();
    assert!(sentence.starts_with("Over alpha, loss, the mean transfer of web took between "));
    assert!(sentence.contains("(at reno, 0.01) and ") && sentence.ends_with("(at none, 0.01)."));
    assert!(text.contains("\nalpha, loss "), "the column names both keys: {text}");
    let traffic = text.split("Traffic").nth(1).unwrap();
    assert!(traffic.contains("backup") && !traffic.contains("web"), "{traffic}");
}

#[test]
fn loss_is_told_by_colour() {
    let text = text(&View::new(&[single(&FAIR_MARKER, 2)]), false, usize::MAX);
    assert!(text.contains("Loss by code point (colour) and port"));
    assert!(text.contains("AF11 (green)") && text.contains("AF12 (yellow)"));
}

#[test]
fn one_replica_has_no_intervals_and_says_so() {
    let text = text(&View::new(&[single(&FAIR_MARKER, 1)]), false, usize::MAX);
    assert!(text.contains("One replica only: no intervals."));
    assert!(!text.split("Run more").next().unwrap().contains(" ± "));
}

#[test]
fn warnings_come_before_the_tables() {
    let mut run = known("fair marker");
    run.points[0]
        .summary
        .warnings
        .push(Warning::new(WarningKind::UnsettledLoad, "the load of web does not settle"));
    let text = text(&View::new(&[run]), true, usize::MAX);
    assert!(text.find("the load of web").unwrap() < text.find("\x1b[1m").unwrap());
}

#[test]
fn what_long_flows_got_over_time_is_shown_where_it_was_sampled() {
    assert!(
        !text(&View::new(&[known("fair marker")]), false, usize::MAX)
            .contains("Long flows over time")
    );
    let mut run = known("fair marker");
    let web = &mut run.points[0].summary.workloads[0];
    web.throughput_variation = estimate(0.42, 0.02);
    web.idle_samples = estimate(7.0, 1.5);
    let text = text(&View::new(&[run]), false, usize::MAX);
    let table = text.split("Long flows over time").nth(1).unwrap();
    assert!(table.contains("0.420 ± 0.020") && table.contains("7.0 ± 1.5"), "{table}");
}

#[test]
fn shares_over_limits_stand_beside_the_completion_times_where_they_were_asked_for() {
    assert!(!text(&View::new(&[known("fair marker")]), false, usize::MAX).contains("took longer"));
    let mut run = known("fair marker");
    let web = &mut run.points[0].summary.workloads[0];
    for (class, at) in web.classes.iter_mut().chain([&mut web.all]).zip([0.02, 0.15]) {
        class.over = [5.0, 10.0]
            .map(|limit| OverSummary { limit, share: estimate(at * 5.0 / limit, 0.01) })
            .into();
    }
    let expected = "\
Share that took longer; incomplete ones count as in progress up to their age
workload      over 5 s    over 10 s
web       15.0 ± 1.0 %  7.5 ± 1.0 %
";
    let text = text(&View::new(std::slice::from_ref(&run)), false, usize::MAX);
    assert!(text.contains(expected), "{text}");
    // The page has the sizes too.
    let rows: Vec<_> =
        tables(&View::new(&[run]))[1].rows.iter().map(|row| row.cells[1].clone()).collect();
    assert_eq!(rows, ["1 pkt", "all"]);
}

#[test]
fn pages_echoes_and_files_are_called_so() {
    let called = |item| {
        let mut run = known("fair marker");
        run.points[0].summary.workloads[0].item = item;
        let shown = text(&View::new(std::slice::from_ref(&run)), false, usize::MAX);
        let line = |starts: &str| shown.lines().find(|line| line.starts_with(starts)).unwrap();
        let sentence = line("A").split(" took").next().unwrap().to_owned();
        (sentence, line("web: ").to_owned(), line("size").rsplit(' ').next().unwrap().to_owned())
    };
    let expected = |a: &str, b: &str, c: &str| (a.to_owned(), b.to_owned(), c.to_owned());
    let page = expected("A page of web", "web: completion time by page size, in ms", "pages");
    assert_eq!(called(Item::Page), page);
    assert_eq!(
        called(Item::Echo),
        expected("An echo of web", "web: completion time, in ms", "echoes")
    );
    let file = expected("A file of web", "web: completion time by file size, in ms", "files");
    assert_eq!(called(Item::File), file);
}

#[test]
fn the_times_of_the_objects_of_pages_are_left_to_the_page() {
    let mut run = known("fair marker");
    let mut objects = run.points[0].summary.workloads[0].clone();
    objects.name = "web/objects".into();
    objects.item = Item::Object;
    run.points[0].summary.workloads.push(objects);
    let title = "web/objects: completion time by object size";
    let shown = text(&View::new(std::slice::from_ref(&run)), false, usize::MAX);
    assert!(!shown.contains(title) && !shown.contains("An object of web/objects"), "{shown}");
    assert!(tables(&View::new(&[run])).iter().any(|table| table.title.starts_with(title)));
}

#[test]
fn streams_that_are_set_apart_have_a_row_each_and_a_figure_against_rate() {
    let of = |run: &Run| {
        figures(&View::new(std::slice::from_ref(run))).iter().any(|f| f.name == "streams-1")
    };
    let mut run = known("fair marker");
    assert!(
        !text(&View::new(std::slice::from_ref(&run)), false, usize::MAX).contains("by stream")
            && !of(&run)
    );
    let stream = |rate: u64, delay: f64| StreamSummary {
        name: format!("a->b #{}", rate / 10_000),
        rate,
        sent: rate / 20,
        delay: estimate(delay, 0.001),
        percentiles: Default::default(),
        delay_max: estimate(2.0 * delay, 0.002),
        loss: estimate(0.0, 0.0),
        call: Default::default(),
    };
    run.points[0].summary.workloads[1].streams = vec![stream(10_000, 0.150), stream(40_000, 0.079)];
    let expected = "\
voice: delay and loss by stream
stream   rate          sent  mean delay, ms  longest, ms  lost
a->b #1  10.0 kbit/s    500         150 ± 1      300 ± 2   0 %
a->b #4  40.0 kbit/s  2,000      79.0 ± 1.0      158 ± 2   0 %
";
    let found = text(&View::new(std::slice::from_ref(&run)), false, usize::MAX);
    assert!(found.contains(expected), "{found}");
    assert!(of(&run));
}
