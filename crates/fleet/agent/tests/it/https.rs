//! An agent's source at a web server: Python's, over TLS; and servers that send what they should not.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use shortflow_agent::{Bundle, FLEET, Https, HttpsOptions, Source, ldap};

use crate::keys::certificates;

const TOKEN: &str = "aGVsbG8.dG9rZW4=";

fn repository(rate: &str) -> Bundle {
    let text =
        format!("[machines.gw1]\ninterfaces.wan = {{ device = \"eth0\", rate = \"{rate}\" }}\n");
    Bundle::new([(FLEET.to_owned(), text)])
}

/// As `agent export` writes it.
fn ldif(repository: &Bundle) -> String {
    ldap::write(&ldap::entries(repository, "ou=shortflow"))
}

/// Python's web server with one file, for who has the token.
struct Python {
    child: Child,
    said: BufReader<ChildStdout>,
    port: u16,
    folder: tempfile::TempDir,
}

impl Python {
    /// None where a tool is missing, which is told.
    fn start() -> Option<Python> {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path();
        certificates(at)?;
        std::fs::write(at.join("token"), format!("{TOKEN}\n")).unwrap();
        std::fs::write(at.join("fleet.ldif"), ldif(&repository("95 Mbit/s"))).unwrap();
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/https_server.py");
        let started = Command::new("python3")
            .arg(script)
            .args(["server.pem", "server.key", "ca.pem", "fleet.ldif", TOKEN])
            .current_dir(at)
            .stdout(Stdio::piped())
            .spawn();
        let Ok(mut child) = started else {
            assert!(std::env::var_os("CI").is_none(), "nothing may be skipped in CI");
            eprintln!("skipped: needs python3 (Debian: apt-get install python3)");
            return None;
        };
        let said = BufReader::new(child.stdout.take().unwrap());
        let mut python = Python { child, said, port: 0, folder };
        python.port = python.line().parse().unwrap();
        Some(python)
    }

