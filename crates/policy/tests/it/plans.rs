//! A policy can be read after it was parsed: by what deploys it, predicts it, or gives advice.

use std::path::Path;

use shortflow_elements::classifier::{Classifier, MultiField};
use shortflow_elements::meter::{ColorMode, TokenBucketParams};
use shortflow_elements::queue::{AggregateShaperParams, BandOf, CoDelParams, FlowQueueSettings};
use shortflow_elements::sharing::{AggregateProfile, ConnectionLimits};
use shortflow_elements::{Color, Dscp, Per};
use shortflow_policy::explain::{SchemeKind, schemes};
use shortflow_policy::keys::{Metered, RedPlan, Turns};
use shortflow_policy::{MarkerPlan, Policy, QueuePlan};
use shortflow_units::Rate;

/// Everything that a policy does, line by line.
fn read(policy: &Policy) -> Vec<String> {
    let mut lines = Vec::new();
    for role in &policy.roles {
        for class in &role.classes {
            lines.push(format!(
                "{}/{}: {}, {:?}",
                role.name,
                class.name,
                rule(&class.rule),
                class.police
            ));
            lines.extend(class.marker.as_ref().map(|plan| marker(plan, policy)));
        }
        lines.push(format!("{:?} {:?}", role.acks, role.code_points));
        if let Some(plan) = &role.queue {
            queue(plan, &mut lines);
        }
    }
    lines
}

/// The conditions of a match.
fn rule(rule: &MultiField) -> String {
    let mut parts = Vec::new();
    let prefixes = [("src", &rule.src), ("dst", &rule.dst)];
    for (name, prefix) in prefixes {
        parts.extend(
            prefix.map(|prefix| format!("{name} {}/{}", prefix.network(), prefix.length())),
        );
    }
    for (name, ports) in [("src_port", &rule.src_ports), ("dst_port", &rule.dst_ports)] {
        parts.extend(ports.as_ref().map(|ports| format!("{name} {:?}", ports.ends())));
    }
    parts.extend(rule.protocol.map(|protocol| format!("protocol {}", protocol.0)));
    parts.extend(rule.dscps.map(|set| format!("dscp {}", code_points(set.iter()))));
    parts.extend(rule.sender.map(|sender| {
        format!("{:?} {:?} {:?}", sender.label, sender.sent_up_to, sender.remaining_up_to)
    }));
    format!("[{}]", parts.join(", "))
}

fn rules(classifier: &Classifier) -> String {
    let each = classifier.rules().iter().map(|(found, class)| format!("{}→{class}", rule(found)));
    each.collect::<Vec<_>>().join(" ")
}

fn code_points(points: impl IntoIterator<Item = Dscp>) -> String {
    points.into_iter().map(|dscp| dscp.to_string()).collect::<Vec<_>>().join(" ")
}

fn bucket(bucket: &TokenBucketParams) -> String {
    format!("{} {}", bucket.rate(), bucket.burst())
}

fn per(per: Per) -> String {
    let (aggregate, size, timeout) = (per.aggregate(), per.table_size(), per.idle_timeout());
    format!("{aggregate:?} {size} {timeout} /{}", per.ipv6_prefix())
}

fn profile(profile: &AggregateProfile) -> String {
    let (rate, depth, peak) = (profile.rate(), profile.depth(), profile.peak());
    format!("{rate} {depth} {peak:?} {}", profile.max_packet())
}

fn table(limits: ConnectionLimits) -> String {
    format!("{} {}", limits.connections(), limits.idle_timeout())
}

/// A meter's parameters by `params`, its mode, and whose packets have one of their own.
fn metered<P>(plan: &Metered<P>, mode: Option<&ColorMode>, params: String) -> String {
    let aware = mode.map(|mode| match mode {
        ColorMode::Blind => " blind".to_owned(),
        ColorMode::Aware(colors) => format!(" AF11={:?}", colors.get(Dscp::AF11)),
    });
    let per = plan.per().map(|found| format!(" per {}", per(found)));
    format!("{params}{}{}", aware.unwrap_or_default(), per.unwrap_or_default())
}

