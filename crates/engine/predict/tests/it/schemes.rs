//! Schemes that reduce to what has a closed form, with values computed by hand and beside simulations; and where they do not.

use shortflow_measure::Summary;
use shortflow_predict::Prediction;
use shortflow_run::{Task, run_tasks};
use shortflow_scenario::{Overrides, Scenario, from_texts};

use crate::against_simulations::{holds, predicted, simulated};

/// A line of 1 Mbit/s and 5 ms from `r` to `a`, behind `r` the hosts `b` and `c` over links that take no time.
fn scenario(policy: &str, workloads: &str) -> Scenario {
    at("1 Mbit/s", policy, workloads)
}

/// The same at another rate.
fn at(rate: &str, policy: &str, workloads: &str) -> Scenario {
    let role = |name: &str, places: &str| match policy.contains(&format!("roles.{name}")) {
        true => format!("[[bind]]\nrole = \"{name}\"\n{places}\n"),
        false => String::new(),
    };
    let bindings = role("core", "at = \"r\"\nto = \"a\"")
        + &role("edge", "at = \"r\"\nfrom = [\"b\", \"c\"]")
        + &role("source", "at = [\"b\", \"c\"]\nto = \"r\"");
    let text = format!(
        r#"
        policy = "p.toml"
        duration = "420 s"
        warm_up = "20 s"
        drain = "20 s"
        measure.size_classes = ["2 KB", "20 KB", "200 KB"]
        {bindings}
        [hosts]
        a = {{}}
        b = {{}}
        c = {{}}
        [routers]
        r = {{}}
        [links]
        line = {{ between = ["r", "a"], rate = "{rate}", delay = "5 ms" }}
        b = {{ between = ["b", "r"], rate = "100 Gbit/s", delay = "0 ms" }}
        c = {{ between = ["c", "r"], rate = "100 Gbit/s", delay = "0 ms" }}
        {workloads}
        "#
    );
    let loaded = from_texts(&[("line.toml", &text), ("p.toml", policy)], &Overrides::default());
    loaded.unwrap_or_else(|reported| panic!("{reported}")).into_points().swap_remove(0).scenario
}

/// Packets of 1000 B, 8 ms on the line, so many a second.
fn stream(name: &str, from: &str, port: u16, per_second: u32) -> String {
    format!(
        "[workloads.{name}.poisson]\nfrom = \"{from}\"\nto = \"a\"\nrate = \"{per_second} /s\"\nport = {port}\n\
         size.constant = \"1000 B\"\n"
    )
}

fn transfers(load: &str) -> String {
    format!(
        "[workloads.web.transfers]\nclient = \"a\"\nserver = \"b\"\nload = \"{load}\"\nport = 80\n\
         request.constant = \"400 B\"\n\
         reply.choice = {{ sizes = [\"2 KB\", \"20 KB\", \"200 KB\"], weights = [6, 3, 1] }}\n"
    )
}

const BULK: &str = "[workloads.long.bulk]\nfrom = \"b\"\nto = \"a\"\nflows = 2\n";

/// Why nothing at all is predicted.
fn refused(scenario: &Scenario) -> String {
    Prediction.answers(scenario).unwrap_err().to_string()
}

/// The mean delay of a stream, without the 8 ms on the line and 5 ms on the way.
fn wait(summary: &Summary, name: &str) -> f64 {
    summary.workload(name).unwrap().datagrams.as_ref().unwrap().delay.unwrap().mean - 0.013
}

/// Holds the predicted mean wait of a stream against one in milliseconds.
fn waits(summary: &Summary, name: &str, milliseconds: f64) {
    let found = 1e3 * wait(summary, name);
    assert!((found - milliseconds).abs() < 1e-3, "{name}: {found} ms");
}

