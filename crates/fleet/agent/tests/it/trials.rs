//! Versions that are measured beside the one before, gone back from where they are worse, and held off elsewhere.

use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use shortflow_agent::{Agent, Fetched, Folder, Source, Store, StubPlane, Verdict};

use crate::support::bundle;

/// A fleet in which gw1 is first, with this rate.
fn fleet(rate: &str) -> String {
    format!(
        "[machines.gw1]\ntags = [\"canary\"]\ninterfaces.wan = {{ device = \"eth0\", rate = \"{rate}\" }}\n\n\
         [machines.gw2]\ninterfaces.wan = {{ device = \"eth0\", rate = \"{rate}\" }}\n\n\
         [[assign]]\npolicy = \"policies/fq-codel.toml\"\n\n\
         [rollout]\nfirst = [\"canary\"]\nafter = \"1 min\"\nwatch = \"1 min\"\nverdicts = true\n"
    )
}

/// An agent at whose device packets wait as long as one says, in a time of its own.
struct Bench {
    agent: Agent<StubPlane>,
    events: Rc<RefCell<Vec<String>>>,
    now: Instant,
    packets: u64,
    /// How many more of them come in each second.
    load: u64,
    verdicts: Vec<Verdict>,
}

impl Bench {
    fn new(machine: &str, state: &Path) -> Bench {
        let events = Rc::new(RefCell::new(Vec::new()));
        let heard = events.clone();
        let tell = Box::new(move |event: &shortflow_agent::Event| {
            heard.borrow_mut().push(format!("{}: {}", event.who, event.what));
        });
        let (now, store) = (Instant::now(), Store::open(state).unwrap());
        let (socket, plane) = (Path::new("/tmp/agent.sock"), StubPlane::default());
        let agent = Agent::start(now, machine, "a test", socket, store, plane, tell);
        Bench { agent, events, now, packets: 0, load: 100, verdicts: Vec::new() }
    }

    /// So many seconds in which packets wait so long, in milliseconds, and a little more or less.
    fn seconds(&mut self, count: u64, milliseconds: f64) {
        for number in 0..count {
            self.packets += self.load;
            let delay = (milliseconds + (number % 7) as f64 / 10.0) / 1e3;
            let class = json!({ "packets": self.packets, "dropped": 0, "delay_s": delay });
            let stands = json!({ "classes": [class] });
            self.agent.plane_mut().stands.insert("eth0".to_owned(), stands);
            self.now += Duration::from_secs(1);
            self.agent.tick(self.now);
        }
    }

    fn offer(&mut self, rate: &str) {
        self.offer_fleet(&fleet(rate));
    }

    fn offer_fleet(&mut self, fleet: &str) {
        let bundle = bundle(fleet, &[]);
        let (who, verdicts) = ("alice".to_owned(), self.verdicts.clone());
        let begun = self.agent.returns().count();
        assert!(self.agent.offer(self.now, begun, Ok(Fetched { bundle, who, verdicts })));
    }

    fn version(&mut self) -> Value {
        self.agent.status()["version"]["number"].clone()
    }

    fn reported(&mut self) -> Vec<String> {
        std::mem::take(&mut *self.events.borrow_mut())
    }
}

fn digest(rate: &str) -> String {
    bundle(&fleet(rate), &[]).needed().digest()
}

fn verdict(machine: &str, rate: &str, is_worse: bool) -> Verdict {
    let why = "by a test".to_owned();
    Verdict { machine: machine.to_owned(), digest: digest(rate), is_worse, why }
}

