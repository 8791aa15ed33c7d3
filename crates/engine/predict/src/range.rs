//! The valid range of the models of transfers, beyond the checks in each formula.

use std::fmt;

use shortflow_models::{ModelError, Range};

use crate::band::{Band, FULL, Order};
use crate::joint_loss;
use crate::lines::Line;
use crate::marks::{Hop, Piece, Place};
use crate::met::Met;
use crate::network::Network;
use crate::traffic::{Demand, Shape, Visit};

/// The share of packets that a queue may lose that no long flow fills: beyond, losses make windows smaller, of which
/// the models of bursts know nothing.
pub(crate) const MAX_LOST: f64 = 0.05;

/// The share of packets that messages may lose whose losses are not followed one by one: beyond, timeouts decide,
/// which today's recovery avoids and the model counts.
pub(crate) const MAX_LOST_OF_LONG: f64 = 0.015;

/// How many packets such a message may lose on average: what one that loses many takes depends on the recovery of its time.
pub(crate) const MAX_LOSSES: f64 = 1.0;
pub(crate) const MAX_LOSSES_CUBIC: f64 = 0.5;

/// The same of CUBIC, which keeps more of the window of its slow start than the model of Reno counts.
pub(crate) const MAX_LOST_OF_LONG_CUBIC: f64 = 0.005;

/// The load up to which lines that flows share serve as the models say: where windows come in bursts, where they
/// come one packet by another, and where those who send wait for what they get.
pub(crate) const MAX_LOAD: f64 = 0.9;
pub(crate) const MAX_SMOOTH_LOAD: f64 = 0.98;
const MAX_CLOSED_LOAD: f64 = 0.6;
const MAX_ECHO_LOAD: f64 = 0.75;

/// The load up to which transfers alone at RED lose too little for their windows to give way.
pub(crate) const MAX_RED_LOAD: f64 = 0.5;

/// The load up to which a line drops few packets by CoDel whose full packets take longer than its target: each that is sent again
/// adds to the load.
const MAX_LOAD_OF_CODEL: f64 = 0.8;

/// The load of what has sent less than a transfer has, up to its size, where who has sent least is served: beyond, what has
/// sent most is pushed out of the queue.
pub(crate) const MAX_LESS_SENT: f64 = 0.55;

/// The share of time that may go to bands before one in which windows wait: with more, flows make way for one another
/// in a manner that no form says.
pub(crate) const MAX_BEFORE: f64 = 0.4;

/// What bursts may add to the squares of packets, as a part of them, where packets count as coming one by one.
pub(crate) const SMOOTH: f64 = 0.2;

/// Why there is no closed form.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Lack(String);

impl Lack {
    pub(crate) fn new(why: String) -> Lack {
        Lack(why)
    }
}

impl From<ModelError> for Lack {
    fn from(error: ModelError) -> Lack {
        Lack(error.to_string())
    }
}

impl fmt::Display for Lack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Why visits of a source whose packets pass a piece of this hop have no closed form, if so.
pub(crate) fn of_windows(
    network: &Network,
    source: usize,
    hop: &Hop,
    piece: &Piece,
) -> Option<Lack> {
    let line = &network.lines[hop.line];
    let at = |place: &Place| &network.met[hop.line][place.band];
    if let Some(why) = piece.places.iter().find_map(|place| at(place).lacks.as_ref()) {
        return Some(Lack(why.clone()));
    }
    let (band, met) = (piece.places[0].band, at(&piece.places[0]));
    let queue = &line.bands()[band];
    if queue.order == Order::Fifo && met.is_filled && queue.curves.is_empty() {
        let why = "where bursts of other flows lose more packets than any closed form predicts";
        return Some(Lack(format!("long flows fill the plain buffer of {}, {why}", line.name)));
    }
    let at = |error: ModelError| Lack(format!("at {} {error}", line.name));
    if let Err(error) = check_asked(network, source, hop) {
        return Some(at(error));
    }
    if met.is_filled || !met.has_windows {
        return None;
    }
    check(network, source, hop, piece).err().map(at)
}

/// Refuses pages and files of users who would ask for more than a line carries well: where they find too little, they ask for less,
/// and the load alone does not show it.
fn check_asked(network: &Network, source: usize, hop: &Hop) -> Result<(), ModelError> {
    let is_users = |visit: &Visit| visit.shape != Shape::Echo;
    if matches!(&network.sources[source].demand, Demand::Closed { visit, .. } if is_users(visit)) {
        Range::from_to(0.0, MAX_CLOSED_LOAD)
            .check("the offered load of users without waiting", network.asked[hop.line])?;
    }
    Ok(())
}

/// Whether a full packet takes longer than CoDel's target, where a queue has one.
pub(crate) fn is_slow_for_codel(line: &Line, band: &Band) -> bool {
    band.order == Order::Fair && line.time(FULL) > band.target()
}

/// Whether packets come to a band one by one, and not in windows.
pub(crate) fn is_smooth(met: &Met) -> bool {
    met.bursts <= SMOOTH * met.squares
}

fn check(network: &Network, source: usize, hop: &Hop, piece: &Piece) -> Result<(), ModelError> {
    let band = piece.places[0].band;
    let (line, met) = (&network.lines[hop.line], &network.met[hop.line][band]);
    let max = match &network.sources[source].demand {
        Demand::Closed { visit, .. } if visit.shape == Shape::Echo => MAX_ECHO_LOAD,
        Demand::Closed { .. } => MAX_CLOSED_LOAD,
        _ if is_smooth(met) => MAX_SMOOTH_LOAD,
        _ => MAX_LOAD,
    };
    let lost = joint_loss::without(network.lost_at(hop, piece), line.link_loss);
    let is_red = !line.bands()[band].curves.is_empty();
    let max = if is_red && !is_smooth(met) { max.min(MAX_RED_LOAD) } else { max };
    let is_slow = is_slow_for_codel(line, &line.bands()[band]);
    let max = if is_slow { max.min(MAX_LOAD_OF_CODEL) } else { max };
    if !met.is_guaranteed {
        Range::from_to(0.0, MAX_BEFORE).check("the load of the bands before", met.before)?;
    }
    let load = met.before + met.utilisation;
    Range::from_to(0.0, max).check("the load including all earlier bands", load)?;
    Range::from_to(0.0, MAX_LOST).check("the share of packets that find the queue full", lost)?;
    Ok(())
}
