//! A small language of packet timelines: what one endpoint gets, and all that it sends.
//!
//! Times are milliseconds since the start. Segments carry 1000 bytes: `seg(1)` is the first,
//! `acks(3)` acknowledges the first three. Every segment sent has to be claimed by a `sends`, at
//! the time when it left.

use std::collections::VecDeque;
use std::sync::Arc;

use shortflow_packet::{Ecn, Phase, TcpFlags};
use shortflow_tcp::{
    Config, Connection, EcnCapable, Era, OutputGate, Recovery, Role, SackBlocks, Segment, Stamps,
    State, TcpHeader, Tsecr,
};
use shortflow_units::{Bytes, Duration, Instant};

/// The full segment of these timelines.
pub(crate) const MSS: u32 = 1000;
/// The window that the peer offers unless the timeline says otherwise.
const PEER_WINDOW: u32 = 1_000_000;

/// A plain TCP whose figures are counted by hand: an acknowledgement per segment, a window that grows
/// by one segment for each, no limit by the receiver.
pub(crate) fn plain() -> Config {
    Config {
        receive_window: Bytes(20_000_000),
        rto_initial: Duration::from_secs(3),
        rto_max: Duration::from_secs(60),
        ecn_capable: EcnCapable::NewData,
        restart_after_idle: false,
        ..Era::Ns2In2005.config()
    }
}

/// The same with fine clocks: after a handshake of 100 ms, RTO is 300 ms.
fn config(recovery: Recovery) -> Config {
    Config {
        recovery,
        initial_window: 10,
        limited_transmit: false,
        byte_counting: true,
        clock_granularity: Duration::from_millis(1),
        receive_window: Bytes(1_000_000),
        ..plain()
    }
}

pub(crate) fn reno() -> Config {
    config(Recovery::Reno)
}

pub(crate) fn newreno() -> Config {
    config(Recovery::NewReno)
}

pub(crate) fn sack() -> Config {
    config(Recovery::Sack)
}

/// The same with losses told by time and probes of the tail; RTO is 500 ms, which leaves time for a probe.
pub(crate) fn rack() -> Config {
    let rto_min = Duration::from_millis(500);
    Config { tail_loss_probe: true, rto_min, ..config(Recovery::Rack) }
}

/// A segment as a timeline names it; what it leaves open is not looked at.
#[derive(Debug, Clone)]
pub(crate) struct Spec {
    seq: Option<u32>,
    ack: Option<u32>,
    payload: u16,
    flags: TcpFlags,
    ecn: Ecn,
    window: u32,
    again: bool,
    answers_again: bool,
    tsval: Option<Instant>,
    tsecr: Option<Instant>,
    sack: Vec<(u32, u32)>,
}

pub(crate) fn syn(seq: u32) -> Spec {
    Spec { seq: Some(seq), ..bare(TcpFlags::SYN) }
}

pub(crate) fn syn_ack(seq: u32, ack: u32) -> Spec {
    let flags = TcpFlags::SYN.with(TcpFlags::ACK);
    Spec { seq: Some(seq), ack: Some(ack), ..bare(flags) }
}

/// A bare acknowledgement up to the sequence number `ack`.
pub(crate) fn ack(ack: u32) -> Spec {
    Spec { ack: Some(ack), ..bare(TcpFlags::ACK) }
}

/// A bare acknowledgement of the first `segments` segments.
pub(crate) fn acks(segments: u32) -> Spec {
    ack(1 + segments * MSS)
}

/// The bytes from sequence number `from` to before `to`.
pub(crate) fn data(from: u32, to: u32) -> Spec {
    let payload = to.wrapping_sub(from) as u16;
    Spec { seq: Some(from), payload, ..bare(TcpFlags::ACK) }
}

/// The `number`-th full segment, from 1.
pub(crate) fn seg(number: u32) -> Spec {
    data(1 + (number - 1) * MSS, 1 + number * MSS)
}

/// A FIN without data.
pub(crate) fn fin(seq: u32) -> Spec {
    Spec { seq: Some(seq), ..bare(TcpFlags::ACK) }.with_fin()
}