fn marker(plan: &MarkerPlan, policy: &Policy) -> String {
    let colors = plan.colors().len();
    assert!((1..=Color::ALL.len()).contains(&colors));
    assert!(!plan.writes(policy.code_points()).is_empty());
    let read = match plan {
        MarkerPlan::Fixed(plan) => {
            let profile = plan.bucket().map(|plan| metered(plan, None, bucket(plan.params())));
            format!("{} {}", plan.dscp(), profile.unwrap_or_default())
        }
        MarkerPlan::TokenBucket(plan) => metered(plan, None, bucket(plan.params())),
        MarkerPlan::Srtcm(plan) => {
            let params = plan.params();
            let (cir, cbs) = (params.committed_rate(), params.committed_burst());
            metered(plan, Some(params.mode()), format!("{cir} {cbs} {}", params.excess_burst()))
        }
        MarkerPlan::Trtcm(plan) => {
            let params = plan.params();
            let (cir, cbs) = (params.committed_rate(), params.committed_burst());
            let (pir, pbs) = (params.peak_rate(), params.peak_burst());
            metered(plan, Some(params.mode()), format!("{cir} {cbs} {pir} {pbs}"))
        }
        MarkerPlan::TwoBuckets(plan) => {
            let params = plan.params();
            let buckets = format!("{} {}", bucket(&params.green), bucket(&params.yellow));
            metered(plan, Some(&params.mode), buckets)
        }
        MarkerPlan::Tsw2cm(plan) => {
            format!("{} {} {:?}", plan.committed_rate(), plan.window(), plan.initial())
        }
        MarkerPlan::Tsw3cm(plan) => {
            let (cir, window) = (plan.tsw().committed_rate(), plan.tsw().window());
            format!("{cir} {} {window} {:?}", plan.peak_rate(), plan.tsw().initial())
        }
        MarkerPlan::FairMarker(plan) => {
            let (cir, window) = (plan.tsw().committed_rate(), plan.tsw().window());
            let (initial, table) = (plan.tsw().initial(), plan.table());
            format!("{cir} {window} {initial:?} {} {table:?}", plan.threshold())
        }
        MarkerPlan::Dstf(plan) => {
            let levels = plan.levels();
            let marks = code_points(levels.code_points().iter().copied());
            let (per, counted) = (per(plan.per()), plan.counted());
            format!("{:?} {marks} {per} {counted:?} {}", levels.thresholds(), plan.decay())
        }
        MarkerPlan::Srpt(plan) => {
            let marks = code_points(plan.levels().code_points().iter().copied());
            format!("{:?} {marks} {}", plan.levels().thresholds(), plan.unknown())
        }
        MarkerPlan::TcpState(plan) => {
            format!("{} {} {:?} {:?}", plan.high(), plan.medium(), plan.crossing(), plan.recovery())
        }
        MarkerPlan::Aggregate(plan) => {
            format!("{} {:?} {}", profile(&plan.profile), plan.sharing, table(plan.connections))
        }
        MarkerPlan::Admission(plan) => {
            let (sample, samples) = (plan.window().sample(), plan.window().samples());
            let (marks, per) = (code_points(plan.code_points()), per(plan.streams()));
            let load = format!("{} {} {:?}", plan.target(), plan.peak(), plan.depth());
            format!("{load} {sample} {samples} {per} {marks}")
        }
    };
    format!("{}: {read}", plan.scheme())
}

fn red(plan: &RedPlan) -> String {
    let params = plan.params(Rate::from_bits_per_sec(1_000_000));
    assert_eq!(params.settings().limit, plan.limit());
    assert_eq!(params.level_of(Dscp::AF11), plan.level_of(Dscp::AF11));
    let curves = plan.curves().iter().map(|curve| {
        let (min, max) = (curve.min_threshold(), curve.max_threshold());
        format!("{min}–{max} {} {:?}", curve.max_probability(), curve.above_max())
    });
    let curves = curves.collect::<Vec<_>>().join("; ");
    let levels = [Dscp::AF11, Dscp::AF12, Dscp::BEST_EFFORT].map(|dscp| plan.level_of(dscp));
    let (limit, weight, mean_packet) = (plan.limit(), plan.weight(), plan.mean_packet());
    let (byte_mode, spacing, ecn) = (plan.byte_mode(), plan.spacing(), plan.ecn());
    format!(
        "{limit} {weight} {mean_packet} {byte_mode} {spacing:?} {ecn:?} {} {:?} {curves} {levels:?}",
        plan.spare_below(),
        plan.averages(),
    )
}

