//! An agent that runs: its folder, its socket, its end.

use std::io::{Read, Write};
use std::net::SocketAddr;
use std::os::unix::fs::{MetadataExt, symlink};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use shortflow_agent::{
    Ask, AskError, Control, Folder, Listeners, Metrics, Page, Source, StoreError, StubPlane, ask,
    run, watch,
};

use shortflow_console::{Guard, Token};
use shortflow_http::Listener;

use crate::support::shipped;

/// Of the consoles of agents in tests.
pub(crate) const TOKEN: &str = "a-token-of-the-tests";

pub(crate) const FLEET: &str = "[machines.gw1]\ninterfaces.wan = { device = \"eth0\", rate = \"95 Mbit/s\" }\n\n\
                     [[assign]]\npolicy = \"policies/fq-codel.toml\"\n";

/// A device in whose first class wait 11,875 bytes, which take 1 ms at 95 Mbit/s.
fn plane() -> StubPlane {
    let class = |name: &str| json!({ "class": name, "packets": 1000, "dropped": 1, "waiting_bytes": 11_875 });
    let stands =
        json!({ "rate_bit_per_s": 95_000_000, "classes": [class("short"), class("rest")] });
    StubPlane { stands: [("eth0".to_owned(), stands)].into(), ..StubPlane::default() }
}

/// An agent in a folder of its own.
pub(crate) struct Running {
    /// Where it tells its metrics.
    pub(crate) metrics: SocketAddr,
    /// Where its console is.
    pub(crate) console: SocketAddr,
    folder: tempfile::TempDir,
    stop: &'static AtomicBool,
    ends: Option<JoinHandle<Result<(), StoreError>>>,
}

impl Running {
    pub(crate) fn start() -> Running {
        let folder = tempfile::tempdir().unwrap();
        let policies = folder.path().join("fleet/policies");
        std::fs::create_dir_all(&policies).unwrap();
        for name in ["fq-codel.toml", "best-effort.toml"] {
            std::fs::copy(shipped().join(name), policies.join(name)).unwrap();
        }
        std::fs::write(folder.path().join("fleet/fleet.toml"), FLEET).unwrap();
        let stop: &'static AtomicBool = Box::leak(Box::new(AtomicBool::new(false)));
        let (source, state) = (folder.path().join("fleet"), folder.path().join("state"));
        let control = Control::listen(&folder.path().join("agent.sock"), None).unwrap();
        let metrics = Metrics::listen("127.0.0.1:0".parse().unwrap()).unwrap();
        let address = metrics.address().unwrap();
        let token = folder.path().join("token");
        std::fs::write(&token, TOKEN).unwrap();
        let listener = Listener::open("127.0.0.1:0".parse().unwrap()).unwrap();
        let guard = Guard::new(listener.names(), Some(Token::read(&token).unwrap()));
        let console = listener.address().unwrap();
        let listeners =
            Listeners { control, metrics: Some(metrics), page: Some(Page { listener, guard }) };
        let ends = std::thread::spawn(move || {
            let source = Box::new(Folder::new(&source).unwrap());
            run("gw1", source, &state, &listeners, plane(), stop, |_| {})
        });
        Running { metrics: address, console, folder, stop, ends: Some(ends) }
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.folder.path().join("agent.sock")
    }

    pub(crate) fn write(&self, fleet: &str) {
        std::fs::write(self.folder.path().join("fleet/fleet.toml"), fleet).unwrap();
    }

    pub(crate) fn status(&self) -> Value {
        ask(&self.socket(), Ask::Status).unwrap()
    }

