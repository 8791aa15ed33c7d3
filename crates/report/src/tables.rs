//! The tables of a report.

use shortflow_measure::{ClassSummary, Estimate, Summary};

use crate::format::{self, NOTHING, TimeUnit};
use crate::limits::over_limits;
use crate::long_flows::throughput;
use crate::ranking::ranking_table;
use crate::result::key_result;
use crate::streams::stream_tables;
use crate::table::{Row, Table};
use shortflow_measure::Run;
use shortflow_measure::cases::{
    self, classes, gain, point_label, swept_key, transfer_workloads, whole_workloads, workloads,
};

/// All tables of a report.
pub fn tables(runs: &[Run]) -> Vec<Table> {
    let timed = transfer_workloads(runs);
    let mut tables = time_tables(runs, &timed, Detail::Full);
    tables.extend(over_limits(runs, &timed, true));
    tables.extend(traffic(runs, &workloads(runs)));
    tables.extend(throughput(runs));
    tables.extend(datagrams(runs));
    tables.extend(stream_tables(runs));
    tables.extend(loss(runs));
    tables.push(ports(runs));
    tables
}

/// The result, the ranking, the warnings and the tables for a terminal; headings bold when `ansi`. The
/// times of the objects of pages are left to the page. A comparison shows some sizes only; of a sweep,
/// loss is left to the page, and so is the traffic of workloads whose completion times are shown.
pub fn text(runs: &[Run], ansi: bool) -> String {
    let mut parts = vec![format!("{}\n", key_result(runs))];
    parts.extend(ranking_table(runs).map(|table| table.text(ansi)));
    parts.extend(warnings_text(runs, ansi));
    let detail = if runs.len() > 1 { Detail::Screen } else { Detail::Full };
    let wholes = whole_workloads(runs);
    let mut tables = time_tables(runs, &wholes, detail);
    tables.extend(over_limits(runs, &wholes, false));
    let swept = swept_key(runs).is_some();
    let mut of_interest = workloads(runs);
    if swept {
        let timed = transfer_workloads(runs);
        of_interest.retain(|workload| !timed.contains(workload));
    }
    tables.extend(traffic(runs, &of_interest));
    tables.extend(throughput(runs));
    tables.extend(datagrams(runs));
    tables.extend(if swept { Vec::new() } else { stream_tables(runs) });
    tables.extend(if swept { None } else { loss(runs) });
    say_notes_once(&mut tables);
    parts.extend(tables.iter().map(|table| table.text(ansi)));
    parts.extend(tcp_line(runs).map(|line| line + "\n"));
    parts.join("\n")
}

/// The ranking and the warnings only; of a single run, the result in words.
pub fn brief(runs: &[Run], ansi: bool) -> String {
    let told = ranking_table(runs).map(|table| table.text(ansi));
    let mut parts = vec![told.unwrap_or_else(|| format!("{}\n", key_result(runs)))];
    parts.extend(tcp_line(runs).map(|line| format!("{line}\n")));
    parts.extend(warnings_text(runs, ansi));
    parts.join("\n")
}

fn warnings_text(runs: &[Run], ansi: bool) -> Option<String> {
    let mark = if ansi { "\x1b[33mwarning:\x1b[0m" } else { "warning:" };
    let lines: String = warnings(runs).iter().map(|what| format!("{mark} {what}\n")).collect();
    (!lines.is_empty()).then_some(lines)
}

/// Which TCP ran, in a sentence; nothing where there was none.
pub(crate) fn tcp_line(runs: &[Run]) -> Option<String> {
    let mut names: Vec<&str> = runs.iter().map(|run| run.manifest.tcp.as_str()).collect();
    names.retain(|name| !name.is_empty());
    names.dedup();
    (!names.is_empty()).then(|| format!("TCP: {}.", names.join(" | ")))
}

/// How much of a comparison's completion times is shown.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Detail {
    /// Every size, and how many transfers there were.
    Full,
    /// What fits on a screen: some sizes, and all transfers together.
    Screen,
}

impl Detail {
    fn most_sizes(self) -> usize {
        if self == Detail::Full { usize::MAX } else { 4 }
    }
}

/// Takes a note from tables that repeat the one before.
fn say_notes_once(tables: &mut [Table]) {
    let mut said = None;
    for table in tables {
        if table.note.is_some() && table.note == said {
            table.note = None;
        } else if table.note.is_some() {
            said.clone_from(&table.note);
        }
    }
}

/// Every warning, with the run and point that it is about where there are several.
pub(crate) fn warnings(runs: &[Run]) -> Vec<String> {
    let mut all = Vec::new();
    for_each_case(runs, |names, summary, _| {
        for warning in &summary.warnings {
            let of = names.join(", ");
            all.push(if of.is_empty() { warning.clone() } else { format!("{of}: {warning}") });
        }
    });
    all
}

