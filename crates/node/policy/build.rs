//! Finds the schemes: every file of `src/schemes/markers` and `src/schemes/queues` is one, and its
//! name is the scheme's (`fq_codel.rs` is `fq-codel`). So a new scheme is one file here.

use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo says where to write"));
    let top = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo says where we are"));
    println!("cargo::rerun-if-changed=build.rs");
    for (kind, register) in [("markers", "register_markers"), ("queues", "register_queues")] {
        let folder = top.join("src/schemes").join(kind);
        println!("cargo::rerun-if-changed={}", folder.display());
        let names = names(&folder);
        let mut text = String::new();
        for name in &names {
            let file = folder.join(name).with_extension("rs");
            text += &format!("#[path = {:?}]\npub mod {name};\n", file.display().to_string());
        }
        let entries = names.iter().map(|name| format!("    {name} {},\n", camel(name)));
        text += &format!("crate::scheme::{register}! {{\n{}}}\n", entries.collect::<String>());
        fs::write(out.join(kind).with_extension("rs"), text).expect("the list can be written");
    }
}

/// The names of the schemes of a folder, in the order of the alphabet.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("the schemes' folder can be read");
    let paths = entries.map(|entry| entry.expect("an entry can be read").path());
    let sources = paths.filter(|path| path.extension().is_some_and(|kind| kind == "rs"));
    let mut names: Vec<String> = sources
        .map(|path| path.file_stem().expect("a file has a name").to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// `fq_codel` as `FqCodel`.
fn camel(name: &str) -> String {
    let parts = name.split('_').map(|part| part[..1].to_uppercase() + &part[1..]);
    parts.collect()
}