pub(crate) fn reset(seq: u32) -> Spec {
    Spec { seq: Some(seq), ..bare(TcpFlags::RST) }
}

fn bare(flags: TcpFlags) -> Spec {
    Spec {
        seq: None,
        ack: None,
        payload: 0,
        flags,
        ecn: Ecn::NotEct,
        window: PEER_WINDOW,
        again: false,
        answers_again: false,
        tsval: None,
        tsecr: None,
        sack: Vec::new(),
    }
}

impl Spec {
    /// A segment with just these flags.
    pub(crate) fn flags(flags: TcpFlags) -> Self {
        bare(flags)
    }

    pub(crate) fn carrying(mut self, payload: u16) -> Self {
        self.payload = payload;
        self
    }

    pub(crate) fn with_fin(self) -> Self {
        self.with_flag(TcpFlags::FIN)
    }

    pub(crate) fn with_flag(mut self, flag: TcpFlags) -> Self {
        self.flags = self.flags.with(flag);
        self
    }

    pub(crate) fn acking(mut self, ack: u32) -> Self {
        self.ack = Some(ack);
        self
    }

    /// A retransmission.
    pub(crate) fn again(mut self) -> Self {
        self.again = true;
        self
    }

    /// An acknowledgement that answers a retransmission, as timestamps tell.
    pub(crate) fn answering_again(mut self) -> Self {
        self.answers_again = true;
        self
    }

    /// It left the peer so many milliseconds after the start, as its timestamp says; else it leaves as it arrives.
    pub(crate) fn tsval(mut self, millis: u64) -> Self {
        self.tsval = Some(Instant::START + Duration::from_millis(millis));
        self
    }

    /// TSecr says that what left so many milliseconds after the start is answered.
    pub(crate) fn tsecr(mut self, millis: u64) -> Self {
        self.tsecr = Some(Instant::START + Duration::from_millis(millis));
        self
    }

    pub(crate) fn ecn(mut self, ecn: Ecn) -> Self {
        self.ecn = ecn;
        self
    }

    pub(crate) fn window(mut self, window: u32) -> Self {
        self.window = window;
        self
    }

    /// SACK blocks in segments: `(3, 4)` is the third and the fourth.
    pub(crate) fn sacks(self, blocks: &[(u32, u32)]) -> Self {
        let edges = blocks.iter().map(|&(first, last)| (1 + (first - 1) * MSS, 1 + last * MSS));
        let edges: Vec<(u32, u32)> = edges.collect();
        self.sacks_octets(&edges)
    }

    /// SACK blocks in sequence numbers, from left edge to before right edge.
    pub(crate) fn sacks_octets(mut self, blocks: &[(u32, u32)]) -> Self {
        self.sack = blocks.to_vec();
        self
    }
}

/// An endpoint and its timeline.
pub(crate) struct Script {
    connection: Connection,
    now: Instant,
    sent: VecDeque<(Instant, Segment)>,
    /// How many segments were sent so far, and how many of them again.
    counted: (u32, u32),
    /// What the peer sends next, and how far it has acknowledged: for specs that leave it open.
    peer_seq: u32,
    peer_ack: u32,
    /// How many segments its host's profile lets go, if there is one.
    allowance: Option<Allowance>,
}

/// A profile that lets a number of segments go.
struct Allowance(u32);

impl OutputGate for Allowance {
    fn may_send(&mut self, _now: Instant, _payload: u16) -> bool {
        let may_send = self.0 > 0;
        self.0 = self.0.saturating_sub(1);
        may_send
    }
}

/// An active endpoint.
pub(crate) fn script(config: Config) -> Script {
    Script::new(Connection::new(Arc::new(config), Role::Active))
}

/// A passive endpoint.
pub(crate) fn passive(config: Config) -> Script {
    Script::new(Connection::new(Arc::new(config), Role::Passive))
}

/// An active endpoint at 100 ms, after a handshake of one round trip of 100 ms.
pub(crate) fn established(config: Config) -> Script {
    script(config).opens().sends(syn(0)).at(100).gets(syn_ack(0, 1)).sends(ack(1))
}

