//! Groups, links, bindings, workloads and measures as they are resolved.

use shortflow_elements::dropper::LossParams;
use shortflow_packet::Dscp;
use shortflow_scenario::{Direction, NodeId, Overrides, Scenario, WorkloadKind, from_texts};
use shortflow_units::{Bytes, Duration, Instant, Length};

/// 8 users behind 4 access routers, 2 per router; the access routers hang on one core router with
/// one server behind it.
const TREE: &str = r#"
duration = "10 s"
policy = "policy.toml"

[hosts.user]
count = 8
[hosts.server]
[routers.access]
count = 4
[routers.core]

[links.last_mile]
between = ["user", "access"]
rate = { forward = "1 Mbit/s", back = "10 Mbit/s" }
delay = ["1 ms", "2 ms", "3 ms", "4 ms"]
overhead = "18 B"

[links.trunk]
between = ["access", "core"]
rate = "100 Mbit/s"
delay = "5 ms"
queue = "64 KB"
loss = { back = { AF11 = 0.001, rest = 0.01 } }

[links.server]
between = ["core", "server"]
rate = "1 Gbit/s"
delay = "1 us"

[[bind]]
role = "edge"
at = "access"
from = "user"

[[bind]]
role = "queue"
at = "core"
to = "access[2]"

[workloads.web.transfers]
client = "user"
server = "server"
rate = "10 /s"
request.constant = "1 seg"
reply.choice = { sizes = ["1 seg", "20 seg"] }
start = "1 s"
[workloads.web.transfers.tcp]
mss = "500 B"
delayed_ack = { timeout = "100 ms" }

[workloads.voice.cbr]
from = "server"
to = "user[3]"
rate = "64 kbit/s"
packet = "200 B"
dscp = "EF"
"#;

const POLICY: &str = r#"
[[roles.edge.classes]]
name = "all"
marker.tsw2cm = { cir = "500 kbit/s" }
[roles.queue.queue.fifo]
limit = "100 pkt"
"#;

fn tree(more: &str) -> Scenario {
    let text = format!("{TREE}{more}");
    let texts = [("tree.toml", text.as_str()), ("policy.toml", POLICY)];
    let loaded = from_texts(&texts, &Overrides::default());
    let loaded = loaded.unwrap_or_else(|mistakes| panic!("{mistakes}"));
    loaded.into_points().remove(0).scenario
}

#[test]
fn nodes_are_numbered_hosts_first_and_members_have_an_index() {
    let scenario = tree("");
    let names: Vec<&str> = scenario.nodes.iter().map(|node| node.name.as_str()).collect();
    assert_eq!(names.len(), 8 + 1 + 4 + 1);
    assert_eq!(
        [names[0], names[7], names[8], names[9], names[13]],
        ["user[0]", "user[7]", "server", "access[0]", "core"]
    );
    let server: Vec<String> =
        scenario.addresses.of_node(NodeId(8)).map(|address| address.to_string()).collect();
    assert_eq!(server, ["10.0.0.9", "fd00::a00:9"]);
    assert_eq!(scenario.name, "tree", "a scenario without a name has that of its file");
}

#[test]
fn a_greater_group_hangs_on_a_smaller_one_in_blocks() {
    let scenario = tree("");
    let ends = |name: &str| -> Vec<(u32, u32)> {
        let links = scenario.links.iter().filter(|link| link.name.starts_with(name));
        links.map(|link| (link.a.0, link.b.0)).collect()
    };
    let last_mile = [(0, 9), (1, 9), (2, 10), (3, 10), (4, 11), (5, 11), (6, 12), (7, 12)];
    assert_eq!(ends("last_mile"), last_mile);
    assert_eq!(ends("trunk"), [(9, 13), (10, 13), (11, 13), (12, 13)]);
}

#[test]
fn a_link_layer_is_a_name_its_parts_or_a_table_and_overhead_takes_the_place_of_its_own() {
    for (written, expected) in [
        ("link_layer = \"docsis\"", "docsis"),
        ("link_layer = \"docsis\"\noverhead = \"22 B\"", "overhead 22 mpu 64"),
        ("link_layer = \"overhead 40 atm\"", "pppoe-llcsnap"),
        (
            "link_layer = { overhead = \"-4 B\", mpu = \"60 B\", framing = \"ptm\" }",
            "overhead -4 mpu 60 ptm",
        ),
        ("overhead = \"0 B\"", "raw"),
    ] {
        let text = TREE.replace("overhead = \"18 B\"", written);
        let texts = [("scenario.toml", text.as_str()), ("policy.toml", POLICY)];
        let loaded =
            from_texts(&texts, &Overrides::default()).unwrap_or_else(|wrong| panic!("{wrong}"));
        let link = &loaded.points()[0].scenario.links[0];
        assert_eq!(link.forward.link_layer.to_string(), expected);
        assert_eq!(link.back.link_layer, link.forward.link_layer);
    }
}

