//! Warns of settings that are allowed but probably a mistake.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use shortflow_policy::{QueueLimit, Role};
use shortflow_tcp::EchoRule;
use shortflow_text::Document;
use shortflow_units::{Bytes, Duration, Instant, Length, Probability, Rate};
use shortflow_workloads::Sizes;

use super::limits::number;
use super::topology::MIN_PACKET;
use crate::file::ScenarioFile;
use crate::loss::LossFile;
use crate::model::{Binding, Direction, Line, Link, NodeId, Scenario, Workload};
use crate::workloads::WorkloadKind;

/// Warns of links that lose all packets, and of packets that are smaller than their headers.
pub(super) fn of_file(document: &mut Document, file: &ScenarioFile, workloads: &[Workload]) {
    for (name, link) in file.links.iter() {
        if link.loss.as_ref().is_some_and(loses_all) {
            let help = "write a probability from 0 to 1, such as 0.01 for 1 % of packets";
            let message = format!("the link `{name}` loses every packet");
            document.warning(&format!("links.{name}.loss"), message, help);
        }
    }
    for workload in workloads {
        small_packets(document, workload);
    }
}

/// Whether all packets in one of the directions are lost.
fn loses_all(loss: &LossFile) -> bool {
    match loss {
        LossFile::Always(probability) => *probability == Probability::ONE,
        LossFile::Table(table) => ["forward", "back"].iter().filter_map(|way| table.get(way)).any(
            |way| matches!(way, LossFile::Always(probability) if *probability == Probability::ONE),
        ),
    }
}

/// A packet with datagrams has UDP and IP headers.
fn small_packets(document: &mut Document, workload: &Workload) {
    let (key, size) = match &workload.kind {
        WorkloadKind::Cbr(cbr) => ("cbr.packet", u64::from(cbr.packet)),
        WorkloadKind::Poisson(poisson) => match &poisson.size {
            Sizes::Constant(size) => ("poisson.size.constant", size.0),
            _ => return,
        },
        _ => return,
    };
    let min = MIN_PACKET + workload.ip.more();
    if size < u64::from(min) {
        let message = format!(
            "a packet of {size} B is smaller than its headers: UDP and {} take {min} B",
            workload.ip.name()
        );
        let help = "sizes of packets include the headers";
        document.warning(&format!("workloads.{}.{key}", workload.name), message, help);
    }
}

/// Warns of the first workload whose TCP reacts only to marks, and whose packets pass no queue that marks.
/// `is_tcp_of_all` is whether the congestion control is set in `[tcp]`.
pub(super) fn unmarked(document: &mut Document, scenario: &Scenario, is_tcp_of_all: bool) {
    let marks = |&(at, to): &(NodeId, NodeId)| {
        let here = |binding: &&Binding| binding.at == at && binding.direction == Direction::To(to);
        let role = scenario.bindings.iter().find(here).map(|binding| binding.role.as_str());
        let policy = scenario.policy.as_ref();
        role.and_then(|role| policy?.role(role)).is_some_and(|role| role.marks())
    };
    let waits = |&(index, workload): &(usize, &Workload)| {
        workload.kind.traffic().datagrams().is_none()
            && workload.tcp.congestion.echo() == EchoRule::Exact
            && !scenario.ports_of(index).iter().any(marks)
    };
    let Some((_, workload)) = scenario.workloads.iter().enumerate().find(waits) else { return };
    let path = match is_tcp_of_all {
        true => "tcp.congestion".to_owned(),
        false => format!("workloads.{}", workload.name),
    };
    let message = format!(
        "{} reacts to ECN marks, but no queue on the path of `{}` marks packets",
        workload.tcp.congestion.title(),
        workload.name
    );
    let help = "bind a queue that marks, such as `fq-codel`, or `red` with `ecn = true`, or choose \
                another congestion control";
    document.warning(&path, message, help);
}

/// Warns of the link with the highest load, if the load exceeds its rate.
pub(super) fn overloaded(document: &mut Document, scenario: &Scenario) {
    let load = scenario.offered_load();
    let lines = load.lines.iter().enumerate();
    let heaviest = lines.max_by(|(_, one), (_, other)| one.share().total_cmp(&other.share()));
    let Some((at, line)) = heaviest.filter(|(_, line)| line.share() > 1.0) else { return };
    let node = |node: NodeId| &scenario.nodes[node.index()].name;
    let (from, to) = (node(line.from), node(line.to));
    let message = match line.rate > 0.0 {
        true => {
            let percent = 100.0 * line.share();
            format!("the load offered from {from} to {to} is {percent:.0} % of the link's rate")
        }
        false => format!("the link from {from} to {to} has a rate of zero during the whole run"),
    };
    let help = "while all workloads are active, open transfers accumulate, and times depend on the length of the run; \
                `shortflow check` shows the load of each link";
    // Each link has two lines.
    document.warning(&format!("links.{}", group_of(&scenario.links[at / 2])), message, help);
}

