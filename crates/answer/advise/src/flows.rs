//! Flows of the user's own: sizes and arrivals from a list.

use crate::error::FlowsError;
use crate::skipped::Reading;
use crate::uses::Figure;

/// What is known of flows of the user's own, by direction.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Flows {
    /// From where they are.
    pub from: String,
    /// Those that come in.
    pub down: Direction,
    /// Those that go out.
    pub up: Direction,
    /// What became of the packets, where they are out of a capture.
    pub reading: Option<Reading>,
}

/// The flows of a direction.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Direction {
    /// Bytes of each, rising.
    pub sizes: Vec<u64>,
    /// How many begin in a second.
    pub per_second: f64,
}

impl Direction {
    /// What they send, in bits per second.
    pub(crate) fn bits_per_second(&self) -> f64 {
        8.0 * self.per_second * self.mean()
    }

    /// Bytes of one, on average.
    fn mean(&self) -> f64 {
        self.sum() / self.sizes.len().max(1) as f64
    }

    fn sum(&self) -> f64 {
        self.sizes.iter().fold(0.0, |sum, size| sum + *size as f64)
    }

    /// Sizes of parts with their numbers: each part has about as many flows and bytes together, and its mean, so that few large
    /// flows that bring most of the bytes keep them.
    fn parts(&self) -> Vec<(u64, usize)> {
        let (count, sum) = (self.sizes.len() as f64, self.sum().max(1.0));
        let mut parts: Vec<(f64, usize)> = vec![(0.0, 0); PARTS as usize];
        let mut before = 0.0;
        for (number, size) in self.sizes.iter().enumerate() {
            let size = *size as f64;
            let place = (number as f64 + 0.5) / count + (before + size / 2.0) / sum;
            let part = &mut parts[((PARTS * place / 2.0) as usize).min(PARTS as usize - 1)];
            *part = (part.0 + size, part.1 + 1);
            before += size;
        }
        let some = parts.into_iter().filter(|(_, count)| *count > 0);
        let mut sizes: Vec<(u64, usize)> = Vec::new();
        for (bytes, count) in some {
            let mean = (bytes / count as f64).round() as u64;
            match sizes.last_mut() {
                Some(last) if last.0 == mean => last.1 += count,
                _ => sizes.push((mean, count)),
            }
        }
        sizes
    }

    /// The sizes as a workload has them.
    fn as_sizes(&self) -> String {
        let parts = self.parts();
        if let [(size, _)] = parts[..] {
            return format!("constant = \"{size} B\"");
        }
        let sizes: Vec<String> = parts.iter().map(|(size, _)| format!("\"{size} B\"")).collect();
        let weights: Vec<String> = parts.iter().map(|(_, count)| count.to_string()).collect();
        format!("choice = {{ sizes = [{}], weights = [{}] }}", sizes.join(", "), weights.join(", "))
    }
}

/// The most parts into which sizes are cut.
const PARTS: f64 = 20.0;

/// Fewer flows than this are no distribution.
const MIN_FLOWS: usize = 10;

/// The largest flow, and how many may come in a second: no scenario has more.
const MAX_FLOW_BYTES: u64 = 1_000_000_000_000;
const MAX_PER_SECOND: f64 = 1e6;

/// Rarer flows than this would not be met in what is simulated.
const MIN_PER_SECOND: f64 = 1e-4;

/// Reads `start_s,bytes,direction` lines, the direction being `up` or `down`; the first line names the columns, in any order,
/// and others are ignored.
///
/// # Errors
/// When a column or a value is invalid, or the flows are too few.
pub fn read_csv(name: &str, text: &str) -> Result<Flows, FlowsError> {
    // Lines of other lengths get a message of ours.
    let mut reader =
        csv::ReaderBuilder::new().trim(csv::Trim::All).flexible(true).from_reader(text.as_bytes());
    let wrong = |line, column, what: &str, how: &str| FlowsError {
        place: format!("{name}:{line}:{column}"),
        what: what.to_owned(),
        help: how.to_owned(),
    };
    let unread = |error: csv::Error| {
        let (line, column) = error.position().map_or((1, 1), |at| place(text, at.byte(), 0));
        wrong(line, column, &error.to_string(), HOW)
    };
    let head = reader.headers().map_err(unread)?.clone();
    let of_head = |at: usize, what: &str, how: &str| {
        let (line, column) = place(text, 0, at);
        wrong(line, column, what, how)
    };
    let column = |wanted: &str| {
        let mut found = head.iter().enumerate().filter(|(_, one)| *one == wanted);
        match (found.next(), found.next()) {
            (Some((at, _)), None) => Ok(at),
            (None, _) => Err(of_head(0, &format!("missing column `{wanted}`"), HOW)),
            (Some(_), Some((at, _))) => {
                let what = format!("duplicate column `{wanted}`");
                Err(of_head(at, &what, "give each column a different name"))
            }
        }
    };
    let columns = [column("start_s")?, column("bytes")?, column("direction")?];
    let mut found: [Found; 2] = Default::default();
    for record in reader.records() {
        let record = record.map_err(unread)?;
        let (time, size, way) = row(&record, head.len(), columns).map_err(|why| {
            let begin = record.position().map_or(0, csv::Position::byte);
            let (line, column) = place(text, begin, why.field);
            wrong(line, column, &why.what, &why.how)
        })?;
        found[way].sizes.push(size);
        found[way].times.push(time);
    }
    Flows::from_found(name, found)
}

