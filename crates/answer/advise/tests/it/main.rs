//! Networks in a few words, as scenarios.

mod captures;

use shortflow_advise::{LINES, LineKind, Network, Slower, Use, read_csv};
use shortflow_scenario::{Overrides, from_texts};
use shortflow_units::Rate;

const POLICY: &str =
    "[roles.source]\n[roles.edge]\n[roles.core]\nqueue.fifo = { limit = \"100 pkt\" }\n";

fn network(line: &str, users: u32, uses: &[Use]) -> Network {
    Network {
        name: "a \"net\"".to_owned(),
        up: Rate::from_bits_per_sec(2_000_000),
        down: Rate::from_bits_per_sec(16_000_000),
        line: LineKind::parse(line).unwrap(),
        users,
        uses: uses.to_vec(),
        flows: None,
        sizes: 1.0,
    }
}

/// The workloads of a network's scenario, which is checked as every scenario is.
fn workloads(network: &Network) -> Vec<String> {
    let text = network.scenario();
    let texts = [("scenario.toml", text.as_str()), ("policy.toml", POLICY)];
    let overrides = Overrides { policy: Some("policy.toml".into()), ..Overrides::default() };
    let loaded = from_texts(&texts, &overrides).unwrap_or_else(|wrong| panic!("{wrong}\n{text}"));
    let scenario = &loaded.points()[0].scenario;
    scenario.workloads.iter().map(|workload| workload.name.clone()).collect()
}

#[test]
fn every_line_and_every_use_make_a_scenario_without_mistakes() {
    for line in LINES {
        for users in [1, 7, 1000] {
            workloads(&network(line.name, users, &[Use::Voice, Use::Backup]));
        }
    }
    for one in Use::ALL {
        assert!(!workloads(&network("pppoe", 3, &[one])).is_empty());
    }
    assert_eq!(workloads(&network("dsl", 30, &Use::ALL)).len(), 11);
    for megabits in [1, 60, 100, 300, 10_000] {
        let rate = Rate::from_bits_per_sec(megabits * 1_000_000);
        workloads(&Network { up: rate, down: rate, ..network("fibre", 2, &Use::ALL) });
    }
}

#[test]
fn the_gateway_counts_packets_as_they_are_on_the_line() {
    for line in LINES {
        let text = network(line.name, 7, &[Use::Voice]).scenario();
        let texts = [("scenario.toml", text.as_str()), ("policy.toml", POLICY)];
        let overrides = Overrides { policy: Some("policy.toml".into()), ..Overrides::default() };
        let loaded = from_texts(&texts, &overrides).unwrap_or_else(|wrong| panic!("{wrong}"));
        let links = &loaded.points()[0].scenario.links;
        let link = |name: &str| links.iter().find(|link| link.name == name).unwrap();
        for found in [&link("line").forward, &link("outside").forward, &link("inside").back] {
            assert_eq!(found.link_layer, line.link_layer, "{}", line.name);
        }
        let [ours, lines] = [link("outside"), link("line")].map(|link| link.forward.rate);
        assert!(ours < lines, "{}", line.name);
    }
}

#[test]
fn a_dsl_line_as_slow_as_adsl_counts_in_cells() {
    let dsl = LineKind::parse("dsl").unwrap();
    let at = |up: u64, down: u64| {
        let [up, down] = [up, down].map(|kilobits| Rate::from_bits_per_sec(kilobits * 1000));
        dsl.at(up, down).link_layer.to_string()
    };
    assert_eq!(at(840, 8_000), "pppoe-llcsnap");
    assert_eq!(at(840, 25_000), "bridged-ptm");
    assert_eq!(at(4_000, 20_000), "bridged-ptm");
    let cable = LineKind::parse("cable").unwrap();
    let slow = Rate::from_bits_per_sec(1_000_000);
    assert_eq!(cable.at(slow, slow), cable);
}

#[test]
fn of_a_line_that_is_too_fast_to_simulate_one_part_is_with_as_many_users_less() {
    let fast = |megabits: u64, users| {
        let rate = Rate::from_bits_per_sec(megabits * 1_000_000);
        Network { up: rate, down: rate, ..network("fibre", users, &[Use::Web, Use::Backup]) }
    };
    let (whole, part) = (fast(500, 200), fast(1000, 400));
    assert!(!whole.simulated().contains("part"), "{}", whole.simulated());
    assert_eq!(
        part.simulated(),
        "5 s each, after 3 s of warm-up, with 1/2 of the rates and of the users"
    );
    let (whole, part) = (whole.scenario(), part.scenario());
    assert!(part.starts_with("# 1/2 of the network"), "{part}");
    for same in
        ["user = { count = 200 }", "rate = { forward = \"500 Mbit/s\", back = \"500 Mbit/s\" }"]
    {
        assert!(whole.contains(same) && part.contains(same), "{same}\n{part}");
    }
    // What the modem holds leaves it in the same time.
    assert!(whole.contains("queue = \"1000 pkt\"") && part.contains("queue = \"500 pkt\""));
}

