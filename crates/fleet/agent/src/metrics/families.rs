//! The names and help texts of all metrics.

use super::text::{Family, Kind};

/// A family, and the key under which a status has its value.
pub(super) type Keyed = (&'static str, Family);

pub(super) static AGENT: Family =
    gauge("shortflow_agent_info", "The agent's machine and its version of Shortflow; always 1.");
pub(super) static VERSION: Family = gauge(
    "shortflow_repository_version",
    "The local number of the active version; it falls after a rollback.",
);
pub(super) static REPOSITORY: Family = gauge(
    "shortflow_repository_info",
    "The fleet and the digest of the active version of the repository; always 1.",
);
pub(super) static IN_FLEET: Family = gauge(
    "shortflow_machine_in_fleet",
    "1 if the active version's fleet names this machine, else 0: then the machine has no \
        assignments.",
);
pub(super) static TAKEN: Family = gauge(
    "shortflow_repository_taken_timestamp_seconds",
    "Unix time at which the active version was applied, in seconds, by the machine's clock.",
);
pub(super) static READABLE: Family =
    gauge("shortflow_source_readable", "1 if the last read of the source succeeded, else 0.");
pub(super) static REFUSED: Family = gauge(
    "shortflow_source_refused",
    "1 if the source's current version is refused because of errors, else 0.",
);
pub(super) static NOT_KEPT: Family = gauge(
    "shortflow_source_not_kept",
    "1 if the source's current version is valid but cannot be written to the machine's disk, else 0.",
);
pub(super) static HELD: Family = gauge(
    "shortflow_source_held",
    "1 if the source's current version was rolled back and is not applied again, else 0.",
);
pub(super) static WAITING: Family = gauge(
    "shortflow_source_waiting",
    "1 if the source's current version is valid and waits until other machines have applied it, else 0.",
);
pub(super) static WORSE: Family = gauge(
    "shortflow_source_worse",
    "1 if the source's current version was found worse, here or by a first machine, else 0.",
);
pub(super) static TRIAL: Family = gauge(
    "shortflow_repository_on_trial",
    "1 while the active version is compared with the previous one, else 0.",
);
pub(super) static DONE: Family = gauge(
    "shortflow_device_done",
    "1 if the device has the policy that the repository assigns, \
        else 0.",
);
pub(super) static CONTESTED: Family = gauge(
    "shortflow_device_contested",
    "1 if another process changes the device repeatedly, else 0.",
);
pub(super) static RATE: Family = gauge(
    "shortflow_device_rate_bytes_per_second",
    "The departure rate that the policy sets, in bytes per second.",
);
pub(super) static LEFT_OVER: Family = gauge(
    "shortflow_device_left_over_packets",
    "Packets that still wait in queues of the previous policy.",
);

pub(super) static WAITS: Family = Family {
    name: "shortflow_class_wait_seconds",
    kind: Kind::Histogram,
    help: "Delay that a packet arriving now would have in the class's queue, sampled every second.",
};

pub(super) static TIMES: Family = Family {
    name: "shortflow_edge_flow_seconds",
    kind: Kind::Histogram,
    help: "Duration of TCP connections at the edge, from the first SYN to the first FIN or RST, by \
        bytes sent.",
};
pub(super) static UNFINISHED: Family = counter(
    "shortflow_edge_unfinished_flows_total",
    "TCP connections that the edge forgot before they ended, by bytes sent.",
);

/// What the queue of each class has done.
pub(super) static CLASS: [Keyed; 10] = [
    ("packets", counter("shortflow_class_packets_total", "Packets sent by the class's queue.")),
    ("bytes", counter("shortflow_class_bytes_total", "Bytes sent by the class's queue.")),
    (
        "dropped",
        counter("shortflow_class_dropped_packets_total", "Packets dropped by the class's queue."),
    ),
    (
        "marked",
        counter(
            "shortflow_class_marked_packets_total",
            "Packets that the class's queue marked by ECN instead of dropping them.",
        ),
    ),
    ("waiting", gauge("shortflow_class_waiting_packets", "Packets in the class's queue now.")),
    ("waiting_bytes", gauge("shortflow_class_waiting_bytes", "Bytes in the class's queue now.")),
    (
        "delay_s",
        gauge(
            "shortflow_class_queue_delay_seconds",
            "Queueing delay of the class, as estimated by its queue.",
        ),
    ),
    (
        "unshaped",
        counter(
            "shortflow_class_unshaped_packets_total",
            "Packets of a direction that passed a router between two devices without its policy.",
        ),
    ),
    (
        "lost",
        counter(
            "shortflow_class_lost_packets_total",
            "Packets of a direction that came faster than a router between two devices took them.",
        ),
    ),
    ("flows", gauge("shortflow_class_queue_flows", "Flows that the class's queue serves now.")),
];

/// What the edge has seen of each class, green, yellow and red.
pub(super) static COLORS: [Keyed; 3] = [
    (
        "packets",
        counter("shortflow_edge_packets_total", "Packets by the colour that the edge gave them."),
    ),
    (
        "bytes",
        counter("shortflow_edge_bytes_total", "Bytes by the colour that the edge gave them."),
    ),
    (
        "dropped",
        counter("shortflow_edge_dropped_packets_total", "Packets dropped by the edge, by colour."),
    ),
];

/// The edge's table of each class: of flows, or of pairs of hosts.
pub(super) static TABLE: [Keyed; 4] = [
    (
        "hits",
        counter(
            "shortflow_edge_table_hits_total",
            "Packets whose flow or hosts were in the table.",
        ),
    ),
    (
        "misses",
        counter(
            "shortflow_edge_table_misses_total",
            "Packets whose flow or hosts were not yet in the table.",
        ),
    ),
    (
        "evictions",
        counter(
            "shortflow_edge_table_evictions_total",
            "Flows or hosts evicted from the table to make room for new ones.",
        ),
    ),
    ("used", gauge("shortflow_edge_table_used_places", "Table entries that have ever been used.")),
];

/// The buckets of each class of the edge.
pub(super) static BUCKET: [Keyed; 2] = [
    ("bytes", gauge("shortflow_edge_token_bytes", "Tokens in a bucket of the edge now, in bytes.")),
    (
        "depth",
        gauge("shortflow_edge_bucket_depth_bytes", "Depth of a bucket of the edge, in bytes."),
    ),
];

/// The profile in a machine's own TCP.
pub(super) static TCP: [Keyed; 9] = [
    (
        "connections",
        gauge(
            "shortflow_tcp_connections",
            "Connections that have a share of the profile of their own.",
        ),
    ),
    (
        "held_bytes",
        gauge(
            "shortflow_tcp_token_bytes",
            "Tokens in the profile's bucket now, in bytes; negative while it owes.",
        ),
    ),
    (
        "sent_bytes",
        counter("shortflow_tcp_sent_bytes_total", "Bytes sent by connections of the profile."),
    ),
    (
        "unasked_bytes",
        counter(
            "shortflow_tcp_unasked_bytes_total",
            "Bytes that TCP sent without asking: probes, timeouts, and segments without data.",
        ),
    ),
    (
        "withheld",
        counter(
            "shortflow_tcp_withheld_bursts_total",
            "Bursts withheld or shortened by the profile.",
        ),
    ),
    (
        "unasked_withheld",
        counter(
            "shortflow_tcp_withheld_segments_total",
            "Segments of TCP's timers that the profile withheld.",
        ),
    ),
    (
        "forced_bytes",
        counter(
            "shortflow_tcp_forced_bytes_total",
            "Bytes sent without tokens, so that TCP did not close a connection.",
        ),
    ),
    ("bursts", counter("shortflow_tcp_bursts_total", "Bursts that left with tokens.")),
    (
        "waited_s",
        counter(
            "shortflow_tcp_wait_seconds_total",
            "Time for which the first segments of these bursts waited for tokens.",
        ),
    ),
];

const fn counter(name: &'static str, help: &'static str) -> Family {
    Family { name, kind: Kind::Counter, help }
}

const fn gauge(name: &'static str, help: &'static str) -> Family {
    Family { name, kind: Kind::Gauge, help }
}
