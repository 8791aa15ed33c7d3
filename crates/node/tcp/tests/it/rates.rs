//! What a congestion control is told, and pacing.

use std::sync::{Arc, Mutex};

use shortflow_packet::{Ecn, TcpFlags};
use shortflow_tcp::{
    Ack, Config, Congestion, CongestionControl, Connection, DelayedAck, EchoRule, Limit, LossPhase,
    Role,
};
use shortflow_units::{Bytes, Duration, Instant, Rate};

use crate::script::*;

/// What the control of a host heard.
#[derive(Debug, Default)]
struct Heard {
    acks: Vec<Ack>,
    signs: Vec<Congestion>,
}

/// Keeps a window of ten segments, and writes down what it is told.
#[derive(Debug)]
struct Listener {
    heard: Arc<Mutex<Heard>>,
    rate: Option<Rate>,
    echo: EchoRule,
}

impl CongestionControl for Listener {
    fn on_ack(&mut self, _now: Instant, ack: &Ack) {
        self.heard.lock().unwrap().acks.push(*ack);
    }
    fn on_congestion(&mut self, _now: Instant, event: Congestion, _in_flight: Bytes) {
        self.heard.lock().unwrap().signs.push(event);
    }
    fn cap_window(&mut self, _limit: Bytes) {}
    fn window(&self) -> Bytes {
        Bytes(10 * u64::from(MSS))
    }
    fn is_slow_start(&self) -> bool {
        false
    }
    fn is_rate_based(&self) -> bool {
        true
    }
    fn pacing_rate(&self) -> Option<Rate> {
        self.rate
    }
    fn echo(&self) -> EchoRule {
        self.echo
    }
}

fn listener(echo: EchoRule) -> Box<Listener> {
    Box::new(Listener { heard: Arc::default(), rate: None, echo })
}

/// An active end with a listener at 100 ms, after a handshake of one round trip of 100 ms.
fn listening(config: Config, rate: Option<Rate>) -> (Script, Arc<Mutex<Heard>>) {
    let heard = Arc::new(Mutex::new(Heard::default()));
    let control = Listener { heard: Arc::clone(&heard), rate, echo: EchoRule::UntilReduced };
    let end = Connection::new(Arc::new(config), Role::Active);
    let end = end.with_congestion_control(Box::new(control));
    let script = Script::new(end).opens().sends(syn(0)).at(100).gets(syn_ack(0, 1)).sends(ack(1));
    (script, heard)
}

fn mbit(rate: u64) -> Rate {
    Rate::from_bits_per_sec(rate * 1_000_000)
}

/// Ten segments leave at once and are acknowledged between 200 and 209 ms: the first ends the
/// measurement with one segment in 100 ms. The eleventh, sent at 200 ms, ends the next at 300 ms: since
/// the acknowledgement at 200 ms ten segments have come.
// RFC 5681 §3.2: the control is told in fast recovery too.
#[test]
fn a_control_is_told_rates_round_trips_and_the_phase() {
    let (mut script, heard) = listening(newreno(), None);
    script = script.writes_segments(30).sends_segments(1..=10);
    for segment in 1..=10 {
        let at = 199 + u64::from(segment);
        script = script.at(at).gets(acks(segment)).sends(seg(10 + segment));
    }
    script = script.at(300).gets(acks(11)).sends(seg(21));
    script = script.at(301).gets_times(3, acks(11));
    script = script.sends(seg(12).again()).sends_segments(22..=24);
    script.at(400).gets(acks(12)).sends(seg(13).again()).sends(seg(25));

    let heard = heard.lock().unwrap();
    let (first, second) = (heard.acks[0], heard.acks[1]);
    assert_eq!((first.acknowledged, first.in_flight), (Bytes(1000), Bytes(10_000)));
    assert_eq!((first.phase, first.limit), (LossPhase::Open, Limit::Network));
    assert_eq!(first.rtt, Some(Duration::from_millis(100)));
    assert_eq!(first.smoothed_rtt, first.rtt);
    assert_eq!(first.delivery.unwrap().rate, Rate::from_bits_per_sec(80_000));
    assert_eq!((second.rtt, second.delivery), (None, None));
    let eleventh = heard.acks[10];
    assert_eq!(eleventh.delivery.unwrap().rate, Rate::from_bits_per_sec(800_000));
    assert!(!eleventh.delivery.unwrap().app_limited);
    let last = heard.acks.last().unwrap();
    assert_eq!((last.phase, last.opens_window()), (LossPhase::Fast, false));
    assert_eq!(heard.signs, [Congestion::Loss]);
}

