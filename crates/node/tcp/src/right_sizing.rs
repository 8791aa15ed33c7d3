//! The growth of Linux's receive window with the data received per round trip (dynamic right-sizing: Fisk &
//! Feng 2001), as far as it is visible: each segment that lets the window grow is acknowledged at once.
//!
//! The window itself never limits a sender here, so it stays as configured ([`Config::receive_window`]).
//!
//! [`Config::receive_window`]: crate::Config::receive_window

/// The memory of a socket in bytes (`net.ipv4.tcp_rmem`). 5/8 of it hold payload, because Ethernet segments
/// use buffers of 2304 bytes.
const MEMORY_AT_FIRST: u32 = 131_072;
const MAX_MEMORY: u32 = 6 << 20;

const fn payload_in(memory: u32) -> u32 {
    memory / 8 * 5
}

/// The initial window: the largest value without scaling.
const WINDOW_AT_FIRST: u32 = 65_535;

/// The segments per round trip without growth: the initial window of current senders (RFC 6928).
const SEGMENTS_AT_FIRST: u32 = 10;

/// The growth of a receive window.
#[derive(Debug)]
pub(crate) struct RightSizing {
    /// The upper limit of the window, in bytes.
    max: u32,
    /// The current limit.
    clamp: u32,
    /// The largest amount received in a round trip so far.
    fullest: u32,
    /// The start of the current round trip in the peer's stream; these bits are enough.
    from: u32,
}

impl RightSizing {
    /// A window at its initial size, for segments of this size, with this upper limit.
    pub(crate) fn new(mss: u16, max: u32) -> Self {
        let max = max.min(payload_in(MAX_MEMORY));
        RightSizing {
            max,
            clamp: max.min(payload_in(MEMORY_AT_FIRST)),
            fullest: SEGMENTS_AT_FIRST * u32::from(mss.max(1)),
            from: 1,
        }
    }

    /// The number of segments until the window reaches its first limit.
    pub(crate) fn at_first(mss: u16, max: u32) -> u16 {
        let segment = u32::from(mss.max(1));
        let clamp = max.min(payload_in(MEMORY_AT_FIRST));
        segments_to(WINDOW_AT_FIRST / segment * segment, clamp, segment)
    }

    /// A round trip has ended, with data up to `next` without a gap. Returns how many further segments let
    /// the window grow. The data received in it are what the sender had in flight. The next round trip may
    /// have twice that, and if it was more than in any earlier one, twice the share again, so that slow start
    /// finds room.
    #[cold]
    pub(crate) fn on_round_trip(&mut self, next: u64, mss: u16) -> u16 {
        let came = (next as u32).wrapping_sub(self.from);
        self.from = next as u32;
        if came <= self.fullest {
            return 0;
        }
        let fullest = u64::from(std::mem::replace(&mut self.fullest, came));
        let came = u64::from(came);
        let twice = 2 * came;
        let ahead = 2 * (twice * (came - fullest) / fullest.max(1));
        let may = (twice + ahead).min(self.max.into()) as u32;
        let more = segments_to(self.clamp, may, mss.max(1).into());
        self.clamp = self.clamp.max(may);
        more
    }
}

/// The number of segments that let a window grow from one size to another: each adds two segments.
fn segments_to(from: u32, to: u32, segment: u32) -> u16 {
    u16::try_from(to.saturating_sub(from).div_ceil(2 * segment)).unwrap_or(u16::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many more segments let the window grow, for each round trip of these segments.
    fn growth(sizing: &mut RightSizing, next: &mut u64, round_trips: &[u64]) -> Vec<u16> {
        let mut one = |segments: &u64| {
            *next += 1448 * segments;
            sizing.on_round_trip(*next, 1448)
        };
        round_trips.iter().map(&mut one).collect()
    }

    #[test]
    fn as_many_segments_let_the_window_grow_as_memory_is_made_for() {
        assert_eq!(
            RightSizing::at_first(1448, u32::MAX),
            6,
            "from 64 KB to what the memory at first holds"
        );
        let mut sizing = RightSizing::new(1448, u32::MAX);
        // Slow start: 120 segments are made room for after 20, 240 after 40, 480 after 80, in steps of two.
        assert_eq!(growth(&mut sizing, &mut 1, &[10, 20, 40, 80]), [0, 32, 60, 120]);
    }

    #[test]
    fn a_steady_sender_lets_it_grow_once_and_a_gap_that_is_filled_again() {
        let mut sizing = RightSizing::new(1448, u32::MAX);
        let mut next = 1;
        assert_eq!(growth(&mut sizing, &mut next, &[40, 40, 40]), [252, 0, 0]);
        assert!(
            growth(&mut sizing, &mut next, &[500])[0] > 1000,
            "they waited behind one that was lost"
        );
    }

    #[test]
    fn it_grows_no_further_than_memory_goes() {
        let mut sizing = RightSizing::new(1448, u32::MAX);
        growth(&mut sizing, &mut 1, &[10_000]);
        assert_eq!(sizing.clamp, 3_932_160);
        let mut held = RightSizing::new(1448, 32 << 10);
        assert_eq!(RightSizing::at_first(1448, 32 << 10), 0);
        assert_eq!(growth(&mut held, &mut 1, &[20, 40]), [0, 0], "who sets the window keeps it");
    }
}
