//! Programs as a kernel runs them.

#![cfg(all(target_os = "linux", feature = "ebpf"))]

mod admission;
mod aggregate;
mod device;
mod early;
mod echo;
mod edge;
mod growth;
mod hosts;
mod loaded;
mod objects;
mod owners;
mod packets;
mod plans;
mod profile;
mod progress;
mod qdisc;
mod recording;
mod rules;
mod sender;
mod tcp_state;
mod times;
