//! What packets meet at the lines, as the fixed point of waits, losses and rates.

use shortflow_models::queueing::CustomerClass;
use shortflow_models::{ModelError, Range};
use shortflow_run::Refusal;
use shortflow_scenario::Scenario;

use crate::datagrams;
use crate::lines::{Line, Order, lines};
use crate::load::{Loads, value};
use crate::long_flows::{Beside, Bundle, bundles, fill, find_bottlenecks, levels};
use crate::marks::{Hop, Meters};
use crate::traffic::{Ages, Demand, Shape, Source, sources};
use crate::visits;

/// How often the waits are gone over, and what may be left: a part in so many of a rate, or of a wait and a
/// microsecond.
const STEPS: u32 = 500;
const TOLERANCE: f64 = 1e-7;

/// How long others' windows may wait for one another at RED that long flows fill, as a part of the wait there: beyond, RED
/// drops for their sake.
const MOST_SWELL: f64 = 0.5;

/// How many times as fast as what is forgotten a long flow must be for its marks to stay.
const FORGOTTEN: f64 = 3.0;

/// The load of transfers behind which streams hardly wait that have sent more.
const MOST_YOUNGER: f64 = 0.1;

/// A network at rest.
#[derive(Debug)]
pub(crate) struct Network {
    pub(crate) lines: Vec<Line>,
    pub(crate) sources: Vec<Source>,
    pub(crate) bundles: Vec<Bundle>,
    pub(crate) loads: Loads,
    meters: Meters,
    /// The share of packets that each meter finds within its profile: those that it protects first, and others.
    pub(crate) within: Vec<[f64; 2]>,
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
    /// Why nothing is known of a line, if nothing is.
    pub(crate) unknown: Vec<Option<String>>,
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
    /// The share of time in which the line sends for this band.
    pub(crate) utilisation: f64,
    /// Whether flows without an end fill it.
    pub(crate) is_filled: bool,
    /// Whether the wait is a lower bound, and what is lost of all packets: each cut of a window has a loss.
    pub(crate) is_least: bool,
    pub(crate) least_loss: f64,
    /// Whether its losses are lower bounds, since CUBIC's windows are no smaller than Reno's at the same loss.
    pub(crate) loses_at_least: bool,
    /// Whether nothing is told of its losses, nor of its wait as that of all packets: timeouts decide them, marks stand for
    /// them, or long flows empty it at times.
    pub(crate) is_unclear: bool,
    /// The mean wait that others' windows would make of a band that long flows fill, if these were not there.
    pub(crate) swell: f64,
    /// What the squares of bursts add to those of packets one by one, per second.
    pub(crate) bursts: f64,
    /// The squares of packets one by one, per second.
    pub(crate) squares: f64,
    /// Whether windows of transfers come here beside what else does.
    pub(crate) has_windows: bool,
    /// Why there is no closed form for it, if there is none.
    pub(crate) lacks: Option<String>,
}

impl Met {
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
        (band, levels(piece, self.lines[hop.line].bands[band].levels(), &self.within))
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

/// Finds the waits, losses and rates that go together.
pub(crate) fn settle(scenario: &Scenario) -> Result<Network, Refusal> {
    let lines = lines(scenario);
    let mut meters = Meters::default();
    let sources = sources(scenario, &lines, &mut meters);
    let loads = Loads::of(&lines, &sources);
    let met = lines
        .iter()
        .map(|line| vec![Met { loss: vec![line.link_loss], ..Met::default() }; line.bands.len()])
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
        unknown: lines.iter().map(|line| line.lacks.clone()).collect(),
        bundles: Vec::new(),
        is_at_rest: false,
        feeders: feeders(lines.len(), &sources),
        within: vec![[1.0; 2]; meters.0.len()],
        meters,
        lines,
        sources,
        loads,
        met,
    };
    leave_out(&mut network, scenario);
    network.bundles = bundles(&network.sources);
    find_bottlenecks(&mut network);
    network.leave_out_passing();
    leave_out(&mut network, scenario);
    let mut residual = f64::INFINITY;
    for _ in 0..STEPS {
        residual = network.step();
        if residual <= TOLERANCE {
            network.is_at_rest = true;
            network.tell_what_is_unknown();
            return Ok(network);
        }
    }
    let quantity = "the waits and rates of the network";
    let error = ModelError::NotSettled { quantity, residual, steps: STEPS };
    Err(Refusal(format!("no closed form for this scenario: {error}\nsimulate it")))
}