fn turns<T: std::fmt::Debug + Copy>(plan: &Turns<T>) -> String {
    let shares: Vec<T> = plan.classes().iter().map(|(share, _)| *share).collect();
    format!("{shares:?} {}", rules(plan.classifier()))
}

fn codel(codel: &CoDelParams) -> String {
    format!("{} {} {}", codel.target(), codel.interval(), codel.mtu())
}

fn flow_queues(settings: &FlowQueueSettings) -> String {
    let FlowQueueSettings { limit, queues, quantum, codel: each, ecn } = settings;
    format!("{limit} {queues} {quantum} {} {ecn:?}", codel(each))
}

fn aggregate_shaper(plan: &AggregateShaperParams) -> String {
    let shares =
        format!("{} {:?} {}", profile(&plan.profile), plan.sharing, table(plan.connections));
    let triggers: Vec<_> = plan.triggers().iter().collect();
    let served = format!("{:?} {:?} {triggers:?}", plan.order(), plan.fresh_packets());
    format!("{shares} {} {} {served}", plan.limit(), plan.timer())
}

fn queue(plan: &QueuePlan, lines: &mut Vec<String>) {
    let read = match plan {
        QueuePlan::Fifo(plan) => plan.limit().to_string(),
        QueuePlan::Red(plan) | QueuePlan::MultiRed(plan) => red(plan),
        QueuePlan::Shaper(plan) => {
            let params = plan.params();
            assert_eq!(plan.queue().scheme(), QueuePlan::Shaper(plan.clone()).inner()[0].scheme());
            format!("{} {} {}", params.rate(), params.burst(), params.overhead())
        }
        QueuePlan::StrictPriority(plan) => turns(plan),
        QueuePlan::Wrr(plan) => turns(plan),
        QueuePlan::Drr(plan) => turns(plan),
        QueuePlan::SharedPriority(plan) => {
            let bands = match plan.band_of() {
                BandOf::CodePoint(bands) => format!("AF11 in {}", bands.get(Dscp::AF11)),
                BandOf::Rules { classifier, otherwise } => {
                    format!("{} else {otherwise}", rules(classifier))
                }
            };
            format!("{} {} {bands}", plan.limit(), plan.bands())
        }
        QueuePlan::Stf(plan) => {
            format!("{} {} {}", plan.limit(), plan.most_flows(), plan.idle_timeout())
        }
        QueuePlan::Wfq(plan) => {
            let classes = plan.classes().iter().map(|class| {
                format!("{} {:?} {:?}", class.weight().value(), class.share(), class.limit())
            });
            let classes = classes.collect::<Vec<_>>().join("; ");
            let (limit, otherwise) = (plan.shared_limit(), plan.otherwise());
            format!("{limit:?} {classes} {} else {otherwise}", rules(plan.classifier()))
        }
        QueuePlan::SourceScheduler(plan) => {
            let limits = plan.limits();
            let served = plan.rules().iter().map(|rule| (rule.class(), rule.weight()));
            let served: Vec<(u8, u32)> = served.collect();
            let otherwise = (plan.otherwise().class(), plan.otherwise().weight());
            format!(
                "{} {:?} {} {} {} {} {} {served:?} {} else {otherwise:?}",
                limits.limit,
                limits.limit_per_connection,
                limits.connections,
                bucket(plan.high()),
                bucket(plan.medium()),
                plan.remark_after(),
                code_points(plan.code_points()),
                rules(plan.classifier()),
            )
        }
        QueuePlan::AggregateShaper(plan) => aggregate_shaper(plan),
        QueuePlan::FqCodel(plan) => flow_queues(plan.settings()),
        QueuePlan::HostFair(plan) => {
            let queues = flow_queues(plan.settings());
            format!("{:?} {queues} /{}", plan.fairness(), plan.ipv6_prefix())
        }
        QueuePlan::Pie(plan) => {
            let pie = plan.settings();
            let times = format!("{} {} {}", pie.target, pie.update, pie.max_burst);
            format!("{} {times} {} {} {:?}", pie.limit, pie.alpha, pie.beta, pie.ecn)
        }
    };
    lines.push(format!("{}: {read}", plan.scheme()));
    plan.inner().into_iter().for_each(|inner| queue(inner, lines));
}

