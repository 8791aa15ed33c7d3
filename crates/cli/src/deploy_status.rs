//! `status`: what is deployed on the devices of this machine.

use std::io::IsTerminal;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use shortflow_deploy::{DeviceStatus, Error, own_link};

use crate::console::Console;
use crate::deploy_args::Status;
use crate::deploy_tcp::{self, InTcp};
use crate::failure::Failure;
use crate::interrupt::stop_on_interrupt;

/// `shortflow status`.
pub(crate) fn status(console: &Console, args: &Status) -> Result<(), Failure> {
    if !args.watch {
        let found = look(args)?;
        let tcp = deploy_tcp::look(args)?;
        show(console, args, &found, &tcp)?;
        let is_well = tcp.is_well() && found.iter().all(|status| status.wrongs().is_empty());
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

fn look(args: &Status) -> Result<Vec<DeviceStatus>, Failure> {
    let Some(device) = &args.dev else {
        return if args.tcp { Ok(Vec::new()) } else { Ok(DeviceStatus::all()?) };
    };
    own_link(device)?;
    match DeviceStatus::both(device)? {
        found if found.is_empty() => Err(Error::NotDeployed { device: device.clone() }.into()),
        found => Ok(found),
    }
}

const NOTHING_DEPLOYED: &str = "no policy is deployed on this machine\n";
const NOTHING_IN_TCP: &str = "no policy is deployed in TCP\n";

fn show(
    console: &Console,
    args: &Status,
    found: &[DeviceStatus],
    tcp: &InTcp,
) -> Result<(), Failure> {
    if args.json {
        let found: Vec<Value> = found.iter().map(DeviceStatus::json).collect();
        let [tcp, abandoned] = tcp.json();
        let value = json!({ "devices": found, "tcp": tcp, "tcp_abandoned": abandoned });
        return match args.watch {
            true => console.print(&format!("{value}\n")),
            false => console.print_json(&value),
        };
    }
    let mut texts: Vec<String> = found.iter().map(DeviceStatus::text).collect();
    texts.extend(tcp.texts());
    match texts.is_empty() {
        true if args.tcp => console.print(NOTHING_IN_TCP),
        true => console.print(NOTHING_DEPLOYED),
        false => console.print(&texts.join("\n")),
    }
}
