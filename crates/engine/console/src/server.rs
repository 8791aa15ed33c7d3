//! The HTTP paths of the console.
//!
//! ```text
//! GET  /, /console.css, /console.js, … the page
//! GET  /events                                   what is looked at, snapshots so far, and then as they come (server-sent events)
//! GET  /token                                    whether the token that is shown is right
//! GET  /preview?to=ID                            what would change
//! POST /switch   {"to":"ID"}                     go there
//! POST /pace     {"speed":4} or {"restart":true} how time passes in a replay
//! ```

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::error::Category;
use serde_json::{Value, json};
use shortflow_http::{Answer, Line, Listener, Refusal, Request};

use crate::assets::ASSETS;
use crate::controls::{Change, ControlError, Controls};
use crate::guard::Guard;
use crate::hub::{Hub, Seen};
use crate::unique_keys::object;

/// How often one looks whether to stop.
const POLL_INTERVAL: Duration = Duration::from_millis(200);
/// After this time without news the server sends a comment, to detect a closed connection.
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(5);
/// How fast time may pass in a replay.
const MAX_SPEED: f64 = 1000.0;

/// Headers of every answer: run only content from here, allow no frame in other pages, send no referrer, store
/// nothing. The page writes no markup from texts, which Trusted Types enforce.
const SAFE: &str = "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'\r\n\
    X-Content-Type-Options: nosniff\r\n\
    X-Frame-Options: DENY\r\n\
    Referrer-Policy: no-referrer\r\n\
    Cross-Origin-Resource-Policy: same-origin\r\n\
    Cross-Origin-Opener-Policy: same-origin\r\n\
    Cache-Control: no-store\r\n";

const UNKNOWN: Refusal = Refusal::new("404 Not Found", "not found\nthe page is at /\n");
const GET: Refusal = Refusal {
    status: "405 Method Not Allowed",
    more: "Allow: GET\r\n",
    says: "use the method GET\n",
};
const POST: Refusal = Refusal {
    status: "405 Method Not Allowed",
    more: "Allow: POST\r\n",
    says: "use the method POST\n",
};

/// Serves the page until `stop`.
pub fn serve(
    listener: &Listener,
    guard: &Guard,
    hub: &Hub,
    controls: &dyn Controls,
    stop: &AtomicBool,
) {
    let site = &Site { guard, hub, controls, stop };
    shortflow_http::serve(listener, stop, &|request| site.answer(&request));
}

struct Site<'s> {
    guard: &'s Guard,
    hub: &'s Hub,
    controls: &'s dyn Controls,
    stop: &'s AtomicBool,
}

impl<'s> Site<'s> {
    fn answer(&self, request: &Request) -> Answer<'s> {
        self.routed(request).unwrap_or_else(Answer::from).with(SAFE)
    }

    fn routed(&self, request: &Request) -> Result<Answer<'s>, Refusal> {
        self.guard.admit(request)?;
        let allowed = if matches!(&*request.path, "/switch" | "/pace") { "POST" } else { "GET" };
        let is_allowed = request.method == allowed;
        match &*request.path {
            "/events" | "/token" | "/preview" | "/switch" | "/pace" if !is_allowed => {
                Err(if allowed == "POST" { POST } else { GET })
            }
            "/events" => {
                self.guard.reads(request)?;
                Ok(self.events(self.guard.knows(request)))
            }
            "/token" => {
                self.guard.reads(request)?;
                Ok(json_answer(&json!({ "is_right": self.guard.knows(request) })))
            }
            "/preview" => {
                self.guard.reads(request)?;
                let to = request.query.strip_prefix("to=").and_then(decoded);
                let Some(to) = to else {
                    return Ok(malformed("missing parameter: use /preview?to=ID"));
                };
                let preview = self.controls.preview(&to).map(|preview| json!(preview));
                Ok(preview.map_or_else(|error| failed(&error), |preview| json_answer(&preview)))
            }
            "/switch" | "/pace" => {
                self.guard.changes(request)?;
                let asked = match change(&request.path, &request.body) {
                    Ok(asked) => asked,
                    Err(why) => return Ok(malformed(&why)),
                };
                let done = self.controls.act(asked);
                Ok(done.map_or_else(|error| failed(&error), |()| json_answer(&json!({}))))
            }
            path => {
                let asset = ASSETS.iter().find(|asset| asset.path == path).ok_or(UNKNOWN)?;
                if !is_allowed {
                    return Err(GET);
                }
                Ok(Answer::ok(asset.media_type, asset.text))
            }
        }
    }

    /// Server-sent events (HTML, §9.2), until the page disconnects or the run is over.
    fn events(&self, is_kept: bool) -> Answer<'s> {
        let (hub, stop, may_change) = (self.hub, self.stop, self.guard.may_change());
        let write = move |line: &mut Line<'_>| {
            let _watcher = hub.watch();
            let (mut seen, mut sent_at) = (Seen::default(), Instant::now());
            line.send(&format!("event: guard\ndata: {}\n\n", json!({ "may_change": may_change })))?;
            while !stop.load(Ordering::Relaxed) && !line.is_closed() {
                let news = hub.news(&mut seen, POLL_INTERVAL);
                let mut text = String::new();
                if let Some(about) = news.about {
                    text += &format!("event: about\ndata: {about}\n\n");
                }
                for snapshot in &news.snapshots {
                    text += &format!("event: snapshot\ndata: {snapshot}\n\n");
                }
                if text.is_empty() && sent_at.elapsed() >= KEEPALIVE_INTERVAL {
                    text += ": still here\n\n";
                }
                if !text.is_empty() {
                    line.send(&text)?;
                    sent_at = Instant::now();
                }
            }
            line.send("event: end\ndata: {}\n\n")
        };
        let fields = "Content-Type: text/event-stream; charset=utf-8\r\n".to_owned();
        Answer::Live { is_kept, fields, write: Box::new(write) }
    }
}

