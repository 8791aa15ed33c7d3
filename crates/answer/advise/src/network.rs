//! The short description of a network, and its scenario.

use std::fmt::Write;

use shortflow_units::{Bytes, Rate};

use crate::flows::Flows;
use crate::line::LineKind;
use crate::uses::{Offer, Stream, Use};

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
    /// How large pages and films are beside what is assumed of them: 1 as assumed.
    pub sizes: f64,
}

/// One way between the provider and any server, in milliseconds.
const PROVIDER_DELAY_MS: u32 = 10;

/// The direction of the line that is slower.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slower {
    /// From the provider to the users.
    In,
    /// From the users to the provider.
    Out,
}

impl Slower {
    /// The key of a policy's `limit` there in the scenario: in the tables that bind the queues of the gateway.
    pub const fn limit_key(self) -> &'static str {
        match self {
            Slower::In => "bind.3.parameters.limit",
            Slower::Out => "bind.4.parameters.limit",
        }
    }

    /// Where the gateway sends there, in words.
    pub const fn towards(self) -> &'static str {
        match self {
            Slower::In => "towards the users",
            Slower::Out => "towards the provider",
        }
    }
}

/// By how much the delay of calls may vary, in milliseconds: most of the 50 ms of ITU-T Y.1541, as other networks on the path
/// need some.
const MAX_VARIATION_MS: f64 = 40.0;

/// What is simulated, in seconds.
#[derive(Clone, Copy)]
struct Times {
    warm_up: u64,
    measured: u64,
    drain: u64,
}

/// From the longest to the shortest.
const TIMES: [Times; 5] = [
    Times { warm_up: 10, measured: 60, drain: 20 },
    Times { warm_up: 10, measured: 30, drain: 20 },
    Times { warm_up: 6, measured: 15, drain: 6 },
    Times { warm_up: 4, measured: 8, drain: 3 },
    MIN_TIMES,
];
const MIN_TIMES: Times = Times { warm_up: 3, measured: 5, drain: 2 };

impl Times {
    fn all(self) -> u64 {
        self.warm_up + self.measured + self.drain
    }
}

/// How many packets a replica may carry: then the 160 of an answer take less than a minute on two cores, at
/// 0.5 to 0.9 µs for each packet.
const MAX_PACKETS: f64 = 800_000.0;

/// How many pages are to be read in the measured time of a replica.
const MIN_PAGES: u64 = 10;

/// The number of datagrams that a replica needs for a 99th percentile: ten lie beyond it, plus a few that are lost.
const MIN_SAMPLES_FOR_P99: f64 = 1200.0;

/// Seconds between two pages of a user.
const THINK_TIME: u64 = 40;

/// A full packet, in bits.
const PACKET_BITS: f64 = 1500.0 * 8.0;

/// A way to send at the gateway: how much of the line's rate comes in.
#[derive(Debug, Clone, PartialEq)]
pub struct Incoming {
    /// The rate of the gateway towards the users.
    pub rate: Rate,
    /// As a part of the line's, in words; empty for the part that is usual on this line.
    pub label: String,
}

/// The part of an incoming rate that keeps short what waits at the provider. The gateway slows a sender down only once packets
/// wait in it, and until then a burst waits at the provider, before calls. The lower rate ends such a burst sooner.
pub const LOW_SHARE: f64 = 0.85;

/// The shortest buffer of a slow direction, in packets: 1.5 times the ten that TCP sends at first (RFC 6928), from two senders.
const MIN_BUFFER: u64 = 30;

impl Network {
    /// The incoming rates that are tried: the usual one, and a lower one where calls and similar traffic share the line.
    pub fn incoming(&self) -> Vec<Incoming> {
        let shares = [self.line.share, LOW_SHARE];
        let has_low = LOW_SHARE < self.line.share && !self.limits().is_empty();
        let number = if has_low { 2 } else { 1 };
        let one = |(at, share): (usize, &f64)| Incoming {
            rate: self.simulated_rate(self.down, *share),
            label: if at == 0 { String::new() } else { format!("{:.0} % in", share * 100.0) },
        };
        shares[..number].iter().enumerate().map(one).collect()
    }

    /// A rate of the part that is simulated.
    fn simulated_rate(&self, rate: Rate, share: f64) -> Rate {
        let part = rate.bits_per_sec() / u64::from(self.part());
        Rate::from_bits_per_sec((part as f64 * share) as u64)
    }

