//! LDIF, the text form of a directory's entries (RFC 2849): content records, written and read.

use std::ops::Range;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use shortflow_text::{Diagnostic, Diagnostics, Severity, Source};

/// An entry of a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its distinguished name.
    pub dn: String,
    /// Its attributes and their values, in the order of the text.
    pub attributes: Vec<(String, Vec<u8>)>,
    /// The place of each attribute's value in the text that it was read from, and before these that of the name.
    pub(super) places: Vec<Range<usize>>,
}

impl Entry {
    /// One of these attributes, in no text.
    pub fn new(dn: String, attributes: Vec<(String, Vec<u8>)>) -> Entry {
        Entry { dn, attributes, places: Vec::new() }
    }

    /// The first value of an attribute, whose name has no case.
    pub(super) fn value(&self, name: &str) -> Option<&[u8]> {
        self.values(name).next()
    }

    pub(super) fn values(&self, name: &str) -> impl Iterator<Item = &[u8]> {
        let is_meant = move |(given, _): &&(String, Vec<u8>)| given.eq_ignore_ascii_case(name);
        self.attributes.iter().filter(is_meant).map(|(_, value)| value.as_slice())
    }

    /// The place of an attribute's first value, or that of the entry's name if it lacks the attribute.
    pub(super) fn place(&self, name: &str) -> Range<usize> {
        let found = self.attributes.iter().position(|(given, _)| given.eq_ignore_ascii_case(name));
        let place = found.map_or(0, |index| index + 1);
        self.places.get(place).cloned().unwrap_or(0..0)
    }

    pub(super) fn is_a(&self, class: &str) -> bool {
        self.values("objectClass").any(|value| value.eq_ignore_ascii_case(class.as_bytes()))
    }
}

/// The longest line, in bytes; RFC 2849 recommends 76.
const LINE: usize = 76;

/// Writes entries.
pub fn write(entries: &[Entry]) -> String {
    let mut text = "version: 1\n".to_owned();
    for (index, entry) in entries.iter().enumerate() {
        // Before the first entry an empty line is allowed, and OpenLDAP's slapadd takes it for the end of one.
        if index > 0 {
            text.push('\n');
        }
        write_line(&mut text, "dn", entry.dn.as_bytes());
        for (name, value) in &entry.attributes {
            write_line(&mut text, name, value);
        }
    }
    text
}

fn write_line(text: &mut String, name: &str, value: &[u8]) {
    let line = match is_safe(value) {
        true if value.is_empty() => format!("{name}:"),
        true => format!("{name}: {}", String::from_utf8_lossy(value)),
        false => format!("{name}:: {}", STANDARD.encode(value)),
    };
    // A safe value is ASCII, so that a line may be cut anywhere; what follows begins with a space.
    let (first, mut rest) = line.split_at(line.len().min(LINE));
    text.push_str(first);
    while !rest.is_empty() {
        let (next, after) = rest.split_at(rest.len().min(LINE - 1));
        text.push_str("\n ");
        text.push_str(next);
        rest = after;
    }
    text.push('\n');
}

/// SAFE-STRING of RFC 2849, which does not end in a space either (note 8).
fn is_safe(value: &[u8]) -> bool {
    let safe = |byte: &u8| (0x01..=0x7f).contains(byte) && !b"\n\r".contains(byte);
    value.iter().all(safe)
        && value.first().is_none_or(|first| !b" :<".contains(first))
        && value.last() != Some(&b' ')
}

/// Reads the entries of a text, of which messages speak as `name`.
///
/// # Errors
/// The first mistake, with its place.
pub fn parse(name: &str, text: &str) -> Result<Vec<Entry>, Diagnostics> {
    let source = Arc::new(Source { name: name.to_owned(), text: text.to_owned() });
    let mut entries: Vec<Entry> = Vec::new();
    let mut open: Option<Entry> = None;
    let mut is_first = true;
    for line in logical_lines(text) {
        if line.text.is_empty() {
            entries.extend(open.take());
            continue;
        }
        let (key, value) = attribute(&line)
            .map_err(|(message, help)| mistake(&source, line.span.clone(), message, help))?;
        let wrong =
            |message: String, help: &str| Err(mistake(&source, line.span.clone(), message, help));
        match (&mut open, key.to_ascii_lowercase().as_str()) {
            (None, "version") if is_first => {
                if value != b"1" {
                    return wrong("unsupported version of LDIF".to_owned(), "write `version: 1`");
                }
            }
            (None, "dn") => {
                let Ok(dn) = String::from_utf8(value) else {
                    return wrong("this name is not valid UTF-8".to_owned(), "");
                };
                open = Some(Entry { dn, attributes: Vec::new(), places: vec![line.span.clone()] });
            }
            (None, _) => {
                return wrong(
                    format!("an entry must begin with `dn`, not with `{key}`"),
                    "write `dn: …` first",
                );
            }
            (Some(_), "dn") => {
                return wrong(
                    "this entry already has a `dn`".to_owned(),
                    "separate entries by an empty line",
                );
            }
            (Some(_), "changetype" | "control") => {
                let help = "write complete entries; to apply changes, use ldapmodify";
                return wrong("change records are not supported".to_owned(), help);
            }
            (Some(entry), _) => {
                entry.attributes.push((key, value));
                entry.places.push(line.span.clone());
            }
        }
        is_first = false;
    }
    entries.extend(open);
    Ok(entries)
}

