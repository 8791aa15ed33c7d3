//! Traffic of which the waits and rates that go together show that it has no closed form.

use shortflow_elements::queue::Fairness;
use shortflow_models::{ModelError, Range, cubic};

use crate::band::{FULL, Order};
use crate::bundles::{Bundle, RENO_KEEPS};
use crate::datagrams;
use crate::joint_loss;
use crate::markers::FASTER;
use crate::marks::Hop;
use crate::network::Network;
use crate::sizes::mean;
use crate::traffic::{Ages, Demand, Message, Shape, Source, Visit};
use crate::within::value;

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
pub(crate) const MIN_ROOM: f64 = 100.0;

/// What flows without profiles of their own may lose at RED of several levels that long flows fill, as a part of the line. The
/// model counts lost packets as sent: where more is lost, senders back off, long flows get what is left and send beyond
/// their profiles, and the queue settles far below the predicted one.
const MAX_LOST_BESIDE: f64 = 0.05;

/// How many times the window of Reno CUBIC's may be at the same loss, at RED. Its window falls with the loss to the power of
/// 3/4 instead of 1/2: with three times the window the loss, and the queue above its threshold, is 3^(4/3) = 4.3 times as large.
const MAX_OF_RENO: f64 = 3.0;

/// The load of transfers behind which streams hardly wait that have sent more.
const MAX_YOUNGER: f64 = 0.1;

impl Network {
    /// What is sent whatever becomes of it, or without an end, has no closed form at a band without one; for visits
    /// that depends on their size.
    pub(crate) fn tell_what_is_unknown(&mut self) {
        for (line, met) in self.lines.iter().zip(&mut self.met) {
            for (band, met) in line.bands().iter().zip(met).filter(|(_, met)| met.is_filled) {
                if !band.curves.is_empty() && met.swell > MAX_SWELL * met.wait {
                    met.lacks.get_or_insert_with(|| {
                        let why =
                            "bursts of other flows fill its queue more than the long flows do";
                        format!("RED at {}: {why}", line.name)
                    });
                }
            }
        }
        self.leave_out_lost_beside();
        self.leave_out_acting();
        self.leave_out_lifted_averages();
        self.find_crossings();
        self.leave_out_beyond_profiles();
        self.leave_out_shared_turns();
        self.leave_out_held_by_answers();
        self.leave_out_beside_fast_streams();
        self.leave_out_nearly_forgotten();
        // Last: the rates that it keeps hold only where nothing else is wrong.
        self.leave_out_beyond_reno();
        for at in 0..self.sources.len() {
            let source = &self.sources[at];
            if source.lacks.is_some() {
                continue;
            }
            if let Demand::Open { visit, .. } | Demand::Closed { visit, .. } = &source.demand {
                if visit.shape == Shape::Echo {
                    let lacks = self.behind_others(source, 0.0);
                    self.sources[at].lacks = lacks.or_else(|| self.forgotten_waiting(at, visit));
                }
                continue;
            }
            let ages = match source.demand {
                Demand::Packets { ages, .. } => ages,
                _ => Ages::ENDLESS,
            };
            let hops = source.routes.iter().flat_map(|route| &route.there);
            let is_endless = matches!(source.demand, Demand::Endless { .. });
            let met = hops.flat_map(|hop| {
                let pieces = ages.pieces(hop).filter(|(_, share)| *share > 0.0);
                let places = pieces.flat_map(|(piece, _)| &piece.places);
                places.map(|place| &self.met[hop.line][place.band])
            });
            let mut met = met.filter(|met| !(is_endless && met.keeps_rates));
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

    /// Omits RED of several levels at whose predicted queue others than the long flows that fill it lose much of the line.
    fn leave_out_lost_beside(&mut self) {
        for at in 0..self.lines.len() {
            let line = &self.lines[at];
            for band in 0..self.met[at].len() {
                let met = &self.met[at][band];
                if !met.is_filled || line.bands()[band].curves.is_empty() || met.loss.len() < 2 {
                    continue;
                }
                let entries = self.loads.by_line[at].iter().filter(|entry| entry.band == band);
                let lost = entries.map(|entry| {
                    let dropped = joint_loss::without(met.loss[entry.level], line.link_loss);
                    self.visits[entry.source]
                        * value(entry.share, &self.within)
                        * entry.busy
                        * dropped
                });
                let what = "the share of the line that other flows lose at its RED";
                let checked = Range::from_to(0.0, MAX_LOST_BESIDE).check(what, lost.sum());
                if let Err(error) = checked {
                    let why = format!("at {} {error}", line.name);
                    self.met[at][band].lacks.get_or_insert(why);
                }
            }
        }
    }

    /// Omits RED that flows of CUBIC fill whose windows are much larger than those of Reno, on which its model rests. Where the
    /// line carries nothing else, only its waits and losses are unknown.
    fn leave_out_beyond_reno(&mut self) {
        for bundle in self.bundles.iter().filter(|bundle| bundle.kept > RENO_KEEPS) {
            let at = bundle.bottleneck;
            let hop = self.hops(bundle).iter().find(|hop| hop.line == at);
            let Some((band, shares)) = hop.map(|hop| self.last(hop)) else { continue };
            let met = &self.met[at][band];
            if !met.is_filled || self.lines[at].bands()[band].curves.is_empty() {
                continue;
            }
            let (trip, loss) = (self.round_trip(bundle), met.loss_of(&shares));
            let windows = || {
                let cubic = cubic::mean_window(trip, f64::INFINITY, loss)?;
                Ok::<f64, ModelError>(cubic / cubic::aimd_window(1.0, RENO_KEEPS, loss)?)
            };
            let what = "the window of CUBIC relative to that of Reno at the same loss";
            let checked =
                windows().and_then(|part| Range::from_to(1.0, MAX_OF_RENO).check(what, part));
            if let Err(error) = checked {
                let why = format!("RED at {}: {error}", self.lines[at].name);
                let keeps_rates = self.is_alone(bundle.source, at);
                let met = &mut self.met[at][band];
                met.keeps_rates |= met.lacks.is_none() && keeps_rates;
                met.lacks.get_or_insert(why);
            }
        }
    }

    /// Whether a line carries nothing but long flows of a source, which then get it however long its queue is.
    fn is_alone(&self, source: usize, at: usize) -> bool {
        let mut held = self.bundles.iter().filter(|bundle| bundle.bottleneck == at);
        self.loads.by_line[at].is_empty() && held.all(|bundle| bundle.source == source)
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
                    let is_meant = bands.any(|(band, met)| {
                        band.order != Order::Fifo && met.is_filled
                            || datagrams::is_fair_among_windows(band, met)
                    });
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

    /// Why there is no closed form for echoes of sessions that would send faster than what markers forget of them, but do not
    /// where they wait as long as their marks let them: then their marks change.
    fn forgotten_waiting(&self, at: usize, visit: &Visit) -> Option<String> {
        let source = &self.sources[at];
        let Demand::Closed { sessions, .. } = &source.demand else { return None };
        let header = f64::from(source.tcp.header);
        let bytes = |message: &Message| mean(&message.sizes, |size| size + header);
        let largest = visit.messages.iter().map(bytes).fold(0.0, f64::max);
        let rate = self.visits[at] / sessions * largest;
        let mut hops = source.routes.iter().flat_map(|route| route.there.iter().chain(&route.back));
        let hop = hops.find(|hop| hop.pieces.len() > 1 && rate < FASTER * hop.forgets)?;
        let name = &self.lines[hop.line].name;
        Some(format!("sessions that wait until the marker forgets what they sent, at {name}"))
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
