//! What holds of any bytes that are sent to the metrics' address.

use super::request::{MOST_HEAD, has_end, wanted};

/// The laws hold of these bytes.
pub(super) fn hold(bytes: &[u8]) {
    let Ok(()) = wanted(bytes) else { return };
    assert!(has_end(bytes));
    let text = String::from_utf8_lossy(bytes).to_ascii_lowercase();
    let (head, _) = text.split_once("\r\n\r\n").expect("it has an end");
    assert!(head.len() <= MOST_HEAD && bytes.starts_with(b"GET /metrics"), "{text}");
    for host in head.lines().filter_map(|line| line.strip_prefix("host:")) {
        let host = host.trim();
        let is_here = ["localhost", "127.", "["].iter().any(|begin| host.starts_with(begin));
        let is_name = host.trim_start_matches("localhost").contains(|c: char| c.is_alphabetic());
        assert!(is_here && !is_name, "{host}");
    }
    // What comes behind the head changes nothing, however it was cut on its way.
    let end = head.len() + 4;
    assert_eq!(wanted(&bytes[..end]), Ok(()));
}
