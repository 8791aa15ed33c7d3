//! `shortflow agent`, as a user meets it.

#![cfg(target_os = "linux")]

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::deploy::{LABELLED, with_a_cable};
use crate::support::{printed_commands, run, shortflow};

const FLEET: &str = r#"
[machines.gw1]
tags = ["canary"]
interfaces.wan = { device = "sf0", rate = "10 Mbit/s" }

[machines.gw2]
interfaces.wan = { device = "ppp0", rate = "9 Mbit/s" }

[[assign]]
policy = "policies/strict-priority.toml"
"#;

/// A repository of this fleet in a folder, with the shipped policies.
pub(crate) fn repository(folder: &Path, fleet: &str) {
    let policies = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../policies");
    std::fs::create_dir_all(folder.join("policies")).unwrap();
    for name in ["strict-priority.toml", "best-effort.toml"] {
        std::fs::copy(policies.join(name), folder.join("policies").join(name)).unwrap();
    }
    std::fs::write(folder.join("fleet.toml"), fleet).unwrap();
}

/// A fleet in which this machine has no device, so that no kernel is needed.
pub(crate) fn fleet(name: &str) -> String {
    format!(
        "name = \"{name}\"\n\n[machines.gw1]\n\n[machines.gw2]\n\
         interfaces.wan = {{ device = \"ppp0\", rate = \"9 Mbit/s\" }}\n\n\
         [[assign]]\npolicy = \"policies/strict-priority.toml\"\n"
    )
}

#[test]
fn a_plan_tells_the_change_of_each_machine_and_refuses_a_mistake_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let (old, new) = (folder.path().join("old"), folder.path().join("new"));
    repository(&old, FLEET);
    let more =
        "\n[[assign]]\npolicy = \"policies/best-effort.toml\"\ntags = [\"canary\"]\npriority = 1\n";
    repository(&new, &format!("{FLEET}{more}"));
    let (old, new) = (old.to_str().unwrap(), new.to_str().unwrap());

    let plan = run(&["agent", "plan", new, "--from", old]);
    assert_eq!(plan.code, Some(0), "{}", plan.err);
    assert_eq!(
        plan.out,
        "gw1\n  wan (sf0)   change  policy \"Strict Priority\" → \"Best Effort\"\ngw2\n  wan (ppp0)  same    \
         \"Strict Priority\", 9 Mbit/s\n1 of 2 machines change; devices: 0 new, 1 changed, 0 removed, 1 unchanged\n"
    );
    let json = run(&["agent", "plan", new, "--machine", "gw2", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!(json["machines"][0]["devices"][0]["change"], "new");
    let unknown = run(&["agent", "plan", new, "--machine", "gw3"]);
    assert_eq!((unknown.code, unknown.err.contains("its machines are gw1, gw2")), (Some(2), true));

    std::fs::write(Path::new(new).join("fleet.toml"), FLEET.replace("10 Mbit/s", "10 Mbits"))
        .unwrap();
    let refused = run(&["agent", "plan", new]);
    assert_eq!(refused.code, Some(2));
    assert!(refused.err.contains("--> fleet.toml:4:43"), "{}", refused.err);
    let refused = run(&["agent", "plan", old, "--from", new]);
    assert!(refused.err.contains(&format!("--> {new}/fleet.toml:4:43")), "{}", refused.err);
    let none = run(&["agent", "plan", folder.path().to_str().unwrap()]);
    assert_eq!(none.code, Some(2), "{}", none.err);
}

#[test]
fn what_is_exported_is_imported_byte_for_byte_into_a_folder_that_is_not_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    repository(&folder.path().join("fleet"), FLEET);
    let export =
        run(&["agent", "export", &path("fleet"), "--base", "ou=shortflow,dc=example,dc=org"]);
    assert_eq!(export.code, Some(0), "{}", export.err);
    let left_out = "omitted, because no assignment names them: policies/best-effort.toml\n";
    assert!(export.err.contains(left_out), "{}", export.err);
    std::fs::write(path("fleet.ldif"), &export.out).unwrap();
    let import = run(&["agent", "import", &path("fleet.ldif"), "--into", &path("back")]);
    assert_eq!(import.code, Some(0), "{}", import.err);
    for name in ["fleet.toml", "policies/strict-priority.toml"] {
        let read = |folder: &str| std::fs::read(Path::new(&path(folder)).join(name)).unwrap();
        assert_eq!(read("back"), read("fleet"), "{name}");
    }
    let again = run(&["agent", "import", &path("fleet.ldif"), "--into", &path("back")]);
    assert_eq!((again.code, again.err.contains("already exists")), (Some(2), true));
    let odd = run(&["agent", "export", &path("fleet"), "--base", "shortflow"]);
    assert_eq!(odd.code, Some(2), "{}", odd.err);
    // A repository with a mistake is written nowhere.
    std::fs::write(path("bad.ldif"), export.out.replacen("cn: policies/", "cn: other/", 1))
        .unwrap();
    let refused = run(&["agent", "import", &path("bad.ldif"), "--into", &path("bad")]);
    assert_eq!(
        (refused.code, Path::new(&path("bad")).exists()),
        (Some(2), false),
        "{}",
        refused.err
    );
}

