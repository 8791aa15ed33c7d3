//! Why a study gives no answer.

use shortflow_measure::results;
use shortflow_run as run;
use shortflow_text::Diagnostics;

/// Why a study gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no study of this name.
    #[error("unknown study \"{name}\"\n{help}")]
    UnknownStudy {
        /// The name given.
        name: String,
        /// What may have been meant.
        help: String,
    },
    /// A file of the study is mistaken.
    #[error("{file}: {message}")]
    Study {
        /// The file.
        file: String,
        /// What is wrong.
        message: String,
    },
    /// A text of the study, a scenario or a policy among them, is mistaken.
    #[error("{0}")]
    Mistakes(Diagnostics),
    /// Requests that one run drew cannot be replayed by another.
    #[error("run {run}: {message}")]
    Requests {
        /// The run that was to replay them.
        run: String,
        /// What is wrong.
        message: String,
    },
    /// Results could not be written or read.
    #[error(transparent)]
    Results(#[from] results::Error),
    /// A replica failed.
    #[error(transparent)]
    Replica(#[from] run::Error),
    /// The engine gives no replicas.
    #[error("{engine} gives means without intervals, but claims are judged by intervals")]
    MeansOnly {
        /// The engine's name.
        engine: &'static str,
    },
}
