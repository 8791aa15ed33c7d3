use std::path::{Path, PathBuf};

use shortflow_scenario::Overrides;
use shortflow_text::InputFiles;
use shortflow_tune::{CandidateFile, candidates};

const LINE: &str = r#"
duration = "20 s"
hosts = { a = {}, b = {} }
links.line = { between = ["a", "b"], rate = "1 Mbit/s", delay = "5 ms", queue = "10000 pkt" }
bind = [{ role = "line", at = "b", to = "a" }]
[workloads.calls.cbr]
from = "b"
to = "a"
rate = "80 kbit/s"
packet = "200 B"
"#;

/// A warning about the scenario, whose buffer holds minutes, is none about the policy.
#[test]
fn a_policy_has_the_warnings_that_another_in_the_same_place_has_not() {
    let queue = "[roles.line.queue.fifo]\nlimit = \"20 pkt\"\n";
    let inputs = InputFiles::default();
    inputs.give(Path::new("line.toml"), LINE);
    inputs.give(Path::new("plain.toml"), queue);
    inputs.give(
        Path::new("p.toml"),
        &format!("{}{}", queue.replace("20", "30"), queue.replace("line", "edge")),
    );
    let file = |name: &str| CandidateFile {
        path: Some(PathBuf::from(name)),
        may_be_left_out: false,
        follows_line: false,
    };
    let (files, scenario) = ([file("plain.toml"), file("p.toml")], Path::new("line.toml"));
    let found = candidates(&inputs, scenario, &files, &[], &Overrides::default()).unwrap();
    let [plain, other] = &found.all[..] else { panic!("{found:?}") };
    assert!(!plain.loaded.warnings.0.is_empty() && plain.warnings_beyond(other).is_empty());
    let warnings = other.warnings_beyond(plain);
    let [warning] = &warnings[..] else { panic!("{warnings:?}") };
    assert!(warning.message.contains("`edge`"), "{warning}");
}
