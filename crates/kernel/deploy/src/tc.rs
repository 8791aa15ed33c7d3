//! tc(8), which speaks to the kernel.

use std::io::Write;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;
use shortflow_ebpf::edge::EdgeProgram;

use crate::commands::{Generation, ROOT};
use crate::compile::Edge;
use crate::converge::{Step, clear, converge};
use crate::deployed_file::{forget_deployed, read_deployed};
use crate::device::link;
use crate::device_lock::DeviceLock;
use crate::edge::{EdgeMemo, clear_edge, remove_place};
use crate::error::Error;
use crate::observe::{Listings, Observed, Root};
use crate::program;
use crate::queueing::{Queueing, QueueingSeen, QueueingWay};
use crate::socket_option;
use crate::tree::Tree;

/// How long packets of an earlier policy may take to leave, unless it is said otherwise.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(5);
/// How often one looks whether they have.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// The way to a device of the network namespace of the thread.
#[derive(Debug, Clone)]
pub struct Tc {
    device: String,
    /// The bytes before each IP packet there, where they are not those of the device itself.
    header: Option<u64>,
    patience: Duration,
    claim: Option<Arc<DeviceLock>>,
    edge: Option<Arc<Edge>>,
    before: Option<EdgeMemo>,
}

/// What was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Applied {
    /// How many commands.
    pub commands: usize,
    /// Packets of an earlier policy that still wait in their classes, which are left there.
    pub waiting: u64,
}

impl Tc {
    /// The way to the device of this name.
    pub fn new(device: &str) -> Tc {
        Tc {
            device: device.to_owned(),
            header: None,
            patience: DRAIN_TIMEOUT,
            claim: None,
            edge: None,
            before: None,
        }
    }

    /// The name of the device.
    pub fn device(&self) -> &str {
        &self.device
    }

    /// The same for another device.
    #[must_use]
    pub(crate) fn at(self, device: &str) -> Tc {
        Tc { device: device.to_owned(), ..self }
    }

    /// The same, where each IP packet has so many bytes before it.
    #[must_use]
    pub(crate) fn with_header(self, header: u64) -> Tc {
        Tc { header: Some(header), ..self }
    }

    /// The same, where packets of an earlier policy have so long to leave.
    #[must_use]
    pub fn with_patience(self, patience: Duration) -> Tc {
        Tc { patience, ..self }
    }

    /// The same, where no other process may change the device as long as this does.
    #[must_use]
    pub fn with_lock(self, claim: DeviceLock) -> Tc {
        Tc { claim: Some(Arc::new(claim)), ..self }
    }

    /// The same, with this program to attach when a step asks for it, in place of the observed one.
    #[must_use]
    pub fn with_edge(self, edge: Edge, before: Option<EdgeMemo>) -> Tc {
        Tc { edge: Some(Arc::new(edge)), before, ..self }
    }

    /// What stands at a device of which tc says this.
    ///
    /// # Errors
    /// When that cannot be read.
    pub fn parsed(listings: &Listings<'_>) -> Result<Observed, Error> {
        let command = "tc -s -j qdisc show".to_owned();
        Observed::parse(listings).map_err(|message| Error::Unreadable { command, message })
    }

