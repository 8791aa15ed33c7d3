//! Results on disk: whole or not at all.

use std::fs;
use std::io;
use std::path::Path;

use shortflow_measure::results::{Folder, Input, Setting, write_atomically};
use shortflow_measure::{
    Ends, Manifest, Point, Recorder, Replica, RowNames, Run, Sample, Transfer, TransferSink,
};

use super::{at, ms, plan, transfer};

fn manifest() -> Manifest {
    Manifest {
        label: "fair marker".into(),
        engine: "simulate".into(),
        policy: None,
        version: "0.1.0".into(),
        command: "simulate x.toml".into(),
        seed: 7,
        replicas: 2,
        duration: 110.0,
        warm_up: 10.0,
        tcp: "Linux today (CUBIC, RACK)".into(),
        timing: None,
        sweep: None,
        bind: Vec::new(),
        tables: None,
        design: None,
        tcp_info: None,
        settings: vec![Setting { key: "load".into(), value: "0.8".into() }],
        warnings: vec![],
        inputs: vec![Input::whole("x.toml", "a = \"\"\"\n'x'\n\"\"\"\n")],
    }
}

fn replica() -> Replica {
    let mut recorder = Recorder::new(&plan(), None);
    recorder.transfer(&transfer(20.0, ms(100), 500));
    recorder.transfer(&transfer(30.0, ms(300), 5000));
    recorder.counter("pre-marked green", 3.0);
    recorder.sample(Sample {
        port: 0,
        at: at(20.0),
        queue_packets: 7,
        queue_bytes: 7000,
        average: Some(2.5),
        utilisation: 0.5,
        open_transfers: 1,
    });
    recorder.finish().unwrap()
}

fn names() -> RowNames {
    RowNames {
        policy: "fair marker".into(),
        workloads: vec!["web, \"all\"".into()],
        labels: vec!["gold".into()],
        nodes: vec!["server".into(), "client".into()],
    }
}

fn files(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_folder_reads_back_as_it_was_written() {
    let home = tempfile::tempdir().unwrap();
    let folder = Folder::create(&home.path().join("a/b")).unwrap();
    let points = vec![Point::new(vec![], vec![replica(), Replica { number: 1, ..replica() }])];
    folder.write(&Run::new(manifest(), points.clone())).unwrap();
    let (read_manifest, read) = folder.read().unwrap();
    assert_eq!(read_manifest, manifest());
    assert_eq!(read[0].summary, points[0].summary);
    assert_eq!(
        read[0].replicas[1].workloads[0].all.p99,
        points[0].replicas[1].workloads[0].all.p99
    );
    let series = folder.read_series().unwrap();
    assert_eq!((series.len(), series[1].replica, series[1].average), (2, 1, Some(2.5)));
    assert_eq!(
        files(folder.path()),
        ["histograms.json", "manifest.toml", "replicas.json", "series.csv", "summary.json"]
    );
}

#[test]
fn accesses_have_a_file_for_each_workload_and_replica() {
    let home = tempfile::tempdir().unwrap();
    let folder = Folder::create(home.path()).unwrap();
    let mut recorder = Recorder::new(&plan(), None);
    recorder.access(0, "time_s,client", "0.5,1".into());
    recorder.access(0, "time_s,client", "1.5,0".into());
    let logged = recorder.finish().unwrap();
    let points = vec![Point::new(vec![], vec![replica(), Replica { number: 1, ..logged }])];
    folder.write(&Run::new(manifest(), points)).unwrap();
    let text = fs::read_to_string(home.path().join("accesses-web-000-001.csv")).unwrap();
    assert_eq!(text, "time_s,client\n0.5,1\n1.5,0\n");
    assert!(!home.path().join("accesses-web-000-000.csv").exists(), "nothing was logged");
}

#[test]
fn transfers_are_streamed_and_appear_when_the_replica_is_done() {
    let home = tempfile::tempdir().unwrap();
    let folder = Folder::create(home.path()).unwrap();
    let sink = TransferSink::create(&folder, 0, 3, names()).unwrap();
    let mut recorder = Recorder::new(&plan(), Some(sink));
    recorder.transfer(&transfer(2.0, ms(100), 500));
    let ends = Ends { client: 1, server: 0, client_port: 1024, server_port: 80 };
    let open = Transfer { ends, carried_bytes: 300, ..transfer(109.5, ms(0), 500) };
    recorder.open_transfer(&open);
    recorder.failed_transfer(at(60.0), &transfer(50.0, ms(0), 700));
    assert!(files(home.path()).iter().all(|name| name.ends_with(".tmp")));
    recorder.finish().unwrap();
    assert_eq!(files(home.path()), ["transfers-000-003.csv"]);
    let text = fs::read_to_string(home.path().join("transfers-000-003.csv")).unwrap();
    let rows: Vec<_> = text.lines().collect();
    assert!(rows[0].starts_with("workload,id,start_s,completion_s,"));
    let zeros = "0,0,0,0,0,0,0,0,0";
    let complete = format!("\"web, \"\"all\"\"\",0,2.0,0.2,0.04,0.06,0.1,0,500,{zeros}");
    assert_eq!(
        rows[1],
        format!("{complete},completed,false,0.2,500,server,,server,,gold,0,3,fair marker")
    );
    let open = format!("\"web, \"\"all\"\"\",0,109.5,,,,,0,500,{zeros}");
    assert_eq!(
        rows[2],
        format!("{open},open,true,0.5,300,client,1024,server,80,gold,0,3,fair marker")
    );
    assert!(rows[3].contains(",failed,true,60.0,0,"), "{}", rows[3]);
    assert_eq!(rows[0].split(',').count(), 30);
}

#[test]
fn a_run_that_is_given_up_leaves_no_file() {
    let home = tempfile::tempdir().unwrap();
    let folder = Folder::create(home.path()).unwrap();
    let sink = TransferSink::create(&folder, 0, 0, names()).unwrap();
    let mut recorder = Recorder::new(&plan(), Some(sink));
    recorder.transfer(&transfer(2.0, ms(100), 500));
    drop(recorder);
    assert_eq!(files(home.path()), [""; 0]);
}

#[test]
fn a_write_that_fails_halfway_leaves_what_was_there() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("summary.json");
    fs::write(&path, "before").unwrap();
    let error = write_atomically(&path, |file| {
        file.write_all(b"half of")?;
        Err(io::ErrorKind::StorageFull.into())
    })
    .unwrap_err();
    assert_eq!(error.to_string(), format!("cannot write {}: the disk is full", path.display()));
    assert_eq!(fs::read_to_string(&path).unwrap(), "before");
    assert_eq!(files(home.path()), ["summary.json"]);
}

