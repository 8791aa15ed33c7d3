//! The addresses that hosts are given, and classes that no packet can reach.

use shortflow_scenario::{IpVersion, Loaded, NodeId, Overrides, Scenario, from_texts};

/// Customers and a server of theirs, with these keys, around a router.
fn loaded(customers: &str, server: &str, policy: &str) -> Result<Loaded, String> {
    let bind = if policy.is_empty() { "" } else { "policy = \"policy.toml\"\n" };
    let text = format!(
        r#"
            duration = "1 s"
            {bind}
            hosts = {{ server = {{ {server} }}, customer = {{ {customers} }} }}
            routers = {{ r = {{}} }}
            links.near = {{ between = ["customer", "r"], rate = "100 Mbit/s", delay = "1 ms" }}
            links.far = {{ between = ["r", "server"], rate = "100 Mbit/s", delay = "1 ms" }}
            workloads.web.transfers = {{ client = "customer", server = "server", rate = "10 /s", request.constant = "300 B", reply.constant = "9 KB", port = 443 }}
            workloads.call.cbr = {{ from = "server", to = "customer", rate = "80 kbit/s", packet = "200 B", port = 5060 }}
            {}
        "#,
        if policy.is_empty() {
            ""
        } else {
            "[[bind]]\nrole = \"core\"\nat = \"r\"\nto = \"customer\""
        }
    );
    let texts = [("s.toml", text.as_str()), ("policy.toml", policy)];
    from_texts(&texts, &Overrides::default()).map_err(|mistakes| mistakes.to_string())
}

fn scenario(customers: &str, server: &str) -> Scenario {
    let loaded = loaded(customers, server, "").unwrap_or_else(|mistakes| panic!("{mistakes}"));
    loaded.into_points().swap_remove(0).scenario
}

/// The addresses of customers, by their place in the group, each with a blank between versions.
fn addresses(scenario: &Scenario, customers: &[u32]) -> Vec<String> {
    let of = |node| {
        scenario.addresses.of_node(node).map(|a| a.to_string()).collect::<Vec<_>>().join(" ")
    };
    customers.iter().map(|at| of(NodeId(1 + at))).collect()
}

#[test]
fn hosts_have_the_addresses_that_they_are_given_and_others_keep_theirs() {
    let found = scenario("count = 300, address = \"100.64.0.1\"", "");
    assert_eq!(
        addresses(&found, &[0, 1, 254, 255, 299]),
        ["100.64.0.1", "100.64.0.2", "100.64.0.255", "100.64.1.0", "100.64.1.44"]
    );
    let server: Vec<String> = found.addresses.of_node(NodeId(0)).map(|a| a.to_string()).collect();
    assert_eq!(server, ["10.0.0.1", "fd00::a00:1"]);
    let router = NodeId(301);
    assert_eq!(found.addresses.node("10.0.1.46".parse().unwrap()), Some(router));
    assert_eq!(found.addresses.node("10.0.0.2".parse().unwrap()), None);
}

#[test]
fn a_prefix_gives_its_addresses_in_order_but_those_that_are_no_host_s() {
    let of = |count: u32, prefix: &str, asked: &[u32]| {
        addresses(&scenario(&format!("count = {count}, address = \"{prefix}\""), ""), asked)
    };
    assert_eq!(of(6, "100.64.0.8/29", &[0, 5]), ["100.64.0.9", "100.64.0.14"]);
    assert_eq!(of(2, "100.64.0.8/31", &[0, 1]), ["100.64.0.8", "100.64.0.9"]);
    assert_eq!(of(1, "100.64.0.8/32", &[0]), ["100.64.0.8"]);
    assert_eq!(of(3, "2001:db8:7::/64", &[0, 2]), ["2001:db8:7::1", "2001:db8:7::3"]);
    assert_eq!(
        of(3, "2001:db8:7::/56", &[0, 1, 2]),
        ["2001:db8:7::1", "2001:db8:7:1::1", "2001:db8:7:2::1"]
    );
    assert_eq!(of(2, "2001:db8::8/127", &[0, 1]), ["2001:db8::8", "2001:db8::9"]);
}

#[test]
fn a_host_may_have_an_address_of_each_version() {
    let found = scenario("count = 2, address = [\"100.64.0.0/24\", \"2001:db8::/48\"]", "");
    assert_eq!(
        addresses(&found, &[0, 1]),
        ["100.64.0.1 2001:db8::1", "100.64.0.2 2001:db8:0:1::1"]
    );
    let ips = |scenario: &Scenario| scenario.workloads.iter().map(|w| w.ip).collect::<Vec<_>>();
    assert_eq!(ips(&found), [IpVersion::V4; 2], "the server has a unique local address only");
    let found = scenario(
        "address = [\"100.64.0.1\", \"2001:db8::1\"]",
        "address = [\"2001:db8::2\", \"100.64.0.2\"]",
    );
    assert_eq!(ips(&found), [IpVersion::V6; 2]);
}