/// The source ports of a host, from 1024 on.
const SOURCE_PORTS: u64 = 64_512;

/// Warns of the first workload whose connections from one host to one port of another need more source ports than there are.
pub(super) fn many_connections(document: &mut Document, scenario: &Scenario) {
    let mut open: BTreeMap<(NodeId, NodeId, u16), u64> = BTreeMap::new();
    for workload in &scenario.workloads {
        let (pairs, port, count) = match &workload.kind {
            // Flows of some bytes give their ports back after TIME_WAIT.
            WorkloadKind::Bulk(bulk)
                if bulk.size.is_none() || bulk.start_window <= workload.tcp.time_wait =>
            {
                (&bulk.pairs, bulk.port, bulk.flows)
            }
            WorkloadKind::Telnet(telnet) => {
                let sessions = &telnet.sessions;
                (&sessions.pairs, sessions.port, sessions.count)
            }
            _ => continue,
        };
        let all = pairs.len() as u64;
        for (at, (client, server)) in (0..).zip(pairs) {
            // Connection i is of the i-th pair, modulo their number.
            let here = (u64::from(count) + all - 1 - at) / all;
            let sum = open.entry((*client, *server, port)).or_default();
            *sum += here;
            if *sum > SOURCE_PORTS {
                let node = |node: &NodeId| &scenario.nodes[node.index()].name;
                let message = format!(
                    "{} connections of `{}` to port {port} of {} are more than the {} source ports of a host: \
                     `simulate` and `rehearse` cannot open them",
                    number(*sum as f64),
                    node(client),
                    node(server),
                    number(SOURCE_PORTS as f64)
                );
                let help =
                    "use fewer of them, spread them over more hosts, or give some another `port`";
                document.warning(&format!("workloads.{}", workload.name), message, help);
                return;
            }
        }
    }
}

/// Warns of the buffer that holds packets for longest at the rate of its link, if that is long. Queues that drop or mark before
/// their limit do not count: packets do not wait as long as the limit allows. Those of profiles send at other rates.
/// Of links only those in `queued` count, whose queue the file sets.
pub(super) fn deep(document: &mut Document, scenario: &Scenario, queued: &[String]) {
    let queueing = scenario.bindings.iter().filter_map(|binding| {
        let Direction::To(to) = binding.direction else { return None };
        let role = scenario.policy.as_ref()?.role(&binding.role)?;
        role.queue.is_some().then_some(((binding.at, to), role))
    });
    let roles: BTreeMap<(NodeId, NodeId), &Role> = queueing.collect();
    let ports = scenario.links.iter().flat_map(|link| {
        [(link, link.a, link.b, &link.forward), (link, link.b, link.a, &link.back)]
    });
    let is_set = |link: &Link, buffer: &Buffer| {
        buffer.key.is_some() || queued.iter().any(|name| name == group_of(link))
    };
    let buffers = ports.flat_map(|(link, at, to, line)| {
        let found = buffers(roles.get(&(at, to)).copied(), line).into_iter();
        let found = found.filter(move |found| is_set(link, found));
        found.filter_map(move |found| {
            Some((link, at, to, found.limit.long_drain(found.rate)?, found))
        })
    });
    // Of equal ones the first.
    let deepest = buffers.min_by_key(|(_, _, _, time, _)| Reverse(*time));
    let Some((link, at, to, time, found)) = deepest else { return };
    let node = |node: NodeId| &scenario.nodes[node.index()].name;
    let of_full = match found.limit {
        Length::Packets(_) => format!(" with packets of {} B", Length::FULL_PACKET.0),
        Length::Bytes(_) => String::new(),
    };
    let message = format!(
        "the buffer from {} to {} holds up to {:.0} s at {}{of_full}: {} = {}",
        node(at),
        node(to),
        time.as_secs_f64(),
        found.rate,
        found.key.as_deref().map_or("`queue`".to_owned(), |key| format!("`{key}`")),
        found.limit,
    );
    let help = "while it is full, each packet waits that long; set a smaller limit";
    let group = group_of(link);
    let place = if found.key.is_some() { String::new() } else { ".queue".to_owned() };
    document.warning(&format!("links.{group}{place}"), message, help);
}

/// A buffer that drops packets only when it is full.
struct Buffer {
    /// The key of its limit in the policy; `None` for the queue of the link.
    key: Option<String>,
    limit: Length,
    rate: Rate,
}

/// The buffers of a port, with the role whose queue is bound there, if one is.
fn buffers(role: Option<&Role>, line: &Line) -> Vec<Buffer> {
    let Some((role, queue)) = role.and_then(|role| Some((role, role.queue.as_ref()?))) else {
        return vec![Buffer { key: None, limit: line.limit, rate: line.rate }];
    };
    let rate = queue.shaped_to().map_or(line.rate, |rate| rate.min(line.rate));
    let of_line = role.limits.iter().filter(|limit| limit.is_tail_drop);
    let buffer = |one: &QueueLimit| Buffer { key: Some(one.key.clone()), limit: one.limit, rate };
    of_line.map(buffer).collect()
}

