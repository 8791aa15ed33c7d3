//! Telnet sessions: a character, its echo, a pause, the next character.

use shortflow_units::{Instant, Rng};

use crate::{Sessions, Times};

/// Telnet sessions, each over one connection for its whole life. The next character is typed some
/// time after the echo of the one before, so that Nagle's algorithm never has two to join
/// (RFC 896): this is how Noureddine & Tobagi 2002, §2.2.2, model its user.
#[derive(Debug, Clone, PartialEq)]
pub struct Telnet<N> {
    /// Who types where and when; each pair is (client, server).
    pub sessions: Sessions<N>,
    /// What is typed at a time, and echoed, in bytes of payload.
    pub character: u32,
    /// From an echo to the next character.
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
    /// When the next character is typed, after the echo that came at `now`.
    pub fn next(&mut self, now: Instant) -> Instant {
        now + self.pause.draw(&mut self.rng)
    }
}
