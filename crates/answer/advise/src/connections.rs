//! Reconstructs connections and flows from packets.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use crate::capture::{Packet, Segment, Service};
use crate::flows::Found;
use crate::skipped::{Reading, Why};

/// Connections that were seen to begin, by who opened them and to whom.
#[derive(Default)]
pub(crate) struct Connections {
    open: BTreeMap<(SocketAddr, SocketAddr), Connection>,
    over: Vec<Connection>,
}

/// One of them.
struct Connection {
    /// When it was opened, in seconds since any instant.
    at: f64,
    /// The place of the first byte of who opened it; none over UDP.
    first: Option<u32>,
    /// What its ends have sent: who opened it first.
    sent: [Sent; 2],
}

/// What an end has sent.
#[derive(Default)]
struct Sent {
    bytes: u64,
    /// Of TCP the place behind the last byte.
    next: Option<u32>,
    /// Those of them that no packet of the capture carries.
    missing: u64,
    /// Whether TCP has closed it.
    is_closed: bool,
    /// Of UDP where its packets are counted: they may be captured in several places.
    interface: Option<u32>,
}

/// More connections are not kept.
const MAX_CONNECTIONS: usize = 1_000_000;

/// No segment is further ahead: the largest receive window (RFC 7323, section 2.3).
const MAX_WINDOW: u32 = 1 << 30;

impl Connections {
    /// Takes a packet, in the order of the capture. Gives why it belongs to no flow, where that is so.
    ///
    /// # Errors
    /// That there are too many connections.
    pub(crate) fn take(&mut self, packet: &Packet) -> Result<Option<Why>, String> {
        let (ours, theirs) = ((packet.from, packet.to), (packet.to, packet.from));
        match &packet.service {
            Service::Tcp(segment) if segment.opens => self.open_by(packet, segment),
            Service::Datagrams
                if !self.open.contains_key(&ours) && !self.open.contains_key(&theirs) =>
            {
                self.open.insert(ours, Connection::new(packet.at, None));
            }
            _ => {}
        }
        let why = if let Some(one) = self.open.get_mut(&ours) {
            one.sent[0].take(packet)
        } else if let Some(one) = self.open.get_mut(&theirs) {
            one.sent[1].take(packet)
        } else {
            Some(Why::Begun)
        };
        match self.open.len() + self.over.len() > MAX_CONNECTIONS {
            true => Err(format!("it has more than the maximum of {MAX_CONNECTIONS} connections")),
            false => Ok(why),
        }
    }

    /// Begins a connection, unless this is its SYN once more.
    fn open_by(&mut self, packet: &Packet, segment: &Segment) {
        let ends = (packet.from, packet.to);
        if self.open.get(&ends).is_some_and(|known| known.first == Some(segment.sequence)) {
            return;
        }
        self.over
            .extend(self.open.insert(ends, Connection::new(packet.at, Some(segment.sequence))));
    }

    /// Sizes and beginnings of all that carried anything: those that come to who opened them, and those that go out. Notes how
    /// much of them the capture lacks.
    pub(crate) fn flows(self, reading: &mut Reading) -> [Found; 2] {
        let mut found: [Found; 2] = Default::default();
        let begun_again = self.over.len();
        let all = self.over.into_iter().chain(self.open.into_values());
        for (number, Connection { at, first, sent: [up, down] }) in all.enumerate() {
            let is_up = up.bytes > down.bytes;
            let larger = if is_up { up } else { down };
            if larger.bytes == 0 {
                continue;
            }
            let is_open = first.is_some() && number >= begun_again && !larger.is_closed;
            reading.open += u64::from(is_open);
            reading.missing_bytes += larger.missing;
            let way = &mut found[usize::from(is_up)];
            way.sizes.push(larger.bytes);
            way.times.push(at);
        }
        found
    }
}

impl Connection {
    fn new(at: f64, first: Option<u32>) -> Connection {
        Connection { at, first, sent: Default::default() }
    }
}

