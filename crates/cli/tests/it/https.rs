//! `shortflow agent run` over a web server that has a repository, then a mistake, then nonsense, and then is gone.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use shortflow_agent::{Bundle, ldap};

use crate::agent::{fleet, repository, start_from, until};
use crate::support::run;

/// A web server that gives everybody what it has at the moment.
struct Server {
    has: Arc<Mutex<Vec<u8>>>,
    address: SocketAddr,
}

impl Server {
    fn start() -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let has = Arc::new(Mutex::new(Vec::new()));
        let answer = has.clone();
        std::thread::spawn(move || {
            while let Ok((client, _)) = listener.accept() {
                let answer = answer.lock().unwrap().clone();
                // A client that hangs up hears no more.
                let _ = Server::tell(client, &answer);
            }
        });
        Server { has, address }
    }

    fn tell(mut client: TcpStream, answer: &[u8]) -> std::io::Result<()> {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            client.read_exact(&mut byte)?;
            head.extend(byte);
        }
        client.write_all(answer)
    }

    fn has(&self, body: &str) {
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
        *self.has.lock().unwrap() = [head.as_bytes(), body.as_bytes()].concat();
    }
}

#[test]
fn an_agent_follows_a_web_server_and_keeps_the_last_good_version_whatever_that_sends() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let text = |name: &str| {
        repository(&at.join(name), &fleet(name));
        ldap::write(&ldap::entries(&Bundle::read(&at.join(name)).unwrap(), "ou=shortflow"))
    };
    let server = Server::start();
    server.has(&text("first"));
    let url = format!("http://{}/fleet.ldif", server.address);
    let mut agent = start_from(at, &["--source", &url]);
    until(
        at,
        &["gw1: fleet \"first\", version 1 (", &format!("from {url}, written by an unknown user")],
    );
    let socket = at.join("agent.sock");
    let reload = || {
        let asked = run(&["agent", "reload", "--socket", socket.to_str().unwrap()]);
        assert_eq!(asked.code, Some(0), "{}", asked.err);
    };
    server.has(&text("second"));
    reload();
    until(at, &["gw1: fleet \"second\", version 2 ("]);
    server.has(
        &text("second")
            .replace("dn: cn=fleet.toml,", "dn: cn=no-fleet.toml,")
            .replace("cn: fleet.toml", "cn: no-fleet.toml"),
    );
    reload();
    until(at, &["version 2 (", " (as it is now) is refused:", "fleet.toml"]);
    server.has("<html>");
    reload();
    until(
        at,
        &[
            "version 2 (",
            " (as it is now) is refused:",
            "missing colon in this line",
            &format!("{url}:1:1"),
        ],
    );
    // Longer than what a reader may have of memory; it is left at 16 MB.
    let long = b"HTTP/1.1 200 OK\r\nContent-Length: 999999999999\r\n\r\n";
    *server.has.lock().unwrap() = [&long[..], &vec![b'#'; 20_000_000]].concat();
    reload();
    until(at, &["version 2 (", ": the server's answer is larger than the limit of 16 MB"]);
    server.has(&text("third"));
    until(at, &["gw1: fleet \"third\", version 3 ("]);
    // After some failures it is asked again by itself in 8 s or more, and at once where somebody wants that.
    *server.has.lock().unwrap() = b"HTTP/1.1 503 Not Now\r\nContent-Length: 0\r\n\r\n".to_vec();
    reload();
    until(at, &[": the server answers 503"]);
    std::thread::sleep(Duration::from_secs(9));
    server.has(&text("fourth"));
    let began = Instant::now();
    reload();
    until(at, &["gw1: fleet \"fourth\", version 4 ("]);
    assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
    kill(Pid::from_raw(agent.0.id() as i32), Signal::SIGTERM).unwrap();
    assert_eq!(agent.0.wait().unwrap().code(), Some(0));
}
