//! Profiles at source hosts: token buckets that delay packets or pass them.
//!
//! The missing tokens of a bucket of rate r and depth B are the work of a queue that serves r bytes a second, and a
//! packet is delayed while that exceeds B (Le Boudec & Thiran 2001, §1.2.2 and §1.5.1). With M/G/1's mean work D, in
//! seconds, and its exponential tail, at a load ρ packets are delayed by D·exp(−ρ·(B/r)/D) on average. If that is a
//! small part of the whole time, the profile affects only messages larger than a bucket; otherwise there is no closed
//! form. A host that sends long flows empties its bucket for good: it is a line of the rate r.

use shortflow_models::Range;

use crate::band::FULL;
use crate::lower_bound;
use crate::marks::Hop;
use crate::messages::Sending;
use crate::network::Network;
use crate::profile::{Profile, Taken};
use crate::range::Lack;
use crate::sizes::mean;
use crate::traffic::{Demand, Message, Route, Shape, Source, Visit};
use crate::unknown::{NEGLIGIBLE_SHARE, Unknown};
use crate::within::value;

/// How long packets may be held up, as a part of what their transfer or they take at least.
const MAX_HELD_UP: f64 = 0.05;

/// The share of a source host's line that may be busy without its classes mattering.
const MAX_OF_LINE: f64 = 0.1;

/// How many times the window of the last mark long flows must have in flight to have that mark.
const BEYOND_WINDOW: f64 = 2.0;

/// Bytes a second that come to a profile, and the squares of those that come at once.
#[derive(Debug, Clone, Copy, Default)]
struct Offered {
    rate: f64,
    squares: f64,
}

impl Network {
    /// Leaves out what profiles at source hosts hold up for so long that it matters.
    pub(crate) fn leave_out_beyond_profiles(&mut self) {
        for at in 0..self.lines.len() {
            self.mark_beyond_overload(at);
            let found =
                self.lines[at].profiles.iter().find_map(|profile| self.held_up(at, profile));
            let is_busy = !self.lines[at].profiles.is_empty() && self.utilisation(at) > MAX_OF_LINE;
            let busy = || format!("a source host with a busy line at {}", self.lines[at].name);
            if let Some(why) = found.or_else(|| is_busy.then(busy)) {
                self.met[at].iter_mut().for_each(|met| met.lacks = Some(why.clone()));
                let passing = (0..self.sources.len()).filter(|one| self.sources[*one].passes(at));
                passing.collect::<Vec<_>>().into_iter().for_each(|one| self.mark_behind(at, one));
            }
            for one in 0..self.sources.len() {
                if !self.lines[at].profiles.is_empty() && self.is_held_up(at, one) {
                    self.mark_behind(at, one);
                }
            }
        }
        self.leave_out_small_windows();
    }

    /// Marks the lines to which a source's packets come from a profile as unknown, where others send, too: the profile changes when
    /// they come.
    fn mark_behind(&mut self, at: usize, source: usize) {
        let why = format!("packets that the profile at {} delays", self.lines[at].name);
        let routes = self.sources[source].routes.iter();
        let mut behind = Vec::new();
        for hops in routes.flat_map(|route| [&route.there, &route.back]) {
            let from = hops.iter().position(|hop| hop.line == at).unwrap_or(hops.len());
            for hop in &hops[from..] {
                let bands = hop.pieces.iter().flat_map(|piece| &piece.places);
                behind.push((hop.line, bands.map(|place| place.band).min().unwrap_or(0)));
            }
        }
        for (line, from) in behind {
            let mut others = self.sources.iter().enumerate().filter(|(other, _)| *other != source);
            let is_shared = others.any(|(_, other)| other.passes(line));
            if is_shared && self.max_share(source, line) > NEGLIGIBLE_SHARE {
                let known = self.unknown[line].as_ref().is_some_and(|known| known.from <= from);
                if !known {
                    self.unknown[line] = Some(Unknown { why: why.clone(), from });
                }
            }
        }
    }