    /// The buffer of the slower direction, in packets, if the faster one has `limit`: then packets wait as long, however slow
    /// the line is, in a buffer of at least 30 packets. `None` if that is no less.
    pub fn slower_buffer(&self, limit: u64) -> Option<(Slower, u64)> {
        let slower = if self.up < self.down { Slower::Out } else { Slower::In };
        let (slow, fast) = (self.up.min(self.down), self.up.max(self.down));
        let part = u128::from(limit) * u128::from(slow.bits_per_sec())
            / u128::from(fast.bits_per_sec().max(1));
        let own = (part as u64).max(MIN_BUFFER);
        (own < limit).then_some((slower, own))
    }

    /// Limits for calls, meetings and games: a loss of 1 %, and a 99th percentile of the delay one way of at most 40 ms more
    /// than the path. ITU-T Y.1541 allows calls a variation of 50 ms on the whole path (class 0). With a path of up to 50 ms
    /// and the delay of both ends, a call stays below the 150 ms of ITU-T G.114.
    pub fn limits(&self) -> Vec<String> {
        let way = f64::from(self.line.delay_ms + PROVIDER_DELAY_MS);
        self.bounds(way + MAX_VARIATION_MS, 1.0)
    }

    /// Beyond which calls, meetings and games are of no use to anybody: a second more than the way takes, and a loss of a
    /// tenth; in the order of the [limits](Self::limits).
    pub fn minimal_usage(&self) -> Vec<String> {
        let way = f64::from(self.line.delay_ms + PROVIDER_DELAY_MS);
        self.bounds(1000.0 + way, 10.0)
    }

    /// Bounds for the delay of calls, meetings and games, in milliseconds, and for their loss, in percent.
    fn bounds(&self, delay_ms: f64, loss: f64) -> Vec<String> {
        let mut bounds = Vec::new();
        for one in &self.uses {
            let Some(Stream { name, .. }) = one.stream() else { continue };
            let percentile = self.percentile(*one);
            for direction in ["up", "down"] {
                bounds.push(format!("{name}_{direction}.delay.p{percentile} <= {delay_ms} ms"));
                bounds.push(format!("{name}_{direction}.datagram-loss <= {loss} %"));
            }
        }
        bounds
    }

    /// That calls, meetings and games send more than the line carries, in words, where they do.
    pub fn what_does_not_fit(&self) -> Option<String> {
        let (mut sent, mut carried, mut names) = (0.0, 0.0, Vec::new());
        for one in &self.uses {
            let Some(Stream { name, one: alone, kbit_per_s, packet, .. }) = one.stream() else {
                continue;
            };
            let number = one.number(self.users);
            let rate = 1e3 * f64::from(kbit_per_s) * f64::from(number);
            sent += rate;
            let packet = Bytes(packet.into());
            let on_wire = self.line.link_layer.wire_size(packet);
            carried += rate * on_wire.0 as f64 / packet.0 as f64;
            names.push(if number == 1 { alone.to_owned() } else { format!("{number} {name}") });
        }
        let is_narrow = |rate: &&(&str, Rate)| carried > rate.1.bits_per_sec() as f64;
        let ways = [("up", self.up), ("down", self.down)];
        let (way, line) = *ways.iter().filter(is_narrow).min_by_key(|(_, rate)| *rate)?;
        let way = if self.up == self.down { String::new() } else { format!(" {way}") };
        let [sent, carried] = [sent, carried].map(|bits| Rate::from_bits_per_sec(bits as u64));
        let with = match sent > line {
            true => String::new(),
            false => format!(", {carried} including the link's overhead for each packet,"),
        };
        Some(format!("{sent} of {}{with} do not fit {line}{way}.", names.join(" and ")))
    }

    /// By what each use is judged, and what that is called.
    pub fn figures(&self) -> Vec<(String, String)> {
        let own = self.flows.iter().flat_map(Flows::figures);
        let own = own.map(|(goal, about)| (goal.to_owned(), about.to_owned()));
        let of_use = |one: &Use| {
            let percentile = self.percentile(*one);
            one.figures().iter().map(move |(goal, about)| {
                let about = about.replace("99 %", &format!("{percentile} %"));
                (goal.replace("p99:", &format!("p{percentile}:")), about)
            })
        };
        own.chain(self.uses.iter().flat_map(of_use)).collect()
    }

    /// The percentile by which datagrams of a use are judged: the 99th, or the 95th of few.
    fn percentile(&self, one: Use) -> u32 {
        let simulated = self.one_part(self.part());
        let each_way = one.offer(one.number(simulated.users), 1.0).datagrams / 2.0;
        let all = each_way * simulated.times().measured as f64;
        if all < MIN_SAMPLES_FOR_P99 { 95 } else { 99 }
    }

    /// The goals in order: the first one that can be measured is used.
    pub fn goals(&self) -> Vec<String> {
        let mut goals = vec![self.goal()];
        let is_rate = |goal: &String| goal.starts_with("goodput:");
        for (goal, _) in self.figures() {
            if !goals.contains(&goal) && !is_rate(&goal) && !goal.starts_with("loss:") {
                goals.push(goal);
            }
        }
        goals
    }

