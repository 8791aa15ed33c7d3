//! Checks whether long flows fill their line all the time, as the models of its queue assume.
//!
//! The limits were set with 320 simulations in view: 1 to 16 flows of Reno and CUBIC at 2 and 20 Mbit/s, round trips
//! of 10 to 300 ms, plain buffers of 10 to 200 packets, RED and FQ-CoDel. In the 258 within the limits, the predicted
//! goodput is up to 14 % too high, and up to 21 % for a single CUBIC flow at RED; in the others up to 60 %.

use shortflow_models::Range;

use crate::band::Order;
use crate::bundles::{Bundle, RENO_KEEPS};
use crate::lines::Line;
use crate::long_flows::Beside;
use crate::network::Network;
use crate::range::Lack;
use crate::slow_start::CUBIC;
use crate::traffic::{Demand, Message, Source};
use crate::within::value;

/// What a cut of the windows must leave in flight at least, as a part of what the line and its way hold.
const MIN_IN_FLIGHT: f64 = 0.65;
const MIN_OF_CUBIC: f64 = 0.75;

/// The same where each flow has a queue of its own; and where windows of others come and go beside Reno's there, which takes
/// long to get back what they leave, or at RED, which then drops more.
const MIN_OF_FAIR: f64 = 0.78;
const MIN_BESIDE_WINDOWS: f64 = 0.95;
const NEGLIGIBLE_SHARE: f64 = 0.02;

/// The packets that a flow has in flight below which it is as often at a timeout as not, and flows fare differently.
const MIN_WINDOW: f64 = 4.0;

/// The packets that a flow has in flight above which it takes minutes to get back what a cut took.
pub(crate) const MAX_WINDOW: f64 = 2000.0;

/// The round trip in intervals of CoDel beyond which it drops before a window has answered the drop before.
pub(crate) const MAX_TRIP: f64 = 2.0;

/// Flows at a band.
pub(crate) struct Saturation<'f> {
    pub(crate) line: &'f Line,
    pub(crate) band: usize,
    pub(crate) bundles: &'f [&'f Bundle],
    pub(crate) beside: Beside,
    /// Bytes of a packet, and packets per second of the band.
    pub(crate) packet: f64,
    pub(crate) capacity: f64,
    /// Seconds of a round trip without the wait there, and what flows keep of their windows after a loss.
    pub(crate) rtt: f64,
    pub(crate) kept: f64,
}

impl Saturation<'_> {
    /// Refuses flows that leave the line idle after a cut, and such as cut differently at one buffer.
    pub(crate) fn check(&self) -> Result<(), Lack> {
        let queue = &self.line.bands()[self.band];
        let is_plain = queue.order == Order::Fifo && queue.curves.is_empty();
        if is_plain {
            let min = self.bundles.iter().map(|bundle| bundle.kept).fold(1.0, f64::min);
            if min < self.kept * (1.0 - 1e-9) {
                let why =
                    "long flows that keep different fractions of their windows, at a plain buffer";
                return Err(Lack::new(why.to_owned()));
            }
        }
        let (flows, on_the_way) = (self.flows(), self.rtt * self.capacity);
        Range::from_to(0.0, MAX_WINDOW)
            .check("the packets that each long flow has in flight", on_the_way / flows.max(1.0))?;
        let others = self.beside.in_windows && self.beside.busy > NEGLIGIBLE_SHARE;
        let (left, min) = match queue.order {
            Order::Fair => {
                let interval = queue.turns.map_or(f64::INFINITY, |turns| turns.interval);
                Range::from_to(0.0, MAX_TRIP)
                    .check("the round trip, in intervals of CoDel,", self.rtt / interval)?;
                // One flow cuts its window at a time.
                let waits = queue.target().max(1.0 / self.capacity);
                let left = (1.0 - (1.0 - self.kept) / flows.max(1.0)) * (1.0 + waits / self.rtt);
                let slow = others && self.kept <= RENO_KEEPS;
                (left, if slow { MIN_BESIDE_WINDOWS } else { MIN_OF_FAIR })
            }
            _ => {
                let min = match self.kept > RENO_KEEPS {
                    _ if others && !is_plain => MIN_BESIDE_WINDOWS,
                    true => MIN_OF_CUBIC,
                    false => MIN_IN_FLIGHT,
                };
                (self.kept * (1.0 + self.held() / on_the_way), min)
            }
        };
        let what = "the packets in flight after a cut of the windows, relative to those that fill \
            the line,";
        Range::at_least(min).check(what, left)?;
        Ok(())
    }

    /// Whether windows take longer to grow from what a cut leaves to a full buffer than flows send before a run is measured, or
    /// than it is measured: its mean queue then lies anywhere between both.
    pub(crate) fn is_young(&self, network: &Network) -> bool {
        let room = self.line.bands()[self.band].room(self.packet);
        let window = (self.rtt * self.capacity + room) / self.flows().max(1.0);
        let cycle = regrowth(self.kept, window, self.rtt + room / self.capacity);
        let before = self.bundles.iter().map(|bundle| network.before[bundle.source]);
        before.fold(network.measured, f64::min) < cycle
    }

    fn flows(&self) -> f64 {
        self.bundles.iter().map(|bundle| bundle.connections).sum()
    }

    /// The packets that the queue holds when windows are cut: its room, or those midway on the curve of its RED.
    fn held(&self) -> f64 {
        let queue = &self.line.bands()[self.band];
        let curves = queue.curves_in(self.packet);
        let middle = curves.iter().map(|one| f64::midpoint(one.min_threshold, one.max_threshold));
        middle.fold(queue.room(self.packet), f64::min)
    }

    /// Refuses many flows of CUBIC at RED: with so few packets in flight it sends more than Reno at the same loss.
    pub(crate) fn check_settled(&self, queue: f64) -> Result<(), Lack> {
        let is_red = !self.line.bands()[self.band].curves.is_empty();
        if is_red && self.kept > RENO_KEEPS && self.is_crowded(queue) {
            let why = "so many CUBIC flows at RED that each has fewer than four packets in flight";
            return Err(Lack::new(why.to_owned()));
        }
        Ok(())
    }

    /// Whether the queue is empty for a part of the time: cuts take more from it than it holds on average.
    pub(crate) fn is_empty_at_times(&self, queue: f64) -> bool {
        let cut = (1.0 - self.kept) * (self.rtt * self.capacity + queue) / self.flows().max(1.0);
        queue < cut / 2.0
    }

    /// Whether flows have so few packets in flight that they fare differently, and timeouts decide what is lost.
    pub(crate) fn is_crowded(&self, queue: f64) -> bool {
        self.rtt * self.capacity + queue < MIN_WINDOW * self.flows()
    }
}

