//! `check`: checks policies, scenarios and plans.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use shortflow_plans::Plans;
use shortflow_run::refuse_too_large;
use shortflow_scenario::{FileKind, Loaded, Overrides};
use shortflow_shipped as shipped;
use shortflow_shipped::wrong_file::{self, Given};
use shortflow_text::{Diagnostic, Diagnostics, InputFiles, Override, name_of};

use crate::args::Check;
use crate::console::Console;
use crate::failure::Failure;

/// `shortflow check`.
pub(crate) fn check(console: &Console, args: &Check) -> Result<(), Failure> {
    let inputs = shipped::inputs();
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
                files.push(refused(&name, &what));
                too_large = Some(Failure::Input(format!("{name}: {what}")));
            }
            Err(Failure::Machine(what)) => {
                files.push(refused(&name, &what));
                too_large = Some(Failure::Machine(format!("{name}: {what}")));
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

/// A file that is right, but too large, for machines.
fn refused(name: &str, what: &str) -> Value {
    json!({ "file": name, "ok": false, "mistakes": [{ "message": what }] })
}

/// A file in which no mistake was found.
struct Sound {
    kind: FileKind,
    /// What is in it.
    what: String,
    warnings: Diagnostics,
    /// The scenario, when it is one.
    loaded: Option<Loaded>,
    /// The plans, when they are such.
    plans: Option<Plans>,
}

impl Sound {
    fn loads(&self) -> String {
        match (&self.loaded, &self.plans) {
            (Some(loaded), _) => loaded.describe_loads(),
            (None, Some(plans)) => plans.describe_loads(),
            (None, None) => String::new(),
        }
    }

    fn as_json(&self, name: &str) -> Value {
        json!({
            "file": name, "kind": self.kind.name(), "ok": true, "what": self.what,
            "warnings": as_json(&self.warnings), "loads": self.loaded.as_ref().map(Loaded::loads),
            "sites": self.plans.as_ref().map(Plans::loads),
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
    let is_scenario = |path: &PathBuf| {
        !matches!(FileKind::detect(inputs, path), Ok(FileKind::Policy | FileKind::Plans))
    };
    if args.files.iter().any(is_scenario) {
        return Ok(());
    }
    Err(Failure::Input(format!(
        "{option} has no effect: it changes scenarios, and no scenario is checked\n\
         name a scenario too, or change a key of a policy with --set policy.KEY=VALUE"
    )))
}

/// The prefix of a policy's keys.
const POLICY: &str = "policy.";

/// The keys of policies that `--set` changes.
fn of_policies(args: &Check) -> Vec<Override> {
    let of_policy = |(key, value): &(String, String)| {
        let key = key.strip_prefix(POLICY)?.to_owned();
        Some(Override {
            key,
            value: value.clone(),
            prefix: POLICY,
            origin: "--set".to_owned(),
            cell: None,
        })
    };
    args.set.iter().filter_map(of_policy).collect()
}

/// What kind of file it is, and what is in it.
fn check_file(inputs: &InputFiles, path: &Path, args: &Check) -> Result<Sound, Failure> {
    let usable =
        |path: &Path, given| wrong_file::refuse(inputs, path, given).map_err(Diagnostics::from);
    usable(path, Given::Any)?;
    // Text that is not TOML is reported by the reader of its format.
    let kind = FileKind::detect(inputs, path)?;
    if kind == FileKind::Policy {
        let policy = shortflow_policy::load_from(inputs, path, &of_policies(args))?;
        let what = policy.summary();
        return Ok(Sound { kind, what, warnings: policy.warnings, loaded: None, plans: None });
    }
    if kind == FileKind::Plans {
        let mut plans = shortflow_plans::load_from(inputs, path)?;
        let warnings = std::mem::take(&mut plans.warnings);
        let what = plans.summary();
        return Ok(Sound { kind, what, warnings, loaded: None, plans: Some(plans) });
    }
    if let Some(policy) = &args.policy {
        usable(policy, Given::PolicyOf("--policy"))?;
    }
    let (policy, set, bind) = (args.policy.clone(), args.set.clone(), args.bind.clone());
    let overrides = Overrides { policy, set, bind, ..Overrides::default() };
    let loaded = shortflow_scenario::load_from(inputs, path, &overrides)?;
    refuse_too_large(&[&loaded], None, args.memory)?;
    let (what, warnings) = (loaded.summary(), loaded.warnings.clone());
    Ok(Sound { kind, what, warnings, loaded: Some(loaded), plans: None })
}
