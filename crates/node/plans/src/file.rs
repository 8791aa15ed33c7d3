//! The text form of plans.

use schemars::JsonSchema;
use serde::Deserialize;
use shortflow_text::Named;
use shortflow_units::Rate;

/// The keys that only plans have, of all files.
pub const KEYS: &[&str] = &["customers", "customer", "sites", "line", "unknown"];

/// Plans of customers, behind a tree of sites.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Plans")]
pub(crate) struct PlansFile {
    /// Their name. Default: the file's name.
    pub(crate) name: Option<String>,
    /// A table of customers (CSV), relative to this file.
    pub(crate) customers: Option<String>,
    /// The queue of each customer: `fq-codel`, the default, or `fifo`.
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
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Rates")]
pub(crate) struct RatesFile {
    /// To customers.
    pub(crate) down: Rate,
    /// From customers.
    pub(crate) up: Rate,
}

/// A site.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Site")]
pub(crate) struct SiteFile {
    /// The site in front of it. Default: it is directly behind the line.
    pub(crate) parent: Option<String>,
    /// What it can carry to customers.
    pub(crate) down: Rate,
    /// What it can carry from customers.
    pub(crate) up: Rate,
}

/// Addresses: a list, or as in a field of a table.
#[derive(Debug, Deserialize, JsonSchema)]
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
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Customer")]
pub(crate) struct CustomerFile {
    /// Its name; each name once.
    pub(crate) name: String,
    /// Its addresses and prefixes of IPv4 and IPv6; the longest prefix counts.
    #[serde(default)]
    pub(crate) addresses: Addresses,
    /// The plan: the most that the customer gets.
    pub(crate) down: Rate,
    /// The most that the customer sends.
    pub(crate) up: Rate,
    /// What the customer gets even if all others send.
    pub(crate) at_least: Option<RatesFile>,
    /// Its site. Default: it is directly behind the line.
    pub(crate) site: Option<String>,
    /// Refused by name.
    #[schemars(skip)]
    pub(crate) vlan: Option<i64>,
    /// Refused by name.
    #[schemars(skip)]
    pub(crate) pppoe_session: Option<i64>,
}
