//! A browser that is told what to do by the DevTools protocol, over a pipe.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// How long one waits for the browser.
const PATIENCE: Duration = Duration::from_secs(40);

/// A browser with one page.
pub(crate) struct Browser {
    child: Child,
    input: File,
    messages: Receiver<Value>,
    session: Option<String>,
    next: u64,
    /// What went wrong in the page by now.
    pub(crate) errors: Vec<String>,
    _folder: tempfile::TempDir,
}

impl Browser {
    /// A browser without a window; none, and a word on it, where there is no Chromium. On CI there must be one.
    pub(crate) fn start() -> Option<Browser> {
        let folder = tempfile::tempdir().unwrap();
        let pipe = |name: &str| folder.path().join(name);
        let (to, from) = (pipe("to"), pipe("from"));
        let made = Command::new("mkfifo").args([&to, &from]).status();
        let script = "exec chromium --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run \
                      --user-data-dir=\"$3\" --remote-debugging-pipe 3<\"$1\" 4>\"$2\"";
        let has = Command::new("chromium").arg("--version").stdout(Stdio::null()).status();
        if !made.is_ok_and(|status| status.success()) || !has.is_ok_and(|status| status.success()) {
            assert!(std::env::var_os("CI").is_none(), "CI has chromium");
            eprintln!("skipped: needs chromium");
            return None;
        }
        let child = Command::new("sh")
            .args(["-c", script, "sh"])
            .args([&to, &from, &pipe("profile")])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let input = File::options().write(true).open(&to).unwrap();
        let output = BufReader::new(File::open(&from).unwrap());
        let (tell, messages) = channel();
        std::thread::spawn(move || {
            for message in output.split(0).map_while(Result::ok) {
                let value = serde_json::from_slice(&message).expect("the protocol is JSON");
                if tell.send(value).is_err() {
                    break;
                }
            }
        });
        let mut browser = Browser {
            child,
            input,
            messages,
            session: None,
            next: 1,
            errors: Vec::new(),
            _folder: folder,
        };
        browser.attach();
        Some(browser)
    }

    fn attach(&mut self) {
        let target = self.call("Target.createTarget", json!({ "url": "about:blank" }));
        let attached = self.call(
            "Target.attachToTarget",
            json!({ "targetId": target["targetId"], "flatten": true }),
        );
        self.session = attached["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Log", "Accessibility"] {
            self.call(&format!("{domain}.enable"), json!({}));
        }
    }

    /// Has the browser do something, and gives its answer.
    pub(crate) fn call(&mut self, method: &str, params: Value) -> Value {
        let id = self.next;
        self.next += 1;
        let mut message = json!({ "id": id, "method": method, "params": params });
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        self.input.write_all(format!("{message}\0").as_bytes()).unwrap();
        let until = Instant::now() + PATIENCE;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let mut message = self.messages.recv_timeout(left).expect(method);
            if message["id"] == id {
                assert!(message["error"].is_null(), "{method}: {message}");
                return message["result"].take();
            }
            self.hear(&message);
        }
    }

    /// Takes notice of what goes wrong in the page.
    fn hear(&mut self, message: &Value) {
        let params = &message["params"];
        let wrong = match message["method"].as_str() {
            Some("Runtime.exceptionThrown") => Some(&params["exceptionDetails"]),
            Some("Log.entryAdded") if params["entry"]["level"] == "error" => Some(&params["entry"]),
            Some("Runtime.consoleAPICalled") if params["type"] == "error" => Some(&params["args"]),
            _ => None,
        };
        self.errors.extend(wrong.map(Value::to_string));
    }

    /// Opens an address in a window of this width and height.
    pub(crate) fn open(&mut self, url: &str, width: u32, height: u32) {
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500 });
        self.call("Emulation.setDeviceMetricsOverride", size);
        self.call("Page.navigate", json!({ "url": url }));
    }

    /// What an expression comes to in the page.
    pub(crate) fn eval(&mut self, expression: &str) -> Value {
        let params =
            json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let mut result = self.call("Runtime.evaluate", params);
        assert!(result["exceptionDetails"].is_null(), "{expression}: {result}");
        result["result"]["value"].take()
    }

    /// Waits until an expression is true in the page.
    pub(crate) fn until(&mut self, expression: &str) {
        let until = Instant::now() + PATIENCE;
        while self.eval(expression) != true {
            let body = || "document.body.innerText".to_owned();
            if Instant::now() > until {
                panic!("never {expression}: {} {:?}", self.eval(&body()), self.errors);
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Presses a key.
    pub(crate) fn press(&mut self, key: &str) {
        let code = match key {
            "Tab" => 9,
            "Enter" => 13,
            "End" => 35,
            "Home" => 36,
            "ArrowLeft" => 37,
            "ArrowRight" => 39,
            "ArrowDown" => 40,
            " " => 32,
            other => panic!("which key is {other}?"),
        };
        for kind in ["rawKeyDown", "keyUp"] {
            let params = json!({
                "type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code, "nativeVirtualKeyCode": code,
            });
            self.call("Input.dispatchKeyEvent", params);
            if kind == "rawKeyDown" && matches!(key, "Enter" | " ") {
                let text = if key == "Enter" { "\r" } else { " " };
                self.call(
                    "Input.dispatchKeyEvent",
                    json!({ "type": "char", "key": key, "text": text }),
                );
            }
        }
    }

    /// Emulates what somebody has asked their browser for.
    pub(crate) fn prefer(&mut self, features: &[(&str, &str)]) {
        let features: Vec<Value> =
            features.iter().map(|(name, value)| json!({ "name": name, "value": value })).collect();
        self.call("Emulation.setEmulatedMedia", json!({ "features": features }));
    }

    /// Elements that somebody can act on, as a screen reader names them: role and name.
    pub(crate) fn named(&mut self) -> BTreeSet<(String, String)> {
        let tree = self.call("Accessibility.getFullAXTree", json!({}));
        let word = |value: &Value| value["value"].as_str().unwrap_or_default().to_owned();
        let nodes = tree["nodes"].as_array().unwrap().iter().filter(|node| node["ignored"] != true);
        nodes.map(|node| (word(&node["role"]), word(&node["name"]))).collect()
    }

    /// Keeps a picture of the page, where a folder for pictures is named by `CONSOLE_PICTURES`.
    pub(crate) fn picture(&mut self, name: &str) {
        let Some(folder) = std::env::var_os("CONSOLE_PICTURES") else { return };
        // Where there are scroll bars, the picture is as much narrower as they are wide.
        self.call("Emulation.setScrollbarsHidden", json!({ "hidden": true }));
        std::thread::sleep(Duration::from_millis(200));
        let shot = self.call("Page.captureScreenshot", json!({ "captureBeyondViewport": true }));
        self.call("Emulation.setScrollbarsHidden", json!({ "hidden": false }));
        let bytes = base64(shot["data"].as_str().unwrap());
        std::fs::write(Path::new(&folder).join(format!("{name}.png")), bytes).unwrap();
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The bytes of a text in base64 (RFC 4648, §4).
fn base64(text: &str) -> Vec<u8> {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digits = text.bytes().filter_map(|byte| DIGITS.iter().position(|digit| *digit == byte));
    let (mut bits, mut held, mut bytes) = (0_usize, 0, Vec::new());
    for digit in digits {
        (bits, held) = (bits << 6 | digit, held + 6);
        if held >= 8 {
            held -= 8;
            bytes.push((bits >> held) as u8);
            bits &= (1 << held) - 1;
        }
    }
    bytes
}
