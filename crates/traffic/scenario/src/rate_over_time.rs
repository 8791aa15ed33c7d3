//! Rates of links that change over time: steps in the scenario, or a trace in a file.

use std::fmt;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess, Visitor};
use shortflow_text::Document;
use shortflow_units::{Duration, Rate, RateSchedule, RateScheduleError};

use crate::files::Files;

/// How the rate changes: in both directions alike, or in each as it says.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "RateOverTime")]
pub(crate) struct RateOverTimeFile {
    /// New rates of both directions, in order of time.
    pub(crate) steps: Option<Vec<RateStepFile>>,
    /// A file with the rates of both directions, relative to this file: CSV with the columns `time_s` and `rate_mbps` (or
    /// `rate_kbps`, `rate_bps`), or a trace of mahimahi, in which each line is a millisecond at which 1504 bytes pass.
    pub(crate) trace: Option<String>,
    /// After this time the rates begin again. Default: never; of a trace of mahimahi, when it ends.
    pub(crate) repeat: Option<Duration>,
    /// The rate of the direction from the first end to the second.
    pub(crate) forward: Option<OneRateFile>,
    /// The rate of the other direction.
    pub(crate) back: Option<OneRateFile>,
}

/// How the rate of one direction changes.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "RateOfDirection")]
pub(crate) struct OneRateFile {
    /// New rates, in order of time.
    pub(crate) steps: Option<Vec<RateStepFile>>,
    /// A file with the rates, relative to this file.
    pub(crate) trace: Option<String>,
    /// After this time the rates begin again.
    pub(crate) repeat: Option<Duration>,
}

/// A rate from a time on.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "RateStep")]
pub(crate) struct RateStepFile {
    /// When the rate changes.
    pub(crate) at: Duration,
    /// The rate from then on. While it is zero, packets wait.
    pub(crate) rate: Rate,
}

/// Reads the table of a link. Other forms have words of their own, since they are likely guesses.
pub(crate) fn table<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<RateOverTimeFile>, D::Error> {
    struct Table;
    impl<'de> Visitor<'de> for Table {
        type Value = RateOverTimeFile;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a table: { steps = [...] } or { trace = \"FILE\" }")
        }
        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<RateOverTimeFile, A::Error> {
            RateOverTimeFile::deserialize(de::value::MapAccessDeserializer::new(map))
        }
    }
    deserializer.deserialize_any(Table).map(Some)
}

/// Rates over time, before the first of which a link has its own `rate`.
#[derive(Debug, Clone)]
pub(crate) struct Steps {
    steps: Vec<(Duration, Rate)>,
    repeat: Option<Duration>,
    /// The schedule, where it is the same for all links.
    shared: Option<Arc<RateSchedule>>,
}

impl Steps {
    /// The schedule of a link with this rate.
    pub(crate) fn schedule(&self, rate: Rate) -> Arc<RateSchedule> {
        match &self.shared {
            Some(shared) => Arc::clone(shared),
            None => {
                let steps = [&[(Duration::ZERO, rate)], &self.steps[..]].concat();
                Arc::new(RateSchedule::new(steps, self.repeat).expect("the steps were checked"))
            }
        }
    }
}

/// The rates of both directions, forward first; `None` after a mistake.
pub(crate) fn both_ways(
    document: &mut Document,
    files: &Files<'_>,
    path: &str,
    file: &RateOverTimeFile,
) -> Option<[Option<Steps>; 2]> {
    let RateOverTimeFile { steps, trace, repeat, forward, back } = file;
    let whole = OneRateFile { steps: steps.clone(), trace: trace.clone(), repeat: *repeat };
    let is_whole = whole.steps.is_some() || whole.trace.is_some() || whole.repeat.is_some();
    match (is_whole, forward, back) {
        (true, None, None) => {
            let both = one_way(document, files, path, &whole)?;
            Some([Some(both.clone()), Some(both)])
        }
        (false, None, None) | (true, _, _) => {
            let message = "the rates are those of both directions, or of each: `steps` or `trace`, or else `forward` and `back`";
            let help = "as in `{ steps = [{ at = \"10 s\", rate = \"2 Mbit/s\" }] }` or `{ forward = { trace = \"lte.csv\" } }`";
            document.mistake(path, message, help);
            None
        }
        (false, forward, back) => {
            let mut one = |key: &str, file: &Option<OneRateFile>| match file {
                Some(file) => one_way(document, files, &format!("{path}.{key}"), file).map(Some),
                None => Some(None),
            };
            let (forward, back) = (one("forward", forward), one("back", back));
            Some([forward?, back?])
        }
    }
}

