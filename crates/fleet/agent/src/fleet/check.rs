//! Checks the texts of a repository, and gives a fleet or all errors.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use shortflow_deploy::{Kernel, Kind, RolesError, Site, Unwanted, Wanted, any_owners, roles_of};
use shortflow_inline::{Plan, acting_roles};
use shortflow_policy::Policy;
use shortflow_text::{Diagnostic, Diagnostics, NAME_RULE, Override, is_name, is_title, nearest};
use shortflow_units::{LinkLayer, Rate};

use super::file::{AssignFile, FleetFile, InterfaceFile, MachineFile, RolloutFile, TcpFile};
use super::remarks::Remarks;
use super::select::Missed;
use super::{Fleet, Machine, Target, TcpPlace, interface, labels, rollout};
use crate::bundle::{Bundle, FLEET, is_inner};

/// Holds a fleet that was read against the policies of a repository. Where `only` one machine is wanted, that of the others is
/// checked and not kept.
pub(super) fn check(
    mut file: FleetFile,
    mut remarks: Remarks<'_>,
    bundle: &Bundle,
    only: Option<&str>,
) -> Result<Fleet, Diagnostics> {
    let name = match file.name.take() {
        Some(name) if !is_title(&name) => remarks.document().title(Some(name), String::new()),
        name => name.unwrap_or_else(|| "fleet".to_owned()),
    };
    let (plain, of_policies, warnings) = (BTreeMap::new(), Vec::new(), Vec::new());
    let mut checker = Checker { remarks, file: &file, bundle, plain, of_policies, warnings };
    checker.machines();
    rollout::check(&file, &mut checker.remarks);
    let policies = checker.policies();
    let machines = checker.assigned(&policies, only);
    let Checker { remarks, of_policies, mut warnings, .. } = checker;
    let (own, more) = remarks.found();
    warnings.extend(more.0);
    let mistakes: Vec<Diagnostic> = own.0.into_iter().chain(of_policies).collect();
    let rollout = file.rollout.as_ref();
    let is_first = |(_, machine): &(&str, &MachineFile)| {
        rollout.is_some_and(|rollout| rollout.is_first(machine))
    };
    match mistakes.is_empty() {
        true => Ok(Fleet {
            name,
            count: file.machines.0.len(),
            first: file.machines.iter().filter(is_first).map(|(name, _)| name.to_owned()).collect(),
            machines,
            watch: rollout.map(RolloutFile::window).unwrap_or_default(),
            needs_verdicts: rollout.is_some_and(|rollout| rollout.verdicts),
            warnings: Diagnostics(warnings),
        }),
        false => Err(Diagnostics(mistakes)),
    }
}

/// What an assignment gives to those that it reaches.
struct Assigned {
    policy: Arc<Policy>,
    text: Arc<str>,
    set: Vec<(String, String)>,
    has_queue: bool,
}

struct Checker<'f> {
    remarks: Remarks<'f>,
    file: &'f FleetFile,
    bundle: &'f Bundle,
    /// The policies that assignments take as they are written, by their files.
    plain: BTreeMap<&'f str, Option<Arc<Policy>>>,
    /// Mistakes in policies.
    of_policies: Vec<Diagnostic>,
    warnings: Vec<Diagnostic>,
}

impl<'f> Checker<'f> {
    fn machines(&mut self) {
        if self.file.machines.is_empty() {
            let help = "add a [machines.NAME] table for each machine";
            self.remarks.mistake("machines", "the fleet has no machine", help);
        }
        for (name, machine) in self.file.machines.iter() {
            self.name(name, || format!("machines.{name}"));
            labels::check(name, machine, &mut self.remarks);
            let mut seen: BTreeMap<&str, &str> = BTreeMap::new();
            for (interface, of) in machine.interfaces.iter() {
                let path = || format!("machines.{name}.interfaces.{interface}");
                self.name(interface, path);
                interface::check(&path, (interface, of), &mut seen, &mut self.remarks);
            }
        }
    }

    fn name(&mut self, name: &str, path: impl Fn() -> String) {
        if !is_name(name) {
            let message = format!("invalid name `{name}`");
            self.remarks.mistake_in_key(&path(), message, NAME_RULE);
        }
    }

    /// The policy of each assignment, with its changes; `None` if it has errors, which are recorded.
    fn policies(&mut self) -> Vec<Option<Assigned>> {
        if self.file.assign.is_empty() {
            let help = "add an [[assign]] table whose `policy` names a file";
            self.remarks.mistake("assign", "no policy is assigned to any machine", help);
        }
        let assignments = self.file.assign.iter().enumerate();
        assignments.map(|(index, assign)| self.policy(index, assign)).collect()
    }

