//! Sessions: what they ask for, when, over which connections, and what is told of it.

use std::collections::BTreeMap;

use shortflow_measure::{Item, Replica};
use shortflow_scenario::Scenario;
use shortflow_sim::run_replica;

use crate::bench::{
    Row, counts, run, run_with_transfers, scenario, scenario_beside, scenario_under, workload,
};

const MS: u64 = 1_000_000;

/// Two hosts at a distance of 100 ms and back, where transmission takes no time worth a word.
fn far_apart(rest: &str) -> Scenario {
    scenario(&format!("{FAR_APART}\n{rest}"))
}

const FAR_APART: &str = r#"
    duration = "60 s"
    drain = "30 s"
    hosts = { user = {}, server = {} }
    links.line = { between = ["user", "server"], rate = "10 Gbit/s", delay = "50 ms" }
"#;

/// The fixed pages of Noureddine & Tobagi 2002, §2.2.1.
const PROBE: &str = r#"
    client = "user"
    server = "server"
    request.constant = "300 B"
    page.index.constant = "1 KB"
    page.objects.constant = 8
    page.object.constant = "10 KB"
    think.constant = "2 s"
"#;

fn rows_of<'r>(rows: &'r [Row], workload: &str) -> Vec<&'r Row> {
    rows.iter().filter(|row| row.workload == workload).collect()
}

/// Within 2 ms above `expected` milliseconds: what transmissions take.
fn about(nanos: u64, expected: u64) -> bool {
    (expected * MS..(expected + 2) * MS).contains(&nanos)
}

/// ```text
///   0 ms  SYN            index: handshake 100, request and reply 100
/// 200 ms  4 × SYN        four objects of ten segments: 100, then 2 + 4 + 4 segments in 300
/// 600 ms  4 × SYN        the other four
/// 1000 ms page complete
/// ```
#[test]
fn an_http_1_0_page_takes_its_index_and_then_two_rounds_of_four_connections() {
    let scenario = far_apart(&format!("[workloads.web.web]\nhttp = \"1.0\"\n{PROBE}"));
    let (outcome, rows) = run_with_transfers(&scenario);
    let (pages, objects) = (rows_of(&rows, "web"), rows_of(&rows, "web/objects"));

    let first: Vec<(u64, u64)> =
        objects[..9].iter().map(|row| (row.start / MS, row.completion / MS)).collect();
    let (index, embedded) = first.split_first().unwrap();
    assert_eq!(*index, (0, 200));
    assert_eq!(embedded[..4], [(200, 400); 4]);
    assert_eq!(embedded[4..], [(600, 400); 4]);
    assert!(about(pages[0].completion, 1000), "{:?}", pages[0]);
    assert_eq!((pages[0].request_bytes, pages[0].reply_bytes), (9 * 300, 81_000));
    assert!(about(pages[0].handshake, 100) && about(pages[0].request, 50), "{:?}", pages[0]);

    // A page every 3 s: 20 within the minute.
    assert_eq!((pages.len(), objects.len()), (20, 180));
    let web = workload(&outcome.replica, "web");
    let object = workload(&outcome.replica, "web/objects");
    assert_eq!((web.item, object.item), (Item::Page, Item::Object));
    let labels: Vec<_> = web.classes.iter().map(|c| (&*c.label, c.completion.n())).collect();
    assert_eq!(labels, [("1 KB", 0), ("10 KB", 0), ("81 KB", 20)]);
}

#[test]
fn the_next_page_is_asked_for_a_think_time_after_the_last_byte() {
    for http in ["1.0", "1.1"] {
        let scenario = far_apart(&format!("[workloads.web.web]\nhttp = \"{http}\"\n{PROBE}"));
        let (_, rows) = run_with_transfers(&scenario);
        let pages = rows_of(&rows, "web");
        for pair in pages.windows(2) {
            assert_eq!(pair[1].start, pair[0].start + pair[0].completion + 2_000 * MS);
        }
        assert!(pages.len() > 15);
    }
}

