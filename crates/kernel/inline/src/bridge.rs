//! The bridge that forwards packets while no router does.

use serde_json::Value;
use shortflow_deploy::link;
use shortflow_ebpf::InlineProgram;

use crate::Error;
use crate::ip::{all, described, ip, is_up, ports, put_into};
use crate::occupied::has_no_router;

/// The name of a bridge that is made here, with the first number that is free.
const PREFIX: &str = "sfbr";

/// Two devices in one bridge, and nothing else in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bridge {
    /// Its name.
    pub name: String,
    /// Whether it was made by [`Bridge::join`].
    pub is_new: bool,
    /// The numbers of the two devices.
    pub(crate) devices: [u32; 2],
    /// The Ethernet addresses of the bridge, of the two devices, and others of this machine behind the bridge.
    pub(crate) addresses: Vec<[u8; 6]>,
}

impl Bridge {
    /// The bridge that both devices belong to; a new one if they belong to none.
    ///
    /// # Errors
    /// If a device does not exist, has an address of its own, or belongs to something else or to another router; if the bridge does more than
    /// to forward between the two; or if one of the three is down.
    pub fn join(devices: [&str; 2]) -> Result<Bridge, Error> {
        let [first, second] = devices;
        if first == second {
            return Err(Error::SameDevice(first.to_owned()));
        }
        link(first)?;
        link(second)?;
        let [one, two] = [described(first)?, described(second)?];
        for (name, device) in [(first, &one), (second, &two)] {
            if device["linkinfo"]["info_kind"] == "bridge" {
                return Err(Error::IsBridge { device: name.to_owned(), ports: port_names(name)? });
            }
            ethernet(name, device)?;
            has_no_router(name)?;
        }
        // The kernel names the other end only where it is in this network namespace.
        if one["linkinfo"]["info_kind"] == "veth" && one["link"] == second {
            return Err(Error::Peers { first: first.to_owned(), second: second.to_owned() });
        }
        may_join(first, &one)?;
        may_join(second, &two)?;
        let master = |device: &Value| device["master"].as_str().map(str::to_owned);
        let (name, is_new) = match (master(&one), master(&two)) {
            (Some(one), Some(two)) if one == two => (one, false),
            // A device that was removed and made again comes back to the bridge that was made here.
            (Some(bridge), None) if is_left_by(&bridge, first)? => {
                put_into(&bridge, second)?;
                (bridge, false)
            }
            (None, Some(bridge)) if is_left_by(&bridge, second)? => {
                put_into(&bridge, first)?;
                (bridge, false)
            }
            (Some(master), _) => return Err(Error::InAnother { device: first.to_owned(), master }),
            (_, Some(master)) => {
                return Err(Error::InAnother { device: second.to_owned(), master });
            }
            (None, None) => (made(devices)?, true),
        };
        let found = Bridge::examine(&name, devices, is_new);
        if found.is_err() && is_new {
            remove(&name);
        }
        found
    }

