//! The settings of an endpoint.

use shortflow_units::{Bytes, Duration, Rate};

use crate::{Algorithm, Era};

/// How losses are repaired.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recovery {
    /// Fast retransmit and fast recovery (RFC 5681 §3.2): one loss per window.
    Reno,
    /// Partial acknowledgements retransmit the next hole (RFC 6582).
    NewReno,
    /// Selective acknowledgements (RFC 2018) with the pipe of RFC 6675.
    Sack,
    /// Selective acknowledgements, from which losses are told by time, with probes of the tail (RACK-TLP, RFC
    /// 8985) and a proportional rate reduction (RFC 9937).
    Rack,
}

impl Recovery {
    /// Whether receivers send SACK blocks.
    #[inline]
    pub fn has_sack(self) -> bool {
        matches!(self, Recovery::Sack | Recovery::Rack)
    }
}

/// When a receiver may hold back an acknowledgement (RFC 1122 §4.2.3.2, RFC 5681 §4.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DelayedAck {
    /// The longest time that an acknowledgement is held back.
    pub timeout: Duration,
    /// An acknowledgement goes at once after this many full segments.
    pub segments: u32,
}

/// What the retransmission timeout may not fall below.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RtoFloor {
    /// `rto_min` bounds the whole timeout (RFC 6298 §2.4).
    Timeout,
    /// `rto_min` bounds the term of the variation, K·RTTVAR, to which SRTT is added; so does Linux.
    Variation,
}

/// Which segments of a connection that uses ECN a router may mark instead of dropping them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum EcnCapable {
    /// Data that are sent for the first time (RFC 3168 §6.1.4–6).
    NewData,
    /// All data, retransmissions too: ns-2 from January 2005 on.
    Data,
    /// SYNs and bare acknowledgements too: ns-2 before. A mark on one of these has no effect at the
    /// other end, but the segment is not dropped.
    All,
}

/// How a receiver echoes marks to the sender, where ECN is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EchoRule {
    /// From a mark on until the sender says that it slowed down (RFC 3168 §6.1.3).
    UntilReduced,
    /// Every acknowledgement says of its own data whether they were marked (RFC 8257 §3.2).
    Exact,
}

/// Where Linux's CUBIC is another than that of RFC 9438.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CubicForm {
    /// As the RFC has it: where Reno would be faster, as fast as Reno on the average up to the window before
    /// the last reduction, and by a segment in a round trip from there on (§4.3).
    Rfc9438,
    /// As Linux has it: as fast as Reno on the average throughout, in whole segments, which for small windows is a
    /// segment ahead of the curve. While no loss has shown how far the window may go it grows by a twentieth in a
    /// round trip at least.
    Linux,
}

