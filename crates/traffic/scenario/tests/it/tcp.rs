//! Which TCP a scenario runs, and how it is told.

use shortflow_scenario::{Overrides, Scenario, from_texts};
use shortflow_tcp::Era;

fn scenario(tcp: &str) -> Scenario {
    let text = format!(
        r#"
        duration = "10 s"
        hosts = {{ a = {{}}, b = {{}} }}
        links.line = {{ between = ["a", "b"], rate = "1 Mbit/s", delay = "1 ms" }}
        workloads.file.bulk = {{ from = "a", to = "b" }}
        workloads.call.cbr = {{ from = "a", to = "b", rate = "64 kbit/s", packet = "200 B" }}
        {tcp}
        "#
    );
    from_texts(&[("scenario.toml", &text)], &Overrides::default())
        .unwrap_or_else(|mistakes| panic!("{mistakes}"))
        .into_points()
        .swap_remove(0)
        .scenario
}

#[test]
fn a_scenario_that_names_no_era_runs_the_tcp_of_today() {
    let scenario = scenario("");
    assert_eq!(*scenario.workloads[0].tcp, Era::LinuxToday.config());
    assert_eq!(scenario.tcp_description(), "Linux today (CUBIC, RACK)");
}

#[test]
fn an_era_is_told_with_what_differs_from_it() {
    let scenario =
        scenario("tcp = { era = \"ns2-2002\", rto_min = \"200 ms\", ecn_capable = \"data\" }");
    assert_eq!(
        scenario.tcp_description(),
        "ns-2 of 2002 (Reno, NewReno) with rto_min 200 ms, ecn_capable data"
    );
}

#[test]
fn workloads_with_a_tcp_of_their_own_are_named() {
    let scenario =
        scenario("workloads.old.bulk = { from = \"a\", to = \"b\", tcp.era = \"ns2-2005\" }");
    assert_eq!(
        scenario.tcp_description(),
        "Linux today (CUBIC, RACK) for file; ns-2 of 2005 (Reno, NewReno) for old"
    );
}

#[test]
fn the_ways_of_today_can_be_set_one_by_one() {
    let scenario = scenario(
        r#"
        [tcp]
        slow_start_limit = 2
        whole_segments = false
        quick_acks = 0
        right_sizing = false
        rto_floor = "timeout"
        lost_syns_forgiven = 0
        tail_loss_probe = false
        cubic = "rfc9438"
        hystart = false
        "#,
    );
    assert_eq!(
        scenario.tcp_description(),
        "Linux today (CUBIC, RACK) with slow_start_limit 2, tail_loss_probe false, cubic rfc9438, \
         hystart false, whole_segments false, quick_acks 0, right_sizing false, rto_floor timeout, lost_syns_forgiven 0"
    );
}

#[test]
fn an_unknown_congestion_control_is_told_which_there_are() {
    let text = r#"
        duration = "10 s"
        hosts = { a = {}, b = {} }
        links.line = { between = ["a", "b"], rate = "1 Mbit/s", delay = "1 ms" }
        workloads.file.bulk = { from = "a", to = "b" }
        tcp.congestion = "cubik"
        "#;
    let mistakes = from_texts(&[("scenario.toml", text)], &Overrides::default()).unwrap_err();
    let text = mistakes.to_string();
    assert!(text.contains("unknown name `cubik`"), "{text}");
    assert!(text.contains("`reno`, `cubic`, `dctcp`"), "{text}");
}

#[test]
fn what_other_settings_leave_without_effect_is_warned_of_with_what_it_needs() {
    let warned = |tcp: &str| {
        let text = format!(
            "duration = \"10 s\"
            hosts = {{ a = {{}}, b = {{}} }}
            links.line = {{ between = [\"a\", \"b\"], rate = \"1 Mbit/s\", delay = \"1 ms\" }}
            workloads.file.bulk = {{ from = \"a\", to = \"b\", tcp = {{ {tcp} }} }}"
        );
        let loaded = from_texts(&[("scenario.toml", &text)], &Overrides::default()).unwrap();
        loaded.warnings.to_string()
    };
    for (tcp, message, needs) in [
        ("congestion = 'reno', hystart = true", "hystart has no effect with congestion", "cubic"),
        ("congestion = 'reno', cubic = 'linux'", "cubic has no effect with congestion", "cubic"),
        ("byte_counting = true", "byte_counting has no effect with congestion", "reno"),
        ("increase = 4", "increase has no effect with congestion", "increase-by-k"),
        ("reference_rtt = '50 ms'", "reference_rtt has no effect with cong", "constant-rate"),
        ("recovery = 'sack', tail_loss_probe = true", "tail_loss_probe has no effect", "rack"),
        ("recovery = 'newreno', duplicate_sack = true", "duplicate_sack has no effect", "sack"),
        ("limited_transmit = true", "limited_transmit has no effect with recovery", "newreno"),
        ("ecn_capable = 'all'", "ecn_capable has no effect with ecn = false", "ecn = true"),
        ("delayed_ack = false, adaptive_ack = true", "adaptive_ack has no effect", "delayed_ack"),
        ("delayed_ack = false, quick_acks = 3", "quick_acks has no effect", "delayed_ack"),
    ] {
        let found = warned(tcp);
        assert!(found.contains(message) && found.contains(needs), "{tcp}: {found}");
    }
    assert_eq!(warned("hystart = true, tail_loss_probe = true, quick_acks = 3"), "");
}

#[test]
fn dctcp_without_ecn_is_refused() {
    let text = r#"
        duration = "10 s"
        hosts = { a = {}, b = {} }
        links.line = { between = ["a", "b"], rate = "1 Mbit/s", delay = "1 ms" }
        workloads.file.bulk = { from = "a", to = "b" }
        tcp.congestion = "dctcp"
        "#;
    let mistakes = from_texts(&[("scenario.toml", text)], &Overrides::default()).unwrap_err();
    assert_eq!(mistakes.0[0].message, "DCTCP reacts to ECN marks and requires ECN");
    let scenario = scenario("tcp = { congestion = \"dctcp\", ecn = true }");
    assert_eq!(scenario.tcp_description(), "Linux today (DCTCP, RACK) with ecn true");
}
