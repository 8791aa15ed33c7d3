//! The names of metrics, and what they say.

use super::text::{Family, Kind};

/// A family, and the key under which a status has its value.
pub(super) type Keyed = (&'static str, Family);

pub(super) static AGENT: Family = gauge(
    "shortflow_agent_info",
    "The agent's machine, and the version of Shortflow that it is; always 1.",
);
pub(super) static VERSION: Family = gauge(
    "shortflow_repository_version",
    "The number that this machine has given the version that counts; it falls when one goes back.",
);
pub(super) static REPOSITORY: Family = gauge(
    "shortflow_repository_info",
    "The repository's version that counts, by its fleet and the digest of its texts; always 1.",
);
pub(super) static IN_FLEET: Family = gauge(
    "shortflow_machine_in_fleet",
    "1 where the fleet of the version that counts names this machine, else 0: then nothing is assigned to it.",
);
pub(super) static TAKEN: Family = gauge(
    "shortflow_repository_taken_timestamp_seconds",
    "When the version that counts was taken, in seconds since 1970 by the machine's clock.",
);
pub(super) static READABLE: Family =
    gauge("shortflow_source_readable", "1 where the source could be read the last time, else 0.");
pub(super) static REFUSED: Family = gauge(
    "shortflow_source_refused",
    "1 where what the source has is refused for its mistakes, else 0.",
);
pub(super) static NOT_KEPT: Family = gauge(
    "shortflow_source_not_kept",
    "1 where what the source has is good and cannot be written to the machine's disk, else 0.",
);
pub(super) static HELD: Family = gauge(
    "shortflow_source_held",
    "1 where what the source has was gone back from and is not taken, else 0.",
);
pub(super) static WAITING: Family = gauge(
    "shortflow_source_waiting",
    "1 where what the source has is good and other machines take it first, else 0.",
);
pub(super) static WORSE: Family = gauge(
    "shortflow_source_worse",
    "1 where what the source has was found to be worse, here or by a machine that takes it first, else 0.",
);
pub(super) static TRIAL: Family = gauge(
    "shortflow_repository_on_trial",
    "1 while the version that counts is measured beside the one before, else 0.",
);
pub(super) static DONE: Family =
    gauge("shortflow_device_done", "1 where the device is as the repository says, else 0.");
pub(super) static CONTESTED: Family = gauge(
    "shortflow_device_contested",
    "1 where somebody else changes the device again and again, else 0.",
);
pub(super) static RATE: Family = gauge(
    "shortflow_device_rate_bytes_per_second",
    "The rate at which packets leave by the policy, in bytes per second.",
);
pub(super) static LEFT_OVER: Family = gauge(
    "shortflow_device_left_over_packets",
    "Packets that still wait in queues of the policy before.",
);

pub(super) static WAITS: Family = Family {
    name: "shortflow_class_wait_seconds",
    kind: Kind::Histogram,
    help: "How long a packet would have waited in the class's queue that had come then, looked at every second.",
};

pub(super) static TIMES: Family = Family {
    name: "shortflow_edge_flow_seconds",
    kind: Kind::Histogram,
    help: "How long connections of TCP took at the edge, from their first SYN to their first FIN or RST, by what they sent.",
};
pub(super) static UNFINISHED: Family = counter(
    "shortflow_edge_unfinished_flows_total",
    "Connections of TCP that the edge had to forget before their end, by what they had sent.",
);

/// What the queue of each class has done.
pub(super) static CLASS: [Keyed; 8] = [
    (
        "packets",
        counter("shortflow_class_packets_total", "Packets that the class's queue has sent."),
    ),
    ("bytes", counter("shortflow_class_bytes_total", "Bytes that the class's queue has sent.")),
    (
        "dropped",
        counter(
            "shortflow_class_dropped_packets_total",
            "Packets that the class's queue has dropped.",
        ),
    ),
    (
        "marked",
        counter(
            "shortflow_class_marked_packets_total",
            "Packets that the class's queue has marked by ECN in place of dropping them.",
        ),
    ),
    ("waiting", gauge("shortflow_class_waiting_packets", "Packets in the class's queue now.")),
    ("waiting_bytes", gauge("shortflow_class_waiting_bytes", "Bytes in the class's queue now.")),
    (
        "delay_s",
        gauge(
            "shortflow_class_queue_delay_seconds",
            "How long packets wait in the class's queue, by its own estimate.",
        ),
    ),
    ("flows", gauge("shortflow_class_queue_flows", "Flows that the class's queue serves now.")),
];

/// What the edge has seen of each class, green, yellow and red.
pub(super) static COLORS: [Keyed; 3] = [
    (
        "packets",
        counter(
            "shortflow_edge_packets_total",
            "Packets by the colour that the edge has given them.",
        ),
    ),
    (
        "bytes",
        counter("shortflow_edge_bytes_total", "Bytes by the colour that the edge has given them."),
    ),
    (
        "dropped",
        counter(
            "shortflow_edge_dropped_packets_total",
            "Packets that the edge has dropped, by their colour.",
        ),
    ),
];

/// The edge's table of each class: of flows, or of pairs of hosts.
pub(super) static TABLE: [Keyed; 4] = [
    (
        "hits",
        counter("shortflow_edge_table_hits_total", "Packets whose flow or hosts the table knew."),
    ),
    (
        "misses",
        counter(
            "shortflow_edge_table_misses_total",
            "Packets whose flow or hosts were new to the table.",
        ),
    ),
    (
        "evictions",
        counter(
            "shortflow_edge_table_evictions_total",
            "Flows or hosts that gave way to a new one.",
        ),
    ),
    ("used", gauge("shortflow_edge_table_used_places", "Places of the table that were ever used.")),
];

/// The buckets of each class of the edge.
pub(super) static BUCKET: [Keyed; 2] = [
    (
        "bytes",
        gauge(
            "shortflow_edge_token_bytes",
            "Bytes for which there are tokens in a bucket of the edge now.",
        ),
    ),
    ("depth", gauge("shortflow_edge_bucket_depth_bytes", "Bytes for which there can be tokens.")),
];

const fn counter(name: &'static str, help: &'static str) -> Family {
    Family { name, kind: Kind::Counter, help }
}

const fn gauge(name: &'static str, help: &'static str) -> Family {
    Family { name, kind: Kind::Gauge, help }
}