impl Sent {
    /// Counts what is new in a packet: of TCP each byte once, however often it was sent or captured. Gives why it is skipped,
    /// where that is so.
    fn take(&mut self, packet: &Packet) -> Option<Why> {
        let Service::Tcp(Segment { sequence, closes, .. }) = packet.service else {
            if *self.interface.get_or_insert(packet.interface) == packet.interface {
                self.bytes += packet.payload;
            }
            return None;
        };
        let end = sequence.wrapping_add(packet.payload as u32);
        let next = self.next.get_or_insert(sequence);
        // How far it reaches beyond what was seen, modulo 2³² (RFC 9293, section 3.4).
        let beyond = end.wrapping_sub(*next).cast_signed();
        if beyond.unsigned_abs() > MAX_WINDOW {
            return Some(Why::OutOfWindow);
        }
        self.is_closed |= closes;
        // What carries nothing may stand behind the FIN, which has a place of its own too.
        if beyond > 0 && packet.payload > 0 {
            let beyond = u64::from(beyond.cast_unsigned());
            self.bytes += beyond;
            self.missing += beyond.saturating_sub(packet.payload);
            *next = end;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const USER: ([u8; 4], u16) = ([192, 168, 0, 7], 40_000);
    const SITE: ([u8; 4], u16) = ([203, 0, 113, 5], 443);

    fn tcp(
        at: f64,
        from: ([u8; 4], u16),
        to: ([u8; 4], u16),
        opens: bool,
        sequence: u32,
        payload: u64,
    ) -> Packet {
        let service = Service::Tcp(Segment { opens, closes: false, sequence });
        Packet { at, from: from.into(), to: to.into(), interface: 0, payload, service }
    }

    fn flows(packets: &[Packet]) -> [Found; 2] {
        let mut all = Connections::default();
        packets.iter().for_each(|packet| assert_eq!(all.take(packet), Ok(None)));
        all.flows(&mut Reading::default())
    }

    #[test]
    fn each_byte_counts_once_however_often_it_is_sent_and_wherever_numbers_begin() {
        let first = u32::MAX - 1500;
        let [down, up] = flows(&[
            tcp(3.0, USER, SITE, true, 9, 0),
            tcp(3.1, SITE, USER, false, first, 0),
            tcp(3.2, USER, SITE, false, 9, 200),
            tcp(3.3, SITE, USER, false, first, 1000),
            // The third comes before the second, which comes twice.
            tcp(3.4, SITE, USER, false, first.wrapping_add(2000), 1000),
            tcp(3.5, SITE, USER, false, first.wrapping_add(1000), 1000),
            tcp(3.6, SITE, USER, false, first.wrapping_add(1000), 1000),
            // Its last acknowledgement, behind its FIN.
            tcp(3.7, SITE, USER, false, first.wrapping_add(3001), 0),
        ]);
        assert_eq!((down.sizes, down.times), (vec![3000], vec![3.0]));
        assert!(up.sizes.is_empty());
    }

    #[test]
    fn who_sends_more_tells_the_direction_and_ports_may_be_used_again() {
        let [down, up] = flows(&[
            tcp(1.0, USER, SITE, true, 100, 0),
            tcp(1.1, USER, SITE, false, 100, 5000),
            tcp(1.2, SITE, USER, false, 7, 10),
            tcp(9.0, USER, SITE, true, 777, 0),
            tcp(9.1, SITE, USER, false, 50_000, 70),
        ]);
        assert_eq!((up.sizes, up.times), (vec![5000], vec![1.0]));
        assert_eq!((down.sizes, down.times), (vec![70], vec![9.0]));
    }

    #[test]
    fn what_had_begun_before_the_capture_is_skipped() {
        let mut all = Connections::default();
        assert_eq!(all.take(&tcp(1.0, SITE, USER, false, 7, 1000)), Ok(Some(Why::Begun)));
        assert_eq!(all.take(&tcp(1.1, USER, SITE, false, 9, 0)), Ok(Some(Why::Begun)));
        assert!(all.flows(&mut Reading::default()).iter().all(|found| found.sizes.is_empty()));
    }

    #[test]
    fn what_a_capture_lacks_of_connections_is_counted() {
        let mut all = Connections::default();
        let closing = |packet: Packet| {
            let sequence = match packet.service {
                Service::Tcp(segment) => segment.sequence,
                Service::Datagrams => unreachable!("it is of TCP"),
            };
            Packet {
                service: Service::Tcp(Segment { opens: false, closes: true, sequence }),
                ..packet
            }
        };
        let other = (USER.0, 40_001);
        for packet in [
            tcp(1.0, USER, SITE, true, 9, 0),
            tcp(1.1, SITE, USER, false, 100, 1000),
            // 2,000 bytes between them were not captured.
            tcp(1.2, SITE, USER, false, 3100, 1000),
            // Who asked is done; who answers is not.
            closing(tcp(1.3, USER, SITE, false, 9, 0)),
            tcp(2.0, other, SITE, true, 9, 0),
            tcp(2.1, SITE, other, false, 100, 1000),
            closing(tcp(2.2, SITE, other, false, 1100, 0)),
        ] {
            assert_eq!(all.take(&packet), Ok(None));
        }
        // No window reaches so far.
        let jump = tcp(1.4, SITE, USER, false, 4100 + (1 << 31) - 2000, 1000);
        assert_eq!(all.take(&jump), Ok(Some(Why::OutOfWindow)));
        let mut reading = Reading::default();
        let [down, _] = all.flows(&mut reading);
        assert_eq!(down.sizes, [4000, 1000]);
        assert_eq!((reading.open, reading.missing_bytes), (1, 2000));
    }

    #[test]
    fn datagrams_of_quic_count_in_one_place_only() {
        let quic = |interface, from: ([u8; 4], u16), to: ([u8; 4], u16), payload| Packet {
            at: 2.0,
            from: from.into(),
            to: to.into(),
            interface,
            payload,
            service: Service::Datagrams,
        };
        let [down, _] = flows(&[
            quic(0, USER, SITE, 100),
            quic(1, USER, SITE, 100),
            quic(1, SITE, USER, 900),
            quic(0, SITE, USER, 900),
        ]);
        assert_eq!(down.sizes, [900]);
    }
}
