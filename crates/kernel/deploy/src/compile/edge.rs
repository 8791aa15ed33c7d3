//! Compiles conditioning at a device: the class of each packet, its mark, and whether it is dropped.

use std::net::IpAddr;
use std::path::PathBuf;

use shortflow_ebpf::edge::{Buckets, EdgeClass, EdgeMeter, EdgePlan, MAX_ENTRIES};
use shortflow_elements::classifier::MultiField;
use shortflow_elements::meter::FlowTableSize;
use shortflow_elements::{Acknowledgements, Color, ThresholdSource};
use shortflow_packet::{Label, Prefix};
use shortflow_policy::keys::Metered;
use shortflow_policy::{MarkerPlan, Policy, Role, TrafficClass};

use super::{Compiled, Refusal, gather};
use crate::edge::EdgeMemo;
use crate::owner::{Labelled, Owners};
use crate::tree::fnv;

/// What is done to packets before they wait.
#[derive(Debug, Clone)]
pub struct Edge {
    /// The role that does it.
    pub role: String,
    /// The classes, by their names.
    pub classes: Vec<String>,
    /// Who owns the connections that have the labels for which the rules ask.
    pub labels: Vec<Labelled>,
    /// Whose packets the first class leaves as they are, for as long as `verify` takes.
    pub past: Option<Past>,
    /// Whether some class takes every packet.
    pub takes_all: bool,
    /// Whether it asks the sockets of this host that send packets.
    pub asks_sockets: bool,
    /// The program's rules and classes.
    pub plan: EdgePlan,
    /// What small differences there are from the policy.
    pub notes: Vec<String>,
    /// The folder of the cgroup whose processes may set thresholds, where applications may; without it all processes.
    pub cgroup: Option<PathBuf>,
}

/// A host to which packets go unmarked for a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Past {
    /// The host.
    pub host: IpAddr,
    /// What the program does otherwise, in a number.
    pub(crate) plan: u64,
}

/// What the kernel is to do to packets at a device that plays `role`, where connections of this host have labels by who owns
/// them; none when the role conditions nothing.
///
/// # Errors
/// What of it cannot be done, part by part.
pub fn compile_edge(
    policy: &Policy,
    role: &Role,
    owners: &Owners,
) -> Result<Option<Edge>, Vec<Refusal>> {
    if !role.conditions() {
        return Ok(None);
    }
    let path = format!("roles.{}", role.name);
    let owned = gather(role.classes.iter().map(|class| owned(class, policy, owners, &path)));
    let classes = gather(role.classes.iter().map(|class| class_of(class, role, &path)));
    let classes = match (owned, classes) {
        (Ok(_), Ok(classes)) => classes,
        (owned, classes) => {
            let refused = owned.err().into_iter().chain(classes.err());
            return Err(refused.flatten().collect());
        }
    };
    let rules = role.classes.iter().enumerate();
    let rules: Vec<_> = rules.map(|(number, class)| (class.rule.clone(), number)).collect();
    let asked: Vec<Label> = role.classes.iter().filter_map(label_of).collect();
    let labels = owners.only(&asked);
    let known: Vec<_> = labels.iter().map(|(label, by)| (*label, by.owned_by.owner())).collect();
    let refused = |what: String| vec![Refusal::of_policy(&path, &what, None)];
    let plan = EdgePlan::with_owners(&rules, &classes, &known);
    let plan = plan.map_err(|why| refused(why.to_string()))?;
    let edge = Edge {
        role: role.name.clone(),
        classes: role.classes.iter().map(|class| class.name.clone()).collect(),
        labels: labels.into_iter().map(|(_, labelled)| labelled.clone()).collect(),
        past: None,
        takes_all: role.classes.iter().any(|class| class.rule == MultiField::default()),
        asks_sockets: role.classes.iter().any(asks_sockets),
        plan: match role.acks {
            Acknowledgements::Marked => plan,
            Acknowledgements::Echoed => plan.echoing(),
        },
        notes: role.classes.iter().filter_map(|class| bounded(class, &path)).collect(),
        cgroup: None,
    };
    let edge = match role.thresholds {
        ThresholdSource::Policy => edge,
        ThresholdSource::Application => {
            Edge { asks_sockets: true, plan: edge.plan.with_objects(), ..edge }
        }
    };
    match EdgeMemo::excess(&policy.name, &edge) {
        None => Ok(Some(edge)),
        Some([found, max]) => Err(refused(format!(
            "the names of its classes, labels and cgroups take {found} bytes; a device can store \
                {max}"
        ))),
    }
}

/// The same, where what goes to this host is left as it is.
///
/// # Errors
/// What of it cannot be done, part by part.
pub fn compile_edge_past(
    policy: &Policy,
    role: &Role,
    owners: &Owners,
    host: IpAddr,
) -> Result<Edge, Vec<Refusal>> {
    let length = if host.is_ipv4() { 32 } else { 128 };
    let to = Prefix::new(host.into(), length).expect("an address is as long");
    let class = TrafficClass {
        name: format!("to {host}"),
        rule: MultiField { dst: Some(to.into()), ..MultiField::default() },
        marker: None,
        police: None,
    };
    let mut past = role.clone();
    past.classes.insert(0, class);
    let compiled =
        |role: &Role| compile_edge(policy, role, owners).map(|edge| edge.expect("it conditions"));
    let (marking, edge) = (compiled(role)?, compiled(&past)?);
    Ok(Edge { past: Some(Past { host, plan: fnv(marking.plan.shape()) }), ..edge })
}

