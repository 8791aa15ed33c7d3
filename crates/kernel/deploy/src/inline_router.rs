//! Routers of `inline`: a router in user space takes the packets of its devices before any queue of the kernel sees them.

use std::fmt;

use serde_json::Value;
use shortflow_ebpf::InlineProgram;

use crate::device::Links;
use crate::error::Error;

/// A running router.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InlineRouter {
    /// The devices that it routes between.
    pub devices: Vec<String>,
}

impl fmt::Display for InlineRouter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the inline router between {}", self.devices.join(" and "))
    }
}

/// The running router that has a device, found by its XDP program there. `None` without one, and where the process may not
/// read the names of programs.
///
/// # Errors
/// When `ip` cannot be run or read.
pub fn inline_router(device: &str) -> Result<Option<InlineRouter>, Error> {
    Ok(InlineRouter::from_links(Links::read()?.all(), device))
}

impl InlineRouter {
    fn from_links(links: &[Value], device: &str) -> Option<InlineRouter> {
        let held = links.iter().find(|link| link["ifname"] == device && has_program(link))?;
        let is_beside = |link: &&Value| link["master"] == held["master"] && has_program(link);
        let names = links.iter().filter(is_beside).filter_map(|link| link["ifname"].as_str());
        Some(InlineRouter { devices: names.map(str::to_owned).collect() })
    }
}

/// Whether the program of a router is attached.
fn has_program(link: &Value) -> bool {
    link["xdp"]["prog"]["name"].as_str().is_some_and(|name| InlineProgram::NAMES.contains(&name))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_router_is_known_by_its_program_and_its_other_device_by_the_bridge() {
        let link = |name: &str, bridge: &str, program: &str| {
            let xdp = json!({ "mode": 1, "prog": { "id": 7, "name": program } });
            json!({ "ifname": name, "master": bridge, "xdp": xdp })
        };
        let links = [
            json!({ "ifname": "lo" }),
            link("eth1", "sfbr0", "in_pieces"),
            link("eth2", "sfbr0", "in_pieces"),
            link("eth3", "sfbr1", "in_one_piece"),
            link("eth4", "sfbr1", "in_one_piece"),
            link("eth5", "sfbr0", "filter"),
        ];
        let found = |device| InlineRouter::from_links(&links, device).map(|it| it.to_string());
        assert_eq!(found("eth2").unwrap(), "the inline router between eth1 and eth2");
        assert_eq!(found("eth3").unwrap(), "the inline router between eth3 and eth4");
        assert_eq!((found("lo"), found("eth5"), found("eth9")), (None, None, None));
    }
}
