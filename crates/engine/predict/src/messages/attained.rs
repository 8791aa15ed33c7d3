//! Messages at lines that serve who has had least.

use shortflow_models::Range;
use shortflow_models::attained_service::Arrivals;
use shortflow_models::sizes::{Choice, Sizes};

use super::Sending;
use super::stretch::piece_at;
use crate::band::Order;
use crate::marks::{Hop, Piece};
use crate::range::{Lack, MAX_LESS_SENT};
use crate::sizes::Listed;
use crate::traffic::Demand;

/// A line that serves who has had least: by what has been sent up to thresholds where it has some, in bytes.
pub(super) struct Attained {
    pub(super) line: usize,
    thresholds: Vec<f64>,
    /// The sizes that come to it, and how many a second.
    sizes: Listed,
    per_second: f64,
}

impl Sending<'_> {
    /// How long a line that serves who has had least takes for a message that is there as a whole.
    pub(super) fn by_attained(
        &self,
        attained: &Attained,
        start: f64,
        wire: f64,
        segments: f64,
    ) -> Result<f64, Lack> {
        let Attained { line, thresholds, sizes, per_second } = attained;
        let choice = Choice::new(sizes)?;
        let hop = self.data.iter().find(|hop| hop.line == *line).expect("its own line");
        let met = &self.network.met[*line][hop.pieces[0].places[0].band];
        let free = 1.0 - met.before_of(self.source);
        let capacity = self.network.lines[*line].rate * free.max(1e-3);
        let arrivals = Arrivals { rate: *per_second, sizes: &choice, capacity };
        if thresholds.is_empty() {
            let load = per_second * choice.mean_up_to(wire) / capacity;
            if self.network.is_at_rest {
                Range::from_to(0.0, MAX_LESS_SENT)
                    .check("the load of flows that have sent less", load)?;
            }
            return Ok(arrivals.continuous(wire)?);
        }
        let band = piece_at(hop, start + wire).places[0].band;
        let room = self.network.lines[*line].bands()[band].room(wire / segments);
        if self.network.is_at_rest {
            Range::from_to(0.0, room).check("the packets of a message in later bands", segments)?;
        }
        // A value beyond the range of that model is also beyond that of the bands, which report it.
        let is_whole = start == 0.0;
        let levels = || arrivals.levels(thresholds, wire / segments, wire).unwrap_or(0.0);
        Ok(if is_whole { levels() } else { 0.0 })
    }

    /// The sizes that come to lines which serve who has had least.
    pub(super) fn attained_service(&self) -> Vec<Attained> {
        let network = self.network;
        let is_meant = |hop: &&Hop| {
            let line = &network.lines[hop.line];
            let is_least =
                |piece: &Piece| line.bands()[piece.places[0].band].order == Order::LeastAttained;
            hop.pieces.iter().any(is_least) || has_thresholds(hop)
        };
        self.data
            .iter()
            .filter(is_meant)
            .filter_map(|here| {
                let line = here.line;
                let from =
                    |hop: &Hop| hop.pieces.iter().map(|piece| piece.from).collect::<Vec<_>>();
                let alike = |hop: &Hop| hop.line == line && from(hop) == from(here);
                let mut sizes = Listed::new();
                for (number, source) in network.sources.iter().enumerate() {
                    let (Demand::Open { visit, .. } | Demand::Closed { visit, .. }) =
                        &source.demand
                    else {
                        continue;
                    };
                    let header = f64::from(source.tcp.header);
                    for route in &source.routes {
                        for message in &visit.messages {
                            let hops = route.way(message.is_there);
                            if !hops.iter().any(alike) {
                                continue;
                            }
                            let rate = network.visits[number] * route.share * message.count;
                            // Who waits for what he gets does not wait for himself.
                            let others = match source.demand {
                                Demand::Closed { sessions, .. } if number == self.source => {
                                    1.0 - 1.0 / sessions
                                }
                                _ => 1.0,
                            };
                            let rate = rate * others;
                            sizes.extend(message.sizes.iter().map(|&(size, share)| {
                                let segments = (size / f64::from(source.tcp.mss)).ceil();
                                (size + segments * header, share * rate)
                            }));
                        }
                    }
                }
                let all: f64 = sizes.iter().map(|(_, rate)| rate).sum();
                sizes.retain(|(_, rate)| *rate > 0.0);
                sizes.iter_mut().for_each(|(_, rate)| *rate /= all);
                let thresholds = from(here).split_off(1);
                (all > 0.0).then_some(Attained { line, thresholds, sizes, per_second: all })
            })
            .collect()
    }
}

/// Whether packets of a flow come to other bands of a line the more it has sent.
fn has_thresholds(hop: &Hop) -> bool {
    let bands = |piece: &Piece| piece.places[0].band;
    hop.pieces.windows(2).any(|two| bands(&two[0]) != bands(&two[1]))
}
