//! Applications without privileges that set the thresholds of their connections: the example web server, over the kernel's TCP.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::deploy::{ip, with_a_cable};
use crate::support::{command, run};

/// By bytes sent, whether applications have a say or not.
fn policy(thresholds: &str) -> String {
    format!(
        r#"name = "Objects"
[roles.servers]
thresholds = "{thresholds}"
[[roles.servers.classes]]
name = "web"
match = {{ src_port = 8080 }}
marker.dstf = {{ thresholds = ["20 KB", "100 KB"], code_points = ["AF11", "AF12", "AF13"] }}
"#
    )
}

/// Fetches objects over one connection, and prints the code points of the packets of each, in the order in which they first came.
const CLIENT: &str = r#"
import http.client, json, socket, sys
seen = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(0x0800))
seen.bind(("sf1", 0x0800))
seen.settimeout(0.3)
connection = http.client.HTTPConnection("10.77.4.1", 8080, timeout=20)
found = []
for path in sys.argv[1:]:
    connection.request("GET", path)
    answer = connection.getresponse()
    length = len(answer.read())
    points = []
    try:
        while True:
            packet = seen.recv(65535)
            at = 4 * (packet[0] & 15)
            data = int.from_bytes(packet[2:4], "big") - at - 4 * (packet[at + 12] >> 4) if packet[9] == 6 else 0
            if data > 0 and int.from_bytes(packet[at:at + 2], "big") == 8080 and packet[1] >> 2 not in points:
                points.append(packet[1] >> 2)
    except TimeoutError:
        pass
    found.append([answer.status, length, points])
print(json.dumps(found))
"#;

/// Sets the option of a socket of its own, and prints the error.
const ASK: &str = r#"
import errno, socket, sys
sys.path.insert(0, sys.argv[1])
import shortflow
connection = socket.socket()
try:
    shortflow.start_object(connection, [1000, 2000])
    print(*shortflow.current_object(connection))
except OSError as error:
    print(errno.errorcode[error.errno])
"#;

/// Sets the option of a listening socket, and of a connection that it has accepted after a line of input; prints both.
const HOLD: &str = r#"
import socket, sys
sys.path.insert(0, sys.argv[1])
import shortflow
listener = socket.create_server(("127.0.0.1", 0))
shortflow.set_thresholds(listener, [7])
client = socket.create_connection(listener.getsockname())
accepted, _ = listener.accept()
print(*shortflow.current_object(accepted), flush=True)
shortflow.start_object(accepted, [8, 9])
sys.stdin.readline()
print(*shortflow.current_object(accepted), flush=True)
"#;

/// A process that ends with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A web server at sf0 without privileges, and a client at sf1 in a network namespace of its own.
struct Site {
    folder: TempDir,
    there: Running,
    _server: Running,
}

impl Site {
    fn new() -> Result<Site, String> {
        let there = Command::new("unshare").args(["-n", "sleep", "600"]).spawn();
        let there = Running(there.map_err(|error| error.to_string())?);
        let id = there.0.id();
        let namespace = |id: &str| fs::read_link(format!("/proc/{id}/ns/net")).ok();
        let begun = Instant::now();
        while namespace(&id.to_string()) == namespace("thread-self") {
            if begun.elapsed() > Duration::from_secs(5) {
                return Err("no namespace is made by unshare".to_owned());
            }
            sleep(Duration::from_millis(5));
        }
        ip(&format!("link set sf1 netns {id}"))?;
        ip("addr add 10.77.4.1/24 dev sf0")?;
        ip("link set lo up")?;
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let readable = fs::Permissions::from_mode(0o755);
        fs::set_permissions(folder.path(), readable).map_err(|error| error.to_string())?;
        let site = Site { _server: Site::server(folder.path())?, folder, there };
        site.within("ip", &["addr", "add", "10.77.4.2/24", "dev", "sf1"])?;
        site.within("ip", &["link", "set", "sf1", "up"])?;
        Ok(site)
    }

    /// The example, copied to where every user may read it.
    fn server(folder: &Path) -> Result<Running, String> {
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../include");
        fs::create_dir(folder.join("examples")).unwrap();
        for file in ["shortflow.py", "examples/web_server.py"] {
            fs::copy(from.join(file), folder.join(file)).unwrap();
        }
        for (name, bytes) in [("small", 5_000), ("large", 300_000)] {
            fs::write(folder.join(name), vec![b'x'; bytes]).unwrap();
        }
        let mut server = Command::new("python3");
        server.args(["-B", "examples/web_server.py", "--folder", ".", "--port", "8080"]);
        // Without privileges.
        server.current_dir(folder).uid(65_534).gid(65_534).stderr(Stdio::null());
        let server = Running(server.spawn().map_err(|error| format!("python3: {error}"))?);
        let begun = Instant::now();
        while TcpStream::connect("127.0.0.1:8080").is_err() {
            if begun.elapsed() > Duration::from_secs(20) {
                return Err("the web server does not listen".to_owned());
            }
            sleep(Duration::from_millis(50));
        }
        Ok(server)
    }

