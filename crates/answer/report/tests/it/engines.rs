//! The same policies by two engines.

use shortflow_measure::{Estimate, Run, View};
use shortflow_report::{brief, json, key_result, text};

use crate::page;
use crate::synthetic::{BEST_EFFORT, Behaviour, FAIR_MARKER, single, sweep};

/// A run by this engine, as `compare` calls it.
fn by(engine: &str, run: Run) -> Run {
    let mut run = run;
    let policy = std::mem::take(&mut run.manifest.label);
    run.label = format!("{policy}, {engine}d");
    run.manifest.label.clone_from(&run.label);
    (run.manifest.engine, run.manifest.policy) = (engine.into(), Some(policy));
    run
}

/// Both policies by both engines, the second of which finds `rehearsed` for the second policy.
fn runs(rehearsed: &Behaviour) -> Vec<Run> {
    vec![
        by("simulate", single(&BEST_EFFORT, 3)),
        by("rehearse", single(&BEST_EFFORT, 3)),
        by("simulate", single(&FAIR_MARKER, 3)),
        by("rehearse", single(rehearsed, 3)),
    ]
}

#[test]
fn engines_that_order_the_policies_alike_are_said_to() {
    let runs = runs(&FAIR_MARKER);
    let said = key_result(&View::new(&runs));
    assert!(
        said.starts_with(
            "The policies come in the same order simulated and rehearsed: fair marker, then best effort."
        ),
        "{said}"
    );
    let found = json(&View::new(&runs));
    assert!(found["ranking"].is_null());
    assert_eq!(found["engines"]["same_order"], true);
    assert_eq!(found["engines"]["rankings"][1]["engine"], "rehearse");
    assert_eq!(found["engines"]["rankings"][1]["ranking"][0]["label"], "fair marker");
    // Each policy by both, then both policies by each.
    let pairs: Vec<String> = found["gains"]
        .as_array()
        .unwrap()
        .iter()
        .map(|at| {
            format!("{} to {}", at["reference"].as_str().unwrap(), at["ours"].as_str().unwrap())
        })
        .collect();
    assert_eq!(
        pairs,
        [
            "best effort, simulated to best effort, rehearsed",
            "fair marker, simulated to fair marker, rehearsed",
            "best effort, simulated to fair marker, simulated",
            "best effort, rehearsed to fair marker, rehearsed"
        ]
    );
}

#[test]
fn engines_that_order_the_policies_otherwise_are_told_with_both_orders() {
    let slow = Behaviour { slowness: BEST_EFFORT.slowness * 3.0, ..FAIR_MARKER };
    let runs = runs(&slow);
    let said = key_result(&View::new(&runs));
    assert!(
        said.starts_with(
            "The policies come in different orders: simulated: fair marker, then best effort; \
                rehearsed: best effort, then fair marker."
        ),
        "{said}"
    );
    assert!(said.contains("Largest difference: fair marker, rehearsed, the "), "{said}");
    assert_eq!(json(&View::new(&runs))["engines"]["same_order"], false);
    assert!(
        brief(&View::new(&runs), false, usize::MAX).starts_with(&said),
        "what is brief begins with it too"
    );
}

#[test]
fn an_order_that_replicas_do_not_tell_is_not_contradicted() {
    // As good as one another, but for chance.
    let alike = Behaviour { slowness: FAIR_MARKER.slowness * 1.0001, ..FAIR_MARKER };
    let other = Behaviour { label: "other", ..FAIR_MARKER };
    let runs = vec![
        by("simulate", single(&FAIR_MARKER, 3)),
        by("rehearse", single(&alike, 3)),
        by("simulate", single(&other, 3)),
        by("rehearse", single(&other, 3)),
    ];
    let said = key_result(&View::new(&runs));
    assert!(
        said.starts_with(
            "The policies come in the same order as far as the replicas distinguish them: \
                simulated: "
        ),
        "{said}"
    );
    assert!(said.contains("none clearly differs by more than 1 %."), "{said}");
    assert_eq!(json(&View::new(&runs))["engines"]["same_order"], true);
}

#[test]
fn other_orders_in_one_replica_are_told_as_what_may_be_chance() {
    let slow = Behaviour { slowness: BEST_EFFORT.slowness * 3.0, ..FAIR_MARKER };
    let one = |engine, behaviour| by(engine, single(behaviour, 1));
    let runs = vec![
        one("simulate", &BEST_EFFORT),
        one("rehearse", &BEST_EFFORT),
        one("simulate", &FAIR_MARKER),
        one("rehearse", &slow),
    ];
    let said = key_result(&View::new(&runs));
    assert!(
        said.starts_with(
            "The policies come in different orders, which may be chance with one replica: \
                simulated: "
        ),
        "{said}"
    );
    assert!(json(&View::new(&runs))["engines"]["same_order"].is_null());
}

