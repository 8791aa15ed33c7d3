//! Traffic without a closed form, and the figures that it makes unknown.

use shortflow_elements::queue::Fairness;
use shortflow_scenario::Scenario;

use crate::datagrams;
use crate::invariants::{Overfull, overfull};
use crate::lines::Line;
use crate::load::acknowledged_segments;
use crate::long_flows::Bundle;
use crate::marks::{Hop, Piece};
use crate::network::Network;
use crate::queues::Order;
use crate::traffic::{Ages, Demand, Route, Shape, Source};
use crate::visits;

/// How long others' windows may wait for one another at RED that long flows fill, as a part of the wait there: beyond, RED
/// drops for their sake.
const MAX_SWELL: f64 = 0.5;

/// How many times as fast as what is forgotten a long flow must be: of the others, more than a twentieth of the packets go to the
/// band before, and overtake the rest.
const FORGOTTEN: f64 = 20.0;

/// The flows that send at a time for each queue of flows up to which two hardly ever share one.
const MAX_SHARED: f64 = 0.05;

/// Bytes of a turn beyond which who comes anew sends several packets before the others.
const MAX_QUANTUM: f64 = 3028.0;

/// Packets that queues of flows must hold together, so that bursts do not push others out.
const MIN_ROOM: f64 = 100.0;

/// Bytes of a full packet.
const FULL: f64 = 1500.0;

/// The load of transfers behind which streams hardly wait that have sent more.
const MAX_YOUNGER: f64 = 0.1;

/// Why nothing is known of bands of a line.
#[derive(Debug, Clone)]
pub(crate) struct Unknown {
    pub(crate) why: String,
    /// The first of them. Those before are served first, whatever comes to these.
    pub(crate) from: usize,
}

impl Unknown {
    /// Of a line whose queue has no closed form.
    pub(crate) fn of_line(line: &Line) -> Option<Unknown> {
        line.lacks.clone().map(|why| Unknown { why, from: 0 })
    }
}

/// What a packet of an unknown band that is being sent may add to a way, as a part of its propagation.
const MAX_RESIDUAL: f64 = 0.1;

/// The round trip in seconds from which on a long flow takes minutes to fill its line again after each cut.
const MAX_ROUND_TRIP: f64 = 0.3;

/// Leaves out long flows over a way so long that they do not fill their line.
pub(crate) fn leave_out_far(sources: &mut [Source], lines: &[Line]) {
    let trip = |route: &Route| -> f64 {
        let hops = route.there.iter().chain(&route.back);
        hops.map(|hop| lines[hop.line].delay).sum()
    };
    for source in sources.iter_mut().filter(|one| matches!(one.demand, Demand::Endless { .. })) {
        let longest = source.routes.iter().map(trip).fold(0.0, f64::max);
        if longest > MAX_ROUND_TRIP {
            source.lacks.get_or_insert_with(|| {
                format!("long flows over a round trip of more than {MAX_ROUND_TRIP} s")
            });
        }
    }
}

/// Marks what has no closed form: sources at such lines or with such marks, and lines at which sources send of
/// which nothing is known.
pub(crate) fn leave_out(network: &mut Network, scenario: &Scenario) {
    loop {
        let mut changed = false;
        for source in &mut network.sources {
            if source.lacks.is_some() {
                continue;
            }
            let is_tcp = !matches!(source.demand, Demand::Packets { .. });
            let sends_several = source.sends_several();
            let mut hops = source.routes.iter().flat_map(|route| {
                let back = if is_tcp { &route.back[..] } else { &[] };
                route.there.iter().chain(back).map(move |hop| (route, hop))
            });
            let lacking = hops.find_map(|(route, hop)| {
                let line = &network.lines[hop.line];
                let bursts = || format!("burst losses at {} under TCP", line.name);
                let in_bursts = (line.loses_in_bursts && is_tcp).then(bursts);
                let overtaking = || overtaking(line, hop);
                let overtakes = sends_several.then(overtaking).flatten();
                let unknown = unknown_at(&network.lines, &network.unknown, route, hop);
                unknown.or(hop.lacks.clone()).or(in_bursts).or(overtakes)
            });
            drop(hops);
            source.lacks = lacking;
            changed |= source.lacks.is_some();
        }
        if !network.tell_what_is_left(scenario) && !changed {
            return;
        }
    }
}

/// Why nothing is known of where the packets of a route go at a line, if nothing is.
fn unknown_at(
    lines: &[Line],
    unknown: &[Option<Unknown>],
    route: &Route,
    hop: &Hop,
) -> Option<String> {
    let Unknown { why, from } = unknown[hop.line].as_ref()?;
    let mut places = hop.pieces.iter().flat_map(|piece| &piece.places);
    let way: f64 = route.there.iter().map(|hop| lines[hop.line].delay).sum();
    let is_slow = lines[hop.line].time(FULL) / 2.0 > MAX_RESIDUAL * way;
    (is_slow || places.any(|place| place.band >= *from)).then(|| why.clone())
}

