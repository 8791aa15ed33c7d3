//! Runs a small study as a whole, from its files to its ledger, figures and tables.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use shortflow_measure::tables::{Cell, Label};
use shortflow_run::{Engine, Observers, Outcome, Refusal, Stalls, Task, TimingError};
use shortflow_scenario::Scenario;
use shortflow_sim::Simulator;
use shortflow_units::Duration;

use crate::error::Error;
use crate::judge::Verdict;
use crate::ledger::{Counterfactual, Ledger, RehearsedCheck, Trial, rehearse};
use crate::options::{Options, Part};
use crate::present::{Reproduced, text};
use crate::reproduce::reproduce;
use crate::spec::StudyFiles;

const STUDY: &str = r#"
title = "pages, a long flow and two streams over one link"
workload = "web"
full = { looks = [3, 5], duration = "30 s" }
quick = { looks = [2], duration = "20 s" }

[[runs]]
name = "fifo"
scenario = "line.toml"
policy = "fifo.toml"
sweep = ["policy.parameters.limit"]
values = [20, 50]
quick = [20]

[[counterfactuals]]
name = "silence"
says = "few datagrams"
set = ['workloads.call.cbr.rate=["1 kbit/s", "1 kbit/s"]']

[[counterfactuals]]
name = "half-load"
says = "half as many pages"
set = ["workloads.web.transfers.rate=1 /s"]

[[figures]]
name = "sweep"
title = "over the sweep"
x = "queue (packets)"
y = "completion time (s)"
curves = [{ label = "all", of = { run = "fifo" } }]

[[figures]]
name = "classes"
title = "by size"
kind = "classes"
x = "reply (bytes)"
y = "completion time (s)"
curves = [{ label = "20", of = { run = "fifo", x = 20, workload = "web" } }]

[[figures]]
name = "streams"
title = "by rate"
kind = "streams"
x = "rate (kbit/s)"
y = "delay (s)"
curves = [{ label = "20", of = { run = "fifo", x = 20, workload = "call", measure = "delay" } }]

[[figures]]
name = "distribution"
title = "how long"
kind = "distribution"
x = "completion time (s)"
y = "share that took longer"
curves = [{ label = "20", of = { run = "fifo", x = 20, workload = "web", class = "10 KB" } }]

[[figures]]
name = "longer-queue"
title = "omitted by --quick"
kind = "distribution"
x = "completion time (s)"
y = "share that took longer"
curves = [{ label = "50", of = { run = "fifo", x = 50, workload = "web" } }]

[[tables]]
name = "long"
title = "The long flow"
rows = [
    { label = "short queue", run = "fifo", x = 20 },
    { label = "long queue", run = "fifo", x = 50 },
]
columns = [
    { label = "rate (Mbit/s)", of = { measure = "long-flow-rate", workload = "long" } },
    { label = "variation", of = { measure = "throughput-variation", workload = "long" } },
]
"#;

const LINE: &str = r#"
warm_up = "4 s"
duration = "30 s"
[hosts]
a = {}
b = {}
[links.line]
between = ["a", "b"]
rate = "2 Mbit/s"
delay = "10 ms"
queue = "100 pkt"
[[bind]]
role = "line"
at = "b"
to = "a"
[workloads.web.transfers]
client = "a"
server = "b"
rate = "2 /s"
request.constant = "300 B"
reply.exponential.mean = "8 KB"
[workloads.long.bulk]
from = "b"
to = "a"
[workloads.call.cbr]
from = "b"
to = "a"
rate = ["64 kbit/s", "16 kbit/s"]
packet = "200 B"
[measure]
size_classes = ["1 KB", "10 KB", "100 KB"]
flow_samples = "2 s"
"#;

