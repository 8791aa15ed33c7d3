//! Two endpoints joined by a pipe in virtual time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use shortflow_packet::{Ecn, Phase, TcpFlags};
use shortflow_tcp::{Config, Connection, Recovery, Role, Segment};
use shortflow_units::{Duration, Instant, Rng};

/// What the pipe does to segments, both ways.
#[derive(Debug, Clone)]
pub(crate) struct Pipe {
    pub(crate) delay: Duration,
    /// The time between two segments of a direction, at least.
    pub(crate) gap: Duration,
    /// Each segment is delayed by up to this much more, so that segments overtake each other.
    pub(crate) jitter: Duration,
    pub(crate) loss: f64,
    /// Of the SYN and the segments with data that the active end sends, these are lost: the SYN is
    /// the first, with the number 0.
    pub(crate) lost: Vec<usize>,
    /// Of the segments with data or a FIN that the passive end sends, these are lost.
    pub(crate) lost_replies: Vec<usize>,
    /// Probability that a segment that is ECN-capable is marked.
    pub(crate) mark: f64,
    pub(crate) seed: u64,
}

impl Pipe {
    /// A pipe that loses and reorders nothing.
    pub(crate) fn clean(delay: Duration) -> Self {
        Pipe {
            delay,
            gap: Duration::ZERO,
            jitter: Duration::ZERO,
            loss: 0.0,
            lost: Vec::new(),
            lost_replies: Vec::new(),
            mark: 0.0,
            seed: 1,
        }
    }
}

/// What is on its way: when it comes, in which order it left, to which end, the segment, and when it left.
struct Arrival(Instant, u64, usize, Segment, Instant);

impl PartialEq for Arrival {
    fn eq(&self, other: &Self) -> bool {
        (self.0, self.1) == (other.0, other.1)
    }
}
impl Eq for Arrival {}
impl PartialOrd for Arrival {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Arrival {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.0, self.1).cmp(&(other.0, other.1))
    }
}

/// What one direction of the wire has delivered, byte by byte: the oracle for `received`.
#[derive(Debug, Default)]
struct Delivered {
    bytes: Vec<bool>,
    in_order: usize,
    /// TS.Recent, in milliseconds, once a SYN came with a timestamp.
    recent: Option<u64>,
    /// Last.ACK.sent, from the initial sequence number.
    acknowledged: u32,
}

impl Delivered {
    /// Whether a segment of so many sequence numbers from `start` on, which left at `sent_at`, has a timestamp that is not
    /// older than TS.Recent (RFC 7323 §5.3).
    fn accepts(&mut self, start: u32, length: u32, sent_at: Instant) -> bool {
        let value = sent_at.nanos() / 1_000_000;
        let Some(recent) = self.recent else { return true };
        if value < recent {
            return length == 0;
        }
        if start <= self.acknowledged && self.acknowledged <= start + length {
            self.recent = Some(value);
        }
        true
    }

    fn take(&mut self, from: usize, payload: usize) {
        self.bytes.resize(self.bytes.len().max(from + payload), false);
        self.bytes[from..from + payload].fill(true);
        while self.bytes.get(self.in_order) == Some(&true) {
            self.in_order += 1;
        }
    }
}

pub(crate) struct Pair {
    pub(crate) ends: [Connection; 2],
    pub(crate) now: Instant,
    /// One line for each segment sent, for comparing runs.
    pub(crate) log: Vec<String>,
    /// When the active end sent its SYN and its data, and their sequence numbers.
    pub(crate) numbered: Vec<(Instant, u32)>,
    pub(crate) written: [u64; 2],
    pub(crate) marks: u64,
    /// Segments with data or a FIN that the passive end has sent.
    replies: usize,
    config: Config,
    initial: [u32; 2],
    delivered: [Delivered; 2],
    wire: BinaryHeap<Reverse<Arrival>>,
    /// When the next segment of each end can leave.
    free_at: [Instant; 2],
    pipe: Pipe,
    rng: Rng,
    sent: u64,
}

impl Pair {
    /// The active end is `ends[0]`.
    pub(crate) fn new(config: Config, pipe: Pipe) -> Self {
        Self::with_initial_sequences(config, pipe, [0, 0])
    }

    pub(crate) fn with_initial_sequences(config: Config, pipe: Pipe, initial: [u32; 2]) -> Self {
        let shared = Arc::new(config.clone());
        let end = |role, initial| {
            Connection::new(Arc::clone(&shared), role).with_initial_sequence(initial)
        };
        Pair {
            ends: [end(Role::Active, initial[0]), end(Role::Passive, initial[1])],
            now: Instant::START,
            log: Vec::new(),
            numbered: Vec::new(),
            written: [0, 0],
            marks: 0,
            replies: 0,
            config,
            initial,
            delivered: Default::default(),
            wire: BinaryHeap::new(),
            free_at: [Instant::START; 2],
            rng: Rng::stream(pipe.seed, "pipe"),
            pipe,
            sent: 0,
        }
    }

    /// Opens both ends.
    pub(crate) fn open(&mut self) {
        for end in [1, 0] {
            self.ends[end].open(self.now);
            self.transmit(end);
        }
    }

    pub(crate) fn write(&mut self, end: usize, bytes: u64) {
        self.written[end] += bytes;
        self.ends[end].write(self.now, bytes);
        self.transmit(end);
    }

    pub(crate) fn close(&mut self, end: usize) {
        self.ends[end].close(self.now);
        self.transmit(end);
    }

    /// Runs until `done`, or until nothing more can happen. Whether `done` came.
    pub(crate) fn run_until(&mut self, done: impl Fn(&Pair) -> bool) -> bool {
        while !done(self) {
            if !self.step() {
                return false;
            }
        }
        true
    }

