//! `shortflow agent run` over an LDAP directory: a real one, and ones that break the rules.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use shortflow_agent::{Bundle, FLEET};

use crate::agent::{fleet, repository, start, start_from, until};
use crate::slapd::{ADMIN, BASE, Like, Slapd};

#[test]
fn an_agent_follows_a_directory_through_changes_an_absence_and_a_wrong_password() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let like = Like { database: "overlay syncprov".to_owned(), ..Like::default() };
    repository(&at.join("fleet"), &fleet("first"));
    let first = Bundle::read(&at.join("fleet")).unwrap();
    let Some(mut slapd) = Slapd::with(&at.join("slapd"), &like, &first) else { return };
    let password = at.join("password");
    std::fs::write(&password, "secret\n").unwrap();
    let url = slapd.url.clone();
    let source = ["--source", &url, "--base", BASE, "--bind-dn", ADMIN, "--password-file"];
    let source = [&source[..], &[password.to_str().unwrap()]].concat();
    let mut agent = start_from(at, &source);
    until(
        at,
        &[
            "gw1: fleet \"first\", version 1 (",
            &format!("from {BASE} at {url}, written by {ADMIN}"),
        ],
    );
    slapd.replace(FLEET, &fleet("second"));
    until(at, &["gw1: fleet \"second\", version 2 ("]);
    slapd.kill();
    until(at, &["version 2 (", ": cannot connect: "]);
    slapd.again();
    slapd.replace(FLEET, &fleet("third"));
    until(at, &["gw1: fleet \"third\", version 3 ("]);
    kill(Pid::from_raw(agent.0.id() as i32), Signal::SIGTERM).unwrap();
    assert_eq!(agent.0.wait().unwrap().code(), Some(0));

    std::fs::write(&password, "wrong\n").unwrap();
    let _agent = start_from(at, &source);
    until(at, &["version 3 (", "LDAP result 49 (wrong name or password)"]);
}

/// A server on a loopback port that sends the same to everybody who asks, and then no more, until it is dropped.
struct Rude(String);

impl Rude {
    fn new(answer: &[u8], goes_on: bool) -> Rude {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("ldap://{}", listener.local_addr().unwrap());
        let answer = answer.to_owned();
        std::thread::spawn(move || {
            while let Ok((client, _)) = listener.accept() {
                // A client that hangs up hears no more.
                let _ = Rude::tell(client, &answer, goes_on);
            }
        });
        Rude(url)
    }

    fn tell(mut client: TcpStream, answer: &[u8], goes_on: bool) -> std::io::Result<()> {
        client.set_read_timeout(Some(Duration::from_secs(30)))?;
        client.read_exact(&mut [0; 1])?;
        client.write_all(answer)?;
        if goes_on {
            std::io::copy(&mut std::io::repeat(0), &mut client)?;
        }
        // It waits until the client hangs up.
        std::io::copy(&mut client, &mut std::io::sink()).map(|_| ())
    }
}

/// A sequence in a sequence, and so on: each is a tag, a length of four bytes, and the next.
fn nested(levels: u32) -> Vec<u8> {
    let of = |level: u32| [&[0x30, 0x84], &(6 * level).to_be_bytes()[..]].concat();
    (0..levels).rev().flat_map(of).collect()
}

/// The end of the first search, which went well (RFC 4511, §4.5.2).
const DONE: [u8; 14] = [0x30, 0x0c, 2, 1, 1, 0x65, 7, 0x0a, 1, 0, 4, 0, 4, 0];

#[test]
fn whatever_a_server_sends_the_agent_goes_on_with_the_last_good_version() {
    let answers = [
        ("no LDAP", b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec(), false),
        ("a message without anything", vec![0x30, 0x00], false),
        ("an entry without anything", [&[0x30, 5, 2, 1, 1, 0x64, 0], &DONE[..]].concat(), false),
        ("a control that is none", vec![0x30, 9, 2, 1, 1, 0x64, 0, 0xa0, 2, 4, 0], false),
        ("nested without end", nested(500_000), false),
        ("longer than memory", vec![0x30, 0x84, 0x7f, 0xff, 0xff, 0xff], true),
    ];
    std::thread::scope(|scope| {
        for (what, answer, goes_on) in &answers {
            scope.spawn(move || survives(what, answer, *goes_on));
        }
    });
}

/// An agent that has a good version outlives a server that answers so.
fn survives(what: &str, answer: &[u8], goes_on: bool) {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    repository(&at.join("fleet"), &fleet("good"));
    let agent = start(at);
    until(at, &["gw1: fleet \"good\", version 1 ("]);
    drop(agent);
    let rude = Rude::new(answer, goes_on);
    let mut agent = start_from(at, &["--source", &rude.0, "--base", BASE]);
    until(at, &["gw1: fleet \"good\", version 1 (", "cannot read "]);
    // Asked again, it comes to the same, and the agent is still there.
    std::thread::sleep(Duration::from_millis(1500));
    until(at, &["gw1: fleet \"good\", version 1 (", "cannot read "]);
    assert_eq!(agent.0.try_wait().unwrap(), None, "{what}");
    kill(Pid::from_raw(agent.0.id() as i32), Signal::SIGTERM).unwrap();
    assert_eq!(agent.0.wait().unwrap().code(), Some(0), "{what}");
}
