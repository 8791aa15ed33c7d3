//! Stretches of a flow: what its packets meet from when it has sent so many bytes on.

use std::collections::BTreeMap;

use shortflow_models::processor_sharing::min_share_time;

use super::Sending;
use crate::band::Order;
use crate::marks::{Hop, Piece};
use crate::range::{Lack, of_windows};
use crate::traffic::Demand;
use crate::visits::slowdown;

/// The greatest load of others beside a message at a line that serves in order, while rates are looked for.
const MAX_OTHERS: f64 = 0.999;

/// What packets of a flow meet from when it has sent so many bytes on.
#[derive(Debug, Clone)]
pub(super) struct Stretch {
    pub(super) from: f64,
    /// Seconds of a round trip of a full packet and what acknowledges it.
    pub(super) rtt: f64,
    /// Seconds of waiting on the way.
    pub(super) waits: f64,
    /// Seconds that a full packet takes where that is longest, with what others take of it, at lines that flows share alike.
    slowest: f64,
    /// The lines that serve packets in order, without flows that fill them.
    in_order: Vec<InOrder>,
    /// The same at the end of a message, whose packets go one after another once they are in the queue.
    pub(super) last: f64,
    /// What is lost by itself, and what is lost with others of its window.
    pub(super) alone: f64,
    pub(super) bunched: f64,
    /// Why the traffic here has no closed form, if so.
    pub(super) lacks: Option<Lack>,
}

/// A line that serves packets in the order in which they come.
#[derive(Debug, Clone, Copy)]
struct InOrder {
    /// Seconds of a full packet, with those of packets that go before.
    packet: f64,
    /// The load of others, as a part of what is left to this band.
    others: f64,
}

impl InOrder {
    /// Seconds from when the first packet of a window leaves the line until the first of the next does, as far as the line never
    /// runs empty: the packets of the window, and what others sent while these came, which was as long as the window before
    /// took. So a window that doubles overtakes half of the others, and one that grows no more gets an equal share.
    fn turn(&self, window: f64, before: f64) -> f64 {
        window * self.packet + self.others * before
    }
}

impl Stretch {
    /// The chance that a packet is lost.
    pub(super) fn loss(&self) -> f64 {
        1.0 - (1.0 - self.alone) * (1.0 - self.bunched)
    }

    /// Seconds that a window of so many packets takes after one that took `before`.
    pub(super) fn turn(&self, window: f64, before: f64) -> f64 {
        let queued = self.in_order.iter().map(|line| line.turn(window, before));
        self.rtt.max(window * self.slowest).max(queued.fold(0.0, f64::max))
    }

    /// Seconds between two packets of a window at the slowest line, with what others send between them.
    pub(super) fn spacing(&self) -> f64 {
        let queued = self.in_order.iter().map(|line| line.packet / (1.0 - line.others));
        self.slowest.max(queued.fold(0.0, f64::max))
    }

    /// What others bring between the first and the last of packets that come while so many seconds pass.
    pub(super) fn between(&self, seconds: f64) -> f64 {
        self.in_order.iter().map(|line| line.others * seconds).fold(0.0, f64::max)
    }
}

impl Sending<'_> {
    /// The stretches of its way.
    pub(super) fn found(&self) -> Vec<Stretch> {
        let mut from: Vec<f64> =
            self.data.iter().flat_map(|hop| hop.pieces.iter().map(|piece| piece.from)).collect();
        from.sort_by(f64::total_cmp);
        from.dedup();
        from.into_iter().map(|from| self.stretch(from)).collect()
    }

    fn stretch(&self, from: f64) -> Stretch {
        let packet = f64::from(self.tcp.mss) + f64::from(self.tcp.header);
        let network = self.network;
        let access =
            self.data.iter().map(|hop| network.lines[hop.line].rate).fold(f64::INFINITY, f64::min);
        let alone =
            self.data.iter().map(|hop| network.lines[hop.line].time(packet)).fold(0.0, f64::max);
        let (mut shares, mut last, mut in_order) = (Vec::new(), Vec::new(), Vec::new());
        let mut waits = 0.0;
        let (mut kept, mut found_room) = (1.0, 1.0);
        let mut lacks = None;
        for hop in self.data {
            let line = &network.lines[hop.line];
            let piece = piece_at(hop, from);
            if network.is_at_rest && lacks.is_none() {
                lacks = of_windows(network, self.source, hop, piece);
            }
            let order = line.bands()[piece.places[0].band].order;
            let met = &network.met[hop.line][piece.places[0].band];
            waits += network
                .over(piece, &|place| network.met[hop.line][place.band].wait_of(self.source));
            let before = met.before_of(self.source);
            kept *= 1.0 - network.lost_at(hop, piece);
            found_room *= 1.0 - met.bunched;
            let limited = line.rate / access;
            let sessions = match network.sources[self.source].demand {
                Demand::Closed { sessions, .. } => Some((self.source, sessions)),
                _ => None,
            };
            let free = (1.0 - before).max(1e-3);
            if order == Order::Fifo && !met.is_filled {
                let others = (met.load_beside(self.source) / free).min(MAX_OTHERS);
                in_order.push(InOrder { packet: line.time(packet) / free, others });
            }
            let factor = match order {
                Order::LeastAttained => 1.0 / free,
                Order::Fifo if !met.is_filled => 1.0 / free,
                _ => slowdown(met, before, sessions, limited),
            };
            let time = alone.max(line.time(packet));
            let crowd = network.crowds[hop.line];
            shares.push((crowd, (time, time * factor)));
            last.push(match order {
                Order::Fifo => [line.time(packet) / (1.0 - before).max(1e-3); 2].into(),
                _ => (time, time * factor),
            });
        }
        let (slowest, last) = (min_share(of_crowds(shares)), min_share(last));
        let rtt = self.bare(self.data, packet) + waits + self.back();
        Stretch {
            from,
            rtt,
            waits,
            slowest,
            in_order,
            last,
            alone: 1.0 - kept / found_room,
            bunched: 1.0 - found_room,
            lacks,
        }
    }
}

/// The shares of lines, of those that the same flows share only the least: who waits at one does not wait at the others.
fn of_crowds(shares: Vec<(usize, (f64, f64))>) -> Vec<(f64, f64)> {
    let mut by_crowd: BTreeMap<usize, (f64, f64)> = BTreeMap::new();
    for (crowd, share) in shares {
        let min = by_crowd.entry(crowd).or_insert(share);
        if share.1 > min.1 {
            *min = share;
        }
    }
    by_crowd.into_values().collect()
}

/// The mean time of a packet that gets the least of the shares of its lines. Those that are hardly shared do not count.
fn min_share(mut shares: Vec<(f64, f64)>) -> f64 {
    let max = shares.iter().map(|(_, shared)| *shared).fold(0.0, f64::max);
    shares.retain(|(alone, shared)| *shared > alone * (1.0 + NEGLIGIBLE_WAIT));
    match &shares[..] {
        [] | [_] => max,
        several => min_share_time(several).unwrap_or(max).max(max),
    }
}

/// How much longer a packet takes at most at a line that is hardly shared.
const NEGLIGIBLE_WAIT: f64 = 0.01;

/// The piece of a flow that has sent so many bytes.
pub(super) fn piece_at(hop: &Hop, sent: f64) -> &Piece {
    let at = hop.pieces.iter().rposition(|piece| piece.from <= sent).unwrap_or(0);
    &hop.pieces[at]
}
