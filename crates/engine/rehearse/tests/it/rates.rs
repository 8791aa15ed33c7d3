//! Links whose rate changes, with real packets in real time.

use shortflow_rehearse::Rehearsal;

use crate::real::outcome;
use crate::{machine, scenario};

#[test]
fn a_line_carries_the_sum_of_its_rates_in_real_time() {
    let _machine = machine();
    let text = r#"
        duration = "3 s"
        hosts = { a = {}, b = {} }
        routers.r = {}
        links.near = { between = ["a", "r"], rate = "1 Gbit/s", delay = "1 us" }
        [links.line]
        between = ["r", "b"]
        rate = "4 Mbit/s"
        delay = "5 ms"
        queue = "20 pkt"
        rate_over_time.steps = [{ at = "1 s", rate = "0 bit/s" }, { at = "1.5 s", rate = "2 Mbit/s" }]
        [workloads.flood.cbr]
        from = "a"
        to = "b"
        rate = "8 Mbit/s"
        packet = "1000 B"
    "#;
    let Some((replica, _)) = outcome(Rehearsal::OVER_IPV4, &scenario(&[("line.toml", text)]))
    else {
        return;
    };
    let delivered = replica.workloads[0].datagrams.as_ref().unwrap().delivered;
    // A second at 4 Mbit/s and one and a half at 2.
    assert!((840..=880).contains(&delivered), "{delivered}");
}
