//! What a policy asks of hosts, and whether a scenario can tell.

use shortflow_scenario::{Overrides, Scenario, from_texts};

/// A scenario that binds the role `marked` with `bind`, under a policy.
fn loaded(policy: &str, bind: &str) -> Result<Scenario, String> {
    let text = format!(
        r#"
        policy = "policy.toml"
        duration = "10 s"
        hosts = {{ a = {{}}, b = {{}} }}
        routers.r = {{}}
        links.one = {{ between = ["a", "r"], rate = "1 Mbit/s", delay = "1 ms" }}
        links.two = {{ between = ["r", "b"], rate = "1 Mbit/s", delay = "1 ms" }}
        workloads.shell.bulk = {{ from = "a", to = "b", label = "telnet" }}
        workloads.file.bulk = {{ from = "a", to = "b" }}
        bind = [{{ role = "marked", {bind} }}]
        "#
    );
    from_texts(&[("scenario.toml", &text), ("policy.toml", policy)], &Overrides::default())
        .map(|loaded| loaded.into_points().swap_remove(0).scenario)
        .map_err(|mistakes| mistakes.0[0].message.clone())
}

const AT_HOST: &str = "at = \"a\", to = \"r\"";

fn class(settings: &str) -> String {
    format!("[[roles.marked.classes]]\nname = \"all\"\n{settings}")
}

#[test]
fn a_workload_has_the_label_that_it_states_or_its_name() {
    let scenario = loaded(&class("match.label = \"telnet\""), AT_HOST).unwrap();
    let labels: Vec<_> = scenario.workloads.iter().map(|workload| &workload.label).collect();
    assert_eq!(labels, ["telnet", "file"]);
}

#[test]
fn a_label_that_no_workload_has_is_a_slip() {
    let refused = loaded(&class("match.label = \"shell\""), AT_HOST).unwrap_err();
    assert_eq!(refused, "the policy matches the unknown label `shell`");
}

#[test]
fn only_a_hosts_own_port_tells_of_its_senders() {
    for asking in ["marker.srpt = {}", "marker.tcp-state = {}", "match.sent_up_to = \"1 KB\""] {
        let policy = class(asking);
        assert!(loaded(&policy, AT_HOST).is_ok());
        for (bind, node) in [
            ("at = \"r\", to = \"b\"", "r"),
            ("at = \"r\", from = \"a\"", "r"),
            ("at = \"b\", from = \"r\"", "b"),
        ] {
            let refused = loaded(&policy, bind).unwrap_err();
            assert_eq!(
                refused,
                format!(
                    "the role `marked` uses what only the sending host knows, but `{node}` \
                     is not the sender here"
                )
            );
        }
    }
    assert!(loaded("[roles.marked]\nacks = \"echo\"", "at = \"r\", to = \"b\"").is_err());
    assert!(loaded(&class("marker.dstf = {}"), "at = \"r\", to = \"b\"").is_ok());
}