/// ```text
///   0 ms  SYN; the index is there at 200
/// 200 ms  eight requests at once; the server has 2 segments in flight at first: 2 4 8 16 32 18
/// 800 ms  page complete: six round trips for 80 segments
/// ```
#[test]
fn an_http_1_1_page_comes_over_one_connection_with_its_objects_in_order_and_no_gap() {
    let scenario = far_apart(&format!("[workloads.web.web]\nhttp = \"1.1\"\n{PROBE}"));
    let (_, rows) = run_with_transfers(&scenario);
    let (pages, objects) = (rows_of(&rows, "web"), rows_of(&rows, "web/objects"));

    assert!(about(pages[0].completion, 800), "{:?}", pages[0]);
    let embedded = &objects[1..9];
    assert!(embedded.iter().all(|row| about(row.start, 200) && row.handshake == 0));
    let ends: Vec<u64> = embedded.iter().map(|row| (row.start + row.completion) / MS).collect();
    // Segments 10, 20, … 80 of the stream come in flights that end with 2, 6, 14, 30, 62 and 80.
    assert_eq!(ends, [500, 600, 600, 700, 700, 700, 800, 800]);
    let ids: Vec<u64> = embedded.iter().map(|row| row.id).collect();
    assert_eq!(ids, (1..9).collect::<Vec<_>>());
}

/// ```text
///    0 ms  SYN; the first object is asked for at 100, and there at 200
///  700 ms  the second one is asked for, and there at 800
/// 1300 ms  the third, there at 1400: the page is complete
/// 3400 ms  after two seconds the next page, over a connection of its own
/// ```
#[test]
fn a_page_without_an_index_and_with_gaps_comes_object_by_object() {
    let text = r#"[workloads.web.web]
        client = "user"
        server = "server"
        http = "1.1"
        gap.constant = "500 ms"
        request.constant = "300 B"
        page.objects.constant = 3
        page.object.constant = "1 KB"
        think.constant = "2 s"
        [measure]
        accesses = true
    "#;
    let (outcome, rows) = run_with_transfers(&far_apart(text));
    let (pages, objects) = (rows_of(&rows, "web"), rows_of(&rows, "web/objects"));
    assert_eq!(starts(&objects[..4]), [0, 700, 1300, 3400]);
    assert_eq!(starts(&pages[..2]), [0, 3400]);
    // The rest is the reply, from its first packet at 150 to its last byte at 1400.
    let parts = [pages[0].handshake, pages[0].request, pages[0].completion].map(|part| part / MS);
    assert_eq!(parts, [100, 50, 1400]);
    assert_eq!((pages[0].request_bytes, pages[0].reply_bytes), (3 * 300, 3_000));
    let log = &outcome.replica.accesses["web"];
    assert_eq!(log[1].to_string(), "0.000000000,0,,,1000 1000 1000");
}

fn starts(rows: &[&Row]) -> Vec<u64> {
    rows.iter().map(|row| row.start / MS).collect()
}

#[test]
fn without_an_index_http_1_0_loads_objects_from_the_beginning_as_many_as_it_may() {
    let text = format!("[workloads.web.web]\nhttp = \"1.0\"\n{PROBE}")
        .replace("page.index.constant = \"1 KB\"", "");
    let (_, rows) = run_with_transfers(&far_apart(&text));
    let (pages, objects) = (rows_of(&rows, "web"), rows_of(&rows, "web/objects"));
    // Ten segments take 400 ms from the SYN.
    assert_eq!(starts(&objects[..9]), [0, 0, 0, 0, 400, 400, 400, 400, 2800]);
    assert!(about(pages[0].completion, 800) && about(pages[0].handshake, 100), "{:?}", pages[0]);
}

#[test]
fn a_connection_that_is_kept_spares_the_second_page_its_handshake() {
    let handshakes = |keep_alive: bool| {
        let text = format!(
            "[workloads.web.web]\nhttp = \"1.1\"\nkeep_alive = {keep_alive}\n{PROBE}\n\
             [measure]\nports = [\"user->server\"]"
        );
        let (_, rows) = run_with_transfers(&far_apart(&text));
        rows_of(&rows, "web").iter().take(3).map(|row| row.handshake / MS).collect::<Vec<_>>()
    };
    assert_eq!(handshakes(true), [100, 0, 0]);
    assert_eq!(handshakes(false), [100, 100, 100]);
}

/// What is open at a time at most.
fn max_at_once(rows: &[&Row]) -> usize {
    let open_at = |at| rows.iter().filter(|r| r.start <= at && at < r.start + r.completion).count();
    rows.iter().map(|row| open_at(row.start)).max().unwrap_or(0)
}

#[test]
fn a_session_has_no_more_than_its_connections_at_a_time() {
    for connections in [1, 2, 4, 20] {
        let text =
            format!("[workloads.web.web]\nhttp = \"1.0\"\nconnections = {connections}\n{PROBE}");
        let (_, rows) = run_with_transfers(&far_apart(&text));
        assert_eq!(
            max_at_once(&rows_of(&rows, "web/objects")),
            connections.min(8),
            "{connections}"
        );
    }
}

