//! `check`: is this file a right policy or a right scenario?

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};
use shortflow_policy::{Policy, Role};
use shortflow_scenario::{Loaded, NodeKind, Overrides, Scenario};
use shortflow_text::{
    Diagnostic, Diagnostics, Document, InputFiles, MOST_TEXT, Override, Source, name_of,
};

use crate::args::Check;
use crate::console::Console;
use crate::failure::Failure;
use crate::loads;
use crate::machine::refuse_too_large;

/// `shortflow check`.
pub(crate) fn check(console: &Console, args: &Check) -> Result<(), Failure> {
    let inputs = InputFiles::default();
    refuse_without_scenario(&inputs, args)?;
    let mut mistakes = Vec::new();
    let mut too_large = None;
    let mut files = Vec::new();
    for path in &args.files {
        let name = name_of(path);
        match check_file(&inputs, path, args) {
            Ok(found) => {
                if !args.json {
                    console.print(&format!("{name}: ok — {}\n{}", found.what, found.loads()))?;
                }
                console.warnings(&found.warnings);
                files.push(found.as_json(&name));
            }
            Err(Failure::Mistakes(found)) => {
                files.push(json!({ "file": name, "ok": false, "mistakes": as_json(&found) }));
                mistakes.extend(found.0);
            }
            Err(Failure::Input(what)) => {
                files.push(json!({ "file": name, "ok": false, "mistakes": [{ "message": what }] }));
                too_large = Some(Failure::Input(format!("{name}: {what}")));
            }
            Err(other) => return Err(other),
        }
    }
    let ok = mistakes.is_empty() && too_large.is_none();
    if args.json {
        console.print_json(&json!({ "ok": ok, "files": files }))?;
    }
    match too_large {
        _ if !mistakes.is_empty() => Err(Diagnostics(mistakes).into()),
        Some(failure) => Err(failure),
        None => Ok(()),
    }
}

/// A file in which no mistake was found.
struct Sound {
    kind: FileKind,
    /// What is in it.
    what: String,
    warnings: Diagnostics,
    /// The scenario, when it is one.
    loaded: Option<Loaded>,
}

impl Sound {
    fn loads(&self) -> String {
        self.loaded.as_ref().map_or(String::new(), loads::text)
    }

    fn as_json(&self, name: &str) -> Value {
        json!({
            "file": name, "kind": self.kind.name(), "ok": true, "what": self.what,
            "warnings": as_json(&self.warnings), "loads": self.loaded.as_ref().map(loads::as_json),
        })
    }
}

/// Mistakes or warnings for machines.
pub(crate) fn as_json(mistakes: &Diagnostics) -> Vec<Value> {
    let mistake = |m: &Diagnostic| {
        json!({
            "file": m.file(), "line": m.line(), "column": m.column(), "message": m.message,
            "label": m.label, "help": m.help,
        })
    };
    mistakes.0.iter().map(mistake).collect()
}

/// Refuses options that change scenarios where only policies are checked: they would do nothing.
fn refuse_without_scenario(inputs: &InputFiles, args: &Check) -> Result<(), Failure> {
    let of_scenario = args.set.iter().find(|(key, _)| !key.starts_with(POLICY));
    let option = match (args.bind.first(), &args.policy, of_scenario) {
        (Some(binding), _, _) => format!("--bind '{binding}'"),
        (None, Some(policy), _) => format!("--policy {}", policy.display()),
        (None, None, Some((key, value))) => format!("--set '{key}={value}'"),
        (None, None, None) => return Ok(()),
    };
    let is_policy = |path: &PathBuf| matches!(kind_of(inputs, path), Ok(FileKind::Policy));
    if !args.files.iter().all(is_policy) {
        return Ok(());
    }
    Err(Failure::Input(format!(
        "{option} has no effect: it changes scenarios, and only policies are checked\n\
         name a scenario too, or change a key of a policy with --set policy.KEY=VALUE"
    )))
}

/// What stands before a key of a policy.
const POLICY: &str = "policy.";

/// The keys of policies that `--set` changes.
fn of_policies(args: &Check) -> Vec<Override> {
    let of_policy = |(key, value): &(String, String)| {
        let key = key.strip_prefix(POLICY)?.to_owned();
        Some(Override { key, value: value.clone(), prefix: POLICY, origin: "--set".to_owned() })
    };
    args.set.iter().filter_map(of_policy).collect()
}

