//! Devices of the network namespace of the thread.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use nix::net::if_::{if_nameindex, if_nametoindex};
use serde_json::Value;
use shortflow_units::{Bytes, Rate};

use crate::error::Error;

/// What is known of a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// Its name.
    pub name: String,
    /// Its number.
    pub index: u32,
    /// Bytes that it puts before each IP packet.
    pub header: u64,
    /// How fast it is, where it says so.
    pub speed: Option<Rate>,
}

/// The bytes of an Ethernet header.
const ETHERNET: u64 = 14;

/// The device of this name.
///
/// # Errors
/// When the device does not exist, its name is invalid, or `ip` cannot be run.
pub fn link(name: &str) -> Result<Link, Error> {
    check_name(name)?;
    Links::read()?.link(name)
}

/// The device of this name, on which a command may deploy.
///
/// # Errors
/// As [`link`], and when it is an ifb device of ours: what another device receives passes through it.
pub fn own_link(name: &str) -> Result<Link, Error> {
    check_name(name)?;
    let links = Links::read()?;
    let found = links.link(name)?;
    links.refuse_ifb(name)?;
    Ok(found)
}

/// Refuses names that are no plain words, and such that no device has.
pub(crate) fn check_name(name: &str) -> Result<(), Error> {
    if name.is_empty() {
        return Err(Error::NoName);
    }
    if name.len() > MAX_NAME {
        return Err(Error::LongName { device: name.to_owned() });
    }
    match is_plain(name) {
        true => Ok(()),
        false => Err(Error::OddName { device: name.to_owned() }),
    }
}

/// Whether tc and shells read a name as a single plain word. The kernel allows more.
pub fn is_plain(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-@:+".contains(&byte);
    !name.is_empty() && !name.starts_with('-') && name.bytes().all(plain)
}

/// The longest name of a device, in bytes (IFNAMSIZ without the zero at its end).
const MAX_NAME: usize = 15;

/// Whether the kernel takes a name for that of a device (`dev_valid_name`); of plain names it refuses these.
pub fn may_be_device(name: &str) -> bool {
    name.len() <= MAX_NAME && !name.contains(':') && name != "." && name != ".."
}

/// The numbers of all devices that have plain names, by these: a device keeps its number when it is renamed.
///
/// # Errors
/// When `ip` cannot be run or read.
pub fn numbers() -> Result<BTreeMap<String, u32>, Error> {
    Ok(Links::read()?.numbers())
}

/// The number of a device of this name, by a system call.
pub(crate) fn index_of(name: &str) -> Option<u32> {
    if_nametoindex(name).ok()
}

/// The numbers of all devices, whatever their names, by a system call.
pub(crate) fn indexes() -> Result<BTreeSet<u32>, Error> {
    let all = if_nameindex().map_err(|errno| {
        let source = std::io::Error::from(errno);
        Error::Machine { what: "cannot list network devices", source }
    })?;
    Ok(all.iter().map(nix::net::if_::Interface::index).collect())
}

/// What the device of this name has sent so far, in bytes as the kernel counts them.
///
/// # Errors
/// As [`link`].
pub fn sent(name: &str) -> Result<Bytes, Error> {
    check_name(name)?;
    let found = described(&["-s", "-j", "link", "show", "dev", name])?;
    let bytes = found.first().and_then(|link| link["stats64"]["tx"]["bytes"].as_u64());
    Ok(Bytes(bytes.unwrap_or_default()))
}

