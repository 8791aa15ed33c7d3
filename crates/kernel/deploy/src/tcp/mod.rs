//! A policy's `aggregate-shaper` in this host's TCP: one profile for all connections that match, inside the kernel.
//!
//! What is deployed is in the kernel. A file in `/run` says by which numbers it is found there, and is written first, so that
//! a command that was killed leaves nothing that the next one does not find.

mod abandoned;
mod compile;
mod growth;
mod record;

use std::fs::File;
use std::net::IpAddr;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};
use shortflow_ebpf::profile::{
    TcpFilter, TcpGrowth, TcpHook, TcpProfile, TcpSettings, TcpState, TcpWalk, tcp_control_name,
};

pub use self::abandoned::{TcpAbandoned, abandoned_in_tcp, remove_abandoned_in_tcp};
pub use self::compile::{TcpPlan, TcpRefusal, compile_tcp};
pub use self::growth::{TcpGrowthMistake, TcpGrowthRule};
use self::record::Record;
use crate::cgroup;
use crate::device_lock::DeviceLock;
use crate::error::Error;
use crate::namespace::namespace_id;

/// A file that only cgroups of version 2 have.
const CONTROLLERS: &str = "cgroup.controllers";
/// How long one waits for another command.
const LOCK_TIMEOUT: Duration = Duration::from_secs(2);
/// What is locked: no device has this name, which has a slash.
const LOCKED: &str = "tcp";

/// Which connections belong to a profile.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TcpSelection {
    /// Live ones and new ones.
    pub filter: TcpFilter,
    /// New ones are those of the processes in this cgroup; `None`: of all.
    pub cgroup: Option<PathBuf>,
}

/// A policy in the TCP of this network namespace.
#[derive(Debug)]
pub struct TcpDeployment {
    record: Record,
    profile: TcpProfile,
}

/// What a command has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TcpDone {
    /// Live connections that were taken over.
    pub walk: TcpWalk,
    /// Live connections that left the profile.
    pub left: TcpWalk,
    /// Whether new connections come to the profile.
    pub selects_new: bool,
}

/// What is deployed, and what it counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TcpStatus {
    /// The policy.
    pub policy: String,
    /// What the profile says, in a line.
    pub profile: String,
    /// Which connections belong to it.
    pub filter: TcpFilter,
    /// The cgroup whose new connections come to it; `None` where the machine has no cgroups of version 2.
    pub cgroup: Option<PathBuf>,
    /// How windows grow, and what limits them, in a line.
    pub windows: String,
    /// The name of the congestion control.
    pub control: String,
    /// Whether new connections come to it.
    pub selects_new: bool,
    /// Whether its programs are still at the cgroups to which they were attached.
    pub is_attached: bool,
    /// What it counts; `None` where the kernel has it no more.
    pub state: Option<TcpState>,
}

impl TcpDeployment {
    /// Deploys a policy: live connections that match are taken over, and new ones of the cgroup begin with it. Without a
    /// cgroup these are all.
    ///
    /// # Errors
    /// When one is deployed already, the cgroup is invalid, or the machine lacks something. Then nothing is deployed.
    pub fn deploy(
        policy: &str,
        plan: &TcpPlan,
        selection: &TcpSelection,
    ) -> Result<TcpDone, Error> {
        let _lock = DeviceLock::take(LOCKED, LOCK_TIMEOUT)?;
        TcpDeployment::check(selection)?;
        clear()?;
        let namespace = namespace_id().map_err(unknown_namespace)?;
        let control = tcp_control_name(std::process::id().into(), &format!("{namespace} {policy}"));
        let mut record = Record::new(policy, &control, plan, selection);
        record.write()?;
        let profile = TcpProfile::install(&control, &record.filter, &plan.settings);
        let profile = profile.inspect_err(|_| Record::remove())?;
        record.parts = Some(profile.parts()?);
        record.write()?;
        let mut deployment = TcpDeployment { record, profile };
        match deployment.begin() {
            Ok(done) => Ok(done),
            Err(error) => {
                deployment.take_away()?;
                Record::remove();
                Err(error)
            }
        }
    }

