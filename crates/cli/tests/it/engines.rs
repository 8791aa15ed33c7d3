//! `compare` by several engines as a user meets it.

use std::path::Path;

#[cfg(target_os = "linux")]
use crate::support::rehearsed;
use crate::support::{Ended, POLICIES, SMALL, command, files, run};

fn compare(out: &Path, more: &[&str]) -> Ended {
    run(&[&["compare", SMALL, "--out", out.to_str().unwrap()], more].concat())
}

#[test]
fn without_two_things_to_compare_it_says_what_to_give() {
    let home = tempfile::tempdir().unwrap();
    let out = home.path().join("out");
    let cases: [(&[&str], &str); 4] = [
        (
            &["--engines", "rehearse"],
            "error: there is only one engine (rehearse) and one policy\n  \
             give several policies, as in --policies a.toml,b.toml, or several engines, as in \
             --engines simulate,rehearse\n",
        ),
        (
            &["--engines", "simulate,simulate"],
            "error: the engine simulate is given twice\n  \
             its results would be compared with themselves; give each once\n",
        ),
        (&["--engines", "simulate,emulate"], "[possible values: simulate, predict, rehearse]"),
        (&[], "--policies"),
    ];
    for (arguments, message) in cases {
        let ended = compare(&out, arguments);
        assert_eq!(ended.code, Some(2), "{arguments:?}: {}", ended.err);
        assert!(ended.err.contains(message), "{arguments:?}: {}", ended.err);
        assert!(!out.exists(), "{arguments:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn an_engine_that_the_machine_cannot_run_ends_it_before_another_has_begun() {
    let home = tempfile::tempdir().unwrap();
    let out = home.path().join("out");
    let mut restricted = command("setpriv");
    restricted.args(["--bounding-set", "-sys_admin", env!("CARGO_BIN_EXE_shortflow"), "compare"]);
    restricted.args([SMALL, "--engines", "simulate,rehearse", "--out", out.to_str().unwrap()]);
    let ended: Ended = match restricted.output() {
        Ok(output) => output.into(),
        Err(_) => return eprintln!("skipped: needs setpriv (util-linux)"),
    };
    assert_eq!(ended.code, Some(3), "{}", ended.err);
    assert!(ended.err.contains("run it as root (sudo)"), "{}", ended.err);
    assert!(!out.exists(), "{:?}", files(&out));
}

#[cfg(target_os = "linux")]
#[test]
fn each_policy_stands_simulated_and_rehearsed_side_by_side() {
    let home = tempfile::tempdir().unwrap();
    let out = home.path().join("out");
    let both = ["--engines", "simulate,rehearse", "--replicas", "1"];
    let given = ["compare", SMALL, "--out", out.to_str().unwrap()];
    let Some(ended) = rehearsed(&[&given[..], &both, &POLICIES].concat()) else { return };
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    for message in [
        "How many times as much as simulated",
        "Policies ranked, simulated",
        "Policies ranked, rehearsed",
        "TCP: simulated, Linux today (CUBIC, RACK) | rehearsed, the kernel's own, of Linux ",
    ] {
        assert!(ended.out.contains(message), "{message} is not in\n{}", ended.out);
    }
    for (folder, engine) in
        [("1-best-effort-simulated", "simulate"), ("2-best-effort-rehearsed", "rehearse")]
    {
        let manifest = std::fs::read_to_string(out.join(folder).join("manifest.toml")).unwrap();
        assert!(manifest.contains(&format!("engine = \"{engine}\"")), "{manifest}");
    }
    // Read back, the report is the same as from the run.
    let page = out.join("report.html");
    let first = std::fs::read_to_string(&page).unwrap();
    std::fs::remove_file(&page).unwrap();
    assert_eq!(run(&["report", out.to_str().unwrap()]).code, Some(0));
    assert_eq!(std::fs::read_to_string(&page).unwrap(), first);
}