/// Each measure at the short queue. What they are is told by [`VALUES`], in the same order.
const CLAIMS: &str = r#"
[[claim]]
id = "whole.1"
claim = "Every measure is measured."
note = "The mean is 1.23 s."
check = [
    { what = "longest over mean", paper = "", rule = { at-least = 0.0 }, ours = { run = "fifo", x = 20, measure = "completion-max", per = { measure = "completion" } } },
    { what = "deviation over mean", paper = "", rule = { at-least = 0.0 }, ours = { run = "fifo", x = 20, workload = "web", measure = "completion-deviation", per = { measure = "completion" } } },
    { what = "variation", paper = "", rule = { at-least = 0.0 }, ours = { run = "fifo", x = 20, workload = "web", measure = "completion-variation" } },
    { what = "pages a second", paper = "", rule = { at-least = 0.0 }, ours = { run = "fifo", x = 20, workload = "web", measure = "completed-rate" } },
    { what = "pages, Mbit/s", paper = "", rule = { at-least = 0.0 }, ours = { run = "fifo", x = 20, measure = "goodput" } },
    { what = "lost packets", paper = "", rule = { at-least = 0.0 }, ours = { run = "fifo", x = 20, workload = "web", measure = "packet-loss" } },
    { what = "the link", paper = "", rule = { at-least = 0.0 }, ours = { run = "fifo", x = 20, measure = "utilisation", at = "b->a" } },
    { what = "fairness of one flow", paper = "", rule = { at-least = 0.0 }, ours = { run = "fifo", x = 20, workload = "long", measure = "fairness" } },
    { what = "share of the link", paper = "", rule = { at-least = 0.0 }, ours = { run = "fifo", x = 20, workload = "long", measure = "long-flow-rate", unit = 2.0 } },
    { what = "bytes in large replies", paper = "", rule = { at-least = 0.0 }, ours = { run = "fifo", x = 20, workload = "web", measure = "bytes-above", above = "10 KB" } },
    { what = "variation over time", paper = "", rule = { at-least = 0.0 }, ours = { run = "fifo", x = 20, workload = "long", measure = "throughput-variation" } },
    { what = "idle of 13 intervals", paper = "", rule = { at-least = 0.0 }, ours = { run = "fifo", x = 20, workload = "long", measure = "idle-samples" } },
]
"#;

/// Pages come at 2 a second, so that the first check fails, fewer datagrams do not mend it, and half
/// as many pages do; the second holds at one point of the sweep.
const TRIED: &str = r#"
[[claim]]
id = "whole.2"
claim = "Pages are rare."
counterfactuals = ["silence", "half-load"]
check = [
    { what = "pages a second", paper = "≤ 1.6", rule = { at-most = 1.6 }, ours = { run = "fifo", x = 20, measure = "completed-rate" } },
]
observation = [
    { what = "at {x}", ours = { run = "fifo", measure = "completed-rate" } },
]
[[claim]]
id = "whole.3"
claim = "The long flow can be as fast as itself with a short queue."
check = [
    { what = "at {x}", paper = "the same", rule = "alike", points = "some", ours = { run = "fifo", measure = "goodput", workload = "long" }, than = { run = "fifo", measure = "goodput", workload = "long", x = 20 } },
]
"#;

/// Two pages a second come, which no number of replicas tells from 2.
const OPEN: &str = r#"
[[claim]]
id = "whole.4"
claim = "At most two pages come a second."
looks = [4, 7]
check = [
    { what = "pages a second", paper = "≤ 2", rule = { at-most = 2.0 }, ours = { run = "fifo", x = 20, measure = "completed-rate" } },
]
[[claim]]
id = "whole.5"
claim = "The same, looked at as the study says."
check = [
    { what = "pages a second", paper = "≤ 2", rule = { at-most = 2.0 }, ours = { run = "fifo", x = 20, measure = "completed-rate" } },
]
"#;

