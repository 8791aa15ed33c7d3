//! The ranking of compared runs: its table, its sentence, its figure.

use std::collections::BTreeSet;

use shortflow_measure::results::Setting;
use shortflow_measure::{Estimate, Manifest, Point, Run, View};
use shortflow_report::{brief, figures, key_result, ranking_table, text};

use crate::page;
use crate::synthetic::{BEST_EFFORT, Behaviour, FAIR_MARKER, single, sweep};

/// Fifteen policies, the later the slower but for the last, which is the fastest.
fn fifteen() -> Vec<Run> {
    let slowness = |at: usize| if at == 14 { 1.0 } else { 2.0 + at as f64 };
    let run = |at: usize| {
        let mut run = single(&Behaviour { slowness: slowness(at), ..BEST_EFFORT }, 2);
        run.label = format!("policy {at}");
        run
    };
    (0..15).map(run).collect()
}

#[test]
fn fifteen_policies_take_a_line_each_in_their_order() {
    let table = ranking_table(&View::new(&fifteen())).unwrap();
    let names: Vec<&str> = table.rows.iter().map(|row| row.cells[1].as_str()).collect();
    assert_eq!(names[..2], ["policy 14", "policy 0"]);
    assert_eq!(names[14], "policy 13");
    let ranks: Vec<&str> = table.rows.iter().map(|row| row.cells[0].as_str()).collect();
    assert_eq!((ranks.len(), ranks[0], ranks[14]), (15, "1", "15"));
    let longest = table.text(false).lines().map(|line| line.chars().count()).max().unwrap();
    assert!(longest <= 120, "a line of {longest} characters");
}

#[test]
fn a_comparison_begins_with_its_ranking_and_no_row_of_it_is_a_sentence() {
    let runs = fifteen();
    let reported = text(&View::new(&runs), false, usize::MAX);
    let sentences: Vec<&str> = reported.lines().take_while(|line| !line.is_empty()).collect();
    assert!(sentences[0].starts_with("policy 14 ranks first of 15"), "{}", sentences[0]);
    assert!(sentences[1].starts_with("policy 0, the reference, ranks second of 15"));
    assert_eq!(sentences.len(), 2);
    assert!(reported.find("Ranking:").unwrap() < reported.find("completion time").unwrap());
    assert!(!brief(&View::new(&runs), false, usize::MAX).contains("completion time"));
}

#[test]
fn along_a_sweep_the_worst_point_is_named() {
    let runs = [sweep(&BEST_EFFORT), sweep(&FAIR_MARKER)];
    let table = ranking_table(&View::new(&runs)).unwrap();
    assert_eq!(table.rows[1].cells[1], "best effort");
    assert!(table.rows[1].cells[2].contains(" × at 0."), "{:?}", table.rows[1].cells);
    assert!(table.head.contains(&"web, × best".to_owned()));
}

#[test]
fn runs_with_other_arrivals_have_neither_ranking_nor_gain() {
    let changes: [fn(&mut Manifest); 4] = [
        |manifest| manifest.seed += 1,
        |manifest| manifest.duration *= 2.0,
        |manifest| manifest.inputs[0].text += "# another load",
        |manifest| manifest.settings.push(setting("workloads.web.transfers.load", "2 Mbit/s")),
    ];
    for change in changes {
        let mut runs = [single(&BEST_EFFORT, 3), single(&FAIR_MARKER, 3)];
        change(&mut runs[1].manifest);
        assert_eq!(ranking_table(&View::new(&runs)), None);
        assert_eq!(gain(&runs), None);
        assert!(key_result(&View::new(&runs)).starts_with("These runs had different arrivals"));
    }
    assert_eq!(ranking_table(&View::new(&[single(&BEST_EFFORT, 2)])), None);
}

#[test]
fn what_moves_no_arrival_may_differ() {
    let mut runs = [single(&BEST_EFFORT, 3), single(&FAIR_MARKER, 3)];
    for key in ["policy.parameters.limit", "tcp.recovery", "links.bottleneck.rate", "replicas"] {
        runs[1].manifest.settings.push(setting(key, "other"));
    }
    assert!(ranking_table(&View::new(&runs)).is_some());
    assert!(gain(&runs).is_some());
}

