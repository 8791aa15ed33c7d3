//! JSON Schemas for editors, from the types that serde reads.

use schemars::transform::{Transform, transform_subschemas};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::Value;

/// The JSON Schema of `T`, in which any value without parts may also be a parameter (`"$name"`) or
/// an expression (`"= …"`), as the text allows.
pub fn schema<T: JsonSchema>() -> Schema {
    let mut schema = SchemaGenerator::default().into_root_schema_for::<T>();
    AllowParameters.transform(&mut schema);
    schema
}

struct AllowParameters;

impl Transform for AllowParameters {
    fn transform(&mut self, schema: &mut Schema) {
        // A text may then fit several forms, which `oneOf` forbids.
        if let Some(forms) = schema.remove("oneOf") {
            schema.insert("anyOf".to_owned(), forms);
        }
        transform_subschemas(self, schema);
        if !refuses_parameters(schema) {
            return;
        }
        let mut plain = schema.clone();
        let outside = ["description", "default"].map(|key| (key, plain.remove(key)));
        *schema = json_schema!({ "anyOf": [plain, { "type": "string", "pattern": "^[$=]" }] });
        for (key, value) in outside {
            if let Some(value) = value {
                schema.insert(key.to_owned(), value);
            }
        }
    }
}

/// Whether `schema` is one of values without parts that not every text fits.
fn refuses_parameters(schema: &Schema) -> bool {
    let is_plain = |kind: &str| matches!(kind, "number" | "integer" | "boolean" | "null");
    let is_text = |kind: &str| kind == "string";
    let narrow = ["pattern", "const", "enum"].iter().any(|key| schema.get(*key).is_some());
    match schema.get("type") {
        Some(Value::String(kind)) => is_plain(kind) && kind != "null" || is_text(kind) && narrow,
        Some(Value::Array(kinds)) => {
            let kinds: Vec<&str> = kinds.iter().filter_map(Value::as_str).collect();
            let parts = kinds.iter().all(|kind| is_plain(kind) || is_text(kind));
            parts && (narrow || !kinds.iter().any(|kind| is_text(kind)))
        }
        _ => schema.get("const").is_some() || schema.get("enum").is_some(),
    }
}
