//! Conditioning at a device: which packets belong to which class, how they are marked, and which go no further.

use std::net::IpAddr;

use shortflow_ebpf::edge::{Buckets, EdgeClass, EdgeMeter, EdgePlan, Unsayable};
use shortflow_elements::classifier::MultiField;
use shortflow_elements::{Acknowledgements, Color, Prefix};
use shortflow_policy::keys::Metered;
use shortflow_policy::{MarkerPlan, Role, TrafficClass};

use super::{Compiled, Refusal, gather};
use crate::owner::Owners;

/// What is done to packets before they wait.
#[derive(Debug, Clone)]
pub struct Edge {
    /// The role that does it.
    pub role: String,
    /// The classes, by their names.
    pub classes: Vec<String>,
    /// The program's rules and classes.
    pub plan: EdgePlan,
}

/// What the kernel is to do to packets at a device that plays `role`; none when the role conditions nothing.
///
/// # Errors
/// What of it cannot be done, part by part.
pub fn compile_edge(role: &Role) -> Result<Option<Edge>, Vec<Refusal>> {
    compile_edge_for(role, &Owners::new())
}

/// The same, where connections of this host have labels by who owns them.
///
/// # Errors
/// What of it cannot be done, part by part.
pub fn compile_edge_for(role: &Role, owners: &Owners) -> Result<Option<Edge>, Vec<Refusal>> {
    if !role.conditions() {
        return Ok(None);
    }
    let path = format!("roles.{}", role.name);
    let acks = match role.acks {
        Acknowledgements::Marked => Ok(()),
        Acknowledgements::Echoed => {
            let what = "no program echoes the code points of data in acknowledgements yet";
            Err(vec![Refusal::of_policy(&format!("{path}.acks"), what, None)])
        }
    };
    let classes = role.classes.iter().map(|class| class_of(class, role, &path));
    let (acks, classes) = (acks, gather(classes));
    let classes = match (acks, classes) {
        (Ok(()), Ok(classes)) => classes,
        (acks, classes) => {
            let refused = acks.err().into_iter().chain(classes.err());
            return Err(refused.flatten().collect());
        }
    };
    let rules = role.classes.iter().enumerate();
    let rules: Vec<_> = rules.map(|(number, class)| (class.rule.clone(), number)).collect();
    let refused = |why: Unsayable| {
        let hint = matches!(why, Unsayable::Label(_))
            .then_some("`--label NAME=mark:NUMBER` or `--label NAME=cgroup:PATH` says it");
        vec![Refusal::of_policy(&path, &why.to_string(), hint)]
    };
    let plan = EdgePlan::with_owners(&rules, &classes, owners).map_err(refused)?;
    let classes = role.classes.iter().map(|class| class.name.clone()).collect();
    Ok(Some(Edge { role: role.name.clone(), classes, plan }))
}

/// The same, where what goes to this host is left as it is.
///
/// # Errors
/// What of it cannot be done, part by part.
pub fn compile_edge_past(role: &Role, owners: &Owners, host: IpAddr) -> Result<Edge, Vec<Refusal>> {
    let length = if host.is_ipv4() { 32 } else { 128 };
    let to = Prefix::new(host.into(), length).expect("an address is as long");
    let class = TrafficClass {
        name: format!("to {host}"),
        rule: MultiField { dst: Some(to), ..MultiField::default() },
        marker: None,
        police: None,
    };
    let mut role = role.clone();
    role.classes.insert(0, class);
    Ok(compile_edge_for(&role, owners)?.expect("it has a class"))
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
            let what = "the marker `srpt` goes by how much of a message remains, and no application tells the kernel how \
                        long its messages are";
            let hint = "nearest is the marker `dstf`, which goes by what was sent";
            return Err(vec![Refusal::of_policy(&path, what, Some(hint))]);
        }
    };
    Ok(EdgeClass { meter, code_points, police: class.police })
}

/// Buckets of all packets of the class, or of each user.
fn buckets<P: Clone>(metered: &Metered<P>, new: impl Fn(P) -> Buckets) -> EdgeMeter {
    EdgeMeter::Buckets { buckets: new(metered.params().clone()), per: metered.per() }
}
