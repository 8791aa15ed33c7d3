//! Sentences that name the models and their limits.

use shortflow_measure::{Summary, Warning};
use shortflow_scenario::{Scenario, WorkloadKind};
use shortflow_units::Length;

use crate::band::{Band, FULL, Order};
use crate::lines::Line;
use crate::marks::Hop;
use crate::met::Met;
use crate::network::Network;
use crate::range::{is_slow_for_codel, is_smooth};
use crate::scenario_keys::SCENARIO_KEYS_WITHOUT_EFFECT;
use crate::slow_start::windows;
use crate::summary::Lacking;
use crate::traffic::{Demand, Message, Route, Shape, Source};
use crate::without_effect::WITHOUT_EFFECT;

/// Sentences on what there is, and on what there is not: warnings of what is missing or may be far off, and notes on the
/// models.
pub(crate) fn rests_on(
    scenario: &Scenario,
    network: &Network,
    summary: &Summary,
    lacking: &[Lacking],
) -> Vec<Warning> {
    let mut reported = Vec::new();
    for Lacking { workload, class, why } in lacking {
        let name = &scenario.workloads[*workload].name;
        let of = class.as_ref().map_or(String::new(), |class| format!(" at {class}"));
        reported.push(format!("No closed form for `{name}`{of}: {why}."));
    }
    let is_known =
        |at: usize| !lacking.iter().any(|lacks| lacks.workload == at && lacks.class.is_none());
    let known: Vec<usize> = (0..scenario.workloads.len()).filter(|at| is_known(*at)).collect();
    let of_windows: (IsOf<'_>, _) = (Box::new(|source| overshoots(network, source)), CODEL_LONG);
    let cautions = cautions(network).into_iter().chain(cautions_of_long_flows(network));
    let cautions = cautions.chain([of_windows]);
    for (of, text) in cautions.chain(cautions_of_marks(network)) {
        let names = known.iter().filter(|at| of(&network.sources[**at]));
        let names = names.map(|at| names_of(summary, &scenario.workloads[*at].name));
        let names = names.collect::<Vec<_>>().join(", ");
        if !names.is_empty() {
            reported.push(format!("{names}: {text}"));
        }
    }
    reported.extend(rare(summary));
    let models = models(scenario, network, &known).into_iter().map(str::to_owned);
    let without_effect = [WITHOUT_EFFECT, SCENARIO_KEYS_WITHOUT_EFFECT]
        .into_iter()
        .flat_map(|keys| scenario.without_effect(keys, "predict"));
    let mut all = Warning::all(reported);
    all.extend(Warning::notes(models.chain(without_effect).collect()));
    all
}

/// The name of a workload in a warning, and of its objects where it has some.
fn names_of(summary: &Summary, name: &str) -> String {
    let objects = format!("{name}/objects");
    match summary.workload(&objects) {
        Some(_) => format!("`{name}`, `{objects}`"),
        None => format!("`{name}`"),
    }
}

/// The transfers of a size below which their mean varies from run to run.
const MIN_TRANSFERS: u64 = 30;

/// Sizes of which so few transfers come that the mean of a run is chance.
fn rare(summary: &Summary) -> impl Iterator<Item = String> + '_ {
    let each = summary
        .workloads
        .iter()
        .flat_map(|one| one.classes.iter().map(move |class| (&one.name, class)));
    let each =
        each.filter(|(_, class)| (1..MIN_TRANSFERS).contains(&class.n) && class.mean.is_some());
    each.map(|(name, class)| {
        format!(
            "`{name}` {}: a run has only {} of them, so its mean may be half or twice as long.",
            class.label, class.n
        )
    })
}

