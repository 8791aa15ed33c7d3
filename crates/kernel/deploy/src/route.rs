//! The route of packets to a peer.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::process::Command;

use serde_json::Value;

use crate::error::Error;

/// Where packets to a peer go, when they do not leave through the device that is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Astray {
    /// The peer's address is one of this very machine.
    Here,
    /// They leave through another device.
    Through(String),
}

/// Whether packets to `peer` leave through `device`, as far as the kernel's routes say, also through a device on top of it;
/// where else they go if not. Where there is no way to the peer nothing is said.
///
/// # Errors
/// When `ip` cannot be run or read.
pub fn astray(device: &str, peer: SocketAddr) -> Result<Option<Astray>, Error> {
    let links = ask(&["-d", "-j", "link", "show"])?.unwrap_or_default();
    let scope = match peer {
        SocketAddr::V6(peer) => peer.scope_id(),
        SocketAddr::V4(_) => 0,
    };
    // An address of one link alone says itself which one.
    if let Some(link) = links.iter().find(|link| scope != 0 && link["ifindex"] == scope) {
        return Ok(through(&links, device, link["ifname"].as_str().unwrap_or_default()));
    }
    let routes = ask(&["-j", "route", "get", &peer.ip().to_string()])?.unwrap_or_default();
    let Some(route) = routes.first() else { return Ok(None) };
    if route["type"] == "local" {
        return Ok(Some(Astray::Here));
    }
    Ok(route["dev"].as_str().and_then(|way| through(&links, device, way)))
}

/// That packets leave through `way`, unless this is `device` or stands on top of it.
fn through(links: &[Value], device: &str, way: &str) -> Option<Astray> {
    let mut seen = BTreeSet::new();
    let mut next = vec![way.to_owned()];
    while let Some(name) = next.pop() {
        if name == device {
            return None;
        }
        let below = links.iter().filter(|link| is_below(links, link, &name));
        next.extend(below.filter_map(|link| link["ifname"].as_str()).map(str::to_owned));
        if !seen.insert(name) {
            break;
        }
    }
    Some(Astray::Through(way.to_owned()))
}

/// Whether what the device `upper` sends may leave through `link`: a port of it, or what it stands on, as below a VLAN. The
/// other end of a cable (veth) is no such thing, though it is listed like one.
fn is_below(links: &[Value], link: &Value, upper: &str) -> bool {
    let is_upper = |link: &&Value| link["ifname"] == upper;
    let stands_on = links
        .iter()
        .find(is_upper)
        .is_some_and(|it| it["linkinfo"]["info_kind"] != "veth" && it["link"] == link["ifname"]);
    link["master"] == upper || stands_on
}

/// The answer of `ip`; `None` if it reports that there is no such thing.
fn ask(arguments: &[&str]) -> Result<Option<Vec<Value>>, Error> {
    let output = Command::new("ip").args(arguments).output();
    let output = output.map_err(|source| Error::NoProgram { program: "ip", source })?;
    if !output.status.success() {
        return Ok(None);
    }
    let command = || format!("ip {}", arguments.join(" "));
    let read = serde_json::from_slice(&output.stdout);
    read.map(Some)
        .map_err(|error| Error::Unreadable { command: command(), message: error.to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_leave_through_what_a_device_stands_on_and_not_through_the_other_end_of_a_cable() {
        let links: Vec<Value> = serde_json::from_str(
            r#"[{"ifname":"eth0","master":"br0"}, {"ifname":"br0"}, {"ifname":"wlan0"},
                {"ifname":"br0.7","link":"br0","linkinfo":{"info_kind":"vlan"}},
                {"ifname":"v0","link":"v1","linkinfo":{"info_kind":"veth"}},
                {"ifname":"v1","link":"v0","linkinfo":{"info_kind":"veth"}}]"#,
        )
        .unwrap();
        for (device, way) in
            [("eth0", "eth0"), ("eth0", "br0"), ("eth0", "br0.7"), ("br0", "br0.7")]
        {
            assert_eq!(through(&links, device, way), None, "{way} over {device}");
        }
        for (device, way) in [("eth0", "wlan0"), ("v0", "v1"), ("br0.7", "br0")] {
            assert_eq!(
                through(&links, device, way),
                Some(Astray::Through(way.to_owned())),
                "{way} over {device}"
            );
        }
    }
}
