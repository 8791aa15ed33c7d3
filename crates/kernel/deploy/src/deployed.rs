//! The record of a deployment with its options: a text that the kernel stores twice.
//!
//! It is stored among the filters of our root and among those of the device's `clsact`. If one of the two is removed,
//! the other one shows what is missing; and `reload` keeps the options that are not given again.

use std::fmt::Write as _;

use serde_json::{Value, json};
use shortflow_units::{LinkLayer, Rate};

use crate::bytecode::Program;
use crate::commands::ROOT;
use crate::converge::Step;
use crate::memo::short;

/// The place of the record among the filters of the root, behind the memo.
pub(crate) const AT_ROOT: u16 = 101;
/// Its place among the filters of `clsact` at the egress, behind the program that marks and its memo.
pub(crate) const AT_CLSACT: u64 = 0x5348;
/// How a record begins, of whichever version.
const MAGIC: &str = "shortflow deployed ";

/// The options of a deployment, as they were given to `deploy` or `reload`.
///
/// A new option must be added here: `reload` keeps all options of this record, and `status` prints them in the
/// command that repairs a deployment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    /// `--rate`; `None` if the policy's shaper or the device gives it.
    pub rate: Option<Rate>,
    /// `--link-layer`, `--overhead` and `--mpu` together; `None` if the policy's shaper gives it.
    pub link_layer: Option<LinkLayer>,
    /// `--set`: keys of the policy and their values.
    pub set: Vec<(String, String)>,
    /// `--label`: labels and who owns the connections that have them.
    pub labels: Vec<(String, String)>,
    /// `--cgroup`: the folder of the cgroup whose processes may set thresholds.
    pub cgroup: Option<String>,
    /// `--nearest`.
    pub nearest: bool,
}

/// What was deployed on a device.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Deployed {
    /// The name of the policy.
    pub policy: String,
    /// The role that marks, where one does.
    pub marks: Option<String>,
    /// The role that queues, where one does.
    pub queues: Option<String>,
    /// The options.
    pub options: Options,
    /// `rate` and `link_layer` where the policy's shaper gave them instead of the options.
    pub from_shaper: Options,
    /// Whether `clsact` was there before.
    pub(crate) has_found_place: bool,
}

impl Options {
    /// The options as words for a shell, each with its value.
    pub fn words(&self) -> Vec<String> {
        let Options { rate, link_layer, set, labels, cgroup, nearest } = self;
        let of_rate = rate.map(|rate| format!("--rate {}", quoted(&rate.to_string())));
        let pair = |option: &str, (name, value): &(String, String)| {
            format!("{option} {}", quoted(&format!("{name}={value}")))
        };
        let of_link =
            link_layer.map(|layer| format!("--link-layer {}", quoted(&layer.to_string())));
        let mut words: Vec<String> = of_rate.into_iter().chain(of_link).collect();
        words.extend(set.iter().map(|key| pair("--set", key)));
        words.extend(labels.iter().map(|label| pair("--label", label)));
        words.extend(cgroup.iter().map(|cgroup| format!("--cgroup {}", quoted(cgroup))));
        words.extend(nearest.then(|| "--nearest".to_owned()));
        words
    }

    fn text(&self) -> String {
        let Options { rate, link_layer, set, labels, cgroup, nearest } = self;
        let mut text = String::new();
        let mut line = |line: String| writeln!(text, "{line}").expect("a string takes all");
        if let Some(rate) = rate {
            line(format!("rate {}", rate.bits_per_sec()));
        }
        if let Some(layer) = link_layer {
            line(format!("link {layer}"));
        }
        for (word, pairs) in [("set", set), ("label", labels)] {
            for (name, value) in pairs {
                line(format!("{word} {}\t{}", escaped(name), escaped(value)));
            }
        }
        if let Some(cgroup) = cgroup {
            line(format!("cgroup {}", escaped(cgroup)));
        }
        if *nearest {
            line("nearest yes".to_owned());
        }
        text
    }

