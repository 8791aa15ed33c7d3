//! What packets meet under load.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use shortflow_deploy::{Error, Kind, Tc, Tree};

use super::bench::{Bench, DEVICE, Destination, given, on_a_bench, sender};
use crate::support::{compiled, of_queue, settings};

/// EF.
pub(super) const EF: u32 = 46;
/// Bytes of a datagram, which is one packet of 1242 bytes with its headers.
pub(super) const SIZE: usize = 1200;

fn tree(queue: &str) -> Tree {
    compiled(&of_queue(queue), &settings(&[], false)).unwrap()
}

/// EF first, then a port, then the rest.
fn three_bands() -> Tree {
    tree(
        "strict-priority.bands = [\
         { match = { dscp = \"EF\" }, queue.fifo = { limit = \"20 pkt\" } }, \
         { match = { protocol = \"udp\", dst_port = 5001 }, queue.fifo = { limit = \"50 pkt\" } }, \
         { queue.fifo = { limit = \"50 pkt\" } }]",
    )
}

/// Sends datagrams without a pause until it is told to stop, each as soon as the socket takes it. Gives how many.
pub(super) fn flood(
    to: Destination,
    port: u16,
    dscp: u32,
    stop: &Arc<AtomicBool>,
) -> JoinHandle<u64> {
    let (socket, stop) = (sender(to, port, dscp), stop.clone());
    std::thread::spawn(move || {
        let mut sent = 0;
        while !stop.load(Ordering::Relaxed) {
            sent += u64::from(socket.send(&[0; SIZE]).is_ok());
        }
        sent
    })
}

#[test]
fn what_comes_first_is_neither_lost_nor_delayed_while_the_rest_floods_the_line() {
    on_a_bench(|bench| {
        bench.deploy(&three_bands());
        let (voice, bulk) = (bench.receiver(5000), bench.receiver(6000));
        let stop = Arc::new(AtomicBool::new(false));
        // Two sockets have more under way than the queue of the rest holds.
        let floods = [6000; 2].map(|port| flood(Destination::V4, port, 0, &stop));
        std::thread::sleep(Duration::from_millis(200));
        let senders = [Destination::V4, Destination::V6].map(|to| sender(to, 5000, EF));
        let begin = Instant::now();
        for number in 0..200u64 {
            let due = begin + Duration::from_millis(5 * number);
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            let mut datagram = [0; 200];
            datagram[..8].copy_from_slice(&(begin.elapsed().as_nanos() as u64).to_be_bytes());
            senders[number as usize % 2].send(&datagram).unwrap();
        }
        stop.store(true, Ordering::Relaxed);
        let sent: u64 = floods.map(|flood| flood.join().unwrap()).iter().sum();
        let status = bench.status();
        assert_eq!(voice.count(), 200);
        assert_eq!(given(&status, "EF"), 200);
        let queue = |class: &str| status.classes.iter().find(|it| it.name == class).unwrap();
        assert_eq!(queue("EF").queue.drops, 0);
        let rest = &queue("the rest").queue;
        assert!(rest.drops > 100, "{sent} sent: {status:?}");
        assert_eq!(given(&status, "unreadable headers"), 0);
        let arrived = bulk.count() as u64;
        assert!(arrived > 500 && arrived < sent, "{arrived} of {sent}");
    });
}

#[test]
fn a_packet_of_the_first_class_waits_for_one_of_the_last_at_most() {
    on_a_bench(|bench| {
        // The rest has room for all that the sockets of its senders hold, so that it waits and is not lost.
        bench.deploy(&tree(
            "strict-priority.bands = [{ match = { dscp = \"EF\" }, queue.fifo = { limit = \"20 pkt\" } }, \
             { queue.fifo = { limit = \"1000 pkt\" } }]",
        ));
        let stop = Arc::new(AtomicBool::new(false));
        let floods = [6000; 2].map(|port| flood(Destination::V6, port, 0, &stop));
        let _bulk = bench.receiver(6000);
        let delays = |port: u16, dscp: u32| {
            let receiver = bench.receiver(port);
            let begin = Instant::now();
            let reader = std::thread::spawn(move || receiver.all());
            let sender = sender(Destination::V6, port, dscp);
            for _ in 0..60 {
                let now = begin.elapsed().as_nanos() as u64;
                sender.send(&now.to_be_bytes()).unwrap();
                std::thread::sleep(Duration::from_millis(10));
            }
            let came = reader.join().unwrap();
            let mut delays: Vec<Duration> = came
                .iter()
                .map(|(at, bytes)| {
                    let sent = u64::from_be_bytes(bytes[..8].try_into().unwrap());
                    at.duration_since(begin) - Duration::from_nanos(sent)
                })
                .collect();
            delays.sort_unstable();
            delays[delays.len() / 2]
        };
        std::thread::sleep(Duration::from_millis(200));
        let (first, last) = (delays(5000, EF), delays(7000, 0));
        stop.store(true, Ordering::Relaxed);
        let _ = floods.map(|flood| flood.join().unwrap());
        // A socket holds 50 packets at least, which take 50 ms at 10 Mbit/s; one takes 1 ms, and the machine has other work.
        assert!(first < Duration::from_millis(10), "first {first:?}, last {last:?}");
        assert!(last > Duration::from_millis(25), "first {first:?}, last {last:?}");
    });
}