/// A process that is killed with the test.
pub(crate) struct Running(pub(crate) std::process::Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts the agent of gw1 over the repository `fleet` of a folder.
pub(crate) fn start(folder: &Path) -> Running {
    start_from(folder, &["--source", folder.join("fleet").to_str().unwrap()])
}

/// Starts the agent of gw1 over a source, with its state and its journal in a folder.
pub(crate) fn start_from(folder: &Path, source: &[&str]) -> Running {
    let (state, socket) = (folder.join("state"), folder.join("agent.sock"));
    let log =
        std::fs::File::options().create(true).append(true).open(folder.join("journal")).unwrap();
    let mut agent = shortflow(&["agent", "run", "--machine", "gw1"]);
    agent.args(source).arg("--state").arg(state).arg("--socket").arg(socket);
    Running(agent.stderr(log).spawn().unwrap())
}

/// Waits until `shortflow agent status` says all of this, and gives what it said.
pub(crate) fn until(folder: &Path, wanted: &[&str]) -> String {
    let socket = folder.join("agent.sock");
    let until = Instant::now() + Duration::from_secs(30);
    loop {
        let status = run(&["agent", "status", "--socket", socket.to_str().unwrap()]);
        if wanted.iter().all(|part| status.out.contains(part)) {
            return status.out;
        }
        let journal = std::fs::read_to_string(folder.join("journal")).unwrap();
        assert!(Instant::now() < until, "{}{}\n{journal}", status.out, status.err);
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// The device and its classes are among the metrics.
fn the_metrics_have_it(socket: &Path) {
    let metrics = run(&["agent", "metrics", "--socket", socket.to_str().unwrap()]);
    for line in [
        "shortflow_device_done{device=\"sf0\",interface=\"wan\",policy=\"Strict Priority\"} 1\n",
        "shortflow_device_rate_bytes_per_second{device=\"sf0\"} 1250000\n",
        "shortflow_class_packets_total{device=\"sf0\",class=\"",
    ] {
        assert!(metrics.out.contains(line), "{line}{}{}", metrics.out, metrics.err);
    }
}

fn a_refused_resume_prints_a_command_that_works(socket: &Path) {
    let resumed = run(&["agent", "resume", "--socket", socket.to_str().unwrap()]);
    assert!(resumed.err.contains("version 2, which is already active"), "{}", resumed.err);
    let [status] = &printed_commands(&resumed.err)[..] else { panic!("{}", resumed.err) };
    assert_eq!((resumed.code, status.code), (Some(2), Some(0)), "{}", status.err);
}

#[test]
fn an_agent_follows_its_folder_survives_a_kill_goes_back_and_ends_when_asked() {
    with_a_cable(|| {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path();
        repository(&at.join("fleet"), FLEET);
        let agent = start(at);
        until(
            at,
            &["gw1: fleet \"fleet\", version 1 (", "sf0: \"Strict Priority\", 10 Mbit/s: done"],
        );
        assert!(
            run(&["status"])
                .out
                .starts_with("sf0: policy \"Strict Priority\", role core, 10 Mbit/s\n")
        );

        let socket = at.join("agent.sock");
        the_metrics_have_it(&socket);

        // Half a file changes nothing.
        let fleet = at.join("fleet/fleet.toml");
        std::fs::write(&fleet, &FLEET[..FLEET.len() - 30]).unwrap();
        until(at, &["version 1 (", "is refused:", "--> fleet.toml:"]);
        std::fs::write(&fleet, FLEET.replace("strict-priority", "best-effort")).unwrap();
        until(at, &["version 2 (", "sf0: \"Best Effort\", 10 Mbit/s: done"]);

        // Killed, and the policy stands.
        drop(agent);
        assert!(run(&["status"]).out.starts_with("sf0: policy \"Best Effort\""));
        assert_eq!(run(&["undeploy", "--dev", "sf0"]).code, Some(0));
        let mut agent = start(at);
        until(at, &["version 2 (", "sf0: \"Best Effort\", 10 Mbit/s: done"]);
        assert!(run(&["status"]).out.starts_with("sf0: policy \"Best Effort\""));

        a_refused_resume_prints_a_command_that_works(&socket);
        let back = run(&["agent", "rollback", "--socket", socket.to_str().unwrap()]);
        let held = format!(
            "version 1 is now active\nthe source's current version is not applied until it changes, or by \
             `shortflow agent resume --socket {}`\n",
            socket.display()
        );
        assert_eq!((back.code, back.out.as_str()), (Some(0), held.as_str()), "{}", back.err);
        assert!(run(&["status"]).out.starts_with("sf0: policy \"Strict Priority\""));

        // What no assignment is for any more is given back.
        std::fs::write(&fleet, FLEET.replace("sf0", "sf1")).unwrap();
        until(at, &["version 3 (", "sf1: \"Strict Priority\", 10 Mbit/s: done"]);
        assert!(run(&["status"]).out.starts_with("sf1: policy"), "{}", run(&["status"]).out);

        kill(Pid::from_raw(agent.0.id() as i32), Signal::SIGTERM).unwrap();
        assert_eq!(agent.0.wait().unwrap().code(), Some(0));
        assert!(!socket.exists());
        assert!(run(&["status"]).out.starts_with("sf1: policy"), "what is deployed stays");
        let gone = run(&["agent", "status", "--socket", socket.to_str().unwrap()]);
        assert_eq!((gone.code, gone.err.contains("no agent answers at")), (Some(3), true));
        let log = run(&["agent", "log", "--state", at.join("state").to_str().unwrap()]).out;
        for part in [
            " accepted: ",
            " refused: ",
            " rolled back: from 2, to 1",
            " removed: device sf0",
            " stopped: ",
        ] {
            assert!(log.contains(part), "{part}\n{log}");
        }
    });
}

#[test]
fn two_devices_that_change_their_names_change_their_policies_with_them() {
    with_a_cable(|| {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path();
        repository(&at.join("fleet"), FLEET);
        let _agent = start(at);
        until(at, &["sf0: \"Strict Priority\", 10 Mbit/s: done"]);
        let script = "ip link set sf0 down; ip link set sf1 down; ip link set sf0 name x; ip link set sf1 name sf0; \
                      ip link set x name sf1; ip link set sf0 up; ip link set sf1 up";
        let ended = std::process::Command::new("sh").args(["-ec", script]).status();
        assert!(ended.unwrap().success());
        let until = Instant::now() + Duration::from_secs(30);
        loop {
            let status = run(&["status"]).out;
            if status.starts_with("sf0: policy \"Strict Priority\"") && !status.contains("sf1") {
                break;
            }
            assert!(Instant::now() < until, "{status}");
            std::thread::sleep(Duration::from_millis(200));
        }
        let log = run(&["agent", "log", "--state", at.join("state").to_str().unwrap()]).out;
        assert!(log.contains(" renamed: from sf0, to sf1\n"), "{log}");
    });
}

#[test]
fn killed_at_any_moment_it_leaves_a_state_and_a_device_from_which_the_next_agent_goes_on() {
    with_a_cable(|| {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path();
        repository(&at.join("fleet"), FLEET);
        let fleet = at.join("fleet/fleet.toml");
        // Each round has other texts to keep and to bring to the device; it ends a little later than the one before.
        for round in 0..12 {
            let rate = format!("{} Mbit/s", 10 + round);
            std::fs::write(&fleet, FLEET.replace("10 Mbit/s", &rate)).unwrap();
            let agent = start(at);
            std::thread::sleep(Duration::from_millis(100 * round));
            drop(agent);
        }
        let agent = start(at);
        until(at, &["sf0: \"Strict Priority\", 21 Mbit/s: done"]);
        drop(agent);
        assert!(
            run(&["status"])
                .out
                .starts_with("sf0: policy \"Strict Priority\", role core, 21 Mbit/s\n")
        );
        let versions = at.join("state/versions");
        for entry in std::fs::read_dir(&versions).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            assert!(name.parse::<u64>().is_ok(), "{name} was begun and not finished");
        }
    });
}

/// A fleet whose machine gives the two labels of a policy to these owners.
fn labelled(shell: &str) -> String {
    format!(
        "[machines.gw1]\nlabels = {{ shell = \"{shell}\", backup = \"mark:16\" }}\n\
         interfaces.wan = {{ device = \"sf0\" }}\n\n[[assign]]\npolicy = \"policies/thresholds.toml\"\n"
    )
}

#[test]
fn labels_are_those_of_the_machine_and_a_group_of_processes_that_is_not_there_leaves_the_device_as_it_was()
 {
    if !cfg!(feature = "ebpf") {
        assert!(std::env::var_os("CI").is_none(), "nothing may be skipped in CI");
        eprintln!("skipped: needs a build with eBPF");
        return;
    }
    with_a_cable(|| {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path();
        repository(&at.join("fleet"), &labelled("mark:7"));
        std::fs::write(at.join("fleet/policies/thresholds.toml"), LABELLED).unwrap();
        let _agent = start(at);
        until(at, &["version 1 (", "sf0: \"Thresholds\": done"]);
        let marked = run(&["status"]).out;
        assert!(marked.starts_with("sf0: policy \"Thresholds\", role host\n"), "{marked}");
        std::fs::write(at.join("fleet/fleet.toml"), labelled("cgroup:no.such.service")).unwrap();
        until(at, &["version 2 (", "failed: shell: unknown cgroup "]);
        // The kernel has packets of its own, which are counted meanwhile.
        let names = |status: &str| -> Vec<String> {
            status.lines().map(|line| line.split("  ").take(2).collect()).collect()
        };
        assert_eq!(names(&run(&["status"]).out), names(&marked));
        std::fs::write(at.join("fleet/fleet.toml"), labelled("mark:9")).unwrap();
        until(at, &["version 3 (", "sf0: \"Thresholds\": done"]);
    });
}

/// A bucket that fills by a byte in each millisecond, and a queue.
const BUCKET: &str = "name = \"Bucket\"\n[[roles.edge.classes]]\nname = \"all\"\nmatch = { protocol = \"udp\" }\n\
    marker.token-bucket = { rate = \"8 kbit/s\", depth = \"10 KB\" }\n[roles.core]\nqueue.fifo = { limit = \"100 pkt\" }\n";

#[test]
fn metrics_tell_how_full_a_bucket_is_that_packets_empty_and_time_fills() {
    if !cfg!(feature = "ebpf") {
        assert!(std::env::var_os("CI").is_none(), "nothing may be skipped in CI");
        return eprintln!("skipped: needs a build with eBPF");
    }
    with_a_cable(|| {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path();
        let fleet =
            FLEET.replace("strict-priority.toml\"", "bucket.toml\"\nroles = [\"edge\", \"core\"]");
        repository(&at.join("fleet"), &fleet);
        std::fs::write(at.join("fleet/policies/bucket.toml"), BUCKET).unwrap();
        let _agent = start(at);
        until(at, &["sf0: \"Bucket\", roles edge, core, 10 Mbit/s: done"]);
        let ip = |arguments: &str| {
            let ended = std::process::Command::new("ip").args(arguments.split(' ')).status();
            assert!(ended.unwrap().success());
        };
        ip("addr add 10.78.0.1/24 dev sf0");
        ip("neigh add 10.78.0.2 lladdr 02:00:00:00:00:02 dev sf0");
        let metric = |name: &str| -> f64 {
            let socket = at.join("agent.sock");
            let all = run(&["agent", "metrics", "--socket", socket.to_str().unwrap()]).out;
            let line = all.lines().find(|line| {
                line.starts_with(&format!("{name}{{device=\"sf0\",class=\"all\",bucket=\"1\"}}"))
            });
            line.unwrap_or_else(|| panic!("{all}")).rsplit(' ').next().unwrap().parse().unwrap()
        };
        let depth = metric("shortflow_edge_bucket_depth_bytes");
        assert_eq!((depth, metric("shortflow_edge_token_bytes") > 9_000.0), (10_000.0, true));
        let sender = std::net::UdpSocket::bind("10.78.0.1:0").unwrap();
        for _ in 0..8 {
            sender.send_to(&[0; 1000], "10.78.0.2:4000").unwrap();
        }
        let began = Instant::now();
        let emptied = metric("shortflow_edge_token_bytes");
        assert!(emptied < 5_000.0, "{emptied}");
        std::thread::sleep(Duration::from_secs(1));
        let filled = metric("shortflow_edge_token_bytes");
        // As much as has passed since, and no more than has while one asked.
        let max = began.elapsed().as_secs_f64() * 1000.0 + 1.0;
        assert!((1000.0..max).contains(&(filled - emptied)), "{emptied} {filled} {max}");
    });
}

/// A line of `/proc/PID/status`, for each thread of a process.
fn of_threads(pid: u32, line: &str) -> Vec<String> {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    let texts =
        threads.map(|thread| std::fs::read_to_string(thread.unwrap().path().join("status")));
    let lines = texts.filter_map(|text| {
        let text = text.ok()?;
        Some(text.lines().find_map(|it| it.strip_prefix(line))?.trim().to_owned())
    });
    lines.collect()
}

#[test]
fn a_running_agent_has_the_capabilities_that_its_unit_names_and_no_others_in_any_thread() {
    let all = of_threads(std::process::id(), "CapEff:");
    if u64::from_str_radix(&all[0], 16).unwrap() & (1 << 12) == 0 {
        assert!(std::env::var_os("CI").is_none(), "nothing may be skipped in CI");
        eprintln!("skipped: needs root");
        return;
    }
    with_a_cable(|| {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path();
        repository(&at.join("fleet"), FLEET);
        let agent = start(at);
        until(at, &["sf0: \"Strict Priority\", 10 Mbit/s: done"]);
        // linux/capability.h: CAP_NET_ADMIN, CAP_SYS_ADMIN, CAP_PERFMON, CAP_BPF.
        let kept: u64 = [12, 21, 38, 39].iter().map(|number| 1 << number).sum();
        for line in ["CapInh:", "CapPrm:", "CapEff:", "CapBnd:"] {
            let found = of_threads(agent.0.id(), line);
            assert!(found.len() > 2, "{found:?}");
            for set in found {
                let set = u64::from_str_radix(&set, 16).unwrap();
                assert_eq!(set & !kept, 0, "{line} {set:x}");
                assert!(line == "CapInh:" || set & (1 << 12) != 0, "{line} {set:x}");
            }
        }
        assert!(of_threads(agent.0.id(), "NoNewPrivs:").iter().all(|is_so| is_so == "1"));
        let unit = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../packages/systemd/shortflow-agent.service");
        let unit = std::fs::read_to_string(unit).unwrap();
        let bounds = "\nCapabilityBoundingSet=CAP_NET_ADMIN CAP_BPF CAP_PERFMON CAP_SYS_ADMIN\n";
        assert!(unit.contains(bounds));
    });
}

#[test]
fn metrics_for_everybody_are_refused_before_anything_is_done() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (state, socket) = (path("state"), path("agent.sock"));
    let more = ["--metrics", "0.0.0.0:9855", "--state", &state, "--socket", &socket];
    let ended =
        run(&[&["agent", "run", "--source", "fleet", "--machine", "gw1"], &more[..]].concat());
    assert_eq!(
        (
            ended.code,
            ended.err.contains("metrics are served on loopback only: use 127.0.0.1 or [::1]")
        ),
        (Some(2), true),
        "{}",
        ended.err
    );
    assert!(!Path::new(&socket).exists() && !Path::new(&state).exists());
}

#[test]
fn a_console_for_others_without_a_token_is_refused_before_anything_is_done() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (state, socket) = (path("state"), path("agent.sock"));
    let source =
        ["--source", "policies", "--machine", "gw1", "--state", &state, "--socket", &socket];
    std::fs::write(path("short"), "secret\n").unwrap();
    let short = path("short");
    let make = "create one: head -c 24 /dev/urandom | base64 | tr '+/' '-_' > FILE";
    for (more, wanted) in [
        (
            &["--console=0.0.0.0:9856"][..],
            "error: the console at 0.0.0.0:9856 is open to other machines and has no token\n  \
             set one: --console-token-file FILE\n"
                .to_owned(),
        ),
        (
            &["--console-token-file", &short],
            "error: --console-token-file requires --console\n  add --console\n".to_owned(),
        ),
        (
            &["--console=[::]:0", "--console-token-file", &short],
            format!(
                "error: invalid token in the first line of {short}: use 16 to 512 letters, digits, `-`, `.` and `_`\n  {make}\n"
            ),
        ),
    ] {
        let ended = run(&[&["agent", "run"], &source[..], more].concat());
        assert_eq!((ended.code, ended.err), (Some(2), wanted), "{more:?}");
        assert!(!Path::new(&socket).exists() && !Path::new(&state).exists());
    }
}

