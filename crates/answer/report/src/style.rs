//! The style of figures, with colours that colour-blind readers can distinguish on light and on dark.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use kuva::render::theme::Theme;

/// Text and axes.
pub const INK: &str = "#1f2328";
/// Lines that only help the eye.
pub const GRID: &str = "#d9dee3";
/// Behind everything.
pub(crate) const PAPER: &str = "#ffffff";

const DARK_INK: &str = "#e6e9ed";
const DARK_GRID: &str = "#3a4048";
const DARK_PAPER: &str = "#16191d";

/// The palette of Okabe & Ito (2008), but for its yellow, which is too faint on white, then eight
/// more; and for each colour what stands for it on dark.
const PALETTE: [(&str, &str); 15] = [
    ("#0072b2", "#4ba6e8"),
    ("#d55e00", "#f0803c"),
    ("#009e73", "#2fc298"),
    ("#cc79a7", "#dc94bd"),
    ("#e69f00", "#f0b429"),
    ("#56b4e9", "#9bd6fa"),
    ("#5c6670", "#a9b3bd"),
    ("#7b3294", "#b57edc"),
    ("#8c510a", "#c98a45"),
    ("#b2182b", "#ef6a75"),
    ("#6a6f00", "#c3c94e"),
    ("#4040c0", "#8f8fff"),
    ("#c51b7d", "#f06db4"),
    ("#004949", "#3f9a9a"),
    ("#7fbf3f", "#a8e063"),
];

/// The number of colours; more runs cannot be distinguished in a figure.
const MAX_COLORS: usize = 128;

/// The colour of the `index`-th series. No two of the first hundred are the same.
pub fn color(index: usize) -> String {
    PAIRS[index % MAX_COLORS].0.clone()
}

/// All colours, each with what stands for it on dark.
static PAIRS: LazyLock<Vec<(String, String)>> =
    LazyLock::new(|| (0..MAX_COLORS).map(pair).collect());

fn pair(index: usize) -> (String, String) {
    match PALETTE.get(index) {
        Some((light, dark)) => ((*light).to_owned(), (*dark).to_owned()),
        // Hues at the golden angle are far from their neighbours, however many there are.
        None => {
            let hue = (index as f64 * 137.508) % 360.0;
            (hex(hue, 0.6, 0.36), hex(hue, 0.65, 0.68))
        }
    }
}

/// A colour from hue in degrees, saturation and lightness.
fn hex(hue: f64, saturation: f64, lightness: f64) -> String {
    let channel = |n: f64| {
        let k = (n + hue / 30.0) % 12.0;
        let reach = saturation * lightness.min(1.0 - lightness);
        let value = lightness - reach * (k - 3.0).min(9.0 - k).clamp(-1.0, 1.0);
        (value * 255.0).round() as u8
    };
    format!("#{:02x}{:02x}{:02x}", channel(0.0), channel(8.0), channel(4.0))
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
    let (width, height) = (attribute(opening, "width"), used_height(rest));
    let lines = wrapped(title, width);
    let top = TITLE_LINE * lines.len() as f64 + 10.0;
    let opening = opening.replace(
        &format!("height=\"{}\"", attribute(opening, "height")),
        &format!("height=\"{}\"", height + top),
    );
    let (escaped, caption) = (crate::html::escape(title), crate::html::escape(caption));
    format!(
        "{opening} class=\"figure\" viewBox=\"-{MARGIN} -{top} {} {}\" role=\"img\" \
         aria-labelledby=\"{name}-title {name}-text\"><title id=\"{name}-title\">{escaped}</title>\
         <desc id=\"{name}-text\">{caption}</desc><style>{}</style>{}{}",
        width.parse::<f64>().unwrap_or_default() + MARGIN,
        height + top,
        dark_style(rest),
        drawn_title(&lines, top),
        own_identifiers(rest, name),
    )
}

/// Room at the left, in units of the drawing, for the label of an axis with long tick labels.
const MARGIN: f64 = 10.0;

/// In units of the drawing: a line of a title, and a character of it.
const TITLE_LINE: f64 = 22.0;
const TITLE_CHARACTER: f64 = 8.6;

