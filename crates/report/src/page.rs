//! The report as one HTML page.

use std::fmt::Write;

use shortflow_measure::Run;
use shortflow_measure::WorkloadSummary;
use shortflow_measure::cases::{point_label, swept_key, transfer_workloads};
use shortflow_measure::engines::{are_several, cases, done_by, engines};
use shortflow_measure::tables as data;

use crate::figures::figures;
use crate::format;
use crate::hero::hero;
use crate::html::{self, details, document, escape, table};
use crate::result::key_result;
use crate::table::Table;
use crate::tables::{head_tables, tables, tcp_line, timing_line, warnings};

/// One page about these runs, which needs nothing from outside: the result in a sentence, cards,
/// figures, tables, how to read them, and what was run. The first run is the one that others are
/// compared with.
pub fn page(runs: &[Run]) -> String {
    let title = title(runs);
    let mut body = format!("<h1>{}</h1>\n", escape(&title));
    let _ = writeln!(body, "<p class=\"soft\">{}</p>", escape(&circumstances(runs)));
    let _ = writeln!(body, "<p class=\"result\">{}</p>", escape(&key_result(runs)));
    body += &warning_box(&warnings(runs));
    match &head_tables(runs)[..] {
        [] => body += &cards(runs),
        head => body += &ranked(runs, head),
    }
    let mut tables = tables(runs).into_iter();
    let times = transfer_workloads(runs);
    let times = times.len() + usize::from(data::over_limits(runs, &times, true).is_some());
    let figures = figures_section(runs);
    // Of many runs the tables are long, and figures tell more.
    let (before, after) =
        if runs.len() > 2 { (figures, String::new()) } else { (String::new(), figures) };
    body += &before;
    body += "<h2>Completion times</h2>\n";
    tables.by_ref().take(times).for_each(|found| body += &table(&found));
    let parts = data::parts(runs);
    parts.iter().for_each(|found| body += &details(&found.title, &table(&Table::set(found))));
    body += &after;
    body += "<h2>Traffic, loss and ports</h2>\n";
    let swept = swept_key(runs).is_some();
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
fn ranked(runs: &[Run], head: &[Table]) -> String {
    let drawn = hero(runs).map_or(String::new(), |figure| {
        format!("<div class=\"hero\">{}</div>\n", html::wide_figure(&figure))
    });
    let heading = if are_several(runs) { "Agreement" } else { "Ranking" };
    let tables: String = head.iter().map(table).collect();
    format!("<h2>{heading}</h2>\n{tables}{drawn}")
}

/// All figures but the one that stands beside the ranking.
fn figures_section(runs: &[Run]) -> String {
    let mut drawn = figures(runs);
    if let Some(hero) = hero(runs) {
        drawn.retain(|figure| figure.name != hero.name);
    }
    format!("<h2>Figures</h2>\n{}", html::figures(&drawn))
}

fn title(runs: &[Run]) -> String {
    let labels: Vec<&str> = runs.iter().map(|run| run.label.as_str()).collect();
    let what = match labels[..] {
        [only] => only.to_owned(),
        _ if are_several(runs) => {
            let done: Vec<String> = engines(runs).into_iter().map(done_by).collect();
            let cases = cases(runs);
            let what = match cases.len() {
                n if n > 4 => format!("{n} policies"),
                _ => cases.join(", "),
            };
            format!("{what}: {}", done.join(" and "))
        }
        [_, _, _, _, _, ..] => format!("{} policies compared", labels.len()),
        [reference, ref others @ ..] => format!("{} against {reference}", others.join(", ")),
        [] => "No runs".to_owned(),
    };
    match swept_key(runs) {
        Some(key) => format!("{what}, over {key}"),
        None => what,
    }
}

fn circumstances(runs: &[Run]) -> String {
    let Some(run) = runs.first() else { return String::new() };
    let manifest = &run.manifest;
    let lines = tcp_line(runs).into_iter().chain(timing_line(runs));
    let what = if run.points.iter().all(|point| point.replicas.is_empty()) {
        // Nothing was drawn.
        format!("closed forms over {} s", format::plain(manifest.duration))
    } else {
        format!(
            "{} replica{} of {} s, the first {} s left out; seed {}",
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

fn warning_box(warnings: &[String]) -> String {
    if warnings.is_empty() {
        return String::new();
    }
    let items: String = warnings.iter().map(|w| format!("<li>{}</li>\n", escape(w))).collect();
    let list = format!("<ul>\n{items}</ul>");
    let list = match warnings.len() {
        n if n > MOST_WARNINGS => details(&format!("{n} warnings"), &list),
        _ => list,
    };
    format!("<div class=\"warnings\" role=\"note\"><h2>Before you trust this</h2>{list}</div>\n")
}

/// More than these open on demand, so that the numbers stay on the first screen.
const MOST_WARNINGS: usize = 4;

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
    let summary = &run.points[point].summary;
    let workloads = &summary.workloads;
    let main = workloads.iter().find(|workload| workload.completed > 0);
    let of_what = |w: &WorkloadSummary| format!("mean {} of {}", w.item.singular(), w.name);
    let stream = workloads.iter().find(|w| w.datagrams.is_some());
    let of_stream = || stream.map(|w| format!("mean delay of {}", w.name));
    let delay = stream.and_then(|w| w.datagrams.as_ref()?.delay);
    let mean = main.map_or(delay, |w| w.all.mean);
    let heading = match run.points.len() {
        1 => run.label.clone(),
        _ => format!("{} at {}", run.label, point_label(run, point)),
    };
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
    let goodput: f64 = workloads.iter().filter_map(|w| Some(w.goodput?.mean)).sum();
    let (unit, factor) = format::rate_unit(goodput);
    line("goodput in all", format!("{} {unit}", format::significant(goodput * factor)));
    line("open at end", format::count(workloads.iter().map(|w| w.open).sum()));
    out + "</dl></li>\n"
}

const HOW_TO_READ: &str = "<h2>How to read this</h2>\n\
    <p>A transfer's <b>completion time</b> runs from the opening of its connection to the last byte \
    of the reply: handshake, request and reply, without the close. A page's ends with its last \
    object; an echo, and what comes over an open connection, begins with its request. Those that began before the \
    warm-up's end are left out. Those not complete at the \
    end count as taking longer than their age then (the product-limit estimate of Kaplan and Meier). \
    <b>≥</b> stands before a figure of which only this lower bound is known; it enters no gain.</p>\n\
    <p><b>p95</b> and <b>p99</b> are the times that 95 and 99 of 100 transfers did not exceed; fewer \
    than 10 transfers beyond one leave it out. Where there are so few in a replica, but not in all \
    together, it is that of all together, without ±. \
    <b>±</b> is half the 95 % Student interval of the mean over replicas, which differ in their \
    random numbers only. A <b>gain</b> is 100·(reference − ours)/reference, taken pair by pair over \
    replicas that had the same arrivals; above zero, ours is faster; when its interval holds zero, \
    there is no clear difference. Below −50 % the gain is written as how many times slower ours \
    is.</p>\n\
    <p>The <b>ranking</b> looks at each workload's figures: 95th and 99th percentile of completion \
    times, or of the delay of datagrams together with their loss, or the goodput of flows that do not \
    end. Each is set against the best of all compared policies. A policy's place is decided by the \
    workload that is farthest from the best. Of several engines each ranks the policies by its own \
    figures. Places whose figures overlap in their intervals may \
    change with another seed.</p>\n\
    <p><b>Goodput</b> counts application bytes delivered in order. <b>Lost</b> is the share of \
    packets that came to a port and were dropped there, for whatever reason. <b>Jitter</b> is the \
    mean difference, without sign, of the delays of consecutive datagrams.</p>\n";

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
