//! Tables for other programs, next to the files that they come from.

use std::fs;
use std::path::Path;

use crate::support::{POLICIES, SMALL, run};

fn done(arguments: &[&str], out: &Path) {
    let arguments = [arguments, &["--quiet", "--brief", "--out", out.to_str().unwrap()]].concat();
    let ended = run(&arguments);
    assert_eq!(ended.code, Some(0), "{arguments:?}: {}", ended.err);
}

/// The number of rows in files of a folder whose names begin so.
fn rows(folder: &Path, begin: &str) -> usize {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let of_kind =
        names.filter(|path| path.file_name().unwrap().to_string_lossy().starts_with(begin));
    of_kind.map(|path| fs::read_to_string(path).unwrap().lines().count() - 1).sum()
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

const TABLES: [&str; 7] =
    ["bulk", "datagrams", "failures", "replicas", "series", "summary", "transfers"];

#[test]
fn tables_of_a_comparison_have_the_rows_of_all_its_runs() {
    let home = tempfile::tempdir().unwrap();
    let out = home.path().join("out");
    let compare =
        ["compare", SMALL, POLICIES[0], POLICIES[1], "--replicas", "2", "--set", "duration=2 s"];
    done(&[&compare[..], &["--format", "csv", "--tcp-info", "500 ms"]].concat(), &out);
    let runs = [out.join("1-best-effort"), out.join("2-fair-marker")];
    let tables = out.join("tables");
    assert_eq!(names(&tables), TABLES.map(|name| format!("{name}.csv")));
    let of_runs = |begin| runs.iter().map(|run| rows(run, begin)).sum::<usize>();
    let (transfers, ports, flows) =
        (of_runs("transfers-"), of_runs("series"), of_runs("tcp-info-"));
    assert!(transfers > 100 && ports > 50 && flows > transfers, "{transfers} {ports} {flows}");
    assert_eq!(rows(&tables, "transfers"), transfers);
    assert_eq!(rows(&tables, "series"), ports + flows);
    let manifest = fs::read_to_string(runs[1].join("manifest.toml")).unwrap();
    for line in ["tables = \"csv\"\n", "tcp_info = \"500 ms\"\n"] {
        assert!(manifest.contains(line), "{manifest}");
    }
    let text = fs::read_to_string(tables.join("transfers.csv")).unwrap();
    let policies = ["Best Effort,simulate,0,0,", "Fair Marker,simulate,0,1,"];
    assert!(
        policies.iter().all(|begin| text.lines().any(|line| line.starts_with(begin))),
        "{text}"
    );
}

#[test]
fn tables_of_an_earlier_run_are_replaced_and_a_rerun_has_the_same() {
    let home = tempfile::tempdir().unwrap();
    let at = |name: &str| home.path().join(name);
    let simulate = ["simulate", SMALL, "--replicas", "1", "--set", "duration=2 s"];
    done(&[&simulate[..], &["--format", "csv"]].concat(), &at("out"));
    done(&["rerun", at("out").to_str().unwrap()], &at("again"));
    for table in TABLES {
        let read = |run: &str| fs::read(at(run).join(format!("tables/{table}.csv"))).unwrap();
        assert!(read("out") == read("again"), "{table} differs");
    }
    done(&[&simulate[..], &["--format", "parquet"]].concat(), &at("out"));
    assert_eq!(names(&at("out/tables")), TABLES.map(|name| format!("{name}.parquet")));
    fs::write(at("out/tables/notes.txt"), "mine").unwrap();
    done(&[&simulate[..], &["--format", "arrow", "--no-transfers"]].concat(), &at("out"));
    let kept = TABLES.into_iter().filter(|name| *name != "transfers");
    let mut expected: Vec<String> = kept.map(|name| format!("{name}.arrow")).collect();
    expected.push("notes.txt".to_owned());
    expected.sort();
    assert_eq!(names(&at("out/tables")), expected);
    fs::remove_file(at("out/tables/notes.txt")).unwrap();
    done(&simulate, &at("out"));
    assert!(!at("out/tables").exists(), "this run has no tables");
}