    /// What stands at the device.
    ///
    /// # Errors
    /// When it is not there, or tc cannot be run or read.
    pub fn observe(&self) -> Result<Observed, Error> {
        let root = format!("{:x}:", crate::commands::ROOT);
        let qdiscs = self.ask(&["-s", "-d", "-j", "qdisc", "show", "dev", &self.device])?;
        let classes = self.ask(&["-s", "-d", "class", "show", "dev", &self.device])?;
        // Where there is no place for filters tc says so by failing.
        let filters = |place: &[&str]| {
            let show = ["-j", "filter", "show", "dev", &self.device];
            self.ask(&[&show[..], place].concat()).or_else(|error| match error {
                Error::Refused { .. } => Ok(String::new()),
                other => Err(other),
            })
        };
        let at_root = filters(&["parent", &root])?;
        let (egress, ingress) = (filters(&["egress"])?, filters(&["ingress"])?);
        let mut inner = Vec::new();
        for handle in with_filters(&qdiscs) {
            inner.push((handle, filters(&["parent", &format!("{handle:x}:")])?));
        }
        let mut observed = Tc::parsed(&Listings {
            qdiscs: &qdiscs,
            classes: &classes,
            filters: &at_root,
            inner: &inner,
            egress: &egress,
            ingress: &ingress,
        })?;
        if !observed.changed.is_empty() {
            observed.compared_by(&self.version()?);
        }
        if let Some(kind) = Observed::program_kind(&qdiscs) {
            observed = observed.with_queueing(QueueingSeen::find(&kind));
        }
        if !observed.is_ours() {
            observed.lost = read_deployed(&self.device);
        } else if observed.lacks_records() {
            observed.in_file = read_deployed(&self.device);
        }
        Ok(observed)
    }

    /// The version of tc.
    fn version(&self) -> Result<String, Error> {
        Ok(self.ask(&["-V"])?.trim().to_owned())
    }

    /// Notes how the queues look.
    fn fingerprint(&self) -> Result<(), Error> {
        let fingerprint = self.observe()?.fingerprint_now(&self.version()?);
        match fingerprint.map(|fingerprint| fingerprint.at_root(&self.device)) {
            Some(Step::Tc(command)) => self.run("tc", &[&command]),
            _ => Ok(()),
        }
    }

    /// The steps that leave exactly `tree` there.
    ///
    /// # Errors
    /// When something is in the way.
    pub fn plan(&self, observed: &Observed, tree: &Tree) -> Result<Vec<Step>, Error> {
        self.plan_with(observed, tree, Vec::new())
    }

    /// The same, with what `others` make of the device before that is noted to be whole.
    ///
    /// # Errors
    /// When something is in the way.
    pub fn plan_with(
        &self,
        observed: &Observed,
        tree: &Tree,
        others: Vec<Step>,
    ) -> Result<Vec<Step>, Error> {
        let device = || self.device.clone();
        converge(&self.device, observed, tree, others)
            .map_err(|obstacle| Error::Obstacle { device: device(), obstacle })
    }

    /// The steps that remove everything.
    ///
    /// # Errors
    /// When nothing is deployed there.
    pub fn plan_removal(&self, observed: &Observed) -> Result<Vec<Step>, Error> {
        let queues = clear(&self.device, observed);
        if !observed.is_ours() {
            // A deployment that was killed at its first steps has left nothing but its place for filters.
            let place = || observed.has_place_of_lost().then(|| remove_place(&self.device));
            return match observed.is_lost() {
                true => Ok(place().into_iter().collect()),
                false => Err(Error::NotDeployed { device: self.device.clone() }),
            };
        }
        // What marks goes first, so that marks never come to queues that do not know them.
        let edge = clear_edge(&self.device, &observed.edge);
        Ok(edge.into_iter().chain(queues).collect())
    }

    /// Removes everything by these steps, and forgets it.
    ///
    /// # Errors
    /// As of [`Tc::apply`].
    pub fn remove(&self, observed: &Observed, steps: &[Step]) -> Result<(), Error> {
        // If this is killed now, the kernel's records say what is left. Of what is lost only the file does.
        if !observed.is_lost() {
            forget_deployed(&self.device);
        }
        self.apply(steps)?;
        forget_deployed(&self.device);
        Ok(())
    }

