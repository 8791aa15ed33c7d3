//! The tables of `tests/keys`: for each key a value that changes something.

use shortflow_text::FormatKey;

/// The keys of one table, and the base on which they stand.
#[derive(Debug)]
pub(crate) struct Table {
    /// What the format calls it: `queue.red`.
    pub(crate) scheme: String,
    /// Where it stands in the base: `roles.core.queue.red`; empty for the root of the file.
    pub(crate) at: String,
    /// What the base has besides.
    pub(crate) base: Vec<Setting>,
    pub(crate) rows: Vec<Row>,
}

/// A key and its value, as `--set` takes them.
pub(crate) type Setting = (String, String);

/// A key, and a value that changes something.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) key: String,
    pub(crate) value: String,
    /// What the base has besides for this key. A value `whole …` takes the place of the table.
    pub(crate) with: Vec<Setting>,
}

impl Table {
    /// The tables of a text, where `place` says where a table stands of which the text does not say it.
    pub(crate) fn read_all(text: &str, place: impl Fn(&str) -> String) -> Vec<Table> {
        let mut tables: Vec<Table> = Vec::new();
        for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            if let Some(scheme) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
                let (scheme, at) = (scheme.to_owned(), place(scheme));
                tables.push(Table { scheme, at, base: Vec::new(), rows: Vec::new() });
                continue;
            }
            let table = tables.last_mut().expect("a table begins with its name");
            if let Some(at) = line.strip_prefix('@') {
                table.at = at.trim().to_owned();
            } else if let Some(set) = line.strip_prefix("+ ") {
                table.base.push(table.setting(set));
            } else {
                let (set, with) = split(line, " with ").unwrap_or((line, ""));
                let (key, value) = set.split_once(" = ").expect("key = value");
                let with = all(with).iter().map(|set| table.setting(set)).collect();
                let (key, value) = (key.to_owned(), value.to_owned());
                table.rows.push(Row { key, value, with });
            }
        }
        tables
    }

    fn setting(&self, text: &str) -> Setting {
        let (key, value) = text.split_once(" = ").expect("key = value");
        (self.path(key), value.to_owned())
    }

    /// The path of a key in the base: the first entry of a list stands for all of them.
    pub(crate) fn path(&self, key: &str) -> String {
        let key = key.replace("[]", ".0");
        match (key.strip_prefix('/'), key.as_str(), self.at.as_str()) {
            (Some(absolute), ..) => absolute.to_owned(),
            (None, ".", at) => at.to_owned(),
            (None, key, "") => key.to_owned(),
            (None, key, at) => format!("{at}.{key}"),
        }
    }
}

/// The keys of a format that no table has, and those of tables that no format has.
pub(crate) fn differences(all: &[FormatKey], tables: &[Table]) -> (Vec<String>, Vec<String>) {
    let listed: Vec<(&str, &str)> = tables
        .iter()
        .flat_map(|table| table.rows.iter().map(|row| (table.scheme.as_str(), row.key.as_str())))
        .collect();
    let known = |scheme: &str, key: &str| all.iter().any(|k| k.scheme == scheme && k.key == key);
    let name = |scheme: &str, key: &str| format!("[{scheme}] {key}");
    let missing = all.iter().filter(|key| !listed.contains(&(&key.scheme, &key.key)));
    let unknown = listed.iter().filter(|(scheme, key)| !known(scheme, key));
    (
        missing.map(|key| name(&key.scheme, &key.key)).collect(),
        unknown.map(|(scheme, key)| name(scheme, key)).collect(),
    )
}

/// The parts before and after `at`, where that stands outside of brackets and quotes.
fn split<'t>(text: &'t str, at: &str) -> Option<(&'t str, &'t str)> {
    let (mut depth, mut is_quoted) = (0, false);
    for (index, byte) in text.bytes().enumerate() {
        match byte {
            b'"' => is_quoted = !is_quoted,
            b'[' | b'{' if !is_quoted => depth += 1,
            b']' | b'}' if !is_quoted => depth -= 1,
            _ => {}
        }
        // A key may have brackets, which close at once.
        if depth == 0 && !is_quoted && text[index..].starts_with(at) {
            return Some((&text[..index], &text[index + at.len()..]));
        }
    }
    None
}

/// The parts between commas that stand outside of brackets and quotes.
fn all(text: &str) -> Vec<&str> {
    match split(text, ", ") {
        Some((first, rest)) => std::iter::once(first).chain(all(rest)).collect(),
        None if text.is_empty() => Vec::new(),
        None => vec![text],
    }
}
