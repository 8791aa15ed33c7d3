//! The HTTP listener for Prometheus, on a loopback address.

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

use shortflow_http::{Answer, Listener, Refusal, Request};

use super::exposition;
use crate::control::{Ask, Asked};

/// How often one looks whether to stop.
const POLL_INTERVAL: Duration = Duration::from_millis(200);
/// The text format of Prometheus.
const MEDIA_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

const UNKNOWN: Refusal = Refusal::new("404 Not Found", "use the path /metrics\n");
const METHOD: Refusal = Refusal {
    status: "405 Method Not Allowed",
    more: "Allow: GET\r\n",
    says: "use the method GET\n",
};
const STOPS: Refusal = Refusal::new("503 Service Unavailable", "the agent is stopping\n");

/// A loopback address at which metrics are served.
#[derive(Debug)]
pub struct Metrics {
    listener: Listener,
}

impl Metrics {
    /// Listens at `address`.
    ///
    /// # Errors
    /// When it is no loopback address, since everybody who reaches it may read; or nobody can listen there.
    pub fn listen(address: SocketAddr) -> io::Result<Metrics> {
        if !address.ip().is_loopback() {
            let what = "metrics are served on loopback only: use 127.0.0.1 or [::1]";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
        }
        Ok(Metrics { listener: Listener::open(address)? })
    }

    /// Where it listens.
    ///
    /// # Errors
    /// When the kernel does not say.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.address()
    }
}

/// Answers until `stop`.
pub(crate) fn serve(metrics: &Metrics, requests: &Sender<Asked>, stop: &AtomicBool) {
    shortflow_http::serve(&metrics.listener, stop, &|request| answer(&request, requests, stop));
}

fn answer(request: &Request, requests: &Sender<Asked>, stop: &AtomicBool) -> Answer<'static> {
    match (&*request.method, &*request.path) {
        ("GET", "/metrics") => match metrics_text(requests, stop) {
            Some(text) => Answer::ok(MEDIA_TYPE, text),
            None => STOPS.into(),
        },
        (_, "/metrics") => METHOD.into(),
        _ => UNKNOWN.into(),
    }
}

/// The metrics of the agent; `None` once it is stopping.
fn metrics_text(requests: &Sender<Asked>, stop: &AtomicBool) -> Option<String> {
    let (answer, answered) = channel();
    let asked = Asked { ask: Ask::Status, who: "metrics".to_owned(), answer, events: None };
    requests.send(asked).ok()?;
    loop {
        match answered.recv_timeout(POLL_INTERVAL) {
            Ok(status) => return status.ok().map(|status| exposition(&status)),
            Err(RecvTimeoutError::Timeout) if !stop.load(Ordering::Relaxed) => {}
            Err(_) => return None,
        }
    }
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

    #[test]
    fn the_metrics_are_got_and_nothing_else() {
        let (requests, asked) = channel::<Asked>();
        let stop = AtomicBool::new(false);
        let answerer = std::thread::spawn(move || {
            for asked in asked {
                asked.answer.send(Ok(serde_json::json!({ "machine": "gw1" }))).unwrap();
            }
        });
        for (line, wanted) in [
            ("GET /metrics", "200"),
            ("GET /metrics?a=b", "200"),
            ("POST /metrics", "405"),
            ("GET /", "404"),
            ("GET /metrics/..", "404"),
        ] {
            let head = format!("{line} HTTP/1.1\r\nHost: localhost\r\n\r\n");
            let names = shortflow_http::Names::Loopback;
            let request = Request::parse(head.as_bytes(), names).unwrap();
            let message = format!("{:?}", answer(&request, &requests, &stop));
            assert!(message.starts_with(&format!("Answer({wanted}")), "{line}: {message}");
        }
        drop(requests);
        answerer.join().unwrap();
    }
}
