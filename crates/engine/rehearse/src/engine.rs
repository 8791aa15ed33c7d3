//! The rehearsal as an engine.

use shortflow_measure::{Recorder, Replica, Warning};
use shortflow_run::{Engine, Error, Observers, Outcome, Refusal, SideBySide, Task};
use shortflow_run::{plan, role_at, seed_of};
use shortflow_scenario::{IpVersion, Scenario};
use shortflow_sim::LiveNetwork;
use shortflow_testbed::{Home, HostSpec, PortKind, Ports};

use crate::capture::Capture;
use crate::clock::Clock;
use crate::cpu_wakers::CpuWakers;
use crate::datagrams;
use crate::interactive::Companions;
use crate::kernel;
use crate::monitor::Monitor;
use crate::open_files::refused;
use crate::record::{numbers, record};
use crate::router::{Edges, Routed, Router, Times};
use crate::site::{Asking, Site};
use crate::thread_load;
use crate::threads::{Carried, Threads};
use crate::traffic::{Load, ReplicaSeed, SETTLE_TIME};
use crate::without_effect::WITHOUT_EFFECT;

/// The rehearsal as an engine: real kernels and real time, one task at a time.
#[derive(Debug, Clone, Copy, Default)]
pub struct Rehearsal {
    /// What workloads speak: IPv6 all of them, or what the scenario says.
    pub ip: IpVersion,
    /// How packets come from hosts, and to them.
    pub ports: PortKind,
}

impl Rehearsal {
    /// Workloads speak what the scenario says: IPv4, unless hosts are given other addresses.
    pub const OVER_IPV4: Rehearsal = Rehearsal::over(IpVersion::V4);
    /// Workloads speak IPv6.
    pub const OVER_IPV6: Rehearsal = Rehearsal::over(IpVersion::V6);

    const fn over(ip: IpVersion) -> Rehearsal {
        Rehearsal { ip, ports: PortKind::Tun }
    }

    /// What this kernel's TCP does otherwise than a scenario asks for, in words.
    ///
    /// # Errors
    /// When a kernel cannot do what a workload asks for.
    pub fn tcp_notes(&self, scenario: &Scenario) -> Result<Vec<String>, Refusal> {
        kernel::hosts(scenario, self.ip).map(|(_, notes)| notes)
    }

    /// What hosts and sockets are given for the TCP of a scenario, as text, to compare with that of another one.
    ///
    /// # Errors
    /// As of [`tcp_notes`](Self::tcp_notes).
    pub fn tcp_settings(&self, scenario: &Scenario) -> Result<String, Refusal> {
        kernel::settings(scenario, self.ip)
    }
}

impl Engine for Rehearsal {
    fn name(&self) -> &'static str {
        "rehearse"
    }

    fn identity(&self) -> &str {
        concat!("rehearse ", env!("CARGO_PKG_VERSION"))
    }

    fn ready(&self) -> Result<(), Error> {
        let home = Home::find().map_err(lacking)?;
        let spec = HostSpec { mtu: 1500, queue: 1, ..HostSpec::default() };
        let mut ports = Ports::new(&home, self.ports).map_err(lacking)?;
        ports.host(&home, &spec).map(|_| ()).map_err(lacking)
    }

    fn ready_for(&self, scenario: &Scenario) -> Result<(), Error> {
        let asking = Asking::for_scenario(scenario);
        asking.program()?;
        asking.growth().map(|_| ())
    }

    fn tcp(&self, scenarios: &mut dyn Iterator<Item = &Scenario>) -> String {
        let mut names: Vec<String> =
            scenarios.map(|scenario| kernel::tcp_description(scenario, self.ip)).collect();
        names.dedup();
        names.join(" | ")
    }

    fn check(&self, scenario: &Scenario) -> Result<(), Refusal> {
        datagrams::refuse(scenario, self.ip)?;
        kernel::hosts(scenario, self.ip).map(|_| ())
    }

    fn side_by_side(&self) -> SideBySide {
        SideBySide::OneAtATime
    }

    fn run(&self, task: &Task<'_>, observers: Observers<'_>) -> Result<Outcome, Error> {
        self.run_beside(task, observers, None)
    }
}

