//! The one binary, `shortflow`; no logic of its own.
//!
//! ```text
//! args → simulate, compare → experiment → gather → output
//!      → check, report, bench, generate
//! ```

mod args;
mod bench;
mod check;
mod console;
mod experiment;
mod failure;
mod gather;
mod generate;
mod loads;
mod machine;
mod output;
mod progress;
mod report;
mod reproduce;
mod simulate;
mod study_files;
mod tracing;

use std::process::ExitCode;

use clap::Parser;

use args::{Arguments, Command};
use console::Console;
use failure::Failure;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
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
        Command::Compare(args) => simulate::compare(console, args),
        Command::Reproduce(args) => reproduce::reproduce(console, args),
        Command::Report(args) => report::report(console, args),
        Command::Schema(args) => generate::schema(console, args),
        Command::Bench(args) => bench::bench(console, args),
        Command::Completions(args) => generate::completions(console, args),
        Command::Man(args) => generate::man(console, args),
    }
}
