//! What is not predicted, and how that is said.

use shortflow_measure::Summary;
use shortflow_predict::Prediction;
use shortflow_run::{Measured, Task, run_tasks};
use shortflow_scenario::{Overrides, Scenario, from_texts};

fn scenario(texts: &[(&str, &str)]) -> Scenario {
    let loaded =
        from_texts(texts, &Overrides::default()).unwrap_or_else(|reported| panic!("{reported}"));
    loaded.into_points().swap_remove(0).scenario
}

fn refused(texts: &[(&str, &str)]) -> String {
    Prediction.answers(&scenario(texts)).unwrap_err().to_string()
}

/// The means of a scenario that has some, and what is said of them.
fn predicted(texts: &[(&str, &str)]) -> (Summary, Vec<String>) {
    let scenario = scenario(texts);
    Prediction.answers(&scenario).unwrap();
    let task = Task { scenario: &scenario, replica: 0 };
    let outcome = run_tasks(&Prediction, &[task], 1, &false.into(), &()).remove(0).unwrap();
    match outcome.measured {
        Measured::Means(summary) => {
            (*summary, outcome.warnings.into_iter().map(|warning| warning.message).collect())
        }
        Measured::Replica(_) => panic!("there are means only"),
    }
}

const LINE: &str = r#"
    duration = "10 s"
    hosts = { a = {}, b = {} }
    links.line = { between = ["a", "b"], rate = "1 Mbit/s", delay = "5 ms" }
"#;

const STREAM: &str = r#"
    [workloads.packets.poisson]
    from = "a"
    to = "b"
    rate = "50 /s"
    size.constant = "1000 B"
"#;

#[test]
fn an_overloaded_line_is_named_with_its_load() {
    let text = format!("{LINE}{}", STREAM.replace("50 /s", "150 /s"));
    let reported = refused(&[("line.toml", &text)]);
    assert_eq!(
        reported,
        "no closed form for `packets`: the arrivals at a->b: the load, including what is served \
            before it, must be below 1 for the model to hold; found 1.2\nuse `shortflow simulate`"
    );
}

#[test]
fn a_queue_without_a_closed_form_is_named_with_its_place() {
    let policy = "[roles.core.queue.sima]\nreal_time = { limit = \"9800 B\" }\nnon_real_time = { limit = \"20 KB\" }\nallowed = \"floor-of-mean\"\n";
    let text = format!(
        "policy = \"p.toml\"\n{LINE}\n[[bind]]\nrole = \"core\"\nat = \"a\"\nto = \"b\"\n{STREAM}"
    );
    let reported = refused(&[("line.toml", &text), ("p.toml", policy)]);
    assert_eq!(
        reported,
        "no closed form for `packets`: a `sima` queue that uses the mean of its buffers in the \
            role `core` at a->b\nuse `shortflow simulate`"
    );
}

#[test]
fn what_has_a_closed_form_is_predicted_beside_what_has_none() {
    let text = format!(
        "{}{STREAM}\n[workloads.files.bulk]\nfrom = \"c\"\nto = \"d\"\nsize = \"1 MB\"\n",
        LINE.replace("b = {} }", "b = {}, c = {}, d = {} }").replace(
            "links.line",
            "links.other = { between = [\"c\", \"d\"], rate = \"1 Mbit/s\", delay = \"5 ms\" }\nlinks.line"
        )
    );
    let (summary, reported) = predicted(&[("line.toml", &text)]);
    assert!(summary.workload("packets").unwrap().datagrams.is_some());
    // 691 packets of 1500 B and less take 8.29 s at 1 Mbit/s.
    let files = summary.workload("files").unwrap().all.mean.unwrap();
    assert!(files.at_least && (8.28..8.32).contains(&files.mean), "{files:?}");
    let why = "No closed form for `files`: flows of one size that begin together in `files`.";
    assert_eq!(reported[0], why);
}

#[test]
fn what_shares_a_line_with_something_unknown_is_not_predicted() {
    let files = "[workloads.files.bulk]\nfrom = \"a\"\nto = \"b\"\nsize = \"1 MB\"\n";
    let reported = refused(&[("line.toml", &format!("{LINE}{STREAM}{files}"))]);
    let why = "no closed form for `packets`: it shares a->b with `files`, which has no closed form \
        itself\n";
    assert!(reported.starts_with(why), "{reported}");
}

#[test]
fn transfers_beyond_the_range_of_the_models_are_refused_with_the_range() {
    let transfers = r#"
        [workloads.web.transfers]
        client = "a"
        server = "b"
        load = "0.95 Mbit/s"
        request.constant = "400 B"
        reply.constant = "20 KB"
    "#;
    let reported = refused(&[("line.toml", &format!("{LINE}{transfers}"))]);
    let why = "no closed form for `web`: at b->a the load including all earlier bands must be at \
        most 0.9 for the model to hold";
    assert!(reported.starts_with(why), "{reported}");
}

#[test]
fn sizes_that_are_told_count_where_others_are_not() {
    let transfers = r#"
        measure.size_classes = ["2 KB", "100 KB"]
        [workloads.web.transfers]
        client = "a"
        server = "b"
        load = "0.1 Mbit/s"
        request.constant = "400 B"
        reply.choice = { sizes = ["2 KB", "100 KB"] }
    "#;
    let line = LINE.replace("delay = \"5 ms\"", "delay = \"5 ms\", loss = 0.02");
    let (summary, reported) = predicted(&[("line.toml", &format!("{line}{transfers}"))]);
    let web = summary.workload("web").unwrap();
    let is_bound = |class: &shortflow_measure::ClassSummary| class.mean.unwrap().at_least;
    assert_eq!(web.classes.iter().map(is_bound).collect::<Vec<_>>(), [false, true]);
    assert!(is_bound(&web.all), "{web:?}");
    assert!(web.completed > 0, "{web:?}");
    assert!(
        reported[0].starts_with("No closed form for `web` at up to 100 KB: "),
        "{}",
        reported[0]
    );
}

