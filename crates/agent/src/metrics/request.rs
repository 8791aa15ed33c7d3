//! What is asked of the metrics' address: the head of a request of HTTP/1 (RFC 9112), and nothing else is read.

use std::net::IpAddr;

/// The most bytes of the head of a request.
pub(super) const MOST_HEAD: usize = 8192;

/// Why a request is refused: the status, a line of the answer's head where that needs one, and what is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) status: &'static str,
    pub(super) more: &'static str,
    pub(super) says: &'static str,
}

const BAD: Refusal = refusal("400 Bad Request", "this is no request of HTTP/1.1\n");
const NO_HOST: Refusal = refusal("400 Bad Request", "a request of HTTP/1.1 has one Host\n");
const ELSEWHERE: Refusal = refusal(
    "421 Misdirected Request",
    "the metrics are those of localhost, 127.0.0.1 or [::1], and not of another name\n",
);
const UNKNOWN: Refusal = refusal("404 Not Found", "the metrics are at /metrics\n");
const TOO_LONG: Refusal =
    refusal("431 Request Header Fields Too Large", "a request has at most 8192 bytes\n");
const METHOD: Refusal = Refusal {
    status: "405 Method Not Allowed",
    more: "Allow: GET\r\n",
    says: "one can GET this\n",
};

const fn refusal(status: &'static str, says: &'static str) -> Refusal {
    Refusal { status, more: "", says }
}

/// Whether these bytes have the end of a head in them.
pub(super) fn has_end(bytes: &[u8]) -> bool {
    end(bytes).is_some()
}

fn end(bytes: &[u8]) -> Option<usize> {
    bytes.windows(4).position(|end| end == b"\r\n\r\n")
}

/// Whether the metrics are wanted by a request that begins so, or why it is refused.
pub(super) fn wanted(bytes: &[u8]) -> Result<(), Refusal> {
    let Some(end) = end(bytes).filter(|end| *end <= MOST_HEAD) else {
        return Err(if bytes.len() >= MOST_HEAD { TOO_LONG } else { BAD });
    };
    let head = std::str::from_utf8(&bytes[..end]).map_err(|_| BAD)?;
    let mut lines = head.split("\r\n");
    // A line end of another kind is one to some and none to others (RFC 9112, §2.2).
    if lines.clone().any(|line| line.contains(|c: char| c.is_control() && c != '\t')) {
        return Err(BAD);
    }
    let line: Vec<&str> = lines.next().unwrap_or_default().split(' ').collect();
    let [method, target, version @ ("HTTP/1.1" | "HTTP/1.0")] = line[..] else { return Err(BAD) };
    let mut hosts = Vec::new();
    for line in lines {
        let (name, value) = line.split_once(':').ok_or(BAD)?;
        if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(BAD);
        }
        if name.eq_ignore_ascii_case("host") {
            hosts.push(value.trim_matches([' ', '\t']));
        }
    }
    match hosts[..] {
        [] if version == "HTTP/1.0" => {}
        [host] if is_here(host) => {}
        [_] => return Err(ELSEWHERE),
        _ => return Err(NO_HOST),
    }
    match (method, target.split('?').next()) {
        ("GET", Some("/metrics")) => Ok(()),
        (_, Some("/metrics")) => Err(METHOD),
        _ => Err(UNKNOWN),
    }
}

/// Whether a `Host` is this machine, by a name or address that only this machine has for itself. A page of a browser here
/// whose own name leads to 127.0.0.1 (DNS rebinding) comes with that name.
fn is_here(host: &str) -> bool {
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if !port.contains(']') => (name, port),
        _ => (host, ""),
    };
    let ip = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    let is_v6 = ip.len() < name.len();
    let is_loopback = ip.parse().is_ok_and(|ip: IpAddr| ip.is_loopback() && ip.is_ipv6() == is_v6);
    port.bytes().all(|byte| byte.is_ascii_digit())
        && (name.eq_ignore_ascii_case("localhost") || is_loopback)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::laws;
    use super::*;

    /// The status of what is answered.
    fn status(head: &str) -> &'static str {
        wanted(head.as_bytes()).map_or_else(|refusal| &refusal.status[..3], |()| "200")
    }

    #[test]
    fn the_metrics_are_got_and_everything_else_is_answered_by_what_is_wrong() {
        let long = format!("GET /metrics HTTP/1.0\r\nA: {}\r\n\r\n", "a".repeat(MOST_HEAD));
        for (head, wanted) in [
            ("GET /metrics HTTP/1.1\r\nHost: 127.0.0.1:9855\r\n\r\n", "200"),
            ("GET /metrics?a=b HTTP/1.0\r\n\r\n", "200"),
            ("GET /metrics HTTP/1.0\r\nHost: localhost\r\n\r\nand a body", "200"),
            ("POST /metrics HTTP/1.0\r\n\r\n", "405"),
            ("GET / HTTP/1.0\r\n\r\n", "404"),
            ("GET /metrics/.. HTTP/1.0\r\n\r\n", "404"),
            ("GET /metrics\r\n\r\n", "400"),
            ("GET  /metrics HTTP/1.1\r\n\r\n", "400"),
            ("GET /metrics HTTP/2\r\n\r\n", "400"),
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
            (&long[..MOST_HEAD], "431"),
        ] {
            assert_eq!(status(head), wanted, "{head:?}");
        }
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
    /// Pieces of requests, right and wrong.
    const PIECES: [&str; 20] = [
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
