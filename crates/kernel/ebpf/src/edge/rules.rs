//! Rules as the program looks them up: for each field, the set of rules that a value matches, as one bit per rule
//! (programs/rules.h, which gives the sources).

use std::collections::BTreeSet;
use std::net::IpAddr;

use shortflow_elements::classifier::{AnyOf, DscpSet, MultiField, PortRange, SenderMatch};
use shortflow_packet::{Label, Prefix, Protocol};

use super::{MAX_RULES, Owner, PRIORITIES, Unsupported};

/// The maximum number of intervals of ports in `struct of_port`.
const MAX_INTERVALS: usize = 256;

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
    Priority,
}

/// The rules of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rules {
    /// `struct rules`.
    pub(crate) bytes: Vec<u8>,
    /// Which fields any of them asks for.
    pub(crate) asks: u32,
    /// The fields that distinguish them from rules for other packets.
    pub(crate) shape: String,
}

/// A rule, with what a field that it does not ask for may be. The tables hold lists of ports, protocols and code points as
/// they are; of addresses a rule has one at each end.
#[derive(Debug)]
struct Rule {
    src: Addresses,
    dst: Addresses,
    /// At the source and at the destination.
    ports: [Ports; 2],
    /// A bit for each.
    protocols: [u64; 4],
    /// A bit for each.
    code_points: u64,
    owner: Option<Owner>,
    sent_up_to: Option<u64>,
    remaining_up_to: Option<u64>,
    class: u8,
}

/// Ranges of ports, each with its first and its last.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Ports(Vec<[u16; 2]>);

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
    /// Whether any of them asks for more than headers have.
    pub(crate) fn asks_sockets(&self) -> bool {
        let of_sockets = [Field::Mark, Field::Priority, Field::Group, Field::Progress];
        of_sockets.into_iter().any(|field| self.asks >> (field as u32) & 1 == 1)
    }

    pub(crate) fn new(
        rules: &[(MultiField, usize)],
        owners: &[(Label, Owner)],
    ) -> Result<Rules, Unsupported> {
        let mut single = Vec::new();
        for (fields, class) in rules {
            single.extend(Rule::of_match(fields, *class, owners)?);
        }
        if single.len() > MAX_RULES {
            return Err(Unsupported::TooMany {
                what: "rules (a list of addresses, or `port`, uses several)",
                found: single.len(),
                max: MAX_RULES,
            });
        }
        for end in 0..2 {
            let found = boundaries(&single, end).len();
            if found > MAX_INTERVALS {
                let what = "boundaries of ports";
                return Err(Unsupported::TooMany { what, found, max: MAX_INTERVALS });
            }
        }
        Ok(Rules { bytes: tables(&single), asks: asks(&single), shape: format!("{single:?}") })
    }
}

impl Rule {
    /// The program's rules for a match: one for each pair of a source and a destination, and one for each end if
    /// either port may match.
    fn of_match(
        fields: &MultiField,
        class: usize,
        owners: &[(Label, Owner)],
    ) -> Result<Vec<Rule>, Unsupported> {
        let SenderMatch { label, byte_range, .. } = fields.sender.unwrap_or_default();
        if byte_range {
            return Err(Unsupported::ByteRange);
        }
        let owner_of = |label| {
            let found = owners.iter().find(|(known, _)| *known == label);
            found.map(|(_, owner)| *owner).ok_or(Unsupported::Label(label))
        };
        let owner = label.map(owner_of).transpose()?;
        let each = |prefixes: &Option<AnyOf<Prefix>>| match prefixes {
            None => vec![None],
            Some(prefixes) => prefixes.iter().copied().map(Some).collect(),
        };
        let mut rules = Vec::new();
        for ports in ends(fields) {
            for src in each(&fields.src) {
                for dst in each(&fields.dst) {
                    rules.push(Rule::new(fields, [src, dst], ports.clone(), owner, class));
                }
            }
        }
        Ok(rules)
    }

