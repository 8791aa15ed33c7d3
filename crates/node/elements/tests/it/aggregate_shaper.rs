//! The shaper of Mehra, Tewari & Kandlur 1999 as timelines, and against its profile.

use std::collections::BTreeMap;

use proptest::prelude::*;
use shortflow_elements::queue::{AggregateShaper, AggregateShaperParams};
use shortflow_elements::queue::{FreshPackets, ServiceOrder, Triggers};
use shortflow_elements::sharing::{AggregateProfile, ConnectionLimits, Depths, Sharing};
use shortflow_elements::{DropReason, Drops, QueueDiscipline};
use shortflow_packet::{Packet, SenderEvent, SenderUpdate};
use shortflow_units::{Bytes, Duration, Instant, Length, Rate};

use crate::bench::{Bench, P, mbit, ms, number_of, p, rng};

/// 1 Mbit/s, so that 1000 bytes take 8 ms, and a timer of 15 ms.
fn params(depth: u64, sharing: Sharing) -> AggregateShaperParams {
    let profile = AggregateProfile::new(mbit(1), Bytes(depth), Bytes(1_500)).unwrap();
    of_profile(profile, sharing, 20)
}

fn of_profile(profile: AggregateProfile, sharing: Sharing, limit: u64) -> AggregateShaperParams {
    let connections = ConnectionLimits::new(3, Duration::from_secs(60)).unwrap();
    let timer = Duration::from_millis(15);
    AggregateShaperParams::new(profile, sharing, connections, Length::Packets(limit), timer)
        .unwrap()
}

fn bench(params: AggregateShaperParams) -> Bench<AggregateShaper> {
    Bench::new(AggregateShaper::new(params, rng()))
}

fn tell(queue: &mut AggregateShaper, now: Instant, flow: u16, event: SenderEvent) {
    let key = p(0).of_flow(flow).packet().key;
    queue.on_sender_event(now, &SenderUpdate { key, event, smoothed_rtt: None });
}

fn counted(queue: &dyn QueueDiscipline) -> BTreeMap<&'static str, u64> {
    let mut counted = BTreeMap::new();
    queue.counters(&mut |name, count| {
        counted.insert(name, count);
    });
    counted
}

fn packet(flow: u16, number: u32) -> P {
    p(number).of_flow(flow)
}

/// A bucket of 1500 bytes, of which the first packet leaves 500; it is full again at each expiry.
fn three_connections_wait(order: ServiceOrder) -> Vec<u32> {
    let mut bench = bench(params(1_500, Sharing::Common).with_order(order));
    bench.at(ms(0)).takes(packet(1, 1)).gives(packet(1, 1)).takes(packet(1, 2)).takes(packet(1, 3));
    bench.at(ms(1)).takes(packet(2, 4));
    bench.at(ms(2)).takes(packet(3, 5)).gives_nothing();
    let expire = |at| {
        bench.at(ms(at - 1)).gives_nothing();
        let packet = bench.at(ms(at)).next().expect("the timer lets one go");
        bench.at(ms(at)).gives_nothing();
        number_of(&packet)
    };
    [15, 30, 45, 60].map(expire).into()
}

/// The bucket lets four packets go at once; at 8 Mbit/s they follow each other by a millisecond, whatever the
/// timer. The fifth waits for its tokens, and for the timer.
#[test]
fn a_peak_rate_spaces_what_conforms_without_waiting_for_the_timer() {
    let profile = AggregateProfile::new(mbit(1), Bytes(4_000), Bytes(1_500)).unwrap();
    let profile = profile.with_peak(mbit(8)).unwrap();
    let mut bench = bench(of_profile(profile, Sharing::Common, 20));
    for number in 1..=5 {
        bench.at(ms(0)).takes(packet(1, number));
    }
    for (at, number) in [(0, 1), (1, 2), (2, 3), (3, 4)] {
        bench.at(ms(at)).gives(packet(1, number)).gives_nothing();
    }
    bench.at(ms(14)).gives_nothing();
    bench.at(ms(15)).gives(packet(1, 5)).gives_nothing();
}

#[test]
fn a_sequential_scan_serves_the_first_connection_as_long_as_it_has_packets() {
    assert_eq!(three_connections_wait(ServiceOrder::Sequential), [2, 3, 4, 5]);
}

#[test]
fn first_come_first_served_goes_by_when_a_connection_became_non_compliant() {
    // The first is non-compliant anew when its second packet has gone.
    assert_eq!(three_connections_wait(ServiceOrder::FirstCome), [2, 4, 5, 3]);
}

