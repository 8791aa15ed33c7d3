//! `shortflow verify` as a user meets it, between two network namespaces of the test's own.

#![cfg(target_os = "linux")]

use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::sched::{CloneFlags, unshare};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::support::{command, run, shortflow};

const STRICT: &str = "policies/strict-priority.toml";
const PEER: &str = "10.77.3.2";

/// Does something in a namespace from which a cable leads to a machine that listens.
fn with_a_peer(test: impl FnOnce() + Send + 'static) {
    with_a_peer_behind(None, test);
}

/// The same; with a rate, a router is on the way, and its line to that machine has this rate.
fn with_a_peer_behind(rate: Option<&'static str>, test: impl FnOnce() + Send + 'static) {
    let ran = std::thread::spawn(move || match make(rate) {
        Ok((peer, _router)) => {
            test();
            peer.end();
        }
        Err(why) if std::env::var_os("CI").is_none() => {
            eprintln!("skipped: needs network namespaces, iproute2 and util-linux: {why}");
        }
        Err(why) => panic!("nothing may be skipped in CI: {why}"),
    });
    if let Err(panic) = ran.join() {
        std::panic::resume_unwind(panic);
    }
}

/// The machine at the other end.
struct Listening(Option<Child>);

impl Listening {
    /// Ends it as Ctrl-C does, and looks at what it says.
    fn end(mut self) {
        let child = self.0.take().expect("it is ended once");
        kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGINT).unwrap();
        let ended = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&ended.stdout).into_owned();
        assert!(ended.status.success() && said.contains(" probes, "), "{said}");
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// A process in a network namespace of its own, and its number.
fn elsewhere(arguments: &[&str]) -> Result<(Listening, String), String> {
    let mut there = command("unshare");
    there.arg("-n").args(arguments).stdout(Stdio::piped()).stderr(Stdio::null());
    let there = there.spawn().map_err(|error| error.to_string())?;
    let id = there.id().to_string();
    let there = Listening(Some(there));
    // It has its namespace a moment after it began.
    let begin = Instant::now();
    while std::fs::read_link(format!("/proc/{id}/ns/net")).ok()
        == std::fs::read_link("/proc/thread-self/ns/net").ok()
    {
        if begin.elapsed() > Duration::from_secs(5) {
            return Err("no namespace is made by unshare".to_owned());
        }
        sleep(Duration::from_millis(5));
    }
    Ok((there, id))
}

fn make(rate: Option<&str>) -> Result<(Listening, Option<Listening>), String> {
    unshare(CloneFlags::CLONE_NEWNET).map_err(|errno| errno.to_string())?;
    let (peer, id) = elsewhere(&[env!("CARGO_BIN_EXE_shortflow"), "verify", "--listen"])?;
    let there = format!("nsenter -n -t {id}");
    let mut lines = vec![
        "ip link add sf0 type veth peer name sf1".to_owned(),
        "ip addr add 10.77.3.1/24 dev sf0".to_owned(),
        "ip link set sf0 up".to_owned(),
    ];
    let router = match rate {
        None => {
            lines.push(format!("ip link set sf1 netns {id}"));
            lines.push(format!("{there} ip addr add {PEER}/24 dev sf1"));
            lines.push(format!("{there} ip link set sf1 up"));
            None
        }
        Some(rate) => {
            let (router, between) = elsewhere(&["sleep", "120"])?;
            let on_the_way = format!("nsenter -n -t {between}");
            lines.extend([
                format!("ip link set sf1 netns {between}"),
                format!("{on_the_way} ip link add sf2 type veth peer name sf3 netns {id}"),
                format!("{on_the_way} ip addr add 10.77.3.3/32 dev sf1"),
                format!("{on_the_way} ip link set sf1 up"),
                format!("{on_the_way} ip link set sf2 up"),
                format!("{on_the_way} ip route add 10.77.3.1 dev sf1"),
                format!("{on_the_way} ip route add {PEER} dev sf2"),
                format!("{on_the_way} sysctl -qw net.ipv4.ip_forward=1"),
                format!(
                    "{on_the_way} tc qdisc add dev sf2 root tbf rate {rate} burst 8kb latency 100ms"
                ),
                format!("ip route add {PEER} via 10.77.3.3 dev sf0"),
                format!("{there} ip addr add {PEER}/32 dev sf3"),
                format!("{there} ip link set sf3 up"),
                format!("{there} ip route add 10.77.3.1 via 10.77.3.3 dev sf3 onlink src {PEER}"),
            ]);
            Some(router)
        }
    };
    for line in lines {
        let (program, arguments) = line.split_once(' ').expect("a program and its arguments");
        done(program, arguments).map_err(|error| format!("{line}: {error}"))?;
    }
    // Small packets, as on a line of this rate.
    let _ = done("ethtool", "-K sf0 tso off gso off");
    Ok((peer, router))
}

