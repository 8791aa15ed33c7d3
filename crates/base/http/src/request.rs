//! The head of an HTTP/1 request (RFC 9112), parsed and checked as a whole.

use std::net::IpAddr;

/// The most bytes of the head of a request.
pub const MAX_HEAD: usize = 8192;
/// The most bytes of its body.
pub const MAX_BODY: usize = 4096;

/// By which names this machine may be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Names {
    /// Those that only this machine has for itself: `localhost`, 127.0.0.0/8, `[::1]`.
    Loopback,
    /// These names, and any numeric address, which no DNS entry can redirect here.
    Addresses,
}

/// A request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// What to do: `GET`.
    pub method: String,
    /// With what, without its query: `/metrics`.
    pub path: String,
    /// The part after the question mark, as written.
    pub query: String,
    /// The fields of the head, in their order, with names in lower case.
    fields: Vec<(String, String)>,
    /// How long its body is said to be, in bytes.
    pub length: usize,
    /// Its body, once that has come.
    pub body: Vec<u8>,
}

/// Why a request is refused: the status, a line of the answer's head where that needs one, and what is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refusal {
    /// The status line's code and phrase.
    pub status: &'static str,
    /// A field of the answer's head with its line end, or nothing.
    pub more: &'static str,
    /// The reason, in a line.
    pub says: &'static str,
}

impl Refusal {
    /// A refusal without a field of its own.
    pub const fn new(status: &'static str, says: &'static str) -> Refusal {
        Refusal { status, more: "", says }
    }
}

const BAD: Refusal = Refusal::new("400 Bad Request", "invalid HTTP/1.1 request\n");
const NO_HOST: Refusal = Refusal::new(
    "400 Bad Request",
    "a request must have exactly one Host \
    field\n",
);
const NOT_LOOPBACK: Refusal =
    Refusal::new("421 Misdirected Request", "use the host name localhost, 127.0.0.1 or [::1]\n");
const NOT_AN_ADDRESS: Refusal =
    Refusal::new("421 Misdirected Request", "use the numeric address instead of a name\n");
const TOO_LONG: Refusal = Refusal::new(
    "431 Request Header Fields Too Large",
    "the request header is larger than 8192 bytes\n",
);
const TOO_LARGE: Refusal =
    Refusal::new("413 Content Too Large", "the request body is larger than 4096 bytes\n");
const CODED: Refusal = Refusal::new(
    "501 Not Implemented",
    "send the body with Content-Length and without a transfer \
        coding\n",
);

/// Fields that matter for security, so that a duplicate could be interpreted differently.
const ONCE: [&str; 7] = [
    "authorization",
    "content-length",
    "content-type",
    "host",
    "origin",
    "sec-fetch-site",
    "transfer-encoding",
];

/// Whether these bytes have the end of a head in them.
pub fn has_end(bytes: &[u8]) -> bool {
    end(bytes).is_some()
}

fn end(bytes: &[u8]) -> Option<usize> {
    bytes.windows(4).position(|end| end == b"\r\n\r\n")
}

impl Request {
    /// The request that begins so, without its body.
    ///
    /// # Errors
    /// Why it is refused: it is none, is too long, or asks somebody with another name.
    pub fn parse(bytes: &[u8], names: Names) -> Result<Request, Refusal> {
        let Some(end) = end(bytes).filter(|end| *end <= MAX_HEAD) else {
            return Err(if bytes.len() >= MAX_HEAD { TOO_LONG } else { BAD });
        };
        let head = std::str::from_utf8(&bytes[..end]).map_err(|_| BAD)?;
        let mut lines = head.split("\r\n");
        // A line end of another kind is one to some and none to others (RFC 9112, §2.2).
        if lines.clone().any(|line| line.contains(|c: char| c.is_control() && c != '\t')) {
            return Err(BAD);
        }
        let line: Vec<&str> = lines.next().unwrap_or_default().split(' ').collect();
        let [method, target, version @ ("HTTP/1.1" | "HTTP/1.0")] = line[..] else {
            return Err(BAD);
        };
        if !is_token(method) || target.is_empty() {
            return Err(BAD);
        }
        let fields = lines.map(field).collect::<Option<Vec<_>>>().ok_or(BAD)?;
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let [method, path, query] = [method, path, query].map(str::to_owned);
        let mut request = Request { method, path, query, fields, length: 0, body: Vec::new() };
        request.check_host(version, names)?;
        if ONCE.iter().any(|name| request.all(name).count() > 1) {
            return Err(BAD);
        }
        request.length = request.body_length()?;
        Ok(request)
    }

