//! The result in words.

use shortflow_measure::cases::point_label;
use shortflow_measure::{
    Estimate, Pair, Positions, Run, RunSet, SweptKey, View, Workload, WorkloadSummary,
};

use crate::engines;
use crate::format;
use crate::ranking;

/// The result in words, a line for each workload and run that matters most: how long its transfers,
/// pages, echoes or files took, and against what.
pub fn key_result(view: &View<'_>) -> String {
    let (set, runs) = (&view.set, view.set.runs);
    let timed: Vec<&Workload<'_>> =
        set.timed().filter(|workload| workload.is_whole()).take(MAX_WORKLOADS).collect();
    if set.is_comparison() && !set.are_comparable {
        return "These runs had different arrivals: their scenarios, lengths, seeds, settings or \
            points of a sweep differ. Therefore they have no ranking and no gains."
            .into();
    }
    if let Some(compared) = &view.engines {
        return engines::sentences(set, compared);
    }
    let against_reference = |workload: &&Workload<'_>| {
        set.pairs.iter().filter_map(|pair| against(set, pair, workload)).collect::<Vec<_>>()
    };
    if let Some(sentence) = ranking::sentence(view) {
        // The sentences about each policy would be too many beside a reference and one other.
        let shown = timed.iter().filter(|_| runs.len() == 2);
        let clear = shown.flat_map(against_reference);
        return [sentence].into_iter().chain(clear).collect::<Vec<_>>().join("\n");
    }
    let streams = match runs {
        [run] if set.sweep.is_none() => [of_datagrams(run), of_long_flows(run)].concat(),
        _ => Vec::new(),
    };
    if timed.is_empty() && streams.is_empty() {
        return without_times(set);
    }
    let of = |workload: &&Workload<'_>| -> Vec<String> {
        match (runs, &set.sweep) {
            ([run], None) => alone(run, workload).into_iter().collect(),
            ([run], Some(key)) => along_sweep(run, workload, key).into_iter().collect(),
            _ => against_reference(workload),
        }
    };
    let sentences: Vec<String> = timed.iter().flat_map(of).chain(streams).collect();
    if sentences.is_empty() { "See the tables.".into() } else { sentences.join("\n") }
}

/// Where there are no completion times, the tables speak; what failed to complete is no success.
fn without_times(set: &RunSet<'_>) -> String {
    let all = || set.summaries().flat_map(|summary| &summary.workloads);
    let opened =
        |workload: &WorkloadSummary| workload.completed + workload.open + workload.failed > 0;
    let sends =
        |workload: &WorkloadSummary| workload.datagrams.is_some() || workload.fairness.is_some();
    let classes = all().flat_map(|workload| &workload.classes);
    let means: Vec<Estimate> = classes.filter_map(|class| class.mean).collect();
    match all().any(opened) || set.runs.is_empty() {
        true => "No transfer completed.".into(),
        // Only a prediction has times of transfers that no run began.
        false if !means.is_empty() && means.iter().all(Estimate::is_bound) => {
            "No mean time has a closed form here. The tables have bounds (≥, ≤); the warnings say why.".into()
        }
        false if all().any(sends) || !means.is_empty() => "See the tables.".into(),
        false => "No transfer began after the warm-up, so nothing was measured.".into(),
    }
}

/// How many workloads are spoken of; the tables have all.
const MAX_WORKLOADS: usize = 4;

fn alone(run: &Run, workload: &Workload<'_>) -> Option<String> {
    let Workload { name, item, .. } = workload;
    let all = &run.points[0].summary.workload(name)?.all;
    let mut said = format!("{} of {name} took {} on average", item.any(), format::time(&all.mean?));
    let mut parts = Vec::new();
    parts.extend(all.median.map(|median| match median.at_least {
        true => format!("half of them took at least {}", format::min_seconds(median.mean)),
        false => format!("half of them took at most {}", format::seconds(median.mean)),
    }));
    parts.extend(all.p99.map(|p99| match p99.at_least {
        true => format!("one in a hundred at least {}", format::min_seconds(p99.mean)),
        false => format!("one in a hundred more than {}", format::seconds(p99.mean)),
    }));
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

fn along_sweep(run: &Run, workload: &Workload<'_>, key: &SweptKey) -> Option<String> {
    let Workload { name, item, .. } = workload;
    let (item, SweptKey { name: key, positions }) = (item.singular(), key);
    let mean = |at: usize| run.points[at].summary.workload(name)?.all.mean;
    if let Positions::Names(_) = positions[0] {
        return among_names(run, workload, key);
    }
    let mut known = (0..run.points.len()).filter(|at| run.points[*at].failure.is_none());
    let first = known.next()?;
    let last = known.next_back()?;
    let (at_first, at_last) = (mean(first)?, mean(last)?);
    let (from, to) = (point_label(run, first), point_label(run, last));
    let times = (format::mean_time(&at_first), format::mean_time(&at_last));
    if is_unclear(&at_first, &at_last) {
        return Some(format!(
            "As {key} went from {from} to {to}, the mean {item} of {name} had no significant change: \
             {} and {}, whose intervals overlap.",
            times.0, times.1
        ));
    }
    Some(format!(
        "As {key} went from {from} to {to}, the mean {item} of {name} went from {} to {}.",
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
fn among_names(run: &Run, workload: &Workload<'_>, key: &str) -> Option<String> {
    let Workload { name, item, .. } = workload;
    let mean = |at: usize| run.points[at].summary.workload(name)?.all.mean;
    let means = (0..run.points.len()).filter_map(|at| Some((at, mean(at)?)));
    let means: Vec<(usize, Estimate)> = means.collect();
    let by_mean = |a: &&(usize, Estimate), b: &&(usize, Estimate)| a.1.mean.total_cmp(&b.1.mean);
    let (min, max) = (means.iter().min_by(by_mean)?, means.iter().max_by(by_mean)?);
    let item = item.singular();
    if means.iter().all(|(_, mean)| mean.at_least) {
        let (at, mean) = min;
        let (mean, at) = (format::mean_time(mean), point_label(run, *at));
        return Some(format!("Over {key}, the mean {item} of {name} took {mean} (at {at})."));
    }
    Some(format!(
        "Over {key}, the mean {item} of {name} took between {} (at {}) and {} (at {}).",
        format::mean_time(&min.1),
        point_label(run, min.0),
        format::mean_time(&max.1),
        point_label(run, max.0)
    ))
}

fn against(set: &RunSet<'_>, pair: &Pair, workload: &Workload<'_>) -> Option<String> {
    let (reference, ours) = (&set.runs[pair.reference], &set.runs[pair.ours]);
    let (name, other) = (&ours.label, &reference.label);
    let (item, workload) = (workload.item.singular(), workload.name);
    let gains: Vec<(usize, Estimate)> = (0..ours.points.len())
        .filter_map(|at| Some((at, pair.gain(at, workload, None)?)))
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
        return bounds_note(reference, ours, workload, item);
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
fn bounds_note(reference: &Run, ours: &Run, workload: &str, item: &str) -> Option<String> {
    let mean = |run: &Run| run.points.first()?.summary.workload(workload)?.all.mean;
    let (ours_mean, reference_mean) = (mean(ours)?, mean(reference)?);
    if !ours_mean.is_bound() && !reference_mean.is_bound() {
        return None;
    }
    Some(format!(
        "The mean {item} of {workload} took {} with {} and {} with {}: too many were incomplete at the \
            end to decide which is faster.",
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