    fn read(&mut self, word: &str, rest: &str) -> Option<()> {
        let pair = || {
            let (name, value) = rest.split_once('\t')?;
            Some((unescaped(name), unescaped(value)))
        };
        match word {
            "rate" => self.rate = Some(Rate::from_bits_per_sec(rest.parse().ok()?)),
            "link" => self.link_layer = Some(rest.parse().ok()?),
            "set" => self.set.push(pair()?),
            "label" => self.labels.push(pair()?),
            "cgroup" => self.cgroup = Some(unescaped(rest)),
            "nearest" => self.nearest = true,
            _ => return None,
        }
        Some(())
    }
}

impl Deployed {
    /// The roles: the one that marks, and the one that queues.
    pub fn roles(&self) -> Vec<String> {
        let mut roles: Vec<String> = self.marks.iter().chain(&self.queues).cloned().collect();
        roles.dedup();
        roles
    }

    /// As it is kept.
    pub(crate) fn text(&self) -> String {
        let Deployed { policy, marks, queues, options, from_shaper, has_found_place } = self;
        let mut text = format!("{MAGIC}1\npolicy {}\n", short(policy));
        for (word, role) in [("marks", marks), ("queues", queues)] {
            if let Some(role) = role {
                writeln!(text, "{word} {}", short(role)).expect("a string takes all");
            }
        }
        if *has_found_place {
            text += "place found\n";
        }
        text += &options.text();
        for line in from_shaper.text().lines() {
            writeln!(text, "shaper {line}").expect("a string takes all");
        }
        text
    }

    /// How long its text is and may be, in bytes, where that is too long.
    pub(crate) fn excess(&self) -> Option<[usize; 2]> {
        let found = self.text().len();
        (found > Program::MAX_TEXT).then_some([found, Program::MAX_TEXT])
    }

    /// Parses a record; `None` if it is something else, or of another version.
    pub(crate) fn parse(text: &str) -> Option<Deployed> {
        let mut lines = text.lines();
        if lines.next()?.strip_prefix(MAGIC)? != "1" {
            return None;
        }
        let mut deployed = Deployed::default();
        for line in lines {
            match line.split_once(' ')? {
                ("policy", policy) => deployed.policy = policy.to_owned(),
                ("marks", role) => deployed.marks = Some(role.to_owned()),
                ("queues", role) => deployed.queues = Some(role.to_owned()),
                ("place", "found") => deployed.has_found_place = true,
                ("shaper", line) => {
                    let (word, rest) = line.split_once(' ')?;
                    deployed.from_shaper.read(word, rest)?;
                }
                (word, rest) => deployed.options.read(word, rest)?,
            }
        }
        Some(deployed)
    }

    /// The record in a filter at `place`, if there is one.
    pub(crate) fn held(filter: &Value, place: u64) -> Option<Deployed> {
        if filter["pref"] != place {
            return None;
        }
        Deployed::parse(&Program::held(filter)?)
    }

    /// Whether a text is a record, of whichever version.
    pub(crate) fn is_text(text: &str) -> bool {
        text.starts_with(MAGIC)
    }

    /// Whether a filter of `clsact` is a record, of whichever version.
    pub(crate) fn is_record(filter: &Value) -> bool {
        filter["pref"] == AT_CLSACT
            && Program::held(filter).is_some_and(|text| Deployed::is_text(&text))
    }

    /// Keeps it among the filters of the root.
    pub(crate) fn at_root(&self, device: &str) -> Step {
        let place = format!("parent {ROOT:x}: protocol all pref {AT_ROOT}");
        self.at(device, &place)
    }

    /// Keeps it among the filters of `clsact`.
    pub(crate) fn at_clsact(&self, device: &str) -> Step {
        self.at(device, &format!("egress protocol all pref {AT_CLSACT}"))
    }

    fn at(&self, device: &str, place: &str) -> Step {
        let program = Program::passing_by(&self.text());
        Step::Tc(format!("filter replace dev {device} {place} handle 1 bpf bytecode '{program}'"))
    }