    /// Does it. When it fails or is interrupted, packets flow, and a new plan leads on.
    ///
    /// # Errors
    /// When the kernel refuses a step, or packets of an earlier policy do not leave in time for a new one to take
    /// their place.
    pub fn apply(&self, steps: &[Step]) -> Result<Applied, Error> {
        // What the machine lacks is reported before anything is changed.
        let is_condition = |step: &Step| matches!(step, Step::Condition { .. });
        let program = match steps.iter().any(is_condition) {
            true => {
                let of_device = || link(&self.device).map(|link| link.header);
                let header = self.header.map_or_else(of_device, Ok)?;
                Some(program::prepare(header, self.edge())?)
            }
            false => None,
        };
        let early = steps.iter().find_map(|step| match step {
            Step::Early(plan) => Some(program::prepare_early(plan)),
            _ => None,
        });
        let early = early.transpose()?;
        let mut applied = Applied { commands: 0, waiting: 0 };
        let mut rest = steps;
        while let Some(first) = rest.first() {
            match first {
                Step::Drain(generation) => {
                    rest = &rest[1..];
                    let waiting = self.drain(*generation)?;
                    if waiting == 0 {
                        continue;
                    }
                    let is_removal = |step: &Step| matches!(step, Step::Tc(command) if command.starts_with("class del"));
                    if rest.iter().all(is_removal) {
                        return Ok(Applied { waiting, ..applied });
                    }
                    return Err(Error::Busy { device: self.device.clone(), packets: waiting });
                }
                Step::Condition { .. } => {
                    rest = &rest[1..];
                    self.condition(program.as_ref().expect("a step asks for it"))?;
                    applied.commands += 1;
                }
                Step::Early(_) => {
                    rest = &rest[1..];
                    let early = early.as_ref().expect("a step asks for it");
                    program::bring_early(early, &link(&self.device)?)?;
                    applied.commands += 1;
                }
                Step::RemoveOption(_) | Step::Queue(_) | Step::Fingerprint => {
                    rest = &rest[1..];
                    self.single(first)?;
                    applied.commands += 1;
                }
                Step::Tc(_) => {
                    let commands: Vec<&str> = rest.iter().map_while(of_tc).collect();
                    self.run("tc", &commands)?;
                    applied.commands += commands.len();
                    rest = &rest[commands.len()..];
                }
                Step::Ip(_) => {
                    let commands: Vec<&str> = rest.iter().map_while(of_ip).collect();
                    self.run("ip", &commands)?;
                    applied.commands += commands.len();
                    rest = &rest[commands.len()..];
                }
            }
        }
        Ok(applied)
    }

    /// Does a step that needs nothing prepared.
    fn single(&self, step: &Step) -> Result<(), Error> {
        match step {
            Step::RemoveOption(cgroup) => socket_option::remove(cgroup),
            Step::Queue(queueing) => self.queue(queueing),
            _ => self.fingerprint(),
        }
    }

    /// Brings the program to the device.
    fn condition(&self, program: &EdgeProgram) -> Result<(), Error> {
        let link = link(&self.device)?;
        Ok(program::bring(program, &link, self.edge(), self.before.as_ref())?)
    }

    /// Gives the queues to a program: to the one that is there, or to another one, which the kernel knows before the one that
    /// is there goes.
    fn queue(&self, queueing: &Queueing) -> Result<(), Error> {
        let observed = self.observe()?;
        let seen = observed.queueing.as_ref();
        if queueing.way == QueueingWay::Follow && queueing.follow(seen)? {
            return Ok(());
        }
        let program = queueing.register(seen)?;
        let device = &self.device;
        let removal = format!("qdisc del dev {device} root");
        let addition = format!("qdisc add dev {device} root handle {ROOT:x}: {}", program.kind());
        let is_ours = observed.root == Root::Ours;
        let commands = is_ours.then_some(removal.as_str()).into_iter().chain([addition.as_str()]);
        self.run("tc", &commands.collect::<Vec<_>>())
    }

    fn edge(&self) -> &Edge {
        self.edge.as_ref().expect("who plans it gives it")
    }

