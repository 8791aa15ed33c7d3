//! Parameters: named values that `"$name"` and expressions refer to.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::expression::evaluate;
use super::faults::MAX_MISTAKES;
use super::named::suggestion;
use super::tree::{Item, Key, Value};

/// Parameters with their resolved values.
#[derive(Default)]
pub(super) struct Parameters {
    items: BTreeMap<String, Item>,
    /// The names in the order of the text, for messages.
    names: Vec<String>,
}

/// The reason why a text has no value.
pub(super) struct Unresolved {
    pub(super) message: String,
    /// The parameter that does not exist.
    missing: Option<String>,
}

type Mistake = (Range<usize>, String, Option<String>);

impl Parameters {
    /// Resolves parameters that refer to each other. Also returns the mistakes, in the order of the text.
    pub(super) fn resolve_all(entries: &[(Key, Item)]) -> (Parameters, Vec<Mistake>) {
        let mut resolver = Resolver {
            entries: entries.iter().map(|(key, item)| (key.name.as_str(), item)).collect(),
            states: BTreeMap::new(),
            parameters: Parameters {
                items: BTreeMap::new(),
                names: entries.iter().map(|(key, _)| key.name.clone()).collect(),
            },
            mistakes: Vec::new(),
        };
        for (key, _) in entries {
            if resolver.mistakes.len() < MAX_MISTAKES {
                resolver.resolve(&key.name);
            }
        }
        let Resolver { parameters, mut mistakes, .. } = resolver;
        mistakes.sort_by_key(|(span, ..)| span.start);
        mistakes.truncate(MAX_MISTAKES);
        (parameters, mistakes)
    }

    /// The parameter of this name.
    pub(super) fn get(&self, name: &str) -> Option<&Item> {
        self.items.get(name)
    }

    /// The help for a text without a value. It compares all names, so it is not part of each [`Unresolved`].
    pub(super) fn help(&self, why: &Unresolved) -> Option<String> {
        let name = why.missing.as_deref()?;
        let names: Vec<&str> = self.names.iter().map(String::as_str).collect();
        Some(suggestion(name, "parameters of this file", &names))
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
        let outcome = evaluate(expression, &mut number)
            .map_err(|message| failure.take().unwrap_or(Unresolved { message, missing: None }))?;
        // Rounds, so that 1 - 0.7 is 0.3 in messages and in results.
        let number: f64 = format!("{:.14e}", outcome.number).parse().unwrap_or(outcome.number);
        Ok(Some(match outcome.unit.as_str() {
            "" if number.fract() == 0.0 && number.abs() < 1e15 => Value::Integer(number as i64),
            "" => Value::Float(number),
            unit => Value::Text(format!("{number} {unit}")),
        }))
    }

    fn value(&self, name: &str) -> Result<Value, Unresolved> {
        self.get(name).map(|item| item.value.clone()).ok_or_else(|| Unresolved {
            message: format!("unknown parameter `{name}`"),
            missing: Some(name.to_owned()),
        })
    }
}

/// Adds the names of the parameters that the texts in `item` refer to.
pub(super) fn references(item: &Item, found: &mut BTreeSet<String>) {
    match &item.value {
        Value::Text(text) => {
            if let Some(name) = text.strip_prefix('$') {
                found.insert(name.to_owned());
            } else if let Some(expression) = text.strip_prefix('=') {
                let mut note = |name: &str| {
                    found.insert(name.to_owned());
                    Ok(1.0)
                };
                // Only the names matter here; the number is found when all values are known.
                let _ = evaluate(expression, &mut note);
            }
        }
        Value::List(items) => items.iter().for_each(|item| references(item, found)),
        Value::Table(entries) => entries.iter().for_each(|(_, item)| references(item, found)),
        Value::Integer(_) | Value::Float(_) | Value::Bool(_) => {}
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Its value waits for the parameter after it in the chain.
    Waiting,
    Resolved,
    /// A mistake is reported, here or at a parameter that it refers to.
    Failed,
}

/// Resolves each parameter after those that it refers to.
struct Resolver<'e> {
    entries: BTreeMap<&'e str, &'e Item>,
    states: BTreeMap<&'e str, State>,
    parameters: Parameters,
    mistakes: Vec<Mistake>,
}