#[test]
fn a_worse_version_is_gone_back_from_told_to_others_and_not_taken_again() {
    let state = tempfile::tempdir().unwrap();
    let mut bench = Bench::new("gw1", state.path());
    bench.offer("95 Mbit/s");
    bench.seconds(70, 2.0);
    bench.reported();
    bench.offer("90 Mbit/s");
    assert_eq!(bench.version(), 2);
    assert_eq!(
        bench.agent.status()["trial"],
        json!({ "against": 1, "window_s": 60.0, "inconclusive": null, "others_wait": true })
    );
    // After a third of the window and the time in which queues empty.
    bench.seconds(24, 40.0);
    assert_eq!(bench.version(), 2);
    bench.seconds(3, 40.0);
    assert_eq!(bench.version(), 1);
    let reported = bench.reported();
    let found = format!(
        "agent: version {} is worse than version 1, which is active again: eth0: packets",
        digest("90 Mbit/s")
    );
    assert!(reported.iter().any(|line| line.starts_with(&found)), "{reported:#?}");
    let status = bench.agent.status();
    assert!(status["trial"].is_null() && status["devices"][0]["done"] == true, "{status:#}");
    let said = bench.agent.status()["verdict"].clone();
    assert_eq!((&said["machine"], &said["is_worse"]), (&json!("gw1"), &json!(true)));

    // Not when it is offered again, not by the next process, not after something else.
    bench.offer("90 Mbit/s");
    assert_eq!(bench.version(), 1);
    assert!(bench.agent.status()["worse"].is_string());
    drop(bench);
    let mut bench = Bench::new("gw1", state.path());
    bench.offer("90 Mbit/s");
    assert_eq!(bench.version(), 1);
    bench.offer("80 Mbit/s");
    assert_eq!(bench.version(), 3);
    bench.offer("90 Mbit/s");
    assert_eq!(bench.version(), 3);

    // Until somebody wants it.
    assert_eq!(bench.agent.resume("bob").unwrap(), digest("90 Mbit/s"));
    bench.offer("90 Mbit/s");
    assert_eq!(bench.version(), 4);
    let status = bench.agent.status();
    assert!(status["trial"].is_null(), "it is not measured: {status:#}");
    assert_eq!(status["verdict"]["why"], "applied by order of bob");
    let nothing = bench.agent.resume("bob").unwrap_err().to_string();
    assert_eq!(
        nothing,
        "no version is held back: the source has version 4, which is already active"
    );
}

/// A fleet with a profile in the TCP of gw1.
fn fleet_with_tcp(rate: &str) -> String {
    format!(
        "[machines.gw1]\ntags = [\"canary\"]\ninterfaces.own = {{ tcp = {{ local_port = 443 }} }}\n\n\
         [[assign]]\npolicy = \"policies/aggregate.toml\"\nset = {{ \"parameters.rate\" = \"{rate}\" }}\n\n\
         [rollout]\nfirst = [\"canary\"]\nafter = \"0 s\"\nwatch = \"1 min\"\n"
    )
}

#[test]
fn a_version_whose_profile_in_tcp_makes_bursts_wait_longer_is_gone_back_from() {
    let state = tempfile::tempdir().unwrap();
    let mut bench = Bench::new("gw1", state.path());
    let (mut bursts, mut waited) = (0_u64, 0_u64);
    let mut seconds = |bench: &mut Bench, count: u64, micros: u64| {
        for _ in 0..count {
            (bursts, waited) = (bursts + 100, waited + 100 * micros);
            let counted =
                json!({ "bursts": bursts, "waited_s": waited as f64 / 1e6, "unasked_withheld": 0 });
            let stands = json!({ "classes": [], "tcp": { "state": counted } });
            bench.agent.plane_mut().stands.insert("(tcp)".to_owned(), stands);
            bench.now += Duration::from_secs(1);
            bench.agent.tick(bench.now);
        }
    };
    bench.offer_fleet(&fleet_with_tcp("20 Mbit/s"));
    seconds(&mut bench, 70, 6_000);
    bench.offer_fleet(&fleet_with_tcp("19 Mbit/s"));
    seconds(&mut bench, 70, 6_300);
    assert_eq!(bench.version(), 2, "{:#?}", bench.reported());
    assert!(bench.reported().iter().any(|line| line.contains(" is no worse: 4 measurements")));

    bench.offer_fleet(&fleet_with_tcp("5 Mbit/s"));
    assert_eq!(bench.version(), 3);
    seconds(&mut bench, 27, 24_000);
    assert_eq!(bench.version(), 2);
    let reported = bench.reported();
    let why = ": (tcp): bursts wait 24.0 ms for tokens instead of 6.3 ms (medians); ";
    assert!(reported.iter().any(|line| line.contains(why)), "{reported:#?}");
    let installed = bench.agent.plane().devices["(tcp)"].clone();
    assert!(bench.agent.status()["devices"][0]["done"] == true, "{installed}");
}

