//! The user's own programs inside hosts, which run during the scenario's traffic.

use std::ffi::OsString;
use std::io;
use std::net::IpAddr;
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use shortflow_run::Error;
use shortflow_scenario::{NodeId, NodeKind, Scenario};
use shortflow_testbed::{Host, Program, ProgramSpec, Streams, User};

use crate::kernel;
use crate::traffic::Place;

/// A program that runs inside a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostProgram {
    /// The host.
    pub host: NodeId,
    /// The program, and its arguments.
    pub command: Vec<OsString>,
}

/// Who hears of programs.
pub trait ProgramObserver: Sync {
    /// Notes before programs start.
    fn note(&self, what: &str);

    /// What program number `program` reads and writes.
    ///
    /// # Errors
    /// When the machine does not make a pipe.
    fn streams(&self, program: usize) -> io::Result<Streams>;

    /// A program has ended.
    fn ended(&self, program: usize, status: ExitStatus, end: End);
}

/// Why a program has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// By itself.
    Own,
    /// Because the rehearsal did.
    WithRehearsal,
}

/// What programs have that do not choose.
const CONGESTION_CONTROL: &str = "/proc/sys/net/ipv4/tcp_congestion_control";

/// The programs of a rehearsal.
#[derive(Clone, Copy)]
pub struct HostPrograms<'g> {
    /// All of them, in the order in which they are started.
    pub all: &'g [HostProgram],
    /// Who hears of them.
    pub audience: &'g dyn ProgramObserver,
}

/// How often programs are looked at.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// How long a program is waited for before the next one is started, unless it listens or ends before.
const START_TIMEOUT: Duration = Duration::from_secs(2);

/// How long a program may take to end after it was interrupted.
const GRACE_PERIOD: Duration = Duration::from_secs(1);

impl HostPrograms<'_> {
    /// Starts all programs, tells how they end, and ends them when `stop` is true. When the last of them has
    /// ended by itself, `done` is set to true.
    ///
    /// # Errors
    /// When one could not be started.
    pub(crate) fn run(
        self,
        place: Place<'_>,
        scenario: &Scenario,
        stop: &AtomicBool,
        done: &AtomicBool,
    ) -> Result<(), Error> {
        let names = names(scenario);
        let user = User::behind_sudo();
        let mut running = RunningPrograms { programs: self, running: Vec::new(), done };
        for (number, program) in self.all.iter().enumerate() {
            let host = place.hosts[program.host.index()].as_ref();
            let host = host.expect("programs run inside hosts");
            let listening = || host.within(place.home, listening).unwrap_or(0);
            let before = listening();
            let spec = ProgramSpec {
                command: program.command.clone(),
                host: scenario.nodes[program.host.index()].name.clone(),
                names: Arc::clone(&names),
                user: user.clone(),
            };
            let program = self.start(number, host, spec)?;
            running.running.push((program, false));
            let begun = Instant::now();
            while !stop.load(Ordering::Relaxed)
                && number + 1 < self.all.len()
                && !running.last_has_ended()
                && listening() <= before
                && begun.elapsed() < START_TIMEOUT
            {
                running.wait(End::Own);
            }
        }
        while !stop.load(Ordering::Relaxed) {
            running.wait(End::Own);
        }
        running.close();
        Ok(())
    }

    /// Gives the hosts of programs the congestion control of their workloads. What a reader must know where a
    /// kernel does not allow it.
    pub(crate) fn choose_congestion(self, place: Place<'_>, scenario: &Scenario) -> Option<String> {
        let chosen = |program: &HostProgram| {
            let name = kernel::congestion_of(scenario, program.host)?;
            let host = place.hosts[program.host.index()].as_ref()?;
            let is_chosen = host.prefer_congestion_control(place.home, name).unwrap_or(false);
            let own = || std::fs::read_to_string(CONGESTION_CONTROL).unwrap_or_default();
            (!is_chosen).then(|| (name, host.within(place.home, own).unwrap_or_default()))
        };
        let (name, own) = self.all.iter().find_map(chosen)?;
        Some(format!(
            "Programs use this machine's congestion control ({}) instead of {name}, which the \
                workloads use: add {name} to net.ipv4.tcp_allowed_congestion_control (sysctl), or \
                let the programs select it.",
            own.trim()
        ))
    }

    fn start(self, number: usize, host: &Host, spec: ProgramSpec) -> Result<Program, Error> {
        let failed = |what: &dyn std::fmt::Display| Error::Machine(what.to_string());
        let streams = self.audience.streams(number).map_err(|error| failed(&error))?;
        Program::start(host, spec, streams).map_err(|error| failed(&error))
    }
}