/// A class of one stream that a marker marks, before three bands.
fn marked(marker: &str) -> String {
    let band = |dscp: &str| {
        format!(
            "[[roles.core.queue.strict-priority.bands]]\nmatch = {{ dscp = [{dscp}] }}\nqueue.fifo.limit = \"10000 pkt\"\n"
        )
    };
    format!(
        "[[roles.edge.classes]]\nname = \"one\"\nmatch = {{ dst_port = 7 }}\n{marker}\n{}{}\
         [[roles.core.queue.strict-priority.bands]]\nqueue.fifo.limit = \"10000 pkt\"\n",
        band("\"AF11\", \"CS2\""),
        band("\"AF12\", \"CS1\"")
    )
}

/// 400 kbit/s of which 100 kbit/s are forgotten: a quarter counts. Loads: 0.1 before 0.3 and 0.2. The residual service of all,
/// 75/s · (8 ms)²/2 = 2.4 ms, makes 2.4/0.9 ms before and 2.4/(0.9 · 0.4) ms behind (Cobham).
#[test]
fn a_stream_faster_than_what_is_forgotten_has_the_part_that_counts_before_the_last_band() {
    let policy = marked(
        "marker.dstf = { thresholds = [\"10 KB\"], code_points = [\"CS1\", \"BE\"], decay = \"100 kbit/s\" }",
    );
    let both = stream("one", "b", 7, 50) + &stream("other", "c", 8, 25);
    let scenario = scenario(&policy, &both);
    let model = predicted(&scenario);
    waits(&model, "one", 0.25 * 2.4 / 0.9 + 0.75 * 2.4 / 0.36);
    waits(&model, "other", 2.4 / 0.36);
    let simulation = simulated(&scenario, 4);
    // What counts comes after gaps, so that the bands' packets are no Poisson processes.
    for name in ["one", "other"] {
        holds(name, wait(&model, name), wait(&simulation, name), 0.1);
    }
}

#[test]
fn a_stream_that_is_hardly_faster_than_what_is_forgotten_has_no_closed_form() {
    let policy = marked(
        "marker.dstf = { thresholds = [\"10 KB\"], code_points = [\"CS1\", \"BE\"], decay = \"100 kbit/s\" }",
    );
    let reported = refused(&scenario(&policy, &stream("one", "b", 7, 13)));
    assert!(reported.contains("a stream close to the rate that the marker forgets"), "{reported}");
}

/// 400 kbit/s: a quarter is green, a quarter yellow, half red. Loads 0.1, 0.1, and 0.2 with the other stream's 0.2.
#[test]
fn meters_of_three_colors_split_a_stream_by_their_rates() {
    let both = stream("one", "b", 7, 50) + &stream("other", "c", 8, 25);
    for marker in [
        "marker.trtcm = { cir = \"100 kbit/s\", cbs = \"5 KB\", pir = \"200 kbit/s\", pbs = \"5 KB\" }",
        "marker.two-buckets.green = { rate = \"100 kbit/s\", depth = \"5 KB\" }\n\
         marker.two-buckets.yellow = { rate = \"100 kbit/s\", depth = \"5 KB\" }",
        "marker.tsw3cm = { cir = \"100 kbit/s\", pir = \"200 kbit/s\" }",
    ] {
        let scenario = scenario(&marked(marker), &both);
        let model = predicted(&scenario);
        let waited = 0.25 * 2.4 / 0.9 + 0.25 * 2.4 / (0.9 * 0.8) + 0.5 * 2.4 / (0.8 * 0.4);
        waits(&model, "one", waited);
        waits(&model, "other", 2.4 / (0.8 * 0.4));
        let simulation = simulated(&scenario, 4);
        for name in ["one", "other"] {
            holds(&format!("{marker}, {name}"), wait(&model, name), wait(&simulation, name), 0.15);
        }
    }
}

