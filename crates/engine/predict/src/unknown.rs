//! Traffic without a closed form, and the figures that it makes unknown.

use shortflow_scenario::Scenario;

use crate::band::FULL;
use crate::invariants::{Overfull, overfull};
use crate::lines::Line;
use crate::marks::{Hop, Piece};
use crate::network::Network;
use crate::slow_start::acknowledged_segments;
use crate::traffic::{Demand, Route, Source};
use crate::visits;

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
                let why =
                    format!("it shares {place} with `{name}`, which has no closed form itself");
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
}
