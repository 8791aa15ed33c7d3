//! What each kind of workload asks for. Settings are taken apart without `..`: a new one does not compile until it is decided
//! here what it means.

use shortflow_scenario::{NodeId, Scenario, Workload, WorkloadKind};
use shortflow_tcp::{Algorithm, Config};
use shortflow_units::Instant;
use shortflow_workloads::{
    Bulk, Cbr, Ftp, Http, PageModel, Poisson, Sessions, Telnet, Transfers, Visits, Web,
};

use crate::sizes::{listed, mean};
use crate::traffic::{Ages, Demand, Message, Shape, Visit};

/// What a workload asks for whose streams have these ages, and why there is no closed form for it, if there is none.
pub(crate) fn demand(workload: &Workload, ages: Ages) -> (Demand, Option<String>) {
    let name = &workload.name;
    let mut lacks = None;
    let demand = match &workload.kind {
        WorkloadKind::Poisson(poisson) => {
            // The port and the code point are in what classifiers see, the times in `comes_and_goes`.
            let Poisson { pairs, rate, size, port: _, dscp: _, start: _, stop: _ } = poisson;
            let per_second = rate * pairs.len() as f64;
            Demand::Packets { per_second, sizes: listed(size), ages }
        }
        WorkloadKind::Cbr(cbr) => {
            let Cbr {
                // `Cbr::stream` has the rate of each.
                pairs: _,
                rates: _,
                by_stream: _,
                packet,
                port: _,
                dscp: _,
                start: _,
                stop: _,
            } = cbr;
            let packet = f64::from(*packet);
            let rates = (0..cbr.streams()).map(|stream| cbr.stream(stream).1.bytes_per_sec());
            let per_second = rates.sum::<f64>() / packet;
            Demand::Packets { per_second, sizes: vec![(packet, 1.0)], ages }
        }
        WorkloadKind::Transfers(transfers) => {
            let Transfers { pairs: _, rate, request, reply, port: _, start: _, stop: _ } =
                transfers;
            let messages = vec![
                Message::new(true, listed(request), 1.0),
                Message::new(false, listed(reply), 1.0),
            ];
            let visit = Visit { connections: 1.0, messages, shape: Shape::Exchange };
            Demand::Open { per_second: *rate, visit }
        }
        WorkloadKind::Bulk(bulk) => {
            // A steady state has all flows begun.
            let Bulk { pairs: _, flows, size, port: _, start: _, start_window: _ } = bulk;
            if size.is_some() {
                lacks = Some(format!("flows of one size that begin together in `{name}`"));
            }
            Demand::Endless { connections: f64::from(*flows) }
        }
        WorkloadKind::Web(web) => browsing(web, name, &mut lacks),
        WorkloadKind::Telnet(telnet) => {
            let Telnet { sessions, character, pause } = telnet;
            let size = vec![(f64::from(*character), 1.0)];
            let mut messages =
                vec![Message::new(true, size.clone(), 1.0), Message::new(false, size, 1.0)];
            messages.iter_mut().for_each(|message| message.is_late = true);
            let visit = Visit { connections: 0.0, messages, shape: Shape::Echo };
            Demand::Closed { sessions: users(sessions), pause: pause.mean(), visit }
        }
        WorkloadKind::Ftp(ftp) => {
            let Ftp { sessions, size, pause } = ftp;
            let messages = vec![Message::new(true, listed(size), 1.0)];
            let visit = Visit { connections: 1.0, messages, shape: Shape::File };
            Demand::Closed { sessions: users(sessions), pause: pause.mean(), visit }
        }
    };
    (demand, sender(workload).or(lacks))
}

/// How many users there are.
fn users(sessions: &Sessions<NodeId>) -> f64 {
    // A steady state has all of them begun.
    let Sessions { pairs: _, count, port: _, start: _, start_window: _, stop: _ } = sessions;
    f64::from(*count)
}

