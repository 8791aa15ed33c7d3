//! The HTML pages: self-contained, well-formed, and harmless whatever names are in them.

use shortflow_measure::results::Folder;
use shortflow_measure::{Run, View, Warning, WarningKind, tables as data};
use shortflow_report::{CheckRow, ClaimRow, Table, figures, study_page};

use crate::page;
use crate::synthetic::{BEST_EFFORT, FAIR_MARKER, single, sweep};

/// A page of each kind.
fn all_pages() -> Vec<String> {
    let (reference, ours) = (single(&BEST_EFFORT, 3), single(&FAIR_MARKER, 3));
    let along = [sweep(&BEST_EFFORT), sweep(&FAIR_MARKER)];
    vec![
        page(&View::new(std::slice::from_ref(&ours))),
        page(&View::new(&[single(&FAIR_MARKER, 1)])),
        page(&View::new(&[reference, ours])),
        page(&View::new(&along[..1])),
        page(&View::new(&along)),
        study_page(
            "A study",
            "A study.",
            &[claim("fails", "fails")],
            &[table()],
            &figures(&View::new(&along)),
        ),
    ]
}

fn table() -> Table {
    let row = ("more & less".to_owned(), vec![None]);
    let columns = ["time (s)".to_owned()];
    Table::set(&data::Table::of_estimates("pages <of all>", &columns, vec![row]))
}

fn claim(verdict: &str, of_check: &str) -> ClaimRow {
    let check = |what: &str, verdict: &str, remark: &str| CheckRow {
        what: what.into(),
        paper: "≤ 0.5".into(),
        ours: Some(0.7),
        low: Some(0.65),
        high: Some(0.75),
        verdict: verdict.into(),
        remark: remark.into(),
    };
    ClaimRow {
        id: "cm05.5".into(),
        claim: "faster <always>".into(),
        short: "faster".into(),
        verdict: verdict.into(),
        readings: vec![("load & window".into(), "holds".into())],
        replicas: 16,
        note: "the load does not settle".into(),
        checks: vec![check("ratio & more", of_check, "it holds with <64 KiB>")],
        observations: vec![check("beside it", "", "")],
    }
}

#[test]
fn a_page_needs_nothing_from_outside() {
    for page in all_pages() {
        for outside in ["http:", "https:", "src=", "@import", "<link", "<iframe", "<script"] {
            assert!(!page.contains(outside), "found {outside}");
        }
        let fragments = page.matches("url(#").count();
        assert_eq!(page.matches("url(").count(), fragments);
    }
}

#[test]
fn every_tag_that_opens_closes() {
    for page in all_pages() {
        let mut open = Vec::new();
        for tag in page.split('<').skip(1).map(|rest| rest.split('>').next().unwrap()) {
            if let Some(name) = tag.strip_prefix('/') {
                assert_eq!(open.pop(), Some(name), "closes what is not open");
            } else if !tag.ends_with('/') && !tag.starts_with('!') {
                open.push(tag.split_whitespace().next().unwrap());
            }
        }
        assert_eq!(open, [""; 0]);
    }
}

#[test]
fn no_identifier_is_used_twice() {
    for page in all_pages() {
        let ids = page.split(" id=\"").skip(1).map(|rest| rest.split('"').next().unwrap());
        let mut ids: Vec<&str> = ids.collect();
        let all = ids.len();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), all);
    }
}

#[test]
fn a_page_holds_each_figure_with_its_caption_and_a_name_for_the_blind() {
    let runs = [sweep(&BEST_EFFORT), sweep(&FAIR_MARKER)];
    let page = page(&View::new(&runs));
    let figures = figures(&View::new(&runs));
    assert!(figures.len() >= 5);
    assert_eq!(page.matches("<figure>").count(), figures.len());
    for figure in &figures {
        let drawing = figure.svg.split_once('>').unwrap().1;
        assert!(page.contains(drawing), "{} is missing", figure.name);
        assert!(page.contains(&format!("<figcaption>{}</figcaption>", figure.caption)));
        assert!(figure.svg.contains(&format!("<title id=\"{}-title\">", figure.name)));
        assert!(figure.svg.contains("role=\"img\""));
    }
}

#[test]
fn names_with_markup_in_them_stay_text() {
    let evil = "<script>alert('x')</script>&\"";
    let mut run = single(&FAIR_MARKER, 2);
    run.label = evil.into();
    run.manifest.command = evil.into();
    run.manifest.inputs[0].name = evil.into();
    run.manifest.inputs[0].text = evil.into();
    let point = &mut run.points[0];
    point.summary.workloads[0].name = evil.into();
    point.summary.workloads[0].classes[0].label = evil.into();
    point.summary.ports[0].name = evil.into();
    point.summary.warnings.push(Warning::from(evil.to_owned()));
    run.series.iter_mut().for_each(|row| row.port = evil.into());
    let page = page(&View::new(&[run]));
    assert!(page.contains("&lt;script&gt;alert"));
    assert!(!page.contains("<script") && !page.contains("&\""));
}

#[test]
fn a_run_read_from_its_folder_gives_the_same_page() {
    let run = single(&FAIR_MARKER, 3);
    let home = tempfile::tempdir().unwrap();
    let folder = Folder::create(home.path()).unwrap();
    folder.write(&run).unwrap();
    assert_eq!(
        page(&View::new(&[Run::read(&Folder::open(home.path())).unwrap()])),
        page(&View::new(&[run]))
    );
}

#[test]
fn warnings_stand_above_the_numbers() {
    let mut run = single(&FAIR_MARKER, 2);
    run.points[0]
        .summary
        .warnings
        .push(Warning::new(WarningKind::UnsettledLoad, "the load of web does not settle"));
    let page = page(&View::new(&[run]));
    let warning = page.find("the load of web does not settle").unwrap();
    assert!(warning < page.find("<table>").unwrap());
}

#[test]
fn a_claim_that_fails_is_shown_as_failing_with_its_cause() {
    let claims = [
        claim("fails", "fails"),
        ClaimRow { id: "cm05.6".into(), ..claim("unsettled", "unsettled") },
    ];
    let page = study_page("Casetti & Mellia 2005", "A study.", &claims, &[], &[]);
    assert!(page.contains("2 claims checked. Hold: 0. Fail: 1. Depend: 0. Unsettled: 1."));
    assert!(page.contains("✗ fails") && page.contains("the load does not settle"));
    assert!(page.contains("0.650 to 0.750") && page.contains("✗ no"));
    assert!(page.contains("faster &lt;always&gt;") && page.contains("Casetti &amp; Mellia"));
}

#[test]
fn no_runs_give_a_page_that_says_so() {
    assert!(page(&View::new(&[])).contains("No transfer completed."));
}

#[test]
fn inputs_are_on_the_page_so_that_the_run_can_be_repeated() {
    let page = page(&View::new(&[single(&FAIR_MARKER, 2)]));
    for part in ["scenarios/web.toml", "r1-r2 = &quot;10 Mbit/s&quot;", "seed 1"] {
        assert!(page.contains(part), "{part} is missing");
    }
}
