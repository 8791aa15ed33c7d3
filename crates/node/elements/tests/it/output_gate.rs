//! The shaper of Mehra, Tewari & Kandlur 1999 inside TCP (§4.1, §6): connections ask before they send.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use proptest::prelude::*;
use shortflow_elements::queue::{AggregateShaper, AggregateShaperParams};
use shortflow_elements::queue::{FreshPackets, ServiceOrder, Triggers};
use shortflow_elements::sharing::{AggregateProfile, ConnectionLimits, Sharing};
use shortflow_elements::{Drops, OutputGate, QueueDiscipline};
use shortflow_packet::{SenderEvent, SenderUpdate, TcpFlags};
use shortflow_units::{Bytes, Duration, Instant, Length, Rate};

use crate::aggregate_shaper::{Drawn, ORDERS, drawn_profile};
use crate::bench::{mbit, ms, p, rng, us};

/// Bytes of one without data.
const ACKNOWLEDGEMENT: u32 = 40;

/// A host whose TCPs have segments to send: each of one flow.
struct Host {
    queue: AggregateShaper,
    /// The sizes of the segments that each flow has, and its windows allow.
    unsent: BTreeMap<u16, VecDeque<u32>>,
    /// The flows whose TCP has to acknowledge: with its next segment, or alone.
    owes: BTreeSet<u16>,
    /// The flows that have closed: what they send has a FIN.
    closed: BTreeSet<u16>,
    /// What left, when.
    sent: Vec<(Instant, u16, u32)>,
    dropped: usize,
    now: Instant,
}

impl Host {
    fn new(params: AggregateShaperParams) -> Host {
        let queue = AggregateShaper::new(params, rng());
        let now = Instant::START;
        Host {
            queue,
            unsent: BTreeMap::new(),
            owes: BTreeSet::new(),
            closed: BTreeSet::new(),
            sent: Vec::new(),
            dropped: 0,
            now,
        }
    }

    fn gate(&mut self) -> &mut dyn OutputGate {
        self.queue.output_gate().expect("it is inside TCP")
    }

    /// TCP's output routine of a flow: data, or else what acknowledges alone.
    fn output(&mut self, flow: u16) {
        loop {
            let data = self.unsent.get(&flow).and_then(VecDeque::front).copied();
            if let Some(size) = data
                && self.sends_if_allowed(flow, size)
            {
                self.unsent.get_mut(&flow).unwrap().pop_front();
            } else if !self.owes.contains(&flow) || !self.sends_if_allowed(flow, ACKNOWLEDGEMENT) {
                return;
            }
            self.owes.remove(&flow);
        }
    }

    fn sends_if_allowed(&mut self, flow: u16, size: u32) -> bool {
        let packet = p(0).of_flow(flow).sized(size);
        let now = self.now;
        let may_send = self.gate().ask(now, packet.packet(), flow.into());
        if may_send {
            let mut drops = Drops::default();
            let mut packet = packet.packet();
            if self.closed.contains(&flow) {
                packet.flags = TcpFlags::FIN.with(TcpFlags::ACK);
            }
            self.queue.enqueue(now, packet, &mut drops);
            self.dropped += drops.drain().count();
            self.take();
        }
        may_send
    }

    /// The line, which is never busy.
    fn take(&mut self) {
        let mut drops = Drops::default();
        while let Some(queued) = self.queue.dequeue(self.now, &mut drops) {
            let flow = queued.packet.key.src_port;
            self.sent.push((self.now, flow, queued.packet.size));
        }
        self.dropped += drops.drain().count();
    }

    /// Those go on that may.
    fn release(&mut self) {
        let now = self.now;
        while let Some(flow) = self.gate().next(now) {
            self.output(flow as u16);
        }
        self.take();
    }

    /// Time passes.
    fn at(&mut self, until: Instant) -> &mut Self {
        loop {
            let ready = self.queue.ready_at().unwrap_or(Instant::NEVER);
            let at = self.gate().wakes_at().min(ready);
            if at > until {
                break;
            }
            self.now = self.now.max(at);
            let now = self.now;
            self.gate().wake(now);
            self.release();
        }
        self.now = until;
        self
    }

    /// The flow has these segments more.
    fn has(&mut self, flow: u16, sizes: &[u32]) -> &mut Self {
        self.unsent.entry(flow).or_default().extend(sizes);
        self.output(flow);
        self.release();
        self
    }

