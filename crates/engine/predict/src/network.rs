//! The state of all lines, as the fixed point of waits, losses and rates.

use shortflow_models::queueing::CustomerClass;
use shortflow_models::{ModelError, Range};
use shortflow_scenario::{Scenario, Workload, WorkloadKind};

use crate::lines::{Line, lines};
use crate::load::{Entry, Loads, Within, value};
use crate::long_flows::{Beside, Bundle, bundles, fill, find_bottlenecks, levels};
use crate::lower_bound;
use crate::marks::{Hop, Meters, Piece, Place};
use crate::queues::Order;
use crate::traffic::{Demand, Source, sources};
use crate::unknown::{Unknown, leave_out, leave_out_far};
use crate::visits;

/// How often the waits are gone over, and what may be left: a part in so many of a rate, or of a wait and a
/// microsecond.
const STEPS: u32 = 500;
const TOLERANCE: f64 = 1e-7;

/// A network at rest.
#[derive(Debug)]
pub(crate) struct Network {
    pub(crate) lines: Vec<Line>,
    pub(crate) sources: Vec<Source>,
    pub(crate) bundles: Vec<Bundle>,
    pub(crate) loads: Loads,
    meters: Meters,
    /// The share of packets that each meter finds within its profile.
    pub(crate) within: Vec<Within>,
    /// Visits or packets per second of each source.
    pub(crate) visits: Vec<f64>,
    /// What packets meet at each band of each line.
    pub(crate) met: Vec<Vec<Met>>,
    /// Whether the waits and rates are those that go together, so that it tells when they are out of range.
    pub(crate) is_at_rest: bool,
    /// Whether somebody sends less where he waits longer, or marks depend on rates: what is found then is approached by
    /// halves, so that it does not swing. Else each step gives what the next would.
    gives_way: bool,
    /// The line from which all comes that comes to a line, where that is one.
    pub(crate) feeders: Vec<Option<usize>>,
    /// The number of the flows that share a line: lines over which the same ways go have the same.
    pub(crate) crowds: Vec<usize>,
    /// The load of each line if those who wait for what they get waited no longer than over empty lines.
    pub(crate) asked: Vec<f64>,
    /// Why nothing is known of a line, if nothing is.
    pub(crate) unknown: Vec<Option<Unknown>>,
    /// Whether classes with weights are in an order that long flows rule out: they get what the others leave.
    pub(crate) is_misread: bool,
    /// The seconds of a run that are measured, and those before in which each source sends, too.
    pub(crate) measured: f64,
    pub(crate) before: Vec<f64>,
}

/// What packets meet at a band of a line.
#[derive(Debug, Clone, Default)]
pub(crate) struct Met {
    /// Mean wait in seconds.
    pub(crate) wait: f64,
    /// The probability of being dropped or lost, for each level.
    pub(crate) loss: Vec<f64>,
    /// The part of it that finds no room, because bursts fill it: many packets of a window at a time.
    pub(crate) bunched: f64,
    /// The share of time that goes to bands before it, with that of packets that do not give way in it.
    pub(crate) before: f64,
    /// The share of time that goes to what comes in visits whatever the network does.
    pub(crate) open: f64,
    /// Visits of each closed loop that are served here at a time.
    pub(crate) closed: Vec<(usize, f64)>,
    /// Flows without an end that each take a share.
    pub(crate) permanent: f64,
    /// Packets per second.
    pub(crate) packets: f64,
    /// The share of time in which the line sends for this band.
    pub(crate) utilisation: f64,
    /// Whether flows without an end fill it.
    pub(crate) is_filled: bool,
    /// Whether the wait is a lower bound, and what is lost of all packets: each cut of a window has a loss.
    pub(crate) is_least: bool,
    pub(crate) min_loss: f64,
    /// Whether its losses are lower bounds, since CUBIC's windows are no smaller than Reno's at the same loss.
    pub(crate) loses_at_least: bool,
    /// Whether long flows take about as long to fill it as a run lasts, so that its queue may be anything.
    pub(crate) is_young: bool,
    /// Whether nothing is told of its losses, nor of its wait as that of all packets: timeouts decide them, marks stand for
    /// them, or long flows empty it at times.
    pub(crate) is_unclear: bool,
    /// The mean wait that others' windows would make of a band that long flows fill, if these were not there.
    pub(crate) swell: f64,
    /// What the squares of bursts add to those of packets one by one, per second.
    pub(crate) bursts: f64,
    /// The same of runs of windows.
    pub(crate) runs: f64,
    /// The squares of packets one by one, per second.
    pub(crate) squares: f64,
    /// Whether windows of transfers come here beside what else does.
    pub(crate) has_windows: bool,
    /// What each closed loop's user brings himself, for which he does not wait.
    pub(crate) own: Vec<Own>,
    /// What streams wait here that go behind all who have sent less.
    pub(crate) behind: Vec<Behind>,
    /// The squares of all that is waited for, per second.
    pub(crate) heard: f64,
    /// Whether weights leave it a part of the line, whatever the others want.
    pub(crate) is_guaranteed: bool,
    /// Why it has no closed form, if so.
    pub(crate) lacks: Option<String>,
}