/// Marks what has no closed form: sources at such lines or with such marks, and lines at which sources send of
/// which nothing is known.
fn leave_out(network: &mut Network, scenario: &Scenario) {
    loop {
        let mut changed = false;
        for source in &mut network.sources {
            if source.lacks.is_some() {
                continue;
            }
            let is_tcp = !matches!(source.demand, Demand::Packets { .. });
            let hops = source.routes.iter().flat_map(|route| {
                let back = if is_tcp { &route.back[..] } else { &[] };
                route.there.iter().chain(back)
            });
            let lacking = hops.clone().find_map(|hop| {
                let line = &network.lines[hop.line];
                let bursts = || format!("losses in bursts, as at {}, under TCP", line.name);
                let in_bursts = (line.loses_in_bursts && is_tcp).then(bursts);
                network.unknown[hop.line].clone().or(hop.lacks.clone()).or(in_bursts)
            });
            source.lacks = lacking;
            changed |= source.lacks.is_some();
        }
        for source in &network.sources {
            let Some(_) = &source.lacks else { continue };
            let name = &scenario.workloads[source.workload].name;
            for hop in source.routes.iter().flat_map(|route| route.there.iter().chain(&route.back))
            {
                let unknown = &mut network.unknown[hop.line];
                let is_elastic =
                    matches!(source.demand, Demand::Closed { .. } | Demand::Endless { .. });
                let place = &network.lines[hop.line].name;
                if unknown.is_none() && (is_elastic || source.varies || hop.lacks.is_some()) {
                    *unknown = Some(format!(
                        "what `{name}` leaves of {place}, for which there is none itself"
                    ));
                    changed = true;
                }
            }
        }
        if !changed {
            return;
        }
    }
}

impl Network {
    /// Flows that are held back at one line and pass another where others are.
    fn leave_out_passing(&mut self) {
        let held: Vec<usize> = self.bundles.iter().map(|bundle| bundle.bottleneck).collect();
        let mut found = Vec::new();
        for bundle in &self.bundles {
            let other = self
                .hops(bundle)
                .iter()
                .find(|hop| held.contains(&hop.line) && hop.line != bundle.bottleneck);
            if let Some(hop) = other {
                let places = (&self.lines[hop.line].name, &self.lines[bundle.bottleneck].name);
                found.push((bundle.source, format!("long flows that pass {}, where others are held back, and are held back at {} themselves", places.0, places.1)));
            }
        }
        for (source, why) in found {
            for route in &self.sources[source].routes {
                for hop in route.there.iter().chain(&route.back) {
                    self.unknown[hop.line].get_or_insert_with(|| why.clone());
                }
            }
            self.sources[source].lacks = Some(why);
        }
    }

