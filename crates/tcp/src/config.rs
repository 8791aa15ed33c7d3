//! The settings of an endpoint, and the presets that gather an era's defaults.

use std::fmt;
use std::str::FromStr;

use shortflow_units::{Bytes, Duration};

/// How losses are repaired.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recovery {
    /// Fast retransmit and fast recovery (RFC 5681 §3.2): one loss per window.
    Reno,
    /// Partial acknowledgements retransmit the next hole (RFC 6582).
    NewReno,
    /// Selective acknowledgements (RFC 2018) with the pipe of RFC 6675.
    Sack,
}

/// How the congestion window grows and shrinks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Algorithm {
    /// Additive increase, multiplicative decrease (RFC 5681 §3.1), as Reno, NewReno and SACK have it.
    Reno,
    /// CUBIC (RFC 9438).
    Cubic,
}

/// When a receiver may hold back an acknowledgement (RFC 1122 §4.2.3.2, RFC 5681 §4.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DelayedAck {
    /// The longest time that an acknowledgement is held back.
    pub timeout: Duration,
    /// An acknowledgement goes at once after this many full segments.
    pub segments: u32,
}

/// The settings of an endpoint. Both ends of a connection in one scenario usually share one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Maximum segment size: bytes of payload in a full segment.
    pub mss: u16,
    /// Bytes of TCP and IP headers on every segment.
    pub header: u16,
    /// Initial congestion window in segments (RFC 5681 §3.1, RFC 6928).
    pub initial_window: u32,
    /// The receive window offered, which never shrinks: the application reads at once.
    pub receive_window: Bytes,
    /// How losses are repaired.
    pub recovery: Recovery,
    /// Duplicate acknowledgements that start a fast retransmit.
    pub duplicate_ack_threshold: u32,
    /// Whether the first two duplicate acknowledgements send new data (RFC 3042).
    pub limited_transmit: bool,
    /// How the congestion window grows and shrinks.
    pub congestion: Algorithm,
    /// Whether Reno's congestion avoidance counts the bytes that are acknowledged (RFC 3465 §2.1), or
    /// adds SMSS·SMSS/cwnd for each acknowledgement. RFC 5681 §3.1 allows both and recommends bytes.
    pub byte_counting: bool,
    /// Delayed acknowledgements, or `None` for one acknowledgement per segment.
    pub delayed_ack: Option<DelayedAck>,
    /// Whether a short segment waits while data is outstanding (Nagle, RFC 1122 §4.2.3.4).
    pub nagle: bool,
    /// Retransmission timeout before the first sample (RFC 6298 §2.1).
    pub rto_initial: Duration,
    /// Smallest retransmission timeout (RFC 6298 §2.4).
    pub rto_min: Duration,
    /// Greatest retransmission timeout after back-off (RFC 6298 §2.5).
    pub rto_max: Duration,
    /// Clock granularity G of RTT samples (RFC 6298 §2); samples round up to whole ticks.
    pub clock_granularity: Duration,
    /// Whether ECN is negotiated and used (RFC 3168).
    pub ecn: bool,
    /// Whether an idle sender restarts from its initial window (RFC 5681 §4.1).
    pub restart_after_idle: bool,
    /// How often a SYN or SYN-ACK is sent again before giving up; `None` is for ever.
    pub syn_retries: Option<u32>,
    /// How often data is sent again before giving up; `None` is for ever.
    pub data_retries: Option<u32>,
    /// How long a closed connection lingers (RFC 9293 §3.6.1: 2 MSL).
    pub time_wait: Duration,
}

/// A preset: the defaults of a time and its tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Era {
    /// What studies made with ns-2 around 2002 used: 1000-byte segments with 40 bytes of headers,
    /// an initial window of 2, an acknowledgement per segment, by which the window grows, an initial
    /// RTO of 3 s.
    Ns2In2002,
    /// A Linux host of today: 1448-byte segments, an initial window of 10, CUBIC, SACK,
    /// delayed acknowledgements, an initial RTO of 1 s.
    LinuxToday,
}

impl Era {
    /// All presets, oldest first.
    pub const ALL: [Era; 2] = [Era::Ns2In2002, Era::LinuxToday];

    /// The name in a scenario.
    pub const fn name(self) -> &'static str {
        match self {
            Era::Ns2In2002 => "ns2-2002",
            Era::LinuxToday => "linux-today",
        }
    }

    /// The settings of this era.
    pub fn config(self) -> Config {
        match self {
            Era::Ns2In2002 => Config {
                mss: 1000,
                header: 40,
                initial_window: 2,
                receive_window: Bytes(20_000_000),
                recovery: Recovery::NewReno,
                congestion: Algorithm::Reno,
                duplicate_ack_threshold: 3,
                limited_transmit: true,
                byte_counting: false,
                delayed_ack: None,
                nagle: false,
                rto_initial: Duration::from_secs(3),
                rto_min: Duration::from_millis(200),
                rto_max: Duration::from_secs(60),
                clock_granularity: Duration::from_millis(10),
                ecn: false,
                restart_after_idle: false,
                syn_retries: None,
                data_retries: None,
                time_wait: Duration::ZERO,
            },
            Era::LinuxToday => Config {
                mss: 1448,
                header: 52,
                initial_window: 10,
                receive_window: Bytes(6 << 20),
                recovery: Recovery::Sack,
                congestion: Algorithm::Cubic,
                duplicate_ack_threshold: 3,
                limited_transmit: true,
                byte_counting: true,
                delayed_ack: Some(DelayedAck { timeout: Duration::from_millis(40), segments: 2 }),
                nagle: false,
                rto_initial: Duration::from_secs(1),
                rto_min: Duration::from_millis(200),
                rto_max: Duration::from_secs(120),
                clock_granularity: Duration::from_millis(1),
                ecn: false,
                restart_after_idle: true,
                syn_retries: Some(6),
                data_retries: Some(15),
                time_wait: Duration::from_secs(60),
            },
        }
    }
}

impl FromStr for Era {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Era::ALL.into_iter().find(|era| era.name() == text).ok_or_else(|| {
            let names = Era::ALL.map(Era::name).join(", ");
            format!("unknown era \"{text}\"; allowed: {names}")
        })
    }
}

impl fmt::Display for Era {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
