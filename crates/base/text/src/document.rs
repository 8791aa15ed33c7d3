//! A document: a text with its overrides and parameters applied.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use shortflow_files::control_char;
use toml::de::{DeTable, DeValue};

use super::control_chars::{self, all_control_chars};
use super::de::Reader;
use super::diagnostic::{Diagnostic, Diagnostics, Severity, Source, Spot};
use super::faults::{MAX_MISTAKES, all_faults};
use super::named::suggestion;
use super::parameters::{Parameters, references};
use super::tree::{Item, Key, Value, from_table, from_value};

/// A value that replaces the text's own value of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Override {
    /// The key, its parts joined by dots: `workloads.web.transfers.share`.
    pub key: String,
    /// The value as TOML. Anything else counts as a string, so `60 s` needs no quotes.
    pub value: String,
    /// The prefix of the key as the user typed it: `policy.` for a key of the policy.
    pub prefix: &'static str,
    /// The origin, as messages show it: `--set`.
    pub origin: String,
    /// Its place, if it comes from a table.
    pub cell: Option<OverrideCell>,
}

/// The place of an override in a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OverrideCell {
    /// The table.
    pub source: Arc<Source>,
    /// The position of the key.
    pub key: Range<usize>,
    /// The position of the value.
    pub value: Range<usize>,
}

/// A text as a tree, with the positions of its items and the errors found so far.
#[derive(Debug, Clone)]
pub struct Document {
    /// The text itself, then the texts of the overrides. Positions count through all of them.
    sources: Vec<(usize, Arc<Source>)>,
    root: Item,
    /// Positions of parameters and expressions, with their values.
    resolved: Vec<(Range<usize>, String)>,
    mistakes: Vec<Diagnostic>,
    warnings: Vec<Diagnostic>,
}

impl Document {
    /// Reads `source` and applies `overrides`, whose keys are relative to the text's root, then
    /// fills in the parameters.
    ///
    /// # Errors
    /// If a text is not TOML, an override fits nowhere, or a parameter does not exist.
    pub fn parse(source: Arc<Source>, overrides: &[Override]) -> Result<Document, Diagnostics> {
        let mut document = Document {
            sources: vec![(0, source.clone())],
            root: Item { value: Value::Table(Vec::new()), span: 0..0 },
            resolved: Vec::new(),
            mistakes: Vec::new(),
            warnings: Vec::new(),
        };
        match DeTable::parse(&source.text) {
            Ok(table) => match from_table(table.into_inner(), 0) {
                Ok(value) => document.root.value = value,
                Err(span) => document.add(span, UNREADABLE.to_owned(), None),
            },
            Err(error) => {
                // A string or table that is not closed swallows what follows and causes further errors. The
                // first one is the cause.
                let (_, errors) = DeTable::parse_recoverable(&source.text);
                let start = |error: &toml::de::Error| error.span().map_or(0, |span| span.start);
                let error = errors.into_iter().min_by_key(start).unwrap_or(error);
                let span = error.span().unwrap_or(0..0);
                document.add(span, format!("invalid TOML: {}", error.message()), None);
            }
        }
        document.checked()?;
        // An override may replace the only value that refers to a parameter.
        let mut used = BTreeSet::new();
        references(&document.root, &mut used);
        for change in overrides {
            document.apply(change);
        }
        for (span, found) in all_control_chars(&document.root) {
            document.note(
                span,
                control_chars::message("a string", found),
                control_chars::HELP.to_owned(),
            );
        }
        document.checked()?;
        references(&document.root, &mut used);
        document.fill_in();
        document.checked()?;
        document.unused_parameters(&used);
        Ok(document)
    }

