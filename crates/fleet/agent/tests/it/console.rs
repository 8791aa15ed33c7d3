//! An agent on the live console: its versions, a look at another one, there and back; several machines on one page.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use shortflow_agent::{
    Ask, Control, DataPlane, Folder, Installed, Listeners, Overview, Page, StubPlane, Target,
    Trouble, run,
};
use shortflow_console::{Controls, Guard, Token};
use shortflow_http::Listener;

use crate::running::{FLEET, Running, TOKEN};
use crate::support::shipped;

/// A request, and where its answer is read.
fn ask(at: SocketAddr, line: &str, body: &str) -> TcpStream {
    let mut stream = TcpStream::connect(at).unwrap();
    let length = body.len();
    let fields = format!("Content-Type: application/json\r\nAuthorization: Bearer {TOKEN}\r\n");
    let head = format!("{line} HTTP/1.1\r\nHost: {at}\r\n{fields}Content-Length: {length}\r\n\r\n");
    stream.write_all((head + body).as_bytes()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream
}

/// What is answered, without its head.
fn asked(at: SocketAddr, line: &str, body: &str) -> String {
    let mut text = String::new();
    ask(at, line, body).read_to_string(&mut text).unwrap();
    text.split_once("\r\n\r\n").map(|(_, body)| body.to_owned()).unwrap_or(text)
}

/// What an event of this kind says, as soon as that is what is wanted.
fn until_told(at: SocketAddr, event: &str, wanted: impl Fn(&Value) -> bool) -> Value {
    let until = Instant::now() + Duration::from_secs(20);
    let events = BufReader::new(ask(at, "GET /events", ""));
    let mut is_of_this_kind = false;
    for line in events.lines() {
        let line = line.expect("it goes on telling");
        if let Some(kind) = line.strip_prefix("event: ") {
            is_of_this_kind = kind == event;
        } else if let Some(data) = line.strip_prefix("data: ").filter(|_| is_of_this_kind) {
            let value = serde_json::from_str(data).unwrap();
            if wanted(&value) {
                return value;
            }
            assert!(Instant::now() < until, "{value:#}");
        }
    }
    panic!("it ends without {event}");
}

#[test]
fn one_goes_to_an_earlier_version_after_a_look_and_back() {
    let agent = Running::start();
    agent.until_version(1);
    agent.write(&FLEET.replace("95", "90"));
    agent.until_version(2);
    let at = agent.console;
    let about = until_told(at, "about", |about| about["choices"][1]["name"] == "version 1");
    assert_eq!((&about["kind"], &about["title"]), (&json!("agents"), &json!("gw1")));
    assert_eq!(about["choices"][0]["is_current"], true);
    assert_eq!(about["choices"][1]["id"], "0/1");

    let preview: Value = serde_json::from_str(&asked(at, "GET /preview?to=0/1", "")).unwrap();
    let changes = json!(["wan (eth0): change  rate 90 Mbit/s → 95 Mbit/s"]);
    assert_eq!((&preview["changes"], &preview["lines"]), (&changes, &json!([])));
    assert_eq!((&preview["from"], &preview["to"]), (&json!("version 2"), &json!("version 1")));
    assert_eq!(agent.status()["version"]["number"], 2, "a look changes nothing");

    assert_eq!(asked(at, "POST /switch", "{\"to\":\"0/1\"}"), "{}");
    assert_eq!(agent.status()["version"]["number"], 1);
    let about = until_told(at, "about", |about| about["choices"][1]["is_current"] == true);
    assert_eq!(about["choices"][0]["is_before"], true, "there is a way back");
    let reported =
        until_told(at, "snapshot", |reported| reported["places"][0]["version"] == "version 1");
    assert_eq!(
        (&reported["places"][0]["name"], &reported["places"][0]["policy"]),
        (&json!("gw1 eth0"), &json!("FQ-CoDel"))
    );
    assert_eq!(asked(at, "POST /switch", "{\"to\":\"0/2\"}"), "{}");
    assert_eq!(agent.status()["version"]["number"], 2);
}

#[test]
fn a_policy_that_differs_is_shown_line_by_line() {
    let agent = Running::start();
    agent.until_version(1);
    agent.write(&FLEET.replace("fq-codel", "best-effort"));
    agent.until_version(2);
    let preview: Value =
        serde_json::from_str(&asked(agent.console, "GET /preview?to=0/1", "")).unwrap();
    assert_eq!(
        preview["changes"],
        json!(["wan (eth0): change  policy \"Best Effort\" → \"FQ-CoDel\""])
    );
    let lines = preview["lines"].as_array().unwrap();
    let has = |sign: &str, text: &str| {
        lines.iter().any(|line| line["sign"] == sign && line["text"] == text)
    };
    assert!(has("-", "name = \"Best Effort\"") && has("+", "name = \"FQ-CoDel\""), "{preview:#}");
    assert!(
        has("-", "# policies/best-effort.toml") && has("+", "# policies/fq-codel.toml"),
        "{preview:#}"
    );
}

#[test]
fn the_page_warns_of_what_status_warns_of_as_long_as_it_is_so() {
    let agent = Running::start();
    agent.until_version(1);
    let notes = |wanted: &str| {
        let is_there = |about: &Value| about["notes"].to_string().contains(wanted);
        until_told(agent.console, "about", is_there);
    };
    agent.write(&FLEET.replace("95 Mbit/s", "95 Mbits"));
    notes("is refused: error: ");
    notes("(fleet.toml:");
    let state = until_told(agent.console, "snapshot", |reported| {
        reported["places"][0]["problem"]
            .as_str()
            .is_some_and(|problem| problem.contains("is refused"))
    });
    assert_eq!(state["places"][0]["name"], "gw1 eth0");
    agent.write(FLEET);
    until_told(agent.console, "about", |about| about["notes"] == json!([]));
}

#[test]
fn what_is_no_version_is_refused_with_the_reason_and_nothing_changes() {
    let agent = Running::start();
    agent.until_version(1);
    for (to, wanted) in [
        ("0/9", "version 9 does not exist"),
        ("0/+1", "unknown choice `0/+1`"),
        ("0/01", "unknown choice `0/01`"),
        ("+0/1", "unknown choice `+0/1`"),
        ("0/0", "unknown choice `0/0`"),
        ("1/1", "unknown choice `1/1`: write INDEX/NUMBER, "),
        ("1", "as 0/1 for version 1 of the first machine; indices are 0 gw1\""),
    ] {
        let answer = asked(agent.console, "POST /switch", &json!({ "to": to }).to_string());
        assert!(answer.contains(wanted), "{to}: {answer}");
    }
    let answer = asked(agent.console, "POST /pace", "{\"speed\":4}");
    assert!(answer.contains("the console of an agent cannot control time"), "{answer}");
    assert_eq!(agent.status()["version"]["number"], 1);
}

#[test]
fn after_a_start_the_way_back_is_the_one_that_the_command_takes() {
    let mut agent = Running::start();
    agent.until_version(1);
    agent.write(&FLEET.replace("95", "90"));
    agent.until_version(2);
    let overview = Overview::of_sockets(&[agent.socket()]);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| overview.run(&stop));
        let until = Instant::now() + Duration::from_secs(20);
        while overview.hub().about().choices.is_empty() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(50));
        }
        stop.store(true, Ordering::Relaxed);
    });
    let before: Vec<bool> = overview.hub().about().choices.iter().map(|it| it.is_before).collect();
    assert_eq!(before, [false, true], "nobody has looked while version 1 counted");
    agent.stop();
}

