//! `deploy`, `reload`, `status` and `undeploy` of plans of customers.

use std::time::Duration;

use serde_json::{Value, json};
use shortflow_deploy::{
    DeviceLock, Error, Kernel, Kind, PlansDevice, PlansDone, PlansStatus, Tc, examine_kernel,
    inline_router, own_link,
};
use shortflow_plans::{CustomerQueue, Direction, Plans};
use shortflow_scenario::FileKind;
use shortflow_text::Diagnostics;

use crate::console::Console;
use crate::deploy_args::{Deploy, RateOrDevice};
use crate::failure::Failure;

/// Whether a file has plans. What cannot be read is reported as a policy.
pub(crate) fn is_plans(args: &Deploy) -> bool {
    matches!(FileKind::detect(&args.inputs, &args.policy), Ok(FileKind::Plans))
}

/// `shortflow deploy` with plans.
pub(crate) fn deploy(console: &Console, args: &Deploy) -> Result<(), Failure> {
    let devices = devices(args)?;
    if devices.is_empty() {
        return Err(Failure::Input(
            "plans need a device: the one that sends to customers, or the one that sends from them\n\
             add --down DEVICE, --up DEVICE or both"
                .to_owned(),
        ));
    }
    let plans = load(console, args)?;
    if args.dry_run {
        return dry_run(console, &plans, &devices);
    }
    refuse_lacking(&plans)?;
    let mut done: Vec<Deployed> = Vec::new();
    for (direction, device) in &devices {
        let one = at(device).and_then(|at| Ok(at.deploy(&plans, *direction)?));
        match one {
            Ok(what) => done.push((*direction, device.as_str(), what)),
            Err(failure) => {
                // Either all devices have the plans, or none.
                for (_, device, _) in done {
                    at(device)?.undeploy()?;
                }
                return Err(failure);
            }
        }
    }
    report(console, args, &plans, &done)
}

/// `shortflow reload` with plans.
pub(crate) fn reload(console: &Console, args: &Deploy) -> Result<(), Failure> {
    let plans = load(console, args)?;
    let mut devices = devices(args)?;
    if devices.is_empty() {
        for device in PlansDevice::all()? {
            let direction = PlansDevice::find(Tc::new(&device))?.deployed().map(|found| found.1);
            devices.extend(direction.map(|direction| (direction, device)));
        }
    }
    if devices.is_empty() {
        let what = "no plans are deployed on this machine\ndeploy them with --down DEVICE, --up DEVICE or both";
        return Err(Failure::Input(what.to_owned()));
    }
    if args.dry_run {
        return dry_run(console, &plans, &devices);
    }
    refuse_lacking(&plans)?;
    let mut done = Vec::new();
    for (direction, device) in &devices {
        done.push((*direction, device.as_str(), at(device)?.reload(&plans, *direction)?));
    }
    report(console, args, &plans, &done)
}

/// Removes plans from a device; whether there were some.
pub(crate) fn undeploy(console: &Console, device: &str, is_dry: bool) -> Result<bool, Failure> {
    let found = PlansDevice::find(Tc::new(device))?;
    let Some((name, _)) = found.deployed() else { return Ok(false) };
    if is_dry {
        console.print(&format!("# removes plans {name:?}\nqdisc del dev {device} root\n"))?;
        return Ok(true);
    }
    let what = format!("{device}: plans {name:?} are removed\n");
    at(device)?.undeploy()?;
    console.print(&what)?;
    Ok(true)
}

/// How plans stand: on this device, or on all.
pub(crate) fn look(device: Option<&str>) -> Result<Vec<PlansStatus>, Failure> {
    let devices = match device {
        Some(device) => vec![device.to_owned()],
        None => PlansDevice::all()?,
    };
    let mut all = Vec::new();
    for device in devices {
        all.extend(PlansDevice::find(Tc::new(&device))?.status()?);
    }
    Ok(all)
}

/// Refuses a device that has plans.
pub(crate) fn refuse_taken(device: &str) -> Result<(), Error> {
    match PlansDevice::find(Tc::new(device))?.deployed() {
        Some((name, _)) => {
            Err(Error::PlansDeployed { device: device.to_owned(), plans: name.to_owned() })
        }
        None => Ok(()),
    }
}

