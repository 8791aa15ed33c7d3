//! The bytes of the frames that wait, each with the place of its DS field.

use shortflow_packet::{FrameId, Packet};
use shortflow_wire::{DsField, DsPlace, Layers};

/// All frames' bytes, in places that are used again.
#[derive(Debug)]
pub(crate) struct Frames {
    places: Vec<Place>,
    free: Vec<u32>,
    max_frame: usize,
}

#[derive(Debug)]
struct Place {
    bytes: Box<[u8]>,
    length: usize,
    ds: Option<DsPlace>,
}

/// Bytes to which Ethernet pads what a frame carries.
const MIN_PAYLOAD: u32 = 46;

/// The maximum number of frames that wait in one direction.
pub(crate) const MAX_FRAMES: usize = 1 << 15;

impl Frames {
    /// Room for `count` frames of up to `max_frame` bytes. More room is made when it is needed, up to a limit.
    pub(crate) fn new(count: usize, max_frame: usize) -> Self {
        let mut frames = Frames { places: Vec::new(), free: Vec::new(), max_frame };
        (0..count).for_each(|_| frames.grow());
        frames
    }

    fn grow(&mut self) {
        self.free.push(self.places.len() as u32);
        self.places.push(Place { bytes: vec![0; self.max_frame].into(), length: 0, ds: None });
    }

    /// Copies an Ethernet frame and describes the IP packet in it.
    ///
    /// # Errors
    /// If there is no room, or the frame has no whole IP packet.
    pub(crate) fn take_in(&mut self, frame: &[u8]) -> Result<Packet, NotTaken> {
        if frame.len() > self.max_frame {
            return Err(NotTaken::NoPacket);
        }
        if self.free.is_empty() {
            if self.places.len() >= MAX_FRAMES {
                return Err(NotTaken::NoRoom);
            }
            self.grow();
        }
        let layers = Layers::of_ethernet(frame);
        let number = *self.free.last().expect("there is a free place");
        let packet = layers.descriptor(FrameId::new(number)).filter(|_| layers.missing == 0);
        let mut packet = packet.ok_or(NotTaken::NoPacket)?;
        // Bytes behind the packet take time on the wire, too. Short frames are padded, and the link layer counts that.
        let behind_header = (frame.len() - layers.ip_at) as u32;
        if behind_header > MIN_PAYLOAD {
            packet.size = packet.size.max(behind_header);
        }
        self.free.pop();
        let place = &mut self.places[number as usize];
        place.bytes[..frame.len()].copy_from_slice(frame);
        place.length = frame.len();
        place.ds = layers.ds_place();
        Ok(packet)
    }

    /// The frame of a packet, with the code point and the ECN field that the packet has now. Its place becomes free.
    pub(crate) fn give_back(&mut self, packet: &Packet) -> &[u8] {
        let number = self.release(packet);
        let place = &mut self.places[number];
        let bytes = &mut place.bytes[..place.length];
        let wanted = DsField::from(packet);
        if let Some(ds) = place.ds.filter(|ds| ds.ds != wanted) {
            ds.write(bytes, wanted).expect("the field is where it was read");
        }
        bytes
    }

    /// Frees the place of a packet.
    pub(crate) fn release(&mut self, packet: &Packet) -> usize {
        let number = packet.bytes.expect("a packet names its bytes").number();
        self.free.push(number);
        number as usize
    }
}

/// Why a frame was not taken in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotTaken {
    /// The frame has no whole IP packet. Routers drop such packets, too (RFC 1812 §5.2.2).
    NoPacket,
    /// Too many frames wait.
    NoRoom,
}

#[cfg(test)]
mod tests {
    use shortflow_packet::{Dscp, Ecn};

    use super::*;

    /// A datagram without content from 10.0.0.1 to 10.0.0.2 in a frame with a VLAN tag.
    fn frame() -> Vec<u8> {
        let ethernet = [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x81, 0, 0, 7, 8, 0];
        let datagram = [
            0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0, 5, 0, 6, 0, 8,
            0, 0,
        ];
        [&ethernet[..], &datagram].concat()
    }

    #[test]
    fn the_decision_of_elements_is_in_the_frame_that_comes_back_and_nothing_else_changes() {
        let mut frames = Frames::new(1, 100);
        let mut packet = frames.take_in(&frame()).unwrap();
        assert_eq!(packet.size, 28);
        packet.dscp = Dscp::AF11;
        packet.ecn = Ecn::Ce;
        let back = frames.give_back(&packet).to_vec();
        assert_eq!(back[19], 10 << 2 | 3);
        let is_checksum = |at: usize| at == 28 || at == 29;
        let changed = |at: &usize| back[*at] != frame()[*at] && !is_checksum(*at);
        assert_eq!((0..46).filter(changed).collect::<Vec<_>>(), [19]);
    }

    #[test]
    fn padding_after_the_packet_is_kept() {
        let padded = [frame(), vec![0; 18]].concat();
        let mut frames = Frames::new(1, 100);
        let packet = frames.take_in(&padded).unwrap();
        assert_eq!(frames.give_back(&packet), padded);
    }

    #[test]
    fn a_packet_counts_with_all_that_its_frame_carries_beyond_padding() {
        let mut frames = Frames::new(1, 2000);
        for (behind, size) in [(0, 28), (18, 28), (500, 528)] {
            let packet = frames.take_in(&[frame(), vec![0; behind]].concat()).unwrap();
            assert_eq!(packet.size, size);
            frames.release(&packet);
        }
    }

    #[test]
    fn places_are_used_again() {
        let mut frames = Frames::new(1, 100);
        let first = frames.take_in(&frame()).unwrap();
        let second = frames.take_in(&frame()).unwrap();
        assert_ne!(first.bytes, second.bytes);
        frames.release(&first);
        assert_eq!(frames.take_in(&frame()).unwrap().bytes, first.bytes);
        assert_eq!(frames.places.len(), 2);
    }

    #[test]
    fn part_of_a_packet_and_a_frame_without_ip_are_not_taken_in() {
        let mut frames = Frames::new(1, 100);
        assert_eq!(frames.take_in(&frame()[..40]), Err(NotTaken::NoPacket));
        assert_eq!(frames.take_in(&[0; 60]), Err(NotTaken::NoPacket));
        assert_eq!(frames.take_in(&[0; 101]), Err(NotTaken::NoPacket));
        assert_eq!(frames.free, [0]);
    }
}
