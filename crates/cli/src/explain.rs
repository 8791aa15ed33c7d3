//! `explain`: what a scheme does, and which keys it has.

use serde_json::{Value, json};
use shortflow_policy::explain::{self, Key, Scheme};

use crate::args::Explain;
use crate::console::Console;
use crate::failure::Failure;

/// `shortflow explain`.
pub(crate) fn explain(console: &Console, args: &Explain) -> Result<(), Failure> {
    match &args.scheme {
        Some(name) => {
            let scheme = explain::find(name).map_err(Failure::Input)?;
            if args.json {
                return console.print_json(&as_json(&scheme));
            }
            console.print(&scheme.text())
        }
        None if args.json => {
            let all: Vec<Value> = explain::schemes().iter().map(as_json).collect();
            console.print_json(&Value::Array(all))
        }
        None => console.print(&explain::list()),
    }
}

fn as_json(scheme: &Scheme) -> Value {
    let key = |key: &Key| {
        json!({
            "key": key.name, "kind": key.kind, "description": key.description, "range": key.range,
            "default": key.default, "required": key.required,
        })
    };
    json!({
        "scheme": scheme.name, "kind": scheme.kind.name(), "description": scheme.description,
        "source": scheme.source, "example": scheme.example,
        "keys": scheme.keys.iter().map(key).collect::<Vec<_>>(),
    })
}