#[test]
fn long_flows_of_different_round_trips_at_a_plain_buffer_come_with_a_warning() {
    let warned = |delay: &str| {
        let text = format!(
            r#"
            duration = "60 s"
            hosts = {{ near = {{}}, far = {{}}, user = {{}} }}
            routers = {{ r = {{}} }}
            links.near = {{ between = ["near", "r"], rate = "1 Gbit/s", delay = "1 ms" }}
            links.far = {{ between = ["far", "r"], rate = "1 Gbit/s", delay = "{delay}" }}
            links.line = {{ between = ["r", "user"], rate = "20 Mbit/s", delay = "5 ms", queue = "60 pkt" }}
            workloads.near.bulk = {{ from = "near", to = "user" }}
            workloads.far.bulk = {{ from = "far", to = "user" }}
            "#
        );
        let (_, said) = predicted(&[("line.toml", &text)]);
        said.iter().any(|one| one.starts_with("`near`, `far`: long flows of different round trips"))
    };
    assert!(warned("6 ms"));
    assert!(!warned("1 ms"), "both are as far away");
}

#[test]
fn long_flows_whose_slow_start_overflows_a_buffer_come_with_a_warning_unless_the_warm_up_is_longer()
{
    let warned = |warm_up: &str, queue: &str| {
        let text = format!(
            r#"
            policy = "p.toml"
            duration = "300 s"
            warm_up = "{warm_up}"
            tcp.era = "ns2-2002"
            hosts = {{ user = {{}}, server = {{}} }}
            routers.r = {{}}
            links.server = {{ between = ["server", "r"], rate = "1 Gbit/s", delay = "10 us" }}
            links.line = {{ between = ["r", "user"], rate = "140 Mbit/s", delay = "100 ms" }}
            bind = [{{ role = "core", at = "r", to = "user" }}]
            workloads.long.bulk = {{ from = "server", to = "user", flows = 2, tcp.receive_window = "500 KB" }}
            "#
        );
        let policy = format!("name = \"p\"\n[roles.core]\nqueue.fifo.limit = \"{queue}\"\n");
        let (_, said) = predicted(&[("line.toml", &text), ("p.toml", &policy)]);
        said.iter().any(|one| one.starts_with("`long`: slow start overflows a buffer"))
    };
    // Simulated: 26 Mbit/s instead of 40. A window of 480 segments grows by one in each 0.2 s.
    assert!(warned("20 s", "100 pkt"));
    assert!(!warned("100 s", "100 pkt") && !warned("20 s", "1000 pkt"));
}

#[test]
fn long_flows_at_a_buffer_that_drains_slowly_come_with_a_warning_unless_the_run_is_longer() {
    let warned = |queue: &str, duration: &str| {
        let text = format!(
            r#"
            duration = "{duration}"
            warm_up = "10 s"
            hosts = {{ user = {{}}, server = {{}} }}
            routers.r = {{}}
            links.server = {{ between = ["server", "r"], rate = "1 Gbit/s", delay = "1 ms" }}
            links.line = {{ between = ["r", "user"], rate = "800 kbit/s", delay = "20 ms", queue = "{queue}" }}
            workloads.long.bulk = {{ from = "server", to = "user", flows = 2 }}
            "#
        );
        let (_, said) = predicted(&[("line.toml", &text)]);
        said.iter().any(|one| one.starts_with("`long`: a full buffer on their way"))
    };
    // Simulated: 459 kbit/s in 120 s and 743 in 600 s, where 772 are predicted. The buffer drains in 15 s.
    assert!(warned("1000 pkt", "120 s"));
    assert!(!warned("1000 pkt", "600 s") && !warned("100 pkt", "120 s"));
}

#[test]
fn long_flows_in_turn_with_transfers_come_with_a_warning() {
    let warned = |transfers: &str| {
        let text = format!(
            r#"
            policy = "p.toml"
            duration = "60 s"
            hosts = {{ user = {{}}, server = {{}} }}
            routers = {{ near = {{}}, far = {{}} }}
            links.user = {{ between = ["user", "near"], rate = "1 Gbit/s", delay = "0.1 ms" }}
            links.line = {{ between = ["near", "far"], rate = "100 Mbit/s", delay = "10 ms" }}
            links.server = {{ between = ["server", "far"], rate = "1 Gbit/s", delay = "0.1 ms" }}
            bind = [{{ role = "core", at = "far", to = "near" }}]
            workloads.long.bulk = {{ from = "server", to = "user" }}
            {transfers}
            "#
        );
        let policy = "name = \"fair\"\n[roles.core.queue.fq-codel]\n";
        let (_, said) = predicted(&[("line.toml", &text), ("p.toml", policy)]);
        said.iter().any(|one| one.starts_with("`long`: while transfers of others take turns"))
    };
    let transfers = r#"
        [workloads.web.transfers]
        client = "user"
        server = "server"
        load = "40 Mbit/s"
        request.constant = "400 B"
        reply.constant = "100 KB""#;
    // Simulated: 45 Mbit/s instead of 56.
    assert!(warned(transfers));
    assert!(!warned(""));
}