    /// Whether messages of a source wait for the tokens of a profile so long that they come to the next line otherwise than
    /// without it, or than is known.
    fn is_held_up(&self, at: usize, number: usize) -> bool {
        let source = &self.sources[number];
        let (Demand::Open { visit, .. } | Demand::Closed { visit, .. }) = &source.demand else {
            return false;
        };
        let of_message = |route: &Route, message: &Message| {
            let hops = route.way(message.is_there);
            let sending = || Sending::new(self, number, route, message.is_there);
            let held = |sending: &Sending<'_>, size: f64| {
                sending.held_up(size * message.in_line).is_none_or(|part| part > MAX_HELD_UP)
            };
            hops.iter().any(|hop| hop.line == at) && {
                let sending = sending();
                message.sizes.iter().any(|(size, _)| held(&sending, *size))
            }
        };
        visit.shape != Shape::Echo
            && source
                .routes
                .iter()
                .any(|route| visit.messages.iter().any(|message| of_message(route, message)))
    }

    /// Marks the lines behind a profile as unknown to which more comes than it lets pass.
    fn mark_beyond_overload(&mut self, at: usize) {
        let load = |profile: &Profile| self.offered_to(at, profile, None).rate / profile.rate;
        let loads = self.lines[at].profiles.iter().map(load);
        let range = Range::from_to_below(0.0, 1.0);
        let error =
            loads.filter_map(|load| range.check("the load of the profile", load).err()).next();
        let Some(error) = error else { return };
        let why = format!("at {} {error}", self.lines[at].name);
        let over = self.sources.iter().filter(|source| source.passes(at));
        let routes = over.flat_map(|source| &source.routes);
        let hops = routes.flat_map(|route| route.there.iter().chain(&route.back));
        for line in hops.map(|hop| hop.line) {
            self.unknown[line].get_or_insert_with(|| Unknown { why: why.clone(), from: 0 });
        }
    }

    /// What comes to a profile from others than one of so many sessions of a source.
    fn offered_to(&self, at: usize, profile: &Profile, own: Option<(usize, f64)>) -> Offered {
        match profile.of {
            Taken::All => self.offered(at, profile.rate, own),
            Taken::Level(level) => self.offered_of_level(at, level),
        }
    }

    /// Why there is no closed form for what waits for a profile, if it waits long.
    fn held_up(&self, at: usize, profile: &Profile) -> Option<String> {
        let name = &self.lines[at].name;
        if profile.of == Taken::All && self.bundles.iter().any(|bundle| self.passes(bundle, at)) {
            return Some(format!("long flows through the profile at {name}"));
        }
        let offered = self.offered_to(at, profile, None);
        if offered.rate >= profile.rate {
            return None;
        }
        let held = offered.held(profile, profile.depth - FULL);
        // Of messages, each is looked at by its size (`Network::through_profiles`).
        let is_meant = |source: &&Source| {
            let by_packet = profile.of != Taken::All || !source.sends_several();
            by_packet && source.lacks.is_none() && source.passes(at)
        };
        let min = self.sources.iter().filter(is_meant);
        let min = min.map(|source| self.min_time(source)).fold(f64::INFINITY, f64::min);
        self.check_held(at, held, min).err().map(|why| why.to_string())
    }

    /// Refuses what is held up for so long of so much time.
    fn check_held(&self, at: usize, held: f64, time: f64) -> Result<(), Lack> {
        let what = "the delay in a profile relative to the whole time";
        let part = if held > 0.0 { held / time } else { 0.0 };
        let range = Range::from_to(0.0, MAX_HELD_UP).check(what, part);
        range.map_err(|error| Lack::new(format!("at {} {error}", self.lines[at].name)))?;
        Ok(())
    }

    /// The mean time of what a source sends over lines that carry nothing else.
    fn min_time(&self, source: &Source) -> f64 {
        match &source.demand {
            Demand::Packets { sizes, .. } => lower_bound::delay(self, source, sizes),
            Demand::Open { visit, .. } | Demand::Closed { visit, .. } => {
                lower_bound::visit(self, source, visit, None)
            }
            Demand::Endless { .. } => f64::INFINITY,
        }
    }

    /// What comes to a line whose profile has this rate.
    fn offered(&self, at: usize, earned: f64, own: Option<(usize, f64)>) -> Offered {
        let line = &self.lines[at];
        let others = |source: usize| match own {
            Some((own, sessions)) if own == source => 1.0 - 1.0 / sessions,
            _ => 1.0,
        };
        let mut found = Offered::default();
        for entry in &self.loads.by_line[at] {
            let rate = self.visits[entry.source] * others(entry.source);
            found.rate += rate * entry.busy * line.rate;
            if !entry.is_tcp {
                found.squares += rate * entry.square * line.rate * line.rate;
            }
        }
        for (number, source) in self.sources.iter().enumerate() {
            let (Demand::Open { visit, .. } | Demand::Closed { visit, .. }) = &source.demand else {
                continue;
            };
            for route in &source.routes {
                found.squares += others(number)
                    * self.visits[number]
                    * route.share
                    * at_once(self, source, route, visit, at, earned);
            }
        }
        found
    }

    /// What comes of a level, window by window, with the packets that open connections.
    fn offered_of_level(&self, at: usize, level: usize) -> Offered {
        let line = &self.lines[at];
        let mut found = Offered::default();
        for entry in self.loads.by_line[at].iter().filter(|entry| entry.level == level) {
            let rate = self.visits[entry.source] * value(entry.share, &self.within);
            found.rate += rate * entry.busy * line.rate;
            found.squares += rate * entry.burst * line.rate * line.rate;
        }
        for (number, source) in self.sources.iter().enumerate() {
            let (Demand::Open { visit, .. } | Demand::Closed { visit, .. }) = &source.demand else {
                continue;
            };
            let marks = |hop: &Hop| hop.line == at && hop.window > 0.0;
            for route in &source.routes {
                if level == 0 && route.there.iter().chain(&route.back).any(marks) {
                    let rate = self.visits[number] * route.share * visit.connections;
                    let header = f64::from(source.tcp.header);
                    found.rate += rate * header;
                    found.squares += rate * header * header;
                }
            }
        }
        found
    }

    /// The seconds that a message of so many bytes takes which takes so long otherwise, through the profiles of its way: what
    /// is larger than its part of a bucket has the rate for the rest. Refused where others have taken so much of the bucket
    /// that it matters.
    pub(crate) fn through_profiles(
        &self,
        source: usize,
        hops: &[Hop],
        bytes: f64,
        time: f64,
    ) -> Result<f64, Lack> {
        let mut found = time;
        for at in hops.iter().map(|hop| hop.line) {
            let profiles = self.lines[at].profiles.iter();
            for profile in profiles.filter(|profile| profile.of == Taken::All) {
                let parts = if profile.has_parts { 1.0 + self.open_connections(at) } else { 1.0 };
                let part = profile.depth / parts;
                found = found.max((bytes - part) / profile.rate);
                if self.is_at_rest {
                    let own = match self.sources[source].demand {
                        Demand::Closed { sessions, .. } => Some((source, sessions)),
                        _ => None,
                    };
                    let taken = beyond(self, &self.sources[source], hops, bytes, profile.rate);
                    let held = self.offered_to(at, profile, own).held(profile, part - taken);
                    self.check_held(at, held, found)?;
                }
            }
        }
        Ok(found)
    }

    /// The connections that are open over a line, at least.
    fn open_connections(&self, at: usize) -> f64 {
        let open = |source: &Source| {
            let over = source
                .routes
                .iter()
                .filter(|route| route.there.iter().chain(&route.back).any(|hop| hop.line == at));
            let share: f64 = over.map(|route| route.share).sum();
            let time = self.min_time(source);
            let all = match &source.demand {
                Demand::Packets { .. } | Demand::Endless { .. } => 1.0,
                Demand::Open { per_second, .. } => per_second * time,
                Demand::Closed { sessions, visit, .. } if visit.stays() => sessions - 1.0,
                Demand::Closed { sessions, pause, .. } => (sessions - 1.0) * time / (pause + time),
            };
            share * all
        };
        self.sources.iter().map(open).sum()
    }

    /// Leaves out long flows with windows about as small as those by which they are marked.
    fn leave_out_small_windows(&mut self) {
        for bundle in &self.bundles {
            let min = self.hops(bundle).iter().map(|hop| hop.window).fold(0.0, f64::max);
            let window = bundle.rate * self.round_trip(bundle) / bundle.connections;
            if window < BEYOND_WINDOW * min {
                let what =
                    "long flows whose windows are about as small as those by which they are marked";
                let why = format!("{what} at {}", self.lines[bundle.bottleneck].name);
                for met in &mut self.met[bundle.bottleneck] {
                    met.lacks.get_or_insert_with(|| why.clone());
                }
            }
        }
    }
}

