//! Events of an agent, in one form for the log, for subscribers and for the journal.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::{Map, Value, json};
use shortflow_deploy::Warning;

use crate::fleet::{TCP, is_between};

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// When, in UTC as of RFC 3339, by this machine's clock.
    pub at: String,
    /// Who did it: a user of this machine or of the repository, or `agent`.
    pub who: String,
    /// What.
    pub what: What,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// The agent has started.
    Started {
        /// The machine whose devices it looks after.
        machine: String,
        /// The version that it has, if any.
        version: Option<u64>,
    },
    /// It has ended as it was asked to; what is deployed stays.
    Stopped,
    /// A new version was taken.
    Accepted {
        /// Its number.
        version: u64,
        /// The digest of its texts.
        digest: String,
        /// The source.
        from: String,
    },
    /// A repository was not taken.
    Refused {
        /// The digest of its texts.
        digest: String,
        /// The source.
        from: String,
        /// The mistakes in it.
        mistakes: String,
        /// The version that stays, if any counts.
        stays: Option<u64>,
    },
    /// A repository is good, and other machines apply it first.
    Waits {
        /// The digest of its texts.
        digest: String,
        /// The source.
        from: String,
        /// When this machine takes it, by its clock.
        until: String,
    },
    /// A version was found to be no worse than the one before it.
    Approved {
        /// The digest of its texts.
        digest: String,
        /// By which measures, or by whose order.
        why: String,
    },
    /// The agent cannot decide whether a version is worse than the previous one.
    Inconclusive {
        /// The digest of its texts.
        digest: String,
        /// Why not.
        why: String,
        /// The command that releases the version to the machines that wait for this machine's verdict; `None` if no
        /// machine waits.
        release: Option<String>,
    },
    /// A version was found worse than the previous one, and is rolled back.
    Worse {
        /// The digest of its texts.
        digest: String,
        /// The version that one goes back to.
        to: u64,
        /// Where, and how.
        why: String,
    },
    /// The waiting version is held back, because a first machine found it worse.
    Halted {
        /// The digest of its texts.
        digest: String,
        /// The machine.
        by: String,
        /// What it says.
        why: String,
    },
    /// A held-back version is released.
    Resumed {
        /// The digest of its texts.
        digest: String,
    },
    /// The verdict could not be reported to other machines; the agent tries again.
    VerdictNotSent {
        /// Why not.
        why: String,
    },
    /// The repository cannot be read now; the last good version stays.
    Unreadable {
        /// The source.
        from: String,
        /// Why not.
        why: String,
        /// The version that stays, if any counts.
        stays: Option<u64>,
    },
    /// It can be read again.
    Readable {
        /// The source.
        from: String,
    },
    /// An earlier version has taken the place of a later one.
    RolledBack {
        /// The version before.
        from: u64,
        /// The active version.
        to: u64,
    },
    /// A device has the policy that it is to have.
    Installed {
        /// The device.
        device: String,
        /// The name of the policy.
        policy: String,
        /// The roles and the rate.
        summary: String,
    },
    /// A condition on this machine may spoil a deployment.
    Warned {
        /// The device.
        device: String,
        /// The condition and its effect.
        warning: Warning,
    },
    /// Nothing of ours is deployed at a device any more, or the device is gone.
    Removed {
        /// The device.
        device: String,
    },
    /// A device was renamed after something was deployed there, and has no assignment by its new name.
    Renamed {
        /// The name that it had.
        from: String,
        /// The name that it has.
        to: String,
    },
    /// A router between two devices has ended by itself, and the agent starts another.
    Ended {
        /// The devices.
        device: String,
        /// Why.
        why: String,
    },
    /// Something could not be done at a device, which stays as it was; it is tried again.
    Failed {
        /// The device.
        device: String,
        /// Why not.
        why: String,
    },
    /// Another process changed a device, and the agent repairs it.
    Changed {
        /// The device.
        device: String,
        /// How often that was so in a row.
        times: u32,
    },
    /// The agent repaired its state after an interruption or a fault.
    Repaired {
        /// What was found, and what became of it.
        what: String,
    },
    /// A version could not be written; it is tried again.
    NotKept {
        /// Why not.
        why: String,
    },
    /// What was found of the version on trial could not be written; it is tried again.
    NotWritten {
        /// Why not.
        why: String,
    },
    /// The fleet has no such machine.
    Unnamed {
        /// Its name.
        machine: String,
    },
}

impl Event {
    /// An event that happens now.
    pub(crate) fn now(who: &str, what: What) -> Event {
        Event { at: clock(Duration::ZERO), who: who.to_owned(), what }
    }