impl<'e> Resolver<'e> {
    /// Resolves a parameter and those that it needs. A chain may be as long as the text, so it is a list and
    /// no recursion. Each parameter is the missing one at most once, so the time is linear in their number.
    fn resolve(&mut self, first: &'e str) {
        let mut chain = vec![first];
        while let Some(&name) = chain.last() {
            if matches!(self.states.get(name), Some(State::Resolved | State::Failed)) {
                chain.pop();
                continue;
            }
            self.states.insert(name, State::Waiting);
            let item = self.entries[name];
            let outcome = match &item.value {
                Value::Text(text) => self.parameters.resolve(text),
                _ => Ok(None),
            };
            let why = match outcome {
                Ok(value) => {
                    let value = value.unwrap_or_else(|| item.value.clone());
                    let item = Item { value, span: item.span.clone() };
                    self.parameters.items.insert(name.to_owned(), item);
                    self.states.insert(name, State::Resolved);
                    continue;
                }
                Err(why) => why,
            };
            let missing = why.missing.as_deref();
            let Some((&missing, _)) = missing.and_then(|name| self.entries.get_key_value(name))
            else {
                let help = self.parameters.help(&why);
                self.fail(name, why.message, help);
                continue;
            };
            match self.states.get(missing) {
                None => chain.push(missing),
                Some(State::Waiting) => {
                    let start = chain.iter().rposition(|name| *name == missing).unwrap_or(0);
                    for name in chain.drain(start..) {
                        self.fail(name, format!("the parameter `{name}` depends on itself"), None);
                    }
                }
                // The mistake is reported where it is.
                Some(State::Failed | State::Resolved) => {
                    self.states.insert(name, State::Failed);
                }
            }
        }
    }

    fn fail(&mut self, name: &'e str, message: String, help: Option<String>) {
        self.states.insert(name, State::Failed);
        self.mistakes.push((self.entries[name].span.clone(), message, help));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(texts: &[(String, String)]) -> (Parameters, Vec<String>) {
        let entry = |(at, (name, text)): (usize, &(String, String))| {
            let key = Key { name: name.clone(), span: at..at };
            (key, Item { value: Value::Text(text.clone()), span: at..at })
        };
        let entries: Vec<_> = texts.iter().enumerate().map(entry).collect();
        let (parameters, mistakes) = Parameters::resolve_all(&entries);
        (parameters, mistakes.into_iter().map(|(_, message, _)| message).collect())
    }

    fn pair(name: &str, text: &str) -> (String, String) {
        (name.to_owned(), text.to_owned())
    }

    #[test]
    fn a_chain_of_many_parameters_is_resolved_once_each() {
        let links = 20_000;
        let mut chain: Vec<_> =
            (0..links).map(|n| pair(&format!("p{n}"), &format!("= p{} + 1", n + 1))).collect();
        chain.push(pair(&format!("p{links}"), "= 1"));
        let (parameters, mistakes) = resolve(&chain);
        assert_eq!(mistakes, [""; 0]);
        assert_eq!(parameters.get("p0").unwrap().value, Value::Integer(links + 1));
    }

    #[test]
    fn a_circle_is_reported_for_its_members_alone() {
        let texts = [pair("user", "$a"), pair("a", "= b"), pair("b", "= c"), pair("c", "= a + 1")];
        let (parameters, mistakes) = resolve(&texts);
        let of = |name| format!("the parameter `{name}` depends on itself");
        assert_eq!(mistakes, [of("a"), of("b"), of("c")]);
        assert!(parameters.get("user").is_none());
    }

    #[test]
    fn an_unknown_parameter_is_reported_where_it_is_written() {
        let texts = [pair("a", "= b"), pair("b", "= nothing"), pair("c", "= 1 / 0")];
        let (_, mistakes) = resolve(&texts);
        assert_eq!(mistakes, ["unknown parameter `nothing`", "`1 / 0` divides by zero"]);
    }

    #[test]
    fn a_long_circle_gives_a_limited_number_of_mistakes() {
        let circle: Vec<_> = (0..5_000)
            .map(|n| pair(&format!("p{n}"), &format!("= p{}", (n + 1) % 5_000)))
            .collect();
        assert_eq!(resolve(&circle).1.len(), MAX_MISTAKES);
    }
}
