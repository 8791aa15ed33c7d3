//! FTP sessions: a file, a pause, the next file.

use shortflow_units::{Bytes, Instant, Rng};

use crate::{Sessions, Sizes, Times};

/// Sessions that send one file after another. Each file has its own connection, which the sender opens and
/// closes (the data connection of RFC 959 §3.2).
#[derive(Debug, Clone, PartialEq)]
pub struct Ftp<N> {
    /// The senders, receivers and times; each pair is (sender, receiver).
    pub sessions: Sessions<N>,
    /// Sizes of files.
    pub size: Sizes,
    /// The pause from the last byte of a file to the next file.
    pub pause: Times,
}

/// What one session of [`Ftp`] sends.
#[derive(Debug, Clone)]
pub struct Files {
    rng: Rng,
    size: Sizes,
    pause: Times,
}

impl<N> Ftp<N> {
    /// The files of a session of the workload `name` in a run with this seed.
    pub fn files(&self, seed: u64, name: &str, session: u32) -> Files {
        let rng = Sessions::<N>::rng(seed, name, session);
        Files { rng, size: self.size.clone(), pause: self.pause }
    }
}

impl Files {
    /// The size of the next file.
    pub fn size(&mut self) -> Bytes {
        self.size.draw(&mut self.rng)
    }

    /// When the next file is sent; `now` is when the previous one was complete.
    pub fn next(&mut self, now: Instant) -> Instant {
        now + self.pause.draw(&mut self.rng)
    }
}