/// What kind of file it is, and what is in it.
fn check_file(inputs: &InputFiles, path: &Path, args: &Check) -> Result<Sound, Failure> {
    // What cannot be read or is no TOML is told by whoever reads it.
    let kind = kind_of(inputs, path)?;
    if kind == FileKind::Policy {
        let policy = shortflow_policy::load_from(inputs, path, &of_policies(args))?;
        let what = describe_policy(&policy);
        return Ok(Sound { kind, what, warnings: policy.warnings, loaded: None });
    }
    let (policy, set, bind) = (args.policy.clone(), args.set.clone(), args.bind.clone());
    let overrides = Overrides { policy, set, bind };
    let loaded = shortflow_scenario::load_from(inputs, path, &overrides)?;
    refuse_too_large(&[&loaded], None, args.memory)?;
    let (what, warnings) = (describe_scenario(&loaded), loaded.warnings.clone());
    Ok(Sound { kind, what, warnings, loaded: Some(loaded) })
}

/// What a file describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileKind {
    Policy,
    Scenario,
}

impl FileKind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            FileKind::Policy => "policy",
            FileKind::Scenario => "scenario",
        }
    }
}

/// Tells a policy from a scenario by the tables that only one of them has.
pub(crate) fn kind_of(inputs: &InputFiles, path: &Path) -> Result<FileKind, Diagnostics> {
    const OF_POLICY: [&str; 2] = ["roles", "code_points"];
    const OF_SCENARIO: [&str; 9] =
        ["hosts", "routers", "links", "workloads", "bind", "tcp", "measure", "duration", "policy"];
    // A file that cannot be read is told of as a scenario.
    let Ok(text) = inputs.read(path, MOST_TEXT) else { return Ok(FileKind::Scenario) };
    let source = Arc::new(Source { name: name_of(path), text });
    let document = Document::parse(source.clone(), &[])?;
    let names = document.names_in("");
    let has = |of: &[&str]| names.iter().filter(|name| of.contains(&name.as_str())).count();
    match (has(&OF_POLICY), has(&OF_SCENARIO)) {
        (0, 0) => {
            let message = format!("{} is neither a policy nor a scenario", source.name);
            let help = "a policy has [roles]; a scenario has [hosts], [links] and [workloads]";
            let found = Diagnostic::of_whole(&source.name, message, Some(help.to_owned()));
            Err(Diagnostics::one(found))
        }
        (policy, scenario) if policy > scenario => Ok(FileKind::Policy),
        _ => Ok(FileKind::Scenario),
    }
}

fn describe_policy(policy: &Policy) -> String {
    let does = |role: &Role| match (role.conditions(), role.queues()) {
        (true, true) => "conditions and queues",
        (true, false) => "conditions",
        (false, true) => "queues",
        (false, false) => "does nothing",
    };
    let roles: Vec<String> =
        policy.roles.iter().map(|role| format!("{} ({})", role.name, does(role))).collect();
    format!("policy {:?} with {}: {}", policy.name, count(roles.len(), "role"), roles.join(", "))
}

fn describe_scenario(loaded: &Loaded) -> String {
    let points = loaded.points();
    let Scenario { nodes, links, workloads, .. } = &points[0].scenario;
    let scenario = &points[0].scenario;
    let of_kind = |kind| nodes.iter().filter(|node| node.kind == kind).count();
    let mut what = format!(
        "scenario {:?}: {}, {}, {}, {}",
        loaded.name,
        count(of_kind(NodeKind::Host), "host"),
        count(of_kind(NodeKind::Router), "router"),
        count(links.len(), "link"),
        count(workloads.len(), "workload"),
    );
    if let Some(policy) = &scenario.policy {
        let bindings = count(scenario.bindings.len(), "place");
        what += &format!("; policy {:?} in {bindings}", policy.name);
    }
    if !loaded.axes.is_empty() {
        what += &format!("; {} over {}", count(points.len(), "point"), loaded.axes.join(", "));
    }
    what + &format!("; {} of {}", count(scenario.replicas as usize, "replica"), scenario.duration)
}

fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}
