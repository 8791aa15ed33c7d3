//! Encodes and decodes packet headers.
//!
//! Each protocol has one file with `parse` and its inverse `emit`. [`Layers`] parses a whole packet:
//! addresses, protocol, ports, the TCP header, and the position of the DS field, where [`DsPlace`] can
//! rewrite DSCP and ECN. The input is untrusted: no bytes make this crate panic, read outside the slice, or
//! allocate.
//!
//! | file | headers |
//! |---|---|
//! | `ethernet` | Ethernet II; 802.1Q and 802.1ad tags |
//! | `ipv4`, `ipv6`, `extension` | IP with options, fragments and extension headers |
//! | `tcp`, `tcp_options`, `udp`, `icmp` | what IP carries |
//! | `checksum` | the Internet checksum, also updated in place |
//! | `layers`, `rewrite` | a whole packet; its DS field |
//! | `descriptor` | the descriptor of a parsed packet, for elements; alone knows them |
//!
//! ```
//! use shortflow_wire::{DsField, IpProtocol, Ipv4Header, Layers, Transport, UdpHeader};
//!
//! // A datagram of 12 bytes from 10.0.0.1:5004 to 10.0.0.2:5006, emitted ...
//! let ip = Ipv4Header {
//!     total_length: 40,
//!     protocol: IpProtocol::UDP,
//!     ..Ipv4Header::between([10, 0, 0, 1].into(), [10, 0, 0, 2].into())
//! };
//! let udp = UdpHeader { source_port: 5004, destination_port: 5006, length: 20, checksum: 0 };
//! let mut bytes = [0; 40];
//! let at = ip.with_checksum().emit(&mut bytes)?;
//! udp.emit(&mut bytes[at..])?;
//!
//! // ... and parsed again.
//! let layers = Layers::of_ip(&bytes);
//! assert_eq!(layers.transport, Transport::Udp(udp));
//!
//! // A router marks it as Expedited Forwarding; the header's checksum stays correct.
//! let place = layers.ds_place().expect("it is an IP packet");
//! place.write(&mut bytes, DsField::new(46, 0))?;
//! assert_eq!(Layers::of_ip(&bytes).ds_place().map(|place| place.ds.dscp()), Some(46));
//! assert!(Ipv4Header::parse(&bytes)?.is_checksum_right());
//! # Ok::<(), shortflow_wire::WireError>(())
//! ```
//!
//! # What this crate does not know
//!
//! - The behaviour of elements, policies and simulations: it fills the descriptor of elements, and writes back
//!   the code point that they choose.
//! - Reassembly: a later fragment has no ports, and no state is kept between packets.
//! - IPv6 jumbograms, and packets that an interface will segment (with an IP length of 0): they count as headers
//!   with an invalid length.
//! - PPPoE, MPLS, tunnels, 802.3 frames with LLC, ARP: parsing ends there and returns the EtherType.
//! - The content of ESP, and whether an authentication header is valid.
//! - Whether checksums of payloads are correct: only callers that check one pay for reading the payload.

#![no_std]

mod bytes;
pub mod checksum;
mod descriptor;
mod ds;
mod ethernet;
mod extension;
mod icmp;
mod ipv4;
mod ipv6;
mod layers;
mod protocol;
mod rewrite;
mod tcp;
mod tcp_options;
mod udp;

pub use bytes::{OptionBytes, WireError};
pub use ds::DsField;
pub use ethernet::{EtherType, EthernetHeader, MacAddress, VlanTag};
pub use extension::{AuthenticationHeader, Extension, Extensions, FragmentHeader, OpaqueExtension};
pub use icmp::IcmpHeader;
pub use ipv4::{Fragmentation, Ipv4Header};
pub use ipv6::{FlowLabel, Ipv6Header};
pub use layers::{Fragment, Ip, Layers, Ports, Stop, Tags, Transport};
pub use protocol::IpProtocol;
pub use rewrite::DsPlace;
pub use tcp::{ControlBits, TcpHeader};
pub use tcp_options::{SackBlock, SackList, TcpOption, TcpOptions};
pub use udp::UdpHeader;