#[test]
fn a_token_that_others_can_read_is_taken_and_told_and_an_agent_is_named_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let token = path("token");
    std::fs::write(&token, "a-token-of-the-tests\n").unwrap();
    // Where it listens is no place for a socket, so that it ends by itself.
    let ends = |mode: u32| {
        std::fs::set_permissions(&token, std::fs::Permissions::from_mode(mode)).unwrap();
        let socket = ["--socket", "/dev/null/agent.sock", "--console=127.0.0.1:0"];
        let rest = ["--source", "policies", "--machine", "gw1", "--console-token-file", &token];
        run(&[&["agent", "run"], &socket[..], &rest].concat()).err
    };
    let message = format!("other users can read the console's token\nrun chmod 600 {token}\n");
    assert!(ends(0o644).contains(&message), "{}", ends(0o644));
    assert!(!ends(0o600).contains("chmod"), "{}", ends(0o600));
    let twice = run(&[
        "agent", "console", "--socket", "a.sock", "--socket", "b.sock", "--socket", "a.sock",
    ]);
    assert_eq!(
        (twice.code, twice.err.as_str()),
        (Some(2), "error: --socket a.sock is given twice\n  name each agent once\n")
    );
}

#[test]
fn a_source_that_cannot_be_meant_is_refused_before_anything_is_done() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (state, socket) = (path("state"), path("agent.sock"));
    let refused = |more: &[&str]| {
        let rest = ["--state", &state, "--socket", &socket, "--machine", "gw1"];
        let ended = run(&[&["agent", "run"], more, &rest].concat());
        assert!(!Path::new(&socket).exists());
        (ended.code, ended.err)
    };
    let (code, said) = refused(&["--source", "fleet", "--base", "dc=b"]);
    assert_eq!(
        (code, said.contains("--base requires a server, but --source is fleet")),
        (Some(2), true),
        "{said}"
    );
    // A file would never become a folder, however often the agent looks.
    let (plain, fleet) = (path("plain"), path("fleet.toml"));
    for file in [&plain, &fleet] {
        std::fs::write(file, "").unwrap();
    }
    let (code, said) = refused(&["--source", &plain]);
    let message = format!("--source {plain} is a file, but a source is a folder or a server");
    assert_eq!((code, said.contains(&message)), (Some(2), true), "{said}");
    let (code, said) = refused(&["--source", &fleet]);
    let help = format!("give its folder: --source {}", folder.path().display());
    assert_eq!((code, said.contains(&help)), (Some(2), true), "{said}");
    let (code, said) = refused(&["--source", "ldaps://a"]);
    match cfg!(feature = "network") {
        true => assert_eq!((code, said.contains("--base ou=shortflow")), (Some(2), true), "{said}"),
        false => assert_eq!(
            (code, said.contains("this build does not support servers")),
            (Some(3), true),
            "{said}"
        ),
    }
    if cfg!(feature = "network") {
        std::fs::write(path("empty"), "\n").unwrap();
        let password = path("empty");
        let given = [
            "--source",
            "ldaps://a",
            "--base",
            "dc=b",
            "--bind-dn",
            "cn=a",
            "--password-file",
            &password,
        ];
        let (code, said) = refused(&given);
        assert_eq!(
            (code, said.contains("no password in the first line of")),
            (Some(2), true),
            "{said}"
        );
        for (given, wanted) in [
            (&["--source", "ftp://a", "--base", "dc=b"][..], "invalid source URL `ftp://a`"),
            (&["--source", "https://a", "--base", "dc=b"], "--base requires"),
            (&["--source", "http://a.example.org/f"], "can be changed on the way: use https://"),
            (
                &["--source", "https://a", "--token-file", &password],
                "has no valid token in its first",
            ),
            (&["--source", "ldaps://a", "--token-file", "a"], "--token-file requires a web server"),
        ] {
            let (code, said) = refused(given);
            assert_eq!((code, said.contains(wanted)), (Some(2), true), "{said}");
        }
    }
}
