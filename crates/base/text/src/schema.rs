//! JSON Schemas for editors, generated from the types that serde reads.

use schemars::transform::{Transform, transform_subschemas};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::Value;

/// The JSON Schema of `T`. Any scalar (a number, a boolean, a name, a quantity) may also be a parameter
/// (`"$name"`) or an expression (`"= …"`).
pub fn schema<T: JsonSchema>() -> Schema {
    let mut schema = SchemaGenerator::default().into_root_schema_for::<T>();
    AllowParameters.transform(&mut schema);
    schema
}

struct AllowParameters;

impl Transform for AllowParameters {
    fn transform(&mut self, schema: &mut Schema) {
        without_null(schema);
        // A parameter matches every alternative, so `oneOf` would refuse it.
        if !has_distinct_keys(schema)
            && let Some(alternatives) = schema.remove("oneOf")
        {
            schema.insert("anyOf".to_owned(), alternatives);
        }
        transform_subschemas(self, schema);
        if is_plain(schema) {
            let plain = schema.clone();
            let description = schema.get("description").cloned();
            *schema = json_schema!({
                "anyOf": [plain, { "type": "string", "pattern": PARAMETER }],
            });
            if let Some(description) = description {
                schema.insert("description".to_owned(), description);
            }
        }
    }
}

/// Whether the alternatives only list the required keys.
fn has_distinct_keys(schema: &Schema) -> bool {
    let Some(Value::Array(forms)) = schema.get("oneOf") else { return false };
    forms.iter().all(|form| form.as_object().is_some_and(|form| form.keys().eq(["required"])))
}

/// TOML has no null: an optional key is left out.
fn without_null(schema: &mut Schema) {
    if let Some(Value::Array(kinds)) = schema.get_mut("type") {
        kinds.retain(|kind| kind != "null");
        if let [kind] = &kinds[..] {
            let kind = kind.clone();
            schema.insert("type".to_owned(), kind);
        }
    }
    if let Some(Value::Array(names)) = schema.get_mut("enum") {
        names.retain(|name| !name.is_null());
    }
    if let Some(Value::Array(alternatives)) = schema.get_mut("anyOf") {
        alternatives.retain(|form| form.get("type").is_none_or(|kind| kind != "null"));
    }
}

/// Whether the schema needs the alternative of a parameter. A schema for any string already allows `$`.
fn is_plain(schema: &Schema) -> bool {
    let kinds = match schema.get("type") {
        Some(Value::String(kind)) => vec![kind.as_str()],
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let is_bounded = ["enum", "const", "pattern"].iter().any(|key| schema.get(*key).is_some());
    kinds.iter().any(|kind| matches!(*kind, "number" | "integer" | "boolean"))
        || is_bounded && (kinds.is_empty() || kinds == ["string"])
}

/// A parameter, or an expression over parameters.
const PARAMETER: &str = "^[$=]";
