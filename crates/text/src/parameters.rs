//! Parameters: named values that `"$name"` and expressions refer to.

use std::ops::Range;

use super::expression::evaluate;
use super::named::suggestion;
use super::tree::{Item, Key, Value};

/// Parameters with their resolved values.
pub(super) struct Parameters(pub(super) Vec<(Key, Item)>);

/// The reason why a text has no value.
pub(super) struct Unresolved {
    pub(super) message: String,
    pub(super) help: Option<String>,
    /// The parameter that does not exist.
    missing: Option<String>,
}

type Mistake = (Range<usize>, String, Option<String>);

impl Parameters {
    /// Resolves parameters that refer to each other, each once. Also returns those that cannot be resolved.
    pub(super) fn resolve_all(entries: &[(Key, Item)]) -> (Parameters, Vec<Mistake>) {
        let mut resolved = Parameters(Vec::new());
        let mut waiting: Vec<&(Key, Item)> = entries.iter().collect();
        loop {
            let mut mistakes = Vec::new();
            let before = waiting.len();
            waiting.retain(|(key, item)| {
                let Value::Text(text) = &item.value else {
                    resolved.0.push((key.clone(), item.clone()));
                    return false;
                };
                match resolved.resolve(text) {
                    Ok(value) => {
                        let value = value.unwrap_or_else(|| item.value.clone());
                        resolved.0.push((key.clone(), Item { value, span: item.span.clone() }));
                        false
                    }
                    Err(why) => {
                        let exists = |name: &str| entries.iter().any(|(key, _)| key.name == name);
                        let (message, help) = match &why.missing {
                            Some(name) if exists(name) => {
                                (format!("the parameter `{}` depends on itself", key.name), None)
                            }
                            _ => (why.message, why.help),
                        };
                        mistakes.push((item.span.clone(), message, help));
                        true
                    }
                }
            });
            if waiting.is_empty() || waiting.len() == before {
                return (resolved, mistakes);
            }
        }
    }

    /// The parameter of this name.
    pub(super) fn get(&self, name: &str) -> Option<&(Key, Item)> {
        self.0.iter().find(|(key, _)| key.name == name)
    }

    /// The value of `text`, or `None` if it refers to no parameter.
    pub(super) fn resolve(&self, text: &str) -> Result<Option<Value>, Unresolved> {
        if let Some(name) = text.strip_prefix('$') {
            return self.value(name).map(Some);
        }
        let Some(expression) = text.strip_prefix('=') else { return Ok(None) };
        let mut failure = None;
        let mut number = |name: &str| match self.value(name) {
            Ok(Value::Integer(number)) => Ok(number as f64),
            Ok(Value::Float(number)) => Ok(number),
            Ok(_) => Err(format!("the parameter `{name}` is not a number")),
            Err(why) => {
                let message = why.message.clone();
                failure = Some(why);
                Err(message)
            }
        };
        let outcome = evaluate(expression, &mut number).map_err(|message| {
            failure.take().unwrap_or(Unresolved { message, help: None, missing: None })
        })?;
        // Rounds, so that 1 - 0.7 is 0.3 in messages and in results.
        let number: f64 = format!("{:.14e}", outcome.number).parse().unwrap_or(outcome.number);
        Ok(Some(match outcome.unit.as_str() {
            "" if number.fract() == 0.0 && number.abs() < 1e15 => Value::Integer(number as i64),
            "" => Value::Float(number),
            unit => Value::Text(format!("{number} {unit}")),
        }))
    }

    fn value(&self, name: &str) -> Result<Value, Unresolved> {
        self.get(name).map(|(_, item)| item.value.clone()).ok_or_else(|| {
            let names: Vec<_> = self.0.iter().map(|(key, _)| key.name.as_str()).collect();
            Unresolved {
                message: format!("unknown parameter `{name}`"),
                help: Some(suggestion(name, "parameters of this file", &names)),
                missing: Some(name.to_owned()),
            }
        })
    }
}
