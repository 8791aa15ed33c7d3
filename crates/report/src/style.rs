//! How figures look: colours that a colour-blind reader can tell apart, on light and on dark.

use kuva::render::theme::Theme;

/// Text and axes.
pub(crate) const INK: &str = "#1f2328";
/// Lines that only help the eye.
pub(crate) const GRID: &str = "#d9dee3";
/// Behind everything.
const PAPER: &str = "#ffffff";

const DARK_INK: &str = "#e6e9ed";
const DARK_GRID: &str = "#3a4048";
const DARK_PAPER: &str = "#16191d";

/// The palette of Okabe & Ito (2008), but for its yellow, which is too faint on white; and for
/// each colour what stands for it on dark.
const PALETTE: [(&str, &str); 7] = [
    ("#0072b2", "#4ba6e8"),
    ("#d55e00", "#f0803c"),
    ("#009e73", "#2fc298"),
    ("#cc79a7", "#dc94bd"),
    ("#e69f00", "#f0b429"),
    ("#56b4e9", "#9bd6fa"),
    ("#5c6670", "#a9b3bd"),
];

/// The colour of the `index`-th series.
pub(crate) fn color(index: usize) -> &'static str {
    PALETTE[index % PALETTE.len()].0
}

/// The colours of axes, grid and text.
pub(crate) fn theme() -> Theme {
    Theme {
        background: PAPER.into(),
        axis_color: INK.into(),
        grid_color: GRID.into(),
        tick_color: INK.into(),
        text_color: INK.into(),
        legend_bg: "none".into(),
        legend_border: "none".into(),
        font_family: Some("system-ui, sans-serif".into()),
        ..Theme::light()
    }
}

/// Makes a figure that stands by itself: it scales with its place, tells a screen reader what it
/// shows, follows a dark screen but prints light, and shares no identifier with another figure.
///
/// Colours stay written out in the attributes, for programs that know no style sheets; on a dark
/// screen the style sheet replaces each by its counterpart.
pub(crate) fn finish(svg: &str, name: &str, title: &str, caption: &str) -> String {
    let (opening, rest) = svg.split_once('>').expect("an SVG has an opening tag");
    let (title, caption) = (crate::html::escape(title), crate::html::escape(caption));
    let (width, height) = (attribute(opening, "width"), used_height(rest));
    let opening = opening.replace(
        &format!("height=\"{}\"", attribute(opening, "height")),
        &format!("height=\"{height}\""),
    );
    format!(
        "{opening} class=\"figure\" viewBox=\"0 0 {width} {height}\" role=\"img\" \
         aria-labelledby=\"{name}-title {name}-text\"><title id=\"{name}-title\">{title}</title>\
         <desc id=\"{name}-text\">{caption}</desc><style>{}</style>{}",
        dark_style(),
        own_identifiers(rest, name),
    )
}

fn attribute<'a>(tag: &'a str, name: &str) -> &'a str {
    let from = tag.find(&format!(" {name}=\"")).expect("the attribute is there") + name.len() + 3;
    tag[from..].split('"').next().unwrap_or_default()
}

/// Down to a little below the last text: the legend's, under which the drawing is empty.
fn used_height(svg: &str) -> f64 {
    let texts = svg.split("<text ").skip(1).filter_map(|tag| {
        let tag = format!(" {tag}");
        attribute(&tag, "y").parse::<f64>().ok()
    });
    (texts.fold(0.0, f64::max) + 12.0).ceil()
}

/// The identifiers of clip paths come from a counter of the whole process; this makes them the
/// figure's own, so that the same data give the same bytes.
fn own_identifiers(svg: &str, name: &str) -> String {
    let mut seen: Vec<&str> = Vec::new();
    let mut out = String::with_capacity(svg.len());
    let mut parts = svg.split(CLIP);
    out.push_str(parts.next().unwrap_or_default());
    for part in parts {
        let digits = part.find(|c: char| !c.is_ascii_digit()).unwrap_or(part.len());
        let (number, rest) = part.split_at(digits);
        let at = seen.iter().position(|n| *n == number).unwrap_or_else(|| {
            seen.push(number);
            seen.len() - 1
        });
        out.push_str(&format!("{name}-clip-{at}{rest}"));
    }
    out
}

const CLIP: &str = "kuva-clip-";

fn dark_style() -> String {
    let pairs = [(INK, DARK_INK), (GRID, DARK_GRID), (PAPER, DARK_PAPER)];
    let rule = |(light, dark): &(&str, &str)| {
        format!(
            ":is(.figure,.figure *)[fill=\"{light}\"]{{fill:{dark}}}\
             :is(.figure,.figure *)[stroke=\"{light}\"]{{stroke:{dark}}}"
        )
    };
    let rules: String = pairs.iter().chain(&PALETTE).map(rule).collect();
    format!("@media screen and (prefers-color-scheme:dark){{{rules}}}")
}
