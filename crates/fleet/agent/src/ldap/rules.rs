//! Policies as rules with a filter, a profile and an action each (Mehra, Tewari & Kandlur 1999, §3.2 and §4.1), and
//! their translation into the text of a policy.

use super::{Entry, Finder, RULE_CLASS};

/// A rule: the action on packets of an aggregate of connections.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// Its name.
    pub name: String,
    /// Rules are tried by their order, the least first.
    pub order: i64,
    /// `tcp`, `udp` or a number; any where none is given, like all of the filter.
    pub protocol: Option<String>,
    /// Source addresses: `10.0.0.0/8`.
    pub source: Option<String>,
    /// Destination addresses.
    pub destination: Option<String>,
    /// A source port, or a range.
    pub source_port: Option<String>,
    /// A destination port, or a range.
    pub destination_port: Option<String>,
    /// r_m: the mean rate.
    pub mean_rate: String,
    /// B: the depth of the bucket.
    pub depth: String,
    /// r_p and L_m: the peak rate, and the largest packet, which is the depth of the bucket for the peak.
    pub peak: Option<(String, String)>,
    /// The action on packets that exceed the profile.
    pub action: Action,
}

/// An action on packets that exceed a profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// They go on unmarked; those within are marked.
    Mark,
    /// They are dropped.
    Drop,
}

impl Action {
    const NAMES: [(&'static str, Action); 2] = [("mark", Action::Mark), ("drop", Action::Drop)];

    fn name(self) -> &'static str {
        Action::NAMES.iter().find(|(_, action)| *action == self).map_or("mark", |(name, _)| name)
    }
}

/// The wildcard of a filter.
const ANY: &str = "*";

impl Rule {
    /// The entry of the rule below that of its policy.
    pub fn entry(&self, policy_dn: &str) -> Entry {
        let order = self.order.to_string();
        let mut attributes = vec![
            ("objectClass", RULE_CLASS),
            ("cn", self.name.as_str()),
            ("shortflowOrder", order.as_str()),
            ("shortflowAction", self.action.name()),
            ("shortflowMeanRate", self.mean_rate.as_str()),
            ("shortflowBucketDepth", self.depth.as_str()),
        ];
        if let Some((rate, packet)) = &self.peak {
            attributes.extend([
                ("shortflowPeakRate", rate.as_str()),
                ("shortflowMaxPacket", packet.as_str()),
            ]);
        }
        for (name, value) in self.filter() {
            attributes.push((name, value.as_deref().unwrap_or(ANY)));
        }
        let attributes =
            attributes.iter().map(|(name, value)| ((*name).to_owned(), value.as_bytes().to_vec()));
        Entry::new(format!("cn={},{policy_dn}", super::escaped(&self.name)), attributes.collect())
    }

