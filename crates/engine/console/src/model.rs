//! The data that the page receives, in one form for all sources.

use serde::Serialize;

/// What is looked at, and what can be done about it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct About {
    /// What kind of thing it is.
    pub kind: Kind,
    /// Its name, for people.
    pub title: String,
    /// Grows by one at every restart; earlier snapshots belong to another run.
    pub run: u64,
    /// Seconds from one snapshot to the next.
    pub interval_s: f64,
    /// What a delay is here, in a sentence.
    pub delay: String,
    /// Notes for the reader, in sentences.
    pub notes: Vec<String>,
    /// Policies or versions that can be switched to.
    pub choices: Vec<Choice>,
    /// How time passes, where one may set that.
    pub pace: Option<Pace>,
}

/// Kinds of what is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A simulated run, again.
    Replay,
    /// A rehearsal that runs.
    Rehearsal,
    /// Machines with an agent.
    Agents,
}

/// A policy or a version that can be switched to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Choice {
    /// By which it is chosen.
    pub id: String,
    /// What it is called.
    pub name: String,
    /// What else tells it from others, or nothing.
    pub detail: String,
    /// For which machine it is, where there are machines.
    pub machine: Option<String>,
    /// Whether it is the active one.
    pub is_current: bool,
    /// Whether it is the one that counted before.
    pub is_before: bool,
}

/// How time passes in a replay.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Pace {
    /// Seconds of the run in a second of a clock; 0 where it stands still.
    pub speed: f64,
    /// When the run ends, in seconds of its own time.
    pub end_s: f64,
    /// Whether that has come.
    pub is_over: bool,
}

/// How places stood over one interval.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Snapshot {
    /// The end of the interval in seconds: of the run's time, or of 1970 where machines are looked at.
    pub at_s: f64,
    /// The places.
    pub places: Vec<Place>,
}

impl Snapshot {
    /// The same, where this policy counts at all places.
    #[must_use]
    pub fn under(mut self, policy: &str) -> Snapshot {
        self.places.iter_mut().for_each(|place| place.policy = Some(policy.to_owned()));
        self
    }
}

/// A place at which packets wait: a port of a scenario, or a device of a machine.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Place {
    /// Its name, unlike that of any other.
    pub name: String,
    /// The machine on which it is.
    pub machine: Option<String>,
    /// The name of the policy there.
    pub policy: Option<String>,
    /// The active version of the repository.
    pub version: Option<String>,
    /// Its problem, if any.
    pub problem: Option<String>,
    /// The rate at which packets leave, in bits per second.
    pub rate_bit_per_s: Option<f64>,
    /// Its traffic by class.
    pub streams: Vec<Stream>,
    /// The flows that sent the most, the first the most.
    pub flows: Vec<Flow>,
}

/// Packets that belong together.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Stream {
    /// What they are called.
    pub name: String,
    /// What they are to those who wait for them.
    pub role: Role,
    /// How long they took, on average over the interval, in seconds.
    pub delay_s: Option<f64>,
    /// How long 95 of 100 took at most, in seconds.
    pub delay_p95_s: Option<f64>,
    /// Bits per second that passed.
    pub rate_bit_per_s: Option<f64>,
    /// Packets dropped in the interval.
    pub dropped: u64,
    /// Packets in the interval that carry a mark of ECN, or were given one where only that is counted.
    pub marked: u64,
    /// Packets that wait at its end.
    pub waiting: Option<u64>,
}

/// What packets are to those who wait for them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// It is interactive: a user waits for its packets.
    Interactive,
    /// What counts is how many pass.
    Bulk,
    /// A class, of which neither is known.
    #[default]
    Class,
}

/// A flow, or the packets of a host.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Flow {
    /// What it is called.
    pub name: String,
    /// To which stream it belongs.
    pub stream: String,
    /// Bits per second that passed.
    pub rate_bit_per_s: f64,
}
