//! Somebody goes back while the source is being read, or before what they have ordered is taken.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use shortflow_agent::{
    Agent, Ask, Control, DEFAULT_SOCKET, Fetched, Listeners, NotFetched, PublishError, Source,
    Store, StubPlane, Verdict, ask, run,
};

use crate::support::bundle;

/// A fleet of this rate; gw1 waits until gw2 has had a version for half an hour.
fn in_stages(rate: &str) -> String {
    format!("{}\n[rollout]\nfirst = [\"canary\"]\nafter = \"30 min\"\n", at_once(rate))
}

/// A fleet of this rate, of which all machines take a version at once.
fn at_once(rate: &str) -> String {
    format!(
        "[machines.gw1]\ninterfaces.wan = {{ device = \"eth0\", rate = \"{rate}\" }}\n\
         [machines.gw2]\ntags = [\"canary\"]\n\n\
         [[assign]]\npolicy = \"policies/fq-codel.toml\"\ninterfaces = [\"*\"]\n"
    )
}

fn read(fleet: &str) -> Result<Fetched, NotFetched> {
    let bundle = bundle(fleet, &[]);
    Ok(Fetched { bundle, who: "alice".to_owned(), verdicts: Vec::new() })
}

fn agent(state: &Path) -> Agent<StubPlane> {
    let (store, socket) = (Store::open(state).unwrap(), Path::new(DEFAULT_SOCKET));
    let (plane, tell) = (StubPlane::default(), Box::new(|_: &_| ()));
    Agent::start(Instant::now(), "gw1", "a test", socket, store, plane, tell)
}

fn number(agent: &mut Agent<StubPlane>) -> u64 {
    agent.status()["version"]["number"].as_u64().unwrap()
}

#[test]
fn what_began_to_be_read_before_somebody_went_back_takes_nothing_and_is_read_anew() {
    let state = tempfile::tempdir().unwrap();
    let mut agent = agent(state.path());
    let now = Instant::now();
    assert!(agent.offer(now, 0, read(&at_once("95 Mbit/s"))));
    assert!(agent.offer(now, 0, read(&at_once("90 Mbit/s"))));
    let begun = agent.returns().count();
    agent.roll_back(now, None, "bob").unwrap();
    // Both what was gone back from and what nobody has seen yet.
    for rate in ["90 Mbit/s", "85 Mbit/s"] {
        assert!(!agent.offer(now, begun, read(&at_once(rate))), "{rate} is to be read anew");
        assert_eq!(number(&mut agent), 1, "{rate}");
    }
    let begun = agent.returns().count();
    assert!(agent.offer(now, begun, read(&at_once("90 Mbit/s"))));
    assert_eq!(number(&mut agent), 1, "it stays held off");
    assert!(agent.offer(now, begun, read(&at_once("85 Mbit/s"))));
    assert_eq!(number(&mut agent), 3, "something else is taken");
}

#[test]
fn an_order_to_take_what_waits_ends_when_somebody_goes_back_before_it_is_taken() {
    let state = tempfile::tempdir().unwrap();
    let mut agent = agent(state.path());
    let now = Instant::now();
    assert!(agent.offer(now, 0, read(&in_stages("95 Mbit/s"))));
    assert!(agent.offer(now, 0, read(&in_stages("90 Mbit/s"))));
    assert!(agent.status()["waiting"].is_object());
    agent.resume("bob").unwrap();
    agent.roll_back(now, Some(1), "bob").unwrap();
    let status = agent.status();
    assert!(status["waiting"].is_null() && status["held"].is_string(), "{status:#}");
    let begun = agent.returns().count();
    for _ in 0..2 {
        assert!(agent.offer(now + Duration::from_secs(3600), begun, read(&in_stages("90 Mbit/s"))));
        assert_eq!(number(&mut agent), 1);
    }
    agent.resume("bob").unwrap();
    assert!(agent.offer(now, begun, read(&in_stages("90 Mbit/s"))));
    assert_eq!((number(&mut agent), agent.status()["held"].is_null()), (2, true));
}

