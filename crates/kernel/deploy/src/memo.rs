//! The record of a deployment's queues, as a text that the kernel stores among the filters of the device.

use std::fmt::Write as _;

use shortflow_units::{LinkLayer, Rate};

use crate::commands::{Generation, Writer};
use crate::early;
use crate::levels::{number, program};
use crate::tree::Tree;

/// The most of a name that is kept.
const MAX_OF_NAME: usize = 80;

/// What is deployed on a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Memo {
    /// The name of the policy.
    pub policy: String,
    /// The role of it that the device plays.
    pub role: String,
    /// The rate of the line.
    pub rate: Rate,
    /// The handles of queues, and what they are called.
    pub queues: Vec<(u16, String)>,
    /// In whose place it stands, for as long as `verify` takes.
    pub instead: Option<Instead>,
    pub(crate) shape: u64,
    pub(crate) filters: u64,
    /// The settings, in a number; none of a version that did not keep it.
    pub(crate) settings: Option<u64>,
    /// What a packet takes on the link of the bottleneck; none added of a version that did not keep it.
    pub link_layer: LinkLayer,
    /// Bytes that the size table of the root adds to each packet.
    pub(crate) stab: i64,
    /// The number of the filter that gives packets their levels; `None` where no queue has levels.
    pub(crate) levels: Option<u64>,
    /// Whether the program for early drops is before the queues.
    pub(crate) has_early: bool,
    /// Whether the place for filters was there before.
    pub(crate) has_found_place: bool,
}

/// Queues in whose place others stand for a while.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instead {
    /// The name of their policy.
    pub policy: String,
    pub(crate) shape: u64,
    pub(crate) filters: u64,
    pub(crate) settings: u64,
}

impl Instead {
    /// Those of this tree.
    pub(crate) fn from_tree(tree: &Tree) -> Instead {
        Instead {
            policy: short(&tree.policy),
            shape: tree.shape(),
            filters: tree.filters(),
            settings: tree.settings(),
        }
    }
}

impl Memo {
    /// That of a tree in this generation.
    pub(crate) fn from_tree(tree: &Tree, generation: Generation) -> Memo {
        let queues = Writer::new("", tree, generation).queues().into_iter();
        Memo {
            policy: short(&tree.policy),
            role: short(&tree.role),
            rate: tree.rate,
            queues: queues.map(|(handle, name)| (handle, short(&name))).collect(),
            instead: tree.instead.clone(),
            shape: tree.shape(),
            filters: tree.filters(),
            settings: Some(tree.settings()),
            link_layer: tree.link_layer,
            stab: tree.stab(),
            has_early: early::plan(tree, generation).is_some(),
            levels: program(tree).ok().flatten().map(|program| number(&program)),
            has_found_place: false,
        }
    }

    /// Whether a tree produced this memo.
    pub fn is_of(&self, tree: &Tree) -> bool {
        self.is_named(&tree.policy, &tree.role, tree.rate)
            && (self.shape, self.filters) == (tree.shape(), tree.filters())
            && self.settings.is_none_or(|settings| settings == tree.settings())
            && self.instead == tree.instead
    }

    /// Whether it temporarily replaces a tree.
    pub fn is_instead_of(&self, tree: &Tree) -> bool {
        self.instead == Some(Instead::from_tree(tree))
            && self.is_named(&self.policy, &tree.role, tree.rate)
    }

    fn is_named(&self, policy: &str, role: &str, rate: Rate) -> bool {
        (&self.policy, &self.role) == (&short(policy), &short(role)) && self.rate == rate
    }

    /// As it is kept.
    pub(crate) fn text(&self) -> String {
        let Memo { policy, role, rate, queues, instead, shape, filters, .. } = self;
        let rate = rate.bits_per_sec();
        let mut text = format!(
            "shortflow 1\npolicy {policy}\nrole {role}\nrate {rate}\nshape {shape:x}\nfilters {filters:x}\n"
        );
        if let Some(settings) = self.settings {
            writeln!(text, "settings {settings:x}").expect("a string takes all");
        }
        if let Some(Instead { policy, shape, filters, settings }) = instead {
            writeln!(text, "instead {shape:x} {filters:x} {settings:x} {policy}")
                .expect("a string takes all");
        }
        if self.link_layer != LinkLayer::RAW {
            writeln!(text, "link {}", self.link_layer).expect("a string takes all");
        }
        if self.stab != 0 {
            writeln!(text, "stab {}", self.stab).expect("a string takes all");
        }
        if let Some(levels) = self.levels {
            writeln!(text, "levels {levels:x}").expect("a string takes all");
        }
        if self.has_early {
            text += "early drops\n";
        }
        if self.has_found_place {
            text += "place was found\n";
        }
        for (handle, name) in queues {
            writeln!(text, "queue {handle:x} {name}").expect("a string takes all");
        }
        text
    }