/// A quarter is in profile; what is beyond has the second band, yellow or red, or the last.
#[test]
fn the_profile_of_an_aggregate_and_one_of_a_single_rate_split_a_stream_in_two() {
    let both = stream("one", "b", 7, 50) + &stream("other", "c", 8, 25);
    let aggregate = marked(
        "marker.aggregate = { rate = \"100 kbit/s\", depth = \"20 KB\", sharing = \"common\" }",
    );
    let model = predicted(&scenario(&aggregate, &both));
    waits(&model, "one", 0.25 * 2.4 / 0.9 + 0.75 * 2.4 / (0.9 * 0.6));
    waits(&model, "other", 2.4 / (0.6 * 0.4));
    let single = marked("marker.srtcm = { cir = \"100 kbit/s\", cbs = \"5 KB\", ebs = \"5 KB\" }");
    let model = predicted(&scenario(&single, &both));
    waits(&model, "one", 0.25 * 2.4 / 0.9 + 0.75 * 2.4 / (0.9 * 0.4));
    waits(&model, "other", 2.4 / (0.9 * 0.4));
}

#[test]
fn meters_that_see_colors_or_users_or_a_peak_rate_have_no_closed_form() {
    for (marker, why) in [
        (
            "marker.trtcm = { cir = \"100 kbit/s\", cbs = \"5 KB\", pir = \"200 kbit/s\", pbs = \"5 KB\", color_aware = true }",
            "a colour-aware meter",
        ),
        (
            "marker.srtcm = { cir = \"100 kbit/s\", cbs = \"5 KB\", ebs = \"5 KB\", per = \"flow\" }",
            "a bucket for each user",
        ),
        (
            "marker.aggregate = { rate = \"100 kbit/s\", depth = \"20 KB\", sharing = \"common\", peak = \"1 Mbit/s\" }",
            "an aggregate with a peak rate",
        ),
    ] {
        let reported = refused(&scenario(&marked(marker), &stream("one", "b", 7, 50)));
        assert!(reported.contains(why), "{reported}");
    }
}

/// The slower stream has sent less all the time, and goes first: 2.4 ms/(1 − 0.2), and 2.4 ms/(0.8 · 0.4) behind it.
#[test]
fn of_streams_that_last_the_slower_goes_first_where_who_has_sent_least_does() {
    let policy = "[roles.core.queue.stf]\nlimit = \"10000 pkt\"\n";
    let scenario = scenario(policy, &(stream("slow", "b", 7, 25) + &stream("fast", "c", 8, 50)));
    let model = predicted(&scenario);
    waits(&model, "slow", 2.4 / 0.8);
    waits(&model, "fast", 2.4 / 0.32);
    let simulation = simulated(&scenario, 4);
    for name in ["slow", "fast"] {
        holds(name, wait(&model, name), wait(&simulation, name), 0.05);
    }
}

#[test]
fn a_stream_is_behind_all_younger_transfers_where_who_has_sent_least_goes_first() {
    let policy = "[roles.core.queue.stf]\nlimit = \"10000 pkt\"\n";
    let workloads = transfers("2 Mbit/s") + &stream("calls", "c", 7, 250);
    let scenario = at("10 Mbit/s", policy, &workloads);
    let (model, simulation) = (predicted(&scenario), simulated(&scenario, 4));
    let delay = |summary: &Summary| {
        summary.workload("calls").unwrap().datagrams.as_ref().unwrap().delay.unwrap()
    };
    // More than a quarter of it is the wait, which is known but roughly.
    let (model, simulation) = (delay(&model), delay(&simulation));
    assert!(model.at_least && model.mean <= simulation.mean, "{model:?} {simulation:?}");
}

const LEVELS: &str = r#"
    [[roles.edge.classes]]
    name = "web"
    match = { src_port = 80 }
    marker.fixed = { dscp = "AF11" }
    [roles.core.queue.multi-red]
    limit = "200 pkt"
    average = "cumulative"
    weight = 0.5
    levels = [
        { code_points = ["AF11"], min_threshold = "60 %", max_threshold = "90 %", max_probability = 0.1 },
        { code_points = "rest", min_threshold = "10 %", max_threshold = "35 %", max_probability = 0.1 },
    ]
"#;

fn sizes_hold(scenario: &Scenario, within: f64) {
    let (model, simulation) = (predicted(scenario), simulated(scenario, 4));
    let (model, simulation) = (model.workload("web").unwrap(), simulation.workload("web").unwrap());
    for class in simulation.classes.iter().filter(|class| class.n > 0) {
        let of_model = model.class(&class.label).unwrap().mean.unwrap().mean;
        holds(&class.label, of_model, class.mean.unwrap().mean, within);
    }
}

