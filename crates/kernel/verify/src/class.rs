//! The classes to test, and how a probe enters each.

use shortflow_packet::Dscp;

/// A class, and what gets into it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Class {
    /// What it is called.
    pub name: String,
    /// The code point of the probes.
    pub code_point: Dscp,
    /// How they travel.
    pub way: Way,
}

/// How a probe travels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// A datagram to the peer's port, which comes back.
    Datagram,
    /// The beginning of a connection to this port, which the peer's kernel accepts or refuses.
    Connection(u16),
}

impl Class {
    /// As in `EF`, or `TCP to port 80`.
    pub fn probed_by(&self) -> String {
        let code_point = match self.code_point {
            Dscp::BEST_EFFORT => String::new(),
            marked => format!(" {marked}"),
        };
        match self.way {
            Way::Datagram => format!("UDP{code_point}"),
            Way::Connection(port) => format!("TCP{code_point} to port {port}"),
        }
    }
}
