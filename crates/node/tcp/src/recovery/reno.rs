//! Reno: fast recovery ends with the first new acknowledgement. It repairs one loss per window. A second loss
//! waits for the timer, as in the model of Padhye et al. (2000, §II) and in ns-2.

use super::{Asks, LossRecovery};

impl LossRecovery {
    /// RFC 5681 §3.2, step 6: the window deflates to ssthresh.
    pub(super) fn advance_reno(&mut self) -> Asks {
        self.leave();
        Asks { restart_timer: true, ..Asks::default() }
    }
}
