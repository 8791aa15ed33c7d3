//! Which packets, as it is written.

use std::fmt;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::{self, Deserializer, Visitor};
use shortflow_units::Bytes;

/// Conditions that a packet must all meet.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct MatchFile {
    /// The transport protocol.
    pub(crate) protocol: Option<ProtocolFile>,
    /// Source addresses, such as "10.0.0.0/8".
    pub(crate) src: Option<String>,
    /// Destination addresses, such as "10.0.0.0/8".
    pub(crate) dst: Option<String>,
    /// A source port, or a range such as "1024-65535".
    pub(crate) src_port: Option<PortsFile>,
    /// A destination port, or a range such as "1024-65535".
    pub(crate) dst_port: Option<PortsFile>,
    /// Code points.
    pub(crate) dscp: Option<Vec<String>>,
    /// The connection's label: its workload's name, or the label that the workload states. This and
    /// the next two are known at the connection's own host only.
    pub(crate) label: Option<String>,
    /// The connection has sent at most so much of its application's data before the packet.
    pub(crate) sent_up_to: Option<Bytes>,
    /// At most so much of what the application has handed in remains to be sent.
    pub(crate) remaining_up_to: Option<Bytes>,
}

/// A transport protocol.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ProtocolFile {
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
}

/// A port, or the first and the last of a range.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PortsFile(pub(crate) u16, pub(crate) u16);

impl<'de> Deserialize<'de> for PortsFile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Forms;
        impl Visitor<'_> for Forms {
            type Value = PortsFile;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a port from 0 to 65535, or a range such as \"1024-65535\"")
            }
            fn visit_i64<E: de::Error>(self, port: i64) -> Result<PortsFile, E> {
                let found = de::Unexpected::Signed(port);
                let port = u16::try_from(port).map_err(|_| E::invalid_value(found, &self))?;
                Ok(PortsFile(port, port))
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<PortsFile, E> {
                let (first, last) = text.split_once('-').unwrap_or((text, text));
                match (first.trim().parse(), last.trim().parse()) {
                    (Ok(first), Ok(last)) => Ok(PortsFile(first, last)),
                    _ => Err(E::invalid_value(de::Unexpected::Str(text), &self)),
                }
            }
        }
        deserializer.deserialize_any(Forms)
    }
}

impl JsonSchema for PortsFile {
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