#[test]
fn all_that_somebody_has_gone_back_from_one_after_the_other_stays_held_off() {
    let state = tempfile::tempdir().unwrap();
    let mut agent = agent(state.path());
    let now = Instant::now();
    for rate in ["95 Mbit/s", "90 Mbit/s", "85 Mbit/s"] {
        assert!(agent.offer(now, 0, read(&at_once(rate))));
    }
    agent.roll_back(now, None, "bob").unwrap();
    agent.roll_back(now, None, "bob").unwrap();
    for rate in ["85 Mbit/s", "90 Mbit/s"] {
        assert!(agent.offer(now, 2, read(&at_once(rate))));
        assert_eq!((number(&mut agent), agent.status()["held"].is_string()), (1, true), "{rate}");
    }
}

/// A source of which each reading begins and ends when a test wants it to.
struct Slow {
    begins: Sender<()>,
    ends: Receiver<String>,
}

impl Source for Slow {
    fn name(&self) -> String {
        "a slow source".to_owned()
    }

    fn fetch(&mut self) -> Result<Fetched, NotFetched> {
        let over = |_| "the test is over".to_owned();
        self.begins.send(()).map_err(|error| over(error.to_string()))?;
        let fleet = self.ends.recv().map_err(|error| over(error.to_string()))?;
        read(&fleet)
    }

    fn wait(&mut self, patience: Duration) -> bool {
        std::thread::sleep(patience);
        false
    }

    fn tell(&mut self, _: &Verdict) -> Result<(), PublishError> {
        Ok(())
    }
}

#[test]
fn a_slow_reading_that_an_order_began_does_not_undo_that_somebody_went_back_meanwhile() {
    const PATIENCE: Duration = Duration::from_secs(20);
    let folder = tempfile::tempdir().unwrap();
    let (state, socket) = (folder.path().join("state"), folder.path().join("agent.sock"));
    let stop: &'static AtomicBool = Box::leak(Box::new(AtomicBool::new(false)));
    let control = Control::listen(&socket, None).unwrap();
    let listeners = Listeners { control, metrics: None, page: None };
    let ((begins, begun), (end, ends)) = (channel(), channel());
    let (tell, events) = channel();
    let agent = std::thread::spawn(move || {
        let tell = move |event: &shortflow_agent::Event| drop(tell.send(event.what.to_string()));
        let source = Box::new(Slow { begins, ends });
        run("gw1", source, &state, &listeners, StubPlane::default(), stop, tell)
    });
    let until = |begin: &str| loop {
        let events = events.recv_timeout(PATIENCE).expect(begin);
        assert!(!events.starts_with("applied version 3"), "{events}");
        if events.starts_with(begin) {
            return;
        }
    };
    let begins = || begun.recv_timeout(PATIENCE).expect("a reading begins");
    let ends = |rate: &str| end.send(at_once(rate)).unwrap();
    begins();
    ends("95 Mbit/s");
    until("applied version 1 ");
    ask(&socket, Ask::Reload).unwrap();
    begins();
    ends("90 Mbit/s");
    until("applied version 2 ");
    assert_eq!(ask(&socket, Ask::RollBack(None)).unwrap()["reading"], false);
    until("rolled back from version 2 to 1");
    ask(&socket, Ask::Resume).unwrap();
    until("");
    begins();
    // The reading is under way, and has another text still when it ends.
    let answer = ask(&socket, Ask::RollBack(Some(1))).unwrap();
    assert_eq!(answer["reading"], true, "something newer may come of it: {answer}");
    ends("85 Mbit/s");
    until("version 1 stays active");
    // It is read once more, by itself, and by then has what was gone back from.
    begins();
    ends("90 Mbit/s");
    ask(&socket, Ask::Reload).unwrap();
    begins();
    let status = ask(&socket, Ask::Status).unwrap();
    assert_eq!((&status["version"]["number"], status["held"].is_string()), (&1.into(), true));
    stop.store(true, Ordering::Relaxed);
    drop(end);
    agent.join().unwrap().unwrap();
}
