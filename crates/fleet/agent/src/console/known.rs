//! The last known state of a machine, and its changes since the previous poll.

use std::collections::BTreeMap;
use std::time::Instant;

use serde_json::Value;
use shortflow_console::{Choice, Flow, Place, Role, Stream};
use shortflow_deploy::BESIDE;

use super::warnings::{of_device, of_source};

/// What is known of a machine.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) name: String,
    pub(super) places: Vec<Place>,
    /// Its warnings, in sentences.
    pub(super) warnings: Vec<String>,
    /// Numbers that only grow, by device and what they count; and when they were so.
    counters: BTreeMap<String, f64>,
    at: Option<Instant>,
    versions: Vec<Version>,
    current: Option<u64>,
    before: Option<u64>,
}

#[derive(Debug)]
struct Version {
    number: u64,
    detail: String,
}

/// The maximum number of flows per place.
const TOP: usize = 8;

impl Known {
    /// A machine with this name, until it reports its own.
    pub(super) fn new(name: String) -> Known {
        Known {
            name,
            places: Vec::new(),
            warnings: Vec::new(),
            counters: BTreeMap::new(),
            at: None,
            versions: Vec::new(),
            current: None,
            before: None,
        }
    }

    /// Whether another version counts than before, so that there may be new ones.
    pub(super) fn is_news(&self, status: &Value) -> bool {
        self.current != status["version"]["number"].as_u64()
    }

    /// Takes how an agent stands, or why it cannot be asked; and its versions, where they were asked for.
    pub(super) fn learn(
        &mut self,
        now: Instant,
        status: Result<Value, String>,
        versions: Option<Value>,
    ) {
        let status = match status {
            Ok(status) => status,
            Err(why) => return self.lose(&why),
        };
        if let Some(name) = status["machine"].as_str() {
            name.clone_into(&mut self.name);
        }
        let current = status["version"]["number"].as_u64();
        if self.current != current {
            (self.before, self.current) = (self.current, current);
        }
        if let Some(versions) = versions {
            self.versions = list(&versions).filter_map(version).collect();
        }
        let of_devices = list(&status["devices"]).filter_map(|device| {
            let name = device["device"].as_str().unwrap_or("?");
            of_device(device).map(|what| format!("{name}: {what}"))
        });
        self.warnings = of_source(&status).into_iter().chain(of_devices).collect();
        let seconds = self.at.map(|at| (now - at).as_secs_f64()).filter(|seconds| *seconds > 0.0);
        let mut next = BTreeMap::new();
        let mut growth = Growth { before: &self.counters, next: &mut next, seconds };
        let reported = list(&status["devices"]);
        let mut places: Vec<Place> =
            reported.map(|device| place(&self.name, &status, device, &mut growth)).collect();
        // Counts that were not published yet are published with the new ones.
        for (stream, pending_counts) in
            places.iter_mut().flat_map(|place| pending_counts(&self.places, place))
        {
            stream.dropped += pending_counts.dropped;
            stream.marked += pending_counts.marked;
        }
        (self.places, self.counters, self.at) = (places, next, Some(now));
    }

    /// Its places. Dropped and marked packets are reported once, however often this is called.
    pub(super) fn tell(&mut self) -> Vec<Place> {
        let reported = self.places.clone();
        for stream in self.places.iter_mut().flat_map(|place| &mut place.streams) {
            (stream.dropped, stream.marked) = (0, 0);
        }
        reported
    }

    /// What was known of it is old; its places say so.
    fn lose(&mut self, why: &str) {
        if self.places.is_empty() {
            let (name, machine) = (self.name.clone(), Some(self.name.clone()));
            self.places = vec![Place { name, machine, ..Place::default() }];
        }
        for place in &mut self.places {
            place.problem = Some(format!("the agent does not answer: {why}"));
            (place.streams, place.flows) = (Vec::new(), Vec::new());
        }
        self.warnings = vec![format!("the agent does not answer: {why}")];
        (self.counters, self.at) = (BTreeMap::new(), None);
    }

    /// The versions that can be gone to, for the machine at `at`.
    pub(super) fn choices(&self, at: usize) -> Vec<Choice> {
        // Where nothing is known of what counted before, one goes back as `agent rollback` does.
        let earlier = self.versions.iter().map(|version| version.number);
        let earlier = earlier.filter(|number| Some(*number) < self.current).max();
        let before = self.before.or(earlier);
        let choice = |version: &Version| Choice {
            id: format!("{at}/{}", version.number),
            name: format!("version {}", version.number),
            detail: version.detail.clone(),
            machine: Some(self.name.clone()),
            is_current: Some(version.number) == self.current,
            is_before: Some(version.number) == before,
        };
        self.versions.iter().map(choice).collect()
    }
}