/// What a stream waits that goes behind who has sent less.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Behind {
    pub(crate) source: usize,
    /// Seconds.
    pub(crate) wait: f64,
    /// The share of time that goes to others before it.
    pub(crate) before: f64,
}

/// What one user of a closed loop brings to a line.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Own {
    source: usize,
    /// How many such users there are.
    sessions: f64,
    /// The squares of his packets, per second.
    square: f64,
    /// The share of time that he takes in the bands before, and with this band.
    before: f64,
    up_to: f64,
}

impl Met {
    fn own(&self, source: usize) -> Option<&Own> {
        self.own.iter().find(|own| own.source == source)
    }

    /// What a source waits as a stream that goes behind who has sent less, if it does.
    pub(crate) fn behind(&self, source: usize) -> Option<&Behind> {
        self.behind.iter().find(|behind| behind.source == source)
    }

    /// The mean wait of a source's packets: who waits for what he gets does not wait for himself.
    pub(crate) fn wait_of(&self, source: usize) -> f64 {
        if let Some(behind) = self.behind(source) {
            return behind.wait;
        }
        let Some(own) = self.own(source).filter(|_| !self.is_filled) else { return self.wait };
        let left = (1.0 - self.before - self.utilisation).max(0.0);
        let others = (1.0 - own.square / self.heard.max(own.square)).max(0.0);
        self.wait * others * left / (left + own.up_to).max(1e-9)
    }

    /// By which part waits are shorter than by M/G/1: who waits for what he gets sends nothing behind it meanwhile, so that what
    /// stands before others is that of his neighbours alone.
    pub(crate) fn answered(&self) -> f64 {
        let left = (1.0 - self.before - self.utilisation).max(1e-9);
        let shorter = |own: &Own| {
            let part = (own.sessions * own.square / self.heard.max(1e-300)).min(1.0);
            part * (1.0 - left / (left + own.up_to))
        };
        (1.0 - self.own.iter().map(shorter).sum::<f64>()).max(0.0)
    }

    /// The share of time that goes to bands before it for others than a user of this source.
    pub(crate) fn before_of(&self, source: usize) -> f64 {
        match self.own(source) {
            Some(own) if !self.is_guaranteed => (self.before - own.before).max(0.0),
            _ => self.before,
        }
    }

    /// The share of time that goes to this band for others than a user of this source.
    pub(crate) fn load_beside(&self, source: usize) -> f64 {
        let own = self.own(source).map_or(0.0, |own| own.up_to - own.before);
        (self.utilisation - own).max(0.0)
    }

    /// The loss of packets with these shares of the levels.
    pub(crate) fn loss_of(&self, shares: &[f64]) -> f64 {
        match &self.loss[..] {
            [one] => *one,
            each => each.iter().zip(shares).map(|(loss, share)| loss * share).sum(),
        }
    }
}

impl Network {
    /// The lines that a bundle's data pass.
    pub(crate) fn hops(&self, bundle: &Bundle) -> &[Hop] {
        &self.sources[bundle.source].routes[bundle.route].there
    }

    /// The band of what comes last in a flow, and its shares of the levels there.
    pub(crate) fn last(&self, hop: &Hop) -> (usize, Vec<f64>) {
        let piece = hop.pieces.last().expect("a flow has a piece");
        let band = piece.places[0].band;
        (band, levels(piece, self.lines[hop.line].bands()[band].levels(), &self.within))
    }

    /// The probability that a packet of a piece is lost at a hop.
    pub(crate) fn lost_at(&self, hop: &Hop, piece: &Piece) -> f64 {
        self.over(piece, &|place| {
            let loss = &self.met[hop.line][place.band].loss;
            *loss.get(place.level).unwrap_or(&loss[0])
        })
    }

