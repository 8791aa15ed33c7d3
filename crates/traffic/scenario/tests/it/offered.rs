//! What workloads offer to each link, and what is warned of.

use shortflow_scenario::{LineLoad, Loaded, Overrides, Scenario, from_texts};

fn load(scenario: &str, policy: &str) -> Loaded {
    let texts = [("s.toml", scenario), ("p.toml", policy)];
    from_texts(&texts, &Overrides::default()).unwrap_or_else(|mistakes| panic!("{mistakes}"))
}

fn scenario(text: &str) -> Scenario {
    load(text, "").into_points().remove(0).scenario
}

/// What is offered from `from` to `to`.
fn line<'l>(scenario: &Scenario, lines: &'l [LineLoad], from: &str, to: &str) -> &'l LineLoad {
    let name = |node: shortflow_scenario::NodeId| &scenario.nodes[node.index()].name;
    lines.iter().find(|line| name(line.from) == from && name(line.to) == to).expect("a link")
}

/// A ring of four routers with a host at each.
const RING: &str = r#"
duration = "10 s"
hosts.h.count = 4
routers.r.count = 4
links.host = { between = ["h", "r"], rate = "100 Mbit/s", delay = "1 ms" }
links.a = { between = ["r[0]", "r[1]"], rate = "10 Mbit/s", delay = "1 ms" }
links.b = { between = ["r[1]", "r[2]"], rate = "10 Mbit/s", delay = "1 ms", overhead = "18 B" }
links.c = { between = ["r[2]", "r[3]"], rate = "10 Mbit/s", delay = "1 ms" }
links.d = { between = ["r[3]", "r[0]"], rate = "10 Mbit/s", delay = "1 ms" }
"#;

#[test]
fn replies_load_the_way_back_and_requests_the_way_there() {
    // Segments of 1000 bytes with headers of 40: a reply of 2500 bytes has 3 of them, 2620 bytes.
    let scenario = scenario(&format!(
        "{RING}tcp.mss = \"1000 B\"\n[workloads.web.transfers]\nclient = \"h[0]\"\nserver = \"h[1]\"\n\
         rate = \"100 /s\"\nrequest.constant = \"500 B\"\nreply.constant = \"2500 B\"\n"
    ));
    let load = scenario.offered_load();
    let header = f64::from(scenario.workloads[0].tcp.header);
    let bits = |from, to| line(&scenario, &load.lines, from, to).total();
    assert!((bits("r[1]", "r[0]") - 100.0 * (2500.0 + 3.0 * header) * 8.0).abs() < 1e-6);
    assert!((bits("r[0]", "r[1]") - 100.0 * (500.0 + header) * 8.0).abs() < 1e-6);
    assert_eq!(bits("h[1]", "r[1]"), bits("r[1]", "r[0]"), "the host's link carries the same");
    assert_eq!(bits("r[1]", "r[2]"), 0.0);
}

#[test]
fn cells_of_a_link_load_it_as_a_whole() {
    let ring = RING.replace("overhead = \"18 B\"", "link_layer = \"pppoe-llcsnap\"");
    let scenario = scenario(&format!(
        "{ring}[workloads.voice.cbr]\nfrom = \"h[1]\"\nto = \"h[2]\"\nrate = \"80 kbit/s\"\npacket = \"200 B\"\n"
    ));
    let load = scenario.offered_load();
    // 200 + 40 bytes are five cells of 53, fifty times a second.
    let found = line(&scenario, &load.lines, "r[1]", "r[2]").total();
    assert!((found - 50.0 * 5.0 * 53.0 * 8.0).abs() < 1e-6, "{found}");
}

#[test]
fn a_way_has_the_fewest_hops_and_a_tie_goes_to_the_link_named_first() {
    let scenario = scenario(&format!(
        "{RING}[workloads.voice.cbr]\nfrom = \"h[0]\"\nto = \"h[2]\"\nrate = \"2 Mbit/s\"\n\
         packet = \"250 B\"\n[workloads.long.bulk]\nfrom = \"h[0]\"\nto = \"h[2]\"\n"
    ));
    let load = scenario.offered_load();
    let bits = |from, to| line(&scenario, &load.lines, from, to).total();
    assert_eq!(bits("r[0]", "r[1]"), 2e6, "both ways have two hops; `a` is named before `d`");
    assert_eq!(bits("r[0]", "r[3]"), 0.0);
    // 1000 packets a second, and the link adds 18 bytes to each.
    assert!((bits("r[1]", "r[2]") - (2e6 + 1000.0 * 18.0 * 8.0)).abs() < 1e-6);
    assert!((line(&scenario, &load.lines, "r[0]", "r[1]").share() - 0.2).abs() < 1e-12);
    assert_eq!(load.elastic, [1], "a long flow takes what it gets");
}

