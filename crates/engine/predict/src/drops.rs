//! What the queue of a band drops: by RED at the mean queue, and what finds no room.

use shortflow_elements::queue::Averages;
use shortflow_models::finite_room::{FiniteRoom, MAX_ROOM};
use shortflow_models::queueing::CustomerClass;
use shortflow_models::red::{Gate, Steady};
use shortflow_units::Length;

use crate::datagrams::poisson_alone;
use crate::joint_loss;
use crate::network::Network;
use crate::traffic::Demand;
use crate::waits::residual;
use crate::within::value;

impl Network {
    /// The wait at a band that no long flow fills, no longer than its room, and what is lost of each level: what
    /// RED drops at the mean queue, and what finds the room full.
    pub(crate) fn drops(
        &self,
        at: usize,
        band: usize,
        class: &CustomerClass,
        wait: f64,
        tails: &[Tail],
    ) -> (f64, f64, Vec<f64>) {
        let (line, queue) = (&self.lines[at], &self.lines[at].bands()[band]);
        let Tail { load, each, packet, .. } = tails[band];
        let room = queue.room(packet) * each;
        let full = tails[band].beyond(queue.room(packet));
        // Averages are of all times, in which packets are of mean size.
        let packet = if class.mean_service > 0.0 { class.mean_service * line.rate } else { packet };
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
        let counted = if queue.follows { self.counted(at, band) } else { Vec::new() };
        let loss = (0..queue.levels()).map(|level| {
            let mut one = vec![0.0; curves.len()];
            one.iter_mut().skip(level).take(1).for_each(|share| *share = 1.0);
            let dropped = match queue.follows {
                _ if queue.precedences.is_some() => self.below_allowed(at, level, tails),
                _ if curves.is_empty() => 0.0,
                true => gate.loss_of_queue(level, load, counted[level] * steady.queue),
                false => gate.loss(steady, &one),
            };
            joint_loss::any([dropped, full, line.link_loss].into_iter())
        });
        (wait, full, loss.collect())
    }

    /// What Poisson streams alone meet at a plain queue with room for so many packets, where more than hardly any find none.
    fn finite(&self, at: usize, room: f64, full: f64) -> Option<FiniteRoom> {
        let is_worth_while = full > WORTH_WHILE && room <= f64::from(MAX_ROOM);
        let streams = is_worth_while.then(|| poisson_alone(self, at)).flatten()?;
        FiniteRoom::new(&streams, room as u32).ok()
    }

    /// How many packets of a band wait, as far as a wait for bands up to its own with its mean is exponential. Of such a wait
    /// the band's own packets have the part that they have of the load: a call behind others waits long, and leaves its room
    /// empty all the same.
    pub(crate) fn tail(
        &self,
        at: usize,
        classes: &[CustomerClass],
        waits: &[Option<f64>],
        band: usize,
    ) -> Tail {
        let line = &self.lines[at];
        let wait = waits[band].unwrap_or(0.0);
        let load: f64 = classes[..=band].iter().map(CustomerClass::load).sum();
        let behind: f64 = classes[band + 1..].iter().map(residual).sum();
        let free = (1.0 - load + classes[band].load()) * (1.0 - load);
        let own = (wait - behind / free.max(1e-3)).max(0.0);
        let time = match classes[band].mean_service {
            service if service > 0.0 && own > 0.0 => {
                self.queued_packet(at, band, &classes[band], load / own)
            }
            service if service > 0.0 => service,
            _ => line.time(1.0),
        };
        let part = if load > 0.0 { classes[band].load() / load } else { 1.0 };
        let each = time / (1.0 - self.met[at][band].before).max(1e-3) / part;
        let each = match line.bands()[band].limit {
            // Behind a packet that has waited stand all that came meanwhile, however small: the burst before it has gone.
            Length::Packets(_) => each.min(1.0 / classes[band].arrival_rate),
            Length::Bytes(_) => each,
        };
        Tail { load, own, each, packet: time * line.rate }
    }

