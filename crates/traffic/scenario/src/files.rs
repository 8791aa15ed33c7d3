//! Files that a scenario names, besides its policy.

use std::cell::RefCell;

/// Returns the path and the text of a file, or an error.
type Read<'f> = &'f dyn Fn(&str) -> Result<(String, String), String>;

/// Reads files by the names in a scenario, and remembers them.
pub(crate) struct Files<'f> {
    read: Read<'f>,
    /// Path and digest of each file.
    digests: RefCell<Vec<(String, String)>>,
}

impl<'f> Files<'f> {
    /// Reads through `read`.
    pub(crate) fn new(read: Read<'f>) -> Self {
        Files { read, digests: RefCell::default() }
    }

    /// The path and the text of a file.
    pub(crate) fn read(&self, name: &str) -> Result<(String, String), String> {
        let (path, text) = (self.read)(name)?;
        self.digests.borrow_mut().push((path.clone(), digest(&text)));
        Ok((path, text))
    }

    /// Path and digest of each file that was read.
    pub(crate) fn digests(self) -> Vec<(String, String)> {
        self.digests.into_inner()
    }
}

/// The length and the hash of a text, as a string.
pub(crate) fn digest(text: &str) -> String {
    format!("{} bytes, FNV-1a {:032x}", text.len(), fnv1a(text.as_bytes()))
}

/// FNV-1a with 128 bits.
fn fnv1a(bytes: &[u8]) -> u128 {
    bytes.iter().fold(FNV_OFFSET, |hash, b| (hash ^ u128::from(*b)).wrapping_mul(FNV_PRIME))
}

const FNV_OFFSET: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
const FNV_PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