/// The second connection's token is older, though it became non-compliant later.
#[test]
fn the_least_recently_served_goes_before_who_waits_longer() {
    for (order, first) in [(ServiceOrder::FirstCome, 3), (ServiceOrder::LeastRecentlyServed, 4)] {
        let mut bench = bench(params(2_500, Sharing::Common).with_order(order));
        bench
            .at(ms(0))
            .takes(packet(2, 1))
            .gives(packet(2, 1))
            .takes(packet(1, 2))
            .gives(packet(1, 2));
        bench.at(ms(1)).takes(packet(1, 3)).takes(packet(2, 4)).gives_nothing();
        // 500 bytes were left, 125 come each millisecond: by 16 ms there are 2500.
        let packet = bench.at(ms(16)).next().map(|packet| number_of(&packet));
        assert_eq!(packet, Some(first), "{order:?}");
    }
}

/// §6.2: an acknowledgement lets packets go that conform; without it they wait for the timer.
#[test]
fn a_trigger_lets_a_packet_go_before_the_timer_and_shapes_more_accurately() {
    for (triggers, goes_at, late) in [(Triggers::ALL, 9, 5_000), (Triggers::NONE, 15, 11_000)] {
        let mut bench = bench(params(1_500, Sharing::Common).with_triggers(triggers));
        bench.at(ms(0)).takes(packet(1, 1)).gives(packet(1, 1)).takes(packet(1, 2));
        // 500 bytes are left, so 1000 have come by 4 ms.
        tell(&mut bench.queue, ms(3), 1, SenderEvent::Acknowledgement);
        bench.at(ms(3)).gives_nothing();
        bench.at(ms(8)).gives_nothing();
        tell(&mut bench.queue, ms(9), 1, SenderEvent::DuplicateAcknowledgement);
        if goes_at > 9 {
            bench.at(ms(goes_at - 1)).gives_nothing();
        }
        bench.at(ms(goes_at)).gives(packet(1, 2));
        let counted = counted(&bench.queue);
        assert_eq!(counted["shaping error, sum (us)"], late);
        assert_eq!((counted["packets passed at once"], counted["packets shaped"]), (1, 1));
        let is_trigger = u64::from(triggers == Triggers::ALL);
        assert_eq!(counted["triggers: acknowledgement"], is_trigger);
        assert_eq!(counted["triggers: duplicate acknowledgement"], is_trigger);
        // Set once; what a trigger has emptied cancels it.
        let timers = ["timers set", "timers cancelled", "timers expired"].map(|name| counted[name]);
        assert_eq!(timers, if is_trigger == 1 { [1, 1, 0] } else { [1, 1, 1] });
    }
}

/// §6.3 (iv), and each kind of event by itself.
#[test]
fn each_event_is_a_trigger_only_where_it_is_named() {
    for event in SenderEvent::ALL {
        for named in SenderEvent::ALL {
            let triggers = Triggers::NONE.with(named);
            let mut bench = bench(params(1_500, Sharing::Common).with_triggers(triggers));
            bench.at(ms(0)).takes(packet(1, 1)).gives(packet(1, 1)).takes(packet(1, 2));
            if event == SenderEvent::NewConnection {
                bench.at(ms(9)).takes(packet(2, 3));
            } else {
                tell(&mut bench.queue, ms(9), 1, event);
            }
            let goes = bench.at(ms(9)).next().map(|packet| number_of(&packet));
            assert_eq!(goes, (event == named).then_some(2), "{event:?} where {named:?} is named");
        }
    }
}

#[test]
fn what_is_told_of_a_connection_that_has_sent_nothing_here_is_no_trigger() {
    let mut bench = bench(params(1_500, Sharing::Common));
    bench.at(ms(0)).takes(packet(1, 1)).gives(packet(1, 1)).takes(packet(1, 2));
    tell(&mut bench.queue, ms(9), 7, SenderEvent::Acknowledgement);
    bench.at(ms(9)).gives_nothing();
}

/// §4.1 against §6.3.
#[test]
fn a_fresh_packet_waits_its_turn_at_a_common_bucket_unless_it_may_overtake() {
    for (fresh, goes) in [(FreshPackets::InTurn, None), (FreshPackets::Overtake, Some(3))] {
        let mut bench = bench(params(1_500, Sharing::Common).with_fresh_packets(fresh));
        bench.at(ms(0)).takes(packet(2, 9)).gives(packet(2, 9)).takes(packet(1, 2));
        // 1500 bytes are there at 8 ms, and nobody has looked.
        bench.at(ms(8)).takes(packet(2, 3));
        let packet = bench.at(ms(8)).next().map(|packet| number_of(&packet));
        assert_eq!(packet, goes, "{fresh:?}");
    }
}

