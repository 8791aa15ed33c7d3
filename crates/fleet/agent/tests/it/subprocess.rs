//! A source that is read by a process of its own: here a shell, which does what it is told to.

use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use shortflow_agent::{
    Bundle, FLEET, Fetched, NotFetched, PublishError, Source, Subprocess, Verdict, serve,
};

/// Nobody asks to stop.
static GOES_ON: AtomicBool = AtomicBool::new(false);

/// A source whose process is this script.
fn apart(script: &str) -> Subprocess {
    until(script, &GOES_ON)
}

fn until(script: &str, stop: &'static AtomicBool) -> Subprocess {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    Subprocess::new("it".to_owned(), command, stop)
}

fn fetched() -> Fetched {
    let bundle = Bundle::new([(FLEET.to_owned(), "[machines.gw1]\n".to_owned())]);
    Fetched { bundle, who: "alice".to_owned(), verdicts: Vec::new() }
}

/// Has this at once, and rings after the second question.
struct Ready(u32);

impl Source for Ready {
    fn name(&self) -> String {
        "ready".to_owned()
    }

    fn fetch(&mut self) -> Result<Fetched, NotFetched> {
        self.0 += 1;
        if self.0 == 1 { Ok(fetched()) } else { Err("one \"no\"\nof two lines".to_owned().into()) }
    }

    fn wait(&mut self, patience: Duration) -> bool {
        patience > Duration::from_millis(5)
    }

    fn tell(&mut self, verdict: &Verdict) -> Result<(), PublishError> {
        let refused = || PublishError::Refused("no machine listens".to_owned());
        if verdict.is_worse { Err(refused()) } else { Ok(()) }
    }
}

#[test]
fn what_a_process_serves_is_what_the_other_gets() {
    let said = |is_worse: bool| Verdict {
        machine: "gw1".to_owned(),
        digest: "51ac27cbd00c".to_owned(),
        is_worse,
        why: "by a test".to_owned(),
    };
    let tell = |is_worse: bool| {
        format!(
            "{{\"Tell\":{{\"machine\":\"gw1\",\"digest\":\"51ac27cbd00c\",\"is_worse\":{is_worse},\"why\":\"by a test\"}}}}\n"
        )
    };
    let questions = "\"Fetch\"\n{\"Wait\":{\"secs\":0,\"nanos\":4000000}}\n\"Fetch\"\n{\"Wait\":{\"secs\":1,\"nanos\":0}}\n";
    let questions = format!("{questions}{}{}", tell(false), tell(true));
    let mut answers = Vec::new();
    serve(&mut Ready(0), questions.as_bytes(), &mut answers).unwrap();
    let answers = String::from_utf8(answers).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let (spoken, heard) = (folder.path().join("answers"), folder.path().join("questions"));
    std::fs::write(&spoken, answers).unwrap();
    // A line is answered for each that is asked.
    let script = format!(
        "exec 3<{}; while read -r asked; do echo \"$asked\" >>{}; read -r line <&3; printf '%s\\n' \"$line\"; done",
        spoken.display(),
        heard.display()
    );
    let mut source = apart(&script);
    assert_eq!(source.fetch(), Ok(fetched()));
    assert!(!source.wait(Duration::from_millis(4)));
    assert_eq!(source.fetch(), Err("one \"no\"\nof two lines".to_owned().into()));
    assert!(source.wait(Duration::from_secs(1)));
    source.tell(&said(false)).unwrap();
    assert_eq!(source.tell(&said(true)).unwrap_err().to_string(), "no machine listens");
    assert_eq!(std::fs::read_to_string(heard).unwrap(), questions);
}

#[test]
fn a_process_that_comes_to_harm_is_told_and_another_is_started_after_a_while() {
    let folder = tempfile::tempdir().unwrap();
    let started = folder.path().join("started");
    let mut source = apart(&format!("echo >>{}; read -r asked; kill -ABRT $$", started.display()));
    let why = source.fetch().unwrap_err().to_string();
    assert!(why.starts_with("the reader process has ended (signal: 6 (SIGABRT)"), "{why}");
    assert!(why.ends_with("; its memory limit is 512 MB)"), "{why}");
    assert_eq!(source.fetch(), Err(why.into()), "it is not started again at once");
    let began = Instant::now();
    while !source.wait(Duration::from_millis(50)) {}
    assert!(began.elapsed() > Duration::from_millis(500), "{:?}", began.elapsed());
    assert!(source.fetch().is_err());
    assert_eq!(std::fs::read_to_string(started).unwrap(), "\n\n");
}

#[test]
fn who_asks_for_it_has_another_process_started_at_once_and_a_server_asked_that_was_gone() {
    let folder = tempfile::tempdir().unwrap();
    let heard = folder.path().join("heard");
    let script =
        format!("while read -r asked; do echo \"$asked\" >>{}; exit 3; done", heard.display());
    let mut source = apart(&script);
    for _ in 0..3 {
        assert!(source.fetch().is_err());
    }
    source.hurry();
    assert!(source.fetch().is_err());
    assert!(source.fetch().is_err(), "asked for once, it is done once");
    let heard = std::fs::read_to_string(heard).unwrap();
    assert_eq!(heard, "\"Fetch\"\n\"FetchAtOnce\"\n");
    let mut answers = Vec::new();
    let mut gone = Gone { is_hurried: false };
    serve(&mut gone, "\"FetchAtOnce\"\n".as_bytes(), &mut answers).unwrap();
    assert!(gone.is_hurried);
}

/// Cannot be reached.
struct Gone {
    is_hurried: bool,
}

impl Source for Gone {
    fn name(&self) -> String {
        "gone".to_owned()
    }

    fn hurry(&mut self) {
        self.is_hurried = true;
    }

    fn fetch(&mut self) -> Result<Fetched, NotFetched> {
        Err("it is gone".to_owned().into())
    }

    fn wait(&mut self, _: Duration) -> bool {
        false
    }

    fn tell(&mut self, _: &Verdict) -> Result<(), PublishError> {
        Ok(())
    }
}

#[test]
fn a_process_that_answers_something_else_is_not_believed() {
    for (script, wanted) in [
        ("read -r asked; echo what", "the reader process sent an invalid answer: expected value"),
        ("read -r asked; echo '{\"Rings\":true}'", "unexpected answer of the reader process"),
        (
            "read -r asked; exec tr '\\0' x </dev/zero",
            "the reader process sent an answer larger than 67108864 bytes",
        ),
        ("exit 3", "the reader process has ended (exit status: 3)"),
    ] {
        let why = apart(script).fetch().unwrap_err().to_string();
        assert!(why.starts_with(wanted), "{script}: {why}");
    }
}

#[test]
fn the_process_ends_with_the_source() {
    let folder = tempfile::tempdir().unwrap();
    let pid = folder.path().join("pid");
    let mut source = apart(&format!(
        "echo $$ >{}; while read -r asked; do echo '{{\"Rings\":false}}'; done; exec sleep 600",
        pid.display()
    ));
    assert!(!source.wait(Duration::ZERO));
    let process = format!("/proc/{}", std::fs::read_to_string(pid).unwrap().trim());
    assert!(std::path::Path::new(&process).exists());
    drop(source);
    assert!(!std::path::Path::new(&process).exists());
}

#[test]
fn who_is_to_stop_waits_for_no_answer() {
    static STOP: AtomicBool = AtomicBool::new(false);
    let began = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(300));
            STOP.store(true, Ordering::Relaxed);
        });
        let why = until("exec sleep 600", &STOP).fetch().unwrap_err().to_string();
        assert_eq!(why, "the reader process is no longer needed");
    });
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
}
