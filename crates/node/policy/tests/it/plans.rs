//! A policy can be read after it was parsed: by what deploys it, predicts it, or gives advice.

use std::path::Path;

use shortflow_elements::classifier::{Classifier, MultiField};
use shortflow_elements::marker::{AdaptationSettings, DstfParams};
use shortflow_elements::meter::{ColorMode, TokenBucketParams};
use shortflow_elements::queue::{
    AggregateShaperParams, BandOf, CoDelParams, FlowQueueSettings, WfqParams,
};
use shortflow_elements::scheduler::CustomerTreeSettings;
use shortflow_elements::sharing::{AggregateProfile, ConnectionLimits};
use shortflow_elements::{Color, Per};
use shortflow_packet::Dscp;
use shortflow_policy::keys::{Metered, RedPlan, Turns};
use shortflow_policy::{MarkerPlan, Policy, QueuePlan};
use shortflow_units::Rate;

/// Everything that a policy does, line by line.
pub(crate) fn read(policy: &Policy) -> Vec<String> {
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
    for (name, prefixes) in [("src", &rule.src), ("dst", &rule.dst)] {
        for prefix in prefixes.iter().flat_map(|list| list.iter()) {
            parts.push(format!("{name} {}/{}", prefix.network(), prefix.length()));
        }
    }
    let ports =
        [("src_port", &rule.src_ports), ("dst_port", &rule.dst_ports), ("port", &rule.ports)];
    for (name, ports) in ports {
        for range in ports.iter().flat_map(|list| list.iter()) {
            parts.push(format!("{name} {:?}", range.ends()));
        }
    }
    for protocol in rule.protocol.iter().flat_map(|list| list.iter()) {
        parts.push(format!("protocol {}", protocol.0));
    }
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
        MarkerPlan::Dstf(plan) => dstf(plan),
        MarkerPlan::Srpt(plan) => {
            let marks = code_points(plan.levels().code_points().iter().copied());
            format!("{:?} {marks} {}", plan.levels().thresholds(), plan.unknown())
        }
        MarkerPlan::TcpState(plan) => {
            let adapt = plan.adaptation().map_or(String::new(), |adapt| {
                let AdaptationSettings { budget, slow, size, every, highest } = adapt.settings();
                format!(" {budget} {slow} {size} {every} {highest}")
            });
            let [high, medium] = [plan.high(), plan.medium()];
            format!("{high} {medium} {:?} {:?}{adapt}", plan.crossing(), plan.recovery())
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
        MarkerPlan::Sima(plan) => {
            let meter = plan.meter();
            let rates = format!("{} {}", plan.nominal_rate(), meter.link());
            let per = plan.per().map_or("all".to_owned(), per);
            let marks = code_points(plan.code_points().iter().copied());
            format!("{rates} {} {} {per} {marks}", meter.slot(), meter.weight())
        }
    };
    format!("{}: {read}", plan.scheme())
}

fn dstf(plan: &DstfParams) -> String {
    let levels = plan.levels();
    let marks = code_points(levels.code_points().iter().copied());
    let (per, counted) = (per(plan.per()), plan.counted());
    let (decay, crowded) = (plan.decay(), plan.crowded());
    format!("{:?} {marks} {per} {counted:?} {decay} {crowded}", levels.thresholds())
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
    format!("{shares} {:?} {} {} {served}", plan.place(), plan.limit(), plan.timer())
}

fn wfq(plan: &WfqParams) -> String {
    let classes = plan
        .classes()
        .iter()
        .map(|class| format!("{} {:?} {:?}", class.weight().value(), class.share(), class.limit()));
    let classes = classes.collect::<Vec<_>>().join("; ");
    let (limit, otherwise) = (plan.shared_limit(), plan.otherwise());
    let full = plan.when_full();
    format!("{limit:?} {full:?} {classes} {} else {otherwise}", rules(plan.classifier()))
}

fn customers(plan: &shortflow_policy::schemes::queues::plans::Plan) -> String {
    let CustomerTreeSettings { side, rate, sites, customers, unknown } = plan.params().settings();
    let most = |rate: &Option<Rate>| rate.map_or("-".to_owned(), |rate| rate.to_string());
    let sites = sites.iter().map(|site| format!("{} behind {:?}", site.rate, site.parent));
    let customers = customers.iter().map(|customer| {
        let prefixes = customer.prefixes.iter();
        let prefixes = prefixes.map(|prefix| format!("{}/{}", prefix.network(), prefix.length()));
        let (prefixes, rates) = (prefixes.collect::<Vec<_>>().join(" "), customer.rates);
        let (least, most) = (rates.at_least(), most(&rates.at_most()));
        format!("{prefixes} {least}..{most} at {:?}", customer.site)
    });
    format!(
        "{side:?} {} unknown {} sites {}; customers {}; {}",
        most(rate),
        most(unknown),
        sites.collect::<Vec<_>>().join(", "),
        customers.collect::<Vec<_>>().join(", "),
        plan.queue().scheme()
    )
}

fn queue(plan: &QueuePlan, lines: &mut Vec<String>) {
    let read = match plan {
        QueuePlan::Fifo(plan) => plan.limit().to_string(),
        QueuePlan::Red(plan) | QueuePlan::MultiRed(plan) => red(plan),
        QueuePlan::Shaper(plan) => {
            let params = plan.params();
            assert_eq!(plan.queue().scheme(), QueuePlan::Shaper(plan.clone()).inner()[0].scheme());
            format!("{} {} {}", params.rate(), params.burst(), params.link_layer())
        }
        QueuePlan::StrictPriority(plan) => turns(plan),
        QueuePlan::Wrr(plan) => turns(plan),
        QueuePlan::Drr(plan) => turns(plan),
        QueuePlan::Htb(plan) => turns(plan),
        QueuePlan::Plans(plan) => customers(plan),
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
            format!("{} {} {}", plan.limit(), plan.max_flows(), plan.idle_timeout())
        }
        QueuePlan::Wfq(plan) => wfq(plan),
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
        QueuePlan::Sima(plan) => {
            let buffers = [plan.real_time(), plan.non_real_time()].map(|buffer| {
                let marks = code_points(buffer.code_points().iter().copied());
                format!("{} {} {marks}", buffer.limit(), buffer.weight())
            });
            format!("{} {:?}", buffers.join("; "), plan.map())
        }
    };
    lines.push(format!("{}: {read}", plan.scheme()));
    plan.inner().into_iter().for_each(|inner| queue(inner, lines));
}

#[test]
fn every_parameter_of_every_shipped_policy_can_be_read() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../policies");
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
