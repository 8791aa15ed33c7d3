//! Checks of what plans say.

use std::collections::BTreeMap;

use shortflow_text::{Diagnostics, Document, NAME_RULE, Spot, is_name, suggestion};
use shortflow_units::Rate;

use crate::customers::Written;
use crate::file::{PlansFile, RatesFile, SiteFile};
use crate::findings::{Findings, Located, place};
use crate::model::{Customer, CustomerQueue, Direction, Plans, Rates, Site};
use crate::prefix::Prefix;

/// What was read.
pub(crate) struct Draft<'d> {
    pub(crate) title: String,
    pub(crate) document: &'d Document,
    pub(crate) file: PlansFile,
    pub(crate) queue: CustomerQueue,
    pub(crate) customers: Vec<Written>,
}

/// The longest name of a customer, in characters.
const MAX_NAME: usize = 200;

pub(crate) fn check(draft: Draft<'_>, mut findings: Findings) -> Result<Plans, Diagnostics> {
    let Draft { title, document, file, queue, customers: written } = draft;
    let sites = sites(document, file.sites.0, &mut findings);
    let rates = |RatesFile { down, up }: RatesFile| Rates { down, up };
    let (line, unknown) = (rates(file.line), file.unknown.map(rates));
    least_rates(line, &document.spot("line"), &mut findings);
    if let Some(unknown) = unknown {
        least_rates(unknown, &document.spot("unknown"), &mut findings);
    }
    let is_sound_tree = findings.is_sound();
    let customers = customers(&written, &sites, &mut findings);
    if written.is_empty() && findings.is_sound() {
        let help = "add `customers = \"FILE.csv\"`, or [[customer]] tables";
        findings.mistake(&document.spot("line"), "there is no customer", help);
    }
    addresses(&customers, &written, &mut findings);
    let plans = Plans {
        name: title,
        line,
        unknown,
        queue,
        sites,
        customers,
        warnings: Diagnostics::default(),
    };
    if is_sound_tree {
        guarantees(document, &plans, &written, &mut findings);
        unreachable(document, &plans, &written, &mut findings);
    }
    let classes = plans.sites.len() + plans.customers.len();
    if classes > Plans::MAX_CLASSES {
        let what = format!("{classes} customers and sites; the maximum is {}", Plans::MAX_CLASSES);
        findings.mistake(&document.spot("line"), what, "split the plans over two machines");
    }
    Ok(Plans { warnings: findings.checked()?, ..plans })
}

fn least_rates(rates: Rates, spot: &Spot, findings: &mut Findings) {
    for direction in Direction::ALL {
        let rate = rates.of(direction);
        if rate < Plans::MIN_RATE {
            let what =
                format!("`{}` is {rate}; the minimum is {}", direction.name(), Plans::MIN_RATE);
            findings.mistake(spot, what, "write a rate such as `25 Mbit/s`");
        }
    }
}

fn sites(
    document: &Document,
    written: Vec<(String, SiteFile)>,
    findings: &mut Findings,
) -> Vec<Site> {
    let names: Vec<String> = written.iter().map(|(name, _)| name.clone()).collect();
    let index: BTreeMap<&str, usize> =
        names.iter().enumerate().map(|(index, name)| (name.as_str(), index)).collect();
    let mut sites = Vec::new();
    for (name, SiteFile { parent, down, up }) in written {
        let path = format!("sites.{name}");
        if !is_name(&name) {
            findings.mistake(&document.spot("sites"), format!("invalid site `{name}`"), NAME_RULE);
        }
        least_rates(Rates { down, up }, &document.spot(&path), findings);
        let parent = parent.and_then(|parent| {
            let found = index.get(parent.as_str()).copied();
            if found.is_none() {
                let spot = document.spot(&format!("{path}.parent"));
                findings.mistake(&spot, format!("unknown site `{parent}`"), known(&parent, &names));
            }
            found
        });
        sites.push(Site { name, parent, rates: Rates { down, up } });
    }
    nested(document, &mut sites, findings);
    sites
}

/// The help for an unknown site.
fn known(name: &str, names: &[String]) -> String {
    let near = shortflow_text::nearest(name, names.iter().map(String::as_str));
    const MAX_LISTED: usize = 12;
    match (names.len(), near) {
        (0..=MAX_LISTED, _) => {
            suggestion(name, "sites", &names.iter().map(String::as_str).collect::<Vec<_>>())
        }
        (_, Some(near)) => format!("did you mean `{near}`?"),
        (count, None) => format!("[sites] has {count} other names"),
    }
}