    /// Waits until the classes of a generation are empty, and says how many packets are left if they never are.
    fn drain(&self, generation: Generation) -> Result<u64, Error> {
        let until = Instant::now() + self.patience;
        loop {
            let observed = self.observe()?;
            let waiting = observed.classes_of(generation).map(|(_, waiting)| waiting).sum();
            if waiting == 0 || Instant::now() > until || observed.root != Root::Ours {
                return Ok(waiting);
            }
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    /// Runs commands in one process of tc or ip, which ends at the first that the kernel refuses.
    fn run(&self, program: &'static str, commands: &[&str]) -> Result<(), Error> {
        // It has nothing to say there, and so holds the claim: it goes on for a moment when this process is killed.
        let claim = self.claim.as_ref().map(|claim| claim.shared()).transpose();
        let claim = claim
            .map_err(|source| Error::Machine { what: "the claim cannot be shared", source })?;
        let mut child = Command::new(program)
            .args(["-batch", "-"])
            .stdin(Stdio::piped())
            .stdout(claim.map_or_else(Stdio::null, Stdio::from))
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|source| Error::NoProgram { program, source })?;
        let mut input = child.stdin.take().expect("it was piped");
        // If it has ended at a command it does not read the rest, which is no news.
        let _ = input.write_all(format!("{}\n", commands.join("\n")).as_bytes());
        drop(input);
        let output = child.wait_with_output();
        let output = output
            .map_err(|source| Error::Machine { what: "it could not be waited for", source })?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        // "Command failed -:3": the line of its input.
        let line = said.lines().find_map(|line| line.rsplit_once("-:")?.1.trim().parse().ok());
        let command = line.and_then(|line: usize| commands.get(line.checked_sub(1)?));
        Err(self.refused(&format!("{program} {}", command.unwrap_or(&"-batch -")), &said))
    }

    /// What tc answers to a question.
    pub(crate) fn ask(&self, arguments: &[&str]) -> Result<String, Error> {
        let output: Output = Command::new("tc")
            .args(arguments)
            .output()
            .map_err(|source| Error::NoProgram { program: "tc", source })?;
        match output.status.success() {
            true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
            false => {
                let said = String::from_utf8_lossy(&output.stderr);
                Err(self.refused(&format!("tc {}", arguments.join(" ")), &said))
            }
        }
    }

    /// What it means that tc has failed at a command.
    fn refused(&self, command: &str, said: &str) -> Error {
        if said.contains("Cannot find device") || said.contains("No such device") {
            return Error::Vanished { device: self.device.clone() };
        }
        if said.contains("not permitted") {
            return Error::NotAllowed;
        }
        let lines =
            said.lines().map(|line| line.trim_start_matches("Error: ").trim_end_matches('.'));
        let text: Vec<&str> = lines.filter(|line| !line.starts_with("Command failed")).collect();
        Error::Refused { command: command.to_owned(), message: text.join("; ") }
    }
}

/// Our disciplines with filters, among those that tc lists: a filter selects their classes.
fn with_filters(qdiscs: &str) -> Vec<u16> {
    let listed: Vec<Value> = serde_json::from_str(qdiscs).unwrap_or_default();
    let is_one = |qdisc: &&Value| ["prio", "drr", "ets"].iter().any(|kind| qdisc["kind"] == *kind);
    let handle = |qdisc: &Value| {
        let handle = u16::from_str_radix(qdisc["handle"].as_str()?.strip_suffix(':')?, 16).ok()?;
        Generation::from_number(handle.wrapping_sub(crate::commands::ROOT)).map(|_| handle)
    };
    listed.iter().filter(is_one).filter_map(handle).collect()
}

fn of_tc(step: &Step) -> Option<&str> {
    match step {
        Step::Tc(command) => Some(command),
        _ => None,
    }
}

fn of_ip(step: &Step) -> Option<&str> {
    match step {
        Step::Ip(command) => Some(command),
        _ => None,
    }
}
