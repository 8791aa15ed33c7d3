//! The language of the timelines: packets by number, queues at instants.

use shortflow_elements::{DropReason, Drops, QueueDiscipline};
use shortflow_packet::{Address, Dscp, Ecn, FlowKey, FrameId, Packet, Protocol, TcpFlags};
use shortflow_units::{Bytes, Duration, Instant, Rate, Rng};

pub(crate) fn ms(millis: u64) -> Instant {
    Instant::START + Duration::from_millis(millis)
}

pub(crate) fn us(micros: u64) -> Instant {
    Instant::START + Duration::from_micros(micros)
}

pub(crate) fn mbit(megabits: u64) -> Rate {
    Rate::from_bits_per_sec(megabits * 1_000_000)
}

/// A stream for what does not hang on it.
pub(crate) fn rng() -> Rng {
    Rng::stream(1, "bench")
}

/// What a test says of a packet. Its number stands in the sequence field.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct P {
    pub(crate) number: u32,
    pub(crate) flow: u16,
    pub(crate) size: u32,
    pub(crate) dscp: Dscp,
    pub(crate) ecn: Ecn,
}

/// Packet `number`: 1000 bytes, best effort, of flow 0, not ECN-capable.
pub(crate) fn p(number: u32) -> P {
    P { number, flow: 0, size: 1000, dscp: Dscp::BEST_EFFORT, ecn: Ecn::NotEct }
}

impl P {
    pub(crate) fn sized(self, size: u32) -> P {
        P { size, ..self }
    }

    pub(crate) fn of_flow(self, flow: u16) -> P {
        P { flow, ..self }
    }

    pub(crate) fn marked(self, dscp: Dscp) -> P {
        P { dscp, ..self }
    }

    pub(crate) fn with(self, ecn: Ecn) -> P {
        P { ecn, ..self }
    }

    pub(crate) fn packet(self) -> Packet {
        Packet {
            size: self.size,
            key: FlowKey {
                src: Address::v4(0x0a00_0001),
                dst: Address::v4(0x0a00_0002),
                src_port: self.flow,
                dst_port: 80,
                protocol: Protocol::TCP,
            },
            dscp: self.dscp,
            ecn: self.ecn,
            payload: 0,
            bytes: FrameId::new(self.number),
            flags: TcpFlags::default(),
        }
    }
}

/// The number of a packet that [`P`] made.
pub(crate) fn number_of(packet: &Packet) -> u32 {
    packet.bytes.expect("a packet of a test has a number").number()
}

/// A queue on a bench: what it gives and drops is compared with what the timeline says.
pub(crate) struct Bench<Q> {
    pub(crate) queue: Q,
    drops: Drops,
}

impl<Q: QueueDiscipline> Bench<Q> {
    pub(crate) fn new(queue: Q) -> Self {
        Bench { queue, drops: Drops::default() }
    }

    pub(crate) fn at(&mut self, now: Instant) -> At<'_, Q> {
        At { bench: self, now }
    }

    pub(crate) fn holds(&self, packets: u64, bytes: u64) {
        let backlog = self.queue.backlog();
        assert_eq!((backlog.packets, backlog.bytes), (packets, Bytes(bytes)));
    }
}

/// The queue of a bench at one instant.
pub(crate) struct At<'a, Q> {
    bench: &'a mut Bench<Q>,
    now: Instant,
}

impl<Q: QueueDiscipline> At<'_, Q> {
    /// Offers the packet and says why it was dropped, if it was.
    pub(crate) fn offered(&mut self, packet: P) -> Option<DropReason> {
        self.bench.queue.enqueue(self.now, packet.packet(), &mut self.bench.drops);
        let reasons: Vec<_> = self
            .bench
            .drops
            .drain()
            .map(|dropped| {
                assert_eq!(number_of(&dropped.packet), packet.number, "another packet was dropped");
                dropped.reason
            })
            .collect();
        assert!(reasons.len() <= 1);
        reasons.first().copied()
    }

    pub(crate) fn takes(mut self, packet: P) -> Self {
        assert_eq!(self.offered(packet), None, "{packet:?} at {}", self.now);
        self
    }

    pub(crate) fn drops(mut self, packet: P, reason: DropReason) -> Self {
        assert_eq!(self.offered(packet), Some(reason), "{packet:?} at {}", self.now);
        self
    }

    /// Takes `packet`, for which these, in this order, are pushed out.
    pub(crate) fn pushes_out(self, packet: P, victims: &[P]) -> Self {
        self.bench.queue.enqueue(self.now, packet.packet(), &mut self.bench.drops);
        let expected = victims.iter().map(|p| (p.packet(), DropReason::PushedOut));
        let dropped = self.bench.drops.drain().map(|dropped| (dropped.packet, dropped.reason));
        assert!(dropped.eq(expected), "{packet:?} at {}", self.now);
        self
    }

    pub(crate) fn next(&mut self) -> Option<Packet> {
        self.bench.queue.dequeue(self.now, &mut self.bench.drops).map(|queued| queued.packet)
    }

    /// The next packet is this one, whose size, code point and ECN field are as said.
    pub(crate) fn gives(mut self, packet: P) -> Self {
        assert_eq!(self.next(), Some(packet.packet()), "at {}", self.now);
        self
    }

    pub(crate) fn gives_nothing(mut self) -> Self {
        assert_eq!(self.next(), None, "at {}", self.now);
        self
    }
}
