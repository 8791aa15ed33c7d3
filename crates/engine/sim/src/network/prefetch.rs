//! Prefetches memory before it is needed.

/// Bytes of a cache line.
const LINE: usize = 64;

/// The number of lines for [`prefetch_start`].
const START_LINES: usize = 3;

/// Prefetches all cache lines of the element at `index` of the array that begins at `first`, without waiting.
/// It only affects speed; if there is no such element, it has no effect.
#[inline]
pub(crate) fn prefetch_element<T>(first: *const T, index: usize) {
    let element = first.wrapping_add(index).cast::<u8>();
    for line in 0..size_of::<T>().div_ceil(LINE) {
        fetch(element.wrapping_add(line * LINE));
    }
}

/// Prefetches the first cache line `places` elements after `value`, in an array that contains it.
#[inline]
pub(crate) fn prefetch_after<T>(value: &T, places: usize) {
    fetch(std::ptr::from_ref(value).wrapping_add(places).cast());
}

/// Prefetches the first cache lines of `value`: the per-packet state of a policy's element.
#[inline]
pub(crate) fn prefetch_start<T: ?Sized>(value: &T) {
    let start = std::ptr::from_ref(value).cast::<u8>();
    for line in 0..START_LINES {
        fetch(start.wrapping_add(line * LINE));
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
