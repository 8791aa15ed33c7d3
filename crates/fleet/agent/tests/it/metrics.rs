//! What monitoring is told: held against Prometheus' own tools, and scraped by a real Prometheus.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use shortflow_agent::exposition;

use crate::running::{FLEET, Running};

/// How an agent stands that has one device with an edge and queues, as [`Agent::status`](shortflow_agent::Agent) says it.
pub(crate) fn status() -> Value {
    let class = |name: &str, packets: u64| {
        json!({
            "class": name, "handle": "11:", "queue": "fq_codel", "packets": packets, "bytes": 1500 * packets,
            "dropped": 3, "marked": 2, "waiting": 1, "waiting_bytes": 1500,
            "delay_s": if name == "short" { json!(0.015) } else { Value::Null }, "flows": 7,
        })
    };
    let edge = json!({
        "class": "web \"shop\"", "packets": [10, 20, 30], "bytes": [100, 200, 300], "dropped": [0, 0, 5],
        "hits": 50, "misses": 10, "evictions": 4, "used": 6,
        "times": [
            { "size": "0 to 10 KB", "unfinished": 2, "seconds": { "bounds": [0.01, 0.1], "up_to": [95, 99], "count": 100, "sum": 1.5 } },
            { "size": "over 1 MB", "unfinished": 0, "seconds": { "bounds": [0.01, 0.1], "up_to": [0, 0], "count": 3, "sum": 30.25 } },
        ],
        "buckets": [{ "bytes": 7000, "depth": 10_000 }, { "bytes": 0, "depth": 500 }],
    });
    let blind = json!({
        "class": "calls", "packets": null, "bytes": null, "dropped": null,
        "times": null, "buckets": null, "hits": null, "misses": null, "evictions": null, "used": null,
    });
    json!({
        "machine": "gw1", "fleet": "Office", "in_fleet": true, "held": null, "held_any": false, "waiting": null, "worse": null, "not_kept": null,
        "trial": { "against": 6, "window_s": 300.0 },
        "version": { "number": 7, "digest": "51ac27cbd00c", "at": "2026-11-26T02:10:00.633Z" },
        "source": { "name": "folder /srv/fleet", "unreadable": null, "refused": "a mistake" },
        "devices": [
            {
                "device": "eth0", "interface": "wan", "policy": "Short First", "done": true,
                "waits": [
                    { "class": "short", "seconds": { "bounds": [0.001, 0.01], "up_to": [5, 9], "count": 10, "sum": 0.075 } },
                    { "class": "best effort", "seconds": { "bounds": [0.001, 0.01], "up_to": [0, 0], "count": 10, "sum": 7.5 } },
                ],
                "stands": {
                    "rate_bit_per_s": 95_000_001, "left_over": 0,
                    "classes": [class("short", 1000), class("best effort", 9_007_199_254_740_992)],
                    "edge": { "classes": [edge, blind] },
                },
            },
            { "device": "ppp0", "interface": null, "policy": null, "done": false, "stands": null },
            {
                "device": "eth1,eth2", "interface": "line", "policy": "STF", "done": true,
                "stands": {
                    "direction": "inline", "rate_bit_per_s": 20_000_000,
                    "classes": [{ "class": "eth1->eth2", "packets": 70, "unshaped": 3, "lost": 2 }],
                },
            },
            {
                "device": "(tcp)", "interface": "own", "policy": "Aggregate", "done": true,
                "stands": {
                    "direction": "tcp", "classes": [],
                    "tcp": { "state": {
                        "connections": 2, "held_bytes": -1500, "sent_bytes": 7_036_500, "unasked_bytes": 4500,
                        "withheld": 5176, "unasked_withheld": 9, "forced_bytes": 1500, "bursts": 6021, "waited_s": 12.5,
                    } },
                },
            },
        ],
    })
}

#[test]
fn an_agent_s_status_is_told_in_the_text_format() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/metrics.txt");
    let reported = exposition(&status());
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&golden, &reported).unwrap();
    }
    assert_eq!(reported, std::fs::read_to_string(&golden).unwrap(), "BLESS=1 rewrites it");
}