#[test]
fn many_pairs_share_the_rate_of_their_workload() {
    let scenario = scenario(&format!(
        "{RING}[workloads.web.transfers]\nclient = [\"h[1]\", \"h[3]\"]\nserver = \"h[0]\"\n\
         load = \"8 Mbit/s\"\nrequest.constant = \"100 B\"\nreply.constant = \"10 KB\"\n"
    ));
    let load = scenario.offered_load();
    let bits = |from, to| line(&scenario, &load.lines, from, to).total();
    assert!((bits("h[0]", "r[0]") - 8e6).abs() < 1e-3);
    assert!((bits("r[0]", "r[1]") - 4e6).abs() < 1e-3);
    assert!((bits("r[0]", "r[3]") - 4e6).abs() < 1e-3);
}

#[test]
fn an_overload_piles_up_connections_in_the_estimate_of_memory() {
    let memory = |load: &str| {
        let text = format!(
            "{RING}[workloads.web.transfers]\nclient = \"h[1]\"\nserver = \"h[0]\"\n\
             load = \"{load}\"\nrequest.constant = \"100 B\"\nreply.constant = \"10 KB\"\n"
        );
        scenario(&text).memory().connections.0 as f64
    };
    // Some 120 and 1,170 a second: of the latter 90 % are still open after 10 s.
    let (calm, crowded) = (memory("1 Mbit/s"), memory("100 Mbit/s"));
    assert!(crowded / calm > 50.0, "{calm} and {crowded}");
}

const BOUND: &str =
    "policy = \"p.toml\"\nbind = [{ role = \"core\", at = \"r[0]\", to = \"r[1]\" }]\n";
const LONG: &str = "[workloads.long.bulk]\nfrom = \"h[0]\"\nto = \"h[1]\"\n";

fn warnings(policy: &str) -> String {
    load(&format!("{BOUND}{RING}{LONG}"), policy).warnings.to_string()
}

#[test]
fn a_role_that_does_something_and_is_bound_nowhere_is_warned_of() {
    let core = "[roles.core]\nqueue.fifo.limit = \"10 pkt\"\n";
    assert_eq!(warnings(core), "");
    assert_eq!(warnings(&format!("{core}[roles.edge]\n")), "", "an empty role does nothing");
    let edge = "[[roles.edge.classes]]\nname = \"all\"\nmarker.fixed.dscp = \"EF\"\n";
    let expected = "\
warning: the role `edge` of p.toml conditions packets, but it is not bound to a port, so this part of the policy has no effect
 --> s.toml:1:10
  |
1 | policy = \"p.toml\"
  |          ^^^^^^^^
  |
  = help: bind it with a [[bind]] table or with --bind 'edge=NODE<-NEIGHBOUR'; roles bound here: `core`";
    assert_eq!(warnings(&format!("{core}{edge}")), expected);
}

#[test]
fn a_shaper_that_lets_through_what_its_line_carries_is_warned_of() {
    let shaper = |rate: &str| {
        warnings(&format!(
            "[roles.core.queue.shaper]\nrate = \"{rate}\"\nqueue.fifo.limit = \"10 pkt\"\n"
        ))
    };
    let expected = "\
warning: the shaper of the role `core` has no effect: its rate 10 Mbit/s is not below that of the link `r[0]->r[1]`, 10 Mbit/s
 --> s.toml:1:10
  |
1 | policy = \"p.toml\"
  |          ^^^^^^^^
  |
  = help: set its rate a little below that of the bottleneck";
    assert_eq!(shaper("10 Mbit/s"), expected);
    assert_eq!(shaper("9.9 Mbit/s"), "");
}

#[test]
fn classes_that_are_guaranteed_more_than_their_line_has_are_warned_of() {
    let class = |rate: &str| format!("{{ at_least = \"{rate}\", queue.fifo.limit = \"9 pkt\" }}");
    let ef = class("6 Mbit/s").replacen('{', "{ match.dscp = \"EF\",", 1);
    let htb = |rate: &str| format!("htb.classes = [{ef}, {}]", class(rate));
    let guaranteed = |queue: String| warnings(&format!("[roles.core]\nqueue.{queue}\n"));
    assert_eq!(guaranteed(htb("4 Mbit/s")), "");
    let line = guaranteed(htb("5 Mbit/s"));
    let says = "the classes of `htb` in the role `core` are guaranteed 11 Mbit/s together, but there is 10 Mbit/s;";
    assert!(line.contains(says), "{line}");
    let shaped =
        guaranteed(format!("shaper = {{ rate = \"9 Mbit/s\", queue.{} }}", htb("4 Mbit/s")));
    assert!(
        shaped.contains("are guaranteed 10 Mbit/s together, but there is 9 Mbit/s;"),
        "{shaped}"
    );
    let of_class = format!("{{ at_least = \"3 Mbit/s\", queue.{} }}", htb("4 Mbit/s"));
    let nested = guaranteed(format!("htb.classes = [{of_class}]"));
    assert!(
        nested.contains("are guaranteed 10 Mbit/s together, but there is 3 Mbit/s;"),
        "{nested}"
    );
}

