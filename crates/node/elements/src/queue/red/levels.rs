//! The levels of a RED gate, inside the gate if they are few.

use std::ops::{Deref, DerefMut};

use super::Level;

/// Up to three levels, as in assured forwarding, are inside the gate; more are in separate memory.
#[derive(Debug)]
pub(super) enum Levels {
    Few([Level; INLINE_LEVELS]),
    Many(Box<[Level]>),
}

const INLINE_LEVELS: usize = 3;

impl Levels {
    pub(super) fn new(levels: usize) -> Self {
        if levels <= INLINE_LEVELS {
            Levels::Few(Default::default())
        } else {
            Levels::Many(vec![Level::default(); levels].into())
        }
    }
}

impl Deref for Levels {
    type Target = [Level];

    #[inline]
    fn deref(&self) -> &[Level] {
        match self {
            Levels::Few(few) => few,
            Levels::Many(many) => many,
        }
    }
}

impl DerefMut for Levels {
    #[inline]
    fn deref_mut(&mut self) -> &mut [Level] {
        match self {
            Levels::Few(few) => few,
            Levels::Many(many) => many,
        }
    }
}
