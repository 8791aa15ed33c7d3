//! The same losses in ns-2, in ns-3 and in Linux: what they sent, or how long it took, is in `tests/peers/`,
//! with the programs that ran them. All send the same segments at the same times, but where a reason is given.

use std::fmt::Write as _;

use shortflow_tcp::{Config, Era};
use shortflow_units::{Duration, Instant};

use crate::pair::{Pair, Pipe};
use crate::script::{MSS, newreno, reno, sack};

const NS2: &str = include_str!("../peers/ns2.txt");
const NS3: &str = include_str!("../peers/ns3.txt");
/// Linux 6.18 with timers of 250 Hz.
const LINUX: &str = include_str!("../peers/linux.txt");

/// ns-2 adds 1/cwnd segments for each acknowledgement, which makes a little less than one in a
/// round trip; RFC 5681 §3.1 recommends to count the bytes, which makes one.
const GROWTH: &str = "congestion avoidance";
/// ns-2 still adds duplicates to the window when the timer has expired, and sends once more what
/// the peer has. RFC 6582 §3.2, step 4, ends the recovery.
const INFLATION: &str = "inflation after a timeout";
/// Sack1 takes a segment out of its pipe for each duplicate (Fall & Floyd 1996), the pipe of RFC
/// 6675 §4 also what is lost; Sack1 fills any hole, `NextSeg()` those that `IsLost()` names first.
const PIPE: &str = "pipe";
/// The acknowledgement that ends a recovery opens ns-3's window, by a segment for each one that it
/// acknowledges. RFC 5681 §3.2, step 6, sets it to the threshold.
const EXIT: &str = "growth at the end of recovery";
/// ns-3 leaves the timer alone when it sends the first segment again, as RFC 6298 §5 has it; ours
/// starts anew, as RFC 6675 §6 allows.
const TIMER: &str = "timer";
/// ns-3 has no rescue retransmission (RFC 6675 §4, rule 4): it sends the first segment of the end
/// again, not the last.
const RESCUE: &str = "rescue";

/// The cases in which the timelines part, the first line of the peer's that differs, and why.
const DIFFERENCES: [(&str, &str, &str); 17] = [
    ("TCP/Reno TCPSink 40 3", "0.60", GROWTH),
    ("TCP/Reno TCPSink 40 1 5", "0.85", GROWTH),
    ("TCP/Reno TCPSink 40 1 9", "0.60", INFLATION),
    ("TCP/Newreno TCPSink 40 3", "0.60", GROWTH),
    ("TCP/Newreno TCPSink 40 1 9", "0.60", INFLATION),
    ("TCP/Newreno TCPSink 40 0 3", "3.75", GROWTH),
    ("TCP/Sack1 TCPSink/Sack1 40 3", "0.40", GROWTH),
    ("TCP/Sack1 TCPSink/Sack1 40 1 5", "0.20", PIPE),
    ("TCP/Sack1 TCPSink/Sack1 40 1 3 6", "0.20", PIPE),
    ("TCP/Sack1 TCPSink/Sack1 40 1 9", "0.75", GROWTH),
    ("TCP/Sack1 TCPSink/Sack1 12 1 2 3 4 5", "0.20", PIPE),
    ("ns-3 SACK 40 3", "0.30", EXIT),
    ("ns-3 SACK 40 1 5", "0.30", EXIT),
    ("ns-3 SACK 40 1 3 6", "0.40", EXIT),
    ("ns-3 SACK 40 1 9", "0.50", EXIT),
    ("ns-3 SACK 40 1 11", "0.45", TIMER),
    ("ns-3 SACK 12 1 2 3 4 5", "0.40", RESCUE),
];

#[test]
fn the_peers_send_the_same_segments_at_the_same_times() {
    for theirs in [NS2, NS3].iter().flat_map(|peer| peer.split_terminator("\n\n")) {
        let (case, _) = theirs.split_once('\n').unwrap();
        let ours = timeline(case);
        let parting = ours.lines().zip(theirs.lines()).find(|(ours, theirs)| ours != theirs);
        let parting = parting.map(|(_, theirs)| theirs.split_once(':').unwrap().0);
        let known = DIFFERENCES.iter().find(|difference| difference.0 == case);
        assert_eq!(parting, known.map(|difference| difference.1), "{ours}\n\n{theirs}");
    }
}

/// Half a round trip: one more or less shows, a tick of the kernel's timers does not.
const TOLERANCE_MS: f64 = 10.0;

// RFC 8985 §6 and §7, RFC 9937, RFC 3522 and RFC 6298: all subsets of the seven packets of a page of 8 KB, and random losses of 40 %
// of it and of 10 % of 30 KB.
#[test]
fn pages_with_losses_take_as_long_as_from_linux() {
    let off: Vec<_> = LINUX.lines().filter(|case| !agrees(case)).collect();
    assert!(LINUX.lines().count() > 200 && off.is_empty(), "{off:#?}");
}

/// Whether a case takes as long as in Linux: bytes of the page, packets lost, and milliseconds.
fn agrees(case: &str) -> bool {
    let [bytes, lost, millis] = case.split(' ').collect::<Vec<_>>()[..] else { panic!("{case}") };
    let bytes = bytes.parse().unwrap();
    let lost_replies = lost.split(',').filter_map(|packet| packet.parse().ok()).collect();
    let gap = Duration::from_nanos(10_000);
    let pipe = Pipe { gap, lost_replies, ..Pipe::clean(Duration::from_millis(10)) };
    let config = Config { timer_tick: Duration::from_millis(4), ..Era::LinuxToday.config() };
    let mut pair = Pair::new(config, pipe);
    pair.open();
    pair.write(0, 400);
    assert!(pair.run_until(|pair| pair.ends[1].received() == 400));
    pair.write(1, bytes);
    pair.close(1);
    assert!(pair.run_until(|pair| pair.ends[0].received() == bytes));
    let ours = pair.now.since(Instant::START).as_secs_f64() * 1e3;
    (ours - millis.parse::<f64>().unwrap()).abs() < TOLERANCE_MS
}

/// Our timeline of a case: sender, receiver, segments, and the packets lost. The SYN is packet 0.
fn timeline(case: &str) -> String {
    let mut words = case.split(' ');
    let config = match words.next() {
        Some("TCP/Reno") => reno(),
        Some("TCP/Newreno") => newreno(),
        Some("TCP/Sack1") => sack(),
        // RFC 6675 §5, step 3, has limited transmit in it.
        Some("ns-3") => Config { limited_transmit: true, ..sack() },
        other => panic!("no such sender: {other:?}"),
    };
    let config = Config { initial_window: 8, rto_min: Duration::from_millis(350), ..config };
    let mut numbers = words.skip(1).map(|word| word.parse::<usize>().unwrap());
    let bytes = numbers.next().unwrap() as u64 * u64::from(MSS);
    let pipe = Pipe { lost: numbers.collect(), ..Pipe::clean(Duration::from_millis(50)) };
    let mut pair = Pair::new(config, pipe);
    pair.open();
    pair.write(0, bytes);
    assert!(pair.run_until(|pair| pair.ends[0].acknowledged() == bytes));
    let mut text = case.to_owned();
    let mut last = Instant::NEVER;
    for &(at, sequence) in pair.numbered.iter().filter(|sent| sent.1 > 0) {
        if at != last {
            write!(text, "\n{:.2}:", at.nanos() as f64 / 1e9).unwrap();
        }
        write!(text, " {}", sequence / MSS + 1).unwrap();
        last = at;
    }
    text
}
