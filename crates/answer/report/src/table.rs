//! Tables, and how they are set in a terminal and in Markdown.

use shortflow_measure::tables::{self as data, Cell, Label, Scale};
use shortflow_measure::{Estimate, Grade};

use crate::format;

/// A table before it is set.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Table {
    /// What it shows, with the unit of its numbers.
    pub title: String,
    /// The columns' names.
    pub head: Vec<String>,
    /// How many columns, from the left, name the row rather than measure it.
    pub labels: usize,
    /// The rows.
    pub rows: Vec<Row>,
    /// What else must be said.
    pub note: Option<String>,
}

/// A row of a table.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Row {
    /// Its cells, as many as the table has columns.
    pub cells: Vec<String>,
    /// Whether it begins a group of rows that belong together.
    pub starts_group: bool,
}

impl Table {
    /// A table of measures, set: each figure in the unit of its column, with the decimals that its
    /// interval leaves certain, `≥` before a lower bound and `–` where nothing is known.
    pub fn set(table: &data::Table) -> Table {
        let mut above: &[Label] = &[];
        let mut rows = Vec::new();
        for row in &table.rows {
            let repeated = row.labels.iter().zip(above).take(table.groups);
            let repeated = repeated.take_while(|(label, above)| label == above).count();
            let labels = row.labels.iter().enumerate().map(|(at, label)| match label {
                _ if at < repeated => String::new(),
                Label::Name(name) => name.clone(),
                Label::Rate(rate) => format::rate(*rate as f64),
            });
            let cells =
                table.columns.iter().zip(&row.cells).map(|(column, cell)| set(cell, column.scale));
            rows.push(Row { cells: labels.chain(cells).collect(), starts_group: row.starts_group });
            above = &row.labels;
        }
        let columns = table.columns.iter().map(|column| column.head.clone());
        Table {
            title: table.title.clone(),
            head: table.labels.iter().cloned().chain(columns).collect(),
            labels: table.labels.len(),
            rows,
            note: table.note.clone(),
        }
    }

    /// The table in Markdown, its title in bold above it.
    pub fn markdown(&self) -> String {
        let line = |cells: &[String]| {
            let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
            format!("| {} |\n", cells.join(" | "))
        };
        let rule = (0..self.head.len()).map(|at| if at < self.labels { "---|" } else { "---:|" });
        let mut out = format!("**{}**\n\n{}", self.title, line(&self.head));
        out += &format!("|{}\n", rule.collect::<String>());
        out.extend(self.rows.iter().map(|row| line(&row.cells)));
        out.extend(self.note.iter().map(|note| format!("\n{note}\n")));
        out
    }

    /// The table as plain text, columns aligned; headings bold when `ansi`.
    pub fn text(&self, ansi: bool) -> String {
        let bold = |text: &str| {
            if ansi { format!("\x1b[1m{text}\x1b[0m") } else { text.to_owned() }
        };
        let widths: Vec<usize> = (0..self.head.len()).map(|at| self.width(at)).collect();
        let mut out = format!("{}\n", bold(&self.title));
        out += &format!("{}\n", bold(&self.line(&self.head, &widths)));
        for (at, row) in self.rows.iter().enumerate() {
            if row.starts_group && at > 0 && self.has_groups() {
                out.push('\n');
            }
            out += &self.line(&row.cells, &widths);
            out.push('\n');
        }
        if let Some(note) = &self.note {
            out += &format!("{note}\n");
        }
        out
    }

    /// Whether some group has more than one row; single rows need no space around them.
    fn has_groups(&self) -> bool {
        self.rows.iter().skip(1).any(|row| !row.starts_group)
            && self.rows.iter().skip(1).any(|row| row.starts_group)
    }

    fn width(&self, column: usize) -> usize {
        let cells = self.rows.iter().filter_map(|row| row.cells.get(column));
        cells.chain([&self.head[column]]).map(|cell| cell.chars().count()).max().unwrap_or(0)
    }

    fn line(&self, cells: &[String], widths: &[usize]) -> String {
        let mut line = String::new();
        for (at, (cell, width)) in cells.iter().zip(widths).enumerate() {
            let gap = " ".repeat(width - cell.chars().count());
            let separator = if at == 0 { "" } else { "  " };
            line += &if at < self.labels {
                format!("{separator}{cell}{gap}")
            } else {
                format!("{separator}{gap}{cell}")
            };
        }
        line.trim_end().to_owned()
    }
}

