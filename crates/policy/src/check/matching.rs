//! Checks which packets are meant.

use shortflow_elements::classifier::{DscpSet, MultiField, PortRange, SenderMatch};
use shortflow_elements::{Address, Dscp, Label, Prefix, Protocol};

use super::Checker;
use crate::file::{MatchFile, PortsFile, ProtocolFile};

impl Checker<'_> {
    /// A class's rule, which may ask for what a source host knows.
    pub(super) fn class_rule(&mut self, path: &str, file: &MatchFile) -> MultiField {
        let sender = SenderMatch {
            label: file.label.as_ref().map(|name| self.label(name)),
            sent_up_to: file.sent_up_to,
            remaining_up_to: file.remaining_up_to,
        };
        MultiField {
            sender: (!sender.is_empty()).then_some(sender),
            ..self.header_rule(path, file)
        }
    }

    /// A rule where nothing but the packet is there to look at.
    pub(super) fn rule(&mut self, path: &str, file: &MatchFile) -> MultiField {
        let asked = [
            ("label", file.label.is_some()),
            ("sent_up_to", file.sent_up_to.is_some()),
            ("remaining_up_to", file.remaining_up_to.is_some()),
        ];
        for (key, _) in asked.into_iter().filter(|(_, is_asked)| *is_asked) {
            let message = format!("a queue does not know the `{key}` of a packet");
            let help = "a class at the connection's own host may ask for it, and mark what fits; \
                        the queue then matches `dscp`";
            self.document.mistake_in_key(&format!("{path}.{key}"), message, help);
        }
        self.header_rule(path, file)
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

    fn header_rule(&mut self, path: &str, file: &MatchFile) -> MultiField {
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
                ProtocolFile::Tcp => Protocol::TCP,
                ProtocolFile::Udp => Protocol::UDP,
            }),
            dscps: file.dscp.as_ref().map(|names| self.dscps(&format!("{path}.dscp"), names)),
            sender: None,
        }
    }

    pub(super) fn prefix(&mut self, path: &str, text: &str) -> Option<Prefix> {
        let (address, length) = text.split_once('/').unzip();
        let address = address.unwrap_or(text).parse::<Address>();
        match (address, length.map(str::parse).transpose()) {
            (Ok(address), Ok(None)) => Some(Prefix::host(address)),
            (Ok(address), Ok(Some(length))) => self.accept(path, Prefix::new(address, length)),
            _ => {
                let message = format!("\"{text}\" is no address");
                let help =
                    "write an address, or a prefix such as \"10.0.0.0/8\" or \"2001:db8::/32\"";
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
