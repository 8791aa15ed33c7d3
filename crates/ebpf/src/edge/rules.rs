//! Rules as the program looks them up: for each field, which rules its value meets, in a word with a bit for each
//! (programs/rules.h, which gives the sources).

use std::collections::BTreeSet;
use std::net::IpAddr;

use shortflow_elements::classifier::{DscpSet, MultiField, PortRange, SenderMatch};
use shortflow_elements::{Label, Prefix};

use super::{MOST_RULES, Owner, Unsayable};

/// Bits of `settings.asks`: what rules ask for.
#[derive(Debug, Clone, Copy)]
enum Field {
    Protocol,
    CodePoint,
    Source,
    Destination,
    SourcePort,
    DestinationPort,
    Mark,
    Group,
    Progress,
}

/// The rules of a plan.
#[derive(Debug, Clone)]
#[cfg_attr(not(feature = "ebpf"), expect(dead_code, reason = "nobody loads them"))]
pub(super) struct Rules {
    /// `struct rules`.
    pub(super) bytes: Vec<u8>,
    /// Which fields any of them asks for: `settings.asks`.
    pub(super) asks: u32,
    /// What tells them apart from rules that match other packets.
    pub(super) shape: String,
}

/// A rule, with what a field that it does not ask for may be.
#[derive(Debug)]
struct Rule {
    src: Addresses,
    dst: Addresses,
    src_ports: [u16; 2],
    dst_ports: [u16; 2],
    protocol: Option<u8>,
    /// A bit for each.
    code_points: u64,
    owner: Option<Owner>,
    sent_up_to: Option<u64>,
    remaining_up_to: Option<u64>,
    class: u8,
}

/// Addresses of one family, or all of both.
#[derive(Debug, Clone, Copy)]
struct Addresses {
    /// An IPv4 address is kept as ::ffff:a.b.c.d.
    bits: Masked,
    family: Option<Family>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Family {
    V4,
    V6,
}

/// What some bits of a number must be.
#[derive(Debug, Clone, Copy, Default)]
struct Masked {
    value: u128,
    mask: u128,
}

impl Rules {
    pub(super) fn new(
        rules: &[(MultiField, usize)],
        owners: &[(Label, Owner)],
    ) -> Result<Rules, Unsayable> {
        let rules = rules.iter().map(|(fields, class)| Rule::new(fields, *class, owners));
        let rules = rules.collect::<Result<Vec<_>, _>>()?;
        Ok(Rules { bytes: tables(&rules), asks: asks(&rules), shape: format!("{rules:?}") })
    }
}

impl Rule {
    fn new(
        fields: &MultiField,
        class: usize,
        owners: &[(Label, Owner)],
    ) -> Result<Rule, Unsayable> {
        let code_points = |set: DscpSet| set.iter().fold(0, |bits, dscp| bits | 1 << dscp.value());
        let ports =
            |ports: &Option<PortRange>| ports.as_ref().map_or([0, u16::MAX], PortRange::ends);
        let SenderMatch { label, sent_up_to, remaining_up_to } = fields.sender.unwrap_or_default();
        let owner_of = |label| {
            let found = owners.iter().find(|(known, _)| *known == label);
            found.map(|(_, owner)| *owner).ok_or(Unsayable::Label(label))
        };
        Ok(Rule {
            src: Addresses::of(fields.src),
            dst: Addresses::of(fields.dst),
            src_ports: ports(&fields.src_ports),
            dst_ports: ports(&fields.dst_ports),
            protocol: fields.protocol.map(|protocol| protocol.0),
            code_points: fields.dscps.map_or(u64::MAX, code_points),
            owner: label.map(owner_of).transpose()?,
            sent_up_to: sent_up_to.map(|bytes| bytes.0),
            remaining_up_to: remaining_up_to.map(|bytes| bytes.0),
            class: u8::try_from(class).expect("classes are few"),
        })
    }

    /// The socket's mark for which it asks.
    fn mark(&self) -> Option<u32> {
        match self.owner {
            Some(Owner::Mark(mark)) => Some(mark),
            _ => None,
        }
    }

