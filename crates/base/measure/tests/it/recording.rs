//! What a recorder makes of what it is told.

use shortflow_measure::{
    CodePointCounts, Count, End, Plan, PortCounts, Recorder, Replica, StreamPlan, Summary, Transfer,
};
use shortflow_units::{Duration, Instant, Rng};

use super::{at, ms, plan, transfer};

fn record(transfers: &[Transfer]) -> Replica {
    let mut recorder = Recorder::new(&plan(), None);
    transfers.iter().for_each(|transfer| recorder.transfer(transfer));
    recorder.finish().unwrap()
}

/// A transfer that is not complete, of whose reply nothing has come yet.
fn unfinished(start: Instant, reply_bytes: u64) -> Transfer {
    Transfer { start, reply_bytes, ..Default::default() }
}

/// Transfers that start evenly over the run, of lengths that vary.
fn many(seed: u64, n: u32) -> Vec<Transfer> {
    let mut rng = Rng::stream(seed, "transfers");
    (0..n)
        .map(|i| {
            let start = 10.0 + 90.0 * f64::from(i) / f64::from(n);
            let reply = Duration::from_secs_f64(0.05 + rng.exponential(0.2));
            transfer(start, reply, 1 + rng.below(11_000))
        })
        .collect()
}

#[test]
fn a_completion_time_is_handshake_and_request_and_reply() {
    let replica = record(&[transfer(20.0, ms(100), 500)]);
    let class = replica.workload("web").unwrap().class("1 pkt").unwrap();
    assert!((class.mean().unwrap().value() - 0.2).abs() < 1e-12);
    assert!((class.handshake.mean().unwrap() - 0.04).abs() < 1e-12);
}

#[test]
fn a_class_takes_its_largest_reply_and_the_whole_takes_what_no_class_does() {
    let replica = record(&[
        transfer(20.0, ms(1), 1000),
        transfer(20.0, ms(1), 1001),
        transfer(20.0, ms(1), 11_000),
        transfer(20.0, ms(1), 11_001),
    ]);
    let web = &replica.workloads[0];
    let counts: Vec<_> = web.classes.iter().map(|class| class.completion.n()).collect();
    assert_eq!((counts, web.all.completion.n()), (vec![1, 2], 4));
    let bounds: Vec<_> = web.classes.iter().map(|class| class.up_to).collect();
    assert_eq!((bounds, web.all.up_to), (vec![Some(1000), Some(11_000)], None));
}

#[test]
fn the_bytes_above_a_class_are_those_of_larger_replies() {
    let replica = record(&[
        transfer(5.0, ms(1), 900_000), // from the warm-up
        transfer(20.0, ms(1), 1000),
        transfer(20.0, ms(1), 4000),
        transfer(20.0, ms(1), 15_000),
    ]);
    let web = &replica.workloads[0];
    assert_eq!(web.bytes_above("1 pkt"), Some(0.95));
    assert_eq!(web.bytes_above("11 pkt"), Some(0.75));
    assert_eq!(web.bytes_above("91 pkt"), None, "no such class");
    assert_eq!(record(&[]).workloads[0].bytes_above("1 pkt"), None, "no byte");
    let summary = Summary::from_replicas(&[replica.clone(), replica]);
    assert_eq!(summary.workloads[0].class("11 pkt").unwrap().reply_bytes, 8000);
}

#[test]
fn what_started_before_the_warm_up_ended_counts_in_no_mean() {
    let replica = record(&[transfer(9.999, ms(9000), 500), transfer(10.0, ms(100), 500)]);
    assert_eq!(replica.workloads[0].all.completion.n(), 1);
    assert!((replica.workloads[0].all.mean().unwrap().value() - 0.2).abs() < 1e-12);
}