/// §4.1: when a received ACK invokes TCP's output routine, the compliance of that connection is checked; §6.3:
/// the trigger serves whose turn it is.
#[test]
fn an_acknowledgement_lets_its_own_connection_go_where_fresh_packets_overtake() {
    for (fresh, goes) in [(FreshPackets::InTurn, 2), (FreshPackets::Overtake, 3)] {
        let mut bench = bench(params(1_500, Sharing::Common).with_fresh_packets(fresh));
        bench
            .at(ms(0))
            .takes(packet(2, 9))
            .gives(packet(2, 9))
            .takes(packet(1, 2))
            .takes(packet(2, 3));
        tell(&mut bench.queue, ms(8), 2, SenderEvent::Acknowledgement);
        let packet = bench.at(ms(8)).next().map(|packet| number_of(&packet));
        assert_eq!(packet, Some(goes), "{fresh:?}");
    }
}

/// Independent rate control of each connection (§4.2.1) knows no turn.
#[test]
fn a_share_of_its_own_suffices_whoever_else_waits() {
    let mut bench = bench(params(4_000, Sharing::Partitioned(Depths::Equal)));
    bench.at(ms(0)).takes(packet(1, 1)).takes(packet(2, 2)).gives(packet(1, 1)).gives(packet(2, 2));
    // Both are full after 48 ms: 2000 bytes each.
    let mut at = bench.at(ms(100));
    for number in 3..6 {
        at = at.takes(packet(1, number));
    }
    at.takes(packet(2, 6))
        .gives(packet(1, 3))
        .gives(packet(1, 4))
        .gives(packet(2, 6))
        .gives_nothing();
}

#[test]
fn what_can_never_go_and_what_does_not_fit_is_dropped() {
    let mut bench = bench(params(1_500, Sharing::Common));
    bench.at(ms(0)).drops(p(1).sized(1_501), DropReason::Overlimit);
    bench.at(ms(0)).takes(packet(1, 2)).takes(packet(1, 3)).takes(packet(2, 4)).takes(packet(3, 5));
    // Three may have a share; packets of all of them wait.
    bench.at(ms(0)).drops(packet(4, 6), DropReason::Overlimit);
    for number in 7..23 {
        bench.at(ms(1)).takes(packet(1, number));
    }
    bench.at(ms(1)).drops(packet(1, 23), DropReason::Overlimit);
    bench.holds(20, 20_000);
}

/// b_i = B · rtt_i/Σ rtt (§4.2.1).
#[test]
fn a_bucket_is_as_deep_as_the_round_trip_time_that_the_host_tells_asks_for() {
    let mut bench = bench(params(12_000, Sharing::Partitioned(Depths::ByRtt)));
    bench.at(ms(0)).takes(packet(1, 1)).takes(packet(2, 2)).gives(packet(1, 1)).gives(packet(2, 2));
    for (flow, rtt) in [(1, 100), (2, 500)] {
        let key = packet(flow, 0).packet().key;
        let smoothed_rtt = Some(Duration::from_millis(rtt));
        let news = SenderUpdate { key, event: SenderEvent::IdleAcknowledgement, smoothed_rtt };
        bench.queue.on_sender_event(ms(1), &news);
    }
    // After 10 s both are full: 2 packets and 10.
    for number in 0..12 {
        bench.at(ms(10_000)).takes(packet(1, number)).takes(packet(2, 100 + number)).next();
    }
    let counted = counted(&bench.queue);
    assert_eq!(counted["packets passed at once"], 2 + 2 + 10);
}

#[derive(Debug, Clone, Copy)]
enum Step {
    Send(u16, u32),
    Tell(u16, usize, u64),
    Take,
}

fn steps() -> impl Strategy<Value = Vec<(u64, Step)>> {
    let step = prop_oneof![
        6 => (0..5u16, 40..1500u32).prop_map(|(flow, size)| Step::Send(flow, size)),
        3 => (0..5u16, 0..SenderEvent::ALL.len(), 1..900u64)
            .prop_map(|(flow, event, rtt)| Step::Tell(flow, event, rtt)),
        3 => Just(Step::Take),
    ];
    prop::collection::vec((0..9_000_000u64, step), 1..150)
}

