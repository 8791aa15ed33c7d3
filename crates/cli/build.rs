//! The version that `shortflow -V` prints: that of the package and, in a checkout, the commit; the features that
//! `shortflow --version` adds; and `cfg(live)`, for the commands that need Linux and the feature `live`.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The features of this package.
const FEATURES: [&str; 3] = ["live", "ebpf", "network"];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(live)");
    let is_linux = std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "linux");
    if is_linux && is_on("live") {
        println!("cargo::rustc-cfg=live");
    }
    let features: Vec<&str> = FEATURES.into_iter().filter(|name| is_on(name)).collect();
    let features = if features.is_empty() { "none".to_owned() } else { features.join(", ") };
    println!("cargo::rustc-env=SHORTFLOW_FEATURES={features}");
    let version = env!("CARGO_PKG_VERSION");
    let version_text =
        commit().map_or(version.to_owned(), |commit| format!("{version} ({commit})"));
    println!("cargo::rustc-env=SHORTFLOW_VERSION={version_text}");
}

/// Whether this feature is built.
fn is_on(feature: &str) -> bool {
    std::env::var_os(format!("CARGO_FEATURE_{}", feature.to_uppercase())).is_some()
}

/// The commit that is checked out; none without git, or in another project's repository.
fn commit() -> Option<String> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().ok()?;
    let top = PathBuf::from(git(&["rev-parse", "--show-toplevel"])?).canonicalize().ok()?;
    if top != workspace {
        return None;
    }
    // Git notes every change of HEAD in its log.
    let log = git(&["rev-parse", "--path-format=absolute", "--git-path", "logs/HEAD"])?;
    println!("cargo::rerun-if-changed={log}");
    git(&["describe", "--always", "--tags", "--abbrev=10"])
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
