//! Designs: the points of a sweep as rows of a CSV file.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use shortflow_text::{Diagnostic, Diagnostics, Override, OverrideCell, Scalar, Severity, Source};

use crate::files::digest;
use crate::load::DataFile;
use crate::sweep::MAX_POINTS;

/// A CSV file whose columns are keys, as those of `--set`, and whose rows are points.
#[derive(Debug)]
pub(crate) struct Design {
    source: Arc<Source>,
    keys: Vec<Cell>,
    rows: Vec<Vec<Cell>>,
    /// Rows that repeat an earlier one.
    pub(crate) warnings: Vec<Diagnostic>,
}

/// A value with its place in the file.
#[derive(Debug, Clone)]
struct Cell {
    text: String,
    place: Range<usize>,
}

impl Design {
    /// Reads a design.
    ///
    /// # Errors
    /// What is wrong with the file, with its place.
    pub(crate) fn parse(name: String, text: String) -> Result<Design, Diagnostics> {
        let source = Arc::new(Source { name, text });
        let mut design = Design {
            source: source.clone(),
            keys: Vec::new(),
            rows: Vec::new(),
            warnings: Vec::new(),
        };
        for record in records(&source.text) {
            let cells = record.map_err(|(place, what)| design.mistake(place, what, None))?;
            if cells.iter().all(|cell| cell.text.is_empty()) {
                continue;
            }
            if design.keys.is_empty() {
                design.check_keys(&cells)?;
                design.keys = cells;
            } else {
                design.check_row(&cells)?;
                design.rows.push(cells);
            }
        }
        if design.rows.is_empty() {
            let what = "the design has no points".to_owned();
            let help = "write the keys in the first line, as in `parameters.load,links.line.rate`, and a point in each other line";
            let place = design.keys.first().map_or(0..0, |key| key.place.clone());
            return Err(design.mistake(place, what, Some(help.to_owned())));
        }
        design.find_repeated();
        Ok(design)
    }

    /// The keys.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &str> {
        self.keys.iter().map(|key| key.text.as_str())
    }

    /// The names of the columns in results: the last part of each key, if no other has the same, else the whole key.
    pub(crate) fn names(&self) -> Vec<String> {
        let last = |key: &str| key.rsplit('.').next().unwrap_or(key).to_owned();
        let name = |key: &str| {
            let same = self.keys().filter(|other| last(other) == last(key)).count();
            if same == 1 { last(key) } else { key.to_owned() }
        };
        self.keys().map(name).collect()
    }

    /// The values of each point, and the overrides that set them.
    pub(crate) fn points(&self) -> Vec<(Vec<Scalar>, Vec<Override>)> {
        let change = |(key, value): (&Cell, &Cell)| Override {
            key: key.text.clone(),
            value: value.text.clone(),
            prefix: "",
            origin: self.source.name.clone(),
            cell: Some(OverrideCell {
                source: self.source.clone(),
                key: key.place.clone(),
                value: value.place.clone(),
            }),
        };
        let point = |row: &Vec<Cell>| {
            let values = row.iter().map(|cell| Scalar::parse(&cell.text)).collect();
            (values, self.keys.iter().zip(row).map(change).collect())
        };
        self.rows.iter().map(point).collect()
    }

    /// The file, to be kept with the results.
    pub(crate) fn data(&self) -> DataFile {
        let Source { name, text } = &*self.source;
        DataFile { name: name.clone(), digest: digest(text), text: text.as_str().into() }
    }

    /// A mistake at the column of this key.
    pub(crate) fn mistake_at_key(&self, key: &str, what: String, help: String) -> Diagnostics {
        let found = self.keys.iter().find(|one| one.text == key);
        let place = found.map_or(0..0, |one| one.place.clone());
        self.mistake(place, what, Some(help))
    }

    fn mistake(&self, place: Range<usize>, what: String, help: Option<String>) -> Diagnostics {
        Diagnostics::one(self.diagnostic(Severity::Error, place, what, help))
    }

    fn diagnostic(
        &self,
        severity: Severity,
        span: Range<usize>,
        message: String,
        help: Option<String>,
    ) -> Diagnostic {
        Diagnostic { severity, source: self.source.clone(), span, message, label: None, help }
    }

    fn check_keys(&self, keys: &[Cell]) -> Result<(), Diagnostics> {
        for (at, key) in keys.iter().enumerate() {
            if key.text.is_empty() {
                let what = format!("column {} has no key", at + 1);
                return Err(self.mistake(key.place.clone(), what, None));
            }
            if keys[..at].iter().any(|other| other.text == key.text) {
                let what = format!("two columns have the key `{}`", key.text);
                return Err(self.mistake(key.place.clone(), what, None));
            }
        }
        Ok(())
    }

    fn check_row(&self, row: &[Cell]) -> Result<(), Diagnostics> {
        let (expected, found) = (self.keys.len(), row.len());
        let all = row.first().map_or(0, |cell| cell.place.start)
            ..row.last().map_or(0, |cell| cell.place.end);
        if found != expected {
            let what = format!("this row has {found} values; the first line has {expected} keys");
            let help = "give each key one value; put values with commas between double quotes";
            return Err(self.mistake(all, what, Some(help.to_owned())));
        }
        if let Some((cell, key)) = row.iter().zip(&self.keys).find(|(cell, _)| cell.text.is_empty())
        {
            let what = format!("`{}` has no value", key.text);
            return Err(self.mistake(cell.place.clone(), what, None));
        }
        if self.rows.len() >= MAX_POINTS {
            let what = format!("the design has too many points; the maximum is {MAX_POINTS}");
            return Err(self.mistake(all, what, Some("split it into several files".to_owned())));
        }
        Ok(())
    }

    fn find_repeated(&mut self) {
        let mut seen: BTreeMap<Vec<&str>, usize> = BTreeMap::new();
        let mut found = Vec::new();
        for row in &self.rows {
            let values = row.iter().map(|cell| cell.text.as_str()).collect();
            let place = row[0].place.start..row[row.len() - 1].place.end;
            match seen.get(&values) {
                Some(first) => {
                    let line = self.source.text[..*first].matches('\n').count() + 1;
                    let what = format!("this point is the same as that of line {line}");
                    let help = Some("remove one of them: both give the same results".to_owned());
                    found.push(self.diagnostic(Severity::Warning, place, what, help));
                }
                None => drop(seen.insert(values, place.start)),
            }
        }
        self.warnings = found;
    }
}

