//! All that is wrong with a tree, though serde stops at the first mistake.
//!
//! What is at fault is cut out of a copy of the tree, which is read again, and so on. A table that
//! then lacks a key only because that was cut out is cut out itself, without a word.

use std::ops::Range;

use serde::de::DeserializeOwned;

use super::de::{Fault, Reader};
use super::named::nearest;
use super::tree::{Item, Key, Value};

/// The mistakes of `root` as a `T`, in the order of their places; `first` is the one that is known.
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

/// What was cut out: the place of its table, and its key there.
struct Cut {
    table: Range<usize>,
    key: Option<String>,
}

impl Cut {
    /// Whether there is `fault` only because of what was cut out, or of what that was meant to be.
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

/// Cuts out the innermost entry of which the key or the value stands at `place`.
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

/// More mistakes than anyone reads at once.
const MAX_MISTAKES: usize = 50;

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
                (1, "expected a whole number from 0 to 4294967295; found the text \"x\""),
                (2, "expected true or false; found the number 1"),
                (3, "unknown key `third`"),
                (5, "expected a whole number from 0 to 4294967295; found true"),
                (6, "expected a text; found the number 1"),
                (7, "the key `size` is missing"),
            ]
        );
    }
}