impl Script {
    pub(crate) fn new(connection: Connection) -> Self {
        let now = Instant::START;
        Script {
            connection,
            now,
            sent: VecDeque::new(),
            counted: (0, 0),
            peer_seq: 0,
            peer_ack: 0,
            allowance: None,
        }
    }

    /// Time passes until `millis`; timers run when they are due.
    pub(crate) fn at(self, millis: u64) -> Self {
        self.at_nanos(millis * 1_000_000)
    }

    pub(crate) fn at_nanos(mut self, nanos: u64) -> Self {
        self.assert_nothing_left();
        let until = Instant::from_nanos(nanos);
        assert!(until >= self.now, "time does not go back");
        while self.connection.deadline() <= until {
            self.now = self.now.max(self.connection.deadline());
            self.connection.on_timer(self.now);
            self.collect();
        }
        self.now = until;
        self
    }

    pub(crate) fn opens(self) -> Self {
        self.acts(|connection, now| connection.open(now))
    }

    pub(crate) fn writes(self, bytes: u64) -> Self {
        self.acts(|connection, now| connection.write(now, bytes))
    }

    /// Writes this many full segments.
    pub(crate) fn writes_segments(self, segments: u64) -> Self {
        self.writes(segments * u64::from(MSS))
    }

    pub(crate) fn closes(self) -> Self {
        self.acts(|connection, now| connection.close(now))
    }

    /// Writes and closes before anything leaves.
    pub(crate) fn writes_and_closes(self, bytes: u64) -> Self {
        self.acts(|connection, now| {
            connection.write(now, bytes);
            connection.close(now);
        })
    }

    pub(crate) fn aborts(self) -> Self {
        self.acts(|connection, _| connection.abort())
    }

    /// From now on its host's profile lets this many more segments go.
    pub(crate) fn may_send(mut self, segments: u32) -> Self {
        self.allowance = Some(Allowance(segments));
        self.acts(|_, _| {})
    }

    /// A segment arrives.
    pub(crate) fn gets(mut self, spec: Spec) -> Self {
        let seq = spec.seq.unwrap_or(self.peer_seq);
        let length = u32::from(spec.payload)
            + u32::from(spec.flags.has(TcpFlags::FIN))
            + u32::from(spec.flags.has(TcpFlags::SYN));
        let end = seq.wrapping_add(length);
        if end.wrapping_sub(self.peer_seq) as i32 > 0 || spec.flags.has(TcpFlags::SYN) {
            self.peer_seq = end;
        }
        if spec.flags.has(TcpFlags::ACK) {
            self.peer_ack = spec.ack.unwrap_or(self.peer_ack);
        }
        let mut sack = SackBlocks::default();
        for (from, to) in spec.sack {
            sack.push(from, to);
        }
        let (flags, window) = (spec.flags, spec.window);
        let stamps = Stamps::default().with(Stamps::ANSWERS_AGAIN, spec.answers_again);
        let sent_at = spec.tsval.unwrap_or(self.now);
        let tsecr = spec.tsecr.map(|tsecr| Tsecr::new(sent_at, tsecr)).unwrap_or_default();
        let header = TcpHeader { seq, ack: self.peer_ack, window, flags, stamps, tsecr, sack };
        self.acts(|connection, now| {
            connection.on_segment(now, sent_at, &header, spec.payload, spec.ecn);
        })
    }

    /// It arrives so many times.
    pub(crate) fn gets_times(self, times: u32, spec: Spec) -> Self {
        (0..times).fold(self, |script, _| script.gets(spec.clone()))
    }

