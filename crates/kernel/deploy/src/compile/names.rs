//! Names of classes, from the packets that they match.

use shortflow_elements::classifier::{AnyOf, Classifier, MultiField, PortRange};
use shortflow_packet::{Prefix, Protocol};

/// The names of `count` classes, after the rules that lead to each.
pub(super) fn names(classifier: &Classifier, count: usize, otherwise: usize) -> Vec<String> {
    let name = |class: usize| {
        let rules = classifier.rules().iter().filter(|(_, to)| *to == class);
        let mut rule_names: Vec<String> = rules.map(|(rule, _)| name(rule)).collect();
        if class == otherwise && !rule_names.iter().any(|name| name == REST) {
            rule_names.push(REST.to_owned());
        }
        // Beside the rest nothing else is of interest.
        if rule_names.iter().any(|name| name == REST) {
            REST.to_owned()
        } else {
            rule_names.join(" or ")
        }
    };
    (0..count).map(name).collect()
}

const REST: &str = "the rest";

fn name(rule: &MultiField) -> String {
    let mut parts = Vec::new();
    if let Some(dscps) = rule.dscps {
        parts.push(dscps.iter().map(|dscp| dscp.to_string()).collect::<Vec<_>>().join("+"));
    }
    if let Some(protocols) = &rule.protocol {
        parts.push(joined(protocols, |protocol| match *protocol {
            Protocol::TCP => "tcp".to_owned(),
            Protocol::UDP => "udp".to_owned(),
            Protocol::ICMP => "icmp".to_owned(),
            Protocol::ICMPV6 => "icmpv6".to_owned(),
            Protocol::ESP => "esp".to_owned(),
            Protocol::SCTP => "sctp".to_owned(),
            Protocol(number) => format!("protocol {number}"),
        }));
    }
    for (word, prefixes) in [("from", &rule.src), ("to", &rule.dst)] {
        let name = |prefix: &Prefix| format!("{}/{}", prefix.network(), prefix.length());
        parts.extend(prefixes.as_ref().map(|them| format!("{word} {}", joined(them, name))));
    }
    let ports =
        [("from port", &rule.src_ports), ("to port", &rule.dst_ports), ("port", &rule.ports)];
    for (word, ranges) in ports {
        let name = |ports: &PortRange| match ports.ends() {
            [one, same] if one == same => one.to_string(),
            [first, last] => format!("{first}-{last}"),
        };
        parts.extend(ranges.as_ref().map(|them| format!("{word} {}", joined(them, name))));
    }
    if parts.is_empty() { REST.to_owned() } else { parts.join(" ") }
}

fn joined<T>(list: &AnyOf<T>, name: impl Fn(&T) -> String) -> String {
    list.iter().map(name).collect::<Vec<_>>().join("+")
}
