//! Mistakes and warnings with their places, of two texts.

use std::ops::Range;
use std::sync::Arc;

use shortflow_text::{Diagnostic, Diagnostics, Document, Severity, Source, Spot};

/// A value, and where it is written.
#[derive(Debug, Clone)]
pub(crate) struct Located<T> {
    pub(crate) value: T,
    pub(crate) spot: Spot,
}

impl<T> Located<T> {
    pub(crate) fn new(value: T, spot: Spot) -> Located<T> {
        Located { value, spot }
    }

    /// That of a key of a document.
    pub(crate) fn of_key(value: T, document: &Document, path: &str) -> Located<T> {
        Located { value, spot: document.spot(path) }
    }
}

pub(crate) fn spot(source: &Arc<Source>, span: Range<usize>) -> Spot {
    Spot { source: Arc::clone(source), span }
}

/// `customers.csv:7`, for messages about another place.
pub(crate) fn place(spot: &Spot) -> String {
    let line = 1 + spot.source.text[..spot.span.start].matches('\n').count();
    format!("line {line} of {}", spot.source.name)
}

/// At most so many of each are shown: a wrong column makes as many mistakes as there are customers.
const MAX_SHOWN: usize = 20;

/// What was found so far.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    mistakes: Vec<Diagnostic>,
    warnings: Vec<Diagnostic>,
}

impl Findings {
    pub(crate) fn mistake(
        &mut self,
        at: &Spot,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.mistakes.push(Diagnostic { severity: Severity::Error, ..at.warning(message, help) });
    }

    pub(crate) fn warning(
        &mut self,
        at: &Spot,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.warnings.push(at.warning(message, help));
    }

    pub(crate) fn is_sound(&self) -> bool {
        self.mistakes.is_empty()
    }

    /// The warnings, or the mistakes before them.
    pub(crate) fn checked(self) -> Result<Diagnostics, Diagnostics> {
        let Findings { mistakes, warnings } = self;
        let warnings = shown(warnings);
        match mistakes.is_empty() {
            true => Ok(Diagnostics(warnings)),
            false => Err(Diagnostics([shown(mistakes), warnings].concat())),
        }
    }
}

/// The first of them, the last of which says how many more there are.
fn shown(mut all: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let more = all.len().saturating_sub(MAX_SHOWN);
    all.truncate(MAX_SHOWN);
    if let (1.., Some(last)) = (more, all.last_mut()) {
        let help = last.help.take().unwrap_or_default();
        last.help = Some(format!("{help}; {more} more are not shown"));
    }
    all
}
