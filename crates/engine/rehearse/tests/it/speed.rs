//! How fast packets are forwarded can be measured; how fast that is, is told elsewhere.

use shortflow_rehearse::{SpeedPlan, Way, measure_speed, summary};
use shortflow_run::Error;

use crate::machine;

#[test]
fn every_way_carries_packets_and_is_compared_with_the_fifo() {
    every_way_carries_packets(Way::ROUTER);
}

#[cfg(feature = "ebpf")]
#[test]
fn the_inline_router_carries_packets_and_is_compared_with_a_bare_one() {
    every_way_carries_packets(Way::INLINE);
}

fn every_way_carries_packets(ways: &[Way]) {
    let _machine = machine();
    let plan = SpeedPlan { ways: ways.to_vec(), sizes: vec![64], rounds: 1, seconds: 0.1 };
    let found = match measure_speed(&plan, &mut |_| true) {
        Ok(found) => found,
        Err(Error::Machine(lacking)) if std::env::var_os("CI").is_none() => {
            eprintln!("skipped: needs hosts: {lacking}");
            return;
        }
        Err(error) => panic!("{error}"),
    };
    for row in summary(&found) {
        let name = row.way.name();
        assert!(row.per_second.min > 0.0 && row.of_reference.is_some(), "{name}: {row:?}");
        assert_eq!(row.cpu_nanos.is_none(), row.way == Way::Kernel, "{name}");
    }
}
