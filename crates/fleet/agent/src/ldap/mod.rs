//! Repositories as entries of a directory (LDAP), by the schema in `docs/ldap`.
//!
//! A text of the repository is an entry `shortflowText`, whose `cn` is the path; the same holds for the fleet. A
//! policy may also be an entry `shortflowPolicy` with an entry `shortflowRule` below it for each class, as in mtk99;
//! it is translated into a text. The structure follows RFC 3703: containers, rules with conditions and actions below
//! them, and reusable parts referenced by name.

mod ldif;
mod rules;
mod schema;
mod verdicts;

use std::sync::Arc;

use shortflow_text::{Diagnostic, Diagnostics, Severity, Source};

use crate::bundle::{Bundle, is_inner};

pub use ldif::{Entry, parse, write};
pub use rules::{Action, Rule};
pub use verdicts::{is_verdict, verdict_entry, verdicts, verdicts_unit};

/// The attribute with a text.
const TEXT: &str = "shortflowText";
/// The maximum number of a repository's entries: each rule is compared with each policy.
const MAX_ENTRIES: usize = 5000;
/// The classes of entries.
const TEXT_CLASS: &str = "shortflowTextEntry";
const POLICY_CLASS: &str = "shortflowPolicy";
const RULE_CLASS: &str = "shortflowRule";

/// The entries of a repository below the entry `base`; before them that itself, where it is an organizational unit.
pub fn entries(bundle: &Bundle, base: &str) -> Vec<Entry> {
    let attribute = |name: &str, value: &str| (name.to_owned(), value.as_bytes().to_vec());
    let unit = base.split(',').next().and_then(|first| first.trim().strip_prefix("ou="));
    let unit = unit.map(|name| {
        Entry::new(
            base.to_owned(),
            vec![attribute("objectClass", "organizationalUnit"), attribute("ou", name)],
        )
    });
    let texts = bundle.files().map(|(path, text)| {
        let attributes = vec![
            attribute("objectClass", TEXT_CLASS),
            attribute("cn", path),
            attribute(TEXT, text),
        ];
        Entry::new(format!("cn={},{base}", escaped(path)), attributes)
    });
    unit.into_iter().chain(texts).collect()
}

/// The repository of these entries, which were read from `source`; entries of other kinds are left aside.
///
/// # Errors
/// All mistakes in them, each with its place.
pub fn bundle(source: &Arc<Source>, entries: &[Entry]) -> Result<Bundle, Diagnostics> {
    let mut found = Finder { source, mistakes: Vec::new(), files: Vec::new() };
    if let Some(entry) = entries.get(MAX_ENTRIES) {
        let help = "a repository has one text for its fleet and one for each policy";
        found.mistake(
            entry,
            "dn",
            format!(
                "too many entries: this is entry {}, and the maximum is {MAX_ENTRIES}",
                MAX_ENTRIES + 1
            ),
            help,
        );
        return Err(Diagnostics(found.mistakes));
    }
    for entry in entries {
        schema::check(&mut found, entry);
        if entry.is_a(TEXT_CLASS) {
            if let (Some(path), Some(text)) = (found.path(entry), found.text(entry, TEXT)) {
                found.add(entry, path, text);
            }
        } else if entry.is_a(POLICY_CLASS)
            && let Some(path) = found.path(entry)
        {
            let text = rules::policy(&mut found, entry, &path, entries);
            found.add(entry, path, text);
        }
    }
    if entries.iter().any(|entry| entry.is_a(RULE_CLASS)) {
        found.rules_without_a_policy(entries);
    }
    match found.mistakes.is_empty() {
        true => Ok(Bundle::new(found.files)),
        false => Err(Diagnostics(found.mistakes)),
    }
}

/// The repository of entries in their text form, of which messages speak as `name`.
///
/// # Errors
/// All mistakes in them, each with its place.
pub fn read(name: &str, text: String) -> Result<Bundle, Diagnostics> {
    let entries = parse(name, &text)?;
    bundle(&Arc::new(Source { name: name.to_owned(), text }), &entries)
}