    fn new(
        fields: &MultiField,
        [src, dst]: [Option<Prefix>; 2],
        ports: [Ports; 2],
        owner: Option<Owner>,
        class: usize,
    ) -> Rule {
        let code_points = |set: DscpSet| set.iter().fold(0, |bits, dscp| bits | 1 << dscp.value());
        let SenderMatch { label: _, sent_up_to, remaining_up_to, byte_range: _ } =
            fields.sender.unwrap_or_default();
        Rule {
            src: Addresses::from_prefix(src),
            dst: Addresses::from_prefix(dst),
            ports,
            protocols: fields.protocol.as_ref().map_or([u64::MAX; 4], protocols),
            code_points: fields.dscps.map_or(u64::MAX, code_points),
            owner,
            sent_up_to: sent_up_to.map(|bytes| bytes.0),
            remaining_up_to: remaining_up_to.map(|bytes| bytes.0),
            class: u8::try_from(class).expect("classes are few"),
        }
    }

    /// The socket's mark for which it asks.
    fn mark(&self) -> Option<u32> {
        match self.owner {
            Some(Owner::Mark(mark)) => Some(mark),
            _ => None,
        }
    }

    /// The socket's priority for which it asks.
    fn priority(&self) -> Option<u8> {
        match self.owner {
            Some(Owner::Priority(priority)) => Some(priority),
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

/// The ports that a match asks for at the source and at the destination: twice where a port at either end will do.
fn ends(fields: &MultiField) -> Vec<[Ports; 2]> {
    let of = |ports: &Option<AnyOf<PortRange>>| ports.as_ref().map_or_else(Ports::all, Ports::new);
    let [src, dst] = [of(&fields.src_ports), of(&fields.dst_ports)];
    let Some(either) = &fields.ports else { return vec![[src, dst]] };
    let either = Ports::new(either);
    vec![[src.and(&either), dst.clone()], [src, dst.and(&either)]]
}

/// A bit for each protocol.
fn protocols(list: &AnyOf<Protocol>) -> [u64; 4] {
    let mut bits = [0; 4];
    for Protocol(number) in list.iter() {
        bits[usize::from(number / 64)] |= 1 << (number % 64);
    }
    bits
}

impl Ports {
    fn all() -> Ports {
        Ports(vec![[0, u16::MAX]])
    }

    fn new(ranges: &AnyOf<PortRange>) -> Ports {
        Ports(ranges.iter().map(PortRange::ends).collect())
    }

    /// The ports that are in both.
    fn and(&self, other: &Ports) -> Ports {
        let pairs = self.0.iter().flat_map(|one| other.0.iter().map(move |two| (one, two)));
        let both = pairs.map(|(one, two)| [one[0].max(two[0]), one[1].min(two[1])]);
        Ports(both.filter(|[first, last]| first <= last).collect())
    }

    fn contain(&self, port: u16) -> bool {
        self.0.iter().any(|[first, last]| (*first..=*last).contains(&port))
    }
}

/// Where the ports at one end begin that some rule treats differently from the ports before.
fn boundaries(rules: &[Rule], end: usize) -> BTreeSet<u16> {
    let ranges = rules.iter().flat_map(|rule| &rule.ports[end].0);
    let begins = ranges.flat_map(|[first, last]| [Some(*first), last.checked_add(1)]).flatten();
    begins.chain([0]).collect()
}

impl Addresses {
    fn from_prefix(prefix: Option<Prefix>) -> Addresses {
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
    any(Field::Protocol, &|rule| rule.protocols != [u64::MAX; 4])
        | any(Field::CodePoint, &|rule| rule.code_points != u64::MAX)
        | any(Field::Source, &|rule| rule.src.family.is_some())
        | any(Field::Destination, &|rule| rule.dst.family.is_some())
        | any(Field::SourcePort, &|rule| rule.ports[0] != Ports::all())
        | any(Field::DestinationPort, &|rule| rule.ports[1] != Ports::all())
        | any(Field::Mark, &|rule| rule.mark().is_some())
        | any(Field::Priority, &|rule| rule.priority().is_some())
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
        tables.word(&|rule| rule.protocols[usize::from(value / 64)] >> (value % 64) & 1 == 1);
    }
    for value in 0..64 {
        tables.word(&|rule| rule.code_points >> value & 1 == 1);
    }
    tables.addresses(&|rule| rule.src);
    tables.addresses(&|rule| rule.dst);
    tables.ports(0);
    tables.ports(1);
    let mark = |rule: &Rule| rule.mark().map(|mark| Masked::exactly(mark.into()));
    tables.by_bytes(4, &|rule| Some(mark(rule).unwrap_or_default()));
    for value in 0..PRIORITIES {
        tables.word(&|rule| rule.priority().is_none_or(|priority| priority == value));
    }
    tables.by_bytes(8, &|rule| rule.group().map(|(id, _)| Masked::exactly(id.into())));
    let levels = tables.levels();
    tables.word(&|rule| rule.group().is_none());
    tables.word(&|rule| rule.sent_up_to.or(rule.remaining_up_to).is_none());
    tables.progress(&|rule| rule.sent_up_to);
    tables.progress(&|rule| rule.remaining_up_to);
    tables.bytes.extend((levels.len() as u32).to_ne_bytes());
    tables.bytes.extend((0..MAX_RULES).map(|at| levels.get(at).copied().unwrap_or(0)));
    let mut classes = [0; MAX_RULES];
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

    /// For each byte of a number, the last one first, and each value: the rules that it matches.
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
    fn ports(&mut self, end: usize) {
        let begins = boundaries(self.rules, end);
        let mut number = 0;
        for port in 0..=u16::MAX {
            number += u8::from(port > 0 && begins.contains(&port));
            self.bytes.push(number);
        }
        for begin in &begins {
            self.word(&|rule| rule.ports[end].contain(*begin));
        }
        self.none(MAX_INTERVALS - begins.len());
    }

    /// The levels at which rules ask for groups, of which the rules are written.
    fn levels(&mut self) -> Vec<u8> {
        let levels = self.rules.iter().filter_map(|rule| rule.group().map(|(_, level)| level));
        let levels: BTreeSet<u8> = levels.collect();
        for level in &levels {
            self.word(&|rule| rule.group().is_some_and(|(_, at)| at == *level));
        }
        self.none(MAX_RULES - levels.len());
        levels.into_iter().collect()
    }

    /// `struct of_progress`.
    fn progress(&mut self, asked: &dyn Fn(&Rule) -> Option<u64>) {
        let bounds: BTreeSet<u64> = self.rules.iter().filter_map(asked).collect();
        let mut all: Vec<u64> = bounds.iter().copied().collect();
        all.resize(MAX_RULES, u64::MAX);
        self.bytes.extend(all.into_iter().flat_map(u64::to_ne_bytes));
        for bound in &bounds {
            self.word(&|rule| asked(rule).is_none_or(|max| *bound <= max));
        }
        for _ in bounds.len()..=MAX_RULES {
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
            let Addresses { bits: Masked { value, mask }, family } =
                Addresses::from_prefix(Some(prefix));
            (family.unwrap(), [value, mask])
        };
        assert_eq!(of("10.1.0.0", 16), (Family::V4, [0xffff_0a01_0000, u128::MAX << 16]));
        assert_eq!(of("0.0.0.0", 0), (Family::V4, [0xffff_0000_0000, u128::MAX << 32]));
        assert_eq!(of("::", 0), (Family::V6, [0, 0]));
        assert_eq!(of("fd00::1", 128), (Family::V6, [0xfd << 120 | 1, u128::MAX]));
    }
}