#[test]
fn readers_begin_as_they_do_in_the_long_run_however_short_what_is_simulated_is() {
    for (megabits, users, readers, within) in [
        // 60 s: all of them within what they think for a page.
        (4, 200, 200, 40),
        // 12 s, of which 8 are measured: three in ten come in that time; of few so many that ten pages are measured.
        (250, 200, 60, 12),
        (250, 40, 15, 12),
        (250, 10, 10, 12),
    ] {
        let rate = Rate::from_bits_per_sec(megabits * 1_000_000);
        let uses = &[Use::Web, Use::Backup];
        let net = Network { up: rate, down: rate, ..network("fibre", users, uses) };
        workloads(&net);
        let text = net.scenario();
        let reported = format!("client = \"user[:{readers}]\"");
        assert!(text.contains(&reported), "{megabits} {users}: {text}");
        assert!(text.contains(&format!("start_window = \"{within} s\"")), "{megabits}: {text}");
    }
}

#[test]
fn the_faster_a_line_is_the_less_of_it_is_simulated_and_never_nothing() {
    let mut before = u64::MAX;
    for megabits in [1, 60, 61, 126, 251, 501, 1000, 10_000] {
        let rate = Rate::from_bits_per_sec(megabits * 1_000_000);
        let net = Network { up: rate, down: rate, ..network("fibre", 2, &[Use::Web]) };
        let reported = net.simulated();
        let seconds: u64 = reported.split(' ').next().unwrap().parse().unwrap();
        assert!((5..=before).contains(&seconds), "{megabits} Mbit/s: {reported}");
        before = seconds;
    }
}

#[test]
fn sizes_are_as_assumed_or_so_many_times_that() {
    let page = |sizes| {
        let net = Network { sizes, ..network("dsl", 2, &[Use::Web, Use::Streaming]) };
        workloads(&net);
        net.scenario()
    };
    for (sizes, index, film) in
        [(1.0, "30 KB", "2.5 MB"), (2.0, "60 KB", "5 MB"), (0.5, "15 KB", "1.25 MB")]
    {
        let text = page(sizes);
        assert!(text.contains(&format!("page.index.constant = \"{index}\"")), "{text}");
        assert!(text.contains(&format!("page.object.constant = \"{film}\"")), "{text}");
    }
}

// ITU-T Y.1541, class 0.
#[test]
fn the_delay_of_calls_may_vary_by_forty_milliseconds_beyond_the_path() {
    let limits = |line: &str| network(line, 1, &[Use::Voice]).limits();
    assert_eq!(limits("fibre")[0], "calls_up.delay.p99 <= 53 ms");
    assert_eq!(limits("satellite")[0], "calls_up.delay.p99 <= 330 ms");
    assert!(network("fibre", 1, &[Use::Web, Use::Backup]).limits().is_empty());
}

#[test]
fn a_lower_incoming_rate_is_tried_where_calls_share_the_line() {
    let rates = |uses: &[Use]| {
        let each = network("dsl", 2, uses).incoming().into_iter();
        each.map(|one| (one.rate.to_string(), one.label)).collect::<Vec<_>>()
    };
    let [usual, low] = [("15.2 Mbit/s", ""), ("13.6 Mbit/s", "85 % in")]
        .map(|(rate, label)| (rate.to_owned(), label.to_owned()));
    assert_eq!(rates(&[Use::Web, Use::Voice]), [usual.clone(), low]);
    assert_eq!(rates(&[Use::Web, Use::Backup]), [usual]);
}

#[test]
fn the_buffer_of_the_slower_direction_holds_as_long_but_at_least_thirty_packets() {
    let of = |up, down, limit| {
        let rate = Rate::from_bits_per_sec;
        Network { up: rate(up), down: rate(down), ..network("dsl", 1, &[Use::Web]) }
            .slower_buffer(limit)
    };
    assert_eq!(of(20_000_000, 100_000_000, 300), Some((Slower::Out, 60)));
    assert_eq!(of(100_000_000, 20_000_000, 300), Some((Slower::In, 60)));
    assert_eq!(of(1_000_000, 100_000_000, 300), Some((Slower::Out, 30)));
    assert_eq!(of(50_000_000, 50_000_000, 300), None);
    assert_eq!(of(1_000_000, 100_000_000, 30), None);
}

fn list(lines: &[&str]) -> String {
    lines.join("\n")
}

