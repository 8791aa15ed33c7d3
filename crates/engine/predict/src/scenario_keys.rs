//! Keys of scenarios that have no effect on predictions, each with the reason. A file that sets one gets a note.

use shortflow_policy::WithoutEffect;

const fn key(scheme: &'static str, key: &'static str, reason: &'static str) -> WithoutEffect {
    WithoutEffect { scheme, key, reason }
}

/// The keys of scenarios that have no effect on predictions.
pub const SCENARIO_KEYS_WITHOUT_EFFECT: &[WithoutEffect] = &[
    key("scenario", "seed", NO_CHANCE),
    key("scenario", "drain", STEADY),
    key("measure", "series_interval", NO_COURSE),
    key("measure", "flow_samples", NO_COURSE),
    key("measure", "accesses", NO_PAGES),
    key("tcp", "slow_start_limit", ONE_TCP),
    key("tcp", "cubic", ONE_TCP),
    key("tcp", "duplicate_ack_threshold", ONE_TCP),
    key("tcp", "limited_transmit", ONE_TCP),
    key("tcp", "whole_segments", ONE_TCP),
    key("tcp", "duplicate_sack", ONE_TCP),
    key("tcp", "lone_fin", ACKS),
    key("tcp", "delayed_ack.timeout", ACKS),
    key("tcp", "adaptive_ack", ACKS),
    key("tcp", "quick_acks", ACKS),
    key("tcp", "nagle", ACKS),
    key("tcp", "rto_max", TIMEOUTS),
    key("tcp", "clock_granularity", TIMEOUTS),
    key("tcp", "timer_tick", TIMEOUTS),
    key("tcp", "syn_retries", TIMEOUTS),
    key("tcp", "data_retries", TIMEOUTS),
    key("tcp", "ecn", MARKS),
    key("tcp", "ecn_capable", MARKS),
    key("tcp", "restart_after_idle", FRESH),
    key("tcp", "time_wait", PORTS),
    key("workload.bulk", "start_window", BEGUN),
    key("workload.ftp", "start_window", BEGUN),
    key("workload.telnet", "start_window", BEGUN),
    key("workload.web", "start_window", BEGUN),
    key("workload.web", "page.pool", ALL_PAGES),
];

const NO_CHANCE: &str = "a prediction draws no random numbers";
const STEADY: &str = "a steady state has no end of the run";
const NO_COURSE: &str = "a steady state does not change over time";
const NO_PAGES: &str = "a prediction has no single pages to log";
const ONE_TCP: &str =
    "the closed forms have one slow start, and the loss recovery of Padhye et al. 2000";
const ACKS: &str = "the closed forms use the segments per acknowledgement, not the time at which \
    each one is sent";
const TIMEOUTS: &str = "the closed forms have no limits of timeouts";
const MARKS: &str = "a mark reduces a window as a drop does";
const FRESH: &str = "the closed forms start each part of a page with the initial window";
const PORTS: &str = "the closed forms have an unlimited number of ports";
const BEGUN: &str = "in a steady state, all flows and sessions have started";
const ALL_PAGES: &str = "means over all pages are those of the distributions";