    /// The goal: the figure of the first use, in the order in which times matter to people.
    pub fn goal(&self) -> String {
        let own = self.flows.as_ref().and_then(Flows::goal);
        let first = Use::ALL.into_iter().find(|one| self.uses.contains(one));
        // Of pages the 95th percentile, of calls the delay of those that go out.
        let of_use = first.and_then(|one| {
            let figures = Network { flows: None, uses: vec![one], ..self.clone() }.figures();
            if one == Use::Web { figures.last().cloned() } else { figures.first().cloned() }
        });
        let of_use = of_use.map_or_else(|| "p95:pages".to_owned(), |(goal, _)| goal);
        own.map_or(of_use, str::to_owned)
    }

    /// The number of parts, one of which is simulated; reported rates are those of that part.
    pub fn parts(&self) -> u32 {
        self.part()
    }

    /// The scenario's text: the whole network, or one part of it if the line is too fast to simulate in time.
    pub fn scenario(&self) -> String {
        match self.part() {
            1 => self.text(),
            part => format!(
                "# 1/{part} of the network: of its rates, its users and its modem's buffer.\n#\n{}",
                self.one_part(part).text()
            ),
        }
    }

    /// What is simulated, in words.
    pub fn simulated(&self) -> String {
        let part = self.part();
        let times = self.one_part(part).times();
        let measured = format!("{} s each, after {} s of warm-up", times.measured, times.warm_up);
        match part {
            1 => measured,
            part => format!("{measured}, with 1/{part} of the rates and of the users"),
        }
    }

    /// Of how many parts one is simulated.
    fn part(&self) -> u32 {
        let packets = self.packets_per_second() * MIN_TIMES.all() as f64;
        (packets / MAX_PACKETS).ceil().max(1.0) as u32
    }

    /// About how many packets pass the line in a second, both ways, with the acknowledgements of those that are full.
    fn packets_per_second(&self) -> f64 {
        let mut all = Offer::default();
        for one in &self.uses {
            let of = one.offer(one.number(self.users), self.sizes);
            all = Offer {
                up: all.up + of.up,
                down: all.down + of.down,
                datagrams: all.datagrams + of.datagrams,
            };
        }
        if let Some(flows) = &self.flows {
            all.up += flows.up.bits_per_second();
            all.down += flows.down.bits_per_second();
        }
        let full = |offered: f64, rate: Rate| offered.min(rate.bits_per_sec() as f64) / PACKET_BITS;
        all.datagrams + 1.5 * (full(all.up, self.up) + full(all.down, self.down))
    }

    fn one_part(&self, part: u32) -> Network {
        let rate = |rate: Rate| Rate::from_bits_per_sec(rate.bits_per_sec() / u64::from(part));
        let users = self.users.div_ceil(part);
        let flows = self.flows.clone().map(|flows| flows.one_part(part));
        // As many packets less, so that they wait as long.
        let line = LineKind { buffer: self.line.buffer.div_ceil(part), ..self.line };
        Network { up: rate(self.up), down: rate(self.down), users, flows, line, ..self.clone() }
    }

    fn text(&self) -> String {
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
        let about = self.line.about;
        let mut text = format!(
            "#   {users} users ── switch ── gateway ── modem ══ {up} up, {down} down ══ isp ── \
                servers\n#                      ▲        ▲        ▲ its buffer cannot be \
                configured\n#                      └────────┴─ the policy: it sends less than \
                the line's rate, so that packets wait here,\n#                                   each \
                counted with the line's overhead\n#\n# Written by `shortflow advise`; edit it as \
                you like. The line is {about}. Assumptions about the users:\n",
            users = self.users,
            up = self.up,
            down = self.down,
        );
        for one in &self.uses {
            let _ = writeln!(text, "#   {}: {}", one.row().name, one.row().assumed);
        }
        if self.sizes != 1.0 {
            let _ = writeln!(text, "#   all these sizes are multiplied by {}", self.sizes);
        }
        if let Some(flows) = &self.flows {
            let _ = writeln!(text, "#   own flows: {}", flows.about());
            let _ = writeln!(
                text,
                "#   own flows keep their sizes and arrivals alone: each is TCP between a user and `site`, port 443, \
                    unmarked"
            );
        }
        let Times { warm_up, measured, drain } = self.times();
        let what = if uses.is_empty() { "flows of your own".to_owned() } else { uses.join(", ") };
        let _ = write!(
            text,
            "\nname = \"{}\"\ndescription = \"{} users: {what}.\"\nreplicas = 12\nduration = \"{} s\"\nwarm_up = \"{warm_up} s\"\ndrain = \"{drain} s\"\n\n",
            self.name.replace(['"', '\\'], "'"),
            self.users,
            warm_up + measured,
        );
        text
    }

