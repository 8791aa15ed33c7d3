//! Conditioning at a device: which packets belong to which class, how they are marked, and which go no further.

use shortflow_ebpf::edge::{EdgeClass, EdgeMeter, EdgePlan};
use shortflow_elements::{Acknowledgements, Color};
use shortflow_policy::keys::Metered;
use shortflow_policy::{MarkerPlan, Role, TrafficClass};

use super::{Compiled, Refusal, gather};

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
    let plan = EdgePlan::new(&rules, &classes)
        .map_err(|why| vec![Refusal::of_policy(&path, &why.to_string(), None)])?;
    let classes = role.classes.iter().map(|class| class.name.clone()).collect();
    Ok(Some(Edge { role: role.name.clone(), classes, plan }))
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
                Some(bucket) => EdgeMeter::TokenBucket(for_all(bucket, &path)?),
                None => EdgeMeter::Fixed(Color::Green),
            };
            (meter, Some([plan.dscp(); 3]))
        }
        Some(MarkerPlan::TokenBucket(plan)) => {
            (EdgeMeter::TokenBucket(for_all(plan, &path)?), colors)
        }
        Some(MarkerPlan::TwoBuckets(plan)) => {
            (EdgeMeter::TwoBuckets(for_all(plan, &path)?), colors)
        }
        Some(MarkerPlan::Srtcm(plan)) => (EdgeMeter::SrTcm(for_all(plan, &path)?), colors),
        Some(MarkerPlan::Trtcm(plan)) => (EdgeMeter::TrTcm(for_all(plan, &path)?), colors),
        Some(MarkerPlan::Tsw2cm(plan)) => (EdgeMeter::Tsw2Cm(plan.clone()), colors),
        Some(MarkerPlan::Tsw3cm(plan)) => (EdgeMeter::Tsw3Cm(plan.clone()), colors),
        Some(MarkerPlan::FairMarker(plan)) => (EdgeMeter::FairMarker(plan.clone()), colors),
        Some(MarkerPlan::TcpState(plan)) => {
            let (params, initial_window) = (plan.clone(), INITIAL_WINDOW);
            (EdgeMeter::TcpState { params, initial_window }, colors)
        }
        Some(MarkerPlan::Dstf(plan)) => (EdgeMeter::Dstf(plan.clone()), None),
        Some(MarkerPlan::Sima(plan)) => (EdgeMeter::Sima(plan.clone()), None),
        Some(other) => {
            let what = format!("the marker `{}` has no program in the kernel yet", other.scheme());
            return Err(vec![Refusal::of_policy(&path, &what, None)]);
        }
    };
    Ok(EdgeClass { meter, code_points, police: class.police })
}

/// The parameters of a meter that all packets of the class have in common.
fn for_all<P: Clone>(metered: &Metered<P>, path: &str) -> Compiled<P> {
    match metered.per() {
        None => Ok(metered.params().clone()),
        Some(_) => {
            let what = "the program in the kernel has one meter for all packets of a class, none for each user";
            Err(vec![Refusal::of_policy(path, what, None)])
        }
    }
}
