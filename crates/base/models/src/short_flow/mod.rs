//! Completion times of short flows, some of whose segments are marked for lower loss: Casetti & Mellia, "A
//! lightweight marker with partial state information for DiffServ networks", Computer Networks 48, 2005, §6.1, eqs. 1
//! to 3, after Mellia, Stoica & Zhang 2002.
//!
//! The model: slow start in rounds, no delayed acknowledgements, independent losses of segments, no lost
//! acknowledgements. Segments are green while the flow has credits, and yellow afterwards. A timeout costs T, renews
//! the credits of the flow, and restarts from a window of one; segments that arrived after a loss are not sent again.
//! A single first segment is repeated with doubling timeouts.
//!
//! The paper gives bursts of one segment (eq. 2) and of two (eq. 3), and leaves the others to "extending the previous
//! reasoning" in a report that is not given. Our part: the f segments ahead of the first loss are acknowledged, and
//! let 2f more go a round trip later; three or more segments that arrive after a loss make a fast retransmit, after
//! which the rest is sent in half the burst, one segment more each round trip; with fewer it is a timeout.
//!
//! [`ShortFlow::enumerated`] enumerates every loss pattern, [`ShortFlow::by_recursion`] every number of losses.

mod enumeration;
mod recursion;

use crate::{ModelError, Range};

/// Segments up to which every pattern of losses is gone through.
pub const MAX_ENUMERATED: u32 = 9;

/// Segments up to which the recursion goes: what it keeps grows with their square.
pub const MAX_SEGMENTS: u32 = 64;

/// Credits up to which the model goes; more than that is all green.
pub const MAX_CREDITS: u32 = 64;

/// A flow's path and marks. Times are in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ShortFlow {
    /// R: the mean round-trip time.
    pub rtt: f64,
    /// T: the first retransmission timeout of a series.
    pub timeout: f64,
    /// The first timeout of the handshake; the paper takes T.
    pub setup_timeout: f64,
    /// p: the probability that a green segment is lost, below ½.
    pub green_loss: f64,
    /// k: the probability that a yellow segment is lost, below ½; see [`composed_loss`].
    pub yellow_loss: f64,
    /// t_ft: how many packets of a flow are green, of which the handshake takes two; granted anew
    /// after a timeout. At most 64.
    pub credits: u32,
    /// The first window in segments; the paper has 1.
    pub initial_window: u32,
}

/// k = q(1 − p_tr) + p·p_tr: the loss of what was to be yellow, a share `promoted` of which is made
/// green. All three from 0 to 1.
pub fn composed_loss(green: f64, yellow: f64, promoted: f64) -> Result<f64, ModelError> {
    let share = Range::from_to(0.0, 1.0);
    share.check("the loss probability of green", green)?;
    share.check("the loss probability of yellow", yellow)?;
    share.check("the share that is promoted", promoted)?;
    Ok(yellow * (1.0 - promoted) + green * promoted)
}

/// How a window grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Growth {
    /// By a segment for each acknowledgement.
    SlowStart,
    /// By a segment for each round trip.
    Avoidance,
}

/// Where a flow stands before a round: C with m, c and w of the paper, and how w grows.
#[derive(Debug, Clone, Copy)]
struct State {
    /// m: segments that the receiver lacks.
    left: u32,
    /// w.
    window: u32,
    /// c.
    credits: u32,
    growth: Growth,
}

impl State {
    /// Whether a segment goes by itself: eq. 2 then holds.
    fn is_alone(&self) -> bool {
        self.window == 1 || self.left == 1
    }

    /// How many are sent in the round.
    fn sent(&self) -> u32 {
        self.window.min(self.left)
    }

    /// When none is lost.
    fn after_all(&self) -> State {
        let sent = self.sent();
        let window = match self.growth {
            Growth::SlowStart => self.window + sent,
            Growth::Avoidance => self.window + 1,
        };
        State {
            left: self.left - sent,
            window,
            credits: self.credits.saturating_sub(sent),
            ..*self
        }
    }

    /// How many more go out when `ahead` segments before the first loss are acknowledged.
    fn second_wave(&self, ahead: u32) -> u32 {
        let allowed = match self.growth {
            Growth::SlowStart => 2 * ahead,
            Growth::Avoidance => ahead,
        };
        allowed.min(self.left - self.sent())
    }
}

impl ShortFlow {
    /// The mean time of a handshake: C_s of eq. 1, green when there are credits and yellow when
    /// `credits` is 0. Only what goes to the receiver is lost.
    pub fn setup_time(&self) -> Result<f64, ModelError> {
        self.check()?;
        let loss = self.loss(1, self.credits);
        Ok(self.rtt + self.setup_timeout * loss / (1.0 - 2.0 * loss))
    }

