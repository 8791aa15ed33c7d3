//! TCP options (RFC 9293 §3.2, RFC 7323, RFC 2018).

use crate::bytes::{OptionBytes, WireError};

/// A TCP option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TcpOption<'a> {
    /// One byte without meaning, for alignment to a whole word.
    NoOperation,
    /// The largest segment that the sender of the option accepts, in bytes (RFC 6691).
    MaximumSegmentSize(u16),
    /// The shift of window fields (RFC 7323 §2.2).
    WindowScale(u8),
    /// Selective acknowledgements are permitted (RFC 2018 §2).
    SackPermitted,
    /// Selective acknowledgements (RFC 2018 §3).
    Sack(SackList),
    /// Timestamps (RFC 7323 §3.2).
    Timestamps {
        /// The sender's clock.
        value: u32,
        /// The echo of the receiver's clock.
        echo: u32,
    },
    /// Another option, or one of the above with another length.
    Unknown {
        /// Its kind.
        kind: u8,
        /// Its content after the length.
        content: &'a [u8],
    },
}

/// A block of received data: sequence numbers from (included) and to (excluded).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SackBlock {
    /// The first byte.
    pub from: u32,
    /// The byte after the last.
    pub to: u32,
}

/// One to four blocks, the most recent first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SackList {
    /// Unused blocks are zero.
    blocks: [SackBlock; SackList::MAX_COUNT],
    length: u8,
}

impl SackList {
    /// The number of blocks that fit into a header.
    pub const MAX_COUNT: usize = 4;

    /// These blocks; `None` if there are none, or more than fit into a header.
    pub fn new(blocks: &[SackBlock]) -> Option<Self> {
        let mut list = SackList { blocks: Default::default(), length: blocks.len() as u8 };
        if blocks.is_empty() {
            return None;
        }
        list.blocks.get_mut(..blocks.len())?.copy_from_slice(blocks);
        Some(list)
    }

    /// The blocks.
    pub fn as_slice(&self) -> &[SackBlock] {
        &self.blocks[..usize::from(self.length)]
    }

    /// Parses the content of an option, which must be whole blocks.
    fn parse(content: &[u8]) -> Option<Self> {
        let (words, rest) = content.as_chunks::<8>();
        let mut blocks = [SackBlock::default(); Self::MAX_COUNT];
        for (block, [a, b, c, d, e, f, g, h]) in blocks.iter_mut().zip(words) {
            block.from = u32::from_be_bytes([*a, *b, *c, *d]);
            block.to = u32::from_be_bytes([*e, *f, *g, *h]);
        }
        blocks.get(..words.len()).filter(|_| rest.is_empty()).and_then(SackList::new)
    }
}

const END: u8 = 0;
const NO_OPERATION: u8 = 1;
const MAXIMUM_SEGMENT_SIZE: u8 = 2;
const WINDOW_SCALE: u8 = 3;
const SACK_PERMITTED: u8 = 4;
const SACK: u8 = 5;
const TIMESTAMPS: u8 = 8;

/// The options of a header, parsed when iterated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TcpOptions(OptionBytes);

impl From<OptionBytes> for TcpOptions {
    /// The raw options of a header.
    fn from(bytes: OptionBytes) -> Self {
        TcpOptions(bytes)
    }
}

impl TcpOptions {
    /// No options.
    pub const NONE: TcpOptions = TcpOptions(OptionBytes::NONE);

    /// Adds an option. If it does not fit, nothing is added.
    pub fn push(&mut self, option: TcpOption<'_>) -> Result<(), WireError> {
        match option {
            TcpOption::NoOperation => self.0.push(&[NO_OPERATION]),
            TcpOption::MaximumSegmentSize(size) => {
                let [a, b] = size.to_be_bytes();
                self.0.push(&[MAXIMUM_SEGMENT_SIZE, 4, a, b])
            }
            TcpOption::WindowScale(shift) => self.0.push(&[WINDOW_SCALE, 3, shift]),
            TcpOption::SackPermitted => self.0.push(&[SACK_PERMITTED, 2]),
            TcpOption::Sack(list) => self.push_sack(&list),
            TcpOption::Timestamps { value, echo } => {
                let [a, b, c, d] = value.to_be_bytes();
                let [e, f, g, h] = echo.to_be_bytes();
                self.0.push(&[TIMESTAMPS, 10, a, b, c, d, e, f, g, h])
            }
            TcpOption::Unknown { kind, content } => {
                let mut bytes = [0; OptionBytes::MAX_LENGTH];
                let (needed, room) = (content.len() + 2, OptionBytes::MAX_LENGTH);
                let place = bytes.get_mut(2..needed).ok_or(WireError::NoRoom { needed, room })?;
                place.copy_from_slice(content);
                bytes[..2].copy_from_slice(&[kind, needed as u8]);
                self.0.push(&bytes[..needed])
            }
        }
    }

    fn push_sack(&mut self, list: &SackList) -> Result<(), WireError> {
        let mut bytes = [0; 2 + 8 * SackList::MAX_COUNT];
        let length = 2 + 8 * list.as_slice().len();
        bytes[..2].copy_from_slice(&[SACK, length as u8]);
        for (place, block) in bytes[2..].chunks_exact_mut(8).zip(list.as_slice()) {
            place[..4].copy_from_slice(&block.from.to_be_bytes());
            place[4..].copy_from_slice(&block.to.to_be_bytes());
        }
        self.0.push(&bytes[..length])
    }