#[test]
fn what_a_page_has_cost_is_what_its_parts_have_cost() {
    let text = r#"
        duration = "200 s"
        drain = "60 s"
        hosts = { user = { count = 3 }, server = {} }
        routers = { r = {} }
        links.access = { between = ["user", "r"], rate = "10 Mbit/s", delay = "1 ms" }
        links.up = { between = ["r", "server"], rate = "2 Mbit/s", delay = "20 ms", loss = 0.03 }
        [workloads.web.web]
        client = "user"
        server = "server"
        http = "HTTP"
        request.constant = "300 B"
        page.index.exponential.mean = "4 KB"
        page.objects.uniform = { min = 0, max = 9 }
        page.object.exponential.mean = "8 KB"
        think.exponential.mean = "2 s"
    "#;
    for http in ["1.0", "1.1"] {
        let (outcome, rows) = run_with_transfers(&scenario(&text.replace("HTTP", http)));
        let sum = |name: &str| {
            let rows = rows_of(&rows, name);
            let of = |field: fn(&Row) -> u64| rows.iter().map(|row| field(row)).sum::<u64>();
            (
                of(|r| r.reply_bytes),
                of(|r| r.request_bytes),
                of(|r| r.timeouts),
                of(|r| r.retransmissions + r.syn_retransmissions),
            )
        };
        let (pages, objects) = (sum("web"), sum("web/objects"));
        assert_eq!(pages, objects);
        assert!(pages.3 > 20, "losses were repaired: {pages:?}");
        let web = workload(&outcome.replica, "web");
        assert_eq!((web.open, web.failed), (0, 0));
    }
}

#[test]
fn pages_that_are_not_complete_at_the_end_are_counted_open() {
    // A page of 81 KB takes 13.5 s of 50 kbit/s, with timers that never mistake a queue for a loss:
    // the second begins after 15.5 s, and is under way at 20 s.
    let replica = run(&scenario(&format!(
        r#"
        duration = "20 s"
        tcp = {{ rto_min = "60 s", rto_initial = "60 s" }}
        hosts = {{ user = {{}}, server = {{}} }}
        links.line = {{ between = ["user", "server"], rate = "50 kbit/s", delay = "5 ms" }}
        measure.limits = ["4 s", "10 s"]
        [workloads.web.web]
        http = "1.0"
        {PROBE}
        "#
    )))
    .replica;
    let web = workload(&replica, "web");
    assert_eq!((web.all.completion.n(), web.all.open, web.open), (1, 1, 1));
    assert_eq!(web.class("81 KB").unwrap().open, 1);
    assert!((4.0..5.0).contains(&web.oldest_open), "{}", web.oldest_open);
    // The one complete took longer than both limits; the open one has passed the first only.
    let over: Vec<_> = web.all.over.iter().map(|o| (o.completed, o.open)).collect();
    assert_eq!(over, [(1, 1), (1, 0)]);
    assert!(workload(&replica, "web/objects").open > 0);
}

#[test]
fn a_page_that_is_given_up_is_counted_failed_and_the_session_goes_on() {
    for http in ["1.0", "1.1"] {
        let replica = run(&scenario(&format!(
            r#"
            duration = "60 s"
            drain = "30 s"
            tcp = {{ syn_retries = 1, rto_initial = "1 s" }}
            hosts = {{ user = {{}}, server = {{}} }}
            links.line = {{ between = ["user", "server"], rate = "1 Mbit/s", delay = "5 ms", loss = 1 }}
            [workloads.web.web]
            http = "{http}"
            {PROBE}
            "#
        )))
        .replica;
        // A SYN at 0 and 1 s, given up at 3 s; 2 s to think: a page every 5 s.
        let web = workload(&replica, "web");
        assert_eq!((web.failed, web.all.completion.n(), web.open), (12, 0, 0), "HTTP/{http}");
        assert_eq!(workload(&replica, "web/objects").failed, 12);
    }
}

