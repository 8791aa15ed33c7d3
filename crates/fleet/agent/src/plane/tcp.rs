//! A policy's profile in the TCP of this machine.

use serde_json::{Value, json};
use shortflow_deploy::{Error, TcpDeployment, TcpDone, TcpStatus, Warning};

use super::kernel::one_line;
use super::{Installed, Trouble};
use crate::fleet::{TCP, Target, TcpPlace};

/// Brings TCP to the policy of the target.
pub(super) fn install(target: &Target, place: &TcpPlace) -> Result<Installed, Trouble> {
    let plan = target.tcp_plan(place).map_err(|refused| Trouble(one_line(&refused.to_string())))?;
    let name = &target.policy.name;
    let done = TcpDeployment::replace(name, &plan, &place.selection)?;
    let taken = done.walk.changed;
    let summary = format!(", in TCP, {}, {taken} live connections taken over", plan.summary());
    Ok(Installed { summary, warnings: warnings(&done) })
}

fn warnings(done: &TcpDone) -> Vec<Warning> {
    let warning = |what: String, remedy: &str| Warning { what, remedy: remedy.to_owned() };
    let mut all = Vec::new();
    if !done.selects_new {
        let what = "new connections do not come to the profile: no cgroup of version 2 is mounted";
        all.push(warning(what.to_owned(), "mount one at /sys/fs/cgroup"));
    }
    let (refused, unfit) = (done.walk.refused, done.walk.unfit);
    if refused > 0 {
        let what = format!("the kernel refuses the congestion control for {refused} connections");
        all.push(warning(what, "they keep their own"));
    }
    if unfit > 0 {
        let what = format!("{unfit} connections have segments above `max_packet`");
        all.push(warning(what, "they keep their own congestion control"));
    }
    all
}

/// Whether TCP is as the target says.
pub(super) fn is_deployed(target: &Target, place: &TcpPlace) -> Result<bool, Trouble> {
    let plan = target.tcp_plan(place).map_err(|refused| Trouble(one_line(&refused.to_string())))?;
    let name = &target.policy.name;
    Ok(TcpDeployment::is_deployed(name, &plan, &place.selection)?)
}

/// Takes away what is in TCP, if anything is.
pub(super) fn remove() -> Result<(), Trouble> {
    match TcpDeployment::undeploy() {
        Ok(_) | Err(Error::TcpNotDeployed) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// How TCP stands. It has no classes.
pub(super) fn status() -> Result<Value, Trouble> {
    let Some(status) = TcpDeployment::status()? else { return Ok(Value::Null) };
    let TcpStatus { policy, .. } = &status;
    Ok(
        json!({ "device": TCP, "direction": "tcp", "policy": policy, "classes": [], "tcp": status.json() }),
    )
}