#[test]
fn levels_of_red_whose_averages_stay_below_their_thresholds_are_one_queue_in_order() {
    let workloads = transfers("2 Mbit/s") + &stream("calls", "c", 7, 125);
    let scenario = at("10 Mbit/s", LEVELS, &workloads);
    sizes_hold(&scenario, 0.2);
    let loss =
        |summary: &Summary| summary.workload("calls").unwrap().datagrams.clone().unwrap().loss;
    if let Some(loss) = loss(&predicted(&scenario)) {
        assert!(loss.mean < 0.01, "{loss:?}");
    }
}

const SHAPER: &str = r#"
    [roles.source.queue.aggregate-shaper]
    rate = "5 Mbit/s"
    depth = "200 KB"
    sharing = "logical-equal"
    limit = "1000 pkt"
    [roles.core.queue.fifo]
    limit = "1000 pkt"
"#;

#[test]
fn the_profile_of_a_host_holds_nothing_up_while_its_bucket_lasts() {
    let policy = SHAPER.replace("200 KB", "1 MB");
    let scenario = at("10 Mbit/s", &policy, &transfers("2 Mbit/s"));
    let plain = "[roles.core.queue.fifo]\nlimit = \"1000 pkt\"";
    let plain = at("10 Mbit/s", plain, &transfers("2 Mbit/s"));
    let mean =
        |scenario: &Scenario| predicted(scenario).workload("web").unwrap().all.mean.unwrap().mean;
    Prediction.answers(&scenario).unwrap();
    let both = [mean(&scenario), mean(&plain)];
    assert!((both[0] / both[1] - 1.0).abs() < 0.02, "{both:?}");
    sizes_hold(&scenario, 0.2);
}

/// With 200 KB others have taken so much of it that a message of 200 KB takes a quarter longer in simulations.
#[test]
fn messages_about_as_large_as_the_bucket_of_others_have_no_closed_form() {
    let reported = refused(&at("10 Mbit/s", SHAPER, &transfers("2 Mbit/s")));
    assert!(reported.contains("at b->r the delay in a profile"), "{reported}");
}

/// One user's files of 1 MB: 200 KB at once, the rest of 1,036 KB with headers at 5 Mbit/s.
#[test]
fn a_file_larger_than_the_bucket_has_the_rate_of_the_profile_for_the_rest() {
    let files = "[workloads.web.ftp]\nfrom = \"b\"\nto = \"a\"\nsize.constant = \"1 MB\"\n\
                 pause.constant = \"2 s\"\n";
    let scenario = at("10 Mbit/s", SHAPER, files);
    let (model, simulation) = (predicted(&scenario), simulated(&scenario, 4));
    let mean = |summary: &Summary| summary.workload("web").unwrap().all.mean.unwrap().mean;
    let min = (1e6 + (1e6f64 / 1448.0).ceil() * 52.0 - 200e3) / 625e3;
    assert!(mean(&model) >= min && mean(&model) < min + 0.05, "{} {min}", mean(&model));
    holds("files", mean(&model), mean(&simulation), 0.1);
}

/// Packets of 1500 B with 1448 B of payload come out at 5 Mbit/s.
#[test]
fn long_flows_through_the_profile_of_their_host_get_its_rate() {
    let policy = SHAPER.replace("depth =", "place = \"queue\"\ndepth =");
    let scenario = at("10 Mbit/s", &policy, BULK);
    let (model, simulation) = (predicted(&scenario), simulated(&scenario, 4));
    let goodput = |summary: &Summary| summary.workload("long").unwrap().goodput.unwrap().mean;
    assert!((goodput(&model) / (5e6 * 1448.0 / 1500.0) - 1.0).abs() < 0.01, "{}", goodput(&model));
    holds("goodput", goodput(&model), goodput(&simulation), 0.05);
}

