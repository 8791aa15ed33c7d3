//! What is known of a network at rest, as a summary, and what it rests on.

use shortflow_measure::{ClassSummary, Estimate, PortSummary, Summary, WorkloadSummary};
use shortflow_models::window_growth::jain;
use shortflow_run::Refusal;
use shortflow_scenario::{Part, Scenario, Workload, WorkloadKind};
use shortflow_units::Instant;
use shortflow_workloads::Transfers;

use crate::datagrams;
use crate::settle::{Network, refusal};
use crate::sizes::{listed, moments};
use crate::transfers::{Message, Transfer};

/// The summary, and sentences on what its figures rest on.
pub(crate) fn of(
    scenario: &Scenario,
    network: &Network,
) -> Result<(Summary, Vec<String>), Refusal> {
    let mut workloads = Vec::new();
    for (index, workload) in scenario.workloads.iter().enumerate() {
        let found = of_workload(scenario, network, index, workload);
        workloads.push(found.map_err(|error| refusal(&format!("`{}`", workload.name), error))?);
    }
    let summary = Summary {
        replicas: 1,
        measured: (scenario.duration - scenario.warm_up).as_secs_f64(),
        workloads,
        ports: ports(network),
        ..Default::default()
    };
    Ok((summary, rests_on(scenario, network)))
}

fn of_workload(
    scenario: &Scenario,
    network: &Network,
    index: usize,
    workload: &Workload,
) -> Result<WorkloadSummary, shortflow_models::ModelError> {
    let ways = &network.ways[index];
    let mut found = WorkloadSummary {
        name: workload.name.clone(),
        item: workload.kind.traffic().item(Part::Whole),
        ..Default::default()
    };
    let seconds = measured(scenario, workload);
    match &workload.kind {
        WorkloadKind::Poisson(poisson) => {
            let (bytes, _) = moments(&listed(&poisson.size), |size| size);
            let sent = poisson.rate * ways.len() as f64 * seconds;
            found.datagrams = Some(datagrams::of(network, ways, bytes, sent));
        }
        WorkloadKind::Cbr(cbr) => {
            let packet = f64::from(cbr.packet);
            let rate = |stream: usize| cbr.stream(stream).1.bytes_per_sec() / packet;
            let sent: f64 = (0..cbr.streams()).map(rate).sum();
            found.datagrams = Some(datagrams::of(network, ways, packet, sent * seconds));
        }
        WorkloadKind::Transfers(transfers) => {
            let classes = classes(scenario, network, index, transfers)?;
            found.all = whole(&classes);
            found.classes =
                classes.into_iter().map(|(class, _)| class).filter(|class| class.n > 0).collect();
            for class in std::iter::once(&mut found.all).chain(&mut found.classes) {
                class.n = (class.n as f64 / SHARE * transfers.rate * seconds).round() as u64;
            }
            found.completed = found.all.n;
        }
        WorkloadKind::Bulk(_) => {
            let bundles =
                || network.long_flows.bundles.iter().filter(|bundle| bundle.workload == index);
            let bits = bundles().map(|bundle| bundle.rate * bundle.payload * 8.0).sum::<f64>();
            found.goodput = Estimate::of(&[bits]);
            let each = bundles().flat_map(|bundle| {
                let each = bundle.rate / bundle.connections;
                std::iter::repeat_n(each, bundle.connections as usize)
            });
            found.fairness = Estimate::of(&[jain(each)?]);
        }
        // A scenario with others is refused.
        _ => {}
    }
    Ok(found)
}

/// Seconds of a run in which what comes is measured.
fn measured(scenario: &Scenario, workload: &Workload) -> f64 {
    let Some(arrivals) = workload.kind.traffic().arrivals() else { return 0.0 };
    let since = |at: Instant| at.as_secs_f64();
    let from = since(arrivals.start).max(scenario.warm_up.as_secs_f64());
    (since(arrivals.stop).min(scenario.duration.as_secs_f64()) - from).max(0.0)
}

/// Shares are kept as whole numbers out of so many until the arrivals are counted.
const SHARE: f64 = 1e12;

