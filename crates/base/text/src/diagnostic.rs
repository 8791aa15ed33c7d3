//! Error messages about a text: where, what was found, what is allowed.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use annotate_snippets::{AnnotationKind, Level, Origin, Renderer, Snippet};

/// A text, and its name in messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The path as the user typed it, or `--set`.
    pub name: String,
    /// The text.
    pub text: String,
}

/// How severe a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// Error: the text cannot be used.
    Error,
    /// Warning: the text can be used, but probably does not do what the author wants.
    Warning,
}

/// An error or a warning about a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// Error or warning.
    pub severity: Severity,
    /// The text.
    pub source: Arc<Source>,
    /// The range of the text that is marked, in bytes.
    pub span: Range<usize>,
    /// The finding.
    pub message: String,
    /// The note at the marked range.
    pub label: Option<String>,
    /// The help: what to write instead.
    pub help: Option<String>,
}

impl Diagnostic {
    /// An error about the whole text called `name`, without a position.
    pub fn of_whole(name: &str, message: String, help: Option<String>) -> Diagnostic {
        Diagnostic {
            severity: Severity::Error,
            source: Arc::new(Source { name: name.to_owned(), text: String::new() }),
            span: 0..0,
            message,
            label: None,
            help,
        }
    }

    /// The name of the text.
    pub fn file(&self) -> &str {
        &self.source.name
    }

    /// The line, from 1.
    pub fn line(&self) -> usize {
        1 + self.before().matches('\n').count()
    }

    /// The column, from 1, in characters.
    pub fn column(&self) -> usize {
        let line = self.before().rsplit('\n').next().unwrap_or_default();
        1 + line.chars().count()
    }

    fn before(&self) -> &str {
        &self.source.text[..self.span.start]
    }

    /// The message with an excerpt of the text, with or without colours.
    pub fn render(&self, colored: bool) -> String {
        let level = match self.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
        };
        let title = level.primary_title(&self.message);
        let renderer = if colored { Renderer::styled() } else { Renderer::plain() };
        // Whoever names a file may give it a name that a terminal would obey.
        let name =
            shortflow_files::without_control_chars(&self.source.name).replace('\n', "\u{fffd}");
        if self.span == (0..0) {
            // A finding about the whole text has no excerpt.
            let mut group = title.element(Origin::path(&name));
            if let Some(help) = &self.help {
                group = group.element(Level::HELP.message(help));
            }
            return renderer.render(&[group]);
        }
        // What a user typed as an option is shown as typed, without a place in a file.
        let option = Some(format!("{} ", self.source.name)).filter(|name| name.starts_with("--"));
        let before = option.as_ref().map_or(0, String::len);
        let text = option.as_deref().unwrap_or_default().to_owned() + &self.source.text;
        let span = self.span.start + before..self.span.end + before;
        let mut annotation = AnnotationKind::Primary.span(span);
        if let Some(label) = &self.label {
            annotation = annotation.label(label);
        }
        let snippet = Snippet::source(&text).annotation(annotation);
        let mut group = title.element(match option {
            Some(_) => snippet,
            None => snippet.path(&name),
        });
        if let Some(help) = &self.help {
            group = group.element(Level::HELP.message(help));
        }
        renderer.render(&[group])
    }
}

/// A position in a text, kept for a later message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spot {
    /// The text.
    pub source: Arc<Source>,
    /// The range, in bytes.
    pub span: Range<usize>,
}

impl Spot {
    /// A warning about this position.
    pub fn warning(&self, message: impl Into<String>, help: impl Into<String>) -> Diagnostic {
        Diagnostic {
            severity: Severity::Warning,
            source: Arc::clone(&self.source),
            span: self.span.clone(),
            message: message.into(),
            label: None,
            help: Some(help.into()),
        }
    }
}

/// All findings in the texts of one command.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Diagnostics(pub Vec<Diagnostic>);

impl Diagnostics {
    /// A single finding.
    pub fn one(diagnostic: Diagnostic) -> Diagnostics {
        Diagnostics(vec![diagnostic])
    }

    /// Whether nothing was found.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All messages with excerpts, with or without colours.
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

#[cfg(test)]
mod tests {
    use crate::Document;

    use super::*;

    #[test]
    fn a_warning_is_shown_like_a_mistake_and_stops_nothing() {
        let source = Arc::new(Source { name: "a.toml".to_owned(), text: "x = 1".to_owned() });
        let mut document = Document::parse(source, &[]).unwrap();
        document.warning("x", "x is 1", "say 2");
        assert!(document.is_sound() && document.checked().is_ok());
        let shown = document.warnings().to_string();
        assert!(shown.starts_with("warning: x is 1\n --> a.toml:1:5"), "{shown}");
        assert!(shown.contains("help: say 2"), "{shown}");

        document.mistake_in_key("x", "x is no key", "");
        let all = document.checked().unwrap_err();
        let severities: Vec<_> = all.0.iter().map(|found| found.severity).collect();
        assert_eq!(severities, [Severity::Error, Severity::Warning]);
    }

    #[test]
    fn a_file_s_name_gives_a_terminal_no_orders() {
        let name = "x\u{1b}]0;title\u{7}\nerror: all is lost.toml";
        let whole = Diagnostic::of_whole(name, "it does not exist".to_owned(), None);
        let source = Arc::new(Source { name: name.to_owned(), text: "x = 1".to_owned() });
        let mut document = Document::parse(source, &[]).unwrap();
        document.warning("x", "x is 1", "say 2");
        for shown in [Diagnostics::one(whole).to_string(), document.warnings().to_string()] {
            assert!(!shown.contains(['\u{1b}', '\u{7}']), "{shown:?}");
            assert!(
                shown.contains("x\u{fffd}]0;title\u{fffd}\u{fffd}error: all is lost.toml"),
                "{shown:?}"
            );
        }
    }
}