/// Their windows have no buffer to fill.
#[test]
fn long_flows_that_wait_in_tcp_for_the_profile_of_their_host_have_no_closed_form() {
    let reported = refused(&at("10 Mbit/s", SHAPER, BULK));
    assert!(
        reported.contains("an aggregate-shaper that withholds long flows in TCP"),
        "{reported}"
    );
}

#[test]
fn a_host_that_sends_more_than_its_profile_has_no_closed_form_and_its_load_is_named() {
    let reported = refused(&at("10 Mbit/s", SHAPER, &stream("one", "b", 7, 650)));
    assert!(
        reported.contains(
            "at b->r the load of the profile must be below 1 for the model to hold; found 1.04"
        ),
        "{reported}"
    );
}

const SCHEDULER: &str = r#"
    [[roles.source.classes]]
    name = "tcp"
    match = { protocol = "tcp" }
    marker.tcp-state = { high = 4, medium = 8 }
    [roles.source.queue.source-scheduler]
    limit = "1000 pkt"
    high = { rate = "250 kbit/s", depth = "6 KB" }
    medium = { rate = "500 kbit/s", depth = "6 KB" }
    [roles.core.queue.fifo]
    limit = "1000 pkt"
"#;

/// Today's first window is beyond both thresholds: all is LOW, and waits for no tokens.
#[test]
fn a_source_scheduler_holds_nothing_up_that_is_low_from_the_first_window_on() {
    sizes_hold(&at("10 Mbit/s", SCHEDULER, &transfers("2 Mbit/s")), 0.2);
}

#[test]
fn a_source_scheduler_whose_tokens_are_short_has_no_closed_form() {
    let small = "[tcp]\nera = \"ns2-2005\"\n".to_owned() + &transfers("2 Mbit/s");
    let reported = refused(&at("10 Mbit/s", SCHEDULER, &small));
    assert!(reported.contains("at b->r the load of the profile"), "{reported}");
}

/// The arrivals of the other class are dropped at a full buffer, whoever filled it.
#[test]
fn classes_that_share_a_buffer_by_tail_drop_have_no_closed_form_beside_long_flows() {
    let wfq = |full: &str| {
        format!(
            "[roles.core.queue.wfq]\nlimit = \"100 pkt\"\n{full}\nclasses = [{{ match = {{ protocol = \"udp\" }}, weight = 1 }}, {{ weight = 1 }}]\n"
        )
    };
    let workloads = format!("[tcp]\ncongestion = \"reno\"\n{BULK}{}", stream("calls", "c", 7, 100));
    let reported = refused(&at("10 Mbit/s", &wfq("full = \"tail-drop\""), &workloads));
    assert!(
        reported.contains("`calls`: a full buffer that drops packets of all its classes"),
        "{reported}"
    );
    let model = predicted(&at("10 Mbit/s", &wfq(""), &workloads));
    assert!(model.workload("calls").unwrap().datagrams.is_some());
}

const SIMA: &str = r#"
    [[roles.edge.classes]]
    name = "calls"
    match = { protocol = "udp" }
    marker.sima = { class = "real-time", nbr = "1 Mbit/s", link = "100 Mbit/s" }
    [roles.core.queue.sima]
    real_time = { limit = "9800 B" }
    non_real_time = { limit = "20 KB" }
    allowed = "floor-of-greater"
"#;

