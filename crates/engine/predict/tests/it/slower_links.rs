//! What waits behind traffic that comes through slower links, and behind acknowledgements on a slow way back.

use shortflow_measure::{Summary, WorkloadSummary};
use shortflow_scenario::{Overrides, from_texts};

use crate::against_simulations;

fn predicted(text: &str) -> Summary {
    let loaded = from_texts(&[("line.toml", text)], &Overrides::default())
        .unwrap_or_else(|error| panic!("{error}"));
    against_simulations::predicted(&loaded.points()[0].scenario)
}

/// Probes beside files over a line of 5 Mbit/s, which come from so many servers over links of their own.
fn beside_files(servers: u32, rate: &str, load: &str, probe: &str) -> WorkloadSummary {
    let text = format!(
        r#"
        duration = "130 s"
        warm_up = "10 s"
        hosts = {{ p = {{}}, q = {{}}, u = {{ count = {servers} }}, v = {{ count = {servers} }} }}
        routers = {{ a = {{}}, b = {{}} }}
        links.p = {{ between = ["p", "a"], rate = "1 Gbit/s", delay = "1 us" }}
        links.q = {{ between = ["b", "q"], rate = "1 Gbit/s", delay = "1 us" }}
        links.u = {{ between = ["u", "a"], rate = "{rate}", delay = "5 ms" }}
        links.v = {{ between = ["b", "v"], rate = "1 Gbit/s", delay = "1 us" }}
        links.l = {{ between = ["a", "b"], rate = "5 Mbit/s", delay = "5 ms" }}
        {probe}
        [workloads.files.transfers]
        server = "u"
        client = "v"
        load = "{load}"
        request.constant = "300 B"
        reply.constant = "300 KB"
        "#
    );
    predicted(&text).workloads.swap_remove(0)
}

const DATAGRAMS: &str = r#"
    [workloads.probe.poisson]
    from = "p"
    to = "q"
    load = "50 kbit/s"
    size.constant = "200 B"
"#;

#[test]
fn behind_several_senders_on_slower_links_a_delay_is_a_bound() {
    // Simulated: 31 ms, where each alone leaves half of the line free.
    let delay = |servers, rate, load| {
        beside_files(servers, rate, load, DATAGRAMS).datagrams.unwrap().delay.unwrap()
    };
    let found = delay(4, "2.5 Mbit/s", "2.5 Mbit/s");
    assert!(found.at_least && found.mean < 0.007, "{found:?}");
    // One link brings no more than the line carries, and of many slow ones hardly ever enough are busy.
    assert!(!delay(1, "4 Mbit/s", "2.5 Mbit/s").at_least);
    assert!(!delay(40, "250 kbit/s", "1.5 Mbit/s").at_least);
}

#[test]
fn behind_several_senders_on_slower_links_the_time_of_a_small_transfer_is_a_bound() {
    let small = r#"
        [workloads.probe.transfers]
        server = "p"
        client = "q"
        rate = "2 /s"
        request.constant = "300 B"
        reply.constant = "2 KB"
    "#;
    // Simulated: 79 ms.
    let found = beside_files(4, "2.5 Mbit/s", "2.5 Mbit/s", small).all.mean.unwrap();
    assert!(found.at_least && found.mean < 0.03, "{found:?}");
}

#[test]
fn behind_a_line_that_is_hardly_slower_the_wait_is_a_bound() {
    let wait = |slower: &str| {
        let found = predicted(&format!(
            r#"
            duration = "100 s"
            warm_up = "10 s"
            hosts = {{ p = {{}}, q = {{}}, u = {{}}, v = {{}} }}
            routers = {{ a = {{}}, m = {{}}, b = {{}} }}
            links.p = {{ between = ["p", "m"], rate = "1 Gbit/s", delay = "1 us" }}
            links.q = {{ between = ["b", "q"], rate = "1 Gbit/s", delay = "1 us" }}
            links.u = {{ between = ["u", "a"], rate = "1 Gbit/s", delay = "5 ms" }}
            links.v = {{ between = ["b", "v"], rate = "1 Gbit/s", delay = "1 us" }}
            links.first = {{ between = ["a", "m"], rate = "{slower}", delay = "5 ms" }}
            links.second = {{ between = ["m", "b"], rate = "10 Mbit/s", delay = "5 ms" }}
            measure.ports = ["m->b"]
            [workloads.probe.poisson]
            from = "p"
            to = "q"
            load = "1 Mbit/s"
            size.constant = "1000 B"
            [workloads.files.transfers]
            server = "u"
            client = "v"
            load = "4 Mbit/s"
            request.constant = "300 B"
            reply.constant = "200 KB"
            "#
        ));
        found.ports[0].mean_wait.unwrap()
    };
    // A file leaves one tenth of the line to packets that need as much. Simulated: 2.5 ms.
    assert!(wait("9 Mbit/s").at_least);
    // Four tenths are left, and packets of a file come too far apart to wait for each other. Simulated: 0.16 ms.
    let found = wait("6 Mbit/s");
    assert!(!found.at_least && (0.00012..0.00021).contains(&found.mean), "{found:?}");
}

