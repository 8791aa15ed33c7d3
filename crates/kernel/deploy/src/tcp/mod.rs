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
    TcpFilter, TcpHook, TcpProfile, TcpSettings, TcpState, TcpWalk, tcp_control_name,
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

/// A policy in the TCP of this network namespace.
#[derive(Debug)]
pub struct TcpDeployment {
    record: Record,
    profile: TcpProfile,
}

/// What a command has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TcpDone {
    /// What became of live connections.
    pub walk: TcpWalk,
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
        filter: &TcpFilter,
        cgroup: Option<PathBuf>,
    ) -> Result<TcpDone, Error> {
        let _lock = DeviceLock::take(LOCKED, LOCK_TIMEOUT)?;
        if let Some(there) = TcpDeployment::found()? {
            return Err(Error::TcpDeployed { policy: there.record.policy });
        }
        clear()?;
        let cgroups = cgroups(cgroup)?;
        let namespace = namespace_id().map_err(unknown_namespace)?;
        let control = tcp_control_name(std::process::id().into(), &format!("{namespace} {policy}"));
        let mut record = Record::new(policy, &control, plan, filter, cgroups);
        record.write()?;
        let profile = TcpProfile::install(&control, filter, &plan.settings);
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

    fn begin(&mut self) -> Result<TcpDone, Error> {
        for hook in TcpHook::ALL {
            let Some(group) = self.group(hook) else { continue };
            self.profile.attach(hook, group?.as_fd())?;
            self.record.parts = Some(self.profile.parts()?);
            self.record.write()?;
        }
        let walk = self.profile.take_over()?;
        Ok(TcpDone { walk, selects_new: self.selects_new() })
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
        filter: &TcpFilter,
        cgroup: Option<PathBuf>,
    ) -> Result<bool, Error> {
        let wanted = Record::new(policy, "", plan, filter, cgroups(cgroup)?);
        let there = TcpDeployment::found()?;
        Ok(there.is_some_and(|there| there.record.does_the_same(&wanted) && there.is_hooked()))
    }

    /// Brings TCP to this policy for these connections, whatever is there: a policy for the same ones is changed while they go
    /// on, one for others is removed first.
    ///
    /// # Errors
    /// As [`deploy`](Self::deploy).
    pub fn replace(
        policy: &str,
        plan: &TcpPlan,
        filter: &TcpFilter,
        cgroup: Option<PathBuf>,
    ) -> Result<TcpDone, Error> {
        let wanted = cgroups(cgroup.clone())?;
        match TcpDeployment::found()? {
            Some(there) if there.record.selects(filter, &wanted) && there.is_hooked() => {
                return TcpDeployment::reload(policy, plan);
            }
            Some(_) => TcpDeployment::undeploy().map(|_| ())?,
            None => {}
        }
        TcpDeployment::deploy(policy, plan, filter, cgroup)
    }

    /// Changes the profile while connections go on, and takes over live ones that match and do not have it.
    ///
    /// # Errors
    /// When nothing is deployed, or the kernel does not take it.
    pub fn reload(policy: &str, plan: &TcpPlan) -> Result<TcpDone, Error> {
        let _lock = DeviceLock::take(LOCKED, LOCK_TIMEOUT)?;
        let mut there = TcpDeployment::found()?.ok_or(Error::TcpNotDeployed)?;
        there.profile.change(&plan.settings)?;
        there.record.plays(policy, plan);
        there.record.write()?;
        let walk = there.profile.take_over()?;
        Ok(TcpDone { walk, selects_new: there.selects_new() })
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
        let Record { policy, profile, filter, control, .. } = record;
        Ok(Some(TcpStatus { policy, profile, filter, control, selects_new, is_attached, state }))
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
    fn take_away(mut self) -> Result<TcpWalk, Error> {
        for hook in TcpHook::ALL {
            // A cgroup that is gone took the program along.
            let Some(Ok(group)) = self.group(hook) else { continue };
            self.profile.detach(hook, group.as_fd())?;
        }
        let walk = self.profile.give_back()?;
        self.profile.unregister()?;
        Ok(walk)
    }
}

impl TcpStatus {
    /// For programs.
    pub fn json(&self) -> Value {
        let TcpStatus { policy, profile, filter, control, selects_new, is_attached, state } = self;
        json!({
            "policy": policy, "profile": profile, "connections": matching(filter), "control": control,
            "selects_new": selects_new, "attached": is_attached,
            "state": state.map(|state| json!({
                "connections": state.connections, "held_bytes": state.held, "sent_bytes": state.sent.0,
                "unasked_bytes": state.unasked.0, "withheld": state.withheld,
                "unasked_withheld": state.stopped, "forced_bytes": state.forced.0,
            })),
        })
    }
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

/// The cgroup of each hook: new connections are those of the given cgroup, or of all. Segments of live connections are sent in any
/// cgroup.
fn cgroups(given: Option<PathBuf>) -> Result<[Option<PathBuf>; TcpHook::ALL.len()], Error> {
    if let Some(path) = &given {
        path.metadata().map_err(|source| invalid_group(path, source))?;
        if !path.join(CONTROLLERS).exists() {
            let lacking = std::io::Error::other(format!("it has no file `{CONTROLLERS}`"));
            return Err(invalid_group(path, lacking));
        }
    }
    let all = cgroup::root().unwrap_or_default().or_else(|| given.clone());
    Ok([given.or_else(|| all.clone()), all])
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

/// The settings of a plan in a line.
fn summary(settings: &TcpSettings) -> String {
    let profile = &settings.profile;
    let peak = profile.peak().map_or(String::new(), |peak| format!(", peak {peak}"));
    format!("{} with {}{peak}", profile.rate(), profile.depth())
}
