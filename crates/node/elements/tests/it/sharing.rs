//! What holds for a profile that connections share, however they share it.

use proptest::prelude::*;
use shortflow_elements::sharing::{AggregateProfile, Rooms, SharedProfile, Sharing};
use shortflow_units::{Bytes, Duration, Instant, Rate};

use crate::bench::{mbit, ms, p, us};

proptest! {
    /// Over every interval the admitted bytes are at most r_m·t + B, without any rounding;
    /// connections come, go and change their round-trip times.
    #[test]
    fn an_aggregate_keeps_to_its_profile_over_every_interval(
        steps in prop::collection::vec((0..3_000_000u64, 0..5u32, 1..1500u32, 0..10u8), 1..80),
        rate in 1..20_000_000u64, depth in 1500..6000u64,
    ) {
        for sharing in Sharing::ALL {
            let rate = Rate::from_bits_per_sec(rate);
            let profile = AggregateProfile::new(rate, Bytes(depth), Bytes(1500)).unwrap();
            let mut shared = SharedProfile::new(profile, sharing);
            let mut there = [false; 5];
            let mut admitted: Vec<(Instant, u128)> = Vec::new();
            let mut now = Instant::START;
            for &(gap, connection, size, what) in &steps {
                now += Duration::from_nanos(gap);
                shared.earn(now);
                let is_there = &mut there[connection as usize];
                if !*is_there {
                    shared.join(connection);
                    *is_there = true;
                }
                match what {
                    0 => {
                        shared.leave(connection);
                        *is_there = false;
                    }
                    1 => shared.set_rtt(connection, Duration::from_micros(u64::from(size))),
                    _ if shared.admit(connection, &p(0).sized(size).packet()) => {
                        admitted.push((now, u128::from(size)));
                    }
                    _ => {}
                }
                prop_assert!(shared.held() <= Bytes(depth));
            }
            for first in 0..admitted.len() {
                let mut bytes = 0;
                for &(at, size) in &admitted[first..] {
                    bytes += size;
                    let elapsed = u128::from(at.since(admitted[first].0).nanos());
                    let allowed = u128::from(rate.bits_per_sec()) * elapsed;
                    prop_assert!(bytes * 8_000_000_000 <= allowed + u128::from(depth) * 8_000_000_000);
                }
            }
        }
    }
}

fn rooms_of(shared: &SharedProfile) -> Rooms {
    let mut rooms = Rooms::default();
    shared.look(&mut rooms);
    rooms
}

#[test]
fn a_clock_that_is_set_back_earns_nothing_twice_and_the_peak_rate_spaces_packets() {
    let profile = AggregateProfile::new(mbit(1), Bytes(3_000), Bytes(1500)).unwrap();
    let mut shared = SharedProfile::new(profile.with_peak(mbit(8)).unwrap(), Sharing::Common);
    shared.join(0);
    shared.earn(ms(10));
    assert!(shared.admit(0, &p(1).packet()));
    assert!(!shared.admit(0, &p(2).packet()), "a packet takes 1 ms at 8 Mbit/s");
    assert_eq!(shared.conforms_at(&rooms_of(&shared), 0, &p(2).packet()), ms(11));
    shared.earn(ms(2));
    assert_eq!(shared.held(), Bytes(2_000));
    shared.earn(us(11_000));
    assert!(shared.admit(0, &p(2).packet()));
    assert_eq!(
        shared.conforms_at(&rooms_of(&shared), 0, &p(3).sized(1501).packet()),
        Instant::NEVER,
        "above L_m"
    );
}
