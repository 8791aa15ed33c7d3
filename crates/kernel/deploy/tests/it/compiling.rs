//! What becomes of policies.

use std::fmt::Write as _;
use std::path::Path;

use shortflow_deploy::{Kind, Owners, Refusal, Settings, compile, compile_edge};
use shortflow_policy::Policy;

use crate::support::{
    compiled, first_steps, kernel_without, of_queue, policies, settings, settings_with_program,
    shipped,
};

/// All that a policy comes to, role by role: on a kernel that has everything, and with the nearest on one that has
/// little.
fn reported(policy: &Policy) -> String {
    let max = settings_with_program(false);
    let lacking = [
        Kind::Prio,
        Kind::Drr,
        Kind::Ets,
        Kind::Red,
        Kind::Gred,
        Kind::Pie,
        Kind::FqCodel,
        Kind::FqPie,
        Kind::Cake,
        Kind::CakeMq,
        Kind::Early,
    ];
    let min = settings(&lacking, true);
    let mut text = String::new();
    for role in policy.roles.iter().filter(|role| role.conditions() || role.queues()) {
        let [max, min] = [&max, &min].map(|settings| outcome(policy, role, settings));
        if max == min {
            writeln!(text, "## role {}\n\n{max}", role.name).unwrap();
            continue;
        }
        writeln!(text, "## role {}, on a kernel with every queue\n\n{max}", role.name).unwrap();
        let kernel = "on a kernel with HTB and FIFOs, --nearest";
        writeln!(text, "## role {}, {kernel}\n\n{min}", role.name).unwrap();
    }
    text
}

fn outcome(policy: &Policy, role: &shortflow_policy::Role, settings: &Settings) -> String {
    let refused = |refusals: Vec<Refusal>| -> String {
        refusals.iter().map(|refusal| format!("refused: {refusal}\n")).collect()
    };
    let edge = match compile_edge(policy, role, &Owners::new()) {
        Ok(None) => String::new(),
        Ok(Some(edge)) => format!("at the edge: {}\n", edge.classes.join(", ")),
        Err(refusals) => refused(refusals),
    };
    if !role.queues() {
        return edge;
    }
    let queue = match compile(policy, role, settings) {
        Ok(tree) => {
            let notes = tree.notes.iter().map(|note| format!("note: {note}\n"));
            let steps = first_steps(&tree).into_iter().map(|step| shortened(&step.to_string()));
            notes.chain(steps).collect()
        }
        Err(refusals) => refused(refusals),
    };
    edge + &queue
}

/// A step with how long a program is instead of the program.
fn shortened(step: &str) -> String {
    match step.split_once('\'') {
        Some((before, program)) => {
            let length = program.split(',').next().unwrap();
            format!("{before}'{length} instructions'\n")
        }
        None => format!("{step}\n"),
    }
}

/// `BLESS=1` rewrites the golden texts; read them before you commit.
#[test]
fn every_policy_that_comes_with_the_program_becomes_what_its_golden_text_says() {
    let goldens = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/golden");
    let mut names: Vec<String> = std::fs::read_dir(policies())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".toml"))
        .collect();
    names.sort();
    assert!(names.len() > 15, "{names:?}");
    for name in names {
        let golden = goldens.join(name.replace(".toml", ".txt"));
        let found = reported(&shipped(&name));
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(&golden, &found).unwrap();
        }
        assert_eq!(found, std::fs::read_to_string(golden).unwrap(), "{name}");
    }
}

/// What the parts of the queue are called that are refused on a kernel with everything.
fn refused(queue: &str) -> Vec<String> {
    let refusals = compiled(&of_queue(queue), &settings(&[], false));
    let refusals = refusals.err().unwrap_or_default();
    refusals.iter().map(ToString::to_string).collect()
}