#[test]
fn a_link_has_two_directions_and_a_list_repeats() {
    let scenario = tree("");
    let link = &scenario.links[5];
    assert_eq!(link.name, "last_mile[5]");
    assert_eq!(link.forward.rate.to_string(), "1 Mbit/s");
    assert_eq!(link.back.rate.to_string(), "10 Mbit/s");
    // The sixth of a list of four: 1, 2, 3, 4, 1, 2 ms.
    assert_eq!(link.forward.delay, Duration::from_millis(2));
    assert_eq!(link.forward.link_layer.to_string(), "overhead 18");
    assert_eq!(link.forward.limit, Length::Packets(1000));
    let trunk = &scenario.links[8];
    assert_eq!(trunk.forward.limit, Length::Bytes(Bytes(64_000)));
    assert!(trunk.forward.loss.is_none());
    let Some(LossParams::Bernoulli(model)) = &trunk.back.loss else {
        panic!("each packet is lost on its own");
    };
    let loss = &model.loss;
    assert_eq!(loss.get(Dscp::AF11).value(), 0.001);
    assert_eq!(loss.get(Dscp::BEST_EFFORT).value(), 0.01);
}

#[test]
fn a_link_may_lose_packets_in_bursts_in_one_direction() {
    let text = TREE.replace(
        "{ AF11 = 0.001, rest = 0.01 }",
        "{ gilbert-elliott = { to_bad = 0.01, \
                             to_good = 0.25, loss_bad = { AF11 = 0.5, rest = 1 } } }",
    );
    let loaded = from_texts(&[("t.toml", &text), ("policy.toml", POLICY)], &Overrides::default());
    let loaded = loaded.unwrap_or_else(|mistakes| panic!("{mistakes}"));
    let trunk = &loaded.points()[0].scenario.links[8];
    assert!(trunk.forward.loss.is_none());
    let Some(LossParams::GilbertElliott(loss)) = &trunk.back.loss else { panic!("bursts") };
    assert!((loss.bad_share() - 1.0 / 26.0).abs() < 1e-12);
}

#[test]
fn a_role_bound_at_a_group_is_played_at_every_port_that_a_link_makes() {
    let scenario = tree("");
    let edges: Vec<(u32, Direction)> = scenario
        .bindings
        .iter()
        .filter(|binding| binding.role == "edge")
        .map(|binding| (binding.at.0, binding.direction))
        .collect();
    assert_eq!(edges.len(), 8);
    assert_eq!(edges[2], (10, Direction::From(shortflow_scenario::NodeId(2))));
    let core = scenario.bindings.last().unwrap();
    assert_eq!(core.direction, Direction::To(shortflow_scenario::NodeId(11)));
    // The series of the one bound queue are kept, unless ports are named.
    assert_eq!(scenario.measure.ports.len(), 1);
    assert_eq!(tree("[measure]\nports = [\"access->core\"]\n").measure.ports.len(), 4);
}

#[test]
fn a_role_may_be_bound_at_a_list_of_groups_and_towards_a_list() {
    let more = "[[bind]]\nrole = \"edge\"\nat = [\"server\", \"user[6:]\"]\n\
                to = [\"access[3]\", \"core\"]\n";
    let bindings = tree(more).bindings;
    let places: Vec<(u32, Direction)> = bindings[bindings.len() - 3..]
        .iter()
        .map(|binding| (binding.at.0, binding.direction))
        .collect();
    let to = |node| Direction::To(shortflow_scenario::NodeId(node));
    assert_eq!(places, [(6, to(12)), (7, to(12)), (8, to(13))], "only where a link is");
}

#[test]
fn a_binding_from_the_command_line_counts_where_the_file_binds_the_same_port() {
    let bound = |bind: &[&str]| {
        let bind = bind.iter().map(|text| (*text).to_owned()).collect();
        let texts = [("tree.toml", TREE), ("policy.toml", POLICY)];
        let loaded = from_texts(&texts, &Overrides { bind, ..Overrides::default() });
        let loaded = loaded.unwrap_or_else(|mistakes| panic!("{mistakes}"));
        let scenario = loaded.into_points().remove(0).scenario;
        let roles = scenario.bindings.into_iter();
        let roles: Vec<_> = roles.map(|b| (b.role, b.at.0, b.direction)).collect();
        (roles, scenario.inputs.overrides)
    };
    let to = |node| Direction::To(shortflow_scenario::NodeId(node));
    let (of_file, _) = bound(&[]);
    assert_eq!(of_file.len(), 9);
    assert_eq!(of_file[8], ("queue".to_owned(), 13, to(11)));
    let (both, inputs) = bound(&["edge=core->access[2], server", "queue = server -> core"]);
    assert_eq!(both.len(), 11, "8 at access, and those three; that of the file is replaced");
    assert_eq!(
        both[8..],
        [
            ("edge".to_owned(), 13, to(8)),
            ("edge".to_owned(), 13, to(11)),
            ("queue".to_owned(), 8, to(13)),
        ]
    );
    assert_eq!(inputs, ["bind edge=core->access[2], server", "bind queue = server -> core"]);
}