/// The title in lines that the drawing is wide enough for.
fn wrapped(title: &str, width: &str) -> Vec<String> {
    let max = (width.parse::<f64>().unwrap_or(600.0) / TITLE_CHARACTER) as usize;
    let mut lines: Vec<String> = Vec::new();
    for word in title.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= max => {
                *line += " ";
                *line += word;
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// The title above the drawing, so that a figure says what it is wherever it is put.
fn drawn_title(lines: &[String], top: f64) -> String {
    let text = |(at, line): (usize, &String)| {
        format!(
            "<text x=\"-{MARGIN}\" y=\"{}\" font-family=\"system-ui, sans-serif\" font-size=\"16\" \
             font-weight=\"600\" fill=\"{INK}\">{}</text>",
            TITLE_LINE * (at as f64 + 0.75) - top,
            crate::html::escape(line)
        )
    };
    let behind = format!(
        "<rect x=\"-{MARGIN}\" y=\"-{top}\" width=\"100%\" height=\"100%\" fill=\"{PAPER}\"/>"
    );
    lines.iter().enumerate().fold(behind, |drawn, line| drawn + &text(line))
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

/// Lets markers reach over the axes by `room` units of the drawing, so that those of points on an axis are seen whole.
pub(crate) fn let_markers_out(svg: &str, room: f64) -> String {
    let mut parts = svg.split("<clipPath ");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (of, rest) = part.split_once("/>").expect("a clip path has a rectangle");
        let mut of = of.to_owned();
        for (name, more) in
            [("x", -room), ("y", -room), ("width", 2.0 * room), ("height", 2.0 * room)]
        {
            let value = attribute(&of, name);
            let grown = value.parse::<f64>().expect("a rectangle has numbers") + more;
            of = of.replacen(&format!(" {name}=\"{value}\""), &format!(" {name}=\"{grown}\""), 1);
        }
        out += &format!("<clipPath {of}/>{rest}");
    }
    out
}

/// Replaces the colours that a drawing has by their counterparts, on a dark screen.
fn dark_style(drawing: &str) -> String {
    let own = |(light, dark): (&str, &str)| (light.to_owned(), dark.to_owned());
    let pairs = [(INK, DARK_INK), (GRID, DARK_GRID), (PAPER, DARK_PAPER)].map(own).into_iter();
    let rule = |(light, dark): (String, String)| {
        format!(
            ":is(.figure,.figure *)[fill=\"{light}\"]{{fill:{dark}}}\
             :is(.figure,.figure *)[stroke=\"{light}\"]{{stroke:{dark}}}"
        )
    };
    let found: BTreeSet<&str> =
        drawing.match_indices("\"#").filter_map(|(at, _)| drawing.get(at + 1..at + 8)).collect();
    let used = PAIRS.iter().filter(|(light, _)| found.contains(light.as_str())).cloned();
    let rules: String = pairs.chain(used).map(rule).collect();
    format!("@media screen and (prefers-color-scheme:dark){{{rules}}}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_colour_comes_twice_on_light_or_on_dark() {
        for side in [|index| pair(index).0, |index| pair(index).1] {
            let mut colors: Vec<String> = (0..MAX_COLORS).map(side).collect();
            colors.sort();
            colors.dedup();
            assert_eq!(colors.len(), MAX_COLORS);
        }
    }

    #[test]
    fn a_colour_is_written_as_its_channels() {
        assert_eq!(hex(0.0, 1.0, 0.5), "#ff0000");
        assert_eq!(hex(120.0, 1.0, 0.25), "#008000");
    }

    #[test]
    fn what_is_drawn_in_a_clip_path_may_reach_over_its_edges() {
        let svg = "<svg><clipPath id=\"a\"><rect x=\"70\" y=\"20\" width=\"500\" height=\"300\"/></clipPath><g/></svg>";
        let grown = "<rect x=\"62\" y=\"12\" width=\"516\" height=\"316\"/></clipPath><g/></svg>";
        assert_eq!(let_markers_out(svg, 8.0), format!("<svg><clipPath id=\"a\">{grown}"));
    }

    #[test]
    fn a_long_title_takes_several_lines() {
        assert_eq!(wrapped("one two three", "70"), ["one two", "three"]);
    }
}