/// Whether a tool of Prometheus is there; that it is not is told.
pub(crate) fn has(tool: &str) -> bool {
    let is_there = Command::new(tool).arg("--version").output().is_ok();
    if !is_there {
        assert!(std::env::var_os("CI").is_none(), "nothing may be skipped in CI");
        eprintln!("skipped: needs {tool} (Debian: apt-get install prometheus)");
    }
    is_there
}

/// Runs `promtool` over a text; it ends well, and with nothing to find fault with.
pub(crate) fn promtool(arguments: &[&str], text: &str) {
    let mut tool = Command::new("promtool")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    tool.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let ended = tool.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&[ended.stdout, ended.stderr].concat()).into_owned();
    assert!(ended.status.success(), "{said}");
    assert!(!arguments.contains(&"metrics") || said.is_empty(), "{said}");
}

#[test]
fn promtool_finds_no_fault_with_the_metrics() {
    if has("promtool") {
        promtool(&["check", "metrics"], &exposition(&status()));
    }
}

#[test]
fn the_rules_alert_when_they_say_and_not_before() {
    if !has("promtool") {
        return;
    }
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let rules = here.join("../../../docs/prometheus/shortflow.rules.yml").canonicalize().unwrap();
    promtool(&["check", "rules", rules.to_str().unwrap()], "");
    let folder = tempfile::tempdir().unwrap();
    let tests = std::fs::read_to_string(here.join("tests/rules.yml")).unwrap();
    let file = folder.path().join("rules.yml");
    std::fs::write(&file, tests.replace("RULES", rules.to_str().unwrap())).unwrap();
    promtool(&["test", "rules", file.to_str().unwrap()], "");
    // Every metric of the rules is one that the agent tells.
    let (rules, reported) = (std::fs::read_to_string(rules).unwrap(), exposition(&status()));
    for word in rules.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_') {
        if word.starts_with("shortflow_") {
            let parts = ["_bucket", "_count"];
            let word = parts.iter().find_map(|part| word.strip_suffix(part)).unwrap_or(word);
            assert!(reported.contains(&format!("# TYPE {word} ")), "{word}");
        }
    }
}

/// What is answered to a request, to its end.
fn answer(address: SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

#[test]
fn a_running_agent_answers_a_scrape_and_others_do_not_hold_it_up() {
    let agent = Running::start();
    agent.until_version(1);
    // Each of them is waited for 2 s, and nobody else.
    let silent = || TcpStream::connect(agent.metrics).unwrap();
    let _silent: Vec<TcpStream> = std::iter::repeat_with(silent).take(20).collect();
    let began = Instant::now();
    let scraped = answer(agent.metrics, "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    let (head, body) = scraped.split_once("\r\n\r\n").unwrap();
    assert!(
        head.starts_with("HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4"),
        "{head}"
    );
    assert!(head.contains(&format!("\r\nContent-Length: {}\r\n", body.len())), "{head}");
    assert!(
        body.contains(
            "\nshortflow_device_done{device=\"eth0\",interface=\"wan\",policy=\"FQ-CoDel\"} 1\n"
        ),
        "{body}"
    );
    let rebound = answer(agent.metrics, "GET /metrics HTTP/1.1\r\nHost: a.example.org\r\n\r\n");
    assert!(rebound.starts_with("HTTP/1.1 421 ") && !rebound.contains("shortflow_"), "{rebound}");
    let long = format!("GET /{} HTTP/1.1\r\n\r\n", "a".repeat(9000));
    let refused = answer(agent.metrics, &long);
    assert!(refused.starts_with("HTTP/1.1 431 Request Header Fields Too Large\r\n"), "{refused}");
    let flood = format!("GET /{} HTTP/1.1\r\n\r\n", "a".repeat(100_000));
    let mut stream = TcpStream::connect(agent.metrics).unwrap();
    // It may be hung up on in the middle.
    let _ = stream.write_all(flood.as_bytes());
    let scraped = answer(agent.metrics, "GET /metrics HTTP/1.0\r\n\r\n");
    assert!(scraped.starts_with("HTTP/1.1 200 OK\r\n"), "{scraped}");
}

/// A Prometheus of a test's own, which is ended with it.
struct Prometheus {
    child: Child,
    address: SocketAddr,
}

impl Prometheus {
    /// Scrapes `target` every 200 ms, with its data in `folder`.
    fn start(folder: &Path, target: SocketAddr) -> Prometheus {
        let configuration = format!(
            "global: {{ scrape_interval: 200ms, scrape_timeout: 200ms }}\nscrape_configs:\n\
             - job_name: shortflow\n  static_configs: [{{ targets: ['{target}'] }}]\n"
        );
        let file = folder.join("prometheus.yml");
        std::fs::write(&file, configuration).unwrap();
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let child = Command::new("prometheus")
            .arg(format!("--config.file={}", file.display()))
            .arg(format!("--storage.tsdb.path={}", folder.join("data").display()))
            .arg(format!("--web.listen-address={address}"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Prometheus { child, address }
    }

    /// What it has of a query; nothing while it is not up.
    fn ask(&self, query: &str) -> Option<Value> {
        let mut stream = TcpStream::connect(self.address).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(10))).ok()?;
        write!(stream, "GET /api/v1/query?query={query} HTTP/1.0\r\n\r\n").ok()?;
        let mut text = String::new();
        stream.read_to_string(&mut text).ok()?;
        let answer: Value = serde_json::from_str(text.split_once("\r\n\r\n")?.1).ok()?;
        answer["data"]["result"].get(0).cloned()
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Answers every scrape with the same text, for as long as the test runs.
fn telling(text: String) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let head = "HTTP/1.0 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\n\r\n";
            let _ = stream.read(&mut [0; 4096]);
            let _ =
                stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(text.as_bytes()));
        }
    });
    address
}