/// Refuses sites that are behind themselves, and cuts these loops; and sites that are nested too deep.
fn nested(document: &Document, sites: &mut [Site], findings: &mut Findings) {
    for start in 0..sites.len() {
        let mut path = vec![start];
        while let Some(parent) = sites[path[path.len() - 1]].parent {
            if parent == start {
                path.push(start);
                let names: Vec<&str> = path.iter().map(|site| sites[*site].name.as_str()).collect();
                let spot = document.spot(&format!("sites.{}.parent", sites[start].name));
                let what = format!("site `{}` is behind itself: {}", names[0], names.join(" → "));
                findings.mistake(&spot, what, "remove one `parent` of these sites");
                sites[start].parent = None;
                break;
            }
            // A loop that does not lead back here is found at its own sites.
            if path.contains(&parent) {
                break;
            }
            path.push(parent);
        }
        if path.len() > Plans::MAX_DEPTH
            && path.len() <= sites.len()
            && path[path.len() - 1] != start
        {
            let spot = document.spot(&format!("sites.{}", sites[start].name));
            let what = format!(
                "site `{}` is nested {} deep; the maximum is {}",
                sites[start].name,
                path.len(),
                Plans::MAX_DEPTH
            );
            findings.mistake(&spot, what, "omit sites whose rate is never the limit");
        }
    }
}

fn customers(written: &[Written], sites: &[Site], findings: &mut Findings) -> Vec<Customer> {
    let names: Vec<String> = sites.iter().map(|site| site.name.clone()).collect();
    let index: BTreeMap<&str, usize> =
        names.iter().enumerate().map(|(index, name)| (name.as_str(), index)).collect();
    let mut seen: BTreeMap<&str, &Spot> = BTreeMap::new();
    let mut customers = Vec::new();
    for one in written {
        let name = one.name.value.as_str();
        let length = name.chars().count();
        if !(1..=MAX_NAME).contains(&length) || name.chars().any(char::is_control) {
            let help = format!("write 1 to {MAX_NAME} characters in one line");
            findings.mistake(&one.name.spot, format!("invalid name {name:?}"), help);
        }
        if let Some(first) = seen.insert(name, &one.name.spot) {
            let help = format!("{} has the first one: give each customer a name", place(first));
            findings.mistake(&one.name.spot, format!("two customers are named `{name}`"), help);
        }
        let site = one.site.as_ref().and_then(|Located { value, spot }| {
            let found = index.get(value.as_str()).copied();
            if found.is_none() {
                findings.mistake(spot, format!("unknown site `{value}`"), known(value, &names));
            }
            found
        });
        let plan = one.plan.value;
        least_rates(plan, &one.plan.spot, findings);
        for direction in Direction::ALL {
            let Some(Located { value: least, spot }) = &one.at_least else { continue };
            if least.of(direction) > plan.of(direction) {
                let (way, least, plan) =
                    (direction.name(), least.of(direction), plan.of(direction));
                let what =
                    format!("`{name}` gets at least {least} {way}, above its plan of {plan}");
                findings.mistake(spot, what, "write at most the rate of the plan");
            }
        }
        let mut addresses = Vec::new();
        if one.addresses.is_empty() {
            let help = "write addresses or prefixes, as in `192.0.2.7` or `2001:db8:7::/48`";
            findings.mistake(&one.spot, format!("`{name}` has no address"), help);
        }
        for Located { value, spot } in &one.addresses {
            match value.parse::<Prefix>() {
                Ok(prefix) => addresses.push(prefix),
                Err(error) => {
                    findings.mistake(spot, format!("invalid address `{value}`"), error.to_string());
                }
            }
        }
        let at_least = one.at_least.as_ref().map(|least| least.value);
        customers.push(Customer { name: one.name.value.clone(), addresses, plan, at_least, site });
    }
    customers
}

