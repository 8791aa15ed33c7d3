//! A router whose bottleneck lies beyond it, in a modem with a deep buffer: whether a shaper brings
//! the queue back to where it is looked after.

use shortflow_measure::{PortResult, Replica};

use crate::bench::{port, run, scenario_under, workload};

/// Seconds in which counts are taken.
const MEASURED: f64 = 20.0;

/// Four uploads and a call through a router with this queue, then a modem with 20 Mbit/s.
fn uploads(queue: &str) -> Replica {
    let policy = format!("[roles.core.queue]\n{queue}\n");
    let scenario = r#"
        duration = "25 s"
        warm_up = "5 s"
        policy = "policy.toml"
        hosts = { pc = {}, site = {} }
        routers = { router = {}, modem = {} }
        bind = [{ role = "core", at = "router", to = "modem" }]
        measure.ports = ["router->modem", "modem->site"]
        [links]
        lan = { between = ["pc", "router"], rate = "1 Gbit/s", delay = "10 us" }
        cable = { between = ["router", "modem"], rate = "1 Gbit/s", delay = "1 us" }
        line = { between = ["modem", "site"], rate = "20 Mbit/s", delay = "10 ms", queue = "1000 pkt" }
        [workloads.uploads.bulk]
        from = "pc"
        to = "site"
        flows = 4
        [workloads.call.cbr]
        from = "pc"
        to = "site"
        rate = "80 kbit/s"
        packet = "200 B"
    "#;
    run(&scenario_under(&policy, scenario)).replica
}

fn forwarded(port: &PortResult) -> f64 {
    let bytes: u64 = port.code_points.iter().map(|counts| counts.forwarded.bytes).sum();
    bytes as f64 * 8.0 / MEASURED
}

/// Whether `found` bit/s keep to `rate`: not a byte too many, but for a packet at the end of the
/// measurement, and hardly one too few. CoDel leaves the queue of four uploads empty for moments.
fn holds(found: f64, rate: f64) -> bool {
    let packet = 1080.0 * 8.0 / MEASURED;
    found <= rate + packet && found >= 0.999 * rate
}

#[test]
fn a_shaper_holds_its_rate_and_the_queue_is_its_own() {
    let run = uploads("shaper = { rate = \"19 Mbit/s\", queue.fq-codel = {} }");
    let (router, modem) = (port(&run, "router->modem"), port(&run, "modem->site"));
    assert!(holds(forwarded(router), 19e6), "{}", forwarded(router));
    // The modem takes a packet in less time than the shaper lets the next one come.
    assert_eq!(modem.loss(), Some(0.0));
    assert_eq!(modem.mean_queue_packets, 0.0);
    // CoDel looks after the queue, and keeps it near its target of 5 ms, the call's far below.
    assert!(router.loss() > Some(0.0) && router.mean_wait < 20e-3, "{}", router.mean_wait);
    let call = workload(&run, "call").datagrams.unwrap();
    assert!(call.delay.unwrap() < 13e-3, "{call:?}");
}

#[test]
fn without_a_shaper_the_same_queue_stays_empty_and_the_modems_fills() {
    let run = uploads("fq-codel = {}");
    let (router, modem) = (port(&run, "router->modem"), port(&run, "modem->site"));
    assert_eq!(router.loss(), Some(0.0));
    assert!(modem.mean_queue_packets > 400.0, "{}", modem.mean_queue_packets);
    let call = workload(&run, "call").datagrams.unwrap();
    assert!(call.delay.unwrap() > 0.15, "{call:?}");
}

#[test]
fn a_shaper_counts_what_the_line_adds_to_each_packet() {
    let queue = "shaper = { rate = \"19 Mbit/s\", overhead = \"40 B\", queue.fq-codel = {} }";
    let run = uploads(queue);
    let router = port(&run, "router->modem");
    let packets: u64 = router.code_points.iter().map(|counts| counts.forwarded.packets).sum();
    let counted = forwarded(router) + packets as f64 * 40.0 * 8.0 / MEASURED;
    assert!(holds(counted, 19e6), "{counted}");
}

#[test]
fn red_inside_a_shaper_keeps_the_queue_between_its_thresholds() {
    let red = "red = { limit = \"200 pkt\", min_threshold = \"20 pkt\", max_threshold = \"60 pkt\", max_probability = 0.1 }";
    let run = uploads(&format!("shaper = {{ rate = \"5 Mbit/s\", queue.{red} }}"));
    let router = port(&run, "router->modem");
    assert!(holds(forwarded(router), 5e6), "{}", forwarded(router));
    assert!(router.loss() > Some(0.0));
    assert!((10.0..80.0).contains(&router.mean_queue_packets), "{}", router.mean_queue_packets);
}

/// Downloads over a cable line of 2 Mbit/s up and 100 Mbit/s down, and a call: the delay of 95 % of what it sends, where
/// the gateway sends at 95 % of the line's rate and counts packets so.
fn call_beside_downloads(gateway: &str, line: &str) -> f64 {
    let shaper = format!("shaper = {{ rate = \"1.9 Mbit/s\"{gateway}, queue.fq-codel = {{}} }}");
    let policy = format!("[roles.core.queue]\n{shaper}\n");
    let scenario = format!(
        r#"
        duration = "15 s"
        warm_up = "5 s"
        policy = "policy.toml"
        hosts = {{ pc = {{}}, site = {{}} }}
        routers = {{ router = {{}}, modem = {{}} }}
        bind = [{{ role = "core", at = "router", to = "modem" }}]
        [links]
        lan = {{ between = ["pc", "router"], rate = "1 Gbit/s", delay = "10 us" }}
        cable = {{ between = ["router", "modem"], rate = "1 Gbit/s", delay = "1 us" }}
        [links.line]
        between = ["modem", "site"]
        rate = {{ forward = "2 Mbit/s", back = "100 Mbit/s" }}
        delay = "10 ms"
        queue = "1000 pkt"
        link_layer = "{line}"
        [workloads.downloads.bulk]
        from = "site"
        to = "pc"
        flows = 2
        [workloads.call.cbr]
        from = "pc"
        to = "site"
        rate = "80 kbit/s"
        packet = "200 B"
    "#
    );
    let replica = run(&scenario_under(&policy, &scenario)).replica;
    workload(&replica, "call").datagrams.unwrap().percentiles.delay_p95.unwrap()
}

#[test]
fn acknowledgements_wait_where_they_are_looked_after_once_the_gateway_counts_them_as_the_line_does()
{
    // The smallest frame of DOCSIS is 64 bytes; 40 of an acknowledgement over PPPoE on ADSL are two cells.
    for line in ["docsis", "pppoe-llcsnap"] {
        let bare = call_beside_downloads("", line);
        let counted = call_beside_downloads(&format!(", link_layer = \"{line}\""), line);
        assert!(bare > 0.2, "{line}: {bare}");
        assert!(counted < 0.03, "{line}: {counted}");
    }
}
