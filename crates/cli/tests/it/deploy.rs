//! `shortflow deploy` and its like, as a user meets them.

#![cfg(target_os = "linux")]

use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use nix::sched::{CloneFlags, unshare};

use crate::support::{Ended, command, printed_commands, run, shortflow};

pub(crate) const STRICT: &str = "policies/strict-priority.toml";
pub(crate) const AT: [&str; 4] = ["--dev", "sf0", "--rate", "10 Mbit/s"];

/// Does something in a network namespace of its own, where a cable has the ends sf0 and sf1.
pub(crate) fn with_a_cable(test: impl FnOnce() + Send + 'static) {
    let ran = std::thread::spawn(move || {
        let made = unshare(CloneFlags::CLONE_NEWNET).map_err(|errno| errno.to_string());
        let cable = "link add sf0 type veth peer name sf1";
        let made = made.and_then(|()| ip(cable)).and_then(|()| ip("link set sf1 up"));
        match made.and_then(|()| ip("link set sf0 up")) {
            Ok(()) => test(),
            Err(why) if std::env::var_os("CI").is_none() => {
                eprintln!("skipped: needs network namespaces and iproute2: {why}");
            }
            Err(why) => panic!("nothing may be skipped in CI: {why}"),
        }
    });
    if let Err(panic) = ran.join() {
        std::panic::resume_unwind(panic);
    }
}

pub(crate) fn ip(arguments: &str) -> Result<(), String> {
    let ended = Command::new("ip").args(arguments.split(' ')).output();
    let ended = ended.map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    ended.status.success().then_some(()).ok_or(said)
}

pub(crate) fn queues() -> String {
    let ended = Command::new("tc").args(["qdisc", "show"]).output().expect("tc is there");
    String::from_utf8(ended.stdout).expect("it is text")
}

pub(crate) fn done(arguments: &[&str]) -> String {
    let ended = run(arguments);
    assert_eq!(ended.code, Some(0), "{arguments:?}: {}", ended.err);
    ended.out
}

#[test]
fn a_deployment_is_made_looked_at_changed_and_taken_away() {
    with_a_cable(|| {
        let before = queues();
        assert_eq!(done(&["status"]), "no policy is deployed on this machine\n");
        let message = done(&[&["deploy", STRICT][..], &AT].concat());
        assert_eq!(message, "sf0: policy \"Strict Priority\", role core, 10 Mbit/s, 3 classes\n");
        let status = done(&["status"]);
        assert!(status.starts_with("sf0: policy \"Strict Priority\", role core, 10 Mbit/s\n"));
        assert!(status.contains("\n  tcp+udp port 80+443       pfifo "), "{status}");

        let again = run(&[&["deploy", STRICT][..], &AT].concat());
        assert_eq!(again.code, Some(2));
        let [replaced, removed] = &printed_commands(&again.err)[..] else {
            panic!("{}", again.err)
        };
        let same = "sf0: policy \"Strict Priority\", role core, 10 Mbit/s, 3 classes\n";
        assert_eq!((replaced.code, &*replaced.out), (Some(0), same), "{}", replaced.err);
        assert_eq!((removed.code, queues()), (Some(0), before.clone()), "{}", removed.err);
        done(&[&["deploy", STRICT][..], &AT].concat());

        done(&[
            "reload",
            STRICT,
            "--dev",
            "sf0",
            "--rate",
            "5 Mbit/s",
            "--set",
            "parameters.limit=99 pkt",
        ]);
        let json: serde_json::Value =
            serde_json::from_str(&done(&["status", "--dev", "sf0", "--json"])).unwrap();
        let device = &json["devices"][0];
        assert_eq!(
            (&device["complete"], &device["rate_bit_per_s"]),
            (&true.into(), &5_000_000.into())
        );
        assert_eq!(device["classes"].as_array().unwrap().len(), 5, "{device}");

        let dry = done(&["undeploy", "--dev", "sf0", "--dry-run"]);
        assert_eq!(dry, "tc qdisc del dev sf0 clsact\ntc qdisc del dev sf0 root\n");
        assert_eq!(done(&["undeploy", "--dev", "sf0"]), "sf0: restored to the previous state\n");
        assert_eq!(queues(), before);
        for command in [vec!["undeploy", "--dev", "sf0"], vec!["status", "--dev", "sf0"]] {
            let ended = run(&command);
            assert_eq!(ended.code, Some(2));
            assert!(ended.err.contains("nothing is deployed on sf0"), "{}", ended.err);
        }
    });
}