/// Warns of the first link on which no packet arrives before the run ends.
pub(super) fn late(document: &mut Document, scenario: &Scenario) {
    let end = scenario.duration + scenario.drain;
    let is_late = |link: &&Link| link.forward.delay.max(link.back.delay) >= end;
    let Some(link) = scenario.links.iter().find(is_late) else { return };
    let message = format!(
        "no packet arrives over the link `{}`: its delay is {}, and the run ends after {end}",
        link.name,
        link.forward.delay.max(link.back.delay)
    );
    let help = "shorten the delay, or lengthen the run";
    document.warning(&format!("links.{}.delay", group_of(link)), message, help);
}

/// The share of a load in rare sizes from which on the realised load is usually far below the offered one.
const MAX_RARE: f64 = 0.5;

/// Warns of transfers most of whose load is in replies so large that none of them is expected in all replicas together.
pub(super) fn heavy_tails(document: &mut Document, scenario: &Scenario) {
    for workload in &scenario.workloads {
        let WorkloadKind::Transfers(transfers) = &workload.kind else { continue };
        let begin = transfers.start.max(Instant::START + scenario.warm_up);
        let seconds = transfers.stop.as_secs_f64() - begin.as_secs_f64();
        let draws = transfers.rate * seconds.max(0.0) * f64::from(scenario.replicas);
        let rare = transfers.reply.rare(draws).filter(|(share, _)| *share > MAX_RARE);
        let Some((share, size)) = rare.filter(|_| draws >= 1.0) else { continue };
        let message = format!(
            "{:.0} % of the load of `{}` is in replies above {size}, of which fewer than one is expected in all replicas: \
             the realised load is usually far below the offered one",
            100.0 * share,
            workload.name
        );
        let help =
            "set `max`, or a greater `shape`; a longer `duration` or more `replicas` help little";
        document.warning(&format!("workloads.{}.transfers.reply", workload.name), message, help);
    }
}

/// Warns of the first workload whose `tcp.window_rate` is less than a segment in each round trip, which is the least
/// window. `of_all` is the rate in `[tcp]`.
pub(super) fn window_rate(document: &mut Document, scenario: &Scenario, of_all: Option<Rate>) {
    let found = scenario.workloads.iter().filter(|one| one.kind.uses_tcp()).find_map(|workload| {
        let rate = workload.tcp.window_rate?;
        let segment = Bytes(u64::from(workload.tcp.mss));
        let round_trip = shortest_round_trip(scenario, workload)?;
        let min = segment.0 as f64 * 8.0 / round_trip.as_secs_f64();
        let is_below = (rate.bits_per_sec() as f64) < min;
        is_below.then_some((workload, rate, segment, round_trip, rounded_up(min)))
    });
    let Some((workload, rate, segment, round_trip, min)) = found else { return };
    let path = match of_all == Some(rate) {
        true => "tcp.window_rate".to_owned(),
        false => format!("workloads.{}", workload.name),
    };
    let message = format!(
        "window_rate {rate} is less than a segment of {segment} in a round trip of `{}` ({round_trip}), which is the \
         least window: it is not kept",
        workload.name
    );
    let help = format!("the least rate of this path is {min}; a smaller `mss` lowers it");
    document.warning(&path, message, &help);
}

/// A rate of three digits.
fn rounded_up(bits_per_sec: f64) -> Rate {
    let (bits, mut step) = (bits_per_sec.ceil() as u64, 1);
    while bits / step >= 1000 {
        step *= 10;
    }
    Rate::from_bits_per_sec(bits.div_ceil(step) * step)
}

/// The shortest round trip of a segment between the nodes of a workload, without queueing; `None` without links.
fn shortest_round_trip(scenario: &Scenario, workload: &Workload) -> Option<Duration> {
    let pairs = workload.kind.pairs();
    let turned: Vec<(NodeId, NodeId)> = pairs.iter().map(|&(one, other)| (other, one)).collect();
    let line = |at: &usize| {
        let link = &scenario.links[at / 2];
        if at.is_multiple_of(2) { &link.forward } else { &link.back }
    };
    let delay = |way: &Vec<usize>| way.iter().map(|at| line(at).delay.as_secs_f64()).sum::<f64>();
    let [there, back] = [pairs, &turned].map(|pairs| scenario.ways(pairs));
    let both = there.iter().zip(&back).map(|(there, back)| delay(there) + delay(back));
    both.min_by(f64::total_cmp).filter(|time| *time > 0.0).map(Duration::from_secs_f64)
}

/// The name of a link in the text, without an index.
fn group_of(link: &Link) -> &str {
    link.name.split('[').next().unwrap_or(&link.name)
}