    /// How long is simulated: less where more is carried in each second.
    fn times(&self) -> Times {
        let packets = self.packets_per_second();
        let fits = |times: &&Times| packets * times.all() as f64 <= MAX_PACKETS;
        *TIMES.iter().find(fits).unwrap_or(&MIN_TIMES)
    }

    /// The number of readers, and the seconds within which they begin: all within their think time for a page, as in
    /// the long run; in a shorter time those who begin within it, or a few more if hardly a page would be measured.
    fn readers(&self) -> (u32, u64) {
        let Times { warm_up, measured, .. } = self.times();
        let within = THINK_TIME.min(warm_up + measured);
        let come = (u64::from(self.users) * within).div_ceil(THINK_TIME);
        let enough = (MIN_PAGES * within).div_ceil(measured);
        (come.max(enough).min(u64::from(self.users)) as u32, within)
    }

    fn topology(&self) -> String {
        let LineKind { delay_ms, link_layer, buffer, share, .. } = self.line;
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
inside = {{ between = ["switch", "gateway"], rate = {{ forward = "10 Gbit/s", back = "{ours_down}" }}, delay = "1 us", link_layer = "{link_layer}" }}
outside = {{ between = ["gateway", "modem"], rate = {{ forward = "{ours_up}", back = "10 Gbit/s" }}, delay = "1 us", link_layer = "{link_layer}" }}
site = {{ between = ["site", "isp"], rate = "10 Gbit/s", delay = "{PROVIDER_DELAY_MS} ms" }}
peer = {{ between = ["peer", "isp"], rate = "10 Gbit/s", delay = "{PROVIDER_DELAY_MS} ms" }}
cloud = {{ between = ["cloud", "isp"], rate = "10 Gbit/s", delay = "{PROVIDER_DELAY_MS} ms" }}

[links.line]
between = ["modem", "isp"]
rate = {{ forward = "{up}", back = "{down}" }}
delay = "{delay_ms} ms"
queue = "{buffer} pkt"
link_layer = "{link_layer}"

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
to = "switch"

[[bind]]
role = "core"
at = "gateway"
to = "modem"
"#
        )
    }

    fn workload(&self, one: Use) -> String {
        let n = one.number(self.users);
        let size = |bytes: f64| Bytes((bytes * self.sizes) as u64);
        let window = format!("start_window = \"{} s\"", self.times().warm_up);
        let both = |Stream { name, kbit_per_s, packet, dscp, .. }: Stream| {
            let dscp = if dscp.is_empty() { String::new() } else { format!("dscp = \"{dscp}\"\n") };
            let way = |direction: &str, from: &str, to: &str| {
                format!(
                    "\n[workloads.{name}_{direction}.cbr]\nfrom = \"{from}\"\nto = \"{to}\"\nrate = \"{kbit_per_s} kbit/s\"\npacket = \"{packet} B\"\n{dscp}"
                )
            };
            let some = format!("user[:{n}]");
            way("up", &some, "peer") + &way("down", "peer", &some)
        };
        if let Some(stream) = one.stream() {
            return both(stream);
        }
        match one {
            Use::Voice | Use::Meetings | Use::Games => String::new(),
            Use::Web => {
                let (readers, within) = self.readers();
                let those = match readers == self.users {
                    true => String::new(),
                    false => format!(
                        "\n# Those of the {} whose page falls into so short a time.",
                        self.users
                    ),
                };
                format!(
                    "{those}\n[workloads.pages.web]\nclient = \"user[:{readers}]\"\nserver = \"site\"\nport = 443\nhttp = \"1.1\"\nrequest.constant = \"500 B\"\n\
                     page.index.constant = \"{}\"\npage.objects.pareto = {{ min = 10, shape = 1.4, max = 150 }}\n\
                     page.object.pareto = {{ min = \"{}\", shape = 1.3, max = \"{}\" }}\n\
                     think.exponential.mean = \"{THINK_TIME} s\"\nstart_window = \"{within} s\"\n",
                    size(30e3),
                    size(12e3),
                    size(1e6),
                )
            }
            Use::Streaming => format!(
                "\n[workloads.films.web]\nclient = \"user[:{n}]\"\nserver = \"site\"\nport = 443\nhttp = \"1.1\"\nkeep_alive = true\n\
                 request.constant = \"500 B\"\npage.objects.constant = 1\npage.object.constant = \"{}\"\n\
                 think.constant = \"4 s\"\n{window}\n",
                size(25e5)
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
