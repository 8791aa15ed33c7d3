//! The keys of a file format, from its JSON Schema, and the keys that a text sets.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use schemars::{JsonSchema, SchemaGenerator};
use serde_json::Value as Json;

use super::document::Document;
use super::tree::{Item, Value};

/// The keys of a file format.
#[derive(Debug)]
pub struct FormatKeys {
    root: Json,
    name: &'static str,
    tables: &'static [(&'static str, &'static str)],
}

/// A key of a format.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct FormatKey {
    /// Its table: `queue.red`, `match`.
    pub scheme: String,
    /// Its name. A key of an inner table has the prefix of that table: `levels[].min_threshold`.
    pub key: String,
}

/// A key that a text sets to another value than its default.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenKey {
    /// The key.
    pub of: FormatKey,
    /// Its path in the text: `roles.core.queue.red.weight`.
    pub path: String,
}

/// The keys that a text sets to another value than their default. They are computed on first use: the schema
/// of a format takes milliseconds, which is long for a short run.
#[derive(Debug, Clone)]
pub struct WrittenKeys {
    root: Item,
    format: fn() -> &'static FormatKeys,
    found: OnceLock<Vec<WrittenKey>>,
}

impl WrittenKeys {
    /// The keys of `document`. `format` has the keys of its format.
    pub fn new(document: &Document, format: fn() -> &'static FormatKeys) -> WrittenKeys {
        WrittenKeys { root: document.root().clone(), format, found: OnceLock::new() }
    }

    /// All of them, in the order of the text.
    pub fn all(&self) -> &[WrittenKey] {
        self.found.get_or_init(|| (self.format)().written(&self.root))
    }

    /// Whether any table of the text has a key with this name. Needs no schema.
    pub fn mentions(&self, name: &str) -> bool {
        fn mentions(item: &Item, name: &str) -> bool {
            match &item.value {
                Value::Table(entries) => {
                    entries.iter().any(|(key, item)| key.name == name || mentions(item, name))
                }
                Value::List(items) => items.iter().any(|item| mentions(item, name)),
                _ => false,
            }
        }
        mentions(&self.root, name)
    }
}

impl FormatKeys {
    /// The keys of `T`, whose outermost table is called `name`. `tables` has the names of the schema's
    /// definitions that are separate tables. A name that ends in a dot is that of a choice, whose options are
    /// tables: `("QueueKeys", "queue.")` gives `queue.red`. All other tables are parts of the enclosing
    /// table.
    pub fn new<T: JsonSchema>(
        name: &'static str,
        tables: &'static [(&'static str, &'static str)],
    ) -> FormatKeys {
        let root = SchemaGenerator::default().into_root_schema_for::<T>().to_value();
        FormatKeys { root, name, tables }
    }

    /// All keys, in the order of tables and names.
    pub fn all(&self) -> Vec<FormatKey> {
        let mut lister = Lister { keys: self, seen: BTreeSet::new(), found: BTreeSet::new() };
        lister.list(&self.root, self.name, "");
        lister.found.into_iter().collect()
    }

    /// The keys that a text sets to another value than their default, in the order of the text.
    fn written(&self, root: &Item) -> Vec<WrittenKey> {
        let mut found = Vec::new();
        let at = At { scheme: self.name.to_owned(), prefix: String::new(), path: String::new() };
        self.read(root, &self.root, &at, &mut found);
        found
    }

    fn read(&self, item: &Item, schema: &Json, at: &At, found: &mut Vec<WrittenKey>) {
        match &item.value {
            Value::Table(entries) => {
                for (key, item) in entries {
                    self.read_entry(&key.name, item, schema, at, found);
                }
            }
            Value::List(items) => {
                let mut forms = self.forms(schema, at).into_iter();
                let listed = forms.find_map(|(form, at)| Some((form.get("items")?, at)));
                let Some((form, inner)) = listed else { return };
                for (index, item) in items.iter().enumerate() {
                    self.read(item, form, &inner.item(index), found);
                }
            }
            _ => {}
        }
    }