/// The settings of an endpoint. Both ends of a connection in one scenario usually share one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// The preset with which these settings began.
    pub era: Era,
    /// Maximum segment size: bytes of payload in a full segment.
    pub mss: u16,
    /// Bytes of TCP and IP headers on every segment.
    pub header: u16,
    /// Bytes of the IP header in these: 20, or 40 over IPv6.
    pub ip_header: u16,
    /// Initial congestion window in segments (RFC 5681 §3.1, RFC 6928).
    pub initial_window: u32,
    /// By how many segments one acknowledgement may open the window in slow start, L of RFC 3465 §2.2;
    /// `None` is without limit. After a timeout it is 1 (RFC 3465 §2.3).
    pub slow_start_limit: Option<u32>,
    /// The receive window offered, which never shrinks: the application reads at once.
    pub receive_window: Bytes,
    /// How losses are repaired.
    pub recovery: Recovery,
    /// Whether the tail of a flight is probed before the retransmission timer expires (RFC 8985 §7), where
    /// [`Recovery::Rack`] repairs losses.
    pub tail_loss_probe: bool,
    /// CUBIC by the RFC, or as Linux has it.
    pub cubic: CubicForm,
    /// Whether CUBIC's slow start ends before losses do it, when acknowledgements come in a long train or
    /// later than they did (HyStart).
    pub hystart: bool,
    /// Duplicate acknowledgements that start a fast retransmit.
    pub duplicate_ack_threshold: u32,
    /// Whether the first two duplicate acknowledgements send new data (RFC 3042).
    pub limited_transmit: bool,
    /// How the congestion window grows and shrinks.
    pub congestion: Algorithm,
    /// The round-trip time at which Constant-Rate grows as Reno does, and above which Increase-by-K grows by
    /// more.
    pub reference_rtt: Duration,
    /// K: by how many segments in a round trip Increase-by-K grows.
    pub increase: u32,
    /// The rate of payload to which the window holds a connection, whatever the congestion control (Mehra,
    /// Tewari & Kandlur 1999, §3.3).
    pub window_rate: Option<Rate>,
    /// Whether Reno's congestion avoidance counts the bytes that are acknowledged (RFC 3465 §2.1), or
    /// adds SMSS·SMSS/cwnd for each acknowledgement. RFC 5681 §3.1 allows both and recommends bytes.
    pub byte_counting: bool,
    /// Whether what a reduction leaves of the window and of the slow-start threshold is rounded down to whole
    /// segments, in which Linux counts.
    pub whole_segments: bool,
    /// Whether a receiver reports what it got twice, as the first SACK block of an acknowledgement (RFC 2883), where
    /// `recovery` has SACK. A sender whose losses are told by time takes a reduction back when all that it sent again is
    /// reported (RFC 3708 §3), and lets segments overtake each other by more (RFC 8985 §6.2, step 4).
    pub duplicate_sack: bool,
    /// Whether a FIN is a segment of its own where the window lets all data leave before it, as of a program that writes to
    /// its socket and then closes it. A FIN that comes while data wait goes with the last of them in any case.
    pub lone_fin: bool,
    /// Whether new data are paced where the congestion control has no rate of its own: at twice the
    /// window in a round trip in slow start, at 1.2 times beyond, as Linux does under its `fq` scheduler.
    pub pacing: bool,
    /// Delayed acknowledgements, or `None` for one acknowledgement per segment.
    pub delayed_ack: Option<DelayedAck>,
    /// Whether they are held back as Linux does it: for a time that adapts to how data come, from `delayed_ack.timeout` on;
    /// not at all at the end of what was written, nor of `quick_acks`, but where an answer is expected to carry them.
    pub adaptive_ack: bool,
    /// So many segments with data are acknowledged at once at the start of a connection, before
    /// acknowledgements are held back: they open the sender's window sooner. Linux does this for 16, and again after
    /// something came twice, as is done here with `duplicate_sack`.
    pub quick_acks: u32,
    /// Whether the receive window grows with what comes in a round trip (dynamic right-sizing), where each segment that
    /// lets it grow is acknowledged at once, as Linux does. What limits the peer is `receive_window`, beyond which it does not
    /// grow either.
    pub right_sizing: bool,
    /// Whether a short segment waits while data is outstanding (Nagle, RFC 1122 §4.2.3.4).
    pub nagle: bool,
    /// Retransmission timeout before the first sample (RFC 6298 §2.1).
    pub rto_initial: Duration,
    /// Smallest retransmission timeout (RFC 6298 §2.4).
    pub rto_min: Duration,
    /// What `rto_min` bounds.
    pub rto_floor: RtoFloor,
    /// Greatest retransmission timeout after back-off (RFC 6298 §2.5).
    pub rto_max: Duration,
    /// Clock granularity G of RTT samples (RFC 6298 §2); samples round up to whole ticks.
    pub clock_granularity: Duration,
    /// The tick of the wheel on which timers lie, 10 µs to 500 ms: they expire with it, longer ones on a grid that is coarser
    /// by eights, as in Linux, where it is 1 / `CONFIG_HZ`. With zero they expire when they are due.
    pub timer_tick: Duration,
    /// Whether ECN is negotiated and used (RFC 3168).
    pub ecn: bool,
    /// Which segments may be marked where ECN is used.
    pub ecn_capable: EcnCapable,
    /// Whether an idle sender restarts from its initial window (RFC 5681 §4.1).
    pub restart_after_idle: bool,
    /// So many lost SYNs or SYN-ACKs are forgiven. After one more, the initial window is one segment
    /// (RFC 5681 §3.1). With none forgiven a lost one gives no sample of the round-trip time, and the
    /// retransmission timeout is 3 s or more (RFC 6298 §5.7). Linux forgives one, and SYN-ACKs that only
    /// answered a SYN sent again; its timestamps give a sample however many were lost (RFC 7323 §4).
    pub lost_syns_forgiven: u32,
    /// So many timeouts of a SYN do not double it, nor count as retries (Linux from 6.5 on; RFC 6298 §5.5
    /// doubles at each). The other end's SYN-ACK has no such grace.
    pub linear_syn_timeouts: u32,
    /// How often a SYN or SYN-ACK is sent again before giving up; `None` is for ever.
    pub syn_retries: Option<u32>,
    /// How often data is sent again before giving up; `None` is for ever.
    pub data_retries: Option<u32>,
    /// How long a closed connection lingers (RFC 9293 §3.6.1: 2 MSL).
    pub time_wait: Duration,
}

/// After a lost SYN a timeout shorter than this is no longer trusted (RFC 6298 §5.7).
const FALLBACK_RTO: Duration = Duration::from_secs(3);

impl Config {
    /// The first retransmission timeout of data after a handshake that gave no sample (RFC 6298 §5.7).
    pub fn rto_after_lost_syn(&self) -> Duration {
        self.rto_initial.max(FALLBACK_RTO).min(self.rto_max)
    }

    /// Whether the header has room for timestamps: 12 bytes (RFC 7323, Appendix A).
    #[inline]
    pub(crate) fn has_timestamps(&self) -> bool {
        self.header >= self.ip_header + 32
    }

    /// Whether a receiver reports what it got twice.
    #[inline]
    pub(crate) fn reports_duplicates(&self) -> bool {
        self.duplicate_sack && self.recovery.has_sack()
    }
}