#[test]
fn packet_loss_is_of_what_completed_transfers_sent_after_the_warm_up() {
    let sent = |start, sent, dropped| Transfer { sent, dropped, ..transfer(start, ms(1), 500) };
    let summary = Summary::from_replicas(&[record(&[
        sent(5.0, 100, 50),
        sent(20.0, 30, 0),
        sent(30.0, 70, 2),
    ])]);
    let web = summary.workload("web").unwrap();
    assert_eq!(web.packet_loss.unwrap().mean, 0.02);
    assert_eq!(web.all.deviation.unwrap().mean, 0.0, "each took 101 ms");
}

#[test]
fn the_summary_of_several_replicas_pools_their_distributions() {
    let (one, two) = (many(1, 400), many(2, 400));
    let summary = Summary::from_replicas(&[record(&one), record(&two)]);
    let all_in_one = Summary::from_replicas(&[record(&[one, two].concat())]);
    for (pooled, single) in summary.classes().zip(all_in_one.classes()) {
        assert_eq!(pooled.times, single.times);
        assert_eq!((pooled.n, pooled.max), (single.n, single.max));
    }
    let web = summary.workload("web").unwrap();
    assert_eq!((web.all.mean.unwrap().n, web.completed), (2, 800));
}

fn messages(summary: &Summary) -> Vec<&str> {
    summary.warnings.iter().map(|warning| warning.message.as_str()).collect()
}

#[test]
fn a_transfer_left_open_is_counted_with_its_age_and_warned_of() {
    // The first began before the warm-up's end: it is open, but counts in no figure.
    let mut recorder = Recorder::new(&plan(), None);
    many(1, 50).iter().for_each(|transfer| recorder.transfer(transfer));
    for start in [5.0, 60.0, 100.0] {
        recorder.open_transfer(&unfinished(at(start), 500));
    }
    let summary = Summary::from_replicas(&[recorder.finish().unwrap()]);
    let web = summary.workload("web").unwrap();
    assert_eq!((web.open, web.oldest_open, web.class("1 pkt").unwrap().open), (3, 50.0, 3));
    assert_eq!(
        messages(&summary),
        ["2 of 52 transfers of web were still open at the end (the oldest for 50.0 s); they \
                count as taking longer than their age; for web these figures are only lower bounds \
                and give no gain: mean of 1 pkt; mean of all; run for a longer time, or set `drain`"]
    );
}

#[test]
fn a_transfer_that_its_tcp_gave_up_is_counted_and_warned_of() {
    let mut recorder = Recorder::new(&plan(), None);
    many(1, 50).iter().for_each(|transfer| recorder.transfer(transfer));
    recorder.failed_transfer(at(40.0), &unfinished(at(5.0), 500)); // from the warm-up
    recorder.failed_transfer(at(60.0), &unfinished(at(20.0), 500));
    let summary = Summary::from_replicas(&[recorder.finish().unwrap()]);
    let web = summary.workload("web").unwrap();
    assert_eq!((web.failed, web.open, web.completed), (1, 0, 50));
    assert_eq!(
        messages(&summary),
        [
            "for web these figures are only lower bounds and give no gain: mean of 1 pkt; mean of \
                all; run for a longer time, or set `drain`",
            "1 of the transfers of web was aborted by its TCP, because its retries ran out or the \
                connection was reset; it counts as taking longer than its age at the end"
        ]
    );
}

#[test]
fn a_load_that_does_not_settle_is_warned_of() {
    // Ten start each second, and each takes 5 ms longer than the one before.
    let mut recorder = Recorder::new(&plan(), None);
    for i in 0..1000 {
        let transfer = transfer(10.0 + 0.1 * f64::from(i), ms(5 * i as u64), 500);
        if transfer.start + transfer.completion() < at(110.0) {
            recorder.transfer(&transfer);
        } else {
            recorder.open_transfer(&unfinished(transfer.start, transfer.reply_bytes));
        }
    }
    let summary = Summary::from_replicas(&[recorder.finish().unwrap()]);
    let warnings = messages(&summary);
    assert!(warnings[0].starts_with("the load of web does not settle"), "{warnings:?}");
    assert!(Summary::from_replicas(&[record(&many(3, 1000))]).warnings.is_empty());
}

