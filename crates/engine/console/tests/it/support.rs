//! A console over a replay of a small comparison.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use shortflow_console::{
    About, Change, Choice, ControlError, Controls, Guard, Hub, Kind, Place, Preview, Replay, Role,
    Snapshot, Stream, Token, serve,
};
use shortflow_http::{Listener, Names};
use shortflow_measure::View;
use shortflow_run::{Case, Experiment, Origin, OutputFolder, Shard, numbers_in};
use shortflow_scenario::Overrides;
use shortflow_sim::{LiveNetwork, Simulator};

pub(crate) const TOKEN: &str = "a-token-of-the-tests";

/// The folder of the repository.
pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

/// Compares two policies over 20 seconds of a scenario, into a folder.
pub(crate) fn compared(into: &Path) {
    let policies = ["policies/best-effort.toml", "policies/fair-marker.toml"];
    let case = |policy: &&str| {
        let set = [("duration", "20 s"), ("warm_up", "2 s"), ("drain", "5 s"), ("replicas", "1")];
        let set = set.map(|(key, value)| (key.to_owned(), value.to_owned())).to_vec();
        let policy = Some(repository().join(policy));
        let overrides = Overrides { policy, set, ..Overrides::default() };
        Case::load(&Simulator, &repository().join("scenarios/contract.toml"), &overrides).unwrap()
    };
    let places = policies.map(str::to_owned);
    let cases = Case::beside(policies.iter().map(case).collect(), &places).unwrap();
    let output = OutputFolder::prepare(into, false).unwrap();
    let experiment = Experiment {
        cases: &cases,
        numbers: &numbers_in(Shard::default(), &cases[0].loaded),
        threads: 1,
        keeps_transfers: false,
        tcp_info: None,
        tap: None,
        origin: Origin { version: "0", command: "shortflow compare" },
    };
    let results = experiment.run(&output, &AtomicBool::new(false), &()).unwrap();
    output.write(&cases, &View::new(&results.runs)).unwrap();
    output.publish().unwrap();
}

/// Does something while the console of a replay at this speed is served at an address of this kind.
pub(crate) fn with_replay(speed: f64, act: impl FnOnce(SocketAddr, &Replay<'_>)) {
    let folder = tempfile::tempdir().unwrap();
    let into = folder.path().join("compared");
    compared(&into);
    let replay = Replay::open(&into, (0, 0), &Simulator, LiveNetwork::ports_to_watch).unwrap();
    let listener = Listener::open("127.0.0.1:0".parse().unwrap()).unwrap();
    let guard = Guard::new(listener.names(), Some(token()));
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| replay.run(speed, &over));
        scope.spawn(|| serve(&listener, &guard, replay.hub(), &replay, &over));
        let _over = Over(&over);
        act(listener.address().unwrap(), &replay);
    });
}

/// Somebody who does what the page asks for, over three versions of a machine.
struct Machine<'h>(&'h Hub);

impl Controls for Machine<'_> {
    fn preview(&self, to: &str) -> Result<Preview, ControlError> {
        let choices = self.0.about().choices;
        let from = choices.iter().find(|choice| choice.is_current).unwrap().name.clone();
        let changes = vec![format!("wan (eth0): change  policy {}", "a-very-long-name".repeat(12))];
        Ok(Preview { from, to: to.to_owned(), changes, lines: Vec::new() })
    }

    fn act(&self, change: Change) -> Result<(), ControlError> {
        let Change::Switch(to) = change else {
            return Err(ControlError::Unsupported("time passes by itself"));
        };
        count(self.0, &to);
        Ok(())
    }
}

/// Lets another version count, as somebody does at the machine.
pub(crate) fn count(hub: &Hub, to: &str) {
    hub.change(|about| {
        for choice in &mut about.choices {
            choice.is_before = choice.is_current;
            choice.is_current = choice.id == to;
        }
    });
}