/// Completion times of each workload: by size, or along the sweep.
fn time_tables(runs: &[Run], workloads: &[&str], detail: Detail) -> Vec<Table> {
    let of = |workload| match swept_key(runs) {
        None => completion(runs, workload, detail),
        Some(key) => completion_along_sweep(runs, workload, &key),
    };
    workloads.iter().copied().map(of).collect()
}

fn completion(runs: &[Run], workload: &str, detail: Detail) -> Table {
    let unit = unit(runs, workload, |class| [class.mean, class.p99]);
    let compared = runs.len() > 1;
    let item = cases::item(runs, workload);
    let mut rows = Vec::new();
    let all = classes(runs, workload);
    let labels = cases::spread(&all, detail.most_sizes());
    for label in labels.iter().copied().map(Some).chain([None]) {
        for (at, run) in runs.iter().enumerate() {
            let found = run.points[0].summary.workload(workload);
            let Some(class) = found.and_then(|w| cases::class(w, label)) else { continue };
            let mut cells =
                vec![if at == 0 { label.unwrap_or("all").into() } else { String::new() }];
            if compared {
                cells.push(run.label.clone());
            }
            cells.push(unit.estimate(&class.mean));
            if compared {
                cells.push(match at {
                    0 => "reference".into(),
                    _ => format::gain_cell(&gain((&runs[0], run), 0, workload, label)),
                });
            }
            let percentiles = [&class.median, &class.p95, &class.p99];
            cells.extend(percentiles.map(|time| unit.estimate(time)));
            cells.extend((detail == Detail::Full).then(|| format::count(class.n)));
            rows.push(Row { cells, starts_group: at == 0 });
        }
    }
    let mut head = vec!["size"];
    head.extend(compared.then_some("run"));
    head.push("mean");
    head.extend(compared.then_some("gain"));
    head.extend(["median", "p95", "p99"]);
    head.extend((detail == Detail::Full).then_some(item.plural()));
    let shown = match (labels.len(), all.len()) {
        (shown, all) if shown < all => format!(" ({shown} of {all} sizes; the report has all)"),
        _ => String::new(),
    };
    Table {
        title: format!(
            "{workload}: completion time{}, in {}{shown}",
            cases::by_size(item),
            unit.name()
        ),
        labels: 1 + usize::from(compared),
        head: head.into_iter().map(String::from).collect(),
        rows,
        note: interval_note(runs),
    }
}

fn completion_along_sweep(runs: &[Run], workload: &str, key: &str) -> Table {
    let unit = unit(runs, workload, |class| [class.mean, None]);
    let labels = cases::spread(&classes(runs, workload), 4);
    let mut rows = Vec::new();
    for_each_case(runs, |names, summary, first| {
        let Some(found) = summary.workload(workload) else { return };
        let mean =
            |label| cases::class(found, label).map_or(NOTHING.into(), |c| unit.estimate(&c.mean));
        let mut cells = names.to_vec();
        cells.extend(labels.iter().map(|label| mean(Some(*label))));
        cells.push(mean(None));
        cells.push(unit.estimate(&found.all.p99));
        cells.push(format::count(found.open));
        rows.push(Row { cells, starts_group: first });
    });
    let mut head = vec![key.to_owned()];
    head.extend((runs.len() > 1).then(|| "run".into()));
    head.extend(labels.iter().map(|label| (*label).to_owned()));
    head.extend(["all", "p99 of all", "open at end"].map(String::from));
    Table {
        title: format!(
            "{workload}: mean completion time{}, in {}",
            cases::by_size(cases::item(runs, workload)),
            unit.name()
        ),
        labels: head.len() - labels.len() - 3,
        head,
        rows,
        note: interval_note(runs),
    }
}

/// The unit that suits the times of a workload in all runs.
fn unit(
    runs: &[Run],
    workload: &str,
    times: impl Fn(&ClassSummary) -> [Option<Estimate>; 2],
) -> TimeUnit {
    let longest = cases::summaries(runs)
        .filter_map(|summary| summary.workload(workload))
        .flat_map(|w| w.classes.iter().chain([&w.all]))
        .flat_map(times)
        .flatten()
        .map(|estimate| estimate.mean)
        .fold(0.0, f64::max);
    TimeUnit::for_times_up_to(longest)
}

fn interval_note(runs: &[Run]) -> Option<String> {
    let replicas = cases::summaries(runs).map(|summary| summary.replicas).max()?;
    let paired = if runs.len() > 1 {
        "\nA gain is in the mean, over pairs of replicas that had the same arrivals."
    } else {
        ""
    };
    Some(match replicas {
        1 => "One replica only: no intervals. Run more for ± figures.".into(),
        n => format!("Over {n} replicas; ± is half the 95 % Student interval.{paired}"),
    })
}