#[test]
fn jitter_is_the_mean_difference_of_consecutive_delays() {
    let mut recorder = Recorder::new(&plan(), None);
    for (second, delay) in [(5.0, 900), (20.0, 10), (21.0, 14), (22.0, 12), (23.0, 12)] {
        recorder.datagram_sent(at(second - 0.5), 0, 0);
        recorder.datagram(at(second), 0, 0, ms(delay));
    }
    recorder.datagram_sent(at(24.0), 0, 0);
    recorder.datagram_dropped(at(24.0), 0, 0);
    recorder.datagram_sent(at(25.0), 0, 0); // under way at the end: neither lost nor delivered
    let datagrams = recorder.finish().unwrap().workloads[0].datagrams.unwrap();
    assert!((datagrams.delay.unwrap() - 0.012).abs() < 1e-12);
    assert!((datagrams.jitter.unwrap() - 0.002).abs() < 1e-12); // (4 + 2 + 0) / 3 ms
    assert_eq!((datagrams.sent, datagrams.delivered), (6, 4));
    assert!((datagrams.loss().unwrap() - 0.2).abs() < 1e-12);
}

#[test]
fn jitter_has_percentiles_where_enough_differences_lie_beyond_them() {
    let of = |datagrams: u64| {
        let mut recorder = Recorder::new(&plan(), None);
        // Delays go up by 1, 2, 3, … ms and back, by turns: so do their differences.
        for n in 0..=datagrams {
            let delay = if n % 2 == 0 { ms(10) } else { ms(10 + n) };
            recorder.datagram(at(20.0 + n as f64 / 1000.0), 0, 0, delay);
        }
        recorder.finish().unwrap().workloads[0].datagrams.unwrap().jitter_percentiles
    };
    let found = of(1000);
    let near = |found: Option<f64>, expected: f64| {
        assert!((found.unwrap() / expected - 1.0).abs() < 0.003, "{found:?} for {expected} s");
    };
    // Differences are 1, 1, 3, 3, 5, 5, … 999, 999 ms.
    near(found.jitter_median, 0.499);
    near(found.jitter_p95, 0.949);
    near(found.jitter_p99, 0.989);
    // Of 999 differences fewer than 10 lie beyond the 99th percentile, of 19 beyond the median.
    let fewer = of(999);
    assert!(fewer.jitter_p95.is_some() && fewer.jitter_p99.is_none(), "{fewer:?}");
    assert_eq!(of(19).jitter_median, None);
}

#[test]
fn the_jitter_of_several_streams_is_not_the_difference_between_them() {
    let mut recorder = Recorder::new(&plan(), None);
    for second in [20.0, 21.0, 22.0] {
        recorder.datagram(at(second), 0, 0, ms(10));
        recorder.datagram(at(second), 0, 1, ms(50));
    }
    assert_eq!(recorder.finish().unwrap().workloads[0].datagrams.unwrap().jitter, Some(0.0));
}