/// A device on which each installation begins and ends when a test wants it to.
struct Slow(Sender<()>, Receiver<()>, StubPlane);

impl DataPlane for Slow {
    fn install(&mut self, target: &Target) -> Result<Installed, Trouble> {
        let gone = |_| Trouble("the test is over".to_owned());
        self.0.send(()).map_err(|error| gone(error.to_string()))?;
        self.1.recv().map_err(|error| gone(error.to_string()))?;
        self.2.install(target)
    }

    fn is_deployed(&mut self, target: &Target) -> Result<bool, Trouble> {
        self.2.is_deployed(target)
    }

    fn remove(&mut self, device: &str) -> Result<(), Trouble> {
        self.2.remove(device)
    }

    fn status(&mut self, device: &str) -> Result<Value, Trouble> {
        self.2.status(device)
    }
}

#[test]
fn a_switch_that_is_under_way_when_the_agent_is_to_stop_is_ended_and_answered() {
    const PATIENCE: Duration = Duration::from_secs(20);
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::create_dir_all(path("fleet/policies")).unwrap();
    std::fs::copy(shipped().join("fq-codel.toml"), path("fleet/policies/fq-codel.toml")).unwrap();
    std::fs::write(path("fleet/fleet.toml"), FLEET).unwrap();
    std::fs::write(path("token"), TOKEN).unwrap();
    let stop: &'static AtomicBool = Box::leak(Box::new(AtomicBool::new(false)));
    let listener = Listener::open("127.0.0.1:0".parse().unwrap()).unwrap();
    let at = listener.address().unwrap();
    let guard = Guard::new(listener.names(), Some(Token::read(&path("token")).unwrap()));
    let control = Control::listen(&path("agent.sock"), None).unwrap();
    let listeners = Listeners { control, metrics: None, page: Some(Page { listener, guard }) };
    let ((begins, begun), (end, ends)) = (channel(), channel());
    let (source, state) = (path("fleet"), path("state"));
    let agent = std::thread::spawn(move || {
        let source = Box::new(Folder::new(&source).unwrap());
        let plane = Slow(begins, ends, StubPlane::default());
        run("gw1", source, &state, &listeners, plane, stop, |_| {})
    });
    let installs = |number: u64| {
        begun.recv_timeout(PATIENCE).unwrap_or_else(|_| panic!("version {number} is installed"));
    };
    installs(1);
    end.send(()).unwrap();
    std::fs::write(path("fleet/fleet.toml"), FLEET.replace("95", "90")).unwrap();
    installs(2);
    end.send(()).unwrap();
    let switched = std::thread::spawn(move || asked(at, "POST /switch", "{\"to\":\"0/1\"}"));
    installs(1);
    // One more asks for what is not begun any more.
    let socket = path("agent.sock");
    let late = std::thread::spawn(move || shortflow_agent::ask(&socket, Ask::RollBack(Some(2))));
    std::thread::sleep(Duration::from_millis(300));
    stop.store(true, Ordering::Relaxed);
    std::thread::sleep(Duration::from_millis(700));
    end.send(()).unwrap();
    assert_eq!(switched.join().unwrap(), "{}");
    let late = late.join().unwrap().unwrap_err().to_string();
    assert_eq!(late, "the agent refuses: the agent is stopping and did not start this request");
    agent.join().unwrap().unwrap();
}

#[test]
fn several_machines_are_on_one_page_and_one_that_is_gone_says_so() {
    let agent = Running::start();
    agent.until_version(1);
    let overview = Overview::of_sockets(&[agent.socket(), PathBuf::from("/nowhere/gw2.sock")]);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| overview.run(&stop));
        let until = Instant::now() + Duration::from_secs(20);
        while overview.hub().about().choices.is_empty() {
            assert!(Instant::now() < until);
            std::thread::sleep(Duration::from_millis(50));
        }
        let about = overview.hub().about();
        assert_eq!((about.title.as_str(), about.choices[0].id.as_str()), ("2 machines", "0/1"));
        let refused = overview.preview("1/1").unwrap_err().to_string();
        assert!(refused.starts_with("no agent answers at /nowhere/gw2.sock"), "{refused}");
        stop.store(true, Ordering::Relaxed);
    });
}
