//! Queues before which the program for early drops decides.

use shortflow_deploy::{Kind, Listings, Step, Tc, converge};

use crate::support::{compiled, first_steps, of_queue, settings};

const RED: &str = "red = { limit = \"90 pkt\", min_threshold = \"9 pkt\", max_threshold = \"30 pkt\", \
                   max_probability = 0.1 }";

fn steps(queue: &str) -> Vec<String> {
    let tree = compiled(&of_queue(queue), &settings(&[], false)).unwrap();
    first_steps(&tree).iter().map(Step::to_string).collect()
}

/// Where the first step is that has this part.
fn place(steps: &[String], part: &str) -> usize {
    steps
        .iter()
        .position(|step| step.contains(part))
        .unwrap_or_else(|| panic!("{part}: {steps:#?}"))
}

#[test]
fn red_in_packets_is_a_fifo_and_the_program_comes_behind_its_filters_and_before_the_memo() {
    let found = steps(RED);
    assert!(found[place(&found, "handle 5f01:")].ends_with("pfifo limit 90"));
    let order = ["pref 65535", "parent 5f00: protocol all pref 2 ", "early drops", "pref 100 "];
    let places = order.map(|part| place(&found, part));
    assert!(places.is_sorted(), "{places:?}");
}

#[test]
fn what_the_kernels_queues_do_is_left_to_them() {
    let bytes = RED.replace("90 pkt", "90 KB").replace("9 pkt", "9 KB").replace("30 pkt", "30 KB");
    let found = steps(&bytes);
    assert!(found[place(&found, "handle 5f01:")].contains(": red limit 90000"));
    assert!(!found.iter().any(|step| step.contains("early")));
    let gentle = steps(&bytes.replace("red = {", "red = { gentle = true,"));
    place(&gentle, "early drops");
    // Where the kernel has no such queue, the program takes it.
    let tree = compiled(&of_queue(&bytes), &settings(&[Kind::Red], false)).unwrap();
    assert!(tree.needs().contains(&Kind::Early) && !tree.needs().contains(&Kind::Red));
}

#[test]
fn sima_is_two_queues_that_hold_more_than_its_buffers_since_the_program_counts_bytes_of_ip() {
    let sima = "sima = { real_time = { limit = \"2 KB\" }, non_real_time = { limit = \"20 KB\" } }";
    let tree = compiled(&of_queue(sima), &settings(&[], false)).unwrap();
    let found: Vec<_> = tree
        .leaves
        .iter()
        .map(|leaf| (leaf.name.as_str(), leaf.priority, leaf.queue.settings.as_str()))
        .collect();
    assert_eq!(found, [("real time", 0, "limit 8400"), ("non-real time", 1, "limit 84000")]);
    let inside = format!("drr.classes = [{{ queue.{sima} }}]");
    let tree = compiled(&of_queue(&inside), &settings(&[], false)).unwrap();
    assert_eq!(tree.leaves[0].queue.inner[0].queue.kind, Kind::Prio);
    let refusals = compiled(&of_queue(sima), &settings(&[Kind::Early], true)).unwrap_err();
    assert!(refusals[0].of_machine, "{refusals:?}");
}

#[test]
fn what_the_program_does_not_support_is_refused_by_name() {
    for (key, supported) in [
        ("weight = 0.0000001,", "a weight of at least 0.000001"),
        ("byte_mode = true, mean_packet = \"70 KB\",", "a mean_packet of at most 65.535 KB"),
    ] {
        let queue = RED.replace("red = {", &format!("red = {{ {key}"));
        let refusals = compiled(&of_queue(&queue), &settings(&[], false)).unwrap_err();
        assert_eq!(refusals[0].what, format!("the program for early drops supports {supported}"));
    }
    let long = RED.replace("90 pkt", "20000 pkt");
    let refusals = compiled(&of_queue(&long), &settings(&[], false)).unwrap_err();
    assert!(refusals[0].what.ends_with("a limit of at most 16383 pkt"), "{refusals:?}");
}

/// Ours, with this filter at the root.
fn observed(filter: &str, memo: &str) -> shortflow_deploy::Observed {
    let root =
        r#"[{"kind":"htb","handle":"5f00:","root":true,"options":{"r2q":24320,"default":"0x5f"}}]"#;
    let filters = format!(r#"[{{"pref":2,"options":{{"handle":"0x1"}}}}{filter}{memo}]"#);
    Tc::parsed(&Listings { qdiscs: root, filters: &filters, ..Listings::default() }).unwrap()
}

#[test]
fn a_policy_without_early_drops_takes_the_program_away() {
    let tree = compiled(&of_queue("fifo = { limit = \"9 pkt\" }"), &settings(&[], false)).unwrap();
    let removal = "tc filter del dev eth0 parent 5f00: protocol all pref 1 handle 0x5347 bpf";
    let has_removal = |filter: &str| {
        let steps = converge("eth0", &observed(filter, ""), &tree, Vec::new()).unwrap();
        steps.iter().any(|step| step.to_string() == removal)
    };
    let program = |handle: &str, name: &str| {
        format!(r#",{{"pref":1,"options":{{"handle":"{handle}","bpf_name":"{name}"}}}}"#)
    };
    assert!(has_removal(&program("0x5347", "shortflow_early:[40]")));
    assert!(!has_removal(&program("0x1", "shortflow_early:[40]")));
    assert!(!has_removal(&program("0x5347", "theirs")));
    assert!(!has_removal(""));
}
