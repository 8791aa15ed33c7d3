//! The text form of plans.

use serde::Deserialize;
use shortflow_text::Named;
use shortflow_units::Rate;

/// The keys that only plans have, of all files.
pub const KEYS: &[&str] = &["customers", "customer", "sites", "line", "unknown"];

/// `plans.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PlansFile {
    /// Their name. Default: the file's name.
    pub(crate) name: Option<String>,
    /// A table of customers (CSV), relative to this file.
    pub(crate) customers: Option<String>,
    /// The queue of each customer.
    pub(crate) queue: Option<String>,
    /// What the line carries.
    pub(crate) line: RatesFile,
    /// The most that addresses of no customer get.
    pub(crate) unknown: Option<RatesFile>,
    /// The sites, by name.
    #[serde(default)]
    pub(crate) sites: Named<SiteFile>,
    /// Customers, beside those of the table.
    #[serde(default)]
    pub(crate) customer: Vec<CustomerFile>,
}

/// A rate in each direction.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RatesFile {
    pub(crate) down: Rate,
    pub(crate) up: Rate,
}

/// A site.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SiteFile {
    pub(crate) parent: Option<String>,
    pub(crate) down: Rate,
    pub(crate) up: Rate,
}

/// Addresses: a list, or as in a field of a table.
#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "expected an address, or a list of addresses and prefixes")]
pub(crate) enum Addresses {
    One(String),
    Many(Vec<String>),
}

impl Default for Addresses {
    fn default() -> Addresses {
        Addresses::Many(Vec::new())
    }
}

/// A customer.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CustomerFile {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) addresses: Addresses,
    pub(crate) down: Rate,
    pub(crate) up: Rate,
    pub(crate) at_least: Option<RatesFile>,
    pub(crate) site: Option<String>,
    /// Refused by name.
    pub(crate) vlan: Option<i64>,
    /// Refused by name.
    pub(crate) pppoe_session: Option<i64>,
}
