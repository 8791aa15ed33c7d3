//! The duration of visits, and their number in closed loops.

use std::collections::BTreeMap;

use shortflow_models::processor_sharing::access_limited_time;

use crate::handshake;
use crate::marks::Hop;
use crate::messages::Sending;
use crate::met::Met;
use crate::network::Network;
use crate::range::Lack;
use crate::sizes::mean;
use crate::traffic::{Demand, Message, Route, Shape, Visit};

/// So many objects that come one after another are looked at.
const MAX_IN_LINE: f64 = 16.0;

/// The greatest load of what shares a band, while waits are looked for.
const MAX_LOAD: f64 = 0.999;

/// How many times longer than alone a flow takes at a band that others share, when its own way carries one in
/// `limited` of what the line does: processor sharing, with Erlang's servers where several flows fit side by side.
/// Of its time the part `before` goes to bands before it. `own` is its source and how many of its sessions there are: one does not wait for itself.
pub(crate) fn slowdown(met: &Met, before: f64, own: Option<(usize, f64)>, limited: f64) -> f64 {
    let free = (1.0 - before).max(1.0 - MAX_LOAD);
    if met.is_filled && met.permanent == 0.0 {
        // The wait is in the queue.
        return 1.0 / free;
    }
    let servers = (limited * free).floor().max(1.0);
    let load = (met.open / free).min(MAX_LOAD);
    let waiting = access_limited_time(load, servers, 1.0, 1.0).unwrap_or(1.0 / (1.0 - load));
    let others: f64 = met
        .closed
        .iter()
        .map(|(source, number)| match own {
            Some((own, sessions)) if own == *source => number * (1.0 - 1.0 / sessions),
            _ => *number,
        })
        .sum();
    let crowd = ((1.0 + met.permanent + others) / servers).max(1.0);
    let alone = if servers > 1.0 { 1.0 } else { 1.0 / free };
    alone * waiting * crowd
}

/// The mean times of what a visit of a source consists of, over one of its routes.
pub(crate) struct Visiting<'n> {
    visit: &'n Visit,
    setup: f64,
    there: Sending<'n>,
    back: Sending<'n>,
}

/// A mean time in its parts.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Parts {
    pub(crate) handshake: f64,
    pub(crate) request: f64,
    pub(crate) reply: f64,
}

impl Parts {
    pub(crate) fn whole(&self) -> f64 {
        self.handshake + self.request + self.reply
    }
}