    fn policy(&mut self, index: usize, assign: &'f AssignFile) -> Option<Assigned> {
        let path = format!("assign.{index}");
        let at = format!("{path}.policy");
        if !is_inner(&assign.policy) {
            let message = format!("`{}` is outside the repository", assign.policy);
            self.remarks.mistake(&at, message, "write a path inside the folder of fleet.toml");
            return None;
        }
        let Some(text) = self.bundle.text(&assign.policy) else {
            let others = self.bundle.files().map(|(path, _)| path).filter(|path| *path != FLEET);
            let meant = nearest(&assign.policy, others);
            let meant = meant.map_or(String::new(), |meant| format!("did you mean `{meant}`? "));
            let help = format!("{meant}the path is relative to the folder of {FLEET}");
            self.remarks.mistake(&at, format!("the file `{}` does not exist", assign.policy), help);
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
                cell: None,
            })
            .collect();
        let policy = match self.plain.get(assign.policy.as_str()) {
            Some(known) if overrides.is_empty() => known.clone(),
            _ => self.read(&assign.policy, text, &overrides),
        };
        if overrides.is_empty() {
            self.plain.insert(&assign.policy, policy.clone());
        }
        let policy = policy?;
        let has_queue = match roles_of(&policy, &assign.roles) {
            Ok(roles) => roles.iter().any(|role| role.queues()),
            // A router between two devices has all roles, and in TCP is the one with the profile.
            Err(RolesError::Several { .. }) if self.is_without_device(assign) => false,
            Err(error) => {
                self.roles(index, &error);
                return None;
            }
        };
        let set = overrides.into_iter().map(|change| (change.key, change.value)).collect();
        Some(Assigned { policy, text: text.into(), set, has_queue })
    }

    /// Notes that the roles of an assignment are wrong.
    fn roles(&mut self, index: usize, error: &RolesError) {
        let what = error.to_string();
        let (message, help) = what.split_once('\n').unwrap_or((&what, ""));
        let help = match error {
            RolesError::Several { example, .. } => {
                format!("name those for this device: roles = {example:?}")
            }
            _ => help.to_owned(),
        };
        self.remarks.mistake(&format!("assign.{index}.roles"), message, help);
    }

    /// Whether an assignment reaches interfaces between two devices or in TCP, and no others.
    fn is_without_device(&self, assign: &AssignFile) -> bool {
        let all = self.file.machines.iter().flat_map(|(name, machine)| {
            machine.interfaces.iter().map(move |(interface, of)| (name, machine, interface, of))
        });
        let mut reached =
            all.filter(|(name, machine, interface, _)| assign.reaches(name, machine, interface));
        let mut found = false;
        reached.all(|(_, _, _, of)| {
            found = true;
            of.between.is_some() || of.tcp.is_some()
        }) && found
    }

    /// The policy of a text, with changes; `None` if it has errors, which are recorded.
    fn read(&mut self, file: &str, text: &str, overrides: &[Override]) -> Option<Arc<Policy>> {
        match shortflow_policy::from_text(file, text, overrides) {
            Ok(policy) => {
                self.note_once(false, &policy.warnings);
                Some(Arc::new(policy))
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

    /// What every device gets, of all machines or of one.
    fn assigned(&mut self, policies: &[Option<Assigned>], only: Option<&str>) -> Vec<Machine> {
        let file = self.file;
        let mut reached = vec![false; policies.len()];
        let mut tried = BTreeSet::new();
        let (mut fit, mut matched) = (Vec::new(), Vec::new());
        let mut machines = Vec::new();
        for (name, machine) in file.machines.iter() {
            let mut kept = only.is_none_or(|only| only == name).then(Vec::new);
            matched.clear();
            for (interface, of) in machine.interfaces.iter() {
                let all = file.assign.iter().enumerate();
                fit.clear();
                fit.extend(all.filter(|(_, assign)| assign.reaches(name, machine, interface)));
                fit.iter().for_each(|&(index, _)| reached[index] = true);
                fit.sort_by_key(|(_, assign)| Reverse(assign.priority));
                self.check_priorities(&fit, name, interface);
                let winner = fit
                    .first()
                    .and_then(|&(index, assign)| Some((index, assign, policies[index].as_ref()?)));
                let target = winner.map(|(index, assign, assigned)| {
                    matched.push(&*assigned.policy);
                    let labels =
                        labels::of_machine(machine, &assigned.policy).map(|(name, _)| name);
                    let kind = (of.between.is_some(), of.tcp.is_some());
                    let way = (index, kind, assigned.rate(of), labels.collect::<Vec<_>>());
                    let is_new = tried.insert(way);
                    let target = || assigned.at(assign, machine, (interface, of));
                    if is_new {
                        let path = format!("machines.{name}.interfaces.{interface}");
                        self.fits_a_device(index, &target(), &path);
                    }
                    target
                });
                if let Some(devices) = &mut kept {
                    let target = target.map(|target| target());
                    devices.push((interface.to_owned(), of.name(), target));
                }
            }
            labels::matched(name, machine, &matched, &mut self.remarks);
            let Some(devices) = kept else { continue };
            let rollout = file.rollout.as_ref();
            let wait = rollout.map(|rollout| rollout.wait(machine)).unwrap_or_default();
            let is_first = rollout.is_some_and(|rollout| rollout.is_first(machine));
            machines.push(Machine { name: name.to_owned(), wait, is_first, devices });
        }
        for (index, _) in reached.iter().enumerate().filter(|(_, reached)| !**reached) {
            self.matches_nothing(index, &file.assign[index]);
        }
        machines
    }

    /// Refuses an assignment that names what the fleet does not have: a name that is misspelt would take the policy away from its
    /// devices. Warns of one whose names all exist and match nothing together.
    fn matches_nothing(&mut self, index: usize, assign: &AssignFile) {
        const WHAT: &str = "this assignment matches no interface of any machine";
        const MAX_NAMES: usize = 8;
        let at = format!("assign.{index}");
        let Some(Missed { key, kind, pattern, names }) = assign.missed(&self.file.machines) else {
            let help = "no interface fits all of its machines, groups, tags and interfaces; omit those that do not matter";
            return self.remarks.warning(&at, WHAT, help);
        };
        let meant = nearest(pattern, names.iter().copied());
        let meant = meant.map_or(String::new(), |meant| format!("did you mean `{meant}`? "));
        let some: Vec<String> =
            names.iter().take(MAX_NAMES).map(|name| format!("`{name}`")).collect();
        let more = if names.len() > MAX_NAMES { " …" } else { "" };
        let help = match &some[..] {
            [] => format!("the fleet has no {key}"),
            some => format!("{meant}{key} of the fleet: {}{more}", some.join(", ")),
        };
        let message = format!("{WHAT}: no {kind} `{pattern}` exists");
        self.remarks.mistake(&format!("{at}.{key}"), message, help);
    }

    /// Refuses two assignments with the same claim to an interface.
    fn check_priorities(&mut self, fit: &[(usize, &AssignFile)], machine: &str, interface: &str) {
        let [(first, one), (second, other), ..] = fit else { return };
        if one.priority == other.priority {
            let message = format!(
                "this assignment and assignment {first} (`{}`) both match the interface \
                    `{interface}` of `{machine}` with priority {}",
                one.policy, one.priority
            );
            let help = "give one of them a higher `priority`; assignments are counted from 0";
            let path = format!("assign.{second}.priority");
            self.remarks.mistake(&path, message, help);
        }
    }

    /// Refuses what cannot be routed inline, before any machine tries.
    fn fits_between(&mut self, index: usize, target: &Target) {
        let roles = match acting_roles(&target.policy, &target.roles) {
            Ok(roles) => roles,
            Err(error) => {
                return self.roles(index, &error);
            }
        };
        let rates = [Wanted::MIN_RATE; 2];
        if let Err(refused) = Plan::new(roles, rates, LinkLayer::default(), 0) {
            let what = refused.to_string();
            let (message, _) = what.split_once('\n').unwrap_or((&what, ""));
            let help =
                "deploy this role at the hosts, and name the other roles here: roles = [\"NAME\"]";
            let message = format!("cannot route this policy between two devices: {message}");
            self.remarks.mistake(&format!("assign.{index}.policy"), message, help);
        }
    }

    /// Refuses what TCP cannot do, before any machine tries.
    fn fits_tcp(&mut self, index: usize, target: &Target, place: &TcpPlace) {
        if target.roles.len() > 1 {
            let what = format!("TCP has one role; found {}", target.roles.len());
            let help = "name the one with the `aggregate-shaper`";
            return self.remarks.mistake(&format!("assign.{index}.roles"), what, help);
        }
        if let Err(refused) = target.tcp_plan(place) {
            let what = refused.to_string();
            let (message, help) = what.split_once('\n').unwrap_or((&what, ""));
            let help = match help.contains("--dev") {
                true => "give the interface a `device`, or assign another policy",
                false => help,
            };
            let message = format!("cannot deploy this policy in TCP: {message}");
            self.remarks.mistake(&format!("assign.{index}.policy"), message, help);
        }
    }

    /// Refuses what no kernel can do, before any machine tries.
    fn fits_a_device(&mut self, index: usize, target: &Target, interface: &str) {
        if target.between.is_some() {
            return self.fits_between(index, target);
        }
        if let Some(place) = &target.tcp {
            return self.fits_tcp(index, target, place);
        }
        let site = Site {
            rate: None,
            speed: None,
            link_layer: None,
            link_header: 14,
            // Some machine may take programs as queueing disciplines.
            kernel: Kernel::new([(Kind::BpfQdisc, true)]),
            nearest: false,
        };
        // Whose connections they are is for the machine to find.
        let is_given = |label: &str| target.labels.iter().any(|(name, _)| name == label);
        let owners = any_owners(&target.policy).of_labels(is_given);
        let unwanted = match target.wanted(site, &owners) {
            Ok(wanted) => return self.fits_in_a_device(target, &wanted, interface),
            Err(unwanted) => unwanted,
        };
        let at = format!("assign.{index}.policy");
        match unwanted {
            Unwanted::Roles(error) => self.remarks.mistake(&at, error.to_string(), ""),
            Unwanted::Refused(refusals) => {
                for refusal in refusals {
                    if refusal.path == "--rate" {
                        let message = "this interface has no rate, and its policy has a queue \
                            without a shaper";
                        let help = "set the `rate` of the interface slightly below that of the \
                            bottleneck: rate = \"95 Mbit/s\"";
                        self.remarks.mistake_in_key(interface, message, help);
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
                            "set the owner of the label: {machine}.labels = {{ NAME = \"mark:7\" \
                                }}, or \"cgroup:PATH\""
                        );
                        self.remarks.mistake(&at, message, &help);
                        continue;
                    }
                    let help = match &refusal.nearest {
                        Some((nearest, true)) => {
                            format!("nearest: {nearest} (to use it, set `nearest = true`)")
                        }
                        Some((nearest, false)) => nearest.clone(),
                        None => String::new(),
                    };
                    let message =
                        format!("cannot deploy this policy: {}: {}", refusal.path, refusal.what);
                    self.remarks.mistake(&at, message, help);
                }
            }
        }
    }
}

impl Checker<'_> {
    /// Refuses what is larger than what a device holds, at the interface that wants it.
    fn fits_in_a_device(&mut self, target: &Target, wanted: &Wanted, interface: &str) {
        let Some(error) = wanted.beyond_any_device(&target.device) else { return };
        let what = error.to_string();
        let (message, help) = what.split_once('\n').unwrap_or((&what, ""));
        let message = format!("{}: {message}", target.file);
        self.remarks.mistake_in_key(interface, message, help);
    }
}

impl Assigned {
    /// Whether the rate of an interface limits what leaves: that between two devices always does.
    fn is_limited(&self, of: &InterfaceFile) -> bool {
        self.has_queue || of.between.is_some()
    }

    /// The effective rate of an interface, if it limits what leaves.
    fn rate(&self, of: &InterfaceFile) -> Option<Rate> {
        of.rate.filter(|_| self.is_limited(of))
    }

    /// The target of an interface of a machine.
    fn at(
        &self,
        assign: &AssignFile,
        machine: &MachineFile,
        (interface, of): (&str, &InterfaceFile),
    ) -> Target {
        let labels = labels::of_machine(machine, &self.policy);
        Target {
            interface: interface.to_owned(),
            device: of.name(),
            between: of.between(),
            tcp: of.tcp.as_ref().map(TcpFile::place),
            rate: self.rate(of),
            link_layer: of.link_layer.filter(|_| self.is_limited(of)),
            file: assign.policy.clone(),
            text: self.text.clone(),
            set: self.set.clone(),
            policy: self.policy.clone(),
            roles: assign.roles.clone(),
            nearest: assign.nearest,
            priority: assign.priority,
            labels: labels.map(|(name, text)| (name.to_owned(), text.to_owned())).collect(),
        }
    }
}
