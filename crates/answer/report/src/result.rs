//! The result in words.

use shortflow_measure::Estimate;
use shortflow_measure::Run;
use shortflow_measure::WorkloadSummary;
use shortflow_measure::cases::{
    gain, item, point_label, summaries, swept_key, whole_workloads, workloads,
};
use shortflow_measure::engines::are_several;

use crate::engines;
use crate::format;
use crate::positions::{Positions, positions};
use crate::ranking;

/// The result in words, a line for each workload and run that matters most: how long its transfers,
/// pages, echoes or files took, and against what.
pub fn key_result(runs: &[Run]) -> String {
    let mut timed = whole_workloads(runs);
    timed.truncate(MAX_WORKLOADS);
    if runs.len() > 1 && !ranking::comparable(runs) {
        return "These runs had different arrivals: their scenarios, lengths, seeds, settings or \
            points of a sweep differ. Therefore they have no ranking and no gains."
            .into();
    }
    if are_several(runs) {
        return engines::sentences(runs);
    }
    if runs.len() > 1
        && let Some(sentence) = ranking::sentence(runs)
    {
        // The sentences about each policy would be too many beside a reference and one other.
        let others = runs[1..].iter().filter(|_| runs.len() == 2);
        let clear = others.flat_map(|ours| timed.iter().filter_map(|w| against(&runs[0], ours, w)));
        return [sentence].into_iter().chain(clear).collect::<Vec<_>>().join("\n");
    }
    let streams = match runs {
        [run] if swept_key(runs).is_none() => [of_datagrams(run), of_long_flows(run)].concat(),
        _ => Vec::new(),
    };
    if timed.is_empty() && streams.is_empty() {
        return without_times(runs);
    }
    let of = |workload: &&str| -> Vec<String> {
        match (runs, swept_key(runs)) {
            ([run], None) => alone(run, workload).into_iter().collect(),
            ([run], Some(key)) => along_sweep(run, workload, &key).into_iter().collect(),
            _ => runs[1..].iter().filter_map(|ours| against(&runs[0], ours, workload)).collect(),
        }
    };
    let sentences: Vec<String> = timed.iter().flat_map(of).chain(streams).collect();
    if sentences.is_empty() { "See the tables.".into() } else { sentences.join("\n") }
}

/// Where there are no completion times, the tables speak; what failed to complete is no success.
fn without_times(runs: &[Run]) -> String {
    let opened = |name: &str| {
        summaries(runs).filter_map(|s| s.workload(name)).any(|w| w.completed + w.open > 0)
    };
    let names = workloads(runs);
    let sends = |name: &str| {
        let mut found = summaries(runs).filter_map(|s| s.workload(name));
        found.any(|workload| workload.datagrams.is_some() || workload.fairness.is_some())
    };
    match names.iter().any(|name| opened(name)) || runs.is_empty() {
        true => "No transfer completed.".into(),
        false if names.iter().any(|name| sends(name)) => "See the tables.".into(),
        false => "No transfer began after the warm-up, so nothing was measured.".into(),
    }
}

/// How many workloads are spoken of; the tables have all.
const MAX_WORKLOADS: usize = 4;

fn alone(run: &Run, workload: &str) -> Option<String> {
    let all = &run.points[0].summary.workload(workload)?.all;
    let mut said = format!("{} of {workload} took {} on average", item([run], workload).any(), {
        format::time(&all.mean?)
    });
    let mut parts = Vec::new();
    parts.extend(all.median.map(|median| match median.at_least {
        true => format!("half of them took {} or more", format::seconds(median.mean)),
        false => format!("half of them took at most {}", format::seconds(median.mean)),
    }));
    parts.extend(
        all.p99.map(|p99| format!("one in a hundred more than {}", format::seconds(p99.mean))),
    );
    if !parts.is_empty() {
        said += &format!("; {}", parts.join(", "));
    }
    Some(format!("{said}."))
}

/// How datagrams fared, workload by workload.
fn of_datagrams(run: &Run) -> Vec<String> {
    let found = run.points.iter().flat_map(|point| &point.summary.workloads);
    let clear = found.filter_map(|workload| {
        let datagrams = workload.datagrams.as_ref()?;
        let p99 = datagrams.percentiles.delay_p99.and_then(|p99| p99.known());
        let p99 = p99.map_or(String::new(), |p99| {
            format!(", one in a hundred more than {}", format::seconds(p99.mean))
        });
        let lost = match datagrams.loss {
            Some(_) => format!("; {} of them were lost", format::share(&datagrams.loss)),
            None => String::new(),
        };
        Some(format!(
            "Datagrams of {} took {} on average{p99}{lost}.",
            workload.name,
            format::time(&datagrams.delay?),
        ))
    });
    clear.take(MAX_WORKLOADS).collect()
}

/// What flows without an end got, workload by workload.
fn of_long_flows(run: &Run) -> Vec<String> {
    let found = run.points.iter().flat_map(|point| &point.summary.workloads);
    let is_long = |w: &&WorkloadSummary| {
        w.fairness.is_some() || w.goodput.is_some_and(|goodput| goodput.at_most)
    };
    let long = found.filter(is_long);
    let clear = long.filter_map(|workload| {
        let goodput = workload.goodput?;
        let got = match goodput.at_most {
            true => format!("at most {}", format::max_rate(goodput.mean)),
            false => format::rate(goodput.mean),
        };
        Some(format!("{} got {got} on average.", workload.name))
    });
    clear.take(MAX_WORKLOADS).collect()
}

