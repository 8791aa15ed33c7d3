//! Queues that messages make at a line although each comes through a slower one: several come at a time, and together faster
//! than the line.
//!
//! How long they are is known but roughly, so that this only decides whether a figure is a mean or a bound. The form: messages
//! come through links of their own, each busy for its part of the time; while those that are busy bring more than the line
//! carries, it is as if each message came at once (Pollaczek and Khinchine).

use std::collections::BTreeMap;

use shortflow_models::Range;

use crate::band::Order;
use crate::load::Crossing;
use crate::marks::Hop;
use crate::network::Network;
use crate::range::Lack;
use crate::traffic::Source;

/// The part of a time that such waits may be, so that it is known without them.
const MAX_PART: f64 = 0.125;

/// Steps in which the load of a line is counted.
const STEPS: usize = 200;

/// Refuses a mean of a source that takes `seconds` where waits for messages from slower links may be too much of it: each of its
/// packets that waits for another passes `times`.
pub(crate) fn check(
    network: &Network,
    source: &Source,
    seconds: f64,
    times: f64,
) -> Result<(), Lack> {
    let waits = source.routes.iter().map(|route| {
        let hops = route.there.iter().chain(if times > 1.0 { &route.back[..] } else { &[] });
        route.share * hops.map(|hop| network.crossing_of(hop)).sum::<f64>()
    });
    let what = "the share of waits for messages that come together through slower links";
    Range::from_to(0.0, MAX_PART).check(what, waits.sum::<f64>() * times / seconds)?;
    Ok(())
}

impl Network {
    /// Finds these waits at all lines.
    pub(crate) fn find_crossings(&mut self) {
        let mut by_line = vec![Vec::new(); self.lines.len()];
        self.loads.crossings.iter().for_each(|one| by_line[one.line].push(*one));
        for (at, crossings) in by_line.iter().enumerate().filter(|(_, some)| !some.is_empty()) {
            for band in 0..self.met[at].len() {
                self.met[at][band].crossing = self.crossing(at, band, crossings);
            }
        }
    }

    /// Seconds that packets at a hop wait, about, for messages that come through slower links.
    fn crossing_of(&self, hop: &Hop) -> f64 {
        let bands = hop.pieces.iter().flat_map(|piece| &piece.places).map(|place| place.band);
        self.met[hop.line][bands.min().unwrap_or(0)].crossing
    }

    /// The same in a band of a line. Where flows have turns, newcomers wait for none of them.
    fn crossing(&self, at: usize, band: usize, crossings: &[Crossing]) -> f64 {
        let (line, met) = (&self.lines[at], &self.met[at][band]);
        if line.bands()[band].order != Order::Fifo || met.is_filled {
            return 0.0;
        }
        let here = || crossings.iter().filter(|one| one.band <= band);
        let per_second = |one: &Crossing| self.visits[one.source] * one.times;
        let (mut own, mut squares) = (0.0, 0.0);
        let mut links: BTreeMap<usize, f64> = BTreeMap::new();
        for one in here() {
            let busy = per_second(one) * one.busy;
            own += busy;
            squares += per_second(one) * one.square;
            *links.entry(one.link).or_default() += busy * line.rate / self.lines[one.link].rate;
        }
        let others = (met.before + met.utilisation - own).max(0.0);
        let left = 1.0 - others - own;
        if links.len() < 2 || left <= 0.0 {
            return 0.0;
        }
        let of_links = links.iter().map(|(link, busy)| (self.lines[*link].rate / line.rate, *busy));
        more_than(1.0 - others, of_links) * squares / 2.0 / left
    }
}

/// How probable it is that links, each with a rate and the part of the time in which it is busy, bring more than `limit` together.
fn more_than(limit: f64, links: impl Iterator<Item = (f64, f64)>) -> f64 {
    let cells = (limit * STEPS as f64).floor().max(0.0) as usize;
    // How probable each sum up to the limit is; the rest is above.
    let mut sums = vec![0.0; cells + 1];
    sums[0] = 1.0;
    for (rate, busy) in links {
        let (busy, step) = (busy.min(1.0), (rate * STEPS as f64).round() as usize);
        for cell in (0..=cells).rev() {
            let below = cell.checked_sub(step).map_or(0.0, |below| sums[below]);
            sums[cell] = (1.0 - busy) * sums[cell] + busy * below;
        }
    }
    (1.0 - sums.iter().sum::<f64>()).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_that_are_busy_by_chance_exceed_a_limit_as_often_as_a_binomial_says() {
        // Four of half the rate, each busy for a quarter: more than two at a time.
        let found = more_than(1.0, [(0.5, 0.25); 4].into_iter());
        let wanted = 4.0 * 0.25f64.powi(3) * 0.75 + 0.25f64.powi(4);
        assert!((found - wanted).abs() < 1e-12, "{found}, {wanted}");
        assert_eq!(more_than(1.0, [(0.9, 0.9)].into_iter()), 0.0);
        let both = more_than(1.0, [(0.9, 0.5), (0.2, 0.5)].into_iter());
        assert!((both - 0.25).abs() < 1e-12);
    }
}
