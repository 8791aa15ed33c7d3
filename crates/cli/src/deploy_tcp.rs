//! `deploy --tcp`, `reload --tcp`, `undeploy --tcp`: a policy's profile in the TCP of this host.

use std::fmt::Write;

use serde_json::{Value, json};
use shortflow_deploy::{
    TcpAbandoned, TcpDeployment, TcpDone, TcpFilter, TcpGrowth, TcpGrowthMistake, TcpGrowthRule,
    TcpPlan, TcpSelection, TcpStatus, TcpWalk, abandoned_in_tcp, compile_tcp, matching,
    remove_abandoned_in_tcp,
};

use shortflow_units::Bytes;

use crate::console::Console;
use crate::deploy;
use crate::deploy_args::{Deploy, GrowthRule, Status, TcpArgs, Undeploy};
use crate::failure::Failure;

/// `shortflow deploy --tcp`.
pub(crate) fn deploy(console: &Console, args: &Deploy) -> Result<(), Failure> {
    let (policy, plan) = plan(console, args)?;
    let selection = selection(&args.tcp)?;
    if args.dry_run {
        TcpDeployment::check(&selection)?;
        return show_plan(console, &policy, &plan, &selection.filter);
    }
    let done = TcpDeployment::deploy(&policy, &plan, &selection)?;
    show_done(console, args, &policy, &plan, &done)
}

/// `shortflow reload --tcp`.
pub(crate) fn reload(console: &Console, args: &Deploy) -> Result<(), Failure> {
    let given = selection(&args.tcp)?;
    let selection = (given != TcpSelection::default()).then_some(&given);
    let (policy, plan) = plan(console, args)?;
    if args.dry_run {
        let there = TcpDeployment::filter()?;
        selection.map_or(Ok(()), TcpSelection::check)?;
        let filter = selection.map_or(&there, |selection| &selection.filter);
        return show_plan(console, &policy, &plan, filter);
    }
    let done = TcpDeployment::reload(&policy, &plan, selection)?;
    show_done(console, args, &policy, &plan, &done)
}

/// Which connections are meant.
fn selection(args: &TcpArgs) -> Result<TcpSelection, Failure> {
    let TcpArgs { local, peer, local_port, peer_port, cgroup, .. } = args.clone();
    let filter = TcpFilter { local, peer, local_port, peer_port };
    if let (Some((local, _)), Some((peer, _))) = (filter.local, filter.peer)
        && local.is_ipv4() != peer.is_ipv4()
    {
        let what = format!(
            "no connection is from {local} to {peer}\ngive two addresses of IPv4, or two of IPv6"
        );
        return Err(Failure::Input(what));
    }
    Ok(TcpSelection { filter, cgroup })
}

/// `shortflow undeploy --tcp`.
pub(crate) fn undeploy(console: &Console, args: &Undeploy) -> Result<(), Failure> {
    if let Some(control) = &args.control {
        let policy = remove_abandoned_in_tcp(control)?;
        return console.print(&format!(
            "TCP: removed policy {policy:?} of a network namespace that is gone\n"
        ));
    }
    let (policy, walk) = TcpDeployment::undeploy()?;
    let refused = match walk.refused {
        0 => String::new(),
        refused => format!("; {refused} keep that of the policy until they close"),
    };
    console.print(&format!(
        "TCP: removed policy {policy:?}; {} with the former congestion control again{refused}\n",
        connections(walk.changed as u64)
    ))
}

fn plan(console: &Console, args: &Deploy) -> Result<(String, TcpPlan), Failure> {
    let policy = deploy::read(console, &args.inputs, &args.policy, &args.set)?;
    let role = match &args.role[..] {
        [] => None,
        [role] => Some(role.as_str()),
        _ => {
            return Err(Failure::Input(
                "--tcp takes one role\nname the one with the `aggregate-shaper`".to_owned(),
            ));
        }
    };
    let plan = compile_tcp(&policy, role, growth(&args.tcp)?, args.tcp.window_rate);
    let plan = plan.map_err(|refusal| Failure::Input(refusal.to_string()))?;
    plan.notes.iter().for_each(|note| console.note(note));
    Ok((policy.name, plan))
}

fn growth(args: &TcpArgs) -> Result<TcpGrowth, Failure> {
    let rule = args.growth.map_or(TcpGrowthRule::Reno, GrowthRule::rule);
    rule.with(args.reference_rtt, args.increase).map_err(|mistake| {
        let what = match mistake {
            TcpGrowthMistake::Superfluous => {
                "this growth rule has no reference\nomit --reference-rtt and --increase"
            }
            TcpGrowthMistake::ConstantRate => {
                "--growth constant-rate requires --reference-rtt, and no --increase\nadd --reference-rtt '200 ms'"
            }
            TcpGrowthMistake::IncreaseByK => {
                "--growth increase-by-k requires --reference-rtt and --increase\nadd --reference-rtt '200 ms' --increase 4"
            }
        };
        Failure::Input(what.to_owned())
    })
}

