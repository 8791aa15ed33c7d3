//! Acknowledgements with the code points of what they acknowledge. Needs the right to make network namespaces and to load eBPF.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use shortflow_ebpf::edge::{Direction, EdgeClass, EdgeMeter, EdgePlan, EdgeProgram, Trial};
use shortflow_ebpf::{Link, Record};
use shortflow_elements::classifier::Classifier;
use shortflow_elements::marker::FixedMarker;
use shortflow_elements::{Acknowledgements, Color, Conditioner, NewClass};
use shortflow_packet::{Dscp, Protocol, SenderView, TcpFlags};
use shortflow_testbed::PortKind;
use shortflow_units::Instant;
use shortflow_wire::{DsField, Layers, Transport};
use socket2::SockRef;

use crate::edge::{all, program};
use crate::hosts::two_hosts;
use crate::packets::Packets;
use crate::sender::while_carrying;
use crate::tcp_state::attach_behind;

fn plan() -> EdgePlan {
    let class = EdgeClass {
        meter: EdgeMeter::Fixed(Color::Green),
        code_points: Some([Dscp::EF; 3]),
        police: None,
    };
    EdgePlan::new(&[(all(), 0)], &[class]).unwrap().echoing()
}

/// Some packet; half of those with a TCP header have other control bits, and some of these no data.
fn some(packets: &mut Packets) -> Vec<u8> {
    const BITS: [u8; 8] = [0x10, 0x10, 0x10, 0x18, 0x11, 0x12, 0x14, 0x50];
    let mut packet = packets.any();
    let layers = Layers::of_ethernet(&packet);
    let is_tcp = matches!(layers.transport, Transport::Tcp(_));
    let place = if is_tcp { layers.payload.start } else { 0 };
    // Those of a header without options, behind which its data begin.
    if place >= 20 && packets.below(2) == 0 && packet[place - 8] >> 4 == 5 {
        packet[place - 7] = BITS[packets.below(8) as usize];
    }
    packet
}

/// The acknowledgement of a packet, with as many data, where it has no tags and its TCP header no options.
fn answered(packet: &[u8]) -> Option<Vec<u8>> {
    let layers = Layers::of_ethernet(packet);
    let place = layers.payload.start;
    if !matches!(layers.transport, Transport::Tcp(_)) || packet[place - 8] >> 4 != 5 {
        return None;
    }
    let mut packet = packet.to_vec();
    let (source, length) = match packet[12..14] {
        [0x08, 0x00] => (26, 4),
        [0x86, 0xdd] => (22, 16),
        _ => return None,
    };
    (0..length).for_each(|at| packet.swap(source + at, source + length + at));
    (0..2).for_each(|at| packet.swap(place - 20 + at, place - 18 + at));
    packet[place - 7] = 0x10;
    Some(packet)
}

#[test]
fn acknowledgements_echo_what_came_to_their_connection_as_in_the_element() {
    let Some(program) = program(&plan()) else { return };
    let marker = Box::new(FixedMarker::new(Dscp::EF, Color::Green));
    let class = NewClass { name: String::new(), marker: Some(marker), police: None };
    let rules = Classifier::new(vec![(all(), 0)]);
    let mut conditioner = Conditioner::new(rules, [class], Acknowledgements::Echoed);
    let (mut packets, mut out, mut received) = (Packets::new(7), Vec::new(), BTreeMap::new());
    let mut came: Vec<Vec<u8>> = Vec::new();
    let (mut echoes, mut others) = (0, 0);
    for number in 0..300_000 {
        let mut packet = some(&mut packets);
        if number % 2 == 1 && packets.below(2) == 0 && !came.is_empty() {
            packet = came[packets.below(came.len() as u64) as usize].clone();
        }
        let layers = Layers::of_ethernet(&packet);
        let Some(mut descriptor) = layers.descriptor(None) else { continue };
        let is_tcp = matches!(layers.transport, Transport::Tcp(_));
        if number % 2 == 0 {
            program.try_received(&packet).unwrap();
            // Some are answered before long.
            if let Some(answer) = answered(&packet) {
                came.insert(0, answer);
                came.truncate(64);
            }
            if is_tcp && !descriptor.is_bare_acknowledgement() {
                received.insert(descriptor.key.reversed(), descriptor.dscp);
            }
            continue;
        }
        let received_dscp = received.get(&descriptor.key).copied().filter(|_| is_tcp);
        let view = SenderView { received_dscp, ..SenderView::default() };
        let before = conditioner.counters()[0].packets[0];
        conditioner.condition(Instant::START, &mut descriptor, Some(&view));
        let is_echo = conditioner.counters()[0].packets[0] == before;
        assert!(
            program.try_packet(Trial { packet: &packet, ..Trial::default() }, &mut out).unwrap()
        );
        let mut expected = packet.clone();
        layers.ds_place().unwrap().write(&mut expected, DsField::from(&descriptor)).unwrap();
        assert!(
            out == expected,
            "packet {number}:\n{packet:02x?}\nours\n{expected:02x?}\nits\n{out:02x?}"
        );
        echoes += u32::from(is_echo);
        others += u32::from(!is_echo);
    }
    assert!(echoes > 5_000 && others > 20_000, "{echoes} echoes, {others} others");
    let counted = program.counters().unwrap()[0][0].packets;
    assert_eq!(counted, conditioner.counters()[0].packets[0], "an echo belongs to no class");
}

