//! Verdicts of machines on versions, as entries below `ou=verdicts`.

use super::escaped;
use super::ldif::Entry;
use crate::verdict::Verdict;

/// The class of these entries.
pub(super) const VERDICT_CLASS: &str = "shortflowVerdict";
/// The values of the attribute that says what a version was found to be.
const WORSE: &str = "worse";
const NO_WORSE: &str = "no worse";

/// The entry of a machine's verdict, in the repository below `base`.
pub fn verdict_entry(verdict: &Verdict, base: &str) -> Entry {
    let attribute = |name: &str, value: &str| (name.to_owned(), value.as_bytes().to_vec());
    let outcome = if verdict.is_worse { WORSE } else { NO_WORSE };
    Entry::new(
        format!("cn={},ou=verdicts,{base}", escaped(&verdict.machine)),
        vec![
            attribute("objectClass", VERDICT_CLASS),
            attribute("cn", &verdict.machine),
            attribute("shortflowDigest", &verdict.digest),
            attribute("shortflowOutcome", outcome),
            attribute("description", &verdict.why),
        ],
    )
}

/// The entry below which they are, in the repository below `base`.
pub fn verdicts_unit(base: &str) -> Entry {
    let attribute = |name: &str, value: &str| (name.to_owned(), value.as_bytes().to_vec());
    let classes = attribute("objectClass", "organizationalUnit");
    Entry::new(format!("ou=verdicts,{base}"), vec![classes, attribute("ou", "verdicts")])
}

/// Whether an entry is a machine's verdict.
pub fn is_verdict(entry: &Entry) -> bool {
    entry.is_a(VERDICT_CLASS)
}

/// What these entries say; one that is half written says nothing.
pub fn verdicts(entries: &[Entry]) -> Vec<Verdict> {
    let read = |entry: &Entry| {
        let text = |name: &str| Some(String::from_utf8_lossy(entry.value(name)?).into_owned());
        let is_worse = match text("shortflowOutcome")?.as_str() {
            WORSE => true,
            NO_WORSE => false,
            _ => return None,
        };
        let why = text("description").unwrap_or_default();
        Some(Verdict { machine: text("cn")?, digest: text("shortflowDigest")?, is_worse, why })
    };
    entries.iter().filter(|entry| is_verdict(entry)).filter_map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_comes_back_from_its_entry_and_half_of_one_says_nothing() {
        let verdict = Verdict {
            machine: "gw1".to_owned(),
            digest: "51ac27cbd00c".to_owned(),
            is_worse: true,
            why: "eth0: packets wait".to_owned(),
        };
        let entry = verdict_entry(&verdict, "ou=shortflow,dc=example,dc=org");
        assert_eq!(entry.dn, "cn=gw1,ou=verdicts,ou=shortflow,dc=example,dc=org");
        assert_eq!(verdicts(std::slice::from_ref(&entry)), [verdict]);
        for without in ["shortflowDigest", "shortflowOutcome", "objectClass"] {
            let mut half = entry.clone();
            half.attributes.retain(|(name, _)| name != without);
            assert_eq!(verdicts(&[half]), [], "{without}");
        }
    }
}
