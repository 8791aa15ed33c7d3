//! CoDel in shipped policies follows the line.

use shortflow_policy::{Policy, QueuePlan, from_text};
use shortflow_shipped::FILES;
use shortflow_text::Override;
use shortflow_units::Duration;

/// The intervals of all CoDels in a queue.
fn intervals(queue: &QueuePlan) -> Vec<Duration> {
    let own = match queue {
        QueuePlan::FqCodel(params) => Some(params.settings().codel.interval()),
        QueuePlan::HostFair(params) => Some(params.settings().codel.interval()),
        _ => None,
    };
    own.into_iter().chain(queue.inner().into_iter().flat_map(intervals)).collect()
}

/// What [`shortflow_tune::LineFit`] sets reaches every CoDel: none is left with the interval of a short path.
#[test]
fn every_codel_of_a_shipped_policy_has_the_interval_that_is_set_for_the_line() {
    let mut found = 0;
    for (path, text) in FILES.iter().filter(|(path, _)| is_policy(path)) {
        let read = |set: &[Override]| -> Policy {
            from_text(path, text, set).unwrap_or_else(|error| panic!("{error}"))
        };
        let of = |policy: &Policy| -> Vec<Duration> {
            policy.roles.iter().filter_map(|role| role.queue.as_ref()).flat_map(intervals).collect()
        };
        if of(&read(&[])).is_empty() {
            continue;
        }
        let long = Duration::from_millis(600);
        let set = [("interval", "600 ms"), ("target", "30 ms")].map(|(key, value)| Override {
            key: format!("parameters.{key}"),
            value: value.to_owned(),
            prefix: "",
            origin: "--set".to_owned(),
            cell: None,
        });
        let after = of(&read(&set));
        assert!(after.iter().all(|interval| *interval == long), "{path}: {after:?}");
        found += 1;
    }
    assert!(found >= 5, "{found} policies with CoDel");
}

fn is_policy(path: &str) -> bool {
    path.starts_with("policies/") && path.ends_with(".toml")
}