#[test]
fn every_parameter_of_every_shipped_policy_can_be_read() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../policies");
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|kind| kind != "toml") {
            continue;
        }
        let policy = shortflow_policy::load(&path, &[]).unwrap();
        assert!(policy.warnings.is_empty(), "{}\n{}", path.display(), policy.warnings);
        all.extend(read(&policy));
    }
    assert!(all.iter().any(|line| line.starts_with("fair-marker: ")), "{all:#?}");
    assert!(
        all.iter()
            .any(|line| line
                .starts_with("fq-codel: 10240 pkt 1024 1.514 KB 5 ms 100 ms 1.514 KB Drop")),
        "{all:#?}"
    );
}

/// Each scheme with all of its keys, at values that are not their defaults, and what is read.
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
limit = "99 pkt"
timer = "10 ms"
order = "lru"
fresh = "overtake"
triggers = ["idle-ack", "new-connection"]"#,
        "500 kbit/s 20 KB Some(Rate(2000000)) 1 KB Common 9 8 s 99 pkt 10 ms \
         LeastRecentlyServed Overtake [IdleAcknowledgement, NewConnection]",
    ),
    (
        "dstf",
        r#"thresholds = ["1 KB", "2 KB"]
code_points = ["EF", "AF11", "LE"]
per = { each = "host-pair", table_size = 9, idle_timeout = "99 s", ipv6_prefix = 48 }
decay = "8 kbit/s"
count = "payload""#,
        "[Bytes(1000), Bytes(2000)] EF AF11 LE HostPair 9 99 s /48 Payload 8 kbit/s",
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
fast_recovery = "retransmissions""#,
        "3 7 Randomized Retransmissions",
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
queue = { fifo = { limit = "9 pkt" } }"#,
        "19 Mbit/s 3 KB 38 B",
    ),
    (
        "shared-priority",
        r#"limit = "60 pkt"
bands = ["EF", { match = { protocol = "esp" } }, "rest", "LE"]"#,
        "60 pkt 4 [dscp EF]→0 [protocol 50]→1 [dscp LE]→3 else 2",
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
classes = [
  { match = { dscp = "EF" }, weight = "40 kbit/s", per = "flow", limit = "9 pkt", flow_limit = "3 pkt" },
  { weight = "80 kbit/s" },
]"#,
        "Some(Packets(60)) 40000 Flow { limit: Some(Packets(3)) } Some(Packets(9)); 80000 Class None [dscp EF]→0 []→1 else 1",
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
        let found = WRITTEN_AND_READ.iter().find(|(name, ..)| *name == scheme.name);
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

#[test]
fn what_a_match_asks_for_can_be_read() {
    let policy = crate::policy(
        r#"
        [[roles.r.classes]]
        name = "all"
        match = { src = "10.1.0.0/16", dst = "2001:db8::/32", src_port = "1024-65535", dst_port = 53, protocol = 136, dscp = ["EF", "BE"], label = "web", sent_up_to = "10 KB", remaining_up_to = "2 KB" }
        "#,
    );
    assert_eq!(
        rule(&policy.roles[0].classes[0].rule),
        "[src 10.1.0.0/16, dst 2001:db8::/32, src_port [1024, 65535], dst_port [53, 53], \
         protocol 136, dscp BE EF, Some(Label(1)) Some(Bytes(10000)) Some(Bytes(2000))]"
    );
}
