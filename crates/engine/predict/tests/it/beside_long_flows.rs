//! Where losses decide what long flows, and those beside them, get: bounds instead of means, and no false ones.

use shortflow_measure::Summary;
use shortflow_scenario::Scenario;

use crate::against_simulations::{predicted, scenario, simulated};

/// Two senders behind a line of this rate and delay, whose queue is the role `core`; a meter stands before it.
pub(crate) fn line(rate: &str, delay: &str, workloads: &str, policy: &str) -> Scenario {
    let text = format!(
        r#"
        policy = "p.toml"
        duration = "20 s"
        warm_up = "5 s"
        drain = "5 s"
        hosts = {{ c = {{}}, s = {{}}, x = {{}} }}
        routers = {{ near = {{}}, far = {{}} }}
        links.clients = {{ between = ["c", "near"], rate = "1 Gbit/s", delay = "0.1 ms" }}
        links.line = {{ between = ["near", "far"], rate = "{rate}", delay = "{delay}" }}
        links.servers = {{ between = ["far", "s"], rate = "1 Gbit/s", delay = "1 ms" }}
        links.others = {{ between = ["far", "x"], rate = "1 Gbit/s", delay = "3 ms" }}
        bind = [
            {{ role = "edge", at = "far", from = ["s", "x"] }},
            {{ role = "core", at = "far", to = "near" }},
        ]
        {workloads}
        "#
    );
    scenario(&text, policy)
}

fn bulk(flows: u32) -> String {
    format!("[workloads.bulk.bulk]\nfrom = \"x\"\nto = \"c\"\nflows = {flows}\n")
}

pub(crate) fn transfers(load: &str) -> String {
    format!(
        r#"
        [workloads.tr.transfers]
        client = "c"
        server = "s"
        load = "{load}"
        request.constant = "100 B"
        reply.choice = {{ sizes = ["2 KB", "20 KB", "200 KB"], weights = [6, 3, 1] }}
        "#
    )
}

/// RED with thresholds at a tenth and at half of the buffer.
const RED: &str = r#"
    [roles.edge]
    [roles.core.queue.red]
    limit = "400 pkt"
    min_threshold = "10 %"
    max_threshold = "50 %"
    max_probability = 0.1
"#;

fn goodput(summary: &Summary) -> shortflow_measure::Estimate {
    summary.workload("bulk").unwrap().goodput.unwrap()
}

#[test]
fn long_flows_that_others_cut_before_they_have_grown_back_get_at_most_what_the_line_carries() {
    let policy = "[roles.edge]\n[roles.core.queue.fq-codel]\n";
    let workloads = bulk(2) + &transfers("25 Mbit/s");
    let scenario = line("50 Mbit/s", "40 ms", &workloads, policy);
    let (said, found) = (predicted(&scenario), goodput(&simulated(&scenario, 1)).mean);
    assert!(goodput(&said).at_most && goodput(&said).mean > found, "{said:?}");
    // The transfers leave 24 Mbit/s.
    assert!(found < 20e6, "{found}");
    assert!(!said.workload("tr").unwrap().all.mean.unwrap().at_least, "{said:?}");
    let workloads = bulk(2) + &transfers("2 Mbit/s");
    assert!(!goodput(&predicted(&line("5 Mbit/s", "10 ms", &workloads, policy))).at_most);
}

#[test]
fn transfers_that_make_codel_cut_a_long_flow_before_it_has_grown_back_leave_its_goodput_a_bound() {
    let transfers_of = |size: &str, load: &str| {
        format!(
            "[workloads.tr.transfers]\nclient = \"c\"\nserver = \"s\"\nload = \"{load}\"\n\
             request.constant = \"100 B\"\nreply.choice = {{ sizes = [\"2 KB\", \"{size}\"], weights = [1, 1] }}\n"
        )
    };
    let policy = "[roles.edge]\n[roles.core.queue.fq-codel]\n";
    let beside = |size, load| {
        let workloads = bulk(1) + &transfers_of(size, load);
        let scenario = line("100 Mbit/s", "8 ms", &workloads, policy);
        (goodput(&predicted(&scenario)), goodput(&simulated(&scenario, 3)).mean)
    };
    // 1 MB takes 80 ms of the line, or 160 ms of a half of it: longer than CoDel's interval of 100 ms.
    let (bound, found) = beside("1 MB", "20 Mbit/s");
    assert!(bound.at_most && found < 0.75 * bound.mean, "{bound:?} {found}");
    // 100 KB takes 16 ms of a half of it.
    let (mean, found) = beside("100 KB", "10 Mbit/s");
    assert!(!mean.at_most && (mean.mean / found - 1.0).abs() < 0.2, "{mean:?} {found}");
}

