//! Policies that ask for the state of a kernel's TCP, rehearsed for some seconds beside their simulation.

use shortflow_measure::Replica;
use shortflow_rehearse::{InteractiveRehearsal, Monitor, Rehearsal};
use shortflow_run::{Engine, Error, Measured, Observers, Task};

use crate::machine;
use crate::real::both;
use crate::source::{AT_SERVER, FILE, WEB, near, shares, site};

/// The policy of this name that the project has.
fn policy(name: &str) -> String {
    let path = format!("{}/../../../policies/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).unwrap()
}

/// All three roles, as every policy of the project has them.
const ALL_ROLES: &str = r#"bind = [
    { role = "source", at = "server", to = "r" },
    { role = "edge", at = "r", from = "server" },
    { role = "core", at = "r", to = "client" },
]"#;

const BY_STATE: &str = r#"
[[roles.source.classes]]
name = "tcp"
match = { protocol = "tcp" }
marker.tcp-state = { high = 10, medium = 20 }
"#;

#[test]
fn short_transfers_are_marked_best_by_the_state_of_their_tcp_as_in_the_simulation() {
    // Four segments fit into the first window, and use too little of it for a kernel to let it grow.
    let web = WEB.replace("10 KB", "5 KB");
    let Some(found) = both(&site(BY_STATE, AT_SERVER, &web)) else { return };
    for share in shares(&found, "r->client", &["AF11"]) {
        assert_eq!(share, [1.0, 1.0], "SYN-ACKs, data, acknowledgements and FINs");
    }
    assert!(found[0].workloads[0].all.n() > 30);
}

#[test]
fn a_long_transfer_falls_through_the_thresholds_as_in_the_simulation() {
    let file = r#"file.bulk = { from = "server", to = "client", tcp = { congestion = "reno" } }"#;
    let randomized = BY_STATE.replace("medium = 20", "medium = 20, randomized = true");
    for policy in [BY_STATE, &randomized] {
        let Some(found) = both(&site(policy, AT_SERVER, file)) else { return };
        let [high, medium, low]: [[f64; 2]; 3] =
            shares(&found, "r->client", &["AF11", "AF12", "AF13"]).try_into().unwrap();
        near("high", high, 0.15);
        near("medium", medium, 0.15);
        near("low", low, 0.2);
        assert!(low[0] > 0.3, "the window of a pipe of 20 to 80 segments");
    }
}

#[test]
fn the_scheduler_of_a_source_host_and_police_and_mark_keep_the_shape_of_their_simulation() {
    let both_loads = format!("{WEB}\n{FILE}");
    for (name, code_points) in [
        ("source-scheduler.toml", &["AF11", "AF12", "AF13"][..]),
        ("police-and-mark.toml", &["AF11", "BE"]),
    ] {
        let Some(found) = both(&site(&policy(name), ALL_ROLES, &both_loads)) else { return };
        for (code_point, share) in code_points.iter().zip(shares(&found, "r->client", code_points))
        {
            near(&format!("{name}: {code_point}"), share, 0.2);
        }
        let web = found.each_ref().map(|replica| replica.workloads[0].all.n() as f64);
        near(&format!("{name}: transfers"), web, 15.0);
    }
}

#[test]
fn an_aggregate_keeps_to_its_rate_and_hears_of_its_senders() {
    let text = policy("aggregate.toml");
    let Some(found) = both(&site(&text, ALL_ROLES, FILE)) else { return };
    // 5 Mbit/s and a bucket of 200 KB, over three seconds.
    near("utilisation", found.each_ref().map(|at| at.port("r->client").unwrap().utilisation), 0.1);
    let heard = found.each_ref().map(|replica| {
        let named = |name: &String| name.contains("triggers: acknowledgement");
        let counts = replica.counters.iter().filter(|(name, _)| named(name));
        counts.map(|(_, count)| *count).sum::<f64>()
    });
    assert!(heard[0] > 100.0 && heard[1] > 100.0, "acknowledgements: {heard:?}");
}

/// Of these, only the second asks for the state of TCP, and `pages` is the first label of the one and the second of the
/// other.
const SWITCHED: [&str; 2] = [
    r#"
        [[roles.source.classes]]
        name = "pages"
        match = { label = "pages" }
        marker.fixed = { dscp = "CS1" }
        [[roles.source.classes]]
        name = "other"
        match = { label = "other" }
        marker.fixed = { dscp = "CS2" }
        [[roles.source.classes]]
        name = "nobody, so that this code point is counted from the beginning"
        match = { protocol = "udp" }
        marker.fixed = { dscp = "AF11" }
    "#,
    r#"
        [[roles.source.classes]]
        name = "other"
        match = { label = "other" }
        marker.fixed = { dscp = "CS2" }
        [[roles.source.classes]]
        name = "pages"
        match = { label = "pages" }
        marker.tcp-state = { high = 10, medium = 20 }
    "#,
];

#[test]
fn a_policy_that_is_switched_to_finds_the_state_of_tcp_and_its_own_labels() {
    // Four segments fit into the first window.
    let pages = WEB.replace("10 KB", "5 KB").replace("client =", "label = \"pages\", client =");
    let other = WEB.replace("web.", "other.").replace("20 /s", "5 /s");
    let other = other.replace("client =", "label = \"other\", port = 81, client =");
    let both_loads = format!("{pages}\n{other}");
    let under = |policy: &str| (String::new(), site(policy, AT_SERVER, &both_loads));
    let monitor = Monitor::new(SWITCHED.map(under).into());
    let scenario = under(SWITCHED[0]).1;
    let interactive = InteractiveRehearsal {
        rehearsal: Rehearsal::default(),
        programs: None,
        monitor: Some(&monitor),
    };
    let mut is_switched = false;
    let mut look = |share: f64| {
        if share > 0.5 && !std::mem::replace(&mut is_switched, true) {
            monitor.next_policy();
        }
        true
    };
    let observers = Observers { transfers: None, tap: None, tcp_info: None, look: &mut look };
    let _machine = machine();
    let found: Replica = match interactive.run(&Task { scenario: &scenario, replica: 0 }, observers)
    {
        Ok(found) => match found.measured {
            Measured::Replica(found) => *found,
            Measured::Means(_) => panic!("a rehearsal has replicas"),
        },
        Err(Error::Machine(lacking)) if std::env::var_os("CI").is_none() => {
            return eprintln!("skipped: needs hosts: {lacking}");
        }
        Err(error) => panic!("{error}"),
    };
    assert!(is_switched);
    let share = |name| shares(&[found.clone(), found.clone()], "r->client", &[name])[0][0];
    let [first, second, other] = ["CS1", "AF11", "CS2"].map(share);
    assert!(first > 0.15 && second > 0.15, "{first} before, {second} after");
    let all = first + second + other;
    assert!((all - 1.0).abs() < 1e-9, "every packet is marked: {first} + {second} + {other}");
}