#[test]
fn where_markers_cannot_be_had_no_queue_is_changed() {
    with_a_cable(|| {
        let before = queues();
        let marks_and_queues = ["deploy", "policies/dstf.toml", "--role", "edge,core", "--nearest"];
        let ended = run(&[&marks_and_queues[..], &AT].concat());
        if cfg!(feature = "ebpf") {
            assert_eq!(ended.code, Some(0), "{}", ended.err);
            done(&["undeploy", "--dev", "sf0"]);
        } else {
            assert_eq!(ended.code, Some(3), "{}", ended.err);
            assert!(
                ended.err.contains("this build does not include the eBPF program"),
                "{}",
                ended.err
            );
        }
        assert_eq!(queues(), before);
    });
}

#[test]
fn a_dry_run_prints_what_is_then_done_and_does_nothing() {
    with_a_cable(|| {
        let before = queues();
        let dry = done(&[&["deploy", STRICT, "--dry-run"][..], &AT].concat());
        assert_eq!(queues(), before);
        // As a shell runs it, it comes to the same as the command itself.
        let shell = |script: &str| {
            let ended = Command::new("sh").args(["-euc", script]).status().expect("there is sh");
            assert!(ended.success(), "{script}");
        };
        let seen = || {
            let shown = ["qdisc show dev sf0", "class show dev sf0", "filter show dev sf0"];
            shown.map(|what| {
                let ended = Command::new("tc").args(what.split(' ')).output().unwrap();
                // What the kernel's own IPv6 sent before there were classes went past them, or was not sent yet.
                let text = String::from_utf8(ended.stdout).unwrap();
                // How tc listed it all is noted by the command alone.
                let lines: Vec<&str> =
                    text.split('\n').filter(|line| !line.contains(" pref 102 ")).collect();
                let text = lines.join("\n");
                let mut words: Vec<&str> = text.split(' ').collect();
                if let Some(at) = words.iter().position(|word| *word == "direct_packets_stat") {
                    words[at + 1] = "any";
                }
                words.join(" ")
            })
        };
        shell(&dry);
        let by_hand = seen();
        assert!(done(&["status"]).contains("Strict Priority"), "what a shell did is known");
        done(&["undeploy", "--dev", "sf0"]);
        done(&[&["deploy", STRICT][..], &AT].concat());
        assert_eq!(seen(), by_hand);
    });
}

#[test]
fn without_the_device_and_without_rights_a_dry_run_says_what_would_be_done() {
    let mut restricted = command("setpriv");
    restricted.args(["--bounding-set", "-net_admin,-sys_admin", env!("CARGO_BIN_EXE_shortflow")]);
    restricted.args(["deploy", STRICT, "--dev", "faraway0", "--rate", "10 Mbit/s", "--dry-run"]);
    let ended: Ended = match restricted.output() {
        Ok(output) => output.into(),
        Err(_) => return eprintln!("skipped: needs setpriv (util-linux)"),
    };
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    let last = "tc filter add dev faraway0 parent 5f00: protocol all pref 100";
    assert!(ended.out.lines().last().unwrap().starts_with(last), "{}", ended.out);
    let words =
        ["deploy", "policies/stf.toml", "--dev", "faraway0", "--rate", "10 Mbit/s", "--dry-run"];
    let ended = run(&words);
    assert_eq!(ended.code, Some(0), "another kernel may have BPF qdiscs: {}", ended.err);
    assert!(
        ended.out.contains("# then put the queueing eBPF program at the root"),
        "{}",
        ended.out
    );
}

#[test]
fn without_the_right_to_change_devices_it_says_what_is_lacking() {
    with_a_cable(|| {
        let mut restricted = command("setpriv");
        restricted.args(["--bounding-set", "-net_admin", env!("CARGO_BIN_EXE_shortflow")]);
        restricted.args(["deploy", STRICT]).args(AT);
        let ended: Ended = match restricted.output() {
            Ok(output) => output.into(),
            Err(_) => return eprintln!("skipped: needs setpriv (util-linux)"),
        };
        assert_eq!(ended.code, Some(3), "{}", ended.err);
        assert!(ended.err.contains("run it as root (sudo)"), "{}", ended.err);
    });
}