    fn within(&self, program: &str, arguments: &[&str]) -> Result<String, String> {
        let id = self.there.0.id().to_string();
        let ended =
            Command::new("nsenter").args(["-n", "-t", &id, program]).args(arguments).output();
        let ended = ended.map_err(|error| error.to_string())?;
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        ended.status.success().then(|| String::from_utf8(ended.stdout).unwrap()).ok_or(said)
    }

    /// The code points of each object that is fetched, all over one connection.
    fn fetched(&self) -> Vec<Vec<u64>> {
        let paths = ["/small", "/large", "/small", "/large"];
        let client = [&["-c", CLIENT][..], &paths].concat();
        let found = self.within("python3", &client).unwrap();
        let found: Value = serde_json::from_str(&found).unwrap();
        let of = |(path, object): (&str, &Value)| {
            let bytes = if path == "/small" { 5_000 } else { 300_000 };
            assert_eq!((&object[0], &object[1]), (&json!(200), &json!(bytes)), "{object}");
            object[2].as_array().unwrap().iter().map(|one| one.as_u64().unwrap()).collect()
        };
        paths.into_iter().zip(found.as_array().unwrap()).map(of).collect()
    }

    fn write(&self, thresholds: &str) -> String {
        let file = self.folder.path().join("policy.toml");
        fs::write(&file, policy(thresholds)).unwrap();
        file.display().to_string()
    }

    /// What a process without privileges is answered that sets the option, in this cgroup if any.
    fn answer(&self, cgroup: Option<&Path>) -> String {
        let enter = cgroup
            .map_or(String::new(), |path| format!("echo $$ > '{}/cgroup.procs'; ", path.display()));
        let script = format!(
            "{enter}exec setpriv --reuid 65534 --clear-groups env PATH=/usr/local/bin:/usr/bin:/bin python3 -B -c \"$0\" \"$1\""
        );
        let mut ask = command("bash");
        ask.args(["-c", &script, ASK]).arg(self.folder.path());
        let ended = ask.output().unwrap();
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert!(ended.status.success(), "{said}");
        String::from_utf8(ended.stdout).unwrap().trim().to_owned()
    }
}

/// None, and a word on what is lacking, where there can be none; on CI there must.
fn with_a_site(test: impl FnOnce(&Site) + Send + 'static) {
    with_a_cable(|| match Site::new() {
        Ok(site) => test(&site),
        Err(why) if std::env::var_os("CI").is_none() => {
            eprintln!("skipped: needs network namespaces and python3: {why}");
        }
        Err(why) => panic!("nothing may be skipped in CI: {why}"),
    });
}

/// Whether it was deployed; else the machine lacks eBPF or cgroups of version 2.
fn is_done(arguments: &[&str]) -> bool {
    let ended = run(arguments);
    if ended.code == Some(3) && std::env::var_os("CI").is_none() {
        eprintln!("skipped: needs eBPF and cgroup2: {}", ended.err);
        return false;
    }
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    true
}

/// One test at a time has the option at the root cgroup, or none there.
static ALONE: Mutex<()> = Mutex::new(());

const FIRST: u64 = 10; // AF11
const SECOND: u64 = 12;
const LAST: u64 = 14;

#[test]
fn a_server_without_privileges_marks_objects_by_their_size_over_one_connection() {
    let _alone = ALONE.lock();
    with_a_site(|site| {
        assert_eq!(site.answer(None), "ENOPROTOOPT", "nothing is deployed");
        if !is_done(&["deploy", &site.write("application"), "--dev", "sf0"]) {
            return;
        }
        assert_eq!(site.answer(None), "True [1000, 2000]");
        // The server says which level objects have, and the count begins again with each.
        assert_eq!(site.fetched(), [vec![FIRST], vec![LAST], vec![FIRST], vec![LAST]]);
        let status = run(&["status", "--dev", "sf0"]);
        assert_eq!(status.code, Some(0), "{}", status.out);
        let line = "  applications in the root cgroup may set thresholds\n";
        assert!(status.out.contains(line), "{}", status.out);

        // An accepted connection has the thresholds of its listener, and a reload keeps what applications have said.
        let mut hold = command("python3");
        hold.args(["-B", "-c", HOLD]).arg(site.folder.path());
        let mut hold = Running(hold.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap());
        let mut said = BufReader::new(hold.0.stdout.take().unwrap()).lines();
        assert_eq!(said.next().unwrap().unwrap(), "False [7]");
        assert!(is_done(&["reload", &site.write("application"), "--dev", "sf0"]));
        hold.0.stdin.take().unwrap().write_all(b"\n").unwrap();
        assert_eq!(said.next().unwrap().unwrap(), "True [8, 9]");

        // Where the policy alone says it, the connection's bytes count from its beginning.
        assert!(is_done(&["reload", &site.write("policy"), "--dev", "sf0"]));
        let by_policy = [vec![FIRST], vec![FIRST, SECOND, LAST], vec![LAST], vec![LAST]];
        assert_eq!(site.fetched(), by_policy);
        assert_eq!(site.answer(None), "ENOPROTOOPT");

        assert!(is_done(&["reload", &site.write("application"), "--dev", "sf0"]));
        assert_eq!(site.fetched()[2], [FIRST]);
        assert!(is_done(&["undeploy", "--dev", "sf0"]));
        assert_eq!(site.answer(None), "ENOPROTOOPT", "it went with the policy");
        assert_eq!(site.fetched(), [[0], [0], [0], [0]]);
    });
}

