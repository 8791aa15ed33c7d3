//! A console over a replay of a small comparison.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use shortflow_console::{Guard, Replay, Token, serve};
use shortflow_http::Door;
use shortflow_run::{Case, Experiment, OutputFolder};
use shortflow_scenario::Overrides;
use shortflow_sim::{LiveNetwork, Simulator};

pub(crate) const TOKEN: &str = "a-token-of-the-tests";

/// The folder of the repository.
pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Compares two policies over 20 seconds of a scenario, into a folder.
pub(crate) fn compared(into: &Path) {
    let policies = ["policies/best-effort.toml", "policies/fair-marker.toml"];
    let case = |policy: &&str| {
        let set = [("duration", "20 s"), ("warm_up", "2 s"), ("drain", "5 s"), ("replicas", "1")];
        let set = set.map(|(key, value)| (key.to_owned(), value.to_owned())).to_vec();
        let policy = Some(repository().join(policy));
        let overrides = Overrides { policy, set, bind: Vec::new() };
        Case::load(&Simulator, &repository().join("scenarios/contract.toml"), &overrides).unwrap()
    };
    let places = policies.map(str::to_owned);
    let cases = Case::beside(policies.iter().map(case).collect(), &places).unwrap();
    let output = OutputFolder::prepare(into, false).unwrap();
    let experiment = Experiment {
        cases: &cases,
        threads: 1,
        keeps_transfers: false,
        tcp_info: None,
        tap: None,
        command: "shortflow compare",
    };
    let results = experiment.run(&output, &AtomicBool::new(false), &()).unwrap();
    output.write(&cases, &results).unwrap();
    output.publish().unwrap();
}

/// Does something while the console of a replay at this speed is served at an address of this kind.
pub(crate) fn with_replay(speed: f64, act: impl FnOnce(SocketAddr, &Replay<'_>)) {
    let folder = tempfile::tempdir().unwrap();
    let into = folder.path().join("compared");
    compared(&into);
    let replay = Replay::open(&into, (0, 0), &Simulator, LiveNetwork::ports_to_watch).unwrap();
    let door = Door::open("127.0.0.1:0".parse().unwrap()).unwrap();
    let guard = Guard::new(door.names(), Some(token()));
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| replay.run(speed, &over));
        scope.spawn(|| serve(&door, &guard, replay.hub(), &replay, &over));
        let _over = Over(&over);
        act(door.address().unwrap(), &replay);
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
