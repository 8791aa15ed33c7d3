//! Texts in which everything stands for itself: read in one step, without a tree.

use serde::de::DeserializeOwned;
use toml::de::{DeTable, DeValue, Deserializer};

use super::visible::{unseen, unseen_in_lines};

/// The value of a text that is a [`Document`](super::Document) without a parameter, an expression or a mistake. Where it is
/// none, a document says why, or what it comes to; where it is one, a document comes to the same.
pub fn plain<T: DeserializeOwned>(text: &str) -> Option<T> {
    let table = DeTable::parse(text).ok()?;
    if !is_plain_table(table.get_ref()) {
        return None;
    }
    T::deserialize(Deserializer::from(table)).ok()
}

fn is_plain_table(table: &DeTable<'_>) -> bool {
    let is_plain =
        |(key, value): (&toml::Spanned<std::borrow::Cow<'_, str>>, &toml::Spanned<DeValue<'_>>)| {
            unseen(key.get_ref()).is_none() && is_plain_value(value.get_ref())
        };
    table.iter().all(is_plain)
}

fn is_plain_value(value: &DeValue<'_>) -> bool {
    match value {
        DeValue::String(text) => !text.starts_with(['$', '=']) && unseen_in_lines(text).is_none(),
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix()).is_ok(),
        DeValue::Float(number) => number.as_str().parse::<f64>().is_ok(),
        DeValue::Boolean(_) => true,
        DeValue::Array(items) => items.iter().all(|item| is_plain_value(item.get_ref())),
        DeValue::Table(table) => is_plain_table(table),
        DeValue::Datetime(_) => false,
    }
}
