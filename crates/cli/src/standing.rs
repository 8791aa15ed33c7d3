//! The deployment that `verify` tests.

use shortflow_deploy::{Error, Observed, PlansDevice, Tc, Wanted, short};
use shortflow_policy::Policy;

use crate::console::Console;
use crate::deploy::{Place, Spot, reload_command, wanted, way};
use crate::deploy_args::Deploy;
use crate::failure::Failure;
use crate::reload_options::keep;

/// What stands at a device, and should.
pub(crate) struct Standing {
    /// The way there, which no other command takes meanwhile.
    pub(crate) tc: Tc,
    /// Its state.
    pub(crate) observed: Observed,
    /// The wanted state of the policy.
    pub(crate) wanted: Wanted,
    pub(crate) place: Place,
    pub(crate) policy: Policy,
}

/// The state of a device, and the wanted state of the policy there; with the deployed options if none are given.
pub(crate) fn standing(console: &Console, args: &mut Deploy) -> Result<Standing, Failure> {
    let place = Place::from_args(args)?;
    let Spot { place, tc, observed, .. } = Spot::new(args, place, way(&args.dev, args.dry_run)?)?;
    let (Some(name), Some(deployed)) = (observed.policy(), observed.deployed()) else {
        let device = args.dev.clone();
        if let Some((plans, _)) = PlansDevice::find(Tc::new(&device))?.deployed() {
            let what = format!(
                "plans {plans:?} are deployed on {device}, and `verify` tests policies\n`shortflow status` shows what \
                 customers got"
            );
            return Err(Failure::Input(what));
        }
        return Err(Error::NotDeployed { device }.into());
    };
    if let Some(damage) = observed.damage().first() {
        return Err(Failure::Input(format!(
            "the deployment on {} was changed from outside: {damage}\nrepair it with `{}`",
            args.dev,
            reload_command(args)
        )));
    }
    if !observed.is_whole() && !observed.is_for_verify() {
        return Err(Failure::Input(format!(
            "the deployment on {} is incomplete\ncomplete it with `{}`",
            args.dev,
            reload_command(args)
        )));
    }
    plays(args, &observed)?;
    let (policy, _) = keep(console, args, &deployed)?;
    console.warnings(&policy.warnings);
    if name != short(&policy.name) {
        return Err(another(args, name));
    }
    let wanted = wanted(&policy, args, &place)?;
    if let Some(lost) = observed.lost_labels().first() {
        console.print(&format!("{}: WRONG: {lost}\n", args.dev))?;
        return Err(Failure::Check);
    }
    match wanted.is_deployed_except_verify(&observed) {
        true => Ok(Standing { tc, observed, wanted, place, policy }),
        false => Err(another(args, name)),
    }
}

/// Something else is deployed there.
fn another(args: &Deploy, name: &str) -> Failure {
    Failure::Input(format!(
        "{} runs policy {name:?}, not {} with these roles, keys and labels\ngive the options that `deploy` got, \
         or apply this policy with `{}`",
        args.dev,
        args.policy.display(),
        reload_command(args)
    ))
}

/// Defaults to the roles that the device has, and refuses others: a deployment is one unit.
fn plays(args: &mut Deploy, observed: &Observed) -> Result<(), Failure> {
    let played = observed.roles();
    if args.role.is_empty() {
        args.role = played;
        return Ok(());
    }
    let all = |some: &[String], others: &[String]| some.iter().all(|it| others.contains(it));
    if all(&args.role, &played) && all(&played, &args.role) {
        return Ok(());
    }
    Err(Failure::Input(format!(
        "{} has {}, but --role names {}\nomit --role, or use --role {}",
        args.dev,
        roles_text(&played),
        roles_text(&args.role),
        played.join(",")
    )))
}

fn roles_text(names: &[String]) -> String {
    let word = if names.len() == 1 { "the role" } else { "the roles" };
    format!("{word} `{}`", names.join("`, `"))
}