fn along_sweep(run: &Run, workload: &str, key: &str) -> Option<String> {
    let mean = |at: usize| run.points[at].summary.workload(workload)?.all.mean;
    if let Positions::Names(_) = positions(run) {
        return among_names(run, workload, key);
    }
    let mut known = (0..run.points.len()).filter(|at| run.points[*at].failure.is_none());
    let first = known.next()?;
    let last = known.next_back()?;
    let (at_first, at_last) = (mean(first)?, mean(last)?);
    let item = item([run], workload).singular();
    let (from, to) = (point_label(run, first), point_label(run, last));
    let times = (format::mean_time(&at_first), format::mean_time(&at_last));
    if is_unclear(&at_first, &at_last) {
        return Some(format!(
            "As {key} went from {from} to {to}, the mean {item} of {workload} had no significant change: \
             {} and {}, whose intervals overlap.",
            times.0, times.1
        ));
    }
    Some(format!(
        "As {key} went from {from} to {to}, the mean {item} of {workload} went from {} to {}.",
        times.0, times.1
    ))
}

/// Whether the intervals of two means overlap. Means without intervals are compared as they are.
fn is_unclear(a: &Estimate, b: &Estimate) -> bool {
    match (a.low.zip(a.high), b.low.zip(b.high)) {
        (Some((a_low, a_high)), Some((b_low, b_high))) => a_low <= b_high && b_low <= a_high,
        _ => false,
    }
}

/// Names have no order: the minimum and the maximum are given.
fn among_names(run: &Run, workload: &str, key: &str) -> Option<String> {
    let mean = |at: usize| run.points[at].summary.workload(workload)?.all.mean;
    let means = (0..run.points.len()).filter_map(|at| Some((at, mean(at)?)));
    let means: Vec<(usize, Estimate)> = means.collect();
    let by_mean = |a: &&(usize, Estimate), b: &&(usize, Estimate)| a.1.mean.total_cmp(&b.1.mean);
    let (min, max) = (means.iter().min_by(by_mean)?, means.iter().max_by(by_mean)?);
    Some(format!(
        "Over {key}, the mean {} of {workload} took between {} (at {}) and {} (at {}).",
        item([run], workload).singular(),
        format::mean_time(&min.1),
        point_label(run, min.0),
        format::mean_time(&max.1),
        point_label(run, max.0)
    ))
}

fn against(reference: &Run, ours: &Run, workload: &str) -> Option<String> {
    let (name, other) = (&ours.label, &reference.label);
    let item = item([ours], workload).singular();
    let gains: Vec<(usize, Estimate)> = (0..ours.points.len())
        .filter_map(|at| Some((at, gain((reference, ours), at, workload, None)?)))
        .collect();
    if let ([_], [(at, gain)]) = (&ours.points[..], &gains[..]) {
        let (at, gain) = (*at, *gain);
        let mean = |run: &Run| Some(run.points[at].summary.workload(workload)?.all.mean?.mean);
        let unclear = gain.n > 1 && !gain.differs_from(0.0);
        return Some(format!(
            "The mean {item} of {workload} took {} with {name} and {} with {other}: {}{}.",
            format::seconds(mean(ours)?),
            format::seconds(mean(reference)?),
            if unclear { "no clear difference, " } else { "" },
            format::gain(&Some(gain))
        ));
    }
    if gains.is_empty() {
        return bounds_note(reference, ours, workload);
    }
    let by_mean = |a: &&(usize, Estimate), b: &&(usize, Estimate)| a.1.mean.total_cmp(&b.1.mean);
    let (min, max) = (gains.iter().min_by(by_mean)?, gains.iter().max_by(by_mean)?);
    let at = |(at, gain): &(usize, Estimate)| {
        format!("{} (at {})", format::change(gain.mean), point_label(ours, *at))
    };
    let range = match gains.len() {
        1 => at(min),
        _ => format!("between {} and {}", at(min), at(max)),
    };
    let unknown_points: Vec<String> = (0..ours.points.len())
        .filter(|point| gains.iter().all(|(clear, _)| clear != point))
        .map(|point| point_label(ours, point))
        .collect();
    let unknown_points = match unknown_points.is_empty() {
        true => String::new(),
        false => format!("; unknown at {}", unknown_points.join(", ")),
    };
    Some(format!("{name} against {other}, mean {item} of {workload}: {range}{unknown_points}."))
}

/// If a mean is only a bound, there is no gain; the bounds are given instead.
fn bounds_note(reference: &Run, ours: &Run, workload: &str) -> Option<String> {
    let mean = |run: &Run| run.points.first()?.summary.workload(workload)?.all.mean;
    let (ours_mean, reference_mean) = (mean(ours)?, mean(reference)?);
    if !ours_mean.is_bound() && !reference_mean.is_bound() {
        return None;
    }
    Some(format!(
        "The mean {} of {workload} took {} with {} and {} with {}: too many were incomplete at the \
            end to decide which is faster.",
        item([ours], workload).singular(),
        format::mean_time(&ours_mean),
        ours.label,
        format::mean_time(&reference_mean),
        reference.label,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_differ_if_their_intervals_do_not_overlap() {
        let of = |mean: f64, half: f64| Estimate {
            mean,
            low: Some(mean - half),
            high: Some(mean + half),
            n: 4,
            at_least: false,
            at_most: false,
        };
        assert!(is_unclear(&of(0.111, 0.142), &of(0.104, 0.024)));
        assert!(is_unclear(&of(0.104, 0.024), &of(0.111, 0.142)));
        assert!(!is_unclear(&of(0.111, 0.002), &of(0.104, 0.002)));
        let single = Estimate { low: None, high: None, ..of(0.104, 0.0) };
        assert!(!is_unclear(&single, &of(0.111, 0.142)));
    }
}
