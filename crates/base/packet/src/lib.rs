//! What a packet is: its descriptor, its flow, its code point, and what the kernel of a source host knows about
//! its sender.
//!
//! ```
//! use shortflow_packet::{Dscp, FlowKey, Packet, Protocol};
//!
//! let key = FlowKey { src_port: 443, ..FlowKey::default() };
//! let packet = Packet { size: 1500, payload: 1460, key, dscp: "AF11".parse()?, ..Packet::default() };
//! assert_eq!(packet.key.reversed().dst_port, 443);
//! assert_eq!((packet.key.protocol, packet.dscp), (Protocol::TCP, Dscp::AF11));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What this crate does not know
//!
//! - **The bytes of a header**: `shortflow-wire` reads and writes them.
//! - **What a node does**: meters, markers and queues are in `shortflow-elements`.
//! - **Time**: a descriptor has no age.

mod address;
mod code_point;
mod flow;
mod packet;
mod sender;

pub use address::{Address, ParseAddressError, Prefix, PrefixError};
pub use code_point::{Dscp, Ecn, ParseDscpError, TrafficClass};
pub use flow::{FlowKey, Protocol};
pub use packet::{FrameId, Packet, TcpFlags};
pub use sender::{Label, ObjectView, Phase, SenderEvent, SenderUpdate, SenderView};