#[test]
fn what_loses_much_of_the_line_at_levels_of_red_beside_long_flows_has_no_bound_on_its_loss() {
    let policy = r#"
        [[roles.edge.classes]]
        name = "e"
        marker.srtcm = { cir = "6.86 Mbit/s", cbs = "10 KB", ebs = "20 KB" }
        [roles.core.queue.multi-red]
        limit = "400 pkt"
        levels = [
            { code_points = ["AF11"], min_threshold = "40 %", max_threshold = "80 %", max_probability = 0.1 },
            { code_points = "rest", min_threshold = "10 %", max_threshold = "40 %", max_probability = 0.2 },
        ]
    "#;
    let stream = "[workloads.cbr.cbr]\nfrom = \"s\"\nto = \"c\"\nrate = \"5.9 Mbit/s\"\npacket = \"700 B\"\n";
    let workloads = bulk(1) + &transfers("7.5 Mbit/s") + stream;
    let scenario = line("20 Mbit/s", "2 ms", &workloads, policy);
    let (said, found) = (predicted(&scenario), simulated(&scenario, 1));
    let of = |summary: &Summary| summary.workload("cbr").unwrap().datagrams.clone().unwrap();
    assert_eq!(of(&said).loss, None);
    let (least, delay) = (of(&said).delay.unwrap(), of(&found).delay.unwrap().mean);
    assert!(least.at_least && least.mean <= delay, "{least:?} against {delay}");
    // At the queue that leaves the long flow its rate, the second level would lose all.
    assert!(of(&found).loss.unwrap().mean < 0.2, "{found:?}");
}

#[test]
fn red_over_a_round_trip_of_seconds_has_no_closed_form_beside_cubic() {
    let stream = "[workloads.cbr.cbr]\nfrom = \"s\"\nto = \"c\"\nrate = \"0.11 Mbit/s\"\npacket = \"700 B\"\n";
    let said = predicted(&line("0.21 Mbit/s", "20 ms", &(bulk(2) + stream), RED));
    let delay = said.workload("cbr").unwrap().datagrams.as_ref().unwrap().delay.unwrap();
    assert!(delay.at_least && goodput(&said).at_most, "{said:?}");
}

#[test]
fn flows_that_are_alone_on_a_line_get_it_whatever_queue_their_tcp_makes() {
    let scenario = Scenario {
        duration: shortflow_units::Duration::from_secs(320),
        warm_up: shortflow_units::Duration::from_secs(120),
        ..line("0.21 Mbit/s", "20 ms", &bulk(2), RED)
    };
    let (said, found) = (predicted(&scenario), goodput(&simulated(&scenario, 1)).mean);
    let rate = goodput(&said);
    assert!(!rate.at_most && (rate.mean / found - 1.0).abs() < 0.05, "{rate:?} {found}");
}

#[test]
fn objects_side_by_side_beside_long_flows_have_bounds_alone() {
    let pages = |http: &str| {
        let web = format!(
            r#"
            [workloads.web.web]
            client = "c"
            server = "s"
            http = "{http}"
            sessions = 20
            request.constant = "400 B"
            page.index.constant = "20 KB"
            page.objects.constant = 5
            page.object.constant = "10 KB"
            think.exponential.mean = "360 s"
            "#
        );
        let policy = "[roles.edge]\n[roles.core.queue.fq-codel]\n";
        let said = predicted(&line("2.3 Mbit/s", "15 ms", &(bulk(2) + &web), policy));
        said.workload("web/objects").unwrap().all.mean.unwrap()
    };
    assert!(pages("1.0").at_least && !pages("1.1").at_least);
}