#[test]
fn a_model_has_no_replicas_and_contradicts_those_of_others_where_they_are_clear() {
    let slow = Behaviour { slowness: BEST_EFFORT.slowness * 3.0, ..FAIR_MARKER };
    let runs = |replicas| {
        vec![
            predicted(&BEST_EFFORT),
            by("simulate", single(&BEST_EFFORT, replicas)),
            predicted(&slow),
            by("simulate", single(&FAIR_MARKER, replicas)),
        ]
    };
    assert_eq!(json(&View::new(&runs(3)))["engines"]["same_order"], false);
    assert!(json(&View::new(&runs(1)))["engines"]["same_order"].is_null());
}

/// What a model would tell that finds all that was measured.
fn predicted(behaviour: &Behaviour) -> Run {
    let mut run = by("predict", single(behaviour, 3));
    run.points.iter_mut().for_each(|point| {
        point.replicas.clear();
        point.summary.replicas = 1;
    });
    run
}

/// The same of another policy.
fn named(mut run: Run, policy: &str) -> Run {
    run.label = format!("{policy}, {}d", run.manifest.engine);
    run.manifest.label.clone_from(&run.label);
    run.manifest.policy = Some(policy.into());
    run
}

#[test]
fn what_a_model_does_not_tell_is_not_counted_as_nothing_served() {
    let mut silent = predicted(&FAIR_MARKER);
    for workload in &mut silent.points[0].summary.workloads {
        (workload.all, workload.classes, workload.goodput, workload.datagrams) = Default::default();
    }
    let mut half = named(predicted(&BEST_EFFORT), "half known");
    half.points[0].summary.workloads[1].datagrams = None;
    let runs = [
        predicted(&BEST_EFFORT),
        by("simulate", single(&BEST_EFFORT, 3)),
        half,
        named(by("simulate", single(&BEST_EFFORT, 3)), "half known"),
        silent,
        by("simulate", single(&FAIR_MARKER, 3)),
    ];
    let reported = text(&View::new(&runs), false, usize::MAX);
    let (_, ranked) = reported.split_once("Policies ranked, predicted\n").unwrap();
    let (ranked, _) = ranked.split_once("\n\n").unwrap();
    assert!(!ranked.contains("fair marker"), "{ranked}");
    assert!(
        ranked.contains("half known") && ranked.contains("a dash has no closed form"),
        "{ranked}"
    );
    assert!(!ranked.contains("× nothing") && !ranked.contains("voice nothing"), "{ranked}");
    assert!(
        reported.contains("Omitted, because not all engines have figures: fair marker."),
        "{reported}"
    );
}

#[test]
fn a_comparison_with_a_model_begins_with_the_prediction_that_is_farthest_off() {
    let mut model = predicted(&BEST_EFFORT);
    let summary = &mut model.points[0].summary;
    let mean = summary.workloads[0].classes[7].mean.unwrap();
    summary.workloads[0].classes[7].mean = Some(Estimate { mean: mean.mean / 2.0, ..mean });
    let bound = summary.workloads[0].all.mean.unwrap();
    let at_least = |factor| Some(Estimate { mean: bound.mean * factor, at_least: true, ..bound });
    summary.workloads[0].all.mean = at_least(0.5);
    let reported =
        key_result(&View::new(&[model.clone(), by("simulate", single(&BEST_EFFORT, 3))]));
    assert!(reported.contains("Least accurate: best effort, web of 91 pkt: "), "{reported}");
    assert!(
        reported.contains("(−50 %)") && reported.contains("The one bound (≥ or ≤) holds."),
        "{reported}"
    );
    model.points[0].summary.workloads[0].all.mean = at_least(2.0);
    let runs = [by("simulate", single(&BEST_EFFORT, 3)), model];
    let reported = key_result(&View::new(&runs));
    assert!(
        reported.contains("The one bound (≥ or ≤) does not hold: best effort, web: ≥ "),
        "{reported}"
    );
    let engines = &json(&View::new(&runs))["engines"];
    let prediction_errors = engines["prediction_errors"].clone();
    assert_eq!(engines["foretold"], prediction_errors, "scripts may read the old name");
    let off =
        prediction_errors.as_array().unwrap().iter().find(|at| at["class"] == "91 pkt").unwrap();
    assert!((off["error"].as_f64().unwrap() + 0.5).abs() < 1e-9, "{off}");
    assert!(
        text(&View::new(&runs), false, usize::MAX)
            .contains("are for one replica; the others are totals over all 3")
    );
}

