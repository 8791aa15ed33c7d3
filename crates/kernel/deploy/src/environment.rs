//! The environment of a device: offloads, encapsulation, and address translation.

use std::process::Command;

use serde_json::Value;

/// What is around a device, as far as this process sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Environment {
    /// Whether the packets are those that the device receives, and not those that it sends.
    pub is_received: bool,
    /// Whether the device accepts segmentation offload from its own host, or combines packets that it receives; `None` if
    /// unknown.
    pub offloads: Option<bool>,
    /// Whether sessions of PPPoE go over it.
    pub carries_pppoe: bool,
    /// Whether routes put labels (MPLS) on what leaves by it.
    pub carries_mpls: bool,
    /// Whether addresses are translated for what leaves by it.
    pub translation: Translation,
}

/// Whether source addresses are translated (NAT) for what leaves by a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Translation {
    /// A rule does so.
    Seen,
    /// No rule does.
    None,
    /// Rules cannot be read.
    Unknown,
}

impl Environment {
    /// The environment of an unknown device.
    pub const UNKNOWN: Environment = Environment {
        is_received: false,
        offloads: None,
        carries_pppoe: false,
        carries_mpls: false,
        translation: Translation::Unknown,
    };

    /// Those of the device of this name, in the network namespace of the thread.
    pub fn detect(device: &str) -> Environment {
        let features = ask("ethtool", &["-k", device]);
        let sessions = std::fs::read_to_string("/proc/thread-self/net/pppoe").unwrap_or_default();
        let routes = ["-4", "-6"].map(|family| {
            ask("ip", &[family, "-j", "route", "show", "table", "all"]).unwrap_or_default()
        });
        let labels = ask("ip", &["-f", "mpls", "-j", "route", "show"]).unwrap_or_default();
        Environment {
            is_received: false,
            offloads: features.map(|text| has_offloads(&text)),
            carries_pppoe: has_session(&sessions, device),
            carries_mpls: routes.iter().any(|text| has_labels(text, device, true))
                || has_labels(&labels, device, false),
            translation: Translation::detect(device),
        }
    }
}

impl Environment {
    /// The environment of what the device of this name receives. Of labels (MPLS) nothing is known there.
    pub fn detect_received(device: &str) -> Environment {
        let features = ask("ethtool", &["-k", device]);
        Environment {
            is_received: true,
            offloads: features.map(|text| combines(&text)),
            carries_mpls: false,
            ..Environment::detect(device)
        }
    }
}

impl Translation {
    /// By the rules of nftables, and of iptables where its own are listed.
    pub fn detect(device: &str) -> Translation {
        let nft = ask("nft", &["-j", "list", "ruleset"]);
        let iptables = ask("iptables-save", &["-t", "nat"]);
        let seen = nft.as_deref().is_some_and(|text| nft_translates(text, device))
            || iptables.as_deref().is_some_and(|text| iptables_translates(text, device));
        match (seen, nft.is_some() || iptables.is_some()) {
            (true, _) => Translation::Seen,
            (false, true) => Translation::None,
            (false, false) => Translation::Unknown,
        }
    }
}

