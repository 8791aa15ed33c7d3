//! Delay and loss of datagrams.

use shortflow_measure::{DatagramSummary, DelaySummary, Estimate};
use shortflow_models::ModelError;
use shortflow_models::delay_tail::{Packets, wait_tail};

use crate::lines::Order;
use crate::long_flows::levels;
use crate::marks::{Hop, Piece};
use crate::network::Network;
use crate::traffic::{Ages, Demand, Route, Source};

/// Which part of all waits a line may have that is not looked at beside the one with the longest.
const NO_WAIT: f64 = 0.01;

/// Halvings by which a percentile is found.
const HALVINGS: u32 = 60;

/// Of a source of packets of these sizes, of which so many are sent.
pub(crate) fn of(
    network: &Network,
    source: &Source,
    sizes: &[(f64, f64)],
    ages: Ages,
    sent: f64,
) -> DatagramSummary {
    let bytes: f64 = sizes.iter().map(|(size, share)| size * share).sum();
    let mean = |of: &dyn Fn(&Route) -> f64| -> f64 {
        source.routes.iter().map(|route| route.share * of(route)).sum()
    };
    let delay = mean(&|route| delay(network, &route.there, ages, bytes));
    let loss = mean(&|route| loss(network, &route.there, ages));
    let hops = || source.routes.iter().flat_map(|route| &route.there);
    let is_bound = hops().any(|hop| waits_in_plain_buffer(network, hop, ages));
    let loses_at_least =
        hops().any(|hop| passes(hop, ages, &|band| network.met[hop.line][band].loses_at_least));
    let delay = Estimate::of(&[delay]).map(|delay| Estimate { at_least: is_bound, ..delay });
    DatagramSummary {
        sent: sent.round() as u64,
        delay,
        percentiles: percentiles(network, source, sizes, ages).unwrap_or_default(),
        delay_deviation: None,
        jitter: None,
        jitter_percentiles: Default::default(),
        // What finds a full buffer depends on when flows fill it.
        loss: Estimate::of(&[loss])
            .map(|loss| Estimate { at_least: loses_at_least, ..loss })
            .filter(|_| !is_bound),
    }
}

/// Whether packets wait in a plain buffer that flows fill.
pub(crate) fn waits_in_plain_buffer(network: &Network, hop: &Hop, ages: Ages) -> bool {
    passes(hop, ages, &|band| network.met[hop.line][band].is_least)
}

/// Whether packets pass a band of a kind.
fn passes(hop: &Hop, ages: Ages, is: &dyn Fn(usize) -> bool) -> bool {
    let mut bands = ages.pieces(hop).filter(|(_, share)| *share > 0.0);
    bands.any(|(piece, _)| is(piece.places[0].band))
}

fn delay(network: &Network, hops: &[Hop], ages: Ages, bytes: f64) -> f64 {
    hops.iter()
        .map(|hop| {
            let line = &network.lines[hop.line];
            let wait = |piece: &Piece| network.met[hop.line][piece.places[0].band].wait;
            let waits = by_piece(ages, hop, &wait);
            line.time(bytes) + line.delay + waits
        })
        .sum()
}

/// The probability of being lost on the way.
fn loss(network: &Network, hops: &[Hop], ages: Ages) -> f64 {
    let kept = hops.iter().map(|hop| {
        let lost = |piece: &Piece| {
            let met = &network.met[hop.line][piece.places[0].band];
            met.loss_of(&levels(piece, met.loss.len(), &network.within))
        };
        1.0 - by_piece(ages, hop, &lost)
    });
    1.0 - kept.product::<f64>()
}

/// The mean over packets of what is the same within a piece. What no packet meets does not count, however much it is.
fn by_piece(ages: Ages, hop: &Hop, of: &dyn Fn(&Piece) -> f64) -> f64 {
    let met = ages.pieces(hop).filter(|(_, share)| *share > 0.0);
    met.map(|(piece, share)| share * of(piece)).sum()
}

/// Percentiles of the delay, where the wait has a distribution: at one line, of Poisson packets alone, and no other
/// wait beside it.
fn percentiles(
    network: &Network,
    source: &Source,
    sizes: &[(f64, f64)],
    ages: Ages,
) -> Option<DelaySummary> {
    let [route] = &source.routes[..] else { return None };
    let waits = |hop: &&Hop| network.met[hop.line][0].wait;
    let longest = route.there.iter().max_by(|a, b| waits(a).total_cmp(&waits(b)))?;
    let all: f64 = route.there.iter().map(|hop| waits(&hop)).sum();
    let is_alone = all - waits(&longest) <= NO_WAIT * all;
    let line = &network.lines[longest.line];
    if !is_alone || line.bands.len() > 1 || line.order != Order::Bands {
        return None;
    }
    let mut streams = Vec::new();
    for entry in &network.loads.by_line[longest.line] {
        let other = &network.sources[entry.source];
        let Demand::Packets { per_second, sizes, .. } = &other.demand else { return None };
        if !other.is_poisson {
            return None;
        }
        let here = other
            .routes
            .iter()
            .filter(|route| route.there.iter().any(|hop| hop.line == longest.line));
        let rate: f64 = per_second * here.map(|route| route.share).sum::<f64>();
        streams.extend(sizes.iter().map(|&(size, share)| Packets {
            arrival_rate: rate * share,
            service: line.time(size),
        }));
    }
    let base = |size: f64| delay(network, &route.there, ages, size) - all;
    let at = |share: f64| {
        quantile(&streams, sizes, &base, share).ok().and_then(|at| Estimate::of(&[at]))
    };
    Some(DelaySummary { delay_median: at(0.5), delay_p95: at(0.95), delay_p99: at(0.99) })
}

/// The delay that a share of the packets does not exceed, each of which takes `base` beside its wait.
fn quantile(
    streams: &[Packets],
    sizes: &[(f64, f64)],
    base: &dyn Fn(f64) -> f64,
    share: f64,
) -> Result<f64, ModelError> {
    let tail = wait_tail(streams)?;
    let load: f64 = streams.iter().map(|stream| stream.arrival_rate * stream.service).sum();
    let beyond = |at: f64| -> Result<f64, ModelError> {
        let mut sum = 0.0;
        for &(size, share) in sizes {
            let left = at - base(size);
            // Who comes to an empty line does not wait.
            sum += share * if left < 0.0 { 1.0 } else { tail.beyond(left)?.min(load) };
        }
        Ok(sum)
    };
    let most = sizes.iter().map(|&(size, _)| base(size)).fold(0.0, f64::max);
    let (mut low, mut high) = (0.0, most + tail.quantile(share)?.max(0.0));
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        if beyond(middle)? > 1.0 - share {
            low = middle;
        } else {
            high = middle;
        }
    }
    Ok(high)
}