#[test]
fn sessions_under_heavy_loss_lose_nothing_in_silence() {
    // Few retries, so that connections break at all stages; every page is complete, failed or open.
    for http in ["1.0", "1.1"] {
        let scenario = scenario(&format!(
            r#"
            duration = "600 s"
            tcp = {{ syn_retries = 2, data_retries = 2, rto_initial = "1 s" }}
            hosts = {{ user = {{ count = 4 }}, server = {{}} }}
            routers = {{ r = {{}} }}
            links.access = {{ between = ["user", "r"], rate = "10 Mbit/s", delay = "1 ms" }}
            links.up = {{ between = ["r", "server"], rate = "2 Mbit/s", delay = "20 ms", loss = 0.3 }}
            measure.accesses = true
            [workloads.web.web]
            http = "{http}"
            keep_alive = true
            {PROBE}
            [workloads.type.telnet]
            client = "user"
            server = "server"
            packet = "100 B"
            pause.exponential.mean = "200 ms"
            [workloads.files.ftp]
            from = "server"
            to = "user"
            size.exponential.mean = "20 KB"
            pause.exponential.mean = "1 s"
            "#
        ));
        let replica = run(&scenario).replica;
        let web = workload(&replica, "web");
        let asked = replica.accesses["web"].len() as u64 - 1;
        assert_eq!(web.all.completion.n() + web.failed + web.open, asked);
        for name in ["web", "type", "files"] {
            let found = workload(&replica, name);
            assert!(found.failed > 10, "{name}: {} failed", found.failed);
            let min = if name == "type" { 100 } else { 10 };
            assert!(found.all.completion.n() + found.failed > min, "{name} goes on");
        }
        assert_eq!(replica, run(&scenario).replica, "and again the same");
    }
}

/// ```text
///    0 ms  SYN; connected at 100
///  300 ms  a character; its echo at 400
///  600 ms  the next
/// ```
#[test]
fn an_echo_takes_a_round_trip_and_the_next_character_comes_a_pause_later() {
    let (outcome, rows) = run_with_transfers(&far_apart(
        r#"
        [workloads.type.telnet]
        client = "user"
        server = "server"
        packet = "100 B"
        pause.constant = "200 ms"
        [measure]
        ports = ["user->server", "server->user"]
        "#,
    ));
    let echoes = rows_of(&rows, "type");
    let first: Vec<_> =
        echoes[..3].iter().map(|row| (row.start / MS, row.completion / MS)).collect();
    assert_eq!(first, [(300, 100), (600, 100), (900, 100)]);
    assert_eq!((echoes[0].request_bytes, echoes[0].reply_bytes, echoes[0].handshake), (60, 60, 0));
    // One connection for all of it: a SYN, and for each character the character and, as nothing
    // follows for a while, an acknowledgement of its echo; the echo carries its own.
    let packets = |port: &str| counts(&outcome.replica, port, "BE").forwarded.packets;
    let n = echoes.len() as u64;
    assert_eq!(n, 199);
    assert!((2 * n + 1..=2 * n + 3).contains(&packets("user->server")));
    assert!((n + 1..=n + 2).contains(&packets("server->user")));
}

#[test]
fn telnet_has_nagle_unless_it_is_switched_off() {
    let nagle = |tcp: &str| {
        let text = format!(
            "[workloads.type.telnet]\nclient = \"user\"\nserver = \"server\"\npacket = \"100 B\"\n\
             pause.constant = \"200 ms\"\n{tcp}"
        );
        far_apart(&text).workloads[0].tcp.nagle
    };
    assert!(nagle(""));
    assert!(nagle("tcp.era = \"linux-today\"\ntcp.header = \"40 B\""));
    assert!(!nagle("tcp.nagle = false"));
}

/// ```text
///    0 ms  SYN; 20 segments at 100, 200, 300, 400 ms: 2 4 8 6; the last is there at 450
///  950 ms  SYN of the next
/// ```
#[test]
fn a_file_is_sent_over_its_own_connection_and_the_next_after_a_pause() {
    let (_, rows) = run_with_transfers(&far_apart(
        r#"
        [workloads.files.ftp]
        from = "server"
        to = "user"
        size.constant = "20 KB"
        pause.constant = "500 ms"
        stop = "10 s"
        "#,
    ));
    let files = rows_of(&rows, "files");
    let first: Vec<_> =
        files[..3].iter().map(|row| (row.start / MS, row.completion / MS)).collect();
    assert_eq!(first, [(0, 450), (950, 450), (1900, 450)]);
    assert!(about(files[0].handshake, 100), "{:?}", files[0]);
    assert_eq!((files[0].request_bytes, files[0].reply_bytes, files[0].request), (0, 20_000, 0));
    assert_eq!(files.len(), 11, "none begins from the stop on");
}

