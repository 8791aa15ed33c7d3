//! The file of figures: every set that ever was, the newest last, each with the reason for it.

use std::collections::BTreeMap;

use toml::{Table, Value};

/// Instructions by work.
pub(super) type Counts = BTreeMap<String, u64>;

/// The counts of all works at one time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Set {
    /// Why they took the place of those before.
    pub(super) reason: String,
    /// Compiler and target.
    pub(super) toolchain: String,
    pub(super) instructions: Counts,
}

/// All sets, the newest last.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Figures(pub(super) Vec<Set>);

impl Figures {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let table: Table = text.parse().map_err(|error| format!("figures: {error}"))?;
        let Some(sets) = table.get("figures") else { return Ok(Figures(Vec::new())) };
        let sets = sets.as_array().ok_or("`figures` are tables: [[figures]]")?;
        sets.iter().map(set).collect::<Option<_>>().map(Figures).ok_or_else(|| {
            "each of [[figures]] has a reason, a toolchain and instructions".to_owned()
        })
    }

    /// The newest of this toolchain.
    pub(super) fn latest(&self, toolchain: &str) -> Option<&Set> {
        self.0.iter().rev().find(|set| set.toolchain == toolchain)
    }

    /// The newest of any toolchain.
    pub(super) fn newest(&self) -> Option<&Set> {
        self.0.last()
    }
}

fn set(value: &Value) -> Option<Set> {
    let text = |key| Some(value.get(key)?.as_str()?.to_owned());
    let count = |(work, count): (&String, &Value)| {
        Some((work.clone(), u64::try_from(count.as_integer()?).ok()?))
    };
    Some(Set {
        reason: text("reason")?,
        toolchain: text("toolchain")?,
        instructions: value
            .get("instructions")?
            .as_table()?
            .iter()
            .map(count)
            .collect::<Option<_>>()?,
    })
}

/// The text with one more set at its end.
pub(super) fn renewed(text: &str, set: &Set) -> String {
    let counts: Vec<String> =
        set.instructions.iter().map(|(work, &n)| format!("{work} = {}", grouped(n))).collect();
    let quoted = |text: &str| Value::String(text.to_owned());
    format!(
        "{}\n\n[[figures]]\nreason = {}\ntoolchain = {}\ninstructions = {{ {} }}\n",
        text.trim_end(),
        quoted(&set.reason),
        quoted(&set.toolchain),
        counts.join(", ")
    )
}

/// `1234567` as `1_234_567`.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push('_');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(reason: &str) -> Set {
        Set {
            reason: reason.to_owned(),
            toolchain: "rustc 1".to_owned(),
            instructions: Counts::from([("A".to_owned(), 1_234_567), ("S".to_owned(), 12)]),
        }
    }

    #[test]
    fn what_is_renewed_is_read_again_with_its_reason() {
        let once = renewed("# A comment that stays.\n", &set("the \"first\""));
        let twice = renewed(&once, &set("the second"));
        assert!(twice.starts_with("# A comment that stays.\n"));
        assert_eq!(
            Figures::parse(&twice),
            Ok(Figures(vec![set("the \"first\""), set("the second")]))
        );
    }

    #[test]
    fn a_set_without_a_reason_is_refused() {
        let text = "[[figures]]\ntoolchain = 'rustc 1'\ninstructions = { A = 1 }";
        assert!(Figures::parse(text).unwrap_err().contains("a reason"));
    }

    #[test]
    fn numbers_are_grouped_by_three() {
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1_000", "1_234_567"]);
    }
}
