//! From the texts of a repository to a fleet, or all mistakes in them.

use std::collections::BTreeMap;
use std::sync::Arc;

use shortflow_deploy::{Kernel, Site, Unwanted, Wanted, any_owners, is_plain, roles_of};
use shortflow_policy::Policy;
use shortflow_text::{
    Diagnostic, Diagnostics, Document, NAME_RULE, Override, Source, is_name, suggestion,
};
use shortflow_units::Rate;

use super::file::{AssignFile, FleetFile, InterfaceFile, RolloutFile};
use super::{Fleet, Machine, Target, labels, rollout};
use crate::bundle::{Bundle, FLEET, is_inner};

pub(super) fn check(bundle: &Bundle) -> Result<Fleet, Diagnostics> {
    let Some(text) = bundle.text(FLEET) else {
        let help = Some("it says which machine gets which policy".to_owned());
        return Err(Diagnostics::one(Diagnostic::of_whole(
            FLEET,
            format!("there is no {FLEET}"),
            help,
        )));
    };
    let source = Source { name: FLEET.to_owned(), text: text.to_owned() };
    let mut document = Document::parse(Arc::new(source), &[])?;
    let mut file: FleetFile = document.read()?;
    let name = document.title(file.name.take(), "fleet".to_owned());
    let mut checker =
        Checker { document, file: &file, bundle, of_policies: Vec::new(), warnings: Vec::new() };
    checker.machines();
    rollout::check(&file, &mut checker.document);
    let policies = checker.policies();
    let machines = checker.assigned(&policies);
    let Checker { document, of_policies, mut warnings, .. } = checker;
    warnings.extend(document.warnings().0);
    let own = document.checked().err().map(|found| found.0).unwrap_or_default();
    let mistakes: Vec<Diagnostic> = own.into_iter().chain(of_policies).collect();
    match mistakes.is_empty() {
        true => Ok(Fleet {
            name,
            count: machines.len(),
            first: machines.iter().filter(|it| it.is_first).map(|it| it.name.clone()).collect(),
            machines,
            watch: file.rollout.as_ref().map(RolloutFile::window).unwrap_or_default(),
            needs_verdicts: file.rollout.as_ref().is_some_and(|rollout| rollout.verdicts),
            warnings: Diagnostics(warnings),
        }),
        false => Err(Diagnostics(mistakes)),
    }
}

struct Checker<'f> {
    document: Document,
    file: &'f FleetFile,
    bundle: &'f Bundle,
    /// Mistakes in policies.
    of_policies: Vec<Diagnostic>,
    warnings: Vec<Diagnostic>,
}

