//! Bounds that hold for every queue, marker and neighbour: the minimum times, over lines that carry nothing else and
//! lose nothing, and the maximum goodput of long flows. They apply to workloads without a closed form.
//!
//! At each line a packet takes its own sending time, plus the propagation. A message takes its bytes at the slowest
//! line, and as many round trips as windows that double, up to the receiver's. A token bucket passes no more than its
//! burst and its rate. A window is sent at most once in a round trip.

use crate::lines::Line;
use crate::marks::Hop;
use crate::network::Network;
use crate::sizes::mean;
use crate::slow_start::Windows;
use crate::traffic::{Demand, Message, Route, Shape, Source, Visit};

/// What the fastest form of slow start multiplies a window by in a round trip.
const MAX_GROWTH: f64 = 2.0;

/// Standard errors of the mean of a run by which a bound lies below the mean over all sizes, where sizes differ: the chance
/// that so many draws are smaller still is one in a thousand.
const ERRORS: f64 = 3.1;

/// Seconds that a packet of so many bytes takes at least. A shaper may let it pass at once after a pause.
fn packet(network: &Network, hops: &[Hop], bytes: f64) -> f64 {
    let each = hops.iter().map(|hop| {
        let line = &network.lines[hop.line];
        line.min_time(bytes) + line.delay
    });
    each.sum()
}

/// The mean delay of datagrams of these sizes, at least: of the smallest where several come, of which queues may lose the
/// larger ones.
pub(crate) fn delay(network: &Network, source: &Source, sizes: &[(f64, f64)]) -> f64 {
    let bytes = sizes.iter().map(|(size, _)| *size).fold(f64::INFINITY, f64::min);
    source.routes.iter().map(|route| route.share * packet(network, &route.there, bytes)).sum()
}

/// The least delay of a source's datagrams over any of its routes, which no percentile is below.
pub(crate) fn min_delay(network: &Network, source: &Source, sizes: &[(f64, f64)]) -> f64 {
    let bytes = sizes.iter().map(|(size, _)| *size).fold(f64::INFINITY, f64::min);
    let each = source.routes.iter().map(|route| packet(network, &route.there, bytes));
    each.fold(f64::INFINITY, f64::min)
}

/// The mean time of a visit over all routes, at least; with a last message of `size` where that is given.
pub(crate) fn visit(network: &Network, source: &Source, visit: &Visit, size: Option<f64>) -> f64 {
    let min = |route: &Route| RouteBound { network, source, route }.visit(visit, size);
    source.routes.iter().map(|route| route.share * min(route)).sum()
}

/// The least mean time of so many visits, whose sizes and numbers of objects chance draws.
pub(crate) fn visit_of_run(
    network: &Network,
    source: &Source,
    visit: &Visit,
    visits: f64,
) -> Option<f64> {
    let mut all = LowerBound::default();
    for route in &source.routes {
        let bound = RouteBound { network, source, route };
        let (mean, variance) = (bound.visit(visit, None), bound.variance(visit));
        // Two visits that differ as much as all do.
        let spread = variance.sqrt();
        let least = bound.trip().min(mean);
        all.add(route.share / 2.0, (mean - spread).max(least));
        all.add(route.share / 2.0, mean + spread);
        all.min = all.min.min(least);
    }
    all.of_run(visits)
}

/// The least mean time of visits of several sizes, as far as chance lets a run have smaller ones.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LowerBound {
    share: f64,
    first: f64,
    second: f64,
    min: f64,
}

impl Default for LowerBound {
    fn default() -> Self {
        LowerBound { share: 0.0, first: 0.0, second: 0.0, min: f64::INFINITY }
    }
}

impl LowerBound {
    /// Adds the part `share` of all visits, which takes so many seconds.
    pub(crate) fn add(&mut self, share: f64, seconds: f64) {
        self.join(&LowerBound {
            share,
            first: share * seconds,
            second: share * seconds * seconds,
            min: seconds,
        });
    }

