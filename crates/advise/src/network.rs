//! A network in a few words, and as a scenario that can be read, run and changed.

use std::fmt::Write;

use shortflow_units::Rate;

use crate::flows::Flows;
use crate::line::LineKind;
use crate::uses::Use;

/// A network in a few words.
#[derive(Debug, Clone, PartialEq)]
pub struct Network {
    /// What it is called.
    pub name: String,
    /// How fast the line is towards the provider.
    pub up: Rate,
    /// And from there.
    pub down: Rate,
    /// Of what kind it is.
    pub line: LineKind,
    /// How many people use it.
    pub users: u32,
    /// What they do.
    pub uses: Vec<Use>,
    /// Transfers of the user's own, beside the uses.
    pub flows: Option<Flows>,
}

/// One way between the provider and any server, in milliseconds.
const BEYOND_MS: u32 = 10;

/// A full packet, in bits.
const PACKET_BITS: f64 = 12_000.0;

impl Network {
    /// What must be kept of calls, meetings and games, each bound as many times as wide as `factor` says: the 99th percentile
    /// of the delay one way within 100 ms, so that with what the ends add a call stays below the 150 ms that ITU-T G.114 finds
    /// good for most, or 50 ms above what the way takes where that is more; and a loss of 1 %.
    pub fn limits(&self, factor: f64) -> Vec<String> {
        let way = f64::from(self.line.delay_ms + BEYOND_MS);
        let packet =
            |rate: Rate| PACKET_BITS / (rate.bits_per_sec() as f64 * self.line.share) * 1e3;
        let allowed = |rate: Rate| (100_f64.max(way + 50.0 + 3.0 * packet(rate)) * factor).ceil();
        let mut limits = Vec::new();
        for (one, name) in
            [(Use::Voice, "calls"), (Use::Meetings, "meetings"), (Use::Games, "games")]
        {
            if self.uses.contains(&one) {
                for (direction, rate) in [("up", self.up), ("down", self.down)] {
                    limits.push(format!("{name}_{direction}.delay.p99 <= {} ms", allowed(rate)));
                    limits.push(format!("{name}_{direction}.datagram-loss <= {factor} %"));
                }
            }
        }
        limits
    }

