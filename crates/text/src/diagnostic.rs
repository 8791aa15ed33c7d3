//! What is wrong with a text: where, what was found, what is allowed.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use annotate_snippets::{AnnotationKind, Level, Origin, Renderer, Snippet};

/// A text that was read, and the name under which messages speak of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// A file's path as the user gave it, or `--set`.
    pub name: String,
    /// The text.
    pub text: String,
}

/// One mistake in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// The text that holds the mistake.
    pub source: Arc<Source>,
    /// The offending bytes of the text.
    pub span: Range<usize>,
    /// What is wrong.
    pub message: String,
    /// What to say right at the offending text.
    pub label: Option<String>,
    /// What would be right.
    pub help: Option<String>,
}

impl Diagnostic {
    /// The file that holds the mistake.
    pub fn file(&self) -> &str {
        &self.source.name
    }

    /// The line of the mistake, from 1.
    pub fn line(&self) -> usize {
        1 + self.before().matches('\n').count()
    }

    /// The column of the mistake, from 1, in characters.
    pub fn column(&self) -> usize {
        let line = self.before().rsplit('\n').next().unwrap_or_default();
        1 + line.chars().count()
    }

    fn before(&self) -> &str {
        &self.source.text[..self.span.start]
    }

    /// The message with the offending text, in colours for a terminal or plain.
    pub fn render(&self, colored: bool) -> String {
        let title = Level::ERROR.primary_title(&self.message);
        let renderer = if colored { Renderer::styled() } else { Renderer::plain() };
        if self.span == (0..0) {
            // The mistake is in the text as a whole: there is nothing to show.
            let mut group = title.element(Origin::path(&self.source.name));
            if let Some(help) = &self.help {
                group = group.element(Level::HELP.message(help));
            }
            return renderer.render(&[group]);
        }
        let mut annotation = AnnotationKind::Primary.span(self.span.clone());
        if let Some(label) = &self.label {
            annotation = annotation.label(label);
        }
        let snippet =
            Snippet::source(&self.source.text).path(&self.source.name).annotation(annotation);
        let mut group = title.element(snippet);
        if let Some(help) = &self.help {
            group = group.element(Level::HELP.message(help));
        }
        renderer.render(&[group])
    }
}

/// All mistakes that were found in the texts of one command.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Diagnostics(pub Vec<Diagnostic>);

impl Diagnostics {
    /// All messages with the offending texts, in colours for a terminal or plain.
    pub fn render(&self, colored: bool) -> String {
        let messages: Vec<_> = self.0.iter().map(|diagnostic| diagnostic.render(colored)).collect();
        messages.join("\n\n")
    }
}

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(false))
    }
}

impl std::error::Error for Diagnostics {}
