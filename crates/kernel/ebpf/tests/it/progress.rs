//! Rules that ask how far a connection is: what it has sent, and what remains of what its application has handed in. Needs the
//! right to make network namespaces and to load eBPF.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use shortflow_ebpf::Link;
use shortflow_ebpf::edge::{Direction, EdgeClass, EdgeMeter, EdgePlan, EdgeProgram};
use shortflow_elements::Color;
use shortflow_elements::classifier::{Classifier, MultiField, SenderMatch};
use shortflow_packet::{Dscp, Label, SenderView, TcpFlags};
use shortflow_testbed::{Device, Home, Host, PortKind};
use shortflow_units::{Bytes, Rng};
use shortflow_wire::{Layers, Transport};
use socket2::{Domain, Socket, Type};

use crate::edge::{Shown, all, compare_of, drawn};
use crate::hosts::{read, two_hosts};

const CODE_POINTS: [Dscp; 5] = [Dscp::AF11, Dscp::AF12, Dscp::AF13, Dscp::EF, Dscp::BEST_EFFORT];

fn classes() -> Vec<EdgeClass> {
    let class = |code_point: Dscp| EdgeClass {
        meter: EdgeMeter::Fixed(Color::Green),
        code_points: Some([code_point; 3]),
        police: None,
    };
    CODE_POINTS.map(class).to_vec()
}

fn asking(sent: Option<u64>, remaining: Option<u64>, label: Option<u16>) -> MultiField {
    let asked = SenderMatch {
        label: label.map(Label),
        sent_up_to: sent.map(Bytes),
        remaining_up_to: remaining.map(Bytes),
        byte_range: false,
    };
    MultiField { sender: Some(asked), ..all() }
}

#[test]
fn a_connection_is_as_far_as_in_the_element_whatever_is_known_of_it() {
    let rules = [
        (asking(Some(0), None, None), 0),
        (asking(Some(10_000), Some(1_000), None), 1),
        (asking(Some(20_000), None, Some(1)), 2),
        (asking(None, Some(0), None), 3),
        (asking(None, Some(u64::MAX), Some(2)), 3),
        (all(), 4),
    ];
    let mut rng = Rng::stream(1, "connections");
    let shown = drawn(1, 1_000).map(move |shown| {
        let mut bytes = |max: u32| match rng.below(4) {
            0 => 0,
            1 => max,
            2 => max + 1,
            _ => rng.below(100_000) as u32,
        };
        let (sent, remaining) = (bytes([10_000, 20_000][rng_bit(&shown)]), bytes(1_000));
        match shown.draw % 4 {
            0 => shown,
            1 => Shown { sent: Some(sent), ..shown },
            2 => Shown { sent: Some(sent), remaining: Some(remaining), ..shown },
            _ => {
                let mark = 1 + (shown.draw >> 8 & 1) as u16;
                Shown { sent: Some(sent), remaining: Some(remaining), mark, ..shown }
            }
        }
    });
    compare_of(&rules, &classes(), shown);
}

fn rng_bit(shown: &Shown) -> usize {
    (shown.draw >> 16 & 1) as usize
}

/// What the application hands in, in one call.
const HANDED_IN: u64 = 60_000;
/// With timestamps, at an MTU of 1500 bytes.
const SEGMENT: u64 = 1_448;
/// Bounds on which segments begin: a byte less, and another class has them.
const SENT: u64 = 12 * SEGMENT;
const REMAINING: u64 = HANDED_IN - 29 * SEGMENT;

/// Carries packets between the hosts until told to stop, of the first's data none before `is_handed_in`, and every `loss`-th not
/// at all; the packets of the first.
fn carry(
    devices: &mut [Device; 2],
    [is_handed_in, stop]: [&AtomicBool; 2],
    loss: usize,
) -> Vec<Vec<u8>> {
    let (begun, mut buffer, mut large) = (Instant::now(), [0; 2048], 0);
    let (mut carried, mut held): (Vec<Vec<u8>>, Vec<Vec<u8>>) = (Vec::new(), Vec::new());
    while !stop.load(Ordering::Relaxed) && begun.elapsed() < Duration::from_secs(10) {
        let mut is_idle = true;
        while let Some(length) = read(&mut devices[0], &mut buffer) {
            is_idle = false;
            let packet = buffer[..length].to_vec();
            large += usize::from(packet.len() > 1000);
            if packet.len() <= 1000 || large % loss != 0 {
                held.push(packet.clone());
            }
            carried.push(packet);
        }
        let may_pass = is_handed_in.load(Ordering::Acquire);
        let passing = held.extract_if(.., |packet| packet.len() <= 1000 || may_pass);
        passing.for_each(|packet| drop(devices[1].write(&packet)));
        while let Some(length) = read(&mut devices[1], &mut buffer) {
            is_idle = false;
            let _ = devices[0].write(&buffer[..length]);
        }
        if is_idle {
            std::thread::sleep(Duration::from_micros(200));
        }
    }
    carried
}

