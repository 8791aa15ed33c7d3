//! What a packet counts for in the kernel, beside what it is computed to take on the link.

use std::time::{Duration, Instant};

use shortflow_deploy::{Settings, Tree};
use shortflow_units::{Bytes, LinkLayer, Rate};

use super::bench::{Bench, Destination, given, on_a_bench, run, sender};
use crate::support::{compiled, of_queue, settings};

const RATE: Rate = Rate::from_bits_per_sec(2_000_000);

/// One queue at the device, counted as on this link.
fn over(layer: LinkLayer) -> Tree {
    let settings = Settings { rate: Some(RATE), link_layer: Some(layer), ..settings(&[], false) };
    compiled(&of_queue("fifo = { limit = \"1000 pkt\" }"), &settings).unwrap()
}

/// IP packets of so many bytes that leave in a second, while more wait than may leave.
fn rate_of(bench: &Bench, packet: usize, expected: f64) -> f64 {
    let (receiver, socket) = (bench.receiver(6000), sender(Destination::V4, 6000, 0));
    let count = (2.5 * expected) as usize;
    let flood = std::thread::spawn(move || {
        // 20 bytes of IPv4's header and 8 of UDP's. The socket waits for what it has under way.
        let datagram = vec![0; packet - 28];
        (0..count).for_each(|_| assert_eq!(socket.send(&datagram).unwrap(), datagram.len()));
    });
    let (mut all, until) = (receiver.all(), Instant::now() + Duration::from_secs(20));
    while all.len() < count {
        assert!(Instant::now() < until, "{} of {count} have come", all.len());
        all.extend(receiver.all());
    }
    flood.join().unwrap();
    // What may leave at once has left.
    let from_here = count / 10;
    let [(begin, _), (end, _)] = [&all[from_here], &all[count - 1]];
    (count - 1 - from_here) as f64 / end.duration_since(*begin).as_secs_f64()
}

#[test]
fn small_packets_leave_as_fast_as_the_link_takes_them() {
    on_a_bench(|bench| {
        for (layer, packet) in [
            ("docsis", 40),
            ("ethernet", 200),
            ("pppoe-llcsnap", 40),
            ("pppoe-llcsnap", 200),
            // The kernel counts 14 bytes before the packet, of which this link sends 10.
            ("pppoa-vcmux", 38),
            ("pppoe-ptm", 40),
        ] {
            let layer: LinkLayer = layer.parse().unwrap();
            bench.deploy(&over(layer));
            let bytes = layer.wire_size(Bytes(packet as u64)).0 as f64;
            let expected = RATE.bytes_per_sec() / bytes;
            // HTB counts a packet over PTM for a byte more at most; threads may be late.
            let lowest = 1.0 - 1.0 / bytes - 0.03;
            let mut found = Vec::new();
            // Where the machine has much else to do, a whole moment may pass without a packet.
            let is_as_expected = (0..3).any(|_| {
                found.push(rate_of(bench, packet, expected) / expected);
                (lowest..1.02).contains(found.last().unwrap())
            });
            assert!(is_as_expected, "{packet} B over {layer}: {found:?} of what is expected");
        }
    });
}

#[test]
fn another_link_layer_takes_the_place_of_the_first_and_leaves_the_counts() {
    on_a_bench(|bench| {
        let layer = |layer: &str| over(layer.parse().unwrap());
        let line = || {
            let classes = run("tc", "-d class show dev sf0").unwrap();
            classes.lines().find(|line| line.contains("5f00:fff0")).unwrap().to_owned()
        };
        bench.deploy(&layer("pppoa-vcmux"));
        assert!(bench.carries_packets());
        let before = given(&bench.status(), "all");
        assert!(line().contains("linklayer atm") && !line().contains("overhead"), "{}", line());
        let root = || run("tc", "-d qdisc show dev sf0").unwrap();
        assert!(root().contains("overhead -4"), "{}", root());
        bench.deploy(&layer("docsis"));
        assert!(line().contains("overhead 4") && line().contains("mpu 64b"), "{}", line());
        assert!(!line().contains("linklayer atm"), "{}", line());
        assert!(!root().contains("overhead -4"), "{}", root());
        assert!(before >= 20 && given(&bench.status(), "all") >= before);
        let observed = shortflow_deploy::Tc::new("sf0").observe().unwrap();
        assert!(observed.memo.unwrap().is_of(&layer("docsis")));
        bench.undeploy();
    });
}
