//! The one binary, `shortflow`; no logic of its own.
//!
//! ```text
//! args → simulate, predict, rehearse, compare → run: cases, tasks over an engine, results → report
//!      → advise → advise: a network in a few words; tune
//!      → tune → tune: which policy, with which settings
//!      → deploy, reload, status, undeploy, doctor → deploy: a device of this machine
//!      → inline → inline: a router between two devices
//!      → agent → agent: from one repository to the devices of many machines
//!      → verify → verify: what probes and transfers through it say
//!      → replay, rehearse --console → console: a page over snapshots of a run
//!      → sweep → the Python package
//!      → rerun, merge → run: what folders of results hold
//!      → plans → plans: from tables of other tools
//!      → check, explain, init, reproduce, report, bench, generate
//! ```

mod advise;
mod advise_args;
mod advise_questions;
mod advise_text;
mod agent;
mod agent_args;
#[cfg(live)]
mod agent_source;
#[cfg(live)]
mod agent_status;
mod args;
mod background;
mod bench;
mod bench_args;
mod bench_ebpf;
mod bench_router;
mod check;
mod conduct;
mod console;
mod console_args;
mod deploy;
mod deploy_args;
#[cfg(target_os = "linux")]
mod deploy_plans;
#[cfg(target_os = "linux")]
mod deploy_status;
#[cfg(target_os = "linux")]
mod deploy_tcp;
mod deployable;
#[cfg(target_os = "linux")]
mod doctor;
mod explain;
mod failure;
mod generate;
mod how_args;
mod init;
mod inline;
mod inline_args;
mod interrupt;
#[cfg(live)]
mod live;
mod merge;
mod page;
mod plans;
mod plans_args;
#[cfg(live)]
mod programs;
mod progress;
mod rehearse;
#[cfg(target_os = "linux")]
mod reload_options;
mod replay;
mod replica_args;
mod replicas;
mod report;
mod reproduce;
mod rerun;
mod simulate;
#[cfg(live)]
mod standing;
mod sweep;
mod sweep_args;
mod tables;
mod tune;
mod tune_args;
#[cfg(target_os = "linux")]
mod undeploy;
mod usage_error;
mod verify;

use std::process::ExitCode;

use clap::Parser;

use args::{Arguments, Command};
use console::Console;
use failure::Failure;

fn main() -> ExitCode {
    let arguments = Arguments::try_parse().unwrap_or_else(|error| usage_error::refuse(error));
    let console = Console::new(arguments.quiet, arguments.color);
    match run(&console, &arguments.command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            console.failure(&failure);
            failure.exit_code().into()
        }
    }
}

fn run(console: &Console, command: &Command) -> Result<(), Failure> {
    match command {
        Command::Check(args) => check::check(console, args),
        Command::Simulate(args) => simulate::simulate(console, args),
        Command::Predict(args) => simulate::predict(console, args),
        Command::Rehearse(args) => rehearse::rehearse(console, args),
        Command::Compare(args) => simulate::compare(console, args),
        Command::Advise(args) => advise::advise(console, args),
        Command::Tune(args) => tune::tune(console, args),
        Command::Deploy(args) => deploy::deploy(console, args),
        Command::Reload(args) => deploy::reload(console, args),
        Command::Status(args) => deploy::status(console, args),
        Command::Undeploy(args) => deploy::undeploy(console, args),
        Command::Inline(args) => inline::inline(console, args),
        Command::Verify(args) => verify::verify(console, args),
        Command::Doctor(args) => deploy::doctor(console, args),
        Command::Agent(args) => agent::agent(console, args),
        Command::Init(args) => init::init(console, args),
        Command::Plans(args) => plans::plans(console, args),
        Command::Reproduce(args) => reproduce::reproduce(console, args),
        Command::Replay(args) => replay::replay(console, args),
        Command::Report(args) => report::report(console, args),
        Command::Sweep(args) => sweep::sweep(console, args),
        Command::Rerun(args) => rerun::rerun(console, args),
        Command::Merge(args) => merge::merge(console, args),
        Command::Explain(args) => explain::explain(console, args),
        Command::Schema(args) => generate::schema(console, args),
        Command::Bench(args) => bench::bench(console, args),
        Command::Completions(args) => generate::completions(console, args),
        Command::Man(args) => generate::man(console, args),
    }
}
