//! How long real connections took, as the edge has seen them, beside what those who opened and closed them saw on their clock.

use std::io::{Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::ops::RangeInclusive;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use shortflow_ebpf::edge::EdgeTimes;
use shortflow_policy::Policy;

use super::bench::{Bench, Destination, sender};
use super::edge::{deploy, with_the_program};

/// Each connection has levels of its own; `depth` is that of a bucket of others.
fn policy(depth: &str) -> Policy {
    let text = format!(
        "[[roles.edge.classes]]
        name = \"calls\"
        match = {{ protocol = \"udp\", dst_port = 5001 }}
        marker.fixed = {{ dscp = \"EF\", bucket = {{ rate = \"80 bit/s\", depth = \"{depth}\" }} }}
        [[roles.edge.classes]]
        name = \"all\"
        marker.dstf = {{ thresholds = [\"3 KB\", \"6 KB\"], code_points = [\"CS1\", \"AF11\", \"BE\"] }}
        [[roles.core.queue.strict-priority.bands]]
        match = {{ dscp = \"EF\" }}
        queue.fifo = {{ limit = \"100 pkt\" }}
        [[roles.core.queue.strict-priority.bands]]
        queue.fifo = {{ limit = \"1000 pkt\" }}"
    );
    shortflow_policy::from_text("times.toml", &text, &[]).expect("it is a policy")
}

fn times(bench: &Bench) -> [EdgeTimes; 4] {
    let status = bench.status();
    let seen = status.edge.as_ref().unwrap().seen.as_ref().expect("root may look");
    assert_eq!(seen[0].times, None, "the bucket knows no flows");
    seen[1].times.expect("the class knows flows")
}

fn address(to: Destination) -> IpAddr {
    match to {
        Destination::V4 => [10, 77, 0, 2].into(),
        Destination::V6 => "fd77::2".parse().unwrap(),
    }
}

/// Takes connections in the other namespace, reads from each so many bytes, says so by a byte, and reads to the end.
fn reader(bench: &Bench, sizes: Vec<usize>) -> JoinHandle<()> {
    let listener = bench.there(|| TcpListener::bind("[::]:8080").unwrap());
    std::thread::spawn(move || {
        for size in sizes {
            let (mut stream, _) = listener.accept().unwrap();
            stream.read_exact(&mut vec![0; size]).unwrap();
            stream.write_all(&[1]).unwrap();
            let _ = stream.read(&mut [0]);
        }
    })
}

/// How a connection ends.
#[derive(Clone, Copy)]
enum End {
    Fin,
    Rst,
}

/// Sends so many bytes in pieces that the line keeps up with, and closes when all have arrived. Returns the range for the
/// time between its first and its last packet: the SYN leaves while it opens, and the FIN before the peer closes too.
/// A busy kernel may send the FIN some milliseconds after the call that asks for it.
fn send(
    to: Destination,
    size: usize,
    end: End,
    between: impl FnOnce(),
) -> RangeInclusive<Duration> {
    let before = Instant::now();
    let mut stream = TcpStream::connect(SocketAddr::new(address(to), 8080)).unwrap();
    let opened = Instant::now();
    let data = vec![7; size];
    for piece in data.chunks(10_000) {
        stream.write_all(piece).unwrap();
        std::thread::sleep(Duration::from_millis(10));
    }
    between();
    stream.read_exact(&mut [0]).unwrap();
    let closing = Instant::now();
    match end {
        End::Fin => {
            stream.shutdown(Shutdown::Write).unwrap();
            assert_eq!(stream.read(&mut [0]).unwrap(), 0, "the peer closes too");
        }
        // Not by closing it: where another thread starts a program, that has a copy of each socket for a moment, and the
        // connection ends with the last copy.
        End::Rst => rustix::net::connect_unspec(&stream).unwrap(),
    }
    closing - opened..=Instant::now() - before
}

/// What has come to the sum of a group, where one connection has come to it and none to others.
fn one_more(before: &[EdgeTimes; 4], after: &[EdgeTimes; 4], group: usize) -> Duration {
    for (number, (before, after)) in before.iter().zip(after).enumerate() {
        assert_eq!(after.count() - before.count(), u64::from(number == group), "group {number}");
        assert_eq!(after.unfinished, 0);
    }
    Duration::from_nanos(after[group].sum - before[group].sum)
}

#[test]
fn each_connection_took_as_long_as_its_sender_says_and_each_counts_once_by_its_size() {
    with_the_program(|bench| {
        deploy(&policy("2 KB"));
        let sizes = [(4_000, 0, 8), (50_000, 1, 4), (400_000, 2, 2), (1_200_000, 3, 1)];
        let all: Vec<_> = sizes.iter().flat_map(|of| std::iter::repeat_n(*of, of.2)).collect();
        let reading = reader(bench, all.iter().map(|(size, ..)| *size).collect());
        let mut before = times(bench);
        assert_eq!(before, [EdgeTimes::default(); 4]);
        let mut widest = Duration::ZERO;
        for (number, (size, group, _)) in all.into_iter().enumerate() {
            let to = [Destination::V4, Destination::V6][number % 2];
            let end = if number % 3 == 2 { End::Rst } else { End::Fin };
            let wanted = send(to, size, end, || ());
            let after = times(bench);
            let took = one_more(&before, &after, group);
            assert!(wanted.contains(&took), "{size} bytes: {took:?}, and not {wanted:?}");
            widest = widest.max(*wanted.end() - *wanted.start());
            before = after;
        }
        eprintln!("within {widest:?} of what senders say");
        reading.join().unwrap();
        assert_eq!(before.map(|times| times.count()), [8, 4, 2, 1]);
        // Datagrams are flows of the class too, and have no end.
        let _receiver = bench.receiver(5009);
        let socket = sender(Destination::V4, 5009, 0);
        (0..5).for_each(|_| assert_eq!(socket.send(&[0; 72]).unwrap(), 72));
        assert_eq!(times(bench), before);
        let status = bench.status();
        assert!(status.text().contains("\n  connections in all  ended  "), "{}", status.text());
        let json = &status.json()["edge"]["classes"];
        assert_eq!(
            (&json[1]["times"][0]["seconds"]["count"], &json[0]["times"]),
            (&8.into(), &().into())
        );
    });
}

#[test]
fn a_server_s_connection_takes_from_its_answer_to_the_syn() {
    with_the_program(|bench| {
        deploy(&policy("2 KB"));
        let listener = TcpListener::bind("[::]:8081").unwrap();
        let client = bench.there(|| {
            std::thread::spawn(|| {
                let before = Instant::now();
                let mut stream = TcpStream::connect(("10.77.0.1", 8081)).unwrap();
                let opened = Instant::now();
                stream.read_to_end(&mut Vec::new()).unwrap();
                (before, opened)
            })
        });
        let (mut stream, _) = listener.accept().unwrap();
        std::thread::sleep(Duration::from_millis(40));
        stream.write_all(&[7; 4_000]).unwrap();
        std::thread::sleep(Duration::from_millis(20));
        let closing = Instant::now();
        stream.shutdown(Shutdown::Write).unwrap();
        let closed = Instant::now();
        let (before, opened) = client.join().unwrap();
        let wanted = closing - opened..=closed - before;
        let took = one_more(&[EdgeTimes::default(); 4], &times(bench), 0);
        assert!(wanted.contains(&took), "{took:?}, and not {wanted:?}");
    });
}

#[test]
fn a_connection_that_goes_on_while_the_policy_is_reloaded_took_all_of_its_time() {
    with_the_program(|bench| {
        deploy(&policy("2 KB"));
        let reading = reader(bench, vec![50_000]);
        let wanted = send(Destination::V4, 50_000, End::Fin, || {
            std::thread::sleep(Duration::from_millis(30));
            deploy(&policy("3 KB"));
        });
        reading.join().unwrap();
        let took = one_more(&[EdgeTimes::default(); 4], &times(bench), 1);
        assert!(wanted.contains(&took), "{took:?}, and not {wanted:?}");
    });
}
