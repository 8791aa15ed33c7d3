//! What the router does otherwise than the policy says.

use shortflow_deploy::Warning;
use shortflow_policy::{QueueLimit, Role};
use shortflow_units::Length;

use crate::Error;
use crate::frames::MAX_FRAMES;
use crate::ip::described;
use crate::plan::Plan;
use crate::socket::MAX_FRAME;

/// Bytes of an Ethernet header with two VLAN tags, and of a full packet.
const HEADER: u32 = 22;
const FULL_PACKET: u64 = 1500;

/// Limits above what the router keeps, and devices with longer frames than it takes.
///
/// # Errors
/// If `ip` cannot be run or read.
pub fn warnings(plan: &Plan<'_>, devices: [&str; 2]) -> Result<Vec<Warning>, Error> {
    let mut found: Vec<Warning> = plan.roles().iter().filter_map(|role| of_limits(role)).collect();
    for device in devices {
        let mtu = described(device)?["mtu"].as_u64().unwrap_or(0);
        let largest = MAX_FRAME - HEADER;
        if mtu > u64::from(largest) {
            let what = format!(
                "{device} has an MTU of {mtu} bytes: frames longer than {MAX_FRAME} bytes pass unshaped, by the bridge"
            );
            let remedy =
                format!("set a smaller MTU at both ends: ip link set dev {device} mtu {largest}");
            found.push(Warning { what, remedy });
        }
    }
    Ok(found)
}

/// The packets of a limit, at least: those of a limit in bytes may be shorter.
fn packets(of: &QueueLimit) -> u64 {
    match of.limit {
        Length::Packets(packets) => packets,
        Length::Bytes(bytes) => bytes.0 / FULL_PACKET,
    }
}

fn of_limits(role: &Role) -> Option<Warning> {
    let largest = role.limits.iter().max_by_key(|limit| packets(limit))?;
    let all: u64 = role.limits.iter().map(packets).fold(0, u64::saturating_add);
    if all <= MAX_FRAMES as u64 {
        return None;
    }
    let QueueLimit { key, limit, .. } = largest;
    let more = match role.limits.len() - 1 {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    Some(Warning {
        what: format!(
            "role {:?} may queue {all} packets ({key} = {limit}{more}), and the router drops those above {MAX_FRAMES} in \
             each direction",
            role.name
        ),
        remedy: format!("set a smaller limit: --set '{key}=1000 pkt'"),
    })
}