/// A snapshot of a machine's device, as an agent tells it, under a policy of these classes: the first is served first, the
/// last is the bulk, and each packet waits a millisecond.
pub(crate) fn snapshot(at_s: f64, policy: &str, classes: &[&str]) -> Snapshot {
    let stream = |(at, name): (usize, &&str)| Stream {
        name: (*name).to_owned(),
        role: match at {
            0 => Role::Interactive,
            _ if at + 1 == classes.len() => Role::Bulk,
            _ => Role::Class,
        },
        delay_s: Some(0.001),
        rate_bit_per_s: Some(1e6),
        dropped: 1,
        waiting: Some(3),
        ..Stream::default()
    };
    let place = Place {
        name: "gw1 eth0".to_owned(),
        machine: Some("gw1".to_owned()),
        policy: Some(policy.to_owned()),
        version: Some("version 2".to_owned()),
        rate_bit_per_s: Some(1e7),
        streams: classes.iter().enumerate().map(stream).collect(),
        ..Place::default()
    };
    Snapshot { at_s, places: vec![place] }
}

/// Does something while the console of a machine is served, of whose versions somebody with this name is the author.
pub(crate) fn with_machine(author: &str, token: Option<Token>, act: impl FnOnce(SocketAddr, &Hub)) {
    with_machine_at("127.0.0.1:0".parse().unwrap(), author, token, act);
}

/// The same at this address, which another has left.
pub(crate) fn with_machine_at(
    address: SocketAddr,
    author: &str,
    token: Option<Token>,
    act: impl FnOnce(SocketAddr, &Hub),
) {
    let choice = |number: u64| Choice {
        id: format!("0/{number}"),
        name: format!("version {number}"),
        detail: format!("2026-11-26 02:10, {author}, 51ac27cbd00c"),
        machine: Some("gw1".to_owned()),
        is_current: number == 2,
        is_before: number == 1,
    };
    let hub = Hub::new(About {
        kind: Kind::Agents,
        title: "gw1".to_owned(),
        run: 1,
        interval_s: 1.0,
        delay: "what the queue says".to_owned(),
        notes: Vec::new(),
        choices: [3, 2, 1].map(choice).into(),
        pace: None,
    });
    let listener = Listener::open(address).unwrap();
    let guard = Guard::new(listener.names(), token);
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| serve(&listener, &guard, &hub, &Machine(&hub), &over));
        let _over = Over(&over);
        act(listener.address().unwrap(), &hub);
    });
}

/// Somebody at an address that others reach, too; here one of loopback stands for it.
pub(crate) fn for_others(act: impl FnOnce(SocketAddr)) {
    let folder = tempfile::tempdir().unwrap();
    compared(&folder.path().join("compared"));
    let path = folder.path().join("compared");
    let replay = Replay::open(&path, (0, 0), &Simulator, LiveNetwork::ports_to_watch).unwrap();
    let listener = Listener::open("0.0.0.0:0".parse().unwrap()).unwrap();
    assert_eq!(listener.names(), Names::Addresses);
    let guard = Guard::new(listener.names(), Some(token()));
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| serve(&listener, &guard, replay.hub(), &replay, &over));
        let _over = Over(&over);
        act(SocketAddr::from(([127, 0, 0, 1], listener.address().unwrap().port())));
    });
}

/// The token of the tests.
pub(crate) fn token() -> Token {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("token");
    std::fs::write(&path, TOKEN).unwrap();
    Token::read(&path).unwrap()
}

/// Ends what runs beside a test, however the test ends.
pub(crate) struct Over<'o>(pub(crate) &'o AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// What is answered to a request with these lines of its head, besides its Host; of a live answer the first part.
pub(crate) fn asked(at: SocketAddr, line: &str, fields: &[&str], body: &str) -> String {
    let mut stream = TcpStream::connect(at).unwrap();
    let fields: String = fields.iter().map(|field| format!("{field}\r\n")).collect();
    let length = body.len();
    let head = format!("{line} HTTP/1.1\r\nHost: {at}\r\n{fields}Content-Length: {length}\r\n\r\n");
    stream.write_all((head + body).as_bytes()).unwrap();
    stream.set_read_timeout(Some(Duration::from_millis(1500))).unwrap();
    let (mut answer, mut chunk) = (Vec::new(), [0; 4096]);
    while let Ok(read @ 1..) = stream.read(&mut chunk) {
        answer.extend_from_slice(&chunk[..read]);
        if line.ends_with("/events") && answer.len() > 5000 {
            break;
        }
    }
    String::from_utf8(answer).unwrap()
}