/// The streams of a place, each with what it was among these places.
fn pending_counts<'p>(
    before: &'p [Place],
    place: &'p mut Place,
) -> impl Iterator<Item = (&'p mut Stream, &'p Stream)> {
    let before = before.iter().find(|it| it.name == place.name).map(|it| &it.streams[..]);
    let before = before.unwrap_or_default();
    place.streams.iter_mut().filter_map(|stream| {
        let same = before.iter().find(|it| it.name == stream.name)?;
        Some((stream, same))
    })
}

fn version(value: &Value) -> Option<Version> {
    let word = |key: &str| value[key].as_str().unwrap_or_default().to_owned();
    let (at, digest) = (word("at"), word("digest"));
    let taken = at.get(..16).unwrap_or(&at).replace('T', " ");
    let detail = format!("{taken}, {}, {}", word("who"), digest.get(..12).unwrap_or(&digest));
    Some(Version { number: value["number"].as_u64()?, detail })
}

/// By how much numbers have grown.
struct Growth<'g> {
    before: &'g BTreeMap<String, f64>,
    next: &'g mut BTreeMap<String, f64>,
    /// Since then, if there is one.
    seconds: Option<f64>,
}

impl Growth<'_> {
    /// The growth of this counter; `None` if it is unknown, new or was reset.
    fn increase(&mut self, key: String, value: &Value) -> Option<f64> {
        let value = value.as_f64()?;
        let before = self.before.get(&key).copied();
        self.next.insert(key, value);
        self.seconds.and(before).map(|before| value - before).filter(|grown| *grown >= 0.0)
    }

    /// The previous value of this counter; `None` if it is new.
    fn before(&mut self, key: String, value: &Value) -> Option<f64> {
        let before = self.before.get(&key).copied();
        self.next.insert(key, value.as_f64()?);
        before
    }

    /// Bits per second, of a number of bytes.
    fn rate(&mut self, key: String, bytes: &Value) -> Option<f64> {
        let grown = self.increase(key, bytes)?;
        self.seconds.map(|seconds| 8.0 * grown / seconds)
    }
}

fn place(machine: &str, status: &Value, device: &Value, growth: &mut Growth<'_>) -> Place {
    let name = device["device"].as_str().unwrap_or("?");
    let stands = &device["stands"];
    let rate = stands["rate_bit_per_s"].as_f64();
    let classes: Vec<&Value> = list(&stands["classes"]).collect();
    let is_of_policy = |class: &&&Value| !BESIDE.iter().any(|name| class["class"] == *name);
    let last = classes.iter().filter(is_of_policy).count().checked_sub(1);
    // The directions of a router are no classes, of which one is served first.
    let last = last.filter(|_| stands["direction"] != "inline");
    let numbered = classes.iter().enumerate();
    let streams = numbered.map(|(at, class)| stream(name, at, last, class, rate, growth)).collect();
    let number = status["version"]["number"].as_u64();
    Place {
        name: format!("{machine} {name}"),
        machine: Some(machine.to_owned()),
        policy: device["policy"].as_str().map(str::to_owned),
        version: number.map(|number| format!("version {number}")),
        problem: of_device(device).or_else(|| of_source(status).into_iter().next()),
        rate_bit_per_s: rate,
        streams,
        flows: flows(name, stands, growth),
    }
}

fn stream(
    device: &str,
    at: usize,
    last: Option<usize>,
    class: &Value,
    rate: Option<f64>,
    growth: &mut Growth<'_>,
) -> Stream {
    let name = class["class"].as_str().unwrap_or("?").to_owned();
    let key = |what: &str| format!("{device}/{name}/{what}");
    let own_rate = growth.rate(key("bytes"), &class["bytes"]);
    let waited = growth.before(key("waiting"), &class["waiting_bytes"]);
    let is_first = last.is_some() && at == 0;
    // What is served first goes at the rate of the line. The rest goes at the rate at which it went, if some waited all the time.
    let left_by = if is_first { rate } else { own_rate.filter(|_| waited > Some(0.0)) };
    let packets = |grown: Option<f64>| grown.unwrap_or_default() as u64;
    Stream {
        // Classes stand in the order in which they are served; the last is the bulk, and the only one.
        role: match last {
            Some(last) if at == last => Role::Bulk,
            Some(_) if at == 0 => Role::Interactive,
            _ => Role::Class,
        },
        delay_s: class["delay_s"].as_f64().or_else(|| wait(&class["waiting_bytes"], left_by)),
        delay_p95_s: None,
        rate_bit_per_s: own_rate,
        dropped: packets(growth.increase(key("dropped"), &class["dropped"])),
        marked: packets(growth.increase(key("marked"), &class["marked"])),
        waiting: class["waiting"].as_u64(),
        name,
    }
}

