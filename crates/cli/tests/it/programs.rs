//! `shortflow rehearse --with`: programs of the user's own inside hosts.

#![cfg(target_os = "linux")]

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::{Ended, command, files, rehearsed, run, shortflow};

/// A client and a server over a line, and a page now and then. Every kernel lets namespaces choose Reno.
const LINE: &str = r#"
    duration = "1 s"
    tcp.congestion = "reno"
    hosts = { client = {}, server = {} }
    routers = { r = {} }
    measure.ports = ["r->client"]
    [links]
    line = { between = ["client", "r"], rate = "10 Mbit/s", delay = "5 ms" }
    access = { between = ["r", "server"], rate = "100 Mbit/s", delay = "1 ms" }
    [workloads]
    page.transfers = { client = "client", server = "server", rate = "5 /s", request = { constant = "300 B" }, reply = { constant = "10 KB" } }
"#;

/// A folder with the scenario, in which results go too.
struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Home {
        let home = Home(tempfile::tempdir().unwrap());
        std::fs::write(home.scenario(), LINE).unwrap();
        home
    }

    fn scenario(&self) -> String {
        self.0.path().join("line.toml").to_str().unwrap().to_owned()
    }

    fn arguments(&self, more: &[&str]) -> Vec<String> {
        let scenario = self.scenario();
        ["rehearse", &scenario].iter().chain(more).map(|&argument| argument.to_owned()).collect()
    }

    /// How a rehearsal ends, if there can be one.
    fn rehearse(&self, more: &[&str]) -> Option<Ended> {
        let arguments = self.arguments(more);
        rehearsed(&arguments.iter().map(String::as_str).collect::<Vec<_>>())
    }
}