/// Where the time of a transfer goes: handshake, request, reply; for one point only.
pub(crate) fn parts(runs: &[Run]) -> Vec<Table> {
    if swept_key(runs).is_some() {
        return Vec::new();
    }
    transfer_workloads(runs).into_iter().map(|workload| parts_of(runs, workload)).collect()
}

fn parts_of(runs: &[Run], workload: &str) -> Table {
    let unit = unit(runs, workload, |class| [class.mean, None]);
    let mut rows = Vec::new();
    for label in classes(runs, workload).into_iter().map(Some).chain([None]) {
        for_each_case(runs, |names, summary, first| {
            let found = summary.workload(workload).and_then(|w| cases::class(w, label));
            let Some(class) = found else { return };
            let mut cells = vec![if first { label.unwrap_or("all").into() } else { String::new() }];
            cells.extend(names.iter().cloned());
            let means = [&class.handshake, &class.request, &class.reply, &class.mean];
            cells.extend(means.map(|time| unit.estimate(time)));
            rows.push(Row { cells, starts_group: first });
        });
    }
    let item = cases::item(runs, workload).singular();
    let title = format!("{workload}: where the mean {item}'s time goes, in {}", unit.name());
    table_of_cases(runs, &title, &["size"], &["handshake", "request", "reply", "in all"], rows)
}

/// What each of these workloads got through; none when none of them carries data.
fn traffic(runs: &[Run], workloads: &[&str]) -> Option<Table> {
    let most = cases::summaries(runs)
        .flat_map(|summary| workloads.iter().filter_map(|name| summary.workload(name)))
        .filter_map(|workload| Some(workload.goodput?.mean))
        .fold(0.0, f64::max);
    let (unit, factor) = format::rate_unit(most);
    let mut rows = Vec::new();
    for &workload in workloads {
        let mut first_row = true;
        for_each_case(runs, |names, summary, _| {
            let found = summary.workload(workload);
            let Some(found) = found.filter(|w| w.goodput.is_some() || w.completed + w.open > 0)
            else {
                return;
            };
            let mut cells = vec![if first_row { workload.to_owned() } else { String::new() }];
            cells.extend(names.iter().cloned());
            cells.extend([
                format::estimate(&found.goodput, factor),
                format::count(found.completed),
                format::count(found.open),
                format::estimate(&found.retransmissions, 1.0),
                format::estimate(&found.timeouts, 1.0),
                format::estimate(&found.fairness, 1.0),
            ]);
            rows.push(Row { cells, starts_group: first_row });
            first_row = false;
        });
    }
    let title = format!(
        "Traffic: goodput in {unit}, what was completed, and what each sent again on average"
    );
    let measures = ["goodput", "completed", "open", "resent", "timeouts", "fairness"];
    (!rows.is_empty()).then(|| table_of_cases(runs, &title, &["workload"], &measures, rows))
}

/// Delay, jitter and loss of datagrams; none when there were none.
fn datagrams(runs: &[Run]) -> Option<Table> {
    let mut rows = Vec::new();
    for workload in workloads(runs) {
        let mut first_row = true;
        for_each_case(runs, |names, summary, _| {
            let found = summary.workload(workload).and_then(|w| w.datagrams.as_ref());
            let Some(found) = found else { return };
            let mut cells = vec![if first_row { workload.to_owned() } else { String::new() }];
            cells.extend(names.iter().cloned());
            cells.push(format::count(found.sent));
            let delays = &found.percentiles;
            let times = [
                &found.delay,
                &delays.delay_median,
                &delays.delay_p95,
                &delays.delay_p99,
                &found.delay_deviation,
                &found.jitter,
            ];
            cells.extend(times.map(|time| TimeUnit::Milliseconds.estimate(time)));
            cells.push(format::share(&found.loss));
            rows.push(Row { cells, starts_group: first_row });
            first_row = false;
        });
    }
    let measures = ["sent", "delay, ms", "median", "p95", "p99", "deviation", "jitter, ms", "lost"];
    (!rows.is_empty())
        .then(|| table_of_cases(runs, "Datagrams: delay and loss", &["workload"], &measures, rows))
}

