//! What a device keeps of a deployment, and what `status` says when somebody changes it.

#![cfg(target_os = "linux")]

use std::process::Command;

use crate::deploy::{AT, STRICT, done, queues, tc, with_a_cable, wrong};
use crate::support::run;

fn classes() -> String {
    let ended = Command::new("tc").args(["-d", "class", "show", "dev", "sf0"]).output().unwrap();
    String::from_utf8(ended.stdout).unwrap()
}

fn is_well() {
    let status = done(&["status", "--dev", "sf0"]);
    assert!(!status.contains("WRONG"), "{status}");
}

/// Runs the command that `status` gives, for this policy.
pub(crate) fn put_right(status: &str, policy: &str) {
    let at = status.find("repair it with `").expect(status) + "repair it with `".len();
    let command = status[at..].split('`').next().unwrap().replace("POLICY", policy);
    for command in command.split(" && ") {
        let (program, arguments) = command.split_once(' ').unwrap();
        match program {
            "tc" => tc(arguments),
            "shortflow" => {
                let words = arguments.split('\'').enumerate().flat_map(|(at, part)| match at % 2 {
                    1 => vec![part],
                    _ => part.split_whitespace().collect(),
                });
                done(&words.collect::<Vec<_>>());
            }
            other => panic!("{other}: {status}"),
        }
    }
}

#[test]
fn a_reload_keeps_every_option_that_is_not_given_again_and_says_which() {
    with_a_cable(|| {
        let before = queues();
        let at = ["--dev", "sf0"];
        let first = ["--rate", "18 Mbit/s", "--set", "parameters.limit=77 pkt", "--nearest"];
        done(&[&["deploy", STRICT][..], &at, &first].concat());
        let reload = |more: &[&str]| {
            let ended = run(&[&["reload"][..], more, &at].concat());
            assert_eq!(ended.code, Some(0), "{}", ended.err);
            (ended.out, ended.err)
        };
        let (out, err) = reload(&[STRICT]);
        assert_eq!(out, "sf0: policy \"Strict Priority\", role core, 18 Mbit/s, 3 classes\n");
        let kept = "kept from the deployment: --set 'parameters.limit=77 pkt' --role core --rate '18 Mbit/s' --nearest";
        assert!(err.contains(kept), "{err}");
        assert!(classes().contains("ceil 18Mbit") && queues().contains("limit 77p"));

        // What is given is changed, and the rest stays, from then on.
        reload(&[STRICT, "--rate", "5 Mbit/s"]);
        assert!(queues().contains("limit 77p"));
        assert!(reload(&[STRICT]).0.contains("5 Mbit/s"));
        let json: serde_json::Value =
            serde_json::from_str(&done(&["status", "--dev", "sf0", "--json"])).unwrap();
        let deployed = &json["devices"][0]["deployed"];
        assert_eq!(deployed["rate_bit_per_s"], 5_000_000, "{deployed}");
        assert_eq!(deployed["set"][0], "parameters.limit=77 pkt", "{deployed}");

        // Keys are those of a policy; the line is the same for all.
        let (out, err) = reload(&["policies/best-effort.toml"]);
        assert!(out.contains("5 Mbit/s"), "{out}");
        assert!(
            err.contains(
                "not kept: --set 'parameters.limit=77 pkt', of policy \"Strict Priority\""
            ),
            "{err}"
        );
        let (out, err) = reload(&[STRICT, "--reset", "--rate", "9 Mbit/s"]);
        assert!(out.contains("9 Mbit/s") && !err.contains("kept"), "{err}");
        assert!(queues().contains("limit 200p"));

        done(&["undeploy", "--dev", "sf0"]);
        assert_eq!(queues(), before);
    });
}