#[test]
fn packets_are_told_apart_as_the_elements_tell_them_apart() {
    on_a_bench(|bench| {
        bench.deploy(&three_bands());
        let before = bench.status();
        for to in [Destination::V4, Destination::V6] {
            sender(to, 5000, EF).send(&[0; 10]).unwrap();
            sender(to, 5001, EF).send(&[0; 10]).unwrap();
            sender(to, 5001, 0).send(&[0; 10]).unwrap();
            sender(to, 5002, 10).send(&[0; 10]).unwrap();
            // Three fragments, of which the first alone tells its port.
            sender(to, 5001, 0).send(&[0; 4000]).unwrap();
        }
        std::thread::sleep(Duration::from_millis(100));
        let after = bench.status();
        let more = |class| given(&after, class) - given(&before, class);
        assert_eq!(more("EF"), 4);
        assert_eq!(more("udp to port 5001"), 4);
        // Neighbours may be asked for meanwhile.
        assert!((6..12).contains(&more("the rest")), "{}", more("the rest"));
        assert_eq!(more("unreadable headers"), 0);
    });
}

#[test]
fn turns_of_htb_share_the_line_in_proportion_to_their_quanta() {
    on_a_bench(|bench| {
        let classes = "drr.classes = [\
            { match = { dscp = \"AF11\" }, quantum = \"1500 B\", queue.fifo = { limit = \"500 pkt\" } }, \
            { quantum = \"4500 B\", queue.fifo = { limit = \"500 pkt\" } }]";
        let nearest = settings(&[Kind::Drr, Kind::Ets], true);
        bench.deploy(&compiled(&of_queue(classes), &nearest).unwrap());
        let _receivers = [6000, 6001].map(|port| bench.receiver(port));
        let stop = Arc::new(AtomicBool::new(false));
        let floods =
            [(6000, 10), (6001, 0)].map(|(port, dscp)| flood(Destination::V4, port, dscp, &stop));
        std::thread::sleep(Duration::from_millis(300));
        let before = bench.status();
        std::thread::sleep(Duration::from_secs(1));
        let after = bench.status();
        stop.store(true, Ordering::Relaxed);
        let _ = floods.map(|flood| flood.join().unwrap());
        let bytes = |class: usize| {
            let sent = |status: &shortflow_deploy::DeviceStatus| status.classes[class].queue.bytes;
            (sent(&after) - sent(&before)) as f64
        };
        let (one, three) = (bytes(0), bytes(1));
        // A turn is two packets or so: the ratio is 3 to within a packet a turn, and over a second far nearer.
        assert!((2.7..3.3).contains(&(three / one)), "{one} and {three} bytes");
        // 10 Mbit/s for the time between two looks, which is a second and what the looks take.
        assert!((1.1e6..1.6e6).contains(&(one + three)), "{one} and {three} bytes");
    });
}

/// Two classes in turn, by the turns of HTB.
fn two_in_turn(limit: u32) -> Tree {
    let classes = format!(
        "drr.classes = [{{ match = {{ dscp = \"EF\" }}, queue.fifo = {{ limit = \"{limit} pkt\" }} }}, \
         {{ queue.fifo = {{ limit = \"{limit} pkt\" }} }}]"
    );
    compiled(&of_queue(&classes), &settings(&[Kind::Drr, Kind::Ets], true)).unwrap()
}