#[test]
#[cfg(feature = "ebpf")]
fn without_free_descriptors_the_limit_is_named_and_nothing_is_to_be_installed() {
    with_a_cable(|| {
        let limited = |arguments: &[&str]| -> Ended {
            let mut shell = command("sh");
            let script = "ulimit -n 8 && exec \"$@\"";
            shell.args(["-c", script, "sh", env!("CARGO_BIN_EXE_shortflow")]).args(arguments);
            shell.output().expect("there is sh").into()
        };
        let ended = limited(&[&["deploy", STRICT][..], &AT].concat());
        assert_eq!(ended.code, Some(3), "{}", ended.err);
        assert!(ended.err.contains("ulimit -n"), "{}", ended.err);
        assert!(!ended.err.contains("install"), "{}", ended.err);
        let text = limited(&["doctor"]).out;
        assert!(!text.contains("install iproute2"), "{text}");
        assert!(text.contains("unknown  early drops by eBPF (CONFIG_"), "{text}");
    });
}

#[test]
fn what_is_wrong_with_the_input_is_told_with_what_to_do() {
    for (arguments, message) in [
        (&["policies/dstf.toml"][..], "name those for this device: --role edge,core"),
        (&["policies/aggregate.toml", "--role", "source"], "nearest is the marker `aggregate`"),
        (&["policies/dstf.toml", "--role", "source"], "it has no queue"),
        (
            &["policies/strict-priority.toml", "--role", "core,core"],
            "the role `core` is given twice",
        ),
        (&["policies/dstf.toml", "--role", "cores"], "its roles are `source`, `edge`, `core`"),
        (&["policies/tsw2cm.toml", "--role", "edge"], "--rate applies to a queue"),
        (&[STRICT, "--rate", "9 kbit/s"], "--rate must be 64 kbit/s or more"),
        (&[STRICT, "--set", "parameters.limit=0 pkt"], "limit"),
        (&["policies/none.toml"], "cannot read policies/none.toml"),
    ] {
        let rate = ["--rate", "10 Mbit/s"];
        let rate = if arguments.contains(&"--rate") { &[] } else { &rate[..] };
        let at = ["deploy", "--dev", "faraway0", "--dry-run"];
        let ended = run(&[&at[..], arguments, rate].concat());
        assert_eq!(ended.code, Some(2), "{arguments:?}: {}", ended.err);
        assert!(ended.err.contains(message), "{arguments:?}: {}", ended.err);
        assert_eq!(ended.out, "", "{arguments:?}");
    }
    let ended =
        run(&[&["deploy", STRICT][..], &["--dev", "faraway0", "--rate", "1 Gbit/s"]].concat());
    assert_eq!(ended.code, Some(2));
    assert!(ended.err.contains("unknown device `faraway0`\n  the devices are "), "{}", ended.err);
    for (name, message) in
        [("", "missing --dev: "), ("sixteen-letters-", "longer than 15 characters")]
    {
        let ended = run(&["deploy", STRICT, "--dev", name, "--rate", "1 Gbit/s", "--dry-run"]);
        assert_eq!((ended.code, ended.out.as_str()), (Some(2), ""), "{name:?}");
        assert!(ended.err.contains(message), "{name:?}: {}", ended.err);
    }
    let ended = run(&["deploy", STRICT, "--dev", "$(reboot)", "--rate", "1 Gbit/s", "--dry-run"]);
    assert_eq!((ended.code, ended.out.as_str()), (Some(2), ""));
    assert!(ended.err.contains("with a meaning in tc or a shell"), "{}", ended.err);
    let ended = run(&["deploy", STRICT, "--dev", "faraway0", "--dry-run"]);
    assert_eq!(ended.code, Some(2));
    assert!(ended.err.contains("--rate '95 Mbit/s'"), "{}", ended.err);
}

/// Begins a command, and kills it after so many milliseconds.
fn killed(arguments: &[&str], after: u64) {
    let mut child = shortflow(arguments);
    let child = child.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
    let mut child = child.spawn().unwrap();
    sleep(Duration::from_millis(after));
    // It may be done already.
    let _ = child.kill();
    child.wait().unwrap();
}

