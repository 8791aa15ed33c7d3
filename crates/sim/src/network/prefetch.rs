//! Asking for memory before it is needed.

/// Bytes of a cache line.
const LINE: usize = 64;

/// Lines that [`prefetch_start`] asks for.
const START_LINES: usize = 3;

/// Lets the cache fetch all lines of the element at `index` of the array that begins at `first`, without
/// waiting for it. Changes nothing but speed; where there is no such element, not even that.
#[inline]
pub(crate) fn prefetch_element<T>(first: *const T, index: usize) {
    let element = first.wrapping_add(index).cast::<u8>();
    for line in 0..size_of::<T>().div_ceil(LINE) {
        fetch(element.wrapping_add(line * LINE));
    }
}

/// Lets the cache fetch the first line of what lies `places` after `value`, in an array that goes on
/// there.
#[inline]
pub(crate) fn prefetch_after<T>(value: &T, places: usize) {
    fetch(std::ptr::from_ref(value).wrapping_add(places).cast());
}

/// Lets the cache fetch the first lines of `value`: what an element of a policy keeps for each packet.
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
