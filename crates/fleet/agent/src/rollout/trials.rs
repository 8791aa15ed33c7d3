//! The trial of the active version, and what other machines hear of it.

use crate::trial::Trial;
use crate::verdict::Verdict;

/// What runs, and what was found.
#[derive(Debug, Default)]
pub(crate) struct Trials {
    /// The trial of the active version; `None` if it needs none, or its trial is over.
    pub(crate) running: Option<Trial>,
    /// Why what was found of it could not be written.
    pub(crate) not_written: Option<String>,
    /// This machine's last verdict on a version.
    pub(crate) report: Report,
    /// Why the last report failed.
    pub(crate) send_error: Option<String>,
}

/// A verdict for other machines.
#[derive(Debug, Default)]
pub(crate) enum Report {
    /// This machine has judged no version yet.
    #[default]
    None,
    /// It has still to be reported.
    Unsent(Verdict),
    /// It was reported, or is about to be.
    Sent(Verdict),
}

impl Report {
    /// The last verdict.
    pub(crate) fn verdict(&self) -> Option<&Verdict> {
        match self {
            Report::None => None,
            Report::Unsent(verdict) | Report::Sent(verdict) => Some(verdict),
        }
    }

    /// The source has these verdicts: a last one that is not among them is to be reported, again where it was before.
    pub(crate) fn heard(&mut self, verdicts: &[Verdict]) {
        *self = match std::mem::take(self) {
            Report::None => Report::None,
            Report::Unsent(own) | Report::Sent(own) => match verdicts.contains(&own) {
                true => Report::Sent(own),
                false => Report::Unsent(own),
            },
        };
    }

    /// The verdict to report, once.
    pub(crate) fn take_unsent(&mut self) -> Option<Verdict> {
        match std::mem::take(self) {
            Report::Unsent(verdict) => {
                *self = Report::Sent(verdict.clone());
                Some(verdict)
            }
            other => {
                *self = other;
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_is_reported_once_and_again_when_the_source_has_lost_it() {
        let [machine, digest, why] = ["gw1", "new", "it waits less"].map(str::to_owned);
        let verdict = Verdict { machine, digest, is_worse: false, why };
        let mut report = Report::None;
        report.heard(&[]);
        assert_eq!(report.take_unsent(), None);
        report = Report::Unsent(verdict.clone());
        assert_eq!(report.take_unsent().as_ref(), Some(&verdict));
        assert_eq!((report.take_unsent(), report.verdict()), (None, Some(&verdict)));
        report.heard(std::slice::from_ref(&verdict));
        assert_eq!(report.take_unsent(), None, "the source has it");
        report.heard(&[]);
        assert_eq!(report.take_unsent().as_ref(), Some(&verdict), "the source has it no more");
    }
}
