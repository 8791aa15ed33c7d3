//! Tables of comma-separated values (RFC 4180), with the place of each field. Spreadsheets of some countries separate them by
//! semicolons, and some programs by tabs.

use std::ops::Range;
use std::sync::Arc;

use shortflow_text::{Source, Spot};

use crate::findings::spot;

/// A field: its text without quotes and spaces around it, and its place.
#[derive(Debug, Clone)]
pub(crate) struct Field {
    pub(crate) text: String,
    pub(crate) span: Range<usize>,
}

/// A table: the first row that is not empty and no comment names the columns.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) source: Arc<Source>,
    pub(crate) columns: Vec<Field>,
    pub(crate) rows: Vec<Vec<Field>>,
}

impl Table {
    /// Parses a table. Lines that begin with `#` are comments; the first other line shows what separates fields.
    pub(crate) fn parse(source: Arc<Source>) -> Table {
        let mut rows = Vec::new();
        let mut at = source.text.strip_prefix('\u{feff}').map_or(0, |_| '\u{feff}'.len_utf8());
        let separator = separator(&source.text[at..]);
        while at < source.text.len() {
            let (row, next) = row(&source.text, at, separator);
            let is_comment = source.text[at..].starts_with('#');
            if !is_comment && row.iter().any(|field| !field.text.is_empty()) {
                rows.push(row);
            }
            at = next;
        }
        let mut rows = rows.into_iter();
        let columns = rows.next().unwrap_or_default();
        Table { source, columns, rows: rows.collect() }
    }

    pub(crate) fn spot(&self, field: &Field) -> Spot {
        spot(&self.source, field.span.clone())
    }

    /// The place of a row.
    pub(crate) fn row_spot(&self, row: &[Field]) -> Spot {
        let start = row.first().map_or(0, |field| field.span.start);
        let end = row.last().map_or(start, |field| field.span.end);
        spot(&self.source, start..end.max(start + 1).min(self.source.text.len().max(start)))
    }

    /// The index of the column of this name, whatever its case.
    pub(crate) fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.text.eq_ignore_ascii_case(name))
    }
}

/// What separates fields: a comma, or what the names of columns have instead.
fn separator(text: &str) -> u8 {
    let is_header = |line: &&str| !line.trim().is_empty() && !line.starts_with('#');
    let header = text.lines().find(is_header).unwrap_or_default();
    // What is between quotation marks is no separator.
    let outside: String = header.split('"').step_by(2).collect();
    let found = [b',', b';', b'\t'].into_iter().find(|one| outside.contains(char::from(*one)));
    found.unwrap_or(b',')
}

/// The fields of the row that begins here, and where the next one does.
fn row(text: &str, start: usize, separator: u8) -> (Vec<Field>, usize) {
    let mut fields = Vec::new();
    let mut at = start;
    loop {
        let (field, end) = field(text, at, separator);
        fields.push(field);
        match text.as_bytes().get(end) {
            Some(found) if *found == separator => at = end + 1,
            Some(_) => return (fields, end + 1),
            None => return (fields, end),
        }
    }
}

/// The field that begins here, and where it ends: at a separator, the end of a line or of the text.
fn field(text: &str, start: usize, separator: u8) -> (Field, usize) {
    let bytes = text.as_bytes();
    let is_end = |at: usize| at >= bytes.len() || bytes[at] == separator || bytes[at] == b'\n';
    let mut at = start;
    while !is_end(at) && matches!(bytes[at], b' ' | b'\t') {
        at += 1;
    }
    if bytes.get(at) != Some(&b'"') {
        let end = (at..).find(|at| is_end(*at)).unwrap_or(bytes.len());
        let plain = text[at..end].trim_end();
        return (Field { text: plain.to_owned(), span: at..at + plain.len() }, end);
    }
    let first = at;
    let mut inner = String::new();
    at += 1;
    while at < bytes.len() {
        let rest = &text[at..];
        if rest.starts_with("\"\"") {
            inner.push('"');
            at += 2;
        } else if rest.starts_with('"') {
            at += 1;
            break;
        } else {
            let next = rest.chars().next().expect("it is not at its end");
            inner.push(next);
            at += next.len_utf8();
        }
    }
    let end = (at..).find(|at| is_end(*at)).unwrap_or(bytes.len());
    (Field { text: inner.trim().to_owned(), span: first..at }, end)
}

/// A field as it is written in a table.
pub(crate) fn quoted(text: &str) -> String {
    match text.contains([',', '"', '\n', '\r', '#']) || text.trim() != text {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Table {
        Table::parse(Arc::new(Source { name: "a.csv".to_owned(), text: text.to_owned() }))
    }

    fn texts(row: &[Field]) -> Vec<&str> {
        row.iter().map(|field| field.text.as_str()).collect()
    }

    #[test]
    fn quotes_line_ends_comments_and_empty_lines_are_read_as_spreadsheets_write_them() {
        let table = parse(
            "# a comment\r\n\r\nname, b\r\n\"Smith, \"\"J\"\"\",7 \r\n,\r\nlast,\"two\nlines\"",
        );
        assert_eq!(texts(&table.columns), ["name", "b"]);
        assert_eq!(table.rows.len(), 2);
        assert_eq!(texts(&table.rows[0]), ["Smith, \"J\"", "7"]);
        assert_eq!(texts(&table.rows[1]), ["last", "two\nlines"]);
    }

    #[test]
    fn semicolons_and_tabs_separate_fields_where_the_names_of_columns_have_them() {
        for (separator, other) in [(";", ","), ("\t", ","), (",", ";")] {
            let text = format!("name{separator}\"b\"\n1{other}2{separator}\t3\n");
            let table = parse(&text);
            assert_eq!(texts(&table.columns), ["name", "b"], "{separator:?}");
            let first = format!("1{other}2");
            assert_eq!(table.rows[0][0].text, first, "{separator:?}");
        }
        assert_eq!(texts(&parse("\"a,b\";c\n").columns), ["a,b", "c"]);
    }

    #[test]
    fn the_place_of_a_field_is_its_text() {
        let table = parse("a,b\n1, \"x,y\" \n");
        let place = |field: &Field| &table.source.text[field.span.clone()];
        assert_eq!(place(&table.rows[0][1]), "\"x,y\"");
        assert_eq!(place(&table.rows[0][0]), "1");
    }

    #[test]
    fn what_is_written_is_read_again() {
        for text in ["plain", "a,b", "say \"x\"", " spaces ", "two\nlines", "#1"] {
            let row = format!("{},1", quoted(text));
            assert_eq!(parse(&format!("a,b\n{row}\n")).rows[0][0].text, text.trim());
        }
    }
}
