//! Means that are predicted, against those of simulations. The bounds are those within which the
//! models are of use; each test prints what it finds.

use shortflow_measure::{Replica, Summary};
use shortflow_predict::Prediction;
use shortflow_run::{Engine, Measured, Task, run_tasks};
use shortflow_scenario::{Overrides, Scenario, from_texts};
use shortflow_sim::Simulator;

/// The scenario of a text and the policy that it may name.
pub(crate) fn scenario(text: &str, policy: &str) -> Scenario {
    let loaded = from_texts(&[("line.toml", text), ("p.toml", policy)], &Overrides::default());
    loaded.unwrap_or_else(|reported| panic!("{reported}")).into_points().swap_remove(0).scenario
}

pub(crate) fn predicted(scenario: &Scenario) -> Summary {
    let outcome = run_tasks(&Prediction, &[Task { scenario, replica: 0 }], 1, &false.into(), &());
    match outcome.into_iter().next().unwrap().unwrap().measured {
        Measured::Means(summary) => *summary,
        Measured::Replica(_) => panic!("there are means only"),
    }
}

pub(crate) fn simulated(scenario: &Scenario, replicas: u32) -> Summary {
    let tasks: Vec<Task<'_>> = (0..replicas).map(|replica| Task { scenario, replica }).collect();
    let outcomes = run_tasks(&Simulator, &tasks, 2, &false.into(), &());
    let replicas: Vec<Replica> = outcomes
        .into_iter()
        .map(|outcome| match outcome.unwrap().measured {
            Measured::Replica(replica) => *replica,
            Measured::Means(_) => panic!("the simulator measures"),
        })
        .collect();
    Summary::from_replicas(&replicas)
}

/// Holds a predicted figure within a share of a simulated one.
pub(crate) fn holds(what: &str, predicted: f64, simulated: f64, within: f64) {
    let off = predicted / simulated - 1.0;
    println!("{what}: predicted {predicted:.5}, simulated {simulated:.5} ({:+.1} %)", 100.0 * off);
    assert!(off.abs() <= within, "{what}: {predicted} against {simulated}");
}

const LINE: &str = r#"
    hosts = { a = {}, b = {} }
    [tcp]
    era = "ns2-2005"
    receive_window = "1 MB"
    restart_after_idle = false
    rto_initial = "1 s"
"#;

/// A line of 10 Mbit/s and 20 ms with transfers of 1 to 91 segments.
fn transfers(load: &str, rest: &str) -> String {
    format!(
        r#"
        duration = "420 s"
        warm_up = "20 s"
        drain = "20 s"
        measure.size_classes = ["1 seg", "3 seg", "11 seg", "91 seg"]
        {LINE}
        [links.line]
        between = ["a", "b"]
        rate = "10 Mbit/s"
        delay = "20 ms"
        queue = "2000 pkt"
        {rest}
        [workloads.web.transfers]
        client = "a"
        server = "b"
        load = "{load}"
        request.constant = "400 B"
        reply.choice = {{ sizes = ["1 seg", "3 seg", "11 seg", "91 seg"], weights = [3, 3, 3, 1] }}
        "#
    )
}

fn sizes_hold(text: &str, within: f64) {
    let scenario = scenario(text, "");
    let (model, simulation) = (predicted(&scenario), simulated(&scenario, 4));
    let (model, simulation) = (&model.workloads[0], &simulation.workloads[0]);
    for class in simulation.classes.iter().filter(|class| class.n > 0) {
        let of_model = model.class(&class.label).unwrap().mean.unwrap().mean;
        holds(&class.label, of_model, class.mean.unwrap().mean, within);
    }
    holds("all", model.all.mean.unwrap().mean, simulation.all.mean.unwrap().mean, within);
    let counted = model.completed as f64;
    holds("how many", counted, simulation.completed as f64 / 4.0, 0.05);
}

#[test]
fn transfers_on_a_line_that_is_almost_idle_take_what_slow_start_says() {
    sizes_hold(&transfers("200 kbit/s", ""), 0.03);
}