/// Refuses plans whose queue the kernel lacks, before anything is changed.
fn refuse_lacking(plans: &Plans) -> Result<(), Failure> {
    let kernel = examine_kernel().0;
    if plans.queue == CustomerQueue::FqCodel && kernel.lacks(Kind::FqCodel) {
        return Err(Failure::Machine(format!(
            "this kernel lacks fq_codel, the queue of customers\n{}; or write `queue = \"fifo\"` into the plans",
            Kernel::remedy(&[Kind::FqCodel])
        )));
    }
    Ok(())
}

type Deployed<'d> = (Direction, &'d str, PlansDone);

/// How long one waits for another command that works on the device.
const LOCK_TIMEOUT: Duration = Duration::from_secs(2);

fn at(device: &str) -> Result<PlansDevice, Failure> {
    own_link(device)?;
    if let Some(router) = inline_router(device)? {
        return Err(Error::Routed { device: device.to_owned(), router }.into());
    }
    Ok(PlansDevice::find(Tc::new(device).with_lock(DeviceLock::take(device, LOCK_TIMEOUT)?))?)
}

/// The devices that are given, down first.
fn devices(args: &Deploy) -> Result<Vec<(Direction, String)>, Failure> {
    let useless = [
        ("--dev", !args.dev.is_empty()),
        ("--role", !args.role.is_empty()),
        ("--rate", args.rate.is_some()),
        ("--ingress", args.ingress),
        ("--link-layer, --overhead and --mpu", args.link.layer().is_some()),
        ("--set", !args.set.is_empty() || !args.set_up.is_empty() || !args.set_down.is_empty()),
        ("--label", !args.label.is_empty()),
        ("--nearest", args.nearest),
        ("--tcp", args.tcp.tcp),
        ("--cgroup", args.tcp.cgroup.is_some()),
    ];
    if let Some((option, _)) = useless.into_iter().find(|(_, is_given)| *is_given) {
        return Err(Failure::Input(format!(
            "{option} applies to policies, not to plans\ngive the devices of plans with --down DEVICE and --up DEVICE"
        )));
    }
    let mut devices = Vec::new();
    for (direction, given) in [(Direction::Down, &args.down), (Direction::Up, &args.up)] {
        match given {
            Some(RateOrDevice::Device(device)) => devices.push((direction, device.clone())),
            Some(RateOrDevice::Rate(rate)) => {
                return Err(Failure::Input(format!(
                    "--{} is {rate}, but plans have the rates themselves\ngive a device, as in --{0} eth0",
                    direction.name()
                )));
            }
            None => {}
        }
    }
    if let [(_, down), (_, up)] = &devices[..]
        && down == up
    {
        return Err(Failure::Input(format!(
            "{down} is given for both directions, but one device sends to customers and another one sends from them\n\
             give two devices"
        )));
    }
    Ok(devices)
}

fn load(console: &Console, args: &Deploy) -> Result<Plans, Failure> {
    let plans = shortflow_plans::load_from(&args.inputs, &args.policy)?;
    console.warnings(&plans.warnings);
    Ok(plans)
}

fn dry_run(
    console: &Console,
    plans: &Plans,
    devices: &[(Direction, String)],
) -> Result<(), Failure> {
    let mut text = String::new();
    for (direction, device) in devices {
        text += &format!("# {device}: {}, {}\n", plans.summary(), direction.name());
        let steps = PlansDevice::planned(device, plans, *direction);
        steps.iter().for_each(|step| text += &format!("{step}\n"));
    }
    console.print(&text)
}

fn report(
    console: &Console,
    args: &Deploy,
    plans: &Plans,
    done: &[Deployed<'_>],
) -> Result<(), Failure> {
    if args.json {
        return console.print_json(&json!({
            "plans": plans.name, "customers": plans.customers.len(), "sites": plans.sites.len(),
            "devices": done.iter().map(as_json).collect::<Vec<_>>(),
            "warnings": crate::check::as_json(&Diagnostics(plans.warnings.0.clone())),
        }));
    }
    let mut text = String::new();
    for (direction, device, done) in done {
        let way = direction.name();
        let what = match (done.is_new, *done == PlansDone::default()) {
            (true, _) => format!("{} {way}", plans.summary()),
            (false, true) => format!("plans {:?} {way}: nothing has changed", plans.name),
            (false, false) => format!(
                "plans {:?} {way}: {} commands of tc and {} prefixes changed",
                plans.name, done.commands, done.prefixes
            ),
        };
        text += &format!("{device}: {what}\n");
    }
    console.print(&text)
}

fn as_json((direction, device, done): &Deployed<'_>) -> Value {
    json!({
        "device": device, "direction": direction.name(), "is_new": done.is_new,
        "commands": done.commands, "prefixes": done.prefixes,
    })
}