    /// The group of processes for which it asks, and at which level of the hierarchy.
    fn group(&self) -> Option<(u64, u8)> {
        match self.owner {
            Some(Owner::Group { id, level }) => Some((id, level)),
            _ => None,
        }
    }
}

impl Addresses {
    fn of(prefix: Option<Prefix>) -> Addresses {
        let Some(prefix) = prefix else {
            return Addresses { bits: Masked::default(), family: None };
        };
        let (value, length, family) = match IpAddr::from(prefix.network()) {
            IpAddr::V4(address) => {
                (address.to_ipv6_mapped().to_bits(), 96 + u32::from(prefix.length()), Family::V4)
            }
            IpAddr::V6(address) => (address.to_bits(), u32::from(prefix.length()), Family::V6),
        };
        let mask = u128::MAX.checked_shl(128 - length).unwrap_or(0);
        Addresses { bits: Masked { value, mask }, family: Some(family) }
    }
}

impl Masked {
    fn exactly(value: u128) -> Masked {
        Masked { value, mask: u128::MAX }
    }

    /// Whether a byte of a number may have a value; bytes count from the last one.
    fn allows(&self, byte: usize, value: u8) -> bool {
        let at = |number: u128| (number >> (8 * byte)) as u8;
        value & at(self.mask) == at(self.value)
    }
}

/// What any rule asks for.
fn asks(rules: &[Rule]) -> u32 {
    let any = |field: Field, asks: &dyn Fn(&Rule) -> bool| {
        u32::from(rules.iter().any(asks)) << (field as u32)
    };
    any(Field::Protocol, &|rule| rule.protocol.is_some())
        | any(Field::CodePoint, &|rule| rule.code_points != u64::MAX)
        | any(Field::Source, &|rule| rule.src.family.is_some())
        | any(Field::Destination, &|rule| rule.dst.family.is_some())
        | any(Field::SourcePort, &|rule| rule.src_ports != [0, u16::MAX])
        | any(Field::DestinationPort, &|rule| rule.dst_ports != [0, u16::MAX])
        | any(Field::Mark, &|rule| rule.mark().is_some())
        | any(Field::Group, &|rule| rule.group().is_some())
        | any(Field::Progress, &|rule| rule.sent_up_to.or(rule.remaining_up_to).is_some())
}

/// Words with a bit for each rule, and what is looked up on the way to them.
struct Tables<'r> {
    rules: &'r [Rule],
    bytes: Vec<u8>,
}

/// `struct rules`.
fn tables(rules: &[Rule]) -> Vec<u8> {
    let mut tables = Tables { rules, bytes: Vec::new() };
    tables.word(&|_| true);
    for value in 0..=u8::MAX {
        tables.word(&|rule| rule.protocol.is_none_or(|protocol| protocol == value));
    }
    for value in 0..64 {
        tables.word(&|rule| rule.code_points >> value & 1 == 1);
    }
    tables.addresses(&|rule| rule.src);
    tables.addresses(&|rule| rule.dst);
    tables.ports(&|rule| rule.src_ports);
    tables.ports(&|rule| rule.dst_ports);
    let mark = |rule: &Rule| rule.mark().map(|mark| Masked::exactly(mark.into()));
    tables.by_bytes(4, &|rule| Some(mark(rule).unwrap_or_default()));
    tables.by_bytes(8, &|rule| rule.group().map(|(id, _)| Masked::exactly(id.into())));
    let levels = tables.levels();
    tables.word(&|rule| rule.group().is_none());
    tables.word(&|rule| rule.sent_up_to.or(rule.remaining_up_to).is_none());
    tables.progress(&|rule| rule.sent_up_to);
    tables.progress(&|rule| rule.remaining_up_to);
    tables.bytes.extend((levels.len() as u32).to_ne_bytes());
    tables.bytes.extend((0..MOST_RULES).map(|at| levels.get(at).copied().unwrap_or(0)));
    let mut classes = [0; MOST_RULES];
    for (number, rule) in rules.iter().enumerate() {
        classes[place_of_first(1 << number)] = rule.class;
    }
    tables.bytes.extend(classes);
    tables.bytes.extend(0_u32.to_ne_bytes());
    tables.bytes
}