/// The mean of each class with its share of transfers.
fn classes(
    scenario: &Scenario,
    network: &Network,
    index: usize,
    transfers: &Transfers<shortflow_scenario::NodeId>,
) -> Result<Vec<(ClassSummary, f64)>, shortflow_models::ModelError> {
    let tcp = &scenario.workloads[index].tcp;
    let (requests, replies) = (listed(&transfers.request), listed(&transfers.reply));
    let named = &scenario.measure.size_classes;
    let class_of = |size: f64| {
        let at = named.iter().position(|class| size <= class.up_to.0 as f64);
        at.unwrap_or(named.len().saturating_sub(1))
    };
    let mut sums = vec![[0.0; 4]; named.len().max(1)];
    let ways = &network.ways[index];
    for way in ways {
        let mut transfer = Transfer::new(network, tcp, way);
        let handshake = transfer.handshake()?;
        let mut request = 0.0;
        for (size, share) in &requests {
            request += share * transfer.time(Message::Request, *size)?;
        }
        for (size, share) in &replies {
            let reply = transfer.time(Message::Reply, *size)?;
            let share = share / ways.len() as f64;
            let sums = &mut sums[class_of(*size)];
            for (sum, value) in sums.iter_mut().zip([1.0, handshake, request, reply]) {
                *sum += share * value;
            }
        }
    }
    let class = |(at, [share, handshake, request, reply]): (usize, [f64; 4])| {
        let mean = |sum: f64| Estimate::of(&[sum / share]).filter(|_| share > 0.0);
        let class = ClassSummary {
            label: named.get(at).map_or(String::new(), |class| class.label.clone()),
            n: (share * SHARE).round() as u64,
            mean: mean(handshake + request + reply),
            handshake: mean(handshake),
            request: mean(request),
            reply: mean(reply),
            ..Default::default()
        };
        (class, share)
    };
    Ok(sums.into_iter().enumerate().map(class).collect())
}

/// All classes together.
fn whole(classes: &[(ClassSummary, f64)]) -> ClassSummary {
    let mean = |of: &dyn Fn(&ClassSummary) -> Option<Estimate>| {
        let sum = classes.iter().filter_map(|(class, share)| Some(share * of(class)?.mean)).sum();
        Estimate::of(&[sum])
    };
    ClassSummary {
        label: "all".to_owned(),
        n: SHARE as u64,
        mean: mean(&|class| class.mean),
        handshake: mean(&|class| class.handshake),
        request: mean(&|class| class.request),
        reply: mean(&|class| class.reply),
        ..Default::default()
    }
}

fn ports(network: &Network) -> Vec<PortSummary> {
    let port = |(line, met): (&crate::lines::Line, &crate::settle::Met)| PortSummary {
        name: line.name.clone(),
        utilisation: Estimate::of(&[met.utilisation]),
        mean_queue_packets: None,
        mean_queue_bytes: None,
        mean_wait: Estimate::of(&[met.wait])
            .map(|wait| Estimate { at_least: met.is_filled && line.red.is_none(), ..wait }),
        ecn_marks: None,
        loss: Estimate::of(&[met.loss]),
        code_points: Vec::new(),
    };
    network.lines.iter().zip(&network.met).map(port).collect()
}

/// What the figures rest on, in sentences.
fn rests_on(scenario: &Scenario, network: &Network) -> Vec<String> {
    let has = |is: &dyn Fn(&WorkloadKind) -> bool| scenario.workloads.iter().any(|w| is(&w.kind));
    let mut told = Vec::new();
    let mut tell = |applies: bool, what: &str| {
        if applies {
            told.push(what.to_owned());
        }
    };
    let filled = |red: bool| {
        let all = network.lines.iter().zip(&network.met);
        all.filter(|(line, met)| met.is_filled && line.red.is_some() == red).count() > 0
    };
    tell(true, "Predicted from closed forms: means only, without intervals and percentiles.");
    tell(
        has(&|kind| matches!(kind, WorkloadKind::Poisson(_))),
        "Waits of datagrams rest on M/G/1 (Pollaczek and Khinchine): exact for Poisson packets alone.",
    );
    tell(
        has(&|kind| matches!(kind, WorkloadKind::Cbr(_))),
        "Streams of constant rate count as Poisson packets: they wait less than is told here.",
    );
    tell(
        (0..network.lines.len()).any(|at| network.waits_for_bursts(at))
            && has(&|k| matches!(k, WorkloadKind::Cbr(_) | WorkloadKind::Poisson(_))),
        "Datagrams beside transfers wait at least as long as is told: windows come in bursts, for which there is no closed form.",
    );
    tell(
        has(&|kind| matches!(kind, WorkloadKind::Transfers(_))),
        "Transfers rest on slow start over lines that flows share alike (Kurose and Ross; processor sharing); what losses add rests on Casetti and Mellia 2005 up to 24 segments, on Cardwell et al. 2000 beyond. There is no closed form for what transfers alone lose at a full buffer: it counts as nothing.",
    );
    tell(
        filled(true),
        "Queues with RED rest on Firoiu and Borden 2000, with the TCP of Padhye et al. 2000 (Reno, one flow like another).",
    );
    tell(
        filled(false),
        "Full buffers rest on flows that halve their windows together, with the loss of Padhye et al. 2000: where they halve one by one, waits are longer than is told and losses less.",
    );
    told
}