/// Python programs that need nothing else on the machine.
const SERVE: &str = "exec python3 -c 'import signal, socket
signal.signal(signal.SIGINT, signal.SIG_DFL)
s = socket.create_server((\"\", 7777), family=socket.AF_INET6, dualstack_ipv6=True)
while True: s.accept()[0].sendall(b\"hello\")'";
const FETCH: &str = "python3 -c 'import socket
for family in (socket.AF_INET, socket.AF_INET6):
    s = socket.socket(family)
    s.connect(socket.getaddrinfo(\"server\", 7777, family)[0][4])
    print(\"heard\", s.recv(5).decode(), \"at\", s.getpeername()[0])'";

#[test]
fn programs_talk_to_each_other_by_name_and_a_server_ends_with_the_client() {
    let home = Home::new();
    let more = ["--with", "server", SERVE, "--with", "client", FETCH, "--until-done"];
    let Some(ended) = home.rehearse(&more) else { return };
    assert_eq!((ended.code, ended.out.as_str()), (Some(0), ""), "{}", ended.err);
    let mut heard: Vec<&str> = ended.err.lines().collect();
    heard.sort_unstable();
    let expected = ["client | heard hello at 10.0.0.2", "client | heard hello at fd00::a00:2"];
    assert_eq!(heard, expected);
}

#[test]
fn programs_are_told_what_the_kernel_does_otherwise_before_they_begin() {
    let home = Home::new();
    let more = ["--set", "tcp.syn_retries=0", "--with", "client", "echo up", "--until-done"];
    let Some(ended) = home.rehearse(&more) else { return };
    let lines: Vec<&str> = ended.err.lines().collect();
    assert!(lines[0].starts_with("note: ") && lines[0].contains("syn_retries"), "{lines:?}");
    assert_eq!(lines[1..], ["up"]);
}

#[test]
fn programs_are_told_where_they_have_another_congestion_control_than_workloads() {
    let home = Home::new();
    let allowed = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_allowed_congestion_control");
    let may_choose =
        allowed.is_ok_and(|names| names.split_whitespace().any(|name| name == "cubic"));
    let more = ["--set", "tcp.congestion=cubic", "--with", "client", "echo up", "--until-done"];
    let Some(ended) = home.rehearse(&more) else { return };
    let message = ended.err.contains("note: Programs use this machine's congestion control");
    assert_eq!(message, !may_choose, "{}", ended.err);
    assert!(ended.err.ends_with("up\n"), "told before they begin: {}", ended.err);
}

#[test]
fn programs_alone_need_no_workload_and_what_is_measured_does() {
    let home = Home::new();
    std::fs::write(home.scenario(), LINE.split("    [workloads]").next().unwrap()).unwrap();
    let more = ["--with", "server", SERVE, "--with", "client", FETCH, "--until-done"];
    let Some(ended) = home.rehearse(&more) else { return };
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    assert!(ended.err.contains("heard hello"), "{}", ended.err);
    let arguments = home.arguments(&["--replicas", "1"]);
    let ended = run(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(ended.code, Some(2));
    assert!(ended.err.contains("the scenario has no workload"), "{}", ended.err);
}

#[test]
fn what_was_measured_is_kept_though_the_reader_of_its_trace_has_left() {
    let home = Home::new();
    let (pipe, out) = (home.0.path().join("pipe"), home.0.path().join("out"));
    assert!(command("mkfifo").arg(&pipe).status().unwrap().success());
    let [pipe, place] = [&pipe, &out].map(|path| path.to_str().unwrap());
    let reader = command("head").args(["-c", "100", pipe]).stdout(Stdio::null()).spawn();
    let mut reader = reader.unwrap();
    let more = ["--replicas", "1", "--out", place, "--trace", pipe, "--trace-at", "server"];
    let ended = home.rehearse(&more);
    reader.kill().unwrap();
    reader.wait().unwrap();
    let Some(ended) = ended else { return };
    assert_eq!(ended.code, Some(3), "{}", ended.err);
    assert!(ended.err.contains("the measurements are kept"), "{}", ended.err);
    assert!(ended.err.contains("Broken pipe"), "{}", ended.err);
    assert!(files(&out).contains(&"report.html".to_owned()));
}

#[test]
fn in_user_and_network_namespaces_of_one_s_own_nobody_needs_to_be_root() {
    let home = Home::new();
    let Some(_) = home.rehearse(&["--until-done", "--with", "client", "true"]) else { return };
    let unshared = |flags: &str| -> Ended {
        let mut inside = command("unshare");
        inside.args([flags, env!("CARGO_BIN_EXE_shortflow")]);
        inside.args(home.arguments(&["--until-done", "--with", "client", "hostname"]));
        inside.output().unwrap().into()
    };
    let ended = unshared("-Urn");
    if ended.err.starts_with("unshare: ") {
        return eprintln!("skipped: needs user namespaces: {}", ended.err);
    }
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), "client\n"));
    let ended = unshared("-Ur");
    assert_eq!(ended.code, Some(3), "{}", ended.err);
    assert!(ended.err.contains("create it together with the user namespace"), "{}", ended.err);
}

#[test]
fn beside_a_program_the_scenario_is_measured_and_standard_output_is_the_result_s() {
    let home = Home::new();
    let out = home.0.path().join("out");
    let place = out.to_str().unwrap();
    let more = ["--replicas", "1", "--json", "--out", place, "--with", "client", "hostname"];
    let Some(ended) = home.rehearse(&more) else { return };
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), "client\n"));
    let found: serde_json::Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!(found["interrupted"], false);
    assert!(files(&out).contains(&"report.html".to_owned()));
}

#[test]
fn machines_are_told_how_each_program_has_ended() {
    let home = Home::new();
    let out = home.0.path().join("out");
    let place = out.to_str().unwrap();
    let mut more = vec!["--replicas", "1", "--json", "--out", place];
    more.extend(["--with", "client", "exit 3", "--with", "server", "exec sleep 100"]);
    let Some(ended) = home.rehearse(&more) else { return };
    assert_eq!(ended.code, Some(1), "{}", ended.err);
    let found: serde_json::Value = serde_json::from_str(&ended.out).unwrap();
    let expected = serde_json::json!([
        { "host": "client", "command": "exit 3", "exit_code": 3, "signal": null, "ended": "by itself" },
        { "host": "server", "command": "exec sleep 100", "exit_code": null, "signal": 2, "ended": "with the rehearsal" },
    ]);
    assert_eq!(found["programs"], expected);
}

#[test]
fn a_program_that_fails_is_told_with_its_exit_code() {
    let home = Home::new();
    let more =
        ["--until-done", "--with", "client", "no-such-program", "--with", "server", "exit 7"];
    let Some(ended) = home.rehearse(&more) else { return };
    assert_eq!(ended.code, Some(1), "{}", ended.err);
    for message in [
        "client | ",
        "error: the program on client ended with exit code 127: command not found: no-such-program",
        "error: the program on server ended with exit code 7: exit 7",
    ] {
        assert!(ended.err.contains(message), "{message}: {}", ended.err);
    }
}

#[test]
fn a_program_of_several_lines_is_told_by_its_first() {
    let home = Home::new();
    let Some(ended) = home.rehearse(&["--until-done", "--with", "client", "\ntrue\nexit 4\n"])
    else {
        return;
    };
    let message = "error: the program on client ended with exit code 4: true …\n";
    assert!(ended.err.ends_with(message), "{}", ended.err);
}

#[test]
fn what_a_program_takes_away_from_its_host_is_told_and_the_others_go_on() {
    let home = Home::new();
    let out = home.0.path().join("out");
    for (program, what) in [
        ("ip link set down dev eth0", "eth0 of client was set down"),
        ("ip link del dev eth0", "eth0 of client was removed"),
        ("ip -4 route del default", "the default route of client was removed"),
        ("ip -4 addr flush dev eth0", "10.0.0.1 was removed from eth0 of client"),
    ] {
        let more = ["--replicas", "1", "--out", out.to_str().unwrap(), "--with", "client", program];
        let Some(ended) = home.rehearse(&more) else { return };
        assert_eq!(ended.code, Some(0), "{program}: {}", ended.err);
        let message = format!("warning: By the end {what}, by a program or a shell on that host");
        assert!(ended.out.contains(&message), "{program}: {} {}", ended.out, ended.err);
        assert!(!ended.out.contains("busy"), "{program}: {}", ended.out);
    }
}

#[test]
fn hosts_that_are_none_and_runs_that_are_several_are_refused() {
    let home = Home::new();
    let refused = |more: &[&str], message: &[&str]| {
        let arguments = home.arguments(more);
        let ended = run(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(ended.code, Some(2), "{}", ended.err);
        message
            .iter()
            .for_each(|message| assert!(ended.err.contains(message), "{message}: {}", ended.err));
    };
    refused(
        &["--until-done", "--with", "clint", "true"],
        &["unknown host clint", "the hosts are client, server"],
    );
    refused(
        &["--until-done", "--with", "r", "true"],
        &["r is a router; programs run inside hosts"],
    );
    refused(&["--until-done", "--with", "client", " "], &["the command for client is missing"]);
    refused(
        &["--replicas", "2", "--with", "client", "true"],
        &["programs need a single replica, and this scenario has 2", "--replicas 1"],
    );
    refused(
        &["--until-done", "--with", "client", "true", "--set", "duration=1 s"],
        &["`duration` has no effect in this run", "omit --set duration=…"],
    );
    refused(&["--until-done"], &["--with"]);
}

/// Whether a process runs whose arguments contain this.
fn runs(mark: &str) -> bool {
    let arguments = |entry: std::fs::DirEntry| std::fs::read(entry.path().join("cmdline"));
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let mut all = processes.filter_map(|entry| arguments(entry).ok());
    all.any(|found| String::from_utf8_lossy(&found).contains(mark))
}

fn soon(what: &str, holds: impl Fn() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < Duration::from_secs(10), "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn however_a_rehearsal_ends_no_process_is_left() {
    let home = Home::new();
    let Some(_) = home.rehearse(&["--until-done", "--with", "client", "true"]) else { return };
    let temporary = tempfile::tempdir().unwrap();
    for (number, signal) in ["KILL", "SEGV", "TERM", "INT"].into_iter().enumerate() {
        // Two sleeps: one that is the program, and one of another session that nobody waits for.
        let mark = format!("98765.{}{number}", std::process::id());
        let line = format!(
            "setsid sh -c 'trap \"\" INT TERM HUP; sleep {mark}; :' & echo up; exec sleep {mark}"
        );
        let arguments = home.arguments(&["--until-done", "--with", "client", &line]);
        let mut child = command(env!("CARGO_BIN_EXE_shortflow"))
            .args(&arguments)
            .env("TMPDIR", temporary.path())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut up = String::new();
        BufReader::new(child.stderr.take().unwrap()).read_line(&mut up).unwrap();
        assert_eq!(up, "up\n");
        soon("the programs run", || runs(&mark));
        let id = child.id().to_string();
        let begun = Instant::now();
        while child.try_wait().unwrap().is_none() {
            // Twice: the first SEGV that is no stack's overflow gives the signal back to the kernel.
            let _ = Command::new("kill").args(["-s", signal, &id]).status();
            assert!(begun.elapsed() < Duration::from_secs(10), "SIG{signal} does not end it");
            std::thread::sleep(Duration::from_millis(200));
        }
        let status = child.wait().unwrap();
        assert!(!status.success(), "{signal}: {status}");
        soon(&format!("after SIG{signal} nothing runs"), || !runs(&mark));
    }
    assert_eq!(files(temporary.path()), [""; 0]);
}

#[test]
fn without_the_right_to_make_hosts_no_program_is_started() {
    let home = Home::new();
    let mut restricted = command("setpriv");
    restricted.args(["--bounding-set", "-sys_admin", env!("CARGO_BIN_EXE_shortflow")]);
    let arguments = home.arguments(&["--until-done", "--with", "client", "echo up"]);
    let ended: Ended = match restricted.args(arguments).output() {
        Ok(output) => output.into(),
        Err(_) => return eprintln!("skipped: needs setpriv (util-linux)"),
    };
    assert_eq!(ended.code, Some(3), "{}", ended.err);
    assert!(
        !ended.err.contains("up\n") && ended.err.contains("run it as root (sudo)"),
        "{}",
        ended.err
    );
}

#[test]
fn through_sudo_a_program_is_its_caller_s() {
    let home = Home::new();
    let Some(_) = home.rehearse(&["--until-done", "--with", "client", "true"]) else { return };
    let line = "id -u; echo $HOME; echo \"<$SUDO_UID>\"";
    let arguments = home.arguments(&["--until-done", "--with", "client", line]);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    // There is a nobody on every machine, and a number without a name; as it is, neither may enter this folder.
    for uid in ["65534", "4242424"] {
        let ended: Ended = shortflow(&arguments).env("SUDO_UID", uid).output().unwrap().into();
        assert_eq!(ended.code, Some(0), "{}", ended.err);
        let lines: Vec<&str> = ended.err.lines().collect();
        assert_eq!((lines[0], lines[2]), (uid, "<>"), "{}", ended.err);
    }
}

#[test]
fn what_needs_a_terminal_or_a_key_is_refused_without_and_a_live_line_is_left_out() {
    let home = Home::new();
    let refused = |more: &[&str], message: &str| {
        let arguments = home.arguments(more);
        let ended = run(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(ended.code, Some(2), "{}", ended.err);
        assert!(ended.err.contains(message), "{}", ended.err);
    };
    refused(&["--shell", "client"], "--shell requires a terminal");
    refused(
        &["--policies", "policies/best-effort.toml,policies/fq-codel.toml"],
        "--policies needs a way to switch",
    );
    refused(&["--shell", "client", "--json"], "--shell measures nothing");
    refused(&["--json", "--shell", "client"], "--shell measures nothing");
    let until_done = ["--until-done", "--with", "client", "true", "--out", "x"];
    refused(&until_done, "--until-done measures nothing");
    let more = ["--live", "--until-done", "--with", "client", "echo up"];
    let Some(ended) = home.rehearse(&more) else { return };
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), "up\n"), "as without it");
}

