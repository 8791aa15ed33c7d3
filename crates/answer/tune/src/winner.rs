//! The winning policy as a file.

use crate::vary::POLICY;
use shortflow_policy::{Policy, from_text};
use shortflow_text::{Diagnostics, Override};
use toml_edit::{DocumentMut, Item, Table, TableLike, TomlError, Value};

/// The text of a policy with these keys set, and all else as it stands, comments too. `heading` comes before
/// it, as comments.
///
/// # Errors
/// When a key has no place in the text, or the result is not the policy that was measured.
pub fn policy_text(
    text: &str,
    set: &[(String, String)],
    heading: &[String],
) -> Result<String, WinnerError> {
    let mut document: DocumentMut = text.parse()?;
    let of_policy: Vec<_> = set.iter().filter(|(key, _)| key.starts_with(POLICY)).collect();
    for (key, value) in &of_policy {
        put(document.as_table_mut(), key_of_policy(key), value)
            .ok_or_else(|| WinnerError::NoPlace { key: key.clone(), of: "policy" })?;
    }
    let comment: String = heading.iter().map(|line| format!("# {line}\n")).collect();
    let written = format!("{comment}\n{document}");
    let overrides: Vec<Override> = of_policy.into_iter().map(as_override).collect();
    // A role's plan is plain data: what it shows is all that it is.
    let roles = |policy: &Policy| format!("{:?}", policy.roles);
    match (from_text("", &written, &[]), from_text("", text, &overrides)) {
        (Ok(ours), Ok(measured)) if roles(&ours) == roles(&measured) => Ok(written),
        (Err(mistakes), _) => Err(WinnerError::Mistakes(mistakes)),
        _ => Err(WinnerError::Differs),
    }
}

/// The text of a scenario with the keys of the scenario that are set, and all else as it stands, comments too.
///
/// # Errors
/// When a key has no place in the text.
pub fn scenario_text(text: &str, set: &[(String, String)]) -> Result<String, WinnerError> {
    let mut document: DocumentMut = text.parse()?;
    for (key, value) in set.iter().filter(|(key, _)| !key.starts_with(POLICY)) {
        put(document.as_table_mut(), key, value)
            .ok_or_else(|| WinnerError::NoPlace { key: key.clone(), of: "scenario" })?;
    }
    Ok(document.to_string())
}

/// Why a policy or a scenario cannot be written with its settings.
#[derive(Debug, thiserror::Error)]
pub enum WinnerError {
    /// The text is not TOML.
    #[error("{}", .0.message())]
    Toml(#[from] TomlError),
    /// The text has no place for a key.
    #[error("cannot write `{key}` into the {of}")]
    NoPlace {
        /// The key.
        key: String,
        /// What the text is: a policy, or a scenario.
        of: &'static str,
    },
    /// The result has mistakes.
    #[error("{0}")]
    Mistakes(Diagnostics),
    /// The result is another policy.
    #[error("the policy as written differs from the one that was measured")]
    Differs,
}

/// A key as written in the policy itself.
fn key_of_policy(key: &str) -> &str {
    key.strip_prefix(POLICY).unwrap_or(key)
}

fn as_override((key, value): &(String, String)) -> Override {
    Override {
        key: key_of_policy(key).to_owned(),
        value: value.clone(),
        prefix: "policy.",
        origin: "--set".to_owned(),
        cell: None,
    }
}

/// Replaces a value; `None` if the key is missing.
fn put(root: &mut Table, key: &str, value: &str) -> Option<()> {
    let mut parts = key.split('.').peekable();
    let mut table: &mut dyn TableLike = root;
    let last = loop {
        let part = parts.next()?;
        if parts.peek().is_none() {
            break part;
        }
        let item = table.entry(part).or_insert_with(|| Item::Table(implicit()));
        table = match item {
            Item::ArrayOfTables(list) => {
                let wanted = parts.next()?;
                let named = |one: &Table| one.get("name").and_then(Item::as_str) == Some(wanted);
                let place = list.iter().position(named).or_else(|| wanted.parse().ok())?;
                list.get_mut(place)?
            }
            other => other.as_table_like_mut()?,
        };
    };
    let mut value: Value = value.parse().unwrap_or_else(|_| Value::from(value));
    match table.get_mut(last) {
        Some(Item::Value(before)) => {
            *value.decor_mut() = before.decor().clone();
            *before = value;
        }
        _ => {
            table.insert(last, Item::Value(value));
        }
    }
    Some(())
}

/// A table that has no header of its own while it holds tables only.
fn implicit() -> Table {
    let mut table = Table::new();
    table.set_implicit(true);
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    const POLICY: &str = r#"# A queue.

[parameters]
limit = "100 pkt"   # as much as the line holds

[roles.source]

[[roles.edge.classes]]
name = "web"
match = { protocol = "tcp", src_port = 80 }
marker.fixed = { dscp = "AF11" }

[roles.core]
queue.fifo = { limit = "$limit" }
"#;

    fn written(key: &str, value: &str) -> Result<String, WinnerError> {
        policy_text(POLICY, &[(key.to_owned(), value.to_owned())], &["Chosen.".to_owned()])
    }

    #[test]
    fn a_value_is_changed_and_comments_stay() {
        let text = written("policy.parameters.limit", "30 pkt").unwrap();
        assert!(text.starts_with("# Chosen.\n\n# A queue.\n"), "{text}");
        assert!(text.contains("limit = \"30 pkt\"   # as much as the line holds\n"), "{text}");
    }

    #[test]
    fn keys_of_inline_tables_and_of_lists_are_found() {
        let text = written("policy.roles.core.queue.fifo.limit", "7 pkt").unwrap();
        assert!(text.contains("queue.fifo = { limit = \"7 pkt\" }"), "{text}");
        let text = written("policy.roles.edge.classes.web.marker.fixed.dscp", "AF21").unwrap();
        assert!(text.contains("marker.fixed = { dscp = \"AF21\" }"), "{text}");
    }

    #[test]
    fn what_would_be_no_policy_is_not_written() {
        assert!(written("policy.roles.core.queue.fifo.limit", "many").is_err());
        assert!(written("policy.roles.edge.classes.mail.marker.fixed.dscp", "AF21").is_err());
    }
}
