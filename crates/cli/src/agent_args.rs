//! The command line of the policy agent.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

pub(crate) const AGENT: &str = "\
Examples:
  shortflow agent plan fleet                       # what each machine would get
  shortflow agent plan fleet --from fleet-before   # what would change";

/// `agent`.
#[derive(Debug, Args)]
pub(crate) struct Agent {
    /// What to do.
    #[command(subcommand)]
    pub(crate) what: What,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum What {
    /// Say which machine of a fleet would change how, and change nothing.
    ///
    /// Reads and checks the repository, and compares it with an earlier one; without one, with machines that have
    /// nothing. It looks at no machine, so it may be run anywhere.
    Plan(Plan),
}

/// `agent plan`.
#[derive(Debug, Args)]
pub(crate) struct Plan {
    /// The folder of the repository, with `fleet.toml` in it.
    #[arg(value_hint = ValueHint::DirPath)]
    pub(crate) folder: PathBuf,
    /// The repository that machines have now.
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub(crate) from: Option<PathBuf>,
    /// Tell of this machine alone.
    #[arg(long, value_name = "NAME")]
    pub(crate) machine: Option<String>,
    /// Print one JSON object instead.
    #[arg(long)]
    pub(crate) json: bool,
}