    /// The endpoint sends this now.
    #[track_caller]
    pub(crate) fn sends(mut self, spec: Spec) -> Self {
        let Some((at, segment)) = self.sent.pop_front() else {
            panic!("at {} nothing is sent instead of {spec:?}", self.now);
        };
        assert_eq!(at, self.now, "sent at another time: {segment:?}");
        let header = &segment.header;
        assert_eq!(header.flags, spec.flags, "flags of {segment:?}");
        assert_eq!(spec.seq.unwrap_or(header.seq), header.seq, "sequence number of {segment:?}");
        assert_eq!(spec.ack.unwrap_or(header.ack), header.ack, "acknowledgement of {segment:?}");
        assert_eq!(spec.payload, segment.payload, "payload of {segment:?}");
        assert_eq!(spec.ecn, segment.ecn, "ECN field of {segment:?}");
        assert_eq!(spec.again, segment.is_retransmission, "retransmission? {segment:?}");
        assert_eq!(spec.sack, header.sack.as_slice(), "SACK blocks of {segment:?}");
        if let Some(tsecr) = spec.tsecr {
            assert_eq!(header.tsecr, Tsecr::new(at, tsecr), "TSecr of {segment:?}");
        }
        self
    }

    /// The endpoint sends these full segments now, in this order, for the first time.
    #[track_caller]
    pub(crate) fn sends_segments(self, numbers: std::ops::RangeInclusive<u32>) -> Self {
        numbers.fold(self, |script, number| script.sends(seg(number)))
    }

    /// The same as ECN-capable packets.
    #[track_caller]
    pub(crate) fn sends_capable(self, numbers: std::ops::RangeInclusive<u32>) -> Self {
        numbers.fold(self, |script, number| script.sends(seg(number).ecn(Ecn::Ect0)))
    }

    /// The endpoint sends these full segments now, in this order, once more.
    #[track_caller]
    pub(crate) fn sends_again(self, numbers: std::ops::RangeInclusive<u32>) -> Self {
        numbers.fold(self, |script, number| script.sends(seg(number).again()))
    }

    /// Looks at the endpoint.
    #[track_caller]
    pub(crate) fn then(self, look: impl FnOnce(&Connection)) -> Self {
        look(&self.connection);
        self
    }

    #[track_caller]
    pub(crate) fn state_is(self, state: State) -> Self {
        assert_eq!(self.connection.state(), state, "state at {}", self.now);
        self
    }

    #[track_caller]
    pub(crate) fn rto_is(self, millis: u64) -> Self {
        assert_eq!(self.connection.rto(), Duration::from_millis(millis), "RTO at {}", self.now);
        self
    }

    #[track_caller]
    pub(crate) fn phase_is(self, phase: Phase) -> Self {
        assert_eq!(self.connection.sender_view().phase, Some(phase), "phase at {}", self.now);
        self
    }

    /// How often fast retransmit and the timer have struck.
    #[track_caller]
    pub(crate) fn repairs_are(self, fast_retransmits: u32, timeouts: u32) -> Self {
        let stats = self.connection.stats();
        assert_eq!((stats.fast_retransmits, stats.timeouts), (fast_retransmits, timeouts));
        self
    }

    #[track_caller]
    pub(crate) fn window_is(self, segments: u64) -> Self {
        let window = self.connection.congestion_window();
        assert_eq!(window, segments * u64::from(MSS), "congestion window at {}", self.now);
        self
    }

    fn acts(mut self, act: impl FnOnce(&mut Connection, Instant)) -> Self {
        self.assert_nothing_left();
        act(&mut self.connection, self.now);
        self.collect();
        self
    }

    fn collect(&mut self) {
        while let Some(segment) = match &mut self.allowance {
            Some(allowance) => self.connection.poll_transmit_through(self.now, allowance),
            None => self.connection.poll_transmit(self.now),
        } {
            self.counted.0 += 1;
            self.counted.1 += u32::from(segment.is_retransmission);
            self.sent.push_back((self.now, segment));
        }
    }

    fn assert_nothing_left(&self) {
        assert!(self.sent.is_empty(), "by {} also sent: {:?}", self.now, self.sent);
        let stats = self.connection.stats();
        let again = stats.retransmitted_segments + stats.syn_retransmissions;
        assert_eq!((stats.segments_sent, again), self.counted, "segments sent, and again");
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.assert_nothing_left();
        }
    }
}