/// What share of packets each port dropped, by code point; none when nothing was dropped at all.
fn loss(runs: &[Run]) -> Option<Table> {
    let lossy = |port: &str| {
        let mut ports = cases::summaries(runs).filter_map(|summary| summary.port(port));
        ports.any(|found| found.loss.is_some_and(|loss| loss.mean > 0.0))
    };
    let mut rows = Vec::new();
    for port in port_names(runs).into_iter().filter(|port| lossy(port)) {
        let found = cases::summaries(runs).filter_map(|summary| summary.port(port));
        let code_points = found.flat_map(|p| &p.code_points).map(|c| c.name.as_str());
        for (at, name) in cases::distinct(code_points).into_iter().enumerate() {
            let mut first_row = true;
            for_each_case(runs, |names, summary, _| {
                let found = summary.port(port);
                let found = found.and_then(|p| p.code_points.iter().find(|c| c.name == name));
                let Some(found) = found else { return };
                let port = if at == 0 && first_row { port } else { "" };
                let name = if first_row { with_color(name) } else { String::new() };
                let mut cells = vec![port.to_owned(), name];
                cells.extend(names.iter().cloned());
                cells.push(format::count(found.arrived.packets));
                cells.push(format::share(&found.loss));
                cells.push(reasons(found.reasons.iter()));
                rows.push(Row { cells, starts_group: first_row && (at == 0 || !names.is_empty()) });
                first_row = false;
            });
        }
    }
    let measures = ["packets", "lost", "why"];
    let title = "Loss by code point (colour) and port";
    (!rows.is_empty())
        .then(|| table_of_cases(runs, title, &["port", "code point"], &measures, rows))
}

/// The port's own figures.
fn ports(runs: &[Run]) -> Table {
    let mut rows = Vec::new();
    for port in port_names(runs) {
        let mut first_row = true;
        for_each_case(runs, |names, summary, _| {
            let Some(found) = summary.port(port) else { return };
            let mut cells = vec![if first_row { port.to_owned() } else { String::new() }];
            cells.extend(names.iter().cloned());
            cells.extend([
                format::share(&found.utilisation),
                format::estimate(&found.mean_queue_packets, 1.0),
                TimeUnit::Milliseconds.estimate(&found.mean_wait),
                format::share(&found.loss),
                format::estimate(&found.ecn_marks, 1.0),
            ]);
            rows.push(Row { cells, starts_group: first_row });
            first_row = false;
        });
    }
    let measures = ["utilisation", "mean queue, pkt", "mean wait, ms", "lost", "ECN marks"];
    table_of_cases(runs, "Ports: load, queue and loss", &["port"], &measures, rows)
}

fn port_names(runs: &[Run]) -> Vec<&str> {
    let ports = cases::summaries(runs).flat_map(|summary| &summary.ports);
    cases::distinct(ports.map(|port| port.name.as_str()))
}

/// A code point with the colour that it stands for in Assured Forwarding (RFC 2597 §6).
fn with_color(code_point: &str) -> String {
    let color = match code_point.strip_prefix("AF").and_then(|digits| digits.chars().nth(1)) {
        Some('1') => "green",
        Some('2') => "yellow",
        Some('3') => "red",
        _ => return code_point.to_owned(),
    };
    format!("{code_point} ({color})")
}

/// The reasons of drops with their shares of what was dropped, greatest first.
fn reasons<'a>(shares: impl Iterator<Item = (&'a String, &'a f64)>) -> String {
    let mut shares: Vec<(&String, f64)> = shares.map(|(name, share)| (name, *share)).collect();
    shares.sort_by(|a, b| b.1.total_cmp(&a.1));
    let all: f64 = shares.iter().map(|(_, share)| share).sum();
    match shares[..] {
        [] => NOTHING.into(),
        [(only, _)] => only.clone(),
        _ => {
            let part =
                |(name, share): &(&String, f64)| format!("{name} {:.0} %", share / all * 100.0);
            shares.iter().map(part).collect::<Vec<_>>().join(", ")
        }
    }
}

/// A table whose rows are cases: named by `labels`, then by point and run where there are several.
pub(crate) fn table_of_cases(
    runs: &[Run],
    title: &str,
    labels: &[&str],
    measures: &[&str],
    rows: Vec<Row>,
) -> Table {
    let mut head: Vec<String> = labels.iter().map(|label| (*label).to_owned()).collect();
    head.extend(swept_key(runs));
    head.extend((runs.len() > 1).then(|| "run".to_owned()));
    let labels = head.len();
    head.extend(measures.iter().map(|measure| (*measure).to_owned()));
    let mut table = Table { title: title.into(), head, labels, rows, note: None };
    table.remove_empty_columns(NOTHING);
    table
}

/// Goes through all points of all runs, point by point: with the point's and the run's name where
/// there are several, and whether the case is the first of its point.
pub(crate) fn for_each_case(runs: &[Run], mut visit: impl FnMut(&[String], &Summary, bool)) {
    let swept = swept_key(runs).is_some();
    let points = runs.iter().map(|run| run.points.len()).max().unwrap_or(0);
    for point in 0..points {
        let mut first = true;
        for run in runs.iter().filter(|run| point < run.points.len()) {
            let mut names = Vec::new();
            names.extend(swept.then(|| point_label(run, point)));
            names.extend((runs.len() > 1).then(|| run.label.clone()));
            visit(&names, &run.points[point].summary, first);
            first = false;
        }
    }
}
