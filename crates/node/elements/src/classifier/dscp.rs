//! Tables and sets of code points: a behaviour-aggregate classifier (RFC 2475 §2.3.1).

use shortflow_packet::Dscp;

/// A value for each of the 64 code points.
#[derive(Debug, Clone, PartialEq)]
pub struct DscpTable<T>([T; Dscp::COUNT]);

impl<T: Copy> DscpTable<T> {
    /// The same `value` for every code point.
    pub fn filled(value: T) -> Self {
        DscpTable([value; Dscp::COUNT])
    }

    /// This table with `value` for `dscp`.
    pub fn with(mut self, dscp: Dscp, value: T) -> Self {
        self.0[usize::from(dscp.value())] = value;
        self
    }

    /// Applies `made` to each value.
    pub fn map<U>(&self, made: impl Fn(T) -> U) -> DscpTable<U> {
        DscpTable(self.0.map(made))
    }

    /// The value for `dscp`.
    #[inline]
    pub fn get(&self, dscp: Dscp) -> T {
        self.0[usize::from(dscp.value())]
    }

    /// As [`get`](Self::get), but returns a reference.
    #[inline]
    pub fn at(&self, dscp: Dscp) -> &T {
        &self.0[usize::from(dscp.value())]
    }

    /// The values, by code point.
    pub fn values(&self) -> impl Iterator<Item = T> + '_ {
        self.0.iter().copied()
    }
}

/// A set of code points.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DscpSet(u64);

impl DscpSet {
    /// No code point.
    pub const EMPTY: DscpSet = DscpSet(0);

    /// This set with `dscp`.
    pub fn with(self, dscp: Dscp) -> Self {
        DscpSet(self.0 | 1 << dscp.value())
    }

    /// Whether `dscp` is in the set.
    #[inline]
    pub fn contains(self, dscp: Dscp) -> bool {
        self.0 >> dscp.value() & 1 == 1
    }

    /// The code points of the set, in numerical order.
    pub fn iter(self) -> impl Iterator<Item = Dscp> {
        (0..Dscp::COUNT as u8).filter_map(Dscp::new).filter(move |dscp| self.contains(*dscp))
    }
}

impl FromIterator<Dscp> for DscpSet {
    fn from_iter<I: IntoIterator<Item = Dscp>>(code_points: I) -> Self {
        code_points.into_iter().fold(DscpSet::EMPTY, DscpSet::with)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_contains_exactly_what_was_put_in() {
        let last = Dscp::new(63).unwrap();
        let set: DscpSet = [Dscp::AF11, last].into_iter().collect();
        let contained: Vec<u8> =
            (0..64).filter(|&value| set.contains(Dscp::new(value).unwrap())).collect();
        assert_eq!(contained, [10, 63]);
    }
}