#[test]
fn killed_at_any_moment_it_leaves_a_device_that_the_next_command_repairs() {
    with_a_cable(|| {
        let before = queues();
        let deploy = [&["deploy", STRICT][..], &AT].concat();
        let reload = [&["reload", STRICT][..], &AT].concat();
        let other = [&["reload", "policies/dstf.toml", "--role", "core"][..], &AT].concat();
        let undeploy = ["undeploy", "--dev", "sf0"];
        let is_there = || run(&["status", "--dev", "sf0"]).code != Some(2);
        for after in (20..140).step_by(12) {
            killed(&deploy, after);
            if is_there() {
                done(&reload);
            } else {
                done(&deploy);
            }
            assert!(done(&["status"]).contains("policy \"Strict Priority\""));
            killed(&other, after);
            done(&reload);
            assert!(done(&["status"]).contains("policy \"Strict Priority\""));
            killed(&undeploy, after / 4);
            if is_there() {
                done(&undeploy);
            }
            assert_eq!(queues(), before, "killed after {after} ms");
        }
    });
}

pub(crate) fn tc(arguments: &str) {
    let ended = Command::new("tc").args(arguments.split(' ')).output().expect("tc is there");
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
}

/// What `status` says, where something is wrong.
pub(crate) fn wrong() -> String {
    let status = run(&["status", "--dev", "sf0"]);
    assert_eq!(status.code, Some(1), "{}", status.out);
    status.out
}

#[test]
fn what_others_have_changed_of_a_deployment_is_told_and_one_reload_puts_it_right() {
    with_a_cable(|| {
        let reload = [&["reload", STRICT][..], &AT].concat();
        done(&[&["deploy", STRICT][..], &AT].concat());
        for (change, message) in [
            ("filter del dev sf0 parent 5f00: pref 2", "the classifying filter is missing"),
            (
                "filter del dev sf0 parent 5f00: pref 1",
                "the filter for ARP and neighbour discovery is missing",
            ),
            (
                "qdisc replace dev sf0 parent 5f00:LEAF handle 99: pfifo limit 7",
                "the queue of class",
            ),
            ("qdisc replace dev sf0 parent 5f00:5f handle 99: pfifo limit 7", "the queue of class"),
            (
                "filter del dev sf0 parent 5f00: pref 101",
                "the record of the deployment's options (parent 5f00:, pref 101) is missing",
            ),
            (
                "filter del dev sf0 parent 5f00: pref 102",
                "the record of the queues' settings (parent 5f00:, pref 102) is missing",
            ),
        ] {
            let ended = Command::new("tc").args(["class", "show", "dev", "sf0"]).output().unwrap();
            let classes = String::from_utf8(ended.stdout).unwrap();
            let leaf = if classes.contains(" 5f00:81 ") { "81" } else { "1" };
            let place = if classes.contains(" 5f00:81 ") { "pref 3" } else { "pref 2" };
            tc(&change.replace("LEAF", leaf).replace("pref 2", place));
            let status = wrong();
            assert!(status.contains(&format!("WRONG: {message}")), "{change}: {status}");
            let command = "shortflow reload POLICY --dev sf0 --role core --rate '10 Mbit/s'";
            assert!(status.contains(command), "{change}: {status}");
            let other = ["deploy", "policies/best-effort.toml"];
            assert_eq!(run(&[&other[..], &AT].concat()).code, Some(2), "another policy is no mend");
            done(&reload);
            assert!(!done(&["status", "--dev", "sf0"]).contains("WRONG"), "{change}");
        }
    });
}

#[test]
#[cfg(feature = "ebpf")]
fn queues_that_somebody_has_taken_from_behind_what_marks_are_missed() {
    with_a_cable(|| {
        let both = [&["policies/dstf.toml", "--role", "edge,core"][..], &AT].concat();
        let ended = run(&[&["deploy"][..], &both].concat());
        if ended.code == Some(3) && std::env::var_os("CI").is_none() {
            return eprintln!("skipped: needs eBPF: {}", ended.err);
        }
        let before = queues();
        tc("qdisc del dev sf0 root");
        let status = wrong();
        assert!(
            status.contains("WRONG: the queues of role `core` are missing on the device"),
            "{status}"
        );
        let command = "shortflow reload POLICY --dev sf0 --role edge,core --rate '10 Mbit/s'";
        assert!(status.contains(command), "{status}");
        done(&[&["reload"][..], &both].concat());
        assert!(!done(&["status", "--dev", "sf0"]).contains("WRONG"));
        assert_eq!(queues(), before);
    });
}