impl Tables<'_> {
    /// The rules for which something holds.
    fn word(&mut self, holds: &dyn Fn(&Rule) -> bool) {
        let bits = self.rules.iter().enumerate();
        let word = bits.fold(0_u64, |word, (at, rule)| word | u64::from(holds(rule)) << at);
        self.bytes.extend(word.to_ne_bytes());
    }

    /// For each byte of a number, the last one first, and each value; no rule that asks for nothing.
    fn by_bytes(&mut self, bytes: usize, asked: &dyn Fn(&Rule) -> Option<Masked>) {
        for byte in 0..bytes {
            for value in 0..=u8::MAX {
                self.word(&|rule| asked(rule).is_some_and(|asked| asked.allows(byte, value)));
            }
        }
    }

    /// `struct of_address`.
    fn addresses(&mut self, asked: &dyn Fn(&Rule) -> Addresses) {
        self.by_bytes(16, &|rule| Some(asked(rule).bits));
        self.word(&|rule| asked(rule).family != Some(Family::V6));
    }

    /// `struct of_port`.
    fn ports(&mut self, asked: &dyn Fn(&Rule) -> [u16; 2]) {
        let ends = self.rules.iter().map(asked);
        let begins = ends.flat_map(|[first, last]| [Some(first), last.checked_add(1)]).flatten();
        let begins: BTreeSet<u16> = begins.chain([0]).collect();
        let mut number = 0;
        for port in 0..=u16::MAX {
            number += u8::from(port > 0 && begins.contains(&port));
            self.bytes.push(number);
        }
        for begin in &begins {
            self.word(&|rule| (asked(rule)[0]..=asked(rule)[1]).contains(begin));
        }
        self.none(256 - begins.len());
    }

    /// The levels at which rules ask for groups, of which the rules are written.
    fn levels(&mut self) -> Vec<u8> {
        let levels = self.rules.iter().filter_map(|rule| rule.group().map(|(_, level)| level));
        let levels: BTreeSet<u8> = levels.collect();
        for level in &levels {
            self.word(&|rule| rule.group().is_some_and(|(_, at)| at == *level));
        }
        self.none(MOST_RULES - levels.len());
        levels.into_iter().collect()
    }

    /// `struct of_progress`.
    fn progress(&mut self, asked: &dyn Fn(&Rule) -> Option<u64>) {
        let bounds: BTreeSet<u64> = self.rules.iter().filter_map(asked).collect();
        let mut all: Vec<u64> = bounds.iter().copied().collect();
        all.resize(MOST_RULES, u64::MAX);
        self.bytes.extend(all.into_iter().flat_map(u64::to_ne_bytes));
        for bound in &bounds {
            self.word(&|rule| asked(rule).is_none_or(|most| *bound <= most));
        }
        for _ in bounds.len()..=MOST_RULES {
            self.word(&|rule| asked(rule).is_none());
        }
    }

    /// Words that nothing leads to.
    fn none(&mut self, words: usize) {
        self.bytes.resize(self.bytes.len() + 8 * words, 0);
    }
}

/// As `place_of_first` of programs/rules.h.
fn place_of_first(bits: u64) -> usize {
    ((bits & bits.wrapping_neg()).wrapping_mul(0x03f7_9d71_b4cb_0a89) >> 58) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rule_has_a_place_of_its_own_for_its_class() {
        let places: BTreeSet<usize> = (0..64).map(|at| place_of_first(u64::MAX << at)).collect();
        assert_eq!(places.len(), 64);
    }

    #[test]
    fn a_prefix_is_of_its_own_family_alone() {
        let of = |text: &str, length| {
            let prefix = Prefix::new(text.parse().unwrap(), length).unwrap();
            let Addresses { bits: Masked { value, mask }, family } = Addresses::of(Some(prefix));
            (family.unwrap(), [value, mask])
        };
        assert_eq!(of("10.1.0.0", 16), (Family::V4, [0xffff_0a01_0000, u128::MAX << 16]));
        assert_eq!(of("0.0.0.0", 0), (Family::V4, [0xffff_0000_0000, u128::MAX << 32]));
        assert_eq!(of("::", 0), (Family::V6, [0, 0]));
        assert_eq!(of("fd00::1", 128), (Family::V6, [0xfd << 120 | 1, u128::MAX]));
    }
}