/// Between what each value must lie: the link carries 2 Mbit/s, of which 2 pages of 8 KB a second
/// offer 128 kbit/s and the streams 80. Of exponential sizes of mean m, bytes in those above a are the
/// share (1 + a/m)·exp(−a/m), here 0.64.
const VALUES: [(f64, f64); 12] = [
    (1.0, 50.0),
    (0.1, 5.0),
    (0.1, 5.0),
    (1.5, 2.5),
    (0.08, 0.18),
    (0.0, 0.2),
    (0.8, 1.0),
    (1.0, 1.0),
    (0.5, 0.95),
    (0.5, 0.8),
    (0.01, 1.0),
    (0.0, 6.0),
];

const FIFO: &str = "[parameters]\nlimit = 20\n[roles.line.queue.fifo]\nlimit = \"= limit pkt\"\n";

static FILES: StudyFiles = StudyFiles::new(
    "whole",
    &[("study.toml", STUDY), ("claims.toml", CLAIMS), ("line.toml", LINE), ("fifo.toml", FIFO)],
);

/// A policy with a role that the scenario binds nowhere.
const UNBOUND: &str = "[parameters]\nlimit = 20\n[roles.line.queue.fifo]\nlimit = \"= limit pkt\"\n[roles.edge.queue.fifo]\nlimit = \"3 pkt\"\n";

static WITH_UNBOUND: StudyFiles = StudyFiles::new(
    "unbound",
    &[("study.toml", STUDY), ("claims.toml", TRIED), ("line.toml", LINE), ("fifo.toml", UNBOUND)],
);

static TRYING: StudyFiles = StudyFiles::new(
    "trying",
    &[("study.toml", STUDY), ("claims.toml", TRIED), ("line.toml", LINE), ("fifo.toml", FIFO)],
);

static LEFT_OPEN: StudyFiles = StudyFiles::new(
    "open",
    &[("study.toml", STUDY), ("claims.toml", OPEN), ("line.toml", LINE), ("fifo.toml", FIFO)],
);

/// The same pages over a line of 10 Mbit/s and over one of 0.5.
const READ_STUDY: &str = r#"
title = "the same pages over a fast and a slow line"
workload = "web"
full = { looks = [3, 6], duration = "30 s" }
quick = { looks = [2], duration = "20 s" }

[[runs]]
name = "fast"
scenario = "line.toml"
policy = "fifo.toml"
set = ["links.line.rate=10 Mbit/s"]
sweep = ["policy.parameters.limit"]
values = [20]

[[runs]]
name = "slow"
scenario = "line.toml"
policy = "slow.toml"
set = ["links.line.rate=0.5 Mbit/s"]
sweep = ["policy.parameters.limit"]
values = [20]

[[readings]]
name = "wide"
says = "a slow line of 100 Mbit/s"
set = ["links.line.rate=100 Mbit/s"]
only = ["slow.toml"]
"#;

const READ_CLAIMS: &str = r#"
[[claim]]
id = "read.1"
claim = "Pages come."
check = [
    { what = "pages a second", paper = "", rule = { at-least = 1.0 }, ours = { run = "fast", measure = "completed-rate" } },
]
[[claim]]
id = "read.2"
claim = "Pages of 1 to 10 KB are slower over the slow line."
check = [
    { what = "of the same pages", paper = "slower", rule = "slower-one-by-one", ours = { run = "slow", class = "10 KB" }, than = { run = "fast", class = "10 KB" } },
]
[[claim]]
id = "read.3"
claim = "They are slower over the fast line."
check = [
    { what = "of the same pages", paper = "slower", rule = "slower-one-by-one", ours = { run = "fast", class = "10 KB" }, than = { run = "slow", class = "10 KB" } },
]
"#;

static READ: StudyFiles = StudyFiles::new(
    "read",
    &[
        ("study.toml", READ_STUDY),
        ("claims.toml", READ_CLAIMS),
        ("line.toml", LINE),
        ("fifo.toml", FIFO),
        ("slow.toml", FIFO),
    ],
);

fn run(folder: &Path, quick: bool) -> Reproduced {
    run_study(&FILES, folder, quick)
}