/// Programs that were started.
struct RunningPrograms<'h> {
    programs: HostPrograms<'h>,
    /// By their numbers, each with whether its end was reported.
    running: Vec<(Program, bool)>,
    done: &'h AtomicBool,
}

impl RunningPrograms<'_> {
    /// Waits for a moment, and reports the programs that have ended.
    fn wait(&mut self, end: End) {
        std::thread::sleep(POLL_INTERVAL);
        self.tell(end);
    }

    /// Reports the programs that have ended. Processes that they have left continue.
    fn tell(&mut self, end: End) {
        for (number, (program, is_reported)) in self.running.iter_mut().enumerate() {
            let Some(status) = program.ended().filter(|_| !*is_reported) else { continue };
            *is_reported = true;
            self.programs.audience.ended(number, status, end);
            if number + 1 == self.programs.all.len() && end == End::Own {
                self.done.store(true, Ordering::Relaxed);
            }
        }
    }

    /// Whether the program that was started last has ended.
    fn last_has_ended(&self) -> bool {
        self.running.last().is_some_and(|(_, is_reported)| *is_reported)
    }

    /// Interrupts all that still run, and ends them when they have had their time.
    fn close(mut self) {
        self.tell(End::Own);
        self.running.iter().for_each(|(program, _)| program.interrupt());
        let begun = Instant::now();
        while !self.running.iter().all(|(_, is_reported)| *is_reported)
            && begun.elapsed() < GRACE_PERIOD
        {
            self.wait(End::WithRehearsal);
        }
        self.running.iter_mut().for_each(|(program, _)| program.end());
        self.tell(End::WithRehearsal);
    }
}

/// The number of waiting sockets of other processes in the thread's network: listening TCP sockets, and unconnected
/// UDP sockets.
fn listening() -> usize {
    let own = std::fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    let own = own.filter_map(|entry| std::fs::read_link(entry.path()).ok());
    let own: Vec<String> = own.map(|link| link.to_string_lossy().into_owned()).collect();
    // The fourth word of a socket's line is its state, the tenth its inode (proc_pid_net(5)).
    let count = |(table, state): (&str, &str)| {
        let text = std::fs::read_to_string(format!("/proc/thread-self/net/{table}"));
        let is_others = |line: &&str| {
            let mut words = line.split_whitespace().skip(3);
            let is_waiting = words.next() == Some(state);
            is_waiting
                && words.nth(5).is_some_and(|inode| !own.contains(&format!("socket:[{inode}]")))
        };
        text.unwrap_or_default().lines().filter(is_others).count()
    };
    [("tcp", "0A"), ("tcp6", "0A"), ("udp", "07"), ("udp6", "07")].map(count).into_iter().sum()
}

/// The addresses and names of all hosts. A host of a group, `user[17]`, is also named `user-17`, unless another host
/// has that name: URLs cannot contain brackets.
fn names(scenario: &Scenario) -> Arc<[(IpAddr, String)]> {
    let mut names = Vec::new();
    for (number, node) in (0..).map(NodeId).zip(&scenario.nodes) {
        if node.kind == NodeKind::Router {
            continue;
        }
        let plain = node.name.replace('[', "-").replace(']', "");
        let is_free = scenario.nodes.iter().all(|other| other.name != plain);
        let name = if is_free { format!("{} {plain}", node.name) } else { node.name.clone() };
        for address in scenario.addresses.of_node(number) {
            names.push((address.into(), name.clone()));
        }
    }
    names.into()
}

#[cfg(test)]
mod tests {
    use shortflow_scenario::{Overrides, from_texts};

    use super::*;

    #[test]
    fn hosts_of_a_group_have_a_name_without_brackets_too() {
        let text = r#"
            duration = "1 s"
            hosts = { user.count = 2, user-1 = {} }
            routers = { r = {} }
            links.a = { between = ["user", "r"], rate = "1 Mbit/s", delay = "1 ms" }
            links.b = { between = ["user-1", "r"], rate = "1 Mbit/s", delay = "1 ms" }
            workloads.file.bulk = { from = "user-1", to = "user[0]" }
        "#;
        let loaded = from_texts(&[("s.toml", text)], &Overrides::default()).unwrap();
        let names = names(&loaded.points()[0].scenario);
        let found: Vec<String> = names.iter().map(|(at, name)| format!("{at} {name}")).collect();
        let expected = [
            "10.0.0.1 user[0] user-0",
            "fd00::a00:1 user[0] user-0",
            "10.0.0.2 user[1]",
            "fd00::a00:2 user[1]",
            "10.0.0.3 user-1",
            "fd00::a00:3 user-1",
        ];
        assert_eq!(found, expected);
    }
}
