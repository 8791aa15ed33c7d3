//! Workloads as an engine drives them.

use shortflow_packet::Dscp;
use shortflow_units::{Bytes, Duration, Instant, Rate};
use shortflow_workloads::{Bulk, Cbr, Sizes, Transfers, parse_accesses};

const PAIRS: [(&str, &str); 2] = [("a", "s"), ("b", "s")];

fn seconds(secs: u64) -> Instant {
    Instant::START + Duration::from_secs(secs)
}

fn transfers(rate: f64) -> Transfers<&'static str> {
    Transfers {
        pairs: PAIRS.to_vec(),
        rate,
        request: Sizes::Constant(Bytes(300)),
        reply: Sizes::Exponential { mean: Bytes(10_000) },
        port: 80,
        start: seconds(10),
        stop: seconds(1010),
    }
}

/// 20 transfers per second for 1000 s: 20,000 ± 5·√20,000, with a mean reply of 10 KB within five standard errors.
#[test]
fn transfers_come_at_their_rate_within_their_time_and_use_every_pair() {
    let all: Vec<_> = transfers(20.0).arrivals(1, "web").collect();
    let number = all.len() as f64;
    assert!((number - 20_000.0).abs() < 5.0 * 20_000.0_f64.sqrt(), "{number}");
    assert!(all.iter().all(|one| one.at >= seconds(10) && one.at < seconds(1010)));
    assert!(all.windows(2).all(|pair| pair[0].at <= pair[1].at));
    let mean = all.iter().map(|one| one.reply.0 as f64).sum::<f64>() / number;
    assert!((mean - 10_000.0).abs() < 5.0 * 10_000.0 / number.sqrt(), "{mean}");
    let of_first = all.iter().filter(|one| one.pair == 0).count() as f64;
    assert!((of_first / number - 0.5).abs() < 5.0 * 0.5 / number.sqrt());
    assert!(all.iter().all(|one| one.request == Bytes(300)));
}

#[test]
fn arrivals_depend_on_the_seed_and_the_name_alone() {
    let first = |seed, name| transfers(20.0).arrivals(seed, name).take(5).collect::<Vec<_>>();
    assert_eq!(first(1, "web"), first(1, "web"));
    assert_ne!(first(1, "web"), first(2, "web"));
    assert_ne!(first(1, "web"), first(1, "mail"));
}

#[test]
fn bulk_flows_take_turns_between_pairs_and_begin_within_their_window() {
    let bulk = Bulk {
        pairs: PAIRS.to_vec(),
        flows: 4,
        size: None,
        port: 20,
        start: seconds(5),
        start_window: Duration::from_secs(2),
    };
    let starts = bulk.starts(1, "downloads");
    for pair in [0, 1] {
        assert_eq!(starts.iter().filter(|one| one.pair == pair).count(), 2);
    }
    assert!(starts.iter().all(|one| one.at >= seconds(5) && one.at <= seconds(7)));
}

/// 200 bytes each 20 ms are 80 kbit/s.
#[test]
fn a_constant_bit_rate_sends_a_packet_at_each_interval() {
    let calls = Cbr {
        pairs: vec![("a", "s")],
        rates: vec![Rate::from_bits_per_sec(80_000)],
        by_stream: false,
        packet: 200,
        port: 5004,
        dscp: Dscp::EF,
        start: seconds(1),
        stop: seconds(3),
    };
    let all: Vec<_> = calls.departures(1, "calls", 0).collect();
    assert!(all.windows(2).all(|pair| pair[1].at.since(pair[0].at) == Duration::from_millis(20)));
    assert!(all.iter().all(|one| one.size == 200 && one.at >= seconds(1) && one.at < seconds(3)));
    assert!((99..=100).contains(&all.len()), "{}", all.len());
}

#[test]
fn a_log_of_accesses_is_read_and_a_wrong_line_is_named() {
    let head = "time_s,client,page,index_bytes,object_bytes\n";
    let log = format!("{head}0.5,0,7,3000,5000 200\n0.9,1,,,400\n");
    let accesses = parse_accesses(&log, 2).unwrap();
    assert_eq!(accesses.len(), 2);
    let wrong = format!("{head}0.5,0,7,3000,5000\nsoon,0,7,3000,5000\n");
    let message = format!("{:?}", parse_accesses(&wrong, 2).unwrap_err());
    assert!(message.contains('3'), "the third line: {message}");
}