/// Why there is no closed form for packets of one flow some of which overtake others, in bands that a meter chooses.
fn overtaking(line: &Line, hop: &Hop) -> Option<String> {
    let several = |piece: &Piece| piece.places.iter().any(|one| one.band != piece.places[0].band);
    hop.pieces.iter().any(several).then(|| {
        let what =
            "packets that overtake one another in a flow, because a meter puts them into several \
                bands";
        format!("{what} of {}", line.name)
    })
}

/// The share of a line that what has no closed form may take without making others unknown.
pub(crate) const NEGLIGIBLE_SHARE: f64 = 0.02;

impl Network {
    /// Marks lines with an unknown arrival rate as unknown; returns whether there are more of them.
    fn tell_what_is_left(&mut self, scenario: &Scenario) -> bool {
        let mut found = Vec::new();
        for (number, source) in self.sources.iter().enumerate() {
            if source.lacks.is_none() {
                continue;
            }
            let is_elastic =
                matches!(source.demand, Demand::Closed { .. } | Demand::Endless { .. });
            for hop in source.routes.iter().flat_map(|route| route.there.iter().chain(&route.back))
            {
                let is_open = !is_elastic && !source.varies && hop.lacks.is_none();
                if !is_open && self.max_share(number, hop.line) > NEGLIGIBLE_SHARE {
                    let bands = hop.pieces.iter().flat_map(|piece| &piece.places);
                    let first = bands.map(|place| place.band).min().unwrap_or(0);
                    let has_weights = self.lines[hop.line].queues.weights.is_some();
                    found.push((hop.line, number, if has_weights { 0 } else { first }));
                }
            }
        }
        let mut changed = false;
        for (at, number, from) in found {
            let name = &scenario.workloads[self.sources[number].workload].name;
            let place = &self.lines[at].name;
            if self.unknown[at].as_ref().is_none_or(|unknown| unknown.from > from) {
                let why = format!(
                    "the rate left at {place} by `{name}`, which has no closed form itself"
                );
                self.unknown[at] = Some(Unknown { why, from });
                changed = true;
            }
        }
        changed
    }

    /// The most that a source can take of a line.
    pub(crate) fn max_share(&self, number: usize, at: usize) -> f64 {
        let source = &self.sources[number];
        let entries = self.loads.by_line[at].iter().filter(|entry| entry.source == number);
        let busy: f64 = entries.map(|entry| entry.busy).sum();
        let visits = match &source.demand {
            Demand::Packets { per_second, .. } | Demand::Open { per_second, .. } => *per_second,
            // Round trips take some time at least.
            Demand::Closed { sessions, pause, .. } => {
                let trip = |route: &Route| -> f64 {
                    let hops = route.there.iter().chain(&route.back);
                    hops.map(|hop| self.lines[hop.line].delay).sum()
                };
                let min = source.routes.iter().map(trip).fold(f64::INFINITY, f64::min);
                sessions / (pause + min.max(busy)).max(1e-9)
            }
            Demand::Endless { .. } => {
                let is_data =
                    source.routes.iter().any(|route| route.there.iter().any(|hop| hop.line == at));
                return if is_data { 1.0 } else { self.answers(number, at) };
            }
        };
        visits * busy
    }

    /// The most that what acknowledges long flows takes of a line.
    fn answers(&self, number: usize, at: usize) -> f64 {
        let source = &self.sources[number];
        let header = f64::from(source.tcp.header);
        let packet = header + f64::from(source.tcp.mss);
        let fastest = |route: &Route| {
            route.there.iter().map(|hop| self.lines[hop.line].rate).fold(f64::INFINITY, f64::min)
        };
        let rate: f64 = source.routes.iter().map(fastest).sum();
        rate / packet * self.lines[at].time(header) / acknowledged_segments(&source.tcp)
    }

    /// Omits closed loops whose times exceed the range of closed forms, and the traffic that shares lines with an
    /// unknown load.
    pub(crate) fn leave_out_beside_unknown(&mut self, scenario: &Scenario) {
        for Overfull { line, part } in overfull(self) {
            let name = &self.lines[line].name;
            let why = format!("a load of {part:.3} at {name}, which exceeds its capacity");
            self.unknown[line] = Some(Unknown { why, from: 0 });
        }
        loop {
            let mut changed = false;
            for at in 0..self.sources.len() {
                let source = &self.sources[at];
                if source.lacks.is_some() {
                    continue;
                }
                let own = match &source.demand {
                    Demand::Closed { visit, .. } => {
                        visits::mean_time(self, at, visit).err().map(|why| why.to_string())
                    }
                    _ => None,
                };
                let is_tcp = !matches!(source.demand, Demand::Packets { .. });
                let hops = source.routes.iter().flat_map(|route| {
                    let back = if is_tcp { &route.back[..] } else { &[] };
                    route.there.iter().chain(back).map(move |hop| (route, hop))
                });
                let mut unknown = hops
                    .filter_map(|(route, hop)| unknown_at(&self.lines, &self.unknown, route, hop));
                let lacks = own.or_else(|| unknown.next());
                drop(unknown);
                changed |= lacks.is_some();
                self.sources[at].lacks = lacks;
            }
            if !self.tell_what_is_left(scenario) && !changed {
                return;
            }
        }
    }

