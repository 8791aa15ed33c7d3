//! Index types for the parts of a network, so that they cannot be mixed up.

use std::ops::{Index, IndexMut};

use crate::network::layout::Hop;

/// A port: an index into [`Ports`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PortId(pub(crate) u32);

impl PortId {
    /// The number as an index.
    #[inline]
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }

    /// The ports with the numbers from zero on.
    pub(crate) fn first(count: usize) -> impl Iterator<Item = PortId> {
        (0..count as u32).map(PortId)
    }
}

/// All ports.
pub(crate) struct Ports(Vec<Hop>);

impl Ports {
    pub(crate) fn new(ports: Vec<Hop>) -> Self {
        Ports(ports)
    }

    /// The number of ports.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// All, in the order of their numbers.
    pub(crate) fn iter(&self) -> std::slice::Iter<'_, Hop> {
        self.0.iter()
    }

    /// All ports, mutable.
    pub(crate) fn iter_mut(&mut self) -> std::slice::IterMut<'_, Hop> {
        self.0.iter_mut()
    }

    /// The port of this number, if there is one.
    #[inline]
    pub(crate) fn get(&self, port: PortId) -> Option<&Hop> {
        self.0.get(port.index())
    }

    /// Their address in memory.
    #[inline]
    pub(crate) fn as_ptr(&self) -> *const Hop {
        self.0.as_ptr()
    }
}

impl Index<PortId> for Ports {
    type Output = Hop;

    #[inline(always)]
    fn index(&self, port: PortId) -> &Hop {
        &self.0[port.index()]
    }
}

impl IndexMut<PortId> for Ports {
    #[inline(always)]
    fn index_mut(&mut self, port: PortId) -> &mut Hop {
        &mut self.0[port.index()]
    }
}
