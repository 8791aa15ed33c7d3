//! The listener, with a thread for each connection.

use std::io::{self, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{Builder, sleep};
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::answer::{Answer, Line};
use crate::bounded::Bounded;
use crate::connections::{Activity, Connections, Place};
use crate::request::{MAX_HEAD, Names, Refusal, Request, has_end};

/// The timeout for a request, and for a client to accept the answer.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(2);
/// How often one looks whether to stop.
const POLL_INTERVAL: Duration = Duration::from_millis(200);
/// The most connections at once; for one more, one is closed that watches or has not asked for anything yet.
const MAX_CONNECTIONS: usize = 64;
/// The most threads at once, those of connections that were closed a moment ago among them.
const MAX_THREADS: usize = 4 * MAX_CONNECTIONS;

/// An address at which one may be asked.
#[derive(Debug)]
pub struct Listener {
    listener: TcpListener,
    names: Names,
}

impl Listener {
    /// Listens at `address`: a loopback address for clients on this machine, another for all that can reach it.
    ///
    /// # Errors
    /// When nobody can listen there.
    pub fn open(address: SocketAddr) -> io::Result<Listener> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let is_loopback = address.ip().is_loopback();
        Ok(Listener {
            listener,
            names: if is_loopback { Names::Loopback } else { Names::Addresses },
        })
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

/// Takes connections until `stop`; each has a thread, which ends with it. One for which there is no thread is closed.
pub fn serve<'a>(listener: &Listener, stop: &AtomicBool, handle: Handle<'a>) {
    let connections = Connections::new(MAX_CONNECTIONS);
    let threads = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        while !stop.load(Ordering::Relaxed) {
            let timeout = PollTimeout::try_from(POLL_INTERVAL).unwrap_or(PollTimeout::MAX);
            let _ = poll(&mut [PollFd::new(listener.listener.as_fd(), PollFlags::POLLIN)], timeout);
            // Nobody; or there is no descriptor left, which passes.
            let Ok((stream, _)) = listener.listener.accept() else {
                sleep(Duration::from_millis(1));
                continue;
            };
            // Threads of connections that were closed end within a moment; until then nobody else is turned away.
            while threads.load(Ordering::Relaxed) >= MAX_THREADS && !stop.load(Ordering::Relaxed) {
                sleep(Duration::from_millis(1));
            }
            let Some(place) = connections.admit(&stream) else { continue };
            threads.fetch_add(1, Ordering::Relaxed);
            let threads = &threads;
            let talk = move || {
                // Who hangs up in the middle misses the answer, and nobody else is concerned.
                let _ = talk(&stream, &place, stop, listener.names, handle);
                threads.fetch_sub(1, Ordering::Relaxed);
            };
            if Builder::new().name("http".to_owned()).spawn_scoped(scope, talk).is_err() {
                threads.fetch_sub(1, Ordering::Relaxed);
            }
        }
    });
}

/// Reads a request, answers it, and ends the connection.
fn talk(
    mut stream: &TcpStream,
    place: &Place<TcpStream>,
    stop: &AtomicBool,
    names: Names,
    handle: Handle<'_>,
) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_nodelay(true)?;
    stream.set_write_timeout(Some(REQUEST_TIMEOUT))?;
    let until = Instant::now() + REQUEST_TIMEOUT;
    let mut bounded = Bounded::new(stream, stop);
    let answer = match read(&mut bounded, names, until)? {
        Ok(request) => {
            place.is_at(Activity::Kept);
            handle(request)
        }
        Err(refusal) => refusal.into(),
    };
    match answer {
        Answer::Whole { status, fields, body } => {
            let head = format!(
                "HTTP/1.1 {status}\r\n{fields}Content-Length: {}\r\nConnection: close\r\n\r\n",
                body.len()
            );
            stream.write_all(&[head.as_bytes(), &body].concat())?;
        }
        Answer::Live { is_kept, fields, write } => {
            place.is_at(if is_kept { Activity::OperatorWatching } else { Activity::Watching });
            let head = format!("HTTP/1.1 200 OK\r\n{fields}Connection: close\r\n\r\n");
            stream.write_all(head.as_bytes())?;
            write(&mut Line { stream })?;
        }
    }
    // Where something is left unread the kernel takes back what was sent last, so that is read first.
    place.is_at(Activity::Idle);
    stream.shutdown(Shutdown::Write)?;
    bounded.take(usize::MAX);
    bounded.fill(MAX_HEAD, until, |_, _| false).map(drop)
}

