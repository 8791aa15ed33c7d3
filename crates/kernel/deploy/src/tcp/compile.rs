//! Which of a policy's roles a host's TCP can play, and what of it has no effect there.

use shortflow_ebpf::profile::{
    MAX_TCP_DEPTH, MAX_TCP_RATE, MIN_TCP_RATE, TcpGrowth, TcpOrder, TcpSettings,
};
use shortflow_elements::queue::{AggregateShaperParams, FreshPackets, Place, ServiceOrder};
use shortflow_elements::sharing::Sharing;
use shortflow_policy::{Policy, QueuePlan, Role};
use shortflow_units::{Bytes, Rate};

/// What this host's TCP is to do.
#[derive(Debug, Clone)]
pub struct TcpPlan {
    /// The role of the policy.
    pub role: String,
    /// The profile.
    pub settings: TcpSettings,
    /// What has no effect.
    pub notes: Vec<String>,
}

/// Why a policy cannot be deployed in TCP: the part of it, and what is not possible.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {what}\n{remedy}")]
pub struct TcpRefusal {
    path: String,
    what: String,
    remedy: String,
}

impl TcpPlan {
    /// All settings, to tell one plan from another.
    pub(super) fn identity(&self) -> String {
        format!("{:?}", self.settings)
    }

    /// How windows grow, and what limits them, in a line.
    pub fn windows(&self) -> String {
        super::windows(&self.settings)
    }

    /// The profile in a line.
    pub fn summary(&self) -> String {
        super::summary(&self.settings)
    }
}

/// The longest segment that a device of Ethernet sends.
const ETHERNET_MTU: Bytes = Bytes(1500);

/// What the kernel's TCP is to do with connections of a host that plays `role`, or the only role with an `aggregate-shaper`;
/// with these rules of growth.
///
/// # Errors
/// What of it TCP cannot do.
pub fn compile_tcp(
    policy: &Policy,
    role: Option<&str>,
    growth: TcpGrowth,
    window_rate: Option<Rate>,
) -> Result<TcpPlan, TcpRefusal> {
    let (role, params) = find(policy, role)?;
    let path = format!("roles.{}.queue.aggregate-shaper", role.name);
    if role.conditions() {
        let what = "only its queue can be in TCP, and the role also marks packets";
        return Err(TcpRefusal {
            path: format!("roles.{}", role.name),
            what: what.to_owned(),
            remedy: "move the marker to another role, and deploy that at the device with --dev"
                .to_owned(),
        });
    }
    if params.place() == Place::Queue {
        let what = "the policy holds packets in a queue behind TCP";
        return Err(refusal(&path, ".place", what, "use \"tcp\", the default"));
    }
    let settings = params.settings();
    let order = order(params, &path)?;
    within_limits(params, &path)?;
    let (profile, connections) = (settings.profile.clone(), settings.connections.connections());
    let mut notes = vec![format!(
        "{path}: `limit`, `timer` and `triggers` have no effect in TCP: what must wait stays unsent, and the kernel's TCP asks \
         before each burst"
    )];
    notes.push(format!(
        "{path}: beyond {connections} `connections`, further ones have one more share together"
    ));
    if profile.max_packet() < ETHERNET_MTU {
        notes.push(format!(
            "{path}.max_packet: connections with segments above {} keep their own congestion control",
            profile.max_packet()
        ));
    }
    if settings.sharing != Sharing::Common {
        notes.push(format!("{path}.order: only the sharing \"common\" has an order in TCP"));
    }
    let idle_timeout = settings.connections.idle_timeout();
    let settings = TcpSettings {
        profile,
        sharing: settings.sharing,
        order,
        growth,
        window_rate,
        connections,
        idle_timeout,
    };
    Ok(TcpPlan { role: role.name.clone(), settings, notes })
}

fn refusal(path: &str, key: &str, what: impl Into<String>, remedy: &str) -> TcpRefusal {
    TcpRefusal { path: format!("{path}{key}"), what: what.into(), remedy: remedy.to_owned() }
}

fn order(params: &AggregateShaperParams, path: &str) -> Result<TcpOrder, TcpRefusal> {
    let is_common = params.sharing == Sharing::Common;
    if is_common && params.fresh_packets() == FreshPackets::Overtake {
        let what = "in TCP, segments of a common bucket wait for their turn";
        return Err(refusal(path, ".fresh", what, "use \"in-turn\""));
    }
    match params.order() {
        ServiceOrder::LeastRecentlyServed => Ok(TcpOrder::LeastRecentlyServed),
        ServiceOrder::Sequential if is_common => {
            let what =
                "the kernel wakes each connection by itself, so none can wait for all older ones";
            Err(refusal(path, ".order", what, "use \"fcfs\" or \"lru\""))
        }
        ServiceOrder::FirstCome | ServiceOrder::Sequential => Ok(TcpOrder::FirstCome),
    }
}

/// What the program counts has an end.
fn within_limits(params: &AggregateShaperParams, path: &str) -> Result<(), TcpRefusal> {
    let profile = &params.profile;
    if profile.depth() > MAX_TCP_DEPTH {
        let what =
            format!("{} exceeds the maximum depth of {MAX_TCP_DEPTH} in TCP", profile.depth());
        return Err(refusal(path, ".depth", what, "use a smaller bucket"));
    }
    if profile.rate() > MAX_TCP_RATE || profile.rate() < MIN_TCP_RATE {
        let rate = profile.rate();
        let what = format!("{rate} is outside the rates of TCP, {MIN_TCP_RATE} to {MAX_TCP_RATE}");
        return Err(refusal(path, ".rate", what, "use another rate"));
    }
    Ok(())
}

fn find<'p>(
    policy: &'p Policy,
    name: Option<&str>,
) -> Result<(&'p Role, &'p AggregateShaperParams), TcpRefusal> {
    let shaper = |role: &'p Role| match &role.queue {
        Some(QueuePlan::AggregateShaper(params)) => Some((role, &**params)),
        _ => None,
    };
    let all: Vec<_> = policy.roles.iter().filter_map(shaper).collect();
    let names =
        || all.iter().map(|(role, _)| format!("`{}`", role.name)).collect::<Vec<_>>().join(", ");
    let refused = |path: String, what: &str, remedy: String| TcpRefusal {
        path,
        what: what.to_owned(),
        remedy,
    };
    match (name, &all[..]) {
        (_, []) => Err(refused(
            format!("policy {:?}", policy.name),
            "no role has the queue `aggregate-shaper`, the only one that can be in TCP",
            "deploy the policy at a device: --dev DEVICE".to_owned(),
        )),
        (Some(name), _) => {
            all.iter().find(|(role, _)| role.name == name).copied().ok_or_else(|| {
                refused(
                    format!("--role {name}"),
                    "this role has no `aggregate-shaper`",
                    format!("roles with one: {}", names()),
                )
            })
        }
        (None, [only]) => Ok(*only),
        (None, _) => Err(refused(
            format!("policy {:?}", policy.name),
            "several roles have an `aggregate-shaper`",
            format!("name one of them with --role: {}", names()),
        )),
    }
}
