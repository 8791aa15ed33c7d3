//! Checks settings of TCP: an era, and the settings that differ from it.

use shortflow_tcp::{Config, CubicForm, DelayedAck, EchoRule, EcnCapable, Era, Recovery, RtoFloor};
use shortflow_text::Document;
use shortflow_units::{Bytes, Duration};

use super::tcp_effect;
use crate::file::{
    CubicFile, DelayedAckFile, EcnCapableFile, EraFile, RecoveryFile, RtoFloorFile, TcpFile,
};

/// Applies the settings of `file`, at `path`, to `base`. An era in it replaces `base`.
pub(crate) fn check(document: &mut Document, path: &str, file: &TcpFile, base: &Config) -> Config {
    if *file == TcpFile::default() {
        return base.clone();
    }
    let mut config = match file.era {
        Some(EraFile::Ns2In2002) => Era::Ns2In2002.config(),
        Some(EraFile::Ns2In2005) => Era::Ns2In2005.config(),
        Some(EraFile::LinuxToday) => Era::LinuxToday.config(),
        None => base.clone(),
    };
    apply(&mut config, document, path, file);
    ranges(document, path, &config);
    ranges_of_timers(document, path, &config);
    tcp_effect::check(document, path, file, &config);
    small_header(document, path, file);
    config
}

fn apply(config: &mut Config, document: &mut Document, path: &str, file: &TcpFile) {
    let mut narrow = |key: &str, bytes: Option<Bytes>, min: u64, max: u64, into: &mut u16| {
        let Some(Bytes(bytes)) = bytes else { return };
        if (min..=max).contains(&bytes) {
            *into = bytes as u16;
        } else {
            let message = format!("{key} must be {min} B to {max} B; found {bytes} B");
            document.mistake(&format!("{path}.{key}"), message, "");
        }
    };
    narrow("mss", file.mss, 1, 65_495, &mut config.mss);
    narrow("header", file.header, 0, 120, &mut config.header);
    set(&mut config.initial_window, file.initial_window);
    set(&mut config.slow_start_limit, file.slow_start_limit.map(|limit| limit.0));
    set(&mut config.receive_window, file.receive_window);
    set(
        &mut config.recovery,
        file.recovery.map(|recovery| match recovery {
            RecoveryFile::Reno => Recovery::Reno,
            RecoveryFile::NewReno => Recovery::NewReno,
            RecoveryFile::Sack => Recovery::Sack,
            RecoveryFile::Rack => Recovery::Rack,
        }),
    );
    set(&mut config.tail_loss_probe, file.tail_loss_probe);
    set(
        &mut config.cubic,
        file.cubic.map(|form| match form {
            CubicFile::Rfc9438 => CubicForm::Rfc9438,
            CubicFile::Linux => CubicForm::Linux,
        }),
    );
    set(&mut config.hystart, file.hystart);
    set(&mut config.congestion, file.congestion.map(|algorithm| algorithm.0));
    set(&mut config.reference_rtt, file.reference_rtt);
    set(&mut config.increase, file.increase);
    set(&mut config.window_rate, file.window_rate.map(Some));
    set(&mut config.duplicate_ack_threshold, file.duplicate_ack_threshold);
    set(&mut config.limited_transmit, file.limited_transmit);
    set(&mut config.byte_counting, file.byte_counting);
    set(&mut config.whole_segments, file.whole_segments);
    set(&mut config.duplicate_sack, file.duplicate_sack);
    set(&mut config.lone_fin, file.lone_fin);
    set(&mut config.pacing, file.pacing);
    set(
        &mut config.delayed_ack,
        file.delayed_ack.map(|delayed| match delayed {
            DelayedAckFile::Off => None,
            DelayedAckFile::On(on) => {
                Some(DelayedAck { timeout: on.timeout, segments: on.segments })
            }
        }),
    );
    set(&mut config.adaptive_ack, file.adaptive_ack);
    set(&mut config.quick_acks, file.quick_acks);
    set(&mut config.right_sizing, file.right_sizing);
    set(&mut config.nagle, file.nagle);
    times(config, file);
    ecn(config, file);
    set(&mut config.restart_after_idle, file.restart_after_idle);
    set(&mut config.lost_syns_forgiven, file.lost_syns_forgiven);
    set(&mut config.linear_syn_timeouts, file.linear_syn_timeouts);
    set(&mut config.syn_retries, file.syn_retries.map(|retries| retries.0));
    set(&mut config.data_retries, file.data_retries.map(|retries| retries.0));
}

fn small_header(document: &mut Document, path: &str, file: &TcpFile) {
    if let Some(Bytes(header @ 1..MIN_HEADER)) = file.header {
        let message = format!(
            "header {header} B is smaller than the headers of TCP and IPv4, {MIN_HEADER} B"
        );
        document.warning(&format!("{path}.header"), message, "");
    }
}

