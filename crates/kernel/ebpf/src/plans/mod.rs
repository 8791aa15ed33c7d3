//! Classes of customers by their addresses: the program that gives each packet that a device sends the class of the customer
//! with the longest prefix.

#[cfg(feature = "ebpf")]
mod device;
#[cfg(not(feature = "ebpf"))]
#[path = "program_unavailable.rs"]
mod program;
#[cfg(feature = "ebpf")]
mod program;

#[cfg(feature = "ebpf")]
pub use device::PlansAtDevice;
#[cfg(not(feature = "ebpf"))]
pub use program::PlansAtDevice;
pub use program::PlansProgram;

use crate::Link;

/// Whose packets they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlansAddress {
    /// The customer of their source.
    Source,
    /// The customer of their destination.
    Destination,
}

/// What the program must know before it is loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlansSettings {
    /// The header before IP packets at the device.
    pub link: Link,
    /// Which address says whose packets they are.
    pub address: PlansAddress,
    /// The major number of HTB, whose classes are those of customers.
    pub root: u16,
    /// The class of addresses of nobody.
    pub unknown: u16,
}

/// An address as one of IPv6, in the order of the network, and how many of its first bits count.
pub type PlansPrefix = ([u8; 16], u8);

/// Packets, and their bytes as the device sends them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PlansCount {
    /// Packets, each segment of large ones counted.
    pub packets: u64,
    /// Bytes.
    pub bytes: u64,
}

/// What the program has seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PlansCounts {
    /// Packets of customers.
    pub customers: PlansCount,
    /// Packets of IP with addresses of nobody.
    pub unknown: PlansCount,
    /// What passes all classes: what is no IP, IPv6's neighbour discovery, and packets to groups of the link.
    pub past_classes: PlansCount,
}