/// The second host answers with one code point, and then with another; what the first has to say about that alone echoes it.
#[test]
fn acknowledgements_of_a_host_s_own_tcp_echo_what_came_last() {
    let attached = two_hosts(PortKind::Tun, Record::LENGTH as u32, |home, [first, _]| {
        let program = EdgeProgram::load(&plan(), Link::None)?;
        first.within(home, || {
            program.attach_echo(first.device)?;
            program.attach(first.device, Direction::Egress)
        })??;
        Ok((program, attach_behind(home, first)?))
    });
    let Some((home, [first, second], mut devices, _attached)) = attached else { return };
    for address in ["10.0.0.2:80", "[fd00::2]:80"] {
        let address: SocketAddr = address.parse().unwrap();
        let listener = second.within(&home, || TcpListener::bind(address)).unwrap().unwrap();
        let carried = while_carrying(&mut devices, usize::MAX, || {
            let connect = || std::net::TcpStream::connect_timeout(&address, Duration::from_secs(5));
            let mut near = first.within(&home, connect).unwrap().unwrap();
            let (mut far, _) = listener.accept().unwrap();
            for code_point in [Dscp::AF11, Dscp::AF12] {
                let field = u32::from(code_point.value()) << 2;
                match address {
                    SocketAddr::V4(_) => SockRef::from(&far).set_tos_v4(field).unwrap(),
                    SocketAddr::V6(_) => SockRef::from(&far).set_tclass_v6(field).unwrap(),
                }
                far.write_all(&[7; 50_000]).unwrap();
                near.read_exact(&mut [0; 50_000]).unwrap();
                std::thread::sleep(Duration::from_millis(100));
            }
        });
        let mut seen = BTreeMap::<u8, usize>::new();
        let mut last = Dscp::BEST_EFFORT;
        for (_, bytes) in &carried {
            let packet = Layers::of_ip(bytes).descriptor(None).unwrap();
            if packet.key.protocol != Protocol::TCP || !packet.is_bare_acknowledgement() {
                if packet.flags.has(TcpFlags::SYN) {
                    assert_eq!(packet.dscp, Dscp::EF, "it echoes nothing");
                }
                continue;
            }
            *seen.entry(packet.dscp.value()).or_default() += 1;
            assert!(packet.dscp != Dscp::AF11 || last != Dscp::AF12, "it does not go back");
            last = packet.dscp;
        }
        // The handshake's own, which came without a code point.
        assert!(seen.remove(&0).is_some_and(|count| count <= 2), "{seen:?}");
        let [first, second] = [Dscp::AF11, Dscp::AF12].map(|dscp| seen.remove(&dscp.value()));
        assert!(first > Some(2) && second > Some(0), "{first:?}, {second:?}, and {seen:?}");
        assert!(seen.is_empty(), "{seen:?}");
    }
}
