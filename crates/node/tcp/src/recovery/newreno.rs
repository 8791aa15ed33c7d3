//! NewReno: a partial acknowledgement shows the next hole (RFC 6582).

use super::{Asks, LossRecovery, Outstanding};

impl LossRecovery {
    /// RFC 6582 §3.2, step 3.
    pub(super) fn advance_newreno(&mut self, sent: &Outstanding, acknowledged: u64) -> Asks {
        if sent.una >= self.recover {
            // A full acknowledgement, option 1: the window does not allow a burst.
            self.leave();
            let mss = u64::from(sent.mss);
            let room = sent.flight().max(mss) + mss;
            return Asks { cap_window: Some(room), restart_timer: true, ..Asks::default() };
        }
        let acknowledged = u32::try_from(acknowledged).unwrap_or(u32::MAX);
        self.inflation = self.inflation.saturating_sub_unsigned(acknowledged);
        if acknowledged >= sent.mss {
            self.inflation = self.inflation.saturating_add_unsigned(sent.mss);
        }
        // The "impatient" variant (RFC 6582 §4): with many losses a timeout is faster.
        let restart_timer = !self.partial_seen;
        self.partial_seen = true;
        Asks { restart_timer, retransmit_first: true, ..Asks::default() }
    }
}