/// A line with those that continue it; empty between entries.
struct Line {
    text: String,
    span: Range<usize>,
}

/// Lines, put together where they were cut, without comments.
fn logical_lines(text: &str) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    let mut at = 0;
    for raw in text.split_inclusive('\n') {
        let line = raw.trim_end_matches('\n');
        let line = line.strip_suffix('\r').unwrap_or(line);
        let span = at..at + line.len();
        at += raw.len();
        match (line.strip_prefix(' '), lines.last_mut()) {
            (Some(more), Some(last)) if !last.text.is_empty() => {
                last.text.push_str(more);
                last.span.end = span.end;
            }
            _ => lines.push(Line { text: line.to_owned(), span }),
        }
    }
    lines.retain(|line| !line.text.starts_with('#'));
    lines
}

/// An attribute and its value, or what is wrong with the line.
fn attribute(line: &Line) -> Result<(String, Vec<u8>), (String, &'static str)> {
    let Some((name, value)) = line.text.split_once(':') else {
        return Err((
            "missing colon in this line".to_owned(),
            "write `name: value`, or `name:: ` followed by base64",
        ));
    };
    let plain = |c: char| c.is_ascii_alphanumeric() || "-.;".contains(c);
    if name.is_empty() || !name.chars().all(plain) {
        return Err((
            format!("invalid attribute name {name:?}"),
            "use letters, digits, `-`, `.` and `;`",
        ));
    }
    let value = match value.as_bytes().first() {
        Some(b'<') => {
            return Err(("values at a URL are not supported".to_owned(), "write the value itself"));
        }
        Some(b':') => {
            let text = value[1..].trim_start_matches(' ');
            STANDARD.decode(text).map_err(|error| {
                (
                    format!("invalid base64: {error}"),
                    "`::` introduces base64; write a plain value after one colon",
                )
            })?
        }
        _ => value.trim_start_matches(' ').as_bytes().to_vec(),
    };
    Ok((name.to_owned(), value))
}

pub(super) fn mistake(
    source: &Arc<Source>,
    span: Range<usize>,
    message: String,
    help: &str,
) -> Diagnostics {
    Diagnostics::one(Diagnostic {
        severity: Severity::Error,
        source: source.clone(),
        span,
        message,
        label: None,
        help: (!help.is_empty()).then(|| help.to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn entry(values: &[(&str, &[u8])]) -> Entry {
        let attributes = values.iter().map(|(name, value)| ((*name).to_owned(), value.to_vec()));
        Entry::new("cn=a,dc=b".to_owned(), attributes.collect())
    }

    #[test]
    fn what_is_not_safe_is_written_in_base64_and_long_lines_are_cut() {
        let long = "x".repeat(100);
        let text = write(&[entry(&[
            ("a", b"plain"),
            ("b", b" begins with a space"),
            ("c", b"ends with one "),
            ("d", "ä".as_bytes()),
            ("e", b""),
            ("f", long.as_bytes()),
            ("g", b"a\nb"),
        ])]);
        let expected = format!(
            "version: 1\ndn: cn=a,dc=b\na: plain\nb:: IGJlZ2lucyB3aXRoIGEgc3BhY2U=\nc:: ZW5kcyB3aXRoIG9uZSA=\nd:: w6Q=\ne:\nf: {}\n {}\ng:: YQpi\n",
            &long[..73],
            &long[73..]
        );
        assert_eq!(text, expected);
    }

    #[test]
    fn comments_cut_lines_and_line_ends_of_any_kind_are_read() {
        let text = "# a comment\n  that goes on\nversion: 1\r\ndn: cn=a,\r\n dc=b\r\nobjectClass:top\na:: w6\n Q=\n\n\n\ndn:: Y249Yw==\n";
        let entries = parse("a.ldif", text).unwrap();
        let names: Vec<&str> = entries.iter().map(|entry| entry.dn.as_str()).collect();
        assert_eq!(names, ["cn=a,dc=b", "cn=c"]);
        assert_eq!(entries[0].value("A"), Some("ä".as_bytes()));
        assert!(entries[0].is_a("TOP"));
    }

    proptest! {
        #[test]
        fn entries_are_read_as_they_were_written(
            values in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 1..6),
            dn in "\\PC{1,90}",
        ) {
            let attributes: Vec<(String, Vec<u8>)> =
                values.into_iter().enumerate().map(|(index, value)| (format!("a{index}"), value)).collect();
            let written = Entry::new(dn, attributes);
            let text = write(std::slice::from_ref(&written));
            prop_assert!(text.lines().all(|line| line.len() <= LINE && line.is_ascii()));
            let read = parse("a.ldif", &text).unwrap();
            prop_assert_eq!(read.len(), 1);
            prop_assert_eq!((&read[0].dn, &read[0].attributes), (&written.dn, &written.attributes));
        }

        #[test]
        fn no_text_brings_the_reader_down(text in "[ -~\\n:<#a-d=ä]{0,120}") {
            let _ = parse("a.ldif", &text);
        }
    }
}
