//! The bridge that forwards packets while no router does.

use std::process::Command;

use serde_json::Value;
use shortflow_deploy::link;

use crate::Error;

/// The name of a bridge that is made here, with the first number that is free.
const PREFIX: &str = "sfbr";

/// Two devices in one bridge.
#[derive(Debug)]
pub struct Bridge {
    /// Its name.
    pub name: String,
    /// Whether it was made by [`Bridge::join`].
    pub is_new: bool,
    /// The numbers of the two devices.
    pub(crate) devices: [u32; 2],
    /// The Ethernet addresses of the bridge and of the two devices.
    pub(crate) addresses: [[u8; 6]; 3],
}

impl Bridge {
    /// The bridge that both devices belong to; a new one if they belong to none.
    ///
    /// # Errors
    /// If a device does not exist, has an address of its own, or belongs to something else.
    pub fn join(devices: [&str; 2]) -> Result<Bridge, Error> {
        let [first, second] = devices;
        if first == second {
            return Err(Error::SameDevice(first.to_owned()));
        }
        let numbers = [link(first)?.index, link(second)?.index];
        let [one, two] = [described(first)?, described(second)?];
        let master = |device: &Value| device["master"].as_str().map(str::to_owned);
        let (name, is_new) = match (master(&one), master(&two)) {
            (Some(one), Some(two)) if one == two => (one, false),
            (Some(master), _) => return Err(Error::InAnother { device: first.to_owned(), master }),
            (_, Some(master)) => {
                return Err(Error::InAnother { device: second.to_owned(), master });
            }
            (None, None) => {
                may_join(first, &one)?;
                may_join(second, &two)?;
                (made(devices)?, true)
            }
        };
        // A port changes no address, but a bridge may take that of a port.
        let bridge = described(&name)?;
        let addresses =
            [ethernet(&name, &bridge)?, ethernet(first, &one)?, ethernet(second, &two)?];
        Ok(Bridge { name, is_new, devices: numbers, addresses })
    }
}

/// Makes a bridge of the devices, which forwards at once.
fn made(devices: [&str; 2]) -> Result<String, Error> {
    let name = free_name()?;
    // Without a forward delay, ports forward as soon as they join.
    ip(&["link", "add", &name, "type", "bridge", "forward_delay", "0", "stp_state", "0"])?;
    let joined = devices.iter().try_for_each(|device| {
        ip(&["link", "set", device, "master", &name])?;
        ip(&["link", "set", device, "up"])
    });
    let up = joined.and_then(|()| ip(&["link", "set", &name, "up"]));
    match up {
        Ok(()) => Ok(name),
        Err(error) => {
            // The first error counts; without the bridge the devices are as before.
            let _ = ip(&["link", "del", &name]);
            Err(error)
        }
    }
}

fn free_name() -> Result<String, Error> {
    let all = listed(&["-j", "link", "show"])?;
    let is_taken = |name: &String| all.iter().any(|link| link["ifname"] == name.as_str());
    let mut names = (0..).map(|number| format!("{PREFIX}{number}"));
    Ok(names.find(|name| !is_taken(name)).expect("there are fewer devices than numbers"))
}

/// A device that has an address would lose it. Addresses of the link alone are no loss.
fn may_join(name: &str, device: &Value) -> Result<(), Error> {
    let addresses = device["addr_info"].as_array().into_iter().flatten();
    let mut global = addresses.filter(|address| address["scope"] != "link");
    match global.find_map(|address| address["local"].as_str()) {
        Some(address) => {
            Err(Error::HasAddress { device: name.to_owned(), address: address.to_owned() })
        }
        None => Ok(()),
    }
}

fn ethernet(name: &str, device: &Value) -> Result<[u8; 6], Error> {
    let none = || Error::NoEthernet { device: name.to_owned() };
    let text = device["address"].as_str().filter(|_| device["link_type"] == "ether");
    let bytes = text.ok_or_else(none)?.split(':').map(|byte| u8::from_str_radix(byte, 16));
    let bytes = bytes.collect::<Result<Vec<u8>, _>>().map_err(|_| none())?;
    bytes.try_into().map_err(|_| none())
}

fn described(device: &str) -> Result<Value, Error> {
    let found = listed(&["-j", "addr", "show", "dev", device])?;
    Ok(found.into_iter().next().unwrap_or_default())
}

fn listed(arguments: &[&str]) -> Result<Vec<Value>, Error> {
    let output = run(arguments)?;
    serde_json::from_slice(&output).map_err(|error| failed(arguments, &error.to_string()))
}

fn ip(arguments: &[&str]) -> Result<(), Error> {
    run(arguments).map(|_| ())
}

fn run(arguments: &[&str]) -> Result<Vec<u8>, Error> {
    let output = Command::new("ip").args(arguments).output();
    let output = output.map_err(|error| failed(arguments, &error.to_string()))?;
    match output.status.success() {
        true => Ok(output.stdout),
        false => Err(failed(arguments, String::from_utf8_lossy(&output.stderr).trim())),
    }
}

fn failed(arguments: &[&str], why: &str) -> Error {
    Error::Command { command: format!("ip {}", arguments.join(" ")), why: why.to_owned() }
}