#[test]
fn a_stream_that_is_set_apart_has_its_own_delay_and_loss() {
    let stream = |name: &str| Some(StreamPlan { workload: 0, name: name.into(), rate: 10_000 });
    let mut recorder = Recorder::new(
        &Plan { streams: vec![stream("a->b"), None, stream("c->d")], ..plan() },
        None,
    );
    for (second, index, delay) in [(5.0, 0, 900), (20.0, 0, 10), (21.0, 0, 30), (22.0, 1, 70)] {
        recorder.datagram_sent(at(second - 1.0), 0, index);
        recorder.datagram(at(second), 0, index, ms(delay));
    }
    recorder.datagram_sent(at(23.0), 0, 0);
    recorder.datagram_dropped(at(23.0), 0, 0);
    let replica = recorder.finish().unwrap();
    let streams = &replica.workloads[0].streams;
    let names: Vec<&str> = streams.iter().map(|stream| stream.name.as_str()).collect();
    assert_eq!(names, ["a->b", "c->d"]);
    let first = &streams[0];
    assert_eq!((first.sent, first.delivered, first.dropped), (3, 2, 1));
    assert!((first.delay.unwrap() - 0.020).abs() < 1e-12);
    assert_eq!(first.delay_max, Some(0.030));
    assert!((first.loss().unwrap() - 1.0 / 3.0).abs() < 1e-12);
    assert_eq!((streams[1].delay, streams[1].loss()), (None, None));
    // All streams count in the workload, set apart or not.
    assert_eq!(replica.workloads[0].datagrams.unwrap().delivered, 3);
    let summary = Summary::from_replicas(&[replica]);
    assert_eq!(summary.workloads[0].streams[0].delay_max.unwrap().mean, 0.030);
}

#[test]
fn what_is_open_at_the_end_counts_as_under_way_up_to_its_age_in_the_share_over_a_limit() {
    let plan = Plan { limits: vec![Duration::from_secs(5), Duration::from_secs(10)], ..plan() };
    let mut recorder = Recorder::new(&plan, None);
    // In all 0.1 s, 5 s (which is not over), 6 s and 12 s; the last began too early to count.
    for (start, reply) in [(20.0, 0), (20.0, 4900), (20.0, 5900), (20.0, 11_900), (9.0, 50_000)] {
        recorder.transfer(&transfer(start, ms(reply), 500));
    }
    recorder.open_transfer(&unfinished(at(103.0), 500)); // 7 s old
    recorder.open_transfer(&unfinished(at(108.0), 500)); // 2 s old: how long it will take is not known
    recorder.open_transfer(&unfinished(at(9.0), 500));
    let replica = recorder.finish().unwrap();
    let all = &replica.workloads[0].all;
    // By the product limit: 5 of 6 take longer than 0.1 s, of these 3 of 4 longer than 5 s, since one
    // of 2 s is not known, and of these 2 of 3 longer than 6 s.
    let (over_5, over_10) = (5.0 / 6.0 * 3.0 / 4.0, 5.0 / 6.0 * 3.0 / 4.0 * 2.0 / 3.0);
    let near = |found: f64, expected: f64| (found - expected).abs() < 1e-12;
    assert!(near(all.share_over(0).unwrap(), over_5), "{:?}", all.share_over(0));
    assert!(near(all.share_over(1).unwrap(), over_10), "{:?}", all.share_over(1));
    assert_eq!(all.share_over(2), None, "the plan has two limits");
    let summary = Summary::from_replicas(&[replica]);
    let class = summary.workloads[0].class("1 pkt").unwrap();
    let limits: Vec<f64> = class.over.iter().map(|over| over.limit).collect();
    assert_eq!(limits, [5.0, 10.0]);
    assert!(near(class.over[0].share.unwrap().mean, over_5));
    assert!(near(class.over[1].share.unwrap().mean, over_10));
}

#[test]
fn goodput_is_what_was_delivered_over_the_measured_time() {
    let mut recorder = Recorder::new(&plan(), None);
    recorder.goodput(at(9.9), 0, End::Client, 1_000_000);
    recorder.goodput(at(10.0), 0, End::Client, 125_000_000);
    recorder.goodput(at(20.0), 0, End::Server, 12_500_000);
    recorder.long_flow(0, 100_000_000, None);
    recorder.long_flow(0, 25_000_000, None);
    let summary = Summary::from_replicas(&[recorder.finish().unwrap()]);
    let web = &summary.workloads[0];
    assert_eq!(web.goodput.unwrap().mean, 11e6, "both ways together");
    assert_eq!(web.data_goodput.unwrap().mean, 10e6);
    assert_eq!(web.request_goodput.unwrap().mean, 1e6);
    // (4 + 1)² / (2 · (16 + 1))
    assert!((web.fairness.unwrap().mean - 25.0 / 34.0).abs() < 1e-12);
}

