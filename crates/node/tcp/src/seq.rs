//! Sequence numbers: 32 bits that wrap on the wire, 64-bit stream offsets inside.
//!
//! An offset counts sequence numbers from the initial one: the SYN is offset 0, the first byte of
//! data offset 1, and the FIN follows the last byte.

/// The sequence number of `offset` in a stream that starts at `initial` (RFC 9293 §3.4).
#[inline]
pub(crate) fn to_wire(initial: u32, offset: u64) -> u32 {
    initial.wrapping_add(offset as u32)
}

/// The offset closest to `near` with this sequence number. A number before the stream's start gives an offset
/// that can never be sent.
#[inline]
pub(crate) fn from_wire(initial: u32, near: u64, sequence: u32) -> u64 {
    let distance = sequence.wrapping_sub(to_wire(initial, near)) as i32;
    near.wrapping_add_signed(i64::from(distance))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offset_survives_the_wire_across_the_wrap() {
        let initial = u32::MAX - 10;
        for offset in [0u64, 10, 11, 12, 1 << 31, (1 << 32) - 1, 1 << 32, 5 << 32] {
            for near in [offset, offset.saturating_sub(1_000_000), offset + 1_000_000] {
                assert_eq!(from_wire(initial, near, to_wire(initial, offset)), offset);
            }
        }
    }

    #[test]
    fn a_number_from_before_the_start_is_beyond_all_that_is_sent() {
        assert!(from_wire(100, 0, 99) > u64::MAX / 2);
    }
}
