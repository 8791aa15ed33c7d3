//! The options that `reload` keeps: all that are not given again.

use std::path::PathBuf;

use shortflow_deploy::{Deployed, Options, has_shaper, roles_of, short};
use shortflow_policy::Policy;

use crate::console::Console;
use crate::deploy::load;
use crate::deploy_args::Deploy;
use crate::failure::Failure;

/// The options of a command line.
pub(crate) fn options(args: &Deploy) -> Options {
    let Deploy {
        policy: _,
        dev: _,
        // What is in TCP is reloaded by itself.
        tcp,
        role: _,
        ingress: _,
        rate,
        // Of both directions together each is a command line of its own, with its rate and keys.
        up: _,
        down: _,
        set_up: _,
        set_down: _,
        whole: _,
        link,
        set,
        label,
        nearest,
        dry_run: _,
        json: _,
        inputs: _,
    } = args;
    Options {
        rate: *rate,
        link_layer: link.layer(),
        set: set.clone(),
        labels: label.clone(),
        cgroup: tcp.cgroup.as_ref().map(|cgroup| cgroup.display().to_string()),
        nearest: *nearest,
    }
}

/// What was kept, and what could not be.
#[derive(Debug, Default)]
pub(crate) struct KeptOptions {
    /// Options as on a command line.
    pub(crate) kept: Vec<String>,
    /// The same, with the reason.
    pub(crate) dropped: Vec<String>,
}

impl KeptOptions {
    /// As notes.
    pub(crate) fn notes(&self) -> Vec<String> {
        let kept = (!self.kept.is_empty()).then(|| {
            format!("kept from the deployment: {} (--reset keeps nothing)", self.kept.join(" "))
        });
        kept.into_iter()
            .chain(self.dropped.iter().map(|what| format!("not kept: {what}")))
            .collect()
    }
}

/// Fills in what `args` do not give from what is deployed, and reads the policy with it.
///
/// # Errors
/// When the policy cannot be read, or a key that is kept is not one of it any more.
pub(crate) fn keep(
    console: &Console,
    args: &mut Deploy,
    deployed: &Deployed,
) -> Result<(Policy, KeptOptions), Failure> {
    let Options { set, labels, nearest, .. } = &deployed.options;
    let mut kept = KeptOptions::default();
    let policy = keep_keys(console, args, deployed, set, &mut kept)?;
    keep_roles(args, deployed, &policy, &mut kept);
    let roles = roles_of(&policy, &args.role).unwrap_or_default();
    let queues = roles.iter().any(|role| role.queues());
    let Options { rate, link_layer, .. } = match roles.iter().any(|role| has_shaper(role)) {
        true => deployed.options.clone(),
        // What the earlier policy's shaper gave is kept where the new policy gives nothing.
        false => Options {
            rate: deployed.options.rate.or(deployed.from_shaper.rate),
            link_layer: deployed.options.link_layer.or(deployed.from_shaper.link_layer),
            ..Options::default()
        },
    };
    if let (Some(rate), None) = (rate, args.rate) {
        let one = Options { rate: Some(rate), ..Options::default() };
        match queues {
            true => {
                args.rate = Some(rate);
                kept.kept.extend(one.words());
            }
            false => {
                kept.dropped.push(format!("{}, because no role queues", one.words().join(" ")))
            }
        }
    }
    if let (Some(layer), None) = (link_layer, args.link.link_layer) {
        let words = Options { link_layer: Some(layer), ..Options::default() }.words().join(" ");
        match queues {
            true => {
                args.link.link_layer = Some(layer);
                kept.kept.push(words);
            }
            false => kept.dropped.push(format!("{words}, because no role queues")),
        }
    }
    for label in labels {
        if args.label.iter().any(|(name, _)| *name == label.0) {
            continue;
        }
        let words = Options { labels: vec![label.clone()], ..Options::default() }.words().join(" ");
        match policy.labels().contains(&label.0) {
            true => {
                args.label.push(label.clone());
                kept.kept.push(words);
            }
            false => kept.dropped.push(format!("{words}, which the policy does not use")),
        }
    }
    let asks_applications = roles.iter().any(|role| role.asks_applications());
    keep_cgroup(args, deployed, asks_applications, &mut kept);
    if *nearest && !args.nearest {
        args.nearest = true;
        kept.kept.push("--nearest".to_owned());
    }
    Ok((policy, kept))
}

fn keep_cgroup(
    args: &mut Deploy,
    deployed: &Deployed,
    asks_applications: bool,
    kept: &mut KeptOptions,
) {
    let (Some(cgroup), None) = (&deployed.options.cgroup, &args.tcp.cgroup) else { return };
    let one = Options { cgroup: Some(cgroup.clone()), ..Options::default() };
    let words = one.words().join(" ");
    if asks_applications {
        args.tcp.cgroup = Some(PathBuf::from(cgroup));
        kept.kept.push(words);
    } else {
        kept.dropped.push(format!("{words}, because no role lets applications set thresholds"));
    }
}

/// Keys that were changed are those of one policy: another one does not get them.
fn keep_keys(
    console: &Console,
    args: &mut Deploy,
    deployed: &Deployed,
    set: &[(String, String)],
    kept: &mut KeptOptions,
) -> Result<Policy, Failure> {
    let is_given = |key: &str| args.set.iter().any(|(given, _)| given == key);
    let old: Vec<_> = set.iter().filter(|(key, _)| !is_given(key)).cloned().collect();
    if old.is_empty() {
        return load(&args.inputs, &args.policy, &args.set);
    }
    let words = Options { set: old.clone(), ..Options::default() }.words();
    let all = [&old[..], &args.set].concat();
    let is_same = |policy: &Policy| short(&policy.name) == deployed.policy;
    match load(&args.inputs, &args.policy, &all) {
        Ok(policy) if is_same(&policy) => {
            args.set = all;
            kept.kept.extend(words);
            Ok(policy)
        }
        with_old => {
            let policy = load(&args.inputs, &args.policy, &args.set)?;
            if let Err(why) = with_old
                && is_same(&policy)
            {
                // The keys are wrong, and not the policy.
                let words = words.join(" ");
                console.note(&format!(
                    "{words} was given to `deploy` and does not fit the policy any more: give its keys again, or \
                     --reset"
                ));
                return Err(why);
            }
            let name = &deployed.policy;
            kept.dropped.push(format!("{}, of policy {name:?}", words.join(" ")));
            Ok(policy)
        }
    }
}

fn keep_roles(args: &mut Deploy, deployed: &Deployed, policy: &Policy, kept: &mut KeptOptions) {
    if !args.role.is_empty() {
        return;
    }
    let (there, gone): (Vec<String>, Vec<String>) =
        deployed.roles().into_iter().partition(|name| policy.role(name).is_some());
    for name in gone {
        kept.dropped
            .push(format!("the role `{name}`, which policy {:?} does not have", policy.name));
    }
    if !there.is_empty() {
        kept.kept.push(format!("--role {}", there.join(",")));
        args.role = there;
    }
}