#[test]
fn a_link_layer_is_shown_where_the_rate_is_as_the_policy_or_an_option_gave_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("atm.toml");
    let text = "name = \"Line\"\n[roles.core]\nqueue.shaper = { rate = \"10 Mbit/s\", link_layer = \"overhead 12 atm\", \
                queue.fifo = { limit = \"100 pkt\" } }\n";
    std::fs::write(&file, text).unwrap();
    let file = file.to_str().unwrap().to_owned();
    with_a_cable(move || {
        let is_shown = |layer: &str| {
            let status = done(&["status", "--dev", "sf0"]);
            let head = format!("sf0: policy \"Line\", role core, 10 Mbit/s over {layer}\n");
            assert!(status.starts_with(&head), "{status}");
            let json: serde_json::Value =
                serde_json::from_str(&done(&["status", "--dev", "sf0", "--json"])).unwrap();
            assert_eq!(json["devices"][0]["link_layer"], layer, "{json}");
        };
        done(&["deploy", &file, "--dev", "sf0"]);
        is_shown("overhead 12 atm");
        done(&["reload", &file, "--dev", "sf0", "--link-layer", "overhead 10 mpu 99 atm"]);
        is_shown("overhead 10 mpu 99 atm");
        done(&["reload", &file, "--dev", "sf0", "--link-layer", "raw"]);
        let status = done(&["status", "--dev", "sf0"]);
        assert!(status.starts_with("sf0: policy \"Line\", role core, 10 Mbit/s\n"), "{status}");
    });
}

#[test]
fn a_reload_keeps_the_rate_and_link_layer_of_a_shaper_where_the_new_policy_has_none() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, shaper: &str| {
        let path = folder.path().join(name);
        let text = format!(
            "name = {name:?}\n[roles.core]\nqueue.shaper = {{ {shaper}, queue.fifo = {{ limit = \"100 pkt\" }} }}\n"
        );
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let slow = file("slow", "rate = \"7 Mbit/s\", link_layer = \"overhead 12 atm\"");
    let fast = file("fast", "rate = \"9 Mbit/s\"");
    with_a_cable(move || {
        done(&["deploy", &slow, "--dev", "sf0"]);
        // A policy with a shaper brings its own rate.
        let out = done(&["reload", &fast, "--dev", "sf0"]);
        assert_eq!(out, "sf0: policy \"fast\", role core, 9 Mbit/s, 1 class\n");
        done(&["reload", &slow, "--dev", "sf0"]);
        let ended = run(&["reload", "policies/best-effort.toml", "--dev", "sf0"]);
        let expected =
            "sf0: policy \"Best Effort\", role core, 7 Mbit/s over overhead 12 atm, 1 class\n";
        assert_eq!((ended.code, &*ended.out), (Some(0), expected), "{}", ended.err);
        let kept = "--rate '7 Mbit/s' --link-layer 'overhead 12 atm' (--reset keeps nothing)";
        assert!(ended.err.contains(kept), "{}", ended.err);
        done(&["undeploy", "--dev", "sf0"]);
    });
}

#[test]
fn what_is_changed_by_hand_is_told_and_the_command_that_is_told_puts_it_right() {
    with_a_cable(|| {
        done(&[&["deploy", STRICT][..], &AT].concat());
        for (change, message) in [
            (
                "qdisc change dev sf0 parent 5f00:LEAF handle 5fHANDLE: pfifo limit 7",
                "the settings of the queue of class \"AF41+CS5+EF\" were changed by hand: pfifo limit 7",
            ),
            (
                "class change dev sf0 parent 5f00:fff0 classid 5f00:LEAF htb rate 1kbit ceil 1mbit prio 0",
                "the share of class \"AF41+CS5+EF\" was changed by hand: ",
            ),
            (
                "class change dev sf0 parent 5f00: classid 5f00:fff0 htb rate 1mbit",
                "the rate of the line was changed by hand: ",
            ),
            (
                "qdisc change dev sf0 parent 5f00:5f handle 5f5f: pfifo limit 7",
                "the settings of the queue of class \"unreadable headers\" were changed by hand",
            ),
            (
                "filter replace dev sf0 parent 5f00: protocol all pref 1 handle 1 bpf bytecode 1,6&0&0&0",
                "the filter for ARP and neighbour discovery was changed by hand",
            ),
            (
                "filter replace dev sf0 parent 5f00: protocol all pref PLACE handle 1 bpf bytecode 1,6&0&0&0",
                "the classifying filter was changed by hand",
            ),
            (
                "filter add dev sf0 parent 5f00: protocol ip pref 50 bpf bytecode 1,6&0&0&1593835521",
                "a filter of another program at the queues (parent 5f00:, pref 50)",
            ),
            (
                "filter add dev sf0 parent 5f00: protocol ip pref 50 u32 match u32 0 0 flowid 5f00:1",
                "a filter of another program at the queues (parent 5f00:, pref 50)",
            ),
        ] {
            let [leaf, handle, place] =
                if classes().contains(" 5f00:81 ") { ["81", "81", "3"] } else { ["1", "01", "2"] };
            let change =
                change.replace("LEAF", leaf).replace("HANDLE", handle).replace("PLACE", place);
            let words: Vec<String> = change.split(' ').map(|word| word.replace('&', " ")).collect();
            assert!(Command::new("tc").args(&words).status().unwrap().success(), "{change}");
            let status = wrong();
            assert!(status.contains(&format!("WRONG: {message}")), "{change}: {status}");
            put_right(&status, STRICT);
            is_well();
        }
    });
}

