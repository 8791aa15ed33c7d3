//! The frames that a socket shares with the kernel.

use std::ptr::NonNull;

use nix::errno::Errno;
use nix::libc;

/// Frames of the same size, one after the other.
#[derive(Debug)]
pub(super) struct Memory {
    start: NonNull<u8>,
    length: usize,
}

// SAFETY: the memory is its owner's own; the kernel touches only frames that were given to it.
#[allow(unsafe_code)]
unsafe impl Send for Memory {}

impl Memory {
    /// This number of frames of `size` bytes, allocated at once.
    #[allow(unsafe_code)]
    pub(super) fn new(frames: u32, size: u32) -> Result<Memory, Errno> {
        let length = frames as usize * size as usize;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_POPULATE;
        // SAFETY: the kernel chooses the place of a new mapping of this length.
        let memory = unsafe { libc::mmap(std::ptr::null_mut(), length, access, flags, -1, 0) };
        if memory == libc::MAP_FAILED {
            return Err(Errno::last());
        }
        Ok(Memory { start: NonNull::new(memory.cast()).ok_or(Errno::ENOMEM)?, length })
    }

    /// Where it begins, and its bytes.
    pub(super) fn place(&self) -> (u64, u64) {
        (self.start.as_ptr() as u64, self.length as u64)
    }

    /// Bytes of a frame that is this side's.
    #[allow(unsafe_code)]
    pub(super) fn bytes(&mut self, at: u64, length: usize) -> &mut [u8] {
        let at = usize::try_from(at).expect("an address of a mapping fits");
        let is_inside = at.checked_add(length).is_some_and(|end| end <= self.length);
        assert!(is_inside, "the kernel names frames of this memory");
        // SAFETY: the bytes are inside the mapping, and the kernel leaves a frame alone that it has given back or
        // was not given yet. The borrow keeps all others away.
        unsafe { std::slice::from_raw_parts_mut(self.start.add(at).as_ptr(), length) }
    }
}

impl Drop for Memory {
    #[allow(unsafe_code)]
    fn drop(&mut self) {
        // SAFETY: the mapping is this memory's own, and nothing refers to it any more.
        let _ = unsafe { libc::munmap(self.start.as_ptr().cast(), self.length) };
    }
}