impl<'n> Visiting<'n> {
    pub(crate) fn new(
        network: &'n Network,
        source: usize,
        route: &'n Route,
        visit: &'n Visit,
    ) -> Result<Visiting<'n>, Lack> {
        let there = Sending::new(network, source, route, true);
        let back = Sending::new(network, source, route, false);
        let rtt = there.bare_packet() + back.bare_packet();
        let lost = [there.first_loss(), back.first_loss()];
        let setup = handshake::time(rtt, &network.sources[source].tcp, lost)?;
        // A lost SYN times out at the client alone, a lost SYN-ACK at both ends.
        let there = there.after_handshakes(1.0 - (1.0 - lost[0]) * (1.0 - lost[1]));
        let closes = matches!(visit.shape, Shape::Exchange | Shape::Objects { .. });
        let back = back.after_handshakes(lost[1]).closing(closes);
        Ok(Visiting { visit, setup, there, back })
    }

    fn sending(&self, message: &Message) -> &Sending<'n> {
        if message.is_there { &self.there } else { &self.back }
    }

    /// The mean time of a message of this size.
    fn sized(&self, message: &Message, size: f64, siblings: f64) -> Result<f64, Lack> {
        let sending = self.sending(message);
        let start = if message.is_late { f64::MAX } else { 0.0 };
        sending.time(size, start, sending.initial_window(), siblings)
    }

    fn message(&self, message: &Message, siblings: f64) -> Result<f64, Lack> {
        let mut sum = 0.0;
        for &(size, share) in &message.sizes {
            sum += share * self.sized(message, size, siblings)?;
        }
        Ok(sum)
    }

    /// The time of a visit whose last message has this size.
    pub(crate) fn of_size(&self, size: f64) -> Result<Parts, Lack> {
        let (last, before) = self.visit.messages.split_last().expect("a visit has a message");
        let request = match before {
            [request] => self.message(request, 1.0)?,
            _ => 0.0,
        };
        let handshake = if self.visit.shape == Shape::Echo { 0.0 } else { self.setup };
        Ok(Parts { handshake, request, reply: self.sized(last, size, 1.0)? })
    }

    /// The mean time of all visits.
    pub(crate) fn mean(&self) -> Result<f64, Lack> {
        let messages = &self.visit.messages;
        match &self.visit.shape {
            Shape::Exchange | Shape::Echo | Shape::File => {
                let last = messages.last().expect("a visit has a message");
                let mut sum = 0.0;
                for &(size, share) in &last.sizes {
                    sum += share * self.of_size(size)?.whole();
                }
                Ok(sum)
            }
            Shape::Objects { numbers, connections } => {
                let (request, object) = (&messages[0], &messages[messages.len() - 1]);
                let asking = self.setup + self.message(request, 1.0)?;
                let index = match &messages[1..messages.len() - 1] {
                    [index] => asking + self.message(index, 1.0)?,
                    _ => 0.0,
                };
                let mut known = BTreeMap::new();
                let mut objects = 0.0;
                for &(number, share) in numbers {
                    for (rounds, side_by_side) in rounds(number, *connections) {
                        let each = match known.get(&(side_by_side as u64)) {
                            Some(each) => *each,
                            None => {
                                let each = asking + self.message(object, side_by_side)?;
                                known.insert(side_by_side as u64, each);
                                each
                            }
                        };
                        objects += share * rounds * each;
                    }
                }
                Ok(index + objects)
            }
            Shape::Pipeline { numbers, stays } => self.pipeline(numbers, *stays),
        }
    }

    /// The mean time of an index of this size.
    pub(crate) fn index(&self, size: f64) -> Result<f64, Lack> {
        let messages = &self.visit.messages;
        let setup = match self.visit.shape {
            Shape::Pipeline { stays: true, .. } => 0.0,
            _ => self.setup,
        };
        let ask = self.message(&messages[0], 1.0)?;
        Ok(setup + ask + self.sized(&messages[messages.len() - 1], size, 1.0)?)
    }

    /// The mean time of an object of this size beside the others of its page: side by side with them, or one after another.
    pub(crate) fn object(&self, size: f64) -> Result<f64, Lack> {
        let messages = &self.visit.messages;
        let object = &messages[messages.len() - 1];
        let ask = self.message(&messages[0], 1.0)?;
        let (mut count, mut sum) = (0.0, 0.0);
        match &self.visit.shape {
            Shape::Objects { numbers, connections } => {
                for &(number, share) in numbers {
                    for (rounds, side_by_side) in rounds(number, *connections) {
                        let each = self.sized(object, size, side_by_side)?;
                        count += share * rounds * side_by_side;
                        sum += share * rounds * side_by_side * (self.setup + ask + each);
                    }
                }
            }
            Shape::Pipeline { numbers, stays } => {
                let (window, start) = self.after_index(*stays);
                // Those before it have sizes of their own.
                let others = mean(&object.sizes, |size| size);
                for &(number, share) in numbers.iter().filter(|one| one.0.round() >= 1.0) {
                    let many = number.round();
                    let looked_at = many.min(MAX_IN_LINE);
                    let mut times = 0.0;
                    for at in 0..looked_at as u32 {
                        let place = (f64::from(at) + 0.5) / looked_at * many + 0.5;
                        let bytes = (place - 1.0) * others + size;
                        times += ask + self.back.time(bytes, start, window, 1.0)?;
                    }
                    count += share * many;
                    sum += share * many * times / looked_at;
                }
            }
            Shape::Exchange | Shape::Echo | Shape::File => {}
        }
        Ok(sum / count)
    }

    /// The window after the index of a page, and what the connection has sent by then.
    fn after_index(&self, stays: bool) -> (f64, f64) {
        let messages = &self.visit.messages;
        let (mut window, mut start) = (self.back.initial_window(), 0.0);
        if let [index] = &messages[1..messages.len() - 1] {
            let bytes = mean(&index.sizes, |size| size);
            window = self.back.window_after(window, bytes);
            start = bytes;
        }
        (window, if stays { f64::MAX } else { start })
    }

    /// An index, then all objects as one message over the same connection, whose window has grown.
    fn pipeline(&self, numbers: &[(f64, f64)], stays: bool) -> Result<f64, Lack> {
        let messages = &self.visit.messages;
        let (request, object) = (&messages[0], &messages[messages.len() - 1]);
        let ask = self.message(request, 1.0)?;
        let setup = if stays { 0.0 } else { self.setup };
        let mut sum = setup;
        if let [index] = &messages[1..messages.len() - 1] {
            sum += ask + self.message(index, 1.0)?;
        }
        let (window, start) = self.after_index(stays);
        let each = mean(&object.sizes, |size| size);
        for &(number, share) in numbers {
            if number.round() >= 1.0 {
                let bytes = number.round() * each;
                sum += share * (ask + self.back.time(bytes, start, window, 1.0)?);
            }
        }
        Ok(sum)
    }
}

