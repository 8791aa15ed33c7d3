//! Other words for goals and measures, so that a message can name the one that is meant.

use crate::offered::{Offered, name};

/// Words for measures of limits, and what they may mean, the likelier first.
const OF_LIMITS: [(&[&str], &[&str]); 4] = [
    (&["loss", "lost", "drops", "drop"], &["datagram-loss", "packet-loss"]),
    (&["latency", "time", "duration", "wait"], &["delay", "completion"]),
    (&["throughput", "rate", "bandwidth", "speed"], &["goodput"]),
    (&["delay"], &["completion"]),
];

/// Words for goals, and what they mean.
const OF_GOALS: [(&[&str], &str); 4] = [
    (&["datagram-loss", "packet-loss", "lost", "drops"], "loss"),
    (&["throughput", "rate", "bandwidth", "speed"], "goodput"),
    (&["average", "avg", "delay", "completion"], "mean"),
    (&["p50"], "median"),
];

/// The measure of a workload that a word of a limit means, if it has one.
pub(crate) fn measure_meant(word: &str, offered: &Offered) -> Option<&'static str> {
    let is_measured = |word: &&&str| offered.measures.iter().any(|one| name(*one) == **word);
    let (_, meant) = OF_LIMITS.iter().find(|(words, _)| words.contains(&word))?;
    meant.iter().find(is_measured).copied()
}

/// The goal that a word means.
pub(crate) fn goal_meant(word: &str) -> Option<&'static str> {
    OF_GOALS.iter().find(|(words, _)| words.contains(&word)).map(|(_, meant)| *meant)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_means_what_the_workload_has() {
        let all = Offered::for_tests();
        let of = |name: &str| all.iter().find(|one| one.workload == name).unwrap();
        assert_eq!(measure_meant("loss", of("voice")), Some("datagram-loss"));
        assert_eq!(measure_meant("loss", of("web")), Some("packet-loss"));
        assert_eq!(measure_meant("loss", of("backup")), None);
        assert_eq!(measure_meant("latency", of("web")), Some("completion"));
        assert_eq!(measure_meant("anything", of("web")), None);
        assert_eq!(goal_meant("throughput"), Some("goodput"));
    }
}
