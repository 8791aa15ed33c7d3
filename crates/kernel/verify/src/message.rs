//! The bytes of a probe.

use shortflow_packet::Dscp;

/// A probe, or what comes back of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Message {
    /// Whose it is: no two runs have the same.
    pub(crate) run: u64,
    /// Which stream it belongs to.
    pub(crate) stream: u16,
    /// Its place in the stream.
    pub(crate) number: u32,
    /// The code point with which it arrived at the peer; `None` on the way there.
    pub(crate) arrived: Option<Dscp>,
}

/// What all begin with.
const MAGIC: [u8; 4] = *b"sfv1";
/// Stands for no code point.
const NONE: u8 = 0xff;

impl Message {
    /// The bytes of a message: as long as a packet of a call, in both directions, so that a peer never sends more
    /// than it receives.
    pub(crate) const LENGTH: usize = 160;

    pub(crate) fn bytes(&self) -> [u8; Message::LENGTH] {
        let mut bytes = [0; Message::LENGTH];
        bytes[..4].copy_from_slice(&MAGIC);
        bytes[4..12].copy_from_slice(&self.run.to_be_bytes());
        bytes[12..14].copy_from_slice(&self.stream.to_be_bytes());
        bytes[14..18].copy_from_slice(&self.number.to_be_bytes());
        bytes[18] = self.arrived.map_or(NONE, Dscp::value);
        bytes
    }

    /// `None` if these bytes are not a message.
    pub(crate) fn read(bytes: &[u8]) -> Option<Message> {
        let bytes: &[u8; Message::LENGTH] = bytes.try_into().ok()?;
        let arrived = match bytes[18] {
            NONE => None,
            value => Some(Dscp::new(value)?),
        };
        (bytes[..4] == MAGIC).then(|| Message {
            run: u64::from_be_bytes(bytes[4..12].try_into().expect("8 bytes")),
            stream: u16::from_be_bytes([bytes[12], bytes[13]]),
            number: u32::from_be_bytes(bytes[14..18].try_into().expect("4 bytes")),
            arrived,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_read_as_it_was_written_and_nothing_else_is_one() {
        let message = Message { run: 7 << 40, stream: 3, number: 70_000, arrived: None };
        assert_eq!(Message::read(&message.bytes()), Some(message));
        let back = Message { arrived: Some(Dscp::EF), ..message };
        assert_eq!(Message::read(&back.bytes()), Some(back));

        let bytes = message.bytes();
        let mut with_no_code_point = bytes;
        with_no_code_point[18] = 64;
        let mut of_others = bytes;
        of_others[0] = b'S';
        for other in [
            &bytes[..159],
            &[bytes.as_slice(), &[0]].concat(),
            &with_no_code_point,
            &of_others,
            &[],
        ] {
            assert_eq!(Message::read(other), None, "{other:?}");
        }
    }
}