/// The time to send these bytes at a rate; `None` if the rate is unknown or zero.
fn wait(bytes: &Value, rate: Option<f64>) -> Option<f64> {
    match bytes.as_f64()? {
        0.0 => Some(0.0),
        bytes => rate.filter(|rate| *rate > 0.0).map(|rate| 8.0 * bytes / rate),
    }
}

/// Flows or hosts that the edge distinguishes, the largest sender first.
fn flows(device: &str, stands: &Value, growth: &mut Growth<'_>) -> Vec<Flow> {
    let mut all = Vec::new();
    for class in list(&stands["edge"]["classes"]) {
        let stream = class["class"].as_str().unwrap_or("?");
        for flow in list(&class["top"]) {
            let name = flow["what"].as_str().unwrap_or("?").to_owned();
            let key = format!("{device}/{stream}/flow/{name}");
            let rate_bit_per_s = growth.rate(key, &flow["bytes"]).unwrap_or_default();
            all.push(Flow { name, stream: stream.to_owned(), rate_bit_per_s });
        }
    }
    all.retain(|flow| flow.rate_bit_per_s > 0.0);
    all.sort_by(|a, b| b.rate_bit_per_s.total_cmp(&a.rate_bit_per_s));
    all.truncate(TOP);
    all
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::*;

    fn status(number: u64, bytes: u64, dropped: u64) -> Value {
        let class = |name: &str, bytes: u64| {
            json!({
                "class": name, "bytes": bytes, "dropped": dropped, "marked": 0, "waiting": 4,
                "waiting_bytes": 6000, "delay_s": if name == "calls" { json!(0.003) } else { Value::Null },
            })
        };
        let top = json!([{ "what": "10.0.0.1", "bytes": bytes, "silent_s": 0.0 }]);
        json!({
            "machine": "gw1", "version": { "number": number },
            "source": { "unreadable": null, "refused": null },
            "devices": [{
                "device": "eth0", "policy": "Short First", "done": true,
                "stands": {
                    "rate_bit_per_s": 8_000_000, "classes": [class("calls", 0), class("files", bytes)],
                    "edge": { "classes": [{ "class": "web", "top": top }] },
                },
            }],
        })
    }

    #[test]
    fn rates_are_of_what_has_grown_since_the_last_look_and_nothing_is_made_up_before() {
        let mut known = Known::new("?".to_owned());
        let now = Instant::now();
        known.learn(now, Ok(status(1, 1000, 7)), None);
        assert_eq!(known.places[0].streams[1].rate_bit_per_s, None);
        known.learn(now + Duration::from_secs(2), Ok(status(1, 501_000, 9)), None);
        let place = &known.places[0];
        let files = &place.streams[1];
        assert_eq!((place.name.as_str(), place.problem.as_ref()), ("gw1 eth0", None));
        assert_eq!((files.rate_bit_per_s, files.dropped, files.role), (Some(2e6), 2, Role::Bulk));
        // 6000 bytes at 2 Mbit/s are 24 ms; a queue that says itself how long one waits is believed.
        assert_eq!((files.delay_s, place.streams[0].delay_s), (Some(0.024), Some(0.003)));
        assert_eq!((&*place.flows[0].name, place.flows[0].rate_bit_per_s), ("10.0.0.1", 2e6));
        // A queue that was made anew counts from zero.
        known.tell();
        known.learn(now + Duration::from_secs(3), Ok(status(1, 100, 0)), None);
        let files = &known.places[0].streams[1];
        assert_eq!((files.rate_bit_per_s, files.dropped), (None, 0));
    }

    #[test]
    fn a_packet_that_was_dropped_is_told_once_however_often_one_looks_and_tells() {
        let mut known = Known::new("?".to_owned());
        let now = Instant::now();
        let second = |at: u64| now + Duration::from_secs(at);
        known.learn(now, Ok(status(1, 0, 7)), None);
        let reported = |known: &mut Known| known.tell()[0].streams[1].dropped;
        known.learn(second(1), Ok(status(1, 0, 9)), None);
        known.learn(second(2), Ok(status(1, 0, 12)), None);
        assert_eq!(reported(&mut known), 5, "of two looks");
        assert_eq!(reported(&mut known), 0, "nobody has looked since");
        known.learn(second(3), Ok(status(1, 0, 13)), None);
        assert_eq!(reported(&mut known), 1);
    }

    #[test]
    fn how_long_packets_wait_behind_others_is_told_where_some_left_while_some_waited_and_else_not_known()
     {
        let mut known = Known::new("?".to_owned());
        let mut now = Instant::now();
        let mut delays = |classes: [(&str, u64, u64); 3]| -> Vec<Option<f64>> {
            let class = |(name, bytes, waiting): (&str, u64, u64)| json!({ "class": name, "bytes": bytes, "waiting_bytes": waiting, "delay_s": null });
            let mut found = status(1, 0, 0);
            found["devices"][0]["stands"]["classes"] = classes.map(class).into();
            now += Duration::from_secs(1);
            known.learn(now, Ok(found), None);
            known.places[0].streams.iter().map(|stream| stream.delay_s).collect()
        };
        let other = BESIDE[1];
        // At 8 Mbit/s; nothing is known yet of how fast the others leave.
        let first = delays([("calls", 0, 1000), ("files", 0, 0), (other, 0, 136_000)]);
        assert_eq!(first, [Some(0.001), Some(0.0), None]);
        // Some came since, and some have waited all the time of which none has left.
        let second = delays([("calls", 0, 2000), ("files", 9_000, 1000), (other, 0, 136_000)]);
        assert_eq!(second, [Some(0.002), None, None]);
        let third = delays([("calls", 0, 0), ("files", 19_000, 5000), (other, 1000, 135_000)]);
        assert_eq!(third, [Some(0.0), Some(0.5), Some(135.0)]);
    }

    #[test]
    fn the_bulk_is_the_last_class_of_the_policy_whatever_stands_behind_it() {
        let roles = |names: &[&str]| -> Vec<Role> {
            let mut found = status(1, 0, 0);
            let class = |name: &&str| json!({ "class": name, "bytes": 0 });
            found["devices"][0]["stands"]["classes"] = names.iter().map(class).collect();
            let mut known = Known::new("?".to_owned());
            known.learn(Instant::now(), Ok(found), None);
            known.places[0].streams.iter().map(|stream| stream.role).collect()
        };
        use Role::{Bulk, Class, Interactive};
        let [neighbours, other] = BESIDE;
        assert_eq!(
            roles(&["calls", "web", "the rest", neighbours, other]),
            [Interactive, Class, Bulk, Class, Class]
        );
        assert_eq!(roles(&["everything", neighbours, other]), [Bulk, Class, Class]);
        assert_eq!(roles(&[neighbours, other]), [Class, Class]);
    }

    #[test]
    fn the_version_before_is_the_way_back_whichever_way_one_went() {
        let mut known = Known::new("?".to_owned());
        let versions = || {
            Some(json!([
                { "number": 2, "at": "2026-11-26T02:10:00Z", "who": "alice", "digest": "51ac27cbd00c99" },
                { "number": 1, "at": "", "who": "bob", "digest": "" },
            ]))
        };
        let now = Instant::now();
        assert!(known.is_news(&status(2, 0, 0)));
        known.learn(now, Ok(status(2, 0, 0)), versions());
        let flags = |known: &Known| -> Vec<(String, bool, bool)> {
            let choices = known.choices(0).into_iter();
            choices.map(|choice| (choice.id, choice.is_current, choice.is_before)).collect()
        };
        // Nobody has seen what counted before; `agent rollback` goes to the version before.
        assert_eq!(flags(&known), [("0/2".into(), true, false), ("0/1".into(), false, true)]);
        assert_eq!(known.choices(0)[0].detail, "2026-11-26 02:10, alice, 51ac27cbd00c");
        known.learn(now, Ok(status(1, 0, 0)), versions());
        assert_eq!(flags(&known), [("0/2".into(), false, true), ("0/1".into(), true, false)]);
    }

    #[test]
    fn a_machine_that_cannot_be_asked_says_so_and_shows_no_old_figures() {
        let mut known = Known::new("/run/gw2.sock".to_owned());
        known.learn(Instant::now(), Err("nobody".to_owned()), None);
        let place = &known.places[0];
        assert_eq!(place.name, "/run/gw2.sock");
        assert_eq!(place.problem.as_deref(), Some("the agent does not answer: nobody"));
        assert_eq!(known.warnings, ["the agent does not answer: nobody"]);
        known.learn(Instant::now(), Ok(status(1, 0, 0)), None);
        known.learn(Instant::now(), Err("gone".to_owned()), None);
        assert_eq!((&*known.places[0].name, known.places[0].streams.len()), ("gw1 eth0", 0));
    }
}