#[test]
fn transfers_at_half_load_are_within_a_fifth() {
    sizes_hold(&transfers("5 Mbit/s", ""), 0.20);
}

#[test]
fn transfers_over_a_line_that_loses_one_in_a_hundred_are_within_a_fifth() {
    sizes_hold(&transfers("2 Mbit/s", "loss = 0.01"), 0.20);
}

/// A line that is almost idle, over which so many packets are lost each way, with transfers of 1 to 9 segments.
fn lossy(era: &str, [there, back]: [f64; 2]) -> Scenario {
    let text = format!(
        r#"
        duration = "420 s"
        warm_up = "20 s"
        drain = "200 s"
        measure.size_classes = ["1 seg", "4 seg", "9 seg"]
        hosts = {{ a = {{}}, b = {{}} }}
        tcp.era = "{era}"
        [links.line]
        between = ["a", "b"]
        rate = "1 Gbit/s"
        delay = "12 ms"
        queue = "10000 pkt"
        loss = {{ forward = {there}, back = {back} }}
        [workloads.web.transfers]
        client = "a"
        server = "b"
        load = "2 Mbit/s"
        request.constant = "400 B"
        reply.choice = {{ sizes = ["1 seg", "4 seg", "9 seg"] }}
        "#
    );
    scenario(&text, "")
}

#[test]
fn handshakes_whose_packets_are_lost_take_as_long_as_both_ends_try() {
    for (era, losses) in [
        ("ns2-2005", [0.08, 0.0]),
        ("ns2-2005", [0.0, 0.2]),
        ("linux-today", [0.2, 0.0]),
        ("linux-today", [0.1, 0.1]),
    ] {
        let scenario = lossy(era, losses);
        let [model, simulation] = [predicted(&scenario), simulated(&scenario, 8)]
            .map(|found| found.workloads[0].all.handshake.as_ref().unwrap().mean);
        holds(&format!("handshake, {era}, {losses:?}"), model, simulation, 0.05);
    }
}

// RFC 6298 §5.7 in the one era, RFC 8985 §7 in the other.
#[test]
fn the_first_loss_of_data_costs_what_the_era_s_sender_waits_for_it() {
    for (era, within) in [("ns2-2005", 0.1), ("linux-today", 0.15)] {
        let scenario = lossy(era, [0.0, 0.08]);
        let [model, simulation] = [predicted(&scenario), simulated(&scenario, 8)];
        for (model, simulation) in
            model.workloads[0].classes.iter().zip(&simulation.workloads[0].classes)
        {
            let reply =
                |found: &shortflow_measure::ClassSummary| found.reply.as_ref().unwrap().mean;
            holds(&format!("{era}, {}", model.label), reply(model), reply(simulation), within);
        }
    }
}

#[test]
fn poisson_packets_over_two_lines_wait_as_long_as_pollaczek_and_khinchine_say() {
    let text = r#"
        duration = "2020 s"
        warm_up = "20 s"
        hosts = { a = {}, b = {} }
        routers = { r = {} }
        links.first = { between = ["a", "r"], rate = "2 Mbit/s", delay = "3 ms", queue = "100000 pkt" }
        links.second = { between = ["r", "b"], rate = "100 Mbit/s", delay = "3 ms" }
        [workloads.packets.poisson]
        from = "a"
        to = "b"
        rate = "150 /s"
        size.choice = { sizes = ["200 B", "1500 B"], weights = [1, 3] }
    "#;
    let scenario = scenario(text, "");
    let delay =
        |summary: Summary| summary.workloads[0].datagrams.as_ref().unwrap().delay.unwrap().mean;
    holds("delay", delay(predicted(&scenario)), delay(simulated(&scenario, 4)), 0.02);
}

fn long_flows(flows: u32, policy: &str) -> (Summary, Summary) {
    let text = format!(
        r#"
        policy = "p.toml"
        duration = "220 s"
        warm_up = "20 s"
        bind = [{{ role = "core", at = "a", to = "b" }}]
        {LINE}
        recovery = "sack"
        [links.line]
        between = ["a", "b"]
        rate = "10 Mbit/s"
        delay = "20 ms"
        queue = "60 pkt"
        [workloads.long.bulk]
        from = "a"
        to = "b"
        flows = {flows}
        start_window = "5 s"
        "#
    );
    let scenario = scenario(&text, policy);
    (predicted(&scenario), simulated(&scenario, 4))
}

