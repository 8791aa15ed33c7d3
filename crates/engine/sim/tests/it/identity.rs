//! What tells results of one engine from those of another.

use std::fs;

#[path = "../../build/identity.rs"]
mod engine;

#[test]
fn another_dependency_compiler_or_source_makes_another_engine() {
    let root = tempfile::tempdir().unwrap();
    let source = |name: &str| root.path().join("crates").join(name).join("src/lib.rs");
    for name in engine::CRATES {
        fs::create_dir_all(source(name).parent().unwrap()).unwrap();
        fs::write(source(name), name).unwrap();
    }
    let lock = |text: &str| fs::write(root.path().join(engine::LOCK), text).unwrap();
    let of = |compiler: &str| engine::compute(root.path(), compiler);
    lock("libm 0.2.11");
    let first = of("rustc 1.89.0");
    assert_eq!(of("rustc 1.89.0"), first);
    assert_ne!(of("rustc 1.90.0"), first);
    lock("libm 0.2.12");
    assert_ne!(of("rustc 1.89.0"), first);
    lock("libm 0.2.11");
    assert_eq!(of("rustc 1.89.0"), first);
    fs::write(source("node/tcp"), "tcp, changed").unwrap();
    assert_ne!(of("rustc 1.89.0"), first);
}
