//! Keys that an engine declares to have no effect on its results.

use shortflow_text::{WrittenKey, WrittenKeys};

/// A key that has no effect on the results of an engine, and the reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WithoutEffect {
    /// The table of the key, as [`format_keys`](crate::format_keys) names it: `queue.red`, `marker.dstf`,
    /// `match`.
    pub scheme: &'static str,
    /// The key, or `*` for all keys of the table.
    pub key: &'static str,
    /// The reason, as a clause: "CoDel drops nothing at this load".
    pub reason: &'static str,
}

impl WithoutEffect {
    /// The declaration for a key in `declared`.
    pub fn find<'d>(
        declared: &'d [WithoutEffect],
        scheme: &str,
        key: &str,
    ) -> Option<&'d WithoutEffect> {
        declared.iter().find(|one| one.scheme == scheme && [key, "*"].contains(&one.key))
    }

    /// One sentence for each key of `texts` that `declared` has and `counts` accepts, with its positions.
    /// `engine` is the verb of the command: `predict`.
    pub fn notes<'w>(
        declared: &[WithoutEffect],
        engine: &str,
        texts: impl IntoIterator<Item = &'w WrittenKeys>,
        counts: impl Fn(&WrittenKey) -> bool,
    ) -> Vec<String> {
        let mut found: Vec<(&WithoutEffect, Vec<&str>)> = Vec::new();
        let texts = texts.into_iter().filter(|text| {
            declared.iter().any(|one| one.name().is_none_or(|name| text.mentions(name)))
        });
        for key in texts.flat_map(WrittenKeys::all).filter(|key| counts(key)) {
            let Some(one) = WithoutEffect::find(declared, &key.of.scheme, &key.of.key) else {
                continue;
            };
            match found.iter_mut().find(|(other, _)| *other == one) {
                Some((_, paths)) => paths.push(&key.path),
                None => found.push((one, vec![&key.path])),
            }
        }
        let note = |(one, paths): (&WithoutEffect, Vec<&str>)| {
            let others = match paths.len() - 1 {
                0 => String::new(),
                others => format!(" (and {others} more)"),
            };
            format!("`{}`{others} has no effect in `{engine}`: {}.", paths[0], one.reason)
        };
        found.into_iter().map(note).collect()
    }

    /// The name of the key in the text. `None` if the declaration is for any key of a table, unless that
    /// table is an option of a choice.
    fn name(&self) -> Option<&'static str> {
        match self.key {
            "*" => self.scheme.split_once('.').map(|(_, option)| option),
            key => key.rsplit('.').next(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_names_the_first_place_and_counts_the_others() {
        const DECLARED: &[WithoutEffect] = &[
            WithoutEffect { scheme: "queue.red", key: "mean_packet", reason: "it is never idle" },
            WithoutEffect { scheme: "police", key: "*", reason: "it drops nothing" },
        ];
        let text = r#"
            [roles.a.queue.red]
            limit = "9 pkt"
            min_threshold = "2 pkt"
            max_threshold = "4 pkt"
            max_probability = 0.1
            mean_packet = "900 B"
            [[roles.a.classes]]
            name = "all"
            marker.token-bucket = { rate = "1 Mbit/s", depth = "3 KB" }
            police = { green = "drop", yellow = "drop" }
        "#;
        let policy = crate::from_text("a.toml", text, &[]).unwrap();
        assert_eq!(
            WithoutEffect::notes(DECLARED, "predict", [&policy.written], |_| true),
            [
                "`roles.a.queue.red.mean_packet` has no effect in `predict`: it is never idle.",
                "`roles.a.classes.0.police.green` (and 1 more) has no effect in `predict`: it drops nothing.",
            ]
        );
        // A default that is written out changes nothing, and is not worth a note.
        let plain = text.replace("900 B", "500 B");
        let policy = crate::from_text("a.toml", &plain, &[]).unwrap();
        assert_eq!(
            WithoutEffect::notes(&DECLARED[..1], "predict", [&policy.written], |_| true),
            [""; 0]
        );
    }
}
