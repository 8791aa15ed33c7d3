//! Delay and loss of datagrams.

use shortflow_measure::{DatagramSummary, DelaySummary, Estimate};
use shortflow_models::delay_tail::{Packets, wait_tail};
use shortflow_models::{ModelError, Range};

use crate::band::{Band, FULL, Order};
use crate::crossing;
use crate::doubt::check_delay;
use crate::joint_loss;
use crate::lower_bound;
use crate::marks::{Hop, Piece};
use crate::met::Met;
use crate::network::Network;
use crate::range::{
    Lack, MAX_BEFORE, MAX_LOAD, MAX_LOST, MAX_RED_LOAD, MAX_SMOOTH_LOAD, is_smooth,
};
use crate::summary::bound_or_mean;
use crate::traffic::{Ages, Demand, Route, Source};
use crate::unknown_at_rest::MIN_ROOM;

/// Which part of all waits a line may have that is not looked at beside the one with the longest.
const NO_WAIT: f64 = 0.01;

/// Halvings by which a percentile is found.
const HALVINGS: u32 = 60;

/// Of a source of packets of these sizes, of which so many are sent.
pub(crate) fn delay_and_loss(
    network: &Network,
    source: &Source,
    sizes: &[(f64, f64)],
    ages: Ages,
    sent: f64,
) -> Result<DatagramSummary, Lack> {
    for route in &source.routes {
        route.there.iter().try_for_each(|hop| check(network, source, route, hop, ages))?;
    }
    let bytes: f64 = sizes.iter().map(|(size, share)| size * share).sum();
    let mean = |of: &dyn Fn(&Route) -> f64| -> f64 {
        source.routes.iter().map(|route| route.share * of(route)).sum()
    };
    let delay = mean(&|route| delay(network, source, &route.there, ages, bytes));
    check_delay(network, source, delay, &|hop| wait(network, source, hop, ages))?;
    crossing::check(network, source, delay, 1.0)?;
    let loss = mean(&|route| loss(network, &route.there, ages));
    let hops = || source.routes.iter().flat_map(|route| &route.there);
    let is_bound = hops().any(|hop| waits_in_plain_buffer(network, hop, ages));
    // Where other bands leave long flows more and less time, and others come to theirs, only the way is sure.
    let has_bands = |hop: &Hop| network.lines[hop.line].bands().len() > 1;
    let is_behind_bands =
        hops().any(|hop| has_bands(hop) && waits_in_plain_buffer(network, hop, ages));
    let is_young =
        hops().any(|hop| passes(hop, ages, &|band| network.met[hop.line][band].is_young));
    let delay = match is_behind_bands || is_young {
        true => lower_bound::delay(network, source, sizes),
        false => delay,
    };
    let loses_at_least =
        hops().any(|hop| passes(hop, ages, &|band| network.met[hop.line][band].loses_at_least));
    let delay =
        Estimate::from_values(&[delay]).map(|delay| Estimate { at_least: is_bound, ..delay });
    // What finds a full buffer depends on when flows fill it, and on how others come.
    let is_known = hops().all(|hop| loses_as_predicted(network, hop, ages));
    Ok(DatagramSummary {
        sent: sent.round() as u64,
        delay,
        added_delay: None,
        percentiles: percentiles(network, source, sizes, ages).unwrap_or_default(),
        delay_deviation: None,
        jitter: None,
        jitter_percentiles: Default::default(),
        loss: bound_or_mean(loss, loses_at_least).filter(|_| is_known),
        call: Default::default(),
    })
}

/// Refuses a line that is too full for what is told of packets one by one, one that drops too many of them, and a stream
/// that waits for itself where each flow has its turn.
fn check(
    network: &Network,
    source: &Source,
    route: &Route,
    hop: &Hop,
    ages: Ages,
) -> Result<(), Lack> {
    let line = &network.lines[hop.line];
    let at = |error: ModelError| Lack::new(format!("at {} {error}", line.name));
    for (piece, band) in bands_of(ages, hop) {
        let met = &network.met[hop.line][band];
        if met.is_filled {
            continue;
        }
        let has_windows = network.met[hop.line][..=band].iter().any(|met| met.has_windows);
        if has_windows && !met.is_guaranteed {
            let before = met.behind(source.workload).map_or(met.before, |behind| behind.before);
            Range::from_to(0.0, MAX_BEFORE)
                .check("the load of the bands before", before)
                .map_err(at)?;
        }
        let load = met.before + met.utilisation;
        let is_red = !line.bands()[band].curves.is_empty();
        let max = match has_windows {
            true if is_red && !is_smooth(met) => MAX_RED_LOAD,
            true => MAX_LOAD,
            false => MAX_SMOOTH_LOAD,
        };
        Range::from_to(0.0, max).check("the load including all earlier bands", load).map_err(at)?;
        let is_exact = poisson_alone(network, hop.line).is_some();
        if !is_exact {
            let lost = joint_loss::without(network.lost_at(hop, piece), line.link_loss);
            Range::from_to(0.0, MAX_LOST)
                .check("the share of packets that the queue drops", lost)
                .map_err(at)?;
        }
    }
    check_turn(network, source, route, hop)?;
    Ok(())
}

