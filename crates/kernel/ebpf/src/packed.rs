//! Structures of the programs as bytes.

/// Numbers in sequence, in the machine's byte order.
#[derive(Default)]
pub(crate) struct Packed(pub(crate) Vec<u8>);

impl Packed {
    pub(crate) fn bytes(mut self, bytes: &[u8]) -> Packed {
        self.0.extend(bytes);
        self
    }

    pub(crate) fn long(self, value: u64) -> Packed {
        self.bytes(&value.to_ne_bytes())
    }

    pub(crate) fn four(self, value: u32) -> Packed {
        self.bytes(&value.to_ne_bytes())
    }
}