impl Offered {
    /// The seconds for which packets are held up that need `left` bytes less of the bucket than it holds: M/G/1's tail beyond.
    fn held(self, profile: &Profile, left: f64) -> f64 {
        let load = self.rate / profile.rate;
        if load >= 1.0 {
            return f64::INFINITY;
        }
        let work = self.squares / (2.0 * profile.rate * profile.rate * (1.0 - load));
        match work > 0.0 {
            true => work * libm::exp(-load * left.max(0.0) / profile.rate / work),
            false => 0.0,
        }
    }
}

/// What a message takes of a bucket faster than that earns: all of a first window, and of what follows, twice as fast as the
/// slowest line lets acknowledgements come, what is beyond the rate of the profile.
fn beyond(network: &Network, source: &Source, hops: &[Hop], bytes: f64, earned: f64) -> f64 {
    let packet = f64::from(source.tcp.mss) + f64::from(source.tcp.header);
    let first = f64::from(source.tcp.initial_window) * packet;
    let rates = hops.iter().map(|hop| network.lines[hop.line].rate);
    let slowest = rates.fold(f64::INFINITY, f64::min);
    let part = (1.0 - earned / (2.0 * slowest)).max(0.0);
    bytes.min(first) + (bytes - first).max(0.0) * part
}

/// The mean square of what a visit takes of a bucket in one direction faster than that earns.
fn at_once(
    network: &Network,
    source: &Source,
    route: &Route,
    visit: &Visit,
    at: usize,
    earned: f64,
) -> f64 {
    let (mss, header) = (f64::from(source.tcp.mss), f64::from(source.tcp.header));
    let (mut sum, mut squares) = (0.0, 0.0);
    for message in &visit.messages {
        let hops = route.way(message.is_there);
        if !hops.iter().any(|hop| hop.line == at) {
            continue;
        }
        let wire =
            |size: f64| beyond(network, source, hops, size + (size / mss).ceil() * header, earned);
        sum += message.count * mean(&message.sizes, wire);
        squares += message.count * mean(&message.sizes, |size| wire(size) * wire(size));
    }
    squares.max(sum * sum)
}