    /// The mean over the packets of a piece of what is the same at each of its places.
    pub(crate) fn over(&self, piece: &Piece, of: &dyn Fn(&Place) -> f64) -> f64 {
        piece.places.iter().map(|place| value(place.share, &self.within) * of(place)).sum()
    }

    /// The round trip of a bundle, with all its waits.
    pub(crate) fn round_trip(&self, bundle: &Bundle) -> f64 {
        let route = &self.sources[bundle.source].routes[bundle.route];
        let one_way = |hops: &[Hop], bytes: f64, is_last: bool| -> f64 {
            hops.iter()
                .map(|hop| {
                    let line = &self.lines[hop.line];
                    let piece = if is_last { hop.pieces.last() } else { hop.pieces.first() };
                    let band = piece.map_or(0, |piece| piece.places[0].band);
                    line.time(bytes) + line.delay + self.met[hop.line][band].wait
                })
                .sum()
        };
        one_way(&route.there, bundle.packet, true) + one_way(&route.back, bundle.header, false)
    }

    /// What a value becomes that was `old` and would be `new`.
    pub(crate) fn toward(&self, new: f64, old: f64) -> f64 {
        if self.gives_way { f64::midpoint(new, old) } else { new }
    }

    /// The share of time in which a line sends.
    pub(crate) fn utilisation(&self, line: usize) -> f64 {
        self.met[line].iter().map(|met| met.utilisation).sum::<f64>().min(1.0)
    }
}

/// Finds the waits, losses and rates that go together, with classes that have weights in the order of this number.
pub(crate) fn settle(scenario: &Scenario, reading: usize) -> Network {
    let lines = lines(scenario, reading);
    let mut meters = Meters::default();
    let mut sources = sources(scenario, &lines, &mut meters);
    leave_out_far(&mut sources, &lines);
    let loads = Loads::new(&lines, &sources);
    let met = lines
        .iter()
        .map(|line| vec![Met { loss: vec![line.link_loss], ..Met::default() }; line.bands().len()])
        .collect();
    let visits = sources.iter().map(|source| match &source.demand {
        Demand::Packets { per_second, .. } | Demand::Open { per_second, .. } => *per_second,
        Demand::Closed { sessions, pause, .. } => sessions / (pause + 1.0),
        Demand::Endless { .. } => 0.0,
    });
    let is_open =
        |source: &Source| matches!(source.demand, Demand::Packets { .. } | Demand::Open { .. });
    let mut network = Network {
        gives_way: !sources.iter().all(is_open) || !meters.0.is_empty(),
        visits: visits.collect(),
        unknown: lines.iter().map(Unknown::of_line).collect(),
        bundles: Vec::new(),
        is_at_rest: false,
        is_misread: false,
        measured: (scenario.duration - scenario.warm_up).as_secs_f64(),
        before: scenario.workloads.iter().map(|one| seconds_before(scenario, one)).collect(),
        asked: vec![0.0; lines.len()],
        feeders: feeders(lines.len(), &sources),
        crowds: crowds(lines.len(), &sources),
        within: vec![Within::ALL; meters.0.len()],
        meters,
        lines,
        sources,
        loads,
        met,
    };
    network.ask();
    leave_out(&mut network, scenario);
    network.bundles = bundles(&network.sources);
    find_bottlenecks(&mut network);
    network.leave_out_passing();
    leave_out(&mut network, scenario);
    network.is_misread = network.bundles.iter().any(|bundle| network.is_before_others(bundle));
    if network.is_misread {
        return network;
    }
    let mut residual = f64::INFINITY;
    for _ in 0..STEPS {
        residual = network.step();
        if residual <= TOLERANCE {
            network.is_at_rest = true;
            network.tell_what_is_unknown();
            network.leave_out_beside_unknown(scenario);
            return network;
        }
    }
    let quantity = "the waits and rates of the network";
    let error = ModelError::NotSettled { quantity, residual, steps: STEPS };
    network.leave_all_out(&error.to_string());
    network
}

impl Network {
    /// Leaves all out for one reason.
    pub(crate) fn leave_all_out(&mut self, why: &str) {
        for source in &mut self.sources {
            source.lacks.get_or_insert_with(|| why.to_owned());
        }
    }

