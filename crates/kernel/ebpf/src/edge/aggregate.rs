//! The connections of an aggregate, as the program keeps them: `struct aggregate` of programs/classes.h.

use shortflow_elements::marker::AggregateMarkerParams;
use shortflow_elements::sharing::{Depths, Sharing};

use super::{MAX_AGGREGATE_DEPTH, MAX_CONNECTIONS, MAX_RATE, Unsupported};

/// Bytes before the connections, and of each.
pub(super) const HEAD: usize = 424;
pub(super) const CONNECTION: usize = 88;
/// Whether a processor works on it.
#[cfg(feature = "ebpf")]
const IS_TAKEN: usize = 4;

/// The aggregate of a class, without connections, and with a full bucket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Aggregate {
    /// Which of the program's it is.
    pub(super) number: usize,
    /// The depth of the bucket in tokens.
    pub(super) depth: u64,
}

impl Aggregate {
    /// `struct aggregate` at a time.
    #[cfg_attr(not(feature = "ebpf"), expect(dead_code, reason = "nobody loads it"))]
    pub(super) fn packed(&self, now: u64) -> Vec<u8> {
        // Nobody works on it, no packet has come, the peak rate asks for nothing, and nobody holds anything yet.
        let words = [0, 0, now, 0, 0, self.depth];
        let mut bytes: Vec<u8> = words.into_iter().flat_map(u64::to_ne_bytes).collect();
        bytes.resize(HEAD + MAX_CONNECTIONS * CONNECTION, 0);
        bytes
    }
}

/// Whether the program has room for it.
pub(super) fn check(params: &AggregateMarkerParams) -> Result<(), Unsupported> {
    let (profile, found) = (&params.profile, params.connections.connections());
    if found > MAX_CONNECTIONS {
        let what = "connections of an aggregate";
        return Err(Unsupported::TooMany { what, found, max: MAX_CONNECTIONS });
    }
    if profile.depth().0 > MAX_AGGREGATE_DEPTH {
        return Err(Unsupported::Deep { bytes: profile.depth().0, max: MAX_AGGREGATE_DEPTH });
    }
    match profile.rate() {
        rate if rate > MAX_RATE => Err(Unsupported::Fast { rate }),
        _ => Ok(()),
    }
}

/// The sharing of tokens, by its number in programs/classes.h, and whether depths depend on round-trip times.
pub(super) fn sharing(sharing: Sharing) -> [u8; 2] {
    match sharing {
        Sharing::Partitioned(depths) => [0, (depths == Depths::ByRtt).into()],
        Sharing::Common => [1, 0],
        Sharing::Logical(depths) => [2, (depths == Depths::ByRtt).into()],
    }
}

/// What `read` gives while no processor works on it: two times the same. None where they never leave it alone.
#[cfg(feature = "ebpf")]
pub(super) fn read_at_rest<E>(read: &dyn Fn() -> Result<Vec<u8>, E>) -> Result<Option<Vec<u8>>, E> {
    const LOOKS: usize = 1000;
    let mut before = read()?;
    for _ in 0..LOOKS {
        let now = read()?;
        if now == before && now.get(IS_TAKEN..).is_some_and(|rest| rest.starts_with(&[0; 4])) {
            return Ok(Some(now));
        }
        before = now;
    }
    Ok(None)
}

#[cfg(all(test, feature = "ebpf"))]
mod tests {
    use super::*;

    #[test]
    fn what_changes_or_is_worked_on_is_not_taken_for_what_it_is_at_rest() {
        let looks = std::cell::Cell::new(0);
        let read = || -> Result<Vec<u8>, ()> {
            looks.set(looks.get() + 1);
            // It changes, is worked on for two looks, and rests from the fifth on.
            Ok(match looks.get() {
                1 => vec![0; 9],
                2 => vec![0, 0, 0, 0, 0, 0, 0, 0, 7],
                3 | 4 => vec![0, 0, 0, 0, 1, 0, 0, 0, 8],
                _ => vec![0, 0, 0, 0, 0, 0, 0, 0, 9],
            })
        };
        assert_eq!(read_at_rest(&read).unwrap().unwrap()[8], 9);
        assert_eq!(looks.get(), 6);
        assert_eq!(read_at_rest(&|| Ok::<_, ()>(vec![0, 0, 0, 0, 1, 0, 0, 0])).unwrap(), None);
    }
}
