//! A host has 64,512 ports for its connections to a port of a server.

use shortflow_sim::run_replica;

use crate::bench::scenario;

fn flows(flows: u32) -> String {
    let text = format!(
        r#"
        duration = "100 ms"
        hosts = {{ a = {{}}, b = {{}} }}
        links.line = {{ between = ["a", "b"], rate = "1 Gbit/s", delay = "5 ms" }}
        workloads.long.bulk = {{ from = "a", to = "b", flows = {flows} }}
        "#
    );
    let found = run_replica(&scenario(&text), 0, None, |_| true);
    found.err().map_or_else(String::new, |error| error.to_string())
}

#[test]
fn a_run_ends_when_a_host_has_no_port_left() {
    assert_eq!(
        flows(64_513),
        "a has 64512 connections to port 20 of b, one from each source port, and cannot open another; \
         closed ones count while they are in TIME_WAIT; lower the load, spread it over more hosts, or \
         shorten `tcp.time_wait`"
    );
}