#[test]
fn a_version_that_is_no_worse_stays_and_others_are_told() {
    let state = tempfile::tempdir().unwrap();
    let mut bench = Bench::new("gw1", state.path());
    bench.offer("95 Mbit/s");
    bench.seconds(70, 2.0);
    bench.offer("90 Mbit/s");
    bench.seconds(64, 2.2);
    assert!(bench.agent.status()["trial"].is_object());
    bench.seconds(3, 2.2);
    let status = bench.agent.status();
    assert_eq!((&status["version"]["number"], &status["trial"]), (&json!(2), &Value::Null));
    assert_eq!(status["verdict"]["is_worse"], false);
    assert!(bench.reported().iter().any(|line| line.contains(" is no worse: 4 measurements")));
}

#[test]
fn killed_while_a_version_is_on_trial_it_goes_on_with_what_was_measured_before() {
    let state = tempfile::tempdir().unwrap();
    let mut bench = Bench::new("gw1", state.path());
    bench.offer("95 Mbit/s");
    bench.seconds(70, 2.0);
    bench.offer("90 Mbit/s");
    bench.seconds(10, 40.0);
    drop(bench);
    let mut bench = Bench::new("gw1", state.path());
    assert_eq!(bench.agent.status()["trial"]["against"], 1);
    bench.seconds(27, 40.0);
    assert_eq!(bench.version(), 1);
}

#[test]
fn killed_while_it_goes_back_it_goes_on_going_back() {
    let state = tempfile::tempdir().unwrap();
    let mut bench = Bench::new("gw1", state.path());
    bench.offer("95 Mbit/s");
    bench.seconds(70, 2.0);
    bench.offer("90 Mbit/s");
    drop(bench);
    // As it is between the two steps: what is worse is written, and the version still counts.
    let worse = json!([[digest("90 Mbit/s"), "eth0: packets wait"]]).to_string();
    std::fs::write(state.path().join("worse.json"), worse).unwrap();
    let mut bench = Bench::new("gw1", state.path());
    assert_eq!(bench.version(), 1);
    assert_eq!(bench.agent.status()["worse"], Value::Null, "nothing is offered yet");
    bench.offer("90 Mbit/s");
    assert_eq!(
        (bench.version(), &bench.agent.status()["worse"]),
        (json!(1), &json!("eth0: packets wait"))
    );
}

#[test]
fn a_version_that_comes_while_another_is_on_trial_is_held_against_the_last_good_one() {
    let state = tempfile::tempdir().unwrap();
    let mut bench = Bench::new("gw1", state.path());
    bench.offer("95 Mbit/s");
    bench.seconds(70, 2.0);
    bench.offer("90 Mbit/s");
    bench.seconds(15, 40.0);
    bench.offer("85 Mbit/s");
    assert_eq!(bench.version(), 3);
    bench.seconds(27, 40.0);
    assert_eq!(bench.version(), 1, "version 2 was never found to be good");
}