fn line_holds(what: &str, (model, simulation): (Summary, Summary), wait: f64, loss: f64) {
    let rate = |summary: &Summary| summary.workloads[0].goodput.unwrap().mean;
    holds(&format!("{what}: goodput"), rate(&model), rate(&simulation), 0.05);
    let port = |summary: &Summary| summary.port("a->b").unwrap().clone();
    let (model, simulation) = (port(&model), port(&simulation));
    holds(
        &format!("{what}: wait"),
        model.mean_wait.unwrap().mean,
        simulation.mean_wait.unwrap().mean,
        wait,
    );
    holds(&format!("{what}: loss"), model.loss.unwrap().mean, simulation.loss.unwrap().mean, loss);
}

#[test]
fn long_flows_settle_where_red_and_their_windows_agree() {
    let red = r#"
        [roles.core.queue.red]
        limit = "200 pkt"
        min_threshold = "5 pkt"
        max_threshold = "60 pkt"
        max_probability = 0.1
        gentle = true
    "#;
    for flows in [5, 15, 40] {
        line_holds(&format!("RED, {flows} flows"), long_flows(flows, red), 0.3, 0.3);
    }
}

/// Flows that halve their windows together leave the buffer emptier than flows that do so one by one.
#[test]
fn a_plain_buffer_is_filled_at_least_as_much_as_flows_in_step_fill_it() {
    let fifo = "[roles.core.queue.fifo]\nlimit = \"60 pkt\"\n";
    for flows in [4, 15, 40] {
        let (model, simulation) = long_flows(flows, fifo);
        let rate = |summary: &Summary| summary.workloads[0].goodput.unwrap().mean;
        holds(&format!("DropTail, {flows} flows: goodput"), rate(&model), rate(&simulation), 0.05);
        let wait = |summary: &Summary| summary.port("a->b").unwrap().mean_wait.unwrap();
        let (model, simulation) = (wait(&model), wait(&simulation));
        assert!(
            model.at_least && model.mean <= simulation.mean,
            "{model:?} against {simulation:?}"
        );
        assert!(model.mean > 0.6 * simulation.mean, "{model:?} against {simulation:?}");
    }
}

/// A stream of 10 KB a second, of which 100 KB to 600 KB are measured, before and behind long flows.
fn stream(threshold: &str) -> Scenario {
    let policy = format!(
        r#"
        [[roles.core.classes]]
        name = "all"
        marker.dstf = {{ thresholds = ["{threshold}"], code_points = ["CS1", "BE"], count = "packet" }}
        [[roles.core.queue.strict-priority.bands]]
        match = {{ dscp = ["CS1"] }}
        queue.fifo = {{ limit = "100 pkt" }}
        [[roles.core.queue.strict-priority.bands]]
        queue.red = {{ limit = "300 pkt", min_threshold = "20 pkt", max_threshold = "60 pkt", max_probability = 0.1, gentle = true }}
        "#
    );
    let text = format!(
        r#"
        policy = "p.toml"
        duration = "60 s"
        warm_up = "10 s"
        bind = [{{ role = "core", at = "b", to = "a" }}]
        {LINE}
        [links.line]
        between = ["a", "b"]
        rate = "10 Mbit/s"
        delay = "20 ms"
        [workloads.long.bulk]
        from = "b"
        to = "a"
        flows = 10
        [workloads.stream.cbr]
        from = "b"
        to = "a"
        rate = "80 kbit/s"
        packet = "200 B"
        "#
    );
    scenario(&text, &policy)
}

