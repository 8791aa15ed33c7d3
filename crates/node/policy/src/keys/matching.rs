//! The `match` key: conditions on packets.

use std::fmt;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::{self, Deserializer, Visitor};
use shortflow_elements::classifier::{AnyOf, MultiField, PortRange, SenderMatch};
use shortflow_packet::{Address, Label, Prefix, Protocol};
use shortflow_units::Bytes;

use super::CodePoints;
use super::list::{ListOf, Listed};
use super::protocol::{ProtocolKey, without_ports};
use crate::check::Checker;
use crate::class_rule;

/// Conditions, all of which a packet must meet. If a condition is a list, one entry must fit.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Match")]
pub(crate) struct MatchKeys {
    /// The transport protocol: a name, a number from 0 to 255, or a list.
    pub(crate) protocol: Option<ListOf<ProtocolKey>>,
    /// Source addresses, such as "10.0.0.0/8" or "2001:db8::/32": one, or a list.
    pub(crate) src: Option<ListOf<AddressesKey>>,
    /// Destination addresses, such as "10.0.0.0/8" or "2001:db8::/32": one, or a list.
    pub(crate) dst: Option<ListOf<AddressesKey>>,
    /// A source port, a range such as "1024-65535", or a list.
    pub(crate) src_port: Option<ListOf<PortsKey>>,
    /// A destination port, a range such as "1024-65535", or a list.
    pub(crate) dst_port: Option<ListOf<PortsKey>>,
    /// Source port or destination port: packets of a service in both directions.
    pub(crate) port: Option<ListOf<PortsKey>>,
    /// Code points: one, or a list.
    pub(crate) dscp: Option<CodePoints>,
    /// The connection's label: the `label` of its workload, or the workload's name. Known only at the sending
    /// host, as are the next three keys.
    pub(crate) label: Option<String>,
    /// The connection has sent at most this much application data before the packet.
    pub(crate) sent_up_to: Option<Bytes>,
    /// At most this much of the application's data remains to be sent.
    pub(crate) remaining_up_to: Option<Bytes>,
    /// The connection carries a part of an object, as the reply to a byte-range request. Default: whatever it carries.
    #[serde(default)]
    pub(crate) byte_range: bool,
}