    /// As a program reads it: `at`, `who`, `what`, and what belongs to that.
    pub fn json(&self) -> Value {
        let (word, more) = self.what.parts();
        let head = json!({ "at": self.at, "who": self.who, "what": word });
        let (Value::Object(mut all), Value::Object(more)) = (head, more) else {
            return Value::Null;
        };
        all.extend(more);
        Value::Object(all)
    }

    /// Parses an event as [`json`](Event::json) writes it; `None` if it is something else.
    pub fn parse(line: &str) -> Option<Map<String, Value>> {
        let Value::Object(map) = serde_json::from_str(line).ok()? else { return None };
        ["at", "who", "what"]
            .iter()
            .all(|key| map.get(*key).is_some_and(Value::is_string))
            .then_some(map)
    }
}

/// What the machine's clock says so long from now, as of RFC 3339.
pub(crate) fn clock(from_now: Duration) -> String {
    written(utc() + from_now)
}

/// The machine's clock. A clock that was never set may be before 1970, on which chrono's own `now` panics.
pub(crate) fn utc() -> DateTime<Utc> {
    time_of(SystemTime::now())
}

fn time_of(time: SystemTime) -> DateTime<Utc> {
    match time.duration_since(UNIX_EPOCH) {
        Ok(since) => DateTime::UNIX_EPOCH + since,
        Err(before) => DateTime::UNIX_EPOCH - before.duration(),
    }
}

/// A time as of RFC 3339.
pub(crate) fn written(time: DateTime<Utc>) -> String {
    time.to_rfc3339_opts(SecondsFormat::Millis, true)
}

/// What happens if the source has nothing usable.
fn what_stays(version: Option<u64>) -> &'static str {
    match version {
        Some(_) => "the last good version stays active",
        None => "no version is active yet",
    }
}

impl What {
    fn parts(&self) -> (&'static str, Value) {
        match self {
            What::Started { machine, version } => {
                ("started", json!({ "machine": machine, "version": version }))
            }
            What::Stopped => ("stopped", json!({})),
            What::Accepted { version, digest, from } => {
                ("accepted", json!({ "version": version, "digest": digest, "from": from }))
            }
            What::Refused { digest, from, mistakes, .. } => {
                ("refused", json!({ "digest": digest, "from": from, "mistakes": mistakes }))
            }
            What::Waits { digest, from, until } => {
                ("waits", json!({ "digest": digest, "from": from, "until": until }))
            }
            What::Approved { digest, why } => ("approved", json!({ "digest": digest, "why": why })),
            What::Inconclusive { digest, why, .. } => {
                ("inconclusive", json!({ "digest": digest, "why": why }))
            }
            What::Worse { digest, to, why } => {
                ("worse", json!({ "digest": digest, "to": to, "why": why }))
            }
            What::Halted { digest, by, why } => {
                ("halted", json!({ "digest": digest, "by": by, "why": why }))
            }
            What::Resumed { digest } => ("resumed", json!({ "digest": digest })),
            What::VerdictNotSent { why } => ("verdict not sent", json!({ "why": why })),
            What::Unreadable { from, why, .. } => {
                ("unreadable", json!({ "from": from, "why": why }))
            }
            What::Readable { from } => ("readable", json!({ "from": from })),
            What::RolledBack { from, to } if from == to => ("stays", json!({ "version": to })),
            What::RolledBack { from, to } => ("rolled back", json!({ "from": from, "to": to })),
            What::Installed { device, policy, summary } => {
                ("installed", json!({ "device": device, "policy": policy, "summary": summary }))
            }
            What::Warned { device, warning: Warning { what, remedy } } => {
                ("warning", json!({ "device": device, "warning": what, "remedy": remedy }))
            }
            What::Removed { device } => ("removed", json!({ "device": device })),
            What::Renamed { from, to } => ("renamed", json!({ "from": from, "to": to })),
            What::Ended { device, why } => ("ended", json!({ "device": device, "why": why })),
            What::Failed { device, why } => ("failed", json!({ "device": device, "why": why })),
            What::Changed { device, times } => {
                ("changed", json!({ "device": device, "times": times }))
            }
            What::Repaired { what } => ("repaired", json!({ "found": what })),
            What::NotKept { why } => ("not kept", json!({ "why": why })),
            What::NotWritten { why } => ("not written", json!({ "why": why })),
            What::Unnamed { machine } => ("unnamed", json!({ "machine": machine })),
        }
    }
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            What::Started { machine, version: Some(version) } => {
                write!(f, "the agent of {machine} has started with version {version}")
            }
            What::Started { machine, version: None } => {
                write!(f, "the agent of {machine} has started without a version")
            }
            What::Stopped => f.write_str("the agent has stopped; deployed policies stay"),
            What::Accepted { version, digest, from } => {
                write!(f, "applied version {version} ({digest}) from {from}")
            }
            What::Refused { digest, from, mistakes, stays } => {
                write!(f, "refused {from} ({digest}); {}:\n{mistakes}", what_stays(*stays))
            }
            What::Waits { .. }
            | What::Approved { .. }
            | What::Inconclusive { .. }
            | What::Worse { .. }
            | What::Halted { .. }
            | What::Resumed { .. }
            | What::VerdictNotSent { .. } => self.fmt_of_rollout(f),
            What::Unreadable { from, why, stays } => {
                write!(f, "cannot read {from}; {}: {why}", what_stays(*stays))
            }
            What::Readable { from } => write!(f, "{from} is readable again"),
            What::RolledBack { from, to } if from == to => {
                write!(f, "version {to} stays active")
            }
            What::RolledBack { from, to } => write!(f, "rolled back from version {from} to {to}"),
            What::Installed { .. }
            | What::Warned { .. }
            | What::Removed { .. }
            | What::Renamed { .. }
            | What::Ended { .. }
            | What::Failed { .. }
            | What::Changed { .. } => self.fmt_of_device(f),
            What::Repaired { what } => write!(f, "state repaired: {what}"),
            What::NotKept { why } => {
                write!(
                    f,
                    "cannot store the new version, so it is not applied: {why}; the agent \
                    will try again"
                )
            }
            What::NotWritten { why } => write!(
                f,
                "cannot write the result of the trial, so the version stays for now: {why}; the \
                    agent will try again"
            ),
            What::Unnamed { machine } => {
                write!(f, "the fleet has no machine `{machine}`: no policy is deployed here")
            }
        }
    }
}