/// How often so many objects go side by side, and how many at a time: as many as there are connections, then the rest. Objects
/// of one page take about the same time, so that those that begin together end together.
fn rounds(number: f64, connections: f64) -> impl Iterator<Item = (f64, f64)> {
    let (number, connections) = (number.round(), connections.max(1.0));
    let full = (number / connections).floor();
    let rest = number - full * connections;
    let last = if rest > 0.0 { 1.0 } else { 0.0 };
    [(full, connections), (last, rest)].into_iter().filter(|(rounds, _)| *rounds > 0.0)
}

/// Routes over which packets meet the same, each once with the share of all of them.
pub(crate) fn distinct<'n>(network: &Network, routes: &'n [Route]) -> Vec<(&'n Route, f64)> {
    let mut known: BTreeMap<Vec<u64>, (&Route, f64)> = BTreeMap::new();
    for route in routes {
        let mut seen = Vec::new();
        for hops in [&route.there, &route.back] {
            hops.iter().for_each(|hop| seen_at(network, hop, &mut seen));
            seen.push(u64::MAX);
        }
        known.entry(seen).or_insert((route, 0.0)).1 += route.share;
    }
    known.into_values().collect()
}

/// What packets meet at a line, to ten digits: enough to tell lines apart that differ.
fn seen_at(network: &Network, hop: &Hop, seen: &mut Vec<u64>) {
    let line = &network.lines[hop.line];
    let mut see = |value: f64| seen.push(value.to_bits() >> 16);
    see(line.rate);
    see(line.delay);
    line.framing().for_each(&mut see);
    see(hop.pieces.len() as f64);
    for met in &network.met[hop.line] {
        see(met.wait);
        see(met.before);
        see(met.open);
        see(met.permanent);
        met.loss.iter().for_each(|loss| see(*loss));
        met.closed.iter().for_each(|(_, number)| see(*number));
    }
    for piece in &hop.pieces {
        see(piece.from);
        piece.places.iter().for_each(|place| see((place.band * 64 + place.level) as f64));
    }
}

/// The mean time of a visit over all routes of a source.
pub(crate) fn mean_time(network: &Network, source: usize, visit: &Visit) -> Result<f64, Lack> {
    let mut sum = 0.0;
    for (route, share) in distinct(network, &network.sources[source].routes) {
        sum += share * Visiting::new(network, source, route, visit)?.mean()?;
    }
    Ok(sum)
}

/// Brings the visits of closed loops up to date; by which part they changed at most.
pub(crate) fn renew(network: &mut Network) -> f64 {
    let mut changed = 0.0f64;
    for source in 0..network.sources.len() {
        let known = &network.sources[source];
        let Demand::Closed { sessions, pause, visit } = &known.demand else { continue };
        if known.lacks.is_some() {
            continue;
        }
        // What lies outside a range may come back into it; what does not is told at the end.
        let Ok(time) = mean_time(network, source, visit) else { continue };
        let rate = sessions / (pause + time);
        let old = network.visits[source];
        changed = changed.max((rate / old - 1.0).abs());
        network.visits[source] = f64::midpoint(rate, old);
    }
    changed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_go_in_full_rounds_and_the_rest_in_one_more() {
        let rounds = |number, connections| rounds(number, connections).collect::<Vec<_>>();
        assert_eq!(rounds(9.0, 4.0), [(2.0, 4.0), (1.0, 1.0)]);
        assert_eq!(rounds(8.0, 4.0), [(2.0, 4.0)]);
        assert_eq!(rounds(3.0, 4.0), [(1.0, 3.0)]);
        assert_eq!(rounds(0.0, 4.0), []);
    }
}