#[test]
fn ipv6_takes_20_bytes_of_each_packet_from_the_data() {
    let over_v4 = scenario("", "");
    let over_v6 = scenario("address = \"2001:db8::1\"", "");
    let [v4, v6] = [&over_v4, &over_v6].map(|scenario| &scenario.workloads[0]);
    assert_eq!((v4.ip, v6.ip), (IpVersion::V4, IpVersion::V6));
    assert_eq!((v6.tcp.mss, v6.tcp.header), (v4.tcp.mss - 20, v4.tcp.header + 20));
    assert_eq!([v4.tcp.ip_header, v6.tcp.ip_header], [20, 40], "the rest is TCP's");
    assert_eq!(*v6.tcp_over(IpVersion::V4), *v4.tcp);
    assert_eq!(*v4.tcp_over(IpVersion::V6), *v6.tcp);
}

/// The warnings of a policy of bands with these matches and one for the rest.
fn warnings(customers: &str, matches: &[&str]) -> Vec<String> {
    let reported = |found: &shortflow_text::Diagnostic| {
        format!("{}:{}:{}: {}", found.file(), found.line(), found.column(), found.message)
    };
    diagnostics(customers, matches).iter().map(reported).collect()
}

fn diagnostics(customers: &str, matches: &[&str]) -> Vec<shortflow_text::Diagnostic> {
    let band = |rule: &&str| {
        format!(
            "[[roles.core.queue.strict-priority.bands]]\nmatch = {{ {rule} }}\nqueue.fifo.limit = \"50 pkt\"\n"
        )
    };
    let rest = "[[roles.core.queue.strict-priority.bands]]\nqueue.fifo.limit = \"50 pkt\"\n";
    let policy = matches.iter().map(band).collect::<String>() + rest;
    let loaded = loaded(customers, "", &policy).unwrap_or_else(|mistakes| panic!("{mistakes}"));
    loaded.warnings.0
}

#[test]
fn the_help_of_an_unmatched_class_shows_an_address_that_matches_it() {
    for (rule, example) in [
        ("src = \"203.0.113.0/24\"", Some("203.0.113.1")),
        ("src = \"203.0.113.7\"", Some("203.0.113.7")),
        ("dst = \"203.0.113.6/31\"", Some("203.0.113.6")),
        ("src = \"2001:db8::/32\"", Some("2001:db8::1")),
        ("dst = \"2001:db8:0:5::9\"", Some("2001:db8:0:5::9")),
        ("dst = [\"ff00::/8\", \"2001:db8::4/126\"]", Some("2001:db8::5")),
        ("dst = \"224.0.0.0/4\"", None),
    ] {
        let found = &diagnostics("", &[rule])[0];
        let help = match example {
            Some(example) => format!(
                "give a host such an address, as in hosts.NAME = {{ address = \"{example}\" }}, or change the class"
            ),
            None => "change the class: no host can have such an address".to_owned(),
        };
        assert_eq!(found.help.as_deref(), Some(&help[..]), "{rule}");
        if let Some(example) = example {
            assert_eq!(warnings(&format!("address = \"{example}\""), &[rule]), [""; 0], "{rule}");
        }
    }
}

#[test]
fn a_class_with_addresses_that_no_host_has_is_warned_of_at_its_place() {
    let reported =
        warnings("", &["src = \"203.0.113.0/24\"", "dst = [\"2001:db8::/32\", \"198.51.100.1\"]"]);
    assert_eq!(
        reported,
        [
            "policy.toml:2:1: class 1 of `strict-priority` in the role `core` never matches: no host has an address in \
             203.0.113.0/24 (`src`)",
            "policy.toml:5:1: class 2 of `strict-priority` in the role `core` never matches: no host has an address in \
             2001:db8::/32 or 198.51.100.1 (`dst`)",
        ]
    );
    assert_eq!(warnings("address = \"203.0.113.5\"", &["src = \"203.0.113.0/24\""]), [""; 0]);
    assert_eq!(warnings("", &["src = \"10.0.0.1\"", "dst = \"fd00::/8\""]), [""; 0]);
}