/// The bands that packets of a hop belong to, each with its piece.
fn bands_of(ages: Ages, hop: &Hop) -> impl Iterator<Item = (&Piece, usize)> {
    let pieces = ages.pieces(hop).filter(|(_, share)| *share > 0.0);
    pieces.flat_map(|(piece, _)| piece.places.iter().map(move |place| (piece, place.band)))
}

/// What a stream may wait for itself, as a part of its time on the line and its way.
const MAX_OWN: f64 = 0.1;

/// Refuses a stream that takes more than half of its share of a line, or waits for itself there.
pub(crate) fn check_turn(
    network: &Network,
    source: &Source,
    route: &Route,
    hop: &Hop,
) -> Result<(), Lack> {
    let Demand::Packets { per_second, sizes, ages } = &source.demand else { return Ok(()) };
    let line = &network.lines[hop.line];
    let mut pieces = ages.pieces(hop).filter(|(_, share)| *share > 0.0);
    let in_turn = |piece: &Piece| line.bands()[piece.places[0].band].order != Order::Fifo;
    let Some((piece, _)) = pieces.find(|(piece, _)| in_turn(piece)) else { return Ok(()) };
    let met = &network.met[hop.line][piece.places[0].band];
    if met.behind(source.workload).is_some() && !met.is_filled {
        // What it waits for its own packets is in its wait.
        return Ok(());
    }
    let bytes: f64 = sizes.iter().map(|(size, share)| size * share).sum();
    let time = line.time(bytes);
    // The fastest of its flows.
    let own = time * (ages.rate / bytes).min(per_second * route.share);
    let others = (met.utilisation - own).max(0.0);
    // While a transfer is there, it takes its turn too.
    let is_beside_windows = is_fair_among_windows(&line.bands()[piece.places[0].band], met);
    let share = match met.permanent > 0.0 || met.is_filled {
        true => 1.0 / (1.0 + met.permanent.max(1.0)),
        false if is_beside_windows => (1.0 - others).clamp(0.0, 0.5),
        false => (1.0 - others).max(0.0),
    };
    let what = "the rate of a stream relative to its share of the line";
    let part = own / share.max(1e-9);
    let at = |error: ModelError| Lack::new(format!("at {} {error}", line.name));
    let max = if met.is_filled || is_beside_windows { MAX_OF_SHARE } else { 1.0 };
    Range::from_to(0.0, max).check(what, part).map_err(at)?;
    // As M/D/1 at its share; a stream of constant rate waits less, and for others of its own kind all the same.
    let waits = time * part / 2.0 / (1.0 - part).max(1e-9);
    let way: f64 = route.there.iter().map(|hop| network.lines[hop.line].delay).sum();
    let min = if source.is_poisson { waits } else { 0.0 };
    Range::from_to(0.0, MAX_OWN)
        .check("a stream's own waiting time relative to its delay", min / (way + time + min))
        .map_err(at)?;
    Ok(())
}

/// Whether each flow has a queue of its own, and windows come to some of them.
pub(crate) fn is_fair_among_windows(band: &Band, met: &Met) -> bool {
    band.order == Order::Fair && met.has_windows
}

/// The part of its share of a line, beside long flows or transfers, up to which a stream finds its turn when it comes.
const MAX_OF_SHARE: f64 = 0.5;

