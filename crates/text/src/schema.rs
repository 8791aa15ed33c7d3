//! JSON Schemas for editors, from the types that serde reads.

use schemars::transform::{Transform, transform_subschemas};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

/// The JSON Schema of `T`, in which any number or truth value may also be a parameter (`"$name"`)
/// or an expression (`"= …"`).
pub fn schema<T: JsonSchema>() -> Schema {
    let mut schema = SchemaGenerator::default().into_root_schema_for::<T>();
    AllowParameters.transform(&mut schema);
    schema
}

struct AllowParameters;

impl Transform for AllowParameters {
    fn transform(&mut self, schema: &mut Schema) {
        transform_subschemas(self, schema);
        let kind = schema.get("type").and_then(|kind| kind.as_str());
        if matches!(kind, Some("number" | "integer" | "boolean")) {
            let plain = schema.clone();
            let description = schema.get("description").cloned();
            *schema = json_schema!({
                "anyOf": [plain, { "type": "string", "pattern": "^[$=]" }],
            });
            if let Some(description) = description {
                schema.insert("description".to_owned(), description);
            }
        }
    }
}
