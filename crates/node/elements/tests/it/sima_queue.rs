//! The core node of SIMA: two buffers behind one allowed drop precedence.

use shortflow_elements::DropReason::{Forced, Overlimit};
use shortflow_elements::classifier::SimaClass::{self, NonRealTime, RealTime};
use shortflow_elements::queue::{PrecedenceMap, Sima, SimaBuffer, SimaQueueParams};
use shortflow_units::Bytes;

use crate::bench::{Bench, P, ms, p};

/// 10 packets of 1000 bytes for RT, 20 for NRT, by the occupancy of this moment.
fn queue(map: PrecedenceMap) -> Bench<Sima> {
    let buffer =
        |limit, class: SimaClass| SimaBuffer::new(Bytes(limit), 1.0, class.code_points()).unwrap();
    let buffers = (buffer(10_000, RealTime), buffer(20_000, NonRealTime));
    Bench::new(Sima::new(SimaQueueParams::new(buffers.0, buffers.1, map).unwrap()))
}

/// Packet `number` of this class and precedence.
fn packet(class: SimaClass, precedence: usize, number: u32) -> P {
    p(number).marked(class.code_points()[precedence])
}

#[test]
fn real_time_goes_first_and_each_buffer_is_first_in_first_out() {
    let mut queue = queue(PrecedenceMap::default());
    let (a, b) = (packet(NonRealTime, 7, 1), packet(NonRealTime, 6, 2));
    let (c, d) = (packet(RealTime, 6, 3), packet(RealTime, 7, 4));
    queue.at(ms(0)).takes(a).takes(b).takes(c).takes(d);
    queue.at(ms(1)).gives(c).gives(d).gives(a).gives(b).gives_nothing();
}

#[test]
fn the_allowed_precedence_follows_the_fuller_buffer_as_the_ceiling_of_seven_times_its_share() {
    let mut queue = queue(PrecedenceMap::CeilingOfGreater);
    // An empty node takes all; with 1 of 10 held in RT, ⌈0.7⌉ = 1, for both classes alike.
    queue.at(ms(0)).takes(packet(RealTime, 0, 1));
    queue.at(ms(1)).drops(packet(RealTime, 0, 2), Forced).drops(packet(NonRealTime, 0, 3), Forced);
    queue.at(ms(2)).takes(packet(NonRealTime, 1, 4)).takes(packet(RealTime, 1, 5));
    // 2 of 10: ⌈1.4⌉ = 2; the 1 of 20 in NRT does not count beside it.
    queue.at(ms(3)).drops(packet(NonRealTime, 1, 6), Forced).takes(packet(NonRealTime, 2, 7));
    queue.holds(4, 4_000);
    (8..16).for_each(|number| {
        queue.at(ms(4)).takes(packet(RealTime, 7, number));
    });
    // 10 of 10: 7 is allowed, but there is no room in RT; NRT has room.
    queue
        .at(ms(5))
        .drops(packet(RealTime, 7, 16), Overlimit)
        .drops(packet(NonRealTime, 6, 17), Forced);
    queue.at(ms(6)).takes(packet(NonRealTime, 7, 18));
}

#[test]
fn each_map_is_its_formula() {
    // 3 of 10 in RT and 2 of 20 in NRT: the greater is 0.3, the mean 0.2.
    let allowed = |map| {
        let mut queue = queue(map);
        for (class, number) in
            [(RealTime, 1), (RealTime, 2), (RealTime, 3), (NonRealTime, 4), (NonRealTime, 5)]
        {
            queue.at(ms(0)).takes(packet(class, 7, number));
        }
        // One that is dropped takes the sample.
        let _ = queue.at(ms(1)).offered(packet(NonRealTime, 0, 6));
        queue.queue.allowed_precedence()
    };
    // ⌈2.1⌉, ⌊2.4⌋, ⌈1.4⌉, ⌊1.6⌋.
    assert_eq!(allowed(PrecedenceMap::CeilingOfGreater), 3);
    assert_eq!(allowed(PrecedenceMap::FloorOfGreater), 2);
    assert_eq!(allowed(PrecedenceMap::CeilingOfMean), 2);
    assert_eq!(allowed(PrecedenceMap::FloorOfMean), 1);
}

#[test]
fn the_average_follows_what_is_held_by_its_weight_at_each_arrival() {
    let buffer = |weight, class: SimaClass| {
        SimaBuffer::new(Bytes(10_000), weight, class.code_points()).unwrap()
    };
    let buffers = (buffer(0.5, RealTime), buffer(0.25, NonRealTime));
    let params = SimaQueueParams::new(buffers.0, buffers.1, PrecedenceMap::default()).unwrap();
    let mut queue = Bench::new(Sima::new(params));
    // The samples of RT are 0, 1000 and 2000: 0, 500, 1250; ⌈0.875⌉ = 1.
    (1..4).for_each(|number| {
        queue.at(ms(0)).takes(packet(RealTime, 7, number));
    });
    assert_eq!(queue.queue.allowed_precedence(), 1);
    // 3000: 2125, ⌈1.4875⌉ = 2. A packet that is dropped took its sample too.
    queue.at(ms(1)).drops(packet(NonRealTime, 1, 4), Forced);
    // Once it is empty, arrivals let the average fall below a byte, 2125/2^12, and 0 passes again.
    (1..4).for_each(|number| {
        queue.at(ms(2)).gives(packet(RealTime, 7, number));
    });
    (0..11).for_each(|_| {
        queue.at(ms(3)).drops(packet(NonRealTime, 0, 5), Forced);
    });
    queue.at(ms(4)).takes(packet(NonRealTime, 0, 6));
}

#[test]
fn a_packet_of_no_code_point_of_the_node_is_the_least_protected() {
    let mut queue = queue(PrecedenceMap::default());
    queue.at(ms(0)).takes(p(1));
    queue.at(ms(1)).takes(packet(RealTime, 7, 2)).drops(p(3), Forced);
    queue.at(ms(2)).gives(packet(RealTime, 7, 2)).gives(p(1));
}

#[test]
fn a_limit_a_weight_or_code_points_that_cannot_be_are_refused() {
    let buffer = |limit, weight, class: SimaClass| {
        SimaBuffer::new(Bytes(limit), weight, class.code_points())
    };
    let refused = |limit, weight| buffer(limit, weight, RealTime).unwrap_err().to_string();
    assert_eq!(refused(0, 1.0), "limit must be 1 B to 1000 GB; found 0 B");
    assert_eq!(refused(1, 0.0), "weight must be above 0 and at most 1; found 0");
    assert_eq!(refused(1, 1.5), "weight must be above 0 and at most 1; found 1.5");
    let twice = || buffer(9, 1.0, RealTime).unwrap();
    let error = SimaQueueParams::new(twice(), twice(), PrecedenceMap::default()).unwrap_err();
    assert_eq!(error.to_string(), "the code point 35 occurs twice in code_points");
}
