//! Bounds of what has no closed form: by hand, and against simulations under every policy.

use std::path::Path;

use shortflow_measure::{Estimate, Summary};
use shortflow_predict::Prediction;
use shortflow_run::{Measured, Task, run_tasks};
use shortflow_scenario::{Overrides, Scenario, from_texts};

use crate::against_simulations::{holds, predicted, simulated};

/// Three hosts behind each end of a line of 4 Mbit/s and 10 ms, which a policy serves.
fn scenario(workloads: &str, policy: &str) -> Scenario {
    let text = format!(
        r#"
        policy = "p.toml"
        duration = "24 s"
        warm_up = "4 s"
        drain = "30 s"
        hosts = {{ a = {{ count = 3 }}, b = {{ count = 3 }} }}
        routers = {{ near = {{}}, far = {{}} }}
        links.line = {{ between = ["far", "near"], rate = "4 Mbit/s", delay = "10 ms" }}
        links.clients = {{ between = ["a", "near"], rate = "1 Gbit/s", delay = "1 ms" }}
        links.servers = {{ between = ["b", "far"], rate = "1 Gbit/s", delay = "1 ms" }}
        bind = [
            {{ role = "source", at = ["b[0]", "b[1]", "b[2]"], to = "far" }},
            {{ role = "edge", at = "far", from = ["b[0]", "b[1]", "b[2]"] }},
            {{ role = "core", at = "far", to = "near" }},
        ]
        {workloads}
        "#
    );
    let texts = [("line.toml", text.as_str()), ("p.toml", policy)];
    let loaded =
        from_texts(&texts, &Overrides::default()).unwrap_or_else(|reported| panic!("{reported}"));
    loaded.into_points().swap_remove(0).scenario
}

const ANY: &str = "[roles.source]\n[roles.edge]\n";

/// A queue without a closed form.
fn unknown() -> String {
    format!(
        "{ANY}[roles.core.queue.sima]\nreal_time = {{ limit = \"9800 B\" }}\nnon_real_time = {{ limit = \"20 KB\" }}\nallowed = \"floor-of-mean\"\n"
    )
}

const FILES: &str = r#"
    [workloads.files.ftp]
    from = "b[0]"
    to = "a[0]"
    size.constant = "200 KB"
    pause.exponential.mean = "1 s"
"#;

const LONG: &str = r#"
    [workloads.long.bulk]
    from = "b[1]"
    to = "a[1]"
    flows = 2
"#;

/// As much as the line carries, or three quarters of it.
fn mixed(load: f64) -> String {
    let [web, calls] = [0.6, 0.4].map(|part| load * part * 4e6);
    format!(
        r#"
        measure.size_classes = ["2 KB", "20 KB", "200 KB"]
        [workloads.web.transfers]
        client = "a[0]"
        server = "b[0]"
        port = 80
        load = "{web:.0} bit/s"
        request.constant = "400 B"
        reply.choice = {{ sizes = ["2 KB", "20 KB", "200 KB"], weights = [6, 3, 1] }}
        [workloads.calls.poisson]
        from = "b[2]"
        to = "a[2]"
        load = "{calls:.0} bit/s"
        size.constant = "200 B"
        dscp = "EF"
        "#
    )
}

fn policies() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../policies");
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let files = files.filter(|file| file.extension().is_some_and(|kind| kind == "toml"));
    files
        .map(|file| {
            let name = file.file_stem().unwrap().to_str().unwrap().to_owned();
            (name, std::fs::read_to_string(file).unwrap())
        })
        .collect()
}

/// Every mean and bound of a summary, by what it is of.
fn figures(summary: &Summary) -> Vec<(String, Estimate)> {
    let mut found = Vec::new();
    let mut add = |of: String, figure: Option<Estimate>| {
        found.extend(figure.map(|figure| (of, figure)));
    };
    for workload in &summary.workloads {
        let name = &workload.name;
        add(name.clone(), workload.all.mean);
        for class in &workload.classes {
            add(format!("{name}, {}", class.label), class.mean);
        }
        add(format!("{name}: goodput"), workload.goodput);
        if let Some(datagrams) = &workload.datagrams {
            add(format!("{name}: delay"), datagrams.delay);
            add(format!("{name}: median"), datagrams.percentiles.delay_median);
            add(format!("{name}: p99"), datagrams.percentiles.delay_p99);
        }
    }
    found
}

