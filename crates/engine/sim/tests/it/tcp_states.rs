//! Samples of TCP senders: windows that a hand counts, and what holds of all of them.

use shortflow_measure::RowNames;
use shortflow_measure::TcpSample;
use shortflow_measure::results::{Kept, Store, TcpRow, TcpSink};
use shortflow_run::TcpInfoLog;
use shortflow_scenario::Scenario;
use shortflow_sim::{Simulated, Watched, run_replica_watched};
use shortflow_units::Duration;

use crate::bench::{run, scenario};

/// Replica 0 with samples every `millis` milliseconds.
fn sampled(scenario: &Scenario, millis: u64) -> (Simulated, Kept<TcpSample>) {
    let rows = scenario.result_rows();
    let names = RowNames {
        workloads: rows.into_iter().map(|row| row.name).collect(),
        nodes: scenario.nodes.iter().map(|node| node.name.clone()).collect(),
        ..RowNames::default()
    };
    let store = Store::default();
    let every = Some(Duration::from_millis(millis));
    let tcp_info = Some(TcpInfoLog { sink: TcpSink::in_memory(&store, 0, 0, names), every });
    let watched = Watched { tcp_info, ..Watched::default() };
    let found = run_replica_watched(watched, scenario, 0, |_| true).expect("the run ends");
    (found, store.take().swap_remove(0))
}

fn rows(kept: &Kept<TcpSample>) -> Vec<TcpRow<'_>> {
    (0..).map_while(|at| kept.row(at)).collect()
}

/// A long flow and small transfers over a link of this rate; 10 ms each way.
fn line(rate: &str, queue: &str) -> Scenario {
    scenario(&format!(
        r#"
        duration = "10 s"
        hosts = {{ a = {{}}, b = {{}} }}
        links.line = {{ between = ["a", "b"], rate = "{rate}", delay = "10 ms", queue = "{queue}" }}
        [workloads.long.bulk]
        from = "a"
        to = "b"
        [workloads.short.transfers]
        client = "b"
        server = "a"
        rate = "2 /s"
        request.constant = "100 B"
        reply.constant = "20 KB"
        "#
    ))
}

#[test]
fn a_window_in_slow_start_doubles_in_each_round_trip() {
    let scenario = line("1 Gbit/s", "100000 pkt");
    let (_, kept) = sampled(&scenario, 10);
    // The SYN leaves at 0 s and is answered at 20 ms. Each segment of that round's window is acknowledged 20 ms later.
    let at = |time: f64| {
        let all = rows(&kept).into_iter();
        let mut of_long = all.filter(|row| row.workload == "long" && row.time_s == time);
        let row = of_long.next().unwrap_or_else(|| panic!("no sample at {time} s"));
        (row.cwnd, row.outstanding, row.state.to_owned())
    };
    let first = at(0.03).0;
    let expected = |round: u32| (first << round, first << round, "open".to_owned());
    let found = [0.03, 0.05, 0.07, 0.09, 0.11].map(at);
    assert_eq!(found, [0, 1, 2, 3, 4].map(expected));
    // RFC 3390 gives four segments of 1000 bytes, ns-2 of 2005 two.
    assert_eq!(first, 2);
    let smoothed: Vec<f64> =
        rows(&kept).iter().filter(|row| row.time_s == 0.11).map(|row| row.srtt_s).collect();
    // 20.02 ms, which the ns-2 of 2005 counts as three ticks of 10 ms.
    assert_eq!(smoothed, [0.03]);
}

#[test]
fn what_is_in_flight_fits_the_window_while_nothing_is_lost() {
    let scenario = line("2 Mbit/s", "20 pkt");
    let (_, kept) = sampled(&scenario, 7);
    let all = rows(&kept);
    let of_long = || all.iter().filter(|row| row.workload == "long");
    assert!(of_long().any(|row| row.state == "recovery"), "the queue overflows");
    assert!(of_long().next_back().unwrap().retransmissions > 0);
    for row in of_long().filter(|row| row.state == "open") {
        // After two duplicate acknowledgements, limited transmit has sent two more (RFC 3042).
        assert!(row.outstanding <= row.cwnd + 2, "{row:?}");
    }
    let times: Vec<f64> = of_long().map(|row| row.time_s).collect();
    assert!(times.windows(2).all(|pair| pair[0] < pair[1]));
    assert_eq!(times.len(), 10_000 / 7 + 1, "one every 7 ms, and one at the end");
}

#[test]
fn each_transfer_has_a_sample_at_its_end() {
    let scenario = line("2 Mbit/s", "20 pkt");
    let (found, kept) = sampled(&scenario, 500);
    let all = rows(&kept);
    let of_short = |occasion: &str| {
        let found = all.iter().filter(|row| row.workload == "short" && row.occasion == occasion);
        found.map(|row| (row.id, row.sender)).collect::<Vec<_>>()
    };
    let short = found.replica.workload("short").unwrap();
    let completed = of_short("completed");
    assert!(completed.len() > 10);
    assert_eq!(completed.len() as u64, short.all.completion.n());
    assert!(completed.iter().all(|(id, sender)| id.is_some() && *sender == "a"), "{completed:?}");
    assert_eq!(of_short("open").len() as u64, short.open);
}

#[test]
fn samples_do_not_change_what_is_measured() {
    for scenario in [line("2 Mbit/s", "20 pkt"), line("20 Mbit/s", "50 pkt")] {
        let (plain, (sampled, _)) = (run(&scenario), sampled(&scenario, 1));
        assert_eq!(plain.replica, sampled.replica);
        assert_eq!(format!("{:?}", plain.totals), format!("{:?}", sampled.totals));
    }
}
