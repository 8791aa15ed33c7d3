//! A server whose connections keep to one profile together (Mehra, Tewari & Kandlur 1999): three clients at
//! different distances.

use std::collections::BTreeMap;

use shortflow_measure::Replica;

use crate::bench::{run, scenario_under, workload};

/// Seconds in which counts are taken.
const MEASURED: f64 = 100.0;

/// A bulk transfer to each of three clients, 50, 300 and 600 ms away over links of these rates in kbit/s,
/// from a server under this role.
pub(crate) fn server(policy: &str, rates: [u32; 3]) -> Replica {
    let clients = ["near", "middle", "far"];
    let links = clients.iter().zip(rates).zip([25, 150, 300]).map(|((client, rate), delay)| {
        format!(
            "{client} = {{ between = [\"router\", \"{client}\"], rate = \"{rate} kbit/s\", delay = \"{delay} ms\" }}\n"
        )
    });
    let workloads = clients.map(|client| {
        format!("[workloads.{client}.bulk]\nfrom = \"server\"\nto = \"{client}\"\nflows = 1\n")
    });
    let scenario = format!(
        r#"
        duration = "120 s"
        warm_up = "20 s"
        policy = "policy.toml"
        hosts = {{ server = {{}}, near = {{}}, middle = {{}}, far = {{}} }}
        routers = {{ router = {{}} }}
        bind = [{{ role = "server", at = "server", to = "router" }}]
        measure.ports = ["server->router"]
        [tcp]
        era = "ns2-2002"
        receive_window = "40 KB"
        [links]
        access = {{ between = ["server", "router"], rate = "10 Mbit/s", delay = "10 us" }}
        {}
        {}
        "#,
        links.collect::<String>(),
        workloads.concat(),
    );
    run(&scenario_under(&format!("[roles.server]\n{policy}\n"), &scenario)).replica
}

/// What each client got, in kbit/s.
pub(crate) fn goodputs(replica: &Replica) -> [f64; 3] {
    ["near", "middle", "far"].map(|name| {
        let bytes = workload(replica, name).delivered_bytes;
        bytes as f64 * 8.0 / MEASURED / 1e3
    })
}

/// What the server's queue has counted.
pub(crate) fn counters_of(replica: Replica) -> BTreeMap<String, f64> {
    let of_queue =
        |(name, value): (String, f64)| Some((name.split_once("/queue/")?.1.to_owned(), value));
    replica.counters.into_iter().filter_map(of_queue).collect()
}

pub(crate) fn shaper(sharing: &str, more: &str) -> String {
    format!(
        "queue.aggregate-shaper = {{ rate = \"480 kbit/s\", depth = \"30 KB\", sharing = \"{sharing}\", \
         limit = \"1000 pkt\"{more} }}"
    )
}

/// What each of three may have of 480 kbit/s, with 40 bytes of headers in 1040.
pub(crate) const FAIR: f64 = 160.0 * 1000.0 / 1040.0;

#[test]
fn a_shaper_keeps_an_aggregate_to_its_profile_and_shares_it_equally() {
    for (sharing, more) in [
        ("partitioned", ""),
        ("partitioned-by-rtt", ""),
        ("logical", ""),
        ("common", ""),
        ("common", ", order = \"lru\""),
    ] {
        let got = goodputs(&server(&shaper(sharing, more), [500; 3]));
        // A packet more or less at the ends of the measurement.
        assert!(got.iter().all(|got| (got - FAIR).abs() < 0.2), "{sharing}{more}: {got:?}");
    }
}

/// §4.2.1: what the connection behind 100 kbit/s cannot use is lost in a partitioned bucket; §4.2.3: with
/// logical partitions it is the others'.
#[test]
fn what_a_slow_link_leaves_is_used_but_where_buckets_are_partitioned() {
    let slow = 100.0 * 1000.0 / 1040.0;
    for (sharing, others) in [("partitioned", FAIR), ("logical", 1.5 * FAIR - slow / 2.0)] {
        let [near, middle, far] = goodputs(&server(&shaper(sharing, ""), [1000, 500, 100]));
        for (got, expected) in [(near, others), (middle, others), (far, slow)] {
            assert!((got / expected - 1.0).abs() < 0.01, "{sharing}: {got} of {expected}");
        }
    }
}

