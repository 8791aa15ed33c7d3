//! What an agent does with what its source has, over a data plane without devices.

use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;
use std::time::{Duration, Instant};

use serde_json::json;
use shortflow_agent::{Agent, Fetched, NotFetched, Store, StubPlane};
use shortflow_deploy::Warning;

use crate::support::bundle;

const FLEET: &str = r#"
[machines.gw1]
interfaces.wan = { device = "eth0", rate = "95 Mbit/s" }
interfaces.lan = { device = "eth1", rate = "900 Mbit/s" }

[[assign]]
policy = "policies/fq-codel.toml"
"#;

/// The control socket that its commands name.
const SOCKET: &str = "/tmp/agent.sock";

/// An agent, its events, and a clock of its own.
struct Bench {
    agent: Agent<StubPlane>,
    events: Rc<RefCell<Vec<String>>>,
    now: Instant,
}

impl Bench {
    fn at(state: &Path, plane: StubPlane) -> Bench {
        let events = Rc::new(RefCell::new(Vec::new()));
        let heard = events.clone();
        let tell = Box::new(move |event: &shortflow_agent::Event| {
            heard.borrow_mut().push(format!("{}: {}", event.who, event.what));
        });
        let (now, store, socket) = (Instant::now(), Store::open(state).unwrap(), Path::new(SOCKET));
        Bench { agent: Agent::start(now, "gw1", "a test", socket, store, plane, tell), events, now }
    }

    fn offer(&mut self, fleet: &str) {
        let fetched =
            Fetched { bundle: bundle(fleet, &[]), who: "alice".to_owned(), verdicts: Vec::new() };
        let begun = self.agent.returns().count();
        assert!(self.agent.offer(self.now, begun, Ok(fetched)));
    }

    fn later(&mut self, seconds: u64) {
        self.now += Duration::from_secs(seconds);
        self.agent.tick(self.now);
    }

    /// The first lines of the events since the last call.
    fn reported(&mut self) -> Vec<String> {
        let events = std::mem::take(&mut *self.events.borrow_mut());
        events.iter().map(|event| event.lines().next().unwrap_or_default().to_owned()).collect()
    }

    /// What devices have: `eth0 FQ-CoDel`, with `!` where they are not known to have it.
    fn devices(&mut self) -> Vec<String> {
        let status = self.agent.status();
        let line = |device: &serde_json::Value| {
            let text = |key: &str| device[key].as_str().unwrap_or("nothing").to_owned();
            let mark = if device["done"] == true { "" } else { "!" };
            format!("{mark}{} {}", text("device"), text("policy"))
        };
        status["devices"].as_array().unwrap().iter().map(line).collect()
    }
}

fn without_digest(text: &str) -> String {
    match (text.find('('), text.find(')')) {
        (Some(from), Some(to)) => format!("{}{}", &text[..from], &text[to + 1..]),
        _ => text.to_owned(),
    }
}

#[test]
fn a_version_is_taken_once_and_brought_to_the_devices_of_this_machine() {
    let state = tempfile::tempdir().unwrap();
    let mut bench = Bench::at(state.path(), StubPlane::default());
    assert_eq!(bench.reported(), ["agent: the agent of gw1 has started without a version"]);
    bench.offer(FLEET);
    let reported: Vec<String> = bench.reported().iter().map(|line| without_digest(line)).collect();
    assert_eq!(
        reported,
        [
            "alice: applied version 1  from a test",
            "agent: eth0: policy \"FQ-CoDel\"",
            "agent: eth1: policy \"FQ-CoDel\""
        ]
    );
    bench.offer(FLEET);
    bench.later(60);
    assert_eq!(
        (bench.reported().len(), bench.devices()),
        (0, vec!["eth0 FQ-CoDel".to_owned(), "eth1 FQ-CoDel".to_owned()])
    );
}

#[test]
fn a_version_touches_no_device_for_which_it_changes_nothing() {
    let state = tempfile::tempdir().unwrap();
    let mut bench = Bench::at(state.path(), StubPlane::default());
    bench.offer(FLEET);
    bench.reported();
    bench.offer(&FLEET.replace("900 Mbit/s", "800 Mbit/s"));
    assert_eq!(bench.reported()[1..], ["agent: eth1: policy \"FQ-CoDel\""]);
    bench.agent.roll_back(bench.now, None, "bob").unwrap();
    assert_eq!(bench.reported()[1..], ["agent: eth1: policy \"FQ-CoDel\""]);
}