fn done(program: &str, arguments: &str) -> Result<(), String> {
    let ended = Command::new(program).args(arguments.split(' ')).output();
    let ended = ended.map_err(|error| format!("{program}: {error}"))?;
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    ended.status.success().then_some(()).ok_or(said)
}

fn deploy() {
    let ended = run(&["deploy", STRICT, "--dev", "sf0", "--rate", "10 Mbit/s"]);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
}

#[test]
fn what_is_deployed_is_seen_to_work() {
    with_a_peer(|| {
        let verify = ["verify", STRICT, "--dev", "sf0", "--peer", PEER, "--seconds", "3"];
        let not_yet = run(&verify);
        assert_eq!(not_yet.code, Some(2));
        assert!(not_yet.err.starts_with("error: nothing is deployed on sf0\n"), "{}", not_yet.err);

        deploy();
        let ended = run(&[&verify[..], &["--json"]].concat());
        assert_eq!(ended.code, Some(0), "{}{}", ended.out, ended.err);
        let found: Value = serde_json::from_str(&ended.out).unwrap();
        let survive = found["code_points"].as_array().unwrap();
        assert_eq!(survive.len(), 4, "BE, AF41, CS5 and EF: {found:#}");
        assert!(survive.iter().all(|one| one["there"] == serde_json::json!([one["written"]])));
        let classes = found["classes"].as_array().unwrap();
        let [voice, web, rest] = &classes[..] else { panic!("{found:#}") };
        assert_eq!(
            (&voice["probed_by"], &web["probed_by"]),
            (&"UDP AF41".into(), &"TCP to port 80".into())
        );
        assert_eq!(rest["is_of_load"], true);
        let highest = voice["ratio"][2].as_f64().unwrap();
        assert!(highest < 0.5, "voice waits for a fraction of what the load waits: {found:#}");
        assert!(found["transfers"]["complete"].as_u64().unwrap() > 0, "{found:#}");
        let added = |class: &Value| class["added_s"].as_f64().unwrap();
        assert!(added(voice) < 0.5 * added(rest), "{found:#}");
        for class in classes {
            let grade = match added(class) {
                ..0.005 => "A+",
                ..0.03 => "A",
                ..0.06 => "B",
                ..0.2 => "C",
                ..0.4 => "D",
                _ => "F",
            };
            assert_eq!(class["grade"], grade, "{class:#}");
        }
    });
}

#[test]
fn a_rate_above_that_of_a_line_behind_the_device_is_told_with_one_that_is_below() {
    with_a_peer_behind(Some("4mbit"), || {
        deploy();
        let verify = ["verify", STRICT, "--dev", "sf0", "--peer", PEER, "--seconds", "3"];
        let ended = run(&verify);
        assert_eq!(ended.code, Some(1), "{}{}", ended.out, ended.err);
        assert!(ended.out.contains("packets wait elsewhere, at a slower line"), "{}", ended.out);
        let (_, after) = ended.out.split_once("`--rate '").expect("a rate is named");
        let (rate, _) = after.split_once('\'').unwrap();
        let megabits: f64 = rate.strip_suffix(" Mbit/s").unwrap().parse().unwrap();
        assert!((3.0..4.0).contains(&megabits), "below 4 Mbit/s: {rate}");

        let reloaded = run(&["reload", STRICT, "--dev", "sf0", "--rate", rate]);
        assert_eq!(reloaded.code, Some(0), "{}", reloaded.err);
        let now = run(&[&verify[..], &["--json"]].concat());
        assert_eq!(now.code, Some(0), "{}{}", now.out, now.err);
        let found: Value = serde_json::from_str(&now.out).unwrap();
        assert_eq!(found["suggested_rate_bit_per_s"], Value::Null, "{found:#}");
    });
}