/// The rates of a direction.
fn one_way(
    document: &mut Document,
    files: &Files<'_>,
    path: &str,
    file: &OneRateFile,
) -> Option<Steps> {
    let (key, steps, ends) = match (&file.steps, &file.trace) {
        (Some(steps), None) => {
            ("steps", steps.iter().map(|step| (step.at, step.rate)).collect(), None)
        }
        (None, Some(name)) => {
            let (steps, ends) = traced(document, files, &format!("{path}.trace"), name)?;
            ("trace", steps, ends)
        }
        _ => {
            let help = "`steps` lists rates here, `trace` names a file with them";
            document.mistake(path, "write exactly one of `steps` and `trace`", help);
            return None;
        }
    };
    let steps: Vec<(Duration, Rate)> = steps;
    if steps.is_empty() {
        let help = "write at least one, as in `{ at = \"10 s\", rate = \"2 Mbit/s\" }`";
        document.mistake(&format!("{path}.{key}"), "there is no rate", help);
        return None;
    }
    let repeat = file.repeat.or(ends);
    let is_complete = steps.first().is_some_and(|(at, _)| at.is_zero());
    // Of the link's own rate it only counts that it is above zero.
    let own = (!is_complete).then_some((Duration::ZERO, Rate::from_bits_per_sec(1)));
    let whole: Vec<(Duration, Rate)> = own.into_iter().chain(steps.iter().copied()).collect();
    match RateSchedule::new(whole, repeat) {
        Ok(schedule) => {
            let shared = is_complete.then(|| Arc::new(schedule));
            Some(Steps { steps, repeat, shared })
        }
        // Of steps, the link's own rate is none.
        Err(RateScheduleError::Unordered(at)) => {
            let at = if is_complete { at } else { at - 1 };
            let message = RateScheduleError::Unordered(at).to_string();
            document.mistake(&format!("{path}.{key}.{at}"), message, "");
            None
        }
        Err(error) => {
            document.mistake(&format!("{path}.{key}"), error.to_string(), "");
            None
        }
    }
}

/// The rates of a trace, and when it ends.
type Trace = (Vec<(Duration, Rate)>, Option<Duration>);

fn traced(document: &mut Document, files: &Files<'_>, path: &str, name: &str) -> Option<Trace> {
    if name.is_empty() {
        document.mistake(path, "the name of the trace is empty", "name a file");
        return None;
    }
    let (file, text) = match files.read(name) {
        Ok(found) => found,
        Err(reason) => {
            let message = format!("cannot read the trace {name}: {reason}");
            document.mistake(path, message, "the path is relative to the folder of this file");
            return None;
        }
    };
    parse(&text)
        .map_err(|(line, what)| {
            let help = "a trace is CSV with the columns time_s and rate_mbps (or rate_kbps, rate_bps), or a trace of mahimahi";
            document.mistake(path, format!("{file}, line {line}: {what}"), help);
        })
        .ok()
}

/// Reads a trace. The error has the number of its line.
fn parse(text: &str) -> Result<Trace, (usize, String)> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines = (1..).zip(text.lines().map(str::trim));
    let lines: Vec<(usize, &str)> = lines.filter(|(_, line)| !line.is_empty()).collect();
    match lines.first() {
        None => Err((1, "the file is empty".to_owned())),
        Some((_, first)) if first.parse::<u64>().is_ok() => mahimahi(&lines),
        Some((_, head)) => csv(head, &lines).map(|steps| (steps, None)),
    }
}

