//! The load that each visit or packet of a source puts on the bands of the lines that it passes.

use std::collections::BTreeMap;

use shortflow_tcp::{Algorithm, Config};

use crate::lines::Line;
use crate::marks::{Hop, Place, Protected, Share};
use crate::precedences;
use crate::traffic::{Ages, Demand, Message, Route, Source, Visit};

/// Packets of a connection that open, acknowledge what was opened, or close, each way.
const BARE_PACKETS: f64 = 2.5;

/// Windows of a message that are looked at one by one: more are alike.
const MAX_WINDOWS: usize = 64;

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
    pub(crate) fn new(lines: &[Line], sources: &[Source]) -> Loads {
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

/// The windows of a message that is alone on its way: from which segment on, and how many. A round trip takes so many seconds,
/// and a full packet so many where it is slowest.
pub(crate) fn windows(segments: f64, tcp: &Config, trip: f64, slowest: f64) -> Vec<(f64, f64)> {
    let mut growing = Growing::new(tcp, f64::from(tcp.initial_window), trip);
    let (mut sent, mut found) = (0.0, Vec::new());
    while sent < segments && found.len() < MAX_WINDOWS {
        let now = growing.window().min(segments - sent);
        found.push((sent, now));
        sent += now;
        growing.pass(trip.max(growing.window() * slowest), slowest);
    }
    found
}

/// A window that grows from one round to the next, while nothing is lost.
#[derive(Debug, Clone)]
pub(crate) struct Growing {
    window: f64,
    /// By what slow start multiplies it, and what the receiver takes.
    growth: f64,
    max: f64,
    /// What a round trip may take longer than the shortest before HyStart ends slow start, where a sender has that; the shortest.
    patience: Option<f64>,
    shortest: f64,
    /// The segments that an acknowledgement covers while the window grows.
    answered: f64,
    /// Seconds since slow start ended, once it has.
    since: Option<f64>,
}

impl Growing {
    /// From this window on, over a way that takes so many seconds there and back without waits.
    pub(crate) fn new(tcp: &Config, window: f64, shortest: f64) -> Growing {
        let max = (tcp.receive_window.0 as f64 / f64::from(tcp.mss)).max(1.0);
        let has_hystart = tcp.hystart && tcp.congestion == Algorithm::Cubic;
        Growing {
            window: window.min(max),
            growth: slow_start_growth(tcp),
            max,
            patience: has_hystart.then(|| (shortest / 8.0).clamp(MIN_DELAY, MAX_DELAY)),
            shortest,
            answered: match tcp.right_sizing || tcp.quick_acks > 0 {
                true => 1.0,
                false => acknowledged_segments(tcp),
            },
            since: None,
        }
    }

    pub(crate) fn window(&self) -> f64 {
        self.window
    }

    /// Whether it is as large as the receiver lets it be.
    pub(crate) fn is_full(&self) -> bool {
        self.window >= self.max
    }

    /// A round passes that took so many seconds until the first packet of the next, whose packets leave the slowest line
    /// `spacing` seconds after one another. By HyStart (Ha and Rhee 2011) slow start ends in it when its acknowledgements come
    /// in a long train, and with the eighth acknowledgement of the next when its first packets are late; from then on CUBIC
    /// grows from that window on (RFC 9438 §4.2), or as Reno does where that is faster (§4.3).
    pub(crate) fn pass(&mut self, seconds: f64, spacing: f64) {
        let train = self.train(spacing);
        let next = match &mut self.since {
            Some(since) => {
                let cubed = |at: f64| CUBIC * at * at * at;
                let more = cubed(*since + seconds) - cubed(*since);
                *since += seconds;
                self.window + more.max(RENO_FRIENDLY)
            }
            None => match train {
                Some(segments) => self.window + (self.growth - 1.0) * segments,
                None => self.window * self.growth,
            },
        };
        let is_late = self.patience.is_some_and(|patience| seconds > self.shortest + patience);
        if self.since.is_none() && (train.is_some() || is_late && next >= MIN_WINDOW) {
            self.since = Some(0.0);
        }
        self.window = next.min(self.max);
    }

    /// The segments of this round that are acknowledged when HyStart finds a train as long as half of the shortest round trip,
    /// if it does: the path is full (Ha and Rhee 2011, §4.1). A long gap between acknowledgements ends a train.
    fn train(&self, spacing: f64) -> Option<f64> {
        self.patience?;
        let segments = (self.shortest + TRAIN_ALLOWANCE) / 2.0 / spacing;
        let window = self.window + (self.growth - 1.0) * segments;
        let is_train = spacing * self.answered <= TRAIN_GAP && segments < self.window;
        (is_train && window >= MIN_WINDOW).then_some(segments)
    }
}

/// HyStart's bounds of the delay that counts, in seconds, and the window below which slow start goes on.
const MIN_DELAY: f64 = 0.004;
const MAX_DELAY: f64 = 0.016;
const MIN_WINDOW: f64 = 16.0;

/// What its train of acknowledgements may be longer, and the gap in seconds that ends one, as Linux has them.
const TRAIN_ALLOWANCE: f64 = 0.001;
const TRAIN_GAP: f64 = 0.002;

/// CUBIC's C in segments per cubic second, and what it grows at least in a round (RFC 9438 §4.3, §5).
pub(crate) const CUBIC: f64 = 0.4;
const RENO_FRIENDLY: f64 = 0.53;

/// By what slow start multiplies a window in a round.
pub(crate) fn slow_start_growth(tcp: &Config) -> f64 {
    if tcp.quick_acks > 0 { 2.0 } else { 1.0 + 1.0 / acknowledged_segments(tcp) }
}

/// The windows of slow start.
pub(crate) struct Windows;

impl Windows {
    /// How many round trips pass before the last window of so many segments leaves, when each is `growth` times the one before,
    /// up to what the receiver takes.
    pub(crate) fn rounds(segments: f64, tcp: &Config, growth: f64) -> f64 {
        let max = Windows::max_window(tcp);
        let mut window = f64::from(tcp.initial_window).clamp(1.0, max);
        let (mut sent, mut rounds) = (window, 0.0);
        while sent < segments && window < max {
            window = (window * growth).min(max);
            sent += window;
            rounds += 1.0;
        }
        rounds + ((segments - sent) / max).ceil().max(0.0)
    }

    /// The segments that a receiver takes at a time.
    pub(crate) fn max_window(tcp: &Config) -> f64 {
        (tcp.receive_window.0 as f64 / f64::from(tcp.mss)).ceil().max(1.0)
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
        let answers = if message.is_there { &route.back } else { &route.there };
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
        let here = part(piece.from, next, start, wire);
        if here == 0.0 {
            continue;
        }
        amount.packets += share * here * packets;
        amount.busy += share * here * busy;
        amount.square += share * here * square;
        let one = busy / packets;
        let mut turns = Turns::new(one, coming.trip.filter(|_| hop.pieces.len() == 1));
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

/// What a meter finds of the packets that it sees: the shares within its profile of those that it protects first and of
/// the others, and the share of these within its peak rate.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Within {
    pub(crate) first: f64,
    pub(crate) rest: f64,
    pub(crate) peak: f64,
    /// How many times the rate of its profile comes.
    pub(crate) times: f64,
}

impl Within {
    /// All of them.
    pub(crate) const ALL: Within = Within { first: 1.0, rest: 1.0, peak: 1.0, times: 1.0 };
}

/// The share of packets that a share stands for, when meters find these shares within their profiles.
pub(crate) fn value(share: Share, within: &[Within]) -> f64 {
    let of = |meter: usize, who| match who {
        Protected::First => within[meter].first,
        Protected::Rest => within[meter].rest,
    };
    match share {
        Share::All => 1.0,
        Share::Within(meter, who) => of(meter, who),
        Share::Beyond(meter, who) => 1.0 - of(meter, who),
        Share::Between(meter) => within[meter].peak - within[meter].rest,
        Share::Above(meter) => 1.0 - within[meter].peak,
        Share::Precedence(meter, precedence) => precedences::share(precedence, within[meter].times),
        Share::Part(part) => part,
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

#[cfg(test)]
mod tests {
    use shortflow_tcp::Era;

    use super::*;

    /// At 100 ms a train is long with 50.5 ms: with packets 1 ms after one another, of a window of 80 with the fifty-first segment.
    #[test]
    fn a_long_train_of_acknowledgements_ends_slow_start_within_its_round() {
        let tcp = Era::LinuxToday.config();
        let mut growing = Growing::new(&tcp, 80.0, 0.1);
        growing.pass(0.1, 0.001);
        assert_eq!(growing.since, Some(0.0));
        assert!((growing.window() - (80.0 + 50.5 * (growing.growth - 1.0))).abs() < 1e-9);
        let before = growing.window();
        growing.pass(0.1, 0.001);
        assert!(growing.window() < before + 1.0, "{}", growing.window());
    }

    #[test]
    fn short_trains_and_long_gaps_leave_slow_start_as_it_is() {
        let tcp = Era::LinuxToday.config();
        for (window, spacing) in [(40.0, 0.001), (80.0, 0.0021)] {
            let mut growing = Growing::new(&tcp, window, 0.1);
            growing.pass(0.1, spacing);
            assert_eq!(growing.since, None);
            assert_eq!(growing.window(), window * growing.growth);
        }
    }
}