/// A cgroup of the test's own.
struct Group(PathBuf);

impl Group {
    fn new() -> Option<Group> {
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
        let mut mounts = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>());
        let root = mounts.find(|fields| fields.get(2) == Some(&"cgroup2"))?[1];
        let group =
            Group(PathBuf::from(root).join(format!("shortflow-objects-{}", std::process::id())));
        fs::create_dir(&group.0).ok()?;
        Some(group)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

#[test]
fn only_processes_of_the_given_cgroup_set_thresholds_and_status_says_when_the_cgroup_is_gone() {
    let _alone = ALONE.lock();
    with_a_site(|site| {
        let Some(group) = Group::new() else {
            return eprintln!("skipped: needs root and cgroup2");
        };
        let path = group.0.display().to_string();
        let policy = site.write("application");
        if !is_done(&["deploy", &policy, "--dev", "sf0", "--cgroup", &path]) {
            return;
        }
        assert_eq!(site.answer(None), "ENOPROTOOPT");
        assert_eq!(site.answer(Some(&group.0)), "True [1000, 2000]");
        // A reload keeps the cgroup.
        let reloaded = run(&["reload", &policy, "--dev", "sf0", "--json"]);
        assert_eq!(reloaded.code, Some(0), "{}", reloaded.err);
        assert!(reloaded.out.contains(&format!("--cgroup {path}")), "{}", reloaded.out);
        assert_eq!(site.answer(Some(&group.0)), "True [1000, 2000]");
        assert_eq!(site.answer(None), "ENOPROTOOPT");

        // Another device may have another cgroup: processes in both say it to both.
        ip("link add sf9 type veth peer name sf8").and_then(|()| ip("link set sf9 up")).unwrap();
        assert!(is_done(&["deploy", &policy, "--dev", "sf9"]));
        assert_eq!(site.answer(None), "True [1000, 2000]");
        assert_eq!(site.answer(Some(&group.0)), "True [1000, 2000]");
        assert!(is_done(&["undeploy", "--dev", "sf9"]));
        assert_eq!(site.answer(None), "ENOPROTOOPT");
        assert_eq!(site.answer(Some(&group.0)), "True [1000, 2000]");

        fs::remove_dir(&group.0).unwrap();
        let status = run(&["status", "--dev", "sf0"]);
        assert_eq!(status.code, Some(1), "{}", status.out);
        let wrong = format!(
            "WRONG: applications cannot set thresholds: the cgroup {path} has no socket option of Shortflow any more"
        );
        assert!(status.out.contains(&wrong), "{}", status.out);
        fs::create_dir(&group.0).unwrap();
        assert!(is_done(&["reload", &policy, "--dev", "sf0"]));
        assert_eq!(run(&["status", "--dev", "sf0"]).code, Some(0));
        assert_eq!(site.answer(Some(&group.0)), "True [1000, 2000]");
        assert!(is_done(&["undeploy", "--dev", "sf0"]));
        assert_eq!(site.answer(Some(&group.0)), "ENOPROTOOPT");
    });
}

#[test]
fn a_cgroup_that_nothing_uses_or_that_is_none_is_refused() {
    with_a_cable(|| {
        let refused = |policy: &str, cgroup: &str| {
            let folder = tempfile::tempdir().unwrap();
            let file = folder.path().join("policy.toml");
            fs::write(&file, policy).unwrap();
            let file = file.display().to_string();
            let ended = run(&["deploy", &file, "--dev", "sf0", "--cgroup", cgroup]);
            assert_eq!(ended.code, Some(2), "{}", ended.err);
            ended.err
        };
        let unused = refused(&policy("policy"), "/");
        assert!(
            unused.contains("--cgroup applies where a role has `thresholds = \"application\"`"),
            "{unused}"
        );
        let none = refused(&policy("application"), "/proc");
        assert!(none.contains("/proc is not a cgroup of version 2: it has no file"), "{none}");
    });
}