/// A request with its body, or why it is refused.
fn read(
    bounded: &mut Bounded<'_, TcpStream>,
    names: Names,
    until: Instant,
) -> io::Result<Result<Request, Refusal>> {
    bounded.fill(MAX_HEAD, until, |bytes, _| has_end(bytes))?;
    let mut request = match Request::parse(bounded.bytes(), names) {
        Ok(request) => request,
        Err(refusal) => return Ok(Err(refusal)),
    };
    let end = bounded.bytes().windows(4).position(|end| end == b"\r\n\r\n");
    bounded.take(end.expect("it was parsed") + 4);
    let length = request.length;
    bounded.fill(length, until, |bytes, _| bytes.len() >= length)?;
    request.body = bounded.take(length);
    match request.body.len() < length {
        true => Err(io::ErrorKind::UnexpectedEof.into()),
        false => Ok(Ok(request)),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    /// What is answered to these bytes by somebody who repeats the body.
    fn answered(bytes: &[u8]) -> String {
        let listener = Listener::open("127.0.0.1:0".parse().unwrap()).unwrap();
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                serve(&listener, &stop, &|request| Answer::ok("text/plain", request.body));
            });
            let mut stream = TcpStream::connect(listener.address().unwrap()).unwrap();
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
        assert!(answer.ends_with("use the host name localhost, 127.0.0.1 or [::1]\n"), "{answer}");
    }

    /// The first bytes of what is answered to a request.
    fn begun(address: SocketAddr, path: &str) -> (TcpStream, String) {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        stream
            .write_all(format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n").as_bytes())
            .unwrap();
        let mut bytes = [0; 15];
        let read = stream.read(&mut bytes).unwrap_or_default();
        (stream, String::from_utf8_lossy(&bytes[..read]).into_owned())
    }

    #[test]
    fn who_holds_all_places_keeps_nobody_out_and_does_not_end_what_an_operator_reads() {
        let listener = Listener::open("127.0.0.1:0".parse().unwrap()).unwrap();
        let (stop, address) = (AtomicBool::new(false), listener.address().unwrap());
        let live = |request: Request| {
            let write = |line: &mut Line<'_>| {
                while !stop.load(Ordering::Relaxed) && !line.is_closed() {
                    sleep(Duration::from_millis(10));
                }
                line.send("end")
            };
            let is_kept = request.path == "/operator";
            Answer::Live { is_kept, fields: String::new(), write: Box::new(write) }
        };
        std::thread::scope(|scope| {
            let serving =
                Builder::new().spawn_scoped(scope, || serve(&listener, &stop, &live)).unwrap();
            let (mut operator, message) = begun(address, "/operator");
            assert_eq!(message, "HTTP/1.1 200 OK");
            let held: Vec<_> = (0..2 * MAX_CONNECTIONS).map(|_| begun(address, "/")).collect();
            let silent: Vec<_> =
                (0..MAX_CONNECTIONS / 2).map(|_| TcpStream::connect(address).unwrap()).collect();
            let (_, message) = begun(address, "/operator");
            assert_eq!(message, "HTTP/1.1 200 OK", "beside {} others", held.len() + silent.len());
            stop.store(true, Ordering::Relaxed);
            let mut rest = String::new();
            operator.read_to_string(&mut rest).unwrap();
            assert!(rest.ends_with("end"), "{rest:?}");
            serving.join().unwrap();
        });
    }
}