    /// The next line that it prints: a status.
    fn line(&mut self) -> String {
        let mut line = String::new();
        self.said.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn source(&self, host: &str, authority: &Path) -> Https {
        let url = format!("https://{host}:{}/fleet.ldif", self.port);
        let token = self.path("token");
        Https::new(HttpsOptions::new(&url, Some(authority), None, Some(&token)).unwrap())
    }

    fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Python {
    fn drop(&mut self) {
        self.kill();
    }
}

#[test]
fn a_text_comes_over_tls_and_again_only_when_it_has_changed() {
    let Some(mut server) = Python::start() else { return };
    let mut source = server.source("127.0.0.1", &server.path("ca.pem"));
    assert_eq!(source.fetch().unwrap().bundle, repository("95 Mbit/s"));
    assert_eq!(server.line(), "200");
    assert_eq!(source.fetch().unwrap().bundle, repository("95 Mbit/s"));
    assert_eq!(server.line(), "304");
    std::fs::write(server.path("fleet.ldif"), ldif(&repository("90 Mbit/s"))).unwrap();
    assert_eq!(source.fetch().unwrap().bundle, repository("90 Mbit/s"));
    assert_eq!(server.line(), "200");
    // A token that is exchanged counts at once.
    std::fs::write(server.path("token"), "other\n").unwrap();
    assert_eq!(source.fetch().unwrap_err().to_string(), "the server answers 401 Unauthorized");
    std::fs::write(server.path("token"), TOKEN).unwrap();
    server.kill();
    let mut source = server.source("127.0.0.1", &server.path("ca.pem"));
    let why = source.fetch().unwrap_err().to_string();
    assert!(why.starts_with("cannot read from the server: "), "{why}");
    assert_eq!(source.fetch().unwrap_err().to_string(), why, "it is not asked again at once");
}

#[test]
fn a_server_is_believed_whose_certificate_is_of_the_authority_and_for_its_name() {
    let Some(server) = Python::start() else { return };
    let stranger = tempfile::tempdir().unwrap();
    let Some(stranger) = certificates(stranger.path()).map(|path| (path, stranger)) else { return };
    let refused = server.source("127.0.0.1", &stranger.0).fetch().unwrap_err().to_string();
    assert!(refused.contains("certificate"), "{refused}");
    let refused =
        server.source("localhost", &server.path("ca.pem")).fetch().unwrap_err().to_string();
    assert!(refused.contains("certificate"), "{refused}");
    assert!(server.source("127.0.0.1", &server.path("ca.pem")).fetch().is_ok());
}

#[test]
fn the_owner_of_a_certificate_is_known_by_it() {
    let Some(server) = Python::start() else { return };
    let (url, ca) = (format!("https://127.0.0.1:{}/", server.port), server.path("ca.pem"));
    let (certificate, key) = (server.path("agents.pem"), server.path("agents.key"));
    let of = |identity: Option<(&Path, &Path)>| {
        Https::new(HttpsOptions::new(&url, Some(&ca), identity, None).unwrap()).fetch()
    };
    assert_eq!(of(Some((&certificate, &key))).unwrap().bundle, repository("95 Mbit/s"));
    assert_eq!(of(None).unwrap_err().to_string(), "the server answers 401 Unauthorized");
}

/// A server that sends the same to everybody, over and over where it goes on, and then hangs up. It keeps what it was asked.
fn rude(answer: &[u8], goes_on: bool) -> (String, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/fleet.ldif", listener.local_addr().unwrap());
    let answer = answer.to_owned();
    let (heard, asked) = channel();
    let tell = move |mut client: TcpStream| -> std::io::Result<()> {
        client.set_read_timeout(Some(Duration::from_secs(10)))?;
        client.set_write_timeout(Some(Duration::from_secs(10)))?;
        let mut head = [0; 4096];
        let read = client.read(&mut head)?;
        let _ = heard.send(String::from_utf8_lossy(&head[..read]).into_owned());
        client.write_all(&answer)?;
        if goes_on {
            std::io::copy(&mut std::io::repeat(b'a'), &mut client)?;
        }
        Ok(())
    };
    std::thread::spawn(move || {
        while let Ok((client, _)) = listener.accept() {
            // A client that hangs up hears no more.
            let _ = tell(client);
        }
    });
    (url, asked)
}

/// What becomes of a server's answer.
fn fetched(answer: &[u8], goes_on: bool) -> Result<Bundle, String> {
    let (url, _) = rude(answer, goes_on);
    let options = HttpsOptions::new(&url, None, None, None).unwrap();
    let fetched = Https::new(options).fetch();
    fetched.map(|fetched| fetched.bundle).map_err(|why| why.to_string())
}

#[test]
fn what_is_no_whole_text_is_not_taken_and_is_told_in_words() {
    let good = ldif(&repository("95 Mbit/s"));
    let whole = |head: &str, body: &str| format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\n{body}");
    let sized = |length: usize, body: &str| whole(&format!("Content-Length: {length}"), body);
    assert_eq!(fetched(sized(good.len(), &good).as_bytes(), false), Ok(repository("95 Mbit/s")));
    let chunked = format!("{:x}\r\n{good}\r\n0\r\n\r\n", good.len());
    let chunked = whole("Transfer-Encoding: chunked", &chunked);
    assert_eq!(fetched(chunked.as_bytes(), false), Ok(repository("95 Mbit/s")));
    let golden: [(&str, Vec<u8>, bool, &str); 14] = [
        ("half", sized(good.len(), &good[..good.len() - 9]).into(), false, "cannot read from "),
        ("half a chunk", chunked[..chunked.len() - 30].into(), false, "cannot read from "),
        ("without a length", whole("A: b", &good).into(), false, "the server's answer may"),
        ("no byte", sized(0, "").into(), false, "error: the server's answer is empty"),
        ("a page", sized(5, "<html").into(), false, "error: missing colon in this line"),
        (
            "bytes",
            [sized(3, "").as_bytes(), b"a\xffb"].concat(),
            false,
            "the server's answer is not valid UTF-8 from byte 2",
        ),
        ("nonsense", b"what\r\n\r\n".into(), false, "invalid HTTP/1.1 answer"),
        ("nothing", b"".into(), false, "cannot read from the server: "),
        ("too much", sized(1 << 40, "").into(), true, "the server's answer is larger than"),
        ("a head without end", b"HTTP/1.1 200 OK\r\nA: ".into(), true, "the header of the"),
        (
            "elsewhere",
            b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n"
                .into(),
            false,
            "the server answers 302 Found, and redirects are not followed",
        ),
        (
            "not modified",
            b"HTTP/1.1 304 Not Modified\r\n\r\n".into(),
            false,
            "the server answers 304",
        ),
        (
            "an error",
            b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n".into(),
            false,
            "the server answers 503",
        ),
        ("no content", b"HTTP/1.1 204 No Content\r\n\r\n".into(), false, "the server answers 204"),
    ];
    for (what, answer, goes_on, wanted) in golden {
        let why = fetched(&answer, goes_on).unwrap_err();
        assert!(why.starts_with(wanted), "{what}: {why}");
    }
}

#[test]
fn a_server_without_entity_tags_is_asked_for_all_of_it_each_time() {
    let good = ldif(&repository("95 Mbit/s"));
    let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{good}", good.len());
    let (url, asked) = rude(answer.as_bytes(), false);
    let mut source = Https::new(HttpsOptions::new(&url, None, None, None).unwrap());
    for _ in 0..2 {
        source.fetch().unwrap();
        let head = asked.recv().unwrap().to_ascii_lowercase();
        assert!(!head.contains("if-none-match") && !head.contains("authorization"), "{head}");
    }
}

#[test]
fn what_cannot_be_meant_is_refused_before_anybody_connects() {
    let folder = tempfile::tempdir().unwrap();
    let token = folder.path().join("token");
    std::fs::write(&token, "two words\n").unwrap();
    let refused = |url: &str, ca: Option<&Path>, token: Option<&Path>| {
        HttpsOptions::new(url, ca, None, token).err().map(|error| error.to_string())
    };
    let in_token = format!("{}", token.display());
    let golden = [
        ("ftp://a/b", None, "invalid repository URL \"ftp://a/b\": it must begin with https://".to_owned()),
        ("https:///b", None, "invalid repository URL \"https:///b\": write https://host/path, with \
            the path in ASCII".to_owned()),
        ("https://a/ b", None, "invalid repository URL \"https://a/ b\": write https://host/path, \
            with the path in ASCII".to_owned()),
        (
            "http://localhost:99999/",
            None,
            "invalid repository URL \"http://localhost:99999/\": the port must be a number up to 65535"
                .to_owned(),
        ),
        (
            "https://a:/b",
            None,
            "invalid repository URL \"https://a:/b\": the port must be a number up to 65535".to_owned(),
        ),
        ("https://a:b@c/d", None, "invalid repository URL \"https://a:b@c/d\": a user name or \
            password is not allowed in it: use --token-file".to_owned()),
        ("http://127.0.0.1@c/d", None, "invalid repository URL \"http://127.0.0.1@c/d\": a user \
            name or password is not allowed in it: use --token-file".to_owned()),
        ("http://a.example.org/b", None, "the answers of http://a.example.org/b can be changed on \
            the way: use https://".to_owned()),
        ("https://a/b", Some(token.as_path()), format!("{in_token} has no valid token in its first \
            line: use letters, digits and -._~+/=")),
    ];
    for (url, token, message) in golden {
        assert_eq!(refused(url, None, token), Some(message), "{url}");
    }
    for url in
        ["http://127.0.0.1:80/a", "http://localhost/a", "http://[::1]:80/a", "https://a/b?c=d"]
    {
        assert_eq!(refused(url, None, None), None, "{url}");
    }
    let none = refused("https://a/b", Some(&token), None).unwrap();
    assert_eq!(none, format!("{in_token}: the file has no certificate"));
}
