//! Help, completions, man pages, schemas, bench.

use std::path::Path;

use crate::support::{files, run, shortflow};

/// `BLESS=1` rewrites the golden text; read it before you commit.
#[test]
fn help_reads_as_it_should() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/golden/help.txt");
    let mut found = run(&["--help"]).out;
    for command in [
        "check",
        "simulate",
        "predict",
        "compare",
        "reproduce",
        "deploy",
        "status",
        "report",
        "bench",
    ] {
        found += &format!("\n\n$ shortflow {command} -h\n{}", run(&[command, "-h"]).out);
    }
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&golden, &found).unwrap();
    }
    assert_eq!(found, std::fs::read_to_string(golden).unwrap());
}

#[test]
fn a_shipped_policy_is_named_without_its_file_unless_a_file_here_could_be_meant() {
    let folder = tempfile::tempdir().unwrap();
    let in_folder = |words: &[&str]| {
        let ended = shortflow(words).current_dir(folder.path()).output().unwrap();
        let err = String::from_utf8_lossy(&ended.stderr).into_owned();
        (ended.status.code(), err)
    };
    let (code, err) = in_folder(&["check", "calls-first", "fq-codel"]);
    assert_eq!(code, Some(0), "{err}");
    let (code, err) = in_folder(&["check", "calls-frist"]);
    assert!(
        code == Some(2) && err.contains("did you mean the shipped policy `calls-first`?"),
        "{err}"
    );
    // Whoever has a file of nearly this name may mean it.
    std::fs::write(folder.path().join("fq-codel.toml"), "[roles.core]\n").unwrap();
    let scenario = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/small.toml");
    let scenario = scenario.to_str().unwrap();
    let tune = ["tune", scenario, "--for", "p99:web", "--policies", "fq-codel"];
    for words in [&["check", "fq-codel"][..], &tune] {
        let (code, err) = in_folder(words);
        assert!(code == Some(2) && err.contains("did you mean fq-codel.toml?"), "{err}");
    }
}

#[test]
#[cfg(unix)]
fn arguments_that_are_no_text_are_refused_with_code_2() {
    use std::os::unix::ffi::OsStrExt;
    let no_text = std::ffi::OsStr::from_bytes(b"a=\xff");
    for words in [&["explain"][..], &["simulate", "scenarios/office.toml", "--set"], &[]] {
        let ended = shortflow(words).arg(no_text).output().unwrap();
        assert_eq!(ended.status.code(), Some(2), "{words:?}: {ended:?}");
    }
}

#[test]
fn who_leaves_an_argument_out_is_told_which_and_shown_an_example() {
    for (arguments, missing, example) in [
        (&["agent", "plan"][..], "<FOLDER>", "\n  shortflow agent plan fleet "),
        (&["-q", "simulate"], "<SCENARIO>", "\n  shortflow simulate "),
    ] {
        let ended = run(arguments);
        assert_eq!((ended.code, ended.out.as_str()), (Some(2), ""));
        assert!(ended.err.contains(missing) && ended.err.contains(example), "{}", ended.err);
    }
    let unknown = run(&["agent", "plan", "--everything"]);
    assert!(!unknown.err.contains("Examples:"), "{}", unknown.err);
}

#[test]
fn the_listener_of_verify_refuses_what_only_the_measuring_side_uses() {
    for option in [
        &["--link-layer", "docsis"][..],
        &["--overhead", "40 B"],
        &["--mpu", "64 B"],
        &["--rate", "9 Mbit/s"],
        &["--nearest"],
        &["--seconds", "5"],
        &["--flows", "2"],
        &["--size", "9 KB"],
        &["--json"],
    ] {
        let ended = run(&[&["verify", "--listen", "--at", "127.0.0.1"], option].concat());
        assert_eq!(ended.code, Some(2), "{option:?}: {}", ended.err);
        let message = format!("'--listen' cannot be used with '{}", option[0]);
        assert!(ended.err.contains(&message), "{option:?}: {}", ended.err);
    }
}

