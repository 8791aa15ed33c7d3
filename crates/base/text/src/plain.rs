//! A fast path for texts without parameters and expressions: no tree is built.

use std::borrow::Cow;

use serde::de::DeserializeOwned;
use shortflow_files::{control_char, control_char_in_lines};
use toml::Spanned;
use toml::de::{DeTable, DeValue, Deserializer};

/// Deserializes a text without parameters, expressions and errors. The result is the same as by way of a
/// [`Document`](super::Document). Otherwise `None`: then a document resolves the parameters or reports the
/// errors.
pub fn plain<T: DeserializeOwned>(text: &str) -> Option<T> {
    let table = DeTable::parse(text).ok()?;
    if !is_plain_table(table.get_ref()) {
        return None;
    }
    T::deserialize(Deserializer::from(table)).ok()
}

fn is_plain_table(table: &DeTable<'_>) -> bool {
    let is_plain = |(key, value): (&Spanned<Cow<'_, str>>, &Spanned<DeValue<'_>>)| {
        control_char(key.get_ref()).is_none() && is_plain_value(value.get_ref())
    };
    table.iter().all(is_plain)
}

fn is_plain_value(value: &DeValue<'_>) -> bool {
    match value {
        DeValue::String(text) => {
            !text.starts_with(['$', '=']) && control_char_in_lines(text).is_none()
        }
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix()).is_ok(),
        DeValue::Float(number) => number.as_str().parse::<f64>().is_ok(),
        DeValue::Boolean(_) => true,
        DeValue::Array(items) => items.iter().all(|item| is_plain_value(item.get_ref())),
        DeValue::Table(table) => is_plain_table(table),
        DeValue::Datetime(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;
    use serde::Deserialize;

    use super::*;
    use crate::{Document, Named, Scalar, Source};

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Text {
        one: Option<Scalar>,
        two: Option<u16>,
        #[serde(default)]
        list: Vec<String>,
        #[serde(default)]
        named: Named<Named<Scalar>>,
        #[serde(default)]
        parameters: Named<Scalar>,
    }

    fn document(text: &str) -> Option<Text> {
        let source = Source { name: "t.toml".to_owned(), text: text.to_owned() };
        Document::parse(Arc::new(source), &[]).ok()?.read().ok()
    }

    #[test]
    fn what_does_not_stand_for_itself_is_left_to_a_document() {
        let plain = |text: &str| super::plain::<Text>(text).is_some();
        assert!(plain("one = \"a = $b\"\nlist = ['''\n\tx\n''']\nnamed.\"ä\".b = 0x10\n"));
        for text in [
            "one = \"$a\"\nparameters.a = 1",
            "one = \"= 1 + 1\"",
            "list = [\"\\u001b\"]",
            "named.\"a\\u202E\".b = 1",
            "one = 1979-05-27",
            "one = 9223372036854775808",
            "two = 70000",
            "three = 3",
            "one = ",
        ] {
            assert!(!plain(text), "{text}");
        }
    }

    /// Values of which some stand for others, and some for nothing.
    fn value() -> impl Strategy<Value = String> {
        let values = [
            "1",
            "-7",
            "0x1F",
            "65536",
            "9223372036854775807",
            "9223372036854775808",
            "1.5",
            "1e400",
            "inf",
            "nan",
            "true",
            "1979-05-27",
            "07:32:00",
            "\"a\"",
            "\"$p\"",
            "\"=p+1\"",
            "'= 1 / 0'",
            "\"a\\tb\"",
            "\"\\u001b\"",
            "'''\na\n'''",
            "\"\\u202E\"",
            "[]",
            "[\"a\", \"b\"]",
            "[\"$p\"]",
            "[1]",
            "{ a = 1 }",
            "{ a = \"$p\", b = 2.5 }",
            "{}",
            "",
        ];
        prop::sample::select(values.to_vec()).prop_map(str::to_owned)
    }

    proptest! {
        #[test]
        fn a_text_that_is_plain_comes_to_what_a_document_comes_to(
            lines in prop::collection::vec(
                (prop::sample::select(&["one", "two", "list", "named", "named.a.b", "named.\"\\u200B\"", "parameters.p", "x", "[named]\na", "[named.b]\nc"][..]), value()),
                0..5,
            ),
        ) {
            let text: String = lines.iter().map(|(key, value)| format!("{key} = {value}\n")).collect();
            let message = |text: &Text| format!("{text:?}");
            match (plain::<Text>(&text), document(&text)) {
                // As they are printed, NaN is NaN.
                (Some(plain), document) => prop_assert_eq!(Some(message(&plain)), document.as_ref().map(message)),
                // A number too large for a float is infinite to a document.
                (None, Some(_)) => {
                    let stands_for_another = ["\"$", "\"=", "'=", "1e400"].iter().any(|sign| text.contains(sign));
                    prop_assert!(stands_for_another, "{}", text);
                },
                (None, None) => {}
            }
        }
    }
}
