//! Which packets are meant.

use std::fmt;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::{self, Deserializer, Visitor};
use shortflow_elements::classifier::{MultiField, PortRange, SenderMatch};
use shortflow_elements::{Address, Label, Prefix, Protocol};
use shortflow_units::Bytes;

use super::CodePoints;
use super::protocol::{ProtocolKey, without_ports};
use crate::check::Checker;

/// Conditions that a packet must all meet.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Match")]
pub(crate) struct MatchKeys {
    /// The transport protocol: a name, or a number from 0 to 255.
    pub(crate) protocol: Option<ProtocolKey>,
    /// Source addresses, such as "10.0.0.0/8" or "2001:db8::/32".
    pub(crate) src: Option<String>,
    /// Destination addresses, such as "10.0.0.0/8" or "2001:db8::/32".
    pub(crate) dst: Option<String>,
    /// A source port, or a range such as "1024-65535".
    pub(crate) src_port: Option<PortsKey>,
    /// A destination port, or a range such as "1024-65535".
    pub(crate) dst_port: Option<PortsKey>,
    /// Code points: one, or a list.
    pub(crate) dscp: Option<CodePoints>,
    /// The connection's label: its workload's name, or the label that the workload states. This and
    /// the next two are known at the connection's own host only.
    pub(crate) label: Option<String>,
    /// The connection has sent at most so much of its application's data before the packet.
    pub(crate) sent_up_to: Option<Bytes>,
    /// At most so much of what the application has handed in remains to be sent.
    pub(crate) remaining_up_to: Option<Bytes>,
}

impl Checker<'_> {
    /// A class's rule, which may ask for what a source host knows.
    pub(crate) fn class_rule(&mut self, path: &str, keys: &MatchKeys) -> MultiField {
        let sender = SenderMatch {
            label: keys.label.as_ref().map(|name| self.label(name)),
            sent_up_to: keys.sent_up_to,
            remaining_up_to: keys.remaining_up_to,
        };
        MultiField {
            sender: (!sender.is_empty()).then_some(sender),
            ..self.header_rule(path, keys)
        }
    }

    /// A rule where nothing but the packet is there to look at.
    pub(crate) fn rule(&mut self, path: &str, keys: &MatchKeys) -> MultiField {
        let asked = [
            ("label", keys.label.is_some()),
            ("sent_up_to", keys.sent_up_to.is_some()),
            ("remaining_up_to", keys.remaining_up_to.is_some()),
        ];
        for (key, _) in asked.into_iter().filter(|(_, is_asked)| *is_asked) {
            let message = format!("a queue cannot match the `{key}` of a packet");
            let help = "match it in a class of a role at the sending host, which marks the packets with a \
                        code point; then match that `dscp` in the queue";
            self.document.mistake_in_key(&format!("{path}.{key}"), message, help);
        }
        self.header_rule(path, keys)
    }

    /// The number of a label.
    fn label(&mut self, name: &str) -> Label {
        let known = self.labels.iter().position(|label| label == name);
        let place = known.unwrap_or_else(|| {
            self.labels.push(name.to_owned());
            self.labels.len() - 1
        });
        Label(place as u16 + 1)
    }

    fn header_rule(&mut self, path: &str, keys: &MatchKeys) -> MultiField {
        let mut at = |key: &str, text: &Option<String>| {
            text.as_ref().and_then(|text| self.prefix(&format!("{path}.{key}"), text))
        };
        let (src, dst) = (at("src", &keys.src), at("dst", &keys.dst));
        self.ports_of(path, keys);
        self.families_of(path, keys, [("src", src), ("dst", dst)]);
        let mut at = |key: &str, ports: Option<PortsKey>| {
            let PortsKey(first, last) = ports?;
            self.accept(&format!("{path}.{key}"), PortRange::new(first, last))
        };
        MultiField {
            src,
            dst,
            src_ports: at("src_port", keys.src_port),
            dst_ports: at("dst_port", keys.dst_port),
            protocol: keys.protocol.map(|ProtocolKey(protocol)| protocol),
            dscps: keys.dscp.as_ref().map(|points| points.iter().collect()),
            sender: None,
        }
    }

    /// A match on ports of a protocol that has none would take no packet, or not those that are meant.
    fn ports_of(&mut self, path: &str, keys: &MatchKeys) {
        let Some(ProtocolKey(protocol)) = keys.protocol else { return };
        let Some(why) = without_ports(protocol) else { return };
        let asked = [("src_port", keys.src_port), ("dst_port", keys.dst_port)];
        for (key, _) in asked.into_iter().filter(|(_, ports)| ports.is_some()) {
            let help = "leave the port out, or name a protocol that has ports, such as \"udp\"";
            self.document.mistake_in_key(&format!("{path}.{key}"), why, help);
        }
    }

    /// Warns of addresses that no packet has together, or none of this protocol.
    fn families_of(&mut self, path: &str, keys: &MatchKeys, prefixes: [(&str, Option<Prefix>); 2]) {
        let protocol = match keys.protocol {
            Some(ProtocolKey(Protocol::ICMP)) => Some(("ICMP", true)),
            Some(ProtocolKey(Protocol::ICMPV6)) => Some(("ICMPv6", false)),
            _ => None,
        };
        let name = |is_v4: bool| if is_v4 { "IPv4" } else { "IPv6" };
        let help = "no packet matches; leave one of the two out";
        if let [(_, Some(src)), (key, Some(dst))] = prefixes
            && src.is_v4() != dst.is_v4()
        {
            let message =
                format!("no packet goes from {} to {}", name(src.is_v4()), name(dst.is_v4()));
            self.document.warning(&format!("{path}.{key}"), message, help);
        }
        for (key, prefix) in prefixes {
            if let (Some((protocol, of_v4)), Some(prefix)) = (protocol, prefix)
                && prefix.is_v4() != of_v4
            {
                let message = format!(
                    "{protocol} belongs to {}, and this is an address of {}",
                    name(of_v4),
                    name(!of_v4)
                );
                self.document.warning(&format!("{path}.{key}"), message, help);
            }
        }
    }

    fn prefix(&mut self, path: &str, text: &str) -> Option<Prefix> {
        let (address, length) = text.split_once('/').unzip();
        let address = address.unwrap_or(text).parse::<Address>();
        match (address, length.map(str::parse).transpose()) {
            (Ok(address), Ok(None)) => Some(Prefix::host(address)),
            (Ok(address), Ok(Some(length))) => self.accept(path, Prefix::new(address, length)),
            _ => {
                let message = format!("\"{text}\" is not an address");
                let help =
                    "write an address, or a prefix such as \"10.0.0.0/8\" or \"2001:db8::/32\"";
                self.document.mistake(path, message, help);
                None
            }
        }
    }
}

