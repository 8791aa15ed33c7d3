//! What is asked of the machine: valgrind, the compiler's name, the counts.

use std::ffi::OsString;
use std::process::{Command, Stdio};

use super::Work;
use super::figures::Counts;

const PROGRAM: &str = "target/release/shortflow";

/// Where runs leave their results and callgrind its profiles, `a.callgrind` and so on.
const SCRATCH: &str = "target/guard";

pub(super) fn has_valgrind() -> bool {
    let mut command = Command::new("valgrind");
    command.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// The compiler and its target, as `rustc 1.95.0 (…) for x86_64-unknown-linux-gnu`.
pub(super) fn toolchain() -> Result<String, String> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| OsString::from("rustc"));
    let output = Command::new(rustc).arg("-vV").output().map_err(|e| format!("rustc: {e}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    match (text.lines().next(), host) {
        (Some(version), Some(host)) => Ok(format!("{version} for {host}")),
        _ => Err("rustc -vV says neither version nor host".to_owned()),
    }
}

/// Runs the works one after the other.
pub(super) fn count(works: &[Work]) -> Result<Counts, String> {
    std::fs::create_dir_all(SCRATCH).map_err(|error| format!("{SCRATCH}: {error}"))?;
    works.iter().map(|work| Ok((work.name.to_owned(), instructions(work)?))).collect()
}

/// What one work takes: one thread, and an environment that is always the same.
fn instructions(work: &Work) -> Result<u64, String> {
    let name = work.name.to_lowercase();
    let mut command = Command::new("valgrind");
    command
        .arg("--tool=callgrind")
        .arg(format!("--callgrind-out-file={SCRATCH}/{name}.callgrind"))
        .args([PROGRAM, "simulate", work.scenario, "--jobs", "1"])
        .args(["--quiet", "--no-transfers", "--force", "--out", &format!("{SCRATCH}/{name}")])
        .args(work.settings.iter().flat_map(|setting| ["--set", setting]))
        .env_clear()
        .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
        .stdin(Stdio::null());
    let output = command.output().map_err(|error| format!("valgrind: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(format!("work {} failed under valgrind:\n{said}", work.name));
    }
    collected(&said).ok_or_else(|| format!("callgrind gives no count:\n{said}"))
}

/// The count in what callgrind says at its end.
fn collected(said: &str) -> Option<u64> {
    let line = said.lines().find(|line| line.contains("Collected :"))?;
    line.split_whitespace().last()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_is_read_from_callgrinds_last_words() {
        let said = "==7== Events    : Ir\n==7== Collected : 25994392\n==7== \n";
        assert_eq!(collected(said), Some(25_994_392));
        assert_eq!(collected("==7== Command: shortflow\n"), None);
    }
}
