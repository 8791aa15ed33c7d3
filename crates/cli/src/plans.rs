//! `plans`: plans of customers, imported from the tables of other tools, what customers can expect of them, and a scenario with
//! busy customers.

use std::path::Path;

use serde_json::{Value, json};
use shortflow_files::{Dir, Kind, reason, write};
use shortflow_plans::import::{CUSTOMERS, PLANS, Tables, import};
use shortflow_plans::{Expected, Parts, Rates};
use shortflow_run::shell_word;
use shortflow_shipped::wrong_file::{self, Given};
use shortflow_text::{InputFiles, MAX_TEXT, Source, columns, name_of};
use shortflow_units::Probability;

use crate::console::Console;
use crate::failure::Failure;
use crate::plans_args::{Import, Plans, PlansCommand, Predict, Scenario};

/// The files of `plans scenario`.
const POLICY: &str = "policy.toml";
const WITHOUT: &str = "without-plans.toml";
const SCENARIO: &str = "scenario.toml";

/// `shortflow plans`.
pub(crate) fn plans(console: &Console, args: &Plans) -> Result<(), Failure> {
    match &args.command {
        PlansCommand::Import(args) => imported(console, args),
        PlansCommand::Predict(args) => predict(console, args),
        PlansCommand::Scenario(args) => scenario(console, args),
    }
}

/// `shortflow plans predict`.
fn predict(console: &Console, args: &Predict) -> Result<(), Failure> {
    let inputs = InputFiles::default();
    wrong_file::refuse(&inputs, &args.plans, Given::Plans)?;
    let plans = shortflow_plans::load_from(&inputs, &args.plans)?;
    console.warnings(&plans.warnings);
    let default = [0.1, 0.3, 1.0].map(|part| Probability::new(part).expect("it is up to 1"));
    let busy = if args.busy.is_empty() { &default[..] } else { &args.busy[..] };
    if args.json {
        let all: Vec<Value> = busy.iter().flat_map(|part| plans.forecast_values(*part)).collect();
        return console.print_json(&json!({ "plans": plans.name, "expected": all }));
    }
    console.print(&expected(&plans, busy))
}

/// What busy customers can expect, as a table.
fn expected(plans: &shortflow_plans::Plans, busy: &[Probability]) -> String {
    let head = ["", "busy", "down: mean", "9 of 10 get", "up: mean", "9 of 10 get"];
    let percent = |part: f64| format!("{:.0} %", 100.0 * part);
    let row = |one: &Expected| -> Vec<String> {
        let name = one.site.map_or("line", |site| plans.sites[site].name.as_str());
        let of = |parts: &Option<Parts>| match parts {
            None => ["-".to_owned(), "-".to_owned()],
            Some(parts) => [percent(parts.mean), percent(parts.least_of_nine)],
        };
        let [down, up] = &one.parts;
        [name.to_owned(), percent(one.busy)].into_iter().chain(of(down)).chain(of(up)).collect()
    };
    let all: Vec<Vec<Expected>> = busy.iter().map(|part| plans.forecast(*part)).collect();
    let places = 0..all[0].len();
    let rows = places.flat_map(|place| all.iter().map(move |of| row(&of[place])));
    let rows: Vec<_> = std::iter::once(head.map(str::to_owned).to_vec()).chain(rows).collect();
    format!(
        "{}\nParts of their plans that busy customers get\n{}",
        plans.summary(),
        columns(&rows, 1)
    )
}

