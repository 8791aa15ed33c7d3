//! Finds all errors of a tree, although serde stops at the first one.
//!
//! The item with the error is removed from a copy of the tree, which is then read again, and so on. If a
//! table then lacks a required key only because it was removed, the table is removed too, without an error.

use std::ops::Range;

use serde::de::DeserializeOwned;

use super::de::{Fault, Reader};
use super::named::nearest;
use super::tree::{Item, Key, Value};

/// The errors of `root` as a `T`, in the order of their positions. `first` is the one that is known.
pub(super) fn all_faults<T: DeserializeOwned>(root: &Item, first: Fault) -> Vec<Fault> {
    let mut rest = root.clone();
    let mut faults: Vec<Fault> = Vec::new();
    let mut cut: Vec<Cut> = Vec::new();
    let mut next = Some(first);
    while let Some(fault) = next {
        let place = fault.span.clone();
        let is_new = !cut.iter().any(|cut| cut.explains(&fault));
        if is_new {
            faults.push(fault);
        }
        match place.and_then(|place| cut_out(&mut rest, &place)) {
            Some(piece) if faults.len() < MAX_MISTAKES => cut.push(piece),
            _ => break,
        }
        next = T::deserialize(Reader(&rest)).err();
    }
    faults.sort_by_key(|fault| fault.span.as_ref().map_or(0, |span| span.start));
    faults
}

/// An item that was removed: the position of its table, and its key.
struct Cut {
    table: Range<usize>,
    key: Option<String>,
}

impl Cut {
    /// Whether `fault` exists only because this item, or the item that it was meant to be, was removed.
    fn explains(&self, fault: &Fault) -> bool {
        let same_table = Some(&self.table) == fault.span.as_ref();
        let is_meant = |missing| {
            self.key
                .as_deref()
                .is_some_and(|key| key == missing || nearest(key, [missing]).is_some())
        };
        same_table && fault.missing.is_none_or(is_meant)
    }
}

/// Removes the innermost entry whose key or value is at `place`.
fn cut_out(item: &mut Item, place: &Range<usize>) -> Option<Cut> {
    let table = item.span.clone();
    match &mut item.value {
        Value::List(items) => {
            if let Some(cut) = items.iter_mut().find_map(|item| cut_out(item, place)) {
                return Some(cut);
            }
            let index = items.iter().position(|item| item.span == *place)?;
            items.remove(index);
            Some(Cut { table, key: None })
        }
        Value::Table(entries) => {
            if let Some(cut) = entries.iter_mut().find_map(|(_, item)| cut_out(item, place)) {
                return Some(cut);
            }
            let is_there = |(key, item): &(Key, Item)| key.span == *place || item.span == *place;
            let index = entries.iter().position(is_there)?;
            let (key, _) = entries.remove(index);
            Some(Cut { table, key: Some(key.name) })
        }
        _ => None,
    }
}

/// The limit on reported errors.
pub(super) const MAX_MISTAKES: usize = 50;

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde::Deserialize;

    use crate::{Document, Source};

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code, reason = "only whether they can be read matters")]
    struct Whole {
        first: u32,
        second: Option<bool>,
        parts: Vec<Part>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code, reason = "only whether they can be read matters")]
    struct Part {
        size: u32,
        name: String,
    }

    #[test]
    fn all_mistakes_of_a_text_are_told_at_once_and_each_once() {
        let text = "first = \"x\"\nsecond = 1\nthird = 2\n\
                    [[parts]]\nsize = true\nname = 1\n[[parts]]\nname = \"b\"\n";
        let source = Arc::new(Source { name: "t.toml".to_owned(), text: text.to_owned() });
        let found = Document::parse(source, &[]).unwrap().read::<Whole>().unwrap_err();
        let reported: Vec<(usize, &str)> =
            found.0.iter().map(|mistake| (mistake.line(), mistake.message.as_str())).collect();
        assert_eq!(
            reported,
            [
                (1, "expected a whole number from 0 to 4294967295; found the string \"x\""),
                (2, "expected true or false; found the number 1"),
                (3, "unknown key `third`"),
                (5, "expected a whole number from 0 to 4294967295; found true"),
                (6, "expected a string; found the number 1"),
                (7, "the key `size` is missing"),
            ]
        );
    }
}