#[test]
fn every_workload_is_told_as_a_bound_under_every_policy_and_every_bound_holds() {
    let mut bounds = 0;
    for (name, policy) in policies() {
        for workloads in [mixed(1.1), format!("{}{LONG}", mixed(0.75)), format!("{FILES}{LONG}")] {
            let scenario = scenario(&workloads, &policy);
            let model = predicted(&scenario);
            let reported = figures(&model);
            for workload in &model.workloads {
                let is_told = |(of, _): &(String, Estimate)| of.starts_with(&workload.name);
                assert!(reported.iter().any(is_told), "{name}: nothing of {}", workload.name);
            }
            let simulation = figures(&simulated(&scenario, 1));
            for (of, bound) in reported.iter().filter(|(_, reported)| reported.is_bound()) {
                let Some((_, found)) = simulation.iter().find(|(other, _)| other == of) else {
                    continue;
                };
                println!("{name}, {of}: {bound:?} for {:.5}", found.mean);
                match bound.at_most {
                    true => assert!(bound.mean >= found.mean * 0.98, "{name}, {of}: {bound:?}"),
                    false => {
                        let is_below = bound.mean <= found.mean * 1.02 || found.at_least;
                        assert!(is_below, "{name}, {of}: {bound:?} for {found:?}");
                    }
                }
                bounds += 1;
            }
        }
    }
    assert!(bounds >= 200, "{bounds}");
}

#[test]
fn bounds_are_those_of_the_empty_line() {
    let found = predicted(&scenario(&format!("{FILES}{LONG}"), &unknown()));
    let file = found.workload("files").unwrap().all.mean.unwrap();
    // 138 packets of 1500 B and one of 228 B take 0.414 s at 4 Mbit/s, behind a handshake of 24 ms and 12 ms on the way.
    assert!(file.at_least && (0.449..0.452).contains(&file.mean), "{file:?}");
    let long = found.workload("long").unwrap().goodput.unwrap();
    let payload = 4e6 * 1448.0 / 1500.0;
    assert!(long.at_most && (long.mean / payload - 1.0).abs() < 1e-6, "{long:?}");
}

#[test]
fn a_window_bounds_what_long_flows_get_and_so_does_a_shaper() {
    let small = format!("{LONG}    tcp.receive_window = \"2920 B\"\n");
    let found = predicted(&scenario(&small, &unknown()));
    let long = found.workload("long").unwrap().goodput.unwrap();
    // Two flows of 2920 B in 24 ms and what one packet takes to be sent on each line, and its acknowledgement.
    let trip = 0.024 + 1552.0 * 8.0 * (1.0 / 4e6 + 2.0 / 1e9);
    assert!((long.mean / (2.0 * 2920.0 * 8.0 / trip) - 1.0).abs() < 1e-6, "{long:?}");
    let shaped = format!(
        "{ANY}[roles.core.queue.shaper]\nrate = \"1 Mbit/s\"\nburst = \"2500 B\"\n[roles.core.queue.shaper.queue.pie]\nlimit = \"100 pkt\"\n"
    );
    let found = predicted(&scenario(&format!("{FILES}{LONG}"), &shaped));
    let long = found.workload("long").unwrap().goodput.unwrap();
    let max = 1e6 * 1448.0 / 1500.0;
    // Its burst and one packet more come through in 20 s.
    assert!(long.at_most && long.mean > max && long.mean < 1.002 * max, "{long:?}");
    let file = found.workload("files").unwrap().all.mean.unwrap();
    assert!(file.at_least && file.mean > 1.5, "{file:?}");
}

#[test]
fn a_run_in_which_all_are_bounds_ends_well_with_the_reasons() {
    let scenario = scenario(&mixed(1.1), &unknown());
    assert!(Prediction.answers(&scenario).is_err(), "there is no mean");
    let task = Task { scenario: &scenario, replica: 0 };
    let outcome = run_tasks(&Prediction, &[task], 1, &false.into(), &()).remove(0).unwrap();
    let Measured::Means(summary) = outcome.measured else { panic!("there are means only") };
    assert!(figures(&summary).iter().all(|(_, figure)| figure.at_least), "{summary:?}");
    for name in ["web", "calls"] {
        let why = format!("No closed form for `{name}`: a `sima` queue");
        let is_told = outcome.warnings.iter().any(|warning| warning.message.starts_with(&why));
        assert!(is_told, "{:?}", outcome.warnings);
    }
}

/// What the bands before leave long flows of a buffer, and a stream behind them of its packets there, no form says.
#[test]
fn a_stream_behind_long_flows_in_the_last_of_several_bands_is_told_by_its_way() {
    let (_, dstf) = policies().into_iter().find(|(name, _)| name == "dstf").unwrap();
    let dstf = dstf.replace("\ndecay = \"", "\ndecay = \"60 kbit/s\" # \"");
    let stream = r#"
        [workloads.stream.cbr]
        from = "b[2]"
        to = "a[2]"
        rate = "469 kbit/s"
        packet = "597 B"
    "#;
    let scenario = scenario(&format!("{FILES}{LONG}{stream}"), &dstf);
    let of = |summary: &Summary| summary.workload("stream").unwrap().datagrams.clone().unwrap();
    let bound = of(&predicted(&scenario)).delay.unwrap();
    // 597 B at 4 Mbit/s and 12 ms on the way.
    assert!(bound.at_least && (0.0131..0.0133).contains(&bound.mean), "{bound:?}");
    assert!(bound.mean <= of(&simulated(&scenario, 1)).delay.unwrap().mean);
}