#[test]
fn a_queue_that_two_lines_of_nearly_the_same_rate_share_is_unknown() {
    let wait = |faster: &str| {
        let found = predicted(&format!(
            r#"
            duration = "70 s"
            warm_up = "10 s"
            hosts = {{ a = {{}}, b = {{}} }}
            routers = {{ r = {{}}, m = {{}} }}
            links.a = {{ between = ["a", "r"], rate = "1 Gbit/s", delay = "5 ms" }}
            links.faster = {{ between = ["r", "m"], rate = "{faster}", delay = "5 ms" }}
            links.line = {{ between = ["m", "b"], rate = "40 Mbit/s", delay = "1 ms" }}
            measure.ports = ["m->b"]
            [workloads.download.bulk]
            from = "a"
            to = "b"
            flows = 1
            "#
        ));
        found.ports[0].mean_wait
    };
    assert!(wait("60 Mbit/s").is_some_and(|wait| wait.at_least));
    assert_eq!(wait("42 Mbit/s"), None);
}

/// Files of 14 KB over 20 Mbit/s, whose acknowledgements have `back`, and datagrams beside these.
fn acknowledged_over(back: &str) -> Summary {
    predicted(&format!(
        r#"
        duration = "60 s"
        warm_up = "20 s"
        hosts = {{ c = {{}}, s = {{}}, c2 = {{}}, s2 = {{}} }}
        routers = {{ a = {{}}, b = {{}} }}
        links.c = {{ between = ["c", "a"], rate = "1 Gbit/s", delay = "10 us" }}
        links.s = {{ between = ["s", "b"], rate = "1 Gbit/s", delay = "1 ms" }}
        links.c2 = {{ between = ["c2", "a"], rate = "1 Gbit/s", delay = "10 us" }}
        links.s2 = {{ between = ["s2", "b"], rate = "1 Gbit/s", delay = "1 ms" }}
        links.l = {{ between = ["b", "a"], rate = {{ forward = "20 Mbit/s", back = "{back}" }}, delay = "5 ms" }}
        [workloads.files.transfers]
        server = "s"
        client = "c"
        load = "3 Mbit/s"
        request.constant = "300 B"
        reply.constant = "14 KB"
        [workloads.probe.poisson]
        from = "c2"
        to = "s2"
        load = "10 kbit/s"
        size.constant = "80 B"
        "#
    ))
}

#[test]
fn acknowledgements_that_come_together_are_waited_for_as_a_burst() {
    // Simulated: 58 ms and 0.15 s.
    let slow = acknowledged_over("250 kbit/s");
    assert!(slow.workloads[1].datagrams.as_ref().unwrap().delay.unwrap().at_least);
    assert!(slow.workloads[0].all.mean.unwrap().at_least);
    // Where they take no longer than the segments that they answer, they come one by one.
    let fast = acknowledged_over("20 Mbit/s");
    let delay = fast.workloads[1].datagrams.as_ref().unwrap().delay.unwrap();
    assert!(!delay.at_least && (0.006..0.0065).contains(&delay.mean), "{delay:?}");
}

#[test]
fn an_echo_goes_with_the_acknowledgement_of_its_key() {
    let found = predicted(
        r#"
        duration = "100 s"
        warm_up = "20 s"
        hosts = { c = {}, s = {} }
        routers = { a = {}, b = {} }
        links.c = { between = ["c", "a"], rate = "1 Gbit/s", delay = "10 us" }
        links.s = { between = ["s", "b"], rate = "1 Gbit/s", delay = "1 ms" }
        links.l = { between = ["a", "b"], rate = "0.5 Mbit/s", delay = "5 ms" }
        measure.ports = ["a->b", "b->a"]
        [workloads.keys.telnet]
        server = "s"
        client = "c"
        packet = "100 B"
        pause.exponential.mean = "200 ms"
        sessions = 50
        "#,
    );
    // 231 keys a second of 100 B with 52 B of headers; the client acknowledges each echo. Simulated: 0.559 and 0.372.
    let load = |at: usize| found.ports[at].utilisation.unwrap().mean;
    assert!(
        (load(0) - 0.559).abs() < 0.02 && (load(1) - 0.372).abs() < 0.02,
        "{} {}",
        load(0),
        load(1)
    );
}