    /// A field of its head, by its name in lower case.
    pub fn field(&self, name: &str) -> Option<&str> {
        self.all(name).next()
    }

    fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        self.fields.iter().filter(move |(found, _)| found == name).map(|(_, value)| value.as_str())
    }

    fn check_host(&self, version: &str, names: Names) -> Result<(), Refusal> {
        let hosts: Vec<&str> = self.all("host").collect();
        match hosts[..] {
            [] if version == "HTTP/1.0" => Ok(()),
            [host] if is_here(host, names) => Ok(()),
            [_] if names == Names::Loopback => Err(NOT_LOOPBACK),
            [_] => Err(NOT_AN_ADDRESS),
            _ => Err(NO_HOST),
        }
    }

    fn body_length(&self) -> Result<usize, Refusal> {
        if self.field("transfer-encoding").is_some() {
            return Err(CODED);
        }
        let Some(length) = self.field("content-length") else { return Ok(0) };
        if length.is_empty() || !length.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(BAD);
        }
        length.parse().ok().filter(|length| *length <= MAX_BODY).ok_or(TOO_LARGE)
    }
}

/// A line of a head. A name of a field ends at its colon, without a space (RFC 9112, §5.1).
fn field(line: &str) -> Option<(String, String)> {
    let (name, value) = line.split_once(':')?;
    is_token(name).then(|| (name.to_ascii_lowercase(), value.trim_matches([' ', '\t']).to_owned()))
}

/// Whether this can be a method or a field's name (a token of RFC 9110, §5.6.2).
fn is_token(text: &str) -> bool {
    let in_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(in_token)
}

