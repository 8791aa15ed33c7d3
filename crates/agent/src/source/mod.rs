//! Where repositories come from.

#[cfg(feature = "network")]
mod apart;
#[cfg(feature = "network")]
mod backoff;
#[cfg(feature = "network")]
mod directory;
mod folder;
#[cfg(feature = "network")]
mod https;
#[cfg(feature = "network")]
mod tls;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::bundle::Bundle;

#[cfg(feature = "network")]
pub use apart::{Apart, confine, serve};
#[cfg(feature = "network")]
pub use directory::{Bind, Directory, DirectoryOptions, OptionsError};
pub use folder::Folder;
pub(crate) use folder::user;
#[cfg(feature = "network")]
pub use https::{Https, HttpsError, HttpsOptions};
#[cfg(feature = "network")]
pub use tls::CertificatesError;

/// What a source has at a moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fetched {
    /// The texts.
    pub bundle: Bundle,
    /// Who changed them last, as far as the source says.
    pub who: String,
}

/// Where a repository comes from.
pub trait Source: Send {
    /// What it is, in logs.
    fn name(&self) -> String;

    /// What it has now.
    ///
    /// # Errors
    /// Why it cannot be read, as a sentence.
    fn fetch(&mut self) -> Result<Fetched, String>;

    /// Waits until something may have changed, and says whether it may; no longer than it is given patience for.
    fn wait(&mut self, patience: Duration) -> bool;
}

/// Where a source does not say who changed it.
const NOBODY: &str = "nobody known";
/// How often one looks whether to stop.
const LOOK: Duration = Duration::from_millis(200);
/// How long nothing must have changed before one reads: who writes several files does so within less.
const QUIET: Duration = Duration::from_millis(150);
/// How long one waits for that at most.
const MOST_UNREST: Duration = Duration::from_secs(3);
/// After so long one reads in any case: a change may have been missed.
const IN_ANY_CASE: Duration = Duration::from_secs(30);

/// Gives what the source has at first, whenever it may have changed, and when it is asked for by `nudge`, until `stop`.
pub(crate) fn follow(
    source: &mut dyn Source,
    nudge: &AtomicBool,
    stop: &AtomicBool,
    mut give: impl FnMut(Result<Fetched, String>),
) {
    let mut is_due = true;
    let mut last = Instant::now();
    while !stop.load(Ordering::Relaxed) {
        if is_due {
            let fetched = source.fetch();
            if stop.load(Ordering::Relaxed) {
                return;
            }
            give(fetched);
            last = Instant::now();
        }
        is_due = source.wait(LOOK);
        if is_due {
            let until = Instant::now() + MOST_UNREST;
            while source.wait(QUIET) && Instant::now() < until && !stop.load(Ordering::Relaxed) {}
        }
        is_due = nudge.swap(false, Ordering::Relaxed) || is_due || last.elapsed() > IN_ANY_CASE;
    }
}