#[test]
fn datagrams_wait_by_what_their_flow_has_sent_within_the_run() {
    let delay = |summary: Summary| {
        let stream = summary.workloads.into_iter().find(|workload| workload.name == "stream");
        stream.unwrap().datagrams.unwrap().delay.unwrap().mean
    };
    for threshold in ["50 KB", "300 KB", "600 KB"] {
        let scenario = stream(threshold);
        let (reported, found) = (delay(predicted(&scenario)), delay(simulated(&scenario, 2)));
        holds(&format!("delay of a stream, threshold at {threshold}"), reported, found, 0.15);
    }
}

#[test]
fn the_same_scenario_gives_the_same_means() {
    let scenario = scenario(&transfers("3 Mbit/s", ""), "");
    assert_eq!(predicted(&scenario), predicted(&scenario));
    assert!(Prediction.check(&scenario).is_ok());
}

/// All that has sent less goes first, however it comes, and not only the bands that are before (Kleinrock 1976, §4.7).
#[test]
fn transfers_in_later_bands_wait_for_all_that_has_sent_less() {
    let policy = r#"
        [[roles.core.classes]]
        name = "all"
        marker.dstf = { per = "flow" }
        [roles.core.queue.shared-priority]
        limit = "1000 pkt"
        bands = ["CS7", "CS6", "CS5", "CS4", "CS3", "CS2", "CS1", "rest"]
    "#;
    let text = format!(
        "policy = \"p.toml\"\nbind = [{{ role = \"core\", at = \"b\", to = \"a\" }}]\n{}",
        transfers("4.5 Mbit/s", "").replace("queue = \"2000 pkt\"", "")
    );
    let scenario = scenario(&text, policy);
    let (model, simulation) = (predicted(&scenario), simulated(&scenario, 4));
    for (ours, theirs) in model.workloads[0].classes.iter().zip(&simulation.workloads[0].classes) {
        holds(&ours.label, ours.mean.unwrap().mean, theirs.mean.unwrap().mean, 0.15);
    }
}

/// At each moment another line may be the slowest.
#[test]
fn transfers_over_several_lines_get_the_least_of_their_shares() {
    let hop = |at: usize| {
        let next = at + 1;
        format!(
            r#"
            [links.hop{at}]
            between = ["r[{at}]", "r[{next}]"]
            rate = "10 Mbit/s"
            delay = "2 ms"
            [workloads.over{at}.transfers]
            client = "h[{next}]"
            server = "h[{at}]"
            load = "5 Mbit/s"
            request.constant = "400 B"
            reply.constant = "150 KB"
            "#
        )
    };
    let bind =
        (0..3).map(|at| format!("{{ role = \"core\", at = \"r[{at}]\", to = \"r[{}]\" }}", at + 1));
    let text = format!(
        r#"
        policy = "p.toml"
        duration = "220 s"
        warm_up = "20 s"
        drain = "20 s"
        bind = [{}]
        hosts.h = {{ count = 4 }}
        routers.r = {{ count = 4 }}
        links.access = {{ between = ["h", "r"], rate = "1 Gbit/s", delay = "1 us" }}
        {}
        [workloads.through.transfers]
        client = "h[3]"
        server = "h[0]"
        load = "2 Mbit/s"
        request.constant = "400 B"
        reply.constant = "150 KB"
        "#,
        bind.collect::<Vec<_>>().join(", "),
        (0..3).map(hop).collect::<String>()
    );
    let scenario = scenario(&text, "[roles.core.queue.fq-codel]\n");
    let (model, simulation) = (predicted(&scenario), simulated(&scenario, 4));
    let through = |summary: &Summary| summary.workload("through").unwrap().all.mean.unwrap().mean;
    holds("through", through(&model), through(&simulation), 0.15);
}

