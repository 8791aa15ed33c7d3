//! What packets meet at a line, band by band, given what comes there.

use shortflow_models::Range;
use shortflow_models::queueing::CustomerClass;

use crate::band::Order;
use crate::long_flows::{Beside, fill};
use crate::met::{Met, Own};
use crate::network::Network;
use crate::traffic::Demand;
use crate::within::value;

impl Network {
    /// The bundles that a band of a line holds back.
    fn held_at(&self, at: usize, band: usize) -> Vec<usize> {
        let is_here = |index: &usize| {
            let bundle = &self.bundles[*index];
            bundle.bottleneck == at && self.last(self.hop(bundle, at)).0 == band
        };
        (0..self.bundles.len()).filter(is_here).collect()
    }

    /// What packets meet at a line, band by band; by which part a wait or a rate changed.
    pub(crate) fn meet(&mut self, at: usize) -> f64 {
        let count = self.lines[at].bands().len();
        let mut classes =
            vec![CustomerClass { arrival_rate: 0.0, mean_service: 0.0, second_moment: 0.0 }; count];
        let mut found = vec![Met::default(); count];
        self.sum_up(at, &mut classes, &mut found);
        self.set_own(at, &mut found);
        let mut changed = 0.0f64;
        let mut before = 0.0f64;
        for band in 0..count {
            let here = self.held_at(at, band);
            before = self.least_before(at, &classes, (band, !here.is_empty()), before);
            let own = classes[band].arrival_rate * classes[band].mean_service;
            let name = &self.lines[at].name;
            let fits = Range::from_to_below(0.0, 1.0);
            let fits = fits.check("the load, including what is served before it,", before + own);
            let lacks = fits.err().map(|error| format!("the arrivals at {name}: {error}"));
            if lacks.is_none() && !here.is_empty() {
                let beside = Beside {
                    free: 1.0 - before,
                    busy: own,
                    packets: classes[band].arrival_rate,
                    in_windows: found[band].has_windows,
                };
                match fill(self, at, band, &here, beside) {
                    Ok((met, rates)) => {
                        let line = &self.lines[at];
                        for (&index, rate) in here.iter().zip(&rates) {
                            let bundle = &mut self.bundles[index];
                            changed = changed.max((rate - bundle.rate).abs() / rate.max(1e-9));
                            bundle.rate = f64::midpoint(bundle.rate, *rate);
                            let time = line.time(bundle.packet);
                            add(&mut classes[band], bundle.rate, time, time * time);
                        }
                        found[band] = filled(met, &mut found[band], 1.0 - before - own);
                        let queue = &self.lines[at].bands()[band];
                        if queue.order == Order::Fair {
                            let has_hosts = queue.shares_by_hosts();
                            let bundles = here.iter().map(|&index| &self.bundles[index]);
                            found[band].permanent =
                                bundles.map(|bundle| bundle.turns(has_hosts)).sum();
                        }
                    }
                    Err(error) => {
                        found[band].lacks = Some(format!("the arrivals at {name}: {error}"))
                    }
                }
            }
            found[band].before = before;
            found[band].lacks = found[band].lacks.take().or(lacks);
            found[band].packets = classes[band].arrival_rate;
            found[band].utilisation = classes[band].arrival_rate * classes[band].mean_service;
            before += found[band].utilisation;
            if found[band].is_filled {
                // Nothing is left for those that come after.
                before = before.max(1.0);
            }
        }
        self.guarantee(at, &classes, &mut found);
        changed.max(self.wait(at, &classes, found))
    }