    /// The next arrival or timer, whichever comes first. `false` when there is neither.
    pub(crate) fn step(&mut self) -> bool {
        let arrival = self.wire.peek().map_or(Instant::NEVER, |next| next.0.0);
        let timer = self.ends[0].deadline().min(self.ends[1].deadline());
        if arrival.min(timer) == Instant::NEVER {
            return false;
        }
        self.now = arrival.min(timer);
        if arrival <= timer
            && let Some(Reverse(Arrival(_, _, end, segment, sent_at))) = self.wire.pop()
        {
            self.deliver(end, &segment, sent_at);
        } else {
            let end = usize::from(self.ends[1].deadline() < self.ends[0].deadline());
            self.ends[end].on_timer(self.now);
            self.transmit(end);
        }
        true
    }

    fn deliver(&mut self, end: usize, segment: &Segment, sent_at: Instant) {
        let flags = segment.header.flags;
        let start = segment.header.seq.wrapping_sub(self.initial[1 - end]);
        let fin = u32::from(flags.has(TcpFlags::FIN));
        let is_accepted = if flags.has(TcpFlags::SYN) {
            if self.config.header >= 52 && self.delivered[end].recent.is_none() {
                self.delivered[end].recent = Some(sent_at.nanos() / 1_000_000);
            }
            true
        } else {
            self.delivered[end].accepts(start, u32::from(segment.payload) + fin, sent_at)
        };
        if segment.payload > 0 && is_accepted {
            let first = segment.header.seq.wrapping_sub(self.initial[1 - end].wrapping_add(1));
            self.delivered[end].take(first as usize, usize::from(segment.payload));
        }
        let header = &segment.header;
        self.ends[end].on_segment(self.now, sent_at, header, segment.payload, segment.ecn);
        self.transmit(end);
        if self.ends[end].failure().is_none() {
            assert_eq!(self.ends[end].received(), self.delivered[end].in_order as u64);
        }
    }

    fn transmit(&mut self, end: usize) {
        while let Some(mut segment) = self.ends[end].poll_transmit(self.now) {
            self.sent += 1;
            let name = ["a", "b"][end];
            self.log.push(format!("{} {name} {segment:?}", self.now.nanos()));
            self.check_flight(end, &segment);
            if segment.header.flags.has(TcpFlags::ACK) {
                let from = self.initial[1 - end];
                self.delivered[end].acknowledged = segment.header.ack.wrapping_sub(from);
            }
            assert!(self.log.len() < 200_000, "the endpoints do not come to an end");
            if end == 0 && (segment.payload > 0 || segment.header.flags.has(TcpFlags::SYN)) {
                self.numbered.push((self.now, segment.header.seq));
                if self.pipe.lost.contains(&(self.numbered.len() - 1)) {
                    continue;
                }
            }
            let fin = segment.header.flags.has(TcpFlags::FIN);
            if end == 1 && (segment.payload > 0 || fin) {
                self.replies += 1;
                if self.pipe.lost_replies.contains(&(self.replies - 1)) {
                    continue;
                }
            }
            if self.rng.bernoulli(self.pipe.loss) {
                continue;
            }
            if segment.ecn.is_capable() && self.rng.bernoulli(self.pipe.mark) {
                segment.ecn = Ecn::Ce;
                self.marks += 1;
            }
            let extra = Duration::from_nanos(self.rng.below(self.pipe.jitter.nanos() + 1));
            let left = self.now.max(self.free_at[end]);
            self.free_at[end] = left + self.pipe.gap;
            let at = left + self.pipe.delay + extra;
            self.wire.push(Reverse(Arrival(at, self.sent, 1 - end, segment, self.now)));
        }
        self.check_deadline(end);
    }

    /// New data stay within the peer's window, and outside of recovery within the congestion
    /// window and the two segments of limited transmit (RFC 3042). With losses told by time what the peer holds
    /// makes room, of which nothing is seen from here.
    fn check_flight(&self, end: usize, segment: &Segment) {
        if segment.payload == 0 || segment.is_retransmission {
            return;
        }
        let connection = &self.ends[end];
        let first = segment.header.seq.wrapping_sub(self.initial[end].wrapping_add(1));
        let outstanding = u64::from(first) + u64::from(segment.payload) - connection.acknowledged();
        assert!(outstanding <= self.config.receive_window.0);
        let phase = connection.sender_view().phase;
        let is_seen = self.config.recovery != Recovery::Rack;
        if is_seen && matches!(phase, Some(Phase::SlowStart | Phase::CongestionAvoidance)) {
            let allowance = if self.config.limited_transmit { 2 } else { 0 };
            let window = connection.congestion_window() + allowance * u64::from(self.config.mss);
            assert!(outstanding <= window, "{outstanding} bytes in flight, window {window}");
        }
    }

    /// No deadlock: whatever waits for the peer has a timer running.
    fn check_deadline(&self, end: usize) {
        let connection = &self.ends[end];
        let waits = connection.is_established()
            && connection.acknowledged() < self.written[end].min(u64::MAX / 4);
        if waits {
            assert_ne!(connection.deadline(), Instant::NEVER, "end {end} waits for ever");
        }
    }

    /// How many segments with payload end `end` has sent.
    pub(crate) fn data_segments(&self, end: usize) -> usize {
        let mark = [" a ", " b "][end];
        let is_data = |line: &&String| line.contains(mark) && !line.contains("payload: 0");
        self.log.iter().filter(is_data).count()
    }

    pub(crate) fn config(&self) -> &Config {
        &self.config
    }
}