    /// The tree as a value of type `T`.
    ///
    /// # Errors
    /// If it does not fit `T`: all errors, in the order of their positions.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, Diagnostics> {
        let faults = match T::deserialize(Reader(&self.root)) {
            Ok(read) => return Ok(read),
            Err(fault) => all_faults::<T>(&self.root, fault),
        };
        let mut copy = self.clone();
        for fault in faults {
            let span = fault.span.clone().unwrap_or(0..0);
            match fault.missing.and_then(|key| self.made_by_override(&span, key)) {
                Some((span, message, help)) => copy.add(span, message, Some(help)),
                None => copy.add(span, fault.message, fault.help),
            }
        }
        Err(Diagnostics(copy.mistakes))
    }

    /// The root of the tree.
    pub fn root(&self) -> &Item {
        &self.root
    }

    /// The names in the table `path`, or in the root if `path` is empty.
    pub fn names_in(&self, path: &str) -> Vec<String> {
        let table = if path.is_empty() { Some(&self.root) } else { self.root.get(path) };
        match table.map(|item| &item.value) {
            Some(Value::Table(entries)) => {
                entries.iter().map(|(key, _)| key.name.clone()).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Whether `path` is a key of the text, or may be added to a table of the text.
    pub fn may_have(&self, path: &str) -> bool {
        let (table, _) = path.rsplit_once('.').unwrap_or((path, ""));
        let mut item = &self.root;
        table.split('.').all(|part| {
            let next = match &item.value {
                Value::List(list) => Item::position(list, part).map(|index| &list[index]),
                _ => item.get(part),
            };
            next.is_some_and(|next| {
                item = next;
                true
            })
        })
    }

    /// The root of the tree, to expand an abbreviated form before it is read.
    pub fn root_mut(&mut self) -> &mut Item {
        &mut self.root
    }

    /// Appends `table`, which was read from `source`, to the list `list` at the root. Creates the list if the
    /// text has none.
    pub fn append(&mut self, list: &str, source: Source, table: Item) {
        let offset = self.end();
        self.sources.push((offset, Arc::new(source)));
        let table = table.shifted(offset);
        let Value::Table(entries) = &mut self.root.value else { return };
        match entries.iter_mut().find(|(key, _)| key.name == list) {
            Some((_, Item { value: Value::List(items), .. })) => items.push(table),
            // If it is not a list, deserializing it reports the error.
            Some(_) => {}
            None => {
                let span = table.span.clone();
                let key = Key { name: list.to_owned(), span: span.clone() };
                entries.push((key, Item { value: Value::List(vec![table]), span }));
            }
        }
    }

    /// Where the next source starts.
    fn end(&self) -> usize {
        let (start, last) = self.sources.last().expect("the text itself");
        start + last.text.len() + 1
    }

    /// Adds an error at the value of the key `path`, or at the nearest enclosing table if the key is not
    /// written.
    pub fn mistake(&mut self, path: &str, message: impl Into<String>, help: impl Into<String>) {
        let span = self.place(path, false);
        self.note(span, message.into(), help.into());
    }

    /// Adds an error at the key `path` itself.
    pub fn mistake_in_key(
        &mut self,
        path: &str,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        let span = self.place(path, true);
        self.note(span, message.into(), help.into());
    }

    /// Adds a warning at the value of the key `path`, or at the nearest enclosing table.
    pub fn warning(&mut self, path: &str, message: impl Into<String>, help: impl Into<String>) {
        let span = self.place(path, false);
        self.warn(span, message.into(), help.into());
    }

    /// As [`warning`](Self::warning), at the key `path` itself.
    pub fn warning_in_key(
        &mut self,
        path: &str,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        let span = self.place(path, true);
        self.warn(span, message.into(), help.into());
    }

    /// The position of the value of the key `path`, or of the nearest enclosing table.
    pub fn spot(&self, path: &str) -> Spot {
        let Diagnostic { source, span, .. } =
            self.found(self.place(path, false), String::new(), None);
        Spot { source, span }
    }

    /// The warnings so far.
    pub fn warnings(&self) -> Diagnostics {
        Diagnostics(self.warnings.clone())
    }

    /// The name of what the text describes: `written`, the value of the key `name`, or else `stem`, the
    /// file's name. It appears in results and in names of folders.
    pub fn title(&mut self, written: Option<String>, stem: String) -> String {
        let (of, help) = match written {
            Some(_) => ("a name", "shorten it, or move details into `description`"),
            None => ("the name of the file", "add a `name` to the file"),
        };
        let title = written.unwrap_or(stem);
        let length = title.chars().count();
        if length > MAX_NAME {
            let message = format!("{of} has {length} characters; the maximum is {MAX_NAME}");
            self.mistake("name", message, help);
        }
        if let Some(found) = control_char(&title) {
            self.mistake("name", control_chars::message(of, found), help);
        }
        title
    }

    /// Adds an error about an unknown name, with the names that are allowed.
    pub fn unknown(&mut self, path: &str, kind: &str, name: &str, allowed: &str, names: &[&str]) {
        let help = suggestion(name, allowed, names);
        self.mistake(path, format!("unknown {kind} `{name}`"), help);
    }

    /// Whether there is no error so far.
    pub fn is_sound(&self) -> bool {
        self.mistakes.is_empty()
    }

    /// Returns `Ok` if there is no error.
    ///
    /// # Errors
    /// The errors, then the warnings.
    pub fn checked(&self) -> Result<(), Diagnostics> {
        if self.is_sound() {
            return Ok(());
        }
        Err(Diagnostics([&self.mistakes[..], &self.warnings[..]].concat()))
    }

    fn warn(&mut self, span: Range<usize>, message: String, help: String) {
        let found = self.found(span, message, (!help.is_empty()).then_some(help));
        self.warnings.push(Diagnostic { severity: Severity::Warning, ..found });
    }

    fn note(&mut self, span: Range<usize>, message: String, help: String) {
        self.add(span, message, (!help.is_empty()).then_some(help));
    }

    fn add(&mut self, span: Range<usize>, message: String, help: Option<String>) {
        let found = self.found(span, message, help);
        self.mistakes.push(found);
    }

    fn found(&self, span: Range<usize>, message: String, help: Option<String>) -> Diagnostic {
        let (start, source) = self.source_of(span.start);
        let clip = |at: usize| (at - start).min(source.text.len());
        let label = self.resolved.iter().find(|(place, _)| *place == span);
        Diagnostic {
            severity: Severity::Error,
            source: source.clone(),
            span: clip(span.start)..clip(span.end),
            message,
            label: label.map(|(_, text)| text.clone()),
            help,
        }
    }

    /// The source that contains the position `at`, and its start.
    fn source_of(&self, at: usize) -> (usize, &Arc<Source>) {
        let found = self.sources.iter().rfind(|(start, _)| *start <= at);
        let (start, source) = found.expect("the text starts at 0");
        (*start, source)
    }

    /// The position of the value (or the key) at `path`, or of the nearest enclosing item.
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
                    // The position of a table is its header, which may be far from its entries.
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
        let (at_key, at_value) = self.add_source(change);
        let span = at_value..at_value + change.value.len();
        let item = match DeValue::parse(&change.value) {
            Ok(value) => from_value(value.span(), value.into_inner(), at_value),
            Err(_) => Ok(Item { value: Value::Text(change.value.clone()), span: span.clone() }),
        };
        let key = at_key..at_key + change.key.len();
        let outcome = self
            .known_parameter(&change.key)
            .map_err(|(message, help)| (key.clone(), message, help))
            .and_then(|()| item.map_err(|span| (span, UNREADABLE.to_owned(), None)))
            .and_then(|item| put(&mut self.root, &change.key, key, item));
        if let Err((span, message, help)) = outcome {
            self.add(span, message, help);
        }
    }

    /// Adds the text of an override to the sources. Where its key and its value begin.
    fn add_source(&mut self, change: &Override) -> (usize, usize) {
        let offset = self.end();
        if let Some(OverrideCell { source, key, value }) = &change.cell {
            self.sources.push((offset, source.clone()));
            return (offset + key.start + change.prefix.len(), offset + value.start);
        }
        let text = format!("{}{}={}", change.prefix, change.key, change.value);
        let name = change.origin.clone();
        self.sources.push((offset, Arc::new(Source { name, text })));
        let at_key = offset + change.prefix.len();
        (at_key, at_key + change.key.len() + 1)
    }

    /// If the table at `span` exists only because an override created it, and lacks the required `key`: the
    /// part of the override that the text does not have, which is probably a typing error.
    fn made_by_override(
        &self,
        span: &Range<usize>,
        key: &str,
    ) -> Option<(Range<usize>, String, String)> {
        let (offset, source) = self.source_of(span.start);
        if offset == 0 {
            return None;
        }
        let path = source.text.split_once('=')?.0;
        let mut table = &self.root;
        let mut before: Vec<&str> = Vec::new();
        for part in path.split('.') {
            let (found, next) = table.entry(part)?;
            if found.span.start >= offset {
                let Value::Table(entries) = &table.value else { return None };
                let others = entries.iter().filter(|(other, _)| other.span.start < offset);
                let names: Vec<&str> = others.map(|(other, _)| other.name.as_str()).collect();
                let of = before.join(".");
                // Of a table that the override spells out the key is missing; another may be a typing error.
                let message = match path.ends_with(&format!("{of}.{part}")) {
                    true => format!("the key `{key}` is missing in `{path}`, which is new"),
                    false => format!("unknown entry `{part}` in `{of}`"),
                };
                let help = suggestion(part, &format!("entries of `{of}`"), &names);
                let help = format!("{help}; a new entry also requires `{key}`");
                return Some((found.span.clone(), message, help));
            }
            before.push(part);
            table = next;
        }
        None
    }

    /// Refuses to set a parameter that the text does not have: it would have no effect.
    fn known_parameter(&self, key: &str) -> Result<(), (String, Option<String>)> {
        let parameters = self.names_in("parameters");
        let names: Vec<&str> = parameters.iter().map(String::as_str).collect();
        match key.strip_prefix("parameters.") {
            Some(name) if !names.contains(&name) => Err((
                format!("unknown parameter `{name}`"),
                Some(match &names[..] {
                    [] => "the file has no [parameters]".to_owned(),
                    names => suggestion(name, "parameters of the file", names),
                }),
            )),
            None if names.contains(&key) && self.root.get(key).is_none() => Err((
                format!("unknown key `{key}`"),
                Some(format!("did you mean `parameters.{key}`?")),
            )),
            _ => Ok(()),
        }
    }
}

type Misplaced = (Range<usize>, String, Option<String>);

/// Sets the item at `path` to `new`, and creates the tables that lead to it. `place` is the position of
/// `path`.
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
                        1 => "the list has one entry: write 0, or its `name`".to_owned(),
                        n => format!("write 0 to {}, or {}", n - 1, names_of(list)),
                    };
                    return Err((span, format!("unknown entry `{part}` in the list"), Some(help)));
                };
                &mut list[index]
            }
            _ => {
                let message = format!("`{part}` cannot be set: the key before it is not a table");
                return Err((span, message, None));
            }
        };
    }
    *item = new;
    Ok(())
}