const LINE_OF_4: &str = r#"
    duration = "120 s"
    drain = "60 s"
    hosts = { user = { count = 4 }, server = {} }
    routers = { r = {} }
    links.access = { between = ["user", "r"], rate = "10 Mbit/s", delay = "1 ms" }
    links.up = { between = ["r", "server"], rate = "RATE", delay = "20 ms", queue = "20 pkt" }
"#;

const BROWSING: &str = r#"
    client = "user"
    server = "server"
    http = "1.0"
    request.constant = "300 B"
    page.index.pareto = { min = "3 KB", shape = 1.2 }
    page.objects.pareto = { min = 2, shape = 1.5 }
    page.object.pareto = { min = "3 KB", shape = 1.2, max = "300 KB" }
    page.pool = 100
    think.pareto = { min = "2 s", shape = 1.5 }
    start_window = "2 s"
"#;

fn logged(rate: &str) -> (Replica, Vec<Row>) {
    let text = format!(
        "{}\nmeasure.accesses = true\n[workloads.web.web]\n{BROWSING}",
        LINE_OF_4.replace("RATE", rate)
    );
    let (outcome, rows) = run_with_transfers(&scenario(&text));
    (outcome.replica, rows)
}

fn replayed(rate: &str, http: &str, busy: &str, log: &str) -> (Replica, Vec<Row>) {
    let text = format!(
        r#"
        {}
        [workloads.web.web]
        client = "user"
        server = "server"
        http = "{http}"
        request.constant = "300 B"
        replay = {{ file = "logs/a.csv", busy = "{busy}" }}
        "#,
        LINE_OF_4.replace("RATE", rate)
    );
    let (outcome, rows) = run_with_transfers(&scenario_beside("logs/a.csv", log, &text));
    (outcome.replica, rows)
}

fn by_id(rows: &[Row]) -> BTreeMap<u64, &Row> {
    rows_of(rows, "web").into_iter().map(|row| (row.id, row)).collect()
}

#[test]
fn a_log_replayed_in_the_network_it_came_from_gives_the_same_pages_at_the_same_times() {
    let (replica, rows) = logged("2 Mbit/s");
    let log = replica.accesses["web"].join("\n");
    assert!(rows.len() > 200);
    for busy in ["overlap", "wait"] {
        let (_, again) = replayed("2 Mbit/s", "1.0", busy, &log);
        assert_eq!(again, rows, "{busy}");
    }
}

#[test]
fn a_replay_that_overlaps_asks_at_the_logged_times_however_slow_the_network() {
    let (replica, _) = logged("2 Mbit/s");
    let log = replica.accesses["web"].join("\n");
    let times: Vec<u64> = log
        .lines()
        .skip(1)
        .map(|line| (line.split(',').next().unwrap().parse::<f64>().unwrap() * 1e9).round() as u64)
        .collect();
    for http in ["1.0", "1.1"] {
        let (slow, rows) = replayed("300 kbit/s", http, "overlap", &log);
        let pages = by_id(&rows);
        assert!(pages.values().all(|page| page.start == times[page.id as usize]), "HTTP/{http}");
        let web = workload(&slow, "web");
        assert_eq!(web.all.completion.n() + web.open, times.len() as u64);
        // Four clients, at most four connections each, whatever number of pages they load.
        let max = max_at_once(&rows_of(&rows, "web/objects"));
        assert!(http == "1.1" || max <= 16, "{max}");
        assert!(max_at_once(&rows_of(&rows, "web")) > 4, "pages overlap");
    }
}

#[test]
fn a_replay_that_waits_begins_a_page_when_the_one_before_is_complete() {
    let (replica, _) = logged("2 Mbit/s");
    let log = replica.accesses["web"].join("\n");
    let (slow, rows) = replayed("300 kbit/s", "1.0", "wait", &log);
    assert!(max_at_once(&rows_of(&rows, "web")) <= 4, "a page for each client");
    let web = workload(&slow, "web");
    let never = slow.counters["web/pages never begun"] as u64;
    assert!(never > 0);
    let asked = log.lines().count() as u64 - 1;
    assert_eq!(web.all.completion.n() + web.open + never, asked, "each is accounted for");
}

#[test]
fn what_started_before_the_warm_up_ended_counts_neither_as_page_nor_as_object() {
    let text =
        format!("warm_up = \"30 s\"\n{FAR_APART}\n[workloads.web.web]\nhttp = \"1.0\"\n{PROBE}");
    let replica = run(&scenario(&text)).replica;
    // Pages begin at 0, 3, 6, … 57 s, within transmissions: half of them from 30 s on.
    assert_eq!(workload(&replica, "web").all.completion.n(), 10);
    assert_eq!(workload(&replica, "web/objects").all.completion.n(), 90);
}

