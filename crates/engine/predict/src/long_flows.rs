//! Long flows: what they make of the queue of their bottleneck.

use shortflow_models::cubic;
use shortflow_models::pftk::{self, Path};
use shortflow_models::red::{Gate, Group};
use shortflow_models::{ModelError, Range};

use crate::band::Order;
use crate::bundles::{Bundle, RENO_KEEPS, levels};
use crate::joint_loss;
use crate::met::Met;
use crate::network::Network;
use crate::range::Lack;
use crate::saturation::{MAX_WINDOW, Saturation};

/// What there is at a band beside flows without an end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Beside {
    /// The share of time that bands before it leave.
    pub(crate) free: f64,
    /// The share of time that others in the band use of it, and their packets per second.
    pub(crate) busy: f64,
    pub(crate) packets: f64,
    /// Whether they come in windows.
    pub(crate) in_windows: bool,
}

/// What bundles make of a band. Room and curves count packets of whatever size: a queue that small packets share is
/// shorter in time.
pub(crate) fn fill(
    network: &Network,
    at: usize,
    band: usize,
    bundles: &[usize],
    beside: Beside,
) -> Result<(Met, Vec<f64>), Lack> {
    let line = &network.lines[at];
    let queue = &line.bands()[band];
    let bundles: Vec<&Bundle> = bundles.iter().map(|&index| &network.bundles[index]).collect();
    let all: f64 = bundles.iter().map(|bundle| bundle.connections).sum();
    let mean = |of: &dyn Fn(&Bundle) -> f64| {
        bundles.iter().map(|bundle| bundle.connections * of(bundle)).sum::<f64>() / all
    };
    let held = (beside.free - beside.busy) / mean(&|one| line.time(one.packet));
    let capacity = held + beside.packets;
    let packet = beside.free * line.rate / capacity;
    let waited = network.met[at][band].wait;
    let curves = queue.curves_in(packet);
    let shares: Vec<Vec<f64>> =
        bundles.iter().map(|bundle| network.shares(bundle, at, curves.len())).collect();
    let groups: Vec<Group<'_>> = bundles
        .iter()
        .zip(&shares)
        .map(|(bundle, shares)| Group {
            connections: bundle.connections,
            path: bundle.path(network, waited),
            shares,
            lost_elsewhere: bundle.lost_elsewhere(network),
        })
        .collect();
    let rtt = mean(&|bundle| bundle.path(network, waited).rtt);
    let kept = mean(&|bundle| bundle.kept);
    let saturation =
        Saturation { line, band, bundles: &bundles, beside, packet, capacity, rtt, kept };
    if queue.order != Order::Fifo {
        let turns = |bundle: &&Bundle| bundle.turns(queue.shares_by_hosts());
        let turns: Vec<f64> = bundles.iter().map(turns).collect();
        let (met, rates) = shared_alike(&groups, &bundles, &turns, held)?;
        if met.is_filled {
            saturation.check()?;
        }
        return Ok((met, rates));
    }
    in_order(network, &saturation, &groups, held)
}