/// Bytes that pass at each line of a trace of mahimahi.
const OPPORTUNITY: u64 = 1504;

/// A millisecond in each line, in order: at each 1504 bytes pass. They take the millisecond before.
fn mahimahi(lines: &[(usize, &str)]) -> Result<Trace, (usize, String)> {
    let mut steps: Vec<(Duration, Rate)> = Vec::new();
    let (mut at, mut passed) = (1u64, 0u64);
    // The rate until a millisecond, from the step before on.
    let close = |at: u64, passed: u64, steps: &mut Vec<(Duration, Rate)>| {
        let rate = Rate::from_bits_per_sec(passed * OPPORTUNITY * 8 * 1000);
        if steps.last().is_none_or(|step| step.1 != rate) {
            steps.push((Duration::from_millis(at - 1), rate));
        }
    };
    for (line, text) in lines {
        let Ok(millisecond) = text.parse::<u64>() else {
            let text = brief(text);
            return Err((*line, format!("\"{text}\" is not a whole number of milliseconds")));
        };
        let millisecond = millisecond.max(1);
        if millisecond < at {
            return Err((*line, format!("{text} ms is before the line above")));
        }
        if millisecond > MAX_SECONDS * 1000 {
            return Err((*line, format!("{text} ms is more than {MAX_SECONDS} s")));
        }
        if millisecond > at {
            close(at, passed, &mut steps);
            if millisecond > at + 1 {
                close(at + 1, 0, &mut steps);
            }
            (at, passed) = (millisecond, 0);
        }
        passed += 1;
    }
    close(at, passed, &mut steps);
    Ok((steps, Some(Duration::from_millis(at))))
}

/// A time and a rate in each line after the head.
fn csv(head: &str, lines: &[(usize, &str)]) -> Result<Vec<(Duration, Rate)>, (usize, String)> {
    let of_head = |what: String| (lines[0].0, what);
    let comma = [',', ';', '\t'].into_iter().find(|comma| head.contains(*comma)).unwrap_or(',');
    let split = |line: &str| -> Vec<String> {
        line.split(comma).map(|field| field.trim().trim_matches('"').to_owned()).collect()
    };
    let columns = split(head);
    let places = |name: &str| (0..columns.len()).filter(|at| columns[*at] == name).collect();
    let units = [("rate_bps", 1.0), ("rate_kbps", 1e3), ("rate_mbps", 1e6)];
    let times: Vec<usize> = places("time_s");
    let rates = units.iter().flat_map(|(name, unit)| {
        let found: Vec<usize> = places(name);
        found.into_iter().map(|at| (at, *unit))
    });
    let rates: Vec<(usize, f64)> = rates.collect();
    let ([time], [(rate, unit)]) = (&times[..], &rates[..]) else {
        let what = "the first line names the columns, one of times and one of rates";
        return Err(of_head(format!("{what}; found {}", brief(head))));
    };
    if lines.len() == 1 {
        return Err(of_head("there is no rate after the names of the columns".to_owned()));
    }
    let mut last = None;
    let read = |(line, text): &(usize, &str)| {
        let fields = split(text);
        if fields.len() != columns.len() {
            let (found, named) = (fields.len(), columns.len());
            return Err((*line, format!("{found} fields, where the first line names {named}")));
        }
        let number = |field: &str, what: &str, max: f64| {
            let number = field.parse::<f64>().ok().filter(|found| (0.0..=max).contains(found));
            number.ok_or_else(|| {
                (*line, format!("\"{}\" is not {what} from 0 to {max}", brief(field)))
            })
        };
        let seconds = number(&fields[*time], "a time in seconds", MAX_SECONDS as f64)?;
        if last.is_some_and(|last| seconds <= last) {
            return Err((*line, format!("{seconds} s is not after the line above")));
        }
        last = Some(seconds);
        let bits = number(&fields[*rate], "a rate", MAX_RATE / unit)? * unit;
        Ok((Duration::from_secs_f64(seconds), Rate::from_bits_per_sec(bits.round() as u64)))
    };
    lines[1..].iter().map(read).collect()
}

