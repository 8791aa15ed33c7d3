//! Descriptions of all schemes, for `shortflow explain` and `docs/elements.md`.

use std::fmt::Write;

use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value};

use crate::schemes::{markers, queues};

/// The kind of a scheme.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SchemeKind {
    /// Writes the DS field, and gives packets a colour.
    Marker,
    /// Holds packets at an egress port, and chooses which packet leaves next.
    Queue,
}

impl SchemeKind {
    /// Its name, which is also its key in a policy.
    pub fn name(self) -> &'static str {
        match self {
            SchemeKind::Marker => "marker",
            SchemeKind::Queue => "queue",
        }
    }
}

/// The description of a scheme.
#[derive(Debug, Clone)]
pub struct Scheme {
    /// Marker or queue.
    pub kind: SchemeKind,
    /// Its name in policies.
    pub name: String,
    /// What it does.
    pub description: String,
    /// The paper or RFC that it comes from.
    pub source: &'static str,
    /// An example: part of a policy that uses it.
    pub example: &'static str,
    /// Its keys, required keys first.
    pub keys: Vec<Key>,
}

/// A key of a scheme.
#[derive(Debug, Clone)]
pub struct Key {
    /// Its name. A key of an inner table has the prefix of that table: `levels[].code_points`.
    pub name: String,
    /// The type of its value: a rate, a whole number, one of a few names.
    pub kind: String,
    /// What it means.
    pub description: String,
    /// Values that are allowed, if the type does not say it.
    pub range: Option<String>,
    /// The default value. `None` if the key is required, or if leaving it out has a meaning of its own.
    pub default: Option<String>,
    /// Whether the key is required.
    pub required: bool,
    /// Its values and what each means, where they are names.
    pub meanings: Vec<(String, String)>,
}

/// All schemes: markers, then queues, each in alphabetical order.
pub fn schemes() -> Vec<Scheme> {
    let mut all = markers::schemes();
    all.extend(queues::schemes());
    all
}

/// All schemes, one per line, for a terminal.
pub fn list() -> String {
    let mut text = String::new();
    for kind in [SchemeKind::Marker, SchemeKind::Queue] {
        let _ = writeln!(text, "{}s:", kind.name());
        for scheme in schemes().into_iter().filter(|scheme| scheme.kind == kind) {
            let first = scheme.description.split([':', ';', '.']).next().unwrap_or_default();
            let _ = writeln!(text, "  {:<18}{first}", scheme.name);
        }
        text.push('\n');
    }
    text + "`shortflow explain NAME` shows its keys and an example.\n"
}

/// The page `docs/elements.md`.
pub fn page() -> String {
    let mut text = String::from(
        "# Markers and queues\n\n\
         The markers and queues that a policy can use. This page is generated from the source code \
         (`crates/node/policy/src/schemes`); `shortflow explain NAME` shows the same in a terminal.\n",
    );
    for kind in [SchemeKind::Marker, SchemeKind::Queue] {
        let title = match kind {
            SchemeKind::Marker => "Markers",
            SchemeKind::Queue => "Queues",
        };
        let _ = write!(text, "\n## {title}\n");
        for scheme in schemes().into_iter().filter(|scheme| scheme.kind == kind) {
            text += &scheme.markdown();
        }
    }
    text
}

impl Scheme {
    /// Reads the description from the schema of the keys `K`.
    pub(crate) fn new<K: JsonSchema>(
        kind: SchemeKind,
        name: String,
        source: &'static str,
        example: &'static str,
    ) -> Scheme {
        let root = SchemaGenerator::default().into_root_schema_for::<K>().to_value();
        let mut keys = Vec::new();
        let none = Map::new();
        let definitions = root.get("$defs").and_then(Value::as_object).unwrap_or(&none);
        Reader { definitions }.read("", &root, &mut keys);
        Scheme { kind, name, description: describe(&root), source, example, keys }
    }

