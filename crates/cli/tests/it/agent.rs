//! `shortflow agent`, as a user meets it.

#![cfg(target_os = "linux")]

use std::path::Path;

use crate::support::run;

const FLEET: &str = r#"
[machines.gw1]
tags = ["canary"]
interfaces.wan = { device = "sf0", rate = "10 Mbit/s" }

[machines.gw2]
interfaces.wan = { device = "ppp0", rate = "9 Mbit/s" }

[[assign]]
policy = "policies/strict-priority.toml"
"#;

/// A repository of this fleet in a folder, with the shipped policies.
fn repository(folder: &Path, fleet: &str) {
    let policies = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../policies");
    std::fs::create_dir_all(folder.join("policies")).unwrap();
    for name in ["strict-priority.toml", "best-effort.toml"] {
        std::fs::copy(policies.join(name), folder.join("policies").join(name)).unwrap();
    }
    std::fs::write(folder.join("fleet.toml"), fleet).unwrap();
}

#[test]
fn a_plan_tells_the_change_of_each_machine_and_refuses_a_mistake_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let (old, new) = (folder.path().join("old"), folder.path().join("new"));
    repository(&old, FLEET);
    let more =
        "\n[[assign]]\npolicy = \"policies/best-effort.toml\"\ntags = [\"canary\"]\npriority = 1\n";
    repository(&new, &format!("{FLEET}{more}"));
    let (old, new) = (old.to_str().unwrap(), new.to_str().unwrap());

    let plan = run(&["agent", "plan", new, "--from", old]);
    assert_eq!(plan.code, Some(0), "{}", plan.err);
    assert_eq!(
        plan.out,
        "gw1\n  wan (sf0)   change  policy \"Strict Priority\" → \"Best Effort\"\n\
         gw2\n  wan (ppp0)  same    \"Strict Priority\", 9 Mbit/s\n\
         1 of 2 machines change; devices: 0 new, 1 changed, 0 gone, 1 the same\n"
    );
    let json = run(&["agent", "plan", new, "--machine", "gw2", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!(json["machines"][0]["devices"][0]["change"], "new");
    let unknown = run(&["agent", "plan", new, "--machine", "gw3"]);
    assert_eq!((unknown.code, unknown.err.contains("its machines are gw1, gw2")), (Some(2), true));

    std::fs::write(Path::new(new).join("fleet.toml"), FLEET.replace("10 Mbit/s", "10 Mbits"))
        .unwrap();
    let refused = run(&["agent", "plan", new]);
    assert_eq!(refused.code, Some(2));
    assert!(refused.err.contains("--> fleet.toml:4:44"), "{}", refused.err);
    let none = run(&["agent", "plan", folder.path().to_str().unwrap()]);
    assert_eq!(none.code, Some(2), "{}", none.err);
}