type Record = Result<Vec<Cell>, (Range<usize>, String)>;

/// The records of a CSV text, one in each line, after the byte-order mark that spreadsheets write.
fn records(text: &str) -> impl Iterator<Item = Record> {
    let rest = text.trim_start_matches('\u{feff}');
    let mut start = text.len() - rest.len();
    rest.split_inclusive('\n').map(move |line| {
        let begin = start;
        start += line.len();
        cells(line.trim_end_matches(['\n', '\r']), begin)
    })
}

/// The cells of a line that begins at `begin`. Values may stand between double quotes, and `""` is one of them.
fn cells(line: &str, begin: usize) -> Record {
    let mut found = Vec::new();
    let mut at = 0;
    loop {
        let rest = &line[at..];
        let lead = rest.len() - rest.trim_start_matches([' ', '\t']).len();
        let (text, place, length) = if rest[lead..].starts_with('"') {
            quoted(&rest[lead..]).map(|(text, length)| {
                (text, lead + 1..(lead + length).saturating_sub(1), lead + length)
            })
        } else {
            let length = rest.find(',').unwrap_or(rest.len());
            let text = rest[..length].trim();
            Some((text.to_owned(), lead.min(length)..lead.min(length) + text.len(), length))
        }
        .ok_or_else(|| {
            let what = "the quotation mark is not closed in this line".to_owned();
            (begin + at + lead..begin + line.len(), what)
        })?;
        found.push(Cell { text, place: begin + at + place.start..begin + at + place.end });
        let after = rest[length..].trim_start_matches([' ', '\t']);
        at = line.len() - after.len();
        match after.strip_prefix(',') {
            Some(_) => at += 1,
            None if after.is_empty() => return Ok(found),
            None => {
                let what = "a comma is missing after the quotation mark".to_owned();
                return Err((begin + at..begin + line.len(), what));
            }
        }
    }
}

/// A quoted value at the beginning of `text`, and how long it is there.
fn quoted(text: &str) -> Option<(String, usize)> {
    let mut value = String::new();
    let mut rest = &text[1..];
    loop {
        let end = rest.find('"')?;
        value.push_str(&rest[..end]);
        rest = &rest[end + 1..];
        match rest.strip_prefix('"') {
            Some(more) => {
                value.push('"');
                rest = more;
            }
            None => return Some((value, text.len() - rest.len())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(line: &str) -> Vec<(String, String)> {
        let cells = cells(line, 0).unwrap();
        cells.into_iter().map(|cell| (cell.text, line[cell.place].to_owned())).collect()
    }

    #[test]
    fn cells_know_their_places() {
        let same = |text: &str| (text.to_owned(), text.to_owned());
        assert_eq!(texts("a, b ,\"c, d\""), [same("a"), same("b"), same("c, d")]);
        assert_eq!(texts("1,,"), [same("1"), same(""), same("")]);
        let quote = ("say \"x\"".to_owned(), "say \"\"x\"\"".to_owned());
        assert_eq!(texts("\"say \"\"x\"\"\" , 2"), [quote, same("2")]);
    }

    #[test]
    fn mistakes_and_repeated_points_have_their_line_and_column() {
        let parse = |text: &str| Design::parse("d.csv".to_owned(), text.to_owned());
        let at = |found: &Diagnostic| (found.line(), found.column(), found.message.clone());
        let mistake = |text: &str| at(&parse(text).unwrap_err().0[0]);
        let row = "this row has 1 values; the first line has 2 keys".to_owned();
        assert_eq!(mistake("a,b\n1,2\n3\n"), (3, 1, row));
        assert_eq!(mistake("a,b\n1,\n"), (2, 3, "`b` has no value".to_owned()));
        assert_eq!(mistake("a,a\n1,2\n"), (1, 3, "two columns have the key `a`".to_owned()));
        let open = "the quotation mark is not closed in this line".to_owned();
        assert_eq!(mistake("a,b\n1,\"2\n"), (2, 3, open));
        assert_eq!(mistake("a,b\n").2, "the design has no points");
        let found = parse("a,b\n1,2\n\n3,4\n1,2\n").unwrap();
        assert_eq!(found.points().len(), 3);
        let marked = parse("\u{feff}a,b\r\n1,2\r\n").unwrap();
        assert_eq!(marked.keys().collect::<Vec<_>>(), ["a", "b"], "without the byte-order mark");
        let same = "this point is the same as that of line 2".to_owned();
        assert_eq!(at(&found.warnings[0]), (5, 1, same));
    }

    #[test]
    fn a_column_is_called_by_the_last_part_of_its_key_unless_two_are() {
        let names = |keys: &str| {
            let text = format!("{keys}\n1,2\n");
            Design::parse(String::new(), text).unwrap().names()
        };
        assert_eq!(names("parameters.load,links.line.rate"), ["load", "rate"]);
        assert_eq!(names("links.a.rate,links.b.rate"), ["links.a.rate", "links.b.rate"]);
    }
}
