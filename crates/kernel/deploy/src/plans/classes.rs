//! Classes of HTB for plans: the line, unknown addresses, sites, customers.

use std::collections::{BTreeMap, BTreeSet};

use shortflow_plans::{Direction, Plans, Prefix};
use shortflow_units::Rate;

/// The major number of HTB with plans.
pub(crate) const ROOT: u16 = 0x5e00;
/// The class of the line.
pub(crate) const LINE: u16 = 1;
/// The class of unknown addresses.
pub(crate) const UNKNOWN: u16 = 2;
/// The first class of a site or a customer.
const FIRST: u16 = 3;
/// The last one: 0xffff is the handle of clsact, and each queue has its class's number as handle.
const LAST: u16 = 0xfffe;

/// What a class is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Line,
    Unknown,
    Site,
    Customer,
}

/// A class.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Class {
    pub(crate) minor: u16,
    /// The class around it; 0 for the line.
    pub(crate) parent: u16,
    pub(crate) kind: Kind,
    /// Of a site or a customer.
    pub(crate) name: String,
    /// What it gets even if all others send.
    pub(crate) floor: Rate,
    /// The most that it gets.
    pub(crate) ceiling: Rate,
    pub(crate) prefixes: Vec<Prefix>,
}

impl Class {
    /// Whether it has a queue.
    pub(crate) fn is_leaf(&self) -> bool {
        matches!(self.kind, Kind::Customer | Kind::Unknown)
    }
}

/// The classes of plans in one direction, each behind the one around it. Those that were there `before`, at the same place, keep
/// their numbers.
pub(crate) fn classes(plans: &Plans, direction: Direction, before: &[Class]) -> Vec<Class> {
    let mut numbers = Numbers::new(before);
    let line = plans.line.of(direction);
    let floors = plans.sums(|customer| plans.floor(customer, direction));
    let guaranteed: u64 =
        plans.customers.iter().map(|one| plans.floor(one, direction).bits_per_sec()).sum();
    let class = |minor, parent, kind, floor, ceiling| Class {
        minor,
        parent,
        kind,
        name: String::new(),
        floor,
        ceiling,
        prefixes: Vec::new(),
    };
    let most = plans.unknown.map_or(line, |rates| rates.of(direction)).min(line);
    let mut all = vec![
        class(LINE, 0, Kind::Line, line, line),
        class(UNKNOWN, LINE, Kind::Unknown, floor_of_unknown(line, guaranteed).min(most), most),
    ];
    let mut of_site = BTreeMap::new();
    for site in outermost_first(plans) {
        let found = &plans.sites[site];
        let parent = found.parent.map_or(LINE, |parent| of_site[&parent]);
        let minor = numbers.of(Kind::Site, parent, &found.name);
        of_site.insert(site, minor);
        let floor = Rate::from_bits_per_sec(floors[site]).max(Plans::MIN_SHARE);
        let ceiling = found.rates.of(direction);
        all.push(Class {
            name: found.name.clone(),
            ..class(minor, parent, Kind::Site, floor, ceiling)
        });
    }
    for customer in &plans.customers {
        let parent = customer.site.map_or(LINE, |site| of_site[&site]);
        let minor = numbers.of(Kind::Customer, parent, &customer.name);
        let (floor, ceiling) = (plans.floor(customer, direction), customer.plan.of(direction));
        all.push(Class {
            name: customer.name.clone(),
            prefixes: customer.addresses.clone(),
            ..class(minor, parent, Kind::Customer, floor, ceiling)
        });
    }
    all
}

/// What unknown addresses get even if all customers send: a hundredth of the line, so that routing protocols go on, as far as
/// guarantees leave it.
fn floor_of_unknown(line: Rate, guaranteed: u64) -> Rate {
    let rest = line.bits_per_sec().saturating_sub(guaranteed);
    Rate::from_bits_per_sec((line.bits_per_sec() / 100).min(rest)).max(Plans::MIN_SHARE)
}

/// The sites, each behind the one in front of it.
fn outermost_first(plans: &Plans) -> Vec<usize> {
    let mut sites: Vec<usize> = (0..plans.sites.len()).collect();
    sites.sort_by_key(|site| plans.path(Some(*site)).count());
    sites
}

/// Numbers of classes.
struct Numbers<'b> {
    before: BTreeMap<(Kind, u16, &'b str), u16>,
    free: Box<dyn Iterator<Item = u16>>,
}