#[test]
fn a_root_that_somebody_takes_away_or_puts_another_in_the_place_of_is_missed() {
    with_a_cable(|| {
        let before = queues();
        done(&[&["deploy", STRICT][..], &AT, &["--set", "parameters.limit=77 pkt"]].concat());
        for (change, message) in [
            ("qdisc del dev sf0 root", "the queues of role `core` are missing on the device"),
            (
                "qdisc replace dev sf0 root handle 9: pfifo limit 9",
                "the queues of role `core` are missing on the device; pfifo 9: of another program",
            ),
        ] {
            tc(change);
            let status = wrong();
            assert!(status.starts_with("sf0: policy \"Strict Priority\""), "{status}");
            assert!(status.contains(&format!("WRONG: {message}")), "{status}");
            put_right(&status, STRICT);
            is_well();
            assert!(classes().contains("ceil 10Mbit") && queues().contains("limit 77p"));
        }
        tc("qdisc del dev sf0 root");
        done(&["undeploy", "--dev", "sf0"]);
        assert_eq!(queues(), before);
    });
}

#[test]
fn what_is_likely_to_go_wrong_is_told_on_the_terminal_and_in_json_alike() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("large.toml");
    let text = std::fs::read_to_string(
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(STRICT),
    )
    .unwrap()
        + "[[roles.edge.classes]]\nname = \"web\"\nmarker.token-bucket = { rate = \"10 Mbit/s\", depth = \"32 MB\" }\n";
    std::fs::write(&file, text.replace("[roles.edge]\n", "")).unwrap();
    let file = file.to_str().unwrap().to_owned();
    let bucket =
        "depth 32 MB takes 25 s to fill at 10 Mbit/s; bursts of that length count as in profile";
    let checked = run(&["check", &file]);
    assert!(checked.err.contains(bucket), "{}{}", checked.out, checked.err);
    assert!(done(&["check", &file, "--json"]).contains(bucket));
    assert!(run(&["check", &file, "-q"]).err.contains(bucket), "-q keeps warnings");
    with_a_cable(move || {
        let at = ["--role", "core", "--dev", "sf0", "--rate", "1 Mbit/s"];
        let pieces = "can delay packets of higher priority by 524 ms at 1 Mbit/s";
        let ended = run(&[&["deploy", &file][..], &at].concat());
        assert_eq!(ended.code, Some(0), "{}", ended.err);
        for message in [bucket, pieces, "disable it with `ethtool -K sf0 tso off gso off`"] {
            assert!(ended.err.contains(message), "{}", ended.err);
        }
        let quiet = run(&[&["reload", &file, "-q"][..], &at].concat()).err;
        assert!(quiet.contains(bucket) && quiet.contains(pieces), "{quiet}");
        let json = done(&[&["reload", &file, "--json"][..], &at].concat());
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        let warning = json["warnings"][0]["what"].as_str().unwrap();
        assert!(warning.contains(pieces), "{json}");
        assert!(json["of_policy"].to_string().contains(bucket), "{json}");
        assert_eq!(json["rate_bit_per_s"], 1_000_000);
    });
}

#[cfg(feature = "ebpf")]
pub(crate) const BOTH: [&str; 3] = ["policies/dstf.toml", "--role", "edge,core"];

/// Deploys a policy that marks and queues, where the kernel lets it.
#[cfg(feature = "ebpf")]
pub(crate) fn is_marking() -> bool {
    let ended = run(&[&["deploy"][..], &BOTH, &AT].concat());
    let is_skipped = ended.code == Some(3) && std::env::var_os("CI").is_none();
    if is_skipped {
        eprintln!("skipped: needs eBPF: {}", ended.err);
    } else {
        assert_eq!(ended.code, Some(0), "{}", ended.err);
    }
    !is_skipped
}

