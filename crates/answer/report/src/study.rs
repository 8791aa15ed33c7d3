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
    /// `"holds"`, `"fails"`, `"depends"` or `"unsettled"`.
    pub verdict: String,
    /// The verdicts under other readings of what the paper leaves open.
    pub readings: Vec<(String, String)>,
    /// The replicas that it took.
    pub replicas: u32,
    /// What else is to be said: why it fails, what was assumed.
    pub note: String,
    /// The checks that it was judged by.
    pub checks: Vec<CheckRow>,
    /// What is reported beside it, without a vote.
    pub observations: Vec<CheckRow>,
}

/// One computed check of a claim.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckRow {
    /// What is compared.
    pub what: String,
    /// The paper's figure, as printed.
    pub paper: String,
    /// Ours.
    pub ours: Option<f64>,
    /// The lower end of its interval.
    pub low: Option<f64>,
    /// The upper end.
    pub high: Option<f64>,
    /// `"holds"`, `"fails"` or `"unsettled"`; empty for an observation.
    pub verdict: String,
    /// A remark: the change under which it would hold, or the number of replicas that would decide.
    pub remark: String,
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
        "<p class=\"result\">{} claims checked. Hold: {}. Fail: {}. Depend: {}. Unsettled: {}.</p>",
        claims.len(),
        of("holds"),
        of("fails"),
        of("depends"),
        of("unsettled")
    );
    body += "<p class=\"soft\">The checks and their criteria were fixed before the runs. Intervals have the level at \
         which a check is judged, which keeps the error of all looks at a claim within 5 %. Depends: the claim holds \
         under one reading of what the paper leaves open and fails under another. Unsettled: the replicas do not \
         decide. Claims that fail are shown like all others.</p>\n";
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
    for (reading, found) in &row.readings {
        let _ =
            writeln!(out, "<p class=\"soft\">Under {}: {}</p>", escape(reading), verdict(found));
    }
    out += &rows(row, "Checks", &row.checks);
    if !row.observations.is_empty() {
        out += &rows(row, "Further values, which do not decide", &row.observations);
    }
    out + "</section>\n"
}

/// A table of checks or observations.
fn rows(claim: &ClaimRow, caption: &str, rows: &[CheckRow]) -> String {
    let of = format!("{caption}, {}", claim.id);
    let replicas = match claim.replicas {
        1 => "1 replica".to_owned(),
        n => format!("{n} replicas"),
    };
    let mut out = format!(
        "<div class=\"scroll wrap\" tabindex=\"0\" role=\"region\" aria-label=\"{}\"><table>\
         <caption>{caption}, {replicas}</caption>\n<thead><tr><th scope=\"col\" class=\"label\">what\
         </th><th scope=\"col\">holds</th><th scope=\"col\">paper</th><th scope=\"col\">ours</th>\
         <th scope=\"col\">interval</th></tr></thead>\n<tbody>\n",
        escape(&of)
    );
    rows.iter().for_each(|row| out += &check(row));
    out + "</tbody></table></div>\n"
}

fn check(row: &CheckRow) -> String {
    let number = |value: f64| significant(value).replace('-', "−");
    let interval = match (row.low, row.high) {
        (Some(low), Some(high)) => format!("{} to {}", number(low), number(high)),
        (Some(low), None) => format!("at least {}", number(low)),
        (None, Some(high)) => format!("at most {}", number(high)),
        (None, None) => NOTHING.into(),
    };
    let (class, holds) = match row.verdict.as_str() {
        "holds" => ("holds", "✓ yes"),
        "fails" => ("fails", "✗ no"),
        "" => ("", NOTHING),
        _ => ("unsettled", "? open"),
    };
    let remark = match row.remark.as_str() {
        "" => String::new(),
        remark => format!("<div class=\"soft\">{}</div>", escape(remark)),
    };
    format!(
        "<tr><th scope=\"row\" class=\"label\">{}{remark}</th><td class=\"{class}\">{holds}</td>\
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