/// A sequential scan starves whoever comes after a connection that always has data (§4.2.2); where an
/// acknowledgement lets its own connection go (§4.1), the nearest has most of them.
#[test]
fn a_common_bucket_is_as_fair_as_its_order() {
    let [near, middle, far] =
        goodputs(&server(&shaper("common", ", order = \"sequential\""), [500; 3]));
    assert!((near / (3.0 * FAIR) - 1.0).abs() < 0.01 && middle + far == 0.0);
    let [near, middle, far] =
        goodputs(&server(&shaper("common", ", fresh = \"overtake\""), [500; 3]));
    assert!(near > 1.1 * middle && far > 0.5 * FAIR, "{near} {middle} {far}");
}

#[test]
fn the_host_tells_its_queue_of_every_event_and_triggers_shape_more_accurately() {
    let shape = |more: &str| counters_of(server(&shaper("common", more), [500; 3]));
    let (with, without) = (shape(""), shape(", triggers = []"));
    let error = |counted: &BTreeMap<String, f64>| {
        counted["shaping error, sum (us)"] / counted["packets shaped"]
    };
    assert!(error(&with) < 0.8 * error(&without), "{} {}", error(&with), error(&without));
    // Twice the period of the timer at most, and on average about half of it.
    assert!((5_000.0..10_000.0).contains(&error(&without)), "{}", error(&without));
    // Each packet was acknowledged; nothing else happens to bulk transfers without loss.
    assert!((with["triggers: acknowledgement"] / with["packets shaped"] - 1.0).abs() < 0.01);
    assert_eq!(with["triggers: duplicate acknowledgement"], 0.0);
    assert_eq!(without["triggers: acknowledgement"], 0.0);
    // It expires each 15 ms, as something waits all the time.
    assert!((with["timers expired"] - MEASURED / 0.015).abs() < 5.0);
}

/// Pages over persistent connections on a lossy link: replies that end, losses, replies asked for while the
/// one before still fills the window, new connections.
#[test]
fn pages_on_a_lossy_link_are_triggers_of_every_kind() {
    let policy = format!("[roles.server]\n{}\n", shaper("logical", ""));
    let scenario = r#"
        duration = "200 s"
        policy = "policy.toml"
        hosts = { server = {}, client = {} }
        bind = [{ role = "server", at = "server", to = "client" }]
        [tcp]
        era = "ns2-2002"
        receive_window = "8 KB"
        [links.line]
        between = ["server", "client"]
        rate = "10 Mbit/s"
        delay = "50 ms"
        loss = 0.01
        [workloads.pages.web]
        client = "client"
        server = "server"
        sessions = 3
        http = "1.1"
        request.constant = "400 B"
        page.index.constant = "3 KB"
        page.objects.constant = 6
        page.object.constant = "12 KB"
        think.constant = "1 s"
    "#;
    let counted = counters_of(run(&scenario_under(&policy, scenario)).replica);
    let triggers: Vec<_> =
        counted.iter().filter(|(name, _)| name.starts_with("triggers")).collect();
    assert_eq!(triggers.len(), 5);
    assert!(triggers.iter().all(|(_, count)| **count > 0.0), "{triggers:?}");
}

/// What bulk transfers to three clients at 50, 300 and 600 ms get under this TCP, in kbit/s, where each packet
/// is lost with the same small probability and nothing else is scarce.
fn under_random_loss(congestion: &str) -> [f64; 3] {
    let scenario = format!(
        r#"
        duration = "1100 s"
        warm_up = "100 s"
        hosts = {{ server = {{}}, near = {{}}, middle = {{}}, far = {{}} }}
        [tcp]
        era = "ns2-2002"
        receive_window = "2 MB"
        byte_counting = true
        {congestion}
        [links]
        near = {{ between = ["server", "near"], rate = "100 Mbit/s", delay = "25 ms", loss.forward = 0.0003 }}
        middle = {{ between = ["server", "middle"], rate = "100 Mbit/s", delay = "150 ms", loss.forward = 0.0003 }}
        far = {{ between = ["server", "far"], rate = "100 Mbit/s", delay = "300 ms", loss.forward = 0.0003 }}
        [workloads]
        near.bulk = {{ from = "server", to = "near", flows = 4 }}
        middle.bulk = {{ from = "server", to = "middle", flows = 4 }}
        far.bulk = {{ from = "server", to = "far", flows = 4 }}
        "#
    );
    let replica = run(&crate::bench::scenario(&scenario)).replica;
    ["near", "middle", "far"].map(|name| workload(&replica, name).delivered_bytes as f64 / 125e3)
}

