//! Short transfers to the peer, one after the other, each over its own connection.

use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use shortflow_packet::Dscp;

use crate::error::Error;
use crate::peer::{TAKEN, TRANSFER};
use crate::probes::{connect, sleep_until};

/// Between the beginnings of two transfers, where the first is complete by then: so that they are the same load, however
/// fast they are.
const INTERVAL: Duration = Duration::from_millis(200);
/// How long a transfer may take.
const TRANSFER_TIMEOUT: Duration = Duration::from_secs(20);

/// How long transfers took.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Transfers {
    /// Those that were complete, in seconds, from the shortest on: from the first packet to the answer to the last.
    pub times: Vec<f64>,
    /// Those that were not, for 20 s.
    pub failed: usize,
}

/// Sends transfers of `size` bytes for so long.
///
/// # Errors
/// When it is stopped.
pub(crate) fn transfers(
    peer: SocketAddr,
    size: u64,
    length: Duration,
    stop: &AtomicBool,
) -> Result<Transfers, Error> {
    let mut next = Instant::now();
    let end = next + length;
    let mut found = Transfers::default();
    while next < end {
        if !sleep_until(next, stop) {
            return Err(Error::Interrupted);
        }
        next += INTERVAL;
        match transfer(peer, size, stop) {
            Ok(took) => found.times.push(took.as_secs_f64()),
            Err(_) if stop.load(Ordering::Relaxed) => return Err(Error::Interrupted),
            Err(_) => found.failed += 1,
        }
        next = next.max(Instant::now());
    }
    found.times.sort_by(f64::total_cmp);
    Ok(found)
}

fn transfer(peer: SocketAddr, size: u64, stop: &AtomicBool) -> io::Result<Duration> {
    let begin = Instant::now();
    let mut connection = connect(peer, Dscp::BEST_EFFORT, TRANSFER_TIMEOUT)?;
    connection.set_write_timeout(Some(TRANSFER_TIMEOUT))?;
    connection.set_read_timeout(Some(Duration::from_millis(200)))?;
    let mut bytes = vec![0; 9 + usize::try_from(size).unwrap_or(usize::MAX)];
    bytes[0] = TRANSFER;
    bytes[1..9].copy_from_slice(&size.to_be_bytes());
    connection.write_all(&bytes)?;
    let mut answer = [0];
    loop {
        match connection.read(&mut answer) {
            Ok(1) if answer[0] == TAKEN => return Ok(begin.elapsed()),
            Ok(_) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Err(error) if crate::peer::is_patience(&error) => {
                if begin.elapsed() > TRANSFER_TIMEOUT || stop.load(Ordering::Relaxed) {
                    return Err(io::ErrorKind::TimedOut.into());
                }
            }
            Err(error) => return Err(error),
        }
    }
}