    /// The full description, for a terminal.
    pub fn text(&self) -> String {
        let mut text = format!(
            "{} ({})\n\n{}\nSource: {}\n\nKeys:\n",
            self.name,
            self.kind.name(),
            self.description,
            self.source
        );
        for key in &self.keys {
            let _ = writeln!(text, "  {}: {}", key.name, key.what());
            let _ = writeln!(text, "      {}", key.description);
            for (value, meaning) in &key.meanings {
                let _ = writeln!(text, "      - `{value}`: {meaning}");
            }
        }
        if self.keys.is_empty() {
            text += "  none\n";
        }
        let _ = write!(text, "\nExample:\n\n");
        for line in self.example.lines() {
            let _ = writeln!(text, "{}{line}", if line.is_empty() { "" } else { "  " });
        }
        text
    }

    fn markdown(&self) -> String {
        let mut text =
            format!("\n### `{}`\n\n{} Source: {}.\n\n", self.name, self.description, self.source);
        text += "| key | value | default | meaning |\n|---|---|---|---|\n";
        for key in &self.keys {
            let range = key.range.as_ref().map_or(String::new(), |range| format!("; {range}"));
            let default = match (&key.default, key.required) {
                (Some(default), _) => format!("`{default}`"),
                (None, true) => "required".to_owned(),
                (None, false) => "–".to_owned(),
            };
            let _ = writeln!(
                text,
                "| `{}` | {}{range} | {default} | {}{} |",
                key.name,
                key.kind,
                key.description,
                key.meanings_in_a_line()
            );
        }
        let _ = write!(text, "\n```toml\n{}```\n", self.example);
        text
    }
}

impl Key {
    /// The meanings of its values, as sentences after the description.
    fn meanings_in_a_line(&self) -> String {
        let each = self.meanings.iter();
        each.map(|(value, meaning)| format!(" `{value}`: {meaning}")).collect()
    }

    /// The type, the range and the default.
    fn what(&self) -> String {
        let range = self.range.as_ref().map_or(String::new(), |range| format!(", {range}"));
        let default = match (&self.default, self.required) {
            (Some(default), _) => format!("; default: {default}"),
            (None, true) => "; required".to_owned(),
            (None, false) => "; optional".to_owned(),
        };
        format!("{}{range}{default}", self.kind)
    }
}

fn describe(schema: &Value) -> String {
    let text = schema.get("description").and_then(Value::as_str).unwrap_or_default();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Reads keys out of a JSON Schema.
struct Reader<'s> {
    definitions: &'s Map<String, Value>,
}