impl<'b> Numbers<'b> {
    fn new(before: &'b [Class]) -> Numbers<'b> {
        let taken: BTreeSet<u16> = before.iter().map(|class| class.minor).collect();
        let is_free = move |minor: &u16| !taken.contains(minor) && !is_beside_root(*minor);
        let known = before.iter().map(|class| {
            let Class { kind, parent, name, minor, .. } = class;
            ((*kind, *parent, name.as_str()), *minor)
        });
        Numbers { before: known.collect(), free: Box::new((FIRST..=LAST).filter(is_free)) }
    }

    fn of(&mut self, kind: Kind, parent: u16, name: &str) -> u16 {
        let known = self.before.get(&(kind, parent, name)).copied();
        // `Plans::MAX_CLASSES` old classes and as many new ones have room.
        known.or_else(|| self.free.next()).expect("there are more numbers than classes")
    }
}

/// Whether the kernel would look for a queue with this number in the same list as for the root. A device has 16 lists, and with
/// 10,000 queues each has 625; the root is the last of its list, and CoDel asks for it at each drop.
fn is_beside_root(minor: u16) -> bool {
    // The multiplicative hash of a handle (hash_32 of include/linux/hash.h), of which four bits are taken.
    let list = |major: u16| (u32::from(major) << 16).wrapping_mul(0x61c8_8647) >> 28;
    minor == ROOT || list(minor) == list(ROOT)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use shortflow_text::InputFiles;

    use super::*;

    fn plans(text: &str) -> Plans {
        let inputs = InputFiles::default();
        inputs.give(Path::new("plans.toml"), text);
        shortflow_plans::load_from(&inputs, Path::new("plans.toml"))
            .unwrap_or_else(|found| panic!("{found}"))
    }

    const TEXT: &str = "
[line]
down = \"100 Mbit/s\"
up = \"50 Mbit/s\"
[sites.inner]
parent = \"outer\"
down = \"20 Mbit/s\"
up = \"20 Mbit/s\"
[sites.outer]
down = \"40 Mbit/s\"
up = \"40 Mbit/s\"
[[customer]]
name = \"A\"
addresses = [\"192.0.2.1\"]
down = \"10 Mbit/s\"
up = \"5 Mbit/s\"
at_least = { down = \"4 Mbit/s\", up = \"1 Mbit/s\" }
site = \"inner\"
[[customer]]
name = \"B\"
addresses = [\"192.0.2.2\"]
down = \"10 Mbit/s\"
up = \"5 Mbit/s\"
";

    #[test]
    fn classes_are_behind_those_around_them_and_floors_add_up() {
        let all = classes(&plans(TEXT), Direction::Down, &[]);
        let of = |name: &str| all.iter().find(|class| class.name == name).unwrap();
        assert_eq!(of("inner").parent, of("outer").minor);
        assert_eq!((of("A").parent, of("B").parent), (of("inner").minor, LINE));
        for class in &all[1..] {
            let around = all.iter().position(|one| one.minor == class.parent).unwrap();
            assert!(around < all.iter().position(|one| one.minor == class.minor).unwrap());
        }
        let floors = ["A", "inner", "outer", "B"].map(|name| of(name).floor.bits_per_sec());
        assert_eq!(floors, [4_000_000, 4_000_000, 4_000_000, 8_000]);
        let unknown = &all[1];
        assert_eq!(
            (unknown.floor.bits_per_sec(), unknown.ceiling.bits_per_sec()),
            (1_000_000, 100_000_000)
        );
    }

    #[test]
    fn numbers_stay_and_a_class_elsewhere_gets_another_one() {
        let before = classes(&plans(TEXT), Direction::Up, &[]);
        let moved = TEXT.replace("name = \"B\"", "name = \"B\"\nsite = \"outer\"");
        let new = "[[customer]]\nname = \"C\"\naddresses = [\"192.0.2.3\"]\ndown = \"1 Mbit/s\"\nup = \"1 Mbit/s\"\n";
        let after = classes(&plans(&(moved + new)), Direction::Up, &before);
        let of =
            |all: &[Class], name: &str| all.iter().find(|class| class.name == name).unwrap().minor;
        assert_eq!(of(&before, "A"), of(&after, "A"));
        assert_ne!(of(&before, "B"), of(&after, "B"));
        let minors: BTreeSet<u16> = before.iter().chain(&after).map(|class| class.minor).collect();
        assert_eq!(minors.len(), before.len() + 2, "B moved, and C is new");
    }

    #[test]
    fn all_classes_and_as_many_old_ones_have_numbers() {
        let numbers = (FIRST..=LAST).filter(|minor| !is_beside_root(*minor)).count();
        assert!(numbers >= 2 * Plans::MAX_CLASSES, "{numbers}");
    }
}