    fn read_entry(
        &self,
        name: &str,
        item: &Item,
        schema: &Json,
        at: &At,
        found: &mut Vec<WrittenKey>,
    ) {
        let forms = self.forms(schema, at);
        let named =
            forms.iter().find_map(|(form, at)| Some((form.get("properties")?.get(name)?, at)));
        if let Some((property, at)) = named {
            let Some(inner) = at.option(name) else {
                let key = FormatKey { scheme: at.scheme.clone(), key: at.prefix.clone() + name };
                if property.get("default") != Some(&json(item)) {
                    found.push(WrittenKey { of: key, path: at.below(name) });
                }
                return self.read(item, property, &at.entry(name), found);
            };
            return self.read(item, property, &inner, found);
        }
        let any = forms.iter().find_map(|(form, at)| {
            form.get("additionalProperties").filter(|form| form.is_object()).map(|form| (form, at))
        });
        if let Some((form, at)) = any {
            self.read(item, form, &At { path: at.below(name), ..at.any() }, found);
        }
    }

    /// The forms that a value of `schema` can have, each with its table.
    fn forms<'s>(&'s self, schema: &'s Json, at: &At) -> Vec<(&'s Json, At)> {
        let definition = schema.get("$ref").and_then(Json::as_str);
        if let Some(name) = definition.and_then(|path| path.strip_prefix("#/$defs/")) {
            let Some(found) = self.root.get("$defs").and_then(|all| all.get(name)) else {
                return Vec::new();
            };
            let table = self.tables.iter().find(|(definition, _)| *definition == name);
            let at = match table {
                Some((_, table)) => at.table(table),
                None => at.clone(),
            };
            return self.forms(found, &at);
        }
        let each = ["anyOf", "oneOf"].into_iter().filter_map(|key| schema.get(key)?.as_array());
        let inner = each.flatten().flat_map(|form| self.forms(form, at));
        std::iter::once((schema, at.clone())).chain(inner).collect()
    }
}

/// A position in a format, and in a text.
#[derive(Debug, Clone)]
struct At {
    scheme: String,
    prefix: String,
    path: String,
}

impl At {
    fn table(&self, name: &str) -> At {
        At { scheme: name.to_owned(), prefix: String::new(), path: self.path.clone() }
    }

    fn below(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) }
    }

    fn entry(&self, name: &str) -> At {
        let (scheme, path) = (self.scheme.clone(), self.below(name));
        At { scheme, prefix: format!("{}{name}.", self.prefix), path }
    }

    /// The table of the option `name` of a choice; `None` if this is not a choice.
    fn option(&self, name: &str) -> Option<At> {
        let scheme = self.scheme.strip_suffix('.').map(|choice| format!("{choice}.{name}"))?;
        Some(At { scheme, prefix: String::new(), path: self.below(name) })
    }

    fn any(&self) -> At {
        At { prefix: format!("{}*.", self.prefix), ..self.clone() }
    }

    fn item(&self, index: usize) -> At {
        let prefix = match self.prefix.strip_suffix('.') {
            Some(list) => format!("{list}[]."),
            None => String::new(),
        };
        At { scheme: self.scheme.clone(), prefix, path: self.below(&index.to_string()) }
    }
}

/// Lists the keys of a schema.
struct Lister<'k> {
    keys: &'k FormatKeys,
    /// The tables whose keys are listed.
    seen: BTreeSet<String>,
    found: BTreeSet<FormatKey>,
}

impl Lister<'_> {
    fn list(&mut self, schema: &Json, scheme: &str, prefix: &str) {
        let at = At { scheme: scheme.to_owned(), prefix: prefix.to_owned(), path: String::new() };
        for (form, at) in self.keys.forms(schema, &at) {
            // A separate table is listed once, even if it occurs in several places.
            let is_own = at.scheme != scheme || at.prefix != prefix;
            if is_own && !at.scheme.ends_with('.') && !self.enter(form, &at.scheme) {
                continue;
            }
            self.list_form(form, &at);
        }
    }

    fn list_form(&mut self, form: &Json, at: &At) {
        for (name, property) in
            form.get("properties").and_then(Json::as_object).into_iter().flatten()
        {
            match at.option(name) {
                Some(option) if self.seen.insert(option.scheme.clone()) => {
                    self.list(property, &option.scheme, "");
                }
                Some(_) => {}
                None => {
                    let key = at.prefix.clone() + name;
                    self.found.insert(FormatKey { scheme: at.scheme.clone(), key });
                    self.list(property, &at.scheme, &at.entry(name).prefix);
                }
            }
        }
        if let Some(items) = form.get("items") {
            self.list(items, &at.scheme, &at.item(0).prefix);
        }
        if let Some(any) = form.get("additionalProperties").filter(|form| form.is_object()) {
            self.list(any, &at.scheme, &at.any().prefix);
        }
    }

    /// Marks the keys of this form of the table as listed. Returns whether they were new.
    fn enter(&mut self, form: &Json, table: &str) -> bool {
        let has_keys = ["properties", "items", "additionalProperties"];
        !has_keys.iter().any(|key| form.get(key).is_some())
            || self.seen.insert(format!("{table}: {form}"))
    }
}