    /// Flows that are held back at one line and pass another where others are.
    pub(crate) fn leave_out_passing(&mut self) {
        let held: Vec<usize> = self.bundles.iter().map(|bundle| bundle.bottleneck).collect();
        let mut found = Vec::new();
        for bundle in &self.bundles {
            let other = self
                .hops(bundle)
                .iter()
                .find(|hop| held.contains(&hop.line) && hop.line != bundle.bottleneck);
            if let Some(hop) = other {
                let places = (&self.lines[hop.line].name, &self.lines[bundle.bottleneck].name);
                found.push((
                    bundle.source,
                    format!(
                        "long flows that pass the bottleneck {} of \
                    other flows, and have their own bottleneck at {}",
                        places.0, places.1
                    ),
                ));
            }
        }
        for (source, why) in found {
            for route in &self.sources[source].routes {
                for hop in route.there.iter().chain(&route.back) {
                    self.unknown[hop.line]
                        .get_or_insert_with(|| Unknown { why: why.clone(), from: 0 });
                }
            }
            self.sources[source].lacks = Some(why);
        }
    }

    /// What is sent whatever becomes of it, or without an end, has no closed form at a band without one; for visits
    /// that depends on their size.
    pub(crate) fn tell_what_is_unknown(&mut self) {
        for (line, met) in self.lines.iter().zip(&mut self.met) {
            for (band, met) in line.bands().iter().zip(met).filter(|(_, met)| met.is_filled) {
                if !band.curves.is_empty() && met.swell > MAX_SWELL * met.wait {
                    met.lacks.get_or_insert_with(|| {
                        let what = "RED before";
                        let why = "which windows of other flows fill more than the long flows do";
                        format!("{what} {}, {why}", line.name)
                    });
                }
            }
        }
        self.leave_out_acting();
        self.leave_out_lifted_averages();
        self.leave_out_beyond_profiles();
        self.leave_out_shared_turns();
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
                let places = pieces.flat_map(|(piece, _)| &piece.places);
                places.map(|place| &self.met[hop.line][place.band])
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

    /// Omits queues whose behaviour has no closed form once packets wait that long.
    fn leave_out_acting(&mut self) {
        for (line, met) in self.lines.iter().zip(&mut self.met) {
            let is_one_filled = met.iter().any(|met| met.is_filled);
            for (band, met) in line.bands().iter().zip(met) {
                let Some(acts) = &band.acts else { continue };
                let queue = met.packets * met.wait;
                let is_filled = met.is_filled || acts.shares_room && is_one_filled;
                if is_filled || queue > acts.from_packets || met.wait > acts.from_wait {
                    met.lacks.get_or_insert_with(|| format!("{} at {}", acts.why, line.name));
                }
            }
        }
    }

    /// Omits flow queues that several flows or hosts share, and those whose turns let short transfers pass.
    fn leave_out_shared_turns(&mut self) {
        for at in 0..self.lines.len() {
            for band in 0..self.met[at].len() {
                let (line, met) = (&self.lines[at], &self.met[at][band]);
                let queue = &line.bands()[band];
                let Some(turns) = queue.turns else { continue };
                let busy = (met.utilisation / (1.0 - met.before).max(1e-3)).min(0.99);
                let active = if met.is_filled { met.permanent } else { busy / (1.0 - busy) };
                let why = if active > MAX_SHARED * turns.queues {
                    "so few queues that flows share them"
                } else if turns.quantum > MAX_QUANTUM && (met.is_filled || busy > 0.5) {
                    "turns of more than two packets"
                } else if queue.room(FULL) < MIN_ROOM {
                    "so small a buffer that flows push one another out"
                } else if turns.hosts.is_some_and(|by| !self.has_a_flow_for_each_host(at, by)) {
                    "hosts with several workloads that divide their share"
                } else {
                    continue;
                };
                let why = format!("{why} at {}", line.name);
                self.met[at][band].lacks.get_or_insert(why);
            }
        }
    }

    /// Whether no two routes over a line have a host in common that it is shared by.
    fn has_a_flow_for_each_host(&self, at: usize, by: Fairness) -> bool {
        let mut hosts = Vec::new();
        for route in self.sources.iter().flat_map(|source| &source.routes) {
            let there = route.there.iter().any(|hop| hop.line == at).then_some(route.ends);
            let turned = (route.ends.1, route.ends.0);
            let back = route.back.iter().any(|hop| hop.line == at).then_some(turned);
            for (from, to) in there.into_iter().chain(back) {
                hosts.extend((by != Fairness::Destination).then_some((0, from)));
                hosts.extend((by != Fairness::Source).then_some((1, to)));
            }
        }
        let all = hosts.len();
        hosts.sort();
        hosts.dedup();
        hosts.len() == all
    }

    /// Omits traffic that shares a line, flow by flow, with a stream that needs more than its share.
    fn leave_out_beside_fast_streams(&mut self) {
        let mut found = Vec::new();
        for source in &self.sources {
            for route in &source.routes {
                for hop in &route.there {
                    let mut bands = self.lines[hop.line].bands().iter().zip(&self.met[hop.line]);
                    let is_meant =
                        bands.any(|(band, met)| band.order != Order::Fifo && met.is_filled);
                    if is_meant && datagrams::check_turn(self, source, route, hop).is_err() {
                        let name = &self.lines[hop.line].name;
                        let why = format!(
                            "sharing {name} with a stream that needs more than half of its share"
                        );
                        found.push((hop.line, why));
                    }
                }
            }
        }
        for (at, why) in found {
            for (band, met) in self.lines[at].bands().iter().zip(&mut self.met[at]) {
                if band.order != Order::Fifo {
                    met.lacks.get_or_insert_with(|| why.clone());
                }
            }
        }
    }

    /// Leaves out long flows that are hardly faster than what markers forget of them, and what shares their line: their marks
    /// change with their windows.
    fn leave_out_nearly_forgotten(&mut self) {
        for bundle in &self.bundles {
            let forgets = self.hops(bundle).iter().map(|hop| hop.forgets).fold(0.0, f64::max);
            if bundle.rate * bundle.packet < FORGOTTEN * forgets * bundle.connections {
                let what = "long flows close to the rate that the marker forgets";
                let why = format!("{what} at {}", self.lines[bundle.bottleneck].name);
                for met in &mut self.met[bundle.bottleneck] {
                    met.lacks.get_or_insert_with(|| why.clone());
                }
            }
        }
    }

    /// Omits long flows whose acknowledgements overload a line, and the traffic at the line that they would fill.
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
                "long flows whose acknowledgements fill {} and are delayed there",
                self.lines[hop.line].name
            );
            for met in &mut self.met[bundle.bottleneck] {
                met.lacks.get_or_insert_with(|| why.clone());
            }
        }
    }

    /// Whether flows of a source have sent more, when measuring begins, than any visit puts on a line.
    fn is_older_than_transfers(&self, source: &Source, at: usize) -> bool {
        let Demand::Packets { ages, .. } = &source.demand else { return false };
        let over = self.sources.iter().filter(|other| other.passes(at));
        let sizes = over.flat_map(|other| match &other.demand {
            Demand::Open { visit, .. } | Demand::Closed { visit, .. } => &visit.messages[..],
            _ => &[],
        });
        let largest = sizes.flat_map(|message| &message.sizes).map(|(size, _)| *size);
        ages.share(0.0, largest.fold(0.0, f64::max)) == 0.0
    }

    /// Why there is no closed form for streams of a source at a line that serves who has sent least, if others go
    /// before them: transfers, which are younger, or long flows where those get no more.
    fn behind_others(&self, source: &Source, rate: f64) -> Option<String> {
        let by_attained = |hop: &&Hop| {
            let bands = self.lines[hop.line].bands();
            bands[hop.pieces[0].places[0].band].order == Order::LeastAttained
        };
        let hops = source.routes.iter().flat_map(|route| match source.demand {
            Demand::Packets { .. } => route.there.iter().chain(&[]),
            _ => route.there.iter().chain(&route.back),
        });
        let mut hops = hops.filter(by_attained);
        let at = hops.find(|hop| {
            let band = hop.pieces[0].places[0].band;
            let entries = self.loads.by_line[hop.line].iter();
            let entries = entries.filter(|entry| entry.is_tcp && entry.band == band);
            let young: f64 = entries.map(|entry| self.visits[entry.source] * entry.busy).sum();
            // Who has sent more than any transfer is behind all of them; others are now before and now behind.
            let is_between = !self.is_older_than_transfers(source, hop.line);
            let mut held = self.bundles.iter().filter(|bundle| bundle.bottleneck == hop.line);
            let is_slow =
                |bundle: &Bundle| bundle.rate * bundle.packet <= rate * bundle.connections;
            young > MAX_YOUNGER && is_between || held.any(is_slow)
        })?;
        let name = &self.lines[at.line].name;
        Some(format!("streams behind flows that have sent less at {name}"))
    }
}