fn imported(console: &Console, args: &Import) -> Result<(), Failure> {
    let inputs = InputFiles::default();
    let read = |path: &Path| {
        let name = name_of(path);
        match inputs.read(path, MAX_TEXT) {
            Ok(text) => Ok(Source { name, text }),
            Err(error) => Err(Failure::Input(format!("cannot read {name}: {}", reason(&error)))),
        }
    };
    let line = args.line_down.zip(args.line_up).map(|(down, up)| Rates { down, up });
    let network = args.network.as_deref().map(read).transpose()?;
    let found = import(Tables { devices: read(&args.devices)?, network, line })?;
    // What is written is read first, so that no file is written that cannot be used.
    inputs.give(Path::new(PLANS), &found.plans);
    inputs.give(Path::new(CUSTOMERS), &found.customers);
    let plans = shortflow_plans::load_from(&inputs, Path::new(PLANS))?;
    console.warnings(&found.warnings);
    let folder = &args.into;
    // The plans come last, since they name the table.
    write_all(folder, &[(CUSTOMERS, &found.customers), (PLANS, &found.plans)], args.force)?;
    let place = folder.join(PLANS);
    console.print(&format!(
        "{}: {}\ncheck them with `shortflow check {}`\n",
        place.display(),
        plans.summary(),
        shell_word(place.as_os_str())
    ))
}

/// `shortflow plans scenario`.
fn scenario(console: &Console, args: &Scenario) -> Result<(), Failure> {
    let inputs = InputFiles::default();
    wrong_file::refuse(&inputs, &args.plans, Given::Plans)?;
    let plans = shortflow_plans::load_from(&inputs, &args.plans)?;
    console.warnings(&plans.warnings);
    let Some(found) = plans.scenario(args.busy, args.seed, POLICY) else {
        let most = shortflow_plans::Plans::MAX_BUSY;
        return Err(Failure::Input(format!(
            "more than {most} customers would be busy, too many for one simulation\n\
             lower --busy; here at most {:.2}% are possible",
            100.0 * most as f64 / plans.customers.len() as f64
        )));
    };
    for name in &found.without_address {
        let what = format!("{name} is not in the scenario: no host can have one of its addresses");
        console.warning(&what, "draw others with another --seed");
    }
    let policy = shortflow_policy::text_of_plans(&plans);
    // The scenario comes last, since it names the policy.
    let texts =
        [(POLICY, &*policy), (WITHOUT, shortflow_plans::WITHOUT_PLANS), (SCENARIO, &found.text)];
    write_all(&args.into, &texts, args.force)?;
    let place = |name| shell_word(args.into.join(name).as_os_str());
    console.print(&format!(
        "{}: {} of {} customers are busy\ncompare their plans with one queue for all: shortflow compare {} \
         --policies {},{}\n",
        args.into.join(SCENARIO).display(),
        found.busy,
        plans.customers.len(),
        place(SCENARIO),
        place(POLICY),
        place(WITHOUT),
    ))
}

/// Writes files into a folder, in this order. Writes none if one would be overwritten.
fn write_all(folder: &Path, texts: &[(&str, &str)], force: bool) -> Result<(), Failure> {
    let failed = |error: &std::io::Error| {
        Failure::Machine(format!("cannot write to {}: {}", folder.display(), reason(error)))
    };
    if folder.is_file() {
        let what = format!("{} is a file\nname a folder with --into", folder.display());
        return Err(Failure::Input(what));
    }
    let dir = Dir::create(folder).map_err(|error| failed(&error))?;
    for (name, _) in texts.iter().rev() {
        refuse_taken(folder, &dir, name, force)?;
    }
    for (name, text) in texts {
        write(&dir, name, 0o644, text.as_bytes()).map_err(|error| failed(&error))?;
    }
    Ok(())
}

/// Refuses a file that would be overwritten, and whatever is no file.
fn refuse_taken(folder: &Path, dir: &Dir, name: &str, force: bool) -> Result<(), Failure> {
    let path = folder.join(name);
    let kind = path.symlink_metadata().ok().map(|found| Kind::from(found.file_type()));
    let (what, help) = match kind {
        None => return Ok(()),
        Some(Kind::File) if force && dir.kind(name) == Some(Kind::File) => return Ok(()),
        Some(Kind::File) => ("already exists".to_owned(), "choose another folder, or add --force"),
        Some(kind) => (format!("is {kind}"), "choose another folder"),
    };
    Err(Failure::Input(format!("{} {what}\n{help}", path.display())))
}
