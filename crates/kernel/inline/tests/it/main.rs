//! The crate's public face: what is refused, and packets between two network namespaces.

#[cfg(feature = "ebpf")]
mod bench;
#[cfg(feature = "ebpf")]
mod devices;
#[cfg(feature = "ebpf")]
mod ending;
#[cfg(feature = "ebpf")]
mod passing;
mod refused;
