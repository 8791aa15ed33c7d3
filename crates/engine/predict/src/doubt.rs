//! How much of a figure may rest on what closed forms know but roughly: waits behind windows of others, streams of constant rate
//! among Poisson packets, and averages of RED that single messages lift.
//!
//! A wait behind windows is known within about two fifths, so that it may be half of a time. A stream waits behind them up to
//! twice as long or half as long, so that this may be a quarter of its delay; between the turns of classes with windows up to three
//! times as long, so that this may be an eighth. A stream of constant rate may be waited for hardly
//! at all, so that this may be a sixth of a delay. Then a figure is within a fifth, whatever the rough part is.

use shortflow_models::Range;

use crate::band::Order;
use crate::crossing;
use crate::datagrams::poisson_alone;
use crate::marks::Hop;
use crate::met::Met;
use crate::network::Network;
use crate::range::{Lack, is_smooth};
use crate::slow_start::windows;
use crate::traffic::{Demand, Route, Shape, Source};

/// The part of a time that others may add; and of an echo's time, or a stream's delay.
const MAX_ADDED: f64 = 0.5;
const MAX_ADDED_TO_STREAM: f64 = 0.25;

/// The part of a delay that waits for the turns of other classes may be.
const MAX_FOR_TURNS: f64 = 0.125;

/// The part of a delay that waits for streams of constant rate may be.
const MAX_FOR_CONSTANT: f64 = 1.0 / 6.0;

/// The share of a band that messages may take which lift the average of its RED by themselves.
const MAX_LIFTING: f64 = 0.05;

/// Refuses a mean time of a source whose visits take `alone` over empty lines, where others add too much of it.
pub(crate) fn check_time(
    network: &Network,
    source: usize,
    seconds: f64,
    alone: f64,
) -> Result<(), Lack> {
    let source = &network.sources[source];
    // A request and its reply, or a handshake and a message.
    crossing::check(network, source, seconds, 2.0)?;
    if network.is_well_known(source) {
        return Ok(());
    }
    let most = match &source.demand {
        Demand::Closed { visit, .. } if visit.shape == Shape::Echo => MAX_ADDED_TO_STREAM,
        _ => MAX_ADDED,
    };
    let what = "the share of waits and losses in the time";
    Ok(Range::from_to(0.0, most).check(what, 1.0 - alone / seconds).map(|_| ())?)
}

/// Refuses a mean delay of a stream of `packet` bytes where waits that are known but roughly are too much of it.
pub(crate) fn check_delay(
    network: &Network,
    source: &Source,
    seconds: f64,
    wait: &dyn Fn(&Hop) -> f64,
) -> Result<(), Lack> {
    let hops =
        || source.routes.iter().flat_map(|route| route.there.iter().map(move |hop| (route, hop)));
    let rough = |hop: &Hop| if network.has_rough_waits(source, hop) { wait(hop) } else { 0.0 };
    let all: f64 = hops().map(|(route, hop)| route.share * rough(hop)).sum();
    let has_weights = |(_, hop): (&Route, &Hop)| network.lines[hop.line].queues.weights.is_some();
    let (what, most) = match hops().any(has_weights) {
        true => ("the share of waits for the turns of other classes in the delay", MAX_FOR_TURNS),
        false => {
            ("the share of waits behind windows of other flows in the delay", MAX_ADDED_TO_STREAM)
        }
    };
    Range::from_to(0.0, most).check(what, all / seconds)?;
    let constant = |hop: &Hop| wait(hop) * network.constant_part(hop.line);
    let all: f64 = hops().map(|(route, hop)| route.share * constant(hop)).sum();
    let what = "the share of waits for streams of constant rate in the delay";
    Range::from_to(0.0, MAX_FOR_CONSTANT).check(what, all / seconds)?;
    Ok(())
}

impl Network {
    /// Whether times of a source rest on forms that are better known: waits at queues that long flows fill, unless objects of a
    /// page share these alike; transfers that come whatever the network does, at queues that flows share alike; or links whose
    /// losses decide.
    fn is_well_known(&self, source: &Source) -> bool {
        let hops = || source.routes.iter().flat_map(|route| route.there.iter().chain(&route.back));
        let is_open = matches!(source.demand, Demand::Open { .. });
        // Objects side by side share with one another, too, and each begins as a flow that goes before the others.
        let has_siblings = match &source.demand {
            Demand::Open { visit, .. } | Demand::Closed { visit, .. } => {
                matches!(visit.shape, Shape::Objects { .. })
            }
            _ => false,
        };
        let is_known = |hop: &Hop| {
            let band = hop.pieces[0].places[0].band;
            let met = &self.met[hop.line][band];
            let is_busy = met.utilisation + met.before > HARDLY_ANY;
            let is_shared = self.lines[hop.line].bands()[band].order != Order::Fifo;
            !is_busy || (met.is_filled && !(has_siblings && is_shared)) || is_open && is_shared
        };
        hops().any(|hop| self.lines[hop.line].link_loss > 0.0) || hops().all(is_known)
    }