#[test]
fn flows_of_the_users_own_come_as_often_and_as_large_as_in_their_list() {
    let mut lines = vec!["bytes, direction, start_s".to_owned()];
    lines.extend((0..40).map(|n| format!("{}, down, {}", 1000 * (n + 1), n)));
    lines.extend((0..10).map(|n| format!("500, up, {}.5", n)));
    let flows = read_csv("flows.csv", &lines.join("\n")).unwrap();
    assert_eq!((flows.down.sizes.len(), flows.up.sizes.len()), (40, 10));
    assert!((flows.down.per_second - 40.0 / 39.0).abs() < 1e-9);
    let network = Network { flows: Some(flows), ..network("cable", 2, &[Use::Voice]) };
    assert_eq!(workloads(&network), ["calls_up", "calls_down", "own_down", "own_up"]);
    // Forty flows in up to 20 parts, each as often as it has flows, with its mean: 20.5 KB over all.
    let scenario = network.scenario();
    let list = |key: &str| -> Vec<f64> {
        let text = scenario.split(&format!("{key} = [")).nth(1).expect("sizes have weights");
        let text = text.split(']').next().unwrap().replace([' ', '"', 'B'], "");
        text.split(',').map(|number| number.parse().unwrap()).collect()
    };
    let (sizes, weights) = (list("reply.choice = { sizes"), list("weights"));
    assert!((10..=20).contains(&sizes.len()), "{sizes:?}");
    assert_eq!(weights.iter().sum::<f64>(), 40.0);
    let bytes: f64 = sizes.iter().zip(&weights).map(|(size, weight)| size * weight).sum();
    assert!((bytes / 820_000.0 - 1.0).abs() < 1e-3, "{bytes}");
    assert!(scenario.contains("request.constant = \"500 B\""), "{scenario}");
}

#[test]
fn rare_flows_and_a_file_whose_name_breaks_a_line_make_a_scenario_all_the_same() {
    let lines: Vec<String> = (0..12).map(|n| format!("{},900,down", n * 9000)).collect();
    let text = format!("start_s,bytes,direction\n{}", lines.join("\n"));
    let flows = read_csv("my\n[flows]\r.csv", &text).unwrap();
    let network = Network { flows: Some(flows), ..network("cable", 2, &[Use::Voice]) };
    assert_eq!(workloads(&network), ["calls_up", "calls_down", "own_down"]);
    assert!(network.scenario().contains("own flows: my?[flows]?.csv: 12 down"));
}

#[test]
fn what_cannot_wait_and_does_not_fit_the_line_is_told_with_what_the_line_adds() {
    let reported = |up: u64, users: u32, uses: &[Use]| {
        let up = Rate::from_bits_per_sec(up * 1000);
        Network { up, ..network("ethernet", users, uses) }.what_does_not_fit()
    };
    assert_eq!(reported(100, 1, &[Use::Web, Use::Voice]), None);
    assert_eq!(
        reported(64, 10, &[Use::Voice]).unwrap(),
        "80 kbit/s of a call do not fit 64 kbit/s up."
    );
    assert_eq!(
        reported(90, 1, &[Use::Voice]).unwrap(),
        "80 kbit/s of a call, 95.2 kbit/s including the link's overhead for each packet, do not \
            fit 90 kbit/s up."
    );
    assert_eq!(
        reported(2000, 20, &[Use::Voice, Use::Meetings]).unwrap(),
        "2.56 Mbit/s of 2 calls and 2 meetings do not fit 2 Mbit/s up."
    );
}

#[test]
fn a_list_with_a_mistake_is_told_where_and_what_is_allowed() {
    let reported = |lines: &[&str]| read_csv("flows.csv", &list(lines)).unwrap_err().to_string();
    let head = "start_s,bytes,direction";
    let all = [
        reported(&["start,bytes,direction", "1,2,up"]),
        reported(&[head, "1,2,up", "soon,2,up"]),
        reported(&[head, "1,0,up"]),
        reported(&[head, "1,-5,up"]),
        reported(&[head, "1,2,sideways"]),
        reported(&[head, "1,2"]),
        reported(&[head, "1,2,up", "1,2,up,3"]),
        reported(&[head, "1,2,up", "", "", "\"3\", often, up"]),
        reported(&[head, "1,2,up", "NaN,2,up"]),
        reported(&[head]),
        reported(&[]),
        reported(&["start_s,bytes,bytes,direction", "1,2,2,up"]),
        reported(&["start_s;bytes;direction", "1;2;up"]),
        reported(&[head, "1,1000000000001,up"]),
        reported(&[&[head][..], &["3,9,up"; 12]].concat()),
        reported(&[&[head, "0,9,up"][..], &["1e300,9,up"; 12]].concat()),
    ];
    assert_eq!(all.join("\n\n") + "\n", include_str!("mistakes.txt"));
}