/// The repository of entries without a text; `None` if they have errors.
#[cfg(feature = "network")]
pub(crate) fn of_entries(entries: &[Entry]) -> Option<Bundle> {
    let nowhere = Source { name: String::new(), text: String::new() };
    bundle(&Arc::new(nowhere), entries).ok()
}

/// What is gathered on the way through entries.
struct Finder<'s> {
    source: &'s Arc<Source>,
    mistakes: Vec<Diagnostic>,
    files: Vec<(String, String)>,
}

impl Finder<'_> {
    fn mistake(&mut self, entry: &Entry, attribute: &str, message: String, help: &str) {
        self.mistakes.push(Diagnostic {
            severity: Severity::Error,
            source: self.source.clone(),
            span: entry.place(attribute),
            message: format!("{}: {message}", entry.dn),
            label: None,
            help: (!help.is_empty()).then(|| help.to_owned()),
        });
    }

    /// The one value of an attribute that must be there.
    fn text(&mut self, entry: &Entry, attribute: &str) -> Option<String> {
        let text = self.optional(entry, attribute);
        if entry.value(attribute).is_none() {
            self.mistake(
                entry,
                attribute,
                format!("missing attribute `{attribute}`"),
                "entries of this class require it",
            );
        }
        text
    }

    /// The value of an attribute that may be there, once.
    fn optional(&mut self, entry: &Entry, attribute: &str) -> Option<String> {
        let value = entry.value(attribute)?;
        if entry.values(attribute).count() > 1 {
            self.mistake(entry, attribute, format!("several values of `{attribute}`"), "write one");
            return None;
        }
        match std::str::from_utf8(value) {
            Ok(text) => Some(text.to_owned()),
            Err(error) => {
                let message = format!(
                    "`{attribute}` is not valid UTF-8 from byte {}",
                    error.valid_up_to() + 1
                );
                self.mistake(entry, attribute, message, "");
                None
            }
        }
    }

    fn path(&mut self, entry: &Entry) -> Option<String> {
        let path = self.text(entry, "cn")?;
        if !is_inner(&path) {
            let help = "`cn` must be a relative path in the repository, such as \
                policies/office.toml";
            self.mistake(entry, "cn", format!("invalid path {path:?}"), help);
            return None;
        }
        Some(path)
    }

    fn add(&mut self, entry: &Entry, path: String, text: String) {
        if self.files.iter().any(|(other, _)| *other == path) {
            self.mistake(
                entry,
                "cn",
                format!("another entry has the path `{path}`"),
                "remove one of them",
            );
            return;
        }
        self.files.push((path, text));
    }

    fn rules_without_a_policy(&mut self, entries: &[Entry]) {
        let policies: Vec<&Entry> =
            entries.iter().filter(|entry| entry.is_a(POLICY_CLASS)).collect();
        for rule in entries.iter().filter(|entry| entry.is_a(RULE_CLASS)) {
            if !policies.iter().any(|policy| rules::is_below(rule, policy)) {
                let help = "put it below an entry of the class shortflowPolicy";
                self.mistake(rule, "dn", "this rule is not below a policy".to_owned(), help);
            }
        }
    }
}

/// A value within a distinguished name (RFC 4514, §2.4).
fn escaped(value: &str) -> String {
    let mut text = String::new();
    let last = value.chars().count().saturating_sub(1);
    for (index, c) in value.chars().enumerate() {
        let is_edge = (c == ' ' && (index == 0 || index == last)) || (c == '#' && index == 0);
        match c {
            '"' | '+' | ',' | ';' | '<' | '>' | '\\' => text.extend(['\\', c]),
            '\0' => text.push_str("\\00"),
            _ if is_edge => text.extend(['\\', c]),
            _ => text.push(c),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_means_something_in_a_name_is_escaped_there() {
        assert_eq!(escaped("policies/a.toml"), "policies/a.toml");
        assert_eq!(escaped(" #a,b+c\"d\\ "), "\\ #a\\,b\\+c\\\"d\\\\\\ ");
        assert_eq!(escaped("#a"), "\\#a");
    }
}
