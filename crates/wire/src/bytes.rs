//! Bytes that may be too few, and what is wrong with them.

use thiserror::Error;

/// Why bytes are no header, or why a header is not written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum WireError {
    /// The bytes end inside the header.
    #[error("{found} bytes, where the header needs {needed}")]
    Truncated {
        /// Bytes that the header needs.
        needed: usize,
        /// Bytes that there are.
        found: usize,
    },
    /// The bytes are of another version of IP.
    #[error("IP version {found}, where {expected} is expected")]
    Version {
        /// The version that was asked for.
        expected: u8,
        /// The version that the first four bits name.
        found: u8,
    },
    /// A length field names less than the fixed part of the header.
    #[error("a length of {found} bytes, where {min} is the least")]
    Length {
        /// The least that the field may say, in bytes.
        min: usize,
        /// What it says, in bytes.
        found: usize,
    },
    /// An option's length leads out of the options, or is not that of its kind.
    #[error("option {kind} has a length of {length} bytes, which cannot be")]
    OptionLength {
        /// The number of the option.
        kind: u8,
        /// The length that it names, in bytes.
        length: usize,
    },
    /// There is no room for what is to be written.
    #[error("room for {room} bytes, where {needed} are to be written")]
    NoRoom {
        /// Bytes to be written.
        needed: usize,
        /// Bytes that there is room for.
        room: usize,
    },
    /// The length is none that the header's length field can say.
    #[error("{0} bytes of content, which the length field cannot say")]
    InvalidLength(usize),
}

/// The first `N` bytes.
pub(crate) fn head<const N: usize>(bytes: &[u8]) -> Result<&[u8; N], WireError> {
    bytes.first_chunk().ok_or(WireError::Truncated { needed: N, found: bytes.len() })
}

/// The first `length` bytes.
pub(crate) fn first(bytes: &[u8], length: usize) -> Result<&[u8], WireError> {
    bytes.get(..length).ok_or(WireError::Truncated { needed: length, found: bytes.len() })
}

/// Writes the parts one after the other, and gives their length; writes nothing if there is no room.
pub(crate) fn write(out: &mut [u8], parts: &[&[u8]]) -> Result<usize, WireError> {
    let needed = parts.iter().map(|part| part.len()).sum();
    let room = out.len();
    let mut rest = out.get_mut(..needed).ok_or(WireError::NoRoom { needed, room })?;
    for part in parts {
        let (here, after) = rest.split_at_mut(part.len());
        here.copy_from_slice(part);
        rest = after;
    }
    Ok(needed)
}

/// The options of an IPv4 or TCP header as they stand there: whole words of 4 bytes, 40 bytes at
/// most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OptionBytes {
    /// Zero where nothing is.
    bytes: [u8; OptionBytes::MAX_LENGTH],
    length: u8,
}

impl OptionBytes {
    /// The most bytes: headers have 60 at most, 20 of them fixed.
    pub const MAX_LENGTH: usize = 40;

    /// No options.
    pub const NONE: OptionBytes = OptionBytes { bytes: [0; OptionBytes::MAX_LENGTH], length: 0 };

    /// These bytes, filled up with zeros (the end of the list) to a whole word.
    pub fn new(bytes: &[u8]) -> Result<Self, WireError> {
        let mut options = OptionBytes::NONE;
        options.push(bytes)?;
        options.fill(bytes.len());
        Ok(options)
    }

    /// The bytes.
    pub fn as_slice(&self) -> &[u8] {
        &self.bytes[..self.len()]
    }

    /// How many bytes there are.
    pub fn len(&self) -> usize {
        usize::from(self.length)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Makes the list at least `length` bytes long and a whole number of words, as far as a header
    /// can be.
    pub fn fill(&mut self, length: usize) {
        let length = length.max(self.len()).next_multiple_of(4).min(Self::MAX_LENGTH);
        self.length = length as u8;
    }

    /// Adds bytes at the end, which need not be a whole word yet.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<(), WireError> {
        let (length, needed) = (self.len(), bytes.len());
        let room = Self::MAX_LENGTH - length;
        let place = self.bytes.get_mut(length..length + needed);
        place.ok_or(WireError::NoRoom { needed, room })?.copy_from_slice(bytes);
        self.length += needed as u8;
        Ok(())
    }
}

impl Default for OptionBytes {
    fn default() -> Self {
        OptionBytes::NONE
    }
}
