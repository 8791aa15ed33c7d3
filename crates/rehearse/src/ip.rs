//! Which version of IP the workloads of a rehearsal speak.

use shortflow_elements::Address;
use shortflow_scenario::NodeId;

/// A version of IP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum IpVersion {
    /// IPv4, as in a simulation.
    #[default]
    V4,
    /// IPv6. Packets are as large as over IPv4, so each carries 20 bytes less of data.
    V6,
}

impl IpVersion {
    /// The address of a node.
    pub(crate) fn address(self, node: NodeId) -> Address {
        match self {
            IpVersion::V4 => node.address(),
            IpVersion::V6 => node.address_v6(),
        }
    }

    /// Bytes of the header without options.
    pub(crate) const fn header(self) -> u32 {
        match self {
            IpVersion::V4 => 20,
            IpVersion::V6 => 40,
        }
    }

    /// Bytes by which the header is longer than that of IPv4, for which scenarios are written.
    pub(crate) const fn more(self) -> u32 {
        self.header() - IpVersion::V4.header()
    }
}
