//! The report as one HTML page.

use std::fmt::Write;

use shortflow_measure::cases::point_label;
use shortflow_measure::engines::done_by;
use shortflow_measure::{Run, RunSet, ScopedWarning, View, WorkloadSummary, is_model};

use crate::format;
use crate::hero;
use crate::html::{self, details, document, escape, table};
use crate::line::Figure;
use crate::result::key_result;
use crate::table::Table;
use crate::tables::{head_tables, tables, tcp_line, timing_line};

/// One page about these runs and their `figures`, which needs nothing from outside: the result in a sentence, cards,
/// figures, tables, how to read them, and what was run. The first run is the one that others are compared with.
pub fn page(view: &View<'_>, figures: &[Figure]) -> String {
    let (set, runs) = (&view.set, view.set.runs);
    let title = title(set);
    let mut body = format!("<h1>{}</h1>\n", escape(&title));
    let _ = writeln!(body, "<p class=\"soft\">{}</p>", escape(&circumstances(set)));
    let _ = writeln!(body, "<p class=\"result\">{}</p>", escape(&key_result(view)));
    body += &warning_box(&view.warnings);
    // The figure next to the ranking comes first.
    let (hero, others) = match figures.split_first() {
        Some((first, others)) if first.name == hero::NAME => (Some(first), others),
        _ => (None, figures),
    };
    match &head_tables(view)[..] {
        [] => body += &cards(runs),
        head => body += &ranked(view, head, hero),
    }
    let mut tables = tables(view).into_iter();
    let times = view.tables.times.len() + usize::from(view.tables.over_limits.is_some());
    let figures = format!("<h2>Figures</h2>\n{}", html::figures(others));
    // Of many runs the tables are long, and figures tell more.
    let (before, after) =
        if runs.len() > 2 { (figures, String::new()) } else { (String::new(), figures) };
    body += &before;
    body += "<h2>Completion times</h2>\n";
    tables.by_ref().take(times).for_each(|found| body += &table(&found));
    view.tables
        .parts
        .iter()
        .for_each(|found| body += &details(&found.title, &table(&Table::set(found))));
    body += &after;
    body += "<h2>Traffic, loss and ports</h2>\n";
    let swept = set.sweep.is_some();
    for found in tables {
        // Over a sweep these grow long, and are seldom what is asked for.
        body += &if swept { details(&found.title, &table(&found)) } else { table(&found) };
    }
    body += HOW_TO_READ;
    body += "<h2>What was run</h2>\n";
    runs.iter().for_each(|run| body += &manifest(run));
    document(&title, &body)
}

/// The ranking, or how engines agree, and the figure that belongs to it.
fn ranked(view: &View<'_>, head: &[Table], hero: Option<&Figure>) -> String {
    let drawn = hero.map_or(String::new(), |figure| {
        format!("<div class=\"hero\">{}</div>\n", html::wide_figure(figure))
    });
    let heading = if view.set.has_several_engines() { "Agreement" } else { "Ranking" };
    let tables: String = head.iter().map(table).collect();
    format!("<h2>{heading}</h2>\n{tables}{drawn}")
}

fn title(set: &RunSet<'_>) -> String {
    let labels: Vec<&str> = set.runs.iter().map(|run| run.label.as_str()).collect();
    let what = match labels[..] {
        [only] => only.to_owned(),
        _ if set.has_several_engines() => {
            let done: Vec<String> = set.engines.iter().map(|engine| done_by(engine)).collect();
            let what = match set.policies.len() {
                n if n > 4 => format!("{n} policies"),
                _ => set.policies.join(", "),
            };
            format!("{what}: {}", done.join(" and "))
        }
        [_, _, _, _, _, ..] => format!("{} policies compared", labels.len()),
        [reference, ref others @ ..] => format!("{} against {reference}", others.join(", ")),
        [] => "No runs".to_owned(),
    };
    match set.swept_key() {
        Some(key) => format!("{what}, over {key}"),
        None => what,
    }
}

