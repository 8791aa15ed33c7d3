//! Whether the classes of plans are still what was deployed, by tc's listing.

use std::collections::BTreeMap;

use super::classes::{Class, ROOT};
use crate::error::Error;
use crate::tc::Tc;

/// How far a rate in the listing may be from its own: tc cuts off what is below a thousandth.
const CUT: f64 = 0.002;

/// How many classes are gone, and how many have other rates or another place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Amiss {
    pub(super) missing: usize,
    pub(super) changed: usize,
}

impl Amiss {
    /// Of the classes that a device has.
    pub(super) fn find(tc: &Tc, classes: &[Class]) -> Result<Amiss, Error> {
        Ok(Amiss::of(&tc.ask(&["class", "show", "dev", tc.device()])?, classes))
    }

    fn of(listing: &str, classes: &[Class]) -> Amiss {
        let found: BTreeMap<u16, Listed> = listing.lines().filter_map(Listed::parse).collect();
        let mut amiss = Amiss::default();
        for class in classes {
            match found.get(&class.minor) {
                None => amiss.missing += 1,
                Some(listed) => amiss.changed += usize::from(!listed.is(class)),
            }
        }
        amiss
    }

    pub(super) fn is_nothing(self) -> bool {
        self == Amiss::default()
    }
}

/// A class, as tc lists it.
struct Listed {
    /// 0 for the line.
    parent: u16,
    /// In bit/s.
    rates: [f64; 2],
}

impl Listed {
    /// `class htb 5e00:3 parent 5e00:1 leaf 3: prio 0 rate 8Kbit ceil 20Mbit burst …`
    fn parse(line: &str) -> Option<(u16, Listed)> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let ["class", "htb", id, ..] = words[..] else { return None };
        let minor = |id: &str| {
            let (major, minor) = id.split_once(':')?;
            let number = |text: &str| u16::from_str_radix(text, 16).ok();
            number(minor).filter(|_| number(major) == Some(ROOT))
        };
        let behind = |key: &str| {
            let at = words.iter().position(|word| *word == key)?;
            words.get(at + 1).copied()
        };
        let rates = [bits(behind("rate")?)?, bits(behind("ceil")?)?];
        Some((minor(id)?, Listed { parent: behind("parent").and_then(minor).unwrap_or(0), rates }))
    }

    fn is(&self, class: &Class) -> bool {
        let is_near = |listed: f64, own: f64| (listed - own).abs() <= CUT * own;
        let own = [class.floor, class.ceiling].map(|rate| rate.bits_per_sec() as f64);
        self.parent == class.parent
            && self.rates.into_iter().zip(own).all(|(listed, own)| is_near(listed, own))
    }
}

/// `8Kbit`, `20Mbit`, `123456bit`.
fn bits(text: &str) -> Option<f64> {
    let text = text.strip_suffix("bit")?;
    let (number, unit) = match text.char_indices().find(|(_, letter)| letter.is_alphabetic()) {
        Some((at, _)) => text.split_at(at),
        None => (text, ""),
    };
    let unit = match unit {
        "" => 1.0,
        "K" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        "T" => 1e12,
        _ => return None,
    };
    Some(number.parse::<f64>().ok()? * unit)
}

#[cfg(test)]
mod tests {
    use shortflow_units::Rate;

    use super::super::classes::{Kind, LINE};
    use super::*;

    const LISTING: &str = "\
class htb 5e00:1 root rate 50Mbit ceil 50Mbit burst 3028b cburst 3025b 
class htb 5e00:3 parent 5e00:1 leaf 3: prio 0 rate 123456bit ceil 1234Mbit burst 3027b cburst 199999b 
class fq_codel 3:1 parent 3: 
";

    fn class(minor: u16, parent: u16, floor: u64, ceiling: u64) -> Class {
        let [floor, ceiling] = [floor, ceiling].map(Rate::from_bits_per_sec);
        let (name, prefixes) = (String::new(), Vec::new());
        Class { minor, parent, kind: Kind::Customer, name, floor, ceiling, prefixes }
    }

    fn amiss(classes: &[Class]) -> [usize; 2] {
        let Amiss { missing, changed } = Amiss::of(LISTING, classes);
        [missing, changed]
    }

    #[test]
    fn a_listing_whose_rates_are_cut_is_that_of_its_classes() {
        let line = class(LINE, 0, 50_000_000, 50_000_000);
        let own = class(3, LINE, 123_456, 1_234_567_890);
        assert_eq!(amiss(&[line.clone(), own.clone()]), [0, 0]);
        assert_eq!(amiss(&[line.clone(), class(4, LINE, 8_000, 1_000_000)]), [1, 0]);
        for other in [
            class(3, LINE, 123_456, 1_240_000_000),
            class(3, LINE, 124_000, 1_234_567_890),
            class(3, 5, 123_456, 1_234_567_890),
        ] {
            assert_eq!(amiss(&[line.clone(), other]), [0, 1]);
        }
    }
}