#[test]
fn what_has_a_mistake_is_told_once_and_the_last_good_version_stays() {
    let state = tempfile::tempdir().unwrap();
    let mut bench = Bench::at(state.path(), StubPlane::default());
    bench.offer(FLEET);
    bench.reported();
    // Half of a file, as one that is being written.
    for _ in 0..2 {
        bench.offer(&FLEET[..FLEET.len() / 2]);
        bench.later(60);
    }
    let reported = bench.reported();
    assert_eq!(reported.len(), 1, "{reported:?}");
    assert!(
        reported[0].starts_with("alice: refused a test (")
            && reported[0].ends_with("); the last good version stays active:")
    );
    assert_eq!(bench.devices(), ["eth0 FQ-CoDel", "eth1 FQ-CoDel"]);
    let refused = bench.agent.status()["source"]["refused"].as_str().unwrap().to_owned();
    assert!(refused.contains("--> fleet.toml:4:"), "{refused}");
    bench.offer(FLEET);
    assert!(bench.agent.status()["source"]["refused"].is_null(), "what counts is sound again");
}

#[test]
fn mistakes_that_make_no_repository_are_refused_like_others_and_not_told_as_an_absence() {
    let state = tempfile::tempdir().unwrap();
    let mut bench = Bench::at(state.path(), StubPlane::default());
    bench.offer(FLEET);
    bench.reported();
    for _ in 0..2 {
        let mistakes = NotFetched::Mistakes("error: missing colon in this line".to_owned());
        assert!(bench.agent.offer(bench.now, 0, Err(mistakes)));
    }
    let reported: Vec<String> = bench.reported().iter().map(|line| without_digest(line)).collect();
    assert_eq!(reported, ["agent: refused a test ; the last good version stays active:"]);
    let source = bench.agent.status()["source"].clone();
    assert_eq!(source["refused"], "error: missing colon in this line");
    assert!(source["unreadable"].is_null());
    bench.offer(FLEET);
    assert!(bench.agent.status()["source"]["refused"].is_null());
}

#[test]
fn where_there_is_no_version_yet_none_is_said_to_stay() {
    let state = tempfile::tempdir().unwrap();
    let mut bench = Bench::at(state.path(), StubPlane::default());
    bench.reported();
    bench.offer(&FLEET[..FLEET.len() / 2]);
    assert!(bench.agent.offer(bench.now, 0, Err("it is gone".to_owned().into())));
    let reported: Vec<String> = bench.reported().iter().map(|line| without_digest(line)).collect();
    assert_eq!(
        reported,
        [
            "alice: refused a test ; no version is active yet:",
            "agent: cannot read a test; no version is active yet: it is gone"
        ]
    );
}

#[test]
fn a_source_that_cannot_be_read_changes_nothing_and_is_told_once() {
    let state = tempfile::tempdir().unwrap();
    let mut bench = Bench::at(state.path(), StubPlane::default());
    bench.offer(FLEET);
    bench.reported();
    for _ in 0..3 {
        assert!(bench.agent.offer(bench.now, 0, Err("it is gone".to_owned().into())));
    }
    bench.offer(FLEET);
    assert_eq!(
        bench.reported(),
        [
            "agent: cannot read a test; the last good version stays active: it is gone",
            "agent: a test is readable again"
        ]
    );
}

#[test]
fn a_device_that_fails_is_tried_again_at_growing_intervals_and_holds_up_no_other() {
    let state = tempfile::tempdir().unwrap();
    let broken = StubPlane { broken: vec!["eth0".to_owned()], ..StubPlane::default() };
    let mut bench = Bench::at(state.path(), broken);
    bench.offer(FLEET);
    assert_eq!(bench.devices(), ["!eth0 FQ-CoDel", "eth1 FQ-CoDel"]);
    let reported = bench.reported();
    assert!(
        reported.contains(
            &"agent: eth0: no device `eth0`; the device is unchanged, and the agent will try again"
                .to_owned()
        )
    );
    // Tries at 0, 1, 3, 7, 15, 31, 63, then every 60 s: 11 in 300 s.
    for _ in 0..300 {
        bench.later(1);
    }
    assert_eq!(bench.reported().len(), 0, "the same failure is told once");
    assert_eq!(bench.agent.plane().calls, 1 + 1 + 6 + 3);
    bench.agent.plane_mut().broken.clear();
    bench.later(60);
    assert_eq!(bench.devices(), ["eth0 FQ-CoDel", "eth1 FQ-CoDel"]);
}

