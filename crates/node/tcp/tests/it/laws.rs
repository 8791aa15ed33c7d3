//! What holds for every pair of endpoints over every pipe.

use proptest::prelude::*;
use shortflow_tcp::{Config, DelayedAck, Era, Recovery};
use shortflow_units::{Bytes, Duration};

use crate::pair::{Pair, Pipe};
use crate::script::plain;

fn recoveries() -> impl Strategy<Value = Recovery> {
    prop_oneof![
        Just(Recovery::Reno),
        Just(Recovery::NewReno),
        Just(Recovery::Sack),
        Just(Recovery::Rack)
    ]
}

prop_compose! {
    fn configs()(
        recovery in recoveries(),
        delayed in any::<bool>(),
        limited_transmit in any::<bool>(),
        byte_counting in any::<bool>(),
        whole_segments in any::<bool>(),
        duplicate_sack in any::<bool>(),
        lone_fin in any::<bool>(),
        nagle in any::<bool>(),
        ecn in any::<bool>(),
        restart_after_idle in any::<bool>(),
        initial_window in 1u32..=10,
        linger in prop_oneof![Just(0u64), Just(60)],
        receive_window in prop_oneof![Just(20_000_000u64), 3_000u64..30_000],
        modern in any::<bool>(),
    ) -> Config {
        let usual = if modern { Era::LinuxToday.config() } else { plain() };
        let delay = DelayedAck { timeout: Duration::from_millis(100), segments: 2 };
        Config {
            recovery,
            delayed_ack: delayed.then_some(delay),
            limited_transmit,
            byte_counting,
            whole_segments,
            duplicate_sack,
            lone_fin,
            nagle,
            ecn,
            restart_after_idle,
            initial_window,
            receive_window: Bytes(receive_window),
            time_wait: Duration::from_secs(linger),
            syn_retries: None,
            data_retries: None,
            ..usual
        }
    }
}

prop_compose! {
    fn pipes()(
        loss in prop_oneof![Just(0.0), 0.0..0.1, 0.1..0.6],
        mark in 0.0..0.3,
        delay in 1u64..200,
        jitter in prop_oneof![Just(0u64), 1u64..50],
        seed in any::<u64>(),
    ) -> Pipe {
        Pipe {
            delay: Duration::from_millis(delay),
            jitter: Duration::from_millis(jitter),
            loss,
            gap: Duration::ZERO,
            lost: Vec::new(),
            lost_replies: Vec::new(),
            mark,
            seed,
        }
    }
}

fn exchange(config: Config, pipe: Pipe, bytes: [u64; 2], initial: [u32; 2]) -> Pair {
    let mut pair = Pair::with_initial_sequences(config, pipe, initial);
    pair.open();
    for end in [0, 1] {
        pair.write(end, bytes[end]);
        pair.close(end);
    }
    pair.run_until(|pair| pair.ends.iter().all(|end| end.is_closed()));
    pair
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn every_byte_arrives_once_and_both_ends_close(
        config in configs(),
        pipe in pipes(),
        to_b in 0u64..150_000,
        to_a in 0u64..150_000,
        initial in any::<[u32; 2]>(),
    ) {
        let pair = exchange(config, pipe, [to_b, to_a], initial);
        for end in &pair.ends {
            prop_assert!(end.is_closed(), "left in {:?}", end.state());
            prop_assert_eq!(end.failure(), None);
            prop_assert!(end.peer_closed());
        }
        prop_assert_eq!([pair.ends[1].received(), pair.ends[0].received()], [to_b, to_a]);
    }

    #[test]
    fn the_same_seed_gives_the_same_segments(
        config in configs(),
        pipe in pipes(),
        bytes in 0u64..50_000,
    ) {
        let first = exchange(config.clone(), pipe.clone(), [bytes, bytes / 2], [0, 0]);
        let second = exchange(config, pipe, [bytes, bytes / 2], [0, 0]);
        prop_assert_eq!(first.log, second.log);
    }
}

#[test]
fn a_connection_is_small() {
    // An open pair is to cost no more than 1000 bytes: two of these, what the simulator keeps beside
    // them, and the packets in flight.
    let size = size_of::<shortflow_tcp::Connection>();
    assert!(size <= 312, "{size}");
}

#[test]
fn marks_slow_a_pair_down_without_losing_a_segment() {
    let config = Config { ecn: true, ..plain() };
    let pipe = Pipe { mark: 0.05, ..Pipe::clean(Duration::from_millis(10)) };
    let pair = exchange(config, pipe, [1_000_000, 0], [0, 0]);
    let stats = pair.ends[0].stats();
    assert!(pair.marks > 10 && stats.ecn_reductions > 10);
    assert_eq!((stats.retransmitted_segments, pair.ends[1].received()), (0, 1_000_000));
}
