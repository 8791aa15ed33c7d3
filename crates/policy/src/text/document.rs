//! A text with its overrides and parameters applied.

use std::ops::Range;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use toml::de::{DeTable, DeValue};

use super::de::Reader;
use super::diagnostic::{Diagnostic, Diagnostics, Source};
use super::expression::evaluate;
use super::named::suggestion;
use super::tree::{Item, Key, Value, from_table, from_value};

/// A value for a key that takes the place of the text's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Override {
    /// The key, its parts joined by dots: `workloads.web.transfers.share`.
    pub key: String,
    /// The value as TOML; what is no TOML value is taken as a text, so `60 s` needs no quotes.
    pub value: String,
    /// Who says so, as it appears in messages: `--set` or `[sweep]`.
    pub origin: &'static str,
}

/// A text, read as a tree, with the places of its items and the mistakes found so far.
#[derive(Debug, Clone)]
pub struct Document {
    /// The text itself, then those of the overrides; places count through all of them.
    sources: Vec<(usize, Arc<Source>)>,
    root: Item,
    mistakes: Vec<Diagnostic>,
}

impl Document {
    /// Reads `source` and applies `overrides`, whose keys are relative to the text's root, then
    /// fills in the parameters.
    ///
    /// # Errors
    /// When a text is not TOML, an override has no place, or a parameter is not there.
    pub fn parse(source: Arc<Source>, overrides: &[Override]) -> Result<Document, Diagnostics> {
        let mut document = Document {
            sources: vec![(0, source.clone())],
            root: Item { value: Value::Table(Vec::new()), span: 0..0 },
            mistakes: Vec::new(),
        };
        match DeTable::parse(&source.text) {
            Ok(table) => {
                let span = table.span();
                match from_table(table.into_inner(), 0) {
                    Ok(value) => document.root = Item { value, span },
                    Err(span) => document.add(span, UNREADABLE.to_owned(), None, None),
                }
            }
            Err(error) => {
                let span = error.span().unwrap_or(0..0);
                document.add(span, format!("this is not TOML: {}", error.message()), None, None);
            }
        }
        document.checked()?;
        for change in overrides {
            document.apply(change);
        }
        document.checked()?;
        document.fill_in();
        document.checked()?;
        Ok(document)
    }

    /// The tree as a value of type `T`.
    ///
    /// # Errors
    /// When it is none: the first mistake.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, Diagnostics> {
        T::deserialize(Reader(&self.root)).map_err(|fault| {
            let mut copy = self.clone();
            copy.add(fault.span.unwrap_or(0..0), fault.message, None, fault.help);
            Diagnostics(copy.mistakes)
        })
    }

    /// The root of the tree.
    pub fn root(&self) -> &Item {
        &self.root
    }

    /// The root of the tree, to bring an abbreviated form into the full one before it is read.
    pub fn root_mut(&mut self) -> &mut Item {
        &mut self.root
    }

    /// Notes a mistake in the value of the key `path`, or, where that is not written, at the
    /// nearest table around it.
    pub fn mistake(&mut self, path: &str, message: impl Into<String>, help: impl Into<String>) {
        let span = self.place(path, false);
        self.note(span, message.into(), help.into());
    }

    /// Notes a mistake in the key `path` itself.
    pub fn mistake_in_key(
        &mut self,
        path: &str,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        let span = self.place(path, true);
        self.note(span, message.into(), help.into());
    }

    /// Notes a mistake in a name, with the names that are allowed.
    pub fn unknown(&mut self, path: &str, kind: &str, name: &str, allowed: &str, names: &[&str]) {
        let help = suggestion(name, allowed, names);
        self.mistake(path, format!("there is no {kind} `{name}`"), help);
    }

    /// Whether no mistake was noted.
    ///
    /// # Errors
    /// The mistakes.
    pub fn checked(&self) -> Result<(), Diagnostics> {
        if self.mistakes.is_empty() { Ok(()) } else { Err(Diagnostics(self.mistakes.clone())) }
    }

    fn note(&mut self, span: Range<usize>, message: String, help: String) {
        self.add(span, message, None, (!help.is_empty()).then_some(help));
    }

    fn add(
        &mut self,
        span: Range<usize>,
        message: String,
        label: Option<String>,
        help: Option<String>,
    ) {
        let after = |(start, _): &&(usize, Arc<Source>)| *start <= span.start;
        let (start, source) = self.sources.iter().rfind(after).expect("the text starts at 0");
        let clip = |at: usize| (at - start).min(source.text.len());
        self.mistakes.push(Diagnostic {
            source: source.clone(),
            span: clip(span.start)..clip(span.end),
            message,
            label,
            help,
        });
    }

    /// The place of the value (or the key) that `path` names, or of what is nearest around it.
    fn place(&self, path: &str, of_key: bool) -> Range<usize> {
        let mut item = &self.root;
        let mut span = 0..0;
        for part in path.split('.') {
            match &item.value {
                Value::List(list) => {
                    let Some(index) = Item::position(list, part) else { break };
                    item = &list[index];
                    span = item.span.clone();
                }
                _ => {
                    let Some((key, next)) = item.entry(part) else { break };
                    item = next;
                    // The place of a table is its header, which may stand far from its entries.
                    let is_table = matches!(item.value, Value::Table(_));
                    span = if of_key || is_table { key.span.clone() } else { item.span.clone() };
                }
            }
        }
        span
    }
}

