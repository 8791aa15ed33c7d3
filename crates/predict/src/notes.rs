//! What the figures rest on, in sentences.

use shortflow_scenario::{Scenario, WorkloadKind};

use crate::datagrams::waits_in_plain_buffer;
use crate::lines::Order;
use crate::network::Network;
use crate::range::is_smooth;
use crate::summary::Lacking;
use crate::traffic::Demand;

/// Sentences on what there is, and on what there is not.
pub(crate) fn rests_on(scenario: &Scenario, network: &Network, lacking: &[Lacking]) -> Vec<String> {
    let mut told = Vec::new();
    for Lacking { workload, class, why } in lacking {
        let name = &scenario.workloads[*workload].name;
        let of = class.as_ref().map_or(String::new(), |class| format!(" at {class}"));
        told.push(format!("No closed form for `{name}`{of}: {why}."));
    }
    let mut tell = |applies: bool, what: &str| {
        if applies {
            told.push(what.to_owned());
        }
    };
    let known =
        |at: usize| !lacking.iter().any(|lacks| lacks.workload == at && lacks.class.is_none());
    let has = |is: &dyn Fn(&WorkloadKind) -> bool| {
        scenario.workloads.iter().enumerate().any(|(at, w)| is(&w.kind) && known(at))
    };
    tell(true, MEANS);
    tell(has(&|kind| matches!(kind, WorkloadKind::Poisson(_))), POISSON);
    tell(has(&|kind| matches!(kind, WorkloadKind::Cbr(_))), CONSTANT);
    let datagrams = network.sources.iter().enumerate().filter(|(at, _)| known(*at));
    let mut datagrams = datagrams.filter_map(|(_, source)| match source.demand {
        Demand::Packets { ages, .. } => Some((source, ages)),
        _ => None,
    });
    let beside = datagrams.any(|(source, ages)| {
        let mut hops = source.routes.iter().flat_map(|route| &route.there);
        hops.any(|hop| waits_in_plain_buffer(network, hop, ages))
    });
    tell(beside, BESIDE);
    let order = |order: Order| used(network).any(|at| network.lines[at].order == order);
    tell(used(network).any(|at| network.lines[at].bands.len() > 1), BANDS);
    tell(order(Order::Fair), FAIR);
    let is_crowded = |at: usize| {
        let line = &network.lines[at];
        let is_slow = line.time(FULL) > line.target;
        line.order == Order::Fair
            && (network.utilisation(at) > CROWDED || is_slow)
            && !network.met[at].iter().any(|met| met.is_filled)
    };
    tell(used(network).any(is_crowded), CODEL);
    tell(order(Order::LeastAttained), LEAST);
    let visits = |kind: &WorkloadKind| {
        matches!(kind, WorkloadKind::Transfers(_) | WorkloadKind::Web(_) | WorkloadKind::Ftp(_))
    };
    tell(has(&visits), VISITS);
    let loops = |kind: &WorkloadKind| {
        matches!(kind, WorkloadKind::Web(_) | WorkloadKind::Ftp(_) | WorkloadKind::Telnet(_))
    };
    tell(has(&loops), LOOPS);
    tell(is_filled(network, true), RED);
    let is_cubic = (0..network.lines.len()).any(|at| {
        let mut each = network.lines[at].bands.iter().zip(&network.met[at]);
        each.any(|(band, met)| !band.curves.is_empty() && met.loses_at_least)
    });
    tell(is_cubic && has(&|kind| !matches!(kind, WorkloadKind::Bulk(_))), BESIDE_CUBIC);
    let is_long = |at: usize| {
        let line = &network.lines[at];
        let waits = network.met[at].iter().any(|met| met.has_windows && met.wait > line.delay);
        line.order == Order::Bands && waits && network.utilisation(at) > MUCH
    };
    tell(has(&visits) && used(network).any(is_long), LONG_QUEUES);
    tell(waits_beside_windows(network, &known), BESIDE_WINDOWS);
    tell(is_filled(network, false), PLAIN);
    tell(!network.within.is_empty(), MARKS);
    told
}

