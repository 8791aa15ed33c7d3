//! Bounds of what has no closed form: by hand, and against simulations under every policy.

use std::path::Path;

use shortflow_measure::{Estimate, Summary};
use shortflow_predict::Prediction;
use shortflow_run::{Measured, Task, run_tasks};
use shortflow_scenario::{Overrides, Scenario, from_texts};

use crate::against_simulations::{holds, predicted, simulated};

/// Three hosts behind each end of a line of 4 Mbit/s and 10 ms, which a policy serves.
fn scenario(workloads: &str, policy: &str) -> Scenario {
    lasting([4, 24], workloads, policy)
}

/// The same that is measured from one second to another.
fn lasting([warm_up, duration]: [u32; 2], workloads: &str, policy: &str) -> Scenario {
    let text = format!(
        r#"
        policy = "p.toml"
        duration = "{duration} s"
        warm_up = "{warm_up} s"
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
    // Of a queue that is not known, all that 4 s before brought may wait for the 20 s that are measured.
    let payload = 4e6 * 1448.0 / 1500.0 * 24.0 / 20.0;
    assert!(long.at_most && (long.mean / payload - 1.0).abs() < 1e-6, "{long:?}");
}

#[test]
fn a_window_bounds_what_long_flows_get_and_so_does_a_shaper() {
    let small = format!("{LONG}    tcp.receive_window = \"2920 B\"\n");
    let found = predicted(&scenario(&small, &unknown()));
    let long = found.workload("long").unwrap().goodput.unwrap();
    // Two flows of 2920 B in 24 ms and what one packet takes to be sent on each line, and its acknowledgement.
    let trip = 0.024 + 1552.0 * 8.0 * (1.0 / 4e6 + 2.0 / 1e9);
    // In 20 s one more may come that was sent before.
    let windows = 1.0 / trip + 1.0 / 20.0;
    assert!((long.mean / (2.0 * 2920.0 * 8.0 * windows) - 1.0).abs() < 1e-6, "{long:?}");
    let shaped = format!(
        "{ANY}[roles.core.queue.shaper]\nrate = \"1 Mbit/s\"\nburst = \"2500 B\"\n[roles.core.queue.shaper.queue.pie]\nlimit = \"100 pkt\"\n"
    );
    let found = predicted(&scenario(&format!("{FILES}{LONG}"), &shaped));
    let long = found.workload("long").unwrap().goodput.unwrap();
    let max = 1e6 * 1448.0 / 1500.0;
    // Its burst, the 100 packets of its queue, those of a round trip and one packet more come through in 20 s.
    let more = (long.mean - max) * 20.0 / 8.0 / 1448.0;
    assert!(long.at_most && (102.0..108.0).contains(&more), "{long:?}: {more}");
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

/// A profile of 1 Mbit/s and 30 KB for each host, before a plain buffer.
fn profile(sharing: &str, limit: u32) -> String {
    format!(
        "[roles.edge]\n[roles.core]\nqueue.fifo = {{ limit = \"100 pkt\" }}\n[roles.source.queue.aggregate-shaper]\n\
         rate = \"1 Mbit/s\"\ndepth = \"30 KB\"\nsharing = \"{sharing}\"\nlimit = \"{limit} pkt\"\n\
         place = \"queue\"\n"
    )
}

/// What a profile delays comes to the next line otherwise than it was sent: nothing is known of others there.
#[test]
fn neighbours_of_what_a_profile_delays_have_bounds_with_the_reason() {
    let transfers = |name: &str, host: u32, load: &str, size: &str| {
        format!(
            "[workloads.{name}.transfers]\nclient = \"a[{host}]\"\nserver = \"b[{host}]\"\nload = \"{load}\"\n\
             request.constant = \"400 B\"\nreply.constant = \"{size}\"\n"
        )
    };
    let small = transfers("small", 1, "100 kbit/s", "2 KB");
    let behind = |load: &str, size: &str| format!("{}{small}", transfers("large", 0, load, size));
    let scenario = lasting([20, 120], &behind("700 kbit/s", "100 KB"), &profile("logical", 1000));
    let task = Task { scenario: &scenario, replica: 0 };
    let outcome = run_tasks(&Prediction, &[task], 1, &false.into(), &()).remove(0).unwrap();
    let why = "No closed form for `small`: packets that the profile at b[0]->far delays";
    let is_told = outcome.warnings.iter().any(|warning| warning.message.starts_with(why));
    assert!(is_told, "{:?}", outcome.warnings);
    let time = |summary: &Summary, name: &str| summary.workload(name).unwrap().all.mean.unwrap();
    let (model, simulation) = (predicted(&scenario), simulated(&scenario, 1));
    for name in ["small", "large"] {
        let (bound, found) = (time(&model, name), time(&simulation, name));
        assert!(bound.at_least && bound.mean <= found.mean, "{name}: {bound:?} for {found:?}");
    }
    // What fits into the bucket passes at once, and is as it was sent.
    let scenario = lasting([20, 120], &behind("200 kbit/s", "4 KB"), &profile("logical", 1000));
    let (model, simulation) = (predicted(&scenario), simulated(&scenario, 1));
    let (found, actual) = (time(&model, "small"), time(&simulation, "small"));
    assert!(!found.is_bound(), "{found:?}");
    holds("beside what a profile lets pass", found.mean, actual.mean, 0.1);
}

/// While a lost packet is sent again, as much as the shaper has room for comes behind it; all of it comes to the user at once.
#[test]
fn what_waits_when_measuring_begins_counts_in_the_most_that_long_flows_get() {
    // What begins within a run leaves nothing of its lines known.
    let late = |second: u32| {
        format!(
            "[workloads.late.cbr]\nfrom = \"b[2]\"\nto = \"a[2]\"\nrate = \"200 kbit/s\"\npacket = \"500 B\"\nstart = \"{second} s\"\n"
        )
    };
    let long = |flows: u32| LONG.replace("flows = 2", &format!("flows = {flows}"));
    let mut beyond = 0;
    for (flows, warm_up) in [(1, 10), (1, 20), (2, 10), (2, 20)] {
        let workloads = format!("{}{}", long(flows), late(warm_up + 9));
        let scenario = lasting([warm_up, warm_up + 10], &workloads, &profile("logical", 300));
        let of = |summary: &Summary| summary.workload("long").unwrap().goodput.unwrap();
        let (bound, found) = (of(&predicted(&scenario)), of(&simulated(&scenario, 4)).mean);
        println!("{flows} flows from {warm_up} s on: {bound:?} for {found}");
        assert!(bound.at_most && found <= bound.mean, "{bound:?} for {found}");
        // More than the rate of the profile and its bucket in 10 s.
        beyond += u32::from(found > 1448.0 / 1500.0 * (1e6 + 8.0 * 31.5e3 / 10.0));
    }
    assert!(beyond > 0, "no run gets more than its profile");
}

/// Windows take longer than the run to grow to a buffer of twelve seconds.
#[test]
fn a_buffer_that_flows_have_not_filled_yet_has_no_wait() {
    let policy = format!("{ANY}[roles.core]\nqueue.fifo = {{ limit = \"2000 pkt\" }}\n");
    let calls = "[workloads.calls.poisson]\nfrom = \"b[2]\"\nto = \"a[2]\"\nload = \"100 kbit/s\"\nsize.constant = \"200 B\"\n";
    let scenario =
        lasting([2, 12], &format!("measure.ports = [\"far->near\"]\n{LONG}{calls}"), &policy);
    let (model, simulation) = (predicted(&scenario), simulated(&scenario, 2));
    let delay = |summary: &Summary| {
        summary.workload("calls").unwrap().datagrams.as_ref().unwrap().delay.unwrap()
    };
    let (bound, found) = (delay(&model), delay(&simulation).mean);
    assert!(bound.at_least && bound.mean <= found, "{bound:?} for {found}");
    let port = &model.ports[0];
    assert!(port.mean_wait.is_none() && port.loss.is_none(), "{port:?}");
}

#[test]
fn fixed_parts_of_a_profile_that_others_leave_unused_bound_what_long_flows_get() {
    let own = "[workloads.own.poisson]\nfrom = \"b[1]\"\nto = \"a[1]\"\nload = \"100 kbit/s\"\nsize.constant = \"200 B\"\n";
    let scenario = lasting([20, 80], &format!("{LONG}{own}"), &profile("partitioned", 1000));
    let of = |summary: &Summary| summary.workload("long").unwrap().goodput.unwrap();
    let (bound, found) = (of(&predicted(&scenario)), of(&simulated(&scenario, 1)));
    assert!(bound.at_most && found.mean < 0.8 * bound.mean, "{bound:?} for {found:?}");
}