    /// Parses a memo; `None` if it is something else, or of another version.
    pub(crate) fn parse(text: &str) -> Option<Memo> {
        let mut lines = text.lines();
        if lines.next()? != "shortflow 1" {
            return None;
        }
        let mut field = |name: &str| lines.next()?.strip_prefix(name)?.strip_prefix(' ');
        let (policy, role) = (field("policy")?.to_owned(), field("role")?.to_owned());
        let rate = Rate::from_bits_per_sec(field("rate")?.parse().ok()?);
        let hex = |text: &str| u64::from_str_radix(text, 16).ok();
        let (shape, filters) = (hex(field("shape")?)?, hex(field("filters")?)?);
        let mut memo = Memo {
            policy,
            role,
            rate,
            queues: Vec::new(),
            instead: None,
            shape,
            filters,
            settings: None,
            link_layer: LinkLayer::RAW,
            stab: 0,
            levels: None,
            has_early: false,
            has_found_place: false,
        };
        for line in lines {
            let (word, rest) = line.split_once(' ')?;
            match word {
                "queue" => {
                    let (first, rest) = rest.split_once(' ')?;
                    let handle = u16::from_str_radix(first, 16).ok()?;
                    memo.queues.push((handle, rest.to_owned()));
                }
                "instead" => {
                    let parts: Vec<&str> = rest.splitn(4, ' ').collect();
                    let [shape, filters, settings, policy] = parts[..] else { return None };
                    memo.instead = Some(Instead {
                        policy: policy.to_owned(),
                        shape: hex(shape)?,
                        filters: hex(filters)?,
                        settings: hex(settings)?,
                    });
                }
                "link" => memo.link_layer = rest.parse().ok()?,
                "stab" => memo.stab = rest.parse().ok()?,
                "early" => memo.has_early = true,
                "levels" => memo.levels = Some(hex(rest)?),
                "settings" => memo.settings = Some(hex(rest)?),
                "place" => memo.has_found_place = true,
                _ => return None,
            }
        }
        Some(memo)
    }
}

/// A link layer as the end of a rate: nothing where packets count as the kernel counts them.
pub(crate) fn over(layer: LinkLayer) -> String {
    match layer {
        LinkLayer::RAW => String::new(),
        layer => format!(" over {layer}"),
    }
}

/// A name without what would break a line, and no longer than what fits.
pub fn short(name: &str) -> String {
    let plain = |c: char| if c.is_control() { ' ' } else { c };
    name.trim().chars().map(plain).take(MAX_OF_NAME).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_memo_is_read_as_it_was_written_and_nothing_else_is_taken_for_one() {
        let memo = Memo {
            policy: "Calls First".to_owned(),
            role: "core".to_owned(),
            rate: Rate::from_bits_per_sec(10_000_000),
            queues: vec![(0x5f01, "EF".to_owned()), (0x5f02, "the rest / tcp".to_owned())],
            instead: None,
            shape: 7,
            filters: u64::MAX,
            settings: Some(3),
            link_layer: "pppoa-vcmux".parse().unwrap(),
            stab: -6,
            levels: Some(u64::MAX),
            has_early: true,
            has_found_place: true,
        };
        let policy = "Web First".to_owned();
        let instead = Some(Instead { policy, shape: u64::MAX, filters: 0, settings: 9 });
        for memo in [&memo, &Memo { instead, ..memo.clone() }] {
            assert_eq!(Memo::parse(&memo.text()), Some(memo.clone()));
        }
        for wrong in ["", "shortflow 2\npolicy x", &memo.text()[..30], "queue 5f01 EF"] {
            assert_eq!(Memo::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_name_that_would_break_the_lines_of_a_memo_is_kept_without_what_breaks_them() {
        assert_eq!(short("a\nrate 1"), "a rate 1");
        assert_eq!(short(&"ä".repeat(100)).chars().count(), MAX_OF_NAME);
    }
}