fn run_study(files: &StudyFiles, folder: &Path, quick: bool) -> Reproduced {
    let options = Options { part: Part::All, quick, threads: 1, folder };
    let never = AtomicBool::new(false);
    reproduce(&Simulator, files, &options, &never, &()).unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn a_check_that_fails_names_the_smallest_change_under_which_it_holds() {
    let home = tempfile::tempdir().unwrap();
    let ledger = run_study(&TRYING, home.path(), false).ledger.unwrap();
    let [rare, alike] = &ledger.claims[..] else { panic!("{ledger:?}") };
    assert_eq!((rare.verdict, rare.replicas), (Verdict::Fails, 3), "three replicas tell it");
    let Some(Counterfactual::Found(trial)) = &rare.checks[0].counterfactual else {
        panic!("{:?}", rare.checks[0])
    };
    assert_eq!(trial.change, "half as many pages");
    assert!(trial.ours.unwrap() < 1.6 && trial.verdict == Verdict::Holds, "{trial:?}");
    let seen: Vec<&str> = rare.observations.iter().map(|seen| seen.what.as_str()).collect();
    assert_eq!(seen, ["at 20", "at 50"]);
    assert_eq!((alike.verdict, alike.checks.len()), (Verdict::Holds, 1), "one point suffices");
    assert_eq!(alike.checks[0].what, "at 20");
    let quick = run_study(&TRYING, &home.path().join("quick"), true).ledger.unwrap();
    assert_eq!(quick.claims[0].checks[0].counterfactual, None, "a first look tries nothing");
}

/// The files of [`TRYING`] in a folder, with a ledger.
fn with_ledger(folder: &Path, ledger: &Ledger) -> StudyFiles {
    std::fs::create_dir_all(folder).unwrap();
    for name in ["study.toml", "claims.toml", "line.toml", "fifo.toml"] {
        std::fs::write(folder.join(name), TRYING.text(name).unwrap()).unwrap();
    }
    std::fs::write(folder.join("ledger.json"), serde_json::to_string(ledger).unwrap()).unwrap();
    StudyFiles::read(folder).unwrap()
}

fn run_part(files: &StudyFiles, folder: &Path, part: Part) -> Result<Reproduced, Error> {
    let options = Options { part, quick: false, threads: 1, folder };
    reproduce(&Simulator, files, &options, &AtomicBool::new(false), &())
}

#[test]
fn changes_that_a_ledger_lacks_are_tried_and_the_rest_of_it_stays() {
    let home = tempfile::tempdir().unwrap();
    let (study, kept) = (home.path().join("trying"), home.path().join("kept"));
    let whole = run_study(&TRYING, &kept, false).ledger.unwrap();
    let mut without = whole.clone();
    without.claims[0].checks[0].counterfactual = None;
    // A run would find another number.
    without.claims[1].checks[0].ours = Some(7.0);
    let run = run_part(&with_ledger(&study, &without), &kept, Part::Changes).unwrap();
    let ledger = run.ledger.unwrap();
    assert_eq!(ledger.claims[0], whole.claims[0]);
    assert_eq!(ledger.claims[1].checks[0].ours, Some(7.0));
    assert!(run.is_part && run.tables.is_empty() && run.figures.is_empty());

    // What the ledger has is not run again.
    let mut tried = without.clone();
    let Some(Counterfactual::Found(found)) = &whole.claims[0].checks[0].counterfactual else {
        panic!("{whole:?}")
    };
    let vain = |change: &str| Trial {
        change: change.to_owned(),
        ours: Some(9.0),
        verdict: Verdict::Fails,
        ..found.clone()
    };
    let all = vec![vain("few datagrams"), vain("half as many pages")];
    tried.claims[0].checks[0].counterfactual = Some(Counterfactual::Tried { tried: all });
    let run = run_part(&with_ledger(&study, &tried), &home.path().join("new"), Part::Changes);
    let run = run.unwrap();
    assert_eq!((run.finished, run.ledger.unwrap()), (0, tried));
}

#[test]
fn some_claims_are_judged_anew_and_the_others_stay() {
    let home = tempfile::tempdir().unwrap();
    let (study, kept) = (home.path().join("trying"), home.path().join("kept"));
    let whole = run_study(&TRYING, &kept, false).ledger.unwrap();
    let mut old = whole.clone();
    old.claims[0].checks.clear();
    old.claims[1].note = "as it was".to_owned();
    let files = with_ledger(&study, &old);
    let only = |id: &str| run_part(&files, &kept, Part::Claims(vec![id.to_owned()]));
    let ledger = only("whole.2").unwrap().ledger.unwrap();
    assert_eq!(ledger.claims[0], whole.claims[0]);
    assert_eq!(ledger.claims[1], old.claims[1]);

    let refused = |run: Result<Reproduced, Error>| run.unwrap_err().to_string();
    assert!(refused(only("whole.4")).contains("no claim `whole.4` about runs"));
    let other_checks = refused(run_part(&files, &kept, Part::Changes));
    assert!(other_checks.contains("judge it with --claims whole.2"), "{other_checks}");
    let without = refused(run_part(&TRYING, &kept, Part::Changes));
    assert!(without.contains("no committed ledger"), "{without}");
    let other = Ledger { reading: "wide".to_owned(), ..whole };
    let other = refused(run_part(&with_ledger(&study, &other), &kept, Part::Changes));
    assert!(other.contains("judged at the reading `wide`"), "{other}");
}

#[test]
fn a_claim_with_looks_of_its_own_is_raised_to_the_last_of_them() {
    let home = tempfile::tempdir().unwrap();
    let seen = |quick| {
        let ledger = run_study(&LEFT_OPEN, home.path(), quick).ledger.unwrap();
        let claims = ledger.claims.iter().map(|claim| (claim.verdict, claim.replicas));
        claims.collect::<Vec<_>>()
    };
    assert_eq!(seen(false), [(Verdict::Unsettled, 7), (Verdict::Unsettled, 5)]);
    assert_eq!(seen(true), [(Verdict::Unsettled, 2); 2], "the short form has looks of its own");
}

#[test]
fn a_claim_depends_where_another_reading_of_its_runs_says_otherwise() {
    let home = tempfile::tempdir().unwrap();
    let ledger = run_study(&READ, home.path(), false).ledger.unwrap();
    let verdicts: Vec<Verdict> = ledger.claims.iter().map(|claim| claim.verdict).collect();
    assert_eq!(verdicts, [Verdict::Holds, Verdict::Depends, Verdict::Depends]);
    let readings = ledger.claims.iter().map(|claim| claim.readings.as_slice());
    let [[], [slower], [faster]] = readings.collect::<Vec<_>>()[..] else { panic!("{ledger:?}") };
    assert_eq!(
        (slower.reading.as_str(), slower.verdict),
        ("a slow line of 100 Mbit/s", Verdict::Fails)
    );
    assert_eq!(faster.verdict, Verdict::Holds);
}

#[test]
fn transfers_are_held_against_themselves_in_runs_made_now_and_in_those_kept() {
    let home = tempfile::tempdir().unwrap();
    let share = |found: Reproduced| {
        let ledger = found.ledger.unwrap();
        [1, 2].map(|claim: usize| ledger.claims[claim].checks[0].ours.unwrap())
    };
    let now = share(run_study(&READ, home.path(), true));
    assert!(now[0] > 0.9 && now[1] < 0.1, "{now:?}");
    assert_eq!(share(run_study(&READ, home.path(), true)), now);
    let left = std::fs::read_dir(home.path()).unwrap().map(|entry| entry.unwrap().file_name());
    let left: Vec<String> = left.map(|name| name.to_string_lossy().into_owned()).collect();
    assert!(left.iter().all(|name| name.ends_with(".json")), "{left:?}");
}

#[test]
fn every_measure_figure_and_table_comes_out_of_a_run() {
    let home = tempfile::tempdir().unwrap();
    let found = run(home.path(), false);
    let checks = &found.ledger.unwrap().claims[0].checks;
    assert_eq!(checks.len(), VALUES.len());
    for (check, (low, high)) in checks.iter().zip(VALUES) {
        assert!((low..=high).contains(&check.ours.unwrap()), "{check:?}");
    }
    let of_mean = |at: usize| checks[at].ours.unwrap();
    assert!((of_mean(1) - of_mean(2)).abs() < 1e-12, "deviation over mean is the variation");
    let points = |name: &str| {
        let figure = found.figures.iter().find(|figure| figure.name == name).unwrap();
        figure.curves[0].points.iter().map(|(x, _)| *x).collect::<Vec<_>>()
    };
    assert_eq!(points("sweep"), [20.0, 50.0]);
    assert_eq!(points("classes")[..2], [1000.0, 10_000.0]);
    assert_eq!(points("streams"), [16.0, 64.0]);
    assert!(points("distribution").len() > 50);
    let table = &found.tables[0];
    assert_eq!((table.data.rows.len(), table.data.columns.len()), (2, 2));
    let cells = table.data.rows.iter().flat_map(|row| &row.cells);
    assert!(cells.into_iter().all(|cell| *cell != Cell::Nothing), "{table:?}");
}

#[test]
fn a_study_from_kept_replicas_is_what_it_was_at_first() {
    let home = tempfile::tempdir().unwrap();
    let (first, again) = (run(home.path(), true), run(home.path(), true));
    assert_eq!(first.ledger, again.ledger);
    assert_eq!(first.figures, again.figures);
    assert_eq!(first.tables, again.tables);
}

#[test]
fn warnings_about_policies_are_shown_once_with_their_place() {
    let home = tempfile::tempdir().unwrap();
    let found = run_study(&WITH_UNBOUND, home.path(), true);
    let ledger = found.ledger.as_ref().unwrap();
    assert_eq!(ledger.warnings.len(), 1, "{:?}", ledger.warnings);
    let shown = text(&found, ledger, false);
    assert_eq!(shown.matches("warning: ").count(), 1, "{shown}");
    assert!(shown.contains("`edge`"), "{shown}");
    assert!(run(home.path(), true).ledger.unwrap().warnings.is_empty());
}

#[test]
fn a_short_study_leaves_out_what_it_did_not_run() {
    let home = tempfile::tempdir().unwrap();
    let found = run(home.path(), true);
    assert!(found.about.contains("the short form, with 2 replicas of 20 s"), "{}", found.about);
    let ledger = found.ledger.unwrap();
    let notes: Vec<&str> = ledger.claims.iter().map(|claim| claim.note.as_str()).collect();
    assert!(notes.iter().all(|note| note.is_empty()), "notes speak of a full run: {notes:?}");
    let ran = (ledger.quick, ledger.looks.as_slice(), ledger.duration.as_str());
    assert_eq!(ran, (true, [2].as_slice(), "20 s"));
    let tcp = &ledger.tcp;
    assert!(!tcp.is_empty() && ledger.describe_tcp() == format!("TCP: {tcp}."), "{tcp}");
    let names: Vec<&str> = found.figures.iter().map(|figure| figure.name.as_str()).collect();
    assert_eq!(names, ["sweep", "classes", "streams", "distribution"]);
    let rows: Vec<&Label> = found.tables[0].data.rows.iter().flat_map(|row| &row.labels).collect();
    assert_eq!(rows, [&Label::from("short queue")]);
}

/// The simulator, as if it had been late by this.
struct LateBy(Duration);

impl Engine for LateBy {
    fn name(&self) -> &'static str {
        "late"
    }

    fn identity(&self) -> &str {
        "late"
    }

    fn tcp(&self, scenarios: &mut dyn Iterator<Item = &Scenario>) -> String {
        Simulator.tcp(scenarios)
    }

    fn check(&self, scenario: &Scenario) -> Result<(), Refusal> {
        Simulator.check(scenario)
    }

    fn run(
        &self,
        task: &Task<'_>,
        observers: Observers<'_>,
    ) -> Result<Outcome, shortflow_run::Error> {
        let LateBy(late) = *self;
        let stalls = Stalls::default();
        let timing = Some(TimingError { p50: late, p99: late, max: late, stalls });
        Ok(Outcome { timing, ..Simulator.run(task, observers)? })
    }
}