#[test]
fn in_a_shell_the_line_stands_below_and_keys_after_the_prefix_switch_the_policy() {
    let home = Home::new();
    let Some(_) = home.rehearse(&["--until-done", "--with", "client", "true"]) else { return };
    let line = format!(
        "{} rehearse {} --bind core='r->client' --shell client --policies policies/best-effort.toml,policies/fq-codel.toml",
        env!("CARGO_BIN_EXE_shortflow"),
        home.scenario()
    );
    // script(1) gives it a terminal.
    let mut script = command("timeout");
    script.args(["30", "script", "--quiet", "--return", "--command", &line, "/dev/null"]);
    let script = script.env("SHELL", "/bin/sh").env("TERM", "xterm");
    let Ok(mut child) = script.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn() else {
        return eprintln!("skipped: needs timeout (coreutils)");
    };
    let mut keys = child.stdin.take().unwrap();
    let mut type_after = |millis: u64, text: &[u8]| {
        std::thread::sleep(Duration::from_millis(millis));
        keys.write_all(text).unwrap();
    };
    type_after(1000, b"echo on $(hostname), $(cat /proc/1/comm | wc -l)\r");
    type_after(700, b"\x1dn");
    type_after(1200, b"exit\r");
    let ended: Ended = child.wait_with_output().unwrap().into();
    assert_eq!(ended.code, Some(0), "{}", ended.out);
    let at = |text: &str| ended.out.find(text).unwrap_or_else(|| panic!("{text}: {}", ended.out));
    assert!(at("Best Effort   r->client") < at("on client, 1"), "the line is there from the start");
    assert!(at("on client, 1") < at("FQ-CoDel   r->client"), "{}", ended.out);
}