impl What {
    /// Of a version that waits or is on trial.
    fn fmt_of_rollout(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            What::Waits { digest, from, until } => {
                write!(
                    f,
                    "{from} ({digest}) is valid and waits until {until}: other machines apply it \
                        first"
                )
            }
            What::Approved { digest, why } => write!(f, "version {digest} is no worse: {why}"),
            What::Inconclusive { digest, why, release } => {
                write!(f, "cannot decide whether version {digest} is worse: {why}")?;
                match release {
                    Some(command) => write!(
                        f,
                        "; the other machines keep waiting: to release it to them, run `{command}`"
                    ),
                    None => Ok(()),
                }
            }
            What::Worse { digest, to, why } => {
                write!(
                    f,
                    "version {digest} is worse than version {to}, which is active again: \
                    {why}"
                )
            }
            What::Halted { digest, by, why } => {
                write!(f, "version {digest} is held back: machine {by} finds it worse: {why}")
            }
            What::Resumed { digest } => write!(f, "version {digest} is released"),
            What::VerdictNotSent { why } => {
                write!(
                    f,
                    "cannot report a verdict to the other machines: {why}; the agent will \
                    try again"
                )
            }
            _ => Ok(()),
        }
    }

    /// Of what stands at a device.
    fn fmt_of_device(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            What::Installed { device, policy, summary } => {
                write!(f, "{device}: policy {policy:?}{summary}")
            }
            What::Warned { device, warning } => write!(f, "{device}: warning: {warning}"),
            What::Removed { device } if is_between(device) => write!(
                f,
                "{device}: the router has ended; its bridge stays and forwards all packets"
            ),
            What::Removed { device } if device == TCP => write!(
                f,
                "{device}: policy removed; connections have their former congestion control again"
            ),
            What::Ended { device, why } => {
                write!(f, "{device}: the router has ended: {why}; the agent starts another")
            }
            What::Failed { device, why } if is_between(device) => write!(
                f,
                "{device}: {why}; no packets are shaped there, and the agent will try again"
            ),
            What::Removed { device } => {
                write!(f, "{device}: no policy of Shortflow's is deployed there any more")
            }
            What::Renamed { from, to } => write!(
                f,
                "device {from} is now called {to}, which has no assignment: its policy is removed"
            ),
            What::Failed { device, why } => {
                write!(f, "{device}: {why}; the device is unchanged, and the agent will try again")
            }
            What::Changed { device, times: 1 } => {
                write!(
                    f,
                    "{device}: another process changed or recreated the device; the agent deploys \
                        the policy again"
                )
            }
            What::Changed { device, times } => {
                write!(
                    f,
                    "{device}: another process has changed the device {times} times; the agent \
                        deploys the policy again"
                )
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_before_1970_is_told_like_any_other() {
        let early = UNIX_EPOCH - Duration::from_millis(1500);
        assert_eq!(written(time_of(early)), "1969-12-31T23:59:58.500Z");
        let late = UNIX_EPOCH + Duration::from_millis(86_400_250);
        assert_eq!(written(time_of(late)), "1970-01-02T00:00:00.250Z");
    }
}
