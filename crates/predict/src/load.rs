//! What each visit of a source, or each of its packets, puts on the bands of the lines that it passes.

use std::collections::BTreeMap;

use shortflow_tcp::Config;

use crate::lines::Line;
use crate::marks::{Hop, Place, Protected, Share};
use crate::traffic::{Ages, Demand, Message, Route, Source, Visit};

/// Packets of a connection that open, acknowledge what was opened, or close, each way.
const BARE_PACKETS: f64 = 2.5;

/// Windows of a message that are looked at one by one: more are alike.
const MOST_WINDOWS: usize = 64;

/// What one visit of a source, or one of its packets, puts on a band of a line.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry {
    pub(crate) source: usize,
    pub(crate) band: usize,
    pub(crate) level: usize,
    pub(crate) share: Share,
    /// Packets, the seconds that they take on the line, and the sum of the squares of these.
    pub(crate) packets: f64,
    pub(crate) busy: f64,
    pub(crate) square: f64,
    /// The sum of the squares of the seconds that the packets of a burst take together, as far as they come faster
    /// than they are sent: that of single packets where they come one by one.
    pub(crate) burst: f64,
    /// Whether they come in the windows of TCP.
    pub(crate) is_tcp: bool,
}

/// What one visit of a source puts on a meter, in bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Metered {
    pub(crate) source: usize,
    pub(crate) meter: usize,
    pub(crate) first: f64,
    pub(crate) rest: f64,
}

/// All entries by line, and what meters see.
#[derive(Debug, Default)]
pub(crate) struct Loads {
    pub(crate) by_line: Vec<Vec<Entry>>,
    pub(crate) metered: Vec<Metered>,
}

impl Loads {
    /// Of sources whose number of visits is known or looked for; what is endless is looked for packet by packet.
    pub(crate) fn of(lines: &[Line], sources: &[Source]) -> Loads {
        let mut loads = Loads { by_line: vec![Vec::new(); lines.len()], metered: Vec::new() };
        for (index, source) in sources.iter().enumerate() {
            let mut known = BTreeMap::new();
            for route in &source.routes {
                let known = &mut known;
                let mut add = Adding { lines, loads: &mut loads, source: index, route, known };
                match &source.demand {
                    Demand::Packets { sizes, ages, .. } => add.packets(sizes, *ages),
                    Demand::Open { visit, .. } | Demand::Closed { visit, .. } => {
                        add.visit(&source.tcp, visit);
                    }
                    Demand::Endless { .. } => {}
                }
            }
        }
        loads
    }

    fn put(&mut self, line: usize, entry: Entry) {
        let alike = |other: &&mut Entry| {
            other.source == entry.source
                && other.band == entry.band
                && other.level == entry.level
                && other.share == entry.share
                && other.is_tcp == entry.is_tcp
        };
        let entries = &mut self.by_line[line];
        // Routes are gone through source by source, so that what is alike is near the end.
        match entries.iter_mut().rev().take_while(|other| other.source == entry.source).find(alike)
        {
            Some(known) => {
                known.packets += entry.packets;
                known.busy += entry.busy;
                known.square += entry.square;
                known.burst += entry.burst;
            }
            None => entries.push(entry),
        }
    }
}

/// Packets and what they take of a line.
#[derive(Debug, Clone, Copy, Default)]
struct Amount {
    packets: f64,
    busy: f64,
    square: f64,
    burst: f64,
}

impl Amount {
    fn times(self, share: f64) -> Amount {
        let Amount { packets, busy, square, burst } = self;
        let [packets, busy, square, burst] = [packets, busy, square, burst].map(|all| all * share);
        Amount { packets, busy, square, burst }
    }
}

/// How packets of a window come to a line.
#[derive(Debug, Clone, Copy)]
struct Coming {
    /// Which part of a first window waits before the line when all of it has come, and which part of one whose
    /// packets answer acknowledgements, two for each: what comes faster than it is sent.
    first: f64,
    later: f64,
    /// The most packets that can wait.
    room: f64,
}

impl Coming {
    /// To the hop at `at` of a way.
    fn to(lines: &[Line], hops: &[Hop], at: usize, packet: f64) -> Coming {
        let rate = |hop: &Hop| lines[hop.line].rate;
        let before = hops[..at].iter().map(rate).fold(f64::INFINITY, f64::min);
        let slowest = hops.iter().map(rate).fold(f64::INFINITY, f64::min);
        let here = rate(&hops[at]);
        let waiting = |coming: f64| (1.0 - here / coming).max(0.0);
        Coming {
            first: waiting(before),
            later: waiting(before.min(2.0 * slowest)),
            room: lines[hops[at].line]
                .bands
                .iter()
                .map(|band| band.room(packet))
                .fold(0.0, f64::max),
        }
    }
}