/// Why nothing is known of a workload, and of what it leaves of its lines, if it is not there all the time that is measured.
pub(crate) fn comes_and_goes(scenario: &Scenario, workload: &Workload) -> Option<String> {
    let (start, stop) = match &workload.kind {
        WorkloadKind::Bulk(bulk) => (bulk.start, None),
        WorkloadKind::Web(web) if matches!(web.visits, Visits::Replay { .. }) => return None,
        WorkloadKind::Web(web) => (web.sessions.start, Some(web.sessions.stop)),
        WorkloadKind::Ftp(ftp) => (ftp.sessions.start, Some(ftp.sessions.stop)),
        WorkloadKind::Telnet(telnet) => (telnet.sessions.start, Some(telnet.sessions.stop)),
        _ => {
            let arrivals = workload.kind.traffic().arrivals()?;
            (arrivals.start, Some(arrivals.stop))
        }
    };
    let (begin, end) = (Instant::START + scenario.warm_up, Instant::START + scenario.duration);
    let is_late = start > begin || stop.is_some_and(|stop| stop < end);
    is_late.then(|| {
        format!(
            "a workload that starts or stops during the measurement, such as `{}`",
            workload.name
        )
    })
}

/// Why there is no closed form for how it sends, if there is none.
fn sender(workload: &Workload) -> Option<String> {
    let name = &workload.name;
    if !workload.kind.uses_tcp() {
        return None;
    }
    let Config {
        congestion,
        window_rate,
        pacing,
        // Other parts of this crate go by these.
        era: _,
        mss: _,
        header: _,
        ip_header: _,
        initial_window: _,
        receive_window: _,
        recovery: _,
        tail_loss_probe: _,
        hystart: _,
        byte_counting: _,
        delayed_ack: _,
        quick_acks: _,
        right_sizing: _,
        rto_initial: _,
        rto_min: _,
        rto_floor: _,
        lost_syns_forgiven: _,
        linear_syn_timeouts: _,
        ecn: _,
        // Of controls that are refused here.
        reference_rtt: _,
        increase: _,
        // Without an effect on closed forms, each for a reason of [`SCENARIO_KEYS_WITHOUT_EFFECT`](crate::SCENARIO_KEYS_WITHOUT_EFFECT).
        slow_start_limit: _,
        cubic: _,
        duplicate_ack_threshold: _,
        limited_transmit: _,
        whole_segments: _,
        duplicate_sack: _,
        lone_fin: _,
        adaptive_ack: _,
        nagle: _,
        rto_max: _,
        clock_granularity: _,
        timer_tick: _,
        ecn_capable: _,
        restart_after_idle: _,
        syn_retries: _,
        data_retries: _,
        time_wait: _,
    } = &*workload.tcp;
    if window_rate.is_some() || *pacing {
        return Some(format!("paced or rate-limited senders, as in `{name}`"));
    }
    let is_known = matches!(congestion, Algorithm::Reno | Algorithm::Cubic);
    (!is_known).then(|| format!("the congestion control of `{name}`"))
}

/// Pages, one after another.
fn browsing(web: &Web<NodeId>, name: &str, lacks: &mut Option<String>) -> Demand {
    let Web { sessions, http, gap, request, ranges, visits } = web;
    let (pages, think) = match visits {
        Visits::Browse { pages, think } => (Some(pages), think.mean()),
        Visits::Replay { logs: _, busy: _ } => (None, f64::INFINITY),
    };
    if pages.is_none() {
        *lacks = Some(format!("pages at logged times, as in `{name}`"));
    } else if gap.is_some() {
        *lacks = Some(format!("objects that wait for one another, as in `{name}`"));
    } else if *ranges > 1 {
        *lacks = Some(format!("byte-range requests, as in `{name}`"));
    }
    let (numbers, index, object) = match pages {
        Some(PageModel { index, objects, object, pool: _ }) => {
            (listed(objects.as_sizes()), index.as_ref().map(listed), listed(object))
        }
        None => (Vec::new(), None, Vec::new()),
    };
    let each = mean(&numbers, |number| number.round());
    let parts = each + f64::from(u8::from(index.is_some()));
    let (connections, shape) = match *http {
        Http::V10 { connections } => {
            (parts, Shape::Objects { numbers, connections: f64::from(connections) })
        }
        Http::V11 { keep_alive } => {
            let opened = f64::from(u8::from(!keep_alive));
            (opened, Shape::Pipeline { numbers, stays: keep_alive })
        }
    };
    let mut messages = vec![Message::new(true, listed(request), parts)];
    messages.extend(index.map(|index| Message::new(false, index, 1.0)));
    let in_line = if let Shape::Pipeline { .. } = shape { each.max(1.0) } else { 1.0 };
    messages.push(Message { in_line, ..Message::new(false, object, each) });
    if let Shape::Pipeline { stays, .. } = shape {
        messages.iter_mut().for_each(|message| message.is_late = stays);
    }
    let visit = Visit { connections, messages, shape };
    Demand::Closed { sessions: users(sessions), pause: think, visit }
}