#[test]
fn a_policy_that_does_nothing_and_a_class_that_never_matches_are_warned_of() {
    let nothing = warnings("[roles.core]\n");
    assert!(
        nothing
            .starts_with("warning: no role of this policy has classes or a queue\n --> p.toml:1:2"),
        "{nothing}"
    );
    let hidden = "[[roles.core.classes]]\nname = \"tcp\"\nmatch.protocol = \"tcp\"\n\
                  marker.fixed.dscp = \"EF\"\n\
                  [[roles.core.classes]]\nname = \"web\"\nmatch = { protocol = \"tcp\", dst_port = 80 }\n\
                  marker.fixed.dscp = \"AF11\"\n";
    let found = warnings(hidden);
    let expected = "warning: the class `web` can never match: the class `tcp` before it takes all its packets\n";
    assert!(found.starts_with(expected), "{found}");
    let apart = hidden
        .replace("match.protocol = \"tcp\"", "match = { protocol = \"tcp\", dst_port = 20 }")
        .replace("dst_port = 80", "src_port = 20");
    assert_eq!(warnings(&apart), "");
}

/// A flow of DCTCP over a queue that is bound, under a policy.
fn dctcp(queue: &str) -> String {
    let tcp = "[tcp]\ncongestion = \"dctcp\"\necn = true\n";
    let policy = format!("[roles.core]\nqueue.{queue}\n");
    load(&format!("{BOUND}{RING}{LONG}{tcp}"), &policy).warnings.to_string()
}

#[test]
fn dctcp_over_queues_that_never_mark_is_warned_of() {
    let found = dctcp("fifo.limit = \"100 pkt\"");
    let expected =
        "warning: DCTCP reacts to ECN marks, but no queue on the path of `long` marks packets\n";
    assert!(found.starts_with(expected), "{found}");
    assert!(found.contains("congestion = \"dctcp\""), "{found}");
    assert_eq!(dctcp("fq-codel = {}"), "");
    let inside = "drr.classes = [{ queue.fq-codel = {} }]";
    assert_eq!(dctcp(inside), "", "a queue inside another marks too");
    assert!(!dctcp("fq-codel.ecn = false").is_empty());
    let tcp = "[tcp]\ncongestion = \"dctcp\"\necn = true\n";
    let elsewhere = BOUND.replace("r[0]", "r[2]").replace("r[1]", "r[3]");
    let policy = "[roles.core]\nqueue.fq-codel = {}\n";
    let found = load(&format!("{elsewhere}{RING}{LONG}{tcp}"), policy).warnings.to_string();
    assert!(found.starts_with(expected), "a queue on another path does not help: {found}");
}

#[test]
fn a_buffer_that_holds_many_seconds_at_its_rate_is_warned_of() {
    // The line sends 1.25 MB a second.
    let bound = |queue: &str| {
        let policy = format!("[roles.core]\nqueue.{queue}\n");
        load(&format!("{BOUND}{RING}{LONG}"), &policy).warnings.to_string()
    };
    let says = |found: &str, expected: &str| {
        let expected = format!("warning: the buffer from r[0] to r[1] holds up to {expected}\n");
        assert!(found.starts_with(&expected), "{found}");
    };
    let fifo = |limit: &str| bound(&format!("fifo.limit = \"{limit}\""));
    says(&fifo("50 MB"), "40 s at 10 Mbit/s: `roles.core.queue.fifo.limit` = 50 MB");
    says(
        &fifo("33334 pkt"),
        "40 s at 10 Mbit/s with packets of 1500 B: `roles.core.queue.fifo.limit` = 33334 pkt",
    );
    assert!(fifo("50 MB").contains("links.a = {"), "{}", fifo("50 MB"));
    assert_eq!(fifo("6 MB"), "");
    assert_eq!(fifo("10000000 pkt"), "", "more than an hour is meant as unlimited");
    assert_eq!(bound("fq-codel.limit = \"50 MB\""), "", "CoDel drops before the limit");
    assert_eq!(bound("pie.limit = \"50 MB\""), "");
    says(
        &bound("shaper = { rate = \"1 Mbit/s\", burst = \"3 KB\", queue.fifo.limit = \"5 MB\" }"),
        "40 s at 1 Mbit/s: `roles.core.queue.shaper.queue.fifo.limit` = 5 MB",
    );
    let bands = "strict-priority.bands = [{ match.port = 20, queue.fifo.limit = \"9 pkt\" }, { queue.fifo.limit = \"50 MB\" }]";
    says(
        &bound(bands),
        "40 s at 10 Mbit/s: `roles.core.queue.strict-priority.bands.1.queue.fifo.limit` = 50 MB",
    );
    let link = |text: &str| {
        let ring = RING.replacen("\"10 Mbit/s\", delay", text, 1);
        load(&format!("{ring}{LONG}"), "").warnings.to_string()
    };
    says(&link("\"10 Mbit/s\", queue = \"50 MB\", delay"), "40 s at 10 Mbit/s: `queue` = 50 MB");
    assert_eq!(link("\"10 kbit/s\", delay"), "", "the file sets no queue");
}