    /// Whether long flows have a weight, and come before a class that has one, too.
    fn is_before_others(&self, bundle: &Bundle) -> bool {
        let at = bundle.bottleneck;
        let band = self.last(self.hop(bundle, at)).0;
        let is_loaded =
            |entry: &Entry| entry.band > band && self.sources[entry.source].lacks.is_none();
        let others =
            |other: &Bundle| other.bottleneck == at && self.last(self.hop(other, at)).0 > band;
        self.lines[at].queues.weights.is_some()
            && self.sources[bundle.source].lacks.is_none()
            && (self.loads.by_line[at].iter().any(is_loaded) || self.bundles.iter().any(others))
    }

    /// Goes over all once; by which part something changed at most.
    fn step(&mut self) -> f64 {
        let mut changed = self.meter();
        for at in 0..self.lines.len() {
            if self.unknown[at].as_ref().is_none_or(|unknown| unknown.from > 0) {
                changed = changed.max(self.meet(at));
            }
        }
        changed.max(visits::renew(self))
    }

    /// What meters find within their profiles.
    fn meter(&mut self) -> f64 {
        let mut seen = vec![[0.0; 2]; self.meters.0.len()];
        for metered in &self.loads.metered {
            let visits = self.visits[metered.source];
            seen[metered.meter][0] += visits * metered.first;
            seen[metered.meter][1] += visits * metered.rest;
        }
        for bundle in &self.bundles {
            let metered = self.hops(bundle).last().and_then(|hop| hop.metered);
            if let Some((meter, _)) = metered {
                seen[meter][1] += bundle.rate * bundle.packet;
            }
        }
        let mut changed = 0.0f64;
        for ((meter, [first, rest]), within) in self.meters.0.iter().zip(seen).zip(&mut self.within)
        {
            let share =
                |committed: f64, rate: f64| if rate > committed { committed / rate } else { 1.0 };
            let protected = share(meter.committed, first);
            let left = |rate: f64| share((rate - protected * first).max(0.0), rest);
            let found = Within {
                first: protected,
                rest: left(meter.committed),
                peak: left(meter.peak),
                times: (first + rest) / meter.committed,
            };
            let renewed = [
                (&mut within.first, found.first),
                (&mut within.rest, found.rest),
                (&mut within.peak, found.peak),
                (&mut within.times, found.times),
            ];
            for (old, new) in renewed {
                changed = changed.max((new - *old).abs());
                *old = f64::midpoint(*old, new);
            }
        }
        changed
    }

    /// Works out what is asked of each line.
    fn ask(&mut self) {
        for (number, source) in self.sources.iter().enumerate() {
            let visits = match &source.demand {
                Demand::Packets { per_second, .. } | Demand::Open { per_second, .. } => *per_second,
                Demand::Closed { sessions, pause, visit } => {
                    let min = lower_bound::visit(self, source, visit, None);
                    sessions / (pause + min).max(1e-9)
                }
                Demand::Endless { .. } => continue,
            };
            for (at, entries) in self.loads.by_line.iter().enumerate() {
                let own = entries.iter().filter(|entry| entry.source == number);
                self.asked[at] += own.map(|entry| visits * entry.busy).sum::<f64>();
            }
        }
    }

    /// The bundles that a band of a line holds back.
    fn held_at(&self, at: usize, band: usize) -> Vec<usize> {
        let is_here = |index: &usize| {
            let bundle = &self.bundles[*index];
            bundle.bottleneck == at && self.last(self.hop(bundle, at)).0 == band
        };
        (0..self.bundles.len()).filter(is_here).collect()
    }