/// Whether the predicted loss at a line holds: not where long flows fill a plain buffer, nor where windows push a stream's packets
/// out of a small buffer that flows share; and where windows come, or streams that are no Poisson processes, up to a share
/// that hardly matters.
fn loses_as_predicted(network: &Network, hop: &Hop, ages: Ages) -> bool {
    let is_predicted = |band: usize| {
        let met = &network.met[hop.line][band];
        let queue = &network.lines[hop.line].bands()[band];
        let is_red = !queue.curves.is_empty();
        let is_shared = queue.order != Order::Fifo && met.has_windows;
        match met.is_filled {
            _ if is_shared && queue.room(FULL) < MIN_ROOM => false,
            true => is_red && !met.is_least,
            false => {
                poisson_alone(network, hop.line).is_some()
                    || !(is_red && met.has_windows)
                        && met.bunched <= NEGLIGIBLE_SHARE
                        && met.loss.iter().all(|loss| {
                            *loss <= NEGLIGIBLE_SHARE + network.lines[hop.line].link_loss
                        })
            }
        }
    };
    !passes(hop, ages, &|band| !is_predicted(band))
}

/// The share of lost packets that hardly matters.
const NEGLIGIBLE_SHARE: f64 = 1e-3;

/// Whether packets wait in a plain buffer that flows fill.
pub(crate) fn waits_in_plain_buffer(network: &Network, hop: &Hop, ages: Ages) -> bool {
    passes(hop, ages, &|band| network.met[hop.line][band].is_least)
}

/// Whether packets pass a band of a kind.
fn passes(hop: &Hop, ages: Ages, is: &dyn Fn(usize) -> bool) -> bool {
    bands_of(ages, hop).any(|(_, band)| is(band))
}

fn delay(network: &Network, source: &Source, hops: &[Hop], ages: Ages, bytes: f64) -> f64 {
    hops.iter()
        .map(|hop| {
            let line = &network.lines[hop.line];
            line.time(bytes) + line.delay + wait(network, source, hop, ages)
        })
        .sum()
}

/// The mean wait of a source's packets at a hop.
fn wait(network: &Network, source: &Source, hop: &Hop, ages: Ages) -> f64 {
    let wait = |piece: &Piece| -> f64 {
        // There is a source for each workload.
        network.over(piece, &|place| network.met[hop.line][place.band].wait_of(source.workload))
    };
    by_piece(ages, hop, &wait)
}

/// The probability of being lost on the way.
fn loss(network: &Network, hops: &[Hop], ages: Ages) -> f64 {
    joint_loss::any(hops.iter().map(|hop| {
        let lost = |piece: &Piece| network.lost_at(hop, piece);
        by_piece(ages, hop, &lost)
    }))
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
    let met = &network.met[longest.line][0];
    let is_whole = met.bunched <= NEGLIGIBLE_SHARE && met.loss.len() == 1;
    if !is_alone || !is_whole || !line.bands()[0].curves.is_empty() {
        return None;
    }
    let streams = poisson_alone(network, longest.line)?;
    let base = |size: f64| delay(network, source, &route.there, ages, size) - all;
    let at = |share: f64| {
        quantile(&streams, sizes, &base, share).ok().and_then(|at| Estimate::from_values(&[at]))
    };
    Some(DelaySummary { delay_median: at(0.5), delay_p95: at(0.95), delay_p99: at(0.99) })
}

/// The streams at a line that serves packets as they come, where these are Poisson processes and nothing else comes.
pub(crate) fn poisson_alone(network: &Network, at: usize) -> Option<Vec<Packets>> {
    let (line, met) = (&network.lines[at], &network.met[at][0]);
    if line.bands().len() > 1
        || line.bands()[0].order != Order::Fifo
        || met.is_filled
        || met.has_windows
    {
        return None;
    }
    if network.bundles.iter().any(|bundle| network.passes(bundle, at)) {
        return None;
    }
    let mut streams = Vec::new();
    for entry in &network.loads.by_line[at] {
        let other = &network.sources[entry.source];
        let Demand::Packets { per_second, sizes, .. } = &other.demand else { return None };
        if !other.is_poisson {
            return None;
        }
        let here = other.routes.iter().filter(|route| route.there.iter().any(|hop| hop.line == at));
        let rate: f64 = per_second * here.map(|route| route.share).sum::<f64>();
        streams.extend(sizes.iter().map(|&(size, share)| Packets {
            arrival_rate: rate * share,
            service: line.time(size),
        }));
    }
    Some(streams)
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
    let max = sizes.iter().map(|&(size, _)| base(size)).fold(0.0, f64::max);
    let (mut low, mut high) = (0.0, max + tail.quantile(share)?.max(0.0));
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
