//! The name of a TCP, for tables and reports.

use crate::{Config, CubicForm, EcnCapable, Recovery, RtoFloor};

impl Config {
    /// The description for readers of results: the era, congestion control and recovery, and every other
    /// setting that differs from the era's, under its key in a scenario. For example
    /// `Linux today (CUBIC, RACK)` or `ns-2 of 2002 (Reno, NewReno) with rto_min 200 ms`.
    pub fn description(&self) -> String {
        let usual = self.era.config().settings();
        let differing: Vec<String> = (self.settings().into_iter().zip(usual))
            .filter(|(ours, usual)| ours != usual)
            .map(|((key, value), _)| format!("{key} {value}"))
            .collect();
        let Config { era, congestion, recovery, .. } = self;
        let name = format!("{} ({}, {})", era.title(), congestion.title(), recovery.title());
        if differing.is_empty() { name } else { format!("{name} with {}", differing.join(", ")) }
    }

    /// Every setting that the name does not contain, under its key in a scenario and in the form of
    /// scenarios.
    pub fn settings(&self) -> Vec<(&'static str, String)> {
        let count = |limit: Option<u32>| limit.map_or("unlimited".to_owned(), |n| n.to_string());
        vec![
            ("mss", format!("{} B", self.mss)),
            ("header", format!("{} B", self.header)),
            ("initial_window", self.initial_window.to_string()),
            ("slow_start_limit", count(self.slow_start_limit)),
            ("receive_window", self.receive_window.to_string()),
            ("tail_loss_probe", self.tail_loss_probe.to_string()),
            ("cubic", self.cubic.name().to_owned()),
            ("hystart", self.hystart.to_string()),
            ("duplicate_ack_threshold", self.duplicate_ack_threshold.to_string()),
            ("limited_transmit", self.limited_transmit.to_string()),
            ("reference_rtt", self.reference_rtt.to_string()),
            ("increase", self.increase.to_string()),
            ("window_rate", self.window_rate.map_or("unlimited".to_owned(), |r| r.to_string())),
            ("byte_counting", self.byte_counting.to_string()),
            ("whole_segments", self.whole_segments.to_string()),
            ("duplicate_sack", self.duplicate_sack.to_string()),
            ("lone_fin", self.lone_fin.to_string()),
            ("pacing", self.pacing.to_string()),
            ("delayed_ack", self.delayed_ack_text()),
            ("adaptive_ack", self.adaptive_ack.to_string()),
            ("quick_acks", self.quick_acks.to_string()),
            ("right_sizing", self.right_sizing.to_string()),
            ("nagle", self.nagle.to_string()),
            ("rto_initial", self.rto_initial.to_string()),
            ("rto_min", self.rto_min.to_string()),
            ("rto_floor", self.rto_floor.name().to_owned()),
            ("rto_max", self.rto_max.to_string()),
            ("clock_granularity", self.clock_granularity.to_string()),
            ("timer_tick", self.timer_tick.to_string()),
            ("ecn", self.ecn.to_string()),
            ("ecn_capable", self.ecn_capable.name().to_owned()),
            ("restart_after_idle", self.restart_after_idle.to_string()),
            ("lost_syns_forgiven", self.lost_syns_forgiven.to_string()),
            ("linear_syn_timeouts", self.linear_syn_timeouts.to_string()),
            ("syn_retries", count(self.syn_retries)),
            ("data_retries", count(self.data_retries)),
            ("time_wait", self.time_wait.to_string()),
        ]
    }

    fn delayed_ack_text(&self) -> String {
        self.delayed_ack.map_or("false".to_owned(), |delayed| {
            format!("{{ timeout = \"{}\", segments = {} }}", delayed.timeout, delayed.segments)
        })
    }
}

impl Recovery {
    /// The name in sentences.
    pub const fn title(self) -> &'static str {
        match self {
            Recovery::Reno => "Reno",
            Recovery::NewReno => "NewReno",
            Recovery::Sack => "SACK",
            Recovery::Rack => "RACK",
        }
    }

    /// The name in a scenario.
    pub const fn name(self) -> &'static str {
        match self {
            Recovery::Reno => "reno",
            Recovery::NewReno => "newreno",
            Recovery::Sack => "sack",
            Recovery::Rack => "rack",
        }
    }
}

impl CubicForm {
    /// The name in a scenario.
    pub const fn name(self) -> &'static str {
        match self {
            CubicForm::Rfc9438 => "rfc9438",
            CubicForm::Linux => "linux",
        }
    }
}

impl RtoFloor {
    /// The name in a scenario.
    pub const fn name(self) -> &'static str {
        match self {
            RtoFloor::Timeout => "timeout",
            RtoFloor::Variation => "variation",
        }
    }
}

impl EcnCapable {
    /// The name in a scenario.
    pub const fn name(self) -> &'static str {
        match self {
            EcnCapable::NewData => "new-data",
            EcnCapable::Data => "data",
            EcnCapable::All => "all",
        }
    }
}

#[cfg(test)]
mod tests {
    use shortflow_units::Duration;

    use super::*;
    use crate::Era;

    #[test]
    fn an_era_left_alone_is_told_by_its_name() {
        assert_eq!(Era::LinuxToday.config().description(), "Linux today (CUBIC, RACK)");
        assert_eq!(Era::Ns2In2005.config().description(), "ns-2 of 2005 (Reno, NewReno)");
    }

    #[test]
    fn what_differs_from_the_era_is_told_under_its_key() {
        let mut config = Era::Ns2In2002.config();
        config.rto_min = Duration::from_millis(200);
        config.recovery = Recovery::Sack;
        config.syn_retries = Some(6);
        assert_eq!(
            config.description(),
            "ns-2 of 2002 (Reno, SACK) with rto_min 200 ms, syn_retries 6"
        );
    }

    /// The page of the eras shows what they are.
    #[test]
    fn the_page_of_the_eras_tells_every_setting() {
        let page = include_str!("../../../../docs/tcp-eras.md");
        let columns = Era::ALL.map(|era| era.config().settings());
        for ((old, later), today) in columns[0].iter().zip(&columns[1]).zip(&columns[2]) {
            let row = format!("| `{}` | {} | {} | {} |", old.0, old.1, later.1, today.1);
            assert!(page.contains(&row), "docs/tcp-eras.md should say: {row}");
        }
    }
}