#[test]
fn what_is_rehearsed_of_a_study_stands_in_its_ledgers_from_then_on() {
    let home = tempfile::tempdir().unwrap();
    let (study, kept) = (home.path().join("study"), home.path().join("kept"));
    std::fs::create_dir(&study).unwrap();
    let part =
        "[rehearsed]\nlooks = [2]\nduration = \"20 s\"\nset = [\"drain=5 s\"]\nruns = [\"fast\"]\n";
    let with_part = format!("{READ_STUDY}{part}");
    let files = [
        ("study.toml", with_part.as_str()),
        ("claims.toml", READ_CLAIMS),
        ("line.toml", LINE),
        ("fifo.toml", FIFO),
        ("slow.toml", FIFO),
    ];
    files.iter().for_each(|(name, text)| std::fs::write(study.join(name), text).unwrap());
    let never = AtomicBool::new(false);
    let options = Options { part: Part::All, quick: false, threads: 1, folder: &kept };
    let by = |late| {
        let files = StudyFiles::read(&study).unwrap();
        rehearse(&LateBy(Duration::from_millis(late)), &files, &options, &never, &())
    };
    let rehearsed = by(0).unwrap().unwrap();
    let [RehearsedCheck { claim, place, found, .. }] = &rehearsed.checks[..] else {
        panic!("the other claims are of both lines: {rehearsed:?}")
    };
    assert_eq!((claim.as_str(), place, found.replicas), ("read.1", &0, 2));
    rehearsed.write(&study).unwrap();

    let column = || {
        let files = StudyFiles::read(&study).unwrap();
        let ledger = run_study(&files, &home.path().join("own"), false).ledger.unwrap();
        let checks = ledger.claims.iter().flat_map(|claim| &claim.checks);
        checks.map(|check| check.rehearsed.clone()).collect::<Vec<_>>()
    };
    assert_eq!(column(), [Some(found.clone()), None, None]);
    let others = READ_CLAIMS.replace("1.0", "1.1");
    std::fs::write(study.join("claims.toml"), others).unwrap();
    assert_eq!(column(), [None, None, None], "it is of other claims");
}