    /// Whether a policy can be deployed for these connections, as far as one sees without touching TCP.
    ///
    /// # Errors
    /// When one is deployed already, or the cgroup is invalid.
    pub fn check(selection: &TcpSelection) -> Result<(), Error> {
        if let Some(there) = TcpDeployment::found()? {
            return Err(Error::TcpDeployed { policy: there.record.policy });
        }
        selection.check()
    }

    /// Attaches the programs for new connections and for what they send, then takes over live ones.
    fn begin(&mut self) -> Result<TcpDone, Error> {
        for hook in TcpHook::ALL {
            let Some(group) = self.group(hook) else { continue };
            self.profile.attach(hook, group?.as_fd())?;
            self.record.parts = Some(self.profile.parts()?);
            self.record.write()?;
        }
        let walk = self.profile.take_over()?;
        Ok(TcpDone { walk, left: TcpWalk::default(), selects_new: self.selects_new() })
    }

    /// What is deployed in this network namespace, if anything is.
    ///
    /// # Errors
    /// When the kernel does not let the process look.
    pub fn found() -> Result<Option<TcpDeployment>, Error> {
        let Some(record) = Record::read() else { return Ok(None) };
        let Some(parts) = &record.parts else { return Ok(None) };
        let found = TcpProfile::find(&record.control, &record.filter, parts)?;
        Ok(found.map(|profile| TcpDeployment { record, profile }))
    }

    /// Which connections belong to what is deployed.
    ///
    /// # Errors
    /// When nothing is deployed, or the kernel does not let the process look.
    pub fn filter() -> Result<TcpFilter, Error> {
        let there = TcpDeployment::found()?.ok_or(Error::TcpNotDeployed)?;
        Ok(there.record.filter)
    }

    /// Whether this policy is deployed for these connections, and new ones come to it.
    ///
    /// # Errors
    /// When the cgroup is invalid, or the kernel does not let the process look.
    pub fn is_deployed(
        policy: &str,
        plan: &TcpPlan,
        selection: &TcpSelection,
    ) -> Result<bool, Error> {
        selection.check()?;
        let wanted = Record::new(policy, "", plan, selection);
        let there = TcpDeployment::found()?;
        Ok(there.is_some_and(|there| there.record.does_the_same(&wanted) && there.is_hooked()))
    }

    /// Brings TCP to this policy for these connections, whatever is there: a policy that works is changed while connections go
    /// on, one whose programs are no longer at their cgroups is removed first.
    ///
    /// # Errors
    /// As [`deploy`](Self::deploy).
    pub fn replace(
        policy: &str,
        plan: &TcpPlan,
        selection: &TcpSelection,
    ) -> Result<TcpDone, Error> {
        selection.check()?;
        match TcpDeployment::found()? {
            Some(there) if there.is_hooked() => {
                return TcpDeployment::reload(policy, plan, Some(selection));
            }
            Some(_) => TcpDeployment::undeploy().map(|_| ())?,
            None => {}
        }
        TcpDeployment::deploy(policy, plan, selection)
    }

    /// Changes the profile while connections go on, and takes over live ones that match and do not have it. With another
    /// selection, connections that match both stay in the profile throughout, and those that no longer match leave it.
    ///
    /// # Errors
    /// When nothing is deployed, the cgroup is invalid, or the kernel does not take it.
    pub fn reload(
        policy: &str,
        plan: &TcpPlan,
        selection: Option<&TcpSelection>,
    ) -> Result<TcpDone, Error> {
        let _lock = DeviceLock::take(LOCKED, LOCK_TIMEOUT)?;
        let mut there = TcpDeployment::found()?.ok_or(Error::TcpNotDeployed)?;
        selection.map_or(Ok(()), TcpSelection::check)?;
        there.profile.change(&plan.settings)?;
        there.record.plays(policy, plan);
        there.record.write()?;
        match selection {
            Some(selection) if !there.record.selects(selection) => there.select(selection),
            _ => {
                let (walk, left) = (there.profile.take_over()?, TcpWalk::default());
                Ok(TcpDone { walk, left, selects_new: there.selects_new() })
            }
        }
    }

