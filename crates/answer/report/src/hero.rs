//! The overview figure of a comparison: a row for each policy, a panel for each workload.

use std::fmt::Write;

use shortflow_measure::{Better, RankFigure, RankMeasure, RankedRun, Traffic, View};

use crate::html::escape;
use crate::line::Figure;
use crate::ranking::{figure, measure_name, value};
use crate::style::{self, GRID, INK};

/// Bars of what matters most about each workload, in the order of the ranking; none for one run,
/// along a sweep, and where the runs have nothing that can be compared.
pub(crate) fn hero(view: &View<'_>) -> Option<Figure> {
    if view.set.sweep.is_some() {
        return None;
    }
    let mut lines: Vec<&RankedRun> = view.ranking.as_ref()?.lines.iter().collect();
    let several = view.set.has_several_engines();
    if several {
        // Engines are not ranked: what is to be seen is how each policy fares by both.
        lines.sort_by_key(|line| line.run);
    }
    let panels = panels(&lines);
    if panels.is_empty() {
        return None;
    }
    let title = "What each policy does to each workload".to_owned();
    let order = match several {
        true => "Each policy by each engine",
        false => "Policies in the order of their rank",
    };
    let caption = format!(
        "{order}. Each panel shows the value that says most about its workload; lines at the ends of bars are 95 % \
         intervals over replicas."
    );
    let svg = style::finish(&draw(&lines, &panels), NAME, &title, &caption);
    Some(Figure { name: NAME.into(), title, caption, svg })
}

/// The name of this figure.
pub(crate) const NAME: &str = "ranking";

/// A workload and the figure by which it is shown.
struct Panel {
    workload: String,
    measure: RankMeasure,
    traffic: Traffic,
}

/// At most four workloads, for more have no room: the first of each kind of traffic, then others.
fn panels(lines: &[&RankedRun]) -> Vec<Panel> {
    let Some(services) = lines.first().and_then(|line| line.points.first()) else {
        return Vec::new();
    };
    let is_first = |at: usize| services[..at].iter().all(|s| s.traffic != services[at].traffic);
    let mut chosen: Vec<usize> = (0..services.len()).filter(|at| is_first(*at)).collect();
    chosen.extend((0..services.len()).filter(|at| !is_first(*at)));
    chosen.truncate(MAX_PANELS);
    chosen.sort_unstable();
    let panel = |at: usize| {
        let service = &services[at];
        let preferred = match service.traffic {
            Traffic::Timed => RankMeasure::P95,
            Traffic::Datagrams => RankMeasure::P99,
            Traffic::Bulk => RankMeasure::Goodput,
        };
        // A model may tell of one policy what it does not tell of another.
        let all = || lines.iter().filter_map(|line| line.points.first()?.get(at));
        let mut figures = all().flat_map(|service| &service.figures);
        let has = figures.clone().any(|figure| figure.measure == preferred);
        let measure = if has { preferred } else { figures.next()?.measure };
        Some(Panel { workload: service.workload.clone(), measure, traffic: service.traffic })
    };
    chosen.into_iter().filter_map(panel).collect()
}

const MAX_PANELS: usize = 4;

/// The drawing, without what `finish` adds. Lengths are in units of the drawing.
fn draw(lines: &[&RankedRun], panels: &[Panel]) -> String {
    let longest = lines.iter().map(|line| line.label.chars().count()).max().unwrap_or(0);
    let names = (CHARACTER * longest.min(MAX_NAME) as f64 + 16.0).max(90.0);
    let step = (WIDTH - names) / panels.len() as f64;
    let height = HEAD + ROW * lines.len() as f64 + 8.0;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\">\
         <rect x=\"0\" y=\"0\" width=\"{WIDTH}\" height=\"{height}\" fill=\"{}\"/>\
         <g font-family=\"system-ui, sans-serif\" font-size=\"14\" fill=\"{INK}\">",
        style::PAPER
    );
    for (row, line) in lines.iter().enumerate() {
        let y = row_middle(row) + 5.0;
        let name = escape(&shortened(&line.label, MAX_NAME));
        let _ = write!(out, "<text x=\"0\" y=\"{y}\">{name}</text>");
    }
    for (at, panel) in panels.iter().enumerate() {
        out += &draw_panel(lines, panel, names + step * at as f64, step - GAP);
    }
    out + "</g></svg>"
}

