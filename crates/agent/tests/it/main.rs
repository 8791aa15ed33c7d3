//! The agent's public face.

#![cfg(target_os = "linux")]

mod bad;
mod planning;
mod support;
