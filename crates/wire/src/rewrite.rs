//! DSCP and ECN, rewritten where they stand.

use crate::bytes::WireError;
use crate::checksum::updated;
use crate::{DsField, Ip, Layers};

/// Where the DS field of a packet stands, and what it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DsPlace {
    /// Code point and ECN as they were read or last written.
    pub ds: DsField,
    /// Where the IP header begins.
    at: usize,
    is_v4: bool,
}

impl Layers {
    /// Where the DS field stands; `None` if there is no IP header.
    pub fn ds_place(&self) -> Option<DsPlace> {
        let ip = self.ip.as_ref()?;
        Some(DsPlace { ds: ip.ds(), at: self.ip_at, is_v4: matches!(ip, Ip::V4(_)) })
    }
}

impl DsPlace {
    /// Writes the field into the bytes from which the place was read, and mends the checksum of an
    /// IPv4 header; one that was wrong stays wrong. Other checksums do not cover the field.
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
