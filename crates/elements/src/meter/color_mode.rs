//! Whether a meter heeds the colour that a packet comes with.

use crate::classifier::DscpTable;
use crate::{Color, Packet};

/// The mode of a three-colour meter (RFC 2697 §1, RFC 2698 §1).
#[derive(Debug, Clone, PartialEq)]
pub enum ColorMode {
    /// All packets count as uncoloured, which is the same as green.
    Blind,
    /// A packet comes with the colour of its code point, and never gets a better one.
    Aware(DscpTable<Color>),
}

impl ColorMode {
    /// The colour that `packet` comes with.
    #[inline]
    pub(super) fn incoming(&self, packet: &Packet) -> Color {
        match self {
            ColorMode::Blind => Color::Green,
            ColorMode::Aware(colors) => colors.get(packet.dscp),
        }
    }
}
