//! `plans`: customers behind a tree of sites, each with a plan.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::Deserialize;
use shortflow_elements::QueueDiscipline;
use shortflow_elements::scheduler::{
    Customer, CustomerSide, CustomerSite, CustomerTree, CustomerTreeParams, CustomerTreeSettings,
    RateRange,
};
use shortflow_packet::Prefix;
use shortflow_units::Rate;

use crate::check::Checker;
use crate::keys::{AddressesKey, ListOf};
use crate::scheme::{Port, QueueScheme};
use crate::schemes::queues::{QueueKeys, QueuePlan};

/// Customers behind a tree of sites, each with a plan, a guaranteed rate and a queue of its own. What is left is shared in proportion
/// to plans.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Plans")]
pub(crate) struct Keys {
    /// Which address of a packet is the customer's: the destination for packets to customers, the source for packets from them.
    by: By,
    /// What all customers share. Default: the rate of the link.
    #[schemars(extend("x-range" = "above zero"))]
    rate: Option<Rate>,
    /// The most that addresses of no customer get. They come after customers; a hundredth of the line is theirs at any time.
    /// Default: what customers leave.
    #[schemars(extend("x-range" = "above zero"))]
    unknown: Option<Rate>,
    /// Places whose rate the customers behind them share, up to six deep.
    #[serde(default)]
    sites: Vec<SiteKeys>,
    /// The customers.
    #[schemars(extend("x-range" = "at least one"))]
    customers: Vec<CustomerKeys>,
    /// The queue of each customer.
    queue: Box<QueueKeys>,
}

/// Which address of a packet is the customer's.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "CustomerAddress")]
enum By {
    /// The source.
    Source,
    /// The destination.
    Destination,
}

/// A place whose rate the customers behind it share.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "PlanSite")]
struct SiteKeys {
    /// What customers and other sites call it.
    #[schemars(extend("x-range" = "each name once"))]
    name: String,
    /// The rate that the site can carry.
    #[schemars(extend("x-range" = "above zero"))]
    rate: Rate,
    /// The site in front of it. Default: it is directly behind the line.
    parent: Option<String>,
}

/// A customer.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "PlanCustomer")]
struct CustomerKeys {
    /// Addresses and prefixes; the longest prefix counts.
    addresses: ListOf<AddressesKey>,
    /// The plan: the rate that the customer never exceeds. What is left is shared in proportion to it; less than 12 Mbit/s counts
    /// as 12, and more than 1.6 Gbit/s as 1.6.
    #[schemars(extend("x-range" = "above zero"))]
    at_most: Rate,
    /// The rate that the customer gets even if all others send.
    #[serde(default = "least")]
    #[schemars(extend("x-range" = "not above `at_most`"))]
    at_least: Rate,
    /// The customer's site. Default: the customer is directly behind the line.
    site: Option<String>,
}

/// What connections need to stay open.
fn least() -> Rate {
    Rate::from_bits_per_sec(8_000)
}

/// The tree, and the queue of each customer.
#[derive(Debug, Clone)]
pub struct Plan {
    params: CustomerTreeParams,
    queue: Box<QueuePlan>,
}

impl Plan {
    /// The customers and their sites.
    pub fn params(&self) -> &CustomerTreeParams {
        &self.params
    }

    /// The queue of each customer.
    pub fn queue(&self) -> &QueuePlan {
        &self.queue
    }
}

impl Keys {
    /// The sites, in the order of the text.
    fn sites(
        &self,
        checker: &mut Checker<'_>,
        path: &str,
        numbers: &HashMap<&str, usize>,
    ) -> Vec<CustomerSite> {
        let each = self.sites.iter().enumerate().map(|(at, site)| {
            let path = format!("{path}.sites.{at}.parent");
            let parent = known(checker, &path, numbers, site.parent.as_deref());
            CustomerSite { parent, rate: site.rate }
        });
        each.collect()
    }