    fn filter(&self) -> [(&'static str, &Option<String>); 5] {
        [
            ("shortflowProtocol", &self.protocol),
            ("shortflowSource", &self.source),
            ("shortflowDestination", &self.destination),
            ("shortflowSourcePort", &self.source_port),
            ("shortflowDestinationPort", &self.destination_port),
        ]
    }

    /// The rule of an entry; what is wrong with it is noted.
    pub(super) fn read(found: &mut Finder<'_>, entry: &Entry) -> Option<Rule> {
        let name = found.text(entry, "cn");
        let order = match found.optional(entry, "shortflowOrder").unwrap_or_default().as_str() {
            "" => Some(0),
            text => {
                let order = text.parse().ok();
                if order.is_none() {
                    let message = format!("invalid order {text:?}: it must be an integer");
                    found.mistake(
                        entry,
                        "shortflowOrder",
                        message,
                        "rules are tried in this order, lowest first",
                    );
                }
                order
            }
        };
        let action = found.text(entry, "shortflowAction").and_then(|text| {
            let action = Action::NAMES.iter().find(|(name, _)| *name == text);
            if action.is_none() {
                let message = format!("unknown action {text:?} of a rule");
                let help = "use `mark` or `drop`; to shape traffic, write the policy as a text";
                found.mistake(entry, "shortflowAction", message, help);
            }
            action.map(|(_, action)| *action)
        });
        let (mean_rate, depth) =
            (found.text(entry, "shortflowMeanRate"), found.text(entry, "shortflowBucketDepth"));
        let (rate, packet) = (
            found.optional(entry, "shortflowPeakRate"),
            found.optional(entry, "shortflowMaxPacket"),
        );
        if rate.is_some() != packet.is_some() {
            let help = "add the largest packet: the bucket of the peak rate has its size as depth";
            let message = "a peak rate and a largest packet must be given together".to_owned();
            found.mistake(
                entry,
                if rate.is_some() { "shortflowPeakRate" } else { "shortflowMaxPacket" },
                message,
                help,
            );
        }
        let mut any = |attribute: &str| found.optional(entry, attribute).filter(|text| text != ANY);
        Some(Rule {
            protocol: any("shortflowProtocol"),
            source: any("shortflowSource"),
            destination: any("shortflowDestination"),
            source_port: any("shortflowSourcePort"),
            destination_port: any("shortflowDestinationPort"),
            name: name?,
            order: order?,
            mean_rate: mean_rate?,
            depth: depth?,
            peak: rate.zip(packet),
            action: action?,
        })
    }

    /// The class of a policy that the rule is.
    fn class(&self) -> String {
        let keys = ["protocol", "src", "dst", "src_port", "dst_port"];
        let filter: Vec<String> = keys
            .iter()
            .zip(self.filter())
            .filter_map(|(key, (_, value))| {
                Some(format!("{key} = {}", condition(key, value.as_ref()?)))
            })
            .collect();
        let mut text = format!("\n[[roles.edge.classes]]\nname = {}\n", quoted(&self.name));
        if !filter.is_empty() {
            text += &format!("match = {{ {} }}\n", filter.join(", "));
        }
        let (rate, depth) = (quoted(&self.mean_rate), quoted(&self.depth));
        text += &match &self.peak {
            None => format!("marker.token-bucket = {{ rate = {rate}, depth = {depth} }}\n"),
            Some((peak, packet)) => format!(
                "marker.trtcm = {{ cir = {rate}, cbs = {depth}, pir = {}, pbs = {} }}\n",
                quoted(peak),
                quoted(packet)
            ),
        };
        text += match (self.action, &self.peak) {
            (Action::Mark, None) => "",
            (Action::Mark, Some(_)) => "police.red = { remark = \"BE\" }\n",
            (Action::Drop, None) => "police = { yellow = \"drop\" }\n",
            (Action::Drop, Some(_)) => "police = { yellow = \"drop\", red = \"drop\" }\n",
        };
        text
    }
}

/// A condition as a policy has it: ports and protocols that are numbers stand without quotes.
fn condition(key: &str, value: &str) -> String {
    match value.parse::<u16>() {
        Ok(number) if key != "src" && key != "dst" => number.to_string(),
        _ => quoted(value),
    }
}

fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

/// The text of the policy of an entry, whose rules are below it.
pub(super) fn policy(
    found: &mut Finder<'_>,
    entry: &Entry,
    path: &str,
    entries: &[Entry],
) -> String {
    let below = entries.iter().filter(|rule| rule.is_a(RULE_CLASS) && is_below(rule, entry));
    let read = below.filter_map(|rule| Some((Rule::read(found, rule)?, rule)));
    let mut read: Vec<(Rule, &Entry)> = read.collect();
    read.sort_by_key(|(rule, _)| rule.order);
    for two in read.windows(2) {
        check_orders(found, &two[0], &two[1]);
    }
    let rules: Vec<Rule> = read.into_iter().map(|(rule, _)| rule).collect();
    let title = found.optional(entry, "description").unwrap_or_else(|| path.to_owned());
    let classes: String = rules.iter().map(Rule::class).collect();
    // What keeps to its profile is marked, and what exceeds it goes on unmarked (mtk99, §4.1).
    format!("name = {}\n\n[code_points]\nyellow = \"BE\"\n{classes}", quoted(&title))
}

/// Refuses two rules without a defined order.
fn check_orders(
    found: &mut Finder<'_>,
    (one, first): &(Rule, &Entry),
    (other, entry): &(Rule, &Entry),
) {
    if one.order != other.order {
        return;
    }
    let message = format!("this rule and `{}` have the same order {}", first.dn, one.order);
    let help = "give each rule its own `shortflowOrder`: rules are tried lowest first, and the \
        default is 0";
    found.mistake(entry, "shortflowOrder", message, help);
}

/// Whether an entry is right below another.
pub(super) fn is_below(entry: &Entry, above: &Entry) -> bool {
    let simple = |dn: &str| dn.to_lowercase().replace(", ", ",");
    let (below, above) = (simple(&entry.dn), simple(&above.dn));
    let first = below.strip_suffix(&above).and_then(|first| first.strip_suffix(','));
    first.is_some_and(|first| !first.replace("\\,", "").contains(','))
}