/// The gain of the second run over the first in the mean of `web`.
fn gain(runs: &[Run]) -> Option<Estimate> {
    View::new(runs).set.pair_of(1)?.gain(0, "web", None)
}

fn setting(key: &str, value: &str) -> Setting {
    Setting { key: key.into(), value: value.into() }
}

#[test]
fn a_gain_pairs_replicas_by_their_numbers() {
    let (reference, ours) = (single(&BEST_EFFORT, 6), single(&FAIR_MARKER, 6));
    let without = |run: &Run, lost: &[u32]| {
        let kept = run.points[0].replicas.iter().filter(|r| !lost.contains(&r.number));
        let points = vec![Point::new(vec![], kept.cloned().collect())];
        Run::new(run.manifest.clone(), points)
    };
    // An interrupted run kept 0, 1, 4 and 5.
    let reported = gain(&[reference.clone(), without(&ours, &[2, 3])]).unwrap();
    let pairs = [without(&reference, &[2, 3]), without(&ours, &[2, 3])];
    assert_eq!(reported, gain(&pairs).unwrap());
    assert_eq!(reported.n, 4);
}

#[test]
fn runs_that_are_alike_share_their_place() {
    let mut runs = [single(&BEST_EFFORT, 2), single(&BEST_EFFORT, 2)];
    runs[1].label = "the same".into();
    let table = ranking_table(&View::new(&runs)).unwrap();
    assert_eq!([&table.rows[0].cells[0], &table.rows[1].cells[0]], ["1", "1"]);
    let said = key_result(&View::new(&runs));
    assert!(said.starts_with("best effort and the same share the first place"), "{said}");
}

#[test]
fn the_first_figure_shows_each_policy_in_a_colour_of_its_own() {
    let drawn = figures(&View::new(&fifteen()));
    assert_eq!(drawn[0].name, "ranking");
    let fills: BTreeSet<&str> = drawn[0]
        .svg
        .split("<rect ")
        .skip(3)
        .filter_map(|tag| tag.split("fill=\"").nth(1)?.split('"').next())
        .collect();
    assert_eq!(fills.len(), 15, "{fills:?}");
    for head in [">web<", ">p95<", ">voice<", ">backup<", ">goodput<", "policy 14"] {
        assert!(drawn[0].svg.contains(head), "{head} is missing");
    }
}

#[test]
fn the_page_has_ranking_and_figure_before_all_tables() {
    let page = page(&View::new(&fifteen()));
    let ranking = page.find("<h2>Ranking</h2>").unwrap();
    let hero = page.find("<div class=\"hero\"").unwrap();
    assert!(ranking < hero && hero < page.find("<h2>Completion times</h2>").unwrap());
    assert!(!page.contains("class=\"cards\""));
}

#[test]
fn figures_say_what_they_are_and_queues_share_a_scale_of_milliseconds() {
    let runs = [single(&BEST_EFFORT, 2), single(&FAIR_MARKER, 2)];
    let drawn = figures(&View::new(&runs));
    assert!(drawn.iter().all(|figure| figure.svg.contains("font-weight=\"600\"")));
    let ticks = |name: &str| -> BTreeSet<String> {
        let figure = drawn.iter().find(|figure| figure.name == name).unwrap();
        assert!(figure.svg.contains(">queue, ms<"));
        let texts = figure.svg.split("text-anchor=\"end\"").skip(1);
        texts.map(|t| t.split(['>', '<']).nth(1).unwrap().to_owned()).collect()
    };
    assert!(ticks("queue-0-0").len() > 2);
    assert_eq!(ticks("queue-0-0"), ticks("queue-1-0"));
}

#[test]
fn datagrams_are_spoken_of_where_nothing_else_is_timed() {
    let mut run = single(&FAIR_MARKER, 2);
    run.points[0].summary.workloads.retain(|workload| workload.name == "voice");
    assert!(key_result(&View::new(&[run])).starts_with("Datagrams of voice took "));
}