/// What a policer drops has no closed form, whatever the queue behind it: one queue, or classes.
#[test]
fn a_stream_that_a_policer_may_drop_is_a_bound_before_every_queue() {
    let fifo = "[roles.core]\nqueue.fifo = { limit = \"100 pkt\" }\n";
    let classes = "[roles.core.queue.strict-priority]\nbands = [{ match = { dscp = [\"EF\"] }, queue.fifo = { limit = \"50 pkt\" } }, { queue.fifo = { limit = \"50 pkt\" } }]\n";
    let bucket = "marker.token-bucket = { rate = \"200 kbit/s\", depth = \"3 KB\" }\npolice.yellow = \"drop\"";
    let fixed = "marker.fixed = { dscp = \"EF\" }\npolice.green = \"drop\"";
    let dstf = "marker.dstf = { thresholds = [\"10 KB\"], code_points = [\"EF\", \"BE\"] }\npolice.red = \"drop\"";
    for (marker, queue) in
        [(bucket, fifo), (bucket, classes), (fixed, fifo), (dstf, fifo), (dstf, classes)]
    {
        let policy = format!(
            "[roles.source]\n[[roles.edge.classes]]\nname = \"udp\"\nmatch = {{ protocol = \"udp\" }}\n{marker}\n{queue}"
        );
        let calls = "[workloads.calls.poisson]\nfrom = \"b[2]\"\nto = \"a[2]\"\nload = \"800 kbit/s\"\nsize.constant = \"200 B\"\n";
        let scenario = scenario(calls, &policy);
        let of = |summary: &Summary| summary.workload("calls").unwrap().datagrams.clone().unwrap();
        let lost = of(&simulated(&scenario, 1)).loss.unwrap().mean;
        assert!(lost > 0.2, "{policy}: {lost}");
        let calls = of(&predicted(&scenario));
        assert!(calls.delay.unwrap().at_least, "{policy}: {calls:?}");
        assert!(calls.loss.is_none_or(|loss| loss.at_least && loss.mean <= lost), "{calls:?}");
        let ports = predicted(&scenario).ports;
        assert!(ports.iter().all(|port| port.loss.is_none_or(|loss| loss.at_least)), "{ports:?}");
    }
}

/// One packet of each class in a round: a sixth of the line is left for packets of 300 B beside full ones.
#[test]
fn weights_of_wrr_count_packets() {
    let policy = format!(
        "{ANY}[roles.core.queue.wrr]\nclasses = [{{ match = {{ dscp = [\"EF\"] }}, queue.fifo = {{ limit = \"50 pkt\" }} }}, {{ queue.fifo = {{ limit = \"100 pkt\" }} }}]\n"
    );
    let stream = "[workloads.stream.cbr]\nfrom = \"b[2]\"\nto = \"a[2]\"\nrate = \"1.5 Mbit/s\"\npacket = \"300 B\"\ndscp = \"EF\"\n";
    let scenario = scenario(&format!("{LONG}{stream}"), &policy);
    let of = |summary: &Summary| summary.workload("stream").unwrap().datagrams.clone().unwrap();
    let (model, simulation) = (predicted(&scenario), simulated(&scenario, 1));
    let (found, actual) = (of(&model), of(&simulation));
    assert!(actual.loss.unwrap().mean > 0.1, "{actual:?}");
    assert!(found.delay.unwrap().at_least, "{found:?}");
    let long = |summary: &Summary| summary.workload("long").unwrap().goodput.unwrap().mean;
    holds("goodput beside wrr", long(&model), long(&simulation), 0.05);
}

/// Each class has half of the line, however much a stream wants beyond its own.
#[test]
fn a_stream_above_its_share_leaves_long_flows_theirs() {
    let policy = format!(
        "{ANY}[roles.core.queue.wfq]\nlimit = \"200 pkt\"\nclasses = [{{ match = {{ dscp = [\"EF\"] }}, weight = 1 }}, {{ weight = 1 }}]\n"
    );
    for rate in ["3.6 Mbit/s", "5 Mbit/s"] {
        let stream = format!(
            "[workloads.stream.cbr]\nfrom = \"b[2]\"\nto = \"a[2]\"\nrate = \"{rate}\"\npacket = \"1000 B\"\ndscp = \"EF\"\n"
        );
        let scenario = scenario(&format!("{LONG}{stream}"), &policy);
        let long = |summary: &Summary| summary.workload("long").unwrap().goodput.unwrap();
        let model = long(&predicted(&scenario));
        assert!(!model.is_bound(), "{model:?}");
        holds("goodput beside wfq", model.mean, long(&simulated(&scenario, 1)).mean, 0.1);
    }
}
