//! What a class is called: by the packets that belong to it.

use shortflow_elements::Protocol;
use shortflow_elements::classifier::{Classifier, MultiField};

/// The names of `count` classes, after the rules that lead to each.
pub(super) fn names(classifier: &Classifier, count: usize, otherwise: usize) -> Vec<String> {
    let name = |class: usize| {
        let rules = classifier.rules().iter().filter(|(_, to)| *to == class);
        let mut told: Vec<String> = rules.map(|(rule, _)| name(rule)).collect();
        if class == otherwise && !told.iter().any(|name| name == REST) {
            told.push(REST.to_owned());
        }
        // Beside the rest nothing else is of interest.
        if told.iter().any(|name| name == REST) { REST.to_owned() } else { told.join(" or ") }
    };
    (0..count).map(name).collect()
}

const REST: &str = "the rest";

fn name(rule: &MultiField) -> String {
    let mut parts = Vec::new();
    if let Some(dscps) = rule.dscps {
        parts.push(dscps.iter().map(|dscp| dscp.to_string()).collect::<Vec<_>>().join("+"));
    }
    if let Some(protocol) = rule.protocol {
        parts.push(match protocol {
            Protocol::TCP => "tcp".to_owned(),
            Protocol::UDP => "udp".to_owned(),
            Protocol::ICMP => "icmp".to_owned(),
            Protocol::ICMPV6 => "icmpv6".to_owned(),
            Protocol::ESP => "esp".to_owned(),
            Protocol::SCTP => "sctp".to_owned(),
            Protocol(number) => format!("protocol {number}"),
        });
    }
    let prefixes = [("from", rule.src), ("to", rule.dst)];
    parts.extend(prefixes.into_iter().filter_map(|(word, prefix)| {
        let prefix = prefix?;
        Some(format!("{word} {}/{}", prefix.network(), prefix.length()))
    }));
    let ports = [("from port", &rule.src_ports), ("to port", &rule.dst_ports)];
    parts.extend(ports.into_iter().filter_map(|(word, ports)| {
        Some(match ports.as_ref()?.ends() {
            [one, same] if one == same => format!("{word} {one}"),
            [first, last] => format!("{word} {first}-{last}"),
        })
    }));
    if parts.is_empty() { REST.to_owned() } else { parts.join(" ") }
}