    /// Selects other connections. At each step the programs of one selection or the other are at the cgroups, and the record
    /// names every cgroup at which one may be.
    fn select(&mut self, selection: &TcpSelection) -> Result<TcpDone, Error> {
        let before = self.record.select(selection);
        self.record.write()?;
        self.profile.select(&self.record.filter);
        let TcpDone { walk, selects_new, .. } = self.begin()?;
        for (hook, path) in TcpHook::ALL.into_iter().zip(&before) {
            let is_left = *path != self.record.cgroups[hook as usize];
            // A cgroup that is gone took the program along.
            let group = path.as_ref().filter(|_| is_left).and_then(|path| File::open(path).ok());
            group.map_or(Ok(()), |group| self.profile.detach(hook, group.as_fd()))?;
        }
        self.record.leaving = Default::default();
        self.record.write()?;
        let left = self.profile.give_back_others()?;
        Ok(TcpDone { walk, left, selects_new })
    }

    /// Gives connections back the congestion control that they had, and removes the policy.
    ///
    /// # Errors
    /// If nothing is deployed, or the kernel refuses to remove it.
    pub fn undeploy() -> Result<(String, TcpWalk), Error> {
        let _lock = DeviceLock::take(LOCKED, LOCK_TIMEOUT)?;
        match TcpDeployment::found()? {
            Some(there) => {
                let policy = there.record.policy.clone();
                let walk = there.take_away()?;
                Record::remove();
                Ok((policy, walk))
            }
            None => {
                let left = Record::read().ok_or(Error::TcpNotDeployed)?;
                clear()?;
                Ok((left.policy, TcpWalk::default()))
            }
        }
    }

    /// What is deployed in this network namespace.
    ///
    /// # Errors
    /// When the kernel does not let the process look.
    pub fn status() -> Result<Option<TcpStatus>, Error> {
        let Some(record) = Record::read() else { return Ok(None) };
        let found = TcpDeployment::found()?;
        let state = found.as_ref().map(|there| there.profile.state()).transpose()?;
        let selects_new = found.as_ref().is_some_and(TcpDeployment::selects_new);
        let is_attached = found.as_ref().is_some_and(TcpDeployment::is_hooked);
        let Record { policy, profile, windows, filter, control, cgroups: [cgroup, _], .. } = record;
        Ok(Some(TcpStatus {
            policy,
            profile,
            filter,
            cgroup,
            windows,
            control,
            selects_new,
            is_attached,
            state,
        }))
    }

    /// The cgroup at which the program of a hook is.
    fn group(&self, hook: TcpHook) -> Option<Result<File, Error>> {
        let path = self.record.cgroups[hook as usize].as_ref()?;
        Some(File::open(path).map_err(|source| invalid_group(path, source)))
    }

    /// A cgroup that is gone selects none, and one that was made again neither.
    fn selects_new(&self) -> bool {
        self.is_at(TcpHook::Established) == Some(true)
    }

    /// Whether the program of each hook is where it was attached.
    fn is_hooked(&self) -> bool {
        TcpHook::ALL.into_iter().all(|hook| self.is_at(hook) != Some(false))
    }

    /// Whether the program of a hook is at its cgroup; `None` where the machine has none.
    fn is_at(&self, hook: TcpHook) -> Option<bool> {
        let group = self.group(hook)?;
        Some(group.is_ok_and(|group| self.profile.is_attached(hook, group.as_fd())))
    }

    /// Takes it out of the kernel; its record stays.
    fn take_away(self) -> Result<TcpWalk, Error> {
        for hook in TcpHook::ALL {
            let Record { cgroups, leaving, .. } = &self.record;
            for path in
                [cgroups, leaving].into_iter().filter_map(|paths| paths[hook as usize].as_ref())
            {
                // A cgroup that is gone took the program along.
                let Ok(group) = File::open(path) else { continue };
                self.profile.detach(hook, group.as_fd())?;
            }
        }
        let walk = self.profile.give_back()?;
        self.profile.unregister()?;
        Ok(walk)
    }
}

impl TcpStatus {
    /// For programs.
    pub fn json(&self) -> Value {
        let TcpStatus {
            policy,
            profile,
            filter,
            cgroup,
            windows,
            control,
            selects_new,
            is_attached,
            state,
        } = self;
        json!({
            "policy": policy, "profile": profile, "connections": matching(filter), "control": control,
            "cgroup": cgroup, "windows": windows,
            "selects_new": selects_new, "attached": is_attached,
            "state": state.map(|state| json!({
                "connections": state.connections, "held_bytes": state.held, "sent_bytes": state.sent.0,
                "unasked_bytes": state.unasked.0, "withheld": state.withheld,
                "unasked_withheld": state.stopped, "forced_bytes": state.forced.0,
                "bursts": state.bursts, "waited_s": state.waited.as_secs_f64(),
            })),
        })
    }
}

