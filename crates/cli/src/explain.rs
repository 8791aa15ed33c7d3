//! `explain`: the description and the keys of a scheme.

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
                (false, Found::Schemes(schemes)) => {
                    let texts: Vec<String> = schemes.iter().map(Scheme::text).collect();
                    console.print(&texts.join("\n"))
                }
                (false, Found::Topic(topic)) => console.print(&topic.text()),
                (true, Found::Schemes(schemes)) => match &schemes[..] {
                    [scheme] => console.print_json(&as_json(scheme)),
                    several => {
                        console.print_json(&Value::Array(several.iter().map(as_json).collect()))
                    }
                },
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
    /// One, or a marker and a queue of the same name.
    Schemes(Vec<Scheme>),
    Topic(Topic),
}

/// What `name` means: a scheme, another name of scenarios, or a path that leads to one of them or
/// into it, such as `queue.pie.target`.
fn find(name: &str) -> Result<Found, Failure> {
    let (schemes, topics) = (explain::schemes(), Topic::all());
    for part in name.rsplit('.') {
        let mut found: Vec<Scheme> =
            schemes.iter().filter(|scheme| scheme.name == part).cloned().collect();
        if found.len() > 1 {
            let is_named = |scheme: &Scheme| name.split('.').any(|part| part == scheme.kind.name());
            if found.iter().any(is_named) {
                found.retain(is_named);
            }
        }
        if !found.is_empty() {
            return Ok(Found::Schemes(found));
        }
        if let Some(topic) = topics.iter().find(|topic| topic.name == part) {
            return Ok(Found::Topic(topic.clone()));
        }
    }
    let last = name.rsplit('.').next().unwrap_or(name);
    let help = suggestion(last, "names", &names(&schemes, &topics));
    Err(Failure::Input(format!("unknown scheme `{name}`\n{help}\n{KEYS}")))
}

/// Where keys that belong to no scheme are described.
const KEYS: &str = "other keys of files are described in docs/reference/policy-keys.md and docs/reference/scenario-keys.md";

/// What can be explained, each once: a marker and a queue may have the same name.
fn names<'n>(schemes: &'n [Scheme], topics: &'n [Topic]) -> Vec<&'n str> {
    let schemes = schemes.iter().map(|scheme| scheme.name.as_str());
    let mut names: Vec<&str> = Vec::new();
    for name in schemes.chain(topics.iter().map(|topic| topic.name)) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn a_name_is_suggested_once_and_the_pages_that_are_named_exist() {
        let (schemes, topics) = (explain::schemes(), Topic::all());
        let all = names(&schemes, &topics);
        assert_eq!(all.iter().filter(|name| **name == "sima").count(), 1, "{all:?}");
        let pages = KEYS.split(' ').filter(|word| word.starts_with("docs/"));
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        assert_eq!(pages.map(|page| assert!(root.join(page).is_file(), "{page}")).count(), 2);
    }
}
