//! Where one is asked: a listener, and a thread for each who connects.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::answer::{Answer, Line};
use crate::request::{MOST_HEAD, Names, Request, has_end};

/// How long somebody may take for a request, and to take the answer.
const PATIENCE: Duration = Duration::from_secs(2);
/// How often one looks whether to stop.
const LOOK: Duration = Duration::from_millis(200);
/// The most connections at once; more are closed at once.
const MOST_CONNECTIONS: usize = 64;

/// An address at which one may be asked.
#[derive(Debug)]
pub struct Door {
    listener: TcpListener,
    names: Names,
}

impl Door {
    /// Listens at `address`: at one of loopback for who is on this machine, at another for everybody who reaches it.
    ///
    /// # Errors
    /// When nobody can listen there.
    pub fn open(address: SocketAddr) -> io::Result<Door> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let is_loopback = address.ip().is_loopback();
        Ok(Door { listener, names: if is_loopback { Names::Loopback } else { Names::Addresses } })
    }

    /// Where it listens.
    ///
    /// # Errors
    /// When the kernel does not say.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// By which names it may be asked for.
    pub fn names(&self) -> Names {
        self.names
    }
}

/// What answers requests, in several threads.
pub type Handle<'a> = &'a (dyn Fn(Request) -> Answer<'a> + Sync + 'a);

/// Takes connections until `stop`; each has a thread, which ends with it.
pub fn serve<'a>(door: &Door, stop: &AtomicBool, handle: Handle<'a>) {
    let open = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        while !stop.load(Ordering::Relaxed) {
            let timeout = PollTimeout::try_from(LOOK).unwrap_or(PollTimeout::MAX);
            let _ = poll(&mut [PollFd::new(door.listener.as_fd(), PollFlags::POLLIN)], timeout);
            // Nobody; or there is no descriptor left, which passes.
            let Ok((stream, _)) = door.listener.accept() else {
                sleep(Duration::from_millis(1));
                continue;
            };
            if open.load(Ordering::Relaxed) >= MOST_CONNECTIONS {
                continue;
            }
            open.fetch_add(1, Ordering::Relaxed);
            let open = &open;
            scope.spawn(move || {
                // Who hangs up in the middle misses the answer, and nobody else is concerned.
                let _ =
                    Talk { stream, stop, until: Instant::now() + PATIENCE }.run(door.names, handle);
                open.fetch_sub(1, Ordering::Relaxed);
            });
        }
    });
}

/// A connection.
struct Talk<'t> {
    stream: TcpStream,
    stop: &'t AtomicBool,
    /// Until when it may take.
    until: Instant,
}

impl Talk<'_> {
    fn run(mut self, names: Names, handle: Handle<'_>) -> io::Result<()> {
        self.stream.set_nonblocking(false)?;
        self.stream.set_nodelay(true)?;
        self.stream.set_write_timeout(Some(PATIENCE))?;
        let mut bytes = Vec::new();
        self.read_until(&mut bytes, MOST_HEAD, has_end)?;
        let answer = match Request::parse(&bytes, names) {
            Err(refusal) => refusal.into(),
            Ok(mut request) => {
                self.read_body(&mut request, &bytes)?;
                handle(request)
            }
        };
        match answer {
            Answer::Whole { status, fields, body } => {
                let head = format!(
                    "HTTP/1.1 {status}\r\n{fields}Content-Length: {}\r\nConnection: close\r\n\r\n",
                    body.len()
                );
                self.stream.write_all(&[head.as_bytes(), &body].concat())?;
            }
            Answer::Live { fields, write } => {
                let head = format!("HTTP/1.1 200 OK\r\n{fields}Connection: close\r\n\r\n");
                self.stream.write_all(head.as_bytes())?;
                write(&mut Line { stream: &self.stream })?;
            }
        }
        // Where something is left unread the kernel takes back what was sent last, so that is read first.
        self.stream.shutdown(Shutdown::Write)?;
        self.read_until(&mut Vec::new(), MOST_HEAD, |_| false)
    }

    /// Reads the rest of a request of which `bytes` have come.
    fn read_body(&mut self, request: &mut Request, bytes: &[u8]) -> io::Result<()> {
        let end = bytes.windows(4).position(|end| end == b"\r\n\r\n").expect("it was parsed") + 4;
        let length = request.length;
        request.body = bytes[end..].to_vec();
        self.read_until(&mut request.body, length, |body| body.len() >= length)?;
        if request.body.len() < length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        request.body.truncate(length);
        Ok(())
    }

    /// Reads until it is enough, or more than `most`; who takes longer is left.
    fn read_until(
        &mut self,
        bytes: &mut Vec<u8>,
        most: usize,
        is_enough: impl Fn(&[u8]) -> bool,
    ) -> io::Result<()> {
        let mut chunk = [0; 1024];
        while !is_enough(bytes) && bytes.len() < most {
            let left = self.until.saturating_duration_since(Instant::now());
            if left.is_zero() || self.stop.load(Ordering::Relaxed) {
                return Err(io::ErrorKind::TimedOut.into());
            }
            self.stream.set_read_timeout(Some(left.min(LOOK)))?;
            match self.stream.read(&mut chunk) {
                Ok(0) => break,
                Ok(read) => bytes.extend_from_slice(&chunk[..read]),
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
                    ) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is answered to these bytes by somebody who repeats the body.
    fn answered(bytes: &[u8]) -> String {
        let door = Door::open("127.0.0.1:0".parse().unwrap()).unwrap();
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                serve(&door, &stop, &|request| Answer::ok("text/plain", request.body));
            });
            let mut stream = TcpStream::connect(door.address().unwrap()).unwrap();
            for byte in bytes {
                stream.write_all(&[*byte]).unwrap();
            }
            let mut answer = String::new();
            stream.read_to_string(&mut answer).unwrap();
            stop.store(true, Ordering::Relaxed);
            answer
        })
    }

    #[test]
    fn a_body_is_read_as_long_as_it_says_and_no_longer() {
        let head = "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\n";
        let answer = answered(format!("{head}hello and more").as_bytes());
        assert!(
            answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("\r\n\r\nhello"),
            "{answer}"
        );
    }

    #[test]
    fn what_is_no_request_is_refused_with_the_reason() {
        let answer = answered(b"GET / HTTP/1.1\r\nHost: gw1\r\n\r\n");
        assert!(answer.starts_with("HTTP/1.1 421 Misdirected Request\r\n"), "{answer}");
        assert!(answer.ends_with("and not by another name\n"), "{answer}");
    }
}