    /// Pads the list to at least `length` bytes, up to the limit of a header. The padding ends the list (RFC
    /// 9293 §3.2).
    pub fn fill(&mut self, length: usize) {
        self.0.fill(length);
    }

    /// The options in order, up to the end of the list or the first invalid one.
    pub fn iter(&self) -> impl Iterator<Item = Result<TcpOption<'_>, WireError>> {
        Walk { rest: self.0.as_slice() }
    }

    /// The bytes, padded to a whole word.
    pub fn filled(&self) -> OptionBytes {
        let mut bytes = self.0;
        bytes.fill(0);
        bytes
    }

    /// Whether there are no options.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

struct Walk<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Walk<'a> {
    type Item = Result<TcpOption<'a>, WireError>;

    fn next(&mut self) -> Option<Self::Item> {
        let (kind, after) = self.rest.split_first().filter(|(kind, _)| **kind != END)?;
        if *kind == NO_OPERATION {
            self.rest = after;
            return Some(Ok(TcpOption::NoOperation));
        }
        let length = after.first().map_or(0, |length| usize::from(*length));
        let parts = self.rest.split_at_checked(length).filter(|(option, _)| option.len() >= 2);
        let Some((option, rest)) = parts else {
            self.rest = &[];
            return Some(Err(WireError::OptionLength { kind: *kind, length }));
        };
        self.rest = rest;
        Some(Ok(read(*kind, &option[2..])))
    }
}

fn read(kind: u8, content: &[u8]) -> TcpOption<'_> {
    let unknown = TcpOption::Unknown { kind, content };
    match (kind, content) {
        (MAXIMUM_SEGMENT_SIZE, [a, b]) => {
            TcpOption::MaximumSegmentSize(u16::from_be_bytes([*a, *b]))
        }
        (WINDOW_SCALE, [shift]) => TcpOption::WindowScale(*shift),
        (SACK_PERMITTED, []) => TcpOption::SackPermitted,
        (SACK, blocks) => SackList::parse(blocks).map_or(unknown, TcpOption::Sack),
        (TIMESTAMPS, [a, b, c, d, e, f, g, h]) => TcpOption::Timestamps {
            value: u32::from_be_bytes([*a, *b, *c, *d]),
            echo: u32::from_be_bytes([*e, *f, *g, *h]),
        },
        _ => unknown,
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::vec::Vec;

    /// Options as they are read from a header of these bytes.
    fn options(bytes: &[u8]) -> Vec<Result<TcpOption<'_>, WireError>> {
        assert!(bytes.len().is_multiple_of(4));
        Walk { rest: bytes }.collect()
    }

    #[test]
    fn a_syn_of_a_common_system_is_read_option_by_option() {
        let bytes = [2, 4, 5, 0xb4, 4, 2, 8, 10, 0, 0, 0, 7, 0, 0, 0, 0, 1, 3, 3, 7];
        assert_eq!(
            options(&bytes),
            [
                Ok(TcpOption::MaximumSegmentSize(1460)),
                Ok(TcpOption::SackPermitted),
                Ok(TcpOption::Timestamps { value: 7, echo: 0 }),
                Ok(TcpOption::NoOperation),
                Ok(TcpOption::WindowScale(7)),
            ]
        );
    }

    #[test]
    fn an_option_that_leads_out_of_the_list_or_has_no_length_ends_it() {
        let mistake = |kind, length| Err(WireError::OptionLength { kind, length });
        assert_eq!(options(&[1, 1, 1, 8])[3..], [mistake(8, 0)]);
        assert_eq!(options(&[8, 10, 0, 0]), [mistake(8, 10)]);
        assert_eq!(options(&[8, 1, 0, 0]), [mistake(8, 1)]);
        assert_eq!(options(&[8, 0, 0, 0]), [mistake(8, 0)]);
    }

    #[test]
    fn nothing_is_read_behind_the_end_of_the_list() {
        assert_eq!(options(&[0, 8, 10, 0]), []);
    }

    #[test]
    fn known_kinds_of_other_lengths_are_kept_as_unknown() {
        assert_eq!(
            options(&[3, 4, 1, 2, 5, 4, 1, 2]),
            [
                Ok(TcpOption::Unknown { kind: 3, content: &[1, 2] }),
                Ok(TcpOption::Unknown { kind: 5, content: &[1, 2] }),
            ]
        );
    }

    #[test]
    fn an_option_that_does_not_fit_is_refused_and_nothing_is_added() {
        let mut options = TcpOptions::NONE;
        let blocks = [SackBlock { from: 1, to: 2 }; 4];
        options.push(TcpOption::Sack(SackList::new(&blocks).unwrap())).unwrap();
        let before = options;
        let timestamps = TcpOption::Timestamps { value: 1, echo: 2 };
        assert_eq!(options.push(timestamps), Err(WireError::NoRoom { needed: 10, room: 6 }));
        assert_eq!(options, before);
        assert_eq!(SackList::new(&[SackBlock::default(); 5]), None);
        assert_eq!(SackList::new(&[]), None);
    }
}
