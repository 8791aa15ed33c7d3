//! Acknowledgements that share a line with what others send: behind windows, or behind the turns of long flows, they come back
//! late and in bunches, which let bunches of data go.

use shortflow_models::Range;

use crate::band::{FULL, Order};
use crate::bundles::Bundle;
use crate::load::Entry;
use crate::marks::Hop;
use crate::network::Network;
use crate::range::Lack;
use crate::within::value;

/// The share of a line that windows of others may take where acknowledgements of long flows wait behind them. Of 50 simulations
/// with less, 48 goodputs were at most 28 % below the prediction; with more, down to a third of it.
const MAX_BEHIND_WINDOWS: f64 = 0.05;

/// The turns of long flows that an acknowledgement may wait for, as a part of its round trip.
const MAX_ROUND: f64 = 0.5;

/// The least share of a line that is left to long flows, while rates are looked for.
const MIN_FREE: f64 = 1e-3;

impl Network {
    /// Omits long flows whose acknowledgements overload a line or are held up there, and the traffic at the line that they would
    /// fill.
    pub(crate) fn leave_out_held_by_answers(&mut self) {
        for bundle in &self.bundles {
            let Some(why) = self.holds_answers(bundle) else { continue };
            for met in &mut self.met[bundle.bottleneck] {
                met.lacks.get_or_insert_with(|| why.clone());
            }
        }
    }

    /// What holds up the acknowledgements of long flows, if anything does.
    fn holds_answers(&self, bundle: &Bundle) -> Option<String> {
        let back = &self.sources[bundle.source].routes[bundle.route].back;
        back.iter().find_map(|hop| {
            let name = &self.lines[hop.line].name;
            let is_held_there = self.bundles.iter().any(|other| other.bottleneck == hop.line);
            if self.utilisation(hop.line) >= 1.0 && !is_held_there {
                let what = "long flows whose acknowledgements fill";
                return Some(format!("{what} {name} and are delayed there"));
            }
            // While a packet of others is sent, so many of the flows leave their line, whose acknowledgements wait for it.
            let sent = self.lines[bundle.bottleneck].time(bundle.packet);
            let together = (self.lines[hop.line].time(FULL) / sent).min(1.0);
            if self.windows_before(hop) * together > MAX_BEHIND_WINDOWS {
                let what = "long flows whose acknowledgements wait behind windows of other flows";
                return Some(format!("{what} at {name}"));
            }
            self.check_round(hop, self.round_trip(bundle)).err().map(|why| why.to_string())
        })
    }

    /// The share of a line that windows take which packets at a hop wait behind, where these are served in order.
    fn windows_before(&self, hop: &Hop) -> f64 {
        let band = hop.pieces[0].places[0].band;
        if self.lines[hop.line].bands()[band].order != Order::Fifo {
            return 0.0;
        }
        let is_before = |bundle: &&Bundle| {
            let there = self.hops(bundle).iter().find(|other| other.line == hop.line);
            there.is_some_and(|there| self.last(there).0 <= band)
        };
        let time = |bundle: &Bundle| bundle.rate * self.lines[hop.line].time(bundle.packet);
        let long: f64 = self.bundles.iter().filter(is_before).map(time).sum();
        let entries = self.loads.by_line[hop.line].iter();
        let windows = entries.filter(|one| one.band <= band && one.comes_in_windows());
        let share =
            |one: &Entry| self.visits[one.source] * value(one.share, &self.within) * one.busy;
        long + windows.map(share).sum::<f64>()
    }

    /// Seconds in which each of the long flows that fill a queue at a hop has its turn beside what else comes, where flows have
    /// turns.
    pub(crate) fn round(&self, hop: &Hop) -> f64 {
        let band = hop.pieces[0].places[0].band;
        let (line, met) = (&self.lines[hop.line], &self.met[hop.line][band]);
        let turn = line.bands()[band].turns.map_or(FULL, |turns| turns.quantum);
        met.permanent * line.time(turn) / (1.0 - met.before - met.open).max(MIN_FREE)
    }

    /// Refuses acknowledgements that wait for the turns of long flows for much of their round trip.
    pub(crate) fn check_round(&self, hop: &Hop, trip: f64) -> Result<(), Lack> {
        let what = "the turns of long flows before an acknowledgement, relative to its round trip,";
        let checked = Range::from_to(0.0, MAX_ROUND).check(what, self.round(hop) / trip);
        checked
            .map(|_| ())
            .map_err(|error| Lack::new(format!("at {} {error}", self.lines[hop.line].name)))
    }
}