/// At the nominal rate the precedence is 4, which five eighths of the buffer let pass: 6.125 packets. A load of 0.4, a mean wait
/// of 0.8 · 0.4/(2 · 0.6) ms; more than 6.125 packets wait with probability 0.4·exp(−0.4 · 6.125 · 0.8/0.26667) = 0.00026, and more
/// than 9.8 with 0.4·exp(−11.76) = 0.000003.
#[test]
fn streams_within_their_nominal_rate_meet_two_bands_whose_buffers_drop_by_precedence() {
    let policy = SIMA.replace("1 Mbit/s", "4 Mbit/s");
    let scenario = at("10 Mbit/s", &policy, &stream("calls", "b", 7, 500));
    let (model, simulation) = (predicted(&scenario), simulated(&scenario, 4));
    let of = |summary: &Summary| summary.workload("calls").unwrap().datagrams.clone().unwrap();
    let loss = 0.4 * (-0.4f64 * 6.125 * 0.8 / 0.266_667).exp() + 0.4 * (-11.76f64).exp();
    let model = of(&model);
    let delay = 0.8e-3 + 5e-3 + 0.266_667e-3;
    assert!((model.delay.unwrap().mean / delay - 1.0).abs() < 1e-4, "{model:?}");
    if let Some(found) = model.loss {
        assert!((found.mean / loss - 1.0).abs() < 0.01, "{found:?} {loss}");
    }
    holds("calls", model.delay.unwrap().mean, of(&simulation).delay.unwrap().mean, 0.05);
}

#[test]
fn first_windows_that_do_not_fit_into_a_buffer_of_sima_have_no_closed_form() {
    let reported = refused(&at("10 Mbit/s", SIMA, &transfers("100 kbit/s")));
    assert!(reported.contains("packets in its first window to r->a"), "{reported}");
}

/// With the initial window of today, ten segments, all windows are above a threshold of eight.
#[test]
fn sessions_whose_windows_are_all_in_one_level_of_tcp_state_are_named() {
    let policy = "[[roles.source.classes]]\nname = \"all\"\nmarker.tcp-state = { high = 4, medium = 8 }\n\
                  [roles.core.queue.strict-priority]\nbands = [\n\
                  { match.dscp = [\"AF11\"], queue.fifo = { limit = \"100 pkt\" } },\n\
                  { match.dscp = [\"AF12\"], queue.fifo = { limit = \"100 pkt\" } },\n\
                  { queue.fifo = { limit = \"100 pkt\" } },\n]\n";
    let mix = |era: &str| {
        format!(
            "[tcp]\nera = \"{era}\"\n\
             [workloads.files.ftp]\nfrom = \"b\"\nto = \"a\"\nsessions = 2\nsize.constant = \"20 KB\"\npause.exponential.mean = \"4 s\"\n\
             [workloads.type.telnet]\nclient = \"a\"\nserver = \"b\"\nsessions = 2\npacket = \"100 B\"\npause.exponential.mean = \"1 s\"\n"
        )
    };
    let warnings = |scenario: &Scenario| -> Vec<String> {
        let task = Task { scenario, replica: 0 };
        let outcome = run_tasks(&Prediction, &[task], 1, &false.into(), &()).remove(0).unwrap();
        outcome.warnings.into_iter().map(|warning| warning.message).collect()
    };
    let one_mark = |all: &[String]| {
        let is_meant =
            |message: &&String| message.contains("`tcp-state` gives all packets the same mark");
        all.iter().find(is_meant).cloned()
    };
    let today = at("10 Mbit/s", policy, &mix("linux-today"));
    let found = warnings(&today);
    let named = one_mark(&found).unwrap_or_else(|| panic!("{found:?}"));
    assert!(named.starts_with("`files`, `type`: "), "{named}");
    // Without the marker it is the same.
    let unmarked = at(
        "10 Mbit/s",
        &policy
            .replace("marker.tcp-state = { high = 4, medium = 8 }", "marker.fixed.dscp = \"BE\""),
        &mix("linux-today"),
    );
    let times = |scenario: &Scenario| {
        let summary = predicted(scenario);
        summary.workloads.iter().map(|one| one.all.mean.unwrap().mean).collect::<Vec<_>>()
    };
    assert_eq!(times(&today), times(&unmarked));
    assert!(one_mark(&warnings(&unmarked)).is_none());
    // Windows of two segments pass all levels, and those of connections that stay are in the last.
    let found = warnings(&at("10 Mbit/s", policy, &mix("ns2-2005")));
    assert!(one_mark(&found).is_none(), "{found:?}");
    let stays =
        "`type`: the model assumes that the window of a connection that stays is above `medium`";
    assert!(found.iter().any(|message| message.starts_with(stays)), "{found:?}");
}