/// The content of a cell.
fn set(cell: &Cell, scale: Scale) -> String {
    match cell {
        Cell::Figure(share) if scale == Scale::Percent => format::share(&Some(*share)),
        Cell::Figure(added) if scale == Scale::Grade => grade(added),
        Cell::Figure(figure) => format::estimate(&Some(*figure), scale.factor()),
        Cell::Count(count) => format::count(*count),
        Cell::Gain(gain) => format::gain_cell(&Some(*gain)),
        Cell::Ratio(ratio) => format::estimate(&Some(*ratio), 1.0),
        Cell::Reference => "reference".into(),
        Cell::Parts(parts) => match &parts[..] {
            [(only, _)] => only.clone(),
            parts => {
                let part = |(name, share): &(String, f64)| format!("{name} {:.0} %", share * 100.0);
                parts.iter().map(part).collect::<Vec<_>>().join(", ")
            }
        },
        Cell::Failed => "failed".into(),
        Cell::Nothing => format::NOTHING.into(),
    }
}

/// The grade of an added delay, and the range of those within its interval.
fn grade(added: &Estimate) -> String {
    let of = |seconds: Option<f64>| seconds.map(Grade::from_added);
    let grade = Grade::from_added(added.mean);
    match (of(added.low), of(added.high)) {
        (Some(low), Some(high)) if low != high => format!("{grade} ({low} to {high})"),
        _ => grade.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_stand_left_and_numbers_right() {
        let row =
            |cells: [&str; 3]| Row { cells: cells.map(String::from).into(), ..Row::default() };
        let table = Table {
            title: "web, in ms".into(),
            head: ["size", "mean", "p99"].map(String::from).into(),
            labels: 1,
            rows: vec![row(["1 pkt", "203 ± 12", "1"]), row(["11 pkt", "9", "1000"])],
            note: None,
        };
        assert_eq!(
            table.text(false),
            "web, in ms\n\
             size        mean   p99\n\
             1 pkt   203 ± 12     1\n\
             11 pkt         9  1000\n"
        );
        assert!(table.text(true).starts_with("\x1b[1mweb, in ms\x1b[0m\n"));
    }

    #[test]
    fn an_added_delay_is_set_as_its_grade_with_those_that_its_interval_leaves_open() {
        let of = |ms: f64, half: Option<f64>| {
            let (mean, half) = (ms / 1e3, half.map(|half| half / 1e3));
            let (low, high) = (half.map(|half| mean - half), half.map(|half| mean + half));
            let added = Estimate { mean, low, high, n: 3, at_least: false, at_most: false };
            set(&Cell::Figure(added), Scale::Grade)
        };
        assert_eq!(of(12.0, None), "A");
        assert_eq!(of(12.0, Some(4.0)), "A");
        assert_eq!(of(58.0, Some(4.0)), "B (B to C)");
        assert_eq!(of(580.0, None), "F");
    }

    #[test]
    fn estimates_are_set_in_markdown_with_half_their_interval() {
        let estimate = |mean: f64, half: f64| {
            Some(Estimate {
                mean,
                low: Some(mean - half),
                high: Some(mean + half),
                n: 8,
                at_least: false,
                at_most: false,
            })
        };
        let alone = Some(Estimate {
            mean: 12.345,
            low: None,
            high: None,
            n: 1,
            at_least: false,
            at_most: false,
        });
        let rows = vec![
            ("DropTail".to_owned(), vec![estimate(1.234_56, 0.012_3), estimate(1234.0, 250.0)]),
            ("a|b".to_owned(), vec![alone, None]),
        ];
        let columns = ["page (s)".to_owned(), "rate".to_owned()];
        assert_eq!(
            Table::set(&data::Table::of_estimates("Pages", &columns, rows)).markdown(),
            "**Pages**\n\n\
             |  | page (s) | rate |\n\
             |---|---:|---:|\n\
             | DropTail | 1.23 ± 0.01 | 1234 ± 250 |\n\
             | a\\|b | 12.3 | – |\n"
        );
    }
}