/// Whether streams that are told share a band with windows that wait for one another, or a line where who has had least goes
/// first with long flows.
fn waits_beside_windows(network: &Network, known: &dyn Fn(usize) -> bool) -> bool {
    let told = network.sources.iter().enumerate().filter(|(at, _)| known(*at));
    let mut streams = told.filter_map(|(_, source)| match source.demand {
        Demand::Packets { ages, .. } => Some((source, ages)),
        _ => None,
    });
    streams.any(|(source, ages)| {
        source.routes.iter().flat_map(|route| &route.there).any(|hop| {
            let mut pieces = ages.pieces(hop).filter(|(_, share)| *share > 0.0);
            pieces.any(|(piece, _)| {
                let met = &network.met[hop.line][piece.places[0].band];
                let windows = met.has_windows && !is_smooth(met) && !met.is_filled;
                match network.lines[hop.line].order {
                    Order::Bands => windows,
                    Order::LeastAttained => met.is_filled,
                    Order::Fair => false,
                }
            })
        })
    })
}

/// The lines on which something is sent.
fn used(network: &Network) -> impl Iterator<Item = usize> + '_ {
    (0..network.lines.len()).filter(|at| !network.loads.by_line[*at].is_empty())
}

/// Whether flows without an end fill a queue with RED, or a plain one.
fn is_filled(network: &Network, red: bool) -> bool {
    let mut all = network.lines.iter().zip(&network.met);
    all.any(|(line, met)| {
        let mut each = line.bands.iter().zip(met);
        line.order == Order::Bands
            && each.any(|(band, met)| met.is_filled && band.curves.is_empty() != red)
    })
}

const MEANS: &str = "Predicted from closed forms: means without intervals; percentiles where the model has a distribution.";
const POISSON: &str =
    "Waits of datagrams rest on M/G/1 (Pollaczek and Khinchine): exact for Poisson packets alone.";
const CONSTANT: &str =
    "Streams of constant rate count as Poisson packets: they wait less than is told here.";
const BESIDE: &str = "Waits at a plain buffer that flows fill are told as those of flows that cut their windows together, and beside windows of others as what is left after a cut: one by one they leave it fuller.";
const BANDS: &str = "Bands that are served in order rest on M/G/1 with non-preemptive priorities (Cobham; Guo et al. 2005, eq. 1).";
const FAIR: &str = "Queues that serve each flow in its turn rest on processor sharing.";
/// The load from which on CoDel drops so much that it shows.
const CROWDED: f64 = 0.6;
/// Bytes of a full packet.
const FULL: f64 = 1500.0;
const CODEL: &str = "Transfers at such queues count as if nothing were dropped: above a load of 0.6, or where a full packet takes longer than CoDel's target, its drops make large ones take up to half longer than is told.";
const LEAST: &str = "Queues that serve who has had least rest on M/G/1 with least attained service (Kleinrock 1976).";
const VISITS: &str = "Transfers rest on slow start over lines whose queues windows fill in bursts (M/G/1 by bursts) and that flows share alike (processor sharing); what losses add rests on Casetti and Mellia 2005 up to 16 segments, on Cardwell et al. 2000 beyond.";
const LOOPS: &str = "Sessions rest on closed loops (mean value analysis after Schweitzer), the objects of a page all of mean length over one connection.";
const RED: &str = "Queues with RED rest on Firoiu and Borden 2000, with the TCP of Padhye et al. 2000 (Reno, one flow like another): what CUBIC loses is told as a lower bound, since it sends no less than Reno at the same loss.";
const BESIDE_CUBIC: &str = "Beside CUBIC's long flows at RED others wait up to half longer than is told, and large transfers up to twice.";
/// The load from which on windows wait long for one another.
const MUCH: f64 = 0.7;
const LONG_QUEUES: &str = "Transfers whose windows wait longer for one another than they are on the way are told up to half too long or too short, the largest up to twice too long.";
const BESIDE_WINDOWS: &str = "Streams behind windows of others, or beside long flows where who has had least goes first, wait up to twice as long as is told.";
const PLAIN: &str = "Full buffers rest on flows that cut their windows together, each for one loss of Padhye et al. 2000: flows that do so one by one wait longer than is told, and bursts lose more. What datagrams lose there has no closed form.";
const MARKS: &str = "Marks by a rate split packets by the profile over the mean rate: exact where the rate does not vary.";
