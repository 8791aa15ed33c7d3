//! The text of a scenario with busy customers.

use std::fmt::Write as _;
use std::net::IpAddr;

use shortflow_units::{Probability, Rate};

use crate::hosts::Hosts;
use crate::model::{Direction, Plans};

/// How much more sites and the line carry than the plans say, in percent: plans are written a little below what lines carry, so
/// that packets wait where they are shaped.
const SPARE: u64 = 10;

/// Downloads of each busy customer.
const DOWNLOADS: usize = 2;

/// A scenario in which a part of all customers is busy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BusyScenario {
    /// Its text.
    pub text: String,
    /// How many customers are busy.
    pub busy: usize,
    /// Customers that were drawn, but have no address that a host of the scenario can have.
    pub without_address: Vec<String>,
}

impl Plans {
    /// How many customers can be busy in a scenario.
    pub const MAX_BUSY: usize = 1_000;

    /// A scenario in which this part of all customers, drawn with `seed`, is busy: each has downloads and an upload without end,
    /// reads pages and has a call. `policy` is the file of the policy, relative to that of the scenario. `None` if more than
    /// [`Plans::MAX_BUSY`] would be busy.
    pub fn scenario(&self, busy: Probability, seed: u64, policy: &str) -> Option<BusyScenario> {
        let drawn = self.busy(busy, seed);
        if drawn.len() > Plans::MAX_BUSY {
            return None;
        }
        let hosts = Hosts::new(self, &drawn);
        let percent = (busy.value() * 1000.0).round() / 10.0;
        let mut text = HEAD.to_owned();
        let name = serde_json::Value::from(format!("{}, {percent} % busy", self.name));
        let _ = writeln!(text, "name = {name}\npolicy = \"{policy}\"\nseed = {seed}\n{TIMES}");
        self.nodes(&mut text, &hosts);
        self.links(&mut text, &hosts);
        text.push_str(BINDS);
        self.workloads(&mut text, &hosts);
        let lost = |at: &usize| self.customers[*at].name.clone();
        Some(BusyScenario {
            text,
            busy: hosts.of_customers.len(),
            without_address: hosts.without.iter().map(lost).collect(),
        })
    }

    fn nodes(&self, text: &mut String, hosts: &Hosts) {
        let internet: Vec<String> = hosts.internet.iter().map(|one| format!("\"{one}\"")).collect();
        let _ = writeln!(text, "\n[hosts]\ninternet = {{ address = [{}] }}", internet.join(", "));
        for (at, address) in &hosts.of_customers {
            let name = self.customers[*at].name.replace(char::is_control, " ");
            let _ = writeln!(text, "c{} = {{ address = \"{address}\" }} # {name}", at + 1);
        }
        text.push_str("\n[routers]\nprovider = {}  # where Shortflow runs\nline-end = {}\n");
        for site in &hosts.sites {
            let _ = writeln!(text, "{} = {{}}", router(&self.sites[*site].name));
        }
    }

    fn links(&self, text: &mut String, hosts: &Hosts) {
        let rates = |rates: crate::Rates| {
            let [down, up] = Direction::ALL.map(|direction| {
                let rate = rates.of(direction).bits_per_sec();
                Rate::from_bits_per_sec(rate.saturating_add(rate / 100 * SPARE))
            });
            format!("rate = {{ forward = \"{down}\", back = \"{up}\" }}")
        };
        let front = |site: Option<usize>| {
            site.map_or("line-end".to_owned(), |site| router(&self.sites[site].name))
        };
        let _ = writeln!(
            text,
            "\n# Sites and the line carry {SPARE} % more than the plans say: packets wait where they are shaped.\n[links]\n\
             internet = {{ between = [\"internet\", \"provider\"], rate = \"100 Gbit/s\", delay = \"10 ms\" }}\n\
             line = {{ between = [\"provider\", \"line-end\"], {}, delay = \"1 ms\" }}",
            rates(self.line)
        );
        for site in &hosts.sites {
            let site = &self.sites[*site];
            let (name, front, rates) = (router(&site.name), front(site.parent), rates(site.rates));
            let _ = writeln!(
                text,
                "{name} = {{ between = [\"{front}\", \"{name}\"], {rates}, delay = \"1 ms\" }}"
            );
        }
        for (at, _) in &hosts.of_customers {
            let (front, number) = (front(self.customers[*at].site), at + 1);
            let _ = writeln!(
                text,
                "c{number} = {{ between = [\"{front}\", \"c{number}\"], rate = \"10 Gbit/s\", delay = \"1 ms\" }}"
            );
        }
    }

