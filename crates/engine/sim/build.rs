//! Gives the engine an identity: a hash of all that results depend on. Replicas that another engine has
//! computed are not used again.

use std::path::Path;
use std::process::Command;

#[path = "build/identity.rs"]
mod identity;

fn main() {
    let root = Path::new("../../..");
    for name in identity::CRATES {
        println!(
            "cargo::rerun-if-changed={}",
            root.join("crates").join(name).join("src").display()
        );
    }
    println!("cargo::rerun-if-changed={}", root.join(identity::LOCK).display());
    println!("cargo::rerun-if-changed=build");
    let compiler = std::env::var_os("RUSTC").expect("cargo names the compiler");
    let version =
        Command::new(compiler).arg("-vV").output().expect("the compiler says its version");
    let version = String::from_utf8(version.stdout).expect("the version is text");
    println!("cargo::rustc-env=SHORTFLOW_ENGINE={}", identity::compute(root, &version));
}