// RFC 3168 §6.1.2: the bytes for which a mark is echoed, and then the sign of congestion.
#[test]
fn a_control_is_told_the_bytes_of_an_echo() {
    let heard = Arc::new(Mutex::new(Heard::default()));
    let control = Listener { heard: Arc::clone(&heard), rate: None, echo: EchoRule::UntilReduced };
    let end = Connection::new(Arc::new(Config { ecn: true, ..newreno() }), Role::Active);
    Script::new(end.with_congestion_control(Box::new(control)))
        .opens()
        .sends(syn(0).with_flag(TcpFlags::ECE).with_flag(TcpFlags::CWR))
        .at(100)
        .gets(syn_ack(0, 1).with_flag(TcpFlags::ECE))
        .sends(ack(1))
        .writes_segments(4)
        .sends_capable(1..=4)
        .at(200)
        .gets(acks(2))
        .gets(acks(4).with_flag(TcpFlags::ECE));

    let heard = heard.lock().unwrap();
    let marked: Vec<u64> = heard.acks.iter().map(|ack| ack.marked.0).collect();
    assert_eq!(marked, [0, 2000]);
    assert!(!heard.acks[1].opens_window());
    assert_eq!(heard.signs, [Congestion::Ecn]);
}

/// Two segments per acknowledgement; where marks begin or end, what is pending and what has come are
/// acknowledged at once, each with the echo of its own data. CWR ends nothing.
// RFC 8257 §3.2.
#[test]
fn an_exact_echo_tells_of_each_segment_whether_it_was_marked() {
    let (control, ece) = (listener(EchoRule::Exact), TcpFlags::ECE);
    let delay = DelayedAck { timeout: Duration::from_millis(100), segments: 2 };
    let config = Config { ecn: true, delayed_ack: Some(delay), ..newreno() };
    let end = Connection::new(Arc::new(config), Role::Active);
    Script::new(end.with_congestion_control(control))
        .opens()
        .sends(syn(0).with_flag(ece).with_flag(TcpFlags::CWR))
        .at(100)
        .gets(syn_ack(0, 1).with_flag(ece))
        .sends(ack(1))
        .gets(seg(1).ecn(Ecn::Ect0))
        .gets(seg(2).ecn(Ecn::Ce))
        .sends(acks(1))
        .sends(acks(2).with_flag(ece))
        .gets(seg(3).ecn(Ecn::Ce))
        .gets(seg(4).ecn(Ecn::Ce).with_flag(TcpFlags::CWR))
        .sends(acks(4).with_flag(ece))
        .gets(seg(5).ecn(Ecn::Ect0))
        .sends(acks(5))
        .gets(seg(6).ecn(Ecn::Ect0))
        .at(200)
        .sends(acks(6));
}

// RFC 5681 §3.1: data that the application does not have yet is no measure of the path.
#[test]
fn a_sample_of_a_sender_without_data_says_so() {
    let (script, heard) = listening(newreno(), None);
    script.writes_segments(2).sends_segments(1..=2).at(200).gets(acks(2));
    let heard = heard.lock().unwrap();
    assert!(heard.acks[0].delivery.unwrap().app_limited);
    assert_eq!(heard.acks[0].limit, Limit::Ends);
}

// RFC 9002 §7.7 calls this pacing: a segment of 1000 bytes each 8 ms is 1 Mbit/s.
#[test]
fn new_data_leave_at_the_rate_of_the_control() {
    let (mut script, _) = listening(newreno(), Some(mbit(1)));
    script = script.writes_segments(4).sends(seg(1));
    for segment in 2..=4 {
        script = script.at(100 + 8 * (u64::from(segment) - 1)).sends(seg(segment));
    }
    script.at(190);
}

// RFC 9002 §7.7: what was not sent in time is not caught up with in a burst.
#[test]
fn a_pause_does_not_save_up_for_a_burst() {
    let (script, _) = listening(newreno(), Some(mbit(1)));
    script
        .writes_segments(1)
        .sends(seg(1))
        .at(150)
        .writes_segments(2)
        .sends(seg(2))
        .at(158)
        .sends(seg(3));
}

/// The window of ten segments in a round trip of 100 ms, twice over: a segment each 5 ms.
// RFC 9002 §7.7, with the factors of Linux.
#[test]
fn slow_start_is_paced_at_twice_the_window_in_a_round_trip() {
    let mut script = established(Config { pacing: true, ..newreno() });
    script = script.writes_segments(4).sends(seg(1));
    for segment in 2..=4 {
        script = script.at(100 + 5 * (u64::from(segment) - 1)).sends(seg(segment));
    }
    script.at(150);
}
