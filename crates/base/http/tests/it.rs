//! The server over real sockets, on the loopback address.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use shortflow_http::{Answer, Listener, MAX_HEAD, Request, serve};

/// A server that answers with the method and path, and with the body of a POST; `ask` gets its address.
fn with_server(ask: impl FnOnce(SocketAddr)) {
    let listener = Listener::open("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = listener.address().unwrap();
    let stop = AtomicBool::new(false);
    let answer = |request: Request| {
        let Request { method, path, body, .. } = request;
        let text = format!("{method} {path} {}", String::from_utf8_lossy(&body));
        Answer::ok("text/plain", text.trim_end().to_owned()).with("X-Made-By: a test\r\n")
    };
    std::thread::scope(|scope| {
        // Stops also if `ask` panics.
        struct Stop<'s>(&'s AtomicBool);
        impl Drop for Stop<'_> {
            fn drop(&mut self) {
                self.0.store(true, Ordering::Relaxed);
            }
        }
        scope.spawn(|| serve(&listener, &stop, &answer));
        let _stop = Stop(&stop);
        ask(address);
    });
}

/// All that the server answers to these bytes.
fn answer(address: SocketAddr, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    stream.write_all(bytes).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    let mut all = String::new();
    stream.read_to_string(&mut all).unwrap();
    all
}

#[test]
fn a_request_gets_a_whole_answer_and_the_connection_ends() {
    with_server(|address| {
        let found = answer(address, b"GET /metrics?x=1 HTTP/1.1\r\nHost: localhost\r\n\r\n");
        let (head, body) = found.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
        for field in ["Content-Type: text/plain", "Content-Length: 12", "X-Made-By: a test"] {
            assert!(head.contains(field), "{field}: {head}");
        }
        assert_eq!(body, "GET /metrics");
    });
}

#[test]
fn a_body_of_the_stated_length_comes_with_its_request() {
    with_server(|address| {
        let text = b"POST /set HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 5\r\n\r\nhello";
        assert!(answer(address, text).ends_with("POST /set hello"));
    });
}

/// A page of another site can make a browser ask under that site's name (DNS rebinding).
#[test]
fn a_request_under_a_name_of_another_site_is_refused() {
    with_server(|address| {
        let found = answer(address, b"GET / HTTP/1.1\r\nHost: example.org\r\n\r\n");
        assert!(!found.starts_with("HTTP/1.1 200") && found.starts_with("HTTP/1.1 4"), "{found}");
    });
}

#[test]
fn a_head_without_a_host_and_one_that_is_too_long_are_refused() {
    with_server(|address| {
        assert!(answer(address, b"GET / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 400"));
        let long =
            format!("GET / HTTP/1.1\r\nHost: localhost\r\nX: {}\r\n\r\n", "a".repeat(MAX_HEAD));
        assert!(answer(address, long.as_bytes()).starts_with("HTTP/1.1 4"));
    });
}

#[test]
fn a_client_that_says_nothing_delays_nobody_and_is_let_go() {
    with_server(|address| {
        let mut silent = TcpStream::connect(address).unwrap();
        silent.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let began = Instant::now();
        let found = answer(address, b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
        assert!(found.starts_with("HTTP/1.1 200") && began.elapsed() < Duration::from_secs(2));
        let mut rest = Vec::new();
        silent.read_to_end(&mut rest).unwrap();
        assert!(began.elapsed() < Duration::from_secs(8), "the server ends it after its timeout");
    });
}
