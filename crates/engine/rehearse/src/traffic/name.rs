//! The meaning of the numbers that identify sockets in poll results.

use super::connection::Side;

/// What is ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Name {
    /// An end of a connection.
    Connection { slot: u32, side: Side },
    /// A socket that accepts connections.
    Listener(u32),
    /// A socket that receives datagrams.
    Receiver(u32),
}

const LISTENER: u64 = 1 << 62;
const RECEIVER: u64 = 1 << 61;

impl Name {
    /// The number.
    pub(crate) fn number(self) -> u64 {
        match self {
            Name::Connection { slot, side } => u64::from(slot) << 1 | side as u64,
            Name::Listener(index) => LISTENER | u64::from(index),
            Name::Receiver(index) => RECEIVER | u64::from(index),
        }
    }

    /// What stands for the number.
    pub(crate) fn from_number(number: u64) -> Name {
        let index = number as u32;
        if number & RECEIVER != 0 {
            return Name::Receiver(index);
        }
        if number & LISTENER != 0 {
            return Name::Listener(index);
        }
        let side = if number & 1 == 0 { Side::Client } else { Side::Server };
        Name::Connection { slot: (number >> 1) as u32, side }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_reads_back_from_its_number() {
        let sides = [Side::Client, Side::Server];
        let connections = sides.map(|side| Name::Connection { slot: u32::MAX, side });
        let others = [Name::Listener(0), Name::Listener(u32::MAX), Name::Receiver(7)];
        for name in connections.into_iter().chain(others) {
            assert_eq!(Name::from_number(name.number()), name);
        }
    }
}
