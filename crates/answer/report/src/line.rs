//! The one kind of figure: lines over an axis.

use std::sync::Arc;

use kuva::backend::svg::SvgBackend;
use kuva::plot::scatter::MarkerShape;
use kuva::plot::{LegendPosition, LinePlot, ScatterPlot};
use kuva::render::annotations::ReferenceLine;
use kuva::render::layout::{Layout, TickFormat};
use kuva::render::plots::Plot;
use kuva::render::render::render_multiple;

use shortflow_measure::Estimate;

use crate::format;
use crate::style::{self, INK};
use crate::thin;

/// A finished figure.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// Its name, fit for a file.
    pub name: String,
    /// Its heading.
    pub title: String,
    /// What it shows and how to read it.
    pub caption: String,
    /// The drawing, a whole SVG document.
    pub svg: String,
}

/// What to draw.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LineFigure {
    /// The figure's name: letters, digits and hyphens.
    pub name: String,
    /// The heading.
    pub title: String,
    /// What it shows and how to read it.
    pub caption: String,
    /// What runs along the x axis.
    pub x_label: String,
    /// What runs along the y axis.
    pub y_label: String,
    /// How x values are written.
    pub x_axis: Axis,
    /// How y values are written.
    pub y_axis: Axis,
    /// Whether x is logarithmic; values that are not positive are then omitted.
    pub log_x: bool,
    /// Whether y is logarithmic.
    pub log_y: bool,
    /// The lines.
    pub series: Vec<Series>,
    /// Where to draw a dotted vertical line, for example between two regions.
    pub vertical: Option<f64>,
    /// Whether the y axis reaches down to 0.
    pub zero_based: bool,
    /// Up to which value the y axis reaches at least, so that figures can share a scale.
    pub reach: Option<f64>,
    /// Whether to draw a line at y = 0, where the y axis then reaches.
    pub zero_line: bool,
}

/// How the values of an axis are written.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Axis {
    /// As numbers.
    #[default]
    Number,
    /// As seconds, or parts of them.
    Seconds,
    /// As percent; the values are shares from 0 to 1.
    Share,
    /// As bytes, or thousands and more of them.
    Bytes,
    /// As names: the value 1 is the first.
    Names(Vec<String>),
}

/// One line of a figure.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Series {
    /// Its name in the legend.
    pub label: String,
    /// Its points, by rising x.
    pub points: Vec<Mark>,
    /// Whether the line is dashed.
    pub dashed: bool,
    /// How it is drawn.
    pub stroke: Stroke,
}

impl Series {
    /// A curve of many points, without intervals; they are thinned to what the eye can distinguish.
    pub fn curve(label: &str, points: &[(f64, f64)]) -> Series {
        Series {
            label: label.to_owned(),
            points: thin::log_log(points),
            stroke: Stroke::Plain,
            dashed: false,
        }
    }
}

/// How a line is drawn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Stroke {
    /// With a marker at each point, for a few points.
    #[default]
    Marked,
    /// Without markers, for curves of many points.
    Plain,
    /// Thin and without markers, for what jumps about.
    Thin,
}

/// A point of a line, with its interval if it has one.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Mark {
    /// Where.
    pub x: f64,
    /// The value.
    pub y: f64,
    /// The lower end of its interval.
    pub low: Option<f64>,
    /// The upper end of its interval.
    pub high: Option<f64>,
    /// Whether the value is a lower bound, drawn as an arrow upwards.
    pub at_least: bool,
}

impl Mark {
    /// A point with the interval of `estimate`.
    pub fn from_estimate(x: f64, estimate: &Estimate) -> Mark {
        Mark {
            x,
            y: estimate.mean,
            low: estimate.low,
            high: estimate.high,
            at_least: estimate.at_least,
        }
    }
}

/// Draws lines over an axis: a colour, a marker and, with intervals, error bars for each.
pub fn line_figure(figure: &LineFigure) -> Figure {
    let series: Vec<Series> = figure.series.iter().map(|series| shown(series, figure)).collect();
    let plots: Vec<Plot> =
        series.iter().enumerate().flat_map(|(index, series)| plots(index, series)).collect();
    let has_bounds = series.iter().any(|series| series.points.iter().any(|mark| mark.at_least));
    let caption = match has_bounds {
        true => format!("{} {BOUNDS}", figure.caption),
        false => figure.caption.clone(),
    };
    let scene = render_multiple(plots, layout(figure, &series));
    let svg = SvgBackend::new().render_scene(&scene);
    let is_marked = series.iter().any(|series| series.stroke == Stroke::Marked);
    let svg = if is_marked { style::let_markers_out(&svg, LARGEST_MARKER + 1.0) } else { svg };
    Figure {
        svg: style::finish(&svg, &figure.name, &figure.title, &caption),
        name: figure.name.clone(),
        title: figure.title.clone(),
        caption,
    }
}

