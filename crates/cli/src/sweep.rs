//! `sweep`: calls the Python package, which deals the runs of a design to processes and machines.

use std::ffi::OsString;
use std::process::{Command, Stdio};

use shortflow_text::reason;

use crate::console::Console;
use crate::failure::Failure;
use crate::sweep_args::Sweep;

/// The variable that names the Python to use.
const PYTHON: &str = "SHORTFLOW_PYTHON";

/// Exits with 0 if the package is installed.
const IS_INSTALLED: &str = "import importlib.util, sys\n\
    sys.exit(0 if importlib.util.find_spec('shortflow') and importlib.util.find_spec('shortflow.__main__') else 1)";

/// `shortflow sweep`.
pub(crate) fn sweep(console: &Console, args: &Sweep) -> Result<(), Failure> {
    let python = std::env::var_os(PYTHON).unwrap_or_else(|| "python3".into());
    let mut looking = Command::new(&python);
    let looking = looking.args(["-c", IS_INSTALLED]).stdout(Stdio::null()).stderr(Stdio::null());
    let is_installed = looking.status().is_ok_and(|status| status.success());
    if !is_installed {
        return Err(Failure::Machine(format!(
            "`sweep` needs the Python package shortflow, which {} lacks\ninstall it with `pip install '.[dask]'` in a \
             checkout, or name another Python in {PYTHON}",
            python.display()
        )));
    }
    let mut command = Command::new(&python);
    command.args(["-m", "shortflow", "sweep"]).args(arguments(console, args));
    run(command).map_err(|error| {
        Failure::Machine(format!("cannot run {}: {}", python.display(), reason(&error)))
    })
}

/// The arguments as the package takes them.
fn arguments(console: &Console, args: &Sweep) -> Vec<OsString> {
    let mut all: Vec<OsString> = vec![args.scenario.clone().into()];
    let mut option = |name: &str, value: Option<OsString>| {
        if let Some(value) = value {
            // One word, since a value may begin with a hyphen.
            let mut word = OsString::from(format!("--{name}="));
            word.push(value);
            all.push(word);
        }
    };
    let text = |value: u64| Some(OsString::from(value.to_string()));
    option("design", args.design.clone().map(Into::into));
    option("policies", args.policies.clone().map(Into::into));
    args.set.iter().for_each(|(key, value)| option("set", Some(format!("{key}={value}").into())));
    option("replicas", text(args.replicas.into()));
    option("seed", text(args.seed));
    option("collect", Some(args.collect.clone().into()));
    option("on", Some(args.on.clone().into()));
    option("jobs", args.jobs.and_then(|jobs| text(jobs.into())));
    option("out", Some(args.out.clone().into()));
    option("on-error", args.record_errors.then(|| "record".into()));
    all.extend(args.resume.then(|| "--resume".into()));
    all.extend(console.quiet.then(|| "--quiet".into()));
    all
}

/// Becomes the command, so that it gets signals, and its exit code is ours.
#[cfg(unix)]
fn run(mut command: Command) -> std::io::Result<()> {
    use std::os::unix::process::CommandExt;
    Err(command.exec())
}

/// Waits for the command, and ends with its exit code.
#[cfg(not(unix))]
fn run(mut command: Command) -> std::io::Result<()> {
    let status = command.status()?;
    std::process::exit(status.code().unwrap_or(1));
}