fn circumstances(set: &RunSet<'_>) -> String {
    let Some(run) = set.runs.first() else { return String::new() };
    let manifest = &run.manifest;
    let lines = tcp_line(set).into_iter().chain(timing_line(set.runs));
    let what = if is_model(run) {
        // Nothing was drawn.
        format!("closed forms over {} s", format::plain(manifest.duration))
    } else {
        format!(
            "{} replica{} of {} s, the first {} s omitted; seed {}",
            manifest.replicas,
            if manifest.replicas == 1 { "" } else { "s" },
            format::plain(manifest.duration),
            format::plain(manifest.warm_up),
            manifest.seed,
        )
    };
    let lines: String = lines.map(|line| format!(" {line}")).collect();
    format!("Shortflow {}: {what}.{lines}", manifest.version)
}

fn warning_box(all: &[ScopedWarning]) -> String {
    let (notes, warnings): (Vec<_>, Vec<_>) = all.iter().partition(|it| it.warning.kind.is_note());
    let item = |warning: &&ScopedWarning| format!("<li>{}</li>\n", escape(&warning.to_string()));
    let list = |some: &[&ScopedWarning]| match some.is_empty() {
        true => String::new(),
        false => format!("<ul>\n{}</ul>", some.iter().map(item).collect::<String>()),
    };
    let is_open = |it: &&ScopedWarning| warnings.len() <= MAX_OPEN || it.warning.kind.is_grave();
    let (grave, others): (Vec<_>, Vec<_>) = warnings.iter().copied().partition(is_open);
    let folded = match others.len() {
        0 => String::new(),
        n => details(&format!("{n} more warning{}", if n == 1 { "" } else { "s" }), &list(&others)),
    };
    let first = list(&grave) + &folded;
    let first = match warnings.is_empty() {
        true => String::new(),
        false => format!(
            "<div class=\"warnings\" role=\"note\"><h2>Before you trust this</h2>{first}</div>\n"
        ),
    };
    let notes = match notes.len() {
        0 => String::new(),
        n => details(
            &format!("{n} note{} on the model", if n == 1 { "" } else { "s" }),
            &list(&notes),
        ),
    };
    first + &notes
}

/// Where there are more than these, those without which the figures can be read open on demand.
const MAX_OPEN: usize = 4;

/// A card per run; of a sweep, a card for its first and its last point.
fn cards(runs: &[Run]) -> String {
    let mut out = String::from("<ul class=\"cards\">\n");
    for run in runs {
        let last = run.points.len().saturating_sub(1);
        out += &card(run, 0);
        if last > 0 {
            out += &card(run, last);
        }
    }
    out + "</ul>\n"
}

fn card(run: &Run, point: usize) -> String {
    let heading = match run.points.len() {
        1 => run.label.clone(),
        _ => format!("{} at {}", run.label, point_label(run, point)),
    };
    if run.points[point].failure.is_some() {
        return format!("<li><h3>{}</h3><strong>failed</strong></li>\n", escape(&heading));
    }
    let summary = &run.points[point].summary;
    let workloads = &summary.workloads;
    let main = workloads.iter().find(|workload| workload.completed > 0);
    let of_what = |w: &WorkloadSummary| format!("mean {} of {}", w.item.singular(), w.name);
    let stream = workloads.iter().find(|w| w.datagrams.is_some());
    let of_stream = || stream.map(|w| format!("mean delay of {}", w.name));
    let delay = stream.and_then(|w| w.datagrams.as_ref()?.delay);
    let mean = main.map_or(delay, |w| w.all.mean);
    let mut out = format!(
        "<li><h3>{}</h3><strong>{}</strong><span class=\"soft\">{}</span><dl>",
        escape(&heading),
        mean.map_or(format::NOTHING.into(), |mean| format::mean_time(&mean)),
        escape(&main.map(of_what).or_else(of_stream).unwrap_or("no transfers".into())),
    );
    let mut line = |name: &str, value: String| {
        let _ = write!(out, "<dt>{name}</dt><dd>{}</dd>", escape(&value));
    };
    let time = |time: Option<shortflow_measure::Estimate>| {
        time.map_or(format::NOTHING.into(), |t| format::mean_time(&t))
    };
    let datagrams = stream.and_then(|w| w.datagrams.as_ref());
    if let Some(found) = datagrams.filter(|_| main.is_none()) {
        line("p99 of the delay", time(found.percentiles.delay_p99));
        line("lost", format::share(&found.loss));
    }
    if let Some(main) = main {
        line("median", time(main.all.median));
        line("one in 100 above", time(main.all.p99));
    }
    let data = |w: &WorkloadSummary| Some(w.data_goodput.or(w.goodput)?.mean);
    let goodput: f64 = workloads.iter().filter_map(data).sum();
    line("data delivered in all", format::rate(goodput));
    line("open at end", format::count(workloads.iter().map(|w| w.open).sum()));
    out + "</dl></li>\n"
}

