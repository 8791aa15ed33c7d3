//! The meaning of keys.

/// What a key asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wish {
    /// The next policy.
    NextPolicy,
    /// The end.
    Quit,
}

impl Wish {
    /// What a single key asks for.
    pub(crate) fn from_key(key: u8) -> Option<Wish> {
        match key {
            b'n' => Some(Wish::NextPolicy),
            b'q' => Some(Wish::Quit),
            _ => None,
        }
    }
}

/// Ctrl-], after which a key is ours.
pub(crate) const PREFIX: u8 = 0x1d;

/// Keys that belong to the shell, except for those after Ctrl-].
#[derive(Debug, Default)]
pub(crate) struct Prefixed {
    /// Ctrl-] was pressed, and nothing after it.
    pub(crate) is_open: bool,
}

impl Prefixed {
    /// Splits these keys into those of the shell and the commands. Ctrl-] twice is one Ctrl-].
    pub(crate) fn sort(&mut self, keys: &[u8]) -> (Vec<u8>, Vec<Wish>) {
        let (mut others, mut wishes) = (Vec::new(), Vec::new());
        for &key in keys {
            match (std::mem::take(&mut self.is_open), key) {
                (false, PREFIX) => self.is_open = true,
                (false, _) | (true, PREFIX) => others.push(key),
                (true, _) => wishes.extend(Wish::from_key(key)),
            }
        }
        (others, wishes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_after_the_prefix_are_ours_and_all_others_are_not() {
        let mut keys = Prefixed::default();
        let wishes = vec![Wish::NextPolicy, Wish::Quit];
        assert_eq!(keys.sort(b"qn\x1dn ls\x1dq"), (b"qn ls".to_vec(), wishes));
        assert_eq!(keys.sort(b"a\x1d"), (b"a".to_vec(), vec![]));
        assert!(keys.is_open);
        assert_eq!(keys.sort(b"n"), (vec![], vec![Wish::NextPolicy]), "it may come later");
        assert_eq!(keys.sort(b"\x1d\x1d"), (vec![PREFIX], vec![]));
        assert_eq!(keys.sort(b"\x1dxx"), (b"x".to_vec(), vec![]), "an unknown one does nothing");
    }
}