/// A rate of √(2g/p)/rtt segments: Reno's, with g = 1, falls with the round-trip time; with g = rtt²/rtt_av²
/// it is the same for all, that of Reno at the mean round-trip time (Mehra, Tewari & Kandlur 1999, §5).
#[test]
fn aggregate_fair_growth_gives_all_the_rate_that_reno_has_at_the_mean_round_trip_time() {
    let [near, middle, far] = under_random_loss(r#"congestion = "reno""#);
    assert!((4.5..7.5).contains(&(near / middle)) && (1.6..2.4).contains(&(middle / far)));
    let at_the_mean = middle * 300.0 / (950.0 / 3.0);
    let fair = under_random_loss(r#"congestion = "aggregate-fair""#);
    for got in fair {
        assert!((0.75..1.25).contains(&(got / at_the_mean)), "{fair:?} of {at_the_mean}");
    }
    // Constant-Rate is the same where a is 1/rtt_av².
    let constant =
        under_random_loss("congestion = \"constant-rate\"\nreference_rtt = \"316.67 ms\"");
    for (got, fair) in constant.into_iter().zip(fair) {
        assert!((0.85..1.15).contains(&(got / fair)), "{constant:?} {fair:?}");
    }
}

/// √K times as much for those that are far (Henderson et al. 1998), and as Reno for the others.
#[test]
fn increase_by_k_helps_the_far_ones_alone() {
    let [near, middle, far] = under_random_loss(r#"congestion = "reno""#);
    let by_k = "congestion = \"increase-by-k\"\nincrease = 4\nreference_rtt = \"400 ms\"";
    let [near_by_k, middle_by_k, far_by_k] = under_random_loss(by_k);
    assert!((0.85..1.15).contains(&(near_by_k / near)), "{near_by_k} {near}");
    assert!((0.85..1.15).contains(&(middle_by_k / middle)), "{middle_by_k} {middle}");
    assert!((1.7..2.3).contains(&(far_by_k / far)), "{far_by_k} {far}");
}

/// §3.3: the rate window bounds the mean rate at any distance.
#[test]
fn a_rate_window_holds_each_connection_to_its_rate_however_far_it_is() {
    let got = under_random_loss("congestion = \"reno\"\nwindow_rate = \"200 kbit/s\"");
    // Four connections, whose windows are whole segments: at 50 ms 1250 bytes are one of 1000.
    assert!((0.6..=1.0).contains(&(got[0] / 800.0)), "{got:?}");
    assert!((0.85..=1.0).contains(&(got[1] / 800.0)) && (0.85..=1.0).contains(&(got[2] / 800.0)));
}

/// 480 kbit/s behind links of 1000, 500 and 100 kbit/s are 190, 190 and 100 (§2: max–min fair).
#[test]
fn what_is_fair_behind_unequal_links_is_max_min_fair() {
    let policy = format!("[roles.server]\n{}\n", shaper("logical", ""));
    let scenario = r#"
        duration = "120 s"
        warm_up = "20 s"
        policy = "policy.toml"
        hosts = { server = {}, near = {}, middle = {}, far = {} }
        routers = { router = {} }
        bind = [{ role = "server", at = "server", to = "router" }]
        [tcp]
        era = "ns2-2002"
        receive_window = "40 KB"
        [links]
        access = { between = ["server", "router"], rate = "10 Mbit/s", delay = "10 us" }
        near = { between = ["router", "near"], rate = "1 Mbit/s", delay = "25 ms" }
        middle = { between = ["router", "middle"], rate = "500 kbit/s", delay = "150 ms" }
        far = { between = ["router", "far"], rate = "100 kbit/s", delay = "300 ms" }
        [workloads.site.bulk]
        from = "server"
        to = ["near", "middle", "far"]
        flows = 3
    "#;
    let replica = run(&scenario_under(&policy, scenario)).replica;
    let long = workload(&replica, "site").long_flows.clone().unwrap();
    assert_eq!(long.shares, [190_000.0, 190_000.0, 100_000.0]);
    // (190 + 190 + 100)²/3(190² + 190² + 100²)
    assert!((long.fairness().unwrap() - 0.934).abs() < 0.01, "{:?}", long.rates);
    assert!(long.max_min_fairness().unwrap() > 0.999, "{:?}", long.rates);
}
