//! The settings of an endpoint.

use shortflow_units::{Bytes, Duration, Rate};

use crate::{Algorithm, Era};

/// The loss recovery mechanism.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recovery {
    /// Fast retransmit and fast recovery (RFC 5681 §3.2): one loss per window.
    Reno,
    /// Partial acknowledgements retransmit the next hole (RFC 6582).
    NewReno,
    /// Selective acknowledgements (RFC 2018) with the pipe of RFC 6675.
    Sack,
    /// Selective acknowledgements with loss detection by time and tail loss probes (RACK-TLP, RFC 8985), and
    /// a proportional rate reduction (RFC 9937).
    Rack,
}

impl Recovery {
    /// Whether receivers send SACK blocks.
    #[inline]
    pub fn has_sack(self) -> bool {
        matches!(self, Recovery::Sack | Recovery::Rack)
    }
}

/// When a receiver may delay an acknowledgement (RFC 1122 §4.2.3.2, RFC 5681 §4.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DelayedAck {
    /// The longest delay of an acknowledgement.
    pub timeout: Duration,
    /// The number of full segments after which an acknowledgement is sent at once.
    pub segments: u32,
}

/// The lower limit of the retransmission timeout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RtoFloor {
    /// `rto_min` limits the whole timeout (RFC 6298 §2.4).
    Timeout,
    /// `rto_min` limits the variation term K·RTTVAR, which is added to SRTT, as in Linux.
    Variation,
}

/// Which segments of a connection with ECN a router may mark instead of dropping them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum EcnCapable {
    /// Data segments that are sent for the first time (RFC 3168 §6.1.4–6).
    NewData,
    /// All data segments, also retransmissions: ns-2 since January 2005.
    Data,
    /// Also SYNs and pure acknowledgements: earlier ns-2. A mark on one of these has no effect at the other
    /// end, but the segment is not dropped.
    All,
}

/// How a receiver echoes marks to the sender, if ECN is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EchoRule {
    /// From a mark on, until the sender reports a reduced window (RFC 3168 §6.1.3).
    UntilReduced,
    /// Every acknowledgement reports whether its own data were marked (RFC 8257 §3.2).
    Exact,
}

/// How Linux's CUBIC differs from RFC 9438.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CubicForm {
    /// As in the RFC: where Reno would be faster, CUBIC grows as fast as Reno on average up to the window
    /// before the last reduction, and by one segment per round trip above it (§4.3).
    Rfc9438,
    /// As in Linux: always at least as fast as Reno on average, in whole segments, which puts small windows
    /// one segment ahead of the curve. Before the first loss it grows by at least 1/20 per round trip.
    Linux,
}

