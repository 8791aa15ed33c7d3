//! Every example file is what it says.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use shortflow_scenario::{Overrides, WorkloadKind, load};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

/// The TOML files directly in `folder`, in order.
fn files_in(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    files.sort();
    files
}

fn papers() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root().join("papers")).into_iter().flatten();
    entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()).collect()
}

#[test]
fn every_scenario_among_the_examples_and_the_papers_is_sound() {
    let mut folders = papers();
    folders.push(root().join("scenarios"));
    let mut checked = 0;
    for path in folders.iter().flat_map(|folder| files_in(folder)) {
        // The ledgers of claims stand beside the scenarios and the policies of a paper.
        let text = std::fs::read_to_string(&path).unwrap();
        if !text.contains("[workloads.") {
            continue;
        }
        load(&path, &Overrides::default()).unwrap_or_else(|mistakes| panic!("{mistakes}"));
        assert!(text.starts_with("# "), "{} opens with a picture", path.display());
        checked += 1;
    }
    assert!(checked >= 2, "only {checked} scenarios were found");
}

#[test]
fn every_policy_among_the_examples_and_the_papers_is_sound() {
    let mut folders: Vec<PathBuf> = papers().iter().map(|paper| paper.join("policies")).collect();
    folders.push(root().join("policies"));
    let files: Vec<PathBuf> = folders.iter().flat_map(|folder| files_in(folder)).collect();
    assert!(files.len() >= 3);
    for path in files {
        shortflow_policy::load(&path, &[]).unwrap_or_else(|mistakes| panic!("{mistakes}"));
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("# "), "{} says what it is for", path.display());
    }
}

#[test]
fn every_policy_in_the_guide_is_sound() {
    let guide = std::fs::read_to_string(root().join("docs/writing-policies.md")).unwrap();
    let blocks = guide.split("```toml\n").skip(1).map(|block| block.split("```").next().unwrap());
    let policies: Vec<&str> = blocks.filter(|block| block.contains("[roles.")).collect();
    assert!(policies.len() >= 6, "only {} policies were found", policies.len());
    for text in policies {
        shortflow_policy::from_text("guide.toml", text, &[])
            .unwrap_or_else(|mistakes| panic!("{mistakes}"));
    }
}

#[test]
fn every_example_that_binds_roles_runs_under_every_example_policy() {
    let mut checked = 0;
    for scenario in files_in(&root().join("scenarios")) {
        if !std::fs::read_to_string(&scenario).unwrap().contains("[[bind]]") {
            continue;
        }
        for policy in files_in(&root().join("policies")) {
            let overrides = Overrides { policy: Some(policy), ..Overrides::default() };
            load(&scenario, &overrides).unwrap_or_else(|mistakes| panic!("{mistakes}"));
            checked += 1;
        }
    }
    assert!(checked >= 25, "only {checked} pairs were found");
}

#[test]
fn all_example_policies_and_scenarios_share_the_roles_source_edge_and_core() {
    let shared = ["core", "edge", "source"].map(str::to_owned);
    for path in files_in(&root().join("policies")) {
        let policy = shortflow_policy::load(&path, &[]).unwrap_or_else(|m| panic!("{m}"));
        let mut roles: Vec<String> = policy.roles.into_iter().map(|role| role.name).collect();
        roles.sort();
        assert_eq!(roles, shared, "{}", path.display());
    }
    for path in files_in(&root().join("scenarios")) {
        let loaded = load(&path, &Overrides::default()).unwrap_or_else(|m| panic!("{m}"));
        let bindings = loaded.points()[0].scenario.bindings.iter();
        let bound: BTreeSet<String> = bindings.map(|binding| binding.role.clone()).collect();
        if !bound.is_empty() {
            assert_eq!(Vec::from_iter(bound), shared, "{}", path.display());
        }
    }
}

#[test]
fn eight_megabits_of_the_replies_of_cm05_are_67_7_transfers_a_second() {
    let path = root().join("papers/cm05/single.toml");
    // 8 Mbit/s over 14.2 packets of 1040 bytes.
    let expected = 8e6 / (14.2 * 1040.0 * 8.0);
    assert!((expected - 67.7_f64).abs() < 0.02);
    for (alpha, counted) in [(0.6, 1.0), (0.95, 0.875)] {
        let set = [("alpha", alpha), ("counted", counted)];
        let set = set.map(|(key, value)| (format!("parameters.{key}"), value.to_string())).to_vec();
        let expected = counted * expected;
        let loaded = load(&path, &Overrides { set, ..Overrides::default() });
        let loaded = loaded.unwrap_or_else(|mistakes| panic!("{mistakes}"));
        let workloads = &loaded.points()[0].scenario.workloads;
        let rate = |name: &str| match &workloads.iter().find(|w| w.name == name).unwrap().kind {
            WorkloadKind::Transfers(transfers) => transfers.rate,
            _ => panic!("cm05 has transfers only"),
        };
        assert!((rate("cloud0") - alpha * expected).abs() < 1e-9);
        assert!((rate("cloud1") - (1.0 - alpha) * expected).abs() < 1e-9);
        assert!((rate("cloud2") - expected).abs() < 1e-9);
    }
}