    fn hears(&mut self, flow: u16, event: SenderEvent) -> &mut Self {
        let key = p(0).of_flow(flow).packet().key;
        self.queue.on_sender_event(self.now, &SenderUpdate { key, event, smoothed_rtt: None });
        self.output(flow);
        self.release();
        self
    }

    /// The flows of what left since, and when.
    fn sends(&mut self, expected: &[(Instant, u16)]) -> &mut Self {
        let sent: Vec<_> = self.sent.drain(..).map(|(at, flow, _)| (at, flow)).collect();
        assert_eq!(sent, expected);
        self
    }

    fn counted(&self, name: &str) -> u64 {
        let mut counted = None;
        self.queue.counters(&mut |of, count| {
            if of == name {
                counted = Some(count);
            }
        });
        counted.expect("it is counted")
    }

    /// Over every interval τ at most r_m·τ + B bytes left.
    fn keeps_to(&self, rate: Rate, depth: u64) -> Result<(), TestCaseError> {
        for first in 0..self.sent.len() {
            let mut bytes = 0;
            for (at, _, size) in &self.sent[first..] {
                bytes += u128::from(*size);
                let elapsed = u128::from(at.since(self.sent[first].0).nanos());
                let allowed = u128::from(rate.bits_per_sec()) * elapsed;
                prop_assert!(bytes * 8_000_000_000 <= allowed + u128::from(depth) * 8_000_000_000);
            }
        }
        Ok(())
    }
}

/// 1 Mbit/s, so that 1000 bytes take 8 ms, and a timer of 15 ms.
fn params(depth: u64, sharing: Sharing) -> AggregateShaperParams {
    of_profile(AggregateProfile::new(mbit(1), Bytes(depth), Bytes(1_500)).unwrap(), sharing)
}

fn of_profile(profile: AggregateProfile, sharing: Sharing) -> AggregateShaperParams {
    let connections = ConnectionLimits::new(3, Duration::from_secs(60)).unwrap();
    let timer = Duration::from_millis(15);
    AggregateShaperParams::new(profile, sharing, connections, Length::Packets(1_000), timer)
        .unwrap()
}

#[test]
fn what_may_not_go_stays_with_tcp_and_the_queue_holds_nothing() {
    let mut host = Host::new(params(2_500, Sharing::Common));
    host.at(ms(1)).has(1, &[1_000; 4]).sends(&[(ms(1), 1), (ms(1), 1)]);
    assert_eq!((host.unsent[&1].len(), host.queue.backlog().packets), (2, 0));
    assert_eq!(host.queue.ready_at(), None);
    // 500 bytes are left: 1000 are there after 4 ms, and the timer expires after 15, with 2375 bytes by then.
    host.at(ms(15)).sends(&[]).at(ms(16)).sends(&[(ms(16), 1), (ms(16), 1)]);
    assert_eq!(host.gate().wakes_at(), Instant::NEVER);
}

/// The same timeline as of packets that wait in the queue: see `aggregate_shaper`.
fn three_connections_wait(order: ServiceOrder) -> Vec<u16> {
    let mut host = Host::new(params(1_500, Sharing::Common).with_order(order));
    host.has(1, &[1_000; 3]).sends(&[(ms(0), 1)]);
    host.at(ms(1)).has(2, &[1_000]).at(ms(2)).has(3, &[1_000]).sends(&[]);
    let expire = |at| {
        host.at(ms(at - 1));
        assert_eq!(host.sent, []);
        host.at(ms(at));
        let [(_, flow, _)] = host.sent[..] else { panic!("the timer lets one go") };
        host.sent.clear();
        flow
    };
    [15, 30, 45, 60].map(expire).into()
}

#[test]
fn connections_are_served_in_the_orders_of_the_paper() {
    assert_eq!(three_connections_wait(ServiceOrder::Sequential), [1, 1, 2, 3]);
    // The first is non-compliant anew when its second segment has gone.
    assert_eq!(three_connections_wait(ServiceOrder::FirstCome), [1, 2, 3, 1]);
    assert_eq!(three_connections_wait(ServiceOrder::LeastRecentlyServed), [1, 2, 3, 1]);
}