impl Rehearsal {
    /// Runs a task to its end; with `companions` beside it, which may end it before.
    pub(crate) fn run_beside(
        &self,
        task: &Task<'_>,
        observers: Observers<'_>,
        companions: Option<&Companions<'_>>,
    ) -> Result<Outcome, Error> {
        let Task { scenario, replica } = *task;
        let Observers { transfers, tap, mut tcp_info, look } = observers;
        let (specs, mut warnings) = kernel::hosts(scenario, self.ip)?;
        let monitor = companions.and_then(|companions| companions.monitor);
        let mut site =
            Site::make(&asking(scenario, monitor), specs, self.ports, &mut || look(0.0))?;
        let applications = site.applications().map_err(refused)?;
        let mut network = LiveNetwork::new(scenario, replica);
        let (capture, writer) = tap.map(|tap| Capture::begin(tap, scenario, &mut network)).unzip();
        let (_awake, clock) =
            (CpuWakers::if_virtual(), Clock::beginning_in(SETTLE_TIME).map_err(refused)?);
        let times = Times::new(scenario);
        let place = site.hosts.place(scenario, self.ip, applications.as_ref());
        warnings.extend(companions.and_then(|all| all.prepare(place, scenario)));
        let mut recorder = Recorder::new(&plan(scenario), transfers);
        let seed = ReplicaSeed { replica, seed: seed_of(scenario.seed, replica) };
        let (tallies, log) = (network.tallies(), tcp_info.as_mut());
        let load = Load::new(place, scenario, seed, clock, times, tallies, &mut recorder, log)
            .map_err(lacking)?;
        let streams = load.streams().to_vec();
        let router = Router {
            network,
            devices: &mut site.devices,
            clock,
            times,
            largest: site.largest,
            streams: numbers(&streams, &scenario.addresses),
            capture,
            monitor,
            edges: Edges::new(site.edges.clone(), scenario, applications.clone()),
        };
        let threads = Threads { router, writer, companions, place, scenario };
        let carried = threads.run(load, &mut |now| look(times.share(now)))?;
        let Carried { mut routed, long_flows, stalls, load_is_busy, tap } = carried;
        warnings.extend(workload_notes(scenario, self.ip));
        warnings.extend(carrying_notes(&routed, load_is_busy));
        warnings.extend(companions.and_then(|all| all.monitor?.switches_note()));
        let classes = routed.record.as_mut().and_then(|record| record.classes.take());
        let timing = routed.timing.map(|late| late.with(stalls));
        record(long_flows, routed, &streams, scenario, &mut recorder);
        let found = Replica { number: replica, ..recorder.finish()? };
        warnings.extend(host_notes(&site, scenario, &found).map_err(lacking)?);
        tcp_info.map_or(Ok(()), |log| log.sink.finish())?;
        let failure = tap.map_or(Ok(()), |tap| tap.finish()).map_err(Error::Trace).err();
        let (measured, warnings) = (found.into(), Warning::all(warnings));
        Ok(Outcome { measured, warnings, classes, timing, failure })
    }
}

/// What is asked of hosts, by the policy that is bound first and by those that may be bound later.
fn asking<'s>(scenario: &'s Scenario, monitor: Option<&'s Monitor>) -> Asking<'s> {
    let later = monitor.into_iter().flat_map(Monitor::scenarios);
    later.fold(Asking::for_scenario(scenario), Asking::and)
}

fn workload_notes(scenario: &Scenario, ip: IpVersion) -> Vec<String> {
    let without_effect = scenario.without_effect(WITHOUT_EFFECT, "rehearse");
    [datagrams::size_notes(scenario, ip), withheld_notes(scenario), without_effect].concat()
}

/// A note on each role whose queue would withhold segments in TCP.
fn withheld_notes(scenario: &Scenario) -> Vec<String> {
    let bound = scenario.bindings.iter();
    let roles = bound.filter_map(|binding| role_at(scenario, binding.at, binding.direction));
    let mut withhold: Vec<&str> =
        roles.filter(|role| role.withholds()).map(|role| role.name.as_str()).collect();
    withhold.sort_unstable();
    withhold.dedup();
    let note = |role| {
        format!(
            "The role `{role}` withholds segments in TCP. A kernel's TCP asks no queue before it sends: \
                packets wait in the queue, are in flight, and lengthen round trips. To simulate the same, set \
                `place = \"queue\"`."
        )
    };
    withhold.into_iter().map(note).collect()
}

/// Warnings about packets lost before or after the network, and about hosts that have lost their network.
fn host_notes(
    site: &Site,
    scenario: &Scenario,
    found: &Replica,
) -> Result<Vec<String>, shortflow_testbed::Error> {
    let lost = site.hosts.lost(&site.devices)?;
    let notes = format!(
        "{lost} packets of hosts were lost before they reached the network, because this machine \
            is too slow: the figures are those of this machine. Use slower links, or fewer of them."
    );
    let of_packets = (lost > 0).then_some(notes).into_iter().chain(datagrams::missing_note(found));
    Ok(of_packets.chain(site.hosts.change_notes(scenario)?).collect())
}

fn lacking(what: impl std::fmt::Display) -> Error {
    Error::Machine(what.to_string())
}

/// Notes on how packets were forwarded.
fn carrying_notes(routed: &Routed, load_is_busy: f64) -> Vec<String> {
    let mut notes = Vec::new();
    if routed.not_preferred.is_some() {
        notes.push(
            "Packets were forwarded without real-time priority, because this process lacks it \
                (CAP_SYS_NICE, or real time for its control group, `cpu.rt_runtime_us`): delays of \
                milliseconds may come from this machine."
                .to_owned(),
        );
    }
    if routed.strangers > 0 {
        notes.push(format!(
            "{} packets of hosts had no destination in the scenario, or were not IP, and were \
                discarded.",
            routed.strangers
        ));
    }
    if routed.uncaptured > 0 {
        notes.push(format!(
            "{} packets are missing in the trace, which could not be written fast enough: trace \
                fewer places, or keep fewer bytes of each packet.",
            routed.uncaptured
        ));
    }
    if routed.refused > 0 {
        notes.push(format!(
            "{} packets reached routers, or hosts that did not accept them.",
            routed.refused
        ));
    }
    notes.extend(thread_load::busy_note(routed.busy, load_is_busy));
    notes
}