/// The seconds in which a window grows back what a cut takes: Reno's by a packet in a round trip, CUBIC's at least as RFC 9438
/// §4.2 says.
fn regrowth(kept: f64, window: f64, trip: f64) -> f64 {
    let lost = (1.0 - kept) * window;
    let by_rounds = lost * trip;
    match kept > RENO_KEEPS {
        true => by_rounds.min(libm::cbrt(lost / CUBIC)),
        false => by_rounds,
    }
}

/// The part of the measured time in which a full buffer drains, up to which goodput is close to its mean. Of 30 settings (two
/// lines in turn, 100 to 1000 packets), it was up to 7 % off at 0.041, 20 % at 0.068, and 57 % at 0.14.
const MAX_DRAIN: f64 = 0.05;

/// The messages of others that may come while a long flow grows back what a cut took. With one burst in a hundred that finds
/// the buffer full, there is a further cut in each such time.
const MAX_MEANWHILE: f64 = 100.0;

/// The same of messages that each cost a long flow a part of its window, where each flow has a queue of its own. Of 29 settings
/// (1 and 4 flows, 10 and 100 Mbit/s, round trips of 20 and 100 ms, messages of 100 KB and 1 MB at loads of 0.1 and 0.4), goodput
/// was predicted up to 25 % too high below this limit, and up to 75 % above it.
const MAX_CUTS: f64 = 0.3;

impl Network {
    /// Refuses the rate of long flows among so many windows of others that losses come before the flows have grown back: they
    /// then get less than what the others leave.
    pub(crate) fn check_regrowth(&self, source: usize) -> Result<(), Lack> {
        for bundle in self.bundles.iter().filter(|bundle| bundle.source == source) {
            let at = bundle.bottleneck;
            let hop = self.hops(bundle).iter().find(|hop| hop.line == at);
            let Some((band, _)) = hop.map(|hop| self.last(hop)) else { continue };
            if !self.met[at][band].is_filled {
                continue;
            }
            let trip = self.round_trip(bundle);
            let window = bundle.rate / bundle.connections * trip;
            let cycle = regrowth(bundle.kept, window, trip);
            let within = |what, max, visits: f64| {
                Range::from_to(0.0, max)
                    .check(what, cycle * visits)
                    .map_err(|error| Lack::new(format!("at {} {error}", self.lines[at].name)))
            };
            let what = "the messages of other flows while a long flow grows back after a loss";
            within(what, MAX_MEANWHILE, self.windows_per_second(at, band))?;
            if let Some(shortest) = self.shortest_cut(at, band, trip) {
                let what = "the messages of other flows that share the line for longer than CoDel's interval, while a long flow \
                    grows back after a loss";
                within(what, MAX_CUTS, self.long_messages_per_second(at, band, shortest))?;
            }
        }
        Ok(())
    }