#[test]
#[cfg(feature = "ebpf")]
fn filters_of_others_before_what_marks_are_wrong_at_once_unless_they_take_no_packet() {
    with_a_cable(|| {
        ip("addr add 10.77.6.1/24 dev sf0").unwrap();
        ip("neigh add 10.77.6.2 lladdr 02:00:00:00:00:02 dev sf0").unwrap();
        let both = [&["policies/dstf.toml", "--role", "edge,core"][..], &AT].concat();
        tc("qdisc add dev sf0 clsact");
        // The first takes no packet, the second ends the chain for all.
        let add = ["filter", "add", "dev", "sf0", "egress", "pref", "1", "bpf", "da", "bytecode"];
        let filter = |word: &str, value: &str| {
            let mut words = add.to_vec();
            words[1] = word;
            words.extend([value]);
            assert!(Command::new("tc").args(words).status().unwrap().success());
        };
        filter("add", "1,6 0 0 4294967295");
        let ended = run(&[&["deploy"][..], &both].concat());
        if ended.code == Some(3) && std::env::var_os("CI").is_none() {
            return eprintln!("skipped: needs eBPF: {}", ended.err);
        }
        assert_eq!(ended.code, Some(0), "{}", ended.err);
        let message =
            "filters of other programs run before the marking program at the egress (pref 1)";
        assert!(!ended.err.contains(message), "it takes no packet: {}", ended.err);
        let send = || {
            let socket = std::net::UdpSocket::bind("10.77.6.1:0").unwrap();
            (0..150).for_each(|_| assert!(socket.send_to(&[0; 100], "10.77.6.2:9").is_ok()));
            sleep(Duration::from_millis(300));
        };
        send();
        assert!(!done(&["status", "--dev", "sf0"]).contains(message));
        done(&["undeploy", "--dev", "sf0"]);
        tc("filter del dev sf0 egress pref 1");
        filter("add", "1,6 0 0 0");
        let ended = run(&[&["deploy"][..], &both].concat());
        assert_eq!((ended.code, ended.err.contains(message)), (Some(0), true), "{}", ended.err);
        // No packet was sent yet.
        let remedy = "repair it with `tc filter del dev sf0 egress pref 1`";
        let status = wrong();
        assert!(
            status.contains(&format!("WRONG: {message}")) && status.contains(remedy),
            "{status}"
        );
        send();
        let status = wrong();
        assert!(status.contains("WRONG: no packet is marked: "), "{status}");
        assert!(status.contains(message), "{status}");

        // One that comes after packets were marked.
        tc("filter del dev sf0 egress pref 1");
        (0..3).for_each(|_| send());
        done(&["status", "--dev", "sf0"]);
        filter("add", "1,6 0 0 0");
        send();
        let status = wrong();
        assert!(status.contains("WRONG: packets are not marked: "), "{status}");
        assert!(status.contains(remedy), "{status}");
        tc("filter del dev sf0 egress pref 1");
        done(&["status", "--dev", "sf0"]);
    });
}

#[test]
fn a_doctor_says_what_a_policy_needs_and_whether_it_is_there() {
    with_a_cable(|| {
        let message = run(&["doctor"]).out;
        assert!(
            !message.contains("by the policy") && message.contains("needed by every queue"),
            "{message}"
        );
        let message = done(&["doctor", STRICT]);
        assert!(message.contains("needed by the policy"), "{message}");
        assert!(message.contains("role core needs htb, bpf, pfifo"), "{message}");
        let ended = run(&["doctor", "policies/dstf.toml", "--json"]);
        let json: serde_json::Value = serde_json::from_str(&ended.out).unwrap();
        assert!(json["policy"][0] == "role edge needs the eBPF marking program, clsact", "{json}");

        let ended = run(&["doctor", "policies/fq-codel.toml", "--json"]);
        let json: serde_json::Value = serde_json::from_str(&ended.out).unwrap();
        let kinds = json["kinds"].as_array().unwrap();
        let kind = kinds.iter().find(|kind| kind["name"] == "fq_codel").unwrap();
        assert_eq!(kind["needed"], true);
        let is_there = kind["there"].as_bool().expect("it was tried");
        assert_eq!(ended.code, Some(if is_there { 0 } else { 3 }));
        assert_eq!(ended.err.contains("fq_codel: load sch_fq_codel"), !is_there, "{}", ended.err);
    });
}

