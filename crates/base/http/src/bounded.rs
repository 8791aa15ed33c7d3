//! Reads from a socket with limits on bytes and time.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::socket::Socket;

/// How often one looks whether to stop.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// Reads from a socket with limits: of bytes, and of time in all, so that who sends a byte now and then gains nothing.
#[derive(Debug)]
pub struct Bounded<'s, S> {
    socket: &'s S,
    stop: &'s AtomicBool,
    /// What has come and was not taken yet.
    bytes: Vec<u8>,
}

/// How long a line may take.
#[derive(Debug, Clone, Copy)]
pub struct LineTime {
    /// Until its first byte; as long as it takes where none is given.
    pub first: Option<Duration>,
    /// From then to its end.
    pub rest: Duration,
}

impl<'s, S: Socket> Bounded<'s, S> {
    /// Reads from this socket until `stop`.
    pub fn new(socket: &'s S, stop: &'s AtomicBool) -> Bounded<'s, S> {
        Bounded { socket, stop, bytes: Vec::new() }
    }

    /// Reads until it is enough: by all that has come, and how much of it was there at the last look. Whether it was
    /// enough before the other hung up, or `max` bytes had come.
    ///
    /// # Errors
    /// When the time is over, one is to stop (both `TimedOut`), or the connection is broken.
    pub fn fill(
        &mut self,
        max: usize,
        until: Instant,
        is_enough: impl Fn(&[u8], usize) -> bool,
    ) -> io::Result<bool> {
        let mut seen = 0;
        while !is_enough(&self.bytes, seen) {
            seen = self.bytes.len();
            if seen >= max || !self.receive(max - seen, Some(until))? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// What has come and was not taken yet.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Takes the first `count` bytes, or all where there are fewer.
    pub fn take(&mut self, count: usize) -> Vec<u8> {
        let rest = self.bytes.split_off(count.min(self.bytes.len()));
        std::mem::replace(&mut self.bytes, rest)
    }

    /// The next line of at most `max` bytes, with its end; what came before the other hung up, which may be nothing.
    ///
    /// # Errors
    /// `InvalidData` when it is longer; `TimedOut` when its time is over, or one is to stop.
    pub fn line(&mut self, max: usize, time: LineTime) -> io::Result<Vec<u8>> {
        let first = time.first.map(|first| Instant::now() + first);
        while self.bytes.is_empty() {
            if !self.receive(max, first)? {
                return Ok(Vec::new());
            }
        }
        let end = |bytes: &[u8], seen: usize| {
            bytes[seen..].iter().position(|byte| *byte == b'\n').map(|at| seen + at + 1)
        };
        let until = Instant::now() + time.rest;
        let is_whole = self.fill(max, until, |bytes, seen| end(bytes, seen).is_some())?;
        match end(&self.bytes, 0) {
            Some(length) => Ok(self.take(length)),
            None if !is_whole && self.bytes.len() >= max => {
                let what = format!("the line is longer than {max} bytes");
                Err(io::Error::new(io::ErrorKind::InvalidData, what))
            }
            None => Ok(self.take(max)),
        }
    }

    /// Reads and drops what still comes, at most `max` bytes, until the other hangs up. A connection that is closed with
    /// unread bytes is reset, and the other end may lose the answer that was sent before.
    pub fn discard(&mut self, max: usize, until: Instant) {
        let mut left = max;
        while left > 0 {
            self.bytes.clear();
            match self.receive(left, Some(until)) {
                Ok(true) => left -= self.bytes.len(),
                Ok(false) | Err(_) => return,
            }
        }
    }

    /// Waits for more, at most `most` bytes of it; false once the other has hung up.
    fn receive(&mut self, most: usize, until: Option<Instant>) -> io::Result<bool> {
        let mut chunk = [0; 1 << 14];
        let most = most.clamp(1, chunk.len());
        loop {
            let left = until
                .map_or(POLL_INTERVAL, |until| until.saturating_duration_since(Instant::now()));
            if left.is_zero() || self.stop.load(Ordering::Relaxed) {
                return Err(io::ErrorKind::TimedOut.into());
            }
            self.socket.set_timeout(left.min(POLL_INTERVAL))?;
            match self.socket.receive(&mut chunk[..most]) {
                Ok(0) => return Ok(false),
                Ok(read) => {
                    self.bytes.extend_from_slice(&chunk[..read]);
                    return Ok(true);
                }
                Err(error) => match error.kind() {
                    io::ErrorKind::WouldBlock
                    | io::ErrorKind::TimedOut
                    | io::ErrorKind::Interrupted => {}
                    _ => return Err(error),
                },
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    use super::*;

    const SHORT: LineTime =
        LineTime { first: Some(Duration::from_millis(300)), rest: Duration::from_millis(300) };
    static NEVER: AtomicBool = AtomicBool::new(false);

    /// A pair of which somebody writes to one end until the other is gone.
    fn written(act: impl Fn(&mut UnixStream) -> io::Result<()> + Send + 'static) -> UnixStream {
        let (near, mut far) = UnixStream::pair().unwrap();
        std::thread::spawn(move || while act(&mut far).is_ok() {});
        near
    }

    #[test]
    fn an_endless_line_is_left_at_its_limit_and_a_dripping_one_when_its_time_is_over() {
        let flood = written(|far| far.write_all(&[b'a'; 4096]));
        let error = Bounded::new(&flood, &NEVER).line(10_000, SHORT).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{error}");
        let drip = written(|far| {
            std::thread::sleep(Duration::from_millis(20));
            far.write_all(b"a")
        });
        let began = Instant::now();
        let error = Bounded::new(&drip, &NEVER).line(10_000, SHORT).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut, "{error}");
        assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    }

    #[test]
    fn what_is_discarded_is_read_so_that_the_other_gets_the_last_answer() {
        let (near, mut far) = UnixStream::pair().unwrap();
        far.write_all(&[b'x'; 50_000]).unwrap();
        far.shutdown(std::net::Shutdown::Write).unwrap();
        let mut bounded = Bounded::new(&near, &NEVER);
        bounded.line(100, SHORT).unwrap_err();
        (&near).write_all(b"too long").unwrap();
        bounded.discard(100_000, Instant::now() + Duration::from_secs(5));
        drop(near);
        let mut answer = String::new();
        std::io::Read::read_to_string(&mut far, &mut answer).unwrap();
        assert_eq!(answer, "too long");
    }

    #[test]
    fn lines_that_come_together_are_given_one_by_one_and_the_last_without_an_end() {
        let (near, mut far) = UnixStream::pair().unwrap();
        far.write_all(b"one\ntwo\nthree").unwrap();
        drop(far);
        let mut bounded = Bounded::new(&near, &NEVER);
        let lines: Vec<Vec<u8>> = (0..4).map(|_| bounded.line(6, SHORT).unwrap()).collect();
        assert_eq!(lines, [&b"one\n"[..], b"two\n", b"three", b""]);
    }
}
