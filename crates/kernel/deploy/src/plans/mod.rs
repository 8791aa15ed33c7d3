//! Plans of customers on what a device sends: a tree of HTB classes, and the program that finds each packet's customer.
//!
//! ```text
//! Plans ── classes ──▶ classes ──┐
//!                                ├── Change ──▶ tc commands, entries of the program's table
//! Record (in /run) ── classes ───┘
//! ```
//!
//! A class keeps its number as long as its name and its place stay, so that a change of one customer touches no other. Packets
//! that no class takes go past all of them: without the program or without the record, packets still flow.

mod classes;
mod record;
mod standing;
mod status;
mod steps;

use serde_json::Value;
use shortflow_ebpf::Link as LinkHeader;
use shortflow_ebpf::plans::{
    PlansAddress, PlansAtDevice, PlansPrefix, PlansProgram, PlansSettings,
};
use shortflow_plans::{CustomerQueue, Direction, Plans, Prefix};

use crate::converge::{Obstacle, Step};
use crate::device::{Link, link, numbers};
use crate::error::Error;
use crate::observe::Root;
use crate::tc::Tc;
use classes::{Class, ROOT, UNKNOWN, classes};
use record::Record;
use standing::Amiss;
use steps::{Change, SIGNATURE, install, owners, removal};

pub use status::{PlansClassStatus, PlansStatus};

/// Plans on what a device sends.
#[derive(Debug)]
pub struct PlansDevice {
    tc: Tc,
    link: Link,
    /// Whether our classes are there.
    has_classes: bool,
    record: Option<Record>,
}

/// The name of plans whose record is gone.
const LOST: &str = "(the record is gone)";

/// What was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PlansDone {
    /// Commands of tc.
    pub commands: usize,
    /// Entries of the program's table that were written or removed.
    pub prefixes: usize,
    /// Whether all was built anew.
    pub is_new: bool,
}

impl PlansDevice {
    /// What stands at a device.
    ///
    /// # Errors
    /// When it is not there, or tc cannot be run or read.
    pub fn find(tc: Tc) -> Result<PlansDevice, Error> {
        let link = link(tc.device())?;
        let has_classes = has_classes(&tc)?;
        let record = Record::read(tc.device());
        Ok(PlansDevice { tc, link, has_classes, record })
    }

    /// The devices of the network namespace of the thread that have plans.
    ///
    /// # Errors
    /// When `ip` cannot be run or read.
    pub fn all() -> Result<Vec<String>, Error> {
        let names = numbers()?.into_keys();
        Ok(names.filter(|device| Record::read(device).is_some()).collect())
    }

    /// The names of the plans and their direction, where some are deployed here.
    pub fn deployed(&self) -> Option<(&str, Direction)> {
        match (&self.record, self.has_classes) {
            (Some(record), _) => Some((&record.name, record.direction)),
            (None, true) => Some((LOST, Direction::Down)),
            (None, false) => None,
        }
    }

    /// The commands of tc that [`deploy`](Self::deploy) runs on a device without queues, also on one of another machine.
    pub fn planned(device: &str, plans: &Plans, direction: Direction) -> Vec<Step> {
        install(device, &classes(plans, direction, &[]), plans.queue)
    }

    /// Puts plans there.
    ///
    /// # Errors
    /// When something is deployed there already, somebody else's queues are there, or the machine lacks something.
    pub fn deploy(self, plans: &Plans, direction: Direction) -> Result<PlansDone, Error> {
        let device = self.tc.device().to_owned();
        if let Some(record) =
            self.record.as_ref().filter(|record| record.is_complete && self.has_classes)
        {
            return Err(Error::PlansDeployed { device, plans: record.name.clone() });
        }
        if !self.has_classes {
            let observed = self.tc.observe()?;
            if let Some(policy) = observed.policy().filter(|_| observed.is_ours()) {
                return Err(Error::PolicyInTheWay { device, policy: policy.to_owned() });
            }
            if let Root::Other { kind, handle } = observed.root {
                return Err(Error::Obstacle { device, obstacle: Obstacle::Other { kind, handle } });
            }
        }
        self.build(plans, direction)
    }

    /// Changes what the plans say otherwise than before. Where a change was interrupted, or somebody else has changed or
    /// removed classes, all is built anew.
    ///
    /// # Errors
    /// When nothing is deployed there, or the kernel refuses a step.
    pub fn reload(self, plans: &Plans, direction: Direction) -> Result<PlansDone, Error> {
        let device = self.tc.device();
        if self.deployed().is_none() {
            return Err(Error::NotDeployed { device: device.to_owned() });
        }
        let program = PlansAtDevice::find(self.link.index)?;
        let is_same = |record: &&Record| {
            record.is_complete && (record.direction, record.queue) == (direction, plans.queue)
        };
        let mut record = self.record.as_ref().filter(is_same).filter(|_| self.has_classes);
        if let Some(known) = record
            && !Amiss::find(&self.tc, &known.classes)?.is_nothing()
        {
            record = None;
        }
        let (Some(record), Some(program)) = (record, program) else {
            return self.build(plans, direction);
        };
        let new = classes(plans, direction, &record.classes);
        let change = Change::between(device, &record.classes, &new, plans.queue);
        let next = Record { name: plans.name.clone(), classes: new, ..record.clone() };
        if change.is_empty() {
            next.save(device)?;
            return Ok(PlansDone::default());
        }
        // If this is interrupted, the next command knows.
        Record { is_complete: false, ..record.clone() }.save(device)?;
        let mut commands = self.tc.apply(&change.before)?.commands;
        let inserted: Vec<(PlansPrefix, u16)> =
            change.inserted.iter().map(|(prefix, minor)| (key(*prefix), *minor)).collect();
        program.insert(&inserted, ROOT)?;
        let removed: Vec<PlansPrefix> = change.removed.iter().copied().map(key).collect();
        program.remove(&removed)?;
        commands += self.tc.apply(&change.after)?.commands;
        next.save(device)?;
        Ok(PlansDone { commands, prefixes: inserted.len() + removed.len(), is_new: false })
    }