#[test]
fn examples_of_the_agent_fit_into_80_columns() {
    for command in [&["agent", "--help"][..], &["agent", "plan", "--help"]] {
        let help = run(command).out;
        let (_, examples) = help.split_once("Examples:\n").unwrap();
        for line in examples.lines() {
            assert!(line.len() <= 80 && line.starts_with("  "), "{line}");
        }
    }
}

#[test]
fn the_version_names_the_commit_if_it_was_built_in_a_checkout() {
    let message = run(&["-V"]).out;
    let version = concat!("shortflow ", env!("CARGO_PKG_VERSION"));
    let rest = message.trim_end().strip_prefix(version).unwrap();
    let commit = rest.strip_prefix(" (").and_then(|rest| rest.strip_suffix(')'));
    assert_eq!(commit.is_none(), rest.is_empty(), "{message}");
    let is_checkout = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.git").exists();
    assert_eq!(commit.is_some_and(|commit| !commit.is_empty()), is_checkout, "{message}");
}

#[test]
fn the_long_version_adds_the_features_that_were_built() {
    let features: Vec<&str> = [
        ("live", cfg!(feature = "live")),
        ("ebpf", cfg!(feature = "ebpf")),
        ("network", cfg!(feature = "network")),
        ("tables", cfg!(feature = "tables")),
    ]
    .into_iter()
    .filter_map(|(name, is_built)| is_built.then_some(name))
    .collect();
    let features = if features.is_empty() { "none".to_owned() } else { features.join(", ") };
    assert_eq!(run(&["--version"]).out, format!("{}features: {features}\n", run(&["-V"]).out));
}

#[test]
fn completions_know_the_commands_in_every_shell() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let ended = run(&["completions", shell]);
        assert_eq!(ended.code, Some(0));
        assert!(ended.out.contains("simulate") && ended.out.contains("replicas"), "{shell}");
    }
}

#[test]
fn there_is_a_man_page_for_each_command() {
    let home = tempfile::tempdir().unwrap();
    assert!(run(&["man"]).out.contains(".TH shortflow 1"));
    assert_eq!(run(&["man", "--out", home.path().to_str().unwrap()]).code, Some(0));
    let pages = files(home.path());
    for name in ["shortflow.1", "shortflow-simulate.1", "shortflow-compare.1"] {
        assert!(pages.iter().any(|page| page == name), "{name} is not among {pages:?}");
    }
    let page = std::fs::read_to_string(home.path().join("shortflow-simulate.1")).unwrap();
    assert!(page.contains("\\-\\-replicas") && page.contains("\\-\\-quiet"), "{page}");
}

#[test]
fn schemas_are_json_with_the_tables_of_their_format() {
    for (format, table) in [("policy", "roles"), ("scenario", "workloads")] {
        let schema: serde_json::Value =
            serde_json::from_str(&run(&["schema", format]).out).unwrap();
        assert!(schema["properties"][table].is_object(), "{format} has no {table}");
    }
}

#[test]
fn bench_measures_the_work_that_it_names() {
    let ended = run(&["bench", "s", "--json"]);
    let found: serde_json::Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!(found["work"], "S");
    // ns-2 forwards 118,287 packets for the same transfers; ours are other random numbers.
    let packets = found["packets"].as_f64().unwrap();
    assert!((0.8..1.2).contains(&(packets / 118_287.0)), "{packets}");
    let (rate, cpu) = (found["packets_per_cpu_s"].as_f64(), found["cpu_s"].as_f64());
    assert!((rate.unwrap() * cpu.unwrap() / packets - 1.0).abs() < 1e-9);
    assert!(found["packet_hops"].as_f64().unwrap() > 4.0 * packets);
    assert!(found["peak_memory_bytes"].as_u64().unwrap() > 1_000_000);
}

#[test]
fn a_value_below_zero_is_told_as_one_and_not_as_an_unknown_option() {
    for words in
        [["simulate", "line.toml", "--seed", "-1"], ["advise", "--force", "--up", "-5Mbit/s"]]
    {
        let ended = run(&words);
        assert_eq!(ended.code, Some(2));
        let message =
            format!("error: {} {}: negative values are not allowed\n", words[2], words[3]);
        assert!(ended.err.starts_with(&message), "{}", ended.err);
    }
}