/// What `ip` says of devices.
fn described(arguments: &[&str]) -> Result<Vec<Value>, Error> {
    let output = Command::new("ip").args(arguments).output();
    let output = output.map_err(|source| Error::NoProgram { program: "ip", source })?;
    let unreadable =
        |message| Error::Unreadable { command: format!("ip {}", arguments.join(" ")), message };
    if !output.status.success() {
        return Err(unreadable(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| unreadable(error.to_string()))
}

/// All devices, as `ip` describes them at one time.
pub(crate) struct Links(Vec<Value>);

impl Links {
    /// All that are there now.
    pub(crate) fn read() -> Result<Links, Error> {
        described(&["-d", "-j", "link", "show"]).map(Links)
    }

    /// Each as `ip` describes it.
    pub(crate) fn all(&self) -> &[Value] {
        &self.0
    }

    /// The one of this name.
    pub(crate) fn link(&self, name: &str) -> Result<Link, Error> {
        let there = || self.0.iter().filter_map(|link| link["ifname"].as_str()).map(str::to_owned);
        let found = self.0.iter().find(|link| link["ifname"] == name);
        let found = found
            .ok_or_else(|| Error::NoDevice { device: name.to_owned(), there: there().collect() })?;
        let header = match found["link_type"].as_str() {
            Some("ether" | "loopback") => ETHERNET,
            _ => 0,
        };
        let index = found["ifindex"].as_u64().unwrap_or_default() as u32;
        Ok(Link { name: name.to_owned(), index, header, speed: speed(name, &found["ifindex"]) })
    }

    /// The names of all that have plain ones; on others nothing is deployed.
    pub(crate) fn names(&self) -> Vec<String> {
        let names = self.0.iter().filter_map(|link| link["ifname"].as_str());
        names.filter(|name| is_plain(name)).map(str::to_owned).collect()
    }

    /// The numbers of all that have plain names.
    pub(crate) fn numbers(&self) -> BTreeMap<String, u32> {
        let number = |link: &Value| {
            let name = link["ifname"].as_str().filter(|name| is_plain(name))?;
            Some((name.to_owned(), u32::try_from(link["ifindex"].as_u64()?).ok()?))
        };
        self.0.iter().filter_map(number).collect()
    }

    /// The ifb devices of ours.
    pub(crate) fn ifbs(&self) -> Vec<Ifb> {
        self.0.iter().filter_map(Ifb::from_link).collect()
    }

    /// Refuses an ifb device of ours, unless the device that it belongs to is gone.
    pub(crate) fn refuse_ifb(&self, device: &str) -> Result<(), Error> {
        let Some(ifb) = self.ifbs().into_iter().find(|ifb| ifb.name == device) else {
            return Ok(());
        };
        match self.numbers().into_iter().find(|(_, index)| *index == ifb.of) {
            Some((of, _)) => Err(Error::OfIngress { device: device.to_owned(), of }),
            None => Ok(()),
        }
    }
}

/// A device (ifb) of ours, through which packets pass that another device receives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ifb {
    /// Its name.
    pub(crate) name: String,
    /// The index of the device that receives the packets.
    pub(crate) of: u32,
    /// Whether it is switched on: otherwise the kernel drops what is sent to it.
    pub(crate) is_up: bool,
}

/// The group of an ifb device of ours, less the index of the device that receives the packets. The kernel sets it in the
/// step in which it makes the device, and it stays when one of both is renamed.
const GROUP: u32 = 0x5f00_0000;
/// The largest index that a group has room for.
const MAX_INDEX: u32 = 0x00ff_ffff;

impl Ifb {
    fn from_link(link: &Value) -> Option<Ifb> {
        let group: u32 = link["group"].as_str()?.parse().ok()?;
        let is_ours = link["linkinfo"]["info_kind"] == "ifb" && group & !MAX_INDEX == GROUP;
        let name = link["ifname"].as_str().filter(|name| is_ours && is_plain(name))?.to_owned();
        let is_up = link["flags"].as_array().is_some_and(|flags| flags.iter().any(|it| it == "UP"));
        Some(Ifb { name, of: group & MAX_INDEX, is_up })
    }

    /// The group of the one for a device with this index.
    pub(crate) fn group(index: u32) -> u32 {
        GROUP | (index & MAX_INDEX)
    }

    /// The name that the one for a device gets where these names are taken.
    pub(crate) fn name_for(device: &Link, taken: &[String]) -> String {
        let name = format!("sf-{}", device.name);
        match name.len() <= MAX_NAME && !taken.contains(&name) {
            true => name,
            false => format!("sf-{}", device.index),
        }
    }
}

/// What the device says of its speed, if the files that tell it are of this network namespace.
fn speed(name: &str, index: &Value) -> Option<Rate> {
    let read = |file: &str| std::fs::read_to_string(format!("/sys/class/net/{name}/{file}")).ok();
    let same = read("ifindex")?.trim().parse().ok() == index.as_u64();
    let megabits: u64 = read("speed")?.trim().parse().ok()?;
    (same && megabits > 0).then(|| Rate::from_bits_per_sec(megabits * 1_000_000))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_ifb_device_of_ours_is_known_by_its_group_and_kind() {
        let link = |group: &str, kind: &str| {
            json!({
                "ifname": "sf-eth0", "group": group, "flags": ["NOARP", "UP"],
                "linkinfo": { "info_kind": kind },
            })
        };
        let group = Ifb::group(7).to_string();
        let found = Ifb::from_link(&link(&group, "ifb"));
        assert_eq!(found, Some(Ifb { name: "sf-eth0".to_owned(), of: 7, is_up: true }));
        for (group, kind) in [("default", "ifb"), ("7", "ifb"), (&*group, "dummy")] {
            assert_eq!(Ifb::from_link(&link(group, kind)), None, "{group} {kind}");
        }
    }

    #[test]
    fn an_ifb_device_is_named_for_its_device_and_by_its_index_where_it_cannot_be() {
        let device = |name: &str| Link { name: name.to_owned(), index: 7, header: 14, speed: None };
        assert_eq!(Ifb::name_for(&device("twelve-bytes"), &[]), "sf-twelve-bytes");
        assert_eq!(Ifb::name_for(&device("thirteen-byte"), &[]), "sf-7");
        assert_eq!(Ifb::name_for(&device("eth0"), &["sf-eth0".to_owned()]), "sf-7");
    }

    #[test]
    fn a_name_that_a_shell_or_tc_would_take_for_more_is_refused() {
        for plain in ["eth0", "wlan0.7", "br-lan", "veth1@if2", "eth0:1"] {
            assert!(is_plain(plain), "{plain}");
        }
        for odd in ["-all", "a b", "$(reboot)", "a'b", "a;b", "#a", "a\nqdisc del lo", "ä"] {
            assert!(!is_plain(odd), "{odd}");
            assert!(matches!(link(odd), Err(Error::OddName { .. })), "{odd}");
        }
        assert!(!is_plain("") && matches!(link(""), Err(Error::NoName)));
        assert!(matches!(link("sixteen-letters-"), Err(Error::LongName { .. })));
    }
}