/// What the figures rest on.
fn models(scenario: &Scenario, network: &Network, known: &[usize]) -> Vec<&'static str> {
    let has = |is: &dyn Fn(&WorkloadKind) -> bool| {
        known.iter().any(|at| is(&scenario.workloads[*at].kind))
    };
    let order = |order: Order| {
        used(network).any(|at| network.lines[at].bands().iter().any(|band| band.order == order))
    };
    let is_visit = |kind: &WorkloadKind| {
        matches!(kind, WorkloadKind::Transfers(_) | WorkloadKind::Web(_) | WorkloadKind::Ftp(_))
    };
    let is_loop = |kind: &WorkloadKind| {
        matches!(kind, WorkloadKind::Web(_) | WorkloadKind::Ftp(_) | WorkloadKind::Telnet(_))
    };
    let all = [
        (!known.is_empty(), MEANS),
        (known.len() < scenario.workloads.len(), FLOORS),
        (has(&|kind| matches!(kind, WorkloadKind::Poisson(_))), POISSON),
        (used(network).any(|at| network.lines[at].bands().len() > 1), BANDS),
        (network.lines.iter().any(|line| line.queues.weights.is_some()), WEIGHTS),
        (order(Order::Fair), FAIR),
        (order(Order::LeastAttained), LEAST_ATTAINED),
        (has(&is_visit), VISITS),
        (has(&is_loop), LOOPS),
        (is_filled(network, true), RED),
        (is_filled(network, false), PLAIN),
        (!network.within.is_empty(), MARKS),
    ];
    all.into_iter().filter_map(|(applies, text)| applies.then_some(text)).collect()
}

/// Whether a caution is of a source.
type IsOf<'n> = Box<dyn Fn(&Source) -> bool + 'n>;

/// What may be far off: of which sources, and how far.
fn cautions(network: &Network) -> Vec<(IsOf<'_>, &'static str)> {
    let met_by = |source: &Source, is: &dyn Fn(&Line, &Band, &Met) -> bool| {
        let ages = match source.demand {
            Demand::Packets { ages, .. } => Some(ages),
            _ => None,
        };
        hops(source).any(|hop| {
            let mut pieces = hop.pieces.iter().filter(|piece| {
                ages.is_none_or(|ages| {
                    ages.pieces(hop).any(|(one, share)| one == *piece && share > 0.0)
                })
            });
            pieces.any(|piece| {
                let line = &network.lines[hop.line];
                let band = piece.places[0].band;
                is(line, &line.bands()[band], &network.met[hop.line][band])
            })
        })
    };
    let is_visit =
        |source: &Source| matches!(source.demand, Demand::Open { .. } | Demand::Closed { .. });
    let is_stream = |source: &Source| matches!(source.demand, Demand::Packets { .. });
    let is_small = move |source: &Source| match &source.demand {
        Demand::Closed { visit, .. } => visit.shape == Shape::Echo,
        _ => is_stream(source),
    };
    let crowded = |_: &Line, band: &Band, met: &Met| {
        let busy = met.utilisation + met.before;
        band.order == Order::Fair && !met.is_filled && busy > CROWDED
    };
    let slow =
        |line: &Line, band: &Band, met: &Met| !met.is_filled && is_slow_for_codel(line, band);
    let beside_cubic =
        |_: &Line, band: &Band, met: &Met| !band.curves.is_empty() && met.loses_at_least;
    let long = |line: &Line, band: &Band, met: &Met| {
        let is_long =
            met.has_windows && met.wait > line.delay && met.utilisation + met.before > MUCH;
        band.order == Order::Fifo && is_long
    };
    let beside_windows = |_: &Line, band: &Band, met: &Met| match band.order {
        Order::Fifo => met.has_windows && !is_smooth(met) && !met.is_filled,
        Order::LeastAttained => met.is_filled || met.has_windows,
        Order::Fair => met.has_windows,
    };
    let at_red = |_: &Line, band: &Band, met: &Met| {
        !band.curves.is_empty() && met.has_windows && !met.is_filled
    };
    let in_bands = |line: &Line, _: &Band, _: &Met| line.bands().len() > 1;
    vec![
        (Box::new(move |source| is_stream(source) && !source.is_poisson), CONSTANT),
        (
            Box::new(move |source| is_stream(source) && met_by(source, &|_, _, met| met.is_least)),
            SYNCHRONIZED,
        ),
        (Box::new(move |source| is_visit(source) && met_by(source, &crowded)), CODEL_CROWDED),
        (Box::new(move |source| is_visit(source) && met_by(source, &slow)), CODEL_SLOW),
        (
            Box::new(move |source| {
                !matches!(source.demand, Demand::Endless { .. }) && met_by(source, &beside_cubic)
            }),
            WITH_CUBIC,
        ),
        (Box::new(move |source| is_visit(source) && met_by(source, &long)), LONG_QUEUES),
        (Box::new(move |source| is_small(source) && met_by(source, &beside_windows)), WITH_WINDOWS),
        (Box::new(move |source| is_visit(source) && met_by(source, &at_red)), AT_RED),
        (Box::new(move |source| is_visit(source) && met_by(source, &is_among_small)), AMONG_SMALL),
        (Box::new(move |source| is_stream(source) && met_by(source, &in_bands)), IN_BANDS),
    ]
}

