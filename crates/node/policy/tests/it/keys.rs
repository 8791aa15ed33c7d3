//! Every key of every scheme, written and read back.

use shortflow_policy::explain::{SchemeKind, schemes};

use crate::plans::read;

/// Each scheme with all of its keys, at values that are not their defaults, and what is read. A marker
/// and a queue of one name have their kind before it.
const WRITTEN_AND_READ: &[(&str, &str, &str)] = &[
    (
        "admission",
        r#"link = "2 Mbit/s"
share = 0.5
peak = "80 kbit/s"
depth = "3 KB"
sample = "400 ms"
samples = 12
per = { each = "source", table_size = 9, idle_timeout = "9 s", ipv6_prefix = 56 }
admitted = "EF"
refused = "LE""#,
        "1 Mbit/s 80 kbit/s Some(Bytes(3000)) 400 ms 12 Source 9 9 s /56 EF LE",
    ),
    (
        "aggregate",
        r#"rate = "500 kbit/s"
depth = "20 KB"
peak = "2 Mbit/s"
max_packet = "1000 B"
sharing = "partitioned-by-rtt"
connections = 9
idle_timeout = "8 s""#,
        "500 kbit/s 20 KB Some(Rate(2000000)) 1 KB Partitioned(ByRtt) 9 8 s",
    ),
    (
        "aggregate-shaper",
        r#"rate = "500 kbit/s"
depth = "20 KB"
peak = "2 Mbit/s"
max_packet = "1000 B"
sharing = "common"
connections = 9
idle_timeout = "8 s"
place = "queue"
limit = "99 pkt"
timer = "10 ms"
order = "lru"
fresh = "overtake"
triggers = ["idle-ack", "new-connection"]"#,
        "500 kbit/s 20 KB Some(Rate(2000000)) 1 KB Common 9 8 s Queue 99 pkt 10 ms \
         LeastRecentlyServed Overtake [IdleAcknowledgement, NewConnection]",
    ),
    (
        "dstf",
        r#"thresholds = ["1 KB", "2 KB"]
code_points = ["EF", "AF11", "LE"]
per = { each = "host-pair", table_size = 9, idle_timeout = "99 s", ipv6_prefix = 48 }
decay = "8 kbit/s"
most_new = 90
count = "payload""#,
        "[Bytes(1000), Bytes(2000)] EF AF11 LE HostPair 9 99 s /48 Payload 8 kbit/s 100 ms",
    ),
    (
        "fair-marker",
        r#"cir = "6 Mbit/s"
window = "2 s"
initial_rate = "zero"
threshold = 5
table_size = "unlimited"
idle_timeout = "9 s""#,
        "6 Mbit/s 2 s Zero 5 Unlimited { idle_timeout: Duration(9000000000) }",
    ),
    (
        "fixed",
        r#"dscp = "EF"
bucket = { rate = "64 kbit/s", depth = "3 KB", per = "flow" }"#,
        "EF 64 kbit/s 3 KB per Flow 65536 60 s /64",
    ),
    (
        "marker.sima",
        r#"nbr = "300 kbit/s"
class = "real-time"
link = "2 Mbit/s"
weight = 0.02
slot = "500 B"
per = { each = "source", table_size = 9, idle_timeout = "90 s", ipv6_prefix = 56 }
code_points = ["BE", "CS1", "CS2", "CS3", "CS4", "CS5", "EF"]"#,
        "300 kbit/s 2 Mbit/s 500 B 0.02 Source 9 90 s /56 BE CS1 CS2 CS3 CS4 CS5 EF",
    ),
    (
        "srpt",
        r#"thresholds = ["1 KB", "2 KB"]
code_points = ["EF", "AF11", "LE"]
unknown = 2"#,
        "[Bytes(1000), Bytes(2000)] EF AF11 LE 1",
    ),
    (
        "srtcm",
        r#"cir = "1 Mbit/s"
cbs = "3 KB"
ebs = "4 KB"
color_aware = true
per = { each = "destination", table_size = 9, idle_timeout = "9 s" }"#,
        "1 Mbit/s 3 KB 4 KB AF11=Green per Destination 9 9 s /64",
    ),
    (
        "tcp-state",
        r#"high = 3
medium = 7
randomized = true
fast_recovery = "retransmissions"
adapt = { budget = "1 Mbit/s", slow = "2 s", size = "3 KB", every = "4 s", highest = 5 }"#,
        "3 7 Randomized Retransmissions 1 Mbit/s 2 s 3 KB 4 s 5",
    ),
    (
        "token-bucket",
        r#"rate = "1 Mbit/s"
depth = "3 KB"
per = "source""#,
        "1 Mbit/s 3 KB per Source 65536 60 s /64",
    ),
    (
        "trtcm",
        r#"cir = "1 Mbit/s"
cbs = "3 KB"
pir = "2 Mbit/s"
pbs = "4 KB"
color_aware = true
per = "source""#,
        "1 Mbit/s 3 KB 2 Mbit/s 4 KB AF11=Green per Source 65536 60 s /64",
    ),
    (
        "tsw2cm",
        r#"cir = "6 Mbit/s"
window = "2 s"
initial_rate = "zero""#,
        "6 Mbit/s 2 s Zero",
    ),
    (
        "tsw3cm",
        r#"cir = "6 Mbit/s"
pir = "7 Mbit/s"
window = "2 s"
initial_rate = "zero""#,
        "6 Mbit/s 7 Mbit/s 2 s Zero",
    ),
    (
        "two-buckets",
        r#"green = { rate = "1 Mbit/s", depth = "3 KB" }
yellow = { rate = "2 Mbit/s", depth = "4 KB" }
color_aware = true
per = "source""#,
        "1 Mbit/s 3 KB 2 Mbit/s 4 KB AF11=Green per Source 65536 60 s /64",
    ),
    (
        "htb",
        r#"classes = [
  { match = { dscp = "EF" }, at_least = "3 Mbit/s", at_most = "5 Mbit/s", queue.fifo = { limit = "9 pkt" } },
  { at_least = "4 Mbit/s", queue.fifo = { limit = "9 pkt" } },
]"#,
        "[RateRange { at_least: Rate(3000000), at_most: Some(Rate(5000000)) }, RateRange { at_least: Rate(4000000), at_most: None }] [dscp EF]→0 []→1",
    ),
    (
        "plans",
        r#"by = "source"
rate = "90 Mbit/s"
unknown = "3 Mbit/s"
sites = [{ name = "tower", rate = "40 Mbit/s" }, { name = "hut", rate = "20 Mbit/s", parent = "tower" }]
customers = [
  { addresses = ["10.0.0.1", "2001:db8::/48"], at_most = "9 Mbit/s", at_least = "2 Mbit/s", site = "hut" },
  { addresses = "10.1.0.0/16", at_most = "7 Mbit/s" },
]
queue = { fifo = { limit = "9 pkt" } }"#,
        "Source 90 Mbit/s unknown 3 Mbit/s sites 40 Mbit/s behind None, 20 Mbit/s behind Some(0); \
         customers 10.0.0.1/32 2001:db8::/48 2 Mbit/s..9 Mbit/s at Some(1), \
         10.1.0.0/16 8 kbit/s..7 Mbit/s at None; fifo",
    ),
    (
        "drr",
        r#"classes = [
  { match = { dscp = "EF" }, quantum = "3 KB", queue.fifo = { limit = "9 pkt" } },
  { quantum = "4 KB", queue.fifo = { limit = "9 pkt" } },
]"#,
        "[Bytes(3000), Bytes(4000)] [dscp EF]→0 []→1",
    ),
    ("fifo", r#"limit = "9 pkt""#, "9 pkt"),
    (
        "fq-codel",
        r#"limit = "90 pkt"
queues = 16
quantum = "300 B"
target = "4 ms"
interval = "90 ms"
mtu = "1 KB"
ecn = false"#,
        "90 pkt 16 300 B 4 ms 90 ms 1 KB Drop",
    ),
    (
        "host-fair",
        r#"by = "source"
limit = "90 pkt"
queues = 16
quantum = "300 B"
target = "4 ms"
interval = "90 ms"
mtu = "1 KB"
ecn = false
ipv6_prefix = 56"#,
        "Source 90 pkt 16 300 B 4 ms 90 ms 1 KB Drop /56",
    ),
    (
        "multi-red",
        r#"limit = "60 pkt"
weight = 0.01
gentle = true
ecn = true
ecn_above_max = true
mean_packet = "1 KB"
byte_mode = true
spacing = "wait"
spare_below = 2
average = "cumulative"
levels = [
  { code_points = ["AF11"], min_threshold = "40 pkt", max_threshold = "50 pkt", max_probability = 0.05 },
  { code_points = "rest", min_threshold = "10 %", max_threshold = "50 %", max_probability = 0.1 },
]"#,
        "60 pkt 0.01 1 KB true Wait MarkAboveMax 2 Coupled 40 pkt–50 pkt 0.05 Gentle; 6 pkt–30 pkt 0.1 Gentle [0, 1, 1]",
    ),
    (
        "pie",
        r#"limit = "90 pkt"
target = "10 ms"
update = "20 ms"
max_burst = "100 ms"
alpha = 0.25
beta = 2.5
ecn = true"#,
        "90 pkt 10 ms 20 ms 100 ms 0.25 2.5 Mark",
    ),
    (
        "red",
        r#"limit = "60 pkt"
weight = 0.01
gentle = true
ecn = true
ecn_above_max = true
mean_packet = "1 KB"
byte_mode = true
spacing = "wait"
spare_below = 2
min_threshold = "10 %"
max_threshold = "50 %"
max_probability = 0.1"#,
        "60 pkt 0.01 1 KB true Wait MarkAboveMax 2 Shared 6 pkt–30 pkt 0.1 Gentle [0, 0, 0]",
    ),
    (
        "shaper",
        r#"rate = "19 Mbit/s"
burst = "3 KB"
overhead = "38 B"
link_layer = { mpu = "64 B", framing = "atm" }
queue = { fifo = { limit = "9 pkt" } }"#,
        "19 Mbit/s 3 KB overhead 38 mpu 64 atm",
    ),
    (
        "shared-priority",
        r#"limit = "60 pkt"
bands = ["EF", { match = { protocol = "esp" } }, "rest", "LE"]"#,
        "60 pkt 4 [dscp EF]→0 [protocol 50]→1 [dscp LE]→3 else 2",
    ),
    (
        "queue.sima",
        r#"real_time = { limit = "9 KB", weight = 0.01, code_points = [0, 1, 2, 4, 5, 6, 8, 9] }
non_real_time = { limit = "30 KB", weight = 0.5 }
allowed = "floor-of-mean""#,
        "9 KB 0.01 BE LE 2 4 5 6 CS1 9; 30 KB 0.5 3 7 11 15 19 23 27 31 FloorOfMean",
    ),
    (
        "source-scheduler",
        r#"limit = "60 pkt"
limit_per_connection = "9 pkt"
connections = 8
high = { rate = "1 Mbit/s", depth = "3 KB" }
medium = { rate = "2 Mbit/s", depth = "4 KB" }
remark_after = "90 ms"
rules = [
  { match = { src_port = 80 }, class = 2, weight = 3 },
  { match = { src_port = 20 }, class = 4 },
]"#,
        "60 pkt Some(Packets(9)) 8 1 Mbit/s 3 KB 2 Mbit/s 4 KB 90 ms AF11 AF12 AF13 [(2, 3), (4, 1)] [src_port [80, 80]]→0 [src_port [20, 20]]→1 else (4, 1)",
    ),
    (
        "stf",
        r#"limit = "60 pkt"
flows = 9
idle_timeout = "9 s""#,
        "60 pkt 9 9 s",
    ),
    (
        "strict-priority",
        r#"bands = [
  { match = { protocol = "icmpv6" }, queue.fifo = { limit = "9 pkt" } },
  { queue.fifo = { limit = "9 pkt" } },
]"#,
        "[(), ()] [protocol 58]→0 []→1",
    ),
    (
        "wfq",
        r#"limit = "60 pkt"
full = "tail-drop"
classes = [
  { match = { dscp = "EF" }, weight = "40 kbit/s", per = "flow", limit = "9 pkt", flow_limit = "3 pkt" },
  { weight = "80 kbit/s" },
]"#,
        "Some(Packets(60)) TailDrop 40000 Flow { limit: Some(Packets(3)) } Some(Packets(9)); 80000 Class None [dscp EF]→0 []→1 else 1",
    ),
    (
        "wrr",
        r#"classes = [
  { match = { dst = "2001:db8::/32" }, weight = 3, queue.fifo = { limit = "9 pkt" } },
  { queue.fifo = { limit = "9 pkt" } },
]"#,
        "[3, 1] [dst 2001:db8::/32]→0 []→1",
    ),
];