#[test]
fn a_folder_under_a_file_is_refused_in_plain_words() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("notes.txt");
    fs::write(&file, "mine").unwrap();
    let inside = file.join("results");
    let error = Folder::create(&inside).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "cannot create the folder {}: a part of the path is a file instead of a folder",
            inside.display()
        )
    );
    assert_eq!(files(home.path()), ["notes.txt"]);
}

#[test]
fn a_folder_that_holds_something_else_says_what_is_wrong() {
    let home = tempfile::tempdir().unwrap();
    let missing = Folder::open(home.path()).read().unwrap_err().to_string();
    assert!(missing.ends_with("manifest.toml: no such file or folder"), "{missing}");
    fs::write(home.path().join("manifest.toml"), "label = 3").unwrap();
    let malformed = Folder::open(home.path()).read().unwrap_err().to_string();
    assert!(malformed.contains("manifest.toml is not a valid results file"), "{malformed}");
}

/// A folder of one run, and why it is not read once `spoil` has changed something in it.
fn spoiled(spoil: impl Fn(&Path)) -> String {
    let home = tempfile::tempdir().unwrap();
    let folder = Folder::create(&home.path().join("run")).unwrap();
    folder.write(&Run::new(manifest(), vec![Point::new(Vec::new(), vec![replica()])])).unwrap();
    folder.write_text("series.csv", "a\n").unwrap();
    spoil(folder.path());
    let began = std::time::Instant::now();
    let why = Run::read(&folder).unwrap_err().to_string();
    assert!(began.elapsed() < std::time::Duration::from_secs(5), "{why}");
    assert!(!why.contains('\u{1b}'), "{why}");
    why
}

#[test]
fn results_are_read_as_files_of_text_and_nothing_else() {
    let put = |name: &'static str, text: &'static str| {
        move |folder: &Path| fs::write(folder.join(name), text).unwrap()
    };
    let why = spoiled(put("summary.json", "[]"));
    assert!(
        why.ends_with(
            "summary.json is not a valid results file: it has no points; a run has at least one"
        ),
        "{why}"
    );
    let obeyed = "a text contains the control character U+001B, which terminals would interpret";
    let why = spoiled(put("summary.json", "[{\"\\u001b[2J\": 1}]"));
    assert!(why.contains(obeyed), "{why}");
    let why = spoiled(put("series.csv", "time\n1\n\u{1b}[2J\n"));
    assert!(why.contains(&format!("line 3: {obeyed}")), "{why}");
    // The parser quotes the line.
    let why = spoiled(put("manifest.toml", "a\u{1b}]0;owned\u{7}\u{1b}[2Jx"));
    assert!(why.contains("a\u{fffd}]0;owned"), "{why}");
    let why = spoiled(|folder| {
        let path = folder.join("manifest.toml");
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, text.replacen("label = \"", "label = \"\\u001B]0;owned\\u0007", 1))
            .unwrap();
    });
    assert!(why.contains(obeyed), "{why}");
    for name in ["manifest.toml", "summary.json", "replicas.json", "histograms.json", "series.csv"]
    {
        let replaced = |by: &'static str| {
            spoiled(move |folder| {
                let path = folder.join(name);
                fs::rename(&path, folder.join("../elsewhere")).unwrap();
                match by {
                    "pipe" => {
                        let made = std::process::Command::new("mkfifo").arg(&path).status();
                        assert!(made.unwrap().success());
                    }
                    "zero" => std::os::unix::fs::symlink("/dev/zero", &path).unwrap(),
                    _ => std::os::unix::fs::symlink("../elsewhere", &path).unwrap(),
                }
            })
        };
        assert!(replaced("pipe").ends_with("it is a pipe, not a file"), "{name}");
        for by in ["zero", "link"] {
            assert!(replaced(by).ends_with("it is a symbolic link, not a file"), "{name}");
        }
        let why = spoiled(move |folder| fs::write(folder.join(name), b"\xff").unwrap());
        assert!(why.ends_with("it is not UTF-8: byte 1"), "{why}");
    }
}
