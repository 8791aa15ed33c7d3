//! Customers, their sites, and what they get.

use shortflow_packet::Prefix;
use shortflow_units::{Bytes, Rate};

use super::prefixes::Prefixes;
use crate::ParamsError;
use crate::params::above_zero;
use crate::scheduler::RateRange;

/// Which address of a packet is the customer's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CustomerSide {
    /// The source: packets from customers.
    Source,
    /// The destination: packets to customers.
    Destination,
}

/// A place whose rate the customers behind it share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CustomerSite {
    /// The site in front of it, an index of the list of sites. `None` for one that is directly behind the line.
    pub parent: Option<usize>,
    /// What it can carry.
    pub rate: Rate,
}

/// A customer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Customer {
    /// Its addresses. The longest prefix counts.
    pub prefixes: Vec<Prefix>,
    /// The site, an index of the list of sites. `None` for a customer that is directly behind the line.
    pub site: Option<usize>,
    /// What it gets even if all others send, and what it never exceeds.
    pub rates: RateRange,
}

/// The settings of a [`CustomerTree`](super::CustomerTree).
#[derive(Debug, Clone)]
pub struct CustomerTreeSettings {
    /// Which address of a packet is the customer's.
    pub side: CustomerSide,
    /// What all customers share. `None` for the rate of the link.
    pub rate: Option<Rate>,
    /// The sites.
    pub sites: Vec<CustomerSite>,
    /// The customers.
    pub customers: Vec<Customer>,
    /// The most that addresses of no customer get. `None` for what customers leave.
    pub unknown: Option<Rate>,
}

/// Checked settings.
#[derive(Debug, Clone)]
pub struct CustomerTreeParams {
    settings: CustomerTreeSettings,
    prefixes: Prefixes,
}

impl CustomerTreeParams {
    /// How deep sites may be nested.
    pub const MAX_DEPTH: usize = 6;

    /// Refuses rates of zero, sites and parents that do not exist, sites in a circle or too deep, and a prefix of two
    /// customers.
    ///
    /// # Errors
    /// The setting, with the number of the customer or site, counted from one.
    pub fn new(settings: CustomerTreeSettings) -> Result<Self, ParamsError> {
        let CustomerTreeSettings { side: _, rate, sites, customers, unknown } = &settings;
        rate.map_or(Ok(Rate::default()), |rate| above_zero("rate", rate))?;
        unknown.map_or(Ok(Rate::default()), |rate| above_zero("unknown", rate))?;
        if customers.is_empty() {
            return Err(ParamsError::new("customers", "there is no customer; list at least one"));
        }
        for (at, site) in sites.iter().enumerate() {
            let refuse =
                |why| Err(ParamsError::of_item("sites", at, format!("site {}: {why}", at + 1)));
            if site.rate.is_zero() {
                return refuse("rate must be above zero; found 0 bit/s".to_owned());
            }
            let path = std::iter::successors(Some(at), |at| sites.get(*at)?.parent);
            let path: Vec<usize> = path.take(Self::MAX_DEPTH + 1).collect();
            if path.iter().any(|at| *at >= sites.len()) {
                return refuse("its parent does not exist".to_owned());
            }
            if path.len() > Self::MAX_DEPTH {
                let most = Self::MAX_DEPTH;
                return refuse(format!("sites stand in a circle, or more than {most} deep"));
            }
        }
        let mut prefixes = Prefixes::default();
        for (at, customer) in customers.iter().enumerate() {
            let refuse = |why| {
                Err(ParamsError::of_item("customers", at, format!("customer {}: {why}", at + 1)))
            };
            if customer.site.is_some_and(|site| site >= sites.len()) {
                return refuse("its site does not exist".to_owned());
            }
            for prefix in &customer.prefixes {
                if let Some(other) = prefixes.insert(*prefix, at as u32) {
                    let network = prefix.network();
                    let other = other + 1;
                    return refuse(format!(
                        "{network}/{} already belongs to customer {other}",
                        prefix.length()
                    ));
                }
            }
        }
        Self::fits(&settings)?;
        Ok(CustomerTreeParams { settings, prefixes })
    }

    /// Refuses guarantees that a site or the line cannot keep.
    fn fits(settings: &CustomerTreeSettings) -> Result<(), ParamsError> {
        let CustomerTreeSettings { side: _, rate, sites, customers, unknown: _ } = settings;
        let mut guaranteed = vec![0u64; sites.len()];
        let mut all = 0u64;
        for customer in customers {
            let at_least = customer.rates.at_least().bits_per_sec();
            all = all.saturating_add(at_least);
            for site in std::iter::successors(customer.site, |site| sites[*site].parent) {
                guaranteed[site] = guaranteed[site].saturating_add(at_least);
            }
        }
        let too_much = |guaranteed: u64, rate: Rate| {
            let guaranteed = Rate::from_bits_per_sec(guaranteed);
            (guaranteed > rate).then(|| {
                format!(
                    "its customers are guaranteed {guaranteed} together, which is above its rate {rate}"
                )
            })
        };
        if let Some(why) = rate.and_then(|rate| too_much(all, rate)) {
            return Err(ParamsError::new("rate", format!("the line: {why}")));
        }
        let mut each = guaranteed.into_iter().zip(sites).enumerate();
        match each.find_map(|(at, (all, site))| Some((at, too_much(all, site.rate)?))) {
            Some((at, why)) => {
                Err(ParamsError::of_item("sites", at, format!("site {}: {why}", at + 1)))
            }
            None => Ok(()),
        }
    }

    /// All settings.
    pub fn settings(&self) -> &CustomerTreeSettings {
        &self.settings
    }

    pub(super) fn prefixes(&self) -> &Prefixes {
        &self.prefixes
    }
}

/// What a rate can save at least, so that waiting for a turn costs nothing: a frame with room for tags, or what it earns
/// in a millisecond.
pub(super) fn saved(rate: Rate) -> Bytes {
    const FRAME: Bytes = Bytes(1600);
    Bytes(rate.bits_per_sec() / 8 / 1000).max(FRAME)
}
