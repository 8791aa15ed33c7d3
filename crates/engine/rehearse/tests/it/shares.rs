//! In the router of rehearsals as in the simulation: a class that asks for less than its share loses nothing
//! to a flood of another.

use crate::real::both;
use crate::scenario;

/// Queues that serve several classes, each in a role of its own. AF11, or the flow of the light host, has a
/// half of the line or more.
const ROLES: [(&str, &str); 10] = [
    (
        "wfq",
        r#"limit = "30 pkt"
        classes = [{ match = { dscp = "AF11" }, weight = 3 }, { weight = 1 }]"#,
    ),
    (
        "drr",
        r#"classes = [
            { match = { dscp = "AF11" }, queue.fifo = { limit = "30 pkt" } },
            { queue.fifo = { limit = "30 pkt" } },
        ]"#,
    ),
    (
        "htb",
        r#"classes = [
            { match = { dscp = "AF11" }, at_least = "500 kbit/s", queue.fifo = { limit = "30 pkt" } },
            { at_least = "500 kbit/s", queue.fifo = { limit = "30 pkt" } },
        ]"#,
    ),
    (
        "plans",
        r#"by = "source"
        customers = [
            { addresses = "10.0.0.1", at_most = "4 Mbit/s" },
            { addresses = "10.0.0.2", at_most = "4 Mbit/s" },
        ]
        queue.fifo = { limit = "30 pkt" }"#,
    ),
    (
        "wrr",
        r#"classes = [
            { match = { dscp = "AF11" }, queue.fifo = { limit = "30 pkt" } },
            { queue.fifo = { limit = "30 pkt" } },
        ]"#,
    ),
    (
        "strict-priority",
        r#"bands = [
            { match = { dscp = "AF11" }, queue.fifo = { limit = "30 pkt" } },
            { queue.fifo = { limit = "30 pkt" } },
        ]"#,
    ),
    (
        "shared-priority",
        r#"limit = "20 KB"
        bands = ["AF11", "rest"]"#,
    ),
    ("fq-codel", r#"limit = "30 pkt""#),
    (
        "host-fair",
        r#"by = "source"
        limit = "20 KB""#,
    ),
    ("stf", r#"limit = "30 pkt""#),
];

#[test]
fn a_class_within_its_share_loses_nothing_to_a_flood() {
    let roles = ROLES.map(|(name, keys)| format!("[roles.{name}.queue.{name}]\n{keys}\n"));
    let each = |text: fn(&str) -> String| ROLES.map(|(name, _)| text(name)).concat();
    let hosts = each(|name| format!(", {name} = {{}}"));
    let links = each(|name| {
        let delay = "delay = \"1 ms\"";
        format!("{name} = {{ between = [\"r\", \"{name}\"], rate = \"1 Mbit/s\", {delay} }}\n")
    });
    let binds = each(|name| format!("{{ role = \"{name}\", at = \"r\", to = \"{name}\" }},\n"));
    let workloads = each(|name| {
        let light =
            "rate = \"300 kbit/s\", packet = \"1000 B\", dscp = \"AF11\", start = \"0.5 s\"";
        let flood = "rate = \"4 Mbit/s\", packet = \"500 B\"";
        format!(
            "light-{name}.cbr = {{ from = \"a\", to = \"{name}\", {light} }}\n\
             flood-{name}.cbr = {{ from = \"b\", to = \"{name}\", {flood} }}\n"
        )
    });
    let text = format!(
        r#"
        policy = "policy.toml"
        duration = "3 s"
        drain = "1 s"
        hosts = {{ a = {{}}, b = {{}}{hosts} }}
        routers = {{ r = {{}} }}
        bind = [{binds}]
        [links]
        a = {{ between = ["a", "r"], rate = "100 Mbit/s", delay = "1 ms" }}
        b = {{ between = ["b", "r"], rate = "100 Mbit/s", delay = "1 ms" }}
        {links}
        [workloads]
        {workloads}
        "#
    );
    let scenario = scenario(&[("shares.toml", &text), ("policy.toml", &roles.concat())]);
    let Some(found) = both(&scenario) else { return };
    for (replica, engine) in found.iter().zip(["rehearsed", "simulated"]) {
        for (name, _) in ROLES {
            let [light, flood] = ["light", "flood"].map(|which| {
                let workload = format!("{which}-{name}");
                let found = replica.workloads.iter().find(|it| it.name == workload);
                found.and_then(|it| it.datagrams.as_ref()).expect("it sends datagrams")
            });
            assert!(light.sent > 80, "{engine}, {name}: {light:?}");
            assert!(flood.loss() > Some(0.5), "{engine}, {name}: {flood:?}");
            assert_eq!(light.delivered, light.sent, "{engine}, {name}");
        }
    }
}