/// What a body asks for.
fn change(path: &str, body: &[u8]) -> Result<Change, String> {
    let found = object(body).map_err(|error| match error.classify() {
        Category::Data => error.to_string(),
        _ => format!("invalid JSON: {error}"),
    })?;
    let value = Value::Object(found.unwrap_or_default());
    let keys: Vec<&String> = value.as_object().map(|map| map.keys().collect()).unwrap_or_default();
    match (path, &keys[..]) {
        ("/switch", [key]) if *key == "to" => {
            let to = value["to"].as_str().ok_or_else(|| {
                let found = &value["to"];
                format!("`to` must be the id of a choice as a string; found {found}")
            })?;
            Ok(Change::Switch(to.to_owned()))
        }
        ("/pace", [key]) if *key == "restart" && value["restart"] == true => Ok(Change::Restart),
        ("/pace", [key]) if *key == "speed" => {
            let speed = value["speed"].as_f64().filter(|speed| (0.0..=MAX_SPEED).contains(speed));
            let speed = speed.ok_or_else(|| {
                format!(
                    "`speed` must be a number from 0 (paused) to {MAX_SPEED}; found {}",
                    value["speed"]
                )
            })?;
            Ok(Change::Speed(speed))
        }
        ("/switch", _) => Err("write {\"to\":\"ID\"}".to_owned()),
        _ => Err("write {\"speed\":NUMBER} or {\"restart\":true}".to_owned()),
    }
}

fn json_answer(value: &Value) -> Answer<'static> {
    Answer::ok("application/json", value.to_string())
}

/// The answer to a valid request that cannot be carried out.
fn failed(error: &ControlError) -> Answer<'static> {
    refused("409 Conflict", &error.to_string())
}

/// It is not what is asked here; why.
fn malformed(why: &str) -> Answer<'static> {
    refused("400 Bad Request", why)
}

fn refused(status: &'static str, why: &str) -> Answer<'static> {
    Answer::Whole {
        status,
        fields: "Content-Type: application/json\r\n".to_owned(),
        body: json!({ "error": why }).to_string().into(),
    }
}

/// A value of a query (URL, §5): `+` and `%20` are spaces. `None` if it is not UTF-8.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let hex = |at: usize| char::from(*tail.get(at)?).to_digit(16);
        rest = tail;
        match first {
            b'+' => bytes.push(b' '),
            b'%' => {
                bytes.push((hex(0)? * 16 + hex(1)?) as u8);
                rest = &tail[2..];
            }
            byte => bytes.push(*byte),
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_of_a_query_is_read_as_it_was_meant() {
        let read = |text: &str| decoded(text);
        assert_eq!(read("a%20b+c%2F%c3%A4").as_deref(), Some("a b c/ä"));
        for broken in ["%", "%2", "%zz", "%ff"] {
            assert_eq!(read(broken), None, "{broken}");
        }
    }

    #[test]
    fn what_is_asked_for_is_read_or_refused_with_what_is_allowed() {
        let read = |path: &str, body: &str| change(path, body.as_bytes());
        assert_eq!(read("/switch", "{\"to\":\"2\"}"), Ok(Change::Switch("2".to_owned())));
        assert_eq!(read("/pace", "{\"speed\":0}"), Ok(Change::Speed(0.0)));
        assert_eq!(read("/pace", "{\"restart\":true}"), Ok(Change::Restart));
        for (path, body, wanted) in [
            ("/switch", "", "invalid JSON: EOF while parsing a value at line 1 column 0"),
            ("/switch", "{\"to\":\"1\",\"to\":\"2\"}", "duplicate key `to` at line 1 column 19"),
            ("/switch", "[]", "write {\"to\":\"ID\"}"),
            ("/switch", "{\"to\":1}", "`to` must be the id of a choice as a string; found 1"),
            ("/switch", "{\"to\":\"1\",\"now\":true}", "write {\"to\":\"ID\"}"),
            ("/pace", "{\"restart\":1}", "write {\"speed\":NUMBER} or {\"restart\":true}"),
            (
                "/pace",
                "{\"speed\":-1}",
                "`speed` must be a number from 0 (paused) to 1000; found -1",
            ),
            (
                "/pace",
                "{\"speed\":1e9}",
                "`speed` must be a number from 0 (paused) to 1000; found 1000000000.0",
            ),
        ] {
            assert_eq!(read(path, body).unwrap_err(), wanted);
        }
    }
}