#[test]
fn sessions_stand_still_at_their_stop_and_start_within_their_window() {
    let text = format!(
        "{FAR_APART}\n[workloads.web.web]\nhttp = \"1.1\"\nsessions = 50\nstart = \"5 s\"\n\
         start_window = \"10 s\"\nstop = \"30 s\"\n{PROBE}"
    );
    let (_, rows) = run_with_transfers(&scenario(&text));
    let starts: Vec<u64> = rows_of(&rows, "web").iter().map(|row| row.start).collect();
    let first = *starts.iter().min().unwrap();
    assert!((5_000 * MS..6_000 * MS).contains(&first), "{first}");
    assert!(starts.iter().all(|at| *at < 30_000 * MS));
    let window = starts.iter().filter(|at| **at < 7_000 * MS).count();
    assert!((3..=25).contains(&window), "{window} of 50 sessions in a fifth of their window");
}

#[test]
fn a_set_of_rates_has_the_delay_and_the_loss_of_each_stream() {
    let scenario = scenario(
        r#"
        duration = "100 s"
        drain = "1 s"
        hosts = { a = {}, b = {} }
        links.line = { between = ["a", "b"], rate = "1 Mbit/s", delay = "10 ms" }
        [workloads.set.cbr]
        from = "a"
        to = "b"
        rate = ["10 kbit/s", "20 kbit/s", "40 kbit/s"]
        packet = "250 B"
        [workloads.lone.cbr]
        from = "b"
        to = "a"
        rate = "40 kbit/s"
        packet = "250 B"
        "#,
    );
    let replica = run_replica(&scenario, 0, None, |_| true).unwrap().replica;
    let set = workload(&replica, "set");
    let found: Vec<_> = set.streams.iter().map(|s| (&*s.name, s.rate, s.sent)).collect();
    assert_eq!(
        found,
        [("a->b #1", 10_000, 500), ("a->b #2", 20_000, 1000), ("a->b #3", 40_000, 2000)]
    );
    assert_eq!(set.datagrams.unwrap().sent, 3500);
    for stream in &set.streams {
        // 2 ms for 2000 bits, 10 ms on the way; at most two others are before it.
        assert!((0.012 - 1e-9..0.016).contains(&stream.delay.unwrap()), "{stream:?}");
        assert!(stream.delay_max.unwrap() <= 0.016 + 1e-9);
        assert_eq!(stream.loss(), Some(0.0));
    }
    assert!(workload(&replica, "lone").streams.is_empty());
}

/// By its label a host's policy knows a session's packets, whatever its connections' ports; the
/// acknowledgements of the client come from another host, where nobody marks.
#[test]
fn the_packets_of_a_session_carry_the_label_of_its_workload() {
    let policy = r#"
        [[roles.sender.classes]]
        name = "typing"
        match.label = "keys"
        marker.fixed = { dscp = "CS5" }
        [[roles.sender.classes]]
        name = "pages"
        match.label = "web"
        marker.fixed = { dscp = "CS3" }
    "#;
    let text = format!(
        r#"
        {FAR_APART}
        policy = "policy.toml"
        bind = [{{ role = "sender", at = "server", to = "user" }}]
        measure.ports = ["server->user"]
        [workloads.web.web]
        http = "1.1"
        {PROBE}
        [workloads.type.telnet]
        client = "user"
        server = "server"
        label = "keys"
        packet = "100 B"
        pause.constant = "200 ms"
        [workloads.fetch.ftp]
        from = "server"
        to = "user"
        size.constant = "5 KB"
        pause.constant = "2 s"
        "#
    );
    let outcome = run(&scenario_under(policy, &text));
    let sent = |code_point| counts(&outcome.replica, "server->user", code_point).arrived.packets;
    let completed = |name: &str| workload(&outcome.replica, name).all.completion.n();
    // The SYN-ACK, and an echo for each character.
    assert!((completed("type") + 1..=completed("type") + 2).contains(&sent("CS5")));
    // 81 segments a page, with a SYN-ACK, and acknowledgements where nothing carries them.
    assert!((82 * completed("web")..=95 * completed("web")).contains(&sent("CS3")));
    // SYN, five segments and FIN, and acknowledgements: nobody's label.
    assert!((7 * completed("fetch")..=10 * completed("fetch")).contains(&sent("BE")));
}