    /// What users of closed loops bring to the bands of a line themselves.
    fn set_own(&self, at: usize, found: &mut [Met]) {
        let mut all: Vec<(usize, f64, f64, Vec<f64>)> = Vec::new();
        for entry in &self.loads.by_line[at] {
            let Demand::Closed { sessions, .. } = self.sources[entry.source].demand else {
                continue;
            };
            let known = all.iter().position(|(source, ..)| *source == entry.source);
            let place = known.unwrap_or_else(|| {
                all.push((entry.source, sessions, 0.0, vec![0.0; found.len()]));
                all.len() - 1
            });
            let rate = self.visits[entry.source] * value(entry.share, &self.within) / sessions;
            all[place].2 += rate * entry.square.max(entry.burst);
            all[place].3[entry.band] += rate * entry.busy;
        }
        let squares: f64 = found.iter().map(|met| met.squares).sum();
        let mut bursts = 0.0;
        for (band, met) in found.iter_mut().enumerate() {
            bursts += met.bursts;
            met.heard = squares + bursts;
            let own = |(source, sessions, square, busy): &(usize, f64, f64, Vec<f64>)| Own {
                source: *source,
                sessions: *sessions,
                square: *square,
                before: busy[..band].iter().sum(),
                up_to: busy[..=band].iter().sum(),
            };
            met.own = all.iter().map(own).collect();
        }
    }

    /// What comes to the bands of a line apart from flows that are held back there.
    fn sum_up(&self, at: usize, classes: &mut [CustomerClass], found: &mut [Met]) {
        for entry in &self.loads.by_line[at] {
            let source = &self.sources[entry.source];
            if source.lacks.is_some() && matches!(source.demand, Demand::Closed { .. }) {
                // It is not known how much it sends; what that makes unknown is left out.
                continue;
            }
            let rate = self.visits[entry.source] * value(entry.share, &self.within);
            let class = &mut classes[entry.band];
            if entry.packets > 0.0 && rate > 0.0 {
                add(
                    class,
                    rate * entry.packets,
                    entry.busy / entry.packets,
                    entry.square / entry.packets,
                );
            }
            let met = &mut found[entry.band];
            let busy = rate * entry.busy;
            met.squares += rate * entry.square;
            met.bursts += rate * (entry.burst - entry.square).max(0.0);
            met.runs += rate * (entry.run - entry.square).max(0.0);
            met.has_windows |= entry.is_tcp;
            match &self.sources[entry.source].demand {
                Demand::Closed { .. } => {
                    match met.closed.iter_mut().find(|(source, _)| *source == entry.source) {
                        Some((_, sum)) => *sum += busy,
                        None => met.closed.push((entry.source, busy)),
                    }
                }
                _ => met.open += busy,
            }
        }
        for bundle in &self.bundles {
            let route = &self.sources[bundle.source].routes[bundle.route];
            let line = &self.lines[at];
            let passes = route.there.iter().find(|hop| hop.line == at && bundle.bottleneck != at);
            let answers = route.back.iter().find(|hop| hop.line == at);
            if let Some(hop) = passes {
                let time = line.time(bundle.packet);
                let band = self.last(hop).0;
                add(&mut classes[band], bundle.rate, time, time * time);
                found[band].open += bundle.rate * time;
                found[band].has_windows = true;
            }
            if let Some(hop) = answers {
                let time = line.time(bundle.header);
                let band = hop.pieces[0].places[0].band;
                add(&mut classes[band], bundle.rate / bundle.answered, time, time * time);
                found[band].open += bundle.rate / bundle.answered * time;
            }
        }
    }
}

/// What packets meet at a band that long flows fill, with what else comes to it, as found before; these leave the share `left` of
/// the line.
fn filled(met: Met, found: &mut Met, left: f64) -> Met {
    Met {
        utilisation: 0.0,
        swell: (found.squares + found.bursts) / 2.0 / left,
        runs: found.runs,
        open: found.open,
        closed: std::mem::take(&mut found.closed),
        own: std::mem::take(&mut found.own),
        has_windows: found.has_windows,
        ..met
    }
}

/// Adds customers to a class.
fn add(class: &mut CustomerClass, rate: f64, service: f64, square: f64) {
    let sum = class.arrival_rate + rate;
    if sum > 0.0 {
        class.mean_service = (class.arrival_rate * class.mean_service + rate * service) / sum;
        class.second_moment = (class.arrival_rate * class.second_moment + rate * square) / sum;
    }
    class.arrival_rate = sum;
}