    /// Adds other visits.
    pub(crate) fn join(&mut self, other: &LowerBound) {
        self.share += other.share;
        self.first += other.first;
        self.second += other.second;
        self.min = self.min.min(other.min);
    }

    /// The mean of a run that has so many visits for a share of 1; none of no visits.
    pub(crate) fn of_run(&self, visits: f64) -> Option<f64> {
        if self.share <= 0.0 {
            return None;
        }
        let mean = self.first / self.share;
        let variance = (self.second / self.share - mean * mean).max(0.0);
        // Of equal sizes rounding leaves some.
        let spread = if variance > 1e-9 * mean * mean { variance.sqrt() } else { 0.0 };
        let error = spread / (visits * self.share).max(1e-9).sqrt();
        Some((mean - ERRORS * error).max(self.min))
    }
}

/// The most payload that long flows get, in bits per second, in a run measured for so many seconds.
///
/// At each line that is what it lets pass, and what has passed it before measuring begins and comes to the receiver's user
/// after that: it waits at lines behind, or, while a lost packet is sent again, at the receiver. Of what follows a lost packet the
/// queue of the line itself holds as much as it has room for.
pub(crate) fn max_goodput(network: &Network, number: usize, measured: f64) -> Option<f64> {
    let source = &network.sources[number];
    let Demand::Endless { connections } = source.demand else { return None };
    let tcp = &source.tcp;
    let (payload, header) = (f64::from(tcp.mss), f64::from(tcp.header));
    let full = payload + header;
    let before = network.before[number];
    let trip =
        |route: &Route| packet(network, &route.there, full) + packet(network, &route.back, header);
    let by_line = |route: &Route, at: usize| {
        let line = &network.lines[route.there[at].line];
        let stored = route.there[at..].iter().map(|hop| network.max_stored(hop, full)).sum::<f64>();
        // Until the lost packet comes again, a round trip passes at least.
        let stored = if stored > 0.0 { stored + trip(route) / line.time(full) } else { 0.0 };
        let earlier = match before > 0.0 {
            true => stored.min(before * line.max_packets(full, before)),
            false => 0.0,
        };
        let packets = line.max_packets(full, measured) + earlier / measured;
        payload * packets * (1.0 - line.min_loss())
    };
    let each = source.routes.iter().map(|route| {
        // A window may have been sent just before.
        let windows = 1.0 / trip(route).max(f64::MIN_POSITIVE) + 1.0 / measured;
        let window = (tcp.receive_window.0 as f64).max(payload) * windows;
        let lines = (0..route.there.len()).map(|at| by_line(route, at));
        lines.fold(f64::INFINITY, f64::min).min(connections * route.share * window)
    });
    let all: f64 = each.sum();
    let together = |hop: &Hop| {
        let place = |route: &Route| route.there.iter().position(|other| other.line == hop.line);
        let each = source.routes.iter().map(|route| Some(by_line(route, place(route)?)));
        each.reduce(|one, other| Some(one?.max(other?))).flatten()
    };
    let hops = &source.routes.first()?.there;
    Some(8.0 * hops.iter().filter_map(together).fold(all, f64::min))
}

impl Network {
    /// The full packets that a flow may have waiting at a line: none where all that comes to it comes over lines that are no faster
    /// together.
    fn max_stored(&self, hop: &Hop, full: f64) -> f64 {
        let line = &self.lines[hop.line];
        let mut feeders = Vec::new();
        for source in &self.sources {
            for hops in source.routes.iter().flat_map(|route| [&route.there, &route.back]) {
                let Some(at) = hops.iter().position(|other| other.line == hop.line) else {
                    continue;
                };
                let Some(before) = at.checked_sub(1) else { return line.max_room(full) };
                feeders.push(hops[before].line);
            }
        }
        feeders.sort_unstable();
        feeders.dedup();
        let coming: f64 = feeders.iter().map(|at| 1.0 / self.lines[*at].min_time(full)).sum();
        if coming * line.time(full) > 1.0 { line.max_room(full) } else { 0.0 }
    }
}

