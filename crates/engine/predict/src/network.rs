//! The state of all lines, as the fixed point of waits, losses and rates.

use shortflow_models::ModelError;
use shortflow_scenario::{Scenario, Workload, WorkloadKind};

use crate::bundles::{Bundle, bundles, find_bottlenecks, levels};
use crate::lines::{Line, lines};
use crate::load::{Entry, Loads};
use crate::lower_bound;
use crate::marks::{Hop, Meters, Piece, Place};
use crate::met::Met;
use crate::traffic::{Demand, Source, sources};
use crate::unknown::{Unknown, leave_out, leave_out_far};
use crate::visits;
use crate::within::{Within, value};

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

    pub(crate) fn hop(&self, bundle: &Bundle, at: usize) -> &Hop {
        self.hops(bundle).iter().find(|hop| hop.line == at).expect("a bundle passes its bottleneck")
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
