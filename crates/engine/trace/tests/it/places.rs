//! Where packets are captured.

use shortflow_scenario::Scenario;
use shortflow_trace::{both_ends, places};

use crate::support::{LOSSY, scenario};

fn names(scenario: &Scenario, asked: &[&str]) -> Result<Vec<String>, String> {
    let asked: Vec<String> = asked.iter().map(|name| (*name).to_owned()).collect();
    let found = places(scenario, &asked).map_err(|error| error.to_string())?;
    Ok(found.iter().map(|place| place.name(scenario)).collect())
}

/// ```text
///   a[0], a[1] ── r ── b
/// ```
fn star() -> Scenario {
    scenario(
        r#"
        duration = "1 s"
        hosts = { a = { count = 2 }, b = {} }
        routers = { r = {} }
        links.a = { between = ["a", "r"], rate = "10 Mbit/s", delay = "1 ms" }
        links.b = { between = ["b", "r"], rate = "10 Mbit/s", delay = "1 ms" }
        workloads.up.bulk = { from = "a", to = "b" }
        "#,
    )
}

#[test]
fn without_a_name_the_senders_of_data_are_traced() {
    assert_eq!(names(&scenario(LOSSY), &[]).unwrap(), ["server"]);
    assert_eq!(names(&star(), &[]).unwrap(), ["a[0]", "a[1]"]);
}

#[test]
fn a_group_stands_for_all_its_hosts_and_their_ports() {
    assert_eq!(names(&star(), &["a"]).unwrap(), ["a[0]", "a[1]"]);
    assert_eq!(names(&star(), &["a[1]", "r->b"]).unwrap(), ["a[1]", "r->b"]);
    assert_eq!(names(&star(), &["a->r"]).unwrap(), ["a[0]->r", "a[1]->r"]);
    assert_eq!(names(&star(), &["b", "b"]).unwrap(), ["b"], "once");
}

#[test]
fn a_name_that_fits_nothing_is_told_with_those_that_would() {
    for name in ["c", "r", "a->b", "a[2]", ""] {
        let message = names(&star(), &["b", name]).unwrap_err();
        assert!(message.contains(&format!("unknown host or port \"{name}\"")), "{message}");
        assert!(
            message.ends_with("such as a, b, a[0]->r, r->a[0], a[1]->r, r->a[1], b->r, r->b"),
            "{message}"
        );
    }
}

#[test]
fn two_ends_of_a_connection_are_found_out() {
    let scenario = scenario(LOSSY);
    let both = |asked: &[&str]| {
        let asked: Vec<String> = asked.iter().map(|name| (*name).to_owned()).collect();
        both_ends(&scenario, &places(&scenario, &asked).unwrap())
    };
    assert!(both(&["client", "server"]).is_some());
    assert!(both(&["client", "r2->r1"]).is_none());
}
