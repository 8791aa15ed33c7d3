//! Access logs: which client requests which page when, as text.
//!
//! The text is CSV with one line per request of a page, in order of time:
//!
//! ```text
//! time_s,client,page,index_bytes,object_bytes
//! 0.371208443,17,20915,3271,5120 3004 19877
//! 2.5,4,,1000,
//! ```
//!
//! `client` is the number of a session of the workload, from 0. `page` is an optional number for the reader.
//! `index_bytes` is empty if a page has no index. `object_bytes` are the lengths of the page's embedded
//! objects, separated by spaces.

use std::fmt;

use shortflow_units::{Bytes, Duration, Instant};

use crate::{Counts, Page};

/// One client asks for one page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Access {
    /// The time.
    pub at: Instant,
    /// The number of the session.
    pub client: u32,
    /// The page.
    pub page: Page,
}

/// The first line of a log.
pub const ACCESS_COLUMNS: &str = "time_s,client,page,index_bytes,object_bytes";

/// An error in a line of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessError {
    /// The line number, from 1.
    pub line: usize,
    /// The error.
    pub message: String,
}

impl fmt::Display for AccessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

impl fmt::Display for Access {
    /// The access as a line of a log, without the line's end.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = self.at.nanos();
        write!(f, "{}.{:09},{},", nanos / NANOS, nanos % NANOS, self.client)?;
        if let Some(number) = self.page.number {
            write!(f, "{number}")?;
        }
        f.write_str(",")?;
        if let Some(index) = self.page.index {
            write!(f, "{}", index.0)?;
        }
        f.write_str(",")?;
        for (at, object) in self.page.objects.iter().enumerate() {
            write!(f, "{}{}", if at > 0 { " " } else { "" }, object.0)?;
        }
        Ok(())
    }
}

/// Parses a log for `clients` clients.
///
/// # Errors
/// At the first invalid line: wrong columns, an unknown client, a time before that of the line above, or a
/// length of zero.
pub fn parse_accesses(text: &str, clients: u32) -> Result<Vec<Access>, AccessError> {
    // Some editors write a byte order mark at the start of a text.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines = (1..).zip(text.lines().map(|line| line.trim_end_matches('\r')));
    match lines.next() {
        Some((_, ACCESS_COLUMNS)) => {}
        _ => {
            let message = format!("the first line must be {ACCESS_COLUMNS}");
            return Err(AccessError { line: 1, message });
        }
    }
    let mut accesses: Vec<Access> = Vec::new();
    for (line, text) in lines.filter(|(_, text)| !text.is_empty()) {
        let earliest = accesses.last().map_or(Instant::START, |access| access.at);
        let access = parse_line(text, clients, earliest);
        accesses.push(access.map_err(|message| AccessError { line, message })?);
    }
    Ok(accesses)
}

fn parse_line(text: &str, clients: u32, earliest: Instant) -> Result<Access, String> {
    let fields: Vec<&str> = text.split(',').collect();
    let [time, client, page, index, objects] = fields[..] else {
        return Err(format!("a line must have 5 fields; found {}", fields.len()));
    };
    let seconds: f64 = time.parse().map_err(|_| format!("\"{time}\" is not a time in seconds"))?;
    if !(0.0..MAX_SECONDS).contains(&seconds) {
        return Err(format!(
            "a time must be 0 s or more, and below {MAX_SECONDS} s; found {time} s"
        ));
    }
    let at = Instant::START + Duration::from_secs_f64(seconds);
    if at < earliest {
        return Err(format!("{time} s is before the line above"));
    }
    let client: u32 =
        client.parse().map_err(|_| format!("\"{client}\" is not the number of a client"))?;
    if client >= clients {
        return Err(format!(
            "unknown client {client}: the sessions have the numbers 0 to {}",
            clients - 1
        ));
    }
    let number = match page {
        "" => None,
        page => Some(page.parse().map_err(|_| format!("\"{page}\" is not the number of a page"))?),
    };
    let objects = objects.split_ascii_whitespace().map(length).collect::<Result<Vec<_>, _>>()?;
    if objects.len() > Counts::MAX as usize {
        return Err(format!(
            "a page must have 0 to {} objects; found {}",
            Counts::MAX,
            objects.len()
        ));
    }
    let index = if index.is_empty() { None } else { Some(length(index)?) };
    if index.is_none() && objects.is_empty() {
        return Err("a page must have an index or an object".to_owned());
    }
    let page = Page { number, index, objects: objects.into() };
    Ok(Access { at, client, page })
}

