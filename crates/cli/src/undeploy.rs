//! `undeploy`: removes what is deployed on a device.

use shortflow_deploy::{Error, Received, own_link};

use crate::console::Console;
use crate::deploy::way;
use crate::deploy_args::Undeploy;
use crate::deploy_plans;
use crate::failure::Failure;

/// `shortflow undeploy`.
pub(crate) fn undeploy(console: &Console, args: &Undeploy) -> Result<(), Failure> {
    if args.tcp {
        return crate::deploy_tcp::undeploy(console, args);
    }
    own_link(&args.dev)?;
    if !args.ingress && deploy_plans::undeploy(console, &args.dev, args.dry_run)? {
        return Ok(());
    }
    let tc = way(&args.dev, args.dry_run)?;
    let received = Received::observe(&args.dev)?;
    let observed = tc.observe()?;
    let is_sent = !args.ingress && (observed.is_ours() || observed.is_lost());
    if !is_sent && !received.is_known() {
        let device = if args.ingress { Received::name(&args.dev) } else { args.dev.clone() };
        return Err(Error::NotDeployed { device }.into());
    }
    let (mut printed, mut lost) = (String::new(), 0);
    if received.is_known() {
        let steps = received.removal()?;
        match args.dry_run {
            true => steps.iter().for_each(|step| printed += &format!("{step}\n")),
            false => received.remove(&tc, &steps).map(|_| ())?,
        }
        lost += received.lost_by(&steps);
    }
    if is_sent {
        // The place for filters may be gone with the redirect.
        let observed = if args.dry_run { observed.without_redirect() } else { tc.observe()? };
        let steps = tc.plan_removal(&observed)?;
        match args.dry_run {
            true => steps.iter().for_each(|step| printed += &format!("{step}\n")),
            false => tc.remove(&observed, &steps)?,
        }
        lost += observed.lost_by(&steps);
    }
    if args.dry_run {
        return console.print(&printed);
    }
    let lost = match lost {
        0 => String::new(),
        waiting => format!("; about {waiting} waiting packets are lost"),
    };
    let what = if is_sent { args.dev.clone() } else { Received::name(&args.dev) };
    console.print(&format!("{what}: restored to the previous state{lost}\n"))
}