#[test]
fn machines_that_are_not_first_wait_for_a_good_word_and_are_halted_by_a_bad_one() {
    let state = tempfile::tempdir().unwrap();
    let mut bench = Bench::new("gw2", state.path());
    bench.offer("95 Mbit/s");
    bench.offer("90 Mbit/s");
    bench.seconds(3600, 2.0);
    bench.offer("90 Mbit/s");
    assert_eq!(bench.version(), 1, "no word has come: the first machine may be cut off");
    let waiting = bench.agent.status()["waiting"].clone();
    assert_eq!((&waiting["needed"], &waiting["good"]), (&json!(1), &json!([])));

    bench.reported();
    for _ in 0..2 {
        bench.verdicts = vec![verdict("gw1", "90 Mbit/s", true)];
        bench.offer("90 Mbit/s");
    }
    let reported = bench.reported();
    let golden = format!(
        "agent: version {} is held back: machine gw1 finds it worse: by a test",
        digest("90 Mbit/s")
    );
    assert_eq!((reported, bench.version()), (vec![golden], json!(1)));
    assert_eq!(bench.agent.status()["waiting"]["worse"]["by"], "gw1");

    // The word of another machine, or of another version, lets nothing go.
    bench.verdicts = vec![verdict("gw2", "90 Mbit/s", false), verdict("gw1", "95 Mbit/s", false)];
    bench.offer("90 Mbit/s");
    assert_eq!(bench.version(), 1);
    bench.verdicts = vec![verdict("gw1", "90 Mbit/s", false)];
    bench.offer("90 Mbit/s");
    assert_eq!(bench.version(), 2);
}

#[test]
fn whoever_waits_may_be_told_to_take_it() {
    let state = tempfile::tempdir().unwrap();
    let mut bench = Bench::new("gw2", state.path());
    bench.offer("95 Mbit/s");
    bench.verdicts = vec![verdict("gw1", "90 Mbit/s", true)];
    bench.offer("90 Mbit/s");
    bench.agent.resume("bob").unwrap();
    bench.reported();
    assert_eq!(bench.agent.resume("bob").unwrap(), digest("90 Mbit/s"), "twice is as once");
    assert_eq!(bench.reported(), [""; 0]);
    bench.offer("90 Mbit/s");
    assert_eq!(bench.version(), 2);
    assert!(bench.agent.status()["verdict"].is_null(), "nobody waits for the word of gw2");
}

#[test]
fn a_folder_carries_the_word_of_machines_and_takes_nothing_else_for_one() {
    let folder = tempfile::tempdir().unwrap();
    bundle(&fleet("95 Mbit/s"), &[]).write(&folder.path().join("fleet")).unwrap();
    let mut source = Folder::new(&folder.path().join("fleet")).unwrap();
    assert_eq!(source.fetch().unwrap().verdicts, []);
    let (good, worse) = (verdict("gw1", "95 Mbit/s", false), verdict("gw1", "95 Mbit/s", true));
    source.tell(&good).unwrap();
    assert_eq!(source.fetch().unwrap().verdicts, [good]);
    source.tell(&worse).unwrap();
    let verdicts = folder.path().join("fleet/verdicts");
    // A name that is not the machine's, half a file, and one that is too long.
    let text = serde_json::to_string(&worse).unwrap();
    std::fs::write(verdicts.join("gw3.json"), &text).unwrap();
    std::fs::write(verdicts.join("gw4.json"), &text[..20]).unwrap();
    let long = text.replace("gw1", "gw5") + &" ".repeat(5000);
    std::fs::write(verdicts.join("gw5.json"), long).unwrap();
    // A link to elsewhere, and a pipe into which nobody writes.
    std::fs::write(folder.path().join("elsewhere"), text.replace("gw1", "gw6")).unwrap();
    std::os::unix::fs::symlink(folder.path().join("elsewhere"), verdicts.join("gw6.json")).unwrap();
    let made = std::process::Command::new("mkfifo").arg(verdicts.join("gw7.json")).status();
    assert!(made.unwrap().success());
    assert_eq!(source.fetch().unwrap().verdicts, [worse]);
    while source.wait(Duration::from_millis(100)) {}
    source.tell(&verdict("gw1", "90 Mbit/s", false)).unwrap();
    assert!(source.wait(Duration::from_secs(2)), "a word rings");
}