/// Floods of EF and of the rest, what comes of them, and an end.
struct Floods {
    stop: Arc<AtomicBool>,
    sent: [JoinHandle<u64>; 2],
    received: [JoinHandle<u64>; 2],
}

impl Floods {
    fn begin(bench: &Bench) -> Floods {
        let stop = Arc::new(AtomicBool::new(false));
        let received = [6000, 6001].map(|port| {
            let (receiver, stop) = (bench.receiver(port), stop.clone());
            std::thread::spawn(move || receiver.count_until(&stop) as u64)
        });
        let sent =
            [flood(Destination::V4, 6000, EF, &stop), flood(Destination::V6, 6001, 0, &stop)];
        std::thread::sleep(Duration::from_millis(200));
        Floods { stop, sent, received }
    }

    /// How many datagrams were sent, and how many came.
    fn end(self) -> [[u64; 2]; 2] {
        self.stop.store(true, Ordering::Relaxed);
        [self.sent, self.received].map(|both| both.map(|one| one.join().unwrap()))
    }
}

#[test]
fn deploying_on_a_full_line_leaves_no_packet_where_it_is_served_last() {
    on_a_bench(|bench| {
        let floods = Floods::begin(bench);
        bench.deploy(&two_in_turn(1000));
        std::thread::sleep(Duration::from_millis(100));
        let status = bench.status();
        let _ = floods.end();
        assert!(given(&status, "EF") > 20, "the line is full: {status:?}");
        assert_eq!(given(&status, "unreadable headers"), 0);
    });
}

#[test]
fn reloading_under_load_loses_no_packet() {
    on_a_bench(|bench| {
        bench.deploy(&two_in_turn(1000));
        let floods = Floods::begin(bench);
        // A rate, a limit, another shape and back: what is changed in place, and what is built beside.
        let one = tree("fifo = { limit = \"1000 pkt\" }");
        let slower = Tree { rate: "8 Mbit/s".parse().unwrap(), ..two_in_turn(900) };
        let tc = Tc::new(DEVICE);
        for next in [&slower, &one, &two_in_turn(1000), &one, &slower] {
            let before = tc.observe().unwrap();
            assert!(before.waiting() > 50, "{} packets wait", before.waiting());
            let steps = tc.plan(&before, next).unwrap();
            assert_eq!(tc.apply(&steps).unwrap().waiting, 0);
        }
        let [sent, received] = floods.end();
        assert_eq!(received, sent);
    });
}

#[test]
fn packets_that_higher_priorities_hold_back_outlive_a_reload_and_leave_within_seconds() {
    on_a_bench(|bench| {
        let bands = |limit: u32| {
            tree(&format!(
                "strict-priority.bands = [{{ match = {{ dscp = \"EF\" }}, queue.fifo = {{ limit = \"{limit} pkt\" }} }}, \
                 {{ queue.fifo = {{ limit = \"{limit} pkt\" }} }}]"
            ))
        };
        bench.deploy(&bands(1000));
        let floods = Floods::begin(bench);
        let tc = Tc::new(DEVICE).with_patience(Duration::from_millis(200));
        let reload = |next: &Tree| tc.apply(&tc.plan(&tc.observe().unwrap(), next).unwrap());
        let other = tree(
            "strict-priority.bands = [{ match = { protocol = \"udp\", dst_port = 6000 }, queue.fifo = { limit = \"1000 pkt\" } }, \
             { queue.fifo = { limit = \"1 MB\" } }]",
        );
        // EF fills the line, so what waits behind it is left in its class.
        let applied = reload(&other).unwrap();
        assert!(applied.waiting > 10, "{applied:?}");
        assert_eq!(bench.status().left_over, applied.waiting);
        assert!(bench.status().text().contains("packets of the previous policy still wait"));
        // There is no room for a third policy as long as that is so.
        assert!(matches!(reload(&bands(1000)), Err(Error::Busy { .. })));
        // EF fills the line still. The packet that they sent last is paid for at 1 kbit/s, which takes 10 s; then they have a
        // tenth of the line.
        let begin = Instant::now();
        while bench.status().left_over > 0 {
            assert!(begin.elapsed() < Duration::from_secs(20), "{}", bench.status().text());
            std::thread::sleep(Duration::from_millis(100));
        }
        assert!(reload(&bands(1000)).is_ok());
        let [sent, received] = floods.end();
        assert_eq!(received, sent);
    });
}
