//! A ring that is shared with the kernel, with one producer and one consumer.

use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use nix::errno::Errno;
use nix::libc;

/// A ring of `T`, of which the kernel is at the other end.
#[derive(Debug)]
pub(super) struct Ring<T> {
    memory: NonNull<libc::c_void>,
    length: usize,
    producer: NonNull<AtomicU32>,
    consumer: NonNull<AtomicU32>,
    places: NonNull<T>,
    /// How many places there are: a power of two.
    size: u32,
}

// SAFETY: the memory is the ring's own, and whoever has the ring is alone at this end.
#[allow(unsafe_code)]
unsafe impl<T: Send> Send for Ring<T> {}

impl<T: Copy> Ring<T> {
    /// Maps a ring of a socket, which has `size` places, with its parts at these offsets.
    #[allow(unsafe_code)]
    pub(super) fn map(
        socket: &OwnedFd,
        at: libc::off_t,
        size: u32,
        offsets: &libc::xdp_ring_offset,
    ) -> Result<Ring<T>, Errno> {
        assert!(size.is_power_of_two(), "a ring has a power of two of places");
        let length = offsets.desc as usize + size as usize * size_of::<T>();
        let (access, flags) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_POPULATE);
        // SAFETY: the kernel chooses the place of a new mapping of this length.
        let memory = unsafe {
            libc::mmap(std::ptr::null_mut(), length, access, flags, socket.as_raw_fd(), at)
        };
        if memory == libc::MAP_FAILED {
            return Err(Errno::last());
        }
        let memory = NonNull::new(memory).ok_or(Errno::ENOMEM)?;
        // SAFETY: the kernel has said where in the mapping the counters and the places are, and aligns them.
        let (producer, consumer, places) = unsafe {
            (
                memory.byte_add(offsets.producer as usize).cast(),
                memory.byte_add(offsets.consumer as usize).cast(),
                memory.byte_add(offsets.desc as usize).cast(),
            )
        };
        Ok(Ring { memory, length, producer, consumer, places, size })
    }

    /// Puts something in for the kernel; false when there is no room.
    pub(super) fn push(&mut self, value: T) -> bool {
        let (produced, consumed) = (self.producer(), self.consumer());
        let next = produced.load(Ordering::Relaxed);
        if next.wrapping_sub(consumed.load(Ordering::Acquire)) == self.size {
            return false;
        }
        self.write(next, value);
        self.producer().store(next.wrapping_add(1), Ordering::Release);
        true
    }

    /// Takes out what the kernel has put in.
    pub(super) fn pop(&mut self) -> Option<T> {
        let next = self.consumer().load(Ordering::Relaxed);
        if next == self.producer().load(Ordering::Acquire) {
            return None;
        }
        let value = self.read(next);
        self.consumer().store(next.wrapping_add(1), Ordering::Release);
        Some(value)
    }

    #[allow(unsafe_code)]
    fn producer(&self) -> &AtomicU32 {
        // SAFETY: the mapping lives as long as the ring, and both sides touch its counters atomically.
        unsafe { self.producer.as_ref() }
    }

    #[allow(unsafe_code)]
    fn consumer(&self) -> &AtomicU32 {
        // SAFETY: the mapping lives as long as the ring, and both sides touch its counters atomically.
        unsafe { self.consumer.as_ref() }
    }

    #[allow(unsafe_code)]
    fn write(&mut self, number: u32, value: T) {
        // SAFETY: the place is inside the mapping, and the kernel does not read it before the producer index covers it.
        unsafe { self.places.add((number & (self.size - 1)) as usize).write(value) }
    }

    #[allow(unsafe_code)]
    fn read(&self, number: u32) -> T {
        // SAFETY: the place is inside the mapping, and the kernel has written it and does not touch it until the consumer index has passed it.
        unsafe { self.places.add((number & (self.size - 1)) as usize).read() }
    }
}

impl<T> Drop for Ring<T> {
    #[allow(unsafe_code)]
    fn drop(&mut self) {
        // SAFETY: the mapping is the ring's own, and nothing refers to it any more.
        let _ = unsafe { libc::munmap(self.memory.as_ptr(), self.length) };
    }
}