const HOW: &str =
    "the first line must name the columns `start_s`, `bytes` and `direction`, separated by commas";

/// What is wrong with a line, at which of its fields, and what is allowed.
struct Wrong {
    field: usize,
    what: String,
    how: String,
}

/// When a flow begins, its bytes, and its direction, down being the first.
fn row(
    record: &csv::StringRecord,
    fields: usize,
    columns: [usize; 3],
) -> Result<(f64, u64, usize), Wrong> {
    let wrong = |field, what: String, how: &str| Wrong { field, what, how: how.to_owned() };
    if record.len() != fields {
        let last = record.len().min(fields + 1) - 1;
        let has = if record.len() == 1 {
            "1 field".to_owned()
        } else {
            format!("{} fields", record.len())
        };
        let what = format!("the line has {has}, but the first line has {fields}");
        return Err(wrong(last, what, "every line must have as many fields as the first line"));
    }
    let [start, bytes, direction] = columns;
    let [time, size, way] = columns.map(|at| &record[at]);
    let found: Option<f64> =
        time.parse().ok().filter(|time: &f64| time.is_finite() && *time >= 0.0);
    let time = found.ok_or_else(|| {
        let how = "write seconds since any instant, such as `12.5`";
        wrong(start, format!("`{time}` is not a valid time"), how)
    })?;
    let found = size.parse().ok().filter(|size| (1..=MAX_FLOW_BYTES).contains(size));
    let size = found.ok_or_else(|| {
        let how = format!("write a number of bytes, 1 to {MAX_FLOW_BYTES}");
        wrong(bytes, format!("`{size}` is not a valid size"), &how)
    })?;
    match way {
        "down" => Ok((time, size, 0)),
        "up" => Ok((time, size, 1)),
        other => {
            let what = format!("`{other}` is not a valid direction");
            Err(wrong(direction, what, "write `up` or `down`"))
        }
    }
}

/// The line and the column, from 1, of a field of the record that begins at a byte of a text, or behind empty lines there.
fn place(text: &str, begin: u64, field: usize) -> (usize, usize) {
    let begin = usize::try_from(begin).unwrap_or(0).min(text.len());
    let is_end = |c: char| ['\n', '\r'].contains(&c);
    let empty = text[begin..].len() - text[begin..].trim_start_matches(is_end).len();
    let (mut at, mut fields, mut in_quotes) = (text.len(), 0, false);
    for (offset, c) in text[begin + empty..].char_indices() {
        if fields == field && c != ' ' {
            at = begin + empty + offset;
            break;
        }
        match c {
            '"' => in_quotes = !in_quotes,
            ',' if !in_quotes => fields += 1,
            _ => {}
        }
    }
    let before = &text[..at];
    let line = before.rsplit('\n').next().unwrap_or_default();
    (1 + before.matches('\n').count(), 1 + line.chars().count())
}

/// Flows of a direction, as they are found.
#[derive(Default)]
pub(crate) struct Found {
    /// Bytes of each.
    pub(crate) sizes: Vec<u64>,
    /// When each began, in seconds since any instant.
    pub(crate) times: Vec<f64>,
}

impl Flows {
    /// Those that were found, of either direction.
    ///
    /// # Errors
    /// That they are too few, or come so often or so rarely that nothing can be made of them.
    pub(crate) fn from_found(name: &str, found: [Found; 2]) -> Result<Flows, FlowsError> {
        let times = || found.iter().flat_map(|found| found.times.iter().copied());
        let span = times().fold(f64::MIN, f64::max) - times().fold(f64::MAX, f64::min);
        let all = times().count();
        let what = match all as f64 / span {
            _ if all < MIN_FLOWS => "are too few to estimate their rate and sizes",
            often if often > MAX_PER_SECOND => {
                "begin at the same time, or at more than 1000000 per second"
            }
            rare if rare < MIN_PER_SECOND => "begin on average more than 10000 s apart",
            _ => "",
        };
        if !what.is_empty() {
            return Err(FlowsError {
                place: name.to_owned(),
                what: format!("{all} flows {what}"),
                help: format!(
                    "give at least {MIN_FLOWS} flows that begin at different times, in seconds"
                ),
            });
        }
        let [down, up] = found.map(|Found { mut sizes, times }| {
            // A capture may have counted more of one.
            sizes.iter_mut().for_each(|size| *size = (*size).min(MAX_FLOW_BYTES));
            sizes.sort_unstable();
            Direction { sizes, per_second: times.len() as f64 / span }
        });
        // What a name has beside printable characters would end the comment that it stands in.
        let from = name.chars().map(|c| if c.is_control() { '?' } else { c }).collect();
        Ok(Flows { from, down, up, reading: None })
    }