/// What a command would deploy.
fn show_plan(
    console: &Console,
    policy: &str,
    plan: &TcpPlan,
    filter: &TcpFilter,
) -> Result<(), Failure> {
    let (role, profile, matching) = (&plan.role, plan.summary(), matching(filter));
    console.print(&format!(
        "TCP: would deploy policy {policy:?}, role {role}, {profile}, connections {matching}\n"
    ))
}

fn show_done(
    console: &Console,
    args: &Deploy,
    policy: &str,
    plan: &TcpPlan,
    done: &TcpDone,
) -> Result<(), Failure> {
    let TcpDone { walk: TcpWalk { changed, refused, unfit }, left, selects_new } = done;
    if !selects_new {
        console.warning(
            "new connections do not come to the profile: no cgroup of version 2 is mounted",
            "mount one at /sys/fs/cgroup, or run `shortflow reload POLICY --tcp` for connections that are live by then",
        );
    }
    if *refused > 0 {
        console.warning(
            &format!("the kernel refuses the congestion control for {refused} connections"),
            "they keep their own",
        );
    }
    if *unfit > 0 {
        console.warning(
            &format!("{unfit} connections do not fit: their segments exceed `max_packet`"),
            "they keep their own congestion control",
        );
    }
    if args.json {
        return console.print_json(&json!({
            "policy": policy, "role": plan.role, "taken_over": changed, "refused": refused, "unfit": unfit, "left": left.changed,
            "selects_new": selects_new, "notes": plan.notes,
        }));
    }
    let gone = match left.changed {
        0 => String::new(),
        number => {
            format!(", {} with the former congestion control again", connections(number as u64))
        }
    };
    console.print(&format!(
        "TCP: policy {policy:?}, role {}: {} taken over{gone}\n",
        plan.role,
        connections(*changed as u64)
    ))
}

/// What is in TCP.
#[derive(Debug, Default)]
pub(crate) struct InTcp {
    /// In this network namespace.
    pub(crate) here: Option<TcpStatus>,
    /// In namespaces that are gone.
    abandoned: Vec<TcpAbandoned>,
}

/// What is in TCP, where `status` is not about one device.
pub(crate) fn look(args: &Status) -> Result<InTcp, Failure> {
    match &args.dev {
        Some(_) => Ok(InTcp::default()),
        None => Ok(InTcp { here: TcpDeployment::status()?, abandoned: abandoned_in_tcp() }),
    }
}

impl InTcp {
    /// Whether all is as it was deployed.
    pub(crate) fn is_well(&self) -> bool {
        let is_here = self.here.as_ref().is_none_or(|tcp| tcp.state.is_some() && tcp.is_attached);
        is_here && self.abandoned.is_empty()
    }

    /// For people, one text for each.
    pub(crate) fn texts(&self) -> impl Iterator<Item = String> {
        let gone = self.abandoned.iter().map(|TcpAbandoned { policy, profile, control }| {
            format!(
                "TCP: policy {policy:?}, {profile}, of a network namespace that is gone\n  \
                 remove it with `shortflow undeploy --tcp --control {control}`\n"
            )
        });
        self.here.as_ref().map(text).into_iter().chain(gone)
    }

    /// For programs: what is here, and what is abandoned.
    pub(crate) fn json(&self) -> [Value; 2] {
        let abandoned = self.abandoned.iter().map(|TcpAbandoned { policy, profile, control }| {
            json!({ "policy": policy, "profile": profile, "control": control })
        });
        [json!(self.here.as_ref().map(TcpStatus::json)), abandoned.collect()]
    }
}

/// For people.
fn text(status: &TcpStatus) -> String {
    let TcpStatus { policy, profile, windows, control, selects_new, is_attached, state, .. } =
        status;
    let mut text = format!("TCP: policy {policy:?}, {profile}, {}\n", connections_of(status));
    let Some(state) = state else {
        return text
            + "  the kernel no longer has it: remove the rest with `shortflow undeploy --tcp`\n";
    };
    let new = if *selects_new { "" } else { "; new connections are not selected" };
    let _ = writeln!(
        text,
        "  congestion control {control}: {windows}\n  {}, {} sent, {}{new}\n  {} bursts withheld; {} sent without asking (probes, \
         timeouts, segments without data), {} of it without tokens; {} such segments withheld",
        connections(state.connections),
        state.sent,
        bucket(state.held),
        state.withheld,
        state.unasked,
        state.forced,
        state.stopped
    );
    if !is_attached {
        text += "  its programs are no longer at their cgroups: they were removed, or a cgroup was created again\n  \
                 to repair it: shortflow undeploy --tcp, then deploy the policy again\n";
    }
    text
}

/// Which connections come to a profile, in words.
fn connections_of(status: &TcpStatus) -> String {
    let all = format!("connections {}", matching(&status.filter));
    match &status.cgroup {
        Some(cgroup) => format!("{all}, new ones of {}", cgroup.display()),
        None => all,
    }
}

/// What the bucket holds, or owes.
fn bucket(held: i64) -> String {
    let bytes = Bytes(held.unsigned_abs());
    if held < 0 { format!("bucket overdrawn by {bytes}") } else { format!("{bytes} in the bucket") }
}

/// A number of connections.
fn connections(number: impl Into<u64>) -> String {
    match number.into() {
        1 => "1 connection".to_owned(),
        number => format!("{number} connections"),
    }
}
