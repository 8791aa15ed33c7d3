//! How measures are taken from one replica.

use super::Subject;
use crate::reading::Reading;
use crate::replica::{ClassResult, DelayPercentiles, LongFlows, Replica, WorkloadResult};

/// A figure that has no bounds.
pub(super) fn exact(figure: Option<f64>) -> Option<Reading> {
    figure.map(Reading::Exact)
}

/// A number of things.
pub(super) fn number(count: u64) -> Option<Reading> {
    Some(Reading::Exact(count as f64))
}

/// Bytes of the measured time as 10⁶ bits per second.
pub(super) fn rate(replica: &Replica, bytes: u64) -> Option<Reading> {
    exact(Some(bytes as f64 * 8.0 / replica.measured / 1e6))
}

/// The workload.
pub(super) fn workload_of<'r>(
    replica: &'r Replica,
    what: &Subject<'_>,
) -> Option<&'r WorkloadResult> {
    replica.workload(what.workload)
}

/// Its size class, or all of it.
pub(super) fn of_class<'r>(replica: &'r Replica, what: &Subject<'_>) -> Option<&'r ClassResult> {
    workload_of(replica, what)?.class(what.class.unwrap_or("all"))
}

/// The share of transfers that took longer than the limit.
pub(super) fn share_over(replica: &Replica, what: &Subject<'_>) -> Option<f64> {
    let (class, limit) = (of_class(replica, what)?, what.limit?);
    class.share_over(class.over.iter().position(|over| over.limit == limit)?)
}

/// A count over the completed transfers of a workload, by their number.
pub(super) fn per_transfer(
    replica: &Replica,
    what: &Subject<'_>,
    count: fn(&WorkloadResult) -> u64,
) -> Option<Reading> {
    exact(workload_of(replica, what)?.per_transfer(count))
}

/// The long flows of a workload.
pub(super) fn long_flows<'r>(replica: &'r Replica, what: &Subject<'_>) -> Option<&'r LongFlows> {
    workload_of(replica, what)?.long_flows.as_ref()
}

/// The values of all datagrams of a workload, and of each of its streams.
pub(super) struct Delays {
    pub(super) sent: u64,
    pub(super) delay: Option<f64>,
    pub(super) percentiles: DelayPercentiles,
    pub(super) delay_max: Option<f64>,
    pub(super) loss: Option<f64>,
    pub(super) rating: Option<f64>,
}

/// The datagrams of the stream, or of all the workload.
pub(super) fn delays(replica: &Replica, what: &Subject<'_>) -> Option<Delays> {
    let workload = workload_of(replica, what)?;
    let Some(name) = what.stream else {
        let all = workload.datagrams.as_ref()?;
        return Some(Delays {
            sent: all.sent,
            delay: all.delay,
            percentiles: all.percentiles,
            delay_max: all.delay_max,
            loss: all.loss(),
            rating: all.rating(),
        });
    };
    let stream = workload.streams.iter().find(|stream| stream.name == name)?;
    Some(Delays {
        sent: stream.sent,
        delay: stream.delay,
        percentiles: stream.percentiles,
        delay_max: stream.delay_max,
        loss: stream.loss(),
        rating: stream.rating(),
    })
}

/// The share of packets lost at a port, of one code point or of all.
pub(super) fn loss(replica: &Replica, what: &Subject<'_>) -> Option<f64> {
    let port = replica.port(what.at?)?;
    match what.code_point {
        None => port.loss(),
        Some(name) => port.code_points.get(index(replica, name)?)?.loss(),
    }
}

/// The packets that arrived at a port, of one code point or of all.
pub(super) fn arrived(replica: &Replica, what: &Subject<'_>) -> Option<u64> {
    let port = replica.port(what.at?)?;
    match what.code_point {
        None => Some(port.code_points.iter().map(|counts| counts.arrived.packets).sum()),
        Some(name) => Some(port.code_points.get(index(replica, name)?)?.arrived.packets),
    }
}

fn index(replica: &Replica, code_point: &str) -> Option<usize> {
    replica.code_points.iter().position(|name| name == code_point)
}
