//! What there is to say of a fleet's text, each at its place.

use std::sync::Arc;

use shortflow_text::{Diagnostics, Document, Source};

/// Remarks on a text, whose places are looked for only where there is something to say: mostly there is nothing.
pub(super) struct Remarks {
    source: Arc<Source>,
    document: Option<Document>,
}

impl Remarks {
    /// On a text that was read as it stands.
    pub(super) fn later(source: Arc<Source>) -> Remarks {
        Remarks { source, document: None }
    }

    /// On a text whose places are known.
    pub(super) fn of(source: Arc<Source>, document: Document) -> Remarks {
        Remarks { source, document: Some(document) }
    }

    /// The text with its places.
    pub(super) fn document(&mut self) -> &mut Document {
        self.document.get_or_insert_with(|| {
            Document::parse(self.source.clone(), &[]).expect("it was read as it stands")
        })
    }

    /// Notes a mistake in the value of a key.
    pub(super) fn mistake(
        &mut self,
        path: &str,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.document().mistake(path, message, help);
    }

    /// Notes a mistake in a key.
    pub(super) fn mistake_in_key(
        &mut self,
        path: &str,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.document().mistake_in_key(path, message, help);
    }

    /// Notes that something is allowed but hardly what is meant.
    pub(super) fn warning(
        &mut self,
        path: &str,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.document().warning(path, message, help);
    }

    /// The mistakes with the warnings where there are mistakes, and the warnings.
    pub(super) fn found(self) -> (Diagnostics, Diagnostics) {
        let Some(document) = self.document else { return Default::default() };
        (document.checked().err().unwrap_or_default(), document.warnings())
    }
}