/// In units of the drawing: its width, the heads of panels, a row, and the gap between panels.
const WIDTH: f64 = 760.0;
const HEAD: f64 = 62.0;
const ROW: f64 = 26.0;
const GAP: f64 = 16.0;
const BAR: f64 = 14.0;
/// What a value's text takes beside its bar, a character of a name, and one of a head.
const VALUE: f64 = 76.0;
const CHARACTER: f64 = 7.4;
const BOLD_CHARACTER: f64 = 8.4;
/// How many characters of a name are shown.
const MAX_NAME: usize = 32;

fn row_middle(row: usize) -> f64 {
    HEAD + ROW * (row as f64 + 0.5)
}

/// A name shortened in its middle to this number of characters: related names often begin or end alike.
fn shortened(name: &str, max: usize) -> String {
    let all: Vec<char> = name.chars().collect();
    if all.len() <= max {
        return name.to_owned();
    }
    let (before, after) = (max / 2, max.saturating_sub(max / 2 + 1));
    all[..before].iter().chain(&['…']).chain(&all[all.len() - after..]).collect()
}

fn draw_panel(lines: &[&RankedRun], panel: &Panel, x: f64, width: f64) -> String {
    let found: Vec<Option<&RankFigure>> =
        lines.iter().map(|line| figure(line, &panel.workload, panel.measure)).collect();
    let longest = found.iter().flatten().filter_map(|figure| figure.value);
    let max = longest.map(|v| v.high.unwrap_or(v.mean).max(v.mean)).fold(0.0, f64::max);
    let scale = if max > 0.0 { (width - VALUE) / max } else { 0.0 };
    let better = match panel.measure.for_traffic(panel.traffic).about().better {
        Better::Higher => "more is better",
        Better::Lower | Better::Neither => "less is better",
    };
    let head = shortened(&panel.workload, (width / BOLD_CHARACTER) as usize);
    let what = short_head(panel);
    let (bottom, top) = (HEAD + ROW * lines.len() as f64, HEAD);
    let mut out = format!(
        "<text x=\"{x}\" y=\"14\" font-weight=\"600\">{}</text>\
         <text x=\"{x}\" y=\"32\" font-size=\"12\">{what}</text>\
         <text x=\"{x}\" y=\"49\" font-size=\"12\">{better}</text>\
         <line x1=\"{x}\" x2=\"{x}\" y1=\"{top}\" y2=\"{bottom}\" stroke=\"{GRID}\"/>",
        escape(&head)
    );
    for (row, (line, found)) in lines.iter().zip(&found).enumerate() {
        let Some(found) = found else { continue };
        let middle = row_middle(row);
        let mean = found.value.map_or(0.0, |v| v.mean);
        let (length, color) = (mean * scale, style::color(line.run));
        let _ = write!(
            out,
            "<rect x=\"{x}\" y=\"{:.1}\" width=\"{length:.1}\" height=\"{BAR}\" fill=\"{color}\"/>",
            middle - BAR / 2.0
        );
        let mut end = length;
        if let Some((low, high)) = found.value.and_then(|v| v.low.zip(v.high)) {
            end = end.max(high * scale);
            let from = x + low.max(0.0) * scale;
            let _ = write!(
                out,
                "<line x1=\"{from:.1}\" x2=\"{:.1}\" y1=\"{middle}\" y2=\"{middle}\" \
                 stroke=\"{INK}\" stroke-width=\"1.5\"/>",
                x + high * scale
            );
        }
        let text = escape(&value(found));
        let _ =
            write!(out, "<text x=\"{:.1}\" y=\"{}\">{text}</text>", x + end + 6.0, middle + 5.0);
    }
    out
}

/// What a panel shows of its workload.
fn short_head(panel: &Panel) -> &'static str {
    match (panel.traffic, panel.measure) {
        (Traffic::Datagrams, RankMeasure::P99) => "p99 of delay",
        (Traffic::Datagrams, RankMeasure::P95) => "p95 of delay",
        (_, RankMeasure::P99) => "p99",
        (_, RankMeasure::P95) => "p95",
        (traffic, measure) => measure_name(traffic, measure),
    }
}
