//! The way from what stands at a device to what is wanted.

use shortflow_deploy::{Listings, Step, Tc, converge};

use crate::support::{compiled, first_steps, of_queue, settings};

/// Ours, with the classes `classes` and filters at `places`, but no memo.
fn interrupted(classes: &[&str], places: &[u16]) -> shortflow_deploy::Observed {
    let root =
        r#"[{"kind":"htb","handle":"5f00:","root":true,"options":{"r2q":24320,"default":"0x5f"}}]"#;
    let classes: String = classes.iter().map(|id| format!("class htb 5f00:{id} root\n")).collect();
    let filter = |place: &u16| format!(r#"{{"pref":{place},"options":{{"handle":"0x1"}}}}"#);
    let filters: Vec<String> = places.iter().map(filter).collect();
    {
        let filters = format!("[{}]", filters.join(","));
        let listings =
            Listings { qdiscs: root, classes: &classes, filters: &filters, ..Listings::default() };
        Tc::parsed(&listings).unwrap()
    }
}

fn words(steps: &[Step]) -> Vec<String> {
    let short = |step: &Step| match step {
        Step::Tc(command) => {
            let words: Vec<&str> = command.split(' ').collect();
            let named = ["classid", "pref", "handle"].iter().find_map(|key| {
                let at = words.iter().position(|word| word == key)?;
                words.get(at + 1).copied()
            });
            format!("{} {} {}", words[0], words[1], named.unwrap_or_default())
        }
        Step::Ip(command) => {
            let words: Vec<&str> = command.split(' ').collect();
            format!("ip {} {}", words[1], words[3..].join(" "))
        }
        Step::Drain(_) => "drain".to_owned(),
        Step::Condition { .. } => "condition".to_owned(),
        Step::RemoveOption(_) => "remove the option".to_owned(),
        Step::Early(_) => "early".to_owned(),
        Step::Fingerprint => "seal".to_owned(),
        Step::Queue(queueing) => format!("program {:?}", queueing.way),
    };
    steps.iter().map(short).collect()
}

#[test]
fn a_line_stands_first_and_a_class_for_what_no_filter_tells_apart_behind_the_filters_and_the_memo_is_last()
 {
    let tree = compiled(&of_queue("fifo = { limit = \"9 pkt\" }"), &settings(&[], false)).unwrap();
    assert_eq!(
        words(&first_steps(&tree)),
        [
            "qdisc add 5f00:",
            "qdisc add ",
            "class add 5f00:fff0",
            "class add 5f00:5e",
            "qdisc add 5f5e:",
            "filter add 1",
            "class add 5f00:1",
            "qdisc add 5f01:",
            "filter add 2",
            "class add 5f00:5f",
            "qdisc add 5f5f:",
            "seal",
            "filter add 100",
        ]
    );
}

#[test]
fn of_two_generations_the_one_that_takes_packets_is_kept_until_the_other_does() {
    let tree = compiled(&of_queue("fifo = { limit = \"9 pkt\" }"), &settings(&[], false)).unwrap();
    let steps = |classes: &[&str], places: &[u16]| {
        let observed = interrupted(classes, places);
        words(&converge("eth0", &observed, &tree, Vec::new()).unwrap())
    };
    // The second generation was being built when somebody ended it.
    let found = steps(&["fff0", "5e", "5f", "1", "2", "81"], &[1, 2]);
    let expected = [
        "qdisc change 5f00:",
        "class change 5f00:fff0",
        "class change 5f00:5e",
        "qdisc replace 5f5e:",
        "class change 5f00:81",
        "drain",
        "class del 5f00:81",
        "class add 5f00:81",
        "qdisc add 5f81:",
        "filter add 3",
        "filter del 2",
        "class change 5f00:5f",
        "qdisc replace 5f5f:",
        "seal",
        "filter add 100",
        "class change 5f00:1",
        "class change 5f00:2",
        "drain",
        "class del 5f00:1",
        "class del 5f00:2",
    ];
    assert_eq!(found, expected);
    // It took over, and the first was not yet removed: now the first is free.
    let found = steps(&["fff0", "5f", "1", "81"], &[1, 3]);
    let place = |step: &str| found.iter().position(|it| it == step).unwrap();
    assert!(place("class del 5f00:1") < place("class add 5f00:1"));
    assert!(place("filter add 2") < place("filter del 3"), "{found:?}");
    // Both have a filter: the first is asked first, so it is the one that takes packets.
    let found = steps(&["fff0", "5f", "1", "81"], &[1, 2, 3]);
    let place = |step: &str| found.iter().position(|it| it == step).unwrap();
    assert!(place("filter del 3") < place("class del 5f00:81"), "{found:?}");
    assert!(place("class add 5f00:81") < place("filter del 2"), "{found:?}");
}