/// The mean time of an object of so many bytes over all routes, at least: of the index of a page, or of what it names.
pub(crate) fn object(
    network: &Network,
    source: &Source,
    visit: &Visit,
    is_index: bool,
    size: f64,
) -> f64 {
    let min = |route: &Route| RouteBound { network, source, route }.object(visit, is_index, size);
    source.routes.iter().map(|route| route.share * min(route)).sum()
}

/// The least mean time of flows of one size that begin together.
pub(crate) fn file(network: &Network, source: &Source, size: f64) -> f64 {
    let message = Message::new(true, vec![(size, 1.0)], 1.0);
    let min = |route: &Route| {
        let min = RouteBound { network, source, route };
        min.trip() + min.message(&message, size)
    };
    source.routes.iter().map(|route| route.share * min(route)).sum()
}

struct RouteBound<'l> {
    network: &'l Network,
    source: &'l Source,
    route: &'l Route,
}

impl RouteBound<'_> {
    /// A round trip of packets of headers.
    fn trip(&self) -> f64 {
        let header = f64::from(self.source.tcp.header);
        packet(self.network, &self.route.there, header)
            + packet(self.network, &self.route.back, header)
    }

    fn one(&self, message: &Message) -> f64 {
        mean(&message.sizes, |size| self.message(message, size))
    }

    fn visit(&self, visit: &Visit, size: Option<f64>) -> f64 {
        let (last, before) = visit.messages.split_last().expect("a visit has a message");
        match &visit.shape {
            Shape::Exchange | Shape::Echo | Shape::File => {
                let handshake = if visit.shape == Shape::Echo { 0.0 } else { self.trip() };
                let before: f64 = before.iter().map(|message| self.one(message)).sum();
                let last = size.map_or_else(|| self.one(last), |size| self.message(last, size));
                handshake + before + last
            }
            Shape::Objects { numbers, connections } => {
                let ask = self.trip() + self.one(&before[0]);
                let index = before.get(1).map_or(0.0, |index| ask + self.one(index));
                let each = ask + self.one(last);
                let all = |number: f64| {
                    let number = number.round();
                    // Whoever has most to fetch takes no less than all do on average.
                    let in_turn = number / number.min(*connections).max(1.0) * each;
                    in_turn.max(number * mean(&last.sizes, |size| self.bytes(last, size)))
                };
                index + mean(numbers, all)
            }
            Shape::Pipeline { numbers, stays } => {
                let ask = before.first().map_or(0.0, |request| self.one(request));
                let index = before.get(1).map_or(0.0, |index| ask + self.one(index));
                let setup = if *stays { 0.0 } else { self.trip() };
                let object = mean(&last.sizes, |size| size);
                let all = |number: f64| match number.round() {
                    number if number >= 1.0 => ask + self.sent(last, number * object, 0.0),
                    _ => 0.0,
                };
                setup + index + mean(numbers, all)
            }
        }
    }

    /// How the least times of visits vary: the sum over what they ask for one after another. Of objects side by side no
    /// less varies than of their bytes.
    fn variance(&self, visit: &Visit) -> f64 {
        let varies = |message: &Message, of: &dyn Fn(f64) -> f64| {
            let mean = mean(&message.sizes, of);
            crate::sizes::mean(&message.sizes, |size| (of(size) - mean) * (of(size) - mean))
        };
        let one = |message: &Message| varies(message, &|size| self.message(message, size));
        let (last, before) = visit.messages.split_last().expect("a visit has a message");
        let of_before: f64 = before.iter().map(one).sum();
        let (Shape::Objects { numbers, .. } | Shape::Pipeline { numbers, .. }) = &visit.shape
        else {
            return of_before + one(last);
        };
        let each = one(last).max(varies(last, &|size| self.bytes(last, size)));
        let number = mean(numbers, |number| number);
        let of_number = mean(numbers, |one| (one - number) * (one - number));
        let time = self.trip() + self.one(last);
        of_before + number * each + of_number * time * time
    }

    /// An object over a connection of its own, or behind the index over the same one, whose window may have grown.
    fn object(&self, visit: &Visit, is_index: bool, size: f64) -> f64 {
        let (last, before) = visit.messages.split_last().expect("a visit has a message");
        let ask = before.first().map_or(0.0, |request| self.one(request));
        match &visit.shape {
            Shape::Pipeline { stays, .. } if is_index => {
                ask + self.message(last, size) + if *stays { 0.0 } else { self.trip() }
            }
            Shape::Pipeline { .. } => ask + self.sent(last, size, 0.0),
            _ => self.trip() + ask + self.message(last, size),
        }
    }

    fn hops(&self, message: &Message) -> (&[Hop], &[Hop]) {
        match message.is_there {
            true => (&self.route.there, &self.route.back),
            false => (&self.route.back, &self.route.there),
        }
    }

    /// From the first segment leaving until the last has come.
    fn message(&self, message: &Message, size: f64) -> f64 {
        let tcp = &self.source.tcp;
        let segments = (size / f64::from(tcp.mss)).ceil().max(1.0);
        let rounds = if message.is_late { 0.0 } else { Windows::rounds(segments, tcp, MAX_GROWTH) };
        self.sent(message, size, rounds)
    }

    /// The same where so many round trips pass before the last window leaves.
    fn sent(&self, message: &Message, size: f64, rounds: f64) -> f64 {
        let (data, answers) = self.hops(message);
        let (mss, header) = (f64::from(self.source.tcp.mss), f64::from(self.source.tcp.header));
        let trip = packet(self.network, data, mss + header) + packet(self.network, answers, header);
        let (full, last) = self.cut(size);
        let smallest = last.min(size.min(mss) + header);
        let min = |hop: &Hop| self.network.lines[hop.line].min_time(smallest);
        let rest = (self.bytes(message, size) - data.iter().map(min).fold(0.0, f64::max)).max(0.0);
        let in_bursts = data
            .iter()
            .map(|hop| self.network.lines[hop.line].min_shaped(full, mss + header, last));
        let way: f64 = data.iter().map(|hop| self.network.lines[hop.line].delay).sum();
        let shaped = way + in_bursts.fold(0.0, f64::max);
        (packet(self.network, data, smallest) + rest.max(rounds * trip)).max(shaped)
    }

    /// Full segments, and the bytes of the last packet.
    fn cut(&self, size: f64) -> (f64, f64) {
        let (mss, header) = (f64::from(self.source.tcp.mss), f64::from(self.source.tcp.header));
        let full = ((size / mss).ceil() - 1.0).max(0.0);
        (full, size - full * mss + header)
    }

    /// Seconds that all bytes of a message take at the slowest line.
    fn bytes(&self, message: &Message, size: f64) -> f64 {
        let (full, last) = self.cut(size);
        let packet = f64::from(self.source.tcp.mss + self.source.tcp.header);
        let at = |line: &Line| full * line.min_time(packet) + line.min_time(last);
        let (data, _) = self.hops(message);
        data.iter().map(|hop| at(&self.network.lines[hop.line])).fold(0.0, f64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_floor_of_equal_visits_is_their_time_and_of_others_less_what_chance_may_take() {
        let mut floor = LowerBound::default();
        floor.add(0.5, 3.0);
        floor.add(0.5, 3.0);
        assert_eq!(floor.of_run(1.0), Some(3.0));
        floor.add(1.0, 5.0);
        // Of 1000 and 1000 visits: mean 4, deviation 1.
        let found = floor.of_run(1000.0).unwrap();
        assert!((found - (4.0 - ERRORS / 2000.0_f64.sqrt())).abs() < 1e-12, "{found}");
        assert_eq!(floor.of_run(1e-3), Some(3.0), "never below the least");
        assert_eq!(LowerBound::default().of_run(9.0), None);
    }
}
