//! Rules that ask whose connection a packet is of. Needs the right to make network namespaces and groups of processes, and to load
//! eBPF.

use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::process::Command;

use shortflow_ebpf::Link;
use shortflow_ebpf::edge::{Direction, EdgeClass, EdgeMeter, EdgePlan, EdgeProgram, Owner};
use shortflow_elements::Color;
use shortflow_elements::classifier::{MultiField, PortRange, SenderMatch};
use shortflow_packet::{Dscp, Label};
use shortflow_testbed::{Device, PortKind};

use crate::edge::{Shown, all, compare_of, drawn};
use crate::hosts::{cgroup_root, read, two_hosts};

fn fixed(code_point: Dscp) -> EdgeClass {
    EdgeClass {
        meter: EdgeMeter::Fixed(Color::Green),
        code_points: Some([code_point; 3]),
        police: None,
    }
}

fn labelled(label: u16) -> MultiField {
    let label = Some(Label(label));
    MultiField { sender: Some(SenderMatch { label, ..SenderMatch::default() }), ..all() }
}

#[test]
fn a_label_that_a_socket_s_mark_tells_matches_as_in_the_element() {
    let web = Some(PortRange::new(80, 81).unwrap().into());
    let rules = [
        (MultiField { dst_ports: web, ..labelled(1) }, 0),
        (labelled(2), 1),
        (labelled(1), 2),
        (all(), 3),
    ];
    let classes = [Dscp::AF11, Dscp::AF12, Dscp::AF13, Dscp::BEST_EFFORT].map(fixed);
    let marked = drawn(1, 1_000)
        .zip([0, 1, 2, 3].into_iter().cycle())
        .map(|(shown, mark)| Shown { mark, ..shown });
    compare_of(&rules, &classes, marked);
}

#[test]
fn a_label_of_which_nobody_says_whose_it_is_is_refused() {
    let refused = |rule| {
        let owners = [(Label(1), Owner::Mark(1))];
        let class = [fixed(Dscp::AF11)];
        EdgePlan::with_owners(&[(rule, 0)], &class, &owners).unwrap_err().to_string()
    };
    assert_eq!(refused(labelled(2)), "a rule matches a label that has no owner");
}

/// A group of processes of a test's own, with one in it.
struct Groups(PathBuf);

impl Groups {
    fn new() -> std::io::Result<Groups> {
        let outer = cgroup_root()?.join(format!("shortflow-test-{}", std::process::id()));
        std::fs::create_dir(&outer)?;
        let groups = Groups(outer);
        std::fs::create_dir(groups.inner())?;
        Ok(groups)
    }

    fn inner(&self) -> PathBuf {
        self.0.join("inner")
    }
}

impl Drop for Groups {
    fn drop(&mut self) {
        for group in [self.inner(), self.0.clone()] {
            let _ = std::fs::remove_dir(group);
        }
    }
}

/// The code point of the next packet of 29 bytes that the host sends: a datagram of one.
fn next_code_point(device: &mut Device) -> u8 {
    let begun = std::time::Instant::now();
    let mut buffer = [0; 2048];
    while begun.elapsed() < std::time::Duration::from_secs(5) {
        match read(device, &mut buffer) {
            Some(29) if buffer[0] >> 4 == 4 => return buffer[1] >> 2,
            Some(_) => {}
            None => std::thread::sleep(std::time::Duration::from_micros(200)),
        }
    }
    panic!("no datagram has come");
}

#[test]
fn a_label_is_that_of_the_group_in_which_a_process_has_opened_its_socket_or_one_above_at_its_level()
{
    let attached = two_hosts(PortKind::Tun, 0, |home, [first, _]| {
        let groups = Groups::new()?;
        let id = |folder: &PathBuf| std::fs::metadata(folder).map(|about| about.ino());
        let (outer, inner) = (id(&groups.0)?, id(&groups.inner())?);
        let classes = [Dscp::AF11, Dscp::AF12, Dscp::AF13].map(fixed);
        // Others ask for groups that are none, at these levels and deeper ones, and for those at levels where they are not.
        let others = (3..60).map(|at: u8| (1 << 40 | u64::from(at), 1 + at % 4));
        let others = others.chain([(inner, 1), (outer, 2), (inner, 3)]);
        let asked: Vec<_> = others.chain([(inner, 2), (outer, 1)]).collect();
        let owner = |(id, level): &(u64, u8)| Owner::Group { id: *id, level: *level };
        let owners: Vec<_> = (1..).map(Label).zip(asked.iter().map(owner)).collect();
        let class = |(id, level): &(u64, u8)| match (*id, *level) {
            (id, 2) if id == inner => 0,
            (id, 1) if id == outer => 1,
            _ => 2,
        };
        let mut rules: Vec<_> = (1..).map(labelled).zip(asked.iter().map(class)).collect();
        rules.push((all(), 2));
        let plan = EdgePlan::with_owners(&rules, &classes, &owners)?;
        let program = EdgeProgram::load(&plan, Link::None)?;
        first.within(home, || program.attach(first.device, Direction::Egress))??;
        Ok((program, groups))
    });
    let Some((home, [first, _], mut devices, (_program, groups))) = attached else { return };
    let mut sent_from = |group: Option<PathBuf>| {
        let enter = group
            .map_or(String::new(), |group| format!("echo $$ > {}/cgroup.procs; ", group.display()));
        let script = format!("{enter}exec bash -c 'printf x > /dev/udp/10.0.0.2/9'");
        let run = || Command::new("bash").args(["-c", &script]).status();
        assert!(first.within(&home, run).unwrap().unwrap().success());
        next_code_point(&mut devices[0])
    };
    assert_eq!(sent_from(None), Dscp::AF13.value());
    assert_eq!(sent_from(Some(groups.0.clone())), Dscp::AF12.value());
    assert_eq!(sent_from(Some(groups.inner())), Dscp::AF11.value(), "below it");
    assert_eq!(sent_from(None), Dscp::AF13.value());
}

#[test]
fn a_socket_without_privileges_changes_its_label_by_its_priority_while_it_is_open() {
    let attached = two_hosts(PortKind::Tun, 0, |home, [first, _]| {
        let classes = [Dscp::AF11, Dscp::AF12, Dscp::AF13].map(fixed);
        let owners = [(Label(1), Owner::Priority(5)), (Label(2), Owner::Priority(1))];
        let rules = [(labelled(1), 0), (labelled(2), 1), (all(), 2)];
        let plan = EdgePlan::with_owners(&rules, &classes, &owners)?;
        let program = EdgeProgram::load(&plan, Link::None)?;
        first.within(home, || program.attach(first.device, Direction::Egress))??;
        Ok(program)
    });
    let Some((home, [first, _], mut devices, _program)) = attached else { return };
    let socket = first.within(&home, || std::net::UdpSocket::bind("10.0.0.1:0")).unwrap().unwrap();
    socket.connect("10.0.0.2:9").unwrap();
    let mut sent_with = |priority: i32| {
        nix::sys::socket::setsockopt(&socket, nix::sys::socket::sockopt::Priority, &priority)
            .unwrap();
        socket.send(b"x").unwrap();
        next_code_point(&mut devices[0])
    };
    assert_eq!(sent_with(0), Dscp::AF13.value(), "it has none");
    assert_eq!(sent_with(5), Dscp::AF11.value());
    assert_eq!(sent_with(1), Dscp::AF12.value());
    assert_eq!(sent_with(6), Dscp::AF13.value(), "nobody asks for it");
    assert_eq!(sent_with(5), Dscp::AF11.value());
}