/// What flows make of a band whose packets go as they come, of which they get `held` packets per second.
fn in_order(
    network: &Network,
    saturation: &Saturation<'_>,
    groups: &[Group<'_>],
    held: f64,
) -> Result<(Met, Vec<f64>), Lack> {
    let &Saturation { line, band, bundles, beside, packet, capacity, rtt, kept } = saturation;
    let queue = &line.bands()[band];
    let (curves, room) = (queue.curves_in(packet), queue.room(packet));
    let limit = match curves.is_empty() {
        false => room,
        // What others have in flight falls and rises with the queue, as their packets wait in it.
        true => saw_tooth(room, rtt * capacity, kept, beside.in_windows),
    };
    let (spacing, others) = (queue.spacing, beside.packets);
    let gate = Gate { levels: &curves, spacing, limit, capacity, others };
    let steady = gate.settle(groups)?;
    let is_filled = steady.queue > 0.0;
    let rates = match is_filled {
        true => {
            saturation.check()?;
            saturation.check_settled(steady.queue)?;
            check_paces(network, bundles, curves.is_empty())?;
            groups.iter().map(|group| gate.carried(steady, group)).collect()
        }
        false => all_alone(network, groups, bundles, held)?,
    };
    let loss = (0..queue.levels()).map(|level| {
        let mut one = vec![0.0; curves.len()];
        one.iter_mut().skip(level).take(1).for_each(|share| *share = 1.0);
        joint_loss::either(gate.loss(steady, &one), line.link_loss)
    });
    let is_least = curves.is_empty() && is_filled;
    let is_young = is_least && (saturation.is_young(network) || shares_queue(network, bundles));
    let sure = if is_least && beside.in_windows { SURE * held / capacity } else { 1.0 };
    let full = Gate { limit: room, ..gate };
    let (queued, min_loss) = match is_least {
        true => {
            let groups = without_unacknowledged(groups, bundles);
            let lost = full.loss(full.settle(&groups)?, &[]);
            (gate.settle(&groups)?.queue, lost * held / capacity)
        }
        false => (steady.queue, 0.0),
    };
    let is_unclear = match is_least {
        true => saturation.is_crowded(steady.queue),
        false => !is_filled || saturation.is_empty_at_times(steady.queue),
    };
    let met = Met {
        wait: sure * queued / capacity,
        loss: loss.collect(),
        is_filled,
        is_least,
        min_loss,
        is_young,
        loses_at_least: is_filled && kept > RENO_KEEPS,
        is_unclear: is_unclear
            || is_young
            || queue.marks && bundles.iter().any(|bundle| bundle.ecn),
        ..Met::default()
    };
    Ok((met, rates))
}

/// Whether flows come to the line that holds them through one that is hardly faster: the queue is then at either of the two.
fn shares_queue(network: &Network, bundles: &[&Bundle]) -> bool {
    /// Simulated: at 1.05 times the rate the queue is 14 % below the bound, from 1.1 times on it is above.
    const FASTER: f64 = 1.1;
    bundles.iter().any(|bundle| {
        let hops = &network.sources[bundle.source].routes[bundle.route].there;
        let limit = FASTER * network.lines[bundle.bottleneck].rate;
        let before = hops.iter().take_while(|hop| hop.line != bundle.bottleneck);
        before.into_iter().any(|hop| network.lines[hop.line].rate < limit)
    })
}

/// The flows with windows that are smaller by what their receivers have got and not yet acknowledged, at most: only the rest of
/// a window is surely on the way or in queues.
fn without_unacknowledged<'g>(groups: &[Group<'g>], bundles: &[&Bundle]) -> Vec<Group<'g>> {
    let rest = |(group, bundle): (&Group<'g>, &&Bundle)| {
        let max_window = group.path.max_window - (bundle.answered - 1.0);
        let connections = if max_window < 1.0 { 0.0 } else { group.connections };
        let path = Path { max_window: max_window.max(1.0), ..group.path };
        Group { connections, path, ..*group }
    };
    groups.iter().zip(bundles).map(rest).collect()
}

/// Refuses flows at a plain buffer some of which come one by one and others in bursts: the first hardly ever find it full, and
/// the others nearly always.
fn check_paces(network: &Network, bundles: &[&Bundle], is_plain: bool) -> Result<(), Lack> {
    let paced = bundles.iter().filter(|bundle| network.is_paced(bundle)).count();
    match is_plain && paced > 0 && paced < bundles.len() {
        true => Err(Lack::new(
            "long flows at a plain buffer, some of which come over a line that is no faster"
                .to_owned(),
        )),
        false => Ok(()),
    }
}

/// The receive window from which on flows that it alone limits fill it: smaller ones wait for acknowledgements that come late.
const MIN_LIMIT: f64 = 10.0;

/// What losses in queues that others fill may take of a long flow, as a part of its rate.
const MAX_TAKEN: f64 = 0.1;

/// The loss of links up to which long flows send as Padhye et al. say.
const MAX_LOST_ALONE: f64 = 0.1;

