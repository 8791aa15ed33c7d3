//! DropTail.

use shortflow_elements::DropReason::Overlimit;
use shortflow_elements::queue::{Fifo, FifoParams};
use shortflow_units::{Bytes, Length};

use crate::bench::{Bench, ms, p};

fn fifo(limit: Length) -> Bench<Fifo> {
    Bench::new(Fifo::new(FifoParams::new(limit).unwrap()))
}

#[test]
fn a_queue_of_two_packets_takes_two_and_one_more_once_one_has_left() {
    let mut queue = fifo(Length::Packets(2));
    queue.at(ms(0)).takes(p(1)).takes(p(2)).drops(p(3), Overlimit);
    queue.at(ms(1)).gives(p(1)).takes(p(4)).drops(p(5), Overlimit);
    queue.at(ms(2)).gives(p(2)).gives(p(4)).gives_nothing();
}

#[test]
fn a_limit_in_bytes_lets_a_small_packet_pass_where_a_large_one_does_not_fit() {
    let mut queue = fifo(Length::Bytes(Bytes(1040)));
    queue.at(ms(0)).takes(p(1).sized(1000)).drops(p(2).sized(41), Overlimit);
    queue.at(ms(0)).takes(p(3).sized(40)).drops(p(4).sized(1), Overlimit);
    queue.holds(2, 1040);
}

#[test]
fn a_queue_that_can_hold_nothing_is_refused() {
    let error = FifoParams::new(Length::Packets(0)).unwrap_err();
    assert_eq!(
        (error.parameter(), &*error.to_string()),
        ("limit", "limit must be above zero; found 0 pkt")
    );
}