    /// The mean completion time of a transfer of `segments`, from 1 to 64, from the first SYN to the
    /// last acknowledgement (C¹ of §6.1): by every pattern of losses up to 9 segments of a first
    /// window of 1, by the recursion else. Both agree where both run.
    pub fn completion_time(&self, segments: u32) -> Result<f64, ModelError> {
        if segments <= MAX_ENUMERATED && self.initial_window == 1 {
            return self.enumerated(segments);
        }
        self.by_recursion(segments)
    }

    /// Goes through every pattern of losses: exponential in `segments`, from 1 to 9.
    pub fn enumerated(&self, segments: u32) -> Result<f64, ModelError> {
        let setup = self.setup_time()?;
        Range::from_to(1.0, f64::from(MAX_ENUMERATED))
            .check("the length in segments", f64::from(segments))?;
        Ok(setup + enumeration::expected(self, self.first_round(segments)))
    }

    /// Goes through every state once: in the order of `segments`⁵, with a table of `segments`² states
    /// for each credit that a flow can have; `segments` from 1 to 64.
    pub fn by_recursion(&self, segments: u32) -> Result<f64, ModelError> {
        let setup = self.setup_time()?;
        Range::from_to(1.0, f64::from(MAX_SEGMENTS))
            .check("the length in segments", f64::from(segments))?;
        Ok(setup + recursion::expected(self, self.first_round(segments)))
    }

    fn check(&self) -> Result<(), ModelError> {
        Range::above(0.0).check("the round-trip time in seconds", self.rtt)?;
        Range::above(0.0).check("the timeout in seconds", self.timeout)?;
        Range::above(0.0).check("the timeout of the handshake in seconds", self.setup_timeout)?;
        // Timeouts double, so that the mean of a series is finite below one half only.
        let loss = Range::from_to_below(0.0, 0.5);
        loss.check("the loss probability of green", self.green_loss)?;
        loss.check("the loss probability of yellow", self.yellow_loss)?;
        Range::at_least(1.0)
            .check("the first window in segments", f64::from(self.initial_window))?;
        Range::from_to(0.0, f64::from(MAX_CREDITS))
            .check("the credits of a flow in packets", f64::from(self.credits))?;
        Ok(())
    }

    /// Two credits are spent in the handshake (footnote 2).
    fn first_round(&self, segments: u32) -> State {
        State {
            left: segments,
            window: self.initial_window,
            credits: self.credits.saturating_sub(2),
            growth: Growth::SlowStart,
        }
    }

    /// P and Q of eq. 3: the loss of the `nth` segment from now, the first being 1, with so many
    /// credits left.
    fn loss(&self, nth: u32, credits: u32) -> f64 {
        if nth <= credits { self.green_loss } else { self.yellow_loss }
    }

    /// The mean time until a segment alone is acknowledged (eq. 2): its loss, then a series of
    /// timeouts that double, each of which grants credits anew.
    fn alone(&self, credits: u32) -> f64 {
        let first = self.loss(1, credits);
        let again = self.loss(1, self.credits);
        self.rtt + self.timeout * first / (1.0 - 2.0 * again)
    }

    /// After a segment alone has come through, so is the rest of the flow sent (the example of
    /// §6.1: C¹ = C_s + C of one segment + C of six with a window of two).
    fn after_alone(&self, state: State) -> State {
        State { window: 2, ..state.after_all() }
    }

    /// What follows a round with a loss: `ahead` segments came in before the first loss, `behind` of
    /// the round and `late` of the second wave of `wave` after it. The time that it takes, and where
    /// the flow goes on.
    fn after_loss(
        &self,
        state: State,
        ahead: u32,
        behind: u32,
        (wave, late): (u32, u32),
    ) -> (f64, State) {
        let sent = state.sent();
        let left = state.left - ahead - behind - late;
        if behind + late >= 3 {
            let time = if behind >= 3 { self.rtt } else { 2.0 * self.rtt };
            let credits = state.credits.saturating_sub(sent + wave);
            let window = (sent / 2).max(2);
            return (time, State { left, window, credits, growth: Growth::Avoidance });
        }
        // The timer starts anew with the last acknowledgement of something new.
        let time = if ahead > 0 { self.rtt + self.timeout } else { self.timeout };
        let credits = self.credits;
        (time, State { left, window: 1, credits, growth: Growth::SlowStart })
    }
}

#[cfg(test)]
mod tests;
