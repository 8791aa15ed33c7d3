//! Rewrites DSCP and ECN in place.

use crate::bytes::WireError;
use crate::checksum::updated;
use crate::{DsField, Ip, Layers};

/// The position and the value of a packet's DS field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DsPlace {
    /// Code point and ECN as last read or written.
    pub ds: DsField,
    /// Offset of the IP header.
    at: usize,
    is_v4: bool,
}

impl Layers {
    /// The position of the DS field; `None` if there is no IP header.
    pub fn ds_place(&self) -> Option<DsPlace> {
        let ip = self.ip.as_ref()?;
        Some(DsPlace { ds: ip.ds(), at: self.ip_at, is_v4: matches!(ip, Ip::V4(_)) })
    }
}

impl DsPlace {
    /// Writes the field into the bytes from which the position was read, and updates the checksum of an IPv4
    /// header. A wrong checksum stays wrong. Other checksums do not cover the field.
    pub fn write(mut self, bytes: &mut [u8], ds: DsField) -> Result<DsPlace, WireError> {
        let (needed, found) = (self.at + if self.is_v4 { 12 } else { 2 }, bytes.len());
        let header = bytes.get_mut(self.at..needed);
        let header = header.ok_or(WireError::Truncated { needed, found })?;
        if self.is_v4 {
            let old = u16::from_be_bytes([header[0], header[1]]);
            header[1] = ds.0;
            let new = u16::from_be_bytes([header[0], header[1]]);
            let checksum = u16::from_be_bytes([header[10], header[11]]);
            header[10..].copy_from_slice(&updated(checksum, old, new).to_be_bytes());
        } else {
            header[0] = header[0] & 0xf0 | ds.0 >> 4;
            header[1] = header[1] & 0x0f | ds.0 << 4;
        }
        self.ds = ds;
        Ok(self)
    }
}