    /// Whether slow start of a source's long flows overflows a plain buffer that they do not fill otherwise, and their windows take
    /// longer to grow back than they send before a run is measured.
    pub(crate) fn is_slow_to_recover(&self, source: usize) -> bool {
        self.bundles.iter().filter(|bundle| bundle.source == source).any(|bundle| {
            let trip = self.round_trip(bundle);
            let window = bundle.rate / bundle.connections * trip;
            let overflows = self.hops(bundle).iter().any(|hop| {
                let (band, _) = self.last(hop);
                let queue = &self.lines[hop.line].bands()[band];
                let is_plain = queue.order == Order::Fifo && queue.curves.is_empty();
                // Half of the last window comes twice as fast as the line sends it.
                let burst = bundle.connections * window / 2.0;
                let is_filled = self.met[hop.line][band].is_filled;
                is_plain && !is_filled && burst > queue.room(bundle.packet)
            });
            overflows && regrowth(bundle.kept, window, trip) > self.before[source]
        })
    }

    /// Whether a full buffer on the way of a source's long flows takes so large a part of the measured time to drain that it
    /// shows what single losses hold up at the receiver.
    pub(crate) fn is_measured_briefly(&self, source: usize) -> bool {
        self.bundles.iter().filter(|bundle| bundle.source == source).any(|bundle| {
            let line = &self.lines[bundle.bottleneck];
            let (band, _) = self.last(self.hop(bundle, bundle.bottleneck));
            let is_full = self.met[bundle.bottleneck][band].is_least;
            let room = line.bands()[band].room(bundle.packet);
            is_full && room * line.time(bundle.packet) > MAX_DRAIN * self.measured
        })
    }

    /// The time that a message takes a line alone, from which on CoDel cuts the windows of long flows beside it: they share the
    /// line with it for longer than its interval, and what they have too much in flight meanwhile waits for longer than its
    /// target. `None` if it waits for less, or without CoDel.
    fn shortest_cut(&self, at: usize, band: usize, trip: f64) -> Option<f64> {
        let turns = self.lines[at].bands()[band].turns?;
        let here = self.bundles.iter().filter(|bundle| bundle.bottleneck == at);
        let flows: f64 = here.map(|bundle| bundle.connections).sum();
        (trip / flows > turns.target).then(|| turns.interval / (flows + 1.0))
    }

    /// The visits a second whose windows pass a line before a band or in it, of sources that take more than a negligible share.
    fn windows_per_second(&self, at: usize, band: usize) -> f64 {
        (0..self.sources.len()).map(|number| self.visits_there(number, at, band)).sum()
    }

    /// The messages a second of these visits that take the line, alone, longer than this.
    fn long_messages_per_second(&self, at: usize, band: usize, shortest: f64) -> f64 {
        let of_source = |(number, source): (usize, &Source)| {
            let (Demand::Open { visit, .. } | Demand::Closed { visit, .. }) = &source.demand else {
                return 0.0;
            };
            let passes = |message: &&Message| {
                let mut ways = source.routes.iter().map(|route| route.way(message.is_there));
                ways.any(|hops| hops.iter().any(|hop| hop.line == at))
            };
            let long = |message: &Message| {
                let time = |size: f64| self.lines[at].time(size * message.in_line);
                let long = message.sizes.iter().filter(|(size, _)| time(*size) > shortest);
                message.count * long.map(|(_, part)| part).sum::<f64>()
            };
            let messages: f64 = visit.messages.iter().filter(passes).map(long).sum();
            messages * self.visits_there(number, at, band)
        };
        self.sources.iter().enumerate().map(of_source).sum()
    }

    /// The visits a second of a source whose windows pass a line before a band or in it; none if it takes a negligible share.
    fn visits_there(&self, number: usize, at: usize, band: usize) -> f64 {
        let entries = self.loads.by_line[at].iter();
        let own = entries.filter(|one| one.is_tcp && one.band <= band && one.source == number);
        let busy: f64 = own.map(|one| value(one.share, &self.within) * one.busy).sum();
        let is_visit = !matches!(self.sources[number].demand, Demand::Endless { .. });
        let visits = self.visits[number];
        if is_visit && visits * busy > NEGLIGIBLE_SHARE { visits } else { 0.0 }
    }
}
