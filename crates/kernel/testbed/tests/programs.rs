//! Programs inside hosts. Needs the right to make namespaces, TUN, and a shell.

#![cfg(target_os = "linux")]

use std::io::Read;
use std::net::IpAddr;
use std::os::unix::process::ExitStatusExt;
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};

use shortflow_testbed::{
    Device, Home, Host, HostSpec, Ports, Program, ProgramSpec, Streams, Terminal,
};

/// None, and a word on what is lacking, where hosts cannot be made; on CI they must.
fn host() -> Option<(Host, Device)> {
    let addresses = vec![IpAddr::from([10, 0, 0, 1]), "fd00::1".parse().unwrap()];
    let spec = HostSpec { addresses, mtu: 1500, queue: 100, ..HostSpec::default() };
    match Home::find().and_then(|home| Ports::Tun.host(&home, &spec)) {
        Ok(made) => Some(made),
        Err(lacking) if std::env::var_os("CI").is_none() => {
            eprintln!("skipped: needs hosts: {lacking}");
            None
        }
        Err(lacking) => panic!("needs hosts: {lacking}"),
    }
}

/// A shell that runs this on a host called `north`, beside one called `south`.
fn shell(line: &str) -> ProgramSpec {
    let names = [([10, 0, 0, 1], "north"), ([10, 0, 0, 2], "south")];
    let names = names.map(|(address, name)| (IpAddr::from(address), name.to_owned()));
    ProgramSpec {
        command: ["/bin/sh", "-c", line].map(Into::into).into(),
        host: "north".to_owned(),
        names: names.into(),
        user: None,
    }
}

fn quiet() -> Streams {
    let [input, output, errors] = [(); 3].map(|()| Stdio::null());
    Streams { input, output, errors, terminal: Terminal::None }
}

fn status(program: &Program) -> ExitStatus {
    let begun = Instant::now();
    loop {
        if let Some(status) = program.ended() {
            return status;
        }
        assert!(begun.elapsed() < Duration::from_secs(10), "the program does not end");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// What a line says, whose exit code is to be 0.
fn said(host: &Host, line: &str) -> String {
    let (mut reader, writer) = std::io::pipe().unwrap();
    let streams = Streams { output: writer.into(), ..quiet() };
    let program = Program::start(host, shell(line), streams).unwrap();
    let mut text = String::new();
    reader.read_to_string(&mut text).unwrap();
    assert_eq!(status(&program).code(), Some(0), "{line}: {text}");
    text
}

#[test]
fn a_name_that_is_too_long_for_a_kernel_is_cut_where_it_has_but_one() {
    let Some((host, _device)) = host() else { return };
    let long = "n".repeat(80);
    let (mut reader, writer) = std::io::pipe().unwrap();
    let spec = ProgramSpec { host: long.clone(), ..shell("hostname") };
    let streams = Streams { output: writer.into(), ..quiet() };
    let program = Program::start(&host, spec, streams).unwrap();
    let mut text = String::new();
    reader.read_to_string(&mut text).unwrap();
    assert_eq!((status(&program).code(), text.trim_end()), (Some(0), &long[..64]));
}

#[test]
fn a_program_has_the_host_s_network_and_name_and_knows_all_hosts_by_name() {
    let Some((host, _device)) = host() else { return };
    assert_eq!(said(&host, "hostname"), "north\n");
    assert_eq!(said(&host, "ls /sys/class/net"), "eth0\nlo\n");
    let names = said(&host, "cat /etc/hosts");
    assert!(names.ends_with("10.0.0.1 north\n10.0.0.2 south\n"), "{names}");
    assert!(said(&host, "getent ahostsv4 south").starts_with("10.0.0.2"));
    let processes = said(&host, "ls /proc | grep -c '^[0-9]'");
    assert!(processes.trim().parse::<u32>().unwrap() < 6, "it sees its own only: {processes}");
}

#[test]
fn the_machine_s_names_and_mounts_are_as_before() {
    let Some((host, _device)) = host() else { return };
    let read = |path: &str| std::fs::read_to_string(path).unwrap();
    let look = || ["/etc/hosts", "/proc/self/mounts", "/proc/sys/kernel/hostname"].map(read);
    let before = look();
    let program = Program::start(&host, shell("sleep 60"), quiet()).unwrap();
    assert_eq!(look(), before);
    drop(program);
    assert_eq!(look(), before);
}

#[test]
fn how_a_program_ended_is_told() {
    let Some((host, _device)) = host() else { return };
    let ended = |line: &str| status(&Program::start(&host, shell(line), quiet()).unwrap());
    assert_eq!(ended("exit 7").code(), Some(7));
    assert_eq!(ended("no-such-program").code(), Some(127));
    assert_eq!(ended("kill -SEGV $$").signal(), Some(11));
    let missing = ProgramSpec { command: vec!["/no/such/shell".into()], ..shell("") };
    let refused = Program::start(&host, missing, quiet()).unwrap_err().to_string();
    assert!(refused.contains("No such file"), "{refused}");
}

#[test]
fn an_interrupted_program_may_say_its_last_word() {
    let Some((host, _device)) = host() else { return };
    let (mut reader, writer) = std::io::pipe().unwrap();
    let streams = Streams { output: writer.into(), ..quiet() };
    let line = "trap 'echo bye; exit 3' INT; echo up; while :; do sleep 0.05; done";
    let program = Program::start(&host, shell(line), streams).unwrap();
    let mut up = [0; 3];
    reader.read_exact(&mut up).unwrap();
    program.interrupt();
    assert_eq!(status(&program).code(), Some(3));
    program.interrupt();
}

#[test]
fn what_a_program_has_left_behind_ends_with_it() {
    let Some((host, _device)) = host() else { return };
    let (mut reader, writer) = std::io::pipe().unwrap();
    let streams = Streams { output: writer.into(), ..quiet() };
    // It is its own session's first process, ignores what it can, and its parent is gone.
    let line = "setsid sh -c 'trap \"\" INT TERM HUP; sleep 60; :' & exit 0";
    let mut program = Program::start(&host, shell(line), streams).unwrap();
    assert_eq!(status(&program).code(), Some(0));
    let begun = Instant::now();
    program.end();
    // Whoever still lived would hold the other end of the pipe.
    assert_eq!(reader.read(&mut [0]).unwrap(), 0);
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
}
