//! What cannot be rehearsed is refused before anything is made. Needs no rights.

use shortflow_rehearse::Rehearsal;
use shortflow_run::Engine;

use crate::scenario;

/// Two hosts and a router, with these workloads and whatever else.
fn text(more: &str) -> String {
    format!(
        r#"
        duration = "2 s"
        hosts = {{ client = {{}}, server = {{}} }}
        routers = {{ r = {{}} }}
        [links]
        access = {{ between = ["client", "r"], rate = "100 Mbit/s", delay = "1 ms" }}
        line = {{ between = ["r", "server"], rate = "10 Mbit/s", delay = "10 ms" }}
        [workloads]
        {more}
        "#
    )
}

fn refusal(texts: &[(&str, &str)]) -> String {
    Rehearsal::default().check(&scenario(texts)).expect_err("it cannot be rehearsed").to_string()
}

#[test]
fn a_congestion_control_that_no_kernel_has_is_refused_by_its_name() {
    let more = "file.bulk = { from = \"server\", to = \"client\", tcp = { congestion = \"increase-by-k\" } }";
    let reported = refusal(&[("s.toml", &text(more))]);
    assert_eq!(
        reported,
        "file: no kernel has the congestion control increase-by-k\nset `tcp.congestion` to one of \
            reno, cubic, aggregate-fair, or simulate it"
    );
}

#[test]
fn more_hosts_than_a_kernel_makes_in_a_minute_are_refused_before_any_is_made() {
    let hosts = |count: u32| {
        format!(
            r#"
            name = "many"
            duration = "2 s"
            hosts.all = {{ count = {count} }}
            hosts.server = {{}}
            routers.r = {{}}
            [links]
            access = {{ between = ["all", "r"], rate = "100 Mbit/s", delay = "1 ms" }}
            line = {{ between = ["r", "server"], rate = "10 Mbit/s", delay = "10 ms" }}
            [workloads]
            file.bulk = {{ from = "server", to = "all" }}
            "#
        )
    };
    let reported = refusal(&[("s.toml", &hosts(2000))]);
    assert_eq!(
        reported,
        "2001 hosts are too many to rehearse: each one is a network namespace\nuse 2000 or fewer, \
            or simulate it"
    );
    let fewer = scenario(&[("s.toml", &hosts(1999))]);
    assert_eq!(Rehearsal::default().check(&fewer), Ok(()));
}

#[test]
fn a_host_has_one_kernel_for_all_its_workloads() {
    let of = |name: &str, tcp: &str| {
        format!(
            "{name}.bulk = {{ from = \"server\", to = \"client\", port = {}, tcp = {tcp} }}\n",
            name.len()
        )
    };
    let more = of("old", "{ initial_window = 2 }") + &of("newer", "{ initial_window = 10 }");
    let reported = refusal(&[("s.toml", &text(&more))]);
    assert!(
        reported.starts_with(
            "client has one kernel, whose TCP cannot use the settings of old and of newer together"
        ),
        "{reported}"
    );
    let alike = of("old", "{ congestion = \"reno\" }") + &of("newer", "{ congestion = \"cubic\" }");
    assert_eq!(
        Rehearsal::default().check(&scenario(&[("s.toml", &text(&alike))])),
        Ok(()),
        "that is each socket's own"
    );
}

#[test]
fn datagrams_too_small_for_the_time_of_their_sending_are_refused() {
    let more =
        "call.cbr = { from = \"client\", to = \"server\", rate = \"8 kbit/s\", packet = \"35 B\" }";
    let reported = refusal(&[("s.toml", &text(more))]);
    assert!(
        reported.contains("datagrams of 35 bytes") && reported.contains("36 bytes or more"),
        "{reported}"
    );
}

#[test]
fn sizes_of_datagrams_that_are_drawn_are_refused_as_well() {
    let more = "probe.poisson = { from = \"client\", to = \"server\", rate = \"5 /s\", \
                size = { choice = { sizes = [\"500 B\", \"20 B\"] } } }";
    let reported = refusal(&[("s.toml", &text(more))]);
    assert!(
        reported.contains("datagrams of 20 bytes") && reported.contains("36 bytes or more"),
        "{reported}"
    );
    let by_chance = more.replace(
        "choice = { sizes = [\"500 B\", \"20 B\"] }",
        "exponential = { mean = \"500 B\" }",
    );
    let scenario = scenario(&[("s.toml", &text(&by_chance))]);
    assert_eq!(Rehearsal::default().check(&scenario), Ok(()));
}

#[test]
fn segments_larger_than_a_socket_takes_are_refused() {
    let with = |mss: u32| {
        let more = format!(
            "file.bulk = {{ from = \"server\", to = \"client\", tcp = {{ mss = \"{mss} B\", header = \"52 B\" }} }}"
        );
        Rehearsal::default().check(&scenario(&[("s.toml", &text(&more))]))
    };
    assert_eq!(with(32_755), Ok(()));
    assert_eq!(
        with(32_756).unwrap_err().to_string(),
        "file: segments of 32756 bytes exceed the kernel's maximum\nset `tcp.mss` to 32755 bytes \
            or less, or simulate it"
    );
}

#[test]
fn over_ipv6_headers_are_longer_and_so_is_the_least_that_is_taken() {
    let cbr =
        "call.cbr = { from = \"client\", to = \"server\", rate = \"8 kbit/s\", packet = \"55 B\" }";
    let bulk = "file.bulk = { from = \"server\", to = \"client\", tcp = { mss = \"90 B\" } }";
    for (more, remedy) in [(cbr, "56 bytes or more"), (bulk, "set `tcp.mss` to 96 bytes or more")] {
        let scenario = scenario(&[("s.toml", &text(more))]);
        assert_eq!(Rehearsal::OVER_IPV4.check(&scenario), Ok(()));
        let reported = Rehearsal::OVER_IPV6.check(&scenario).unwrap_err().to_string();
        assert!(reported.contains(remedy), "{reported}");
    }
}

/// What is missing is looked for before any host is made.
#[cfg(not(feature = "ebpf"))]
#[test]
fn a_build_without_ebpf_refuses_roles_that_ask_for_the_state_of_tcp_and_says_what_to_do() {
    use shortflow_run::Error;

    let policy =
        "[roles.source]\n[[roles.source.classes]]\nname = \"all\"\nmarker.tcp-state = {}\n";
    let more = "policy = \"p.toml\"\nbind = [{ role = \"source\", at = \"server\", to = \"r\" }]\n";
    let workload = "file.bulk = { from = \"server\", to = \"client\" }";
    let text = more.to_owned() + &text(workload);
    let scenario = scenario(&[("s.toml", &text), ("p.toml", policy)]);
    let refused = Rehearsal::OVER_IPV4.ready_for(&scenario);
    let Err(Error::Machine(reported)) = refused else { panic!("{refused:?}") };
    assert_eq!(
        reported,
        "the role source needs the state of a kernel's TCP (its window, its phase or its \
            round-trip time): this build leaves out the eBPF program that reads the state of a \
            kernel's TCP\nbuild it with clang, libelf and zlib at hand: `make setup` and `make \
            build`, or `cargo build --release --features ebpf`; or simulate it, or rehearse \
            another policy"
    );
}
