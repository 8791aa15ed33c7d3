//! The dashboard for Grafana, held against what the agent tells and what Prometheus takes for a query.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;
use shortflow_agent::exposition;

use crate::metrics::{has, promtool, status};

fn dashboard() -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/grafana/shortflow.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// All texts under these keys, wherever they stand.
fn texts(value: &Value, keys: &[&str], found: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                match value {
                    Value::String(text) if keys.contains(&key.as_str()) => found.push(text.clone()),
                    _ => texts(value, keys, found),
                }
            }
        }
        Value::Array(list) => list.iter().for_each(|value| texts(value, keys, found)),
        _ => {}
    }
}

/// Every query, with what Grafana puts in the place of its variables.
fn queries() -> Vec<String> {
    let mut found = Vec::new();
    texts(&dashboard(), &["expr"], &mut found);
    assert!(found.len() > 15, "{found:?}");
    let filled = |text: &String| {
        text.replace("$__rate_interval", "5m").replace("$instance", "a").replace("$device", "b")
    };
    found.iter().map(filled).collect()
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_')
}

#[test]
fn every_metric_that_the_agent_tells_is_on_the_dashboard() {
    let shown = queries().join(" ");
    let parts = ["", "_bucket", "_count"];
    let is_shown = |name: &str| {
        parts.iter().any(|part| words(&shown).any(|word| word == format!("{name}{part}")))
    };
    let reported = exposition(&status());
    let metrics =
        reported.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next());
    // A queue's flows come and go too fast for a picture of scrapes.
    let left_out = ["shortflow_class_queue_flows"];
    let missing: Vec<&str> =
        metrics.filter(|name| !is_shown(name) && !left_out.contains(name)).collect();
    assert_eq!(missing, [""; 0]);
}

#[test]
fn the_dashboard_names_metrics_and_labels_that_the_agent_tells_and_no_others() {
    let reported = exposition(&status());
    let metrics: BTreeSet<&str> = reported
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next())
        .collect();
    let mut all = Vec::new();
    texts(&dashboard(), &["expr", "query", "legendFormat"], &mut all);
    for text in &all {
        for word in words(text).filter(|word| word.starts_with("shortflow")) {
            let parts = ["_bucket", "_count"];
            let word = parts.iter().find_map(|part| word.strip_suffix(part)).unwrap_or(word);
            assert!(metrics.contains(word), "{word} in {text}");
        }
        for label in labels(text) {
            let is_label = label == "instance" || reported.contains(&format!("{label}=\""));
            assert!(is_label, "{label} in {text}");
        }
    }
}

/// The labels that a text names: `instance=~"…"`, `by (instance)`, `on (instance)`, `{{instance}}`.
fn labels(text: &str) -> Vec<&str> {
    let behind = |mark: &'static str, end: &'static str| {
        let lists = text.split(mark).skip(1).filter_map(move |rest| rest.split(end).next());
        lists.flat_map(|list| list.split(", "))
    };
    let matched = text.match_indices("=~").filter_map(|(at, _)| words(&text[..at]).last());
    matched
        .chain(behind("by (", ")"))
        .chain(behind("on (", ")"))
        .chain(behind("{{", "}}"))
        .collect()
}

#[test]
fn labels_are_found_wherever_a_query_names_them() {
    let text = "sum by (a, b) (m{c=~\"x\", d=~\"y\"}) / on (e) n {{f}}";
    assert_eq!(labels(text), ["c", "d", "a", "b", "e", "f"]);
}

#[test]
fn prometheus_takes_every_query_of_the_dashboard() {
    if !has("promtool") {
        return;
    }
    let rule = |(number, query): (usize, String)| {
        format!("  - record: dashboard:query:{number}\n    expr: {}\n", Value::from(query))
    };
    let rules: String = queries().into_iter().enumerate().map(rule).collect();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("rules.yml");
    std::fs::write(&file, format!("groups:\n- name: dashboard\n  rules:\n{rules}")).unwrap();
    promtool(&["check", "rules", file.to_str().unwrap()], "");
}

#[test]
fn no_two_panels_lie_on_each_other() {
    let place =
        |panel: &Value| ["x", "y", "w", "h"].map(|key| panel["gridPos"][key].as_u64().unwrap());
    let dashboard = dashboard();
    let places: Vec<[u64; 4]> = dashboard["panels"].as_array().unwrap().iter().map(place).collect();
    for (index, [x, y, w, h]) in places.iter().enumerate() {
        assert!(x + w <= 24, "panel {index}");
        for [a, b, c, d] in &places[..index] {
            let apart = x + w <= *a || a + c <= *x || y + h <= *b || b + d <= *y;
            assert!(apart, "panel {index}");
        }
    }
}
