//! Parameters, overrides and sweeps.

use shortflow_scenario::{Loaded, Overrides, Scenario, WorkloadKind, from_texts};
use shortflow_units::Rate;

const SCENARIO: &str = r#"
duration = "10 s"
policy = "policy.toml"

[parameters]
alpha = 0.7
rest = "= 1 - alpha"
load = "4 Mbit/s"

[hosts.client]
[hosts.server]
[routers.r]

[links.left]
between = ["client", "r"]
rate = "= 20 * alpha Mbit/s"
delay = "1 ms"

[links.right]
between = ["r", "server"]
rate = "10 Mbit/s"
delay = "20 ms"

[[bind]]
role = "core"
at = "r"
to = "server"

[workloads.web.transfers]
client = "client"
server = "server"
load = "$load"
share = "$rest"
request.constant = "1 seg"
reply.constant = "1 seg"
"#;

const POLICY: &str = r#"
[parameters]
limit = 100
[roles.core.queue.fifo]
limit = "= limit pkt"
"#;

fn loaded(scenario: &str, set: &[(&str, &str)]) -> Loaded {
    let set = set.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let overrides = Overrides { set, ..Overrides::default() };
    let texts = [("scenario.toml", scenario), ("policy.toml", POLICY)];
    from_texts(&texts, &overrides).unwrap_or_else(|mistakes| panic!("{mistakes}"))
}

fn first_link(scenario: &Scenario) -> Rate {
    scenario.links[0].forward.rate
}

fn arrival_rate(scenario: &Scenario) -> f64 {
    match &scenario.workloads[0].kind {
        WorkloadKind::Transfers(transfers) => transfers.rate,
        _ => panic!("the scenario has transfers"),
    }
}

fn mbit(rate: f64) -> Rate {
    Rate::from_bits_per_sec((rate * 1e6) as u64)
}

#[test]
fn parameters_stand_for_values_alone_and_in_expressions() {
    let loaded = loaded(SCENARIO, &[]);
    let scenario = &loaded.points()[0].scenario;
    assert_eq!(first_link(scenario), mbit(14.0));
    // Replies of one segment with headers: 1500 bytes.
    assert!((arrival_rate(scenario) - 0.3 * 4e6 / 12_000.0).abs() < 1e-9);
}

#[test]
fn without_a_sweep_there_is_one_point_without_values() {
    let loaded = loaded(SCENARIO, &[]);
    assert_eq!(loaded.points().len(), 1);
    assert!(loaded.axes.is_empty() && loaded.points()[0].values.is_empty());
    assert_eq!(loaded.points()[0].label, "");
}

#[test]
fn an_override_reaches_any_key_even_one_that_is_not_written() {
    let set = [("links.right.rate", "5 Mbit/s"), ("tcp.ecn", "true"), ("bind.0.role", "core")];
    let loaded = loaded(SCENARIO, &set);
    let scenario = &loaded.points()[0].scenario;
    assert_eq!(scenario.links[1].forward.rate, mbit(5.0));
    assert!(scenario.workloads[0].tcp.ecn);
    assert_eq!(scenario.inputs.overrides[0], "links.right.rate=5 Mbit/s");
}

#[test]
fn an_override_of_a_parameter_changes_all_that_it_stands_for() {
    let loaded = loaded(SCENARIO, &[("parameters.alpha", "0.5")]);
    let scenario = &loaded.points()[0].scenario;
    assert_eq!(first_link(scenario), mbit(10.0));
    assert!((arrival_rate(scenario) - 0.5 * 4e6 / 12_000.0).abs() < 1e-9);
}

#[test]
fn a_sweep_gives_a_scenario_for_each_value() {
    let text = format!("{SCENARIO}\n[sweep]\nkey = \"parameters.alpha\"\nvalues = [0.5, 0.6]\n");
    let loaded = loaded(&text, &[]);
    let labels: Vec<&str> = loaded.points().iter().map(|point| point.label.as_str()).collect();
    assert_eq!(labels, ["alpha = 0.5", "alpha = 0.6"]);
    let rates: Vec<Rate> = loaded.points().iter().map(|p| first_link(&p.scenario)).collect();
    assert_eq!(rates, [mbit(10.0), mbit(12.0)]);
}

#[test]
fn two_sweeps_give_all_combinations_even_with_a_key_of_the_policy() {
    let text = format!(
        "{SCENARIO}\n[[sweep]]\nkey = \"parameters.alpha\"\nvalues = [0.5, 0.6]\n\
         [[sweep]]\nname = \"buffer\"\nkey = \"policy.parameters.limit\"\nvalues = [50, 100]\n"
    );
    let loaded = loaded(&text, &[]);
    assert_eq!(loaded.axes, ["alpha", "buffer"]);
    let labels: Vec<&str> = loaded.points().iter().map(|point| point.label.as_str()).collect();
    assert_eq!(
        labels,
        [
            "alpha = 0.5, buffer = 50",
            "alpha = 0.5, buffer = 100",
            "alpha = 0.6, buffer = 50",
            "alpha = 0.6, buffer = 100"
        ]
    );
}

#[test]
fn several_keys_of_a_sweep_change_together() {
    let text = format!(
        "{SCENARIO}\n[sweep]\nname = \"rate\"\nkeys = [\"links.left.rate\", \"links.right.rate\"]\n\
         values = [\"1 Mbit/s\", \"2 Mbit/s\"]\n"
    );
    let loaded = loaded(&text, &[]);
    for (point, rate) in loaded.points().iter().zip([1.0, 2.0]) {
        let rates: Vec<Rate> = point.scenario.links.iter().map(|l| l.forward.rate).collect();
        assert_eq!(rates, [mbit(rate), mbit(rate)]);
    }
}

#[test]
fn a_key_set_by_hand_ends_the_sweep_over_it() {
    let text = format!("{SCENARIO}\n[sweep]\nkey = \"parameters.alpha\"\nvalues = [0.5, 0.6]\n");
    let loaded = loaded(&text, &[("parameters.alpha", "0.9")]);
    assert_eq!(loaded.points().len(), 1);
    assert_eq!(first_link(&loaded.points()[0].scenario), mbit(18.0));
}

#[test]
fn a_text_cut_or_altered_anywhere_is_refused_or_read_but_never_a_crash() {
    let text = format!("{SCENARIO}\n[sweep]\nkey = \"parameters.alpha\"\nvalues = [0.5, 0.6]\n");
    let check = |scenario: &str, policy: &str| {
        let texts = [("scenario.toml", scenario), ("policy.toml", policy)];
        if let Err(mistakes) = from_texts(&texts, &Overrides::default()) {
            assert!(mistakes.to_string().starts_with("error: "));
        }
    };
    for at in 0..text.len() {
        check(&text[..at], POLICY);
        for with in ["", "\"", "0", "]", ".", "-", "é", "= ("] {
            check(&format!("{}{with}{}", &text[..at], &text[at + 1..]), POLICY);
        }
    }
    for at in 0..POLICY.len() {
        check(SCENARIO, &POLICY[..at]);
        check(SCENARIO, &format!("{}9{}", &POLICY[..at], &POLICY[at + 1..]));
    }
}
