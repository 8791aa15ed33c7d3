//! Queues that messages make at a line although each comes through a slower one: several come at a time, and together faster
//! than the line; or one comes almost as fast as the line, and leaves others little of it meanwhile.
//!
//! How long they are is known but roughly, so that this only decides whether a figure is a mean or a bound. The forms: messages
//! come through links of their own, each busy for its part of the time; while those that are busy bring more than the line
//! carries, it is as if each message came at once (Pollaczek and Khinchine). While one link is busy, what others bring queues
//! for what it leaves: as in M/G/1, or, where the message is over sooner, as a Brownian motion with a barrier at zero has grown.

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
    /// Finds these waits at all lines, and which part of waits there is not, because packets come spaced.
    pub(crate) fn find_crossings(&mut self) {
        let mut by_line = vec![Vec::new(); self.lines.len()];
        self.loads.crossings.iter().for_each(|one| by_line[one.line].push(*one));
        for (at, crossings) in by_line.iter().enumerate().filter(|(_, some)| !some.is_empty()) {
            for band in 0..self.met[at].len() {
                let links = self.links(at, band, crossings);
                self.met[at][band].crossing = self.crossing(at, band, &links);
                self.met[at][band].spaced = self.spaced(at, band, &links);
            }
        }
    }

    /// Seconds that packets at a hop wait, about, for messages that come through slower links.
    fn crossing_of(&self, hop: &Hop) -> f64 {
        let bands = hop.pieces.iter().flat_map(|piece| &piece.places).map(|place| place.band);
        self.met[hop.line][bands.min().unwrap_or(0)].crossing
    }

    /// What comes to a band of a line through each slower link. Where flows have turns, newcomers wait for none of it.
    fn links(&self, at: usize, band: usize, crossings: &[Crossing]) -> Vec<Link> {
        let line = &self.lines[at];
        if line.bands()[band].order != Order::Fifo || self.met[at][band].is_filled {
            return Vec::new();
        }
        let mut links: BTreeMap<usize, Link> = BTreeMap::new();
        for one in crossings.iter().filter(|one| one.band <= band) {
            let visits = self.visits[one.source] * one.times;
            let rate = self.lines[one.link].rate / line.rate;
            let link = links.entry(one.link).or_insert(Link { rate, ..Link::default() });
            link.load += visits * one.busy;
            link.squares += visits * one.square;
            link.packets += visits * one.packets;
            link.of_packets += visits * one.of_packets;
        }
        links.into_values().collect()
    }

    /// Which part of the waits of all packets in a band of a line there is not: what comes through a slower link is spaced, and
    /// waits for others only; others wait for one of its packets at a time.
    fn spaced(&self, at: usize, band: usize, links: &[Link]) -> f64 {
        let met = &self.met[at][band];
        let (all, squares) = (met.before + met.utilisation, self.squares(at, band));
        if links.is_empty() || met.wait <= 0.0 || met.packets <= 0.0 {
            return 0.0;
        }
        let behind = |squares: f64, left: f64| match left > 0.0 {
            true => (squares.max(0.0) / 2.0 / left).min(met.wait),
            false => met.wait,
        };
        let own = |link: &Link| {
            behind(squares - link.of_packets, 1.0 - link.rate - (all - link.load).max(0.0))
        };
        let others = match links {
            [link] => {
                let silent = behind(squares - link.of_packets, 1.0 - (all - link.load).max(0.0));
                let busy = link.busy();
                (busy * own(link) + (1.0 - busy) * silent + link.of_packets / 2.0).min(met.wait)
            }
            _ => met.wait,
        };
        let share = |link: &Link| link.packets / met.packets;
        let of_links: f64 = links.iter().map(|link| share(link) * own(link)).sum();
        let shares = links.iter().map(share).sum::<f64>().min(1.0);
        (1.0 - (of_links + (1.0 - shares) * others) / met.wait).clamp(0.0, 1.0)
    }

    /// The squares of packets one by one, per second, in the bands of a line up to this one.
    fn squares(&self, at: usize, band: usize) -> f64 {
        self.met[at][..=band].iter().map(|met| met.squares).sum()
    }

    /// Seconds that packets in a band of a line wait, about, for messages that come through slower links.
    fn crossing(&self, at: usize, band: usize, links: &[Link]) -> f64 {
        let met = &self.met[at][band];
        let sum = |of: fn(&Link) -> f64| links.iter().map(of).sum::<f64>();
        let all = met.before + met.utilisation;
        let (others, left) = ((all - sum(|link| link.load)).max(0.0), 1.0 - all.max(0.0));
        if left <= 0.0 {
            return 0.0;
        }
        let together = match links.len() {
            0 | 1 => 0.0,
            _ => {
                let of_links = links.iter().map(|link| (link.rate, link.busy()));
                more_than(1.0 - others, of_links) * sum(|link| link.squares) / 2.0 / left
            }
        };
        let squares = self.squares(at, band);
        let beside = links.iter().map(|link| {
            let (load, squares) = (all - link.load, squares - link.of_packets);
            link.busy() * (link.wait_beside(load.max(0.0), squares.max(0.0)) - met.wait).max(0.0)
        });
        together + beside.sum::<f64>()
    }
}

/// What comes to a line through one slower link, per second and in seconds of the line.
#[derive(Debug, Clone, Copy, Default)]
struct Link {
    /// Of the line's rate.
    rate: f64,
    load: f64,
    packets: f64,
    /// Of messages, and of their packets one by one.
    squares: f64,
    of_packets: f64,
}

impl Link {
    /// The part of the time in which it sends.
    fn busy(&self) -> f64 {
        (self.load / self.rate).min(1.0)
    }

    /// The mean wait of a packet while this link sends, where others bring this load, and packets with these squares.
    fn wait_beside(&self, load: f64, squares: f64) -> f64 {
        if self.load <= 0.0 {
            return 0.0;
        }
        // How long the message lasts in which a moment lies, and the mean over that of a motion that is held above zero.
        let seconds = self.squares / self.load / self.rate;
        let grown = 2.0 / 3.0 * (2.0 * squares * seconds / std::f64::consts::PI).sqrt();
        let left = 1.0 - self.rate - load;
        match left > 0.0 {
            true => grown.min(squares / 2.0 / left),
            false => grown - left * seconds / 2.0,
        }
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