    /// The mean seconds of the packets in a long queue of a band, whose length falls off by e in 1/`decay` seconds. Those of bursts
    /// make queues long, and small packets one by one do not: of what comes in bursts of b seconds, e^(decay·b) times its
    /// share is in a long queue (the exponential change of measure: Asmussen, *Applied Probability and Queues*, 2003, ch. XIII).
    fn queued_packet(&self, at: usize, band: usize, class: &CustomerClass, decay: f64) -> f64 {
        let (mut busy, mut packets) = (0.0, 0.0);
        let (mut rest_busy, mut rest_packets) = (class.load(), class.arrival_rate);
        for entry in self.loads.by_line[at].iter().filter(|entry| entry.band == band) {
            let rate = self.visits[entry.source] * value(entry.share, &self.within);
            let source = &self.sources[entry.source];
            let is_unknown =
                source.lacks.is_some() && matches!(source.demand, Demand::Closed { .. });
            if entry.busy <= 0.0 || rate <= 0.0 || is_unknown {
                continue;
            }
            let more = libm::exp((decay * entry.burst / entry.busy).min(MAX_TWIST));
            busy += more * rate * entry.busy;
            packets += more * rate * entry.packets;
            rest_busy -= rate * entry.busy;
            rest_packets -= rate * entry.packets;
        }
        if rest_packets > NEGLIGIBLE * class.arrival_rate && rest_busy > 0.0 {
            busy += rest_busy;
            packets += rest_packets;
        }
        if packets > 0.0 { busy / packets } else { class.mean_service }
    }

    /// The probability that one of the buffers of SIMA is so full that a drop precedence is below the allowed one.
    fn below_allowed(&self, at: usize, level: usize, tails: &[Tail]) -> f64 {
        let bands = self.lines[at].bands().iter().zip(tails);
        joint_loss::any(bands.map(|(band, tail)| tail.beyond(band.room_for(level, tail.packet))))
    }

    /// The part of a band's packets that the average of each level of its RED counts.
    fn counted(&self, at: usize, band: usize) -> Vec<f64> {
        let queue = &self.lines[at].bands()[band];
        let mut packets = vec![0.0; queue.levels()];
        for entry in self.loads.by_line[at].iter().filter(|entry| entry.band == band) {
            let rate = self.visits[entry.source] * value(entry.share, &self.within);
            packets[entry.level] += rate * entry.packets;
        }
        for bundle in &self.bundles {
            let hop = self.hops(bundle).iter().find(|hop| hop.line == at);
            if let Some((_, shares)) = hop.map(|hop| self.last(hop)).filter(|(own, _)| *own == band)
            {
                let all = packets.iter_mut().zip(shares);
                all.for_each(|(packets, share)| *packets += bundle.rate * share);
            }
        }
        let all: f64 = packets.iter().sum();
        let up_to = |level: usize| match queue.averages {
            _ if all == 0.0 => 1.0,
            Averages::Shared => 1.0,
            Averages::PerLevel => packets[level] / all,
            Averages::Coupled => packets[..=level].iter().sum::<f64>() / all,
        };
        (0..packets.len()).map(up_to).collect()
    }
}

/// The most by which the logarithm of a burst's share of a queue rises.
const MAX_TWIST: f64 = 10.0;

/// A share of a class that is rounding.
const NEGLIGIBLE: f64 = 1e-6;

/// How long a band's own packets are in line.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tail {
    /// The load with all that goes before, and the mean wait for it in seconds.
    load: f64,
    own: f64,
    /// The seconds of that wait for each packet that is in line, and its bytes.
    each: f64,
    packet: f64,
}

impl Tail {
    /// The probability that more packets wait.
    fn beyond(&self, packets: f64) -> f64 {
        let Tail { load, own, each, .. } = *self;
        if own > 0.0 { load * libm::exp(-load * packets * each / own) } else { 0.0 }
    }
}

/// The share of packets without room from which on it is worked out exactly, where it can be.
const WORTH_WHILE: f64 = 1e-9;