impl<'s> Reader<'s> {
    /// Appends the keys of the table `schema`, with `prefix`, required keys first.
    fn read(&self, prefix: &str, schema: &'s Value, keys: &mut Vec<Key>) {
        let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return };
        let required = schema.get("required").and_then(Value::as_array);
        let is_required = |name: &str| required.is_some_and(|all| all.iter().any(|r| r == name));
        let (first, then): (Vec<_>, Vec<_>) =
            properties.iter().partition(|(name, _)| is_required(name));
        for (name, property) in first.into_iter().chain(then) {
            let range = property.get("x-range").and_then(Value::as_str).map(str::to_owned);
            let name_here = format!("{prefix}{name}");
            keys.push(Key {
                kind: self.kind(property),
                description: describe(property),
                meanings: self.meanings(property),
                range,
                default: property.get("default").and_then(default),
                required: is_required(name),
                name: name_here.clone(),
            });
            if let Some((suffix, table)) = self.table(property) {
                self.read(&format!("{name_here}{suffix}."), table, keys);
            }
        }
    }

    /// The target of `$ref`, with the name of its definition.
    fn resolve(&self, schema: &'s Value) -> (Option<&'s str>, &'s Value) {
        let name = schema.get("$ref").and_then(Value::as_str);
        let name = name.and_then(|path| path.strip_prefix("#/$defs/"));
        match name.and_then(|name| self.definitions.get(name)) {
            Some(found) => (name, found),
            None => (None, schema),
        }
    }

    /// The alternative schemas of a value, without `null`.
    fn forms(&self, schema: &'s Value) -> Vec<&'s Value> {
        let forms = schema.get("anyOf").or_else(|| schema.get("oneOf")).and_then(Value::as_array);
        let forms = forms.map(|all| all.iter().collect()).unwrap_or_else(|| vec![schema]);
        let is_null = |form: &&Value| form.get("type").is_some_and(|kind| kind == "null");
        forms.into_iter().filter(|form| !is_null(form)).collect()
    }

    /// The inner table of a key, and the separator between the two names.
    fn table(&self, schema: &'s Value) -> Option<(&'static str, &'s Value)> {
        let [form] = self.forms(schema)[..] else { return None };
        let (suffix, form) = match form.get("items") {
            Some(items) => ("[]", items),
            None => ("", form),
        };
        let (name, table) = self.resolve(form);
        let is_shared = name.is_some_and(|name| SHARED.iter().any(|(shared, _)| *shared == name));
        (!is_shared && table.get("properties").is_some()).then_some((suffix, table))
    }

    /// The values of a schema that are names, each with what it means.
    fn meanings(&self, schema: &'s Value) -> Vec<(String, String)> {
        let mut found = Vec::new();
        for form in self.forms(schema) {
            let (_, form) = self.resolve(form);
            match form.get("const") {
                Some(name) if form.get("description").is_some() => {
                    found.push((name.to_string(), describe(form)));
                }
                Some(_) => {}
                None if form.get("anyOf").or_else(|| form.get("oneOf")).is_some() => {
                    found.extend(self.meanings(form));
                }
                None => {}
            }
        }
        found
    }

    /// Describes the values that this schema allows.
    fn kind(&self, schema: &'s Value) -> String {
        let mut kinds: Vec<String> = Vec::new();
        for form in self.forms(schema) {
            let kind = self.kind_of_form(form);
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
        kinds.join(" or ")
    }

    fn kind_of_form(&self, form: &'s Value) -> String {
        let (name, schema) = self.resolve(form);
        if let Some((_, words)) = SHARED.iter().find(|(shared, _)| Some(*shared) == name) {
            return (*words).to_owned();
        }
        if let Some(name) = schema.get("const") {
            return format!("`{name}`");
        }
        if let Some(items) = schema.get("items") {
            return match self.kind_of_form(items).as_str() {
                "a table" => "a list of tables".to_owned(),
                each => format!("a list; each item is {each}"),
            };
        }
        if schema.get("anyOf").or_else(|| schema.get("oneOf")).is_some() {
            return self.kind(schema);
        }
        if schema.get("properties").is_some() {
            return "a table".to_owned();
        }
        let example = schema.get("examples").and_then(|all| all.get(0));
        let kind = schema.get("type");
        let first = kind.and_then(|kind| kind.get(0)).or(kind).and_then(Value::as_str);
        match (first, example) {
            (Some("string"), Some(example)) if name.is_some() => {
                format!("{}, such as `{example}`", describe(schema))
            }
            (Some("string"), _) if schema.get("pattern").is_some() => describe(schema),
            (Some("string"), _) => "a string".to_owned(),
            (Some("integer"), _) => "a whole number".to_owned(),
            (Some("number"), _) if schema.get("maximum").is_some() => {
                "a number from 0 to 1".to_owned()
            }
            (Some("number"), _) => "a number".to_owned(),
            (Some("boolean"), _) => "`true` or `false`".to_owned(),
            _ => "a value".to_owned(),
        }
    }
}

/// Types that occur in many keys, in words.
const SHARED: [(&str, &str); 7] = [
    (
        "LinkLayer",
        "a link layer, such as `\"docsis\"`, or a table with `overhead`, `mpu`, `framing`",
    ),
    ("Match", "conditions, such as `{ dscp = \"EF\" }`"),
    ("QueueKeys", "a queue"),
    ("CodePoint", "a code point, such as `\"EF\"`"),
    ("CodePoints", "a code point, or a list of them"),
    (
        "Per",
        "`\"flow\"`, `\"host-pair\"`, `\"source\"`, `\"destination\"`, `\"all\"`, or a table with \
         one of them as `each`, and `table_size` and `idle_timeout`",
    ),
    (
        "SharedBand",
        "a code point, a range such as `\"63-0\"` (one band for each), a list of code points, \
         `\"rest\"`, or `{ match = … }`",
    ),
];

/// The default value, unless it is a whole table.
fn default(value: &Value) -> Option<String> {
    match value {
        Value::Null | Value::Object(_) => None,
        Value::Array(list) if list.is_empty() => None,
        other => Some(other.to_string()),
    }
}