/// The output of a program; `None` if it cannot be run, or fails.
fn ask(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Of `ethtool -k`.
fn has_offloads(text: &str) -> bool {
    is_on(text, "tcp-segmentation-offload") || is_on(text, "generic-segmentation-offload")
}

/// Of the same, for received packets.
fn combines(text: &str) -> bool {
    is_on(text, "generic-receive-offload") || is_on(text, "large-receive-offload")
}

fn is_on(text: &str, name: &str) -> bool {
    let line = text.lines().find_map(|line| line.trim().strip_prefix(name));
    line.is_some_and(|state| state.trim_start_matches(':').trim().starts_with("on"))
}

/// Of `/proc/net/pppoe`, whose last column is the device.
fn has_session(text: &str, device: &str) -> bool {
    text.lines().skip(1).any(|line| line.split_whitespace().last() == Some(device))
}

/// Of `ip -j route`: of routes of IP those that put labels on packets, of routes of MPLS all.
fn has_labels(text: &str, device: &str, only_with_labels: bool) -> bool {
    let routes: Vec<Value> = serde_json::from_str(text).unwrap_or_default();
    let labels = |hop: &Value| !only_with_labels || hop["encap"] == "mpls";
    routes.iter().any(|route| {
        let hops = route["nexthops"].as_array().into_iter().flatten();
        std::iter::once(route).chain(hops).any(|hop| hop["dev"] == device && labels(hop))
    })
}

/// Of `nft -j list ruleset`: a rule that translates sources, unless it asks for another device.
fn nft_translates(text: &str, device: &str) -> bool {
    let all: Value = serde_json::from_str(text).unwrap_or_default();
    let all: Vec<&Value> = all["nftables"].as_array().into_iter().flatten().collect();
    let rules = all.iter().map(|it| &it["rule"]);
    rules.filter_map(|rule| Some((rule, rule["expr"].as_array()?))).any(|(rule, parts)| {
        // A named set is that of the rule's table.
        let set_of = |name: &str| {
            let sets = all.iter().map(|it| &it["set"]);
            let mut sets = sets.filter(|set| {
                ["family", "table"].iter().all(|key| set[key] == rule[key]) && set["name"] == name
            });
            sets.next().map_or(Vec::new(), |set| elements(&set["elem"]))
        };
        let names = |right: &Value| match right.as_str().and_then(|name| name.strip_prefix('@')) {
            Some(name) => set_of(name),
            None => names(right),
        };
        let has = |key: &str| parts.iter().any(|part| part.get(key).is_some());
        let devices = parts.iter().map(|part| &part["match"]);
        let devices: Vec<&Value> =
            devices.filter(|it| it["left"]["meta"]["key"] == "oifname").collect();
        let fits = |it: &&Value| match it["op"].as_str() {
            Some("!=") => !names(&it["right"]).iter().any(|name| is_named(name, device)),
            _ => names(&it["right"]).iter().any(|name| is_named(name, device)),
        };
        (has("masquerade") || has("snat")) && devices.iter().all(fits)
    })
}

/// A name, or several.
fn names(right: &Value) -> Vec<String> {
    match right {
        Value::String(name) => vec![name.clone()],
        set => elements(&set["set"]),
    }
}

/// The names in a set. An element with a comment or a counter has its name in `val`.
fn elements(list: &Value) -> Vec<String> {
    let name = |it: &Value| it.as_str().or(it["elem"]["val"].as_str()).map(str::to_owned);
    list.as_array().into_iter().flatten().filter_map(name).collect()
}

/// Whether a name of a rule, which may end with a star, is that of the device.
fn is_named(name: &str, device: &str) -> bool {
    match name.strip_suffix(['*', '+']) {
        Some(start) => device.starts_with(start),
        None => name == device,
    }
}

/// Of `iptables-save -t nat`: the same.
fn iptables_translates(text: &str, device: &str) -> bool {
    text.lines().filter(|line| line.starts_with("-A ")).any(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let after = |word: &str| {
            let at = words.iter().position(|it| *it == word)?;
            Some((words.get(at + 1).copied()?, at.checked_sub(1).map(|at| words[at] == "!")))
        };
        let translates = after("-j").is_some_and(|(to, _)| ["MASQUERADE", "SNAT"].contains(&to));
        translates
            && after("-o").is_none_or(|(name, not)| is_named(name, device) != (not == Some(true)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_switched_off_when_both_kinds_are() {
        let text = |tso: &str, gso: &str| {
            format!(
                "Features for eth0:\nrx-checksumming: on\ntcp-segmentation-offload: {tso}\n\ttx-tcp-segmentation: on\ngeneric-segmentation-offload: {gso}\n"
            )
        };
        assert!(has_offloads(&text("on", "on")) && has_offloads(&text("off [requested on]", "on")));
        assert!(!has_offloads(&text("off", "off")));
        let received = |gro: &str| {
            format!("generic-receive-offload: {gro}\nlarge-receive-offload: off [fixed]\n")
        };
        assert!(combines(&received("on")) && !combines(&received("off")));
    }

    #[test]
    fn sessions_and_labels_are_those_of_the_device() {
        let sessions =
            "Id       Address              Device\n00000001 02:00:00:00:00:01     eth1\n";
        assert!(has_session(sessions, "eth1") && !has_session(sessions, "eth0"));
        assert!(!has_session("", "eth1"));
        let routes = r#"[{"dst":"default","gateway":"192.0.2.1","dev":"eth0"},
            {"dst":"198.51.100.0/24","encap":"mpls","dev":"eth1"},
            {"dst":"203.0.113.0/24","nexthops":[{"encap":"mpls","dev":"eth2"}]}]"#;
        assert!(!has_labels(routes, "eth0", true) && has_labels(routes, "eth1", true));
        assert!(has_labels(routes, "eth2", true) && has_labels(routes, "eth0", false));
    }

    #[test]
    fn rules_that_translate_sources_are_those_of_the_device_or_of_all() {
        let nft = |device: &str, verdict: &str| {
            format!(
                r#"{{"nftables":[{{"metainfo":{{}}}},{{"rule":{{"family":"ip","expr":[{{"match":{{"op":"==","left":{{"meta":
                {{"key":"oifname"}}}},"right":{device}}}}},{{"{verdict}":null}}]}}}}]}}"#
            )
        };
        assert!(nft_translates(&nft(r#""wan""#, "masquerade"), "wan"));
        assert!(nft_translates(&nft(r#"{"set":["a","wan"]}"#, "snat"), "wan"));
        assert!(!nft_translates(&nft(r#""wan""#, "masquerade"), "lan"));
        assert!(!nft_translates(&nft(r#""wan""#, "accept"), "wan"));
        let named = |op: &str| {
            format!(
                r#"{{"nftables":[{{"set":{{"family":"ip","table":"nat","name":"wans","elem":["a",{{"elem":{{"val":"wan"}}}}]}}}},
                {{"set":{{"family":"ip","table":"other","name":"wans","elem":["lan"]}}}},
                {{"rule":{{"family":"ip","table":"nat","expr":[{{"match":{{"op":"{op}","left":{{"meta":{{"key":"oifname"}}}},
                "right":"@wans"}}}},{{"masquerade":null}}]}}}}]}}"#
            )
        };
        assert!(nft_translates(&named("=="), "wan") && nft_translates(&named("=="), "a"));
        assert!(!nft_translates(&named("=="), "lan") && !nft_translates(&named("!="), "wan"));
        assert!(nft_translates(&named("!="), "lan"));
        let save = |rule: &str| format!("*nat\n:POSTROUTING ACCEPT [0:0]\n{rule}\nCOMMIT\n");
        assert!(iptables_translates(&save("-A POSTROUTING -o wan -j MASQUERADE"), "wan"));
        assert!(iptables_translates(&save("-A POSTROUTING -o ppp+ -j MASQUERADE"), "ppp0"));
        assert!(iptables_translates(
            &save("-A POSTROUTING -s 10.0.0.0/8 -j SNAT --to 192.0.2.1"),
            "x"
        ));
        assert!(!iptables_translates(&save("-A POSTROUTING -o wan -j MASQUERADE"), "lan"));
        assert!(!iptables_translates(&save("-A POSTROUTING ! -o wan -j MASQUERADE"), "wan"));
        assert!(!iptables_translates(&save("-A PREROUTING -i wan -j DNAT --to 10.0.0.1"), "wan"));
    }
}