    /// Whether waits of a stream at a hop are those behind windows, or between the turns of long flows.
    fn has_rough_waits(&self, stream: &Source, hop: &Hop) -> bool {
        let line = &self.met[hop.line];
        let bands = hop.pieces.iter().flat_map(|piece| &piece.places).map(|place| place.band);
        let last = bands.max().unwrap_or(0);
        let is_rough = |met: &Met| met.has_windows && !met.is_filled && !is_smooth(met);
        // Beside long flows, too, who has sent more waits for whole runs of windows.
        let is_behind_runs = line[last].runs > 0.0 && line[last].behind(stream.workload).is_some();
        line[..=last].iter().any(is_rough) || is_behind_runs || line[last].is_guaranteed
    }

    /// The part of what is waited for at a line that streams of constant rate bring.
    fn constant_part(&self, at: usize) -> f64 {
        // Long flows that fill a queue make the wait there.
        let is_filled = self.met[at].iter().any(|met| met.is_filled);
        if is_filled || poisson_alone(self, at).is_some() {
            return 0.0;
        }
        let squares = |is: &dyn Fn(&Source) -> bool| -> f64 {
            let entries = self.loads.by_line[at].iter().filter(|one| is(&self.sources[one.source]));
            entries.map(|one| self.visits[one.source] * one.burst.max(one.square)).sum()
        };
        let is_constant =
            |source: &Source| matches!(source.demand, Demand::Packets { .. }) && !source.is_poisson;
        squares(&is_constant) / squares(&|_| true).max(f64::MIN_POSITIVE)
    }

    /// Leaves out RED without long flows whose slow average single messages lift to where it drops: what is lost then depends on
    /// when these come.
    pub(crate) fn leave_out_lifted_averages(&mut self) {
        for at in 0..self.lines.len() {
            for band in 0..self.met[at].len() {
                let (queue, met) = (&self.lines[at].bands()[band], &self.met[at][band]);
                if queue.curves.is_empty() || queue.follows || met.is_filled || !met.has_windows {
                    continue;
                }
                let part = self.lifting(at, band) / met.utilisation.max(f64::MIN_POSITIVE);
                if part > MAX_LIFTING {
                    let what = "single messages raise the average of RED to where it drops";
                    let why = format!("{what}, at {}", self.lines[at].name);
                    self.met[at][band].lacks.get_or_insert(why);
                }
            }
        }
    }

    /// The share of a line that messages take in a band whose RED they lift by themselves.
    fn lifting(&self, at: usize, band: usize) -> f64 {
        let each = self.sources.iter().enumerate().map(|(number, source)| {
            let (Demand::Open { visit, .. } | Demand::Closed { visit, .. }) = &source.demand else {
                return 0.0;
            };
            let of_route = |route: &Route| -> f64 {
                let messages = visit.messages.iter().map(|message| {
                    let (hops, back) = match message.is_there {
                        true => (&route.there, &route.back),
                        false => (&route.back, &route.there),
                    };
                    let Some(place) = hops.iter().position(|hop| hop.line == at) else {
                        return 0.0;
                    };
                    let last = hops[place].pieces.last().expect("a hop has a piece");
                    if last.places[0].band != band {
                        return 0.0;
                    }
                    let level = last.places[0].level;
                    let lifts = |size: f64| {
                        let ways = (&hops[..], &back[..]);
                        self.lifts(source, ways, place, (band, level), size * message.in_line)
                    };
                    let line = &self.lines[at];
                    let busy = |size: f64| if lifts(size) { line.time(size) } else { 0.0 };
                    message.count * crate::sizes::mean(&message.sizes, busy)
                });
                self.visits[number] * route.share * messages.sum::<f64>()
            };
            let is_echo = visit.shape == Shape::Echo;
            if is_echo { 0.0 } else { source.routes.iter().map(of_route).sum() }
        });
        each.sum()
    }

    /// Whether a message of this size lifts the average of RED at a hop from its mean to its first threshold: of each window half
    /// waits, as acknowledgements let two packets go for each, and the first comes at once.
    fn lifts(
        &self,
        source: &Source,
        (hops, back): (&[Hop], &[Hop]),
        place: usize,
        (band, level): (usize, usize),
        size: f64,
    ) -> bool {
        let line = &self.lines[hops[place].line];
        let queue = &line.bands()[band];
        let (mss, header) = (f64::from(source.tcp.mss), f64::from(source.tcp.header));
        let packet = mss + header;
        let before = hops[..place].iter().map(|hop| self.lines[hop.line].rate);
        if before.fold(f64::INFINITY, f64::min) <= line.rate {
            return false;
        }
        let curves = queue.curves_in(packet);
        let Some(curve) = curves.get(level).or(curves.first()) else { return false };
        let way = |hops: &[Hop], bytes: f64| -> f64 {
            let lines = hops.iter().map(|hop| &self.lines[hop.line]);
            lines.map(|line| line.time(bytes) + line.delay).sum()
        };
        let trip = way(hops, packet) + way(back, header);
        let times = hops.iter().map(|hop| self.lines[hop.line].time(packet));
        let slowest = times.fold(0.0, f64::max);
        let met = &self.met[hops[place].line][band];
        let usual = met.packets * met.wait;
        let mut average = 0.0;
        for (from, count) in windows((size / mss).ceil(), &source.tcp, trip, slowest) {
            let waits = if from == 0.0 { 1.0 } else { 0.5 };
            let kept = libm::pow(1.0 - queue.weight, count);
            average = kept * average + (1.0 - kept) * waits * count / 2.0;
            if usual + average > curve.min_threshold {
                return true;
            }
        }
        false
    }
}

/// The load of a band that hardly matters.
const HARDLY_ANY: f64 = 0.05;