impl Checker<'_> {
    /// The conditions of a role's class, which may use what only a sending host knows.
    pub(crate) fn class_rule(&mut self, path: &str, keys: &MatchKeys) -> MultiField {
        let sender = SenderMatch {
            label: keys.label.as_ref().map(|name| self.label(name)),
            sent_up_to: keys.sent_up_to,
            remaining_up_to: keys.remaining_up_to,
            byte_range: keys.byte_range,
        };
        MultiField {
            sender: (!sender.is_empty()).then_some(sender),
            ..self.header_rule(path, keys)
        }
    }

    /// The conditions of class `number` of a queue, which can use only the packet itself.
    pub(crate) fn rule(&mut self, path: &str, number: usize, keys: &MatchKeys) -> MultiField {
        let asked = [
            ("label", keys.label.is_some()),
            ("sent_up_to", keys.sent_up_to.is_some()),
            ("remaining_up_to", keys.remaining_up_to.is_some()),
            ("byte_range", keys.byte_range),
        ];
        for (key, _) in asked.into_iter().filter(|(_, is_asked)| *is_asked) {
            let message =
                format!("`{key}` cannot be matched in a queue: only the sending host knows it");
            let help = "match it in a class of a role at the sending host, and mark those packets with a \
                        code point; then match that `dscp` in the queue";
            self.document.mistake_in_key(&format!("{path}.{key}"), message, help);
        }
        let rule = self.header_rule(path, keys);
        let of = class_rule::scheme(path).unwrap_or_default();
        let name = format!("class {} of `{of}`", number + 1);
        self.note_class(path, number, name, &rule);
        rule
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
        let [src, dst] = [("src", &keys.src), ("dst", &keys.dst)].map(|(key, listed)| {
            self.each(&format!("{path}.{key}"), listed, |checker, path, AddressesKey(text)| {
                checker.prefix(path, text)
            })
        });
        self.ports_of(path, keys);
        self.families_of(path, keys, [("src", &src), ("dst", &dst)]);
        let mut ports = |key: &str, listed: &Option<ListOf<PortsKey>>| {
            let path = format!("{path}.{key}");
            self.each(&path, listed, |checker, path, PortsKey(first, last)| {
                checker.accept(path, PortRange::new(*first, *last))
            })
        };
        let protocols = keys.protocol.iter().flat_map(|list| &list.0);
        MultiField {
            src,
            dst,
            src_ports: ports("src_port", &keys.src_port),
            dst_ports: ports("dst_port", &keys.dst_port),
            ports: ports("port", &keys.port),
            protocol: AnyOf::from_list(protocols.map(|ProtocolKey(protocol)| *protocol)),
            dscps: keys.dscp.as_ref().map(|points| points.iter().collect()),
            sender: None,
        }
    }

    /// Converts each value of a list; errors point to that value in the text.
    fn each<K, T>(
        &mut self,
        path: &str,
        listed: &Option<ListOf<K>>,
        mut check: impl FnMut(&mut Self, &str, &K) -> Option<T>,
    ) -> Option<AnyOf<T>> {
        let ListOf(list) = listed.as_ref()?;
        let place = |index: usize| match list.len() {
            1 => path.to_owned(),
            _ => format!("{path}.{index}"),
        };
        let each = list.iter().enumerate();
        let all: Vec<T> = each.filter_map(|(index, key)| check(self, &place(index), key)).collect();
        AnyOf::from_list(all)
    }

    /// Refuses a match on ports together with a protocol without ports.
    fn ports_of(&mut self, path: &str, keys: &MatchKeys) {
        let mut protocols = keys.protocol.iter().flat_map(|list| &list.0);
        let why = protocols.find_map(|ProtocolKey(protocol)| without_ports(*protocol));
        let Some(why) = why else { return };
        let asked =
            [("src_port", &keys.src_port), ("dst_port", &keys.dst_port), ("port", &keys.port)];
        for (key, _) in asked.into_iter().filter(|(_, ports)| ports.is_some()) {
            let help = "remove the port, or choose a protocol with ports, such as \"udp\"";
            self.document.mistake_in_key(&format!("{path}.{key}"), why, help);
        }
    }

    /// Warns of addresses of different IP versions, and of a protocol of the other IP version.
    fn families_of(
        &mut self,
        path: &str,
        keys: &MatchKeys,
        prefixes: [(&str, &Option<AnyOf<Prefix>>); 2],
    ) {
        let name = |is_v4: bool| if is_v4 { "IPv4" } else { "IPv6" };
        let help = "no packet can match; remove one of the two";
        let [src, dst] = prefixes.map(|(_, prefixes)| prefixes.as_ref().map(family));
        if let ([_, (key, _)], Some(Some(src)), Some(Some(dst))) = (prefixes, src, dst)
            && src != dst
        {
            let message = format!(
                "source {} and destination {} never occur in one packet",
                name(src),
                name(dst)
            );
            self.document.warning(&format!("{path}.{key}"), message, help);
        }
        let protocols = keys.protocol.as_ref().map(|list| &list.0[..]);
        let (protocol, of_v4) = match protocols {
            Some([ProtocolKey(Protocol::ICMP)]) => ("ICMP", true),
            Some([ProtocolKey(Protocol::ICMPV6)]) => ("ICMPv6", false),
            _ => return,
        };
        for ((key, _), family) in prefixes.into_iter().zip([src, dst]) {
            if family == Some(Some(!of_v4)) {
                let message = format!(
                    "{protocol} runs over {}, but this is an {} address",
                    name(of_v4),
                    name(!of_v4)
                );
                self.document.warning(&format!("{path}.{key}"), message, help);
            }
        }
    }

    /// An address or a prefix. Another text is a mistake.
    pub(crate) fn prefix(&mut self, path: &str, text: &str) -> Option<Prefix> {
        let (address, length) = text.split_once('/').unzip();
        let address = address.unwrap_or(text).parse::<Address>();
        match (address, length.map(str::parse).transpose()) {
            (Ok(address), Ok(None)) => Some(Prefix::host(address)),
            (Ok(address), Ok(Some(length))) => Prefix::new(address, length)
                .map_err(|error| self.document.mistake(path, error.to_string(), ""))
                .ok(),
            _ => {
                let message = format!("invalid address \"{text}\"");
                let help =
                    "write an address, or a prefix such as \"10.0.0.0/8\" or \"2001:db8::/32\"";
                self.document.mistake(path, message, help);
                None
            }
        }
    }
}

/// Whether all prefixes are IPv4 (`true`) or all are IPv6 (`false`). `None` if they are mixed.
fn family(prefixes: &AnyOf<Prefix>) -> Option<bool> {
    let any_v4 = prefixes.any(|prefix| prefix.is_v4());
    let any_v6 = prefixes.any(|prefix| !prefix.is_v4());
    (any_v4 != any_v6).then_some(any_v4)
}

impl MatchKeys {
    /// Whether it has no conditions, and so takes all packets.
    pub(crate) fn takes_all(&self) -> bool {
        let MatchKeys {
            protocol,
            src,
            dst,
            src_port,
            dst_port,
            port,
            dscp,
            label,
            sent_up_to,
            remaining_up_to,
            byte_range,
        } = self;
        let of_packet = protocol.is_some() || src.is_some() || dst.is_some() || dscp.is_some();
        let of_ports = src_port.is_some() || dst_port.is_some() || port.is_some();
        let of_sender =
            label.is_some() || sent_up_to.is_some() || remaining_up_to.is_some() || *byte_range;
        !(of_packet || of_ports || of_sender)
    }
}

/// An address, or a prefix.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(rename = "Addresses")]
pub(crate) struct AddressesKey(pub(crate) String);

impl Listed for AddressesKey {
    const SCHEMA_NAME: &'static str = "AddressList";
    const WHAT: &'static str = "an address or a prefix";
    const EXAMPLES: &'static str = "addresses such as \"10.0.0.0/8\" or \"2001:db8::/32\"";
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

impl Listed for PortsKey {
    const SCHEMA_NAME: &'static str = "PortList";
    const WHAT: &'static str = "a port";
    const EXAMPLES: &'static str = "ports such as 443, or ranges such as \"3478-3481\"";
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
