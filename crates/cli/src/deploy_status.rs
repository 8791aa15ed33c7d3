//! `status`: what is deployed on the devices of this machine.

use std::io::IsTerminal;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use shortflow_deploy::{DeviceStatus, Error, PlansStatus, own_link};

use crate::console::Console;
use crate::deploy_args::Status;
use crate::deploy_plans;
use crate::deploy_tcp::{self, InTcp};
use crate::failure::Failure;
use crate::interrupt::stop_on_interrupt;

/// `shortflow status`.
pub(crate) fn status(console: &Console, args: &Status) -> Result<(), Failure> {
    if !args.watch {
        let found = look(args)?;
        let tcp = deploy_tcp::look(args)?;
        show(console, args, &found, &tcp)?;
        let is_well = tcp.is_well() && found.is_well();
        return if is_well { Ok(()) } else { Err(Failure::Check) };
    }
    let stop = stop_on_interrupt()?;
    let clear = !args.json && std::io::stdout().is_terminal();
    while !stop.load(Ordering::Relaxed) {
        let found = look(args)?;
        if clear {
            console.print("\x1b[H\x1b[2J")?;
        }
        show(console, args, &found, &deploy_tcp::look(args)?)?;
        let next = Instant::now() + Duration::from_secs(1);
        while Instant::now() < next && !stop.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(50));
        }
    }
    Ok(())
}

/// What is on devices: policies and plans.
#[derive(Default)]
struct OnDevices {
    policies: Vec<DeviceStatus>,
    plans: Vec<PlansStatus>,
}

impl OnDevices {
    fn is_well(&self) -> bool {
        self.policies.iter().all(|status| status.wrongs().is_empty())
            && self.plans.iter().all(|status| status.wrongs().is_empty())
    }
}

fn look(args: &Status) -> Result<OnDevices, Failure> {
    let Some(device) = &args.dev else {
        return match args.tcp {
            true => Ok(OnDevices::default()),
            false => {
                Ok(OnDevices { policies: DeviceStatus::all()?, plans: deploy_plans::look(None)? })
            }
        };
    };
    own_link(device)?;
    let plans = deploy_plans::look(Some(device))?;
    let policies = DeviceStatus::both(device)?;
    match policies.is_empty() && plans.is_empty() {
        true => Err(Error::NotDeployed { device: device.clone() }.into()),
        false => Ok(OnDevices { policies, plans }),
    }
}

const NOTHING_DEPLOYED: &str = "no policy is deployed on this machine\n";
const NOTHING_IN_TCP: &str = "no policy is deployed in TCP\n";

fn show(console: &Console, args: &Status, found: &OnDevices, tcp: &InTcp) -> Result<(), Failure> {
    if args.json {
        let plans: Vec<Value> = found.plans.iter().map(PlansStatus::json).collect();
        let found: Vec<Value> = found.policies.iter().map(DeviceStatus::json).collect();
        let [tcp, abandoned] = tcp.json();
        let value =
            json!({ "devices": found, "plans": plans, "tcp": tcp, "tcp_abandoned": abandoned });
        return match args.watch {
            true => console.print(&format!("{value}\n")),
            false => console.print_json(&value),
        };
    }
    let mut texts: Vec<String> = found.policies.iter().map(DeviceStatus::text).collect();
    texts.extend(found.plans.iter().map(PlansStatus::text));
    texts.extend(tcp.texts());
    match texts.is_empty() {
        true if args.tcp => console.print(NOTHING_IN_TCP),
        true => console.print(NOTHING_DEPLOYED),
        false => console.print(&texts.join("\n")),
    }
}