fn json(item: &Item) -> Json {
    match &item.value {
        Value::Text(text) => Json::from(text.as_str()),
        Value::Integer(number) => Json::from(*number),
        Value::Float(number) => Json::from(*number),
        Value::Bool(value) => Json::from(*value),
        Value::List(items) => items.iter().map(json).collect(),
        Value::Table(entries) => {
            entries.iter().map(|(key, item)| (key.name.clone(), json(item))).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, LazyLock};

    use serde::Deserialize;

    use super::*;
    use crate::{Named, Source};

    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its schema is looked at")]
    struct File {
        roles: Named<Role>,
    }

    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its schema is looked at")]
    struct Role {
        queue: Queue,
        #[serde(default)]
        share: f64,
    }

    #[derive(Deserialize, JsonSchema)]
    #[serde(rename_all = "kebab-case")]
    #[expect(dead_code, reason = "only its schema is looked at")]
    enum Queue {
        Fifo(Fifo),
        Bands(Bands),
    }

    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its schema is looked at")]
    struct Fifo {
        limit: String,
    }

    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its schema is looked at")]
    struct Bands {
        bands: Vec<Band>,
    }

    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its schema is looked at")]
    struct Band {
        weight: Option<u32>,
        queue: Queue,
    }

    const TABLES: &[(&str, &str)] = &[("Role", "role"), ("Queue", "queue.")];

    #[test]
    fn keys_have_the_table_that_they_stand_in_and_each_table_is_listed_once() {
        let all = FormatKeys::new::<File>("file", TABLES).all();
        let names: Vec<_> = all.iter().map(|key| format!("{} {}", key.scheme, key.key)).collect();
        let expected = [
            "file roles",
            "queue.bands bands",
            "queue.bands bands[].queue",
            "queue.bands bands[].weight",
            "queue.fifo limit",
            "role queue",
            "role share",
        ];
        assert_eq!(names, expected);
    }

    #[test]
    fn what_is_written_has_its_path_and_a_default_is_not_counted() {
        let text = r#"
            [roles.core]
            share = 0.0
            [[roles.core.queue.bands.bands]]
            weight = 2
            queue.fifo = { limit = "9 pkt" }
        "#;
        let source = Source { name: "x".to_owned(), text: text.to_owned() };
        let document = Document::parse(Arc::new(source), &[]).unwrap();
        let written = WrittenKeys::new(&document, || {
            static KEYS: LazyLock<FormatKeys> =
                LazyLock::new(|| FormatKeys::new::<File>("file", TABLES));
            &KEYS
        });
        assert!(
            written.mentions("share")
                && written.mentions("fifo")
                && !written.mentions("core.queue")
        );
        let paths: Vec<_> = written
            .all()
            .iter()
            .map(|key| format!("{} = {} {}", key.path, key.of.scheme, key.of.key))
            .collect();
        let expected = [
            "roles = file roles",
            "roles.core.queue = role queue",
            "roles.core.queue.bands.bands = queue.bands bands",
            "roles.core.queue.bands.bands.0.weight = queue.bands bands[].weight",
            "roles.core.queue.bands.bands.0.queue = queue.bands bands[].queue",
            "roles.core.queue.bands.bands.0.queue.fifo.limit = queue.fifo limit",
        ];
        assert_eq!(paths, expected);
    }
}