    /// One flow in this number.
    pub(crate) fn one_part(self, part: u32) -> Flows {
        let one = |of: Direction| Direction { per_second: of.per_second / f64::from(part), ..of };
        Flows { down: one(self.down), up: one(self.up), ..self }
    }

    /// What they are, in a line.
    pub fn about(&self) -> String {
        let one = |what: &str, of: &Direction| {
            format!(
                "{} {what}, {:.2} per second, {:.0} bytes on average",
                of.sizes.len(),
                of.per_second,
                of.mean()
            )
        };
        format!("{}: {}; {}", self.from, one("down", &self.down), one("up", &self.up))
    }

    /// The goal where there are such flows: those that come in, unless only others do.
    pub(crate) fn goal(&self) -> Option<&'static str> {
        match (self.down.sizes.is_empty(), self.up.sizes.is_empty()) {
            (false, _) => Some("p95:own_down"),
            (true, false) => Some("p95:own_up"),
            (true, true) => None,
        }
    }

    /// By what they are judged.
    pub fn figures(&self) -> Vec<Figure> {
        let of = |direction: &Direction, figures: [Figure; 2]| {
            if direction.sizes.is_empty() { Vec::new() } else { figures.to_vec() }
        };
        let down = [
            ("median:own_down", "own flows coming in, median"),
            ("p95:own_down", "own flows coming in, 95 %"),
        ];
        let up = [
            ("median:own_up", "own flows going out, median"),
            ("p95:own_up", "own flows going out, 95 %"),
        ];
        [of(&self.down, down), of(&self.up, up)].concat()
    }

    pub(crate) fn workloads(&self) -> String {
        let one = |of: &Direction, name: &str, large: &str, small: &str| {
            if of.sizes.is_empty() {
                return String::new();
            }
            format!(
                "\n[workloads.{name}.transfers]\nclient = \"user\"\nserver = \"site\"\nport = 443\nrate = \"{} /s\"\n{small}.constant = \"200 B\"\n\
                 {large}.{}\n",
                rate(of.per_second),
                of.as_sizes()
            )
        };
        one(&self.down, "own_down", "reply", "request")
            + &one(&self.up, "own_up", "request", "reply")
    }
}

/// A rate with enough digits that it does not become zero.
fn rate(per_second: f64) -> String {
    if per_second < 0.01 { per_second.to_string() } else { format!("{per_second:.4}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn direction(sizes: Vec<u64>) -> Direction {
        Direction { sizes, per_second: 1.0 }
    }

    #[test]
    fn few_large_flows_keep_their_bytes() {
        // Two of 302 bring 95 % of all bytes.
        let found = direction([vec![20_000; 300], vec![60_000_000; 2]].concat());
        assert_eq!(found.parts(), [(20_000, 300), (60_000_000, 2)]);
        let text = "choice = { sizes = [\"20000 B\", \"60000000 B\"], weights = [300, 2] }";
        assert_eq!(found.as_sizes(), text);
        assert_eq!(direction(vec![5000; 12]).as_sizes(), "constant = \"5000 B\"");
    }

    #[test]
    fn parts_have_as_many_flows_and_bytes_as_all_and_no_more_sizes_than_parts() {
        // A tail of Pareto's: the largest flow has a third of the bytes.
        let sizes: Vec<u64> = (1..=1000).map(|n| 10_000_000 / (1001 - n)).collect();
        let found = direction(sizes.clone());
        let parts = found.parts();
        assert!(parts.len() <= 20 && parts.is_sorted());
        assert_eq!(parts.iter().map(|(_, count)| count).sum::<usize>(), 1000);
        let bytes: f64 = parts.iter().map(|(size, count)| *size as f64 * *count as f64).sum();
        assert!((bytes / found.sum() - 1.0).abs() < 1e-3);
        let median = parts.iter().scan(0, |sum, part| {
            *sum += part.1;
            Some((*sum, part.0))
        });
        let median = median.into_iter().find(|(sum, _)| *sum >= 500).unwrap().1;
        assert!((0.7..1.5).contains(&(median as f64 / sizes[500] as f64)), "{median}");
    }
}