/// §6.2 and §6.3: each event lets go what conforms, in turn; an event that is no trigger does not, although
/// the output routine of its own connection runs.
#[test]
fn each_of_the_five_triggers_lets_connections_go_on_whose_turn_it_is() {
    for event in SenderEvent::ALL {
        for is_trigger in [true, false] {
            let triggers = if is_trigger { Triggers::NONE.with(event) } else { Triggers::NONE };
            let mut host = Host::new(params(1_500, Sharing::Common).with_triggers(triggers));
            host.has(1, &[1_000; 2]).has(2, &[1_000]).sends(&[(ms(0), 1)]);
            // 500 bytes were left, and 1125 more are there by 9 ms: one may go, the first that waits.
            host.at(ms(9));
            match event {
                SenderEvent::NewConnection => host.has(3, &[1_000]),
                _ => host.hears(2, event),
            };
            let expected = [(ms(9), 1)];
            host.sends(if is_trigger { &expected } else { &[] });
            // The second connection was new too, when the first waited.
            let times = if event == SenderEvent::NewConnection { 2 } else { 1 };
            let triggered = host.counted(event.trigger());
            assert_eq!(triggered, if is_trigger { times } else { 0 }, "{event:?}");
        }
    }
}

/// §4.1: compliance is checked when the output routine runs, for the connection that runs it.
#[test]
fn where_fresh_segments_overtake_an_acknowledgement_serves_its_own_connection() {
    let params = params(1_500, Sharing::Common).with_fresh_packets(FreshPackets::Overtake);
    let mut host = Host::new(params);
    host.has(1, &[1_000; 2]).has(2, &[1_000]).sends(&[(ms(0), 1)]);
    host.at(ms(9)).hears(2, SenderEvent::Acknowledgement).sends(&[(ms(9), 2)]);
}

#[test]
fn a_peak_rate_spaces_segments_that_conform_without_waiting_for_the_timer() {
    let profile = AggregateProfile::new(mbit(1), Bytes(4_000), Bytes(1_500)).unwrap();
    let profile = profile.with_peak(mbit(8)).unwrap();
    let mut host = Host::new(of_profile(profile, Sharing::Common));
    host.has(1, &[1_000; 5]).at(ms(20));
    host.sends(&[(ms(0), 1), (ms(1), 1), (ms(2), 1), (ms(3), 1), (ms(15), 1)]);
}

/// Datagrams do not ask: they wait in the queue, for the same tokens.
#[test]
fn a_datagram_waits_in_the_queue_and_takes_its_turn_among_the_segments() {
    let mut host = Host::new(params(1_500, Sharing::Common));
    host.has(1, &[1_000; 2]).sends(&[(ms(0), 1)]);
    let mut drops = Drops::default();
    host.at(ms(1)).queue.enqueue(ms(1), p(9).of_flow(2).packet(), &mut drops);
    host.has(1, &[1_000]);
    assert_eq!(host.queue.backlog().packets, 1);
    host.at(ms(15)).sends(&[(ms(15), 1)]);
    // The first is non-compliant since 15 ms, the datagram since 1 ms.
    host.at(ms(45)).sends(&[(ms(30), 2), (ms(45), 1)]);
}

#[test]
fn a_connection_that_is_gone_leaves_its_turn_to_the_next() {
    let mut host = Host::new(params(1_500, Sharing::Common));
    host.has(1, &[1_000; 2]).has(2, &[1_000]).sends(&[(ms(0), 1)]);
    let key = p(0).of_flow(1).packet().key;
    let now = host.now;
    host.gate().forget(now, &key);
    host.unsent.clear();
    host.unsent.insert(2, [1_000].into());
    host.at(ms(60)).sends(&[(ms(15), 2)]);
    assert_eq!(host.gate().wakes_at(), Instant::NEVER);
}

/// A segment that can never conform is not withheld for ever: it goes, and the queue drops it.
#[test]
fn a_segment_larger_than_the_profile_allows_is_dropped_not_withheld() {
    let mut host = Host::new(params(2_000, Sharing::Common));
    let packet = p(1).of_flow(1).sized(1_501);
    assert!(host.gate().ask(ms(0), packet.packet(), 1));
    let mut drops = Drops::default();
    host.queue.enqueue(ms(0), packet.packet(), &mut drops);
    assert_eq!(drops.drain().count(), 1);
}

/// The shaping error counts from when a segment could have gone: 4 ms after it asked, 11 ms before it went.
#[test]
fn the_shaping_error_counts_from_when_the_tokens_were_there() {
    let mut host = Host::new(params(1_500, Sharing::Common));
    host.has(1, &[1_000; 2]).at(ms(15)).sends(&[(ms(0), 1), (ms(15), 1)]);
    assert_eq!(host.counted("packets shaped"), 1);
    assert_eq!(host.counted("shaping error, sum (us)"), 11_000);
    assert_eq!(host.now, us(15_000));
}

