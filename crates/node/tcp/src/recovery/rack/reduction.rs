//! Proportional rate reduction (RFC 6937; RFC 9937): during fast recovery a sender sends in proportion to the
//! data delivered, until the window has fallen to the target of congestion control.

/// A reduction in progress, in bytes. The allowance is rounded up to whole segments: a segment is sent as
/// soon as a part of it is allowed.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Reduction {
    /// RecoverFS of the RFC: the window at the start of the reduction.
    before: u64,
    /// ssthresh.
    target: u64,
    /// prr_delivered: bytes delivered since.
    delivered: u64,
    /// prr_out: bytes sent since.
    sent: u64,
}

impl Reduction {
    /// From a window of `before` bytes down to `target`.
    pub(crate) fn new(before: u64, target: u64) -> Self {
        Reduction { before: before.max(1), target, delivered: 0, sent: 0 }
    }

    /// `bytes` of new or old data were sent.
    pub(crate) fn on_send(&mut self, bytes: u64) {
        self.sent += bytes;
    }

    /// `delivered` more bytes reached the peer, which leaves `pipe` bytes in flight. `is_safe` means that the
    /// cumulative acknowledgement moved and no further loss was detected (SafeACK, RFC 9937 §6.2). Returns
    /// the window, for segments of `mss` bytes.
    pub(crate) fn on_ack(&mut self, pipe: u64, delivered: u64, is_safe: bool, mss: u64) -> u64 {
        self.delivered += delivered;
        let allowed = if pipe > self.target {
            let share = u128::from(self.delivered) * u128::from(self.target);
            let share = share.div_ceil(u128::from(self.before)) as u64;
            (share.div_ceil(mss) * mss).saturating_sub(self.sent)
        } else {
            let more = if is_safe { mss } else { 0 };
            let behind = self.delivered.saturating_sub(self.sent);
            (behind.max(delivered) + more).min(self.target - pipe)
        };
        // The first retransmission is sent at once.
        pipe + if self.sent == 0 { allowed.max(mss) } else { allowed }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    /// A recovery from twenty segments in flight to ten, of which the first is lost: every acknowledgement
    /// tells of one more segment held. What goes out after each of them.
    fn sent_after_each(target: u64, acks: u64, lost: u64) -> Vec<u64> {
        let mut reduction = Reduction::new(20 * MSS, target * MSS);
        let mut pipe = (20 - lost) * MSS;
        let mut all = Vec::new();
        for _ in 0..acks {
            pipe -= MSS;
            let window = reduction.on_ack(pipe, MSS, false, MSS);
            let mut count = 0;
            while pipe + MSS <= window {
                pipe += MSS;
                reduction.on_send(MSS);
                count += 1;
            }
            all.push(count);
        }
        all
    }

    /// RFC 6937 §4, first example: half the window is left, and after the fast retransmit one segment goes
    /// for every other acknowledgement; what is in flight comes down to ten.
    #[test]
    fn half_the_window_is_left_by_one_segment_for_two_acknowledgements() {
        let sent = sent_after_each(10, 18, 1);
        assert_eq!(sent[..8], [1, 0, 1, 0, 1, 0, 1, 0]);
        assert_eq!(sent.iter().sum::<u64>(), 9);
    }

    /// RFC 9438 §4.6 with it: seven of ten acknowledgements bring a segment.
    #[test]
    fn seven_tenths_of_the_window_are_left_by_seven_segments_for_ten_acknowledgements() {
        let sent = sent_after_each(14, 10, 1);
        assert_eq!(sent.iter().sum::<u64>(), 7);
    }

    /// RFC 6937 §4, second example: most of a window is lost, so that less is in flight than the target; a
    /// segment goes for each that is delivered, no burst fills the room (the conservative bound).
    #[test]
    fn below_the_target_a_segment_goes_for_each_that_is_delivered() {
        assert_eq!(sent_after_each(10, 5, 15), [1, 1, 1, 1, 1]);
    }

    /// RFC 9937 §6.2: where acknowledgements advance and tell of no further loss, the window catches up as in
    /// slow start, by one segment more for each, and stops at the target.
    #[test]
    fn progress_lets_the_window_grow_back_to_the_target() {
        let mut reduction = Reduction::new(20 * MSS, 10 * MSS);
        reduction.on_send(MSS);
        assert_eq!(reduction.on_ack(4 * MSS, MSS, true, MSS), 6 * MSS);
        reduction.on_send(2 * MSS);
        assert_eq!(reduction.on_ack(9 * MSS, MSS, true, MSS), 10 * MSS);
    }

    #[test]
    fn the_first_retransmission_does_not_wait_for_its_share() {
        let mut reduction = Reduction::new(20 * MSS, 2 * MSS);
        assert_eq!(reduction.on_ack(19 * MSS, 0, false, MSS), 20 * MSS);
    }
}
