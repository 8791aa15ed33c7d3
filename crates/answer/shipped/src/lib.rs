//! The scenarios and policies embedded in the program, and the refusal of files that a command cannot use.
//!
//! # What this crate does not know
//!
//! Commands and their options, except the names of options in remedies. It runs nothing and prints nothing.

pub mod wrong_file;

use std::path::Path;

use shortflow_text::InputFiles;

/// A shipped file, by its path in the repository, and its text.
pub type Shipped = (&'static str, &'static str);

/// Names shipped files once, for their paths and for their texts.
macro_rules! shipped {
    ($($path:literal)*) => {
        &[$(($path, include_str!(concat!("../../../../", $path)))),*]
    };
}

/// All shipped files.
pub const FILES: &[Shipped] = shipped![
    "policies/README.md"
    "policies/aggregate.toml"
    "policies/best-effort.toml"
    "policies/calls-fair.toml"
    "policies/calls-first.toml"
    "policies/drr.toml"
    "policies/dstf.toml"
    "policies/fair-marker.toml"
    "policies/fq-codel.toml"
    "policies/host-fair.toml"
    "policies/police-and-mark.toml"
    "policies/red.toml"
    "policies/shaper.toml"
    "policies/shared-priority.toml"
    "policies/short-first.toml"
    "policies/sima.toml"
    "policies/source-scheduler.toml"
    "policies/stf.toml"
    "policies/strict-priority.toml"
    "policies/three-priority-red.toml"
    "policies/tsw2cm.toml"
    "policies/wfq.toml"
    "policies/wrr.toml"
    "scenarios/README.md"
    "scenarios/browsing-telnet-ftp.toml"
    "scenarios/contract.toml"
    "scenarios/flow-splitting.toml"
    "scenarios/hoster-uplink.toml"
    "scenarios/lossy-link.toml"
    "scenarios/modem.toml"
    "scenarios/office.toml"
    "scenarios/ring.toml"
    "scenarios/tree-800-hosts.toml"
    "scenarios/voice-and-web.toml"
];

/// The shipped policy of this name, with or without folder and ending: its path and its text.
pub fn policy(name: &str) -> Option<Shipped> {
    policies().find(|(path, _)| [*path, stem(path)].contains(&name))
}

/// All shipped policies.
pub fn policies() -> impl Iterator<Item = Shipped> {
    let is_policy = |(path, _): &&Shipped| path.starts_with("policies/") && path.ends_with(".toml");
    FILES.iter().filter(is_policy).copied()
}

/// `fq-codel` of `policies/fq-codel.toml`.
pub fn stem(path: &'static str) -> &'static str {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.strip_suffix(".toml").unwrap_or(name)
}

/// The files that a user names, where the name of a shipped policy stands for its text: `fq-codel`. A file of this
/// name comes first, and one whose ending was left out is not passed over in silence.
pub fn inputs() -> InputFiles {
    let inputs = InputFiles::default();
    for (path, text) in policies() {
        let name = Path::new(stem(path));
        if !may_be_file(name) {
            inputs.give(name, text);
        }
    }
    inputs
}

/// Whether a file may be meant: one of this name is here, be it a link to nothing, or one whose ending was left out.
pub fn may_be_file(name: &Path) -> bool {
    name.symlink_metadata().is_ok() || name.with_extension("toml").symlink_metadata().is_ok()
}