/// The same of long flows.
fn cautions_of_long_flows(network: &Network) -> Vec<(IsOf<'_>, &'static str)> {
    vec![
        (Box::new(move |source| competes_from_afar(network, source)), AT_DISTANCES),
        (Box::new(move |source| takes_turns(network, source)), IN_TURN_WITH),
        (Box::new(move |source| network.is_slow_to_recover(source.workload)), SLOW_TO_RECOVER),
        (Box::new(move |source| network.is_measured_briefly(source.workload)), MEASURED_BRIEFLY),
    ]
}

/// Whether long flows share a line with windows of others, where each flow has a queue of its own.
fn takes_turns(network: &Network, source: &Source) -> bool {
    let is_filled_in_turn = |hop: &Hop| {
        let band = hop.pieces[0].places[0].band;
        let met = &network.met[hop.line][band];
        let order = network.lines[hop.line].bands()[band].order;
        order == Order::Fair && met.is_filled && met.has_windows
    };
    matches!(source.demand, Demand::Endless { .. }) && hops(source).any(is_filled_in_turn)
}

/// Whether a source's largest messages come to windows that stand in a queue of their own until CoDel drops from them, of
/// which its TCP recovers a packet in a round trip.
fn overshoots(network: &Network, source: &Source) -> bool {
    let (Demand::Open { visit, .. } | Demand::Closed { visit, .. }) = &source.demand else {
        return false;
    };
    if source.tcp.recovery.has_sack() {
        return false;
    }
    let (mss, header) = (f64::from(source.tcp.mss), f64::from(source.tcp.header));
    let line = |hop: &Hop| &network.lines[hop.line];
    let stands = |message: &Message, route: &Route| {
        let size = message.sizes.iter().map(|(size, _)| *size).fold(0.0, f64::max);
        let segments = (size * message.in_line / mss).ceil();
        let way = |hops: &[Hop], bytes| -> f64 {
            hops.iter().map(|hop| line(hop).time(bytes) + line(hop).delay).sum()
        };
        let trip = way(&route.there, mss + header) + way(&route.back, header);
        let hops = route.way(message.is_there);
        hops.iter().any(|hop| {
            let packet = line(hop).time(mss + header);
            let band = &line(hop).bands()[hop.pieces[0].places[0].band];
            let Some(turns) = band.turns else { return false };
            let all = windows(segments, &source.tcp, trip, packet);
            let times = all.iter().map(|(_, count)| count * packet);
            let standing = times.filter(|time| time - trip > turns.target);
            standing.sum::<f64>() > turns.interval
        })
    };
    source.routes.iter().any(|route| visit.messages.iter().any(|one| stands(one, route)))
}

/// What may be far off because of marks.
fn cautions_of_marks(network: &Network) -> Vec<(IsOf<'_>, &'static str)> {
    vec![
        (Box::new(move |source| is_marked_by_window(network, source) == Some(false)), ONE_MARK),
        (
            Box::new(move |source| {
                is_marked_by_window(network, source) == Some(true) && stays(source)
            }),
            LAST_MARK,
        ),
    ]
}

