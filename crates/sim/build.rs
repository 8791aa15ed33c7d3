//! Gives the engine an identity: a hash of the sources that results depend on. Replicas that
//! another engine has computed are not used again.

use std::fs;
use std::path::{Path, PathBuf};

/// The crates that results of the simulator depend on.
const ENGINE: [&str; 11] = [
    "units",
    "text",
    "elements",
    "tcp",
    "workloads",
    "policy",
    "scenario",
    "sessions",
    "measure",
    "run",
    "sim",
];

fn main() {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for name in ENGINE {
        let sources = Path::new("..").join(name).join("src");
        println!("cargo::rerun-if-changed={}", sources.display());
        for file in files(&sources) {
            let text = fs::read(&file).expect("a source file can be read");
            // FNV-1a.
            hash = text
                .iter()
                .fold(hash, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3));
        }
    }
    println!("cargo::rustc-env=SHORTFLOW_ENGINE={hash:016x}");
}

/// All files below a folder, in the order of their names.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a source folder can be read");
    let mut paths: Vec<PathBuf> =
        entries.map(|entry| entry.expect("an entry can be read").path()).collect();
    paths.sort();
    paths
        .into_iter()
        .flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] })
        .collect()
}