impl Checker<'_> {
    fn machines(&mut self) {
        if self.file.machines.is_empty() {
            let help = "add a [machines.NAME] table for each machine";
            self.document.mistake("machines", "the fleet has no machine", help);
        }
        for (name, machine) in self.file.machines.iter() {
            let path = format!("machines.{name}");
            self.name(&path, name);
            labels::check(&path, machine, &mut self.document);
            let mut seen: BTreeMap<&str, &str> = BTreeMap::new();
            for (interface, InterfaceFile { device, rate }) in machine.interfaces.iter() {
                let path = format!("{path}.interfaces.{interface}");
                self.name(&path, interface);
                if !is_plain(device) {
                    let message = format!("{device:?} is no name of a device");
                    let help = "write it as `ip link` does: letters, digits and the characters . _ - @ : +";
                    self.document.mistake(&format!("{path}.device"), message, help);
                } else if let Some(other) = seen.insert(device, interface) {
                    let message =
                        format!("`{device}` is the device of the interface `{other}` already");
                    let help = "a device is one interface: take one of them out";
                    self.document.mistake(&format!("{path}.device"), message, help);
                }
                if let Some(rate) = rate.filter(|rate| *rate < Wanted::LEAST_RATE) {
                    let message =
                        format!("{rate} is too slow; at least {} are allowed", Wanted::LEAST_RATE);
                    let help = "give the rate of the bottleneck, less a little";
                    self.document.mistake(&format!("{path}.rate"), message, help);
                }
            }
        }
    }

    fn name(&mut self, path: &str, name: &str) {
        if !is_name(name) {
            let message = format!("`{name}` is not a valid name");
            self.document.mistake_in_key(path, message, NAME_RULE);
        }
    }

    /// The policy of each assignment, with its changes; none where it has mistakes, which are noted.
    fn policies(&mut self) -> Vec<Option<Arc<Policy>>> {
        if self.file.assign.is_empty() {
            let help = "add an [[assign]] table, whose `policy` names a file";
            self.document.mistake("assign", "no policy is assigned to any machine", help);
        }
        let assignments = self.file.assign.iter().enumerate();
        assignments.map(|(index, assign)| self.policy(index, assign).map(Arc::new)).collect()
    }

    fn policy(&mut self, index: usize, assign: &AssignFile) -> Option<Policy> {
        let path = format!("assign.{index}");
        let at = format!("{path}.policy");
        if !is_inner(&assign.policy) {
            let message = format!("`{}` lies outside the repository", assign.policy);
            self.document.mistake(&at, message, "write a path below the folder of fleet.toml");
            return None;
        }
        let Some(text) = self.bundle.text(&assign.policy) else {
            let others: Vec<&str> =
                self.bundle.files().map(|(path, _)| path).filter(|path| *path != FLEET).collect();
            let help = suggestion(&assign.policy, "policies that are there and assigned", &others);
            self.document.mistake(&at, format!("there is no file `{}`", assign.policy), help);
            return None;
        };
        let overrides: Vec<Override> = assign
            .set
            .iter()
            .map(|(key, value)| Override {
                key: key.to_owned(),
                value: value.to_string(),
                prefix: "",
                origin: format!("{FLEET}, assign {index}, set"),
            })
            .collect();
        match shortflow_policy::from_text(&assign.policy, text, &overrides) {
            Ok(policy) => {
                self.note_once(false, &policy.warnings);
                if let Err(what) = roles_of(&policy, &assign.roles) {
                    let (message, help) = what.split_once('\n').unwrap_or((&what, ""));
                    let help = match help.split_once("--role ") {
                        Some((before, names)) => {
                            format!("{before}roles = [\"{}\"]", names.replace(',', "\", \""))
                        }
                        None => help.to_owned(),
                    };
                    self.document.mistake(&format!("{path}.roles"), message, help);
                    return None;
                }
                Some(policy)
            }
            Err(mistakes) => {
                self.note_once(true, &mistakes);
                None
            }
        }
    }

    /// Notes what was found in a policy, which several assignments may name.
    fn note_once(&mut self, is_wrong: bool, found: &Diagnostics) {
        let list = if is_wrong { &mut self.of_policies } else { &mut self.warnings };
        for diagnostic in &found.0 {
            if !list.contains(diagnostic) {
                list.push(diagnostic.clone());
            }
        }
    }

    /// What every device gets.
    fn assigned(&mut self, policies: &[Option<Arc<Policy>>]) -> Vec<Machine> {
        let mut reached = vec![false; policies.len()];
        let mut tried: Vec<(usize, Option<Rate>, Vec<String>)> = Vec::new();
        let mut machines = Vec::new();
        for (name, machine) in self.file.machines.iter() {
            let mut devices: Vec<(String, String, Option<Target>)> = Vec::new();
            for (interface, InterfaceFile { device, rate }) in machine.interfaces.iter() {
                let all = self.file.assign.iter().enumerate();
                let mut fit: Vec<(usize, &AssignFile)> =
                    all.filter(|(_, assign)| assign.reaches(name, machine, interface)).collect();
                fit.iter().for_each(|(index, _)| reached[*index] = true);
                fit.sort_by_key(|(_, assign)| -assign.priority);
                self.told_apart(&fit, name, interface);
                let target = fit.first().and_then(|&(index, assign)| {
                    let policy = policies[index].clone()?;
                    let mut target = self.target(assign, policy, interface, device, *rate)?;
                    target.labels = labels::of(machine, &target.policy);
                    let names = target.labels.iter().map(|(name, _)| name.clone()).collect();
                    let trial = (index, target.rate, names);
                    if !tried.contains(&trial) {
                        tried.push(trial);
                        self.fits_a_device(
                            index,
                            &target,
                            &format!("machines.{name}.interfaces.{interface}"),
                        );
                    }
                    Some(target)
                });
                devices.push((interface.to_owned(), device.clone(), target));
            }
            labels::matched(name, machine, &devices, &mut self.document);
            let rollout = self.file.rollout.as_ref();
            let wait = rollout.map(|rollout| rollout.wait(machine)).unwrap_or_default();
            let is_first = rollout.is_some_and(|rollout| rollout.is_first(machine));
            machines.push(Machine { name: name.to_owned(), wait, is_first, devices });
        }
        for (index, _) in reached.iter().enumerate().filter(|(_, reached)| !**reached) {
            let message = "this assignment reaches no interface of any machine";
            let help =
                "look at its machines, groups, tags and interfaces; without them it reaches all";
            self.document.warning(&format!("assign.{index}"), message, help);
        }
        machines
    }

    /// Refuses two assignments with the same claim to an interface.
    fn told_apart(&mut self, fit: &[(usize, &AssignFile)], machine: &str, interface: &str) {
        let [(first, one), (second, other), ..] = fit else { return };
        if one.priority == other.priority {
            let message = format!(
                "this and assignment {first} (`{}`) both reach the interface `{interface}` of `{machine}` with priority {}",
                one.policy, one.priority
            );
            let help =
                "give the one that is to win a greater `priority`; assignments are counted from 0";
            let path = format!("assign.{second}.priority");
            self.document.mistake(&path, message, help);
        }
    }

    fn target(
        &self,
        assign: &AssignFile,
        policy: Arc<Policy>,
        interface: &str,
        device: &str,
        rate: Option<Rate>,
    ) -> Option<Target> {
        let text = self.bundle.text(&assign.policy)?;
        let has_queue = roles_of(&policy, &assign.roles)
            .is_ok_and(|roles| roles.iter().any(|role| role.queues()));
        Some(Target {
            interface: interface.to_owned(),
            device: device.to_owned(),
            rate: rate.filter(|_| has_queue),
            file: assign.policy.clone(),
            text: text.into(),
            set: assign
                .set
                .iter()
                .map(|(key, value)| (key.to_owned(), value.to_string()))
                .collect(),
            policy,
            roles: assign.roles.clone(),
            nearest: assign.nearest,
            priority: assign.priority,
            labels: Vec::new(),
        })
    }

    /// Refuses what no kernel can do, before any machine tries.
    fn fits_a_device(&mut self, index: usize, target: &Target, interface: &str) {
        let site = Site {
            rate: None,
            speed: None,
            link_header: 14,
            kernel: Kernel::default(),
            nearest: false,
        };
        // Whose connections they are is for the machine to find.
        let is_given = |label: &str| target.labels.iter().any(|(name, _)| name == label);
        let owners = any_owners(&target.policy).of_labels(is_given);
        let Err(unwanted) = target.wanted(site, &owners) else { return };
        let at = format!("assign.{index}.policy");
        match unwanted {
            Unwanted::Roles(what) => self.document.mistake(&at, what, ""),
            Unwanted::Refused(refusals) => {
                for refusal in refusals {
                    if refusal.path == "--rate" {
                        let message = "this interface has no rate, and the policy that it gets has a queue without a shaper";
                        let help = "give the interface a `rate`, a little below that of the bottleneck: rate = \"95 Mbit/s\"";
                        self.document.mistake_in_key(interface, message, help);
                        continue;
                    }
                    if target.labels.len() < target.policy.labels().len()
                        && refusal
                            .nearest
                            .as_ref()
                            .is_some_and(|(help, _)| help.contains("--label"))
                    {
                        let message = format!("{}: {}", refusal.path, refusal.what);
                        let (machine, _) = interface.split_once(".interfaces").unwrap_or_default();
                        let help = format!(
                            "say whose they are: {machine}.labels = {{ NAME = \"mark:7\" }}, or \"cgroup:PATH\""
                        );
                        self.document.mistake(&at, message, &help);
                        continue;
                    }
                    let help = match &refusal.nearest {
                        Some((nearest, true)) => {
                            format!("nearest: {nearest} (`nearest = true` takes it)")
                        }
                        Some((nearest, false)) => nearest.clone(),
                        None => String::new(),
                    };
                    let message =
                        format!("this cannot be deployed: {}: {}", refusal.path, refusal.what);
                    self.document.mistake(&at, message, help);
                }
            }
        }
    }
}