/// Overrides.
impl Document {
    fn apply(&mut self, change: &Override) {
        let (last_start, last) = self.sources.last().expect("the text itself");
        let offset = last_start + last.text.len() + 1;
        let text = format!("{}={}", change.key, change.value);
        let at_value = offset + change.key.len() + 1;
        let name = change.origin.to_owned();
        self.sources.push((offset, Arc::new(Source { name, text })));
        let span = at_value..at_value + change.value.len();
        let item = match DeValue::parse(&change.value) {
            Ok(value) => from_value(value.span(), value.into_inner(), at_value),
            Err(_) => Ok(Item { value: Value::Text(change.value.clone()), span: span.clone() }),
        };
        let key = offset..offset + change.key.len();
        let outcome = item
            .map_err(|span| (span, UNREADABLE.to_owned(), None))
            .and_then(|item| put(&mut self.root, &change.key, key, item));
        if let Err((span, message, help)) = outcome {
            self.add(span, message, None, help);
        }
    }
}

type Misplaced = (Range<usize>, String, Option<String>);

/// Puts `new` at `path`, making the tables that lead to it. `place` is where `path` is written.
fn put(root: &mut Item, path: &str, place: Range<usize>, new: Item) -> Result<(), Misplaced> {
    let mut item = root;
    let mut start = place.start;
    for part in path.split('.') {
        let span = start..start + part.len();
        start = span.end + 1;
        item = match &mut item.value {
            Value::Table(entries) => {
                let found = entries.iter().position(|(key, _)| key.name == part);
                let index = found.unwrap_or_else(|| {
                    let empty = Item { value: Value::Table(Vec::new()), span: span.clone() };
                    entries.push((Key { name: part.to_owned(), span: span.clone() }, empty));
                    entries.len() - 1
                });
                &mut entries[index].1
            }
            Value::List(list) => {
                let Some(index) = Item::position(list, part) else {
                    let help = match list.len() {
                        0 => "the list is empty".to_owned(),
                        n => format!("allowed here: 0 to {}, or the `name` of an entry", n - 1),
                    };
                    return Err((span, format!("the list has no entry `{part}`"), Some(help)));
                };
                &mut list[index]
            }
            _ => {
                let message = format!("`{part}` has no place: the key before it is no table");
                return Err((span, message, None));
            }
        };
    }
    *item = new;
    Ok(())
}

/// Parameters.
impl Document {
    fn fill_in(&mut self) {
        let parameters = match self.root.get("parameters").map(|item| &item.value) {
            Some(Value::Table(entries)) => entries.clone(),
            _ => Vec::new(),
        };
        let mut root =
            std::mem::replace(&mut self.root, Item { value: Value::Bool(true), span: 0..0 });
        self.fill(&mut root, &Parameters(&parameters));
        self.root = root;
    }

    fn fill(&mut self, item: &mut Item, parameters: &Parameters<'_>) {
        match &mut item.value {
            Value::Text(text) => match parameters.resolve(text, 0) {
                Ok(Some(value)) => item.value = value,
                Ok(None) => {}
                Err((message, help)) => self.add(item.span.clone(), message, None, help),
            },
            Value::List(items) => items.iter_mut().for_each(|item| self.fill(item, parameters)),
            Value::Table(entries) => {
                entries.iter_mut().for_each(|(_, item)| self.fill(item, parameters));
            }
            _ => {}
        }
    }
}

struct Parameters<'a>(&'a [(Key, Item)]);

impl Parameters<'_> {
    /// What `text` stands for, or `None` when it stands for itself. `depth` counts the parameters
    /// that led here: more than there are means a circle.
    fn resolve(&self, text: &str, depth: usize) -> Result<Option<Value>, (String, Option<String>)> {
        if let Some(name) = text.strip_prefix('$') {
            return self.value(name, depth).map(Some);
        }
        let Some(expression) = text.strip_prefix('=') else { return Ok(None) };
        let mut failure = None;
        let mut number = |name: &str| match self.value(name, depth) {
            Ok(Value::Integer(number)) => Ok(number as f64),
            Ok(Value::Float(number)) => Ok(number),
            Ok(_) => Err(format!("the parameter `{name}` is no number")),
            Err((message, help)) => {
                failure = help;
                Err(message)
            }
        };
        let outcome = evaluate(expression, &mut number).map_err(|message| (message, failure))?;
        Ok(Some(match outcome {
            outcome if !outcome.unit.is_empty() => {
                Value::Text(format!("{} {}", outcome.number, outcome.unit))
            }
            outcome if outcome.number.fract() == 0.0 && outcome.number.abs() < 1e15 => {
                Value::Integer(outcome.number as i64)
            }
            outcome => Value::Float(outcome.number),
        }))
    }

    fn value(&self, name: &str, depth: usize) -> Result<Value, (String, Option<String>)> {
        if depth > self.0.len() {
            return Err((format!("the parameter `{name}` leads back to itself"), None));
        }
        let Some((_, item)) = self.0.iter().find(|(key, _)| key.name == name) else {
            let names: Vec<_> = self.0.iter().map(|(key, _)| key.name.as_str()).collect();
            let help = suggestion(name, "parameters of this file", &names);
            return Err((format!("there is no parameter `{name}`"), Some(help)));
        };
        match &item.value {
            Value::Text(text) => {
                Ok(self.resolve(text, depth + 1)?.unwrap_or_else(|| item.value.clone()))
            }
            value => Ok(value.clone()),
        }
    }
}

const UNREADABLE: &str = "dates and numbers beyond 64 bits have no meaning here";
