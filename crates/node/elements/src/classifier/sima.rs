//! The code points of SIMA: a class and a drop precedence.

use shortflow_packet::Dscp;

/// The service class of a packet in SIMA (Laatu, Harju & Loula 2003, §2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SimaClass {
    /// Real time (RT).
    RealTime,
    /// Non-real time (NRT).
    NonRealTime,
}

impl SimaClass {
    /// The number of drop precedences of a class: 0 to 7, the highest best protected.
    pub const PRECEDENCES: usize = 8;

    /// The code points of drop precedences 0 to 7. The paper has 16 per-hop behaviours without code points.
    /// RFC 2474, §6, reserves exactly 16 code points for local use, `xxxx11`. Here the first bit is the
    /// class, 1 for real time, and the next three are the precedence: 3, 7, … 31 for non-real-time and 35,
    /// 39, … 63 for real-time traffic.
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