#[test]
fn a_status_that_is_watched_ends_with_an_interrupt() {
    with_a_cable(|| {
        done(&[&["deploy", STRICT][..], &AT].concat());
        let mut child = shortflow(&["status", "--watch", "--json"]);
        let child = child.stdout(std::process::Stdio::piped()).spawn().unwrap();
        sleep(Duration::from_millis(1500));
        let pid = nix::unistd::Pid::from_raw(child.id() as i32);
        nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGINT).unwrap();
        let ended: Ended = child.wait_with_output().unwrap().into();
        assert_eq!(ended.code, Some(0));
        assert!(ended.out.lines().count() >= 2, "{}", ended.out);
        for line in ended.out.lines() {
            let status: serde_json::Value = serde_json::from_str(line).unwrap();
            assert_eq!(status["devices"][0]["device"], "sf0");
        }
    });
}

#[test]
fn what_the_program_takes_is_measured_or_what_is_lacking_is_told() {
    let ended = run(&["bench", "ebpf", "--quick", "--json"]);
    if ended.code == Some(3) {
        assert!(!cfg!(feature = "ebpf") || std::env::var_os("CI").is_none(), "{}", ended.err);
        assert!(ended.err.starts_with("error: this "), "{}", ended.err);
        return;
    }
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    let found: serde_json::Value = serde_json::from_str(&ended.out).unwrap();
    let programs = found["programs"].as_array().unwrap();
    let takes = |what: &str| {
        let program = programs.iter().find(|program| program["what"] == what);
        program.unwrap()["other_flows_median_ns"].as_f64().unwrap()
    };
    assert!(takes("nothing at all") > 0.0 && takes("DSTF, flows in one bucket") > 0.0, "{found:#}");
}

/// Thresholds of its own for each of two kinds of connections, and for the rest.
pub(crate) const LABELLED: &str = r#"
name = "Thresholds"
[[roles.host.classes]]
name = "shell"
match.label = "shell"
marker.tcp-state = { high = 8, medium = 16 }
[[roles.host.classes]]
name = "backup"
match.label = "backup"
marker.tcp-state = { high = 2, medium = 4 }
[[roles.host.classes]]
name = "rest"
marker.tcp-state = { high = 4, medium = 8 }
"#;

#[test]
fn an_ingress_qdisc_of_another_program_is_named_before_anything_changes() {
    with_a_cable(|| {
        let tc = |words: &str| {
            let ran = std::process::Command::new("tc").args(words.split(' ')).output().unwrap();
            String::from_utf8(ran.stdout).unwrap()
        };
        tc("qdisc add dev sf0 ingress");
        let listings = || (tc("qdisc show dev sf0"), tc("filter show dev sf0 ingress"));
        let before = listings();
        for more in [&[][..], &["--ingress"], &["--dry-run"]] {
            let words =
                ["deploy", "policies/best-effort.toml", "--dev", "sf0", "--rate", "10Mbit/s"];
            let ended = run(&[&words[..], more].concat());
            assert_eq!(ended.code, Some(3), "{more:?}: {}", ended.err);
            let message =
                "sf0 has an ingress qdisc of another program where this needs a clsact qdisc";
            assert!(ended.err.contains(message), "{more:?}: {}", ended.err);
            assert!(
                ended.err.contains("`tc qdisc del dev sf0 ingress`"),
                "{more:?}: {}",
                ended.err
            );
            assert_eq!(listings(), before, "{more:?}");
        }
        let ended = run(&["status", "--dev", "sf0"]);
        assert!(!ended.out.contains("WRONG"), "{}", ended.out);
        tc("qdisc del dev sf0 ingress");
        let words = ["deploy", "policies/best-effort.toml", "--dev", "sf0", "--rate", "10Mbit/s"];
        assert_eq!(run(&words).code, Some(0), "the remedy works");
    });
}

