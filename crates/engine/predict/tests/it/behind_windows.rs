//! Streams behind windows of others in queues that serve short or small flows first, and warnings of CoDel.

use shortflow_measure::{Estimate, Summary};
use shortflow_predict::Prediction;
use shortflow_run::{Task, run_tasks};
use shortflow_scenario::Scenario;

use crate::against_simulations::{predicted, simulated};
use crate::beside_long_flows::{line, transfers};

const STREAM: &str = "[workloads.calls.poisson]\nfrom = \"s\"\nto = \"c\"\nload = \"96 kbit/s\"\nsize.constant = \"326 B\"\n";

fn delay(summary: &Summary) -> Estimate {
    summary.workload("calls").unwrap().datagrams.as_ref().unwrap().delay.unwrap()
}

/// Checks that the delay of calls is a bound, and that it is one.
fn is_bound(scenario: &Scenario) {
    let (said, found) = (delay(&predicted(scenario)), delay(&simulated(scenario, 1)));
    assert!(said.at_least && said.mean <= found.mean, "{said:?} for {found:?}");
}

/// Of a page of 305 KB over one connection most is in the last band, where calls are.
#[test]
fn objects_in_line_are_in_later_bands_than_the_first() {
    let page = r#"
        [workloads.web.web]
        client = "c"
        server = "x"
        http = "1.1"
        keep_alive = false
        sessions = 1
        request.constant = "400 B"
        page.index.constant = "5 KB"
        page.objects.constant = 10
        page.object.constant = "30 KB"
        think.exponential.mean = "1 s"
        "#;
    let policy = r#"
        [[roles.edge.classes]]
        name = "all"
        marker.dstf = { per = "flow", decay = "15 kbit/s" }
        [roles.core.queue.strict-priority]
        bands = [
            { match = { dscp = ["CS7", "CS6", "CS5", "CS4", "CS3", "CS2", "CS1"] }, queue.fifo = { limit = "200 pkt" } },
            { queue.fifo = { limit = "200 pkt" } },
        ]
    "#;
    is_bound(&line("3.3 Mbit/s", "35 ms", &(page.to_owned() + STREAM), policy));
}

/// 140 B in 380 ms are more than is forgotten, but not where each echo waits a second and more behind a long flow.
#[test]
fn sessions_that_wait_until_they_are_forgotten_have_a_bound() {
    let workloads = r#"
        [workloads.long.bulk]
        from = "x"
        to = "c"
        flows = 1
        [workloads.type.telnet]
        client = "c"
        server = "s"
        sessions = 2
        packet = "100 B"
        pause.exponential.mean = "300 ms"
        "#;
    let policy = r#"
        [[roles.edge.classes]]
        name = "all"
        marker.dstf = { per = "flow", decay = "1400 bit/s", thresholds = ["5 KB"], code_points = ["CS7", "BE"] }
        [roles.core.queue.strict-priority]
        bands = [
            { match = { dscp = ["CS7"] }, queue.fifo = { limit = "200 pkt" } },
            { queue.fifo = { limit = "200 pkt" } },
        ]
    "#;
    let scenario = line("0.3 Mbit/s", "35 ms", workloads, policy);
    let time = |summary: &Summary| summary.workload("type").unwrap().all.mean.unwrap();
    let (said, found) = (time(&predicted(&scenario)), time(&simulated(&scenario, 1)));
    assert!(said.at_least && said.mean <= found.mean && found.mean < 0.5, "{said:?} {found:?}");
}

#[test]
fn a_stream_waits_for_runs_of_windows_that_have_sent_less_beside_long_flows() {
    let policy = "[roles.edge]\n[roles.core.queue.stf]\nlimit = \"200 pkt\"\n";
    let stream = STREAM.replace("96 kbit/s", "400 kbit/s");
    let bulk = "[workloads.bulk.bulk]\nfrom = \"x\"\nto = \"c\"\nflows = 1\n";
    is_bound(&line("2 Mbit/s", "20 ms", &(stream + bulk + &transfers("600 kbit/s")), policy));
}

/// 137 segments take 226 ms at this line, 80 ms longer than the way.
#[test]
fn what_codel_does_to_windows_without_sack_is_said_of_large_files() {
    let files = |era: &str| {
        format!(
            "[tcp]\nera = \"{era}\"\nreceive_window = \"200 KB\"\n\
             [workloads.files.ftp]\nfrom = \"s\"\nto = \"c\"\nsize.constant = \"500 KB\"\n\
             pause.exponential.mean = \"5 s\"\n"
        )
    };
    let warned = |era: &str| {
        let policy = "[roles.edge]\n[roles.core.queue.fq-codel]\n";
        let scenario = line("7.3 Mbit/s", "71 ms", &files(era), policy);
        let task = Task { scenario: &scenario, replica: 0 };
        let outcome = run_tasks(&Prediction, &[task], 1, &false.into(), &()).remove(0).unwrap();
        outcome.warnings.iter().any(|one| one.message.contains("without SACK"))
    };
    assert!(warned("ns2-2005") && !warned("linux-today"));
}

#[test]
fn what_codel_may_do_to_times_is_said_for_slow_lines_and_for_full_ones() {
    let warned = |rate: &str, load: &str| -> Vec<&str> {
        let scenario =
            line(rate, "10 ms", &transfers(load), "[roles.edge]\n[roles.core.queue.fq-codel]\n");
        Prediction.answers(&scenario).unwrap();
        let task = Task { scenario: &scenario, replica: 0 };
        let outcome = run_tasks(&Prediction, &[task], 1, &false.into(), &()).remove(0).unwrap();
        let said = |part: &&str| outcome.warnings.iter().any(|one| one.message.contains(part));
        let parts = ["half as long or half longer", "a third shorter or twice as long"];
        parts.into_iter().filter(said).collect()
    };
    assert!(warned("10 Mbit/s", "4 Mbit/s").is_empty());
    assert_eq!(warned("1 Mbit/s", "400 kbit/s"), ["half as long or half longer"]);
    assert_eq!(warned("10 Mbit/s", "7 Mbit/s"), ["a third shorter or twice as long"]);
    assert_eq!(warned("1 Mbit/s", "650 kbit/s").len(), 2);
    // Beyond, what is sent again adds to the load.
    let full = line(
        "1 Mbit/s",
        "10 ms",
        &transfers("850 kbit/s"),
        "[roles.edge]\n[roles.core.queue.fq-codel]\n",
    );
    assert!(predicted(&full).workload("tr").unwrap().all.mean.unwrap().at_least);
}
