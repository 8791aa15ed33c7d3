//! Many rehearsals one after another.

use std::time::{Duration, Instant};

use shortflow_rehearse::{
    End, HostProgram, HostPrograms, InteractiveRehearsal, ProgramObserver, Rehearsal, Streams,
    Terminal,
};
use shortflow_run::{Engine, Error, Observers, Task};
use shortflow_scenario::{NodeId, Scenario};

use crate::machine;
use crate::real::line;

/// Says nothing to anybody.
struct Quiet;

impl ProgramObserver for Quiet {
    fn note(&self, _: &str) {}

    fn streams(&self, _: usize) -> std::io::Result<Streams> {
        let [input, output, errors] = [(); 3].map(|()| std::process::Stdio::null());
        Ok(Streams { input, output, errors, terminal: Terminal::None })
    }

    fn ended(&self, _: usize, _: std::process::ExitStatus, _: End) {}
}

/// What a process has of what can leak.
#[derive(Debug)]
struct Holds {
    descriptors: usize,
    threads: usize,
    children: usize,
}

impl Holds {
    fn now() -> Holds {
        let count = |folder: &str| std::fs::read_dir(folder).unwrap().count();
        let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
        let children = tasks.filter_map(|task| {
            let text = std::fs::read_to_string(task.path().join("children")).ok()?;
            Some(text.split_whitespace().count())
        });
        Holds {
            descriptors: count("/proc/self/fd"),
            threads: count("/proc/self/task"),
            children: children.sum(),
        }
    }
}

/// KiB of memory that the process has for itself.
fn memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("RssAnon:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// Network namespaces of the machine, as its kernel counts them; none where that is not told.
fn namespaces() -> Option<u64> {
    let table = std::fs::read_to_string("/proc/slabinfo").ok()?;
    let line = table.lines().find(|line| line.starts_with("net_namespace "))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// Runs a scenario with a program in its first host that leaves another behind.
fn run(scenario: &Scenario) -> Result<(), Error> {
    let command = ["/bin/sh", "-c", "setsid sleep 60 & sleep 60"].map(Into::into).into();
    let all = [HostProgram { host: NodeId(0), command }];
    let programs = Some(HostPrograms { all: &all, audience: &Quiet });
    let engine = InteractiveRehearsal { rehearsal: Rehearsal::default(), programs, monitor: None };
    let observers = Observers { transfers: None, tap: None, tcp_info: None, look: &mut |_| true };
    engine.run(&Task { scenario, replica: 0 }, observers).map(|_| ())
}

#[test]
fn a_hundred_rehearsals_leak_nothing() {
    let _machine = machine();
    let mut scenario = line(r#"file.bulk = { from = "server", to = "client" }"#);
    scenario.duration = shortflow_units::Duration::from_millis(30);
    match run(&scenario) {
        Ok(()) => {}
        Err(Error::Machine(lacking)) if std::env::var_os("CI").is_none() => {
            return eprintln!("skipped: needs hosts: {lacking}");
        }
        Err(error) => panic!("{error}"),
    }
    // The first few fill what is kept for later, such as the allocator's pools.
    (0..9).for_each(|_| run(&scenario).unwrap());
    let (before, spaces_before) = (Holds::now(), namespaces());
    // A leak grows with every rehearsal, and so in each third; other tests of this process grow when they like.
    let grown = [(); 3].map(|()| {
        let memory_before = memory();
        (0..30).for_each(|_| run(&scenario).unwrap());
        memory().saturating_sub(memory_before)
    });
    let after = Holds::now();
    // Other tests of this process come and go; whatever each rehearsal left would be there ninety times.
    let few = |now: usize, before: usize| now < before + 20;
    assert!(few(after.descriptors, before.descriptors), "{after:?}, {before:?} before");
    assert!(few(after.threads, before.threads), "{after:?}, {before:?} before");
    assert!(few(after.children, before.children), "{after:?}, {before:?} before");
    assert!(grown.into_iter().min() < Some(1024), "{grown:?} KiB more");
    // The kernel takes its time. Others may make some of their own.
    let begun = Instant::now();
    while let (Some(before), Some(now)) = (spaces_before, namespaces())
        && now > before + 60
    {
        assert!(begun.elapsed() < Duration::from_secs(30), "{now} namespaces, {before} before");
        std::thread::sleep(Duration::from_millis(100));
    }
}