#[test]
fn loss_at_a_port_is_told_by_code_point_and_reason() {
    let count = |packets| Count { packets, bytes: packets * 1000 };
    let mut recorder = Recorder::new(&plan(), None);
    recorder.port(
        0,
        PortCounts {
            code_points: vec![
                CodePointCounts {
                    arrived: count(100),
                    forwarded: count(80),
                    dropped: vec![count(5), count(15)],
                },
                CodePointCounts {
                    arrived: count(300),
                    forwarded: count(300),
                    dropped: vec![count(0), count(0)],
                },
            ],
            busy: Duration::from_secs(90),
            ..Default::default()
        },
    );
    let summary = Summary::from_replicas(&[recorder.finish().unwrap()]);
    let port = summary.port("r1->r2").unwrap();
    assert_eq!(port.utilisation.unwrap().mean, 0.9);
    assert_eq!(port.loss.unwrap().mean, 0.05);
    let best_effort = &port.code_points[0];
    assert_eq!(best_effort.loss.unwrap().mean, 0.2);
    assert_eq!(best_effort.reasons["early"], 0.15);
    assert_eq!(port.code_points[1].loss.unwrap().mean, 0.0);
    assert!(port.code_points[1].reasons.is_empty());
}

#[test]
fn a_percentile_of_few_transfers_is_that_of_all_replicas_or_absent() {
    let (one, two) = (many(1, 120), many(2, 120));
    let summary = Summary::from_replicas(&[record(&one), record(&two)]);
    let all = &summary.workloads[0].all;
    // 120 of a replica tell its median, 240 together tell a 95th percentile, and nothing a 99th.
    assert_eq!(all.median.map(|median| (median.n, median.low.is_some())), Some((2, true)));
    let together =
        Summary::from_replicas(&[record(&[one, two].concat())]).workloads[0].all.p95.unwrap();
    assert_eq!(all.p95.map(|p95| (p95.mean, p95.low)), Some((together.mean, None)));
    assert_eq!(all.p99, None);
}

#[test]
fn the_bytes_above_a_class_count_what_was_carried_for_a_transfer_left_open() {
    let mut recorder = Recorder::new(&plan(), None);
    recorder.transfer(&transfer(20.0, ms(1), 1000));
    let large = Transfer { carried_bytes: 9000, ..unfinished(at(50.0), 500_000) };
    recorder.open_transfer(&large);
    assert_eq!(recorder.finish().unwrap().workloads[0].bytes_above("1 pkt"), Some(0.9));
}

#[test]
fn the_delay_of_datagrams_has_percentiles_once_there_are_enough() {
    let mut recorder = Recorder::new(&plan(), None);
    for i in 0..1000_u64 {
        let second = 20.0 + 0.01 * i as f64;
        recorder.datagram_sent(at(second), 0, 0);
        recorder.datagram(at(second), 0, 0, Duration::from_micros(1000 + i));
    }
    let delays = recorder.finish().unwrap().workloads[0].datagrams.unwrap().percentiles;
    let near = |delay: Option<f64>, exact: f64| (delay.unwrap() / exact - 1.0).abs() < 1e-3;
    assert!(near(delays.delay_median, 0.001_499) && near(delays.delay_p95, 0.001_949));
    assert!(near(delays.delay_p99, 0.001_989));
    let mut recorder = Recorder::new(&plan(), None);
    (0..199).for_each(|_| recorder.datagram(at(20.0), 0, 0, ms(1)));
    let delays = recorder.finish().unwrap().workloads[0].datagrams.unwrap().percentiles;
    assert!(delays.delay_median.is_some() && delays.delay_p95.is_none());
}
