//! Waits at the bands of a line.

use shortflow_models::Range;
use shortflow_models::queueing::{CustomerClass, priority_waits};

use crate::band::{Band, FULL, Order};
use crate::drops::Tail;
use crate::load::Entry;
use crate::met::{Behind, Met};
use crate::network::Network;
use crate::traffic::Demand;
use crate::visits::slowdown;
use crate::within::value;

/// The load that closed loops can come to while their rates are looked for.
const MAX_ON_THE_WAY: f64 = 0.999;

impl Network {
    /// Puts waits and losses to what was found at a line; by which part one of them changed.
    pub(crate) fn wait(
        &mut self,
        at: usize,
        classes: &[CustomerClass],
        mut found: Vec<Met>,
    ) -> f64 {
        let is_closed = found.iter().any(|met| !met.closed.is_empty());
        let classes = served(classes, is_closed);
        let waits = self.mean_waits(at, &classes, &found);
        for band in 0..found.len() {
            found[band].behind = self.behind_windows(at, &classes, &found, band);
        }
        let line = &self.lines[at];
        let tails: Vec<Tail> =
            (0..found.len()).map(|band| self.tail(at, &classes, &waits, band)).collect();
        let mut changed = 0.0f64;
        for (band, met) in found.iter_mut().enumerate() {
            let old = &self.met[at][band];
            let wait = waits[band].unwrap_or(0.0);
            if !met.is_filled {
                (met.wait, met.bunched, met.loss) =
                    self.drops(at, band, &classes[band], wait, &tails);
            } else if line.bands()[band].order != Order::Fifo {
                met.wait = wait;
                met.loss = vec![line.link_loss];
            }
            changed = changed.max((met.wait - old.wait).abs() / (old.wait + 1e-6));
            met.wait = self.toward(met.wait, old.wait);
            changed = changed.max(serve(met, old));
        }
        self.met[at] = found;
        changed
    }

    /// The mean wait at each band as far as no long flow fills it; none at a band that has no time left.
    fn mean_waits(&self, at: usize, classes: &[CustomerClass], found: &[Met]) -> Vec<Option<f64>> {
        let is_fed_slowly = self.is_fed_slowly(at);
        let wait = |(band, queue): (usize, &Band)| match queue.order {
            _ if found[band].is_guaranteed => Some(self.guaranteed(at, classes, found, band)),
            Order::Fair | Order::LeastAttained => newcomer(classes, found, band),
            // What one line brings that is no faster than this does not wait again.
            Order::Fifo if is_fed_slowly => Some(0.0),
            Order::Fifo => {
                in_bursts(classes, found, band).map(|wait| wait * found[band].answered())
            }
        };
        self.lines[at].bands().iter().enumerate().map(wait).collect()
    }

    /// Gives classes with weights their parts of a line that long flows of another class fill.
    pub(crate) fn guarantee(&self, at: usize, classes: &[CustomerClass], found: &mut [Met]) {
        if self.lines[at].queues.weights.is_none() {
            return;
        }
        let Some(filled) = found.iter().position(|met| met.is_filled) else { return };
        for (band, met) in found.iter_mut().enumerate().filter(|(band, _)| *band != filled) {
            let free = self.part_by_weight(at, classes, band, filled);
            met.before = 1.0 - free;
            met.is_guaranteed = true;
            if let Err(error) = Range::from_to(0.0, MAX_OF_PART).check(
                "the load of a class relative to the rate that its weight guarantees",
                met.utilisation / free,
            ) {
                met.lacks.get_or_insert(format!("at {} {error}", self.lines[at].name));
            }
        }
    }

    /// What classes before one take of a line, of `before` that they want: with weights no more than their parts where long
    /// flows fill it.
    pub(crate) fn least_before(
        &self,
        at: usize,
        classes: &[CustomerClass],
        (band, is_filled): (usize, bool),
        before: f64,
    ) -> f64 {
        match self.lines[at].queues.weights {
            Some(_) if is_filled => before.min(1.0 - self.part_by_weight(at, classes, band, band)),
            _ => before,
        }
    }

