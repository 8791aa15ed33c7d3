//! The metrics of an agent, named by the conventions of Prometheus.

mod families;
mod histogram;
mod listener;
mod text;

use chrono::DateTime;
use serde_json::Value;

use text::{Exposition, Labels};

pub(crate) use histogram::Histogram;
pub use listener::Metrics;
pub(crate) use listener::serve;

/// An agent's status as metrics, in the text format of Prometheus.
pub fn exposition(status: &Value) -> String {
    let mut all = Exposition::default();
    whole(&mut all, status);
    for found in list(&status["devices"]) {
        device(&mut all, found);
    }
    all.to_string()
}

fn whole(all: &mut Exposition, status: &Value) {
    let version = env!("CARGO_PKG_VERSION");
    let labels = [("machine", word(&status["machine"])), ("version", version)];
    all.add(&families::AGENT, &labels, 1.0);
    if let Some(number) = status["version"]["number"].as_f64() {
        all.add(&families::VERSION, &[], number);
    }
    if let Some(digest) = status["version"]["digest"].as_str() {
        all.add(
            &families::REPOSITORY,
            &[("fleet", word(&status["fleet"])), ("digest", digest)],
            1.0,
        );
    }
    if let Some(is_named) = status["in_fleet"].as_bool() {
        all.add(&families::IN_FLEET, &[], truth(is_named));
    }
    let taken = status["version"]["at"].as_str();
    if let Some(taken) = taken.and_then(|at| DateTime::parse_from_rfc3339(at).ok()) {
        all.add(&families::TAKEN, &[], taken.timestamp_millis() as f64 / 1000.0);
    }
    let source = &status["source"];
    all.add(&families::READABLE, &[], truth(source["unreadable"].is_null()));
    all.add(&families::REFUSED, &[], truth(!source["refused"].is_null()));
    all.add(&families::NOT_KEPT, &[], truth(!status["not_kept"].is_null()));
    all.add(&families::HELD, &[], truth(!status["held"].is_null() || status["held_any"] == true));
    all.add(&families::WAITING, &[], truth(!status["waiting"].is_null()));
    let is_worse = !status["worse"].is_null() || !status["waiting"]["worse"].is_null();
    all.add(&families::WORSE, &[], truth(is_worse));
    all.add(&families::TRIAL, &[], truth(!status["trial"].is_null()));
}

fn device(all: &mut Exposition, found: &Value) {
    let name = word(&found["device"]);
    let labels = [
        ("device", name),
        ("interface", word(&found["interface"])),
        ("policy", word(&found["policy"])),
    ];
    all.add(&families::DONE, &labels, truth(found["done"] == true));
    let contested = found["changed"]["again_and_again"] == true;
    all.add(&families::CONTESTED, &labels[..1], truth(contested));
    let stands = &found["stands"];
    let device = ("device", name);
    if let Some(bits) = stands["rate_bit_per_s"].as_f64() {
        all.add(&families::RATE, &[device], bits / 8.0);
    }
    if let Some(packets) = stands["left_over"].as_f64() {
        all.add(&families::LEFT_OVER, &[device], packets);
    }
    values(all, &stands["tcp"]["state"], &[device], &families::TCP);
    for waits in list(&found["waits"]) {
        let labels = [device, ("class", word(&waits["class"]))];
        all.add_histogram(&families::WAITS, &labels, &waits["seconds"]);
    }
    for class in list(&stands["classes"]) {
        let labels = [device, ("class", word(&class["class"]))];
        values(all, class, &labels, &families::CLASS);
    }
    for class in list(&stands["edge"]["classes"]) {
        let labels = [device, ("class", word(&class["class"]))];
        values(all, class, &labels, &families::TABLE);
        for (number, bucket) in ["1", "2"].into_iter().zip(list(&class["buckets"])) {
            let labels = [labels[0], labels[1], ("bucket", number)];
            values(all, bucket, &labels, &families::BUCKET);
        }
        for group in list(&class["times"]) {
            let labels = [labels[0], labels[1], ("size", word(&group["size"]))];
            all.add_histogram(&families::TIMES, &labels, &group["seconds"]);
            all.add(
                &families::UNFINISHED,
                &labels,
                group["unfinished"].as_f64().unwrap_or_default(),
            );
        }
        for (key, family) in &families::COLORS {
            for (color, value) in ["green", "yellow", "red"].into_iter().zip(list(&class[*key])) {
                let labels = [labels[0], labels[1], ("color", color)];
                all.add(family, &labels, value.as_f64().unwrap_or_default());
            }
        }
    }
}

/// An object reduced to these keys. A value that may not be read is null, and is omitted.
fn values(all: &mut Exposition, of: &Value, labels: Labels, keys: &'static [families::Keyed]) {
    for (key, family) in keys {
        if let Some(value) = of[*key].as_f64() {
            all.add(family, labels, value);
        }
    }
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn word(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn truth(is_so: bool) -> f64 {
    f64::from(u8::from(is_so))
}