#[test]
fn what_no_kernel_does_is_refused_with_the_nearest_that_it_does() {
    let found = refused("wrr.classes = [{ queue.fifo = { limit = \"9 pkt\" } }]");
    assert_eq!(
        found,
        ["roles.core.queue.wrr: no kernel takes turns by packets; nearest: turns by bytes, a \
                full packet for each packet of the weight (to use it, add --nearest); a BPF qdisc \
                does it (Linux 6.16 or newer, CONFIG_NET_SCH_BPF)"]
    );
    let stf = "stf = { limit = \"9 pkt\", flows = 10, idle_timeout = \"1 s\" }";
    let found = refused(stf);
    assert!(found[0].contains("nearest are `fq-codel`"), "{found:?}");
    let program = "a BPF qdisc does it (Linux 6.16 or newer, CONFIG_NET_SCH_BPF)";
    assert!(found[0].ends_with(program), "{found:?}");
    // Nothing is near enough to take, and the program is named then too.
    let found = compiled(&of_queue(stf), &settings(&[], true)).unwrap_err();
    assert!(found[0].to_string().ends_with(program), "{found:?}");
}

#[test]
fn a_program_has_the_queues_that_the_kernel_has_not_and_no_others() {
    let tree = |queue: &str, nearest| {
        compiled(&of_queue(queue), &settings_with_program(nearest))
            .map(|tree| (tree.program.is_some(), tree.leaves.len()))
            .map_err(|refused| refused[0].to_string())
    };
    let fifo = "queue.fifo = { limit = \"9 pkt\" }";
    let two = format!("classes = [{{ match = {{ dscp = \"EF\" }}, {fifo} }}, {{ {fifo} }}]");
    // The kernel's own turns by bytes are exact; those by packets are not, whether the nearest was asked for or not.
    assert_eq!(tree(&format!("drr.{two}"), false), Ok((false, 1)));
    assert_eq!(tree(&format!("wrr.{two}"), false), Ok((true, 2)));
    assert_eq!(tree(&format!("wrr.{two}"), true), Ok((true, 2)));
    let fair = "wfq = { limit = \"9 pkt\", classes = [{ match = { dscp = \"EF\" }, weight = 3, per = \"flow\" }, { weight = 1 }] }";
    assert_eq!(tree(fair, false), Ok((true, 2)));
    assert!(refused(fair)[0].contains("a BPF qdisc does it (Linux 6.16"), "{:?}", refused(fair));
    // Early drops are exact, but stand in no turn by packets. Both buffers of SIMA are shown.
    let ef = "match = { dscp = \"EF\" }";
    let sima = "sima = { real_time = { limit = \"9 KB\" }, non_real_time = { limit = \"9 KB\" } }";
    assert_eq!(tree(sima, false), Ok((false, 2)));
    let turns = format!("wrr.classes = [{{ {ef}, {fifo} }}, {{ queue.{sima} }}]");
    assert_eq!(tree(&turns, false), Ok((true, 3)));
    let tree_of_turns = compiled(&of_queue(&turns), &settings_with_program(false)).unwrap();
    let names: Vec<_> = tree_of_turns.leaves.iter().map(|leaf| &leaf.name[..]).collect();
    assert_eq!(names, ["EF", "the rest, real time", "the rest, non-real time"]);
    // A kernel without early drops takes turns by bytes itself, but has no such RED.
    let red = "queue.red = { limit = \"90 KB\", min_threshold = \"9 KB\", max_threshold = \"30 KB\", max_probability = 0.1, \
        byte_mode = true }";
    let turns = of_queue(&format!("drr.classes = [{{ {ef}, {fifo} }}, {{ {red} }}]"));
    let without_early =
        Settings { kernel: kernel_without(&[Kind::Early]), ..settings_with_program(false) };
    let by_bytes = |settings| compiled(&turns, settings).unwrap().program.is_some();
    assert!(by_bytes(&without_early) && !by_bytes(&settings_with_program(false)));
    let stf = "stf = { limit = \"9 pkt\", flows = 10, idle_timeout = \"1 s\" }";
    assert_eq!(tree(stf, false), Ok((true, 1)));
    for scheme in ["strict-priority.bands", "wrr.classes"] {
        let behind = format!("{scheme} = [{{ {ef}, {fifo} }}, {{ queue.{stf} }}]");
        assert_eq!(tree(&behind, false), Ok((true, 2)));
    }
    let million = stf.replace("flows = 10", "flows = 1_048_577");
    let refused = tree(&million, false).unwrap_err();
    let most = "the BPF queueing discipline has at most 1048576 flows; found 1048577";
    assert!(refused.contains(most), "{refused}");
    let mixed =
        format!("wrr.classes = [{{ {ef}, {fifo} }}, {{ queue.pie = {{ limit = \"9 pkt\" }} }}]");
    let refused = tree(&mixed, false).unwrap_err();
    assert!(refused.contains("the BPF queueing discipline has no `pie` here"), "{refused}");
    let red = "queue.red = { limit = \"90 pkt\", min_threshold = \"9 pkt\", max_threshold = \"30 pkt\", max_probability = 0.1, ecn = true }";
    let marks = format!("wrr.classes = [{{ {ef}, {fifo} }}, {{ {red} }}]");
    let refused = tree(&marks, false).unwrap_err();
    assert!(refused.contains("cannot write ECN marks into packets"), "{refused}");
}