#[test]
fn the_same_figures_are_one_time_as_much() {
    let reported = text(&View::new(&runs(&FAIR_MARKER)), false, usize::MAX);
    let (_, table) = reported.split_once("How many times as much as simulated\n").unwrap();
    let row = table.lines().nth(1).unwrap();
    assert!(row.starts_with("best effort, rehearsed") && row.contains("1.00"), "{row}");
    assert!(!table.split_once("\n\n").unwrap().0.contains("simulated  "), "{table}");
}

#[test]
fn one_policy_has_no_ranking_but_agreement_and_a_page_along_a_sweep_too() {
    let two = [by("simulate", single(&BEST_EFFORT, 2)), by("rehearse", single(&BEST_EFFORT, 2))];
    assert!(!text(&View::new(&two), false, usize::MAX).contains("ranked"));
    assert!(json(&View::new(&two))["engines"]["same_order"].is_null());
    let page = page(&View::new(&two));
    assert!(page.contains("<h1>best effort: simulated and rehearsed</h1>"));
    assert!(page.contains("<p>Engine: rehearse</p>"), "what was run says by which engine");
    let swept = [by("simulate", sweep(&BEST_EFFORT)), by("rehearse", sweep(&BEST_EFFORT))];
    let reported = text(&View::new(&swept), false, usize::MAX);
    let (_, table) = reported.split_once("How many times as much as simulated\n").unwrap();
    // The point stands once beside the workloads at it.
    assert_eq!(
        table.lines().filter(|line| line.starts_with("                        0.95   web")).count(),
        1
    );
}

#[test]
fn where_a_model_lacks_what_decides_the_order_of_policies_is_not_settled() {
    let mut half = named(predicted(&BEST_EFFORT), "half known");
    let web = &mut half.points[0].summary.workloads[0];
    (web.all, web.classes) = Default::default();
    let runs = [
        predicted(&BEST_EFFORT),
        by("simulate", single(&BEST_EFFORT, 3)),
        half,
        named(by("simulate", single(&FAIR_MARKER, 3)), "half known"),
    ];
    let said = key_result(&View::new(&runs));
    assert!(
        said.starts_with(
            "The predictions lack figures that would settle the order of the policies: "
        ),
        "{said}"
    );
    assert!(json(&View::new(&runs))["engines"]["same_order"].is_null());
    // Others are ranked by means, too, beside a model.
    let reported = text(&View::new(&runs), false, 100);
    assert!(reported.contains("web mean") && !reported.contains("web p95"), "{reported}");
}

#[test]
fn losses_and_percentiles_of_a_model_count_in_the_headline() {
    let found = by("simulate", single(&BEST_EFFORT, 3));
    let mut model = predicted(&BEST_EFFORT);
    let voice = model.points[0].summary.workloads.iter_mut().find(|one| one.datagrams.is_some());
    let streams = voice.unwrap().datagrams.as_mut().unwrap();
    let loss = streams.loss.unwrap();
    // A loss of one in a thousand more or less is as good as the same one.
    streams.loss = Some(Estimate { mean: loss.mean + 0.0009, ..loss });
    let reported = key_result(&View::new(&[model.clone(), found.clone()]));
    assert!(reported.starts_with("All ") && reported.contains("percentiles"), "{reported}");
    let streams =
        model.points[0].summary.workloads.iter_mut().find_map(|one| one.datagrams.as_mut());
    streams.unwrap().loss = Some(Estimate { mean: loss.mean + 0.5, ..loss });
    let reported = key_result(&View::new(&[model.clone(), found.clone()]));
    assert!(reported.contains(" losses, "), "{reported}");
    assert!(reported.contains("Least accurate: best effort, voice: loss "), "{reported}");
    // A loss of next to nothing is no loss, and no ratio of losses is of one.
    let streams =
        model.points[0].summary.workloads.iter_mut().find_map(|one| one.datagrams.as_mut());
    streams.unwrap().loss = Some(Estimate { mean: 4.4e-16, ..loss });
    let reported = text(&View::new(&[model, found]), false, usize::MAX);
    assert!(!reported.contains("e-1"), "{reported}");
    let (_, table) = reported.split_once("How many times as much as predicted\n").unwrap();
    assert!(!table.split_once("\n\n").unwrap().0.contains("lost"), "{table}");
}