#[test]
fn a_class_of_ports_or_a_protocol_that_no_workload_sends_is_warned_of() {
    let none =
        "no workload sends packets that match class 1 of `strict-priority` in the role `core`";
    for (rule, is_told) in [
        ("protocol = \"udp\", port = 443", true),
        ("protocol = \"tcp\", port = 443", false),
        ("protocol = \"icmp\"", true),
        ("protocol = \"udp\", dst_port = 5060", false),
        ("protocol = \"udp\", src_port = 5060", false),
        ("protocol = \"udp\", src_port = 80", true),
        ("port = [53, \"5000-5100\"]", false),
        ("src_port = 443", false),
        ("src = \"10.0.0.1\", dst = \"10.0.0.1\"", true),
        ("dscp = \"EF\"", false),
    ] {
        let reported = warnings("", &[rule]);
        assert_eq!(reported.iter().any(|one| one.contains(none)), is_told, "{rule}: {reported:?}");
    }
}

#[test]
fn many_classes_that_nothing_reaches_have_one_warning() {
    let rules: Vec<String> = (1..=5).map(|at| format!("dst = \"203.0.113.{at}\"")).collect();
    let rules: Vec<&str> = rules.iter().map(String::as_str).collect();
    let reported = warnings("", &rules);
    let [only] = &reported[..] else { panic!("{reported:?}") };
    assert!(only.contains("(`dst`); 4 more classes in its list never match either"), "{only}");
    assert_eq!(warnings("", &rules[..3]).len(), 3);
    let unsent = warnings(
        "",
        &["protocol = \"icmp\"", "src_port = 443", "port = 9", "port = 10", "port = 11"],
    );
    let [only] = &unsent[..] else { panic!("{unsent:?}") };
    let names = "match class 1 of `strict-priority`, class 3 of `strict-priority`, class 4 of `strict-priority` in the \
                 role `core`; and 1 more class";
    assert!(only.starts_with("policy.toml:2:1: ") && only.ends_with(names), "{only}");
}

#[test]
fn of_a_sweep_only_classes_that_nothing_reaches_at_any_point_are_warned_of() {
    let policy = "[[roles.core.queue.strict-priority.bands]]\nmatch.dst = \"100.64.0.4\"\nqueue.fifo.limit = \"9 pkt\"\n\
                  [[roles.core.queue.strict-priority.bands]]\nqueue.fifo.limit = \"9 pkt\"\n";
    for (counts, expected) in [("1, 4", 0), ("1, 3", 1)] {
        let text = format!(
            r#"
                duration = "1 s"
                policy = "policy.toml"
                hosts = {{ customer = {{ address = "100.64.0.1" }}, server = {{}} }}
                routers.r = {{}}
                links.near = {{ between = ["customer", "r"], rate = "100 Mbit/s", delay = "1 ms" }}
                links.far = {{ between = ["r", "server"], rate = "100 Mbit/s", delay = "1 ms" }}
                bind = [{{ role = "core", at = "r", to = "customer" }}]
                workloads.web.bulk = {{ from = "server", to = "customer" }}
                sweep = [{{ key = "hosts.customer.count", values = [{counts}] }}]
            "#
        );
        let texts = [("s.toml", text.as_str()), ("policy.toml", policy)];
        let loaded = from_texts(&texts, &Overrides::default()).unwrap();
        assert_eq!(loaded.unreachable.len(), expected, "{counts}");
        assert_eq!(loaded.warnings.0.len(), expected, "{counts}");
    }
}

#[test]
fn where_others_send_too_only_addresses_count() {
    let text = r#"
        duration = "1 s"
        hosts = { a = {}, b = {} }
        links.line = { between = ["a", "b"], rate = "1 Mbit/s", delay = "1 ms" }
        bind = [{ role = "core", at = "a", to = "b" }]
        policy = "policy.toml"
    "#;
    let policy = "[[roles.core.queue.strict-priority.bands]]\nmatch.port = 8080\nqueue.fifo.limit = \"9 pkt\"\n\
                  [[roles.core.queue.strict-priority.bands]]\nmatch.dst = \"203.0.113.1\"\nqueue.fifo.limit = \"9 pkt\"\n\
                  [[roles.core.queue.strict-priority.bands]]\nqueue.fifo.limit = \"9 pkt\"\n";
    let overrides = Overrides { needs_no_workload: true, ..Overrides::default() };
    let loaded = from_texts(&[("s.toml", text), ("policy.toml", policy)], &overrides).unwrap();
    let reported: Vec<usize> = loaded.warnings.0.iter().map(|found| found.line()).collect();
    assert_eq!(reported, [5]);
}