#[test]
fn a_device_that_somebody_else_changes_is_brought_back() {
    let state = tempfile::tempdir().unwrap();
    let mut bench = Bench::at(state.path(), StubPlane::default());
    bench.offer(FLEET);
    bench.reported();
    bench.agent.plane_mut().devices.remove("eth1");
    bench.later(11);
    let reported = "agent: eth1: another process changed or recreated the device; the agent deploys \
        the policy again";
    assert_eq!(bench.reported(), [reported, "agent: eth1: policy \"FQ-CoDel\""]);
    let changed = bench.agent.status()["devices"][1]["changed"].clone();
    assert_eq!((&changed["times"], &changed["again_and_again"]), (&1.into(), &false.into()));
    assert!(changed["at"].is_string());
}

#[test]
fn a_device_that_somebody_else_changes_again_and_again_is_warned_of_and_left_for_longer_each_time()
{
    let state = tempfile::tempdir().unwrap();
    let mut bench = Bench::at(state.path(), StubPlane::default());
    bench.offer(FLEET);
    let before = bench.agent.plane().calls;
    let contested = |bench: &mut Bench| {
        bench.agent.status()["devices"][1]["changed"]["again_and_again"] == true
    };
    // Another agent, which sets the device right every second.
    for _ in 0..30 {
        bench.agent.plane_mut().devices.remove("eth1");
        bench.later(1);
    }
    assert!(contested(&mut bench));
    assert_eq!(bench.devices()[1], "!eth1 FQ-CoDel");
    for _ in 30..900 {
        bench.agent.plane_mut().devices.remove("eth1");
        bench.later(1);
    }
    // Set right at 10 and 20 s; then it is left for 20, 40, 80, 160, 240 and 240 s, each up to 10 s after it was set right.
    let calls = bench.agent.plane().calls - before;
    assert!((6..=8).contains(&calls), "{calls}");
    assert!(contested(&mut bench));
    for _ in 0..560 {
        bench.later(1);
    }
    assert!(bench.agent.status()["devices"][1]["changed"].is_null(), "who else it was is gone");
    assert_eq!(bench.devices(), ["eth0 FQ-CoDel", "eth1 FQ-CoDel"]);
}

#[test]
fn where_it_is_not_known_what_was_gone_back_from_nothing_is_taken_until_somebody_says_so() {
    for is_folder in [false, true] {
        let state = tempfile::tempdir().unwrap();
        let mut bench = Bench::at(state.path(), StubPlane::default());
        bench.offer(FLEET);
        let best_effort = FLEET.replace("fq-codel", "best-effort");
        bench.offer(&best_effort);
        bench.agent.roll_back(bench.now, None, "bob").unwrap();
        drop(bench);
        let held = state.path().join("held.json");
        if is_folder {
            std::fs::remove_file(&held).unwrap();
            std::fs::create_dir_all(held.join("within")).unwrap();
        } else {
            std::fs::write(&held, "{{{").unwrap();
        }
        let mut bench = Bench::at(state.path(), StubPlane::default());
        let reported = bench.reported();
        assert!(
            reported[0].starts_with("agent: state repaired: held.json cannot be read: ")
                && reported[0].ends_with("run `shortflow agent resume --socket /tmp/agent.sock`"),
            "{reported:?}"
        );
        let other = best_effort.replace("95", "90");
        for fleet in [&best_effort, &other] {
            bench.offer(fleet);
            let status = bench.agent.status();
            assert_eq!(
                (&status["version"]["number"], &status["held_any"]),
                (&1.into(), &true.into())
            );
        }
        // Another going back makes it no better known.
        bench.agent.roll_back(bench.now, Some(1), "bob").unwrap();
        bench.offer(&other);
        assert_eq!(bench.agent.status()["held_any"], true);
        bench.agent.resume("bob").unwrap();
        bench.offer(&other);
        let status = bench.agent.status();
        assert_eq!((&status["version"]["number"], &status["held_any"]), (&3.into(), &false.into()));
    }
}