/// What the caption says where a point is a lower bound.
const BOUNDS: &str = "A large triangle is a lower bound: too much was not complete at the end to say \
                      more.";

/// The points that can be drawn: finite, and positive on a logarithmic axis, where an interval
/// that reaches zero is cut at the figure's edge.
fn shown(series: &Series, figure: &LineFigure) -> Series {
    let fits = |mark: &&Mark| {
        mark.x.is_finite()
            && mark.y.is_finite()
            && (!figure.log_x || mark.x > 0.0)
            && (!figure.log_y || mark.y > 0.0)
    };
    let cut = |mark: &Mark| Mark {
        low: mark.low.map(|low| if figure.log_y { low.max(mark.y / 10.0) } else { low }),
        ..*mark
    };
    Series { points: series.points.iter().filter(fits).map(cut).collect(), ..series.clone() }
}

fn plots(index: usize, series: &Series) -> Vec<Plot> {
    let color = style::color(index);
    let mut line = LinePlot::new()
        .with_data(series.points.iter().map(|mark| (mark.x, mark.y)))
        .with_color(color.as_str())
        .with_stroke_width(if series.stroke == Stroke::Thin { 0.8 } else { 2.0 })
        .with_legend(series.label.as_str());
    // Of many colours some are near to each other; dashes help to tell them apart.
    if series.dashed || index >= 8 {
        line = line.with_dashed();
    }
    if series.stroke != Stroke::Marked {
        return vec![Plot::Line(line)];
    }
    let arm =
        |mark: &Mark| (mark.y - mark.low.unwrap_or(mark.y), mark.high.unwrap_or(mark.y) - mark.y);
    let mut dots = ScatterPlot::new()
        .with_data(series.points.iter().map(|mark| (mark.x, mark.y)))
        .with_color(color.as_str())
        .with_size(MARKER)
        .with_marker(MARKERS[index % MARKERS.len()]);
    if series.points.iter().any(|mark| mark.low.is_some()) {
        dots = dots.with_y_err_asymmetric(series.points.iter().map(arm));
    }
    let bounds: Vec<(f64, f64)> =
        series.points.iter().filter(|mark| mark.at_least).map(|mark| (mark.x, mark.y)).collect();
    let arrows = ScatterPlot::new()
        .with_data(bounds.iter().copied())
        .with_color(color.as_str())
        .with_size(LARGEST_MARKER)
        .with_marker(MarkerShape::Triangle);
    let arrows = (!bounds.is_empty()).then_some(Plot::Scatter(arrows));
    [Plot::Line(line), Plot::Scatter(dots)].into_iter().chain(arrows).collect()
}

/// How far markers reach from their points, and those of lower bounds, in units of the drawing.
const MARKER: f64 = 4.0;
const LARGEST_MARKER: f64 = 8.0;

const MARKERS: [MarkerShape; 5] = [
    MarkerShape::Circle,
    MarkerShape::Square,
    MarkerShape::Triangle,
    MarkerShape::Diamond,
    MarkerShape::TriangleDown,
];

fn layout(figure: &LineFigure, series: &[Series]) -> Layout {
    let (x_range, y_range) = (x_range(figure, series), y_range(figure, series));
    let mut layout = Layout::new(x_range, y_range)
        .with_width(WIDTH)
        .with_height(HEIGHT)
        .with_x_label(figure.x_label.as_str())
        .with_y_label(figure.y_label.as_str())
        .with_legend_position(LegendPosition::OutsideBottomColumns)
        .with_legend_box(false)
        .with_legend_col_limit(legend_columns(series))
        .with_theme(style::theme())
        .with_label_size(15)
        .with_tick_size(14)
        .with_body_size(14)
        .with_ticks(6)
        .with_x_tick_format(x_tick_format(figure, x_range))
        .with_y_tick_format(tick_format(&figure.y_axis));
    layout.show_legend = true;
    if let Axis::Names(names) = &figure.x_axis {
        layout = layout.with_x_categories(names.clone());
    }
    if figure.log_x {
        layout = layout.with_log_x();
    }
    if !matches!(figure.x_axis, Axis::Names(_)) {
        layout = layout.with_x_axis_min(x_range.0).with_x_axis_max(x_range.1);
    }
    if figure.log_y {
        layout = layout.with_log_y().with_y_axis_min(y_range.0).with_y_axis_max(y_range.1);
        // On a logarithmic axis the library leaves room for its own tick labels, 10⁻² and the
        // like, not for ours.
        layout = layout.with_force_margins(100.0, 24.0).with_y_label_offset(-26.0, 0.0);
    }
    if let Some(x) = figure.vertical {
        let line = ReferenceLine::vertical(x).with_color(INK).with_dasharray("2 4");
        layout = layout.with_reference_line(line);
    }
    if figure.zero_line {
        let line = ReferenceLine::horizontal(0.0).with_color(INK).with_dasharray("none");
        layout = layout.with_reference_line(line.with_stroke_width(1.2));
    }
    layout
}