#[test]
fn a_workload_over_groups_has_a_pair_for_each_member() {
    let scenario = tree("");
    let WorkloadKind::Transfers(web) = &scenario.workloads[0].kind else { panic!("web is first") };
    assert_eq!(web.pairs.len(), 8);
    assert!(web.pairs.iter().all(|(_, server)| server.0 == 8));
    assert_eq!(web.start, Instant::START + Duration::from_secs(1));
    assert_eq!(web.stop, Instant::START + Duration::from_secs(10));
    let WorkloadKind::Cbr(voice) = &scenario.workloads[1].kind else { panic!("voice is second") };
    assert_eq!(voice.pairs, [(shortflow_scenario::NodeId(8), shortflow_scenario::NodeId(3))]);
    assert_eq!(voice.dscp, Dscp::EF);
}

#[test]
fn the_ends_of_a_workload_may_be_slices_and_lists_in_their_order() {
    let scenario =
        tree("[workloads.some.bulk]\nfrom = [\"user[6:]\", \"user[0:6:3]\"]\nto = \"server\"\n");
    let pairs: Vec<(u32, u32)> =
        scenario.workloads[2].kind.pairs().iter().map(|(from, to)| (from.0, to.0)).collect();
    assert_eq!(pairs, [(6, 8), (7, 8), (0, 8), (3, 8)]);
}

#[test]
fn a_share_of_nothing_has_no_arrivals() {
    let scenario = tree(
        "[workloads.rest.transfers]\nclient = \"user\"\nserver = \"server\"\n\
        rate = \"10 /s\"\nshare = 0\nrequest.constant = \"1 B\"\nreply.constant = \"1 B\"\n",
    );
    let WorkloadKind::Transfers(rest) = &scenario.workloads[2].kind else {
        panic!("rest is third")
    };
    assert_eq!(rest.arrivals(1, "rest").next(), None);
}

#[test]
fn a_workload_may_differ_from_the_scenarios_tcp() {
    let scenario = tree("[tcp]\nrto_min = \"1 s\"\n");
    let tcp = &scenario.workloads[0].tcp;
    assert_eq!(tcp.mss, 500);
    assert_eq!(tcp.rto_min, Duration::from_secs(1));
    assert_eq!(tcp.delayed_ack.unwrap().segments, 2);
    assert_eq!(scenario.workloads[1].tcp.mss, 1448, "only its own settings change");
}

#[test]
fn listed_replies_are_classes_of_their_own() {
    let labels = |more: &str| -> Vec<String> {
        tree(more).measure.size_classes.iter().map(|class| class.label.clone()).collect()
    };
    assert_eq!(labels(""), ["1 seg", "20 seg"]);
    let written = labels("[measure]\nsize_classes = [\"1 KB\", \"10 KB\"]\n");
    assert_eq!(written, ["up to 1 KB", "up to 10 KB", "above 10 KB"]);
    let drawn = "[workloads.more.transfers]\nclient = \"user\"\nserver = \"server\"\n\
                 rate = \"1 /s\"\nrequest.constant = \"1 KB\"\n\
                 reply.exponential = { mean = \"10 KB\" }\n";
    assert_eq!(labels(drawn)[..2], ["up to 1 KB", "up to 10 KB"]);
}

#[test]
fn a_large_tree_is_checked_in_no_time() {
    let text = TREE.replace("count = 8", "count = 40000").replace("user[3]", "user");
    let text = text.replace("rate = \"64 kbit/s\"", "rate = \"64 bit/s\"");
    let texts = [("tree.toml", text.as_str()), ("policy.toml", POLICY)];
    let loaded = from_texts(&texts, &Overrides::default()).unwrap();
    assert_eq!(loaded.points()[0].scenario.workloads[1].kind.pairs().len(), 40_000);
}

#[test]
fn the_schema_describes_every_key_and_lets_parameters_stand_for_numbers() {
    let schema = shortflow_scenario::schema();
    let schema = schema.as_value();
    assert_eq!(schema["additionalProperties"], false);
    for key in ["duration", "hosts", "links", "bind", "workloads", "sweep"] {
        assert!(schema["properties"][key]["description"].is_string(), "{key} is described");
    }
    for (kind, keys) in [
        ("WebFile", &["http", "connections", "keep_alive", "page", "think", "replay"][..]),
        ("PageFile", &["index", "objects", "object", "pool"]),
        ("ReplayFile", &["file", "busy"]),
        ("TelnetFile", &["packet", "pause", "sessions"]),
        ("FtpFile", &["size", "pause", "start_window"]),
        ("MeasureFile", &["limits", "accesses"]),
    ] {
        for key in keys {
            let found = &schema["$defs"][kind]["properties"][key];
            assert!(found["description"].is_string(), "{kind}.{key} is described: {found}");
        }
    }
    let seed = schema["properties"]["seed"]["anyOf"].as_array().unwrap();
    assert!(seed.iter().any(|form| form["pattern"] == "^[$=]"));
}