    /// What packets meet at a line, band by band; by which part a wait or a rate changed.
    fn meet(&mut self, at: usize) -> f64 {
        let count = self.lines[at].bands().len();
        let mut classes =
            vec![CustomerClass { arrival_rate: 0.0, mean_service: 0.0, second_moment: 0.0 }; count];
        let mut found = vec![Met::default(); count];
        self.sum_up(at, &mut classes, &mut found);
        self.set_own(at, &mut found);
        let mut changed = 0.0f64;
        let mut before = 0.0f64;
        for band in 0..count {
            let here = self.held_at(at, band);
            before = self.least_before(at, &classes, (band, !here.is_empty()), before);
            let own = classes[band].arrival_rate * classes[band].mean_service;
            let name = &self.lines[at].name;
            let fits = Range::from_to_below(0.0, 1.0);
            let fits = fits.check("the load, including what is served before it,", before + own);
            let lacks = fits.err().map(|error| format!("the arrivals at {name}: {error}"));
            if lacks.is_none() && !here.is_empty() {
                let beside = Beside {
                    free: 1.0 - before,
                    busy: own,
                    packets: classes[band].arrival_rate,
                    in_windows: found[band].has_windows,
                };
                match fill(self, at, band, &here, beside) {
                    Ok((met, rates)) => {
                        let line = &self.lines[at];
                        for (&index, rate) in here.iter().zip(&rates) {
                            let bundle = &mut self.bundles[index];
                            changed = changed.max((rate - bundle.rate).abs() / rate.max(1e-9));
                            bundle.rate = f64::midpoint(bundle.rate, *rate);
                            let time = line.time(bundle.packet);
                            add(&mut classes[band], bundle.rate, time, time * time);
                        }
                        let swell = found[band].squares + found[band].bursts;
                        found[band] = Met {
                            utilisation: 0.0,
                            swell: swell / 2.0 / (1.0 - before - own),
                            open: found[band].open,
                            closed: std::mem::take(&mut found[band].closed),
                            own: std::mem::take(&mut found[band].own),
                            has_windows: found[band].has_windows,
                            ..met
                        };
                        let queue = &self.lines[at].bands()[band];
                        if queue.order == Order::Fair {
                            let has_hosts = queue.shares_by_hosts();
                            let bundles = here.iter().map(|&index| &self.bundles[index]);
                            found[band].permanent =
                                bundles.map(|bundle| bundle.turns(has_hosts)).sum();
                        }
                    }
                    Err(error) => {
                        found[band].lacks = Some(format!("the arrivals at {name}: {error}"))
                    }
                }
            }
            found[band].before = before;
            found[band].lacks = found[band].lacks.take().or(lacks);
            found[band].packets = classes[band].arrival_rate;
            found[band].utilisation = classes[band].arrival_rate * classes[band].mean_service;
            before += found[band].utilisation;
            if found[band].is_filled {
                // Nothing is left for those that come after.
                before = before.max(1.0);
            }
        }
        self.guarantee(at, &classes, &mut found);
        changed.max(self.wait(at, &classes, found))
    }

    /// What users of closed loops bring to the bands of a line themselves.
    fn set_own(&self, at: usize, found: &mut [Met]) {
        let mut all: Vec<(usize, f64, f64, Vec<f64>)> = Vec::new();
        for entry in &self.loads.by_line[at] {
            let Demand::Closed { sessions, .. } = self.sources[entry.source].demand else {
                continue;
            };
            let known = all.iter().position(|(source, ..)| *source == entry.source);
            let place = known.unwrap_or_else(|| {
                all.push((entry.source, sessions, 0.0, vec![0.0; found.len()]));
                all.len() - 1
            });
            let rate = self.visits[entry.source] * value(entry.share, &self.within) / sessions;
            all[place].2 += rate * entry.square.max(entry.burst);
            all[place].3[entry.band] += rate * entry.busy;
        }
        let squares: f64 = found.iter().map(|met| met.squares).sum();
        let mut bursts = 0.0;
        for (band, met) in found.iter_mut().enumerate() {
            bursts += met.bursts;
            met.heard = squares + bursts;
            let own = |(source, sessions, square, busy): &(usize, f64, f64, Vec<f64>)| Own {
                source: *source,
                sessions: *sessions,
                square: *square,
                before: busy[..band].iter().sum(),
                up_to: busy[..=band].iter().sum(),
            };
            met.own = all.iter().map(own).collect();
        }
    }

    /// Whether a bundle's data come to its bottleneck over a line that is no faster, one by one.
    pub(crate) fn is_paced(&self, bundle: &Bundle) -> bool {
        let here = self.lines[bundle.bottleneck].rate;
        let hops = self.hops(bundle).iter().take_while(|hop| hop.line != bundle.bottleneck);
        hops.map(|hop| self.lines[hop.line].rate).fold(f64::INFINITY, f64::min) <= here
    }

    /// Whether a bundle's data or what acknowledges it passes a line.
    pub(crate) fn passes(&self, bundle: &Bundle, at: usize) -> bool {
        let route = &self.sources[bundle.source].routes[bundle.route];
        route.there.iter().chain(&route.back).any(|hop| hop.line == at)
    }