#[test]
fn what_is_absurd_but_allowed_is_warned_of() {
    let warned = |scenario: &str| load(scenario, "").warnings.to_string();
    let lossy = format!("{RING}{LONG}").replacen("rate = ", "loss = 1, rate = ", 1);
    assert!(warned(&lossy).contains("loses every packet"), "{}", warned(&lossy));
    let cbr = "[workloads.calls.cbr]\nfrom = \"h[0]\"\nto = \"h[1]\"\nrate = \"10 kbit/s\"\n";
    let calls = |packet: u32| warned(&format!("{RING}{cbr}packet = \"{packet} B\"\n"));
    assert!(
        calls(10).contains("a packet of 10 B is smaller than its headers: UDP and IPv4 take 28 B"),
        "{}",
        calls(10)
    );
    assert_eq!(calls(28), "");
    let until = |stop: &str| {
        let calls = format!("{cbr}packet = \"100 B\"\nstop = \"{stop}\"\n");
        warned(&format!("warm_up = \"5 s\"\n{RING}{calls}"))
    };
    let early = "stop 5 s is not after the warm-up 5 s; nothing of this workload is measured";
    assert!(until("5 s").contains(early), "{}", until("5 s"));
    assert_eq!(until("6 s"), "");
    let far = format!("{RING}{LONG}").replacen("\"1 ms\"", "\"1000 h\"", 1);
    assert!(warned(&far).contains("no packet arrives over the link"), "{}", warned(&far));
}

/// Warnings of transfers between two hosts whose round trip is 6 ms.
fn of_transfers(reply: &str, more: &str) -> String {
    let pages = format!(
        "[workloads.pages.transfers]\nclient = \"h[0]\"\nserver = \"h[1]\"\nload = \"4 Mbit/s\"\n\
         request.constant = \"300 B\"\nreply.pareto = {{ mean = \"50 KB\", {reply} }}\n"
    );
    load(&format!("replicas = 2\n{RING}{pages}{more}"), "").warnings.to_string()
}

#[test]
fn a_load_that_is_mostly_in_replies_too_rare_for_the_run_is_warned_of() {
    let heavy = of_transfers("shape = 1.01", "");
    assert!(heavy.contains("of which fewer than one is expected in all replicas"), "{heavy}");
    assert!(heavy.contains("% of the load of `pages`"), "{heavy}");
    assert_eq!(of_transfers("shape = 1.5", ""), "");
    assert_eq!(of_transfers("shape = 1.01, max = \"60 KB\"", ""), "", "large ones are cut");
}

#[test]
fn a_window_rate_below_a_segment_in_a_round_trip_is_warned_of_with_the_least_rate() {
    // 1000 B in 6 ms are 1.33 Mbit/s.
    let with = |rate: &str| {
        of_transfers("shape = 1.5", &format!("[tcp]\nmss = \"1000 B\"\nwindow_rate = \"{rate}\"\n"))
    };
    let low = with("1.3 Mbit/s");
    assert!(low.contains("a round trip of `pages` (6 ms)"), "{low}");
    assert!(low.contains("the least rate of this path is 1.34 Mbit/s"), "{low}");
    assert_eq!(with("1.4 Mbit/s"), "");
}

#[test]
fn a_load_that_no_link_carries_is_warned_of_with_its_figure() {
    let cbr = |rate: &str| {
        format!(
            "{RING}[workloads.calls.cbr]\nfrom = \"h[0]\"\nto = \"h[1]\"\nrate = \"{rate}\"\npacket = \"1000 B\"\n"
        )
    };
    let warned = |rate: &str| load(&cbr(rate), "").warnings.to_string();
    assert_eq!(warned("1 kbit/s"), "");
    let found = warned("1000 Gbit/s");
    assert!(found.contains("the load offered from r[0] to r[1] is "), "{found}");
    assert!(found.contains(" % of the link's rate"), "{found}");
}