/// A note on a class whose table has no limit in the policy, and has one on a device.
fn bounded(class: &TrafficClass, path: &str) -> Option<String> {
    let Some(MarkerPlan::FairMarker(marker)) = &class.marker else { return None };
    matches!(marker.table(), FlowTableSize::Unlimited { .. }).then(|| {
        format!(
            "{path}, class `{}`: a device remembers at most {MAX_ENTRIES} flows at a time; `status` counts those that it forgets early",
            class.name
        )
    })
}

/// Whether a class needs the socket that sends a packet.
fn asks_sockets(class: &TrafficClass) -> bool {
    class.rule.sender.is_some() || matches!(class.marker, Some(MarkerPlan::TcpState(_)))
}

/// The label for which a class asks.
fn label_of(class: &TrafficClass) -> Option<Label> {
    class.rule.sender.as_ref()?.label
}

/// Checks that the label of a class has an owner.
fn owned(class: &TrafficClass, policy: &Policy, owners: &Owners, path: &str) -> Compiled<()> {
    let Some(label) = label_of(class).filter(|label| owners.find(*label).is_none()) else {
        return Ok(());
    };
    let name = policy.label_name(label);
    let what = format!("it matches the label `{name}`, which has no owner");
    let hint = format!(
        "set it with `--label {name}=OWNER`, where OWNER is mark:NUMBER, priority:NUMBER or cgroup:PATH"
    );
    let path = format!("{path}.classes `{}`", class.name);
    Err(vec![Refusal::of_policy(&path, &what, Some(&hint))])
}

/// The segments of Linux's initial window (RFC 6928), unless a route has another.
const INITIAL_WINDOW: u32 = 10;

fn class_of(class: &TrafficClass, role: &Role, path: &str) -> Compiled<EdgeClass> {
    let path = format!("{path}.classes `{}`", class.name);
    let colors = Some(role.code_points);
    let (meter, code_points) = match &class.marker {
        None => (EdgeMeter::Fixed(Color::Green), None),
        Some(MarkerPlan::Fixed(plan)) => {
            let meter = match plan.bucket() {
                Some(bucket) => buckets(bucket, Buckets::TokenBucket),
                None => EdgeMeter::Fixed(Color::Green),
            };
            (meter, Some([plan.dscp(); 3]))
        }
        Some(MarkerPlan::TokenBucket(plan)) => (buckets(plan, Buckets::TokenBucket), colors),
        Some(MarkerPlan::TwoBuckets(plan)) => (buckets(plan, Buckets::TwoBuckets), colors),
        Some(MarkerPlan::Srtcm(plan)) => (buckets(plan, Buckets::SrTcm), colors),
        Some(MarkerPlan::Trtcm(plan)) => (buckets(plan, Buckets::TrTcm), colors),
        Some(MarkerPlan::Tsw2cm(plan)) => (EdgeMeter::Tsw2Cm(plan.clone()), colors),
        Some(MarkerPlan::Tsw3cm(plan)) => (EdgeMeter::Tsw3Cm(plan.clone()), colors),
        Some(MarkerPlan::FairMarker(plan)) => (EdgeMeter::FairMarker(plan.clone()), colors),
        Some(MarkerPlan::TcpState(plan)) if plan.adaptation().is_some() => {
            let what = "`adapt` of the marker `tcp-state` needs measured transfers, and the program in the kernel does \
                not measure them";
            let hint = "remove it, and set `high` and `medium`";
            return Err(vec![Refusal::of_policy(&path, what, Some(hint))]);
        }
        Some(MarkerPlan::TcpState(plan)) => {
            let (params, initial_window) = (plan.clone(), INITIAL_WINDOW);
            (EdgeMeter::TcpState { params, initial_window }, colors)
        }
        Some(MarkerPlan::Dstf(plan)) => (EdgeMeter::Dstf(plan.clone()), None),
        Some(MarkerPlan::Sima(plan)) => (EdgeMeter::Sima(plan.clone()), None),
        Some(MarkerPlan::Admission(plan)) => {
            let [admitted, others] = plan.code_points();
            (EdgeMeter::Admission(plan.clone()), Some([admitted, others, others]))
        }
        Some(MarkerPlan::Aggregate(plan)) => (EdgeMeter::Aggregate(plan.clone()), colors),
        Some(MarkerPlan::Srpt(_)) => {
            let what = "the marker `srpt` needs the remaining size of a message, and no \
                application reports the size of its messages to the kernel";
            let hint = "nearest is the marker `dstf`, which uses the bytes already sent";
            return Err(vec![Refusal::of_policy(&path, what, Some(hint))]);
        }
    };
    Ok(EdgeClass { meter, code_points, police: class.police })
}

/// Buckets of all packets of the class, or of each user.
fn buckets<P: Clone>(metered: &Metered<P>, new: impl Fn(P) -> Buckets) -> EdgeMeter {
    EdgeMeter::Buckets { buckets: new(metered.params().clone()), per: metered.per() }
}
