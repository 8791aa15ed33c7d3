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
use shortflow_models::short_flow::ShortFlow;
use shortflow_models::sizes::Pareto;
use shortflow_models::{cubic, latency, slow_start};

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
        let least = |load: f64, size: f64| {
            let arrivals = Arrivals { rate: load / 18.0, sizes: &sizes, capacity: 1.0 };
            arrivals.continuous(size).unwrap()
        };
        prop_assert!(rises(least(less, large), least(more, large)));
        prop_assert!(rises(least(more, small), least(more, large)));
        // Who has had least goes first: the least flow of all waits less than where all share.
        let shared = SharedLine::new(more / 18.0, 18.0, 1.0, 0.0).unwrap();
        prop_assert!(rises(least(more, 3.0), shared.response_time(3.0).unwrap() * (1.0 + HAIR)) || more < 0.5);
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
