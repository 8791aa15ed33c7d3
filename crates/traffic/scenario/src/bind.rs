//! Bindings from the command line: `core=east->west`.

use std::ops::Range;

use shortflow_text::{Item, Key, Value};

/// An error in a binding, and its range in the text.
pub(crate) type Misread = (Range<usize>, String);

/// An entry of `[[bind]]` from `text`: `ROLE=NODE->NEIGHBOUR` for packets to a neighbour,
/// `ROLE=NODE<-NEIGHBOUR` for packets from it. Both sides of the arrow are nodes, groups or slices of groups,
/// joined by commas. Positions count from the start of `text`.
pub(crate) fn entry(text: &str) -> Result<Item, Misread> {
    let all = 0..text.len();
    let Some((role, place)) = text.split_once('=') else {
        return Err((all, format!("invalid binding `{text}`: expected ROLE=PLACE")));
    };
    let start = role.len() + 1;
    let arrows = [("->", "to"), ("<-", "from")];
    let found = arrows.into_iter().find_map(|(arrow, key)| Some((place.find(arrow)?, key)));
    let Some((arrow, key)) = found else {
        let message = format!("the place `{}` has no arrow `->` or `<-`", place.trim());
        return Err((start..text.len(), message));
    };
    let at = start..start + arrow;
    let other = at.end + "->".len()..text.len();
    let role = trimmed(text, 0..role.len());
    for (span, what) in [(&role, "role"), (&at, "node"), (&other, "neighbour")] {
        if text[span.clone()].trim().is_empty() {
            return Err((all, format!("the {what} is missing in `{text}`")));
        }
    }
    let key_of =
        |name: &str, span: &Range<usize>| Key { name: name.to_owned(), span: span.clone() };
    let entries = vec![
        (key_of("role", &role), name(text, role.clone())),
        (key_of("at", &at), names(text, at.clone())),
        (key_of(key, &other), names(text, other.clone())),
    ];
    Ok(Item { value: Value::Table(entries), span: all })
}

/// The names in `span`, separated by commas, as a list.
fn names(text: &str, span: Range<usize>) -> Item {
    let mut start = span.start;
    let names = text[span.clone()].split(',').map(|part| {
        let place = start..start + part.len();
        start = place.end + 1;
        name(text, trimmed(text, place))
    });
    Item { value: Value::List(names.collect()), span }
}

fn name(text: &str, span: Range<usize>) -> Item {
    Item { value: Value::Text(text[span.clone()].to_owned()), span }
}

/// `span` without leading and trailing blanks.
fn trimmed(text: &str, span: Range<usize>) -> Range<usize> {
    let inner = &text[span.clone()];
    let start = span.start + (inner.len() - inner.trim_start().len());
    start..start + inner.trim().len()
}

/// The help about the form of bindings.
pub(crate) const HOW_TO_BIND: &str = "write ROLE=NODE->NEIGHBOUR for packets that go out to a neighbour, as in \
     core=east->west, or ROLE=NODE<-NEIGHBOUR for packets that come in from it, as in edge=east<-shop; \
     several nodes are separated by commas";

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(item: &Item) -> Vec<&str> {
        match &item.value {
            Value::Text(text) => vec![text],
            Value::List(items) => items.iter().flat_map(texts).collect(),
            _ => panic!("no text: {item:?}"),
        }
    }

    #[test]
    fn the_arrow_says_whether_packets_go_out_or_come_in() {
        let egress = entry("core=east->west").unwrap();
        assert_eq!(texts(egress.get("role").unwrap()), ["core"]);
        assert_eq!(texts(egress.get("at").unwrap()), ["east"]);
        assert_eq!(texts(egress.get("to").unwrap()), ["west"]);
        let ingress = entry(" edge = east <- shop[2:4], elsewhere ").unwrap();
        assert_eq!(texts(ingress.get("role").unwrap()), ["edge"]);
        assert_eq!(texts(ingress.get("from").unwrap()), ["shop[2:4]", "elsewhere"]);
        assert!(ingress.get("to").is_none());
    }

    #[test]
    fn every_name_knows_its_place_in_the_text() {
        let text = "edge=a, bc<-d";
        let item = entry(text).unwrap();
        let Value::List(names) = &item.get("at").unwrap().value else { panic!("a list") };
        let places: Vec<&str> = names.iter().map(|name| &text[name.span.clone()]).collect();
        assert_eq!(places, ["a", "bc"]);
    }

    #[test]
    fn what_is_missing_is_named() {
        for (text, what) in [
            ("core", "expected ROLE=PLACE"),
            ("core=east", "has no arrow"),
            ("=east->west", "the role is missing"),
            ("core=->west", "the node is missing"),
            ("core=east->", "the neighbour is missing"),
        ] {
            let (_, message) = entry(text).unwrap_err();
            assert!(message.contains(what), "{text}: {message}");
        }
    }
}