#[test]
#[cfg(feature = "ebpf")]
fn a_place_for_filters_that_somebody_takes_away_is_missed_with_what_marks() {
    with_a_cable(|| {
        let before = queues();
        if !is_marking() {
            return;
        }
        tc("qdisc del dev sf0 clsact");
        let status = wrong();
        let message = "WRONG: the marking program of role `edge` is missing on the device, as is \
            `clsact`: no packet is marked";
        assert!(status.contains(message), "{status}");
        let command = "shortflow reload POLICY --dev sf0 --role edge,core --rate '10 Mbit/s'";
        assert!(status.contains(command), "{status}");
        put_right(&status, BOTH[0]);
        is_well();
        done(&["undeploy", "--dev", "sf0"]);
        assert_eq!(queues(), before);
    });
}

#[test]
#[cfg(feature = "ebpf")]
fn markers_alone_are_missed_with_the_only_place_that_the_kernel_has_for_them() {
    with_a_cable(|| {
        if !is_marking() {
            return;
        }
        done(&["undeploy", "--dev", "sf0"]);
        let marks = ["--role", "edge", "--dev", "sf0", "--set", "description=\"of theirs\""];
        done(&[&["deploy", BOTH[0]][..], &marks].concat());
        is_well();
        tc("qdisc del dev sf0 clsact");
        let status = wrong();
        assert!(
            status.contains(
                "WRONG: the marking program of role `edge` is missing on the device, as is `clsact`"
            ),
            "{status}"
        );
        put_right(&status, BOTH[0]);
        is_well();
        // Who takes away what is gone already is done with it.
        tc("qdisc del dev sf0 clsact");
        done(&["undeploy", "--dev", "sf0"]);
        assert_eq!(run(&["status", "--dev", "sf0"]).code, Some(2));
        // A device that was made anew has never had it.
        done(&[&["deploy", BOTH[0]][..], &marks].concat());
        crate::deploy::ip("link del sf0").unwrap();
        crate::deploy::ip("link add sf0 type veth peer name sf1").unwrap();
        assert_eq!(run(&["status", "--dev", "sf0"]).code, Some(2));
    });
}

#[test]
#[cfg(feature = "ebpf")]
fn a_new_namespace_knows_nothing_of_what_was_deployed_in_one_that_is_gone() {
    let gone = || {
        with_a_cable(|| {
            let marks = ["--role", "edge", "--dev", "sf0", "--set", "description=\"of theirs\""];
            if is_marking() {
                done(&["undeploy", "--dev", "sf0"]);
                done(&[&["deploy", BOTH[0]][..], &marks].concat());
            }
        });
    };
    // The kernel numbers namespaces by the lowest number that is free, and devices likewise.
    for _ in 0..3 {
        gone();
        with_a_cable(|| assert_eq!(done(&["status"]), "no policy is deployed on this machine\n"));
    }
}

#[test]
#[cfg(feature = "ebpf")]
fn the_command_that_brings_a_marker_back_leaves_the_root_of_others() {
    with_a_cable(|| {
        tc("qdisc add dev sf0 root handle 7: pfifo limit 9");
        let marker = ["policies/dstf.toml", "--role", "edge", "--dev", "sf0"];
        let ended = run(&[&["deploy"][..], &marker].concat());
        if ended.code == Some(3) && std::env::var_os("CI").is_none() {
            return eprintln!("skipped: needs eBPF: {}", ended.err);
        }
        assert_eq!(ended.code, Some(0), "{}", ended.err);
        tc("qdisc del dev sf0 clsact");
        let status = wrong();
        assert!(!status.contains("tc qdisc del"), "{status}");
        put_right(&status, "policies/dstf.toml");
        is_well();
        assert!(queues().contains("pfifo 7: dev sf0 root"), "{}", queues());
    });
}

/// Ends the chain of programs before `clsact` for every packet of sf0, until its standard input ends. Its arguments say how
/// it is attached, and to which direction.
#[cfg(feature = "ebpf")]
const TCX: &str = r"
import ctypes, struct, socket, sys
libc = ctypes.CDLL(None, use_errno=True)
def bpf(command, attr):
    buffer = ctypes.create_string_buffer(attr, len(attr))
    result = libc.syscall(321, command, buffer, len(attr))
    if result < 0: sys.exit('bpf(%d): errno %d' % (command, ctypes.get_errno()))
    return result
