//! The pcapng file format (draft-ietf-opsawg-pcapng), limited to what a capture needs.

use std::io::{self, Write};
use std::net::IpAddr;

use shortflow_units::Instant;

/// Writes complete blocks.
#[derive(Debug)]
pub(crate) struct Writer<W> {
    out: W,
    /// The body of the current block; reused, so that no packet allocates.
    body: Vec<u8>,
}

/// A packet as it was captured.
#[derive(Debug)]
pub(crate) struct Captured<'a> {
    /// The interface, by the order in which they were written.
    pub(crate) interface: u32,
    /// The time.
    pub(crate) at: Instant,
    /// The direction.
    pub(crate) direction: Direction,
    /// The first bytes.
    pub(crate) bytes: &'a [u8],
    /// The original length.
    pub(crate) length: u32,
    /// The comment.
    pub(crate) comment: Option<&'a str>,
}

/// The direction of a packet, as seen from the interface, by its number in `epb_flags`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    Inbound = 1,
    Outbound = 2,
}

impl<W: Write> Writer<W> {
    /// Writes the header of a file.
    pub(crate) fn new(out: W, application: &str, comment: &str) -> io::Result<Self> {
        let mut writer = Writer { out, body: Vec::new() };
        writer.put(&BYTE_ORDER_MAGIC.to_le_bytes());
        writer.put(&[1, 0, 0, 0]); // version 1.0
        writer.put(&u64::MAX.to_le_bytes()); // the length of the section is not given
        writer.option(OPT_COMMENT, comment.as_bytes());
        writer.option(SHB_USERAPPL, application.as_bytes());
        writer.end_of_options();
        writer.block(SECTION_HEADER)?;
        Ok(writer)
    }

    /// Adds an Ethernet interface; the first is number 0. No more than `snap` bytes of a packet are stored.
    pub(crate) fn interface(
        &mut self,
        name: &str,
        description: &str,
        snap: Option<u32>,
    ) -> io::Result<()> {
        self.put(&LINKTYPE_ETHERNET.to_le_bytes());
        self.put(&[0; 2]);
        self.put(&snap.unwrap_or(NO_LIMIT).to_le_bytes());
        self.option(IF_NAME, name.as_bytes());
        self.option(IF_DESCRIPTION, description.as_bytes());
        self.option(IF_TSRESOL, &[NANOSECONDS]);
        self.end_of_options();
        self.block(INTERFACE_DESCRIPTION)
    }

    /// Writes the names of addresses.
    pub(crate) fn names<'a>(
        &mut self,
        names: impl Iterator<Item = (IpAddr, &'a str)>,
    ) -> io::Result<()> {
        for (address, name) in names {
            let record = |octets: &[u8]| [octets, name.as_bytes(), &[0]].concat();
            match address {
                IpAddr::V4(address) => self.option(NRB_RECORD_IPV4, &record(&address.octets())),
                IpAddr::V6(address) => self.option(NRB_RECORD_IPV6, &record(&address.octets())),
            }
        }
        self.end_of_options();
        self.block(NAME_RESOLUTION)
    }

    /// Adds a packet.
    pub(crate) fn packet(&mut self, packet: &Captured<'_>) -> io::Result<()> {
        let nanos = packet.at.nanos();
        self.put(&packet.interface.to_le_bytes());
        self.put(&((nanos >> 32) as u32).to_le_bytes());
        self.put(&(nanos as u32).to_le_bytes());
        self.put(&(packet.bytes.len() as u32).to_le_bytes());
        self.put(&packet.length.to_le_bytes());
        self.put(packet.bytes);
        self.pad();
        if let Some(comment) = packet.comment {
            self.option(OPT_COMMENT, comment.as_bytes());
        }
        self.option(EPB_FLAGS, &(packet.direction as u32).to_le_bytes());
        self.end_of_options();
        self.block(ENHANCED_PACKET)
    }

    /// Returns the underlying writer.
    pub(crate) fn into_inner(self) -> W {
        self.out
    }

    fn put(&mut self, bytes: &[u8]) {
        self.body.extend_from_slice(bytes);
    }

    /// Blocks and options are padded to multiples of 4 bytes.
    fn pad(&mut self) {
        self.body.resize(self.body.len().next_multiple_of(4), 0);
    }

    fn option(&mut self, code: u16, value: &[u8]) {
        // A name or comment that is too long for an option is cut.
        let value = &value[..value.len().min(usize::from(u16::MAX))];
        self.put(&code.to_le_bytes());
        self.put(&(value.len() as u16).to_le_bytes());
        self.put(value);
        self.pad();
    }

    fn end_of_options(&mut self) {
        self.put(&[0; 4]);
    }

    /// Writes the body as a block of this type.
    fn block(&mut self, kind: u32) -> io::Result<()> {
        let length = (self.body.len() as u32 + 12).to_le_bytes();
        self.out.write_all(&kind.to_le_bytes())?;
        self.out.write_all(&length)?;
        self.out.write_all(&self.body)?;
        self.body.clear();
        self.out.write_all(&length)
    }
}

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
const NAME_RESOLUTION: u32 = 4;
const ENHANCED_PACKET: u32 = 6;

const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;
const LINKTYPE_ETHERNET: u16 = 1;
/// A snapshot length of zero.
const NO_LIMIT: u32 = 0;
/// Timestamps count units of 10⁻⁹ s.
const NANOSECONDS: u8 = 9;

const OPT_COMMENT: u16 = 1;
const SHB_USERAPPL: u16 = 4;
const IF_NAME: u16 = 2;
const IF_DESCRIPTION: u16 = 3;
const IF_TSRESOL: u16 = 9;
const EPB_FLAGS: u16 = 2;
const NRB_RECORD_IPV4: u16 = 1;
const NRB_RECORD_IPV6: u16 = 2;
