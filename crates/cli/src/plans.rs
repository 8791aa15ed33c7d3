//! `plans`: plans of customers from the tables of other tools.

use std::path::Path;

use shortflow_files::{Dir, Kind, reason, write};
use shortflow_plans::Rates;
use shortflow_plans::import::{CUSTOMERS, PLANS, Tables, import};
use shortflow_run::shell_word;
use shortflow_text::{InputFiles, MAX_TEXT, Source, name_of};

use crate::console::Console;
use crate::failure::Failure;
use crate::plans_args::{Import, Plans, PlansCommand};

/// `shortflow plans`.
pub(crate) fn plans(console: &Console, args: &Plans) -> Result<(), Failure> {
    match &args.command {
        PlansCommand::Import(args) => imported(console, args),
    }
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
    let failed = |error: &std::io::Error| {
        Failure::Machine(format!("cannot write to {}: {}", folder.display(), reason(error)))
    };
    let dir = Dir::create(folder).map_err(|error| failed(&error))?;
    let texts = [(PLANS, &found.plans), (CUSTOMERS, &found.customers)];
    for (name, _) in texts {
        refuse_taken(folder, &dir, name, args.force)?;
    }
    // The plans come last, since they name the table.
    for (name, text) in texts.into_iter().rev() {
        write(&dir, name, 0o644, text.as_bytes()).map_err(|error| failed(&error))?;
    }
    let place = folder.join(PLANS);
    console.print(&format!(
        "{}: {}\ncheck them with `shortflow check {}`\n",
        place.display(),
        plans.summary(),
        shell_word(place.as_os_str())
    ))
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
