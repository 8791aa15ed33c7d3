//! A claims ledger as one HTML page.

use std::fmt::Write;

use crate::format::{NOTHING, significant};
use crate::html::{self, document, escape};
use crate::line::Figure;
use crate::table::Table;

/// A claim of a paper, and what became of it.
#[derive(Debug, Clone, PartialEq)]
pub struct ClaimRow {
    /// Its name, like `"cm05.5"`.
    pub id: String,
    /// What the paper says.
    pub claim: String,
    /// The same in a few words.
    pub short: String,
    /// `"holds"`, `"fails"` or `"unsettled"`.
    pub verdict: String,
    /// What else is to be said: why it fails, what was assumed.
    pub note: String,
    /// The checks that it was judged by.
    pub checks: Vec<CheckRow>,
}

/// One computed check of a claim.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckRow {
    /// What is compared.
    pub what: String,
    /// The paper's figure, as it stands there.
    pub paper: String,
    /// Ours.
    pub ours: Option<f64>,
    /// The lower end of its 95 % interval.
    pub low: Option<f64>,
    /// The upper end.
    pub high: Option<f64>,
    /// Whether the check holds; none when its interval leaves it open.
    pub holds: Option<bool>,
}

/// One page about a study: what it is `about`, how many claims hold, each claim with its checks, the tables, the figures.
pub fn study_page(
    title: &str,
    about: &str,
    claims: &[ClaimRow],
    tables: &[Table],
    figures: &[Figure],
) -> String {
    let mut body = format!("<h1>{}</h1>\n<p class=\"soft\">{}</p>\n", escape(title), escape(about));
    let of = |verdict: &str| claims.iter().filter(|claim| claim.verdict == verdict).count();
    let _ = writeln!(
        body,
        "<p class=\"result\">{} claims checked. Hold: {}. Fail: {}. Unsettled: {}.</p>",
        claims.len(),
        of("holds"),
        of("fails"),
        of("unsettled")
    );
    body += "<p class=\"soft\">What each check is, and how it is judged, was fixed before the runs. \
             Unsettled means that the intervals decide neither way. A claim that fails is shown \
             like all others.</p>\n";
    body += &overview(claims);
    body += "<h2>Claims</h2>\n";
    claims.iter().for_each(|row| body += &claim(row));
    if !tables.is_empty() {
        body += "<h2>Tables</h2>\n<p class=\"soft\">Means over replicas with half the 95 % \
                 interval.</p>\n";
        tables.iter().for_each(|table| body += &html::table(table));
    }
    if !figures.is_empty() {
        body += "<h2>Figures</h2>\n";
        body += &html::figures(figures);
    }
    document(title, &body)
}

fn overview(claims: &[ClaimRow]) -> String {
    let mut out = String::from(
        "<div class=\"scroll wrap\" tabindex=\"0\" role=\"region\" aria-label=\"All claims\">\
         <table><caption>All claims</caption>\n<thead><tr><th scope=\"col\" class=\"label\">claim\
         </th><th scope=\"col\" class=\"label\">what the paper says</th><th scope=\"col\" \
         class=\"label\">verdict</th></tr></thead>\n<tbody>\n",
    );
    for row in claims {
        let _ = writeln!(
            out,
            "<tr class=\"group\"><th scope=\"row\" class=\"label\"><a href=\"#{id}\">{id}</a></th>\
             <th class=\"label\" scope=\"row\">{}</th><th class=\"label\" scope=\"row\">{}</th></tr>",
            escape(&row.short),
            verdict(&row.verdict),
            id = escape(&row.id),
        );
    }
    out + "</tbody></table></div>\n"
}

fn claim(row: &ClaimRow) -> String {
    let mut out = format!(
        "<section id=\"{id}\"><h3>{id}: {}</h3>\n<p>{}</p>\n",
        verdict(&row.verdict),
        escape(&row.claim),
        id = escape(&row.id),
    );
    if !row.note.is_empty() {
        let _ = writeln!(out, "<p class=\"note\">{}</p>", escape(&row.note));
    }
    let _ = write!(
        out,
        "<div class=\"scroll wrap\" tabindex=\"0\" role=\"region\" aria-label=\"Checks of {id}\"><table>\
         <caption>Checks</caption>\n<thead><tr><th scope=\"col\" class=\"label\">what</th>\
         <th scope=\"col\">holds</th><th scope=\"col\">paper</th><th scope=\"col\">ours</th>\
         <th scope=\"col\">95 % interval</th></tr></thead>\n<tbody>\n",
        id = escape(&row.id)
    );
    row.checks.iter().for_each(|row| out += &check(row));
    out + "</tbody></table></div></section>\n"
}

fn check(row: &CheckRow) -> String {
    let number = |value: f64| significant(value).replace('-', "−");
    let interval = match (row.low, row.high) {
        (Some(low), Some(high)) => format!("{} to {}", number(low), number(high)),
        _ => NOTHING.into(),
    };
    let (class, holds) = match row.holds {
        Some(true) => ("holds", "✓ yes"),
        Some(false) => ("fails", "✗ no"),
        None => ("unsettled", "? open"),
    };
    format!(
        "<tr><th scope=\"row\" class=\"label\">{}</th><td class=\"{class}\">{holds}</td>\
         <td>{}</td><td>{}</td><td>{interval}</td></tr>\n",
        escape(&row.what),
        escape(&row.paper),
        row.ours.map_or(NOTHING.into(), number),
    )
}

/// The verdict in its colour and with a sign, for those who see no colours.
fn verdict(verdict: &str) -> String {
    let sign = match verdict {
        "holds" => "✓",
        "fails" => "✗",
        _ => "?",
    };
    let text = escape(verdict);
    let class = if matches!(verdict, "holds" | "fails") { verdict } else { "unsettled" };
    format!("<span class=\"verdict {class}\">{sign} {text}</span>")
}