const HOW_TO_READ: &str = "<h2>How to read this</h2>\n<p>The <b>completion time</b> of a transfer runs from the \
     opening of its connection to the last byte of the reply. It includes handshake, request and reply, not the \
     close. The time of a page ends with its last object; the time of an echo, or of a transfer over an open \
     connection, begins with its request. Transfers that began during the warm-up do not count. Transfers that are \
     incomplete at the end count as taking longer than their age then (the product-limit estimate of Kaplan and \
     Meier). <b>≥</b> marks a value of which only this lower bound is known; it enters no gain.</p>\n<p>95 and 99 of \
     100 transfers do not exceed <b>p95</b> and <b>p99</b>; with fewer than 10 transfers beyond a percentile it is \
     omitted. If a replica has too few transfers, but all replicas together have enough, the value is that of all \
     together, without ±. <b>±</b> is half the 95 % Student interval of the mean over replicas, which differ only in \
     their random numbers. A <b>gain</b> is 100·(reference − ours)/reference, taken over pairs of replicas with the \
     same arrivals. Above zero, ours is faster; if its interval contains zero, there is no clear difference. Below \
     −50 % the report states how many times slower ours is.</p>\n<p>The <b>ranking</b> compares each workload's \
     values with the best of all compared policies. The values are the 95th and 99th percentile of completion times, \
     the delay of datagrams together with their loss, or the goodput of flows that do not end. The workload that is \
     farthest from the best decides a policy's place. With several engines, each ranks the policies by its own \
     values. Places whose values overlap in their intervals may change with another seed.</p>\n<p><b>Goodput</b> \
     counts application bytes delivered in order: those of replies and of long flows, and separately those of \
     requests, which go the other way. <b>Lost</b> is the share of packets that arrived at a port and were dropped \
     there, for any reason. <b>Jitter</b> is the mean absolute difference between the delays of consecutive \
     datagrams.</p>\n";

fn manifest(run: &Run) -> String {
    let manifest = &run.manifest;
    let mut out = format!("<pre>{}</pre>\n", escape(&manifest.command));
    let tcp = match manifest.tcp.is_empty() {
        true => String::new(),
        false => format!("; TCP: {}", manifest.tcp),
    };
    let _ = writeln!(out, "<p>Engine: {}{}</p>", escape(&manifest.engine), escape(&tcp));
    if !manifest.settings.is_empty() {
        let settings: Vec<String> =
            manifest.settings.iter().map(|s| format!("{} = {}", s.key, s.value)).collect();
        let _ = writeln!(out, "<p>Set by hand: {}</p>", escape(&settings.join(", ")));
    }
    if let Some(sweep) = &manifest.sweep {
        let values = sweep.values.join(", ");
        let _ = writeln!(out, "<p>Swept: {} over {}</p>", escape(&sweep.key), escape(&values));
    }
    for input in &manifest.inputs {
        out += &details(&input.name, &format!("<pre>{}</pre>\n", escape(&input.text)));
    }
    details(&format!("{}: seed {}, inputs", run.label, manifest.seed), &out)
}
