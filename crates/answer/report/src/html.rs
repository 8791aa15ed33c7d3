//! HTML, escaped.

use std::fmt::Write;

use crate::line::Figure;
use crate::table::Table;

/// Text as it may stand between tags and in attributes.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

/// A whole page around `body`, with its style inside.
pub(crate) fn document(title: &str, body: &str) -> String {
    let title = escape(title);
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n\
         <meta name=\"color-scheme\" content=\"light dark\"/>\n<title>{title}</title>\n\
         <style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n{body}</main>\n</body>\n</html>\n"
    )
}

const STYLE: &str = include_str!("page.css");

/// A table in a box of its own, which scrolls where the window is narrow.
pub(crate) fn table(table: &Table) -> String {
    let mut out = String::new();
    let title = escape(&table.title);
    let _ = write!(
        out,
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{title}\"><table>\
         <caption><span>{title}</span></caption>\n<thead><tr>"
    );
    for (at, cell) in table.head.iter().enumerate() {
        let class = class(at < table.labels);
        let _ = write!(out, "<th scope=\"col\"{class}>{}</th>", escape(cell));
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for row in &table.rows {
        out.push_str(if row.starts_group { "<tr class=\"group\">" } else { "<tr>" });
        for (at, cell) in row.cells.iter().enumerate() {
            let (class, text) = (class(at < table.labels), escape(cell));
            let _ = match at {
                _ if at < table.labels => write!(out, "<th scope=\"row\"{class}>{text}</th>"),
                _ => write!(out, "<td>{text}</td>"),
            };
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table></div>\n");
    if let Some(note) = &table.note {
        let _ = writeln!(out, "<p class=\"note\">{}</p>", escape(note));
    }
    out
}

fn class(is_label: bool) -> &'static str {
    if is_label { " class=\"label\"" } else { "" }
}

/// Figures with their captions, side by side where there is room.
pub(crate) fn figures(figures: &[Figure]) -> String {
    let items: String = figures.iter().map(figure).collect();
    format!("<div class=\"figures\">\n{items}</div>\n")
}

/// A wide figure, which scrolls where the window is narrow.
pub(crate) fn wide_figure(figure: &Figure) -> String {
    framed(figure, |svg| format!("<div class=\"wide\" tabindex=\"0\">{svg}</div>"))
}

fn figure(figure: &Figure) -> String {
    framed(figure, str::to_owned)
}

fn framed(figure: &Figure, frame: impl Fn(&str) -> String) -> String {
    // Inside HTML an SVG needs no namespace.
    let svg = figure.svg.replacen(" xmlns=\"http://www.w3.org/2000/svg\"", "", 1);
    let (drawing, caption) = (frame(&svg), escape(&figure.caption));
    format!("<figure>\n{drawing}\n<figcaption>{caption}</figcaption>\n</figure>\n")
}

/// A text that opens on demand.
pub(crate) fn details(summary: &str, body: &str) -> String {
    format!("<details><summary>{}</summary>\n{body}</details>\n", escape(summary))
}
