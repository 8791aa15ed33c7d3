//! Strict priority over bands that share one buffer.

use proptest::prelude::*;
use shortflow_elements::classifier::{Classifier, DscpTable, MultiField, PortRange};
use shortflow_elements::queue::{SharedPriority, SharedPriorityParams};
use shortflow_elements::{DropReason, Drops, QueueDiscipline};
use shortflow_packet::Dscp;
use shortflow_units::{Bytes, Length};

use crate::bench::{Bench, P, ms, number_of, p};

/// Band 0 for code point 63, and so on; best effort is the last of 64.
fn queue(limit: Length) -> Bench<SharedPriority> {
    let bands = (0..64).fold(DscpTable::filled(0), |bands, value| {
        bands.with(Dscp::new(63 - value).unwrap(), value)
    });
    Bench::new(SharedPriority::new(SharedPriorityParams::by_code_point(limit, bands).unwrap()))
}

/// Packet `number` of this band.
fn of_band(band: u8, number: u32) -> P {
    p(number).marked(Dscp::new(63 - band).unwrap())
}

#[test]
fn bands_are_served_in_order_and_each_first_in_first_out() {
    let mut queue = queue(Length::Packets(9));
    queue.at(ms(0)).takes(of_band(63, 1)).takes(of_band(5, 2)).takes(of_band(0, 3));
    queue.at(ms(1)).takes(of_band(5, 4)).gives(of_band(0, 3)).gives(of_band(5, 2));
    queue.at(ms(2)).takes(of_band(4, 5)).gives(of_band(4, 5)).gives(of_band(5, 4));
    queue.at(ms(3)).gives(of_band(63, 1)).gives_nothing();
}

#[test]
fn a_full_buffer_pushes_out_the_newest_packet_of_its_last_band() {
    let mut queue = queue(Length::Packets(3));
    queue.at(ms(0)).takes(of_band(7, 1)).takes(of_band(7, 2)).takes(of_band(3, 3));
    queue.at(ms(1)).pushes_out(of_band(0, 4), &[of_band(7, 2)]);
    queue.at(ms(2)).pushes_out(of_band(6, 5), &[of_band(7, 1)]);
    queue.at(ms(3)).pushes_out(of_band(3, 6), &[of_band(6, 5)]);
    queue.holds(3, 3000);
    queue.at(ms(4)).gives(of_band(0, 4)).gives(of_band(3, 3)).gives(of_band(3, 6)).gives_nothing();
}

#[test]
fn an_arrival_is_refused_when_nothing_held_is_of_a_later_band() {
    let mut queue = queue(Length::Packets(2));
    queue.at(ms(0)).takes(of_band(4, 1)).takes(of_band(2, 2));
    queue.at(ms(1)).drops(of_band(4, 3), DropReason::Overlimit);
    queue.at(ms(1)).drops(of_band(63, 4), DropReason::Overlimit);
    queue.at(ms(2)).gives(of_band(2, 2)).gives(of_band(4, 1));
}

#[test]
fn a_large_packet_pushes_out_as_many_small_ones_as_it_needs() {
    let mut queue = queue(Length::Bytes(Bytes(2000)));
    let small = |band, number| of_band(band, number).sized(500);
    queue.at(ms(0)).takes(small(1, 1)).takes(small(2, 2)).takes(small(3, 3)).takes(small(3, 4));
    queue.at(ms(1)).pushes_out(of_band(0, 5).sized(800), &[small(3, 4), small(3, 3)]);
    queue.holds(3, 1800);
}

#[test]
fn nothing_is_pushed_out_in_vain() {
    let mut queue = queue(Length::Bytes(Bytes(2000)));
    queue.at(ms(0)).takes(of_band(1, 1)).takes(of_band(3, 2).sized(900));
    // 100 bytes are free and 900 are of a later band: 1100 cannot fit, 1000 can.
    queue.at(ms(1)).drops(of_band(2, 3).sized(1100), DropReason::Overlimit);
    queue.at(ms(1)).drops(of_band(0, 4).sized(2001), DropReason::Overlimit);
    queue.holds(2, 1900);
    queue.at(ms(2)).pushes_out(of_band(2, 5).sized(1000), &[of_band(3, 2).sized(900)]);
}

#[test]
fn a_band_may_be_named_by_a_rule() {
    let from = |port| MultiField {
        src_ports: Some(PortRange::new(port, port).unwrap().into()),
        ..MultiField::default()
    };
    let classifier = Classifier::new(vec![(from(5), 0), (from(6), 1)]);
    let params = SharedPriorityParams::by_rules(Length::Packets(3), classifier, 2).unwrap();
    let mut queue = Bench::new(SharedPriority::new(params));
    queue.at(ms(0)).takes(p(1)).takes(p(2).of_flow(6)).takes(p(3).of_flow(5));
    queue.at(ms(1)).pushes_out(p(4).of_flow(6), &[p(1)]);
    queue.at(ms(2)).gives(p(3).of_flow(5)).gives(p(2).of_flow(6)).gives(p(4).of_flow(6));
}

#[test]
fn a_limit_of_nothing_and_a_sixty_fifth_band_are_refused() {
    let table = DscpTable::filled(0);
    let refused = SharedPriorityParams::by_code_point(Length::Packets(0), table).unwrap_err();
    assert_eq!(refused.to_string(), "limit must be above zero; found 0 pkt");
    let classifier = Classifier::default();
    let refused = SharedPriorityParams::by_rules(Length::Packets(1), classifier, 64).unwrap_err();
    assert_eq!(refused.to_string(), "too many bands: 65; the maximum is 64");
}

/// The buffer as a sorted list that is searched from end to end.
#[derive(Default)]
struct Oracle {
    held: Vec<(u8, u32)>,
    lost: Vec<u32>,
}

impl Oracle {
    fn enqueue(&mut self, limit: usize, band: u8, number: u32) {
        self.held.push((band, number));
        self.held.sort_unstable();
        // The newest packet of the last band is the last, and the arrival is newer than all.
        self.lost.extend(self.held.drain(limit.min(self.held.len())..).map(|(_, number)| number));
    }

    fn dequeue(&mut self) -> Option<u32> {
        (!self.held.is_empty()).then(|| self.held.remove(0).1)
    }
}

proptest! {
    #[test]
    fn a_shared_buffer_is_a_sorted_list_whose_end_is_cut_off(
        limit in 1..20usize,
        steps in prop::collection::vec(prop::option::weighted(0.6, 0..64u8), 0..300),
    ) {
        let mut queue = queue(Length::Packets(limit as u64)).queue;
        let (mut oracle, mut drops) = (Oracle::default(), Drops::default());
        for (number, step) in steps.into_iter().enumerate() {
            match step {
                Some(band) => {
                    let number = number as u32;
                    queue.enqueue(ms(0), of_band(band, number).packet(), &mut drops);
                    oracle.enqueue(limit, band, number);
                    let lost: Vec<u32> = drops.drain().map(|drop| number_of(&drop.packet)).collect();
                    prop_assert_eq!(&lost, &std::mem::take(&mut oracle.lost));
                }
                None => {
                    let given = queue.dequeue(ms(0), &mut drops);
                    prop_assert_eq!(given.map(|given| number_of(&given.packet)), oracle.dequeue());
                }
            }
        }
    }
}