/// What was given, with the instant, where the host asks as soon as it may, or at the steps alone.
fn run(
    params: &AggregateShaperParams,
    steps: &[(u64, Step)],
    is_eager: bool,
) -> (Vec<(Instant, Packet)>, BTreeMap<&'static str, u64>) {
    let mut queue = AggregateShaper::new(params.clone(), rng());
    let mut drops = Drops::default();
    let mut given = Vec::new();
    let mut now = Instant::START;
    for (number, &(gap, step)) in (0..).zip(steps) {
        let mut looked_at = now;
        now += Duration::from_nanos(gap);
        while is_eager && let Some(at) = queue.ready_at().filter(|&at| at <= now) {
            looked_at = looked_at.max(at);
            let queued = queue.dequeue(looked_at, &mut drops);
            given.push((looked_at, queued.expect("at `ready_at` a packet leaves").packet));
        }
        match step {
            Step::Send(flow, size) => {
                queue.enqueue(now, packet(flow, number).sized(size).packet(), &mut drops);
            }
            Step::Tell(flow, event, rtt) => {
                let key = packet(flow, 0).packet().key;
                let smoothed_rtt = Some(Duration::from_millis(rtt));
                let event = SenderEvent::ALL[event];
                queue.on_sender_event(now, &SenderUpdate { key, event, smoothed_rtt });
            }
            Step::Take => {}
        }
        while let Some(queued) = queue.dequeue(now, &mut drops) {
            given.push((now, queued.packet));
        }
    }
    (given, counted(&queue))
}

/// Every order in which connections are served.
pub(crate) const ORDERS: [ServiceOrder; 3] =
    [ServiceOrder::Sequential, ServiceOrder::FirstCome, ServiceOrder::LeastRecentlyServed];

/// A profile of a rate in bit/s and a depth in bytes; its peak is so many times the rate.
pub(crate) fn drawn_profile(rate: u64, depth: u64, peak: Option<u64>) -> AggregateProfile {
    let profile = AggregateProfile::new(Rate::from_bits_per_sec(rate), Bytes(depth), Bytes(1_500));
    let profile = profile.unwrap();
    match peak {
        Some(times) => profile.with_peak(Rate::from_bits_per_sec(rate * times)).unwrap(),
        None => profile,
    }
}

/// Settings that a test draws.
pub(crate) trait Drawn {
    fn drawn(self, order: ServiceOrder, triggers: bool, overtakes: bool) -> Self;
}

impl Drawn for AggregateShaperParams {
    fn drawn(self, order: ServiceOrder, triggers: bool, overtakes: bool) -> Self {
        self.with_order(order)
            .with_triggers(if triggers { Triggers::ALL } else { Triggers::NONE })
            .with_fresh_packets(match overtakes {
                true => FreshPackets::Overtake,
                false => FreshPackets::InTurn,
            })
    }
}

proptest! {
    /// Over every interval τ at most r_m·τ + B bytes leave, checked over all pairs of packets, whatever is
    /// told and in whatever order connections are served; and a host that looks only now and then finds
    /// the same packets gone, after as many expiries, as one that asks as soon as it may.
    #[test]
    fn packets_keep_to_the_profile_and_go_the_same_however_often_the_host_looks(
        steps in steps(), rate in 300_000..8_000_000u64, depth in 1500..6000u64,
        peak in proptest::option::of(1..5u64),
        order in 0..3usize, triggers in any::<bool>(), overtakes in any::<bool>(),
    ) {
        for sharing in Sharing::ALL {
            let profile = drawn_profile(rate, depth, peak);
            let params =
                of_profile(profile, sharing, 1_000).drawn(ORDERS[order], triggers, overtakes);
            let (eager, eagerly_counted) = run(&params, &steps, true);
            for first in 0..eager.len() {
                let mut bytes = 0;
                for (at, packet) in &eager[first..] {
                    bytes += u128::from(packet.size);
                    let elapsed = u128::from(at.since(eager[first].0).nanos());
                    let allowed = u128::from(rate) * elapsed;
                    prop_assert!(bytes * 8_000_000_000 <= allowed + u128::from(depth) * 8_000_000_000);
                }
            }
            // Of packets that follow each other closely, a host that looks now and then finds one.
            if peak.is_some() {
                continue;
            }
            let (lazy, lazily_counted) = run(&params, &steps, false);
            let packets = |given: Vec<(Instant, Packet)>| -> Vec<_> {
                given.into_iter().map(|(_, packet)| number_of(&packet)).collect()
            };
            prop_assert_eq!(packets(eager), packets(lazy));
            prop_assert_eq!(eagerly_counted, lazily_counted);
        }
    }
}