#[test]
fn every_part_that_is_refused_is_named() {
    let bands = "strict-priority.bands = [
        { match = { dscp = \"EF\" }, queue.stf = { limit = \"9 pkt\", flows = 10, idle_timeout = \"1 s\" } },
        { queue.red = { limit = \"90 KB\", min_threshold = \"9 KB\", max_threshold = \"30 KB\", max_probability = 0.1, \
        gentle = true, byte_mode = true } },
    ]"
    .replace('\n', " ");
    let found = compiled(&of_queue(&bands), &settings(&[Kind::Early], false)).unwrap_err();
    let found: Vec<String> = found.iter().map(ToString::to_string).collect();
    let paths: Vec<&str> = found.iter().map(|it| it.split(": ").next().unwrap()).collect();
    let red = "roles.core.queue.strict-priority.bands.1.queue.red";
    assert_eq!(paths, ["roles.core.queue.strict-priority.bands.0.queue.stf", red, red]);
    assert!(found[1].ends_with("does not support gentle = true"), "{found:?}");
}

#[test]
fn htb_guarantees_each_class_its_rate_and_shares_the_rest_in_proportion() {
    let classes = |gold: &str, inner: &str| {
        of_queue(&format!(
            "htb.classes = [{{ match = {{ dscp = \"EF\" }}, at_least = \"{gold}\", queue.fq-codel = {{}} }}, \
             {{ at_least = \"2 Mbit/s\", at_most = \"5 Mbit/s\", queue.{inner} }}]"
        ))
    };
    let fifo = "fifo = { limit = \"9 pkt\" }";
    let tree = compiled(&classes("6 Mbit/s", fifo), &settings(&[], false)).unwrap();
    let steps: Vec<String> = first_steps(&tree).iter().map(ToString::to_string).collect();
    let class = |rates: &str| {
        let is_it = |step: &&String| step.contains("htb rate") && step.contains(rates);
        steps.iter().find(is_it).unwrap_or_else(|| panic!("{rates}: {steps:#?}"))
    };
    // Turns of three to one, with the same priority.
    let gold = class("rate 6000000bit ceil 10000000bit");
    assert!(gold.contains("prio 0 quantum 4542"), "{gold}");
    let rest = class("rate 2000000bit ceil 5000000bit");
    assert!(rest.contains("prio 0 quantum 1514"), "{rest}");

    let refused = |policy| compiled(&policy, &settings(&[], false)).unwrap_err()[0].to_string();
    let guaranteed = refused(classes("9 Mbit/s", fifo));
    let says = "its classes are guaranteed 11 Mbit/s together, but the line has 10 Mbit/s";
    assert!(guaranteed.contains(says), "{guaranteed}");
    let inside = refused(classes(
        "6 Mbit/s",
        &format!("htb.classes = [{{ at_least = \"1 Mbit/s\", queue.{fifo} }}]"),
    ));
    assert!(inside.contains("cannot be inside another queue"), "{inside}");
}

#[test]
fn what_this_kernel_lacks_is_refused_by_the_name_of_its_option() {
    let policy = of_queue("fq-codel = {}");
    let refusals = compiled(&policy, &settings(&[Kind::FqCodel], true)).unwrap_err();
    assert!(refusals[0].of_machine);
    assert_eq!(
        refusals[0].to_string(),
        "roles.core.queue.fq-codel: `fq-codel` requires the kernel's fq_codel, which this kernel \
            lacks (CONFIG_NET_SCH_FQ_CODEL, module sch_fq_codel)"
    );
}

#[test]
fn a_rate_comes_from_the_shaper_or_the_line_whichever_is_less_and_is_asked_for_where_neither_says_it()
 {
    let shaper = of_queue(
        "shaper = { rate = \"4 Mbit/s\", overhead = \"40 B\", queue.fifo = { limit = \"9 pkt\" } }",
    );
    let tree = compiled(&shaper, &settings(&[], false)).unwrap();
    assert_eq!(tree.rate, "4 Mbit/s".parse().unwrap());
    assert_eq!(tree.link_layer.to_string(), "overhead 40");
    let unknown = Settings { rate: None, ..settings(&[], false) };
    assert_eq!(compiled(&shaper, &unknown).unwrap().rate, "4 Mbit/s".parse().unwrap());
    let refusals = compiled(&of_queue("fifo = { limit = \"9 pkt\" }"), &unknown).unwrap_err();
    assert!(refusals[0].to_string().contains("--rate '95 Mbit/s'"), "{refusals:?}");
}

#[test]
fn strict_priority_inside_strict_priority_is_one_order_of_priorities() {
    let inner = "queue.strict-priority.bands = [
        { match = { protocol = \"tcp\" }, queue.fifo = { limit = \"2 pkt\" } }, { queue.fifo = { limit = \"3 pkt\" } }]";
    let queue = format!(
        "strict-priority.bands = [{{ match = {{ dscp = \"EF\" }}, queue.fifo = {{ limit = \"1 pkt\" }} }}, \
         {{ {inner} }}]"
    );
    let tree = compiled(&of_queue(&queue.replace('\n', " ")), &settings(&[], false)).unwrap();
    let found: Vec<_> =
        tree.leaves.iter().map(|leaf| (leaf.name.as_str(), leaf.priority)).collect();
    assert_eq!(found, [("EF", 0), ("tcp", 1), ("the rest", 2)]);
}

#[test]
fn more_bands_than_htb_has_priorities_go_into_prio_and_more_than_it_has_nowhere() {
    let bands = |count: usize| {
        let band = |port: usize| {
            format!(
                "{{ match = {{ protocol = \"tcp\", dst_port = {port} }}, queue.fifo = {{ limit = \"9 pkt\" }} }}"
            )
        };
        let bands: Vec<String> = (1..=count).map(band).collect();
        of_queue(&format!("strict-priority.bands = [{}]", bands.join(", ")))
    };
    let tree = |count, lacking: &[Kind]| compiled(&bands(count), &settings(lacking, false));
    assert_eq!(tree(8, &[]).unwrap().leaves.len(), 8);
    let nine = tree(9, &[]).unwrap();
    assert_eq!((nine.leaves.len(), nine.leaves[0].queue.kind), (1, Kind::Prio));
    assert!(tree(9, &[Kind::Prio]).unwrap_err()[0].what.contains("HTB has up to 8 priorities"));
    assert!(
        tree(17, &[]).unwrap_err()[0].what.contains("17 bands exceed the kernel's maximum of 16")
    );
}

#[test]
fn numbers_that_the_kernel_does_not_count_are_refused_before_anything_is_done() {
    assert!(
        refused("fifo = { limit = \"5000000000 pkt\" }")[0].contains("5000000000 packets or bytes")
    );
    assert!(refused("fifo = { limit = \"4000000000 pkt\" }").is_empty());
    let long =
        of_queue("wrr.classes = [{ weight = 4_000_000, queue.fifo = { limit = \"9 pkt\" } }]");
    let refusals = compiled(&long, &settings(&[], true)).unwrap_err();
    assert!(refusals[0].what.contains("exceeds the kernel's maximum"), "{refusals:?}");
    let fast = Settings { rate: Some("11000 Gbit/s".parse().unwrap()), ..settings(&[], false) };
    let refusals = compiled(&of_queue("fifo = { limit = \"9 pkt\" }"), &fast).unwrap_err();
    assert!(refusals[0].what.contains("exceeds the maximum of 10000 Gbit/s"), "{refusals:?}");
}

/// What HTB and its root get where this is said of the link, by `--link-layer` or by the policy's shaper.
fn given_to_htb(asked: Option<&str>, own: &str, link_header: u64) -> (String, String) {
    let queue = format!(
        "shaper = {{ rate = \"6500 kbit/s\", link_layer = \"{own}\", queue.fifo = {{ limit = \"9 pkt\" }} }}"
    );
    let link_layer = asked.map(|layer| layer.parse().unwrap());
    let settings = Settings { rate: None, link_layer, link_header, ..settings(&[], false) };
    let steps = first_steps(&compiled(&of_queue(&queue), &settings).unwrap());
    let steps: Vec<String> = steps.iter().map(ToString::to_string).collect();
    let find = |start: &str| steps.iter().find(|step| step.starts_with(start)).unwrap().clone();
    let root = find("tc qdisc add dev eth0 root");
    let line = find("tc class add dev eth0 parent 5f00: classid 5f00:fff0");
    let word = |text: &str, from: &str, to: &str| {
        let rest = text.split_once(from).unwrap().1;
        rest.split_once(to).map_or(rest, |(word, _)| word).trim().to_owned()
    };
    let rate = word(&line, " htb rate ", " ceil");
    (word(&root, "5f00:", "htb"), format!("{rate} {}", word(&line, "quantum 1514", "\n")))
}

#[test]
fn a_link_layer_counts_from_the_packet_and_the_kernel_from_its_header() {
    for (asked, own, header, root, line) in [
        (None, "raw", 14, "", "6500000bit "),
        (None, "docsis", 14, "", "6500000bit overhead 4 mpu 64"),
        (Some("docsis"), "raw", 0, "", "6500000bit overhead 18 mpu 64"),
        (Some("pppoe-llcsnap"), "docsis", 14, "", "6500000bit overhead 26 linklayer atm"),
        // 64 of 65 bytes are left, and a short piece takes a byte, too.
        (None, "pppoe-ptm", 14, "", "6400000bit overhead 17"),
        // HTB's own overhead is never below zero.
        (None, "pppoa-vcmux", 14, "stab overhead -4", "6500000bit linklayer atm"),
        (None, "pppoa-vcmux", 0, "", "6500000bit overhead 10 linklayer atm"),
        (None, "overhead -2 mpu 60", 14, "stab overhead -16", "6500000bit mpu 60"),
    ] {
        let found = given_to_htb(asked, own, header);
        assert_eq!(found, (root.to_owned(), line.to_owned()), "{asked:?} {own} {header}");
    }
}

#[test]
fn where_a_policy_and_the_command_speak_of_different_links_that_is_noted() {
    let shaper = "shaper = { rate = \"4 Mbit/s\", link_layer = \"docsis\", queue.fifo = { limit = \"9 pkt\" } }";
    let link_layer = Some("pppoe-ptm".parse().unwrap());
    let settings = Settings { link_layer, ..settings(&[], false) };
    let notes = compiled(&of_queue(shaper), &settings).unwrap().notes.join("\n");
    assert!(
        notes.contains("its link layer is docsis, but --link-layer is pppoe-ptm, which is used"),
        "{notes}"
    );
}

#[test]
fn a_table_without_limit_has_one_on_a_device_and_that_is_noted() {
    let policy = |table: &str| {
        let marker = format!("marker.fair-marker = {{ cir = \"1 Mbit/s\", {table} }}");
        let text = format!("name = \"p\"\n[[roles.edge.classes]]\nname = \"web\"\n{marker}\n");
        shortflow_policy::from_text("p.toml", &text, &[]).unwrap()
    };
    let notes = |table| {
        let policy = policy(table);
        compile_edge(&policy, &policy.roles[0], &Owners::new()).unwrap().unwrap().notes
    };
    assert!(notes("table_size = 30").is_empty());
    let noted = notes("table_size = \"unlimited\", idle_timeout = \"1 s\"").join("\n");
    assert!(noted.contains("class `web`: a device remembers at most 65536 flows"), "{noted}");
}
