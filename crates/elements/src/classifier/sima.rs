//! The code points of SIMA: a class and a drop precedence.

use crate::Dscp;

/// The service class of a packet in SIMA (Laatu, Harju & Loula 2003, §2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SimaClass {
    /// RT.
    RealTime,
    /// NRT.
    NonRealTime,
}

impl SimaClass {
    /// How many drop precedences a class has: 0 to 7, the higher the better protected.
    pub const PRECEDENCES: usize = 8;

    /// The code points of the drop precedences 0 to 7. The paper names 16 per-hop behaviours and no
    /// code points for them; RFC 2474, §6, leaves just as many to local use, `xxxx11`. So the first
    /// bit is the class here, one for real time, and the next three are the precedence: 3, 7, … 31
    /// for non-real-time and 35, 39, … 63 for real-time traffic.
    pub fn code_points(self) -> [Dscp; Self::PRECEDENCES] {
        let class = match self {
            SimaClass::RealTime => 0b10_0000,
            SimaClass::NonRealTime => 0,
        };
        let code_point = |precedence: usize| Dscp::new(class | (precedence as u8) << 2 | 0b11);
        std::array::from_fn(|precedence| code_point(precedence).expect("six bits"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sixteen_code_points_are_those_of_local_use() {
        let classes = [SimaClass::NonRealTime, SimaClass::RealTime];
        let found = classes.into_iter().flat_map(SimaClass::code_points).map(Dscp::value);
        assert!(found.eq((0..64).filter(|value| value & 0b11 == 0b11)));
    }
}