impl MatchKeys {
    /// Whether it asks for nothing, and so takes all packets.
    pub(crate) fn takes_all(&self) -> bool {
        let MatchKeys { protocol, src, dst, src_port, dst_port, dscp, label, .. } = self;
        let of_packet = protocol.is_some() || src.is_some() || dst.is_some() || dscp.is_some();
        let of_ports = src_port.is_some() || dst_port.is_some();
        let of_sender = label.is_some() || self.sent_up_to.is_some();
        !(of_packet || of_ports || of_sender || self.remaining_up_to.is_some())
    }
}

/// A port, or the first and the last of a range.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PortsKey(pub(crate) u16, pub(crate) u16);

impl<'de> Deserialize<'de> for PortsKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Forms;
        impl Visitor<'_> for Forms {
            type Value = PortsKey;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a port from 0 to 65535, or a range such as \"1024-65535\"")
            }
            fn visit_i64<E: de::Error>(self, port: i64) -> Result<PortsKey, E> {
                let found = de::Unexpected::Signed(port);
                let port = u16::try_from(port).map_err(|_| E::invalid_value(found, &self))?;
                Ok(PortsKey(port, port))
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<PortsKey, E> {
                let (first, last) = text.split_once('-').unwrap_or((text, text));
                match (first.trim().parse(), last.trim().parse()) {
                    (Ok(first), Ok(last)) => Ok(PortsKey(first, last)),
                    _ => Err(E::invalid_value(de::Unexpected::Str(text), &self)),
                }
            }
        }
        deserializer.deserialize_any(Forms)
    }
}

impl JsonSchema for PortsKey {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Ports".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "anyOf": [
                { "type": "integer", "minimum": 0, "maximum": 65535 },
                { "type": "string", "pattern": "^[0-9]+(-[0-9]+)?$" },
            ],
        })
    }
}