#[test]
fn an_agent_without_a_sound_version_reports_each_and_takes_the_next_of_its_source() {
    let state = tempfile::tempdir().unwrap();
    let mut bench = Bench::at(state.path(), StubPlane::default());
    bench.offer(FLEET);
    let second = FLEET.replace("95", "90");
    bench.offer(&second);
    assert_eq!(bench.agent.status()["unusable"], json!([]));
    bench.agent.roll_back(bench.now, None, "bob").unwrap();
    let devices = bench.agent.plane().devices.clone();
    drop(bench);
    let fleet = state.path().join("versions/000001/repository/fleet.toml");
    std::fs::write(&fleet, FLEET.replace("95", "96")).unwrap();
    let mut bench =
        Bench::at(state.path(), StubPlane { devices: devices.clone(), ..StubPlane::default() });
    let status = bench.agent.status();
    let unusable = &status["unusable"];
    assert_eq!(unusable[0], json!({ "number": 2, "state": "rolled back", "why": null }));
    assert_eq!((&unusable[1]["number"], &unusable[1]["state"]), (&json!(1), &json!("damaged")));
    let why = unusable[1]["why"].as_str().unwrap();
    assert!(why.contains("versions/000001/repository: the digest is "), "{why}");
    assert_eq!(status["version"], json!(null));
    assert_eq!(bench.agent.plane().devices, devices, "deployments stay");
    bench.offer(&FLEET.replace("95", "85"));
    let status = bench.agent.status();
    assert_eq!((&status["unusable"], &status["version"]["number"]), (&json!([]), &json!(3)));
}

#[test]
fn the_warnings_of_a_deployment_are_logged_once_and_shown_with_its_device() {
    let state = tempfile::tempdir().unwrap();
    let warning = |what: &str| Warning { what: what.to_owned(), remedy: "do this".to_owned() };
    let plane = StubPlane { warnings: vec![warning("large segments")], ..StubPlane::default() };
    let mut bench = Bench::at(state.path(), plane);
    bench.offer(FLEET);
    let is_warning = |line: &String| line.contains("warning");
    let warned = |bench: &mut Bench| -> Vec<String> {
        bench.reported().into_iter().filter(is_warning).collect()
    };
    let both = ["eth0", "eth1"].map(|it| format!("agent: {it}: warning: large segments; do this"));
    assert_eq!(warned(&mut bench), both);
    let status = bench.agent.status();
    let shown = json!([{ "what": "large segments", "remedy": "do this" }]);
    assert_eq!(status["devices"][0]["warnings"], shown);
    // The same deployment is repaired, then another one has another warning.
    bench.agent.plane_mut().devices.remove("eth0");
    bench.later(20);
    assert_eq!(warned(&mut bench), [""; 0]);
    bench.agent.plane_mut().warnings.push(warning("an odd line"));
    bench.offer(&FLEET.replace("95", "90"));
    assert_eq!(warned(&mut bench), ["agent: eth0: warning: an odd line; do this"]);
}

#[test]
fn a_device_that_no_policy_is_for_any_more_is_given_back_also_after_an_interruption() {
    let state = tempfile::tempdir().unwrap();
    let mut bench = Bench::at(state.path(), StubPlane::default());
    bench.offer(FLEET);
    let narrower = format!("{FLEET}interfaces = [\"wan\"]\n");
    bench.agent.plane_mut().broken.push("eth1".to_owned());
    bench.offer(&narrower);
    assert_eq!(bench.devices(), ["eth0 FQ-CoDel", "!eth1 nothing"]);
    let devices = bench.agent.plane().devices.clone();
    drop(bench);
    // As after kill -9: the state is there, and so is what is deployed.
    let mut bench = Bench::at(state.path(), StubPlane { devices, ..StubPlane::default() });
    assert_eq!(bench.devices(), ["eth0 FQ-CoDel"]);
    assert!(
        bench.reported().contains(
            &"agent: eth1: no policy of Shortflow's is deployed there any more".to_owned()
        )
    );
    assert_eq!(bench.agent.plane().devices.len(), 1);
}

