//! Builds the eBPF programs with clang, where the feature `ebpf` asks for them.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The names under which clang is found; Debian has the version in them.
const COMPILERS: [&str; 7] =
    ["clang", "clang-21", "clang-20", "clang-19", "clang-18", "clang-17", "clang-16"];

/// Each is an object of its own, with its maps.
const PROGRAMS: [&str; 10] = [
    "sender", "edge", "early", "growth", "inline", "nothing", "option", "plans", "profile", "qdisc",
];

fn main() {
    println!("cargo:rerun-if-changed=programs");
    println!("cargo:rerun-if-env-changed=CLANG");
    if std::env::var_os("CARGO_FEATURE_EBPF").is_none() {
        return;
    }
    let headers = std::env::var("DEP_BPF_INCLUDE").expect("libbpf-sys names its headers");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets it"));
    let clang = compiler();
    for name in PROGRAMS {
        let source = Path::new("programs").join(format!("{name}.bpf.c"));
        let built = Command::new(&clang)
            // The types that libbpf reads are among what -g writes.
            .args(["-g", "-O2", "-Wall", "-Werror", "-target", "bpf", "-c", "-I", &headers])
            // Line numbers for the kernel, without folders of this machine.
            .args(["-ffile-compilation-dir=.", &format!("-ffile-prefix-map={headers}=include")])
            .arg(&source)
            .arg("-o")
            .arg(out.join(format!("{name}.bpf.o")))
            .status();
        match built {
            Ok(status) if status.success() => {}
            Ok(status) => panic!("{clang} did not build {}: {status}", source.display()),
            Err(error) => panic!("{clang}: {error}"),
        }
    }
    twin(&clang, &out);
}

/// Builds the decisions of the queueing discipline for this machine's processor, for tests alone.
fn twin(clang: &str, out: &Path) {
    let object = out.join("qdisc_twin.o");
    let built = Command::new(clang)
        .args(["-g", "-O2", "-Wall", "-Werror", "-fPIC", "-c", "programs/qdisc/twin.c", "-o"])
        .arg(&object)
        .status();
    assert!(
        built.is_ok_and(|status| status.success()),
        "{clang} did not build programs/qdisc/twin.c"
    );
    println!("cargo:rustc-link-arg-tests={}", object.display());
}

/// What CLANG says, or the first that there is.
fn compiler() -> String {
    println!("cargo:rerun-if-env-changed=PATH");
    if let Ok(named) = std::env::var("CLANG") {
        return named;
    }
    let is_there = |name: &&str| Command::new(name).arg("--version").output().is_ok();
    let found = COMPILERS.into_iter().find(is_there).unwrap_or_else(|| {
        panic!(
            "the feature `ebpf` needs clang: install it (Debian: apt-get install clang-19), name it by CLANG, or \
             build without the feature"
        )
    });
    found.to_owned()
}
