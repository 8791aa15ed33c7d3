use shortflow_measure::{Measure, Subject};
use shortflow_run::{Measured, Task, run_tasks};
use shortflow_scenario::{Overrides, from_texts};
use shortflow_sim::Simulator;
use shortflow_tune::{Goal, Limit, Offered};

/// A workload of each kind, and bulk with an end too.
const ALL_KINDS: &str = r#"
duration = "20 s"
warm_up = "0 s"
hosts = { a = {}, b = {} }
links.line = { between = ["a", "b"], rate = "20 Mbit/s", delay = "5 ms" }
[workloads]
transfers.transfers = { client = "a", server = "b", rate = "5 /s", request.constant = "300 B", reply.constant = "9 KB" }
endless.bulk = { from = "b", to = "a", flows = 2 }
files.bulk = { from = "b", to = "a", flows = 2, size = "90 KB" }
typing.telnet = { client = "a", server = "b", packet = "100 B", pause.exponential.mean = "300 ms" }
ftp.ftp = { from = "b", to = "a", size.constant = "50 KB", pause.constant = "1 s" }
calls.cbr = { from = "a", to = "b", rate = "800 kbit/s", packet = "200 B" }
packets.poisson = { from = "a", to = "b", rate = "500 /s", size.constant = "200 B" }
[workloads.pages.web]
client = "a"
server = "b"
http = "1.1"
request.constant = "500 B"
page.index.constant = "9 KB"
page.objects.constant = 3
page.object.constant = "9 KB"
think.constant = "1 s"
"#;

#[test]
fn of_a_workload_of_each_kind_what_is_offered_is_measured_and_nothing_else() {
    let loaded = from_texts(&[("all.toml", ALL_KINDS)], &Overrides::default()).unwrap();
    let scenario = &loaded.points()[0].scenario;
    let outcome = run_tasks(&Simulator, &[Task { scenario, replica: 0 }], 1, &false.into(), &());
    let Measured::Replica(replica) = outcome.into_iter().next().unwrap().unwrap().measured else {
        panic!("a simulator gives replicas")
    };
    let asked: Vec<Measure> = Measure::ALL
        .into_iter()
        .filter(|one| {
            let name = one.about().name;
            let of = name.split('-').next().unwrap();
            let is_told = !["max", "deviation", "variation"].iter().any(|end| name.ends_with(end));
            is_told && ["completion", "delay", "jitter"].contains(&of)
                || ["data-goodput", "datagram-loss", "packet-loss", "fairness"].contains(&name)
        })
        .collect();
    for offered in Offered::by(scenario) {
        let what = Subject { workload: &offered.workload, ..Subject::default() };
        for measure in &asked {
            let found = measure.read(&replica, &what).map(|reading| reading.value());
            // A goodput of nothing is none: whoever has one has got something here.
            let is_there =
                found.is_some_and(|value| *measure != Measure::DataGoodput || value > 0.0);
            let (name, of) = (measure.about().name, &offered.workload);
            assert_eq!(offered.measures.contains(measure), is_there, "{name} of {of}: {found:?}");
        }
    }
}

#[test]
fn what_is_offered_can_be_asked_for() {
    let loaded = from_texts(&[("all.toml", ALL_KINDS)], &Overrides::default()).unwrap();
    let offered = Offered::by(&loaded.points()[0].scenario);
    let ask = |text: &str| Goal::parse(text, &offered).is_ok();
    let keep = |text: &str| Limit::parse(text, &offered).is_ok();
    assert!(ask("p99:pages") && ask("goodput:pages") && ask("loss:calls") && ask("mean:packets"));
    assert!(!ask("loss:pages") && !ask("goodput:calls") && !ask("median:endless"));
    assert!(keep("endless.fairness >= 0.9") && keep("ftp.packet-loss <= 1 %"));
    assert!(!keep("files.fairness >= 0.9") && !keep("calls.completion.mean <= 1 s"));
}

/// Requests that fill a line one way, and replies that come the other way.
const BOTH_WAYS: &str = r#"
duration = "10 s"
hosts = { a = {}, b = {} }
links.line = { between = ["a", "b"], rate = "10 Mbit/s", delay = "5 ms" }
[workloads.asks.transfers]
client = "a"
server = "b"
load = "6 Mbit/s"
request.constant = "5 KB"
reply.constant = "1 seg"
"#;

#[test]
fn a_goodput_is_that_of_one_direction() {
    let loaded = from_texts(&[("both.toml", BOTH_WAYS)], &Overrides::default()).unwrap();
    let scenario = &loaded.points()[0].scenario;
    let outcome = run_tasks(&Simulator, &[Task { scenario, replica: 0 }], 1, &false.into(), &());
    let Measured::Replica(replica) = outcome.into_iter().next().unwrap().unwrap().measured else {
        panic!("a simulator gives replicas")
    };
    let both = replica.workloads[0].delivered_bytes as f64 * 8e-6 / replica.measured;
    assert!(both > 10.0, "{both} Mbit/s in both directions together");
    let offered = Offered::by(scenario);
    let goal = Goal::parse("goodput:asks", &offered).unwrap().read(&replica).unwrap();
    let limit = Limit::parse("asks.goodput >= 1 Mbit/s", &offered).unwrap();
    assert_eq!(-goal, limit.read(&replica).unwrap());
    // The requests fill the line, and 5 KB of them ask for 1460 B: replies get less than a third of it.
    assert!((1.0..10.0 * 1460.0 / 5000.0).contains(&-goal), "{goal}");
}