    /// Goes over all once; by which part something changed at most.
    fn step(&mut self) -> f64 {
        let mut changed = self.meter();
        for at in 0..self.lines.len() {
            if self.unknown[at].is_none() {
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
            let found = [protected, share((meter.committed - protected * first).max(0.0), rest)];
            changed = changed.max((found[0] - within[0]).abs()).max((found[1] - within[1]).abs());
            for (old, new) in within.iter_mut().zip(found) {
                *old = f64::midpoint(*old, new);
            }
        }
        changed
    }

    /// What packets meet at a line, band by band; by which part a wait or a rate changed.
    fn meet(&mut self, at: usize) -> f64 {
        let count = self.lines[at].bands.len();
        let mut classes =
            vec![CustomerClass { arrival_rate: 0.0, mean_service: 0.0, second_moment: 0.0 }; count];
        let mut found = vec![Met::default(); count];
        self.sum_up(at, &mut classes, &mut found);
        let mut changed = 0.0f64;
        let mut before = 0.0;
        for band in 0..count {
            let here: Vec<usize> = (0..self.bundles.len())
                .filter(|index| {
                    let bundle = &self.bundles[*index];
                    bundle.bottleneck == at && self.last(self.hop(bundle, at)).0 == band
                })
                .collect();
            let own = classes[band].arrival_rate * classes[band].mean_service;
            let name = &self.lines[at].name;
            let fits = Range::from_to_below(0.0, 1.0);
            let fits = fits.check("the load, with what goes before it,", before + own);
            let lacks = fits.err().map(|error| format!("what comes to {name}: {error}"));
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
                            closed: found[band].closed.clone(),
                            has_windows: found[band].has_windows,
                            ..met
                        };
                        if self.lines[at].order == Order::Fair {
                            found[band].permanent =
                                here.iter().map(|&index| self.bundles[index].connections).sum();
                        }
                    }
                    Err(error) => {
                        found[band].lacks = Some(format!("what comes to {name}: {error}"))
                    }
                }
            }
            found[band].before = before;
            found[band].lacks = found[band].lacks.take().or(lacks);
            found[band].utilisation = classes[band].arrival_rate * classes[band].mean_service;
            before += found[band].utilisation;
            if found[band].is_filled && self.lines[at].order == Order::Bands {
                // Nothing is left for those that come after.
                before = before.max(1.0);
            }
        }
        changed.max(self.wait(at, &classes, found))
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
            // Who browses does not wait for what he has asked for himself.
            let others = match self.sources[entry.source].demand {
                Demand::Closed { sessions, .. } => 1.0 - 1.0 / sessions,
                _ => 1.0,
            };
            met.squares += rate * entry.square;
            met.bursts += rate * others * (entry.burst - entry.square).max(0.0);
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

    /// What is sent whatever becomes of it, or without an end, has no closed form at a band without one; for visits
    /// that depends on their size.
    fn tell_what_is_unknown(&mut self) {
        for (line, met) in self.lines.iter().zip(&mut self.met) {
            for (band, met) in line.bands.iter().zip(met).filter(|(_, met)| met.is_filled) {
                if !band.curves.is_empty() && met.swell > MOST_SWELL * met.wait {
                    met.lacks.get_or_insert_with(|| {
                        let what = "RED before";
                        let why = "that windows of others fill more than the long flows do";
                        format!("{what} {}, {why}", line.name)
                    });
                }
            }
        }
        self.leave_out_held_by_answers();
        self.leave_out_beside_fast_streams();
        self.leave_out_nearly_forgotten();
        for at in 0..self.sources.len() {
            let source = &self.sources[at];
            if source.lacks.is_some() {
                continue;
            }
            if let Demand::Open { visit, .. } | Demand::Closed { visit, .. } = &source.demand {
                if visit.shape == Shape::Echo {
                    let lacks = self.behind_others(source, 0.0);
                    self.sources[at].lacks = lacks;
                }
                continue;
            }
            let ages = match source.demand {
                Demand::Packets { ages, .. } => ages,
                _ => Ages::ENDLESS,
            };
            let hops = source.routes.iter().flat_map(|route| &route.there);
            let mut met = hops.flat_map(|hop| {
                let pieces = ages.pieces(hop).filter(|(_, share)| *share > 0.0);
                pieces.map(|(piece, _)| &self.met[hop.line][piece.places[0].band])
            });
            let lacks = met.find_map(|met| met.lacks.clone());
            drop(met);
            let behind = || match source.demand {
                Demand::Packets { ages, .. } => self.behind_others(source, ages.rate),
                _ => None,
            };
            let lacks = lacks.or_else(behind);
            self.sources[at].lacks = lacks;
        }
    }

    /// Leaves out what shares a line, flow by flow, with a stream that wants more than its part of it.
    fn leave_out_beside_fast_streams(&mut self) {
        let mut found = Vec::new();
        for source in &self.sources {
            for route in &source.routes {
                for hop in &route.there {
                    let met = &self.met[hop.line][0];
                    let is_meant = self.lines[hop.line].order != Order::Bands && met.is_filled;
                    if is_meant && datagrams::check_turn(self, source, route, hop).is_err() {
                        let name = &self.lines[hop.line].name;
                        let why = format!(
                            "what shares {name} with a stream that wants more than half of its part"
                        );
                        found.push((hop.line, why));
                    }
                }
            }
        }
        for (at, why) in found {
            self.met[at][0].lacks.get_or_insert(why);
        }
    }

    /// Leaves out long flows that are hardly faster than what markers forget of them, and what shares their line: their marks
    /// change with their windows.
    fn leave_out_nearly_forgotten(&mut self) {
        for bundle in &self.bundles {
            let forgets = self.hops(bundle).iter().map(|hop| hop.forgets).fold(0.0, f64::max);
            if bundle.rate * bundle.packet < FORGOTTEN * forgets * bundle.connections {
                let what = "long flows that are hardly faster than what is forgotten of them";
                let why = format!("{what}, at {}", self.lines[bundle.bottleneck].name);
                for met in &mut self.met[bundle.bottleneck] {
                    met.lacks.get_or_insert_with(|| why.clone());
                }
            }
        }
    }

    /// Leaves out long flows whose acknowledgements come to a line that cannot carry them, and what is at the line that they
    /// would fill.
    fn leave_out_held_by_answers(&mut self) {
        for bundle in &self.bundles {
            let back = &self.sources[bundle.source].routes[bundle.route].back;
            let held = back.iter().find(|hop| {
                self.utilisation(hop.line) >= 1.0 && {
                    !self.bundles.iter().any(|other| other.bottleneck == hop.line)
                }
            });
            let Some(hop) = held else { continue };
            let why = format!(
                "long flows whose acknowledgements fill {}, and hold them back",
                self.lines[hop.line].name
            );
            for met in &mut self.met[bundle.bottleneck] {
                met.lacks.get_or_insert_with(|| why.clone());
            }
        }
    }

    /// Why there is no closed form for streams of a source at a line that serves who has sent least, if others go
    /// before them: transfers, which are younger, or long flows where those get no more.
    fn behind_others(&self, source: &Source, rate: f64) -> Option<String> {
        let by_attained = |hop: &&Hop| self.lines[hop.line].order == Order::LeastAttained;
        let hops = source.routes.iter().flat_map(|route| match source.demand {
            Demand::Packets { .. } => route.there.iter().chain(&[]),
            _ => route.there.iter().chain(&route.back),
        });
        let mut hops = hops.filter(by_attained);
        let at = hops.find(|hop| {
            let entries = self.loads.by_line[hop.line].iter().filter(|entry| entry.is_tcp);
            let young: f64 = entries.map(|entry| self.visits[entry.source] * entry.busy).sum();
            let mut held = self.bundles.iter().filter(|bundle| bundle.bottleneck == hop.line);
            let is_slow =
                |bundle: &Bundle| bundle.rate * bundle.packet <= rate * bundle.connections;
            young > MOST_YOUNGER || held.any(is_slow)
        })?;
        let name = &self.lines[at.line].name;
        Some(format!("streams behind what has sent less, as at {name}"))
    }
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

/// Adds customers to a class.
fn add(class: &mut CustomerClass, rate: f64, service: f64, square: f64) {
    let sum = class.arrival_rate + rate;
    if sum > 0.0 {
        class.mean_service = (class.arrival_rate * class.mean_service + rate * service) / sum;
        class.second_moment = (class.arrival_rate * class.second_moment + rate * square) / sum;
    }
    class.arrival_rate = sum;
}