#[test]
fn a_device_that_is_renamed_gives_back_what_it_has_where_its_new_name_has_no_assignment() {
    let state = tempfile::tempdir().unwrap();
    let numbers = |pairs: &[(&str, u32)]| -> std::collections::BTreeMap<String, u32> {
        pairs.iter().map(|(name, number)| ((*name).to_owned(), *number)).collect()
    };
    let plane = StubPlane {
        numbers: numbers(&[("eth0", 2), ("eth1", 3), ("eth2", 4)]),
        ..StubPlane::default()
    };
    let mut bench = Bench::at(state.path(), plane);
    bench.offer(FLEET);
    bench.later(20);
    bench.reported();
    // eth1 and eth2 change their names, and what stands there goes along; eth0 and eth1 would both have an assignment.
    let plane = bench.agent.plane_mut();
    plane.numbers = numbers(&[("eth0", 2), ("eth1", 4), ("eth2", 3)]);
    let stood = plane.devices.remove("eth1").unwrap();
    plane.devices.insert("eth2".to_owned(), stood);
    bench.later(20);
    let reported = bench.reported();
    assert!(
        reported.contains(&"agent: device eth1 is now called eth2, which has no assignment: its policy is removed".to_owned()),
        "{reported:#?}"
    );
    assert!(
        reported.contains(
            &"agent: eth2: no policy of Shortflow's is deployed there any more".to_owned()
        ),
        "{reported:#?}"
    );
    assert_eq!(bench.devices(), ["eth0 FQ-CoDel", "eth1 FQ-CoDel"]);
    assert_eq!(bench.agent.plane().devices.keys().collect::<Vec<_>>(), ["eth0", "eth1"]);

    // Also while no agent runs, and where the fleet no longer names the machine.
    let mut plane = std::mem::take(bench.agent.plane_mut());
    bench.agent.stop();
    plane.numbers = numbers(&[("eth0", 2), ("eth7", 4)]);
    let stood = plane.devices.remove("eth1").unwrap();
    plane.devices.insert("eth7".to_owned(), stood);
    let mut bench = Bench::at(state.path(), plane);
    bench.offer(&FLEET.replace("gw1", "gw2"));
    bench.later(20);
    assert_eq!(bench.agent.plane().devices.len(), 0, "{:?}", bench.agent.plane().devices);
}

#[test]
fn a_machine_that_is_taken_out_of_the_fleet_gives_back_its_devices() {
    let state = tempfile::tempdir().unwrap();
    let mut bench = Bench::at(state.path(), StubPlane::default());
    bench.offer(FLEET);
    bench.reported();
    assert_eq!(bench.agent.status()["in_fleet"], true);
    bench.offer(&FLEET.replace("gw1", "gw2"));
    assert_eq!(bench.agent.status()["in_fleet"], false);
    let reported = bench.reported();
    assert_eq!(
        reported[1..],
        [
            "agent: the fleet has no machine `gw1`: no policy is deployed here",
            "agent: eth0: no policy of Shortflow's is deployed there any more",
            "agent: eth1: no policy of Shortflow's is deployed there any more"
        ]
    );
}

#[test]
fn going_back_is_done_logged_and_kept_until_the_source_has_something_new() {
    let state = tempfile::tempdir().unwrap();
    let mut bench = Bench::at(state.path(), StubPlane::default());
    let best_effort = FLEET.replace("fq-codel", "best-effort");
    assert_eq!(
        bench.agent.roll_back(bench.now, None, "bob").unwrap_err().to_string(),
        "no earlier version to roll back to; no version is kept yet"
    );
    bench.offer(FLEET);
    bench.offer(&best_effort);
    assert_eq!(bench.devices(), ["eth0 Best Effort", "eth1 Best Effort"]);
    bench.reported();
    bench.agent.roll_back(bench.now, None, "bob").unwrap();
    assert_eq!(bench.reported()[0], "bob: rolled back from version 2 to 1");
    bench.offer(&best_effort);
    assert_eq!(
        bench.devices(),
        ["eth0 FQ-CoDel", "eth1 FQ-CoDel"],
        "what was gone back from is held off"
    );
    drop(bench);
    let mut bench = Bench::at(state.path(), StubPlane::default());
    bench.offer(&best_effort);
    assert_eq!(bench.devices(), ["eth0 FQ-CoDel", "eth1 FQ-CoDel"], "also by the next process");
    bench.offer(&best_effort.replace("95 Mbit/s", "90 Mbit/s"));
    assert_eq!(bench.devices(), ["eth0 Best Effort", "eth1 Best Effort"]);
}

