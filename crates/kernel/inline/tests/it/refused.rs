//! What cannot run between two devices.

use shortflow_inline::{Bridge, Plan, acting_roles};
use shortflow_policy::{Policy, from_text};
use shortflow_units::LinkLayer;

fn policy(text: &str) -> Policy {
    from_text("p.toml", text, &[]).unwrap_or_else(|error| panic!("{error}"))
}

fn names(policy: &Policy, given: &[&str]) -> Result<Vec<String>, String> {
    let given: Vec<String> = given.iter().copied().map(str::to_owned).collect();
    let roles = acting_roles(policy, &given).map_err(|error| error.to_string())?;
    Ok(roles.into_iter().map(|role| role.name.clone()).collect())
}

const MARKS_AND_QUEUES: &str = "\
    [[roles.edge.classes]]\nname = \"all\"\nmarker.fixed = { dscp = \"EF\" }\n\
    [roles.core]\nqueue.fifo = { limit = \"10 pkt\" }\n";

#[test]
fn without_names_all_roles_run_if_one_device_can_play_them() {
    assert_eq!(names(&policy(MARKS_AND_QUEUES), &[]).unwrap(), ["edge", "core"]);
    assert_eq!(names(&policy(MARKS_AND_QUEUES), &["core"]).unwrap(), ["core"]);
    let more = format!("{MARKS_AND_QUEUES}[roles.access]\nqueue.fifo = {{ limit = \"10 pkt\" }}\n");
    let message = names(&policy(&more), &[]).unwrap_err();
    assert!(message.contains("--role"), "{message}");
}

#[test]
fn a_role_that_needs_the_senders_state_is_refused_by_name() {
    let text =
        "[[roles.host.classes]]\nname = \"all\"\nmarker.tcp-state = { high = 4, medium = 8 }\n";
    let policy = policy(text);
    let roles = acting_roles(&policy, &[]).unwrap();
    let rate = "1 Mbit/s".parse().unwrap();
    let refused = Plan::new(roles, [rate; 2], LinkLayer::default(), 1).unwrap_err().to_string();
    assert!(refused.contains("roles.host") && refused.contains("sending host"), "{refused}");
}

#[test]
fn a_device_twice_and_a_device_that_does_not_exist_are_refused() {
    let twice = Bridge::join(["lo", "lo"]).unwrap_err();
    assert!(twice.is_of_input() && twice.to_string().contains("--between"), "{twice}");
    let missing = Bridge::join(["lo", "no-such-dev"]).unwrap_err();
    assert!(missing.to_string().contains("no-such-dev"), "{missing}");
}