#[test]
fn what_is_not_deployed_there_and_a_peer_to_which_the_device_does_not_lead_are_refused() {
    with_a_peer(|| {
        deploy();
        let verify = ["verify", STRICT, "--dev", "sf0", "--peer", PEER, "--seconds", "2"];
        let other = run(&[
            "verify",
            "policies/dstf.toml",
            "--role",
            "core",
            "--dev",
            "sf0",
            "--peer",
            PEER,
        ]);
        assert_eq!(other.code, Some(2));
        let apply = "apply this policy with `shortflow reload policies/dstf.toml --dev sf0 --role core --rate ";
        assert!(other.err.contains(apply), "{}", other.err);
        let listings =
            || command("tc").args(["qdisc", "show", "dev", "sf0"]).output().unwrap().stdout;
        let before = listings();
        let narrow = ["--set", "parameters.limit=7 pkt", "--on-off", "3"];
        let narrow = run(&[&verify[..], &narrow].concat());
        assert_eq!(narrow.code, Some(2), "a setting is another: {}", narrow.out);
        assert!(narrow.err.contains("with these roles, keys and labels"), "{}", narrow.err);
        assert_eq!(listings(), before);
        done("ip", "link add sf5 type veth peer name sf6").unwrap();
        done("ip", "addr add 10.77.5.1/24 dev sf5").unwrap();
        done("ip", "link set lo up").unwrap();
        done("ip", "link set sf6 up").unwrap();
        done("ip", "link set sf5 up").unwrap();
        for (peer, message) in [
            ("10.77.5.2", "packets to 10.77.5.2 leave through sf5, not sf0"),
            ("10.77.3.1", "--peer 10.77.3.1 is this machine"),
            ("127.0.0.1", "--peer 127.0.0.1 is this machine"),
        ] {
            let elsewhere = run(&["verify", STRICT, "--dev", "sf0", "--peer", peer]);
            assert_eq!(elsewhere.code, Some(2), "{peer}: {}{}", elsewhere.out, elsewhere.err);
            assert!(elsewhere.err.contains(message), "{peer}: {}", elsewhere.err);
        }
        let nobody = run(&["verify", STRICT, "--dev", "sf0", "--peer", PEER, "--port", "7808"]);
        assert_eq!(nobody.code, Some(3));
        assert!(
            nobody.err.contains("run `shortflow verify --listen --port 7808` on that machine"),
            "{}",
            nobody.err
        );
    });
}

/// Probes pass the policy's own marker, which is back at the end with what it knew.
#[test]
#[cfg(feature = "ebpf")]
fn code_points_that_the_policy_itself_writes_are_seen_to_survive_and_so_are_its_classes() {
    with_a_peer(|| {
        let at = ["policies/dstf.toml", "--role", "edge,core", "--dev", "sf0"];
        let ended = run(&[&["deploy"][..], &at, &["--rate", "10 Mbit/s"]].concat());
        if ended.code == Some(3) && std::env::var_os("CI").is_none() {
            return eprintln!("skipped: needs eBPF: {}", ended.err);
        }
        assert_eq!(ended.code, Some(0), "{}", ended.err);
        let verify = ["--peer", PEER, "--seconds", "3", "--json"];
        let set = ["--set", "parameters.decay=1 Mbit/s"];
        let other = run(&[&["verify"][..], &at, &verify, &set].concat());
        assert_eq!(other.code, Some(2), "the marker would be another: {}", other.out);
        assert!(other.err.contains("with these roles, keys and labels"), "{}", other.err);
        let half = ["verify", "policies/dstf.toml", "--role", "edge", "--dev", "sf0"];
        let half = run(&[&half[..], &verify].concat());
        assert_eq!(half.code, Some(2), "{}", half.out);
        let message = "sf0 has the roles `edge`, `core`, but --role names the role `edge`\n";
        assert!(
            half.err.contains(message) && half.err.contains("--role edge,core"),
            "{}",
            half.err
        );
        let ended = run(&[&["verify"][..], &at, &verify].concat());
        let found: Value =
            serde_json::from_str(&ended.out).unwrap_or_else(|_| panic!("{}", ended.err));
        let survive = found["code_points"].as_array().unwrap();
        assert!(survive.len() >= 8, "those of all priorities: {found:#}");
        assert!(
            survive.iter().all(|one| one["there"] == serde_json::json!([one["written"]])),
            "{found:#}"
        );
        assert!(found["classes"].as_array().unwrap().len() >= 8, "{found:#}");
        let status = run(&["status", "--dev", "sf0"]);
        assert_eq!(status.code, Some(0));
        assert!(!status.out.contains("to 10.77.3.2 "), "the marker is back: {}", status.out);
    });
}

/// The policy is put back by whom Ctrl-C stops while one queue is in its place.
#[test]
fn who_is_stopped_while_the_policy_is_off_puts_it_back() {
    with_a_peer(|| {
        deploy();
        let verify =
            ["verify", STRICT, "--dev", "sf0", "--peer", PEER, "--seconds", "2", "--on-off", "3"];
        let child = shortflow(&verify).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let policy = || run(&["status", "--dev", "sf0"]).out;
        let begin = Instant::now();
        while !policy().contains("one queue, for verify") {
            assert!(begin.elapsed() < Duration::from_secs(60), "{}", policy());
            sleep(Duration::from_millis(50));
        }
        kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGINT).unwrap();
        let ended = child.wait_with_output().unwrap();
        assert_eq!(ended.status.code(), Some(130));
        assert!(policy().starts_with("sf0: policy \"Strict Priority\""), "{}", policy());
    });
}

