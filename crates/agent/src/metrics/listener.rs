//! Where Prometheus scrapes: HTTP on a loopback address.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::exposition;
use crate::control::{Ask, Asked};

/// How long somebody may take for a request, and to take the answer.
const PATIENCE: Duration = Duration::from_secs(2);
/// How often one looks whether to stop.
const LOOK: Duration = Duration::from_millis(200);
/// The most bytes of a request.
const MOST_REQUEST: usize = 8192;

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

/// Answers one after the other until `stop`.
pub(crate) fn serve(metrics: &Metrics, requests: &Sender<Asked>, stop: &AtomicBool) {
    while !stop.load(Ordering::Relaxed) {
        let timeout = PollTimeout::try_from(LOOK).unwrap_or(PollTimeout::MAX);
        let _ = poll(&mut [PollFd::new(metrics.listener.as_fd(), PollFlags::POLLIN)], timeout);
        match metrics.listener.accept() {
            // Who hangs up in the middle misses the answer, and nobody else is concerned.
            Ok((stream, _)) => drop(talk(stream, requests, stop)),
            // Nobody; or there is no descriptor left, which passes.
            Err(_) => sleep(Duration::from_millis(1)),
        }
    }
}

fn talk(mut stream: TcpStream, requests: &Sender<Asked>, stop: &AtomicBool) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let head = head(&mut stream)?;
    let answer = match wanted(&head) {
        Err(refusal) => refusal.to_owned(),
        Ok(()) => match told(requests, stop) {
            Some(text) => with_body("200 OK", "", &text),
            None => with_body("503 Service Unavailable", "", "the agent is about to stop\n"),
        },
    };
    stream.write_all(answer.as_bytes())
}

/// The head of a request, so far as it comes within the patience and the most bytes.
fn head(stream: &mut TcpStream) -> io::Result<Vec<u8>> {
    let until = Instant::now() + PATIENCE;
    let (mut head, mut chunk) = (Vec::new(), [0; 1024]);
    while !head.windows(4).any(|end| end == b"\r\n\r\n") && head.len() < MOST_REQUEST {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut chunk)? {
            0 => break,
            read => head.extend_from_slice(&chunk[..read]),
        }
    }
    Ok(head)
}

/// Whether the metrics are wanted, or what is answered otherwise (RFC 9112, §3).
fn wanted(head: &[u8]) -> Result<(), String> {
    let end = head.windows(4).position(|end| end == b"\r\n\r\n");
    let line = end.and_then(|end| head[..end].split(|byte| *byte == b'\r').next());
    let line = line.and_then(|line| std::str::from_utf8(line).ok()).unwrap_or_default();
    let parts: Vec<&str> = line.split(' ').collect();
    match parts[..] {
        [method, target, "HTTP/1.1" | "HTTP/1.0"] => {
            let path = target.split('?').next().unwrap_or_default();
            match (method, path) {
                ("GET", "/metrics") => Ok(()),
                (_, "/metrics") => {
                    Err(with_body("405 Method Not Allowed", "Allow: GET\r\n", "one can GET this\n"))
                }
                _ => Err(with_body("404 Not Found", "", "the metrics are at /metrics\n")),
            }
        }
        _ => Err(with_body("400 Bad Request", "", "this is no request of HTTP/1.1\n")),
    }
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
    fn the_metrics_are_got_and_everything_else_is_answered_by_what_is_wrong() {
        let status = |head: &str| match wanted(head.as_bytes()) {
            Ok(()) => "200".to_owned(),
            Err(answer) => answer.split(' ').nth(1).unwrap().to_owned(),
        };
        for (head, wanted) in [
            ("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n", "200"),
            ("GET /metrics?a=b HTTP/1.0\r\n\r\n", "200"),
            ("POST /metrics HTTP/1.1\r\n\r\n", "405"),
            ("GET / HTTP/1.1\r\n\r\n", "404"),
            ("GET /metrics/.. HTTP/1.1\r\n\r\n", "404"),
            ("GET /metrics\r\n\r\n", "400"),
            ("GET  /metrics HTTP/1.1\r\n\r\n", "400"),
            ("GET /metrics HTTP/2\r\n\r\n", "400"),
            ("GET /metrics HTTP/1.1\r\n", "400"),
            ("\r\n\r\n", "400"),
            ("", "400"),
        ] {
            assert_eq!(status(head), wanted, "{head:?}");
        }
        let refusal = wanted(b"PUT /metrics HTTP/1.1\r\n\r\n").unwrap_err();
        assert!(refusal.contains("\r\nAllow: GET\r\n"), "{refusal}");
    }

    #[test]
    fn everybody_who_is_not_on_this_machine_is_left_out() {
        for address in ["0.0.0.0:0", "192.0.2.1:0", "[::]:0"] {
            let error = Metrics::listen(address.parse().unwrap()).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{address}");
        }
        assert!(Metrics::listen("127.0.0.1:0".parse().unwrap()).is_ok());
    }
}