/// Whether long flows fill a plain buffer together with such of another round trip.
fn competes_from_afar(network: &Network, source: &Source) -> bool {
    let is_long = |source: &&Source| matches!(source.demand, Demand::Endless { .. });
    let is_plain = |hop: &&Hop| {
        let line = &network.lines[hop.line];
        let mut bands = line.bands().iter().zip(&network.met[hop.line]);
        bands
            .any(|(band, met)| band.order == Order::Fifo && met.is_filled && band.curves.is_empty())
    };
    let idle = |route: &Route| {
        let hops = route.there.iter().chain(&route.back);
        hops.map(|hop| network.lines[hop.line].delay).sum::<f64>()
    };
    is_long(&source)
        && hops(source).filter(is_plain).any(|hop| {
            let routes = network.sources.iter().filter(is_long).flat_map(|other| &other.routes);
            let there = routes.filter(|route| route.there.iter().any(|one| one.line == hop.line));
            let trips: Vec<f64> = there.map(idle).collect();
            let least = trips.iter().copied().fold(f64::INFINITY, f64::min);
            trips.iter().any(|trip| *trip > ALIKE * least)
        })
}

/// Whether windows find no room at a buffer in packets, most of whose packets are small.
fn is_among_small(line: &Line, band: &Band, met: &Met) -> bool {
    let is_small = met.utilisation < SMALL * line.time(FULL) * met.packets;
    let is_in_packets = matches!(band.limit, Length::Packets(_));
    let is_meant = is_in_packets && band.order == Order::Fifo && met.has_windows;
    is_meant && is_small && met.bunched > NEGLIGIBLE_LOSS
}

/// Whether a source's packets come with several marks to a line that distinguishes packets, where markers by window write them;
/// none where none does.
fn is_marked_by_window(network: &Network, source: &Source) -> Option<bool> {
    let marked = hops(source)
        .filter(|hop| hop.window > 0.0 && network.lines[hop.line].distinguishes_packets());
    marked.map(|hop| hop.pieces.len() > 1).reduce(|one, other| one || other)
}

/// Whether connections of a source stay from one visit to the next.
fn stays(source: &Source) -> bool {
    match &source.demand {
        Demand::Open { visit, .. } | Demand::Closed { visit, .. } => visit.stays(),
        Demand::Packets { .. } | Demand::Endless { .. } => false,
    }
}

/// The lines that a source's packets pass, both ways where it is TCP's.
fn hops(source: &Source) -> impl Iterator<Item = &Hop> {
    let is_tcp = !matches!(source.demand, Demand::Packets { .. });
    source.routes.iter().flat_map(move |route| {
        let back = if is_tcp { &route.back[..] } else { &[] };
        route.there.iter().chain(back)
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
        let mut each = line.bands().iter().zip(met);
        each.any(|(band, met)| {
            band.order == Order::Fifo && met.is_filled && band.curves.is_empty() != red
        })
    })
}

const MEANS: &str = "Predicted from closed forms: means without intervals; percentiles where the \
    model has a distribution.";
const FLOORS: &str = "Values without a closed form are bounds: times with ≥ are those over idle \
    lines; goodputs with ≤ are those of the slowest line, shaper or receiver's window on the path, with what may wait in \
    buffers when measuring begins.";
const POISSON: &str =
    "Datagrams: waits from M/G/1 (Pollaczek and Khinchine), exact only for Poisson packets.";
const CONSTANT: &str = "streams of constant rate are modelled as Poisson packets. Where little else \
    is sent, this overestimates delays by up to four times.";
const SYNCHRONIZED: &str = "the model assumes that the flows filling a plain buffer cut their windows \
    together. This underestimates the waits at that buffer.";
/// Up to which ratio round trips are alike.
const ALIKE: f64 = 1.1;
const AT_DISTANCES: &str = "long flows of different round trips fill a plain buffer. The one with the longer round trip \
    may get a third of the goodput that is predicted for it.";
const IN_TURN_WITH: &str = "while transfers of others take turns with long flows, CoDel cuts the windows of these, which grow \
    back slowly afterwards. Their goodput may be up to a quarter lower, most so with one or two of them.";