    /// As a program reads it.
    pub(crate) fn json(&self) -> Value {
        let Deployed { policy, options, .. } = self;
        let Options { rate, link_layer, set, labels, cgroup, nearest } = options;
        let pairs = |pairs: &[(String, String)]| -> Vec<String> {
            pairs.iter().map(|(name, value)| format!("{name}={value}")).collect()
        };
        json!({
            "policy": policy, "roles": self.roles(), "rate_bit_per_s": rate.map(Rate::bits_per_sec),
            "link_layer": link_layer,
            "set": pairs(set), "label": pairs(labels), "cgroup": cgroup, "nearest": nearest,
        })
    }
}

/// Takes the record of `clsact` away.
pub(crate) fn remove_record(device: &str) -> Step {
    Step::Tc(format!("filter del dev {device} egress protocol all pref {AT_CLSACT} handle 1 bpf"))
}

/// Without what ends a line or a part of it.
fn escaped(text: &str) -> String {
    text.replace('\\', r"\\").replace('\n', r"\n").replace('\r', r"\r").replace('\t', r"\t")
}

fn unescaped(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text.chars();
    while let Some(next) = rest.next() {
        plain.push(match next {
            '\\' => match rest.next() {
                Some('n') => '\n',
                Some('r') => '\r',
                Some('t') => '\t',
                Some(other) => other,
                None => '\\',
            },
            other => other,
        });
    }
    plain
}

/// Quoted as one word of a shell.
pub fn quoted(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-@:+,=/".contains(&byte);
    match !text.is_empty() && text.bytes().all(is_plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn everything() -> Deployed {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        Deployed {
            policy: "Calls First".to_owned(),
            marks: Some("edge".to_owned()),
            queues: Some("the core".to_owned()),
            options: Options {
                rate: Some(Rate::from_bits_per_sec(18_000_000)),
                link_layer: Some("overhead 22 mpu 64".parse().unwrap()),
                set: vec![
                    pair("parameters.limit", "\"50 pkt\""),
                    pair("description", "\"two\nlines\\n and\ta tab\""),
                ],
                labels: vec![pair("shell", "cgroup:a b/ssh.service"), pair("a=b", "mark:7")],
                cgroup: Some("/sys/fs/cgroup/a b".to_owned()),
                nearest: true,
            },
            from_shaper: Options {
                rate: Some(Rate::from_bits_per_sec(7_000_000)),
                link_layer: Some("overhead 12 atm".parse().unwrap()),
                ..Options::default()
            },
            has_found_place: true,
        }
    }

    #[test]
    fn a_record_is_read_as_it_was_written_and_nothing_else_is_taken_for_one() {
        let bare = Deployed { policy: "Calls First".to_owned(), ..Deployed::default() };
        for deployed in [everything(), bare] {
            assert_eq!(Deployed::parse(&deployed.text()), Some(deployed));
        }
        for wrong in ["", "shortflow deployed 2\npolicy x", "shortflow deployed 1\nodd thing"] {
            assert_eq!(Deployed::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn options_are_words_for_a_shell() {
        let words = everything().options.words();
        assert_eq!(words[0], "--rate '18 Mbit/s'");
        assert_eq!(words[1], "--link-layer 'overhead 22 mpu 64'");
        assert_eq!(words[2], "--set 'parameters.limit=\"50 pkt\"'");
        assert_eq!(
            words[4..],
            [
                "--label 'shell=cgroup:a b/ssh.service'",
                "--label a=b=mark:7",
                "--cgroup '/sys/fs/cgroup/a b'",
                "--nearest"
            ]
        );
    }

    #[test]
    fn a_word_for_a_shell_is_quoted_where_it_would_be_several() {
        assert_eq!(
            quoted("shell=cgroup:system.slice/ssh.service"),
            "shell=cgroup:system.slice/ssh.service"
        );
        assert_eq!(quoted("10 Mbit/s"), "'10 Mbit/s'");
        assert_eq!(quoted("it's=mark:7"), r"'it'\''s=mark:7'");
        assert_eq!(quoted(""), "''");
    }
}
