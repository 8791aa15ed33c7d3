//! Failures that end a command, and their exit codes.

use std::io;

use shortflow_advise::{FlowsFileError, InvalidNetwork, UnknownName};
use shortflow_measure::results;
use shortflow_run::{self as run, DifferentPoints, JoinError, OutputError};
use shortflow_shipped::wrong_file::WrongFile;
use shortflow_study as study;
use shortflow_text::{Diagnostics, reason};
use shortflow_trace::RequestError;
use shortflow_tune::{ChoiceError, OptionError};

/// Why a command is not done.
#[derive(Debug)]
pub(crate) enum Failure {
    /// A policy or scenario has mistakes.
    Mistakes(Diagnostics),
    /// Something else about the input is wrong: what, and what to do.
    Input(String),
    /// The machine lacks something: what, and what to do.
    Machine(String),
    /// Everything was run, and the machine was too slow for it.
    TooLate,
    /// Everything was run, and a check did not hold.
    Check,
    /// Nothing is complete within the time limit: what took longer.
    Limit(String),
    /// Everything was run, and programs beside it have failed: a line on each.
    #[cfg(live)]
    Programs(String),
    /// Ctrl-C.
    Interrupted(String),
    /// Who read our output has stopped reading, as `head` does: no reason to complain.
    NobodyReads,
}

impl Failure {
    /// What the command line promises: 1 when a check did not hold or a program failed, 2 for the input, 3 for the machine; 130 is what shells give
    /// for SIGINT.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Failure::Check | Failure::Limit(_) => 1,
            #[cfg(live)]
            Failure::Programs(_) => 1,
            Failure::Mistakes(_) | Failure::Input(_) => 2,
            Failure::Machine(_) | Failure::TooLate => 3,
            Failure::Interrupted(_) => INTERRUPTED,
            Failure::NobodyReads => 0,
        }
    }

    /// A command that this program lacks: on Linux it was left out of the build, elsewhere it requires Linux.
    #[cfg(not(live))]
    pub(crate) fn not_built(command: &str, requires_linux: &str) -> Failure {
        Failure::Machine(if cfg!(target_os = "linux") {
            format!("this build has no `{command}`\nbuild all commands with `make build`")
        } else {
            requires_linux.to_owned()
        })
    }

    /// Standard output did not take what was written.
    pub(crate) fn output(error: &io::Error) -> Failure {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::NobodyReads,
            _ => Failure::Machine(format!("cannot write to standard output: {}", reason(error))),
        }
    }
}

/// The exit code of a run that Ctrl-C ended.
pub(crate) const INTERRUPTED: u8 = 130;

impl From<Diagnostics> for Failure {
    fn from(mistakes: Diagnostics) -> Self {
        Failure::Mistakes(mistakes)
    }
}

impl From<run::TooLarge> for Failure {
    fn from(refused: run::TooLarge) -> Self {
        match refused.of_machine {
            true => Failure::Machine(refused.message),
            false => Failure::Input(refused.message),
        }
    }
}

impl From<run::ReadError> for Failure {
    fn from(error: run::ReadError) -> Self {
        match &error {
            run::ReadError::Results(results::Error::Io { source, .. })
                if source.kind() != io::ErrorKind::NotFound && !is_in_the_way(source.kind()) =>
            {
                Failure::Machine(error.to_string())
            }
            run::ReadError::Results(_) => {
                Failure::Input(format!("{error}\ngive folders that `shortflow simulate` wrote"))
            }
            run::ReadError::NoResults(what) => Failure::Input(what.clone()),
        }
    }
}

impl From<results::Error> for Failure {
    fn from(error: results::Error) -> Self {
        let (remedy, is_named) = match &error {
            results::Error::Io { source, .. } => {
                (remedy(source.kind()), is_in_the_way(source.kind()))
            }
            results::Error::Malformed { .. } => ("", true),
        };
        let text = format!("{error}{remedy}");
        if is_named { Failure::Input(text) } else { Failure::Machine(text) }
    }
}

fn remedy(kind: io::ErrorKind) -> &'static str {
    if is_full(kind) {
        "\nmake room, choose another folder with --out, or write less with --no-transfers"
    } else {
        "\nchoose another folder with --out"
    }
}

/// Whether another name would do: the machine lacks nothing.
fn is_in_the_way(kind: io::ErrorKind) -> bool {
    use io::ErrorKind::{AlreadyExists, IsADirectory, NotADirectory};
    matches!(kind, AlreadyExists | IsADirectory | NotADirectory)
}

fn is_full(kind: io::ErrorKind) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    matches!(kind, StorageFull | QuotaExceeded | FileTooLarge)
}

impl From<run::StoredError> for Failure {
    fn from(error: run::StoredError) -> Self {
        match error {
            run::StoredError::Results(error) => error.into(),
            run::StoredError::Mistakes(mistakes) => mistakes.into(),
            run::StoredError::Missing(what) => Failure::Input(what),
        }
    }
}

impl From<study::Error> for Failure {
    fn from(error: study::Error) -> Self {
        match error {
            study::Error::Mistakes(mistakes) => mistakes.into(),
            study::Error::Results(error) => error.into(),
            study::Error::Replica(error) => error.into(),
            study::Error::UnknownStudy { .. }
            | study::Error::Study { .. }
            | study::Error::MeansOnly { .. }
            | study::Error::Requests { .. } => Failure::Input(error.to_string()),
        }
    }
}

impl From<OutputError> for Failure {
    fn from(error: OutputError) -> Self {
        match error {
            OutputError::Foreign { .. } => Failure::Input(format!(
                "{error}\nchoose another with --out, or add --force to write beside it"
            )),
            OutputError::Busy(_) => Failure::Input(format!(
                "{error}\nwait until it is done, or choose another with --out"
            )),
            OutputError::Link { .. } => {
                Failure::Input(format!("{error}\nremove it, or choose another with --out"))
            }
            OutputError::OtherRun(_) => Failure::Input(format!(
                "{error}\nchoose another with --out, or add --force to replace it"
            )),
            OutputError::Results(error) => error.into(),
        }
    }
}

/// Errors that are always in the input.
macro_rules! of_input {
    ($($error:ty)*) => {
        $(impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Failure::Input(error.to_string())
            }
        })*
    };
}

of_input! { ChoiceError DifferentPoints FlowsFileError InvalidNetwork JoinError OptionError RequestError UnknownName WrongFile }

impl From<run::Error> for Failure {
    fn from(error: run::Error) -> Self {
        match error {
            run::Error::Results(error) => error.into(),
            run::Error::Trace(error) => {
                let remedy = match &error {
                    results::Error::Io { source, .. } if is_full(source.kind()) => {
                        "make room, choose another file with --trace, or see less with --trace-at"
                    }
                    _ => "choose another file with --trace",
                };
                Failure::Machine(format!("{error}\n{remedy}"))
            }
            run::Error::Interrupted => {
                let what = "interrupted before a replica was complete; nothing is kept";
                Failure::Interrupted(what.to_owned())
            }
            run::Error::Machine(what) => Failure::Machine(what),
            run::Error::Refused(refusal) => Failure::Input(refusal.to_string()),
            run::Error::TimeLimit(what) => Failure::Limit(what),
        }
    }
}
