//! The load that each visit or packet of a source puts on the bands of the lines that it passes.

use std::collections::BTreeMap;

use shortflow_tcp::Config;

use crate::lines::Line;
use crate::marks::{Hop, Place, Share};
use crate::range::SMOOTH;
use crate::slow_start::{acknowledged_segments, windows};
use crate::traffic::{Ages, Demand, Message, Route, Shape, Source, Visit};

/// Packets of a connection that open, acknowledge what was opened, or close, each way.
const BARE_PACKETS: f64 = 2.5;

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
    /// The same of the runs of windows that keep the line busy without a pause: what goes behind them waits for all.
    pub(crate) run: f64,
    /// Whether they come in the windows of TCP.
    pub(crate) is_tcp: bool,
}

impl Entry {
    /// Whether several packets come at once.
    pub(crate) fn comes_in_windows(&self) -> bool {
        self.is_tcp && self.burst > (1.0 + SMOOTH) * self.square
    }
}

/// Messages of a source that come to a line through a slower one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Crossing {
    pub(crate) line: usize,
    pub(crate) band: usize,
    /// The slowest line on the way to it.
    pub(crate) link: usize,
    pub(crate) source: usize,
    /// How many come with a visit.
    pub(crate) times: f64,
    /// Mean seconds that one takes on the line, and mean square.
    pub(crate) busy: f64,
    pub(crate) square: f64,
    /// Its packets, and the sum of their squares, one by one.
    pub(crate) packets: f64,
    pub(crate) of_packets: f64,
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
    pub(crate) crossings: Vec<Crossing>,
}

impl Loads {
    /// Of sources whose number of visits is known or looked for; what is endless is looked for packet by packet.
    pub(crate) fn new(lines: &[Line], sources: &[Source]) -> Loads {
        let mut loads = Loads { by_line: vec![Vec::new(); lines.len()], ..Loads::default() };
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
                known.run += entry.run;
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
    run: f64,
}

impl Amount {
    fn times(self, share: f64) -> Amount {
        let Amount { packets, busy, square, burst, run } = self;
        let [packets, busy, square, burst, run] =
            [packets, busy, square, burst, run].map(|all| all * share);
        Amount { packets, busy, square, burst, run }
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
    /// Seconds of a round trip without waits, where the line is the slowest on the way: the windows of a message then follow one
    /// another there without a gap as soon as one takes longer. Nothing where another is slower, which spaces them.
    trip: Option<f64>,
    /// Seconds of that round trip, and of a full packet at the slowest line.
    bare: (f64, f64),
}

impl Coming {
    /// To the hop at `at` of a way, of packets that come back in so many seconds.
    fn to(lines: &[Line], hops: &[Hop], at: usize, packet: f64, trip: f64) -> Coming {
        let rate = |hop: &Hop| lines[hop.line].rate;
        let before = hops[..at].iter().map(rate).fold(f64::INFINITY, f64::min);
        let slowest = hops.iter().map(rate).fold(f64::INFINITY, f64::min);
        let here = rate(&hops[at]);
        let waiting = |coming: f64| (1.0 - here / coming).max(0.0);
        Coming {
            first: waiting(before),
            later: waiting(before.min(2.0 * slowest)),
            trip: (here <= slowest && before > here).then_some(trip),
            bare: (trip, packet / slowest),
            room: lines[hops[at].line]
                .bands()
                .iter()
                .map(|band| band.room(packet))
                .fold(0.0, f64::max),
        }
    }
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
            amount.run = amount.square;
            let amounts: Vec<Amount> =
                ages.pieces(hop).map(|(_, share)| amount.times(share)).collect();
            put(self.loads, self.source, hop, &amounts, self.route.share, false);
        }
        let bytes = sizes.iter().map(|(size, share)| size * share).sum();
        self.meter(&self.route.there, bytes, 1.0, &|limit| ages.share(0.0, limit));
    }

    fn visit(&mut self, tcp: &Config, visit: &Visit) {
        for (number, message) in visit.messages.iter().enumerate() {
            self.message(tcp, number, message);
            // What is echoed at once goes with its acknowledgement.
            if visit.shape == Shape::Echo && number + 1 < visit.messages.len() {
                continue;
            }
            for &(size, share) in &message.sizes {
                self.answers(tcp, message, size, share);
            }
        }
        for is_there in [true, false] {
            self.bare(is_there, visit.connections * BARE_PACKETS, f64::from(tcp.header));
        }
    }

