//! Warnings of settings that have no effect, and of connections that cannot be opened.

use shortflow_scenario::{Overrides, from_texts};

/// A flow and a stream from a host to another one.
const LINE: &str = r#"
policy = "p.toml"
duration = "5 s"
hosts = { a = {}, b = {} }
links.line = { between = ["a", "b"], rate = "2 Mbit/s", delay = "1 ms" }
bind = [{ role = "core", at = "a", to = "b" }]
workloads.long.bulk = { from = "a", to = "b" }
workloads.calls.cbr = { from = "a", to = "b", rate = "80 kbit/s", packet = "200 B", dscp = "EF" }
"#;

const CORE: &str = "roles.core.queue.fifo = { limit = \"20 pkt\" }\n";

/// What is warned of with these keys of the scenario set.
fn with(policy: &str, keys: &[(&str, &str)]) -> String {
    let set = keys.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let overrides = Overrides { set, ..Overrides::default() };
    let texts = [("s.toml", LINE), ("p.toml", policy)];
    from_texts(&texts, &overrides).unwrap_or_else(|why| panic!("{why}")).warnings.to_string()
}

#[test]
fn more_connections_than_a_host_has_ports_are_warned_of_with_the_limit() {
    let flows = |flows: &str, more: &[(&str, &str)]| {
        with(CORE, &[&[("workloads.long.bulk.flows", flows)], more].concat())
    };
    let many = "connections of `a` to port 20 of b are more than the 64,512 source ports of a host";
    assert_eq!(flows("64512", &[]), "");
    assert!(flows("64513", &[]).contains(&format!("64,513 {many}")), "{}", flows("64513", &[]));
    assert!(flows("1000000", &[]).contains(&format!("1,000,000 {many}")));
    // Those of some bytes give their ports back, unless all begin before the first is out of TIME_WAIT.
    let short = ("workloads.long.bulk.size", "1 KB");
    assert!(flows("64513", &[short]).contains(many));
    let spread = [short, ("workloads.long.bulk.start_window", "4 s"), ("tcp.time_wait", "1 s")];
    assert_eq!(flows("64513", &spread), "");
    // A workload beside it uses the same ports.
    let beside = "{ client = \"a\", server = \"b\", port = 20, sessions = 2, packet = \"100 B\", pause.constant = \"1 s\" }";
    assert!(
        flows("64511", &[("workloads.typing.telnet", beside)]).contains(&format!("64,513 {many}"))
    );
    let other = beside.replace("20", "23");
    assert_eq!(flows("64511", &[("workloads.typing.telnet", &other)]), "");
}

#[test]
fn a_series_with_a_single_sample_or_no_port_is_warned_of() {
    let every = |interval: &str| with(CORE, &[("measure.series_interval", interval)]);
    assert_eq!(every("5 s"), "");
    let long = every("6 s");
    assert!(long.contains("series_interval 6 s is longer than the run, 5 s"), "{long}");
    let of_none = [("measure.series_interval", "1 s"), ("measure.ports", "[]")];
    let none = with(CORE, &of_none);
    assert!(none.contains("series_interval has no effect: no port is measured"), "{none}");
}

#[test]
fn samples_of_flows_that_do_not_exist_are_warned_of() {
    let every = ("measure.flow_samples", "1 s");
    assert_eq!(with(CORE, &[every]), "");
    let found = with(CORE, &[every, ("workloads.long.bulk.size", "1 KB")]);
    assert!(found.contains("flow_samples has no effect"), "{found}");
}

#[test]
fn loss_for_a_code_point_that_no_packet_has_is_warned_of() {
    let loss = |policy: &str, loss: &str| with(policy, &[("links.line.loss", loss)]);
    assert_eq!(loss(CORE, "{ EF = 0.1, BE = 0.01, rest = 0.2 }"), "");
    let found = loss(CORE, "{ EF = 0.1, AF11 = 0.2, AF12 = 0.2 }");
    let message = "no packet has the code point AF11, AF12, so its loss has no effect";
    assert!(found.contains(message), "{found}");
    let bursts =
        "{ forward.gilbert-elliott = { to_bad = 0.1, to_good = 0.5, loss_bad = { AF12 = 1 } } }";
    assert!(loss(CORE, bursts).contains("the code point AF12"), "{}", loss(CORE, bursts));
    let marker = "[[roles.core.classes]]\nname = \"all\"\nmarker.fixed = { dscp = \"AF11\" }\n";
    let marked = loss(&format!("{CORE}{marker}"), "{ AF11 = 0.2 }");
    assert_eq!(marked, "");
}

#[test]
fn parameters_that_nothing_uses_are_warned_of_in_both_files() {
    let own =
        [("links.line.rate", "$rate"), ("parameters", "{ rate = \"1 Mbit/s\", delay = \"1 ms\" }")];
    let found = with(&format!("{CORE}[parameters]\nlimit = 3\n"), &own);
    assert!(found.contains("no value uses the parameter `delay`"), "{found}");
    assert!(found.contains("no value uses the parameter `limit`\n --> p.toml:3:1"), "{found}");
    assert_eq!(found.matches("no value uses").count(), 2, "{found}");
}