/// The settings of an endpoint. Both ends of a connection usually share one value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// The preset of these settings.
    pub era: Era,
    /// Maximum segment size: bytes of payload in a full segment.
    pub mss: u16,
    /// Bytes of TCP and IP headers on every segment.
    pub header: u16,
    /// Length of the IP header: 20 bytes, or 40 over IPv6.
    pub ip_header: u16,
    /// Initial congestion window in segments (RFC 5681 §3.1, RFC 6928).
    pub initial_window: u32,
    /// Limit on the growth of the window per acknowledgement in slow start, in segments: L of RFC 3465 §2.2.
    /// `None` means no limit. After a timeout it is 1 (RFC 3465 §2.3).
    pub slow_start_limit: Option<u32>,
    /// The receive window, which never shrinks because the application reads at once.
    pub receive_window: Bytes,
    /// The loss recovery mechanism.
    pub recovery: Recovery,
    /// Whether tail loss probes are sent before the retransmission timer expires (RFC 8985 §7). Only with
    /// [`Recovery::Rack`].
    pub tail_loss_probe: bool,
    /// CUBIC of the RFC or of Linux.
    pub cubic: CubicForm,
    /// Whether CUBIC leaves slow start before a loss (HyStart): when acknowledgements arrive in a long train,
    /// or later than before.
    pub hystart: bool,
    /// Number of duplicate acknowledgements that trigger a fast retransmit.
    pub duplicate_ack_threshold: u32,
    /// Whether the first two duplicate acknowledgements send new data (RFC 3042).
    pub limited_transmit: bool,
    /// The congestion control.
    pub congestion: Algorithm,
    /// The reference round-trip time: Constant-Rate grows there as Reno does, and Increase-by-K grows faster
    /// above it.
    pub reference_rtt: Duration,
    /// K: window growth of Increase-by-K, in segments per round trip.
    pub increase: u32,
    /// Rate limit of payload, enforced by the window for any congestion control (Mehra, Tewari & Kandlur
    /// 1999, §3.3).
    pub window_rate: Option<Rate>,
    /// Whether Reno's congestion avoidance counts acknowledged bytes (RFC 3465 §2.1), or adds SMSS·SMSS/cwnd
    /// per acknowledgement. RFC 5681 §3.1 allows both and recommends bytes.
    pub byte_counting: bool,
    /// Whether a reduced window and slow-start threshold are rounded down to whole segments, as in Linux.
    pub whole_segments: bool,
    /// Whether a receiver reports duplicate data in the first SACK block of an acknowledgement (RFC 2883).
    /// Requires SACK. A sender with RACK undoes a reduction if all its retransmissions are reported as
    /// duplicates (RFC 3708 §3), and tolerates more reordering (RFC 8985 §6.2, step 4).
    pub duplicate_sack: bool,
    /// Whether a FIN is a separate segment if the window lets all data leave before it, as when a program
    /// writes to its socket and then closes it. A FIN that is requested while data wait goes with the last of
    /// them.
    pub lone_fin: bool,
    /// Whether new data are paced if the congestion control has no rate of its own: at twice the window per
    /// round trip in slow start, at 1.2 times afterwards, as in Linux with the `fq` scheduler.
    pub pacing: bool,
    /// Delayed acknowledgements, or `None` for one acknowledgement per segment.
    pub delayed_ack: Option<DelayedAck>,
    /// Whether acknowledgements are delayed as in Linux: the delay adapts to the data, from
    /// `delayed_ack.timeout` on. The last segment of a write, and the first `quick_acks` segments, are
    /// acknowledged at once unless an answer is expected to carry the acknowledgement.
    pub adaptive_ack: bool,
    /// Number of data segments at the start of a connection that are acknowledged at once, which opens the
    /// sender's window sooner. Linux uses 16, and again after a duplicate, as this crate does with
    /// `duplicate_sack`.
    pub quick_acks: u32,
    /// Whether the receive window grows with the data received per round trip (dynamic right-sizing). Each
    /// segment that lets it grow is acknowledged at once, as in Linux. The limit for the peer is
    /// `receive_window`, and growth ends there.
    pub right_sizing: bool,
    /// Whether a short segment waits while data is outstanding (Nagle, RFC 1122 §4.2.3.4).
    pub nagle: bool,
    /// Retransmission timeout before the first sample (RFC 6298 §2.1).
    pub rto_initial: Duration,
    /// Smallest retransmission timeout (RFC 6298 §2.4).
    pub rto_min: Duration,
    /// What `rto_min` limits.
    pub rto_floor: RtoFloor,
    /// Largest retransmission timeout after back-off (RFC 6298 §2.5).
    pub rto_max: Duration,
    /// Clock granularity G of RTT samples (RFC 6298 §2); samples round up to whole ticks.
    pub clock_granularity: Duration,
    /// Tick of the timer wheel, 10 µs to 500 ms. Timers expire at ticks, longer ones on grids that are 8, 64,
    /// … times as coarse, as in Linux with 1 / `CONFIG_HZ`. With zero, timers are exact.
    pub timer_tick: Duration,
    /// Whether ECN is negotiated and used (RFC 3168).
    pub ecn: bool,
    /// Which segments may be marked if ECN is used.
    pub ecn_capable: EcnCapable,
    /// Whether an idle sender restarts from its initial window (RFC 5681 §4.1).
    pub restart_after_idle: bool,
    /// Number of lost SYNs or SYN-ACKs without effect. After one more the initial window is one segment (RFC
    /// 5681 §3.1). At 0 a lost one also gives no sample of the round-trip time, and the retransmission
    /// timeout is at least 3 s (RFC 6298 §5.7). Linux uses 1, and ignores SYN-ACKs that only answer a
    /// repeated SYN. Its timestamps give a sample in any case (RFC 7323 §4).
    pub lost_syns_forgiven: u32,
    /// Number of SYN timeouts that neither double the timeout nor count as retries (Linux since 6.5; RFC 6298
    /// §5.5 doubles every time). Does not apply to the SYN-ACK.
    pub linear_syn_timeouts: u32,
    /// Limit on retransmissions of a SYN or SYN-ACK; `None` means no limit.
    pub syn_retries: Option<u32>,
    /// Limit on retransmissions of data; `None` means no limit.
    pub data_retries: Option<u32>,
    /// How long a closed connection stays in TIME-WAIT (RFC 9293 §3.6.1: 2 MSL).
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

    /// Whether a receiver reports duplicate data.
    #[inline]
    pub(crate) fn reports_duplicates(&self) -> bool {
        self.duplicate_sack && self.recovery.has_sack()
    }
}
