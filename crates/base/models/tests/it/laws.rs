//! More load, more loss, more flows or a longer way never make anything faster; and whatever is given, a
//! model answers with a number or says what it takes.

use proptest::prelude::*;
use shortflow_models::attained_service::Arrivals;
use shortflow_models::delay_tail::{Packets, wait_tail};
use shortflow_models::long_flow::{Denominator, LongFlow};
use shortflow_models::md1::Md1;
use shortflow_models::mm1::Mm1;
use shortflow_models::pftk::{self, Path};
use shortflow_models::processor_sharing::{SharedLine, access_limited_time};
use shortflow_models::queueing::{CustomerClass, fcfs_wait, priority_waits};
use shortflow_models::red::{AboveMax, Gate, Group, Level, Spacing};
use shortflow_models::short_flow::ShortFlow;
use shortflow_models::sizes::Pareto;
use shortflow_models::window_growth::{self, Drops, WindowGrowth};
use shortflow_models::{cubic, flow_table, latency, slow_start};

/// Rounding, in the sums of a model.
const HAIR: f64 = 1e-9;

/// Whether the second is no less than the first, apart from rounding.
fn rises(less: f64, more: f64) -> bool {
    more >= less * (1.0 - HAIR)
}

fn path() -> impl Strategy<Value = Path> {
    (1e-3..1.0f64, 0.2..3.0f64, 1.0..2.0f64, 4.0..1000.0f64).prop_map(
        |(rtt, timeout, segments_per_ack, max_window)| Path {
            rtt,
            timeout,
            segments_per_ack,
            max_window,
        },
    )
}

/// A curve of RED from some packets on.
fn level() -> impl Strategy<Value = Level> {
    let above_max = prop_oneof![Just(AboveMax::Forced), Just(AboveMax::Gentle)];
    (0.0..50.0f64, 1.0..50.0f64, 0.01..1.0f64, above_max).prop_map(
        |(min_threshold, width, max_probability, above_max)| Level {
            min_threshold,
            max_threshold: min_threshold + width,
            max_probability,
            above_max,
        },
    )
}

/// Two numbers, the smaller first.
fn pair(range: std::ops::Range<f64>) -> impl Strategy<Value = (f64, f64)> {
    (range.clone(), range).prop_map(|(one, other)| (one.min(other), one.max(other)))
}

