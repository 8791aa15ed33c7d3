//! The features that `shortflow --version` prints, and `cfg(live)`, for the commands that need Linux and the feature `live`.

/// The features of this package.
const FEATURES: [&str; 4] = ["live", "ebpf", "network", "tables"];

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
}

/// Whether this feature is built.
fn is_on(feature: &str) -> bool {
    std::env::var_os(format!("CARGO_FEATURE_{}", feature.to_uppercase())).is_some()
}
