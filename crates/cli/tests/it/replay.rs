//! `replay`: the console of a simulated run, and what it refuses.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::support::{Ended, run, shortflow, simulate};

/// A command that shows a console, and the line in which it says where.
fn console(arguments: &[&str]) -> (Child, String) {
    let mut child =
        shortflow(arguments).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    (child, line)
}

/// Ends it as `kill` does, and gives its exit code.
fn ended(mut child: Child) -> Option<i32> {
    kill(Pid::from_raw(child.id() as i32), Signal::SIGTERM).unwrap();
    child.wait().unwrap().code()
}

fn got(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn results(folder: &Path) -> String {
    let into = folder.join("small");
    assert_eq!(simulate(&into, &["--replicas", "1"]).code, Some(0));
    into.to_str().unwrap().to_owned()
}

#[test]
fn a_simulated_run_is_shown_at_the_address_that_is_printed_until_it_is_ended() {
    let folder = tempfile::tempdir().unwrap();
    let (child, line) = console(&["replay", &results(folder.path()), "--console", "127.0.0.1:0"]);
    let url = line.strip_prefix("Console: http://").unwrap().trim_end();
    let (address, token) = url.split_once("/#token=").unwrap();
    assert!(token.len() == 32 && token.bytes().all(|byte| byte.is_ascii_hexdigit()), "{token}");
    assert!(got(address, "/").contains("<title>Shortflow console</title>"));
    let refused = got(address, "/switch");
    assert!(refused.starts_with("HTTP/1.1 405 "), "{refused}");
    assert_eq!(ended(child), Some(0));
}

#[test]
fn a_token_of_one_s_own_is_not_printed() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("token");
    std::fs::write(&file, "0123456789abcdef\n").unwrap();
    let more = ["--console", "[::1]:0", "--console-token-file", file.to_str().unwrap()];
    let (child, line) = console(&[&["replay", &results(folder.path())], &more[..]].concat());
    assert!(line.starts_with("Console: http://[::1]:") && line.ends_with("/\n"), "{line}");
    assert_eq!(ended(child), Some(0));
}

/// It is refused before anything is shown, with these words.
fn refused(arguments: &[&str], code: i32, wanted: &str) {
    let Ended { code: found, out, err } = run(arguments);
    assert_eq!((found, out.as_str(), err.as_str()), (Some(code), "", wanted), "{arguments:?}");
}

const FREE: &str = "127.0.0.1:0";

#[test]
fn a_folder_that_holds_no_run_is_refused_with_what_to_give() {
    let folder = tempfile::tempdir().unwrap();
    let small = results(folder.path());
    let give = "name a folder that `shortflow simulate` or `shortflow compare` wrote";
    for (path, what) in [
        ("nowhere", "the folder nowhere does not exist"),
        ("README.md", "README.md is a file, not a folder of results"),
        ("policies", "policies is not a folder of results: it has no manifest.toml"),
    ] {
        let wanted = format!("error: {what}\n  {give}\n");
        refused(&["replay", path, "--console", FREE], 2, &wanted);
    }
    for (option, what) in [
        (["--replica", "1"], "replica 1 does not exist: use 0 to 0"),
        (["--point", "3"], "point 3 does not exist: use 0 to 0"),
    ] {
        let arguments = [&["replay", &small, "--console", FREE], &option[..]].concat();
        refused(&arguments, 2, &format!("error: Fair Marker: {what}\n"));
    }
}

#[test]
fn a_console_without_its_address_or_its_token_is_refused_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let small = results(folder.path());
    let taken = TcpListener::bind(FREE).unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    let short = folder.path().join("short");
    std::fs::write(&short, "password\n").unwrap();
    let short = short.to_str().unwrap();
    let make = "create one: head -c 24 /dev/urandom | base64 | tr '+/' '-_' > FILE";
    let wanted = format!(
        "error: cannot serve the console at {taken}: Address already in use\n  \
         give another address and port; port 0 selects a free one\n"
    );
    refused(&["replay", &small, "--console", &taken], 3, &wanted);
    for (file, what) in [
        (
            short,
            format!(
                "invalid token in the first line of {short}: use 16 to 512 letters, digits, `-`, `.` and `_`"
            ),
        ),
        ("none", "cannot read the token in none: it does not exist".to_owned()),
    ] {
        let arguments = ["replay", &small, "--console", FREE, "--console-token-file", file];
        refused(&arguments, 2, &format!("error: {what}\n  {make}\n"));
    }
    let alone = "error: --console-token-file requires --console\n  add --console\n";
    refused(&["rehearse", "scenarios/office.toml", "--console-token-file", short], 2, alone);
    for (option, value, wanted) in [
        ("--speed", "0", "a number from 0.1 to 1000"),
        ("--speed", "nan", "a number from 0.1 to 1000"),
        ("--console", "9856", "invalid socket address"),
        ("--console", "localhost:9856", "invalid socket address"),
        ("--console", "127.0.0.1", "invalid socket address"),
    ] {
        let ended = run(&["replay", &small, option, value]);
        assert_eq!((ended.code, ended.err.contains(wanted)), (Some(2), true), "{}", ended.err);
    }
}

/// Two pages of a log.
const LOG: &str =
    "time_s,client,page,index_bytes,object_bytes\n0.5,0,,3000,\n0.7,1,,3000,1000 2000\n";

const REPLAYED: &str = r#"
name = "log"
duration = "3 s"
replicas = 1
hosts = { c = { count = 2 }, s = {} }
links.line = { between = ["c", "s"], rate = "10 Mbit/s", delay = "10 ms" }
workloads.w.web = { client = "c", server = "s", http = "1.0", request.constant = "500 B", replay.file = "log.csv" }
"#;

#[test]
fn a_folder_whose_scenario_replays_a_log_holds_the_log() {
    let home = tempfile::tempdir().unwrap();
    let path = |name: &str| home.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(path("log.csv"), LOG).unwrap();
    std::fs::write(path("log.toml"), REPLAYED).unwrap();
    let ended = run(&["simulate", &path("log.toml"), "--out", &path("out")]);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    std::fs::remove_file(path("log.csv")).unwrap();
    assert_eq!(std::fs::read_to_string(path("out/input-1-log.csv")).unwrap(), LOG);
    assert_eq!(run(&["report", &path("out")]).code, Some(0));
    let (child, line) = console(&["replay", &path("out"), "--console", "127.0.0.1:0"]);
    assert!(line.starts_with("Console: http://"), "{line}");
    assert_eq!(self::ended(child), Some(0));
    // Another log is not what was run.
    std::fs::write(path("out/input-1-log.csv"), LOG.replace("0.7", "0.8")).unwrap();
    let other = run(&["replay", &path("out"), "--console", "127.0.0.1:0"]);
    assert_eq!(other.code, Some(2));
    assert!(
        other.err.contains("log.csv has changed since it was read for this run"),
        "{}",
        other.err
    );
}
