//! Running the binary.

use std::path::Path;
use std::process::{Command, Output};

/// A scenario of a few seconds: three replicas, the policy "Fair Marker".
pub(crate) const SMALL: &str = "crates/cli/tests/it/small.toml";

/// Two policies to compare.
pub(crate) const POLICIES: [&str; 2] =
    ["--policies", "policies/best-effort.toml,policies/fair-marker.toml"];

/// The binary in the folder of the repository, unaware of the terminal and its settings.
pub(crate) fn command(program: &str) -> Command {
    let mut command = Command::new(program);
    command.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."));
    command.env_remove("COLUMNS").env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE");
    command
}

/// A command that runs the binary.
pub(crate) fn shortflow(arguments: &[&str]) -> Command {
    let mut command = command(env!("CARGO_BIN_EXE_shortflow"));
    command.args(arguments);
    command
}

/// How a command ended.
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl From<Output> for Ended {
    fn from(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).expect("what we print is UTF-8");
        Ended { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }
}

/// Runs the binary to its end.
pub(crate) fn run(arguments: &[&str]) -> Ended {
    shortflow(arguments).output().expect("the binary runs").into()
}

/// Runs the commands that a message has between backquotes, as a shell would run them as they are printed.
#[cfg(target_os = "linux")]
pub(crate) fn printed_commands(message: &str) -> Vec<Ended> {
    let parts = message.split('`').skip(1).step_by(2);
    let commands = parts.filter_map(|part| part.strip_prefix("shortflow "));
    let run = |arguments: &str| {
        let line = format!("'{}' {arguments}", env!("CARGO_BIN_EXE_shortflow"));
        command("sh").args(["-c", &line]).output().expect("there is a shell").into()
    };
    commands.map(run).collect()
}

/// Runs a rehearsal to its end. Whether the machine was quick enough for it is not what is tested: that it was not is taken off,
/// with the exit code for it. None, and a word on what is lacking, where there can be no hosts; on CI there must.
#[cfg(target_os = "linux")]
pub(crate) fn rehearsed(arguments: &[&str]) -> Option<Ended> {
    let mut ended = run(arguments);
    if let Some(at) = ended.err.find("error: the machine was too slow for this rehearsal") {
        // A program that failed counts for more, and is told behind it.
        assert!(matches!(ended.code, Some(1 | 3)), "{}", ended.err);
        ended.code = ended.code.filter(|code| *code == 1).or(Some(0));
        let rest: String = ended.err[at..].split_inclusive('\n').skip(2).collect();
        ended.err.truncate(at);
        ended.err += &rest;
    }
    if ended.code == Some(3) && std::env::var_os("CI").is_none() {
        eprintln!("skipped: needs hosts: {}", ended.err);
        return None;
    }
    Some(ended)
}

/// Runs the small scenario into `out`.
pub(crate) fn simulate(out: &Path, more: &[&str]) -> Ended {
    run(&[&["simulate", SMALL, "--out", out.to_str().unwrap()], more].concat())
}

/// The names of all files below `folder`, hidden ones too, in order.
pub(crate) fn files(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(&next).expect("the folder is there") {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false => found.push(path.strip_prefix(folder).unwrap().display().to_string()),
            }
        }
    }
    found.sort();
    found
}
