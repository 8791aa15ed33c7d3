//! Finds control characters in texts: characters that a terminal or a page interprets instead of showing.

use shortflow_files::{control_char, control_char_in_lines};

use super::tree::{Item, Value};

/// The texts and keys of `item` that contain a control character: the position of each, and the character.
/// Only texts may contain line breaks and tabs.
pub(super) fn all_control_chars(item: &Item) -> Vec<(std::ops::Range<usize>, char)> {
    match &item.value {
        Value::Text(text) => {
            control_char_in_lines(text).map(|c| (item.span.clone(), c)).into_iter().collect()
        }
        Value::List(items) => items.iter().flat_map(all_control_chars).collect(),
        Value::Table(entries) => entries
            .iter()
            .flat_map(|(key, item)| {
                let of_key = control_char(&key.name).map(|c| (key.span.clone(), c));
                of_key.into_iter().chain(all_control_chars(item))
            })
            .collect(),
        _ => Vec::new(),
    }
}

/// The message about a text that contains `found`.
pub(super) fn message(what: &str, found: char) -> String {
    format!(
        "{what} contains the control character U+{:04X}, which terminals do not show",
        found as u32
    )
}

/// The help for control characters.
pub(super) const HELP: &str = "remove it: control characters and characters that change the direction \
                               of writing are not allowed, nor line breaks and tabs in names";

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::{Document, Override, Source};

    #[test]
    fn a_text_with_a_character_that_is_obeyed_is_refused_at_its_place_wherever_it_stands() {
        let text = "a = \"x\"\nb = [\"\\u001b[2J\"]\n\"c\\u202E\" = 1\n";
        let source = Arc::new(Source { name: "t.toml".to_owned(), text: text.to_owned() });
        let found = Document::parse(source.clone(), &[]).unwrap_err();
        let reported: Vec<_> = found.0.iter().map(|m| (m.line(), m.message.as_str())).collect();
        let [first, second] = [
            "a string contains the control character U+001B, which terminals do not show",
            "a string contains the control character U+202E, which terminals do not show",
        ];
        assert_eq!(reported, [(2, first), (3, second)]);
        assert!(!found.to_string().contains(['\u{1b}', '\u{202e}']), "{found}");

        let set = Override {
            key: "a".to_owned(),
            value: "\u{1b}[2J".to_owned(),
            prefix: "",
            origin: "--set".to_owned(),
            cell: None,
        };
        let source = Arc::new(Source { name: "t.toml".to_owned(), text: "a = 1".to_owned() });
        let found = Document::parse(source, &[set]).unwrap_err();
        assert_eq!((found.0[0].file(), found.0[0].message.as_str()), ("--set", first));
        assert!(!found.to_string().contains('\u{1b}'), "{found}");
    }

    #[test]
    fn a_text_may_go_over_several_lines() {
        let text = "note = '''\none\r\n\ttwo\n'''\n".to_owned();
        let source = Arc::new(Source { name: "t.toml".to_owned(), text });
        assert!(Document::parse(source, &[]).is_ok());
    }

    #[test]
    fn a_name_is_short_and_that_of_a_file_is_looked_at_too() {
        let source = Arc::new(Source { name: "t.toml".to_owned(), text: "a = 1".to_owned() });
        let reported = |written: Option<&str>, stem: &str| {
            let mut document = Document::parse(source.clone(), &[]).unwrap();
            let title = document.title(written.map(str::to_owned), stem.to_owned());
            document.checked().map(|()| title).map_err(|found| found.0[0].message.clone())
        };
        assert_eq!(reported(None, "red"), Ok("red".to_owned()));
        assert_eq!(reported(Some(&"é".repeat(200)), "red"), Ok("é".repeat(200)));
        let long = "a name has 201 characters; the maximum is 200";
        assert_eq!(reported(Some(&"é".repeat(201)), "red"), Err(long.to_owned()));
        let steers = "the name of the file contains the control character U+001B, which terminals \
                      do not show";
        assert_eq!(reported(None, "red\u{1b}"), Err(steers.to_owned()));
        assert_eq!(reported(Some("RED"), "red\u{1b}"), Ok("RED".to_owned()));
    }
}
