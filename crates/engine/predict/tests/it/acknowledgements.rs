//! Acknowledgements that share a line with what others send the other way.

use shortflow_measure::Summary;
use shortflow_scenario::Scenario;

use crate::against_simulations::{holds, predicted, scenario, simulated};

/// Two pairs of hosts over a line with these rates to the clients and from them, with one queue at both ends.
fn line([down, up]: [&str; 2], delay: &str, workloads: &str, queue: &str) -> Scenario {
    let text = format!(
        r#"
        policy = "p.toml"
        duration = "60 s"
        warm_up = "20 s"
        drain = "20 s"
        measure.size_classes = ["1 KB", "20 KB"]
        hosts = {{ c = {{ count = 2 }}, s = {{ count = 2 }} }}
        routers = {{ near = {{}}, far = {{}} }}
        links.line = {{ between = ["far", "near"], rate = {{ forward = "{down}", back = "{up}" }}, delay = "{delay}" }}
        links.clients = {{ between = ["c", "near"], rate = "1 Gbit/s", delay = "0.1 ms" }}
        links.servers = {{ between = ["s", "far"], rate = "1 Gbit/s", delay = "0.1 ms" }}
        bind = [
            {{ role = "core", at = "far", to = "near" }},
            {{ role = "core", at = "near", to = "far" }},
        ]
        {workloads}
        "#
    );
    scenario(&text, &format!("[roles.core.queue.{queue}\n"))
}

fn bulk(name: &str, [from, to]: [&str; 2], flows: u32) -> String {
    format!("[workloads.{name}.bulk]\nfrom = \"{from}\"\nto = \"{to}\"\nflows = {flows}\n")
}

/// Small transfers of one size to the first client.
fn transfers(size: &str) -> String {
    format!(
        r#"
        [workloads.web.transfers]
        client = "c[0]"
        server = "s[0]"
        load = "100 kbit/s"
        request.constant = "400 B"
        reply.constant = "{size}"
        "#
    )
}

const PLAIN: &str = "fifo]\nlimit = \"50 pkt\"";
const UPLOADS: [&str; 2] = ["c[1]", "s[1]"];
const DOWNLOADS: [&str; 2] = ["s[0]", "c[0]"];

fn goodput(summary: &Summary) -> shortflow_measure::Estimate {
    summary.workload("down").unwrap().goodput.unwrap()
}

#[test]
fn long_flows_have_a_bound_where_windows_of_others_hold_up_their_acknowledgements() {
    let uploads = |load: &str| {
        let web = transfers("200 KB").replace("100 kbit/s", load);
        web.replace("\"c[0]\"", "\"s[1]\"").replace("\"s[0]\"", "\"c[1]\"")
    };
    let rates = ["20 Mbit/s", "4 Mbit/s"];
    for others in [bulk("up", UPLOADS, 4), uploads("1 Mbit/s")] {
        let workloads = bulk("down", DOWNLOADS, 1) + &others;
        let scenario = line(rates, "50 ms", &workloads, PLAIN);
        let (said, found) = (goodput(&predicted(&scenario)), goodput(&simulated(&scenario, 1)));
        assert!(said.at_most && said.mean >= found.mean, "{said:?} for {found:?}");
        assert!(found.mean < 0.6 * 19e6, "{found:?}");
    }
    // Datagrams let acknowledgements pass one by one.
    let stream = "[workloads.up.poisson]\nfrom = \"c[1]\"\nto = \"s[1]\"\nload = \"2 Mbit/s\"\nsize.constant = \"1000 B\"\n";
    let scenario = line(rates, "5 ms", &(bulk("down", DOWNLOADS, 1) + stream), PLAIN);
    let (said, found) = (goodput(&predicted(&scenario)), goodput(&simulated(&scenario, 1)));
    assert!(!said.at_most, "{said:?}");
    holds("beside datagrams", said.mean, found.mean, 0.1);
}

#[test]
fn acknowledgements_in_a_plain_buffer_that_uploads_fill_leave_a_bound() {
    let file = "[workloads.web.ftp]\nfrom = \"s[0]\"\nto = \"c[0]\"\nsize.constant = \"20 KB\"\npause.exponential.mean = \"1 s\"\n";
    let scenario = line(
        ["6 Mbit/s", "1 Mbit/s"],
        "20 ms",
        &(file.to_owned() + &bulk("up", UPLOADS, 4)),
        PLAIN,
    );
    let said = predicted(&scenario).workload("web").unwrap().all.mean.unwrap();
    let found = simulated(&scenario, 1).workload("web").unwrap().all.mean.unwrap();
    assert!(said.at_least && said.mean <= found.mean, "{said:?} for {found:?}");
}

/// A second packet of a flow waits until each long flow has had its turn, there or back.
#[test]
fn the_packet_after_a_handshake_waits_for_the_turns_of_long_flows() {
    let fair = "fq-codel]";
    let both = ["2 Mbit/s", "2 Mbit/s"];
    for others in [bulk("up", UPLOADS, 8), bulk("down", DOWNLOADS, 8)] {
        let scenario = line(both, "3 ms", &(transfers("900 B") + &others), fair);
        let mean = |summary: &Summary| summary.workload("web").unwrap().all.mean.unwrap();
        let (said, found) = (mean(&predicted(&scenario)), mean(&simulated(&scenario, 2)));
        assert!(!said.at_least, "{said:?}");
        holds("after a handshake", said.mean, found.mean, 0.25);
    }
    let long = line(both, "3 ms", &(transfers("20 KB") + &bulk("up", UPLOADS, 8)), fair);
    let said = predicted(&long).workload("web").unwrap().all.mean.unwrap();
    assert!(said.at_least, "{said:?}");
}