    /// The traffic of the customers of each site, and of those directly behind the line. A workload has one version of IP.
    fn workloads(&self, text: &mut String, hosts: &Hosts) {
        let places = std::iter::once(None).chain((0..self.sites.len()).map(Some));
        let groups = places.flat_map(|place| [(place, true), (place, false)]);
        for (place, is_ipv4) in groups {
            let is_of = |(at, address): &&(usize, IpAddr)| {
                self.customers[*at].site == place && address.is_ipv4() == is_ipv4
            };
            let of_group = hosts.of_customers.iter().filter(is_of);
            let names: Vec<String> = of_group.map(|(at, _)| format!("\"c{}\"", at + 1)).collect();
            if names.is_empty() {
                continue;
            }
            let version = if is_ipv4 { "" } else { "-ipv6" };
            let of = place.map_or(String::new(), |site| format!("-at-{}", self.sites[site].name));
            text.push_str(&traffic(&format!("{version}{of}"), &names));
        }
    }
}

/// The router of a site.
fn router(site: &str) -> String {
    format!("site-{site}")
}

/// A policy for such scenarios in which nobody has a plan: one queue for all, as Linux has it.
pub const WITHOUT_PLANS: &str = "\
name = \"Without plans\"
description = \"One queue for all customers\"

[roles.down.queue.fifo]
limit = \"1000 pkt\"

[roles.up.queue.fifo]
limit = \"1000 pkt\"
";

const HEAD: &str = "\
#   internet ── 10 ms ── provider ══ line ══ line-end ──┬── sites ── customers c1, c2, …
#                        plans
#
# Each busy customer has two downloads and an upload without end, reads pages and has a call.
#
#   shortflow compare scenario.toml --policies policy.toml,without-plans.toml

";

const TIMES: &str = "\
replicas = 4
duration = \"40 s\"
warm_up = \"10 s\"
drain = \"10 s\"

[parameters]
start = \"8 s\"  # the time in which customers begin";

const BINDS: &str = "
[[bind]]
role = \"down\"
at = \"provider\"
to = \"line-end\"

[[bind]]
role = \"up\"
at = \"provider\"
to = \"internet\"

[measure]
ports = [\"provider->line-end\", \"provider->internet\"]
";

/// The workloads of some customers. Their names end in `group`.
fn traffic(group: &str, customers: &[String]) -> String {
    let (downloads, uploads) = (DOWNLOADS * customers.len(), customers.len());
    let customers = customers.join(", ");
    format!(
        r#"
[workloads.downloads{group}.bulk]
from = "internet"
to = [{customers}]
flows = {downloads}
start_window = "$start"

[workloads.uploads{group}.bulk]
from = [{customers}]
to = "internet"
flows = {uploads}
start_window = "$start"

[workloads.pages{group}.web]
client = [{customers}]
server = "internet"
port = 443
http = "1.1"
request.constant = "500 B"
page.index.constant = "30 KB"
page.objects.pareto = {{ min = 4, shape = 1.5, max = 60 }}
page.object.pareto = {{ min = "8 KB", shape = 1.3, max = "1 MB" }}
think.exponential.mean = "8 s"
start_window = "$start"

[workloads.calls-down{group}.cbr]
from = "internet"
to = [{customers}]
rate = "80 kbit/s"
packet = "200 B"
dscp = "EF"

[workloads.calls-up{group}.cbr]
from = [{customers}]
to = "internet"
rate = "80 kbit/s"
packet = "200 B"
dscp = "EF"
"#
    )
}
