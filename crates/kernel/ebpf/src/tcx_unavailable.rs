//! Builds without eBPF, which attach no program to a device.

use crate::TcxProgram;
use crate::edge::Direction;

impl TcxProgram {
    /// None: this build cannot ask.
    pub fn at(_device: u32, _direction: Direction) -> Vec<TcxProgram> {
        Vec::new()
    }
}