/// The start of a text that was found, for a message: a file that is no trace is not printed.
fn brief(text: &str) -> String {
    const MOST: usize = 40;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The latest change of a trace: a year.
const MAX_SECONDS: u64 = 31_536_000;
/// The highest rate of a trace in bits per second.
const MAX_RATE: f64 = 1e15;

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(text: &str) -> Vec<(u64, u64)> {
        let (steps, _) = parse(text).unwrap();
        steps.iter().map(|(at, rate)| (at.nanos() / 1_000_000, rate.bits_per_sec())).collect()
    }

    #[test]
    fn a_trace_of_mahimahi_passes_1504_bytes_at_each_of_its_milliseconds_and_begins_again() {
        const ONE: u64 = 12_032_000;
        let found = steps("1\n1\n3\n4\n4\n8\n");
        assert_eq!(
            found,
            [(0, 2 * ONE), (1, 0), (2, ONE), (3, 2 * ONE), (4, 0), (7, ONE)],
            "two packets in the first millisecond, none in the second"
        );
        let (steps, ends) = parse("1\n1\n3\n4\n4\n8\n").unwrap();
        assert_eq!(ends, Some(Duration::from_millis(8)));
        // Six opportunities in 8 ms.
        let schedule = RateSchedule::new(steps, ends).unwrap();
        let mean = schedule.mean(shortflow_units::Instant::START, Duration::from_millis(16));
        assert_eq!(mean.bits_per_sec(), 6 * 1504 * 8 * 1000 / 8);
    }

    #[test]
    fn a_table_of_rates_is_read_in_the_unit_of_its_column() {
        assert_eq!(steps("time_s,rate_mbps\n0,10\n1.5,0.5\n"), [(0, 10_000_000), (1500, 500_000)]);
        assert_eq!(steps("cell, rate_kbps , time_s\nA,250,0\n"), [(0, 250_000)]);
        assert_eq!(steps("\"time_s\";\"rate_bps\"\r\n0;250\r\n"), [(0, 250)]);
    }

    #[test]
    fn what_is_wrong_in_a_trace_is_named_with_its_line() {
        let refused = |text: &str| parse(text).unwrap_err();
        assert_eq!(refused("\n"), (1, "the file is empty".to_owned()));
        assert_eq!(
            refused("1\n\nx\n"),
            (3, "\"x\" is not a whole number of milliseconds".to_owned())
        );
        let long = format!("1\n{}\n", "x".repeat(100));
        assert!(refused(&long).1.len() < 100, "{}", refused(&long).1);
        assert_eq!(refused("4\n3\n"), (2, "3 ms is before the line above".to_owned()));
        assert_eq!(
            refused("seconds,rate\n0,1\n"),
            (
                1,
                "the first line names the columns, one of times and one of rates; found seconds,rate"
                    .to_owned()
            )
        );
        assert!(refused("time_s,rate_mbps,rate_kbps\n0,1,1000\n").1.contains("one of rates"));
        assert_eq!(
            refused("time_s,rate_mbps\n10,2,5\n"),
            (2, "3 fields, where the first line names 2".to_owned())
        );
        assert!(refused("time_s,rate_mbps\n").1.starts_with("there is no rate"));
        assert_eq!(
            refused("time_s,rate_bps\n2,1\n2,3\n"),
            (3, "2 s is not after the line above".to_owned())
        );
        assert_eq!(
            refused("time_s,rate_bps\n0,-1\n"),
            (2, "\"-1\" is not a rate from 0 to 1000000000000000".to_owned())
        );
    }
}
