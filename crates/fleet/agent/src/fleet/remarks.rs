//! Errors and warnings about a fleet's text, each with its place.

use std::sync::Arc;

use shortflow_text::{Diagnostics, Document, Source};

use crate::bundle::FLEET;

/// Remarks on a text, whose places are looked for only where there is something to say: mostly there is nothing.
pub(super) struct Remarks<'t> {
    text: &'t str,
    document: Option<Document>,
}

impl<'t> Remarks<'t> {
    /// On a text, of which the places are known already where it did not stand for itself.
    pub(super) fn new(text: &'t str, document: Option<Document>) -> Remarks<'t> {
        Remarks { text, document }
    }

    /// The text with its places.
    pub(super) fn document(&mut self) -> &mut Document {
        self.document.get_or_insert_with(|| {
            Document::parse(source(self.text), &[]).expect("a text that stands for itself is one")
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

    /// Adds a warning: allowed, but probably unintended.
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

/// The text of a fleet, as messages show it.
pub(super) fn source(text: &str) -> Arc<Source> {
    Arc::new(Source { name: FLEET.to_owned(), text: text.to_owned() })
}