proptest! {
    #[test]
    fn waits_rise_with_the_load((less, more) in pair(0.01..0.99), service in 1e-6..1.0f64) {
        let fcfs = |load: f64| fcfs_wait(&[CustomerClass::constant(load / service, service)]).unwrap();
        prop_assert!(rises(fcfs(less), fcfs(more)));
        let mm1 = |load: f64| Mm1::new(load / service, service).unwrap().wait_quantile(0.99).unwrap();
        prop_assert!(rises(mm1(less), mm1(more)));
        let md1 = |load: f64| Md1::new(load / service, service).unwrap().wait_quantile(0.99).unwrap();
        // Found to a millionth of the share, not of the wait.
        prop_assert!(md1(more) >= md1(less) - 1e-3 * service);
        let decay = |load: f64| {
            wait_tail(&[Packets { arrival_rate: load / service, service }]).unwrap().decay
        };
        prop_assert!(rises(decay(more), decay(less)));
    }

    #[test]
    fn a_higher_priority_never_waits_longer(loads in prop::collection::vec(0.001..0.12f64, 1..8)) {
        let classes: Vec<CustomerClass> =
            loads.iter().map(|load| CustomerClass::exponential(*load, 1.0)).collect();
        let waits = priority_waits(&classes).unwrap();
        for pair in waits.windows(2) {
            prop_assert!(rises(pair[0].unwrap(), pair[1].unwrap()));
        }
    }

    #[test]
    fn tails_fall(load in 0.01..0.99f64, (early, late) in pair(0.0..40.0)) {
        let queue = Md1::new(load, 1.0).unwrap();
        let (early, late) = (queue.wait_beyond(early).unwrap(), queue.wait_beyond(late).unwrap());
        prop_assert!((0.0..=1.0).contains(&early) && late <= early + 1e-6 * early + 1e-11);
    }

    #[test]
    fn flows_take_longer_the_more_load_there_is_and_the_larger_they_are(
        (less, more) in pair(0.0..0.99),
        (small, large) in pair(3.0..1000.0),
    ) {
        let sizes = Pareto::new(3.0, 1.2).unwrap();
        let min = |load: f64, size: f64| {
            let arrivals = Arrivals { rate: load / 18.0, sizes: &sizes, capacity: 1.0 };
            arrivals.continuous(size).unwrap()
        };
        prop_assert!(rises(min(less, large), min(more, large)));
        prop_assert!(rises(min(more, small), min(more, large)));
        // Who has had least goes first: the least flow of all waits less than where all share.
        let shared = SharedLine::new(more / 18.0, 18.0, 1.0, 0.0).unwrap();
        prop_assert!(rises(min(more, 3.0), shared.response_time(3.0).unwrap() * (1.0 + HAIR)) || more < 0.5);
        let access = |load: f64| access_limited_time(load, 10.0, 1.0, large).unwrap();
        prop_assert!(rises(access(less), access(more)));
    }

    #[test]
    fn rates_fall_with_loss((less, more) in pair(1e-6..0.9), path in path()) {
        let approximate = |loss: f64| pftk::approximate_send_rate(&path, loss).unwrap();
        prop_assert!(rises(approximate(more), approximate(less)));
        let cubic = |loss: f64| cubic::send_rate(path.rtt, path.max_window, loss).unwrap();
        prop_assert!(rises(cubic(more), cubic(less)));
        for denominator in [Denominator::AsPrinted, Denominator::TimeoutsOnly] {
            let long = |yellow_loss: f64| {
                let Path { rtt, timeout, max_window, .. } = path;
                LongFlow { rtt, timeout, yellow_loss, credits: 8, max_window }
                    .throughput(denominator)
                    .unwrap()
            };
            prop_assert!(rises(long(more), long(less)));
        }
    }

    #[test]
    fn a_rate_and_its_loss_give_each_other_back(loss in 1e-6..0.99f64, path in path()) {
        let rate = pftk::approximate_send_rate(&path, loss).unwrap();
        if rate < path.max_window / path.rtt {
            let found = pftk::loss_for_rate(&path, rate).unwrap();
            prop_assert!((found / loss - 1.0).abs() < 1e-6, "{found} for {loss}");
        }
    }

    #[test]
    fn transfers_take_longer_the_more_is_lost_and_the_longer_they_are(
        (less, more) in pair(0.0..0.3),
        (short, long) in (1u32..40, 1u32..40).prop_map(|(a, b)| (a.min(b), a.max(b))),
        credits in 0u32..12,
        path in path(),
    ) {
        let flow = |loss: f64, segments: u32| ShortFlow {
            rtt: path.rtt,
            timeout: path.timeout.max(2.0 * path.rtt),
            setup_timeout: 3.0,
            green_loss: loss / 10.0,
            yellow_loss: loss,
            credits,
            initial_window: 1,
        }
        .by_recursion(segments)
        .unwrap();
        prop_assert!(rises(flow(0.0, short), flow(0.0, long)));
        // With losses only as far as none can be repaired without a timeout: beyond, one more
        // segment may spare one.
        let [short_of_4, long_of_4] = [short.div_ceil(10), long.div_ceil(10)];
        prop_assert!(rises(flow(more, short_of_4), flow(more, long_of_4)));
        prop_assert!(rises(flow(less, long_of_4), flow(more, long_of_4)));
        let rounds = |segments: u32| slow_start::response_rounds(u64::from(segments), 32).unwrap();
        prop_assert!(rounds(short) <= rounds(long));
        let lossless = |segments: u32| {
            latency::transfer(&path, 1.0, f64::from(segments), 0.0).unwrap().total()
        };
        prop_assert!(rises(lossless(short), lossless(long)));
    }

    /// In one level and in two, and whether or not its curve jumps where the queue settles.
    #[test]
    fn a_queue_with_red_is_longer_the_more_connections_and_other_traffic_there_are(
        levels in prop::collection::vec(level(), 0..3),
        spacing in prop_oneof![Just(Spacing::Independent), Just(Spacing::Uniform)],
        (few, many) in pair(0.0..200.0),
        (less, more) in pair(0.0..1000.0),
        path in path(),
    ) {
        let shares = vec![1.0 / levels.len() as f64; levels.len()];
        let settle = |connections: f64, others: f64| {
            let gate = Gate { levels: &levels, spacing, limit: 150.0, capacity: 1250.0, others };
            let group = Group { connections, path, shares: &shares, lost_elsewhere: 0.0 };
            let steady = gate.settle(&[group]).unwrap();
            (steady.queue, gate.loss(steady, &shares))
        };
        let min = settle(few, less);
        for max in [settle(many, less), settle(few, more)] {
            prop_assert!(rises(min.0, max.0), "{min:?} {max:?}");
            // Found to a millionth of the line.
            prop_assert!(max.1 >= min.1 - 1e-4, "{min:?} {max:?}");
        }
    }

    #[test]
    fn connections_get_less_the_more_drops_there_are_and_the_longer_their_way_is(
        (seldom, often) in pair(0.01..10.0),
        (near, far) in pair(0.005..1.0),
        share in 0.0..1000.0f64,
        k in 0.1..8.0f64,
    ) {
        let rate = |growth, rate: f64, rtt: f64| {
            window_growth::throughput(growth, Drops { share, rate }, rtt).unwrap()
        };
        for growth in [WindowGrowth::Standard, WindowGrowth::ByK { k }] {
            prop_assert!(rises(rate(growth, often, near), rate(growth, seldom, near)));
            prop_assert!(rises(rate(growth, seldom, far), rate(growth, seldom, near)));
        }
        // Aggregate fair: the way makes no difference.
        let fair = WindowGrowth::AggregateFair { mean_rtt: (near + far) / 2.0 };
        prop_assert!((rate(fair, often, near) / rate(fair, often, far) - 1.0).abs() < HAIR);
    }

    #[test]
    fn a_table_is_larger_the_more_flows_come_and_the_longer_each_takes(
        (less, more) in pair(0.0..0.9),
        (short, long) in pair(0.001..0.9),
    ) {
        // Flows that share a line, as in eq. 6: an arrival that finds n takes n + 1 times its service.
        let size = |arrivals: f64, service: f64| {
            flow_table::table_size(arrivals, |active| Ok((active + 1.0) * service)).unwrap()
        };
        prop_assert!(size(more, short) >= size(less, short) - 1e-3);
        prop_assert!(size(more, long) >= size(more, short) - 1e-3);
        prop_assert_eq!(size(0.0, long), 0.0);
    }

    #[test]
    fn whatever_is_given_there_is_a_number_or_a_refusal(
        numbers in prop::collection::vec(
            prop_oneof![any::<f64>(), Just(0.0), Just(f64::NAN), Just(f64::INFINITY), 0.0..1.0f64],
            6,
        ),
        segments in 0u32..70,
    ) {
        let [a, b, c, d, e, f] = numbers[..] else { unreachable!() };
        let path = Path { rtt: a, timeout: b, segments_per_ack: c, max_window: d };
        let is_nan = |found: Result<f64, _>| found.is_ok_and(|value| value.is_nan());
        prop_assert!(!is_nan(pftk::send_rate(&path, e)));
        prop_assert!(!is_nan(pftk::throughput(&path, e)));
        prop_assert!(!is_nan(pftk::approximate_send_rate(&path, e)));
        prop_assert!(!is_nan(pftk::loss_for_rate(&path, f)));
        prop_assert!(!is_nan(cubic::send_rate(a, d, e)));
        let class = CustomerClass { arrival_rate: a, mean_service: b, second_moment: c };
        prop_assert!(!is_nan(fcfs_wait(&[class])));
        prop_assert!(!is_nan(Md1::new(a, b).and_then(|queue| queue.wait_quantile(c))));
        prop_assert!(!is_nan(Mm1::new(a, b).and_then(|queue| queue.stay_quantile(c))));
        prop_assert!(!is_nan(latency::transfer(&path, f, e, c).map(|found| found.total())));
        let flow = ShortFlow {
            rtt: a,
            timeout: b,
            setup_timeout: c,
            green_loss: d,
            yellow_loss: e,
            credits: segments / 2,
            initial_window: segments % 5,
        };
        prop_assert!(!is_nan(flow.by_recursion(segments)));
        let long = LongFlow { rtt: a, timeout: b, yellow_loss: c, credits: segments, max_window: d };
        prop_assert!(!is_nan(long.throughput(Denominator::TimeoutsOnly)));
        prop_assert!(!is_nan(access_limited_time(a, b, c, d)));
    }
}