#[derive(Debug, Clone, Copy)]
enum Step {
    Write(u16, u32),
    Datagram(u16, u32),
    Hear(u16, usize),
    Owe(u16),
    Close(u16),
    Pass,
}

fn steps() -> impl Strategy<Value = Vec<(u64, Step)>> {
    let step = prop_oneof![
        6 => (0..3u16, 41..1500u32).prop_map(|(flow, size)| Step::Write(flow, size)),
        2 => (3..5u16, 41..1500u32).prop_map(|(flow, size)| Step::Datagram(flow, size)),
        3 => (0..5u16, 0..SenderEvent::ALL.len()).prop_map(|(flow, event)| Step::Hear(flow, event)),
        2 => (0..3u16).prop_map(Step::Owe),
        1 => (0..3u16).prop_map(Step::Close),
        2 => Just(Step::Pass),
    ];
    prop::collection::vec((0..9_000_000u64, step), 1..120)
}

proptest! {
    /// Over every interval τ at most r_m·τ + B bytes leave, checked over all pairs of packets, however tokens
    /// are shared, in whatever order and whatever lets connections go on; two packets are a peak's time apart;
    /// and in the end everything has left.
    #[test]
    fn segments_keep_to_the_profile_and_none_waits_for_ever(
        steps in steps(), rate in 300_000..8_000_000u64, depth in 1500..6000u64,
        peak in proptest::option::of(1..5u64),
        order in 0..3usize, triggers in any::<bool>(), overtakes in any::<bool>(),
    ) {
        for sharing in Sharing::ALL {
            let profile = drawn_profile(rate, depth, peak);
            let limits = ConnectionLimits::new(5, Duration::from_secs(60)).unwrap();
            let timer = Duration::from_millis(15);
            let limit = Length::Packets(1_000);
            let params = AggregateShaperParams::new(profile, sharing, limits, limit, timer).unwrap();
            let params = params.drawn(ORDERS[order], triggers, overtakes);
            let mut host = Host::new(params);
            let (mut at, mut written) = (Instant::START, 0);
            for &(gap, step) in &steps {
                at += Duration::from_nanos(gap);
                host.at(at);
                match step {
                    Step::Write(flow, size) => {
                        written += 1;
                        host.has(flow, &[size]);
                    }
                    Step::Datagram(flow, size) => {
                        written += 1;
                        let mut drops = Drops::default();
                        host.queue.enqueue(at, p(0).of_flow(flow).sized(size).packet(), &mut drops);
                        prop_assert!(drops.is_empty());
                        host.release();
                    }
                    Step::Hear(flow, event) => {
                        host.hears(flow, SenderEvent::ALL[event]);
                    }
                    Step::Owe(flow) => {
                        host.owes.insert(flow);
                        host.has(flow, &[]);
                    }
                    Step::Close(flow) => {
                        host.closed.insert(flow);
                    }
                    Step::Pass => {}
                }
            }
            host.at(at + Duration::from_secs(100));
            let data = host.sent.iter().filter(|sent| sent.2 > ACKNOWLEDGEMENT).count();
            prop_assert_eq!(data, written, "{:?}", sharing);
            prop_assert!(host.owes.is_empty() && host.unsent.values().all(VecDeque::is_empty));
            prop_assert_eq!(host.dropped, 0);
            host.keeps_to(Rate::from_bits_per_sec(rate), depth)?;
            for pair in host.sent.windows(2) {
                let gap = pair[1].0.since(pair[0].0);
                let peak = peak.map(|times| Rate::from_bits_per_sec(rate * times));
                let apart = peak.map_or(Duration::ZERO, |peak| peak.time_for(Bytes(pair[0].2.into())));
                prop_assert!(gap >= apart, "{:?}", pair);
            }
        }
    }
}

/// Two TCPs whose data do not conform, but whose acknowledgements do: neither sends the other back in the order
/// for ever.
#[test]
fn who_may_send_an_acknowledgement_does_so_though_its_data_must_wait() {
    let mut host = Host::new(params(1_500, Sharing::Common));
    host.has(1, &[1_000; 2]).has(2, &[1_000]).sends(&[(ms(0), 1)]);
    host.owes.extend([1, 2]);
    host.at(ms(1)).hears(2, SenderEvent::Acknowledgement);
    host.hears(1, SenderEvent::Acknowledgement).sends(&[]);
    host.at(ms(2)).hears(1, SenderEvent::Acknowledgement).sends(&[(ms(2), 1), (ms(2), 2)]);
    assert_eq!((host.owes.len(), host.unsent[&1].len(), host.unsent[&2].len()), (0, 1, 1));
}