/// The names by which the entries of a list can be addressed.
fn names_of(list: &[Item]) -> String {
    let name = |item: &Item| match item.get("name").map(|name| &name.value) {
        Some(Value::Text(name)) => Some(format!("`{name}`")),
        _ => None,
    };
    let names: Vec<String> = list.iter().filter_map(name).take(MAX_NAMES).collect();
    match &names[..] {
        [] => "the `name` of an entry; none of these has a name".to_owned(),
        names => format!("one of the names {}", names.join(", ")),
    }
}

/// The most names of entries in a message.
const MAX_NAMES: usize = 12;

/// Parameters.
impl Document {
    fn fill_in(&mut self) {
        let mut parameters = Parameters::default();
        if let Some(Value::Table(entries)) = self.root.get("parameters").map(|item| &item.value) {
            let (resolved, circular) = Parameters::resolve_all(entries);
            parameters = resolved;
            for (span, message, help) in circular {
                self.add(span, message, help);
            }
        }
        if self.is_sound() {
            let nothing = Item { value: Value::Bool(true), span: 0..0 };
            let mut root = std::mem::replace(&mut self.root, nothing);
            self.fill(&mut root, &parameters);
            self.root = root;
        }
    }

    /// Warns of the parameters that are not `used`.
    fn unused_parameters(&mut self, used: &BTreeSet<String>) {
        let Some(Value::Table(entries)) = self.root.get("parameters").map(|item| &item.value)
        else {
            return;
        };
        let unused = entries.iter().map(|(key, _)| key).filter(|key| !used.contains(&key.name));
        for Key { name, span } in unused.take(MAX_MISTAKES).cloned().collect::<Vec<_>>() {
            let help = format!(
                "refer to it with \"${name}\" or in an expression such as \"= 2 * {name}\", or remove it; \
                 it may stay where files that are compared share it"
            );
            self.warn(span, format!("no value uses the parameter `{name}`"), help);
        }
    }