#[test]
fn a_real_prometheus_finds_within_how_long_95_of_100_connections_end() {
    if !has("prometheus") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let prometheus = Prometheus::start(folder.path(), telling(exposition(&status())));
    let query = "histogram_quantile(0.95,sum%20by(le)(shortflow_edge_flow_seconds_bucket))";
    let until = Instant::now() + Duration::from_secs(60);
    let found = loop {
        if let Some(found) = prometheus.ask(query) {
            break found["value"][1].as_str().unwrap().parse::<f64>().unwrap();
        }
        assert!(Instant::now() < until, "it has scraped nothing");
        std::thread::sleep(Duration::from_millis(100));
    };
    // Of 103 connections 95 took up to 10 ms, and four up to 100: the 97.85th is among these.
    assert!((found - (0.01 + 0.09 * 2.85 / 4.0)).abs() < 1e-9, "{found}");
}

#[test]
fn a_real_prometheus_scrapes_an_agent_and_sees_a_change() {
    if !has("prometheus") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let agent = Running::start();
    agent.until_version(1);
    let prometheus = Prometheus::start(folder.path(), agent.metrics);
    let until = |query: &str, wanted: &str| {
        let until = Instant::now() + Duration::from_secs(60);
        loop {
            let found = prometheus.ask(query);
            if found.as_ref().is_some_and(|found| found["value"][1] == wanted) {
                return found.unwrap()["metric"].clone();
            }
            assert!(Instant::now() < until, "{query}: {found:?}");
            std::thread::sleep(Duration::from_millis(100));
        }
    };
    until("up", "1");
    let labels = until("shortflow_device_done", "1");
    assert_eq!((&labels["device"], &labels["policy"]), (&json!("eth0"), &json!("FQ-CoDel")));
    until("shortflow_repository_version", "1");
    // Half of what is between 0.5 and 1 ms; of the class behind nobody knows how long its packets wait.
    let short = until("histogram_quantile(0.5,shortflow_class_wait_seconds_bucket)", "0.00075");
    assert_eq!((&short["class"], &short["device"]), (&json!("short"), &json!("eth0")));
    until("count(shortflow_class_wait_seconds_count)", "1");
    until("shortflow_class_wait_seconds_sum/shortflow_class_wait_seconds_count<bool(0.00101)", "1");
    agent.write(&FLEET.replace("95", "90"));
    until("shortflow_repository_version", "2");
    agent.write("nonsense");
    until("shortflow_source_refused", "1");
}