/// An address, or a network as in `192.0.2.0/24`, and how many bits of it count.
pub fn parse_network(text: &str) -> Option<(IpAddr, u8)> {
    let (address, bits) =
        text.split_once('/').map_or((text, None), |(one, bits)| (one, Some(bits)));
    let address: IpAddr = address.parse().ok()?;
    let most = if address.is_ipv4() { 32 } else { 128 };
    let bits = bits.map_or(Some(most), |bits| bits.parse().ok())?;
    (bits <= most).then_some((address, bits))
}

/// Which connections a filter selects, in words.
pub fn matching(filter: &TcpFilter) -> String {
    let TcpFilter { local, peer, local_port, peer_port } = filter;
    let network = |(address, bits): &(IpAddr, u8)| format!("{address}/{bits}");
    let parts = [
        local.as_ref().map(|one| format!("from {}", network(one))),
        local_port.map(|port| format!("from port {port}")),
        peer.as_ref().map(|one| format!("to {}", network(one))),
        peer_port.map(|port| format!("to port {port}")),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() { "of all kinds".to_owned() } else { parts.join(" ") }
}

impl TcpSelection {
    /// Whether its cgroup can be one.
    ///
    /// # Errors
    /// When the cgroup is missing, or of version 1.
    pub fn check(&self) -> Result<(), Error> {
        let Some(path) = &self.cgroup else { return Ok(()) };
        path.metadata().map_err(|source| invalid_group(path, source))?;
        if !path.join(CONTROLLERS).exists() {
            let lacking = std::io::Error::other(format!("it has no file `{CONTROLLERS}`"));
            return Err(invalid_group(path, lacking));
        }
        Ok(())
    }

    /// The cgroup of each hook: new connections are those of the given cgroup, or of all. Segments of live connections are sent
    /// in any cgroup.
    fn cgroups(&self) -> [Option<PathBuf>; TcpHook::ALL.len()] {
        let all = cgroup::root().unwrap_or_default().or_else(|| self.cgroup.clone());
        [self.cgroup.clone().or_else(|| all.clone()), all]
    }
}

fn invalid_group(path: &Path, source: std::io::Error) -> Error {
    Error::TcpGroup { path: path.display().to_string(), source }
}

/// Removes what a command that was killed has left.
fn clear() -> Result<(), Error> {
    if let Some(record) = Record::read() {
        clear_left_over(&record)?;
    }
    Record::remove();
    Ok(())
}

/// Takes its congestion control out of the kernel, if it is there.
fn clear_left_over(record: &Record) -> Result<(), Error> {
    TcpProfile::left_over(&record.control)
        .map_or(Ok(()), TcpProfile::remove_left_over)
        .map_err(Error::from)
}

fn unknown_namespace(source: std::io::Error) -> Error {
    Error::Machine { what: "cannot name the network namespace", source }
}

/// How windows grow by the settings of a plan, and what limits them, in a line.
pub(super) fn windows(settings: &TcpSettings) -> String {
    let growth = match settings.growth {
        TcpGrowth::Reno => "reno".to_owned(),
        TcpGrowth::AggregateFair => "aggregate-fair".to_owned(),
        TcpGrowth::ConstantRate { reference } => format!("constant-rate from {reference}"),
        TcpGrowth::IncreaseByK { segments, above } => {
            format!("increase-by-k, {segments} segments above {above}")
        }
    };
    let limit = settings.window_rate.map_or(String::new(), |rate| format!(", limited to {rate}"));
    format!("growth {growth}{limit}")
}

/// The settings of a plan in a line.
fn summary(settings: &TcpSettings) -> String {
    let profile = &settings.profile;
    let peak = profile.peak().map_or(String::new(), |peak| format!(", peak {peak}"));
    format!("{} with {}{peak}", profile.rate(), profile.depth())
}