    /// A customer; `None` after a mistake.
    fn customer(
        checker: &mut Checker<'_>,
        path: &str,
        numbers: &HashMap<&str, usize>,
        customer: &CustomerKeys,
    ) -> Option<Customer> {
        let prefixes = customer.addresses.0.iter().enumerate().map(|(at, key)| {
            let path = format!("{path}.addresses.{at}");
            checker.prefix(&path, &key.0)
        });
        let prefixes: Option<Vec<Prefix>> = prefixes.collect();
        let rates = RateRange::new(customer.at_least, Some(customer.at_most));
        let rates = checker.accept(path, rates);
        let site = known(checker, &format!("{path}.site"), numbers, customer.site.as_deref());
        Some(Customer { prefixes: prefixes?, site, rates: rates? })
    }
}

/// The number of a site. An unknown one is a mistake.
fn known(
    checker: &mut Checker<'_>,
    path: &str,
    numbers: &HashMap<&str, usize>,
    name: Option<&str>,
) -> Option<usize> {
    let name = name?;
    let number = numbers.get(name).copied();
    if number.is_none() {
        let message = format!("there is no site `{name}`");
        checker.document.mistake(path, message, "add it to `sites`, or correct the name");
    }
    number
}

impl QueueScheme for Keys {
    type Plan = Plan;
    const SOURCE: &'static str =
        "tc-htb(8); Goyal, Vin & Cheng 1996 (start-time fair queueing) in the simulator";
    const EXAMPLE: &'static str = r#"[roles.core.queue.plans]
by = "destination"
queue.fq-codel = {}
sites = [
  { name = "tower", rate = "100 Mbit/s" },
  { name = "sector-1", rate = "40 Mbit/s", parent = "tower" },
]
customers = [
  { addresses = "10.1.0.0/24", at_most = "25 Mbit/s", at_least = "5 Mbit/s", site = "sector-1" },
  { addresses = ["10.2.0.1", "2001:db8:2::/48"], at_most = "50 Mbit/s", site = "tower" },
]
"#;

    fn check(&self, checker: &mut Checker<'_>, path: &str) -> Option<Plan> {
        let mut numbers: HashMap<&str, usize> = HashMap::new();
        for (number, site) in self.sites.iter().enumerate() {
            if numbers.insert(&site.name, number).is_some() {
                let message = format!("two sites are called `{}`", site.name);
                let path = format!("{path}.sites.{number}.name");
                checker.document.mistake(&path, message, "rename one of them");
            }
        }
        let sites = self.sites(checker, path, &numbers);
        let customers = self.customers.iter().enumerate().map(|(at, customer)| {
            Keys::customer(checker, &format!("{path}.customers.{at}"), &numbers, customer)
        });
        let customers: Vec<Option<Customer>> = customers.collect();
        let queue = self.queue.check(checker, &format!("{path}.queue"))?;
        let settings = CustomerTreeSettings {
            side: match self.by {
                By::Source => CustomerSide::Source,
                By::Destination => CustomerSide::Destination,
            },
            rate: self.rate,
            sites,
            customers: customers.into_iter().collect::<Option<_>>()?,
            unknown: self.unknown,
        };
        if !checker.document.is_sound() {
            return None;
        }
        let params = checker.accept(path, CustomerTreeParams::new(settings))?;
        Some(Plan { params, queue: Box::new(queue) })
    }

    fn build(plan: &Plan, port: &Port<'_>) -> Box<dyn QueueDiscipline> {
        let rate = plan.params.settings().rate.map_or(port.rate, |rate| rate.min(port.rate));
        let queue = |customer| plan.queue.build(&Port { rate, ..port.inner(customer) });
        Box::new(CustomerTree::new(plan.params.clone(), port.rate, queue))
    }

    fn shaped_to(plan: &Plan) -> Option<Rate> {
        plan.params.settings().rate
    }

    fn guaranteed(plan: &Plan) -> Option<Rate> {
        let customers = plan.params.settings().customers.iter();
        let rates = customers.map(|one| one.rates.at_least().bits_per_sec());
        Some(Rate::from_bits_per_sec(rates.fold(0, u64::saturating_add)))
    }

    fn inner(plan: &Plan) -> Vec<&QueuePlan> {
        vec![&plan.queue]
    }
}