    /// Waits until the agent stands as wanted.
    fn until(&self, wanted: impl Fn(&Value) -> bool) -> Value {
        let until = Instant::now() + Duration::from_secs(10);
        loop {
            let status = self.status();
            if wanted(&status) {
                return status;
            }
            assert!(Instant::now() < until, "{status:#}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    pub(crate) fn until_version(&self, number: u64) -> Value {
        self.until(|status| status["version"]["number"] == number)
    }

    pub(crate) fn stop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(ends) = self.ends.take() {
            ends.join().unwrap().unwrap();
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_folder_is_followed_and_half_a_file_is_refused() {
    let mut agent = Running::start();
    let first = agent.until_version(1);
    assert_eq!(first["devices"][0]["wanted"], "\"FQ-CoDel\", 95 Mbit/s");
    agent.write(&FLEET.replace("95", "90"));
    agent.until_version(2);
    agent.write(&FLEET[..40]);
    let refused = agent.until(|status| status["source"]["refused"].is_string());
    assert_eq!(refused["version"]["number"], 2);
    agent.write(&FLEET.replace("95", "80"));
    let status = agent.until_version(3);
    assert_eq!(
        (&status["source"]["refused"], &status["devices"][0]["done"]),
        (&Value::Null, &true.into())
    );
    agent.stop();
    assert!(!agent.socket().exists(), "the socket goes with the agent");
}

#[test]
fn a_policy_that_changes_beside_the_fleet_is_seen() {
    let agent = Running::start();
    agent.until_version(1);
    let policy = agent.folder.path().join("fleet/policies/fq-codel.toml");
    let text = std::fs::read_to_string(&policy).unwrap();
    // As editors write: another file, and a rename.
    let next = policy.with_extension("next");
    std::fs::write(&next, text + "\n# changed\n").unwrap();
    std::fs::rename(&next, &policy).unwrap();
    agent.until_version(2);
}

#[test]
fn a_folder_that_is_exchanged_by_a_link_is_seen() {
    let mut agent = Running::start();
    agent.until_version(1);
    let path = |name: &str| agent.folder.path().join(name);
    std::fs::rename(path("fleet"), path("one")).unwrap();
    agent.until(|status| status["source"]["unreadable"].is_string());
    std::fs::create_dir(path("two")).unwrap();
    copy(&path("one"), &path("two"));
    std::fs::write(path("two/fleet.toml"), FLEET.replace("95", "90")).unwrap();
    symlink(path("two"), path("fleet")).unwrap();
    agent.until_version(2);
    std::fs::write(path("one/fleet.toml"), FLEET.replace("95", "80")).unwrap();
    symlink(path("one"), path("next")).unwrap();
    std::fs::rename(path("next"), path("fleet")).unwrap();
    agent.until_version(3);
    agent.stop();
}

#[test]
fn what_others_do_in_the_folder_around_is_neither_a_change_nor_quiet() {
    let around = tempfile::tempdir().unwrap();
    let fleet = around.path().join("fleet");
    std::fs::create_dir(&fleet).unwrap();
    std::fs::write(fleet.join("fleet.toml"), FLEET).unwrap();
    let mut folder = Folder::new(&fleet).unwrap();
    drop(folder.fetch());
    std::fs::write(around.path().join("other"), "").unwrap();
    let (began, patience) = (Instant::now(), Duration::from_millis(300));
    assert!(!folder.wait(patience));
    assert!(
        began.elapsed() >= patience * 9 / 10,
        "what somebody else does ends no quiet: {:?}",
        began.elapsed()
    );
    std::fs::write(around.path().join("another"), "").unwrap();
    std::fs::write(fleet.join("fleet.toml"), FLEET).unwrap();
    assert!(folder.wait(patience));
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to.join("policies")).unwrap();
    for name in ["fleet.toml", "policies/fq-codel.toml", "policies/best-effort.toml"] {
        std::fs::copy(from.join(name), to.join(name)).unwrap();
    }
}

#[test]
fn one_goes_back_over_the_socket_and_those_who_watch_hear_of_it() {
    let agent = Running::start();
    agent.until_version(1);
    agent.write(&FLEET.replace("fq-codel", "best-effort"));
    agent.until_version(2);
    let socket = agent.socket();
    let watching = std::thread::spawn(move || {
        let mut heard = Vec::new();
        watch(&socket, &AtomicBool::new(false), |event| {
            heard.push(event["what"].as_str().unwrap().to_owned());
            heard.len() < 2
        })
        .map(|()| heard)
    });
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(ask(&agent.socket(), Ask::RollBack(None)).unwrap()["version"], 1);
    assert_eq!(watching.join().unwrap().unwrap(), ["rolled back", "installed"]);
    let status = agent.status();
    assert_eq!(
        (&status["version"]["number"], &status["devices"][0]["policy"]),
        (&1.into(), &"FQ-CoDel".into())
    );
    let refused = ask(&agent.socket(), Ask::RollBack(Some(9))).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the agent refuses: version 9 does not exist; versions 1, 2 are kept"
    );
    assert_eq!(ask(&agent.socket(), Ask::Reload).unwrap()["reading"], true);
}

#[test]
fn who_goes_back_while_something_newer_waits_is_told_that_it_does() {
    let agent = Running::start();
    agent.until_version(1);
    let rollout = "[machines.gw2]\ntags = [\"canary\"]\n[rollout]\nfirst = [\"canary\"]\nafter = \"30 min\"\n";
    agent.write(&format!("{}\n{rollout}", FLEET.replace("95", "90")));
    let waiting = agent.until(|status| status["waiting"].is_object())["waiting"].clone();
    let answer = ask(&agent.socket(), Ask::RollBack(Some(1))).unwrap();
    assert_eq!((&answer["waiting"], &answer["held"]), (&waiting["digest"], &Value::Null));
}

#[test]
fn the_socket_is_for_its_owner_and_answers_whatever_is_written_to_it() {
    let agent = Running::start();
    agent.until_version(1);
    assert_eq!(std::fs::metadata(agent.socket()).unwrap().mode() & 0o777, 0o600);
    let said = |bytes: &[u8]| {
        let mut stream = UnixStream::connect(agent.socket()).unwrap();
        stream.write_all(bytes).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    };
    assert!(said(b"hello\n").starts_with("{\"error\":\"invalid JSON: "));
    assert!(said(&[0xff, b'\n']).contains("invalid JSON"));
    assert_eq!(
        said(&[b'x'; 5000]),
        "{\"error\":\"the request is too large: at most 4096 bytes are allowed\",\"version\":1}\n"
    );
    assert_eq!(said(b""), "");
    let two = said(b"{\"version\":1,\"do\":\"fly\"}\n{\"version\":1,\"do\":\"status\"}\n");
    assert_eq!(two.lines().count(), 2, "a mistake does not end the conversation: {two}");
    assert!(agent.status()["machine"] == "gw1");
}

#[test]
fn who_asks_nothing_shuts_nobody_out() {
    let agent = Running::start();
    agent.until_version(1);
    let watching = std::thread::spawn({
        let socket = agent.socket();
        move || watch(&socket, &AtomicBool::new(false), |event| event["what"] != "stays")
    });
    std::thread::sleep(Duration::from_millis(300));
    let mut silent = Vec::new();
    for _ in 0..300 {
        silent.push(UnixStream::connect(agent.socket()).unwrap());
        if silent.len() % 50 == 0 {
            assert_eq!(agent.status()["machine"], "gw1", "beside {}", silent.len());
        }
    }
    assert_eq!(ask(&agent.socket(), Ask::RollBack(Some(1))).unwrap()["version"], 1);
    watching.join().unwrap().expect("who watches is not silent");
}

#[test]
fn a_socket_that_was_left_behind_is_replaced_and_one_in_use_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("agent.sock");
    std::mem::drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    assert!(path.exists());
    let control = Control::listen(&path, None).unwrap();
    let refused = Control::listen(&path, None).unwrap_err();
    assert_eq!(refused.to_string(), "another agent listens there");
    drop(control);
    assert!(matches!(ask(&path, Ask::Status), Err(AskError::Nobody { .. })));
    assert_eq!(
        Control::listen(&path, Some("no such group")).unwrap_err().to_string(),
        "unknown group `no such group`"
    );
}

#[test]
fn what_is_no_agent_is_neither_waited_for_nor_shown_as_it_comes() {
    use std::os::unix::net::UnixListener;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("agent.sock");
    let listener = UnixListener::bind(&path).unwrap();
    let answers = [
        "{\"version\":1,\"error\":\"no\\u001b]0;owned\\u0007\\u001b[2Jx\"}\n".to_owned(),
        format!("{}\n", "[".repeat(100_000)),
        "{\"version\":1,\"answer\":{\"devices\":\"x\"}}\n".to_owned(),
        "a".repeat(70 << 20),
    ];
    let serving = std::thread::spawn(move || {
        for answer in answers {
            let (mut stream, _) = listener.accept().unwrap();
            // Who hangs up before the request is there is not asked at all.
            assert!(stream.read(&mut [0; 1024]).unwrap() > 0);
            // Who has read enough hangs up.
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    let refused = || ask(&path, Ask::Status).unwrap_err().to_string();
    assert_eq!(refused(), "the agent refuses: no\u{fffd}]0;owned\u{fffd}\u{fffd}[2Jx");
    for _ in 0..2 {
        assert_eq!(refused(), format!("incompatible agent at {}", path.display()));
    }
    assert!(refused().ends_with("sent an answer larger than 64 MB"));
    serving.join().unwrap();
}
