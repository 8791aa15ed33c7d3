//! Reno: fast recovery ends with the first new acknowledgement.

use shortflow_units::Instant;

use crate::sender::Sender;

impl Sender {
    /// RFC 5681 §3.2, step 6: the window deflates to ssthresh.
    pub(super) fn advance_reno(&mut self, now: Instant) {
        self.leave_recovery();
        self.restart_timer(now);
    }
}