    fn message(&mut self, tcp: &Config, number: usize, message: &Message) {
        let route = self.route;
        let hops = route.way(message.is_there);
        let answers = route.way(!message.is_there);
        let packet = f64::from(tcp.mss) + f64::from(tcp.header);
        let way = |hops: &[Hop], bytes: f64| -> f64 {
            let each = hops.iter().map(|hop| &self.lines[hop.line]);
            each.map(|line| line.time(bytes) + line.delay).sum()
        };
        let trip = way(hops, packet) + way(answers, f64::from(tcp.header));
        for (at, hop) in hops.iter().enumerate() {
            let line = &self.lines[hop.line];
            let coming = Coming::to(self.lines, hops, at, packet, trip);
            let mut key = vec![number as u64];
            let (trip, slowest) = coming.bare;
            let is_slowest = f64::from(u8::from(coming.trip.is_some()));
            let numbers =
                [line.rate, coming.first, coming.later, coming.room, trip, slowest, is_slowest];
            key.extend(numbers.map(f64::to_bits));
            key.extend(line.framing().map(f64::to_bits));
            key.extend(hop.pieces.iter().map(|piece| piece.from.to_bits()));
            let amounts = self.known.entry(key).or_insert_with(|| {
                let mut amounts = vec![Amount::default(); hop.pieces.len()];
                for &(size, share) in &message.sizes {
                    sized(&mut amounts, tcp, line, hop, coming, message, (size, share));
                }
                amounts
            });
            let times = route.share * message.count;
            put(self.loads, self.source, hop, amounts, times, true);
            self.crossing(tcp, message, hops, at);
        }
        let wire = |size: f64| size + (size / f64::from(tcp.mss)).ceil() * f64::from(tcp.header);
        let start = if message.is_late { None } else { Some(0.0) };
        for &(size, share) in &message.sizes {
            let bytes = wire(size);
            let first = |limit| part(0.0, limit, start, bytes);
            self.meter(hops, bytes, share * message.count, &first);
        }
    }

    /// The acknowledgements of messages of a size. Those of a window come together where they take longer on a line than the
    /// segments that they answer take on theirs.
    fn answers(&mut self, tcp: &Config, message: &Message, size: f64, share: f64) {
        let route = self.route;
        let (hops, back) = (route.way(message.is_there), route.way(!message.is_there));
        let (mss, header) = (f64::from(tcp.mss), f64::from(tcp.header));
        let segments = (size / mss).ceil();
        // While its window grows, a receiver acknowledges each.
        let answers = |segments: f64| {
            let quick = if tcp.right_sizing { segments } else { tcp.quick_acks.into() };
            let at_once = segments.min(quick);
            at_once + (segments - at_once) / acknowledged_segments(tcp)
        };
        let way = |hops: &[Hop], bytes: f64| -> f64 {
            let each = hops.iter().map(|hop| &self.lines[hop.line]);
            each.map(|line| line.time(bytes) + line.delay).sum()
        };
        let trip = way(hops, mss + header) + way(back, header);
        let slowest = hops.iter().map(|hop| self.lines[hop.line].time(mss + header));
        let slowest = slowest.fold(0.0, f64::max);
        let all = answers(segments);
        let times = share * message.count;
        // How far apart acknowledgements of a first window come to a hop.
        let mut apart = slowest * segments / all.max(1.0);
        for hop in back {
            let line = &self.lines[hop.line];
            let time = line.time(header);
            let room = line.bands().iter().map(|band| band.room(header)).fold(0.0, f64::max);
            let mut amount = Amount {
                packets: all,
                busy: all * time,
                square: all * time * time,
                ..Amount::default()
            };
            // Else they come one by one.
            let windows = if apart < time { windows(segments, tcp, trip, slowest) } else { vec![] };
            for (at, (from, count)) in windows.into_iter().enumerate() {
                let count = answers(from + count) - answers(from);
                // Later windows answer acknowledgements, two for each.
                let apart = if at == 0 { apart } else { apart.max(time / 2.0) };
                let waiting = (1.0 - apart / time).max(0.0);
                let together = waiting * count.min(room) * count * time * time;
                amount.burst += together.max(count * time * time);
            }
            amount.burst = amount.burst.max(amount.square);
            amount.run = amount.burst;
            apart = apart.max(time);
            let mut amounts = vec![Amount::default(); hop.pieces.len()];
            amounts[0] = amount;
            put(self.loads, self.source, hop, &amounts, times * route.share, true);
        }
        self.meter(back, header, all * times, &|limit| part(0.0, limit, Some(0.0), header));
    }