#[test]
fn connections_have_the_labels_that_the_command_line_gives_to_marks_and_groups_of_processes() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("thresholds.toml");
    std::fs::write(&file, LABELLED).unwrap();
    let at = ["deploy", file.to_str().unwrap(), "--dev", "faraway0", "--dry-run"];
    let with = |labels: &[&str]| {
        let given = labels.iter().flat_map(|label| ["--label", label]);
        run(&at.into_iter().chain(given).collect::<Vec<_>>())
    };
    let ended = with(&["shell=mark:7", "backup=mark:0x10"]);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    for (labels, message) in [
        (
            &["shell=mark:7"][..],
            "classes `backup`: it matches the label `backup`, which has no owner",
        ),
        (
            &["shell=mark:7"],
            "set it with `--label backup=OWNER`, where OWNER is mark:NUMBER, priority:NUMBER or cgroup:PATH",
        ),
        (&["=mark:7"], "write LABEL=OWNER, as in `telnet=mark:7`"),
        (&["a=b=mark:7"], "--label a=b: the policy \"Thresholds\" does not match this label"),
        (&["web=mark:7"], "does not match this label\n  its labels are `shell`, `backup`"),
        (&["shell=mark:7", "shell=mark:8"], "--label shell: the label is given twice"),
        (&["shell=priority:16"], "--label shell: a priority must be a number from 1 to 15"),
        (&["shell=mark:0"], "--label shell: a mark must be a number from 1 to 4294967295"),
        (&["shell=port:23"], "an owner must be `mark:NUMBER`, `priority:NUMBER` or `cgroup:PATH`"),
        (&["shell"], "write LABEL=OWNER, as in `telnet=mark:7`"),
    ] {
        let ended = with(labels);
        assert_eq!(ended.code, Some(2), "{labels:?}: {}", ended.err);
        assert!(ended.err.contains(message), "{labels:?}: {}", ended.err);
    }
}

#[test]
fn a_label_may_hold_an_equals_sign() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("thresholds.toml");
    std::fs::write(&file, LABELLED.replace("\"shell\"", "\"a=b\"")).unwrap();
    let at = ["deploy", file.to_str().unwrap(), "--dev", "faraway0", "--dry-run"];
    let ended = run(&[&at[..], &["--label", "a=b=mark:7", "--label", "backup=mark:8"]].concat());
    assert_eq!(ended.code, Some(0), "{}", ended.err);
}

#[test]
fn what_a_hosts_tcp_cannot_do_of_a_policy_is_refused_by_name() {
    let refused = |words: &[&str], expected: &str| {
        let all = [&["deploy"], words].concat();
        let ended = run(&all);
        assert_eq!(ended.code, Some(2), "{words:?}: {}", ended.err);
        assert!(ended.err.contains(expected), "{words:?}: {}", ended.err);
    };
    let key = |key: &str| format!("roles.source.queue.aggregate-shaper.{key}");
    let common = key("sharing=common");
    refused(&["fq-codel", "--tcp"], "no role has the queue `aggregate-shaper`");
    refused(&["aggregate", "--tcp", "--role", "core"], "roles with one: `source`");
    let sequential = key("order=sequential");
    let words = ["aggregate", "--tcp", "--set", &common, "--set", &sequential];
    refused(&words, ".order: the kernel wakes each connection by itself");
    let overtake = key("fresh=overtake");
    refused(&["aggregate", "--tcp", "--set", &common, "--set", &overtake], "use \"in-turn\"");
    let behind = key("place=queue");
    refused(
        &["aggregate", "--tcp", "--set", &behind],
        ".place: the policy holds packets in a queue",
    );
    let too_many = key("connections=5000");
    refused(&["aggregate", "--tcp", "--set", &too_many], "connections must be 1 to 4096");
    refused(&["aggregate", "--tcp", "--growth", "constant-rate"], "requires --reference-rtt");
    refused(&["aggregate", "--tcp", "--growth", "reno", "--increase", "4"], "omit");
    refused(&["aggregate", "--tcp", "--local", "10.0.0.0/33"], "192.0.2.0/24");
    refused(&["aggregate", "--tcp", "--dev", "eth0"], "cannot be used with");
    refused(&["aggregate", "--local-port", "80", "--dev", "eth0"], "cannot be used with");
    let ended = run(&["deploy", "aggregate"]);
    assert!(ended.code == Some(2) && ended.err.contains("--dev"), "{}", ended.err);
}
