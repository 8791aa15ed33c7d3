//! The tables of a report.

use shortflow_measure::engines::done_by;
use shortflow_measure::tables as data;
use shortflow_measure::{Run, RunSet, ScopedWarning, View, Warning};

use crate::engines::rankings;
use crate::ranking::ranking_table;
use crate::result::key_result;
use crate::table::Table;
use crate::wrap::wrapped;

/// All tables of a report.
pub fn tables(view: &View<'_>) -> Vec<Table> {
    let all = &view.tables;
    let times = all.times.iter().chain(&all.over_limits).chain(&all.traffic);
    let flows = all
        .throughput
        .iter()
        .chain(&all.datagrams)
        .chain(&all.jitter)
        .chain(&all.under_load)
        .chain(&all.streams);
    times.chain(flows).chain(&all.loss).chain([&all.ports]).map(Table::set).collect()
}

/// The result, the ranking, the warnings and the tables for a terminal, with prose wrapped to this width; headings
/// bold if `ansi`. The times of pages' objects are only on the page. A comparison shows some sizes only; for a sweep,
/// loss is only on the page, as is the traffic of workloads whose completion times are shown.
pub fn text(view: &View<'_>, ansi: bool, columns: usize) -> String {
    let (set, all) = (&view.set, &view.tables);
    let prose = |text: String| wrapped(&text, columns);
    let mut parts = vec![prose(format!("{}\n", key_result(view)))];
    parts.extend(head_tables(view).into_iter().map(|table| for_terminal(table, ansi, columns)));
    parts.extend(warnings_text(view, ansi).map(prose));
    let times =
        all.times_on_screen.iter().chain(&all.over_limits_on_screen).chain(&all.traffic_on_screen);
    let flows =
        all.throughput.iter().chain(&all.datagrams).chain(&all.jitter).chain(&all.under_load);
    let more = all.streams.iter().chain(&all.loss).filter(|_| set.sweep.is_none());
    let mut tables: Vec<data::Table> = times.chain(flows).chain(more).cloned().collect();
    say_notes_once(&mut tables);
    parts.extend(tables.iter().map(|table| for_terminal(Table::set(table), ansi, columns)));
    parts.extend(tcp_line(set).map(|line| prose(line + "\n")));
    parts.extend(timing_line(set.runs).map(|line| prose(line + "\n")));
    parts.join("\n")
}

/// The ranking and the warnings only; of a single run, the result in words.
pub fn brief(view: &View<'_>, ansi: bool, columns: usize) -> String {
    let set = &view.set;
    let prose = |text: String| wrapped(&text, columns);
    let head = head_tables(view).into_iter();
    let mut parts: Vec<String> = head.map(|table| for_terminal(table, ansi, columns)).collect();
    if parts.is_empty() || set.has_several_engines() {
        parts.insert(0, prose(format!("{}\n", key_result(view))));
    }
    parts.extend(tcp_line(set).map(|line| prose(format!("{line}\n"))));
    parts.extend(timing_line(set.runs).map(|line| prose(format!("{line}\n"))));
    parts.extend(warnings_text(view, ansi).map(prose));
    parts.join("\n")
}

/// A table for a terminal, with its note wrapped to this width.
fn for_terminal(table: Table, ansi: bool, columns: usize) -> String {
    let note = table.note.as_ref().map(|note| wrapped(&note.replace('\n', " "), columns));
    Table { note, ..table }.text(ansi)
}

/// What a comparison begins with: the ranking; of several engines, how they agree, and the ranking of each.
pub(crate) fn head_tables(view: &View<'_>) -> Vec<Table> {
    let set = &view.set;
    if !set.has_several_engines() {
        return ranking_table(view).into_iter().collect();
    }
    let mut tables: Vec<Table> =
        view.tables.agreement.iter().map(Table::set).chain(rankings(view)).collect();
    // The last says what stands in all of them.
    let notes: Vec<_> = tables.iter().map(|table| table.note.clone()).collect();
    for (at, table) in tables.iter_mut().enumerate() {
        if notes.get(at + 1).is_some_and(|next| *next == notes[at]) {
            table.note = None;
        }
    }
    tables
}

fn warnings_text(view: &View<'_>, ansi: bool) -> Option<String> {
    let line = |what: &ScopedWarning| format!("{} {what}\n", warning_mark(&what.warning, ansi));
    let lines: String = view.warnings.iter().map(line).collect();
    (!lines.is_empty()).then_some(lines)
}

/// What a warning or a note begins with; in colour when `ansi`.
pub fn warning_mark(warning: &Warning, ansi: bool) -> &'static str {
    match (warning.kind.is_note(), ansi) {
        (false, true) => "\x1b[33mwarning:\x1b[0m",
        (false, false) => "warning:",
        (true, true) => "\x1b[36mnote:\x1b[0m",
        (true, false) => "note:",
    }
}

/// Which TCP ran, in a sentence; nothing where there was none.
pub(crate) fn tcp_line(set: &RunSet<'_>) -> Option<String> {
    let mut names: Vec<String> = Vec::new();
    for run in set.runs.iter().filter(|run| !run.manifest.tcp.is_empty()) {
        let name = match set.has_several_engines() {
            true => format!("{}, {}", done_by(&run.manifest.engine), run.manifest.tcp),
            false => run.manifest.tcp.clone(),
        };
        if !names.contains(&name) {
            names.push(name);
        }
    }
    (!names.is_empty()).then(|| format!("TCP: {}.", names.join(" | ")))
}

/// How late packets were sent, by each figure in the run where it was worst, in a sentence; nothing where time is not real.
pub(crate) fn timing_line(runs: &[Run]) -> Option<String> {
    let timings = runs.iter().filter_map(|run| run.manifest.timing);
    let all = timings.map(|each| [each.p50, each.p99, each.max, each.longest_stall]);
    let worst = all.reduce(|one, other| std::array::from_fn(|at| one[at].max(other[at])))?;
    let [p50, p99, max, stall] = worst.map(|seconds: f64| seconds * 1e3);
    let still = match stall {
        0.0 => "never stalled for 1 ms".to_owned(),
        stall => format!("stalled for at most {stall:.1} ms"),
    };
    Some(format!(
        "Packets were sent {p50:.3} ms (median), {p99:.3} ms (p99) and {max:.3} ms (maximum) too \
            late; the machine {still}."
    ))
}

/// Takes a note from tables that repeat the one before.
fn say_notes_once(tables: &mut [data::Table]) {
    let mut said = None;
    for table in tables {
        if table.note.is_some() && table.note == said {
            table.note = None;
        } else if table.note.is_some() {
            said.clone_from(&table.note);
        }
    }
}
