//! The interfaces that an assignment matches.

use std::collections::BTreeSet;
use std::str::Chars;

use shortflow_text::Named;

use super::file::{AssignFile, MachineFile};

impl AssignFile {
    /// Whether it reaches the interface of this name, of the machine of this name.
    pub(super) fn reaches(&self, name: &str, machine: &MachineFile, interface: &str) -> bool {
        fn any<N: AsRef<str>>(patterns: &Option<Vec<String>>, names: &[N]) -> bool {
            let is_there = |pattern: &String| names.iter().any(|name| fits(pattern, name.as_ref()));
            patterns.as_ref().is_none_or(|patterns| patterns.iter().any(is_there))
        }
        any(&self.machines, &[name])
            && any(&self.groups, &machine.groups)
            && any(&self.tags, &machine.tags)
            && any(&self.interfaces, &[interface])
    }
}

/// Why an assignment reaches nothing: the first key whose patterns fit no name of its kind.
pub(super) struct Missed<'f> {
    /// The key: `interfaces`.
    pub(super) key: &'static str,
    /// What has such names, in the singular.
    pub(super) kind: &'static str,
    /// The first pattern of the key.
    pub(super) pattern: &'f str,
    /// The names that there are.
    pub(super) names: BTreeSet<&'f str>,
}

impl AssignFile {
    /// The key of this assignment that fits no machine, group, tag or interface of the fleet; `None` if each key fits
    /// something.
    pub(super) fn missed<'f>(&'f self, machines: &'f Named<MachineFile>) -> Option<Missed<'f>> {
        let all = || machines.iter();
        let groups = || all().flat_map(|(_, machine)| machine.groups.iter().map(String::as_str));
        let tags = || all().flat_map(|(_, machine)| machine.tags.iter().map(String::as_str));
        let interfaces = || all().flat_map(|(_, machine)| machine.interfaces.names());
        let kinds: [(_, _, &Option<Vec<String>>, BTreeSet<&str>); 4] = [
            ("machines", "machine", &self.machines, machines.names().collect()),
            ("groups", "group", &self.groups, groups().collect()),
            ("tags", "tag", &self.tags, tags().collect()),
            ("interfaces", "interface", &self.interfaces, interfaces().collect()),
        ];
        kinds.into_iter().find_map(|(key, kind, patterns, names)| {
            let patterns = patterns.as_ref()?;
            let fits_some = |pattern: &String| names.iter().any(|name| fits(pattern, name));
            let pattern = patterns.first().filter(|_| !patterns.iter().any(fits_some))?;
            Some(Missed { key, kind, pattern, names })
        })
    }
}

/// Whether a name fits a pattern, in which `*` is any text and `?` any character.
pub(super) fn fits(pattern: &str, name: &str) -> bool {
    let (mut pattern, mut name) = (pattern.chars(), name.chars());
    // What follows the star that was met last, and what of the name it leaves: only that one need ever take more.
    let mut star: Option<(Chars, Chars)> = None;
    loop {
        let mut rest = name.clone();
        let Some(first) = rest.next() else { return pattern.all(|left| left == '*') };
        let mut behind = pattern.clone();
        match behind.next() {
            Some('*') => {
                star = Some((behind.clone(), name.clone()));
                pattern = behind;
            }
            Some(one) if one == '?' || one == first => (pattern, name) = (behind, rest),
            _ => {
                let Some((behind, left)) = &mut star else { return false };
                left.next();
                (pattern, name) = (behind.clone(), left.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_star_is_any_text_and_a_question_mark_any_character() {
        for (pattern, name) in
            [("gw1", "gw1"), ("gw*", "gw"), ("*-b?r", "gw-bar"), ("*a*b", "aab-ab"), ("*", "")]
        {
            assert!(fits(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in
            [("gw", "gw1"), ("gw?", "gw"), ("*a", "ab"), ("", "a"), ("a*b*c", "acb")]
        {
            assert!(!fits(pattern, name), "{pattern} {name}");
        }
    }

    /// By the definition: try every length for each star.
    fn oracle(pattern: &[u8], name: &[u8]) -> bool {
        match pattern.split_first() {
            None => name.is_empty(),
            Some((b'*', rest)) => (0..=name.len()).any(|taken| oracle(rest, &name[taken..])),
            Some((one, rest)) => name
                .split_first()
                .is_some_and(|(first, left)| (*one == b'?' || one == first) && oracle(rest, left)),
        }
    }

    proptest! {
        #[test]
        fn patterns_fit_what_their_definition_says(pattern in "[ab*?]{0,8}", name in "[ab]{0,10}") {
            prop_assert_eq!(fits(&pattern, &name), oracle(pattern.as_bytes(), name.as_bytes()));
        }
    }
}
