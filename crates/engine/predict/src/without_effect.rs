//! Keys of policies that have no effect on predictions, each with the reason. A file that sets one gets a note.

use shortflow_policy::WithoutEffect;

const fn key(scheme: &'static str, key: &'static str, reason: &'static str) -> WithoutEffect {
    WithoutEffect { scheme, key, reason }
}

const IDLE: &str = "an average that falls in idle times is below its thresholds anyway";
const CODEL: &str = "means assume flows that CoDel rarely slows; round trips of more than two \
    intervals are refused";
const ALONE: &str = "CoDel never drops from a flow with one or two queued packets";
const TURN: &str = "a turn has at least one packet; turns of more than two packets are refused";
const MARKS: &str = "a mark reduces a window as a drop does";
const PIE: &str = "PIE drops nothing below a quarter of its target; longer delays are refused";
const MEAN: &str = "a meter splits packets by its rate over the mean arrival rate";
const AGGREGATE: &str = "the sum of an aggregate's tokens does not depend on which flow holds them";
const HELD: &str = "long delays in the shaper are refused";
const WINDOWS: &str = "means have a closed form only if few segments are retransmitted";
const BURST: &str = "a burst after a pause does not change a long-term rate";

/// The keys of policies and scenarios that have no effect on predictions.
pub const WITHOUT_EFFECT: &[WithoutEffect] = &[
    key("queue.red", "mean_packet", IDLE),
    key("queue.red", "ecn_above_max", MARKS),
    key("queue.multi-red", "mean_packet", IDLE),
    key("queue.multi-red", "ecn_above_max", MARKS),
    key("queue.fq-codel", "target", CODEL),
    key("queue.fq-codel", "quantum", TURN),
    key("queue.fq-codel", "mtu", ALONE),
    key("queue.fq-codel", "ecn", MARKS),
    key("queue.host-fair", "target", CODEL),
    key("queue.host-fair", "interval", CODEL),
    key("queue.host-fair", "mtu", ALONE),
    key("queue.host-fair", "ecn", MARKS),
    key("queue.host-fair", "ipv6_prefix", "hosts that divide their share are refused"),
    key("queue.pie", "update", PIE),
    key("queue.pie", "max_burst", PIE),
    key("queue.pie", "alpha", PIE),
    key("queue.pie", "beta", PIE),
    key("queue.pie", "ecn", PIE),
    key("queue.shaper", "burst", BURST),
    key("queue.wfq", "classes[].flow_limit", "flows with their own queue count as within it"),
    key("queue.aggregate-shaper", "sharing", AGGREGATE),
    key("queue.aggregate-shaper", "connections", AGGREGATE),
    key("queue.aggregate-shaper", "idle_timeout", AGGREGATE),
    key("queue.aggregate-shaper", "timer", HELD),
    key("queue.aggregate-shaper", "order", HELD),
    key("queue.aggregate-shaper", "fresh", HELD),
    key("queue.aggregate-shaper", "triggers", HELD),
    key("queue.source-scheduler", "limit_per_connection", HELD),
    key("queue.source-scheduler", "connections", HELD),
    key("queue.source-scheduler", "remark_after", HELD),
    key("queue.source-scheduler", "rules", HELD),
    key("queue.source-scheduler", "rules[].match", HELD),
    key("queue.source-scheduler", "rules[].class", HELD),
    key("queue.source-scheduler", "rules[].weight", HELD),
    key("marker.tcp-state", "fast_recovery", WINDOWS),
    key("marker.aggregate", "depth", MEAN),
    key("marker.aggregate", "sharing", AGGREGATE),
    key("marker.aggregate", "connections", AGGREGATE),
    key("marker.aggregate", "idle_timeout", AGGREGATE),
    key("marker.sima", "link", MEAN),
    key("marker.sima", "weight", MEAN),
    key("marker.sima", "slot", MEAN),
    key("marker.srtcm", "cbs", MEAN),
    key("marker.srtcm", "ebs", MEAN),
    key("marker.trtcm", "cbs", MEAN),
    key("marker.trtcm", "pbs", MEAN),
    key("marker.tsw3cm", "window", MEAN),
    key("marker.tsw3cm", "initial_rate", MEAN),
    key("marker.two-buckets", "green.depth", MEAN),
    key("marker.two-buckets", "yellow.depth", MEAN),
    key("marker.token-bucket", "depth", MEAN),
    key("marker.fixed", "bucket.depth", MEAN),
    key("marker.tsw2cm", "window", MEAN),
    key("marker.tsw2cm", "initial_rate", MEAN),
    key("marker.fair-marker", "window", MEAN),
    key("marker.fair-marker", "initial_rate", MEAN),
    key("marker.dstf", "most_new", "flows count as remembered while they send"),
    key("marker.fair-marker", "table_size", "flows count as remembered while they send"),
    key("marker.fair-marker", "idle_timeout", "flows count as remembered while they send"),
];