#[test]
fn a_machine_without_traffic_approves_nothing_until_somebody_says_so() {
    let state = tempfile::tempdir().unwrap();
    let mut bench = Bench::new("gw1", state.path());
    bench.load = 0;
    bench.offer("95 Mbit/s");
    bench.seconds(70, 0.0);
    bench.offer("90 Mbit/s");
    bench.reported();
    bench.seconds(200, 0.0);
    let status = bench.agent.status();
    let why = "too little traffic: 0 packets before, and each window needs 100";
    assert_eq!((&status["trial"]["inconclusive"], &status["verdict"]), (&json!(why), &Value::Null));
    let reported = format!(
        "agent: cannot decide whether version {} is worse: {why}; the other machines keep waiting: \
            to release it to them, run `shortflow agent resume --socket /tmp/agent.sock`",
        digest("90 Mbit/s")
    );
    assert_eq!(bench.reported(), [reported], "once");
    assert_eq!(bench.agent.resume("bob").unwrap(), digest("90 Mbit/s"));
    let status = bench.agent.status();
    let said = (&status["trial"], &status["verdict"]["is_worse"], &status["verdict"]["why"]);
    assert_eq!(said, (&Value::Null, &json!(false), &json!("applied by order of bob")));
    assert_eq!(bench.version(), 2);
}

#[test]
fn a_version_since_which_nothing_is_sent_is_approved_as_soon_as_something_is() {
    let state = tempfile::tempdir().unwrap();
    let mut bench = Bench::new("gw1", state.path());
    bench.offer("95 Mbit/s");
    bench.seconds(70, 2.0);
    bench.offer("90 Mbit/s");
    bench.load = 0;
    bench.seconds(130, 0.0);
    assert!(bench.agent.status()["trial"]["inconclusive"].is_string());
    bench.load = 100;
    bench.seconds(130, 2.0);
    let status = bench.agent.status();
    assert_eq!((&status["trial"], &status["verdict"]["is_worse"]), (&Value::Null, &json!(false)));
}

#[test]
fn what_another_machine_says_reaches_no_terminal_as_more_than_letters() {
    let state = tempfile::tempdir().unwrap();
    let mut bench = Bench::new("gw2", state.path());
    bench.offer("95 Mbit/s");
    let why = format!("\u{1b}[2Jgone\n2026-11-26T02:10:00Z root: all is well {}", "x".repeat(9000));
    bench.verdicts = vec![Verdict { why, ..verdict("gw1", "90 Mbit/s", true) }];
    bench.reported();
    bench.offer("90 Mbit/s");
    let reported = bench.reported().pop().unwrap();
    let status = bench.agent.status()["waiting"]["worse"]["why"].as_str().unwrap().to_owned();
    for text in [&reported, &status] {
        assert!(text.contains("[2Jgone 2026-11-26T02:10:00Z root: all is well xxx"), "{text}");
        assert!(!text.contains(char::is_control) && text.len() < 700, "{text}");
    }
}

#[test]
fn what_was_found_is_in_the_status_as_long_as_it_cannot_be_written() {
    let state = tempfile::tempdir().unwrap();
    let mut bench = Bench::new("gw1", state.path());
    bench.offer("95 Mbit/s");
    bench.seconds(70, 2.0);
    bench.offer("90 Mbit/s");
    bench.reported();
    let (there, away) = (state.path().to_owned(), state.path().with_extension("away"));
    std::fs::rename(&there, &away).unwrap();
    bench.seconds(50, 40.0);
    let status = bench.agent.status();
    assert!(status["not_written"]["why"].is_string(), "{status:#}");
    assert_eq!(bench.version(), 2);
    let reported = bench.reported();
    assert_eq!(reported.len(), 1, "once: {reported:?}");
    assert!(
        reported[0]
            .contains("cannot write the result of the trial, so the version stays for now: "),
        "{reported:?}"
    );
    std::fs::rename(&away, &there).unwrap();
    bench.seconds(12, 40.0);
    assert_eq!((bench.version(), &bench.agent.status()["not_written"]), (json!(1), &Value::Null));
}