/// Whether a `Host` is this machine, by a name or address that no other host's DNS entry can redirect here.
fn is_here(host: &str, names: Names) -> bool {
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if !port.contains(']') => (name, port),
        _ => (host, ""),
    };
    let ip = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    let is_v6 = ip.len() < name.len();
    let is_one = |ip: IpAddr| names == Names::Addresses || ip.is_loopback();
    let is_address = ip.parse().is_ok_and(|ip: IpAddr| is_one(ip) && ip.is_ipv6() == is_v6);
    port.bytes().all(|byte| byte.is_ascii_digit())
        && (name.eq_ignore_ascii_case("localhost") || is_address)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::laws;
    use super::*;

    /// The status of what is answered.
    fn status(head: &str) -> &'static str {
        let parsed = Request::parse(head.as_bytes(), Names::Loopback);
        parsed.map_or_else(|refusal| &refusal.status[..3], |_| "200")
    }

    #[test]
    fn a_request_is_taken_and_everything_else_is_answered_by_what_is_wrong() {
        let long = format!("GET /metrics HTTP/1.0\r\nA: {}\r\n\r\n", "a".repeat(MAX_HEAD));
        for (head, wanted) in [
            ("GET /metrics HTTP/1.1\r\nHost: 127.0.0.1:9855\r\n\r\n", "200"),
            ("GET /metrics?a=b HTTP/1.0\r\n\r\n", "200"),
            ("GET /metrics HTTP/1.0\r\nHost: localhost\r\n\r\nand a body", "200"),
            ("POST / HTTP/1.0\r\nContent-Length: 4096\r\n\r\n", "200"),
            ("POST / HTTP/1.0\r\nContent-Length: 4097\r\n\r\n", "413"),
            ("POST / HTTP/1.0\r\nContent-Length: 99999999999999999999\r\n\r\n", "413"),
            ("POST / HTTP/1.0\r\nContent-Length: +1\r\n\r\n", "400"),
            ("POST / HTTP/1.0\r\nContent-Length:\r\n\r\n", "400"),
            ("POST / HTTP/1.0\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n", "400"),
            ("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", "501"),
            ("GET / HTTP/1.0\r\nOrigin: a\r\norigin: b\r\n\r\n", "400"),
            ("GET /metrics\r\n\r\n", "400"),
            ("GET  /metrics HTTP/1.1\r\n\r\n", "400"),
            ("GET /metrics HTTP/2\r\n\r\n", "400"),
            ("GET  HTTP/1.0\r\n\r\n", "400"),
            (" /metrics HTTP/1.0\r\n\r\n", "400"),
            ("Host: /metrics HTTP/1.0\r\n\r\n", "400"),
            ("GET /metrics HTTP/1.0\r\nHost\"@: a\r\n\r\n", "400"),
            ("GET /metrics HTTP/1.0\r\n", "400"),
            ("GET /metrics HTTP/1.0\r\nno colon\r\n\r\n", "400"),
            ("GET /metrics HTTP/1.0\r\nA: b\nHost: a\r\n\r\n", "400"),
            ("GET /metrics HTTP/1.0\r\nA: b\rHost: a\r\n\r\n", "400"),
            ("GET /metrics HTTP/1.0\r\nHost : a\r\n\r\n", "400"),
            ("GET /metrics HTTP/1.0\r\nA: b\r\n Host: a\r\n\r\n", "400"),
            ("GET /metrics HTTP/1.0\r\n: b\r\n\r\n", "400"),
            ("\r\n\r\n", "400"),
            ("", "400"),
            (&long, "431"),
            (&long[..MAX_HEAD], "431"),
        ] {
            assert_eq!(status(head), wanted, "{head:?}");
        }
    }

    #[test]
    fn a_request_is_told_by_its_parts() {
        let head = "POST /switch?to=a%20b HTTP/1.1\r\nHost: [::1]:80\r\nORIGIN:  http://[::1]:80 \r\n\
                    Content-Length: 2\r\n\r\n";
        let request = Request::parse(head.as_bytes(), Names::Loopback).unwrap();
        assert_eq!(
            (&*request.method, &*request.path, &*request.query),
            ("POST", "/switch", "to=a%20b")
        );
        assert_eq!((request.field("origin"), request.length), (Some("http://[::1]:80"), 2));
        assert_eq!(request.field("cookie"), None);
    }

    #[test]
    fn a_name_that_others_may_have_lead_here_is_refused() {
        let of = |hosts: &str| status(&format!("GET /metrics HTTP/1.1\r\n{hosts}\r\n\r\n"));
        for host in
            ["localhost", "LocalHost:80", "127.0.0.1", "127.1.2.3:9855", "[::1]", "[::1]:9855"]
        {
            assert_eq!(of(&format!("hOST:{host} ")), "200", "{host}");
        }
        for host in [
            "",
            "a.example.org",
            "localhost.example.org",
            "a.localhost",
            "192.0.2.1",
            "[127.0.0.1]",
            "::1",
            "127.0.0.1:a",
            "127.0.0.1:80:80",
            "localhost:80@a",
            "[::2]:80",
            "0.0.0.0",
        ] {
            assert_eq!(of(&format!("Host: {host}")), "421", "{host}");
        }
        assert_eq!(of("Accept: */*"), "400", "HTTP/1.1 without a host");
        assert_eq!(of("Host: localhost\r\nHost: localhost"), "400");
        assert_eq!(status("GET /metrics HTTP/1.0\r\nHost: a\r\n\r\n"), "421");
    }

    #[test]
    fn where_others_may_ask_they_ask_by_numbers_alone() {
        let of = |host: &str| {
            let head = format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n");
            Request::parse(head.as_bytes(), Names::Addresses).map_err(|refusal| refusal.status)
        };
        for host in ["192.0.2.1:9856", "[2001:db8::1]:9856", "localhost", "127.0.0.1"] {
            assert!(of(host).is_ok(), "{host}");
        }
        for host in ["gw1", "gw1.example.org:9856", "192.0.2.1.example.org", "2001:db8::1", ""] {
            assert_eq!(of(host), Err("421 Misdirected Request"), "{host}");
        }
    }

    /// Pieces of requests, right and wrong.
    const PIECES: [&str; 22] = [
        "GET /metrics HTTP/1.1\r\n",
        "GET ",
        "POST ",
        "/metrics",
        "?a=b",
        " HTTP/1.1",
        " HTTP/1.0",
        "\r\n",
        "\r",
        "\n",
        "Host: ",
        "host:",
        "localhost",
        "127.0.0.1",
        ":9855",
        "[::1]",
        "a.example.org",
        "Content-Length: ",
        "\r\norigin: a",
        "\r\n\r\n",
        "\0",
        "ä",
    ];

    proptest! {
        #[test]
        fn whatever_is_sent_the_laws_hold(
            begins in any::<bool>(),
            pieces in prop::collection::vec(prop::sample::select(&PIECES[..]), 0..12),
            noise in prop::collection::vec(any::<u8>(), 0..8),
            at in any::<prop::sample::Index>(),
            ends in any::<bool>(),
        ) {
            let begin = if begins { "GET /metrics HTTP/1.1\r\nHost: " } else { "" };
            let mut bytes = (begin.to_owned() + &pieces.concat()).into_bytes();
            let at = at.index(bytes.len() + 1);
            bytes.splice(at..at, noise);
            if ends {
                bytes.extend(b"\r\n\r\n");
            }
            laws::hold(&bytes);
        }
    }
}
