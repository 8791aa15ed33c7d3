//! Where Prometheus scrapes: HTTP on a loopback address.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::exposition;
use super::request::{MOST_HEAD, Refusal, has_end, wanted};
use crate::control::{Ask, Asked};

/// How long somebody may take for a request, and to take the answer.
const PATIENCE: Duration = Duration::from_secs(2);
/// How often one looks whether to stop.
const LOOK: Duration = Duration::from_millis(200);
/// The most connections at once; more are closed at once.
const MOST_CONNECTIONS: usize = 64;

/// A loopback address at which metrics are told.
#[derive(Debug)]
pub struct Metrics {
    listener: TcpListener,
}

impl Metrics {
    /// Listens at `address`.
    ///
    /// # Errors
    /// When it is no loopback address, since everybody who reaches it may read; or nobody can listen there.
    pub fn listen(address: SocketAddr) -> io::Result<Metrics> {
        if !address.ip().is_loopback() {
            let what = "metrics are told on loopback alone: 127.0.0.1 or [::1]";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
        }
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        Ok(Metrics { listener })
    }

    /// Where it listens.
    ///
    /// # Errors
    /// When the kernel does not say.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// Takes connections until `stop`; each has a thread, which ends with it.
pub(crate) fn serve(metrics: &Metrics, requests: &Sender<Asked>, stop: &'static AtomicBool) {
    let open = Arc::new(AtomicUsize::new(0));
    while !stop.load(Ordering::Relaxed) {
        let timeout = PollTimeout::try_from(LOOK).unwrap_or(PollTimeout::MAX);
        let _ = poll(&mut [PollFd::new(metrics.listener.as_fd(), PollFlags::POLLIN)], timeout);
        // Nobody; or there is no descriptor left, which passes.
        let Ok((stream, _)) = metrics.listener.accept() else {
            sleep(Duration::from_millis(1));
            continue;
        };
        if open.load(Ordering::Relaxed) >= MOST_CONNECTIONS {
            continue;
        }
        let (open, requests) = (open.clone(), requests.clone());
        open.fetch_add(1, Ordering::Relaxed);
        std::thread::spawn(move || {
            // Who hangs up in the middle misses the answer, and nobody else is concerned.
            let _ = talk(stream, &requests, stop);
            open.fetch_sub(1, Ordering::Relaxed);
        });
    }
}

fn talk(mut stream: TcpStream, requests: &Sender<Asked>, stop: &AtomicBool) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let until = Instant::now() + PATIENCE;
    let answer = match wanted(&head(&mut stream, until)?) {
        Err(Refusal { status, more, says }) => with_body(status, more, says),
        Ok(()) => match told(requests, stop) {
            Some(text) => with_body("200 OK", "", &text),
            None => with_body("503 Service Unavailable", "", "the agent is about to stop\n"),
        },
    };
    stream.write_all(answer.as_bytes())?;
    // Where something is left unread the kernel takes back what was sent last, so that is read first.
    stream.shutdown(Shutdown::Write)?;
    read_until(&mut stream, until, |_| false).map(|_| ())
}

/// The head of a request, so far as it comes in time and within the most bytes.
fn head(stream: &mut TcpStream, until: Instant) -> io::Result<Vec<u8>> {
    read_until(stream, until, has_end)
}

/// What comes until it is enough, or more than a head may have; who takes longer is left.
fn read_until(
    stream: &mut TcpStream,
    until: Instant,
    is_enough: impl Fn(&[u8]) -> bool,
) -> io::Result<Vec<u8>> {
    let (mut bytes, mut chunk) = (Vec::new(), [0; 1024]);
    while !is_enough(&bytes) && bytes.len() < MOST_HEAD {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut chunk)? {
            0 => break,
            read => bytes.extend_from_slice(&chunk[..read]),
        }
    }
    Ok(bytes)
}

/// The metrics of the agent; none once it is about to stop, since nobody answers then.
fn told(requests: &Sender<Asked>, stop: &AtomicBool) -> Option<String> {
    let (answer, answered) = channel();
    let asked = Asked { ask: Ask::Status, who: "metrics".to_owned(), answer, events: None };
    requests.send(asked).ok()?;
    loop {
        match answered.recv_timeout(LOOK) {
            Ok(status) => return status.ok().map(|status| exposition(&status)),
            Err(RecvTimeoutError::Timeout) if !stop.load(Ordering::Relaxed) => {}
            Err(_) => return None,
        }
    }
}

fn with_body(status: &str, more: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n{more}\
         Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everybody_who_is_not_on_this_machine_is_left_out() {
        for address in ["0.0.0.0:0", "192.0.2.1:0", "[::]:0"] {
            let error = Metrics::listen(address.parse().unwrap()).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{address}");
        }
        assert!(Metrics::listen("127.0.0.1:0".parse().unwrap()).is_ok());
    }
}