fn times(config: &mut Config, file: &TcpFile) {
    set(&mut config.rto_initial, file.rto_initial);
    set(&mut config.rto_min, file.rto_min);
    set(
        &mut config.rto_floor,
        file.rto_floor.map(|floor| match floor {
            RtoFloorFile::Timeout => RtoFloor::Timeout,
            RtoFloorFile::Variation => RtoFloor::Variation,
        }),
    );
    set(&mut config.rto_max, file.rto_max);
    set(&mut config.clock_granularity, file.clock_granularity);
    set(&mut config.timer_tick, file.timer_tick);
    set(&mut config.time_wait, file.time_wait);
}

fn ecn(config: &mut Config, file: &TcpFile) {
    set(&mut config.ecn, file.ecn);
    set(
        &mut config.ecn_capable,
        file.ecn_capable.map(|capable| match capable {
            EcnCapableFile::NewData => EcnCapable::NewData,
            EcnCapableFile::Data => EcnCapable::Data,
            EcnCapableFile::All => EcnCapable::All,
        }),
    );
}

fn ranges(document: &mut Document, path: &str, config: &Config) {
    let mut refuse = |key: &str, message: String, help: &str| {
        document.mistake(&format!("{path}.{key}"), message, help);
    };
    if config.initial_window == 0 {
        refuse("initial_window", "initial_window must be at least 1; found 0".to_owned(), "");
    }
    if !(1..=MAX_SEGMENTS).contains(&config.duplicate_ack_threshold) {
        let found = config.duplicate_ack_threshold;
        let message = format!("duplicate_ack_threshold must be 1 to {MAX_SEGMENTS}; found {found}");
        refuse("duplicate_ack_threshold", message, "RFC 5681 specifies 3");
    }
    if config.reference_rtt.is_zero() {
        refuse("reference_rtt", "reference_rtt must be above zero; found 0 ns".to_owned(), "");
    }
    if !(1..=MAX_SEGMENTS).contains(&config.increase) {
        let message = format!("increase must be 1 to {MAX_SEGMENTS}; found {}", config.increase);
        refuse("increase", message, "Reno uses 1");
    }
    if config.window_rate.is_some_and(|rate| rate.bits_per_sec() == 0) {
        refuse("window_rate", "window_rate must be above zero; found 0 bit/s".to_owned(), "");
    }
    if config.slow_start_limit == Some(0) {
        refuse("slow_start_limit", "slow_start_limit must be at least 1; found 0".to_owned(), "");
    }
    if config.quick_acks > MAX_SEGMENTS {
        let message =
            format!("quick_acks must be 0 to {MAX_SEGMENTS}; found {}", config.quick_acks);
        refuse("quick_acks", message, "Linux uses 16");
    }
    if config.receive_window < Bytes(u64::from(config.mss)) {
        let Config { receive_window, mss, .. } = config;
        let message = format!("receive_window {receive_window} is below one segment of {mss} B");
        refuse("receive_window", message, "");
    }
    if config.receive_window > Bytes(1 << 30) {
        let help = "this is the limit of window scaling (RFC 7323 §2.3)";
        let found = config.receive_window;
        let message = format!("receive_window must be at most 1 GiB; found {found}");
        refuse("receive_window", message, help);
    }
    if config.congestion.echo() == EchoRule::Exact && !config.ecn {
        let message = format!("{} reacts to ECN marks and requires ECN", config.congestion.title());
        refuse("congestion", message, "set ecn = true, and use a queue that marks");
    }
    if let Some(DelayedAck { segments, .. }) = config.delayed_ack
        && !(1..=MAX_SEGMENTS).contains(&segments)
    {
        let message = format!("delayed_ack.segments must be 1 to {MAX_SEGMENTS}; found {segments}");
        refuse("delayed_ack.segments", message, "RFC 5681 §4.2 specifies 2");
    }
}

fn ranges_of_timers(document: &mut Document, path: &str, config: &Config) {
    let mut refuse = |key: &str, message: String, help: &str| {
        document.mistake(&format!("{path}.{key}"), message, help);
    };
    if config.rto_min > config.rto_max {
        let Config { rto_min, rto_max, .. } = config;
        refuse("rto_min", format!("rto_min {rto_min} is above rto_max {rto_max}"), "");
    }
    let ticks = Duration::from_micros(10)..=Duration::from_millis(500);
    if !config.timer_tick.is_zero() && !ticks.contains(&config.timer_tick) {
        let message =
            format!("timer_tick must be 10 us to 500 ms, or 0 s; found {}", config.timer_tick);
        refuse("timer_tick", message, "Linux uses 1 to 10 ms");
    }
    for (key, timeout) in [("rto_initial", config.rto_initial), ("rto_max", config.rto_max)] {
        if timeout.is_zero() {
            refuse(key, format!("{key} must be above zero; found {timeout}"), "");
        }
    }
    if config.rto_initial > config.rto_max {
        let Config { rto_initial, rto_max, .. } = config;
        refuse("rto_initial", format!("rto_initial {rto_initial} is above rto_max {rto_max}"), "");
    }
}

/// The headers of TCP and IPv4 without options (RFC 9293, RFC 791).
const MIN_HEADER: u64 = 40;

/// With more segments of the maximum size, the number of bytes does not fit into a `u32`.
const MAX_SEGMENTS: u32 = 65_535;

fn set<T>(into: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *into = value;
    }
}
