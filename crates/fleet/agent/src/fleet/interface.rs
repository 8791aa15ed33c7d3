//! What an interface of a machine is: one device, two devices between which packets are routed inline, or its own TCP.

use std::collections::BTreeMap;

use shortflow_deploy::{Wanted, is_plain, may_be_device};

use super::file::InterfaceFile;
use super::remarks::Remarks;
use super::{Between, TCP};

/// What names of devices are, for messages.
const DEVICE_RULE: &str = "use a name as in `ip link`: 1 to 15 letters, digits and . _ - @ +";
const EITHER: &str = "give one device, as in device = \"eth0\", two to route between them, as in between = [\"eth1\", \"eth2\"], or \
                      the machine's own TCP, as in tcp = {}";

impl InterfaceFile {
    /// The name under which its state is kept. No device has a comma in its name.
    pub(super) fn name(&self) -> String {
        match &self.device {
            Some(device) => device.clone(),
            None if self.tcp.is_some() => TCP.to_owned(),
            None => self.between.iter().flatten().cloned().collect::<Vec<_>>().join(","),
        }
    }

    /// The two devices between which packets are routed.
    pub(super) fn between(&self) -> Option<Between> {
        let devices = self.between.clone()?.try_into().ok()?;
        Some(Between { devices, rate_back: self.rate_back })
    }
}

/// Notes the mistakes of an interface at `path`. `seen` has the devices of the machine so far, each with its interface.
pub(super) fn check<'f>(
    path: &dyn Fn() -> String,
    (name, of): (&'f str, &'f InterfaceFile),
    seen: &mut BTreeMap<&'f str, &'f str>,
    remarks: &mut Remarks<'_>,
) {
    let InterfaceFile { device, between, tcp, rate, rate_back, link_layer: _ } = of;
    check_kind(path, of, remarks);
    if tcp.is_some() {
        return check_tcp(path, (name, of), seen, remarks);
    }
    for (key, device) in device
        .iter()
        .map(|device| ("device", device))
        .chain(between.iter().flatten().map(|device| ("between", device)))
    {
        let at = || format!("{}.{key}", path());
        if !is_plain(device) || !may_be_device(device) {
            remarks.mistake(&at(), format!("invalid device name {device:?}"), DEVICE_RULE);
        } else if let Some(other) = seen.insert(device, name) {
            let what = match other == name {
                true => format!("both devices are `{device}`"),
                false => format!("the interface `{other}` already uses the device `{device}`"),
            };
            let help = "a device can belong to one interface: remove one of them";
            remarks.mistake(&at(), what, help);
        }
    }
    if between.is_some() && device.is_none() && rate.is_none() {
        let what = "an interface between two devices needs a `rate`";
        let help = "set it slightly below that of the bottleneck: rate = \"95 Mbit/s\"";
        remarks.mistake_in_key(&path(), what, help);
    }
    if rate_back.is_some() && between.is_none() {
        let help = "omit it: `deploy` shapes the packets that a device sends";
        let what = "`rate_back` belongs to an interface with `between`";
        remarks.mistake(&format!("{}.rate_back", path()), what, help);
    }
    for (key, rate) in [("rate", rate), ("rate_back", rate_back)] {
        if let Some(rate) = rate.filter(|rate| *rate < Wanted::MIN_RATE) {
            let what = format!("{key} {rate} is too low: the minimum is {}", Wanted::MIN_RATE);
            let help = "give a rate slightly below that of the bottleneck";
            remarks.mistake(&format!("{}.{key}", path()), what, help);
        }
    }
}

/// Notes an interface that is nothing, or two things.
fn check_kind(path: &dyn Fn() -> String, of: &InterfaceFile, remarks: &mut Remarks<'_>) {
    let InterfaceFile { device, between, tcp, .. } = of;
    match (device, between) {
        (Some(_), Some(_)) => {
            let what = "this interface has both `device` and `between`";
            remarks.mistake(&format!("{}.between", path()), what, EITHER);
        }
        (Some(_), None) | (None, Some(_)) if tcp.is_some() => {
            let what = "this interface has both `tcp` and a device";
            remarks.mistake(&format!("{}.tcp", path()), what, EITHER);
        }
        (None, None) if tcp.is_none() => {
            let what = "this interface has neither `device` nor `between` nor `tcp`";
            remarks.mistake_in_key(&path(), what, EITHER);
        }
        (None, Some(devices)) if devices.len() != 2 => {
            let what = format!("`between` names {} devices", devices.len());
            remarks.mistake(&format!("{}.between", path()), what, EITHER);
        }
        _ => {}
    }
}

/// Notes the mistakes of an interface that is the machine's own TCP.
fn check_tcp<'f>(
    path: &dyn Fn() -> String,
    (name, of): (&'f str, &'f InterfaceFile),
    seen: &mut BTreeMap<&'f str, &'f str>,
    remarks: &mut Remarks<'_>,
) {
    let InterfaceFile { device: _, between: _, tcp, rate, rate_back, link_layer } = of;
    if let Some(tcp) = tcp {
        tcp.check(&format!("{}.tcp", path()), remarks);
    }
    if let Some(other) = seen.insert(TCP, name) {
        let what = format!("the interface `{other}` already is the TCP of this machine");
        remarks.mistake(&format!("{}.tcp", path()), what, "remove one of them");
    }
    let others = [
        ("rate", rate.is_some()),
        ("rate_back", rate_back.is_some()),
        ("link_layer", link_layer.is_some()),
    ];
    for (key, _) in others.into_iter().filter(|(_, is_given)| *is_given) {
        let what =
            format!("`{key}` has no effect in TCP: the policy's `aggregate-shaper` has the rate");
        let help = format!("remove `{key}`; an assignment changes the policy with `set`");
        remarks.mistake(&format!("{}.{key}", path()), what, &help);
    }
}