point = 47 if sys.argv[2] == 'egress' else 46
code = struct.pack('<BBhi', 0xb7, 0, 0, 0) + struct.pack('<BBhi', 0x95, 0, 0, 0)
code = ctypes.create_string_buffer(code); gpl = ctypes.create_string_buffer(b'GPL\0')
program = bpf(5, struct.pack('<IIQQIIQII16sII', 3, 2, ctypes.addressof(code), ctypes.addressof(gpl), 0, 0, 0, 0, 0, b'other_program', 0, point))
device, by_link = socket.if_nametoindex('sf0'), sys.argv[1] == 'link'
if by_link: link = bpf(28, struct.pack('<IIIIIIQ', program, device, point, 0, 0, 0, 0))
else: bpf(8, struct.pack('<IIIIIIQ', device, program, point, 0, 0, 0, 0))
print('attached', flush=True); sys.stdin.read()
if not by_link: bpf(9, struct.pack('<IIIIIIQ', device, program, point, 0, 0, 0, 0))
";

/// Runs something while such a program is there; `None` if the kernel has no tcx.
#[cfg(all(feature = "ebpf", target_arch = "x86_64"))]
fn with_tcx<T>(by: &str, direction: &str, look: impl FnOnce() -> T) -> Option<T> {
    use std::io::BufRead;
    let mut child = Command::new("python3")
        .args(["-c", TCX, by, direction])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("python3 is there");
    let mut line = String::new();
    std::io::BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let is_attached = line == "attached\n";
    let found = is_attached.then(look);
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success() || line.is_empty());
    assert!(is_attached || std::env::var_os("CI").is_none(), "the kernel has no tcx");
    found
}

#[test]
#[cfg(all(feature = "ebpf", target_arch = "x86_64"))]
fn a_program_before_ours_at_tcx_is_named_and_wrong_until_it_is_gone() {
    with_a_cable(|| {
        if !is_marking() {
            return;
        }
        for (by, command) in [
            ("link", "repair it with `bpftool link detach id "),
            ("program", "repair it with `bpftool net detach tcx_egress dev sf0`"),
        ] {
            let look = || {
                let reload = [&["reload"][..], &BOTH, &AT, &["--quiet"]].concat();
                (run(&["status", "--dev", "sf0"]), run(&reload))
            };
            let Some((status, reload)) = with_tcx(by, "egress", look) else {
                return eprintln!("skipped: needs a kernel with tcx (6.6)");
            };
            let warned = "warning: another owner's program `other_program` (id ";
            assert!(reload.code == Some(0) && reload.err.contains(warned), "{}", reload.err);
            assert_eq!(status.code, Some(1), "{}", status.out);
            for message in [
                "WRONG: another owner's program `other_program` (id ",
                ") runs before Shortflow's at the egress (tcx): packets are not marked unless it returns",
                command,
            ] {
                assert!(status.out.contains(message), "{by}: {}", status.out);
            }
            is_well();
        }
    });
}

#[test]
#[cfg(all(feature = "ebpf", target_arch = "x86_64"))]
fn a_program_before_the_redirect_at_tcx_is_wrong_and_a_reload_names_it() {
    with_a_cable(|| {
        let at = ["--dev", "sf0", "--ingress", "--rate", "10 Mbit/s"];
        done(&[&["deploy", STRICT][..], &at].concat());
        let found = with_tcx("program", "ingress", || {
            (run(&["status"]), run(&["reload", STRICT, "--dev", "sf0", "--ingress"]))
        });
        let Some((status, reload)) = found else {
            return eprintln!("skipped: needs a kernel with tcx (6.6)");
        };
        let what = "runs before Shortflow's at the ingress (tcx): received packets are not shaped";
        assert_eq!(status.code, Some(1), "{}", status.out);
        assert!(status.out.contains(what), "{}", status.out);
        let command = "repair it with `bpftool net detach tcx_ingress dev sf0`";
        assert!(status.out.contains(command), "{}", status.out);
        assert!(reload.code == Some(0) && reload.err.contains(what), "{}", reload.err);
        is_well();
        done(&["undeploy", "--dev", "sf0"]);
    });
}
