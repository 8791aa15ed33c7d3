//! The identity of the engine: a hash of all that results depend on.

use std::fs;
use std::path::{Path, PathBuf};

/// The crates that results of the simulator depend on.
pub(crate) const CRATES: [&str; 12] = [
    "base/units",
    "base/text",
    "node/elements",
    "base/packet",
    "node/tcp",
    "traffic/workloads",
    "node/policy",
    "traffic/scenario",
    "traffic/sessions",
    "base/measure",
    "engine/run",
    "engine/sim",
];

/// The file with the versions of crates of others, whose random numbers and functions results use.
pub(crate) const LOCK: &str = "Cargo.lock";

/// A hash (FNV-1a) of the sources below `root`, of the versions of all dependencies, and of the compiler, as
/// `rustc -vV` describes it.
pub(crate) fn compute(root: &Path, compiler: &str) -> String {
    let sources = CRATES.iter().flat_map(|name| files(&root.join("crates").join(name).join("src")));
    let read = |path: PathBuf| fs::read(&path).expect("a source file can be read");
    let texts = sources.chain([root.join(LOCK)]).map(read).chain([compiler.as_bytes().to_vec()]);
    // The length says where one text ends and the next begins.
    let bytes = texts.flat_map(|text| (text.len() as u64).to_le_bytes().into_iter().chain(text));
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    });
    format!("{hash:016x}")
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