    fn hop(&self, bundle: &Bundle, at: usize) -> &Hop {
        self.hops(bundle).iter().find(|hop| hop.line == at).expect("a bundle passes its bottleneck")
    }

    /// What comes to the bands of a line apart from flows that are held back there.
    fn sum_up(&self, at: usize, classes: &mut [CustomerClass], found: &mut [Met]) {
        for entry in &self.loads.by_line[at] {
            let source = &self.sources[entry.source];
            if source.lacks.is_some() && matches!(source.demand, Demand::Closed { .. }) {
                // It is not known how much it sends; what that makes unknown is left out.
                continue;
            }
            let rate = self.visits[entry.source] * value(entry.share, &self.within);
            let class = &mut classes[entry.band];
            if entry.packets > 0.0 && rate > 0.0 {
                add(
                    class,
                    rate * entry.packets,
                    entry.busy / entry.packets,
                    entry.square / entry.packets,
                );
            }
            let met = &mut found[entry.band];
            let busy = rate * entry.busy;
            met.squares += rate * entry.square;
            met.bursts += rate * (entry.burst - entry.square).max(0.0);
            met.runs += rate * (entry.run - entry.square).max(0.0);
            met.has_windows |= entry.is_tcp;
            match &self.sources[entry.source].demand {
                Demand::Closed { .. } => {
                    match met.closed.iter_mut().find(|(source, _)| *source == entry.source) {
                        Some((_, sum)) => *sum += busy,
                        None => met.closed.push((entry.source, busy)),
                    }
                }
                _ => met.open += busy,
            }
        }
        for bundle in &self.bundles {
            let route = &self.sources[bundle.source].routes[bundle.route];
            let line = &self.lines[at];
            let passes = route.there.iter().find(|hop| hop.line == at && bundle.bottleneck != at);
            let answers = route.back.iter().find(|hop| hop.line == at);
            if let Some(hop) = passes {
                let time = line.time(bundle.packet);
                let band = self.last(hop).0;
                add(&mut classes[band], bundle.rate, time, time * time);
                found[band].open += bundle.rate * time;
                found[band].has_windows = true;
            }
            if let Some(hop) = answers {
                let time = line.time(bundle.header);
                let band = hop.pieces[0].places[0].band;
                add(&mut classes[band], bundle.rate / bundle.answered, time, time * time);
                found[band].open += bundle.rate / bundle.answered * time;
            }
        }
    }
}

/// The seconds before measuring begins in which a workload sends.
fn seconds_before(scenario: &Scenario, workload: &Workload) -> f64 {
    let start = match &workload.kind {
        WorkloadKind::Bulk(bulk) => bulk.start.as_secs_f64(),
        _ => 0.0,
    };
    (scenario.warm_up.as_secs_f64() - start).max(0.0)
}

/// The line before each line on all ways over it, where that is one.
fn feeders(lines: usize, sources: &[Source]) -> Vec<Option<usize>> {
    let mut found: Vec<Option<Option<usize>>> = vec![None; lines];
    let routes = sources.iter().flat_map(|source| &source.routes);
    for hops in routes.flat_map(|route| [&route.there, &route.back]) {
        let mut before = None;
        for hop in hops {
            let known = found[hop.line].get_or_insert(before);
            if *known != before {
                *known = None;
            }
            before = Some(hop.line);
        }
    }
    found.into_iter().map(Option::flatten).collect()
}

/// Numbers the sets of ways that go over lines.
fn crowds(lines: usize, sources: &[Source]) -> Vec<usize> {
    let mut ways = vec![Vec::new(); lines];
    let routes = sources.iter().flat_map(|source| &source.routes);
    for (number, route) in routes.enumerate() {
        for (hops, way) in [(&route.there, 2 * number), (&route.back, 2 * number + 1)] {
            hops.iter().for_each(|hop| ways[hop.line].push(way));
        }
    }
    let first = |own: &Vec<usize>| ways.iter().position(|other| other == own).unwrap_or(0);
    ways.iter().map(first).collect()
}

/// Adds customers to a class.
fn add(class: &mut CustomerClass, rate: f64, service: f64, square: f64) {
    let sum = class.arrival_rate + rate;
    if sum > 0.0 {
        class.mean_service = (class.arrival_rate * class.mean_service + rate * service) / sum;
        class.second_moment = (class.arrival_rate * class.second_moment + rate * square) / sum;
    }
    class.arrival_rate = sum;
}