#[test]
fn replicas_that_were_late_are_not_kept() {
    let home = tempfile::tempdir().unwrap();
    std::fs::create_dir(home.path().join("study")).unwrap();
    let part = "[rehearsed]\nlooks = [2]\nduration = \"20 s\"\nruns = [\"fifo\"]\n";
    let study = format!("{STUDY}{part}");
    let files =
        [("study.toml", &*study), ("claims.toml", TRIED), ("line.toml", LINE), ("fifo.toml", FIFO)];
    let folder = home.path().join("study");
    files.iter().for_each(|(name, text)| std::fs::write(folder.join(name), text).unwrap());
    let files = StudyFiles::read(&folder).unwrap();
    let (never, kept) = (AtomicBool::new(false), home.path().join("kept"));
    let options = Options { part: Part::All, quick: false, threads: 1, folder: &kept };
    let late = rehearse(&LateBy(Duration::from_millis(2)), &files, &options, &never, &());
    let Err(Error::Replica(shortflow_run::Error::Machine(why))) = late else { panic!("{late:?}") };
    assert!(why.contains("the results cannot be trusted"), "{why}");
    let never = AtomicBool::new(false);
    let early = rehearse(&LateBy(Duration::ZERO), &files, &options, &never, &());
    assert_eq!(early.unwrap().unwrap().checks.len(), 2, "all of them are run again");
}
