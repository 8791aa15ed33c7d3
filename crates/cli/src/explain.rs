//! `explain`: what a scheme does, and which keys it has.

use serde_json::{Value, json};
use shortflow_policy::explain::{self, Key, Scheme};
use shortflow_scenario::Topic;
use shortflow_text::suggestion;

use crate::args::Explain;
use crate::console::Console;
use crate::failure::Failure;

/// `shortflow explain`.
pub(crate) fn explain(console: &Console, args: &Explain) -> Result<(), Failure> {
    match &args.scheme {
        Some(name) => {
            let found = find(name)?;
            match (args.json, &found) {
                (false, Found::Scheme(scheme)) => console.print(&scheme.text()),
                (false, Found::Topic(topic)) => console.print(&topic.text()),
                (true, Found::Scheme(scheme)) => console.print_json(&as_json(scheme)),
                (true, Found::Topic(topic)) => console.print_json(&topic_as_json(topic)),
            }
        }
        None if args.json => {
            let all: Vec<Value> = explain::schemes().iter().map(as_json).collect();
            console.print_json(&Value::Array(all))
        }
        None => console.print(&explain::list()),
    }
}

/// What can be explained.
enum Found {
    Scheme(Box<Scheme>),
    Topic(Topic),
}

/// What `name` means: a scheme, another name of scenarios, or a path that leads to one of them or
/// into it, such as `queue.pie.target`.
fn find(name: &str) -> Result<Found, Failure> {
    let (schemes, topics) = (explain::schemes(), Topic::all());
    for part in name.rsplit('.') {
        if let Some(scheme) = schemes.iter().find(|scheme| scheme.name == part) {
            return Ok(Found::Scheme(Box::new(scheme.clone())));
        }
        if let Some(topic) = topics.iter().find(|topic| topic.name == part) {
            return Ok(Found::Topic(topic.clone()));
        }
    }
    let schemes = schemes.iter().map(|scheme| scheme.name.as_str());
    let names: Vec<&str> = schemes.chain(topics.iter().map(|topic| topic.name)).collect();
    let last = name.rsplit('.').next().unwrap_or(name);
    let help = suggestion(last, "what can be explained", &names);
    Err(Failure::Input(format!("there is no scheme `{name}`\n{help}")))
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

fn topic_as_json(topic: &Topic) -> Value {
    json!({
        "scheme": topic.name, "kind": topic.kind, "description": topic.description,
        "source": topic.source, "example": topic.example, "keys": [],
    })
}
