//! A discipline as tc lists it, and what it has done.

use serde_json::Value;
use shortflow_ebpf::early::EarlyCounter;

/// A discipline and what it has done.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Queue {
    /// The major number of its handle.
    pub handle: u16,
    /// Its kind.
    pub kind: String,
    /// Packets that it has given away.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Packets that it has dropped.
    pub drops: u64,
    /// Packets that it has marked with ECN.
    pub marks: u64,
    /// Packets that wait.
    pub waiting: u64,
    /// Their bytes.
    pub waiting_bytes: u64,
    /// The delay of packets, by the queue's own estimate, in microseconds; `None` for kinds without an estimate.
    pub delay_us: Option<u64>,
    /// The number of flows that it serves now; `None` for kinds that do not distinguish flows, or do not count them.
    pub flows: Option<u64>,
    /// What each level has done, the best protected first; of kinds that drop by level.
    pub levels: Vec<QueueLevel>,
}

/// What a level of a discipline has done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct QueueLevel {
    /// Packets that it has accepted.
    pub packets: u64,
    /// Packets that it has dropped.
    pub drops: u64,
    /// Packets that it has marked with ECN.
    pub marks: u64,
}

impl Queue {
    /// The discipline of `tc -j qdisc show`, if it is one with a handle.
    pub(crate) fn parse(qdisc: &Value) -> Option<Queue> {
        let handle = qdisc["handle"].as_str()?.strip_suffix(':')?;
        let number = |key: &str| qdisc[key].as_u64().unwrap_or(0);
        let tins = |key: &'static str| {
            let tins = qdisc["tins"].as_array().into_iter().flatten();
            tins.filter_map(move |tin| tin[key].as_u64())
        };
        let kind = qdisc["kind"].as_str()?;
        let (delay_us, flows) = match kind {
            "pie" => (qdisc["delay"].as_u64(), None),
            "fq_codel" => {
                (None, qdisc["new_flows_len"].as_u64().zip(qdisc["old_flows_len"].as_u64()))
            }
            // The longest of its tins, each of which has an average.
            "cake" => (
                tins("avg_delay_us").max(),
                qdisc["tins"]
                    .is_array()
                    .then(|| (tins("sparse_flows").sum(), tins("bulk_flows").sum())),
            ),
            _ => (None, None),
        };
        let levels = qdisc["options"]["vqs"].as_array().into_iter().flatten();
        let levels: Vec<QueueLevel> = levels.map(QueueLevel::new).collect();
        let of_levels: u64 = levels.iter().map(|level| level.marks).sum();
        Some(Queue {
            handle: u16::from_str_radix(handle, 16).ok()?,
            kind: kind.to_owned(),
            packets: number("packets"),
            bytes: number("bytes"),
            drops: number("drops"),
            marks: number("ecn_mark")
                + number("marked")
                + tins("ecn_mark").sum::<u64>()
                + of_levels,
            waiting: number("qlen"),
            waiting_bytes: number("backlog"),
            delay_us,
            flows: flows.map(|(new, old)| new + old),
            levels,
        })
    }

    /// Adds what the program for early drops has done before it.
    pub(crate) fn add_early(&mut self, levels: &[EarlyCounter]) {
        let level = |counter: &EarlyCounter| QueueLevel {
            packets: counter.passed,
            drops: counter.dropped(),
            marks: counter.marked,
        };
        self.drops += levels.iter().map(EarlyCounter::dropped).sum::<u64>();
        self.marks += levels.iter().map(|counter| counter.marked).sum::<u64>();
        // Of RED with one level, that is all.
        if levels.len() > 1 {
            self.levels = levels.iter().map(level).collect();
        }
    }
}

impl QueueLevel {
    /// Of a level of gred, which counts what arrives.
    fn new(level: &Value) -> QueueLevel {
        let sum =
            |keys: &[&str]| -> u64 { keys.iter().filter_map(|key| level[*key].as_u64()).sum() };
        let drops = sum(&["forced_drop", "prob_drop", "pdrop", "other"]);
        QueueLevel {
            packets: sum(&["packets"]).saturating_sub(drops),
            drops,
            marks: sum(&["forced_mark", "prob_mark"]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queues(listed: &str) -> Vec<Queue> {
        let all: Vec<Value> = serde_json::from_str(listed).unwrap();
        all.iter().filter_map(Queue::parse).collect()
    }

    #[test]
    fn waits_and_flows_are_told_by_the_kinds_that_know_them() {
        let text = r#"[{"kind":"fq_codel","handle":"5f01:","new_flows_len":2,"old_flows_len":3},
            {"kind":"pie","handle":"5f02:","prob":0.01,"delay":15000},
            {"kind":"cake","handle":"5f03:","tins":[
                {"peak_delay_us":90,"avg_delay_us":20,"sparse_flows":1,"bulk_flows":2,"unresponsive_flows":0},
                {"peak_delay_us":40,"avg_delay_us":30,"sparse_flows":4,"bulk_flows":0,"unresponsive_flows":0}]},
            {"kind":"red","handle":"5f04:"}, {"kind":"cake","handle":"5f05:"}]"#;
        let found = queues(text);
        let reported: Vec<_> =
            found.iter().map(|queue| (queue.handle, queue.delay_us, queue.flows)).collect();
        let expected = [
            (0x5f01, None, Some(5)),
            (0x5f02, Some(15_000), None),
            (0x5f03, Some(30), Some(7)),
            (0x5f04, None, None),
            (0x5f05, None, None),
        ];
        assert_eq!(reported, expected);
    }

    #[test]
    fn marks_are_found_where_each_kind_has_them() {
        let text = r#"[{"kind":"fq_codel","handle":"5f01:","packets":5,"bytes":70,"drops":1,"ecn_mark":2},
            {"kind":"red","handle":"5f02:","marked":3},
            {"kind":"cake","handle":"5f03:","tins":[{"ecn_mark":4},{"ecn_mark":5}]}]"#;
        let found = queues(text);
        let marks: Vec<_> = found.iter().map(|queue| (queue.handle, queue.marks)).collect();
        assert_eq!(marks, [(0x5f01, 2), (0x5f02, 3), (0x5f03, 9)]);
        let first = &found[0];
        assert_eq!([first.packets, first.bytes, first.drops], [5, 70, 1]);
    }
}
