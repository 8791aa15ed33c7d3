//! Whether code points survive the path.

use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use shortflow_packet::Dscp;

use crate::class::{Class, Way};
use crate::error::Error;
use crate::probes::{Seen, probe};

/// How long each code point is tried.
const LENGTH: Duration = Duration::from_millis(1000);

/// What became of packets with a code point.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrival {
    /// What this machine's sockets wrote.
    pub written: Dscp,
    /// How many were sent, and how many came back.
    pub sent: usize,
    /// How many of them came back.
    pub back: usize,
    /// The code points with which they arrived at the peer, the most frequent first.
    pub there: Vec<Dscp>,
    /// With which code points its answers, which it marks as it got them, came back.
    pub here: Vec<Dscp>,
}

impl Arrival {
    /// Whether all that came, came as it was written.
    pub fn survives(&self) -> bool {
        self.there == [self.written]
    }

    fn new(written: Dscp, seen: &Seen) -> Arrival {
        let each = |at: usize| {
            let came = seen.answers.iter().filter_map(|answer| Some(answer.code_points?[at]));
            by_frequency(came)
        };
        let back = seen.answers.iter().filter(|answer| answer.took.is_some()).count();
        Arrival { written, sent: seen.answers.len(), back, there: each(0), here: each(1) }
    }
}

fn by_frequency(came: impl Iterator<Item = Dscp>) -> Vec<Dscp> {
    let mut counted: Vec<(Dscp, usize)> = Vec::new();
    for code_point in came {
        match counted.iter_mut().find(|(known, _)| *known == code_point) {
            Some((_, count)) => *count += 1,
            None => counted.push((code_point, 1)),
        }
    }
    counted.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    counted.into_iter().map(|(code_point, _)| code_point).collect()
}

/// Sends packets with each of these code points to the peer, and says with which they come.
///
/// # Errors
/// When nobody answers, it is stopped, or a socket fails.
pub(crate) fn code_points(
    peer: SocketAddr,
    written: &[Dscp],
    stop: &AtomicBool,
) -> Result<Vec<Arrival>, Error> {
    let class = |code_point: &Dscp| Class {
        name: code_point.to_string(),
        code_point: *code_point,
        way: Way::Datagram,
    };
    let classes: Vec<Class> = written.iter().map(class).collect();
    let seen = probe(peer, &classes, LENGTH, stop)?;
    let arrivals = written.iter().zip(&seen).map(|(written, seen)| Arrival::new(*written, seen));
    let arrivals: Vec<Arrival> = arrivals.collect();
    match arrivals.iter().any(|arrival| arrival.back > 0) {
        true => Ok(arrivals),
        false => Err(Error::NoAnswer(peer)),
    }
}