/// The windows of a message: from which segment on, how many, and whether it is the first.
fn windows(segments: f64, tcp: &Config) -> Vec<(f64, f64)> {
    let most = (tcp.receive_window.0 as f64 / f64::from(tcp.mss)).max(1.0);
    let growth = if tcp.quick_acks > 0 { 2.0 } else { 1.0 + 1.0 / acknowledged_segments(tcp) };
    let mut window = f64::from(tcp.initial_window).min(most);
    let (mut sent, mut found) = (0.0, Vec::new());
    while sent < segments && found.len() < MOST_WINDOWS {
        let now = window.min(segments - sent);
        found.push((sent, now));
        sent += now;
        window = (window * growth).min(most);
    }
    found
}

struct Adding<'a> {
    lines: &'a [Line],
    loads: &'a mut Loads,
    source: usize,
    route: &'a Route,
    /// What messages put on the pieces of a hop, by what tells hops apart.
    known: &'a mut BTreeMap<Vec<u64>, Vec<Amount>>,
}

impl Adding<'_> {
    /// Datagrams, by how much their flows have sent.
    fn packets(&mut self, sizes: &[(f64, f64)], ages: Ages) {
        for hop in &self.route.there {
            let line = &self.lines[hop.line];
            let mut amount = Amount::default();
            for &(size, share) in sizes {
                let time = line.time(size);
                amount.packets += share;
                amount.busy += share * time;
                amount.square += share * time * time;
            }
            amount.burst = amount.square;
            let amounts: Vec<Amount> =
                ages.pieces(hop).map(|(_, share)| amount.times(share)).collect();
            put(self.loads, self.source, hop, &amounts, self.route.share, false);
        }
        let bytes = sizes.iter().map(|(size, share)| size * share).sum();
        self.meter(&self.route.there, bytes, 1.0, &|limit| ages.share(0.0, limit));
    }

    fn visit(&mut self, tcp: &Config, visit: &Visit) {
        let mss = f64::from(tcp.mss);
        for (number, message) in visit.messages.iter().enumerate() {
            self.message(tcp, number, message);
            let answers = |segments: f64| {
                // While its window grows, a receiver acknowledges each.
                let at_once = if tcp.right_sizing { segments } else { tcp.quick_acks.into() };
                let at_once = segments.min(at_once);
                at_once + (segments - at_once) / acknowledged_segments(tcp)
            };
            let each: f64 = message
                .sizes
                .iter()
                .map(|(size, share)| share * answers((size / mss).ceil()))
                .sum();
            let answers = each * message.count;
            self.bare(!message.is_there, answers, f64::from(tcp.header));
        }
        for is_there in [true, false] {
            self.bare(is_there, visit.connections * BARE_PACKETS, f64::from(tcp.header));
        }
    }

    fn message(&mut self, tcp: &Config, number: usize, message: &Message) {
        let route = self.route;
        let hops = if message.is_there { &route.there } else { &route.back };
        let packet = f64::from(tcp.mss) + f64::from(tcp.header);
        for (at, hop) in hops.iter().enumerate() {
            let line = &self.lines[hop.line];
            let coming = Coming::to(self.lines, hops, at, packet);
            let mut key = vec![number as u64];
            let numbers = [line.rate, line.overhead, coming.first, coming.later, coming.room];
            key.extend(numbers.map(f64::to_bits));
            key.extend(hop.pieces.iter().map(|piece| piece.from.to_bits()));
            let amounts = self.known.entry(key).or_insert_with(|| {
                let mut amounts = vec![Amount::default(); hop.pieces.len()];
                for &(size, share) in &message.sizes {
                    sized(&mut amounts, tcp, line, hop, coming, message.is_late, size, share);
                }
                amounts
            });
            let times = route.share * message.count;
            put(self.loads, self.source, hop, amounts, times, true);
        }
        let wire = |size: f64| size + (size / f64::from(tcp.mss)).ceil() * f64::from(tcp.header);
        let start = if message.is_late { None } else { Some(0.0) };
        for &(size, share) in &message.sizes {
            let bytes = wire(size);
            let first = |limit| part(0.0, limit, start, bytes);
            self.meter(hops, bytes, share * message.count, &first);
        }
    }

    /// Packets of headers alone, at the beginning of a flow.
    fn bare(&mut self, is_there: bool, packets: f64, header: f64) {
        let hops = if is_there { &self.route.there } else { &self.route.back };
        for hop in hops {
            let time = self.lines[hop.line].time(header);
            let mut amounts = vec![Amount::default(); hop.pieces.len()];
            let square = time * time;
            amounts[0] = Amount { packets: 1.0, busy: time, square, burst: square };
            put(self.loads, self.source, hop, &amounts, packets * self.route.share, true);
        }
        self.meter(hops, header, packets, &|limit| part(0.0, limit, Some(0.0), header));
    }

    /// Counts packets at the meter that they pass, if any; `first` tells which part of them is among the first so many
    /// bytes of their flow.
    fn meter(&mut self, hops: &[Hop], bytes: f64, times: f64, first: &dyn Fn(f64) -> f64) {
        let Some((meter, limit)) = hops.last().and_then(|hop| hop.metered) else { return };
        let times = times * self.route.share;
        let first = first(limit) * bytes * times;
        let rest = bytes * times - first;
        let source = self.source;
        let known = self.loads.metered.last_mut();
        match known.filter(|known| known.source == source && known.meter == meter) {
            Some(known) => {
                known.first += first;
                known.rest += rest;
            }
            None => self.loads.metered.push(Metered { source, meter, first, rest }),
        }
    }
}

