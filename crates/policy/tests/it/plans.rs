//! A policy can be read after it was parsed: by what deploys it, predicts it, or gives advice.

use std::path::Path;

use shortflow_elements::Color;
use shortflow_policy::{MarkerPlan, Policy, QueuePlan};
use shortflow_units::{Length, Rate};

/// Everything that the policies at hand do, line by line.
fn read(policy: &Policy) -> Vec<String> {
    let mut lines = Vec::new();
    for role in &policy.roles {
        for class in &role.classes {
            lines.push(format!(
                "{}/{}: {:?}, {:?}",
                role.name, class.name, class.rule, class.police
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

fn marker(plan: &MarkerPlan, policy: &Policy) -> String {
    let colors = plan.colors().len();
    assert!((1..=Color::ALL.len()).contains(&colors));
    assert!(!plan.writes(policy.code_points()).is_empty());
    let read = match plan {
        MarkerPlan::Fixed(plan) => format!("{} {:?}", plan.dscp(), plan.bucket().is_some()),
        MarkerPlan::TokenBucket(plan) => {
            format!("{} {} {:?}", plan.params().rate(), plan.params().burst(), plan.per())
        }
        MarkerPlan::Srtcm(plan) => {
            let params = plan.params();
            let (cbs, ebs) = (params.committed_burst(), params.excess_burst());
            format!("{} {cbs} {ebs} {:?}", params.committed_rate(), params.mode())
        }
        MarkerPlan::Trtcm(plan) => {
            let params = plan.params();
            let (cbs, pbs) = (params.committed_burst(), params.peak_burst());
            format!("{} {cbs} {} {pbs}", params.committed_rate(), params.peak_rate())
        }
        MarkerPlan::TwoBuckets(plan) => format!("{:?}", plan.params().green.rate()),
        MarkerPlan::Tsw2cm(plan) => format!("{} {}", plan.committed_rate(), plan.window()),
        MarkerPlan::Tsw3cm(plan) => format!("{} {}", plan.tsw().committed_rate(), plan.peak_rate()),
        MarkerPlan::FairMarker(plan) => {
            format!("{} {} {:?}", plan.tsw().committed_rate(), plan.threshold(), plan.table())
        }
        MarkerPlan::Dstf(plan) => {
            let per = (plan.per().aggregate(), plan.per().table_size(), plan.per().idle_timeout());
            format!("{:?} {per:?} {}", plan.levels().thresholds(), plan.decay())
        }
        MarkerPlan::Srpt(plan) => format!("{:?} {}", plan.levels().thresholds(), plan.unknown()),
        MarkerPlan::TcpState(plan) => {
            format!("{} {} {:?} {:?}", plan.high(), plan.medium(), plan.crossing(), plan.recovery())
        }
        MarkerPlan::Admission(plan) => {
            let (sample, samples) = (plan.window().sample(), plan.window().samples());
            format!("{} {} {:?} {sample} {samples}", plan.target(), plan.peak(), plan.depth())
        }
    };
    format!("{}: {read}", plan.scheme())
}

fn queue(plan: &QueuePlan, lines: &mut Vec<String>) {
    let read = match plan {
        QueuePlan::Fifo(plan) => plan.limit().to_string(),
        QueuePlan::Red(plan) | QueuePlan::MultiRed(plan) => {
            let curve = &plan.curves()[0];
            let (min, max) = (curve.min_threshold(), curve.max_threshold());
            let params = plan.params(Rate::from_bits_per_sec(1_000_000));
            assert_eq!(params.settings().limit, plan.limit());
            format!("{} {} {min} {max} {}", plan.limit(), plan.weight(), curve.max_probability())
        }
        QueuePlan::StrictPriority(plan) => format!("{:?}", plan.classifier()),
        QueuePlan::Wrr(plan) => format!("{:?}", plan.classes()[0].0),
        QueuePlan::Drr(plan) => format!("{:?}", plan.classes()[0].0),
        QueuePlan::SharedPriority(plan) => format!("{} {}", plan.limit(), plan.bands()),
        QueuePlan::Stf(plan) => {
            format!("{} {} {}", plan.limit(), plan.most_flows(), plan.idle_timeout())
        }
        QueuePlan::Wfq(plan) => format!("{:?} {:?}", plan.classes()[0].limit(), plan.classifier()),
        QueuePlan::SourceScheduler(plan) => {
            format!("{} {} {:?}", plan.limits().limit, plan.high().rate(), plan.rules())
        }
        QueuePlan::FqCodel(plan) => {
            let codel = &plan.settings().codel;
            format!("{} {} {}", codel.target(), codel.interval(), codel.mtu())
        }
        QueuePlan::HostFair(plan) => format!("{:?} {}", plan.fairness(), plan.settings().limit),
        QueuePlan::Pie(plan) => format!("{} {}", plan.settings().target, plan.settings().alpha),
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
    assert!(all.iter().any(|line| line.starts_with("fq-codel: 5 ms 100 ms 1.514 KB")), "{all:#?}");
}

#[test]
fn what_was_written_is_what_is_read() {
    let policy = crate::policy(
        "[roles.core.queue.red]\nlimit = \"60 pkt\"\nmin_threshold = \"10 %\"\n\
         max_threshold = \"50 %\"\nmax_probability = 0.1\nweight = 0.01\n",
    );
    let Some(QueuePlan::Red(red)) = &policy.roles[0].queue else { panic!("a RED queue") };
    assert_eq!((red.limit(), red.weight()), (Length::Packets(60), 0.01));
    assert_eq!(red.curves()[0].min_threshold(), Length::Packets(6));
    assert_eq!(red.curves()[0].max_threshold(), Length::Packets(30));
}
