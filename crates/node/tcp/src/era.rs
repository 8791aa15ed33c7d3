//! Presets (eras): the default settings of an operating system or simulator at a time. `docs/tcp-eras.md` has
//! the sources.

use std::fmt;

use shortflow_units::{Bytes, Duration};

use crate::Algorithm;
use crate::config::{
    Config, CubicForm, DelayedAck, EcnCapable as Capable, Recovery, RtoFloor as Floor,
};

/// A preset: the default settings of an operating system or simulator at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Era {
    /// ns-2 of 2002 (2.1b9): `Agent/TCP/Newreno` and `Agent/TCPSink` with their default settings.
    Ns2In2002,
    /// ns-2 of 2005 (2.28): the minimum retransmission timeout is 0.2 s instead of 1 s, and only data are
    /// ECN-capable.
    Ns2In2005,
    /// A current Linux host: CUBIC with HyStart, RACK, an initial window of 10, delayed acknowledgements.
    LinuxToday,
}

impl Era {
    /// All presets, oldest first.
    pub const ALL: [Era; 3] = [Era::Ns2In2002, Era::Ns2In2005, Era::LinuxToday];

    /// The name in a scenario.
    pub const fn name(self) -> &'static str {
        match self {
            Era::Ns2In2002 => "ns2-2002",
            Era::Ns2In2005 => "ns2-2005",
            Era::LinuxToday => "linux-today",
        }
    }

    /// The name in sentences.
    pub const fn title(self) -> &'static str {
        match self {
            Era::Ns2In2002 => "ns-2 of 2002",
            Era::Ns2In2005 => "ns-2 of 2005",
            Era::LinuxToday => "Linux today",
        }
    }

    /// The settings of this era.
    pub fn config(self) -> Config {
        match self {
            Era::Ns2In2002 => Config {
                era: self,
                rto_min: Duration::from_secs(1),
                ecn_capable: Capable::All,
                ..Era::Ns2In2005.config()
            },
            Era::Ns2In2005 => ns2_in_2005(),
            Era::LinuxToday => linux_today(),
        }
    }
}

impl fmt::Display for Era {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

fn ns2_in_2005() -> Config {
    Config {
        era: Era::Ns2In2005,
        mss: 1000,
        header: 40,
        ip_header: 20,
        initial_window: 2,
        slow_start_limit: Some(1),
        receive_window: Bytes(20 * 1000),
        recovery: Recovery::NewReno,
        tail_loss_probe: false,
        cubic: CubicForm::Rfc9438,
        hystart: false,
        congestion: Algorithm::Reno,
        reference_rtt: Duration::from_millis(100),
        increase: 2,
        window_rate: None,
        duplicate_ack_threshold: 3,
        limited_transmit: true,
        byte_counting: false,
        whole_segments: false,
        duplicate_sack: false,
        lone_fin: false,
        pacing: false,
        delayed_ack: None,
        adaptive_ack: false,
        quick_acks: 0,
        right_sizing: false,
        nagle: false,
        rto_initial: Duration::from_secs(6),
        rto_min: Duration::from_millis(200),
        rto_floor: Floor::Timeout,
        rto_max: Duration::from_secs(100_000),
        clock_granularity: Duration::from_millis(10),
        timer_tick: Duration::ZERO,
        ecn: false,
        ecn_capable: Capable::Data,
        restart_after_idle: true,
        lost_syns_forgiven: 0,
        linear_syn_timeouts: 0,
        syn_retries: None,
        data_retries: None,
        time_wait: Duration::ZERO,
    }
}

fn linux_today() -> Config {
    Config {
        era: Era::LinuxToday,
        mss: 1448,
        header: 52,
        ip_header: 20,
        initial_window: 10,
        slow_start_limit: None,
        receive_window: Bytes(6 << 20),
        recovery: Recovery::Rack,
        tail_loss_probe: true,
        cubic: CubicForm::Linux,
        hystart: true,
        congestion: Algorithm::Cubic,
        reference_rtt: Duration::from_millis(100),
        increase: 2,
        window_rate: None,
        duplicate_ack_threshold: 3,
        limited_transmit: true,
        byte_counting: true,
        whole_segments: true,
        duplicate_sack: true,
        lone_fin: true,
        pacing: false,
        delayed_ack: Some(DelayedAck { timeout: Duration::from_millis(40), segments: 2 }),
        adaptive_ack: true,
        quick_acks: 16,
        right_sizing: true,
        nagle: false,
        rto_initial: Duration::from_secs(1),
        rto_min: Duration::from_millis(200),
        rto_floor: Floor::Variation,
        rto_max: Duration::from_secs(120),
        clock_granularity: Duration::from_millis(1),
        timer_tick: Duration::ZERO,
        ecn: false,
        ecn_capable: Capable::NewData,
        restart_after_idle: true,
        lost_syns_forgiven: 1,
        linear_syn_timeouts: 4,
        syn_retries: Some(6),
        data_retries: Some(15),
        time_wait: Duration::from_secs(60),
    }
}
