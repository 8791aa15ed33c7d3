//! Flows of the user's own: sizes and arrivals from a list.

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
}

/// The flows of a direction.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Direction {
    /// Bytes of each, rising.
    pub sizes: Vec<u64>,
    /// How many begin in a second.
    pub per_second: f64,
}

/// A distribution is written down as so many sizes, each as often as the others.
const CLASSES: usize = 20;

/// Fewer flows than this are no distribution.
const FEWEST: usize = 10;

/// Reads `start_s,bytes,direction` lines, the direction being `up` or `down`; the first line names the columns, in any order,
/// and others are ignored.
///
/// # Errors
/// What is wrong, where, and what is allowed.
pub fn read_csv(name: &str, text: &str) -> Result<Flows, String> {
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(text.as_bytes());
    let wrong = |line: u64, what: &str, how: &str| format!("{name}, line {line}: {what}\n{how}");
    const HOW: &str = "the first line names the columns `start_s`, `bytes` and `direction`";
    let head = reader.headers().map_err(|error| wrong(1, &error.to_string(), HOW))?.clone();
    let column = |wanted: &str| {
        let found = head.iter().position(|one| one == wanted);
        found.ok_or_else(|| wrong(1, &format!("there is no column `{wanted}`"), HOW))
    };
    let [start, bytes, direction] = [column("start_s")?, column("bytes")?, column("direction")?];
    let mut found: [Found; 2] = Default::default();
    for record in reader.records() {
        let line = |record: &csv::StringRecord| record.position().map_or(0, csv::Position::line);
        let record = record.map_err(|error| {
            let at = error.position().map_or(0, csv::Position::line);
            wrong(at, &error.to_string(), "every line has as many fields as the first")
        })?;
        let at = line(&record);
        let (time, size) = (&record[start], &record[bytes]);
        let time: f64 =
            time.parse().ok().filter(|time: &f64| time.is_finite() && *time >= 0.0).ok_or_else(
                || {
                    wrong(
                        at,
                        &format!("`{time}` is no time"),
                        "write seconds since any instant, as in `12.5`",
                    )
                },
            )?;
        let size: u64 =
            size.parse().ok().filter(|size| (1..=1 << 40).contains(size)).ok_or_else(|| {
                wrong(at, &format!("`{size}` is no size"), "write bytes, from 1 to 1099511627776")
            })?;
        let way = match &record[direction] {
            "down" => 0,
            "up" => 1,
            other => {
                return Err(wrong(
                    at,
                    &format!("`{other}` is no direction"),
                    "write `up` or `down`",
                ));
            }
        };
        found[way].sizes.push(size);
        found[way].times.push(time);
    }
    Flows::of(name, found)
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
    /// That they are too few.
    pub(crate) fn of(name: &str, found: [Found; 2]) -> Result<Flows, String> {
        let times = || found.iter().flat_map(|found| found.times.iter().copied());
        let span = times().fold(f64::MIN, f64::max) - times().fold(f64::MAX, f64::min);
        let all = times().count();
        if all < FEWEST || span <= 0.0 {
            return Err(format!(
                "{name}: {all} flows are too few to tell how they come and how large they are\n\
                 give {FEWEST} or more that begin at different times"
            ));
        }
        let [down, up] = found.map(|Found { mut sizes, times }| {
            sizes.sort_unstable();
            Direction { sizes, per_second: times.len() as f64 / span }
        });
        Ok(Flows { from: name.to_owned(), down, up })
    }

    /// One in so many of them.
    pub(crate) fn one_part(self, part: u32) -> Flows {
        let one = |of: Direction| Direction { per_second: of.per_second / f64::from(part), ..of };
        Flows { down: one(self.down), up: one(self.up), ..self }
    }

    /// What they are, in a line.
    pub fn about(&self) -> String {
        let one = |what: &str, of: &Direction| {
            let mean = of.sizes.iter().sum::<u64>() as f64 / of.sizes.len().max(1) as f64;
            format!(
                "{} {what}, {:.2} a second, {mean:.0} bytes on average",
                of.sizes.len(),
                of.per_second
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
        let list = |of: &Direction| {
            let last = of.sizes.len() - 1;
            let classes = CLASSES.min(of.sizes.len());
            let at = |class: usize| of.sizes[((2 * class + 1) * last / (2 * classes)).min(last)];
            (0..classes).map(|class| format!("\"{} B\"", at(class))).collect::<Vec<_>>().join(", ")
        };
        let one = |of: &Direction, name: &str, large: &str, small: &str| {
            if of.sizes.is_empty() {
                return String::new();
            }
            format!(
                "\n[workloads.{name}.transfers]\nclient = \"user\"\nserver = \"site\"\nrate = \"{:.4} /s\"\n{small}.constant = \"200 B\"\n\
                 {large}.choice = {{ sizes = [{}] }}\n",
                of.per_second,
                list(of)
            )
        };
        one(&self.down, "own_down", "reply", "request")
            + &one(&self.up, "own_up", "request", "reply")
    }
}
