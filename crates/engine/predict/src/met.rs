//! What packets meet at a band of a line: its waits, losses and loads.

/// What packets meet at a band of a line.
#[derive(Debug, Clone, Default)]
pub(crate) struct Met {
    /// Mean wait in seconds.
    pub(crate) wait: f64,
    /// The probability of being dropped or lost, for each level.
    pub(crate) loss: Vec<f64>,
    /// The part of it that finds no room, because bursts fill it: many packets of a window at a time.
    pub(crate) bunched: f64,
    /// The share of time that goes to bands before it, with that of packets that do not give way in it.
    pub(crate) before: f64,
    /// The share of time that goes to what comes in visits whatever the network does.
    pub(crate) open: f64,
    /// Visits of each closed loop that are served here at a time.
    pub(crate) closed: Vec<(usize, f64)>,
    /// Flows without an end that each take a share.
    pub(crate) permanent: f64,
    /// Packets per second.
    pub(crate) packets: f64,
    /// The share of time in which the line sends for this band.
    pub(crate) utilisation: f64,
    /// Whether flows without an end fill it.
    pub(crate) is_filled: bool,
    /// Whether the wait is a lower bound, and what is lost of all packets: each cut of a window has a loss.
    pub(crate) is_least: bool,
    pub(crate) min_loss: f64,
    /// Whether its losses are lower bounds, since CUBIC's windows are no smaller than Reno's at the same loss.
    pub(crate) loses_at_least: bool,
    /// Whether long flows take about as long to fill it as a run lasts, or come through a line that is hardly faster, so that its
    /// queue may be anything.
    pub(crate) is_young: bool,
    /// Whether its losses and the wait of all packets are unknown: timeouts decide them, marks replace losses, or long
    /// flows sometimes empty the queue.
    pub(crate) is_unclear: bool,
    /// The mean wait that others' windows would make of a band that long flows fill, if these were not there.
    pub(crate) swell: f64,
    /// What the squares of bursts add to those of packets one by one, per second.
    pub(crate) bursts: f64,
    /// The same of runs of windows.
    pub(crate) runs: f64,
    /// The squares of packets one by one, per second.
    pub(crate) squares: f64,
    /// Whether windows of transfers come here beside what else does.
    pub(crate) has_windows: bool,
    /// What each closed loop's user brings himself, for which he does not wait.
    pub(crate) own: Vec<Own>,
    /// What streams wait here that go behind all who have sent less.
    pub(crate) behind: Vec<Behind>,
    /// The squares of all that is waited for, per second.
    pub(crate) heard: f64,
    /// Seconds that packets wait, about, for messages that come together through slower lines.
    pub(crate) crossing: f64,
    /// Which part of the waits of all packets there is not, because they come spaced through slower lines.
    pub(crate) spaced: f64,
    /// Whether weights leave it a part of the line, whatever the others want.
    pub(crate) is_guaranteed: bool,
    /// Whether long flows get the rates that go with it nevertheless.
    pub(crate) keeps_rates: bool,
    /// Why it has no closed form, if so.
    pub(crate) lacks: Option<String>,
}

/// What a stream waits that goes behind who has sent less.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Behind {
    pub(crate) source: usize,
    /// Seconds.
    pub(crate) wait: f64,
    /// The share of time that goes to others before it.
    pub(crate) before: f64,
}

/// What one user of a closed loop brings to a line.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Own {
    pub(crate) source: usize,
    /// How many such users there are.
    pub(crate) sessions: f64,
    /// The squares of his packets, per second.
    pub(crate) square: f64,
    /// The share of time that he takes in the bands before, and with this band.
    pub(crate) before: f64,
    pub(crate) up_to: f64,
}

impl Met {
    fn own(&self, source: usize) -> Option<&Own> {
        self.own.iter().find(|own| own.source == source)
    }

    /// What a source waits as a stream that goes behind who has sent less, if it does.
    pub(crate) fn behind(&self, source: usize) -> Option<&Behind> {
        self.behind.iter().find(|behind| behind.source == source)
    }

    /// The mean wait of a source's packets: who waits for what he gets does not wait for himself.
    pub(crate) fn wait_of(&self, source: usize) -> f64 {
        if let Some(behind) = self.behind(source) {
            return behind.wait;
        }
        let Some(own) = self.own(source).filter(|_| !self.is_filled) else { return self.wait };
        let left = (1.0 - self.before - self.utilisation).max(0.0);
        let others = (1.0 - own.square / self.heard.max(own.square)).max(0.0);
        self.wait * others * left / (left + own.up_to).max(1e-9)
    }

    /// By which part waits are shorter than by M/G/1: who waits for what he gets sends nothing behind it meanwhile, so that what
    /// stands before others is that of his neighbours alone.
    pub(crate) fn answered(&self) -> f64 {
        let left = (1.0 - self.before - self.utilisation).max(1e-9);
        let shorter = |own: &Own| {
            let part = (own.sessions * own.square / self.heard.max(1e-300)).min(1.0);
            part * (1.0 - left / (left + own.up_to))
        };
        (1.0 - self.own.iter().map(shorter).sum::<f64>()).max(0.0)
    }

    /// The share of time that goes to bands before it for others than a user of this source.
    pub(crate) fn before_of(&self, source: usize) -> f64 {
        match self.own(source) {
            Some(own) if !self.is_guaranteed => (self.before - own.before).max(0.0),
            _ => self.before,
        }
    }

    /// The share of time that goes to this band for others than a user of this source.
    pub(crate) fn load_beside(&self, source: usize) -> f64 {
        let own = self.own(source).map_or(0.0, |own| own.up_to - own.before);
        (self.utilisation - own).max(0.0)
    }

    /// The loss of packets with these shares of the levels.
    pub(crate) fn loss_of(&self, shares: &[f64]) -> f64 {
        match &self.loss[..] {
            [one] => *one,
            each => each.iter().zip(shares).map(|(loss, share)| loss * share).sum(),
        }
    }
}
