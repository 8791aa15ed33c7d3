//! Telnet sessions: a character, its echo, a pause, the next character.

use shortflow_units::{Instant, Rng};

use crate::{Sessions, Times};

/// Telnet sessions, each over one connection for its whole life. The next character is typed some time after
/// the echo of the previous one, so Nagle's algorithm never joins two (RFC 896). Noureddine & Tobagi 2002,
/// §2.2.2, model users in this way.
#[derive(Debug, Clone, PartialEq)]
pub struct Telnet<N> {
    /// The clients, servers and times; each pair is (client, server).
    pub sessions: Sessions<N>,
    /// The payload of a character and of its echo, in bytes.
    pub character: u32,
    /// The pause from an echo to the next character.
    pub pause: Times,
}

/// What one session of [`Telnet`] types.
#[derive(Debug, Clone)]
pub struct Typist {
    rng: Rng,
    pause: Times,
}

impl<N> Telnet<N> {
    /// The typist of a session of the workload `name` in a run with this seed.
    pub fn typist(&self, seed: u64, name: &str, session: u32) -> Typist {
        Typist { rng: Sessions::<N>::rng(seed, name, session), pause: self.pause }
    }
}

impl Typist {
    /// When the next character is typed; `now` is when the echo arrived.
    pub fn next(&mut self, now: Instant) -> Instant {
        now + self.pause.draw(&mut self.rng)
    }
}
