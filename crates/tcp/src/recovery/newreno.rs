//! NewReno: a partial acknowledgement tells the next hole (RFC 6582).

use shortflow_units::{Bytes, Instant};

use crate::congestion::CongestionControl;
use crate::sender::{Sender, Urgent};

impl Sender {
    /// RFC 6582 §3.2, step 3.
    pub(super) fn advance_newreno(&mut self, now: Instant, acknowledged: u64) {
        if self.una >= self.recover {
            self.end_newreno();
            self.restart_timer(now);
            return;
        }
        self.urgent = Urgent::FirstSegment;
        let mss = u64::from(self.mss);
        self.inflation -= acknowledged as i32;
        if acknowledged >= mss {
            self.inflation += mss as i32;
        }
        // The "impatient" variant (RFC 6582 §4): with many losses a timeout is quicker.
        if !self.partial_seen {
            self.partial_seen = true;
            self.restart_timer(now);
        }
    }

    /// A full acknowledgement, option 1: the window leaves no room for a burst.
    fn end_newreno(&mut self) {
        let mss = u64::from(self.mss);
        self.congestion.cap_window(Bytes(self.flight().max(mss) + mss));
        self.leave_recovery();
    }
}
