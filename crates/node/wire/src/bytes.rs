//! Access to bytes with length checks, and errors.

use thiserror::Error;

/// Why bytes are not a valid header, or why a header cannot be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum WireError {
    /// The bytes end inside the header.
    #[error("the header needs {needed} bytes; found {found}")]
    Truncated {
        /// Length of the header in bytes.
        needed: usize,
        /// Number of bytes found.
        found: usize,
    },
    /// The bytes have another IP version.
    #[error("expected IP version {expected}; found {found}")]
    Version {
        /// The expected version.
        expected: u8,
        /// The version in the first four bits.
        found: u8,
    },
    /// A length field is smaller than the fixed part of the header.
    #[error("the length must be at least {min} bytes; found {found}")]
    Length {
        /// The smallest valid length in bytes.
        min: usize,
        /// The length found, in bytes.
        found: usize,
    },
    /// An option's length exceeds the options, or is wrong for its kind.
    #[error("option {kind} has the invalid length {length}")]
    OptionLength {
        /// The kind of the option.
        kind: u8,
        /// Its length field, in bytes.
        length: usize,
    },
    /// The output buffer is too small.
    #[error("the output needs {needed} bytes; the buffer has {room}")]
    NoRoom {
        /// Bytes to write.
        needed: usize,
        /// Bytes in the buffer.
        room: usize,
    },
    /// The header's length field cannot represent the length.
    #[error("the length field cannot represent {0} bytes of content")]
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

/// Writes the parts one after the other, and returns their length. Writes nothing if the buffer is too small.
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

/// The raw options of an IPv4 or TCP header: whole words of 4 bytes, at most 40 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OptionBytes {
    /// Unused bytes are zero.
    bytes: [u8; OptionBytes::MAX_LENGTH],
    length: u8,
}

impl OptionBytes {
    /// The limit: headers have at most 60 bytes, of which 20 are fixed.
    pub const MAX_LENGTH: usize = 40;

    /// No options.
    pub const NONE: OptionBytes = OptionBytes { bytes: [0; OptionBytes::MAX_LENGTH], length: 0 };

    /// These bytes, padded with zeros (the end of the list) to a whole word.
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

    /// The number of bytes.
    pub fn len(&self) -> usize {
        usize::from(self.length)
    }

    /// Whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Pads the list to at least `length` bytes and a whole number of words, up to the limit of a header.
    pub fn fill(&mut self, length: usize) {
        let length = length.max(self.len()).next_multiple_of(4).min(Self::MAX_LENGTH);
        self.length = length as u8;
    }

    /// Appends bytes, which need not be a whole word.
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