/// What flows get that fill no queue of `held` packets per second.
fn all_alone(
    network: &Network,
    groups: &[Group<'_>],
    bundles: &[&Bundle],
    held: f64,
) -> Result<Vec<f64>, Lack> {
    let of = |(group, bundle): (&Group<'_>, &&Bundle)| {
        check_window(group)?;
        let rate = alone(group, bundle)?;
        // How much bursts of others lose where they pass is not known well enough for what they send to rest on it.
        let by_links = Group { lost_elsewhere: bundle.lost_at_links(network), ..*group };
        let part = 1.0 - rate / alone(&by_links, bundle)?;
        let what = "the share of a long flow's rate that losses in other queues cost";
        Range::from_to(0.0, MAX_TAKEN).check(what, part)?;
        Ok::<f64, Lack>(rate)
    };
    let rates: Vec<f64> = groups.iter().zip(bundles).map(of).collect::<Result<_, _>>()?;
    let what = "the load of long flows that lose only on links, relative to the line";
    Range::from_to(0.0, 1.0).check(what, rates.iter().sum::<f64>() / held)?;
    Ok(rates)
}

/// What flows get that fill no queue, by the whole of Padhye et al. 2000; CUBIC as many times that of Reno as its mean window
/// is larger (RFC 9438 §5).
fn alone(group: &Group<'_>, bundle: &Bundle) -> Result<f64, ModelError> {
    let Group { connections, path, lost_elsewhere, .. } = group;
    let (max, loss) = (path.max_window / path.rtt, *lost_elsewhere);
    if loss == 0.0 {
        Range::at_least(MIN_LIMIT)
            .check("the segments that a receiver takes at a time", path.max_window)?;
        return Ok(connections * max);
    }
    Range::from_to(0.0, MAX_LOST_ALONE)
        .check("the share of packets that links lose of long flows", loss)?;
    let more = match bundle.kept > RENO_KEEPS {
        true => {
            let reno = cubic::aimd_window(1.0, RENO_KEEPS, loss)?;
            cubic::mean_window(path.rtt, f64::INFINITY, loss)? / reno
        }
        false => 1.0,
    };
    Ok(connections * (more * pftk::throughput(path, loss)?).min(max))
}

/// Refuses a flow that nothing holds back but what its receiver takes, when it takes minutes to come to that.
fn check_window(group: &Group<'_>) -> Result<(), ModelError> {
    let what = "the segments that a flow has in flight when nothing is lost";
    let window = if group.lost_elsewhere > 0.0 { 0.0 } else { group.path.max_window };
    Range::from_to(0.0, MAX_WINDOW).check(what, window).map(|_| ())
}

/// What flows get of `held` packets per second where each is served in its turn, or who has had least: alike, but for
/// those that cannot take so much.
fn shared_alike(
    groups: &[Group<'_>],
    bundles: &[&Bundle],
    turns: &[f64],
    held: f64,
) -> Result<(Met, Vec<f64>), ModelError> {
    let max = groups.iter().zip(bundles).map(|(group, bundle)| {
        let all = alone(group, bundle)?;
        Ok(all)
    });
    let max: Vec<f64> = max.collect::<Result<_, ModelError>>()?;
    let max: Vec<f64> = max.iter().zip(turns).map(|(all, turns)| all / turns).collect();
    let mut order: Vec<usize> = (0..groups.len()).collect();
    order.sort_by(|a, b| max[*a].total_cmp(&max[*b]));
    let mut left = held.max(0.0);
    let mut crowd: f64 = turns.iter().sum();
    let mut rates = vec![0.0; groups.len()];
    let mut is_filled = false;
    for at in order {
        let each = left / crowd;
        is_filled |= max[at] >= each;
        if max[at] < each {
            check_window(&groups[at])?;
        }
        let rate = each.min(max[at]) * turns[at];
        rates[at] = rate;
        left -= rate;
        crowd -= turns[at];
    }
    Ok((Met { is_filled, ..Met::default() }, rates))
}

impl Network {
    /// The shares of so many levels at a line in what a bundle sends last.
    fn shares(&self, bundle: &Bundle, at: usize, count: usize) -> Vec<f64> {
        let hop = self.hops(bundle).iter().find(|hop| hop.line == at);
        let last = hop.and_then(|hop| hop.pieces.last()).expect("a bundle passes its bottleneck");
        if count == 0 { Vec::new() } else { levels(last, count, &self.within) }
    }
}

/// The part of what a cut leaves in a buffer that is sure to be there: some cuts come before windows have grown back from the
/// one before. Of a buffer in packets, that of the long flows alone is sure: bunches of small packets may take the rest.
const SURE: f64 = 2.0 / 3.0;

/// The mean queue of a DropTail buffer of `room` packets, when its flows cut their windows to `kept` together at a
/// full buffer: the mean of what fills the buffer and the way, which holds `on_the_way`, less that. Where windows of
/// others come too, the buffer is full before the flows fill it, at times that no form says: then it is only known what
/// a cut leaves.
fn saw_tooth(room: f64, on_the_way: f64, kept: f64, beside_windows: bool) -> f64 {
    let left = if beside_windows { kept } else { f64::midpoint(1.0, kept) };
    (left * (room + on_the_way) - on_the_way).max(room.min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_buffer_is_three_quarters_full_where_the_way_holds_nothing() {
        assert_eq!(saw_tooth(60.0, 0.0, 0.5, false), 45.0);
        // 60 + 20 packets in flight at most, 60 on average, 20 of them on the way.
        assert_eq!(saw_tooth(60.0, 20.0, 0.5, false), 40.0);
        // CUBIC keeps seven tenths.
        assert!((saw_tooth(60.0, 20.0, 0.7, false) - 48.0).abs() < 1e-12);
    }

    #[test]
    fn beside_windows_a_plain_buffer_holds_what_a_cut_leaves() {
        assert_eq!(saw_tooth(60.0, 20.0, 0.5, true), 20.0);
    }
}