/// Adds a message of `size`, `share` times, to the pieces of a hop.
#[expect(clippy::too_many_arguments, reason = "one place, one caller")]
fn sized(
    amounts: &mut [Amount],
    tcp: &Config,
    line: &Line,
    hop: &Hop,
    coming: Coming,
    is_late: bool,
    size: f64,
    share: f64,
) {
    let (mss, header) = (f64::from(tcp.mss), f64::from(tcp.header));
    let full = (size / mss).floor();
    let last = size - full * mss;
    let packets = full + f64::from(u8::from(last > 0.0));
    if packets == 0.0 {
        return;
    }
    let big = line.time(mss + header);
    let small = if last > 0.0 { line.time(last + header) } else { 0.0 };
    let (busy, square) = (full * big + small, full * big * big + small * small);
    let wire = size + packets * header;
    let start = if is_late { None } else { Some(0.0) };
    let windows = windows(packets, tcp);
    for (number, (piece, amount)) in hop.pieces.iter().zip(amounts).enumerate() {
        let next = hop.pieces.get(number + 1).map_or(f64::INFINITY, |piece| piece.from);
        let here = part(piece.from, next, start, wire);
        if here == 0.0 {
            continue;
        }
        amount.packets += share * here * packets;
        amount.busy += share * here * busy;
        amount.square += share * here * square;
        for (at, &(from, count)) in windows.iter().enumerate() {
            let from = start.map(|_| from / packets * wire);
            let count = count * part(piece.from, next, from, count / packets * wire);
            let waiting = if at == 0 { coming.first } else { coming.later };
            let together = count.min(coming.room) * busy / packets;
            let one_by_one = count * square / packets;
            amount.burst += share
                * one_by_one
                    .max(waiting * together * together * (count / count.min(coming.room)).max(1.0));
        }
    }
}

/// Puts what the pieces of a hop get on its line, `times` as much.
fn put(loads: &mut Loads, source: usize, hop: &Hop, amounts: &[Amount], times: f64, is_tcp: bool) {
    for (piece, amount) in hop.pieces.iter().zip(amounts) {
        if amount.packets * times == 0.0 {
            continue;
        }
        for &Place { band, level, share } in &piece.places {
            let entry = Entry {
                source,
                band,
                level,
                share,
                packets: times * amount.packets,
                busy: times * amount.busy,
                square: times * amount.square,
                burst: times * amount.burst,
                is_tcp,
            };
            loads.put(hop.line, entry);
        }
    }
}

/// Which part of so many bytes lies between two points of a flow that has sent `start` before; all lie in the
/// last part of a flow that goes on without an end.
fn part(from: f64, to: f64, start: Option<f64>, bytes: f64) -> f64 {
    match start {
        Some(start) => {
            let end = start + bytes;
            ((end.min(to) - start.max(from)) / bytes).max(0.0)
        }
        None => f64::from(u8::from(to.is_infinite())),
    }
}

/// The share of packets that a share stands for, when meters find these shares within their profiles.
pub(crate) fn value(share: Share, within: &[[f64; 2]]) -> f64 {
    let of = |meter: usize, who| within[meter][usize::from(who == Protected::Rest)];
    match share {
        Share::All => 1.0,
        Share::Within(meter, who) => of(meter, who),
        Share::Beyond(meter, who) => 1.0 - of(meter, who),
    }
}

/// How many segments an acknowledgement covers.
pub(crate) fn acknowledged_segments(tcp: &Config) -> f64 {
    tcp.delayed_ack.as_ref().map_or(1.0, |delayed| f64::from(delayed.segments))
}

/// The same, as far as the window grows by it in congestion avoidance: not where bytes are counted (RFC 3465).
pub(crate) fn growing(tcp: &Config) -> f64 {
    if tcp.byte_counting { 1.0 } else { acknowledged_segments(tcp) }
}
