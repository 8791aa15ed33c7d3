//! The bytes of the packets in the network.

use std::ops::Range;

use shortflow_ebpf::Record;
use shortflow_packet::{FrameId, Packet};
use shortflow_wire::{DsField, DsPlace, Layers, Transport};

/// All packets' bytes, each in a place that is used again: there are as many places as there were packets
/// at once.
#[derive(Debug)]
pub(crate) struct Frames {
    places: Vec<Frame>,
    free: Vec<u32>,
    /// Bytes of the largest packet.
    largest: usize,
}

#[derive(Debug)]
struct Frame {
    bytes: Box<[u8]>,
    /// The place of the packet; a record may precede it.
    place: Range<usize>,
    ds: Option<DsPlace>,
    seen: Seen,
}

/// What was seen of a packet, beside what elements look at.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Seen {
    /// Its sequence numbers, where it is a segment.
    pub(crate) numbers: Option<Numbers>,
    /// What its host's kernel has written before it.
    pub(crate) record: Option<Record>,
}

/// The numbers of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Numbers {
    pub(crate) sequence: u32,
    pub(crate) acknowledgement: u32,
    /// What is offered, before scaling.
    pub(crate) window: u16,
}

impl Numbers {
    /// Those of a packet that is a segment.
    pub(crate) fn from_layers(layers: &Layers) -> Option<Numbers> {
        let Transport::Tcp(header) = &layers.transport else { return None };
        Some(Numbers {
            sequence: header.sequence,
            acknowledgement: header.acknowledgement,
            window: header.window,
        })
    }
}

impl Frames {
    /// Room for `count` packets of up to `largest` bytes; for more it is made when they come.
    pub(crate) fn new(count: usize, largest: usize) -> Self {
        let mut frames = Frames { places: Vec::new(), free: Vec::new(), largest };
        (0..count).for_each(|_| frames.grow());
        frames
    }

    fn grow(&mut self) {
        self.free.push(self.places.len() as u32);
        let bytes = vec![0; self.largest].into();
        self.places.push(Frame { bytes, place: 0..0, ds: None, seen: Seen::default() });
    }

    /// Fills a free place by `read`, which returns the length, and describes the packet; `None` if the bytes are not
    /// a complete IP packet. Bytes after the packet are cut off. The error is that of `read`.
    pub(crate) fn take_in<E>(
        &mut self,
        read: impl FnOnce(&mut [u8]) -> Result<usize, E>,
    ) -> Result<Option<Packet>, E> {
        if self.free.is_empty() {
            self.grow();
        }
        let number = *self.free.last().expect("there is a free place");
        let frame = &mut self.places[number as usize];
        let length = read(&mut frame.bytes)?;
        let record = Record::split(&frame.bytes[..length]).map(|(record, _)| record);
        frame.place = record.map_or(0, |_| Record::LENGTH)..length;
        let layers = Layers::of_ip(&frame.bytes[frame.place.clone()]);
        frame.ds = layers.ds_place();
        frame.seen = Seen { numbers: Numbers::from_layers(&layers), record };
        // Routers do so too: a size that is not there would be sent over the line (RFC 1812 §5.2.2).
        let is_whole = layers.missing == 0;
        let packet = layers.descriptor(FrameId::new(number)).filter(|_| is_whole);
        if let Some(packet) = &packet {
            frame.place.end = frame.place.start + packet.size as usize;
            self.free.pop();
        }
        Ok(packet)
    }

    /// The bytes of a packet as they came in.
    pub(crate) fn bytes(&self, packet: &Packet) -> &[u8] {
        let frame = &self.places[number_of(packet)];
        &frame.bytes[frame.place.clone()]
    }

    /// What was seen of a packet as it came in.
    pub(crate) fn seen(&self, packet: &Packet) -> Seen {
        self.places[number_of(packet)].seen
    }