    /// The part of a line that a class with a weight can have at least beside long flows of the class `filled`: these two, and
    /// who wants more than a part, share by weight what the others leave.
    pub(crate) fn part_by_weight(
        &self,
        at: usize,
        classes: &[CustomerClass],
        band: usize,
        filled: usize,
    ) -> f64 {
        let line = &self.lines[at];
        let turns = line.queues.weights.as_ref().expect("a part goes by weights");
        let share = |band: usize| {
            // Long flows decide on the mean size of a class that they fill.
            let flows = self.bundles.iter().filter(|bundle| bundle.bottleneck == at);
            let packet = match classes[band].mean_service {
                _ if band == filled => flows.map(|bundle| line.time(bundle.packet)).next(),
                service if service > 0.0 => Some(service),
                _ => None,
            };
            turns[band].share(packet.unwrap_or_else(|| line.time(FULL)))
        };
        let mut want_more: Vec<bool> =
            (0..classes.len()).map(|one| one == band || one == filled).collect();
        loop {
            let sum = |of: &dyn Fn(usize) -> f64, more: bool| -> f64 {
                (0..classes.len()).filter(|one| want_more[*one] == more).map(of).sum()
            };
            let free = (1.0 - sum(&|one| classes[one].load(), false)).max(0.0);
            let all = sum(&share, true);
            // Who wants most for its weight is the first that has no more than its part.
            let wants = |one: usize| classes[one].load() / share(one);
            let others = (0..classes.len()).filter(|one| !want_more[*one]);
            let greediest = others.max_by(|one, other| wants(*one).total_cmp(&wants(*other)));
            let next = greediest.filter(|one| wants(*one) > free / all);
            match next {
                Some(one) => want_more[one] = true,
                None => return free * share(band) / all,
            }
        }
    }

    /// The mean wait of a class with a part of its own: for the end of the turn of the long flows, and for its own packets.
    fn guaranteed(&self, at: usize, classes: &[CustomerClass], found: &[Met], band: usize) -> f64 {
        let line = &self.lines[at];
        let turns = line.queues.weights.as_ref().expect("a part goes by weights");
        let filled = found.iter().position(|met| met.is_filled).expect("long flows fill one");
        let turn = turns[filled].quantum.max(FULL) / line.rate / 2.0;
        let free = (1.0 - found[band].before).max(1e-3);
        let load = (classes[band].load() / free).min(MAX_ON_THE_WAY);
        let own = match line.bands()[band].order {
            Order::Fifo => residual(&classes[band]) + found[band].bursts / 2.0,
            _ => 0.0,
        };
        turn + own / (free * free) / (1.0 - load)
    }

    /// Whether all that comes to a line comes from one that is no faster.
    fn is_fed_slowly(&self, at: usize) -> bool {
        let rate = self.lines[at].rate;
        self.feeders[at].is_some_and(|feeder| self.lines[feeder].rate <= rate)
    }

    /// What streams wait behind windows of others: those of bands before theirs, and, where who has sent least goes first, of all
    /// transfers and of all slower streams, than which a stream that lasts has sent more (Kleinrock 1976, §4.6). By Cobham's
    /// formula; a run of windows that keeps the line busy is waited for as a whole.
    fn behind_windows(
        &self,
        at: usize,
        classes: &[CustomerClass],
        found: &[Met],
        band: usize,
    ) -> Vec<Behind> {
        let by_attained = self.lines[at].bands()[band].order == Order::LeastAttained;
        let is_behind = found[..band].iter().any(|met| met.has_windows) && !found[band].is_filled;
        if !by_attained && (!is_behind || found[band].is_guaranteed) {
            return Vec::new();
        }
        // Of a flow that lasts, in bytes per second.
        let rate = |entry: &Entry| match &self.sources[entry.source].demand {
            Demand::Packets { ages, .. } => Some(ages.rate),
            Demand::Closed { sessions, visit, .. } if visit.stays() => {
                Some(self.visits[entry.source] * entry.busy * self.lines[at].rate / sessions)
            }
            _ => None,
        };
        let here = || self.loads.by_line[at].iter().filter(|entry| entry.band == band);
        let load = |entry: &Entry| {
            self.visits[entry.source] * value(entry.share, &self.within) * entry.busy
        };
        let earlier: f64 = classes[..band].iter().map(CustomerClass::load).sum();
        let runs: f64 = found[..band].iter().map(|met| met.runs).sum();
        let own = if by_attained { found[band].runs } else { found[band].bursts };
        let left: f64 = classes.iter().map(residual).sum::<f64>() + (runs + own) / 2.0;
        let mut streams: Vec<(usize, f64)> = here()
            .filter(|entry| !entry.is_tcp)
            .filter_map(|entry| Some((entry.source, rate(entry)?)))
            .collect();
        streams.dedup();
        let each = streams.into_iter().map(|(source, own)| {
            let is_before =
                |entry: &&Entry| by_attained && rate(entry).is_none_or(|other| other < own);
            let is_alike = |entry: &&Entry| !by_attained || rate(entry) == Some(own);
            // Who waits for what he gets sends nothing more behind it.
            let again = |entry: &Entry| match self.sources[entry.source].demand {
                Demand::Closed { sessions, .. } => load(entry) * (1.0 - 1.0 / sessions),
                _ => load(entry),
            };
            let before = earlier + here().filter(is_before).map(again).sum::<f64>();
            let with = before + here().filter(is_alike).map(load).sum::<f64>();
            let free = (1.0 - before).max(1e-3) * (1.0 - with).max(1e-3);
            Behind { source, wait: left / free, before }
        });
        each.collect()
    }
}

