//! Devices, as `ip` describes and changes them.

use std::process::Command;

use serde_json::Value;
use shortflow_deploy::start_remedy;

use crate::Error;

/// A device with its addresses.
pub(crate) fn described(device: &str) -> Result<Value, Error> {
    let found = listed(&["-d", "-j", "addr", "show", "dev", device])?;
    Ok(found.into_iter().next().unwrap_or_default())
}

/// All devices.
pub(crate) fn all() -> Result<Vec<Value>, Error> {
    listed(&["-d", "-j", "link", "show"])
}

/// The ports of a bridge.
pub(crate) fn ports(bridge: &str) -> Result<Vec<Value>, Error> {
    listed(&["-d", "-j", "link", "show", "master", bridge])
}

/// Whether a device is switched on. One without a cable is, too.
pub(crate) fn is_up(device: &Value) -> bool {
    device["flags"].as_array().is_some_and(|flags| flags.iter().any(|flag| flag == "UP"))
}

/// Puts a device into a bridge, and switches it on.
pub(crate) fn put_into(bridge: &str, device: &str) -> Result<(), Error> {
    ip(&["link", "set", "dev", device, "master", bridge])?;
    ip(&["link", "set", "dev", device, "up"])
}

/// Runs `ip`.
pub(crate) fn ip(arguments: &[&str]) -> Result<(), Error> {
    run(arguments).map(|_| ())
}

fn listed(arguments: &[&str]) -> Result<Vec<Value>, Error> {
    let output = run(arguments)?;
    serde_json::from_slice(&output).map_err(|error| {
        failed(arguments, &error.to_string(), "supported are iproute2 6.1 and newer")
    })
}

fn run(arguments: &[&str]) -> Result<Vec<u8>, Error> {
    let output = Command::new("ip").args(arguments).output();
    let output =
        output.map_err(|error| failed(arguments, &error.to_string(), start_remedy(&error)))?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let why = String::from_utf8_lossy(&output.stderr);
    Err(failed(arguments, why.trim(), remedy(&why)))
}

/// What to do after `ip` has failed.
fn remedy(why: &str) -> &'static str {
    if why.contains("not permitted") {
        "run it as root (sudo); it requires the capability CAP_NET_ADMIN"
    } else if why.contains("Unknown device type") || why.contains("not supported") {
        "use a kernel built with CONFIG_BRIDGE, and devices that may be ports of a bridge"
    } else {
        "use devices that may be ports of a bridge; `ip -d link` describes them"
    }
}

fn failed(arguments: &[&str], why: &str, remedy: &'static str) -> Error {
    Error::Command { command: format!("ip {}", arguments.join(" ")), why: why.to_owned(), remedy }
}