/// As many columns as the longest label leaves room for.
fn legend_columns(series: &[Series]) -> usize {
    let longest = series.iter().map(|series| series.label.chars().count()).max().unwrap_or(0);
    let column = SWATCH + CHARACTER * longest as f64;
    ((WIDTH - LEFT_MARGIN) / column).floor().max(1.0) as usize
}

/// A legend's coloured line and the gaps beside it, a character of its text, and what the y axis
/// takes, in units of the drawing.
const SWATCH: f64 = 40.0;
const CHARACTER: f64 = 8.0;
const LEFT_MARGIN: f64 = 100.0;

/// In units of the drawing; small enough that its text can still be read on a narrow window.
const WIDTH: f64 = 600.0;
const HEIGHT: f64 = 380.0;

fn x_range(figure: &LineFigure, series: &[Series]) -> (f64, f64) {
    let points = || series.iter().flat_map(|series| &series.points);
    let (low, high) = match &figure.x_axis {
        Axis::Names(names) => return (0.5, names.len() as f64 + 0.5),
        _ => range(points().map(|mark| mark.x).chain(figure.vertical)),
    };
    // A marker on the edge would be cut in half.
    let marked = series.iter().any(|series| series.stroke == Stroke::Marked);
    if figure.log_x {
        let margin = if marked { 1.05 } else { 1.0 };
        let (low, high) = (low / margin, high * margin);
        return (one_two_five(low, Rounding::Down), one_two_five(high, Rounding::Up));
    }
    let margin = if marked { 0.02 * (high - low) } else { 0.0 };
    // Nothing that is measured from zero up has an axis below zero.
    let floor = if low >= 0.0 { 0.0 } else { f64::NEG_INFINITY };
    ((low - margin).max(floor), high + margin)
}

fn y_range(figure: &LineFigure, series: &[Series]) -> (f64, f64) {
    let ends = |mark: &Mark| [mark.y, mark.low.unwrap_or(mark.y), mark.high.unwrap_or(mark.y)];
    let zero = (figure.zero_line || figure.zero_based).then_some(0.0);
    let points = series.iter().flat_map(|series| &series.points);
    let (low, high) = range(points.flat_map(ends).chain(zero).chain(figure.reach));
    if !figure.log_y {
        return (low, high);
    }
    let (low, high) = (one_two_five(low, Rounding::Down), one_two_five(high, Rounding::Up));
    // Below a factor of 5, an axis would have too few labels and make small differences look big.
    if high / low < 5.0 { (one_two_five(low / 1.5, Rounding::Down), high) } else { (low, high) }
}

fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
        (low.min(value), high.max(value))
    });
    match high - low {
        width if width > 0.0 => (low, high),
        0.0 if low != 0.0 => (low - 0.5 * low.abs(), high + 0.5 * high.abs()),
        _ => (0.0, 1.0),
    }
}

enum Rounding {
    Down,
    Up,
}

/// The next of 1, 2 and 5 times a power of ten, where a logarithmic axis has its labels.
fn one_two_five(value: f64, rounding: Rounding) -> f64 {
    if value <= 0.0 {
        return 1e-9;
    }
    let power = 10_f64.powf(value.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0];
    let fits = |step: &&f64| match rounding {
        Rounding::Down => **step * power <= value * 1.000_001,
        Rounding::Up => **step * power >= value * 0.999_999,
    };
    let step = match rounding {
        Rounding::Down => steps.iter().rfind(fits),
        Rounding::Up => steps.iter().find(fits),
    };
    step.unwrap_or(&1.0) * power
}

/// On a wide logarithmic axis, labels at 2 and 5 would run into those of the powers of ten.
fn x_tick_format(figure: &LineFigure, (low, high): (f64, f64)) -> TickFormat {
    match tick_format(&figure.x_axis) {
        TickFormat::Custom(format) if figure.log_x && high / low > 200.0 => {
            TickFormat::Custom(Arc::new(move |value| {
                let power = value.log10();
                let is_whole = (power - power.round()).abs() < 1e-6;
                if is_whole { format(value) } else { String::new() }
            }))
        }
        format => format,
    }
}

fn tick_format(axis: &Axis) -> TickFormat {
    match axis {
        Axis::Number => TickFormat::Custom(Arc::new(format::plain)),
        Axis::Seconds => TickFormat::Custom(Arc::new(format::tick_seconds)),
        Axis::Share => TickFormat::Custom(Arc::new(format::tick_share)),
        Axis::Bytes => TickFormat::Custom(Arc::new(format::tick_bytes)),
        Axis::Names(_) => TickFormat::Auto,
    }
}