    /// The goal: the figure of the first use, in the order in which times matter to people.
    pub fn goal(&self) -> &'static str {
        let own = self.flows.as_ref().and_then(Flows::goal);
        let first = Use::ALL.into_iter().find(|one| self.uses.contains(one));
        let of_use = first.and_then(|one| match one {
            // Of pages the 95th percentile, of calls the delay of those that go out.
            Use::Web => one.figures().last(),
            _ => one.figures().first(),
        });
        own.or(of_use.map(|figure| figure.0)).unwrap_or("p95:pages")
    }

    /// The scenario's text.
    pub fn scenario(&self) -> String {
        let mut text = self.heading();
        text += &self.topology();
        for one in &self.uses {
            text += &self.workload(*one);
        }
        if let Some(flows) = &self.flows {
            text += &flows.workloads();
        }
        text
    }

    fn heading(&self) -> String {
        let uses: Vec<&str> = self.uses.iter().map(|one| one.row().name).collect();
        let LineKind { about, share, .. } = self.line;
        let mut text = format!(
            "#   {users} users ── switch ── gateway ── modem ══ {up} up, {down} down ══ isp ── servers\n\
             #                      ▲        ▲        ▲ holds what it is sent; nobody can configure it\n\
             #                      └────────┴─ the policy: {percent:.0} % of the line's rate, so that packets wait here\n\
             #\n\
             # Written by `shortflow advise`, to be read and changed. The line is {about}. What is assumed of the people:\n",
            users = self.users,
            up = self.up,
            down = self.down,
            percent = share * 100.0,
        );
        for one in &self.uses {
            let _ = writeln!(text, "#   {}: {}", one.row().name, one.row().assumed);
        }
        if let Some(flows) = &self.flows {
            let _ = writeln!(text, "#   own flows: {}", flows.about());
        }
        let seconds = self.seconds();
        let what = if uses.is_empty() { "flows of your own".to_owned() } else { uses.join(", ") };
        let _ = write!(
            text,
            "\nname = \"{}\"\ndescription = \"{} users: {what}.\"\nreplicas = 12\nduration = \"{} s\"\nwarm_up = \"10 s\"\ndrain = \"20 s\"\n\n",
            self.name.replace(['"', '\\'], "'"),
            self.users,
            seconds + 10,
        );
        text
    }

    /// How many seconds are measured: fewer where the line carries more in each.
    fn seconds(&self) -> u64 {
        match self.up.bits_per_sec().max(self.down.bits_per_sec()) / 1_000_000 {
            0..=60 => 60,
            61..=250 => 30,
            _ => 15,
        }
    }

    fn topology(&self) -> String {
        let LineKind { delay_ms, overhead, buffer, share, .. } = self.line;
        let part =
            |rate: Rate| Rate::from_bits_per_sec((rate.bits_per_sec() as f64 * share) as u64);
        let (up, down) = (self.up, self.down);
        let (ours_up, ours_down) = (part(up), part(down));
        let users = self.users;
        format!(
            r#"[hosts]
user = {{ count = {users} }}
site = {{}}
peer = {{}}
cloud = {{}}

[routers]
switch = {{}}
gateway = {{}}
modem = {{}}
isp = {{}}

[links]
users = {{ between = ["user", "switch"], rate = "1 Gbit/s", delay = "100 us" }}
inside = {{ between = ["switch", "gateway"], rate = {{ forward = "10 Gbit/s", back = "{ours_down}" }}, delay = "1 us" }}
outside = {{ between = ["gateway", "modem"], rate = {{ forward = "{ours_up}", back = "10 Gbit/s" }}, delay = "1 us" }}
site = {{ between = ["site", "isp"], rate = "10 Gbit/s", delay = "{BEYOND_MS} ms" }}
peer = {{ between = ["peer", "isp"], rate = "10 Gbit/s", delay = "{BEYOND_MS} ms" }}
cloud = {{ between = ["cloud", "isp"], rate = "10 Gbit/s", delay = "{BEYOND_MS} ms" }}

[links.line]
between = ["modem", "isp"]
rate = {{ forward = "{up}", back = "{down}" }}
delay = "{delay_ms} ms"
queue = "{buffer} pkt"
overhead = "{overhead} B"

# Hosts that send; where packets enter the gateway; and where they wait in it, in either direction.
[[bind]]
role = "source"
at = ["site", "peer", "cloud"]
to = "isp"

[[bind]]
role = "source"
at = "user"
to = "switch"

[[bind]]
role = "edge"
at = "gateway"
from = ["switch", "modem"]

[[bind]]
role = "core"
at = "gateway"
to = ["switch", "modem"]
"#
        )
    }

    fn workload(&self, one: Use) -> String {
        let n = one.number(self.users);
        let window = "start_window = \"10 s\"";
        let both = |name: &str, rate: &str, packet: &str, dscp: &str| {
            let dscp = if dscp.is_empty() { String::new() } else { format!("dscp = \"{dscp}\"\n") };
            let way = |direction: &str, from: &str, to: &str| {
                format!(
                    "\n[workloads.{name}_{direction}.cbr]\nfrom = \"{from}\"\nto = \"{to}\"\nrate = \"{rate}\"\npacket = \"{packet}\"\n{dscp}"
                )
            };
            let some = format!("user[:{n}]");
            way("up", &some, "peer") + &way("down", "peer", &some)
        };
        match one {
            Use::Web =>
                "\n[workloads.pages.web]\nclient = \"user\"\nserver = \"site\"\nhttp = \"1.1\"\nrequest.constant = \"500 B\"\n\
                 page.index.constant = \"30 KB\"\npage.objects.pareto = { min = 10, shape = 1.4, max = 150 }\n\
                 page.object.pareto = { min = \"12 KB\", shape = 1.3, max = \"1 MB\" }\n\
                 think.exponential.mean = \"40 s\"\nstart_window = \"40 s\"\n"
                    // Not beyond the end of a short run.
                    .replace("start_window = \"40 s\"", if self.seconds() < 30 { "start_window = \"15 s\"" } else { "start_window = \"40 s\"" }),
            Use::Voice => both("calls", "80 kbit/s", "200 B", "EF"),
            Use::Meetings => both("meetings", "1200 kbit/s", "1200 B", "AF41"),
            Use::Games => both("games", "48 kbit/s", "100 B", ""),
            Use::Streaming => format!(
                "\n[workloads.films.web]\nclient = \"user[:{n}]\"\nserver = \"site\"\nhttp = \"1.1\"\nkeep_alive = true\n\
                 request.constant = \"500 B\"\npage.objects.constant = 1\npage.object.constant = \"2500 KB\"\n\
                 think.constant = \"4 s\"\n{window}\n"
            ),
            Use::Shell => format!(
                "\n[workloads.terminals.telnet]\nclient = \"user[:{n}]\"\nserver = \"site\"\npacket = \"100 B\"\n\
                 pause.exponential.mean = \"300 ms\"\n{window}\n"
            ),
            Use::Backup => format!(
                "\n[workloads.backups.bulk]\nfrom = \"user[:{n}]\"\nto = \"cloud\"\nflows = 2\n{window}\n"
            ),
            Use::Downloads => format!(
                "\n[workloads.downloads.bulk]\nfrom = \"cloud\"\nto = \"user[:{n}]\"\nflows = 2\n{window}\n"
            ),
        }
    }
}
