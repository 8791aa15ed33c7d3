//! The result of a meter.

/// The result of a meter (RFC 2697, RFC 2698), compared with the stream's profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[repr(u8)]
pub enum Color {
    /// Within the committed profile.
    #[default]
    Green = 0,
    /// Above the committed, within the peak profile.
    Yellow = 1,
    /// Above every profile.
    Red = 2,
}

impl Color {
    /// All colours, best protected first.
    pub const ALL: [Color; 3] = [Color::Green, Color::Yellow, Color::Red];
}
