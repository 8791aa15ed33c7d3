//! RED with several levels as the kernel's `gred`, where there is no program for early drops or none is needed.

use shortflow_deploy::{Kind, Listings, Step, Tc};

use crate::support::{compiled, first_steps, of_queue, settings};

/// A queue whose levels are in bytes, with other keys.
fn wred(more: &str) -> String {
    let level = |code_points: &str, min: u64| {
        format!(
            "{{ code_points = {code_points}, min_threshold = \"{min} KB\", max_threshold = \"{} KB\", max_probability = 0.1 }}",
            min + 30
        )
    };
    let levels = [level("[\"AF11\"]", 60), level("[\"AF12\"]", 30), level("\"rest\"", 10)];
    format!(
        "multi-red = {{ limit = \"120 KB\", weight = 0.25, {more} levels = [{}] }}",
        levels.join(", ")
    )
}

fn commands(queue: &str, nearest: bool) -> Vec<String> {
    let tree = compiled(&of_queue(queue), &settings(&[Kind::Early], nearest)).unwrap();
    let steps = first_steps(&tree);
    steps
        .iter()
        .map(Step::to_string)
        .filter(|step| step.contains("gred") || step.contains("65535"))
        .collect()
}

fn refused(queue: &str) -> Vec<String> {
    let refusals = compiled(&of_queue(queue), &settings(&[Kind::Early], false)).unwrap_err();
    refusals.iter().map(ToString::to_string).collect()
}

#[test]
fn levels_in_bytes_with_one_average_are_gred_with_equal_priorities() {
    let found = commands(&wred("ecn = true,"), false);
    let gred = "dev eth0 parent 5f00:1 handle 5f01: gred";
    assert_eq!(found[0], format!("tc qdisc add {gred} setup DPs 4 default 3 grio"));
    for (at, min) in [(1, 60_000), (2, 30_000), (3, 10_000)] {
        let max = min + 30_000;
        let start = format!(
            "tc qdisc change {gred} DP {at} limit 120000 min {min} max {max} avpkt 500 burst "
        );
        let end = " bandwidth 10000000bit probability 0.1 ecn harddrop prio 1";
        assert!(found[at].starts_with(&start) && found[at].ends_with(end), "{}", found[at]);
    }
    assert!(
        found[4].contains("egress protocol all pref 65535 handle 1 bpf bytecode"),
        "{}",
        found[4]
    );
    assert_eq!(found.len(), 5);
}

#[test]
fn averages_that_gred_does_not_have_are_refused_with_the_nearest() {
    let found = refused(&wred("average = \"per-level\","));
    assert!(found[0].contains("share no limit; nearest: gred with a limit of 120 KB"), "{found:?}");
    let found = refused(&wred("average = \"cumulative\","));
    assert!(found[0].contains("nearest: gred's `grio`"), "{found:?}");
    let nearest = commands(&wred("average = \"cumulative\","), true);
    assert!(nearest[0].ends_with("grio"));
    assert!(nearest[1].ends_with("prio 1") && nearest[3].ends_with("prio 3"), "{nearest:?}");
    let nearest = commands(&wred("average = \"per-level\","), true);
    assert!(nearest[0].ends_with("default 3"), "{nearest:?}");
}

#[test]
fn what_gred_does_not_do_is_refused_key_by_key() {
    let found =
        refused(&wred("gentle = true, byte_mode = true, spacing = \"wait\", spare_below = 2,"));
    let keys = [
        "gentle = true",
        "a spacing other than \"uniform\"",
        "byte_mode = true",
        "spare_below above 0",
    ];
    let mut expected = keys
        .map(|key| format!("roles.core.queue.multi-red: the kernel's gred does not support {key}"));
    expected[0] += "; a BPF qdisc does it (Linux 6.16 or newer, CONFIG_NET_SCH_BPF)";
    assert_eq!(found, expected);
    let found = refused(&wred("").replace("max_probability = 0.1 }]", "max_probability = 1 }]"));
    assert!(found[0].starts_with("roles.core.queue.multi-red.levels.2:"), "{found:?}");
    let lacking = [Kind::Gred, Kind::Early];
    let lacking = compiled(&of_queue(&wred("")), &settings(&lacking, true)).unwrap_err();
    assert!(lacking[0].of_machine && lacking[0].what.contains("sch_gred"), "{lacking:?}");
}

#[test]
fn levels_of_two_bands_are_given_by_one_filter() {
    let bands = format!(
        "strict-priority.bands = [{{ match = {{ dscp = \"AF11\" }}, queue.{} }}, {{ queue.{} }}]",
        wred(""),
        wred("")
    );
    let tree = compiled(&of_queue(&bands), &settings(&[], false)).unwrap();
    assert!(tree.needs().contains(&Kind::Clsact));
    let steps: Vec<String> = first_steps(&tree).iter().map(Step::to_string).collect();
    assert_eq!(steps.iter().filter(|step| step.contains("pref 65535")).count(), 1);
    // It is attached before packets reach the classes, and after their levels exist.
    let place = |part: &str| steps.iter().position(|step| step.contains(part)).unwrap();
    assert!(place("handle 5f02: gred DP 3") < place("pref 65535"));
    assert!(place("pref 65535") < place("parent 5f00: protocol all pref 2 "));
}

#[test]
fn what_levels_did_is_read_from_the_listing() {
    let level = |vq: u64, dropped: u64| {
        format!(
            r#"{{"vq":{vq},"prio":1,"limit":120000,"min":1,"max":2,"qave":9,"backlog":7,"forced_drop":1,
            "prob_drop":{dropped},"pdrop":0,"other":0,"forced_mark":0,"prob_mark":{vq},"packets":100,"bytes":9}}"#
        )
    };
    let qdiscs = format!(
        r#"[{{"kind":"gred","handle":"5f01:","options":{{"vqs":[{},{}]}},"packets":150,"drops":33}}]"#,
        level(1, 1),
        level(2, 30)
    );
    let observed = Tc::parsed(&Listings { qdiscs: &qdiscs, ..Listings::default() }).unwrap();
    let queue = observed.queue(0x5f01).unwrap();
    let found: Vec<_> =
        queue.levels.iter().map(|level| [level.packets, level.drops, level.marks]).collect();
    assert_eq!(found, [[98, 2, 1], [69, 31, 2]]);
    assert_eq!((queue.drops, queue.marks), (33, 3));
}