/// A transfer of a host whose device marks by its progress, over a line that loses every `loss`-th segment.
fn transfer(loss: usize) -> Option<Vec<Vec<u8>>> {
    let attached = two_hosts(PortKind::Tun, 0, |home, [first, _]| {
        let rules = [
            (asking(Some(SENT), None, None), 0),
            (asking(None, Some(REMAINING), None), 1),
            (all(), 2),
        ];
        let program = EdgeProgram::load(&EdgePlan::new(&rules, &classes()[..3])?, Link::None)?;
        first.within(home, || program.attach(first.device, Direction::Egress))??;
        // Each segment by itself, since those that are cut from one piece have one class.
        let alone = ["link", "set", "dev", "eth0", "gso_max_segs", "1"];
        first.within(home, || Command::new("ip").args(alone).status())??;
        Ok(program)
    });
    let (home, hosts, devices, _program) = attached?;
    Some(carried(&home, &hosts, devices, loss, |stream| {
        std::io::Write::write_all(stream, &vec![7; HANDED_IN as usize]).unwrap();
        HANDED_IN
    }))
}

/// The packets of a transfer from the first host to the second, over a line that loses every `loss`-th large packet. What `write`
/// hands in, so many bytes, is there before the first large one passes.
pub(crate) fn carried(
    home: &Home,
    [first, second]: &[Host; 2],
    mut devices: [Device; 2],
    loss: usize,
    write: impl FnOnce(&mut TcpStream) -> u64,
) -> Vec<Vec<u8>> {
    let listener = second.within(home, || TcpListener::bind("10.0.0.2:80")).unwrap().unwrap();
    let connecting = first.within(home, || Socket::new(Domain::IPV4, Type::STREAM, None));
    let connecting = connecting.unwrap().unwrap();
    connecting.set_send_buffer_size(400_000).unwrap();
    let flags = [false, false].map(AtomicBool::new);
    let [is_handed_in, stop] = &flags;
    std::thread::scope(|scope| {
        let carrying = scope.spawn(|| carry(&mut devices, [is_handed_in, stop], loss));
        let hearing = scope.spawn(|| {
            let (mut stream, _) = listener.accept().unwrap();
            stream.set_read_timeout(Some(Duration::from_secs(8))).unwrap();
            std::io::copy(&mut stream, &mut std::io::sink()).unwrap()
        });
        connecting.connect(&SocketAddr::from(([10, 0, 0, 2], 80)).into()).unwrap();
        let mut stream = TcpStream::from(connecting);
        let total = write(&mut stream);
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        is_handed_in.store(true, Ordering::Release);
        assert_eq!(hearing.join().unwrap(), total);
        drop(stream);
        std::thread::sleep(Duration::from_millis(50));
        stop.store(true, Ordering::Relaxed);
        carrying.join().unwrap()
    })
}

/// The numbers of the first bytes of segments, by that of the SYN.
#[derive(Default)]
pub(crate) struct Places(Option<u32>);

impl Places {
    /// How many bytes of its connection are before a segment. Numbers count from the first byte on; the FIN has one too.
    pub(crate) fn of(&mut self, flags: TcpFlags, sequence: u32) -> u64 {
        if flags.has(TcpFlags::SYN) {
            self.0 = Some(sequence.wrapping_add(1));
            return 0;
        }
        sequence.wrapping_sub(self.0.expect("a SYN comes first")).into()
    }
}

#[test]
fn every_segment_of_a_transfer_has_the_class_of_what_was_sent_and_remained_before_it() {
    for loss in [usize::MAX, 7, 3] {
        let Some(carried) = transfer(loss) else { return };
        let rules = [
            (asking(Some(SENT), None, None), 0),
            (asking(None, Some(REMAINING), None), 1),
            (all(), 2),
        ];
        let classifier = Classifier::new(rules.to_vec());
        let (mut places, mut sent, mut seen, mut again) = (Places::default(), 0, [0; 3], 0);
        for bytes in &carried {
            let layers = Layers::of_ip(bytes);
            let packet = layers.descriptor(None).unwrap();
            let Transport::Tcp(header) = layers.transport else { continue };
            let at = places.of(packet.flags, header.sequence);
            // What a connection still answers that is closed is of no socket.
            if at > HANDED_IN {
                continue;
            }
            let view = SenderView {
                sent: Bytes(sent),
                remaining: Some(Bytes(HANDED_IN - sent)),
                ..SenderView::default()
            };
            let class = classifier.classify_at(&packet, Some(&view)).expect("there is one for all");
            assert_eq!(packet.dscp, CODE_POINTS[class], "{loss}: at {at}, {sent} sent, {header:?}");
            again += u32::from(packet.payload > 0 && at < sent);
            sent = sent.max(at + u64::from(packet.payload)).min(HANDED_IN);
            seen[class] += 1;
        }
        assert!(seen.iter().all(|count| *count > 8), "{seen:?}");
        assert!(loss == usize::MAX || again > 2, "{again} were sent again");
    }
}
