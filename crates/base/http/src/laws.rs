//! Properties that hold for any bytes sent as a request.

use super::request::{MAX_BODY, MAX_HEAD, Names, Request, has_end};

/// The laws hold of these bytes.
pub(super) fn hold(bytes: &[u8]) {
    let loopback = Request::parse(bytes, Names::Loopback);
    let addresses = Request::parse(bytes, Names::Addresses);
    let Ok(request) = loopback else { return };
    assert_eq!(addresses.as_ref(), Ok(&request), "who may ask from elsewhere may ask from here");
    assert!(has_end(bytes) && request.length <= MAX_BODY && request.body.is_empty());
    let text = String::from_utf8_lossy(bytes).to_ascii_lowercase();
    let (head, _) = text.split_once("\r\n\r\n").expect("it has an end");
    assert!(head.len() <= MAX_HEAD, "{text}");
    for name in ["host:", "origin:"] {
        assert!(head.lines().filter(|line| line.starts_with(name)).count() <= 1, "{text}");
    }
    for host in head.lines().filter_map(|line| line.strip_prefix("host:")) {
        let host = host.trim();
        let is_here = ["localhost", "127.", "["].iter().any(|begin| host.starts_with(begin));
        let is_name = host.trim_start_matches("localhost").contains(|c: char| c.is_alphabetic());
        assert!(is_here && !is_name, "{host}");
    }
    // What comes behind the head changes nothing, however it was cut on its way.
    let end = head.len() + 4;
    assert_eq!(Request::parse(&bytes[..end], Names::Loopback), Ok(request));
}
