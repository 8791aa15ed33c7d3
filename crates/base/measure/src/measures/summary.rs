//! How measures are taken from the summary over replicas.

use super::Subject;
use crate::estimate::Estimate;
use crate::summary::{
    CallSummary, ClassSummary, CodePointSummary, DelaySummary, Summary, WorkloadSummary,
};
use crate::tables::Cell;

/// A figure with its interval.
pub(super) fn figure(estimate: Option<Estimate>) -> Option<Cell> {
    estimate.map(Cell::Figure)
}

/// A number of things, all replicas together.
pub(super) fn count(number: u64) -> Option<Cell> {
    Some(Cell::Count(number))
}

/// The workload.
pub(super) fn summed<'s>(summary: &'s Summary, what: &Subject<'_>) -> Option<&'s WorkloadSummary> {
    summary.workload(what.workload)
}

/// What it got of replies and of long flows; a prediction tells only what flows without end get.
pub(super) fn data_goodput(workload: &WorkloadSummary) -> Option<Estimate> {
    workload.data_goodput.or(workload.goodput)
}

/// Its size class, or all of it.
pub(super) fn summed_class<'s>(
    summary: &'s Summary,
    what: &Subject<'_>,
) -> Option<&'s ClassSummary> {
    let workload = summed(summary, what)?;
    match what.class {
        None | Some("all") => Some(&workload.all),
        Some(label) => workload.class(label),
    }
}

/// The values of all datagrams of a workload, and of each of its streams.
pub(super) struct Delays<'s> {
    pub(super) sent: u64,
    pub(super) delay: Option<Estimate>,
    pub(super) percentiles: &'s DelaySummary,
    pub(super) delay_max: Option<Estimate>,
    pub(super) loss: Option<Estimate>,
    pub(super) call: &'s CallSummary,
}

/// The datagrams of the stream, or of all the workload.
pub(super) fn summed_datagrams<'s>(summary: &'s Summary, what: &Subject<'_>) -> Option<Delays<'s>> {
    let workload = summed(summary, what)?;
    let Some(name) = what.stream else {
        let all = workload.datagrams.as_ref()?;
        return Some(Delays {
            sent: all.sent,
            delay: all.delay,
            percentiles: &all.percentiles,
            delay_max: None,
            loss: all.loss,
            call: &all.call,
        });
    };
    let stream = workload.streams.iter().find(|stream| stream.name == name)?;
    Some(Delays {
        sent: stream.sent,
        delay: stream.delay,
        percentiles: &stream.percentiles,
        delay_max: stream.delay_max,
        loss: stream.loss,
        call: &stream.call,
    })
}

/// A code point at a port.
pub(super) fn summed_code_point<'s>(
    summary: &'s Summary,
    what: &Subject<'_>,
) -> Option<&'s CodePointSummary> {
    let name = what.code_point?;
    summary.port(what.at?)?.code_points.iter().find(|found| found.name == name)
}

/// The share of packets lost at a port, of one code point or of all.
pub(super) fn summed_loss(summary: &Summary, what: &Subject<'_>) -> Option<Estimate> {
    match what.code_point {
        None => summary.port(what.at?)?.loss,
        Some(_) => summed_code_point(summary, what)?.loss,
    }
}