#[test]
fn what_is_written_in_any_key_of_any_scheme_is_what_is_read() {
    let mut differ = Vec::new();
    for scheme in schemes() {
        let path = format!("{}.{}", scheme.kind.name(), scheme.name);
        let named = |name: &str| name == scheme.name || name == path;
        let found = WRITTEN_AND_READ.iter().find(|(name, ..)| named(name));
        let (_, keys, expected) = found.unwrap_or_else(|| panic!("no line for {}", scheme.name));
        for key in scheme.keys.iter().filter(|key| !key.name.contains('.')) {
            assert!(keys.contains(&format!("{} =", key.name)), "{}.{}", scheme.name, key.name);
        }
        let head = match scheme.kind {
            SchemeKind::Marker => "[[roles.r.classes]]\nname = \"all\"\n[roles.r.classes.marker",
            SchemeKind::Queue => "[roles.r.queue",
        };
        let policy = crate::policy(&format!("{head}.{}]\n{keys}", scheme.name));
        let lines = read(&policy);
        let name = format!("{}: ", scheme.name);
        let line = lines.iter().find_map(|line| line.strip_prefix(&name));
        if line != Some(*expected) {
            differ.push(format!("{}\nexpected: {expected}\nread:     {line:?}", scheme.name));
        }
    }
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}