    /// The bridge as it is now.
    ///
    /// # Errors
    /// If it is gone, does more than to forward between the two devices, or cannot forward.
    pub(crate) fn examine(name: &str, devices: [&str; 2], is_new: bool) -> Result<Bridge, Error> {
        let refused =
            |what: String, undo: String| Err(Error::Bridge { bridge: name.to_owned(), what, undo });
        let bridge = described(name)?;
        let info = &bridge["linkinfo"];
        if info["info_kind"] != "bridge" {
            return refused("is no bridge".to_owned(), "put both devices into a bridge".to_owned());
        }
        for (key, what) in
            [("stp_state", "runs the spanning tree protocol"), ("vlan_filtering", "filters VLANs")]
        {
            if info["info_data"][key].as_u64().unwrap_or(0) != 0 {
                let undo =
                    format!("switch that off (`ip link set dev {name} type bridge {key} 0`)");
                return refused(what.to_owned(), undo);
            }
        }
        let ports = ports(name)?;
        let names: Vec<&str> = ports.iter().filter_map(|port| port["ifname"].as_str()).collect();
        if names.len() != 2 || devices.iter().any(|device| !names.contains(device)) {
            let others = names.iter().filter(|name| !devices.contains(name));
            let others: Vec<String> =
                others.map(|port| format!("`ip link set dev {port} nomaster`")).collect();
            let undo = format!("leave it two ports ({})", others.join(", "));
            return refused(format!("has the ports {}", names.join(", ")), undo);
        }
        if let Some(port) =
            ports.iter().find(|port| port["linkinfo"]["info_slave_data"]["isolated"] == true)
        {
            let port = port["ifname"].as_str().unwrap_or_default();
            let undo = format!(
                "switch that off (`ip link set dev {port} type bridge_slave isolated off`)"
            );
            return refused(format!("isolates its port {port}"), undo);
        }
        if let Some(down) = [&bridge].into_iter().chain(&ports).find(|device| !is_up(device)) {
            let down = down["ifname"].as_str().unwrap_or_default();
            return Err(Error::Down { device: down.to_owned() });
        }
        let [one, two] = [described(devices[0])?, described(devices[1])?];
        let mut addresses = vec![
            ethernet(name, &bridge)?,
            ethernet(devices[0], &one)?,
            ethernet(devices[1], &two)?,
        ];
        // Devices above the bridge, such as macvlan, have addresses of their own.
        let above = all()?;
        let above = above.iter().filter(|device| device["link"] == name);
        addresses.extend(above.filter_map(|device| ethernet("", device).ok()));
        addresses.sort_unstable();
        addresses.dedup();
        if addresses.len() > InlineProgram::MAX_OWN {
            let undo = "remove devices above it, such as macvlan devices".to_owned();
            return refused(format!("has {} addresses of this machine", addresses.len()), undo);
        }
        let index = |device: &Value| device["ifindex"].as_u64().unwrap_or_default() as u32;
        Ok(Bridge { name: name.to_owned(), is_new, devices: [index(&one), index(&two)], addresses })
    }

    /// Whether it was made by [`Bridge::join`], now or before: not by the user.
    pub fn is_made_here(&self) -> bool {
        has_our_name(&self.name)
    }

    /// Removes it if it is new: nothing has been routed, and the devices are as before.
    pub fn undo(&self) {
        if self.is_new {
            remove(&self.name);
        }
    }
}

fn remove(bridge: &str) {
    // What led here is the error that counts.
    let _ = ip(&["link", "del", "dev", bridge]);
}

/// Makes a bridge of the devices, which forwards at once.
fn made(devices: [&str; 2]) -> Result<String, Error> {
    let name = free_name()?;
    // Without a forward delay, ports forward as soon as they join.
    ip(&["link", "add", &name, "type", "bridge", "forward_delay", "0", "stp_state", "0"])?;
    let joined = devices.iter().try_for_each(|device| put_into(&name, device));
    let up = joined.and_then(|()| ip(&["link", "set", "dev", &name, "up"]));
    match up {
        Ok(()) => Ok(name),
        Err(error) => {
            remove(&name);
            Err(error)
        }
    }
}

/// Whether a bridge has a name of those that are made here.
fn has_our_name(bridge: &str) -> bool {
    bridge.strip_prefix(PREFIX).is_some_and(|number| number.parse::<u32>().is_ok())
}

fn port_names(bridge: &str) -> Result<Vec<String>, Error> {
    let names =
        ports(bridge)?.into_iter().filter_map(|port| port["ifname"].as_str().map(str::to_owned));
    Ok(names.collect())
}

/// Whether a bridge that was made here has this device, and no other one.
fn is_left_by(bridge: &str, device: &str) -> Result<bool, Error> {
    let ports = ports(bridge)?;
    Ok(has_our_name(bridge) && ports.len() == 1 && ports[0]["ifname"] == device)
}

fn free_name() -> Result<String, Error> {
    let all = all()?;
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
