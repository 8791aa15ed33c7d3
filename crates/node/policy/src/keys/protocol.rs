//! Transport protocols in policies.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserialize, Deserializer, IntoDeserializer, Visitor};
use shortflow_packet::Protocol;

use super::list::Listed;
use super::{OneOf, choices};

choices!(Protocol as "Protocol" {
    /// TCP.
    "tcp" => Protocol::TCP,
    /// UDP.
    "udp" => Protocol::UDP,
    /// ICMP of IPv4.
    "icmp" => Protocol::ICMP,
    /// ICMP of IPv6.
    "icmpv6" => Protocol::ICMPV6,
    /// IPsec ESP. Its ports are encrypted.
    "esp" => Protocol::ESP,
    /// SCTP.
    "sctp" => Protocol::SCTP,
});

/// A protocol: its name, or its IANA number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ProtocolKey(pub(crate) Protocol);

impl<'de> Deserialize<'de> for ProtocolKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Forms;
        impl Visitor<'_> for Forms {
            type Value = ProtocolKey;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a protocol such as \"tcp\", or a number from 0 to 255")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<ProtocolKey, E> {
                OneOf::deserialize(text.into_deserializer()).map(|OneOf(found)| ProtocolKey(found))
            }
            fn visit_i64<E: de::Error>(self, number: i64) -> Result<ProtocolKey, E> {
                let found = de::Unexpected::Signed(number);
                let number = u8::try_from(number).map_err(|_| E::invalid_value(found, &self))?;
                Ok(ProtocolKey(Protocol(number)))
            }
        }
        deserializer.deserialize_any(Forms)
    }
}

impl JsonSchema for ProtocolKey {
    fn schema_name() -> Cow<'static, str> {
        "ProtocolOrNumber".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let name = generator.subschema_for::<OneOf<Protocol>>();
        json_schema!({ "anyOf": [name, { "type": "integer", "minimum": 0, "maximum": 255 }] })
    }
}

impl Listed for ProtocolKey {
    const SCHEMA_NAME: &'static str = "ProtocolsOrNumbers";
    const WHAT: &'static str = "a protocol";
    const EXAMPLES: &'static str = "protocols such as \"tcp\", or numbers from 0 to 255";
}

/// The reason why the ports of `protocol` cannot be matched, or `None` if they can.
pub(crate) fn without_ports(protocol: Protocol) -> Option<&'static str> {
    match protocol {
        Protocol::ICMP | Protocol::ICMPV6 => Some("ICMP packets have no ports"),
        Protocol::ESP => Some("the ports of ESP packets are encrypted"),
        _ => None,
    }
}
