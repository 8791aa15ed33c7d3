//! Checks which packets are meant.

use shortflow_elements::classifier::{AddressPrefix, DscpSet, MultiField, PortRange};
use shortflow_elements::{Address, Dscp, Protocol};

use super::Checker;
use crate::file::{MatchFile, PortsFile, ProtocolFile};

impl Checker<'_> {
    pub(super) fn rule(&mut self, path: &str, file: &MatchFile) -> MultiField {
        let mut at = |key: &str, text: &Option<String>| {
            text.as_ref().and_then(|text| self.prefix(&format!("{path}.{key}"), text))
        };
        let (src, dst) = (at("src", &file.src), at("dst", &file.dst));
        let mut at = |key: &str, ports: Option<PortsFile>| {
            let PortsFile(first, last) = ports?;
            self.accept(&format!("{path}.{key}"), PortRange::new(first, last))
        };
        MultiField {
            src,
            dst,
            src_ports: at("src_port", file.src_port),
            dst_ports: at("dst_port", file.dst_port),
            protocol: file.protocol.map(|protocol| match protocol {
                ProtocolFile::Tcp => Protocol::Tcp,
                ProtocolFile::Udp => Protocol::Udp,
            }),
            dscps: file.dscp.as_ref().map(|names| self.dscps(&format!("{path}.dscp"), names)),
        }
    }

    pub(super) fn prefix(&mut self, path: &str, text: &str) -> Option<AddressPrefix> {
        let (address, length) = text.split_once('/').unwrap_or((text, "32"));
        match (address.parse::<std::net::Ipv4Addr>(), length.parse()) {
            (Ok(address), Ok(length)) => {
                self.accept(path, AddressPrefix::new(Address(address.to_bits()), length))
            }
            _ => {
                let message = format!("\"{text}\" is no address");
                let help = "write an IPv4 address, or a prefix such as \"10.0.0.0/8\"";
                self.document.mistake(path, message, help);
                None
            }
        }
    }

    pub(super) fn dscps(&mut self, path: &str, names: &[String]) -> DscpSet {
        if names.is_empty() {
            let help = "name code points such as \"AF11\", or leave the key out";
            self.document.mistake(path, "the list is empty: nothing would match", help);
        }
        let each = names.iter().enumerate();
        each.map(|(index, name)| self.dscp(&format!("{path}.{index}"), name)).collect()
    }

    pub(super) fn dscp(&mut self, path: &str, text: &str) -> Dscp {
        text.parse().unwrap_or_else(|message: String| {
            let (message, help) = message.split_once("; ").unwrap_or((&message, ""));
            self.document.mistake(path, message, help);
            Dscp::BEST_EFFORT
        })
    }
}