fn length(text: &str) -> Result<Bytes, String> {
    let bytes = text.parse().map_err(|_| format!("\"{text}\" is not a length in bytes"))?;
    if (1..=MAX_OBJECT).contains(&bytes) {
        Ok(Bytes(bytes))
    } else {
        Err(format!("a length must be 1 B to {}; found {bytes} B", Bytes(MAX_OBJECT)))
    }
}

const NANOS: u64 = 1_000_000_000;
/// 100 days. Up to there a double resolves nanoseconds.
const MAX_SECONDS: f64 = 8_640_000.0;
const MAX_OBJECT: u64 = 1_000_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn access(nanos: u64, client: u32, number: Option<u32>, objects: &[u64]) -> Access {
        let objects = objects.iter().map(|&size| Bytes(size)).collect();
        let page = Page { number, index: Some(Bytes(3271)), objects };
        Access { at: Instant::from_nanos(nanos), client, page }
    }

    #[test]
    fn a_sequence_reads_back_as_it_was_written_to_the_nanosecond() {
        let mut accesses = [
            access(0, 0, None, &[]),
            access(371_208_443, 17, Some(20_915), &[5120, 3004]),
            access(3_599_999_999_999, 2, Some(0), &[1]),
        ];
        accesses[2].page.index = None;
        let lines: Vec<String> = accesses.iter().map(Access::to_string).collect();
        assert_eq!(lines[1], "0.371208443,17,20915,3271,5120 3004");
        assert_eq!(lines[2], "3599.999999999,2,0,,1");
        let text = format!("{ACCESS_COLUMNS}\n{}\n", lines.join("\n"));
        assert_eq!(parse_accesses(&text, 18).unwrap(), accesses);
        assert_eq!(parse_accesses(&text.replace('\n', "\r\n"), 18).unwrap(), accesses);
        assert_eq!(parse_accesses(&format!("\u{feff}{text}"), 18).unwrap(), accesses);
    }

    #[test]
    fn a_line_that_is_wrong_is_named_with_what_is_wrong() {
        let error = |lines: &str| {
            parse_accesses(&format!("{ACCESS_COLUMNS}\n{lines}"), 3).unwrap_err().to_string()
        };
        assert_eq!(error("1,0,,5"), "line 2: a line must have 5 fields; found 4");
        assert_eq!(error("1,0,,5,\n0.5,0,,5,"), "line 3: 0.5 s is before the line above");
        assert_eq!(
            error("1,3,,5,"),
            "line 2: unknown client 3: the sessions have the numbers 0 to 2"
        );
        assert_eq!(error("soon,0,,5,"), "line 2: \"soon\" is not a time in seconds");
        assert_eq!(
            error("-1,0,,5,"),
            "line 2: a time must be 0 s or more, and below 8640000 s; found -1 s"
        );
        assert_eq!(
            error("1e300,0,,5,"),
            "line 2: a time must be 0 s or more, and below 8640000 s; found 1e300 s"
        );
        assert_eq!(error("1,0,home,5,"), "line 2: \"home\" is not the number of a page");
        assert_eq!(error("1,0,,0,"), "line 2: a length must be 1 B to 1000 GB; found 0 B");
        assert_eq!(error("1,0,,,"), "line 2: a page must have an index or an object");
        assert_eq!(error("1,0,,5,10;20"), "line 2: \"10;20\" is not a length in bytes");
        let headless = parse_accesses("1,0,,5,\n", 3).unwrap_err().to_string();
        assert_eq!(headless, format!("line 1: the first line must be {ACCESS_COLUMNS}"));
    }
}
