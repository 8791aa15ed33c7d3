//! The candidate: a version that the source has, and that is not active.

use std::time::{Duration, Instant};

use chrono::{DateTime, TimeDelta, Utc};

use crate::event::utc;
use crate::source::Fetched;

/// By so much the machine's clock goes wrong only where it is set.
const CLOCK_WAS_SET: TimeDelta = TimeDelta::seconds(2);

/// What the source has besides the active version.
#[derive(Debug, Default)]
pub(crate) enum Candidate {
    /// Nothing, or nothing that may be applied.
    #[default]
    None,
    /// A version with mistakes.
    Refused {
        /// Its digest.
        digest: String,
        /// Its mistakes.
        mistakes: String,
    },
    /// A good version, which other machines take first.
    Waiting(Waiting),
    /// A good version that cannot be written to the disk.
    NotKept {
        /// What is tried again.
        version: NotKept,
        /// The state before the attempt. A wait that is over stays over.
        before: Box<Candidate>,
    },
}

/// A good version that waits for its time.
#[derive(Debug)]
pub(crate) struct Waiting {
    pub(crate) digest: String,
    /// When it was seen first.
    pub(crate) since: Instant,
    /// When its time has come, and when that is by the machine's clock, which may be set.
    due: Instant,
    pub(crate) until: DateTime<Utc>,
    /// Whether it has come.
    pub(crate) is_due: bool,
    /// How many first machines must find it no worse, and those that did; `None` if the version needs no verdicts.
    pub(crate) needed: Option<usize>,
    pub(crate) good: Vec<String>,
    /// Who finds it worse, and why.
    pub(crate) worse: Option<(String, String)>,
}

/// A good version that could not be written to the disk.
#[derive(Debug)]
pub(crate) struct NotKept {
    pub(crate) fetched: Fetched,
    pub(crate) digest: String,
    pub(crate) why: String,
    /// When it is tried again.
    pub(crate) at: Instant,
}

/// A user's order to apply a version.
#[derive(Debug)]
pub(crate) struct Release {
    pub(crate) digest: String,
    /// The user.
    pub(crate) who: String,
}

impl Candidate {
    /// The version that waits, also while it cannot be written.
    pub(crate) fn waiting(&self) -> Option<&Waiting> {
        match self {
            Candidate::Waiting(waiting) => Some(waiting),
            Candidate::NotKept { before, .. } => before.waiting(),
            Candidate::None | Candidate::Refused { .. } => None,
        }
    }

    /// The same, to be changed.
    pub(crate) fn waiting_mut(&mut self) -> Option<&mut Waiting> {
        match self {
            Candidate::Waiting(waiting) => Some(waiting),
            Candidate::NotKept { before, .. } => before.waiting_mut(),
            Candidate::None | Candidate::Refused { .. } => None,
        }
    }

    /// The digest and the mistakes of the version that was refused last.
    pub(crate) fn refused(&self) -> Option<(&str, &str)> {
        match self {
            Candidate::Refused { digest, mistakes } => Some((digest, mistakes)),
            Candidate::NotKept { before, .. } => before.refused(),
            Candidate::None | Candidate::Waiting(_) => None,
        }
    }

    /// Whether the version with this digest was refused.
    pub(crate) fn is_refused(&self, digest: &str) -> bool {
        self.refused().is_some_and(|(refused, _)| refused == digest)
    }

    /// The version that could not be written.
    pub(crate) fn not_kept(&self) -> Option<&NotKept> {
        match self {
            Candidate::NotKept { version, .. } => Some(version),
            _ => None,
        }
    }

    /// The version to write again now; the next attempt is after `interval`.
    pub(crate) fn retry(&mut self, now: Instant, interval: Duration) -> Option<(Fetched, String)> {
        match self {
            Candidate::NotKept { version, .. } if version.at <= now => {
                version.at = now + interval;
                Some((version.fetched.clone(), version.digest.clone()))
            }
            _ => None,
        }
    }

    /// An attempt to write it has failed. Returns whether that is news.
    pub(crate) fn cannot_be_kept(&mut self, failed: NotKept) -> bool {
        match self {
            Candidate::NotKept { version, .. } => {
                let is_news = version.digest != failed.digest || version.why != failed.why;
                *version = failed;
                is_news
            }
            _ => {
                let before = Box::new(std::mem::take(self));
                *self = Candidate::NotKept { version: failed, before };
                true
            }
        }
    }

    /// Makes no further attempt to write a version.
    pub(crate) fn give_up(&mut self) {
        if let Candidate::NotKept { before, .. } = self {
            *self = std::mem::take(before);
        }
    }
}

impl Waiting {
    /// A version with this digest, seen first now.
    pub(crate) fn new(now: Instant, digest: &str, wait: Duration) -> Waiting {
        Waiting {
            digest: digest.to_owned(),
            since: now,
            due: now + wait,
            until: utc() + wait,
            is_due: false,
            needed: None,
            good: Vec::new(),
            worse: None,
        }
    }

    /// Time has passed. Where the machine's clock was set meanwhile, it says when its time comes by that.
    pub(crate) fn look(&mut self, now: Instant) {
        self.is_due = self.due <= now;
        let until = utc() + self.due.saturating_duration_since(now);
        if !self.is_due && (until - self.until).abs() > CLOCK_WAS_SET {
            self.until = until;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bundle::Bundle;

    fn failed(digest: &str, why: &str, at: Instant) -> NotKept {
        let (who, bundle) = ("alice".to_owned(), Bundle::new([]));
        let fetched = Fetched { who, bundle, verdicts: Vec::new() };
        NotKept { fetched, digest: digest.to_owned(), why: why.to_owned(), at }
    }

    #[test]
    fn a_version_that_cannot_be_written_keeps_the_wait_that_it_is_through() {
        let now = Instant::now();
        let mut candidate = Candidate::Waiting(Waiting::new(now, "new", Duration::from_secs(60)));
        assert!(candidate.cannot_be_kept(failed("new", "the disk is full", now)));
        assert_eq!(candidate.waiting().map(|waiting| waiting.since), Some(now));
        candidate.give_up();
        assert!(matches!(&candidate, Candidate::Waiting(waiting) if waiting.digest == "new"));
    }

    #[test]
    fn a_failed_attempt_is_news_once_and_is_repeated_after_the_interval() {
        let (now, interval) = (Instant::now(), Duration::from_secs(10));
        let mut candidate = Candidate::default();
        let full = |at| failed("new", "the disk is full", at);
        assert!(candidate.cannot_be_kept(full(now + interval)));
        assert!(candidate.retry(now, interval).is_none(), "too early");
        let (_, digest) = candidate.retry(now + interval, interval).unwrap();
        assert_eq!(digest, "new");
        assert!(candidate.retry(now + interval, interval).is_none(), "the next one is later");
        assert!(!candidate.cannot_be_kept(full(now)));
        assert!(candidate.cannot_be_kept(failed("new", "no such folder", now)));
        candidate.give_up();
        assert!(matches!(candidate, Candidate::None));
    }

    #[test]
    fn what_was_refused_stays_refused_while_another_version_cannot_be_written() {
        let now = Instant::now();
        let (digest, mistakes) = ("bad".to_owned(), "line 1".to_owned());
        let mut candidate = Candidate::Refused { digest, mistakes };
        candidate.cannot_be_kept(failed("good", "the disk is full", now));
        assert!(candidate.is_refused("bad") && !candidate.is_refused("good"));
        assert_eq!(candidate.not_kept().map(|version| version.digest.as_str()), Some("good"));
    }
}