/// Refuses addresses that are given twice, and warns of prefixes of one customer inside those of another.
fn addresses(customers: &[Customer], written: &[Written], findings: &mut Findings) {
    let mut owners: BTreeMap<Prefix, usize> = BTreeMap::new();
    for (index, customer) in customers.iter().enumerate() {
        for (at, prefix) in customer.addresses.iter().enumerate() {
            let Some(first) = owners.insert(*prefix, index) else { continue };
            // Where one is invalid, places are not those of the prefixes.
            let spot =
                written[index].addresses.get(at).map_or(&written[index].spot, |one| &one.spot);
            let what = format!("address {prefix} is given twice");
            let help = format!(
                "`{}` in {} has it too: remove one of them",
                customers[first].name,
                place(&written[first].spot)
            );
            findings.mistake(spot, what, help);
        }
    }
    // In this order, each prefix comes before those inside it.
    let mut around: Vec<(Prefix, usize)> = Vec::new();
    let mut inside: BTreeMap<(Prefix, usize), Vec<(Prefix, usize)>> = BTreeMap::new();
    for (prefix, owner) in owners {
        while around.last().is_some_and(|(outer, _)| !outer.contains(prefix)) {
            around.pop();
        }
        if let Some(outer) = around.last().filter(|(_, other)| *other != owner) {
            inside.entry(*outer).or_default().push((prefix, owner));
        }
        around.push((prefix, owner));
    }
    for ((outer, other), all) in inside {
        let (prefix, owner) = all[0];
        let (owner_name, other_name) = (&customers[owner].name, &customers[other].name);
        let what = match all.len() {
            1 => format!("{prefix} of `{owner_name}` is inside {outer} of `{other_name}`"),
            count => format!(
                "{count} prefixes of other customers are inside {outer} of `{other_name}`, such as {prefix} of \
                 `{owner_name}`"
            ),
        };
        let help = "the longest prefix counts; no change is needed if that is meant";
        findings.warning(&written[owner].spot, what, help);
    }
}

/// Refuses sites and lines that cannot carry what is guaranteed behind them.
fn guarantees(document: &Document, plans: &Plans, written: &[Written], findings: &mut Findings) {
    for direction in Direction::ALL {
        let way = direction.name();
        let mut refuse = |what: &str, spot: &Spot, guaranteed: u64, rate: Rate| {
            if guaranteed > rate.bits_per_sec() {
                let guaranteed = Rate::from_bits_per_sec(guaranteed);
                let message = format!(
                    "customers of {what} get at least {guaranteed} {way} together, above its rate of {rate}"
                );
                let help = format!(
                    "lower `at_least`, or raise the rate; without `at_least` a customer counts as {}",
                    Plans::MIN_SHARE
                );
                findings.mistake(spot, message, help);
            }
        };
        let sums = plans.sums(|customer| plans.floor(customer, direction));
        for (site, guaranteed) in plans.sites.iter().zip(sums) {
            let spot = document.spot(&format!("sites.{}.{way}", site.name));
            refuse(&format!("site `{}`", site.name), &spot, guaranteed, site.rates.of(direction));
        }
        let all = plans.customers.iter().map(|one| plans.floor(one, direction).bits_per_sec());
        let spot = document.spot(&format!("line.{way}"));
        refuse("the line", &spot, all.sum(), plans.line.of(direction));
    }
    debug_assert_eq!(plans.customers.len(), written.len());
}

/// Warns of rates that cannot be reached, since a site in front has less.
fn unreachable(document: &Document, plans: &Plans, written: &[Written], findings: &mut Findings) {
    let least_of = |site: Option<usize>, direction: Direction| {
        let mut least = ("the line".to_owned(), plans.line.of(direction));
        for site in plans.path(site).map(|site| &plans.sites[site]) {
            if site.rates.of(direction) < least.1 {
                least = (format!("site `{}`", site.name), site.rates.of(direction));
            }
        }
        least
    };
    let help = "no change is needed if that is meant";
    for direction in Direction::ALL {
        let way = direction.name();
        for site in &plans.sites {
            let (what, least) = least_of(site.parent, direction);
            let rate = site.rates.of(direction);
            if rate > least {
                let spot = document.spot(&format!("sites.{}.{way}", site.name));
                let name = &site.name;
                let what = format!("site `{name}` cannot reach {rate} {way}: {what} has {least}");
                findings.warning(&spot, what, help);
            }
        }
        for (customer, written) in plans.customers.iter().zip(written) {
            let (what, least) = least_of(customer.site, direction);
            let rate = customer.plan.of(direction);
            if rate > least {
                let name = &customer.name;
                let what = format!("`{name}` cannot reach {rate} {way}: {what} has {least}");
                findings.warning(&written.plan.spot, what, help);
            }
        }
    }
}
