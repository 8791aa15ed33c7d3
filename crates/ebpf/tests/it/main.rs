//! Programs as a kernel runs them.

#![cfg(all(target_os = "linux", feature = "ebpf"))]

mod edge;
mod packets;
mod sender;