    /// Removes everything.
    ///
    /// # Errors
    /// When nothing is deployed there, or the kernel refuses a step.
    pub fn undeploy(self) -> Result<(), Error> {
        let device = self.tc.device().to_owned();
        if self.deployed().is_none() {
            return Err(Error::NotDeployed { device });
        }
        if let Some(program) = PlansAtDevice::find(self.link.index)? {
            program.detach(self.link.index)?;
        }
        let mut steps = Vec::new();
        steps.extend(self.has_classes.then(|| removal(&device)));
        // Whoever had clsact before, or has filters there now, keeps it.
        let is_ours = self.record.as_ref().is_some_and(|record| !record.has_found_place);
        if is_ours && has_place(&self.tc)? && is_place_empty(&self.tc)? {
            steps.push(Step::Tc(format!("qdisc del dev {device} clsact")));
        }
        self.tc.apply(&steps)?;
        Record::forget(&device);
        Ok(())
    }

    fn build(self, plans: &Plans, direction: Direction) -> Result<PlansDone, Error> {
        let device = self.tc.device();
        // What the machine lacks is reported before anything is changed.
        let settings = PlansSettings {
            link: if self.link.header == 0 { LinkHeader::None } else { LinkHeader::Ethernet },
            address: match direction {
                Direction::Down => PlansAddress::Destination,
                Direction::Up => PlansAddress::Source,
            },
            root: ROOT,
            unknown: UNKNOWN,
        };
        let program = PlansProgram::load(&settings)?;
        let all = classes(plans, direction, &[]);
        let prefixes: Vec<(PlansPrefix, u16)> =
            owners(&all).into_iter().map(|(prefix, minor)| (key(prefix), minor)).collect();
        program.insert(&prefixes)?;
        let has_found_place = match &self.record {
            Some(record) => record.has_found_place,
            None => has_place(&self.tc)?,
        };
        let name = plans.name.clone();
        let queue = plans.queue;
        let record =
            Record { name, direction, queue, has_found_place, is_complete: false, classes: all };
        record.save(device)?;
        let mut steps = Vec::new();
        steps.extend(self.has_classes.then(|| removal(device)));
        steps.extend(install(device, &record.classes, queue));
        let commands = match self.tc.apply(&steps) {
            Ok(applied) => applied.commands,
            Err(error) => {
                // A tree without all its classes is worse than none, and what went wrong goes before what follows from it.
                if self.record.is_none() && self.tc.apply(&[removal(device)]).is_ok() {
                    Record::forget(device);
                }
                return Err(error);
            }
        };
        program.attach(self.link.index)?;
        Record { is_complete: true, ..record }.save(device)?;
        Ok(PlansDone { commands, prefixes: prefixes.len(), is_new: true })
    }

    /// How it stands; none where no plans are deployed.
    ///
    /// # Errors
    /// When tc cannot be run or read.
    pub fn status(&self) -> Result<Option<PlansStatus>, Error> {
        let lost = || Record {
            name: LOST.to_owned(),
            direction: Direction::Down,
            queue: CustomerQueue::default(),
            has_found_place: true,
            is_complete: false,
            classes: Vec::new(),
        };
        let Some(record) = self.record.clone().or_else(|| self.has_classes.then(lost)) else {
            return Ok(None);
        };
        let counts = match PlansAtDevice::find(self.link.index)? {
            Some(program) => Some(program.counts()?),
            None => None,
        };
        PlansStatus::from(&self.tc, &record, self.has_classes, counts).map(Some)
    }
}

/// A prefix, as the program has it.
fn key(prefix: Prefix) -> PlansPrefix {
    (prefix.octets(), prefix.length())
}

/// What tc lists.
fn listed(tc: &Tc, what: &[&str]) -> Result<Vec<Value>, Error> {
    let arguments = [&["-j"], what].concat();
    let text = tc.ask(&arguments)?;
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    serde_json::from_str(&text).map_err(|error| Error::Unreadable {
        command: format!("tc {}", arguments.join(" ")),
        message: error.to_string(),
    })
}

/// Whether the root of the device is the HTB of plans.
fn has_classes(tc: &Tc) -> Result<bool, Error> {
    let found = listed(tc, &["qdisc", "show", "dev", tc.device(), "root"])?;
    let is_ours = |qdisc: &Value| {
        qdisc["kind"] == "htb"
            && qdisc["handle"] == format!("{ROOT:x}:")
            && qdisc["options"]["r2q"] == SIGNATURE
    };
    Ok(found.iter().any(is_ours))
}

/// Whether the device has clsact.
fn has_place(tc: &Tc) -> Result<bool, Error> {
    let found = listed(tc, &["qdisc", "show", "dev", tc.device(), "ingress"])?;
    Ok(found.iter().any(|qdisc| qdisc["kind"] == "clsact"))
}

/// Whether nobody has filters there.
fn is_place_empty(tc: &Tc) -> Result<bool, Error> {
    let mut filters = 0;
    for point in ["egress", "ingress"] {
        filters += listed(tc, &["filter", "show", "dev", tc.device(), point])?.len();
    }
    Ok(filters == 0)
}

/// The classes that [`PlansDevice::status`] shows, by what they are for.
fn of_kind(classes: &[Class], kind: classes::Kind) -> impl Iterator<Item = &Class> {
    classes.iter().filter(move |class| class.kind == kind)
}
