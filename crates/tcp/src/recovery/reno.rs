//! Reno: fast recovery ends with the first new acknowledgement. It repairs one loss per window;
//! a second one waits for the timer, as in the model of Padhye et al. (2000, §II) and in ns-2.

use shortflow_units::Instant;

use crate::sender::Sender;

impl Sender {
    /// RFC 5681 §3.2, step 6: the window deflates to ssthresh.
    pub(super) fn advance_reno(&mut self, now: Instant) {
        self.leave_recovery();
        self.restart_timer(now);
    }
}