    fn fill(&mut self, item: &mut Item, parameters: &Parameters) {
        match &mut item.value {
            Value::Text(text) => match parameters.resolve(text) {
                Ok(Some(value)) => {
                    let label = self.explain(text, &value, parameters);
                    self.resolved.push((item.span.clone(), label));
                    item.value = value;
                }
                Ok(None) => {}
                // The help compares all names, so its number is limited.
                Err(why) if self.mistakes.len() < MAX_MISTAKES => {
                    let help = parameters.help(&why);
                    self.add(item.span.clone(), why.message, help);
                }
                Err(_) => {}
            },
            Value::List(items) => items.iter_mut().for_each(|item| self.fill(item, parameters)),
            Value::Table(entries) => {
                entries.iter_mut().for_each(|(_, item)| self.fill(item, parameters));
            }
            _ => {}
        }
    }

    /// The value of `text`, and who set the parameter, if not the text itself.
    fn explain(&self, text: &str, value: &Value, parameters: &Parameters) -> String {
        let set = text.strip_prefix('$').and_then(|name| parameters.get(name));
        let (start, source) = self.source_of(set.map_or(0, |item| item.span.start));
        match start {
            0 => format!("this is {value}"),
            _ => format!("this is {value}, by {} {}", source.name, source.text),
        }
    }
}

/// Whether a policy, a scenario or a fleet may have this name: [`Document::title`] reports no error for it.
pub fn is_title(name: &str) -> bool {
    name.chars().count() <= MAX_NAME && control_char(name).is_none()
}

/// The longest name of a policy or a scenario, in characters. Longer names fit into no table.
const MAX_NAME: usize = 200;

const UNREADABLE: &str = "dates, and numbers above 9223372036854775807, are not allowed here";
