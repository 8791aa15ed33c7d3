//! Sources of repositories.

mod backoff;
#[cfg(feature = "network")]
mod directory;
mod folder;
#[cfg(feature = "network")]
mod https;
mod stagger;
mod subprocess;
#[cfg(feature = "network")]
mod tls;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use shortflow_text::{Diagnostics, reason};

use crate::bundle::Bundle;
use crate::verdict::Verdict;

#[cfg(feature = "network")]
pub use directory::{Bind, Directory, DirectoryOptions, OptionsError, Transport};
pub use folder::Folder;
pub(crate) use folder::user;
#[cfg(feature = "network")]
pub use https::{Https, HttpsError, HttpsOptions};
pub(crate) use stagger::Stagger;
pub use subprocess::{Subprocess, confine, serve};
#[cfg(feature = "network")]
pub use tls::CertificatesError;

/// What a source has at a moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fetched {
    /// The texts.
    pub bundle: Bundle,
    /// Who changed them last, as far as the source says.
    pub who: String,
    /// What machines say of versions, as far as the source carries that.
    #[serde(default)]
    pub verdicts: Vec<Verdict>,
}

/// Why a source gives nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum NotFetched {
    /// It cannot be read; why, as a sentence.
    #[error("{0}")]
    Unreadable(String),
    /// What it has makes no repository: all mistakes, each with its place.
    #[error("{0}")]
    Mistakes(String),
}

/// Why a verdict could not be published.
#[derive(Debug, thiserror::Error)]
pub enum PublishError {
    /// A file cannot be written.
    #[error("{path}: {}", reason(.source))]
    Write {
        /// The file.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// There is no connection to the server.
    #[error("not connected")]
    NotConnected,
    /// The server does not answer.
    #[error("the server does not answer within {} s", .0.as_secs())]
    Timeout(Duration),
    /// The kind of source cannot store verdicts.
    #[error(
        "a web server cannot store verdicts of machines: keep the repository in a directory, or in \
            a shared folder"
    )]
    Unsupported,
    /// The server, or the reader process, gives this reason.
    #[error("{0}")]
    Refused(String),
}

impl From<String> for NotFetched {
    fn from(why: String) -> NotFetched {
        NotFetched::Unreadable(why)
    }
}

impl From<Diagnostics> for NotFetched {
    fn from(mistakes: Diagnostics) -> NotFetched {
        NotFetched::Mistakes(mistakes.to_string())
    }
}

/// Where a repository comes from.
pub trait Source: Send {
    /// What it is, in logs.
    fn name(&self) -> String;

    /// What it has now.
    ///
    /// # Errors
    /// Why it cannot be read, or which mistakes make it no repository.
    fn fetch(&mut self) -> Result<Fetched, NotFetched>;

    /// Requests a read at once: the next [`fetch`](Source::fetch) also asks servers that failed recently.
    fn hurry(&mut self) {}

    /// Waits until something may have changed, and says whether it may; no longer than it is given patience for.
    fn wait(&mut self, patience: Duration) -> bool;

    /// Reports this machine's verdict to others, and replaces its earlier one.
    ///
    /// # Errors
    /// When the source cannot store it now, or never.
    fn tell(&mut self, verdict: &Verdict) -> Result<(), PublishError>;
}

/// The number of rollbacks, shared by the reader of a source and the agent. A reading records the number at its
/// start: a reading from before the last rollback must not undo it.
#[derive(Debug, Clone, Default)]
pub struct Returns {
    count: Arc<AtomicU64>,
    is_reading: Arc<AtomicBool>,
}

impl Returns {
    /// The number so far.
    pub fn count(&self) -> u64 {
        self.count.load(Ordering::SeqCst)
    }

    /// Whether the source is being read now.
    pub(crate) fn is_reading(&self) -> bool {
        self.is_reading.load(Ordering::SeqCst)
    }

    /// Once more.
    pub(crate) fn one_more(&self) {
        self.count.fetch_add(1, Ordering::SeqCst);
    }
}

/// Messages of a follower of a source.
pub(crate) enum News {
    /// A reading, and the number of rollbacks when it began.
    Fetched { begun: u64, fetched: Result<Fetched, NotFetched> },
    /// Whether a verdict was reported.
    VerdictSent(Result<(), PublishError>),
}

/// Where a source does not say who changed it.
const UNKNOWN_AUTHOR: &str = "an unknown user";
/// How often one looks whether to stop.
const POLL_INTERVAL: Duration = Duration::from_millis(200);
/// How long nothing must have changed before one reads: who writes several files does so within less.
const SETTLE_TIME: Duration = Duration::from_millis(150);
/// How long one waits for that at most.
const MAX_SETTLE_TIME: Duration = Duration::from_secs(3);
/// After so long one reads in any case: a change may have been missed.
const MAX_READ_AGE: Duration = Duration::from_secs(30);

/// By what one who follows a source is led.
pub(crate) struct Cues<'c> {
    /// The verdict to report; the last one counts.
    pub(crate) verdicts: &'c Receiver<Verdict>,
    /// When it is to be read at once.
    pub(crate) nudge: &'c AtomicBool,
    /// When one reads what has changed.
    pub(crate) stagger: &'c Stagger,
    /// The number of rollbacks.
    pub(crate) returns: &'c Returns,
    /// When one is to stop.
    pub(crate) stop: &'c AtomicBool,
}

/// Gives what the source has at first, whenever it may have changed and it is the machine's turn, and when it is asked for.
pub(crate) fn follow(source: &mut dyn Source, cues: &Cues, mut give: impl FnMut(News)) {
    let Cues { verdicts, nudge, stagger, returns, stop } = cues;
    let (mut is_due, mut changes) = (true, 0);
    let mut last = Instant::now();
    while !stop.load(Ordering::Relaxed) {
        if let Some(verdict) = verdicts.try_iter().last() {
            give(News::VerdictSent(source.tell(&verdict)));
        }
        if is_due {
            let begun = returns.count();
            returns.is_reading.store(true, Ordering::SeqCst);
            let fetched = source.fetch();
            returns.is_reading.store(false, Ordering::SeqCst);
            if stop.load(Ordering::Relaxed) {
                return;
            }
            give(News::Fetched { begun, fetched });
            last = Instant::now();
        }
        is_due = source.wait(POLL_INTERVAL);
        if is_due {
            let until = Instant::now() + MAX_SETTLE_TIME;
            while source.wait(SETTLE_TIME)
                && Instant::now() < until
                && !stop.load(Ordering::Relaxed)
            {}
            // What else changes until its turn has come is read with it.
            let turn = Instant::now() + stagger.wait(changes);
            changes += 1;
            while Instant::now() < turn
                && !(stop.load(Ordering::Relaxed) || nudge.load(Ordering::Relaxed))
            {
                source.wait(turn.saturating_duration_since(Instant::now()).min(POLL_INTERVAL));
            }
        }
        let is_asked = nudge.swap(false, Ordering::Relaxed);
        if is_asked {
            source.hurry();
        }
        is_due = is_asked || is_due || last.elapsed() > MAX_READ_AGE;
    }
}
