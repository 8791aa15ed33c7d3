//! The shaper: a rate of its own in front of a faster line.

use proptest::prelude::*;
use shortflow_elements::queue::{Fifo, FifoParams, Shaper, ShaperParams};
use shortflow_elements::{Drops, QueueDiscipline};
use shortflow_units::{Bytes, Framing, Instant, Length, LinkLayer};

use crate::bench::{Bench, mbit, ms, p, us};

/// 8 Mbit/s: a packet of 1000 bytes every millisecond.
fn params(burst: u64) -> ShaperParams {
    ShaperParams::new(mbit(8), Bytes(burst)).unwrap()
}

fn shaper(params: ShaperParams) -> Bench<Shaper> {
    let fifo = Fifo::new(FifoParams::new(Length::Packets(100)).unwrap());
    Bench::new(Shaper::new(params, Box::new(fifo)))
}

#[test]
fn without_a_burst_each_packet_takes_the_time_of_a_line_of_the_rate() {
    let mut queue = shaper(params(0));
    assert_eq!(queue.queue.ready_at(), None);
    queue.at(ms(5)).takes(p(1)).takes(p(2).sized(500)).takes(p(3));
    assert_eq!(queue.queue.ready_at(), Some(ms(5)));
    queue.at(ms(5)).gives(p(1)).gives_nothing();
    assert_eq!(queue.queue.ready_at(), Some(ms(6)));
    queue.at(us(5_999)).gives_nothing();
    queue.at(ms(6)).gives(p(2).sized(500));
    assert_eq!(queue.queue.ready_at(), Some(us(6_500)));
    // The line is late: what was not used is lost, without a bucket to keep it.
    queue.at(ms(9)).gives(p(3)).takes(p(4));
    assert_eq!(queue.queue.ready_at(), Some(ms(10)));
    queue.holds(1, 1000);
}

#[test]
fn after_a_pause_a_burst_leaves_at_once_and_then_the_rate_holds() {
    let mut queue = shaper(params(2500));
    let all = (1..=6).map(p);
    all.clone().for_each(|packet| {
        let _ = queue.at(ms(0)).takes(packet);
    });
    // Three of them: the third goes into debt by 500 bytes, which are half a millisecond.
    queue.at(ms(0)).gives(p(1)).gives(p(2)).gives(p(3)).gives_nothing();
    assert_eq!(queue.queue.ready_at(), Some(us(500)));
    queue.at(us(500)).gives(p(4));
    queue.at(us(1_500)).gives(p(5));
    queue.at(us(2_500)).gives(p(6));
    // The debt is paid at 3.5 ms, and the bucket full 2.5 ms later.
    queue.at(ms(6)).takes(p(7)).takes(p(8)).takes(p(9)).takes(p(10));
    queue.at(ms(6)).gives(p(7)).gives(p(8)).gives(p(9)).gives_nothing();
}

#[test]
fn what_a_link_behind_adds_to_each_packet_is_paid_for() {
    let link_layer = LinkLayer::new(250, 0, Framing::Plain);
    let mut queue = shaper(params(0).with_link_layer(link_layer));
    queue.at(ms(0)).takes(p(1)).takes(p(2)).gives(p(1)).gives_nothing();
    assert_eq!(queue.queue.ready_at(), Some(us(1_250)));
}

#[test]
fn cells_of_a_link_behind_are_paid_for_as_a_whole() {
    // 40 + 40 bytes are two cells: 106 bytes, which 8 Mbit/s send in 106 us; 1000 + 40 are 22 cells.
    let link_layer = LinkLayer::new(40, 0, Framing::Atm);
    let mut queue = shaper(params(0).with_link_layer(link_layer));
    queue.at(ms(0)).takes(p(1).sized(40)).takes(p(2)).takes(p(3));
    queue.at(ms(0)).gives(p(1).sized(40)).gives_nothing();
    assert_eq!(queue.queue.ready_at(), Some(us(106)));
    queue.at(us(106)).gives(p(2)).gives_nothing();
    assert_eq!(queue.queue.ready_at(), Some(us(106 + 22 * 53)));
}

#[test]
fn a_clock_that_is_set_back_earns_nothing_twice() {
    let mut queue = shaper(params(0));
    queue.at(ms(10)).takes(p(1)).takes(p(2)).gives(p(1));
    queue.at(ms(2)).gives_nothing();
    assert_eq!(queue.queue.ready_at(), Some(ms(11)));
}

proptest! {
    /// In any time t at most rate·t + burst bytes, and one packet.
    #[test]
    fn in_every_interval_it_keeps_to_rate_and_burst(
        steps in prop::collection::vec((0..2_000_000_u64, 40..1500_u32), 1..100),
        burst in 0..5000_u64,
    ) {
        let mut queue = shaper(params(burst)).queue;
        let mut drops = Drops::default();
        let mut sent: Vec<(Instant, u64)> = Vec::new();
        let mut now = Instant::START;
        for (number, (gap, size)) in (0..).zip(steps) {
            queue.enqueue(now, p(number).sized(size).packet(), &mut drops);
            let next = now + shortflow_units::Duration::from_nanos(gap);
            while let Some(at) = queue.ready_at().filter(|&at| at <= next) {
                now = now.max(at);
                let given = queue.dequeue(now, &mut drops).expect("it said that it is ready");
                sent.push((now, u64::from(given.packet.size)));
            }
            now = next;
        }
        for first in 0..sent.len() {
            let mut before = 0;
            for &(at, size) in &sent[first..] {
                let elapsed = u128::from(at.since(sent[first].0).nanos());
                let allowed = u128::from(burst) * 8_000_000_000 + 8_000_000 * elapsed;
                prop_assert!(u128::from(before) * 8_000_000_000_u128 <= allowed);
                before += size;
            }
        }
    }
}