const SLOW_TO_RECOVER: &str = "slow start overflows a buffer on their way, and their windows take longer to grow back than the warm-up. \
    Until then their goodput is lower; to measure it afterwards, lengthen `warm_up`.";
const MEASURED_BRIEFLY: &str = "a full buffer on their way takes more than a twentieth of the measured time to drain. Data behind \
    a lost packet waits for that long at the receiver, so the goodput of such a run may be up to half lower, or a quarter \
    higher. For a closer figure, lengthen `duration` or make the buffer smaller.";
const BANDS: &str = "Bands in priority order: M/G/1 with non-preemptive priorities (Cobham; Guo et \
    al. 2005, eq. 1).";
const WEIGHTS: &str = "Classes with weights: only values that are nearly the same in every order \
    of strict priority; beside long flows of one class, the other classes get the rate that their \
    weights guarantee.";
const FAIR: &str = "Queues that serve flows in turn: processor sharing.";
/// The load from which on CoDel drops so much that it shows.
const CROWDED: f64 = 0.6;
const CODEL_CROWDED: &str = "CoDel's drops are not modelled. Above a load of 0.6, actual times may be a third shorter or \
    twice as long.";
const CODEL_SLOW: &str = "CoDel's drops are not modelled. Where a full packet takes longer than CoDel's target, actual \
    times may be half as long or half longer.";
const CODEL_LONG: &str = "CoDel drops from the largest windows, which TCP without SACK recovers one packet in a round \
    trip. Actual times of large transfers are up to twice as long.";
const LEAST_ATTAINED: &str = "Queues that serve the flow with the least service first: M/G/1 with least \
    attained service (Kleinrock 1976).";
const VISITS: &str = "Transfers: slow start over lines whose queues windows fill in bursts (M/G/1 \
    with bursts) and that flows share equally (processor sharing). Losses: Casetti and Mellia 2005 \
    up to 16 segments, Cardwell et al. 2000 beyond.";
const LOOPS: &str = "Sessions: closed loops (mean value analysis after Schweitzer); the objects of \
    a page all have the mean size and use one connection.";
const RED: &str = "Queues with RED: Firoiu and Borden 2000 with the TCP of Padhye et al. 2000 \
    (Reno, all flows alike). CUBIC's loss is a lower bound, since CUBIC sends at least as much as \
    Reno at the same loss.";
const WITH_CUBIC: &str = "beside long CUBIC flows at RED, actual times are up to half longer, \
    and those of large transfers up to twice as long.";
/// The load from which on windows wait long for one another.
const MUCH: f64 = 0.3;
const LONG_QUEUES: &str = "windows wait longer for one another than their round trip; times may be \
    off by half, and the largest may be twice too long.";
const WITH_WINDOWS: &str = "waits behind or between windows of other flows, or beside long flows where \
    the flow that has sent least goes first, are underestimated. They can double the delay.";
const AT_RED: &str = "large windows raise the average of RED, which then drops from them; actual \
    times of large transfers are up to half longer.";
const ONE_MARK: &str = "`tcp-state` gives all packets the same mark: the initial window is already above \
    `medium`, or the largest one is never above `high`. Smaller windows after losses and pauses are not \
    modelled.";
const LAST_MARK: &str = "the model assumes that the window of a connection that stays is above \
    `medium` of `tcp-state`; smaller windows after losses and pauses are not modelled.";
/// The mean packet, as a part of a full one, below which the packets of a queue are far from all alike; and a loss that counts.
const SMALL: f64 = 0.25;
const NEGLIGIBLE_LOSS: f64 = 1e-3;
const AMONG_SMALL: &str = "many small packets share a buffer that is limited in packets; actual times of \
    large transfers are up to half longer.";
const IN_BANDS: &str = "between bands or classes, delays are means over all streams; the delay of \
    a single stream may be half or twice as long.";
const PLAIN: &str = "Full buffers: flows that cut their windows together, each at one loss of \
    Padhye et al. 2000. Flows that cut separately wait longer, and bursts lose more. Datagram loss \
    there has no closed form.";
const MARKS: &str = "Markers by rate: packets are split by profile over mean rate, which is exact \
    for constant rates.";
