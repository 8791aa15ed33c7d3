//! How long packets wait at the bands of a line, and what is lost there.

use shortflow_models::finite_room::{FiniteRoom, MOST_ROOM};
use shortflow_models::queueing::{CustomerClass, priority_waits};
use shortflow_models::red::{Gate, Steady};

use crate::datagrams::poisson_alone;
use crate::lines::Order;
use crate::network::{Met, Network};
use crate::visits::slowdown;

/// The load that closed loops can come to while their rates are looked for.
const MOST_ON_THE_WAY: f64 = 0.999;

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
        let line = &self.lines[at];
        let mut changed = 0.0f64;
        for (band, met) in found.iter_mut().enumerate() {
            let old = &self.met[at][band];
            let wait = waits[band].unwrap_or(0.0);
            if !met.is_filled {
                let up_to: f64 = classes[..=band].iter().map(CustomerClass::load).sum();
                let behind: f64 = classes[band + 1..].iter().map(residual).sum();
                let free = (1.0 - up_to + classes[band].load()) * (1.0 - up_to);
                let own = (wait - behind / free.max(1e-3)).max(0.0);
                (met.wait, met.bunched, met.loss) =
                    self.drops(at, band, &classes[band], (wait, own), up_to);
            } else if line.order != Order::Bands {
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
        match self.lines[at].order {
            // Who sends little finds a turn at once, but for the packet that is being sent.
            Order::Fair | Order::LeastAttained => {
                classes.iter().map(|class| Some(residual(class))).collect()
            }
            // What one line brings that is no faster than this does not wait again.
            Order::Bands if self.is_fed_slowly(at) => vec![Some(0.0); classes.len()],
            Order::Bands => {
                (0..classes.len()).map(|band| in_bursts(classes, found, band)).collect()
            }
        }
    }

    /// Whether all that comes to a line comes from one that is no faster.
    fn is_fed_slowly(&self, at: usize) -> bool {
        let rate = self.lines[at].rate;
        self.feeders[at].is_some_and(|feeder| self.lines[feeder].rate <= rate)
    }

    /// What Poisson streams alone meet at a plain queue with room for so many packets, where more than hardly any find none.
    fn finite(&self, at: usize, room: f64, full: f64) -> Option<FiniteRoom> {
        let is_worth_while = full > WORTH_WHILE && room <= f64::from(MOST_ROOM);
        let streams = is_worth_while.then(|| poisson_alone(self, at)).flatten()?;
        FiniteRoom::of(&streams, room as u32).ok()
    }

    /// The wait at a band that no long flow fills, no longer than its room, and what is lost of each level: what
    /// RED drops at the mean queue, and what finds the room full, as far as a wait for bands up to its `own` with this
    /// mean is exponential. Of such a wait the band's own packets have the part that they have of the load: a call behind
    /// others waits long, and leaves its room empty all the same.
    fn drops(
        &self,
        at: usize,
        band: usize,
        class: &CustomerClass,
        (wait, own): (f64, f64),
        load: f64,
    ) -> (f64, f64, Vec<f64>) {
        let (line, queue) = (&self.lines[at], &self.lines[at].bands[band]);
        let time = match class.mean_service {
            service if service > 0.0 => service,
            _ => line.time(1.0),
        };
        let packet = time * line.rate;
        let part = if load > 0.0 { class.load() / load } else { 1.0 };
        let room = queue.room(packet) * time / (1.0 - self.met[at][band].before).max(1e-3) / part;
        let full = if own > 0.0 { load * libm::exp(-load * room / own) } else { 0.0 };
        let curves = queue.curves_in(packet);
        let (wait, full) = match self.finite(at, queue.room(packet), full) {
            Some(exact) if curves.is_empty() => (exact.wait, exact.lost),
            _ => (wait.min(room), full),
        };
        let gate = Gate {
            levels: &curves,
            spacing: queue.spacing,
            limit: queue.room(packet),
            capacity: 1.0,
            others: 0.0,
        };
        let steady = Steady { queue: class.arrival_rate * wait, above: 1.0 };
        let loss = (0..queue.levels()).map(|level| {
            let mut one = vec![0.0; curves.len()];
            one.iter_mut().skip(level).take(1).for_each(|share| *share = 1.0);
            let dropped = if curves.is_empty() { 0.0 } else { gate.loss(steady, &one) };
            1.0 - (1.0 - dropped) * (1.0 - full) * (1.0 - line.link_loss)
        });
        (wait, full, loss.collect())
    }
}

/// The share of packets without room from which on it is worked out exactly, where it can be.
const WORTH_WHILE: f64 = 1e-9;

/// Classes that a model takes: with a service where nobody comes, and below a load of 1 in all where the rates of
/// closed loops are still looked for.
fn served(classes: &[CustomerClass], is_closed: bool) -> Vec<CustomerClass> {
    let all: f64 = classes.iter().map(CustomerClass::load).sum();
    let part = if is_closed && all > MOST_ON_THE_WAY { MOST_ON_THE_WAY / all } else { 1.0 };
    let served = |class: &CustomerClass| match class.arrival_rate > 0.0 {
        true => CustomerClass { arrival_rate: class.arrival_rate * part, ..*class },
        false => CustomerClass::constant(0.0, 1.0),
    };
    classes.iter().map(served).collect()
}

/// Makes the time that closed loops take of a band into how many of them it serves at a time, by Little's law: as long
/// as it takes, slowed by all that is there. By which part that changed.
fn serve(met: &mut Met, old: &Met) -> f64 {
    let slow = slowdown(old, None, 1.0);
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

/// What is left of the service of a class that is found in service.
fn residual(class: &CustomerClass) -> f64 {
    class.arrival_rate * class.second_moment / 2.0
}