    /// Notes that a message comes to a hop through a slower line.
    fn crossing(&mut self, tcp: &Config, message: &Message, hops: &[Hop], at: usize) {
        let line = &self.lines[hops[at].line];
        let rate = |hop: &&Hop| self.lines[hop.line].rate;
        let slowest = hops[..at].iter().min_by(|one, other| rate(one).total_cmp(&rate(other)));
        let Some(link) = slowest.filter(|link| rate(link) < line.rate) else { return };
        let (mss, header) = (f64::from(tcp.mss), f64::from(tcp.header));
        let (mut busy, mut square, mut count, mut of_packets) = (0.0, 0.0, 0.0, 0.0);
        for &(size, share) in &message.sizes {
            let packets = (size / mss).ceil().max(1.0);
            let each = line.time(size / packets + header);
            let time = packets * each;
            busy += share * time;
            square += share * time * time;
            count += share * packets;
            of_packets += share * time * each;
        }
        let places = hops[at].pieces.iter().flat_map(|piece| &piece.places);
        self.loads.crossings.push(Crossing {
            line: hops[at].line,
            band: places.map(|place| place.band).max().unwrap_or(0),
            link: link.line,
            source: self.source,
            times: self.route.share * message.count,
            busy,
            square,
            packets: count,
            of_packets,
        });
    }

    /// Packets of headers alone, at the beginning of a flow.
    fn bare(&mut self, is_there: bool, packets: f64, header: f64) {
        let hops = if is_there { &self.route.there } else { &self.route.back };
        for hop in hops {
            let time = self.lines[hop.line].time(header);
            let mut amounts = vec![Amount::default(); hop.pieces.len()];
            let square = time * time;
            amounts[0] = Amount { packets: 1.0, busy: time, square, burst: square, run: square };
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

/// When the windows of a message that is alone begin to leave a line, the slowest on its way.
struct Turns {
    /// Seconds of a packet, and of a round trip; without one, windows never meet.
    packet: f64,
    trip: Option<f64>,
    /// When the first packet of the window before left, and its last.
    begin: f64,
    end: f64,
}

impl Turns {
    fn new(packet: f64, trip: Option<f64>) -> Turns {
        Turns { packet, trip, begin: f64::NEG_INFINITY, end: f64::NEG_INFINITY }
    }

    /// Seconds that the first packet of the next window, of `count`, waits for the window before, in no more than `room` packets.
    fn next(&mut self, count: f64, room: f64) -> f64 {
        let Some(trip) = self.trip else { return 0.0 };
        let comes = if self.begin.is_finite() { self.begin + trip } else { 0.0 };
        self.begin = comes.max(self.end);
        self.end = self.begin + count * self.packet;
        (self.begin - comes).min(room * self.packet)
    }
}

/// Adds a message of `size`, `share` times, to the pieces of a hop.
fn sized(
    amounts: &mut [Amount],
    tcp: &Config,
    line: &Line,
    hop: &Hop,
    coming: Coming,
    message: &Message,
    (size, share): (f64, f64),
) {
    let Message { is_late, in_line, .. } = *message;
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
    let windows = windows(packets * in_line, tcp, coming.bare.0, coming.bare.1);
    // From the first window on that takes as long as it takes to come back, the line is busy until all has passed.
    let lasting = windows.iter().position(|(_, count)| count * big >= coming.bare.0);
    let run_from = lasting.map_or(packets * in_line, |at| windows[at].0);
    for (number, (piece, amount)) in hop.pieces.iter().zip(amounts).enumerate() {
        let next = hop.pieces.get(number + 1).map_or(f64::INFINITY, |piece| piece.from);
        // What comes in line lies behind one another in its flow.
        let here = part(piece.from, next, start, in_line * wire);
        if here == 0.0 {
            continue;
        }
        amount.packets += share * here * packets;
        amount.busy += share * here * busy;
        amount.square += share * here * square;
        let one = busy / packets;
        let mut turns = Turns::new(one, coming.trip);
        let rest = in_line - run_from / packets;
        let run = match rest > 0.0 {
            true => {
                let start = start.map(|_| run_from / packets * wire);
                part(piece.from, next, start, rest * wire) * rest * busy
            }
            false => 0.0,
        };
        amount.run += share / in_line * run * run;
        for (at, &(from, count)) in windows.iter().enumerate() {
            let is_in_run = from >= run_from;
            let from = start.map(|_| from / packets * wire);
            let count = count * part(piece.from, next, from, count / packets * wire);
            if count == 0.0 {
                continue;
            }
            let waiting = if at == 0 { coming.first } else { coming.later };
            let together = count.min(coming.room) * one;
            let one_by_one = count * square / packets;
            // Twice what the packets of the window wait for one another, and for the window before.
            let alone = waiting * together * count * one;
            let behind = 2.0 * count * one * turns.next(count, coming.room);
            let all = share / in_line * one_by_one.max(alone + behind);
            amount.burst += all;
            amount.run += if is_in_run { 0.0 } else { all };
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
                run: times * amount.run,
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