/// A long queue consists of windows' packets first, and of small ones that come meanwhile, but not of all as they come.
#[test]
fn small_packets_take_no_more_of_a_buffer_in_packets_than_they_do() {
    for (room, size, calls, bulk) in
        [(30, "10 KB", 400, 800), (30, "20 KB", 400, 800), (50, "20 KB", 1000, 1000)]
    {
        let text = format!(
            r#"
            duration = "220 s"
            warm_up = "20 s"
            drain = "60 s"
            hosts = {{ s = {{ count = 2 }}, c = {{ count = 2 }} }}
            routers = {{ far = {{}}, near = {{}} }}
            links.line = {{ between = ["far", "near"], rate = "4 Mbit/s", delay = "20 ms", queue = "{room} pkt" }}
            links.servers = {{ between = ["s", "far"], rate = "1 Gbit/s", delay = "1 ms" }}
            links.clients = {{ between = ["c", "near"], rate = "1 Gbit/s", delay = "1 ms" }}
            [workloads.web.transfers]
            client = "c[0]"
            server = "s[0]"
            load = "{bulk} kbit/s"
            request.constant = "400 B"
            reply.constant = "{size}"
            [workloads.calls.poisson]
            from = "s[1]"
            to = "c[1]"
            load = "{calls} kbit/s"
            size.constant = "200 B"
            "#
        );
        let scenario = scenario(&text, "");
        let time = |summary: &Summary| summary.workload("web").unwrap().all.mean.unwrap();
        let (model, simulation) = (time(&predicted(&scenario)), time(&simulated(&scenario, 3)));
        assert!(!model.is_bound(), "{model:?}");
        let what = format!("{size} beside {calls} kbit/s of small packets, {room} packets");
        holds(&what, model.mean, simulation.mean, 0.1);
    }
}

/// Objects that follow one another over one connection: those before one have sizes of their own.
#[test]
fn objects_in_line_behind_others_take_as_long_as_those_and_their_own() {
    let text = r#"
        duration = "1220 s"
        warm_up = "20 s"
        drain = "60 s"
        measure.size_classes = ["10 KB", "200 KB"]
        hosts = { a = {}, b = {} }
        links.line = { between = ["a", "b"], rate = "10 Mbit/s", delay = "20 ms" }
        [workloads.pages.web]
        client = "a"
        server = "b"
        http = "1.1"
        sessions = 1
        request.constant = "400 B"
        page.index.constant = "20 KB"
        page.objects.constant = 8
        page.object.choice = { sizes = ["5 KB", "150 KB"], weights = [7, 1] }
        think.exponential.mean = "8 s"
    "#;
    let scenario = scenario(text, "");
    let (model, simulation) = (predicted(&scenario), simulated(&scenario, 3));
    let objects = |summary: &Summary, class: &str| {
        summary.workload("pages/objects").unwrap().class(class).unwrap().mean.unwrap()
    };
    for class in ["up to 10 KB", "up to 200 KB"] {
        let (found, actual) = (objects(&model, class), objects(&simulation, class));
        assert!(!found.is_bound(), "{found:?}");
        holds(class, found.mean, actual.mean, 0.25);
    }
}

/// Pages of an index and three objects in line, of which the third round trip decides, with a sender's recovery of losses.
fn pages_in_line(recovery: &str) -> Scenario {
    let text = format!(
        r#"
        duration = "320 s"
        warm_up = "20 s"
        drain = "20 s"
        tcp.recovery = "{recovery}"
        hosts = {{ a = {{}}, b = {{}} }}
        links.line = {{ between = ["a", "b"], rate = "300 Mbit/s", delay = "60 ms" }}
        [workloads.pages.web]
        client = "a"
        server = "b"
        http = "1.1"
        sessions = 4
        request.constant = "400 B"
        page.index.constant = "20 KB"
        page.objects.constant = 3
        page.object.constant = "30 KB"
        think.exponential.mean = "2 s"
        "#
    );
    scenario(&text, "")
}

#[test]
fn an_index_opens_the_window_as_far_as_it_holds_the_sender_back() {
    let time =
        |summary: &Summary, name: &str| summary.workload(name).unwrap().all.mean.unwrap().mean;
    for recovery in ["sack", "rack"] {
        let scenario = pages_in_line(recovery);
        let (model, simulation) = (predicted(&scenario), simulated(&scenario, 1));
        for name in ["pages", "pages/objects"] {
            let what = format!("{name} with {recovery}");
            holds(&what, time(&model, name), time(&simulation, name), 0.06);
        }
    }
}
