//! Records as a kernel writes them. Needs the right to make network namespaces, TUN, and to load eBPF.

use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use shortflow_ebpf::{ConnectionState, Link, Record, SenderProgram};
use shortflow_testbed::{Device, Home, Host, PortKind};

use crate::hosts::{read, two_hosts};

/// Two hosts with the program at the device of the first; none, and a word on what is lacking, where there can be
/// none; on CI there must.
fn hosts(kind: PortKind) -> Option<(Home, [Host; 2], [Device; 2])> {
    let link = if kind == PortKind::Tun { Link::None } else { Link::Ethernet };
    two_hosts(kind, Record::LENGTH as u32, |home, [first, _]| {
        let program = SenderProgram::load()?;
        first.within(home, || program.attach(first.device, link))??;
        Ok(())
    })
    .map(|(home, hosts, devices, ())| (home, hosts, devices))
}

/// Carries packets between the hosts until told to stop, for ten seconds at most; every `loss`-th with data of the
/// first is lost. The packets of the first, each with its record.
fn carry(devices: &mut [Device; 2], stop: &AtomicBool, loss: usize) -> Vec<(Record, Vec<u8>)> {
    let (begun, mut carried, mut buffer, mut large) = (Instant::now(), Vec::new(), [0; 2048], 0);
    while !stop.load(Ordering::Relaxed) && begun.elapsed() < Duration::from_secs(10) {
        let mut is_idle = true;
        while let Some(length) = read(&mut devices[0], &mut buffer) {
            is_idle = false;
            let (record, packet) = Record::split(&buffer[..length]).expect("a record comes first");
            carried.push((record, packet.to_vec()));
            large += usize::from(packet.len() > 1000);
            if packet.len() <= 1000 || large % loss != 0 {
                let _ = devices[1].write(packet);
            }
        }
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

const PATIENCE: Duration = Duration::from_secs(5);

/// Sends so many bytes from the first host to the second, and waits until all are there.
pub(crate) fn send(home: &Home, [from, to]: &[Host; 2], at: IpAddr, bytes: usize) {
    let address = SocketAddr::new(at, 80);
    let listener = to.within(home, || TcpListener::bind(address)).unwrap().unwrap();
    std::thread::scope(|scope| {
        let hearing = scope.spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
            let mut heard = Vec::new();
            stream.read_to_end(&mut heard).unwrap();
            heard.len()
        });
        let stream = from.within(home, || TcpStream::connect_timeout(&address, PATIENCE));
        let mut stream = stream.unwrap().unwrap();
        stream.write_all(&vec![7; bytes]).unwrap();
        drop(stream);
        assert_eq!(hearing.join().unwrap(), bytes, "every byte arrives, with a right checksum");
    });
}

pub(crate) fn while_carrying<T>(
    devices: &mut [Device; 2],
    loss: usize,
    act: impl FnOnce() -> T,
) -> Vec<(Record, Vec<u8>)> {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let carrying = scope.spawn(|| carry(devices, &stop, loss));
        act();
        std::thread::sleep(Duration::from_millis(50));
        stop.store(true, Ordering::Relaxed);
        carrying.join().unwrap()
    })
}

fn states(carried: &[(Record, Vec<u8>)]) -> Vec<(ConnectionState, &[u8])> {
    let mut states = Vec::new();
    for (record, packet) in carried {
        if let Record::Connection(state) = record {
            states.push((*state, packet.as_slice()));
        }
    }
    states
}

#[test]
fn a_transfer_over_any_ports_and_version_of_ip_tells_its_window_with_every_segment() {
    for kind in PortKind::ALL {
        let Some((home, hosts, mut devices)) = hosts(kind) else { return };
        for (at, header) in [("10.0.0.2", 40), ("fd00::2", 60)] {
            let at = at.parse().unwrap();
            let send = || send(&home, &hosts, at, 300_000);
            let carried = while_carrying(&mut devices, usize::MAX, send);
            let states = states(&carried);
            assert!(carried.iter().all(|(_, packet)| packet.len() <= 1500));
            let full: Vec<_> = states.iter().filter(|(_, packet)| packet.len() == 1500).collect();
            assert!(full.len() >= 200, "{} full segments", full.len());
            let (first, _) = states[0];
            assert!(first.is_opening && first.smoothed_rtt.is_none(), "a SYN: {first:?}");
            let (data, _) = full[0];
            assert_eq!((data.congestion_window, data.is_opening), (10, false), "the first flight");
            // With the timestamps, which take 12 bytes.
            assert_eq!(data.mss, 1500 - header - 12);
            assert!(data.smoothed_rtt.is_some() && data.peer_window > 10_000, "{data:?}");
            let (last, _) = full.last().unwrap();
            assert!(last.congestion_window > 10, "slow start: {last:?}");
        }
    }
}

#[test]
fn fast_recovery_shows_where_segments_are_lost() {
    let Some((home, hosts, mut devices)) = hosts(PortKind::Tun) else { return };
    let at = "10.0.0.2".parse().unwrap();
    // Round trips are shorter here than the millisecond of timestamps, so that in one of ten transfers the kernel takes
    // its reduction back as for nothing (RFC 3522): five of them do not all.
    let send = || (0..5).for_each(|_| send(&home, &hosts, at, 600_000));
    let carried = while_carrying(&mut devices, 60, send);
    let states = states(&carried);
    let recovering = |state: &ConnectionState| {
        matches!(state.recovery, shortflow_ebpf::Recovery::Fast | shortflow_ebpf::Recovery::Loss)
    };
    assert!(states.iter().any(|(state, _)| recovering(state)));
    let reduced = states.iter().any(|(state, _)| state.threshold < 1000);
    assert!(reduced, "a loss sets the threshold");
}

#[test]
fn answers_to_a_syn_resets_and_datagrams_have_no_connection() {
    let Some((home, hosts, mut devices)) = hosts(PortKind::Tun) else { return };
    let to_first = SocketAddr::from(([10, 0, 0, 1], 81));
    let closed = SocketAddr::from(([10, 0, 0, 1], 82));
    let carried = while_carrying(&mut devices, usize::MAX, || {
        let listener = hosts[0].within(&home, || TcpListener::bind(to_first)).unwrap().unwrap();
        let connect =
            |to| hosts[1].within(&home, || TcpStream::connect_timeout(&to, PATIENCE)).unwrap();
        drop((connect(to_first).unwrap(), listener.accept().unwrap()));
        assert_eq!(connect(closed).unwrap_err().kind(), ErrorKind::ConnectionRefused);
        let datagrams = hosts[0].within(&home, || UdpSocket::bind("10.0.0.1:0")).unwrap().unwrap();
        // Larger than a packet: the kernel cuts it, and each part has a record.
        datagrams.send_to(&[5; 4000], "10.0.0.2:9").unwrap();
    });
    let of =
        |flags: u8| carried.iter().find(|(_, packet)| packet[9] == 6 && packet[33] & 0x16 == flags);
    assert_eq!(of(0x12).unwrap().0, Record::Request, "SYN-ACK");
    assert_eq!(of(0x14).unwrap().0, Record::Nothing, "RST");
    let datagrams: Vec<_> = carried.iter().filter(|(_, packet)| packet[9] == 17).collect();
    assert_eq!(datagrams.len(), 3, "4028 bytes in packets of 1500");
    assert!(datagrams.iter().all(|(record, _)| *record == Record::Nothing));
}
