//! The socket option by which an application without privileges says where an object begins in what its connection sends, and
//! how many bytes of it have each level. `include/shortflow.h` is the same for applications.

#[cfg(not(feature = "ebpf"))]
#[path = "program_unavailable.rs"]
mod program;
#[cfg(feature = "ebpf")]
mod program;

use crate::packed::Packed;

#[cfg(feature = "ebpf")]
pub(crate) use program::OBJECTS;
pub use program::SocketOption;

/// The level of the option (`SOL_SHORTFLOW`), which the kernel itself refuses.
pub const LEVEL: i32 = 0x5346;

/// Its name (`SHORTFLOW_OBJECT`).
pub const NAME: i32 = 1;

/// The most thresholds of an object, which make eight levels.
pub const MAX_THRESHOLDS: usize = 7;

/// The version of the value.
const VERSION: u16 = 1;

/// The flag that starts an object (`SHORTFLOW_STARTS`).
const STARTS: u16 = 1;

/// The bytes of the value.
const BYTES: usize = 64;

/// The value of the option (`struct shortflow_object`).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ObjectOption {
    /// Whether an object starts with the next byte that is written. Otherwise the current one gets these thresholds.
    pub starts: bool,
    /// The bytes of the object of the first level, of the first two, and so on. Without any, those of the policy.
    pub thresholds: Vec<u64>,
}

impl ObjectOption {
    /// As `setsockopt` takes it.
    pub fn packed(&self) -> Vec<u8> {
        let flags = if self.starts { STARTS } else { 0 };
        let mut packed = Packed::default()
            .bytes(&VERSION.to_ne_bytes())
            .bytes(&flags.to_ne_bytes())
            .four(self.thresholds.len() as u32);
        for at in 0..MAX_THRESHOLDS {
            packed = packed.long(self.thresholds.get(at).copied().unwrap_or(0));
        }
        debug_assert_eq!(packed.0.len(), BYTES);
        packed.0
    }
}