    /// The bytes of a packet, with the code point and the ECN field that it has now. Its place is free for
    /// the next.
    pub(crate) fn give_back(&mut self, packet: &Packet) -> &[u8] {
        let number = self.release(packet);
        let frame = &mut self.places[number];
        let bytes = &mut frame.bytes[frame.place.clone()];
        let wanted = DsField::from(packet);
        if let Some(place) = frame.ds.filter(|place| place.ds != wanted) {
            place.write(bytes, wanted).expect("the field is where it was read");
        }
        bytes
    }

    /// Frees the place of a packet.
    pub(crate) fn release(&mut self, packet: &Packet) -> usize {
        let number = number_of(packet);
        self.free.push(number as u32);
        number
    }
}

fn number_of(packet: &Packet) -> usize {
    packet.bytes.expect("a packet names its bytes").number() as usize
}

#[cfg(test)]
mod tests {
    use shortflow_packet::{Dscp, Ecn};

    use super::*;

    /// An empty datagram from 10.0.0.1 to 10.0.0.2, without its checksum.
    const DATAGRAM: [u8; 28] = [
        0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0, 5, 0, 6, 0, 8, 0, 0,
    ];

    fn read(bytes: &[u8]) -> impl FnOnce(&mut [u8]) -> Result<usize, ()> {
        |place| {
            place[..bytes.len()].copy_from_slice(bytes);
            Ok(bytes.len())
        }
    }

    #[test]
    fn what_elements_decide_is_in_the_bytes_that_come_back() {
        let mut frames = Frames::new(1, 100);
        let mut packet = frames.take_in(read(&DATAGRAM)).unwrap().unwrap();
        packet.dscp = Dscp::AF11;
        packet.ecn = Ecn::Ce;
        let back = frames.give_back(&packet).to_vec();
        assert_eq!((back[1], &back[12..]), (10 << 2 | 3, &DATAGRAM[12..]));
    }

    #[test]
    fn a_record_before_a_packet_is_seen_and_goes_no_further() {
        let mut frames = Frames::new(1, 100);
        let mut bytes = vec![0, b'S', b'F', 1];
        bytes.resize(Record::LENGTH, 0);
        bytes.extend(DATAGRAM);
        let packet = frames.take_in(read(&bytes)).unwrap().unwrap();
        assert_eq!(frames.seen(&packet).record, Some(Record::Nothing));
        assert_eq!((packet.size, frames.give_back(&packet)), (28, &DATAGRAM[..]));
    }

    #[test]
    fn places_are_used_again_and_there_are_more_when_all_are_taken() {
        let mut frames = Frames::new(1, 100);
        let first = frames.take_in(read(&DATAGRAM)).unwrap().unwrap();
        let second = frames.take_in(read(&DATAGRAM)).unwrap().unwrap();
        assert_ne!(first.bytes, second.bytes);
        frames.release(&first);
        let third = frames.take_in(read(&DATAGRAM)).unwrap().unwrap();
        assert_eq!((third.bytes, frames.places.len()), (first.bytes, 2));
    }

    #[test]
    fn part_of_a_packet_is_none_and_what_stands_behind_one_is_cut_off() {
        let mut frames = Frames::new(1, 100);
        assert_eq!(frames.take_in(read(&DATAGRAM[..27])), Ok(None));
        let packet = frames.take_in(read(&[&DATAGRAM[..], &[1, 2, 3]].concat())).unwrap().unwrap();
        assert_eq!(packet.size, 28);
        assert_eq!(frames.give_back(&packet), DATAGRAM);
    }

    #[test]
    fn bytes_that_are_no_packet_take_no_place() {
        let mut frames = Frames::new(1, 100);
        assert_eq!(frames.take_in(read(&[0x45, 0, 0])), Ok(None));
        assert_eq!(frames.free, [0]);
        assert_eq!(frames.take_in(|_| Err("nothing to read")), Err("nothing to read"));
        assert_eq!(frames.free, [0]);
    }
}