#[test]
fn a_stream_that_windows_push_out_of_a_small_shared_buffer_has_no_predicted_loss() {
    let stream = "[workloads.poi.poisson]\nfrom = \"s\"\nto = \"c\"\nload = \"3.95 Mbit/s\"\nsize.constant = \"1200 B\"\n";
    let workloads = transfers("3.2 Mbit/s").replace("\"s\"", "\"x\"") + stream;
    let at = |room: u32| {
        let policy = format!("[roles.edge]\n[roles.core.queue.stf]\nlimit = \"{room} pkt\"\n");
        line("20 Mbit/s", "20 ms", &workloads, &policy)
    };
    let lost = |summary: Summary| summary.workload("poi").unwrap().datagrams.clone().unwrap().loss;
    assert_eq!(lost(predicted(&at(30))), None);
    let found = lost(simulated(&at(30), 1)).unwrap().mean;
    assert!(found > 0.002, "{found}");
    assert!(lost(predicted(&at(200))).is_some());
}

#[test]
fn windows_are_in_the_queue_less_what_their_receivers_have_not_yet_acknowledged() {
    // Two segments for an acknowledgement, of windows of 3 and of 13.
    for (flows, window, rate, delay) in
        [(9, "5400 B", "5.4 Mbit/s", "0.4 ms"), (5, "20 KB", "30 Mbit/s", "1 ms")]
    {
        let stream = "[workloads.call.cbr]\nfrom = \"s\"\nto = \"c\"\nrate = \"100 kbit/s\"\npacket = \"1150 B\"\n";
        let tcp = format!("tcp.receive_window = \"{window}\"\nmeasure.ports = [\"far->near\"]\n");
        let policy = "[roles.edge]\n[roles.core.queue.fifo]\nlimit = \"100 pkt\"\n";
        let scenario = line(rate, delay, &(tcp + &bulk(flows) + stream), policy);
        let (said, found) = (predicted(&scenario), simulated(&scenario, 1));
        let delay = |summary: &Summary| {
            let call = summary.workload("call").unwrap();
            call.datagrams.as_ref().unwrap().delay.unwrap()
        };
        let (least, seen) = (delay(&said), delay(&found).mean);
        assert!(least.at_least && least.mean <= seen, "{least:?} for {seen}");
        assert!(least.mean > 0.6 * seen, "{least:?} for {seen}");
        let wait = |summary: &Summary| summary.ports[0].mean_wait.unwrap().mean;
        assert!(wait(&said) <= wait(&found), "{} for {}", wait(&said), wait(&found));
        assert!(said.ports[0].loss.is_none_or(|loss| loss.mean.to_bits() == 0));
    }
}

#[test]
fn a_stream_that_needs_more_than_its_turn_beside_transfers_has_a_bound_and_so_have_they() {
    let policy = "[roles.edge]\n[roles.core.queue.fq-codel]\n";
    let beside = |rate: &str| {
        let stream = format!(
            "[workloads.cbr.cbr]\nfrom = \"x\"\nto = \"c\"\nrate = \"{rate}\"\npacket = \"1000 B\"\n"
        );
        let scenario = line("4 Mbit/s", "5 ms", &(transfers("0.3 Mbit/s") + &stream), policy);
        let datagrams =
            |summary: &Summary| summary.workload("cbr").unwrap().datagrams.clone().unwrap();
        let (said, found) = (predicted(&scenario), simulated(&scenario, 3));
        let completion = said.workload("tr").unwrap().all.mean.unwrap();
        (datagrams(&said), datagrams(&found), completion)
    };
    let (said, found, completion) = beside("3.2 Mbit/s");
    assert!(found.loss.unwrap().mean > 0.002, "CoDel drops from it: {found:?}");
    assert_eq!(said.loss, None);
    let delay = said.delay.unwrap();
    assert!(delay.at_least && delay.mean < found.delay.unwrap().mean, "{delay:?}");
    assert!(completion.at_least, "{completion:?}");
    let (said, _, completion) = beside("0.08 Mbit/s");
    assert!(!said.delay.unwrap().at_least && !completion.at_least, "{said:?}");
}
