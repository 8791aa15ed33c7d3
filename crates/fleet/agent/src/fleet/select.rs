//! The interfaces that an assignment matches.

use std::str::Chars;

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
