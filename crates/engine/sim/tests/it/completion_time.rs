//! The completion time of a transfer without loss, to the nanosecond, against a timeline worked out
//! by hand.
//!
//! ```text
//!   client ── 1 Gbit/s, 1 µs ── R1 ══ 10 Mbit/s, 20 ms ══ R2 ── 1 Gbit/s, 1 µs ── server
//! ```

use crate::bench::{run_with_transfers, scenario};

const MICROSECOND: u64 = 1_000;

/// 40 bytes at 1 Gbit/s, and at 10 Mbit/s.
const SHORT_ACCESS: u64 = 320;
const SHORT_BOTTLENECK: u64 = 32 * MICROSECOND;
/// 1040 bytes at 1 Gbit/s, and at 10 Mbit/s.
const FULL_ACCESS: u64 = 8_320;
const FULL_BOTTLENECK: u64 = 832 * MICROSECOND;
/// Propagation over all three links.
const PROPAGATION: u64 = 20_002 * MICROSECOND;

/// A packet without data from end to end, alone on the way: 20 034 640 ns.
const SHORT: u64 = SHORT_ACCESS + SHORT_BOTTLENECK + SHORT_ACCESS + PROPAGATION;
/// A full packet from end to end, alone on the way: 20 850 640 ns.
const FULL: u64 = FULL_ACCESS + FULL_BOTTLENECK + FULL_ACCESS + PROPAGATION;

/// From the SYN until the client may send:
///
/// ```text
///        0  client  SYN ─────▶
///    SHORT          ◀───── SYN-ACK  server
///  2·SHORT  client has it
/// ```
const HANDSHAKE: u64 = 2 * SHORT;

/// From there until the server has the request of one segment. The client's acknowledgement of the
/// SYN-ACK goes first, and is still on the bottleneck when the request comes to it: the request
/// waits for the rest of that transmission.
///
/// ```text
///   R1 has the acknowledgement at 320 + 1000 ns and sends it until 33 320 ns;
///   R1 has the request at 320 + 8320 + 1000 = 9640 ns, and sends it from 33 320 ns on instead of
///   from 8320 + 1000 ns, as it would a packet alone: 24 000 ns later.
/// ```
const REQUEST: u64 = FULL + SHORT_ACCESS + SHORT_BOTTLENECK - FULL_ACCESS;

/// A round trip of slow start: a full packet, then the acknowledgement that it causes.
const ROUND: u64 = FULL + SHORT;

/// From there until the client has the whole reply, in slow start from a window of 2: rounds of 2,
/// 4, 8, 16, 32 segments and a last one of 29 in the case of 91. The first segment of a round
/// leaves when the first of the round before is acknowledged. The bottleneck passes the segments
/// of a round one after another without a gap: each acknowledgement lets two segments go, but they
/// come 832 µs apart, which is the time of one.
fn reply(segments: u64) -> u64 {
    let (round, place) = match segments {
        1 | 2 => (0, segments - 1),
        3 | 5 => (1, segments - 2 - 1),
        11 => (2, segments - (2 + 4) - 1),
        91 => (5, segments - (2 + 4 + 8 + 16 + 32) - 1),
        _ => panic!("not worked out"),
    };
    FULL + round * ROUND + place * FULL_BOTTLENECK
}

/// Transfers of one size between the two hosts, minutes apart.
fn text(reply: &str) -> String {
    format!(
        r#"
        duration = "2000 s"
        drain = "10 s"
        hosts = {{ client = {{}}, server = {{}} }}
        routers = {{ r1 = {{}}, r2 = {{}} }}
        links.client = {{ between = ["client", "r1"], rate = "1 Gbit/s", delay = "1 us" }}
        links.server = {{ between = ["server", "r2"], rate = "1 Gbit/s", delay = "1 us" }}
        links.bottleneck = {{ between = ["r1", "r2"], rate = "10 Mbit/s", delay = "20 ms" }}
        [workloads.web.transfers]
        client = "client"
        server = "server"
        interval = "200 s"
        request.constant = "1 seg"
        reply.constant = "{reply}"
        "#
    )
}

#[test]
fn a_transfer_takes_as_long_as_its_packets_do_by_hand() {
    for segments in [1, 2, 3, 5, 11, 91] {
        let (_, rows) = run_with_transfers(&scenario(&text(&format!("{segments} seg"))));

        assert!(rows.len() >= 5, "{} transfers", rows.len());
        for row in rows {
            assert_eq!(row.handshake, HANDSHAKE);
            assert_eq!(row.request, REQUEST);
            assert_eq!(
                row.completion,
                HANDSHAKE + REQUEST + reply(segments),
                "{segments} segments"
            );
        }
    }
}

/// The same in figures, so that the constants above cannot all be wrong together.
#[test]
fn one_segment_there_and_one_back_take_81_794_560_ns() {
    // 2 · 20 034 640 for the handshake, 20 850 640 + 24 000 for the request, 20 850 640 back.
    assert_eq!(HANDSHAKE + REQUEST + reply(1), 81_794_560);
}

#[test]
fn a_reply_of_one_byte_takes_the_time_of_its_41_bytes() {
    let (_, rows) = run_with_transfers(&scenario(&text("1 B")));

    // 41 bytes: 328 ns, 32.8 µs and 328 ns.
    let back = 328 + 32_800 + 328 + PROPAGATION;
    assert!(rows.iter().all(|row| row.completion == HANDSHAKE + REQUEST + back));
    assert!(!rows.is_empty());
}
