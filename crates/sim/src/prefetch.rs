//! Asking for memory before it is needed.

/// Bytes of a cache line.
const LINE: usize = 64;

/// Lets the cache fetch the first line of `value`, without waiting for it. Changes nothing but
/// speed.
#[inline]
pub(crate) fn prefetch<T>(value: &T) {
    fetch(std::ptr::from_ref(value).cast());
}

/// Lets the cache fetch all lines of `value`.
#[inline]
pub(crate) fn prefetch_all<T>(value: &T) {
    let first = std::ptr::from_ref(value).cast::<u8>();
    for line in 0..size_of::<T>().div_ceil(LINE) {
        fetch(first.wrapping_add(line * LINE));
    }
}

#[inline]
#[allow(unsafe_code)]
fn fetch(address: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch reads nothing that the program sees, and cannot fault at any address.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(address.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}
