//! A TOML text as a tree with positions.

use std::fmt;
use std::ops::Range;

use toml::de::{DeTable, DeValue};

/// A value and its position: byte offsets into the document's sources, one after the other.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// The value.
    pub value: Value,
    /// The position.
    pub span: Range<usize>,
}

/// The key of an entry in a table, and its position.
#[derive(Debug, Clone, PartialEq)]
pub struct Key {
    /// The name.
    pub name: String,
    /// The position.
    pub span: Range<usize>,
}

/// The value of an item.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A string.
    Text(String),
    /// A whole number.
    Integer(i64),
    /// A number with a fraction.
    Float(f64),
    /// A boolean.
    Bool(bool),
    /// A list.
    List(Vec<Item>),
    /// A table, in the order of the text.
    Table(Vec<(Key, Item)>),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Text(text) => write!(f, "\"{text}\""),
            Value::Integer(number) => number.fmt(f),
            Value::Float(number) => number.fmt(f),
            Value::Bool(value) => value.fmt(f),
            Value::List(_) => f.write_str("a list"),
            Value::Table(_) => f.write_str("a table"),
        }
    }
}

impl Item {
    /// The entry `name` of a table.
    pub fn get(&self, name: &str) -> Option<&Item> {
        self.entry(name).map(|(_, item)| item)
    }

    /// The entry `name` of a table with its key.
    pub(super) fn entry(&self, name: &str) -> Option<&(Key, Item)> {
        match &self.value {
            Value::Table(entries) => entries.iter().find(|(key, _)| key.name == name),
            _ => None,
        }
    }

    /// The same item in a text that begins `offset` bytes later.
    pub(super) fn shifted(self, offset: usize) -> Item {
        let value = match self.value {
            Value::List(items) => {
                Value::List(items.into_iter().map(|item| item.shifted(offset)).collect())
            }
            Value::Table(entries) => {
                let shifted = entries.into_iter().map(|(key, item)| {
                    (Key { span: shift(key.span, offset), ..key }, item.shifted(offset))
                });
                Value::Table(shifted.collect())
            }
            plain => plain,
        };
        Item { value, span: shift(self.span, offset) }
    }

    /// The index of the element `name` of a list: its index as a number, or the value of its key `name`.
    pub(super) fn position(list: &[Item], name: &str) -> Option<usize> {
        name.parse().ok().filter(|&index: &usize| index < list.len()).or_else(|| {
            list.iter().position(|item| {
                item.get("name").is_some_and(|found| found.value == Value::Text(name.to_owned()))
            })
        })
    }
}

/// Reads a TOML table whose text starts at `offset` in the document's sources. Dates are not supported; the
/// position of a date is returned as the error.
pub(super) fn from_table(table: DeTable<'_>, offset: usize) -> Result<Value, Range<usize>> {
    let entries = table.into_iter().map(|(key, item)| {
        let name = Key { name: key.get_ref().to_string(), span: shift(key.span(), offset) };
        Ok((name, from_value(item.span(), item.into_inner(), offset)?))
    });
    entries.collect::<Result<_, _>>().map(Value::Table)
}

/// Reads one TOML value, as [`from_table`] does.
pub(super) fn from_value(
    span: Range<usize>,
    value: DeValue<'_>,
    offset: usize,
) -> Result<Item, Range<usize>> {
    let span = shift(span, offset);
    let value = match value {
        DeValue::String(text) => Value::Text(text.into_owned()),
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
            .map(Value::Integer)
            .map_err(|_| span.clone())?,
        DeValue::Float(number) => {
            number.as_str().parse().map(Value::Float).map_err(|_| span.clone())?
        }
        DeValue::Boolean(value) => Value::Bool(value),
        DeValue::Array(list) => {
            let items = list.into_iter().map(|i| from_value(i.span(), i.into_inner(), offset));
            Value::List(items.collect::<Result<_, _>>()?)
        }
        DeValue::Table(table) => from_table(table, offset)?,
        DeValue::Datetime(_) => return Err(span),
    };
    Ok(Item { value, span })
}

fn shift(span: Range<usize>, offset: usize) -> Range<usize> {
    span.start + offset..span.end + offset
}