/// Kills `verify` with -9 when `status` says `when`, and waits until it says what is wrong since.
fn killed(verify: &[&str], when: &str) -> String {
    let mut child = shortflow(verify);
    let mut child = child.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let begin = Instant::now();
    loop {
        let status = run(&["status", "--dev", "sf0"]);
        assert_eq!(status.code, Some(0), "it is at work, and nothing is wrong: {}", status.out);
        if status.out.contains(when) {
            assert!(
                status.out.contains("it is locked by another shortflow process"),
                "{}",
                status.out
            );
            break;
        }
        assert!(begin.elapsed() < Duration::from_secs(60), "{}", status.out);
        sleep(Duration::from_millis(20));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    loop {
        let status = run(&["status", "--dev", "sf0"]);
        if status.code == Some(1) {
            return status.out;
        }
        // What it has begun of `tc` may end by itself.
        assert!(begin.elapsed() < Duration::from_secs(60), "{}", status.out);
        sleep(Duration::from_millis(20));
    }
}

fn is_well() {
    let status = run(&["status", "--dev", "sf0"]);
    assert_eq!(status.code, Some(0), "{}", status.out);
    assert!(
        !status.out.contains("WRONG") && !status.out.contains("to 10.77.3.2 "),
        "{}",
        status.out
    );
}

#[test]
fn one_queue_that_a_killed_verify_has_left_is_told_and_taken_out_by_the_next_one() {
    with_a_peer(|| {
        deploy();
        let verify = ["verify", STRICT, "--dev", "sf0", "--peer", PEER, "--seconds", "2"];
        let in_turns = [&verify[..], &["--on-off", "3"]].concat();
        let message = killed(&in_turns, "one queue, for verify");
        let wrong = "WRONG: `verify` was killed: a single queue replaces the queues of policy \"Strict Priority\"";
        assert!(message.contains(wrong), "{message}");
        let command = "shortflow reload POLICY --dev sf0 --role core --rate '10 Mbit/s'";
        assert!(message.contains(command), "{message}");

        let ended = run(&verify);
        assert_eq!(ended.code, Some(0), "{}{}", ended.out, ended.err);
        assert!(!ended.out.contains("too few"), "{}", ended.out);
        assert!(ended.err.contains("what it left is removed"), "{}", ended.err);
        is_well();

        killed(&in_turns, "one queue, for verify");
        let other = ["deploy", "policies/best-effort.toml", "--dev", "sf0", "--rate", "10 Mbit/s"];
        let other = run(&other);
        assert_eq!(other.code, Some(2), "it is no way to another policy: {}", other.err);
        assert!(other.err.contains("policy \"Strict Priority\" is deployed"), "{}", other.err);
        let ended = run(&["deploy", STRICT, "--dev", "sf0", "--rate", "10 Mbit/s"]);
        assert_eq!(ended.code, Some(0), "what is not whole is gone on with: {}", ended.err);
        is_well();
    });
}

#[test]
#[cfg(feature = "ebpf")]
fn an_exception_that_a_killed_verify_has_left_is_told_and_taken_out_by_the_next_command() {
    with_a_peer(|| {
        let at = ["policies/dstf.toml", "--role", "edge,core", "--dev", "sf0"];
        let rate = ["--rate", "10 Mbit/s"];
        let ended = run(&[&["deploy"][..], &at, &rate].concat());
        if ended.code == Some(3) && std::env::var_os("CI").is_none() {
            return eprintln!("skipped: needs eBPF: {}", ended.err);
        }
        assert_eq!(ended.code, Some(0), "{}", ended.err);
        let verify = [&["verify"][..], &at, &["--peer", PEER, "--seconds", "2"]].concat();
        let message = killed(&verify, "to 10.77.3.2");
        let wrong = "WRONG: `verify` was killed: packets to 10.77.3.2 are not marked";
        assert!(message.contains(wrong), "{message}");

        let ended = run(&verify);
        assert!(ended.err.contains("what it left is removed"), "{}", ended.err);
        is_well();
        for command in ["reload", "deploy"] {
            killed(&verify, "to 10.77.3.2");
            let ended = run(&[&[command][..], &at, &rate].concat());
            assert_eq!(ended.code, Some(0), "{command}: {}", ended.err);
            is_well();
        }
        killed(&verify, "to 10.77.3.2");
        let ended = run(&["undeploy", "--dev", "sf0"]);
        assert_eq!(ended.code, Some(0), "{}", ended.err);
        assert_eq!(run(&["status"]).out, "no policy is deployed on this machine\n");
    });
}
