//! The part of `docs/schemes.md` on keys.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::{Accounted, ENGINES, OF_POLICIES, OF_SCENARIOS, Use};

/// Which engine uses which key, and why not.
pub(crate) fn page() -> String {
    let mut text = String::from(
        "## Which engine uses which key\n\n\
         Each key was changed in small networks (`crates/cli/tests/keys`), and the results of each engine compared. A key is *used*, \
         *refused* by name, or declared to have *no effect*; *ignored* means that it is not classified yet. The reasons follow the \
         tables. `deploy` does not deploy scenarios.\n",
    );
    let mut reasons: BTreeMap<(usize, String), Vec<String>> = BTreeMap::new();
    for (title, found) in [("policies", &*OF_POLICIES), ("scenarios", &*OF_SCENARIOS)] {
        let _ = write!(
            text,
            "\n### Keys of {title}\n\n| table | key | simulate | predict | rehearse | deploy |\n|---|---|---|---|---|---|\n"
        );
        for Accounted { scheme, key, by } in found {
            let _ = write!(text, "| `{scheme}` | `{key}` |");
            for (engine, found) in by.iter().enumerate() {
                let (word, why) = match found {
                    Ok(Use::Used) => ("used", None),
                    Ok(Use::Foreign) => ("–", None),
                    Ok(Use::Refused(why)) => ("refused", Some(why)),
                    Ok(Use::NoEffect(why)) => ("no effect", Some(why)),
                    Err(_) => ("ignored", None),
                };
                let _ = write!(text, " {word} |");
                if let Some(why) = why {
                    let why = why.lines().next().unwrap_or_default().to_owned();
                    let name = format!("`{scheme}` `{key}`");
                    reasons.entry((engine, why)).or_default().push(name);
                }
            }
            text.push('\n');
        }
    }
    text += "\n### Why\n\n";
    for ((engine, why), keys) in reasons {
        let _ = writeln!(text, "- {}, {}: {why}", ENGINES[engine], keys.join(", "));
    }
    text
}