/// The part of what its weight leaves it that a class may want of a line that long flows fill.
const MAX_OF_PART: f64 = 0.85;

/// Classes that a model takes: with a service where nobody comes, and below a load of 1 in all where the rates of
/// closed loops are still looked for.
fn served(classes: &[CustomerClass], is_closed: bool) -> Vec<CustomerClass> {
    let all: f64 = classes.iter().map(CustomerClass::load).sum();
    let part = if is_closed && all > MAX_ON_THE_WAY { MAX_ON_THE_WAY / all } else { 1.0 };
    let served = |class: &CustomerClass| match class.arrival_rate > 0.0 {
        true => CustomerClass { arrival_rate: class.arrival_rate * part, ..*class },
        false => CustomerClass::constant(0.0, 1.0),
    };
    classes.iter().map(served).collect()
}

/// Makes the time that closed loops take of a band into how many of them it serves at a time, by Little's law: as long
/// as it takes, slowed by all that is there. By which part that changed.
fn serve(met: &mut Met, old: &Met) -> f64 {
    let slow = slowdown(old, old.before, None, 1.0);
    met.closed.iter_mut().for_each(|(_, number)| *number *= slow);
    let sum = |met: &Met| met.closed.iter().map(|(_, number)| number).sum::<f64>();
    let (before, after) = (sum(old), sum(met));
    for (source, number) in &mut met.closed {
        let known = old.closed.iter().find(|(other, _)| other == source);
        *number = f64::midpoint(*number, known.map_or(0.0, |(_, old)| *old));
    }
    (after - before).abs() / (after + 1e-6)
}

/// The mean wait of a band: the packets of a burst that comes before are waited for together, those of bands behind
/// it one by one.
fn in_bursts(classes: &[CustomerClass], found: &[Met], band: usize) -> Option<f64> {
    let with = |(at, class): (usize, &CustomerClass)| {
        let more = if at <= band && class.arrival_rate > 0.0 {
            found[at].bursts / class.arrival_rate
        } else {
            0.0
        };
        CustomerClass { second_moment: class.second_moment + more, ..*class }
    };
    let classes: Vec<CustomerClass> = classes.iter().enumerate().map(with).collect();
    priority_waits(&classes).ok()?[band]
}

/// The mean wait of who sends little at a band where flows have their turns: he finds one at once, but for the packet that is
/// being sent and for what goes before the band.
fn newcomer(classes: &[CustomerClass], found: &[Met], band: usize) -> Option<f64> {
    let before: f64 = classes[..band].iter().map(CustomerClass::load).sum();
    let bursts: f64 = found[..band].iter().map(|met| met.bursts / 2.0).sum();
    let left: f64 = classes.iter().map(residual).sum::<f64>() + bursts;
    (before < 1.0).then(|| left / (1.0 - before) / (1.0 - before))
}

/// What is left of the service of a class that is found in service.
pub(crate) fn residual(class: &CustomerClass) -> f64 {
    class.arrival_rate * class.second_moment / 2.0
}