#[test]
fn the_log_has_who_did_what_and_when() {
    let state = tempfile::tempdir().unwrap();
    let mut bench = Bench::at(state.path(), StubPlane::default());
    bench.offer(FLEET);
    bench.agent.stop();
    let log = Store::log(state.path()).unwrap();
    let read = |line: &String| serde_json::from_str::<serde_json::Value>(line).unwrap();
    let what: Vec<String> =
        log.iter().map(|line| format!("{} {}", read(line)["who"], read(line)["what"])).collect();
    let expected =
        ["agent started", "alice accepted", "agent installed", "agent installed", "agent stopped"];
    let expected =
        expected.map(|line| line.replacen(' ', "\" \"", 1)).map(|line| format!("\"{line}\""));
    assert_eq!(what, expected);
    let at = read(&log[0])["at"].as_str().unwrap().to_owned();
    assert!(at.len() == 24 && at.ends_with('Z') && at.contains('T'), "{at}");
}

/// A fleet in which `gw2` is first, with this rate for `gw1`.
fn in_stages(rate: &str) -> String {
    format!(
        "{}\n[machines.gw2]\ntags = [\"canary-1\"]\n\n[rollout]\nfirst = [\"canary*\"]\nafter = \"30 min\"\n",
        FLEET.replace("95 Mbit/s", rate)
    )
}

#[test]
fn a_machine_that_is_not_first_takes_a_version_when_its_time_has_come_and_the_source_still_has_it()
{
    let state = tempfile::tempdir().unwrap();
    let mut bench = Bench::at(state.path(), StubPlane::default());
    let version = |bench: &mut Bench| bench.agent.status()["version"]["number"].clone();
    bench.offer(&in_stages("95 Mbit/s"));
    assert_eq!(version(&mut bench), 1, "with nothing to lose it waits for nobody");
    bench.reported();
    bench.offer(&in_stages("90 Mbit/s"));
    let reported = bench.reported();
    assert!(
        reported.len() == 1 && reported[0].contains("other machines apply it first"),
        "{reported:?}"
    );
    let waiting = bench.agent.status()["waiting"].clone();
    assert!(waiting["until"].is_string() && waiting["is_due"] == false, "{waiting}");
    // Another change begins anew.
    bench.later(29 * 60);
    bench.offer(&in_stages("80 Mbit/s"));
    bench.later(29 * 60);
    bench.offer(&in_stages("80 Mbit/s"));
    assert_eq!((version(&mut bench), bench.reported().len()), (1.into(), 1));
    bench.later(60);
    assert_eq!(version(&mut bench), 1, "nobody has looked whether the source still has it");
    assert_eq!(bench.agent.status()["waiting"]["is_due"], true);
    bench.offer(&in_stages("80 Mbit/s"));
    assert_eq!(version(&mut bench), 2);
    assert!(bench.agent.status()["waiting"].is_null());
}

#[test]
fn what_is_taken_back_while_machines_wait_comes_to_none_of_them() {
    let state = tempfile::tempdir().unwrap();
    let mut bench = Bench::at(state.path(), StubPlane::default());
    bench.offer(&in_stages("95 Mbit/s"));
    bench.offer(&in_stages("90 Mbit/s"));
    bench.later(1700);
    bench.offer(&in_stages("95 Mbit/s"));
    assert!(bench.agent.status()["waiting"].is_null());
    bench.offer(&in_stages("90 Mbit/s"));
    bench.later(1700);
    bench.offer(&in_stages("90 Mbit/s"));
    assert_eq!(bench.agent.status()["version"]["number"], 1, "its time has begun anew");
}

#[test]
fn the_first_machines_take_a_version_at_once() {
    let state = tempfile::tempdir().unwrap();
    let mut bench = Bench::at(state.path(), StubPlane::default());
    let first = |rate| {
        in_stages(rate).replacen("[machines.gw1]", "[machines.gw1]\ntags = [\"canary-2\"]", 1)
    };
    bench.offer(&first("95 Mbit/s"));
    bench.offer(&first("90 Mbit/s"));
    assert_eq!(bench.agent.status()["version"]["number"], 2);
}
